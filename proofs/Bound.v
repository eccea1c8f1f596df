(* SPDX-License-Identifier: Apache-2.0 *)
(* The checker of the lower bound of an l1 table for a real query, from the multipliers of its file. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Lia Lra.
From Noisewright Require Import Statement Sums Exp Lists Check Law Private Losses Json Decode Lower.
Import ListNotations.
Local Open Scope Z_scope.

(* The multipliers of a shift, and those of its mirror image. *)
Definition mirror (m : multipliers) : multipliers :=
  {| m_shift := - m_shift m; m_first := 1 - m_first m - Z.of_nat (length (m_values m)); m_values := rev (m_values m) |}.
Definition all_shifts (d : dual) : list multipliers :=
  if d_mirrored d then d_shifts d ++ map mirror (d_shifts d) else d_shifts d.

Fixpoint plus (a b : list Z) : list Z :=
  match a, b with [], _ => b | _, [] => a | x :: a', y :: b' => (x + y) :: plus a' b' end.
Definition placed (lo first : Z) (l : list Z) : list Z := repeat 0 (Z.to_nat (first - lo)) ++ l.

(* 2^96 y_{k,j} - e y_{k,j+k}, summed over the shifts, from j = lo on; e is 2^96 times e^epsilon or more. *)
Definition brackets (e lo : Z) (ms : list multipliers) : list Z :=
  fold_right (fun m s => plus (scaled (2 ^ 96) (placed lo (m_first m) (m_values m)))
    (plus (scaled (- e) (placed lo (m_first m - m_shift m) (m_values m))) s)) [] ms.
Definition leftmost (ms : list multipliers) : Z :=
  fold_right (fun m s => Z.min (Z.min (m_first m) (m_first m - m_shift m)) s) 0 ms.
Definition prices (ms : list multipliers) : Z := fold_right (fun m s => largest (m_values m) + s) 0 ms.

(* b <= node j + l_0, b <= node (j+1) + l_1, ... *)
Fixpoint all_above (node : Z -> Z) (b j : Z) (l : list Z) : bool :=
  match l with [] => true | x :: l' => (b <=? node j + x) && all_above node b (j + 1) l' end.

(* What else than the multipliers of shifts is in a dual is not looked at: these prove what they prove without it.
   In units of 2^-p, p = 96 - exponent. The loss at node j is |j| sensitivity/K, rounded down. *)
Definition bound_ok (t : table) (d : dual) (claim : Q) : bool :=
  let ms := all_shifts d in
  let e := exp_up (epsilon t) 96 in
  let p := 96 - d_exponent d in
  let lo := leftmost ms in
  let l := brackets e lo ms in
  let node j := Z.abs j * Qnum (sensitivity t) * 2 ^ p / (Zpos (Qden (sensitivity t)) * d_cells d) in
  let b := (Qnum claim * 2 ^ p / Zpos (Qden claim) + 1) + (Qnum (delta t) * prices ms * 2 ^ 96 / Zpos (Qden (delta t)) + 1) in
  match kind t with Real => true | _ => false end && exp_up_fine (epsilon t) 96 && (0 <? Qnum (sensitivity t)) && (0 <? d_cells d) && (0 <=? p) &&
  forallb (fun m => (Z.abs (m_shift m) <=? d_cells d) && forallb (Z.leb 0) (m_values m) && (0 <? largest (m_values m))) ms &&
  (b <=? node (lo - 1)) && (b <=? node (Z.max 0 (lo + Z.of_nat (length l)))) && all_above node b lo l.

(* --- Lists --- *)

Lemma at_plus a : forall b i, at_place (plus a b) i = at_place a i + at_place b i.
Proof.
  induction a as [|x a IH]; intros b i; [cbn [plus]; rewrite at_nil; lia|].
  destruct b as [|y b]; cbn [plus]; [rewrite at_nil; lia|].
  destruct (Z_lt_le_dec i 0); [rewrite !at_out by lia; lia|].
  destruct (Z.eq_dec i 0) as [->|]; [reflexivity|].
  replace i with (i - 1 + 1) by lia. rewrite !at_next by lia. apply IH.
Qed.

Lemma at_placed lo first l i : lo <= first -> at_place (placed lo first l) i = at_place l (i + lo - first).
Proof. intros H. unfold placed. rewrite at_after_zeros. f_equal. lia. Qed.

Lemma largest_ge l i : at_place l i <= largest l /\ 0 <= largest l.
Proof.
  revert i. induction l as [|x l IH]; intros i; [rewrite at_nil; cbn; lia|]. cbn [largest fold_right]. fold (largest l).
  destruct (Z_lt_le_dec i 0); [rewrite at_out by lia; specialize (IH 0); lia|].
  destruct (Z.eq_dec i 0) as [->|]; [change (at_place (x :: l) 0) with x; specialize (IH 0); lia|].
  replace i with (i - 1 + 1) by lia. rewrite at_next by lia. specialize (IH (i - 1)). lia.
Qed.

Lemma all_above_is node b l : forall j, all_above node b j l = true -> forall i, 0 <= i < Z.of_nat (length l) -> b <= node (j + i) + at_place l i.
Proof.
  induction l as [|x l IH]; intros j H i Hi; [cbn in Hi; lia|]. cbn [all_above] in H. apply andb_true_iff in H as [H1 H2].
  apply Z.leb_le in H1. destruct (Z.eq_dec i 0) as [->|]; [rewrite Z.add_0_r; exact H1|].
  specialize (IH _ H2 (i - 1) ltac:(cbn [length] in Hi; lia)). replace i with (i - 1 + 1) by lia. rewrite at_next by lia.
  replace (j + (i - 1 + 1)) with (j + 1 + (i - 1)) by lia. exact IH.
Qed.

Lemma leftmost_le ms m : In m ms -> leftmost ms <= m_first m /\ leftmost ms <= m_first m - m_shift m.
Proof.
  induction ms as [|m' ms IH]; intros H; [destruct H|]. cbn [leftmost fold_right]. fold (leftmost ms).
  destruct H as [->|H]; [lia|]. specialize (IH H). lia.
Qed.
Lemma leftmost_0 ms : leftmost ms <= 0.
Proof. induction ms; cbn [leftmost fold_right]; [lia|]. fold (leftmost ms). lia. Qed.

Local Open Scope R_scope.

(* --- Algebra, over plain variables --- *)

Lemma algebra_bracket u P E y y' s n : P <> 0 -> u * P * y - E / P * (u * P * y') + (n + u * s) = n + u * (P * y + (- E * y' + s)).
Proof. intros. field. auto. Qed.
Lemma algebra_price P Q cn cd dn dd w : P <> 0 -> cd <> 0 -> dd <> 0 ->
  P * (cn * / cd + dn * / dd * (/ P * Q * w)) = cn * P / cd + dn * w * Q / dd.
Proof. intros. field. auto. Qed.
Lemma algebra_node P j sn sd K : sd <> 0 -> K <> 0 -> j * sn * P / (sd * K) = P * (j * (sn * / sd / K)).
Proof. intros. field. auto. Qed.
Lemma algebra_inside y b : b <> 0 -> y = y / b * b.
Proof. intros. field. auto. Qed.

(* |x| is linear between nodes. *)
Lemma line_abs b x : 0 < b -> line b (fun j => IZR (Z.abs j) * b) x = Rabs x.
Proof.
  intros Hb. unfold line. pose proof (floor_spec (x / b)) as H. set (j := floor (x / b)) in *.
  replace (Rabs x) with (Rabs (x / b * b)) by (f_equal; symmetry; apply algebra_inside; lra). set (w := x / b) in *. rewrite Rabs_mult, (Rabs_pos_eq b) by lra.
  rewrite !abs_IZR, plus_IZR. destruct (Z_lt_le_dec j 0) as [Hj|Hj].
  - assert (IZR j + 1 <= 0) by (rewrite <- plus_IZR; apply IZR_le; lia). rewrite !Rabs_left1 by lra. ring.
  - assert (0 <= IZR j) by (apply IZR_le; lia). rewrite !Rabs_pos_eq by lra. ring.
Qed.

Lemma line_above b v least x : (forall j, least <= v j) -> least <= line b v x.
Proof.
  intros H. unfold line. pose proof (floor_spec (x / b)). set (j := floor (x / b)) in *. pose proof (H j). pose proof (H (j + 1)%Z). nra.
Qed.

Section Bound.
Variables (t : table) (d : dual) (claim : Q).
Hypothesis ok : bound_ok t d claim = true.

Let ms := all_shifts d.
Let e := exp_up (epsilon t) 96.
Let p := (96 - d_exponent d)%Z.
Let lo := leftmost ms.
Let l := brackets e lo ms.
Let b := Q2R (sensitivity t) / IZR (d_cells d).
Let u := / IZR (2 ^ p).
Let P96 := IZR (2 ^ 96).
Let Eup := IZR e / P96.
Let of_file (m : multipliers) : shifted :=
  {| by_nodes := m_shift m; y := fun j => u * P96 * IZR (at_place (m_values m) (j - m_first m)); top := u * P96 * IZR (largest (m_values m)) |}.
(* The loss and what is added at a node; and between nodes it is linear. *)
Let at_node (l : list multipliers) (j : Z) : R := IZR (Z.abs j) * b + u * IZR (at_place (brackets e lo l) (j - lo)).

Lemma added_is l' x : 0 < b -> incl l' ms -> Rabs x + added b Eup (map of_file l') x = line b (at_node l') x.
Proof.
  intros Hb. induction l' as [|m l' IH]; intros Hl.
  - unfold at_node. cbn [brackets fold_right map added]. rewrite <- (line_abs b x Hb). unfold line. rewrite !at_nil. ring.
  - destruct (leftmost_le ms m) as [L1 L2]; [apply Hl; left; reflexivity|]. fold lo in L1, L2.
    assert (Hl' : incl l' ms) by (intros a Ha; apply Hl; right; exact Ha).
    cbn [map added fold_right]. fold (added b Eup (map of_file l') x).
    replace (Rabs x + (line b (y (of_file m)) x - Eup * line b (y (of_file m)) (x + IZR (by_nodes (of_file m)) * b) + added b Eup (map of_file l') x))
      with (line b (y (of_file m)) x - Eup * line b (y (of_file m)) (x + IZR (by_nodes (of_file m)) * b) + line b (at_node l') x) by (rewrite <- (IH Hl'); ring).
    rewrite line_moved by exact Hb. pose proof (power_of_2 96 ltac:(lia)) as H96. fold P96 in H96.
    assert (Hn : forall j, at_node (m :: l') j = at_node l' j + 1 * (y (of_file m) j + - Eup * y (of_file m) (j + by_nodes (of_file m))%Z)).
    { intros j. unfold at_node. cbn [brackets fold_right of_file y by_nodes]. fold (brackets e lo l').
      rewrite !at_plus, !at_scaled, !at_placed by lia. rewrite !plus_IZR, !mult_IZR, opp_IZR. fold P96.
      replace (j - lo + lo - m_first m)%Z with (j - m_first m)%Z by lia.
      replace (j - lo + lo - (m_first m - m_shift m))%Z with (j + m_shift m - m_first m)%Z by lia.
      pose proof (algebra_bracket u P96 (IZR e) (IZR (at_place (m_values m) (j - m_first m))) (IZR (at_place (m_values m) (j + m_shift m - m_first m)))
        (IZR (at_place (brackets e lo l') (j - lo))) (IZR (Z.abs j) * b) ltac:(lra)) as A. fold Eup in A. lra. }
    unfold line at 3. set (k := floor (x / b)). unfold line. fold k. rewrite !Hn. ring.
Qed.

Lemma bound_parts : kind t = Real /\ exp_up_fine (epsilon t) 96 = true /\ (0 < Qnum (sensitivity t))%Z /\
  (0 < d_cells d)%Z /\ (0 <= p)%Z /\
  (forall m, In m ms -> (Z.abs (m_shift m) <= d_cells d)%Z /\ all_nonneg (m_values m) /\ (0 < largest (m_values m))%Z).
Proof.
  assert (H := ok). unfold bound_ok in H. fold ms e p in H. repeat rewrite andb_true_iff in H.
  repeat rewrite Z.leb_le in H. repeat rewrite Z.ltb_lt in H. rewrite forallb_forall in H.
  destruct H as [[[[[[[[H1 H2] H3] H4] H5] H6] _] _] _].
  repeat split; auto; try (destruct (kind t); [reflexivity | discriminate | discriminate]);
    specialize (H6 _ H); repeat rewrite andb_true_iff in H6; destruct H6 as [[A B] C];
    [apply Z.leb_le, A | apply nonneg_of_leb, B | apply Z.ltb_lt, C].
Qed.

Theorem bound_sound : no_noise_loses_less t Rabs (Q2R claim).
Proof.
  intros X HX Hc. destruct bound_parts as (Hk & Hfine & Hs & HK & Hp & Hms).
  pose proof (power_of_2 96 ltac:(lia)) as H96. fold P96 in H96. pose proof (power_of_2 p Hp) as H2p.
  assert (Hu : 0 < u) by (apply Rinv_0_lt_compat; exact H2p).
  assert (HKR : 0 < IZR (d_cells d)) by (apply IZR_lt; exact HK).
  assert (Hsens : 0 < Q2R (sensitivity t)).
  { apply Rmult_lt_0_compat; [apply IZR_lt; exact Hs | apply Rinv_0_lt_compat, IZR_lt; lia]. }
  assert (Hb : 0 < b) by (apply Rdiv_lt_0_compat; auto).
  assert (H := ok). unfold bound_ok in H. fold ms e p lo l in H.
  set (node := fun j => (Z.abs j * Qnum (sensitivity t) * 2 ^ p / (Zpos (Qden (sensitivity t)) * d_cells d))%Z) in H.
  set (least := (Qnum claim * 2 ^ p / Zpos (Qden claim) + 1 + (Qnum (delta t) * prices ms * 2 ^ 96 / Zpos (Qden (delta t)) + 1))%Z) in H.
  repeat rewrite andb_true_iff in H. repeat rewrite Z.leb_le in H. destruct H as [[[_ Hl] Hr] Hw].
  assert (Hnode : forall j, u * IZR (node j) <= IZR (Z.abs j) * b).
  { intros j. apply Rmult_le_reg_l with (IZR (2 ^ p)); [exact H2p|].
    unfold u. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. unfold node.
    eapply Rle_trans; [apply quotient_down; lia|]. rewrite !mult_IZR. apply Req_le. unfold b, Q2R.
    apply algebra_node; [apply IZR_neq; lia | lra]. }
  assert (Hfar : forall i j, (Z.abs i <= Z.abs j)%Z -> (node i <= node j)%Z).
  { intros i j Hij. unfold node. apply Z.div_le_mono; [lia|]. apply Z.mul_le_mono_nonneg_r; [apply Z.pow_nonneg; lia|].
    apply Z.mul_le_mono_nonneg_r; lia. }
  assert (Hall : forall j, u * IZR least <= at_node ms j).
  { intros j. unfold at_node. fold l. assert (H0 : (lo <= 0)%Z) by apply leftmost_0. pose proof (Hnode j) as N.
    destruct (Z_lt_le_dec j lo) as [Hj|Hj]; [|destruct (Z_lt_le_dec j (lo + Z.of_nat (length l))) as [Hj'|Hj']].
    - rewrite at_out by lia. pose proof (Hfar (lo - 1)%Z j ltac:(lia)) as F. assert (G := IZR_le _ _ (Z.le_trans _ _ _ Hl F)). nra.
    - pose proof (all_above_is _ _ _ _ Hw (j - lo)%Z ltac:(lia)) as F. replace (lo + (j - lo))%Z with j in F by lia.
      apply IZR_le in F. rewrite plus_IZR in F. nra.
    - rewrite at_out by lia. pose proof (Hfar (Z.max 0 (lo + Z.of_nat (length l))) j ltac:(lia)) as F.
      assert (G := IZR_le _ _ (Z.le_trans _ _ _ Hr F)). nra. }
  assert (Hprice : price (map of_file ms) = u * P96 * IZR (prices ms)).
  { clear. unfold price, prices. induction ms as [|m ms' IH]; cbn [map fold_right]; [ring|].
    rewrite IH, plus_IZR. cbn [top of_file]. ring. }
  apply Rle_trans with (u * IZR least - Q2R (delta t) * price (map of_file ms)).
  - rewrite Hprice. unfold least. rewrite plus_IZR.
    pose proof (quotient_up (Qnum claim * 2 ^ p) (Zpos (Qden claim)) ltac:(lia)) as B1.
    pose proof (quotient_up (Qnum (delta t) * prices ms * 2 ^ 96) (Zpos (Qden (delta t))) ltac:(lia)) as B2.
    rewrite mult_IZR in B1. rewrite (mult_IZR (_ * _)), (mult_IZR (Qnum (delta t))) in B2. fold P96 in B2.
    pose proof (algebra_price (IZR (2 ^ p)) P96 (IZR (Qnum claim)) (IZR (Zpos (Qden claim))) (IZR (Qnum (delta t))) (IZR (Zpos (Qden (delta t))))
      (IZR (prices ms)) ltac:(lra) ltac:(apply IZR_neq; lia) ltac:(apply IZR_neq; lia)) as A. fold u (Q2R claim) (Q2R (delta t)) in A.
    set (z1 := (Qnum claim * 2 ^ p / Zpos (Qden claim) + 1)%Z) in *.
    set (z2 := (Qnum (delta t) * prices ms * 2 ^ 96 / Zpos (Qden (delta t)) + 1)%Z) in *.
    assert (Hsum : Q2R claim + Q2R (delta t) * (u * P96 * IZR (prices ms)) <= u * (IZR z1 + IZR z2)).
    2:{ revert Hsum. generalize (Q2R (delta t) * (u * P96 * IZR (prices ms))) (u * (IZR z1 + IZR z2)). intros. lra. }
    apply Rmult_le_reg_l with (IZR (2 ^ p)); [exact H2p|]. rewrite A. unfold u. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. lra.
  - apply (multipliers_bound t X Rabs b (u * IZR least) Eup (map of_file ms) HX Hc Hb).
    + intros m' Hm'. apply in_map_iff in Hm' as [m [<- Hm]]. destruct (Hms m Hm) as (Hsh & Hnn & Htop).
      cbn [by_nodes y top of_file]. split; [|split].
      * unfold reached. rewrite Hk, Rabs_mult, (Rabs_pos_eq b), <- abs_IZR by lra. apply IZR_le in Hsh.
        apply Rle_trans with (IZR (d_cells d) * b); [apply Rmult_le_compat_r; lra|].
        apply Req_le. unfold b, Rdiv. rewrite (Rmult_comm (Q2R _)), <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. reflexivity.
      * apply Rmult_lt_0_compat; [nra | apply IZR_lt; exact Htop].
      * intros j. pose proof (IZR_le _ _ (at_nonneg (m_values m) (j - m_first m) Hnn)) as G1.
        pose proof (IZR_le _ _ (proj1 (largest_ge (m_values m) (j - m_first m)))) as G2. assert (0 < u * P96) by nra.
        split; [apply Rmult_le_pos; lra | apply Rmult_le_compat_l; lra].
    + pose proof (exp_up_ge (epsilon t) 96 ltac:(lia) Hfine) as G. fold e P96 in G. unfold Eup.
      apply Rmult_le_reg_l with P96; [exact H96|]. unfold Rdiv. rewrite (Rmult_comm (IZR e)), <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. exact G.
    + intros x _. rewrite added_is; [|exact Hb | apply incl_refl]. apply line_above. exact Hall.
Qed.
End Bound.
