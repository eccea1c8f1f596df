(* SPDX-License-Identifier: Apache-2.0 *)
(* Privacy and bias of local randomizers, and privacy of kernels, by their rows. docs/proofs/local-privacy.md and kernel-privacy.md
   say it in words. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Lia Lra.
From Noisewright Require Import Statement Sums Exp Lists Check Private Losses Ramps Randomizers.
Import ListNotations.
Local Open Scope Z_scope.

Definition less (a b : Q) : bool := negb (Qle_bool b a).
Fixpoint ascends (l : list Q) : bool := match l with a :: (b :: _) as l' => less a b && ascends l' | _ => true end.

(* A law of m answers. *)
Definition row_ok (m : nat) (row : list Z) : bool :=
  (length row =? m)%nat && forallb (Z.leb 0) row && (total row 0 =? 2 ^ 64).

(* Gains are 2^96 times the weights of a row, prices e^epsilon, rounded down, 2^96 times. The bound is that of delta in these units. *)
Definition gain : list Z -> list Z := scaled (2 ^ 96).
Definition price (epsilon : Q) : list Z -> list Z := scaled (exp_down epsilon 96).
Definition allowed (delta : Q) : Z := Qnum delta * 2 ^ 160 / Zpos (Qden delta).

Definition well_made (r : randomizer) : bool :=
  (0 <=? Qnum (r_epsilon r)) && (length (r_nodes r) =? length (r_rows r))%nat && negb (length (r_nodes r) =? 0)%nat &&
  ascends (r_nodes r) && forallb (row_ok (answers_of r)) (r_rows r).

(* All pairs of rows, also of a row with itself. *)
Definition rows_close (epsilon delta : Q) (rows : list (list Z)) : bool :=
  let bound := allowed delta in
  let prices := map (price epsilon) rows in
  forallb (fun a => let g := gain a in forallb (fun b => excess g b 0 <=? bound) prices) rows.
Definition private_rows (r : randomizer) (delta : Q) : bool := well_made r && rows_close (r_epsilon r) delta (r_rows r).

Local Open Scope R_scope.

(* --- Two laws --- *)

Lemma weights_sum row : total row 0 = (2 ^ 64)%Z -> sum (weight row) 0 (length row) = 1.
Proof.
  intros H. pose proof (total_sum row 0) as T. rewrite H, Rplus_0_l in T.
  assert (P : 0 < IZR (2 ^ 64)) by (apply IZR_lt; reflexivity).
  rewrite (sum_ext (weight row) (fun i => / IZR (2 ^ 64) * IZR (at_place row i))) by (intros; unfold weight, Rdiv; ring).
  rewrite sum_scale, <- T. apply Rinv_l. lra.
Qed.

Lemma row_law m row : row_ok m row = true -> answer_law m (weight row).
Proof.
  unfold row_ok. rewrite !andb_true_iff. intros [[Hm Hn] Ht]. apply Nat.eqb_eq in Hm. apply nonneg_of_leb in Hn. apply Z.eqb_eq in Ht.
  split.
  - intros j _. apply Rdiv_nonneg; [apply IZR_le, at_nonneg, Hn | apply IZR_lt; reflexivity].
  - rewrite <- Hm. apply weights_sum, Ht.
Qed.

(* One term of the sum over a set, with the units of weights and of e^epsilon as variables. *)
Lemma one_answer a q b u v e : 0 < u -> 0 < v -> 0 <= q -> e <= v * b -> a / u <= b * (q / u) + / (u * v) * pos (v * a - e * q).
Proof.
  intros Hu Hv Hq He. apply Rmult_le_reg_r with (u * v); [nra|].
  replace (a / u * (u * v)) with (v * a) by (field; lra).
  replace ((b * (q / u) + / (u * v) * pos (v * a - e * q)) * (u * v)) with (v * b * q + pos (v * a - e * q)) by (field; lra).
  pose proof (pos_ge (v * a - e * q)). nra.
Qed.

Lemma allowed_le delta : IZR (allowed delta) <= Q2R delta * (IZR (2 ^ 64) * IZR (2 ^ 96)).
Proof.
  unfold allowed. eapply Rle_trans; [apply quotient_down; lia|]. rewrite <- (mult_IZR (2 ^ 64)).
  change (2 ^ 64 * 2 ^ 96)%Z with (2 ^ 160)%Z. rewrite mult_IZR. unfold Q2R, Rdiv. lra.
Qed.

Lemma back a d w : 0 < w -> a <= d * w -> / w * a <= d.
Proof. intros Hw H. apply Rmult_le_reg_l with w; [exact Hw|]. replace (w * (/ w * a)) with a by (field; lra). lra. Qed.

(* What excess bounds are the probabilities of all sets. *)
Lemma close_rows m epsilon delta p q : (0 <= Qnum epsilon)%Z -> row_ok m p = true -> row_ok m q = true ->
  (excess (gain p) (price epsilon q) 0 <= allowed delta)%Z -> indistinguishable m epsilon delta (weight p) (weight q).
Proof.
  intros He Hp Hq Hx A.
  pose proof (exp_down_le epsilon 96 He ltac:(lia)) as HE.
  assert (Hu : 0 < IZR (2 ^ 64)) by (apply IZR_lt; reflexivity). assert (Hv : 0 < IZR (2 ^ 96)) by (apply IZR_lt; reflexivity).
  destruct (row_law m p Hp) as [Hp0 _]. unfold row_ok in Hp, Hq. rewrite !andb_true_iff in Hp, Hq.
  destruct Hp as [[Hm _] _]. destruct Hq as [[_ Hq] _]. apply Nat.eqb_eq in Hm. apply nonneg_of_leb in Hq.
  apply IZR_le in Hx. rewrite excess_sum, Rplus_0_l in Hx. unfold gain at 2, price in Hx. rewrite scaled_length, Hm in Hx.
  set (u := IZR (2 ^ 64)) in *. set (v := IZR (2 ^ 96)) in *. set (e := IZR (exp_down epsilon 96)) in *.
  set (f := fun j => pos (v * IZR (at_place p j) - e * IZR (at_place q j))).
  assert (Hs : sum f 0 m <= Q2R delta * (u * v)).
  { eapply Rle_trans; [|apply allowed_le]. eapply Rle_trans; [|exact Hx]. right. apply sum_ext. intros j _. unfold f, gain.
    rewrite !at_scaled, !mult_IZR. reflexivity. }
  assert (Hd : / (u * v) * sum f 0 m <= Q2R delta) by (apply back; [nra | exact Hs]).
  unfold chance. eapply Rle_trans; [|apply Rplus_le_compat_l, Hd]. rewrite <- !sum_scale, <- sum_plus. apply sum_le. intros j Hj.
  assert (H0 : 0 <= / (u * v) * f j) by (apply Rmult_le_pos; [left; apply Rinv_0_lt_compat; nra | apply pos_nonneg]).
  destruct (A j); [|lra]. apply one_answer; auto. apply IZR_le, at_nonneg, Hq.
Qed.

(* --- Local randomizers --- *)

(* What holds of rows at their nodes, and of mixtures, holds of all values. *)
Lemma answered_mix (P : R -> (Z -> R) -> Prop) :
  (forall x y f g t, 0 <= t <= 1 -> P x f -> P y g -> P ((1 - t) * x + t * y) (fun j => (1 - t) * f j + t * g j)) ->
  forall nodes rows, length nodes = length rows -> ascends nodes = true ->
  (forall i, (i < length rows)%nat -> P (Q2R (nth i nodes 0%Q)) (weight (row_of rows i))) ->
  forall x, nodes <> [] -> Q2R (hd 0%Q nodes) <= x <= Q2R (last nodes 0%Q) -> P x (answered nodes rows x).
Proof.
  intros mix. induction nodes as [|a nodes IH]; intros rows Hl Ha HP x Hne Hx; [congruence|].
  destruct rows as [|p rows]; [discriminate|]. destruct nodes as [|b nodes].
  - pose proof (HP 0%nat ltac:(cbn; lia)) as H. cbn in Hx, H |- *. replace x with (Q2R a) by lra. exact H.
  - destruct rows as [|q rows]; [discriminate|]. cbn [ascends] in Ha. apply andb_true_iff in Ha as [Hab Ha].
    apply negb_true_iff, Qle_bool_false in Hab. change (hd 0%Q (a :: b :: nodes)) with a in Hx.
    change (P x (fun j => if Rle_dec x (Q2R b)
      then (1 - (x - Q2R a) / (Q2R b - Q2R a)) * weight p j + (x - Q2R a) / (Q2R b - Q2R a) * weight q j
      else answered (b :: nodes) (q :: rows) x j)).
    destruct (Rle_dec x (Q2R b)) as [Hb|Hb].
    + pose proof (HP 0%nat ltac:(cbn; lia)) as H0. pose proof (HP 1%nat ltac:(cbn; lia)) as H1. cbn [nth row_of] in H0, H1.
      set (t := (x - Q2R a) / (Q2R b - Q2R a)).
      replace x with ((1 - t) * Q2R a + t * Q2R b) at 1 by (unfold t; field; lra). apply mix; [|exact H0 | exact H1].
      split; [apply Rdiv_nonneg; lra|]. apply Rmult_le_reg_r with (Q2R b - Q2R a); [lra|].
      unfold t, Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
    + change (P x (answered (b :: nodes) (q :: rows) x)). apply IH; [injection Hl; auto | exact Ha | | discriminate | cbn [hd]; split; [lra | exact (proj2 Hx)]].
      intros i Hi. exact (HP (S i) ltac:(cbn in *; lia)).
Qed.

Lemma well_made_parts r : well_made r = true ->
  (0 <= Qnum (r_epsilon r))%Z /\ length (r_nodes r) = length (r_rows r) /\ r_nodes r <> [] /\ ascends (r_nodes r) = true /\
  (forall i, (i < length (r_rows r))%nat -> row_ok (answers_of r) (row_of (r_rows r) i) = true).
Proof.
  unfold well_made. rewrite !andb_true_iff, negb_true_iff. intros [[[[H1 H2] H3] H4] H5].
  apply Z.leb_le in H1. apply Nat.eqb_eq in H2. apply Nat.eqb_neq in H3. rewrite forallb_forall in H5.
  repeat split; auto; [intros E; rewrite E in H3; auto|]. intros i Hi. apply H5, nth_In, Hi.
Qed.

(* To be shown for rows alone. *)
Lemma randomized_mix (P : R -> (Z -> R) -> Prop) r : well_made r = true ->
  (forall x y f g t, 0 <= t <= 1 -> P x f -> P y g -> P ((1 - t) * x + t * y) (fun j => (1 - t) * f j + t * g j)) ->
  (forall i, (i < length (r_rows r))%nat -> P (Q2R (nth i (r_nodes r) 0%Q)) (weight (row_of (r_rows r) i))) ->
  forall x, value_of r x -> P x (randomized r x).
Proof.
  intros H mix HP x [Hx _]. destruct (well_made_parts r H) as (_ & Hl & Hne & Ha & _).
  apply (answered_mix P mix); auto.
Qed.

Lemma sum_mix t f g m : sum (fun j => (1 - t) * f j + t * g j) 0 m = (1 - t) * sum f 0 m + t * sum g 0 m.
Proof. rewrite sum_plus, !sum_scale. reflexivity. Qed.

Lemma chance_mix t f g m A : chance m (fun j => (1 - t) * f j + t * g j) A = (1 - t) * chance m f A + t * chance m g A.
Proof. unfold chance. rewrite <- sum_mix. apply sum_ext. intros j _. destruct (A j); ring. Qed.

Theorem randomized_law r : well_made r = true -> forall x, value_of r x -> answer_law (answers_of r) (randomized r x).
Proof.
  intros H. apply (randomized_mix (fun _ => answer_law (answers_of r)) r H).
  - intros _ _ f g t Ht [F0 F1] [G0 G1]. split; [|rewrite sum_mix, F1, G1; ring].
    intros j Hj. specialize (F0 j Hj). specialize (G0 j Hj). nra.
  - intros i Hi. apply row_law, (well_made_parts r H), Hi.
Qed.

(* All values are mixtures of nodes, on both sides of the inequality. *)
Theorem rows_private r delta : private_rows r delta = true -> locally_private r delta.
Proof.
  unfold private_rows. rewrite andb_true_iff. intros [H HR]. destruct (well_made_parts r H) as (He & _ & _ & _ & Hr).
  unfold rows_close in HR. rewrite forallb_forall in HR.
  assert (HX : forall i k, (i < length (r_rows r))%nat -> (k < length (r_rows r))%nat ->
    indistinguishable (answers_of r) (r_epsilon r) delta (weight (row_of (r_rows r) i)) (weight (row_of (r_rows r) k))).
  { intros i k Hi Hk. apply close_rows; auto. specialize (HR _ (nth_In _ [] Hi)). rewrite forallb_forall in HR.
    apply Z.leb_le, HR, in_map, nth_In, Hk. }
  intros x x' Hx Hx' A. revert x Hx.
  apply (randomized_mix (fun _ f => chance _ f A <= exp _ * chance _ (randomized r x') A + _) r H).
  - intros _ _ f g t Ht F G. rewrite chance_mix. nra.
  - intros i Hi. revert x' Hx'. apply (randomized_mix (fun _ f => chance _ _ A <= exp _ * chance _ f A + _) r H).
    + intros _ _ f g t Ht F G. rewrite chance_mix. set (e := exp _) in *. nra.
    + intros k Hk. apply HX; auto.
Qed.

(* --- Bias --- *)

Definition row_mean (row : list Z) (answers : list Q) : Q :=
  fold_right (fun wy s => Qplus (Qmult (inject_Z (fst wy)) (snd wy)) s) 0%Q (combine row answers).
Definition near_node (bias : Q) (answers : list Q) (xw : Q * list Z) : bool :=
  let d := Qminus (row_mean (snd xw) answers) (Qmult (inject_Z (2 ^ 64)) (fst xw)) in
  let b := Qmult (inject_Z (2 ^ 64)) bias in Qle_bool d b && Qle_bool (Qopp b) d.
Definition biased_at_most (r : randomizer) (bias : Q) : bool :=
  well_made r && forallb (near_node bias (r_answers r)) (combine (r_nodes r) (r_rows r)).

Lemma Q2R_inject n : Q2R (inject_Z n) = IZR n.
Proof. unfold Q2R. cbn. field. Qed.

Lemma row_mean_is answers : forall row, length row = length answers ->
  Q2R (row_mean row answers) = sum (fun j => IZR (at_place row j) * place answers j) 0 (length answers).
Proof.
  induction answers as [|y answers IH]; intros [|w row] H; try discriminate; [apply Q2R_small|].
  cbn [row_mean combine fold_right fst snd length]. fold (row_mean row answers).
  rewrite Q2R_plus, Q2R_mult, Q2R_inject, IH by (injection H; auto). rewrite sum_first.
  change (at_place (w :: row) 0) with w. change (place (y :: answers) 0) with (Q2R y). f_equal.
  symmetry. apply sum_onto. intros j Hj. replace (0 + 1 + j)%Z with (j + 1)%Z by lia. rewrite Z.add_0_l, at_next by lia. f_equal.
  unfold place. replace (Z.to_nat (j + 1)) with (S (Z.to_nat j)) by lia. reflexivity.
Qed.

Lemma near_mean b d m x u : 0 < u -> m - u * x <= u * b -> - (u * b) <= m - u * x -> d = / u * m -> Rabs (d - x) <= b.
Proof.
  intros Hu H1 H2 ->. replace (/ u * m - x) with (/ u * (m - u * x)) by (field; lra).
  apply Rabs_le. split; [|apply back; lra].
  apply Rmult_le_reg_l with u; [exact Hu|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra.
Qed.

(* Neither bias nor value is larger between nodes, as both are mixed alike. *)
Theorem bias_sound r bias : biased_at_most r bias = true -> forall x, value_of r x -> Rabs (mean_answer r x - x) <= Q2R bias.
Proof.
  unfold biased_at_most. rewrite andb_true_iff. intros [H HB]. destruct (well_made_parts r H) as (_ & Hl & _ & _ & Hr).
  rewrite forallb_forall in HB.
  apply (randomized_mix (fun x f => Rabs (sum (fun j => f j * place (r_answers r) j) 0 (answers_of r) - x) <= Q2R bias) r H).
  - intros x y f g t Ht F G.
    rewrite (sum_ext _ (fun j => (1 - t) * (f j * place (r_answers r) j) + t * (g j * place (r_answers r) j))) by (intros; ring).
    rewrite sum_mix. set (a := sum _ _ _) in *. set (b := sum (fun j => g j * _) _ _) in *.
    unfold Rabs in F, G. apply Rabs_le. destruct (Rcase_abs _), (Rcase_abs _); split; nra.
  - intros i Hi. specialize (HB (nth i (r_nodes r) 0%Q, row_of (r_rows r) i)).
    assert (HI : In (nth i (r_nodes r) 0%Q, row_of (r_rows r) i) (combine (r_nodes r) (r_rows r))).
    { unfold row_of. rewrite <- combine_nth by exact Hl. apply nth_In. rewrite combine_length. lia. }
    apply HB in HI. unfold near_node in HI. cbn [fst snd] in HI. apply andb_true_iff in HI as [B1 B2].
    apply Qle_bool_true in B1, B2. specialize (Hr i Hi). unfold row_ok in Hr. rewrite !andb_true_iff in Hr.
    destruct Hr as [[Hm _] _]. apply Nat.eqb_eq in Hm.
    rewrite Q2R_minus, 2!Q2R_mult, Q2R_inject in B1. rewrite Q2R_opp, Q2R_minus, 2!Q2R_mult, Q2R_inject in B2.
    eapply near_mean with (u := IZR (2 ^ 64)); [apply IZR_lt; reflexivity | exact B1 | exact B2 |].
    rewrite row_mean_is by exact Hm. rewrite <- sum_scale. apply sum_ext. intros j _. unfold weight, Rdiv. ring.
Qed.
