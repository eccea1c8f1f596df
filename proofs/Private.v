(* SPDX-License-Identifier: Apache-2.0 *)
(* What the checker accepts is a law, and private. docs/proofs/table-privacy.md, tail.md, rounding.md and lattice.md say it in
   words. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Lia Lra ClassicalDedekindReals.
From Noisewright Require Import Statement Sums Exp Lists Check Law Close.
Import ListNotations.
Local Open Scope R_scope.

(* --- What the loops of the checker compute --- *)

Lemma at_0 b : at_place b 0 = hd 0%Z b.
Proof. destruct b; reflexivity. Qed.

Lemma excess_sum a : forall b acc,
  IZR (excess a b acc) = IZR acc + sum (fun i => pos (IZR (at_place a i) - IZR (at_place b i))) 0 (length a).
Proof.
  induction a as [|x a IH]; intros b acc; cbn [excess length]; [cbn; lra|].
  rewrite IH, sum_first, at_0, (at_0 b). cbn [hd].
  rewrite (sum_onto (fun i => pos (IZR (at_place (x :: a) i) - IZR (at_place b i)))
    (fun i => pos (IZR (at_place a i) - IZR (at_place (tl b) i))) (0 + 1) 0).
  2:{ intros i Hi. rewrite <- (at_next x a), at_tl by lia. do 4 f_equal; lia. }
  destruct (Z.leb_spec x (hd 0%Z b)) as [L|L].
  - apply IZR_le in L. rewrite (pos_zero (IZR x - _)) by lra. lra.
  - apply IZR_lt in L. unfold pos at 2. rewrite (Rmax_right 0), plus_IZR, minus_IZR by lra. lra.
Qed.

(* sum of max(0, a_i - b_{i+s}) over the places of a *)
Definition over (a b : list Z) (s : Z) : R :=
  sum (fun i => pos (IZR (at_place a i) - IZR (at_place b (i + s)))) 0 (length a).

Lemma slide_over l m r rest whole bound : forall n bl bm br, slide n l m r bl bm br rest whole bound = true ->
  forall s, (0 <= s < Z.of_nat n)%Z ->
  over m bm s * IZR rest + (over l bl s + over r br s) * IZR whole <= IZR bound.
Proof.
  induction n; intros bl bm br H s Hs; [lia|]. cbn [slide] in H. apply andb_true_iff in H as [H1 H2].
  destruct (Z.eq_dec s 0) as [->|].
  - apply Z.leb_le, IZR_le in H1. rewrite plus_IZR, !mult_IZR, plus_IZR, !excess_sum, !Rplus_0_l in H1.
    unfold over. rewrite !(sum_ext (fun i => pos (_ - IZR (at_place _ (i + 0)))) _ 0) by (intros; rewrite Z.add_0_r; reflexivity).
    exact H1.
  - assert (Hz : forall a b, over a (tl b) (s - 1) = over a b s).
    { intros a b. apply sum_ext. intros i Hi. rewrite at_tl by lia. do 4 f_equal. lia. }
    specialize (IHn _ _ _ H2 (s - 1)%Z ltac:(lia)). rewrite !Hz in IHn. exact IHn.
Qed.

(* --- Floors --- *)

Lemma floor_spec y : IZR (floor y) <= y < IZR (floor y) + 1.
Proof. unfold floor. rewrite minus_IZR. destruct (archimed y). lra. Qed.

Lemma floor_is y j : IZR j <= y < IZR j + 1 -> floor y = j.
Proof.
  intros H. pose proof (floor_spec y).
  assert (floor y < j + 1)%Z by (apply lt_IZR; rewrite plus_IZR; lra).
  assert (j < floor y + 1)%Z by (apply lt_IZR; rewrite plus_IZR; lra). lia.
Qed.

Lemma floor_near y z m : y <= z + IZR m -> (floor y - floor z <= m)%Z.
Proof.
  intros H. pose proof (floor_spec y). pose proof (floor_spec z).
  assert (IZR (floor y) < IZR (floor z + m + 1)) by (rewrite !plus_IZR; lra). apply lt_IZR in H2. lia.
Qed.

(* --- The law, by cells --- *)

Definition first_point (t : table) : Z := offset t - (points t - 1) / 2 + (first t - margin t) * points t.

Lemma law_of_cells t y : well_formed t = true -> law t y = with_atom (cell t) (points t) (first_point t) (mass_of_atom t) y.
Proof.
  intros formed. unfold law, with_atom, spread, cell, mass_of_atom, T. do 3 f_equal.
  unfold cell_of, first_point. pose proof (formed_parts t formed) as P. set (S := points t) in *.
  replace (y - (offset t - (S - 1) / 2 + (first t - margin t) * S))%Z
    with (y - offset t + (S - 1) / 2 + - (first t - margin t) * S)%Z by lia.
  rewrite Z.div_add by lia. lia.
Qed.

Section Table.
Variable t : table.
Hypothesis checked : check t = true.

Let E := exp (Q2R (epsilon t)).
Let e := exp_down (epsilon t) 96.
Let K := cells t.
Let k := period t.
Let n := length (listed t).
Let C : R := Q2R (delta t) - mass_of_atom t.

Lemma check_parts : well_formed t = true /\ covers t = true /\ unit_step t = true /\ shifts_ok t = true.
Proof. unfold check in checked. repeat rewrite andb_true_iff in checked. tauto. Qed.
Let formed : well_formed t = true. Proof. apply check_parts. Qed.

Lemma e_le_E : IZR e <= IZR (2 ^ 96) * E.
Proof. apply exp_down_le; [apply (formed_parts t formed) | lia]. Qed.

Lemma allowance_le bits : (0 <= bits)%Z -> IZR (allowance t bits) <= C * (T * IZR (2 ^ bits)).
Proof.
  intros Hs. unfold allowance. pose proof T_pos. rewrite minus_IZR, (mult_IZR (atom t)), Z.pow_add_r by lia.
  eapply Rle_trans; [apply Rplus_le_compat_r, quotient_down; lia|].
  rewrite (mult_IZR (Qnum (delta t))), (mult_IZR (2 ^ 64)). fold T. unfold C, mass_of_atom, Q2R.
  apply Req_le. field. split; [lra | apply IZR_neq; lia].
Qed.

(* From the checker's integers to probabilities, with e^epsilon rounded down. *)
Lemma pos_scaled V a b v w : 0 < V -> IZR a = V * v -> IZR b = V * w -> 0 <= w ->
  V * IZR (2 ^ 96) * pos (v - E * w) <= pos (IZR (2 ^ 96 * a) - IZR (e * b)).
Proof.
  intros HV Ha Hb Hw. pose proof (power_of_2 96 ltac:(lia)). rewrite <- pos_scale by nra.
  apply pos_le. rewrite !mult_IZR, Ha, Hb. pose proof (Rmult_le_compat_r (V * w) _ _ ltac:(nra) e_le_E). lra.
Qed.

Lemma final_step V x y z l m r rest allowed : 0 < V -> 0 < T * rest ->
  V * x <= m -> V * y <= l -> V * z <= r -> m * (T * rest) + (l + r) * T <= allowed * (T * rest) -> allowed <= C * V ->
  x * rest + (y + z) <= C * rest.
Proof.
  intros HV HT Hx Hy Hz H Hb. pose proof T_pos. apply Rmult_le_reg_l with (V * T); [nra|].
  assert (0 < rest) by nra.
  assert (V * x * (T * rest) <= m * (T * rest)) by (apply Rmult_le_compat_r; lra).
  assert ((V * y + V * z) * T <= (l + r) * T) by (apply Rmult_le_compat_r; lra).
  assert (allowed * (T * rest) <= C * V * (T * rest)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(* Shifts by whole cells. *)
Lemma close_cells s : (Z.abs s <= K)%Z -> close E C (fun i => cell t (i - s)) (cell t).
Proof.
  intros Hs lo len. destruct (sizes t formed) as (K0 & KN & HK). fold k n K in K0, KN, HK.
  destruct (block_lengths t formed) as (L1 & _ & L3 & L4). fold k n in L1, L3, L4.
  pose proof (rho_range t formed) as Hrho. set (rho := rho t) in *.
  pose proof (V_pos t) as HV. set (V := T * IZR (2 ^ spare t)) in *.
  pose proof (power_of_2 96 ltac:(lia)) as H96. pose proof T_pos as HT.
  destruct check_parts as (_ & _ & _ & H). unfold shifts_ok in H. fold e k n in H.
  apply slide_over with (s := (K + s)%Z) in H; [|lia].
  unfold over in H. rewrite !scaled_length, L1, L3, L4 in H.
  set (F := fun i => pos (cell t i - E * cell t (i + s))).
  assert (Hm : V * IZR (2 ^ 96) * sum F 0 n <= sum (fun i => pos (IZR (at_place (scaled (2 ^ 96) (core t)) i) -
      IZR (at_place (skipn k (scaled e (extended t))) (i + (K + s))))) 0 n).
  { rewrite <- sum_scale. apply sum_le. intros i Hi. rewrite at_skipn, !at_scaled by lia. apply pos_scaled; auto.
    - apply core_list; [exact formed | fold n; lia].
    - rewrite (extended_list t formed) by (fold n K; lia). do 2 f_equal. fold K. lia.
    - apply cell_nonneg, formed. }
  assert (Hl : V * IZR (2 ^ 96) * sum F (- Z.of_nat k) k <= sum (fun i => pos (IZR (at_place (scaled (2 ^ 96) (scaled (unit t 1) (left_block t))) i) -
      IZR (at_place (scaled e (extended t)) (i + (K + s))))) 0 k).
  { replace (- Z.of_nat k)%Z with (0 + - Z.of_nat k)%Z by lia. rewrite <- sum_moved, <- sum_scale.
    apply sum_le. intros i Hi. rewrite (at_scaled (2 ^ 96)), (at_scaled e). apply pos_scaled; auto.
    - rewrite (left_list t formed) by (fold K; lia). do 2 f_equal. fold K. lia.
    - rewrite (extended_list t formed) by (fold n K; lia). do 2 f_equal. fold K. lia.
    - apply cell_nonneg, formed. }
  assert (Hr : V * IZR (2 ^ 96) * sum F (Z.of_nat n) k <= sum (fun i => pos (IZR (at_place (scaled (2 ^ 96) (scaled (unit t 1) (right_block t))) i) -
      IZR (at_place (skipn (k + n) (scaled e (extended t))) (i + (K + s))))) 0 k).
  { replace (Z.of_nat n) with (0 + Z.of_nat n)%Z by lia. rewrite <- sum_moved, <- sum_scale.
    apply sum_le. intros i Hi. rewrite at_skipn by lia. rewrite (at_scaled (2 ^ 96)), (at_scaled e). apply pos_scaled; auto.
    - rewrite (right_list t formed) by (fold K; lia). do 2 f_equal. fold n K. lia.
    - rewrite (extended_list t formed) by (fold n K; lia). do 2 f_equal. fold K. lia.
    - apply cell_nonneg, formed. }
  rewrite (sum_onto _ F lo (lo - s)).
  2:{ intros i _. unfold F. do 2 f_equal; [|f_equal]; f_equal; lia. }
  assert (right : forall i, (Z.of_nat n - K <= i)%Z -> cell t (i + K) = rho * cell t i).
  { intros i Hi. apply (cell_right t formed). exact Hi. }
  assert (left : forall i, (i < K)%Z -> cell t (i - K) = rho * cell t i).
  { intros i Hi. apply (cell_left t formed). exact Hi. }
  assert (Hrest : IZR (2 ^ 64 - ratio t) = T * (1 - rho)).
  { rewrite minus_IZR. unfold rho, Law.rho. fold T. field. lra. }
  rewrite (mult_IZR (allowance t _)), Hrest in H. fold T in H.
  assert (HC : whole F k rho n <= C * (1 - rho)).
  { unfold whole. apply (final_step (V * IZR (2 ^ 96))) with (5 := Hr) (4 := Hl) (3 := Hm) (6 := H); [nra | nra |].
    eapply Rle_trans; [apply allowance_le; unfold spare; destruct (_ =? _)%Z; lia|].
    rewrite Z.pow_add_r, mult_IZR by (unfold spare; try destruct (_ =? _)%Z; lia). unfold V. apply Req_le. ring. }
  apply Rmult_le_reg_r with (1 - rho); [lra|]. eapply Rle_trans; [apply (sum_le_whole F k rho Hrho n); auto|exact HC].
  - intros. apply pos_nonneg.
  - intros i Hi. unfold F. rewrite HK. replace (i + K + s)%Z with (i + s + K)%Z by lia. rewrite !right by lia.
    rewrite <- pos_scale by lra. f_equal. ring.
  - intros i Hi. unfold F. rewrite HK. replace (i - K + s)%Z with (i + s - K)%Z by lia. rewrite !left by lia.
    rewrite <- pos_scale by lra. f_equal. ring.
Qed.

(* --- Points --- *)

Let S := points t.
Lemma close_laws v v' : (Z.abs (v - v') <= K * S)%Z -> close E (Q2R (delta t)) (fun y => law t (y - v)) (fun y => law t (y - v')).
Proof.
  intros Hv. replace (Q2R (delta t)) with (C + mass_of_atom t) by (unfold C; lra).
  pose proof (formed_parts t formed) as P.
  apply (close_ext _ _ (fun y => with_atom (cell t) S (first_point t) (mass_of_atom t) (y - v))
    (fun y => with_atom (cell t) S (first_point t) (mass_of_atom t) (y - v'))); try (intros; symmetry; apply law_of_cells, formed).
  apply close_with_atom; [apply P | apply (atom_nonneg t formed) | left; apply exp_pos|].
  apply (close_points _ _ _ (proj1 (proj2 (proj2 P))) K); [exact Hv|]. intros. apply close_cells. auto.
Qed.

(* --- Rounding --- *)

Lemma step_pos : 0 < Q2R (step t).
Proof. apply Rmult_lt_0_compat; [apply IZR_lt, (formed_parts t formed) | apply Rinv_0_lt_compat, IZR_lt; lia]. Qed.

Lemma covered : Q2R (sensitivity t) <= IZR (K * S) * Q2R (step t).
Proof.
  destruct check_parts as (_ & H & _). apply Qle_bool_iff, Qle_Rle in H. rewrite Q2R_mult in H.
  replace (Q2R (inject_Z (cells t * points t))) with (IZR (K * S)) in H; [exact H|].
  unfold Q2R, inject_Z. cbn [Qnum Qden]. rewrite Rinv_1, Rmult_1_r. reflexivity.
Qed.

Lemma rounded_near u x x' : Rabs (x - x') <= Q2R (sensitivity t) ->
  (Z.abs (floor (x / Q2R (step t) + u) - floor (x' / Q2R (step t) + u)) <= K * S)%Z.
Proof.
  intros H. pose proof step_pos as Hg. pose proof covered. set (g := Q2R (step t)) in *.
  assert (Hx : forall y, y = y / g * g) by (intros y; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra).
  rewrite (Hx x), (Hx x'), <- Rmult_minus_distr_r in H.
  assert (H1 := Rle_trans _ _ _ (Rle_abs _) H). rewrite <- Rabs_Ropp in H. assert (H2 := Rle_trans _ _ _ (Rle_abs _) H).
  assert (x / g - x' / g <= IZR (K * S)) by (apply Rmult_le_reg_r with g; lra).
  assert (x' / g - x / g <= IZR (K * S)) by (apply Rmult_le_reg_r with g; lra).
  pose proof (floor_near (x / g + u) (x' / g + u) (K * S) ltac:(lra)).
  pose proof (floor_near (x' / g + u) (x / g + u) (K * S) ltac:(lra)). lia.
Qed.

(* With the same U for both values: each stretch of [0, 1) on which neither rounding changes. *)
Lemma close_lattice x x' : Rabs (x - x') <= Q2R (sensitivity t) ->
  let v := x / Q2R (step t) in let v' := x' / Q2R (step t) in
  let r := v - IZR (floor v) in let r' := v' - IZR (floor v') in
  close E (Q2R (delta t)) (fun y => (1 - r) * law t (y - floor v) + r * law t (y - (floor v + 1)))
    (fun y => (1 - r') * law t (y - floor v') + r' * law t (y - (floor v' + 1))).
Proof.
  intros H v v' r r'. pose proof (floor_spec v) as F. pose proof (floor_spec v') as F'.
  set (j := floor v) in *. set (j' := floor v') in *.
  assert (Hu : forall u i i', IZR i <= v + u < IZR i + 1 -> IZR i' <= v' + u < IZR i' + 1 ->
    close E (Q2R (delta t)) (fun y => law t (y - i)) (fun y => law t (y - i'))).
  { intros u i i' Hi Hi'. apply close_laws. pose proof (rounded_near u x x' H) as Hn. fold v v' in Hn.
    rewrite (floor_is _ _ Hi), (floor_is _ _ Hi') in Hn. exact Hn. }
  assert (C0 := Hu 0 j j' ltac:(lra) ltac:(lra)).
  assert (C1 := Hu 1 (j + 1)%Z (j' + 1)%Z ltac:(rewrite plus_IZR; lra) ltac:(rewrite plus_IZR; lra)).
  destruct (Rtotal_order r r') as [Hr|[Hr|Hr]].
  - assert (C2 := Hu (1 - r') j (j' + 1)%Z ltac:(unfold r, r' in *; lra) ltac:(rewrite plus_IZR; unfold r'; lra)).
    apply (close_ext _ _ _ _ _ _) with (3 := close_mix_3 _ _ _ _ _ _ _ _ (1 - r') (r' - r) ltac:(unfold r'; lra) ltac:(lra) ltac:(unfold r; lra) C0 C2 C1);
      intros y; ring.
  - rewrite <- Hr. apply close_mix; [unfold r; lra | exact C0 | exact C1].
  - assert (C2 := Hu (1 - r) (j + 1)%Z j' ltac:(rewrite plus_IZR; unfold r; lra) ltac:(unfold r, r' in *; lra)).
    apply (close_ext _ _ _ _ _ _) with (3 := close_mix_3 _ _ _ _ _ _ _ _ (1 - r) (r - r') ltac:(unfold r; lra) ltac:(lra) ltac:(unfold r'; lra) C0 C2 C1);
      intros y; ring.
Qed.

Lemma close_published x x' : Rabs (x - x') <= Q2R (sensitivity t) ->
  close E (Q2R (delta t)) (published t x) (published t x').
Proof.
  intros H. unfold published. destruct (kind t); try apply (close_lattice x x' H); apply close_laws, rounded_near, H.
Qed.

Theorem check_private : private t.
Proof. intros x x' _ _ H A p p'. apply close_sets, close_published, H. Qed.

Theorem check_law : is_law (law t).
Proof.
  pose proof (formed_parts t formed) as P.
  assert (Hn : forall y, 0 <= law t y).
  { intros y. rewrite law_of_cells by exact formed. apply with_atom_nonneg; [apply P | apply (cell_nonneg t formed) | apply (atom_nonneg t formed)]. }
  destruct (with_atom_total (cell t) S (first_point t) (mass_of_atom t) (proj1 (proj2 (proj2 P))) (cell_nonneg t formed)
    (atom_nonneg t formed) (mass_le t formed) (mass_near t formed)) as [Hle Hall].
  split; [exact Hn|]. split.
  - exists (law t). repeat split; [intros; tauto|].
    apply (sums_to_ext (with_atom (cell t) S (first_point t) (mass_of_atom t))); [intros; symmetry; apply law_of_cells, formed | exact Hall].
  - intros A. set (w := fun y => if sig_not_dec (A y) then law t y else 0).
    assert (Hw : forall y, 0 <= w y <= law t y) by (intros y; specialize (Hn y); unfold w; destruct (sig_not_dec _); lra).
    destruct (sums_to_exists w 1) as (p & Hp & _).
    + apply Hw.
    + intros lo len. eapply Rle_trans; [|apply (Hle lo len)]. apply sum_le. intros y _. pose proof (law_of_cells t y formed) as E1. fold S in E1. rewrite <- E1. apply Hw.
    + exists p, w. unfold w. repeat split; [| |exact Hp]; intros y Hy; destruct (sig_not_dec _); tauto.
Qed.

(* Integers are published as they are: value plus noise. *)
Lemma integers_as_they_are m : kind t = Integer -> forall y, published t (IZR m) y = law t (y - m).
Proof.
  intros Hk y. destruct check_parts as (_ & _ & H & _). unfold unit_step in H. rewrite Hk in H.
  apply Qeq_bool_iff, Qeq_eqR in H. unfold published. rewrite Hk, H. do 2 f_equal. apply floor_is.
  replace (Q2R 1) with 1 by (unfold Q2R; cbn; field). lra.
Qed.
End Table.

Theorem check_sound t : check t = true -> is_law (law t) /\ private t.
Proof. intros H. split; [apply check_law | apply check_private]; exact H. Qed.
