(* SPDX-License-Identifier: Apache-2.0 *)
(* The probabilities of the cells of a table, as the checker counts them: the list, with blocks that repeat outwards. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Lia Lra.
From Noisewright Require Import Statement Sums Exp Lists Check.
Import ListNotations.
Local Open Scope R_scope.

Definition T : R := IZR (2 ^ 64).
Lemma T_pos : 0 < T. Proof. apply power_of_2. lia. Qed.

Section Law.
Variable t : table.
Hypothesis formed : well_formed t = true.

Let K := cells t.
Let k := period t.
Let W := listed t.
Let n := length W.
Let w i := IZR (at_place W i).
Definition rho : R := IZR (ratio t) / T.
Definition mass_of_atom : R := IZR (atom t) / T.
(* The probability of the cell at place i of the list; negative places and those beyond its end are repetitions. *)
Definition cell (i : Z) : R := cell_law t (i - margin t).

Lemma formed_parts :
  (0 <= Qnum (epsilon t))%Z /\ (0 < Qnum (step t))%Z /\ (0 < points t)%Z /\ (0 < K)%Z /\ (0 <= atom t)%Z /\
  (0 <= ratio t < 2 ^ 64)%Z /\ (2 * K < Z.of_nat n)%Z /\ all_nonneg (weights t) /\ total W (atom t) = (2 ^ 64)%Z.
Proof.
  assert (H := formed). unfold well_formed in H. repeat rewrite andb_true_iff in H.
  repeat rewrite Z.leb_le in H. repeat rewrite Z.ltb_lt in H. rewrite Z.eqb_eq in H.
  fold W n K in H. pose proof nonneg_of_leb (weights t). tauto.
Qed.

Lemma sizes : (0 < k)%nat /\ (2 * k < n)%nat /\ Z.of_nat k = K.
Proof. pose proof formed_parts. unfold k, period. fold K. lia. Qed.

Lemma rho_range : 0 <= rho < 1.
Proof.
  destruct formed_parts as (_ & _ & _ & _ & _ & [H0 H1] & _). apply IZR_le in H0. apply IZR_lt in H1. fold T in H1.
  pose proof T_pos. unfold rho. split; [apply Rdiv_nonneg; auto|].
  apply Rmult_lt_reg_r with T; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma w_nonneg i : 0 <= w i.
Proof.
  apply IZR_le, at_nonneg. unfold W, listed. repeat apply Forall_app, conj; try apply zeros_nonneg. apply formed_parts.
Qed.

Lemma atom_nonneg : 0 <= mass_of_atom.
Proof. apply Rdiv_nonneg; [apply IZR_le, formed_parts | apply T_pos]. Qed.

(* --- The cells, case by case --- *)

Lemma listed_no_tail i : ratio t = 0%Z -> at_place W i = at_place (weights t) (i - margin t).
Proof.
  intros H. unfold W, listed. rewrite at_after_zeros, at_before_zeros. do 2 f_equal.
  assert (margin t = K) by (unfold margin; rewrite H; reflexivity). pose proof formed_parts. lia.
Qed.
Lemma listed_tail : ratio t <> 0%Z -> W = weights t /\ margin t = 0%Z.
Proof.
  intros H. unfold W, listed. assert (Hm : margin t = 0%Z) by (unfold margin; rewrite (proj2 (Z.eqb_neq _ _) H); reflexivity).
  rewrite Hm. cbn [Z.to_nat repeat app]. rewrite app_nil_r. auto.
Qed.

(* Without a tail nothing is in the blocks. *)
Lemma no_tail_cell i : ratio t = 0%Z -> cell i = w i / T /\ ((i < K \/ Z.of_nat n - K <= i)%Z -> w i = 0).
Proof.
  intros H. unfold cell, cell_law, w. rewrite listed_no_tail by exact H. rewrite H. split; [reflexivity|].
  intros Hi. rewrite at_out; [reflexivity|].
  assert (Hm : margin t = K) by (unfold margin; rewrite H; reflexivity).
  assert (n = (Z.to_nat (margin t) + (length (weights t) + Z.to_nat (margin t)))%nat).
  { unfold n, W, listed. rewrite !app_length, repeat_length. reflexivity. }
  pose proof formed_parts. lia.
Qed.

Lemma no_tail_rho : ratio t = 0%Z -> rho = 0.
Proof. intros H. unfold rho. rewrite H. apply Rmult_0_l. Qed.

Lemma cell_middle i : (K <= i < Z.of_nat n - K)%Z -> cell i = w i / T.
Proof.
  intros Hi. destruct (Z.eq_dec (ratio t) 0) as [H|H]; [apply no_tail_cell; exact H|].
  destruct (listed_tail H) as [HW Hm]. unfold cell, cell_law. cbv zeta. rewrite Hm, Z.sub_0_r, <- HW.
  fold n K. rewrite (proj2 (Z.eqb_neq _ _) H).
  destruct (Z.ltb_spec i K); [lia|]. destruct (Z.ltb_spec i (Z.of_nat n - K)); [reflexivity | lia].
Qed.

(* Outside the middle, the cell d places from the middle: in its block, and one period further out. *)
Lemma cell_left i : (i < K)%Z -> cell (i - K) = rho * cell i /\ ((0 <= i)%Z -> cell i = w i / T * (1 - rho)).
Proof.
  intros Hi. destruct (Z.eq_dec (ratio t) 0) as [H|H].
  - destruct (no_tail_cell i H) as [-> ->]; [|lia]. destruct (no_tail_cell (i - K) H) as [-> ->]; [|pose proof formed_parts; lia].
    split; intros; lra.
  - destruct (listed_tail H) as [HW Hm]. unfold cell, cell_law. cbv zeta. rewrite Hm, !Z.sub_0_r, <- HW.
    pose proof formed_parts. fold n K T rho. rewrite (proj2 (Z.eqb_neq _ _) H).
    destruct (Z.ltb_spec (i - K) K), (Z.ltb_spec i K); try lia. split.
    + replace (K - 1 - (i - K))%Z with (K - 1 - i + 1 * K)%Z by lia. rewrite Z.mod_add, Z.div_add by lia.
      rewrite Z2Nat.inj_add by (try apply Z.div_pos; lia). rewrite Nat.add_1_r. cbn [pow]. ring.
    + intros Hi0. rewrite Z.mod_small, Z.div_small by lia. cbn [Z.to_nat pow]. rewrite Rmult_1_r.
      replace (K - 1 - (K - 1 - i))%Z with i by lia. reflexivity.
Qed.

Lemma cell_right i : (Z.of_nat n - K <= i)%Z ->
  cell (i + K) = rho * cell i /\ ((i < Z.of_nat n)%Z -> cell i = w i / T * (1 - rho)).
Proof.
  intros Hi. pose proof formed_parts as P. destruct (Z.eq_dec (ratio t) 0) as [H|H].
  - destruct (no_tail_cell i H) as [-> ->]; [|lia]. destruct (no_tail_cell (i + K) H) as [-> ->]; [|lia].
    split; intros; lra.
  - destruct (listed_tail H) as [HW Hm]. unfold cell, cell_law. cbv zeta. rewrite Hm, !Z.sub_0_r, <- HW.
    fold n K T rho. rewrite (proj2 (Z.eqb_neq _ _) H).
    destruct (Z.ltb_spec (i + K) K), (Z.ltb_spec i K); try lia.
    destruct (Z.ltb_spec (i + K) (Z.of_nat n - K)), (Z.ltb_spec i (Z.of_nat n - K)); try lia. split.
    + replace (i + K - (Z.of_nat n - K))%Z with (i - (Z.of_nat n - K) + 1 * K)%Z by lia. rewrite Z.mod_add, Z.div_add by lia.
      rewrite Z2Nat.inj_add by (try apply Z.div_pos; lia). rewrite Nat.add_1_r. cbn [pow]. ring.
    + intros Hi0. rewrite Z.mod_small, Z.div_small by lia. cbn [Z.to_nat pow]. rewrite Rmult_1_r.
      replace (Z.of_nat n - K + (i - (Z.of_nat n - K)))%Z with i by lia. reflexivity.
Qed.

(* m periods further out, for the few that the checker writes down. *)
Lemma cell_left_out m i : (0 <= m <= 2)%Z -> (0 <= i < K)%Z -> cell (i - m * K) = w i / T * (1 - rho) * rho ^ Z.to_nat m.
Proof.
  intros Hm Hi. assert (Hc : m = 0%Z \/ m = 1%Z \/ m = 2%Z) by lia. destruct (cell_left i) as [H1 H0]; [lia|].
  destruct Hc as [-> | [-> | -> ] ].
  - replace (i - 0 * K)%Z with i by lia. rewrite H0 by lia. cbn. ring.
  - replace (i - 1 * K)%Z with (i - K)%Z by lia. rewrite H1, H0 by lia. change (Z.to_nat 1) with 1%nat. cbn. ring.
  - replace (i - 2 * K)%Z with (i - K - K)%Z by lia. destruct (cell_left (i - K)) as [-> _]; [lia|].
    rewrite H1, H0 by lia. change (Z.to_nat 2) with 2%nat. cbn. ring.
Qed.
Lemma cell_right_out m i : (0 <= m <= 2)%Z -> (Z.of_nat n - K <= i < Z.of_nat n)%Z ->
  cell (i + m * K) = w i / T * (1 - rho) * rho ^ Z.to_nat m.
Proof.
  intros Hm Hi. assert (Hc : m = 0%Z \/ m = 1%Z \/ m = 2%Z) by lia. destruct (cell_right i) as [H1 H0]; [lia|].
  destruct Hc as [-> | [-> | -> ] ].
  - replace (i + 0 * K)%Z with i by lia. rewrite H0 by lia. cbn. ring.
  - replace (i + 1 * K)%Z with (i + K)%Z by lia. rewrite H1, H0 by lia. change (Z.to_nat 1) with 1%nat. cbn. ring.
  - replace (i + 2 * K)%Z with (i + K + K)%Z by lia. destruct (cell_right (i + K)) as [-> _]; [lia|].
    rewrite H1, H0 by lia. change (Z.to_nat 2) with 2%nat. cbn. ring.
Qed.

Lemma cell_nonneg i : 0 <= cell i.
Proof.
  pose proof rho_range. pose proof T_pos.
  assert (step : forall j, 0 <= j -> 0 <= rho * j) by (intros; apply Rmult_le_pos; lra).
  assert (base : forall j, 0 <= w j / T * (1 - rho)).
  { intros j. apply Rmult_le_pos; [apply Rdiv_nonneg; auto; apply w_nonneg | lra]. }
  destruct sizes as (K0 & KN & HK).
  assert (Hl : forall m : nat, forall j, (- Z.of_nat m * K <= j < K)%Z -> 0 <= cell j).
  { induction m; intros j Hj; [destruct (cell_left j) as [_ ->]; auto; lia|].
    destruct (Z_lt_le_dec j 0); [|apply IHm; nia].
    replace j with (j + K - K)%Z by lia. destruct (cell_left (j + K)) as [-> _]; [lia|]. apply step, IHm. nia. }
  assert (Hr : forall m : nat, forall j, (Z.of_nat n - K <= j < Z.of_nat n + Z.of_nat m * K)%Z -> 0 <= cell j).
  { induction m; intros j Hj; [destruct (cell_right j) as [_ ->]; auto; lia|].
    destruct (Z_lt_le_dec j (Z.of_nat n)); [destruct (cell_right j) as [_ ->]; auto; lia|].
    replace j with (j - K + K)%Z by lia. destruct (cell_right (j - K)) as [-> _]; [lia|]. apply step, IHm. lia. }
  destruct (Z_lt_le_dec i K); [apply (Hl (Z.to_nat (- i))); nia|].
  destruct (Z_lt_le_dec i (Z.of_nat n - K)); [rewrite cell_middle by lia; apply Rdiv_nonneg; auto; apply w_nonneg|].
  apply (Hr (S (Z.to_nat i))). nia.
Qed.

(* --- All of it is 1 --- *)

Lemma periods_of_cell :
  (forall i, (Z.of_nat n <= i)%Z -> cell (i + Z.of_nat k) = rho * cell i) /\
  (forall i, (i < 0)%Z -> cell (i - Z.of_nat k) = rho * cell i).
Proof. destruct sizes as (? & ? & HK). rewrite HK. split; intros; [apply cell_right | apply cell_left]; lia. Qed.

Lemma mass : whole cell k rho n = (1 - mass_of_atom) * (1 - rho).
Proof.
  destruct sizes as (K0 & KN & HK). pose proof T_pos as HT.
  set (A := sum w 0 k). set (B := sum w (Z.of_nat k) (n - 2 * k)). set (C := sum w (Z.of_nat (n - k)) k).
  assert (Hsum : A + B + C = T - IZR (atom t)).
  { pose proof (total_sum W (atom t)) as H. replace (total W (atom t)) with (2 ^ 64)%Z in H by (symmetry; apply formed_parts).
    fold T n in H. unfold A, B, C.
    replace (sum (fun i => IZR (at_place W i)) 0 n) with (sum w 0 (k + ((n - 2 * k) + k))) in H.
    - rewrite !sum_split, Z.add_0_l, <- Nat2Z.inj_add in H. replace (k + (n - 2 * k))%nat with (n - k)%nat in H by lia. lra.
    - replace (k + ((n - 2 * k) + k))%nat with n by lia. reflexivity. }
  assert (HL : sum cell (- Z.of_nat k) k = rho * (1 - rho) / T * A).
  { unfold A. rewrite <- sum_scale. apply sum_onto. intros i Hi. replace (- Z.of_nat k + i)%Z with (i - 1 * K)%Z by lia.
    rewrite cell_left_out, Z.add_0_l by lia. change (Z.to_nat 1) with 1%nat. cbn [pow]. field. lra. }
  assert (HR : sum cell (Z.of_nat n) k = rho * (1 - rho) / T * C).
  { unfold C. rewrite <- sum_scale. apply sum_onto. intros i Hi. replace (Z.of_nat n + i)%Z with (Z.of_nat (n - k) + i + 1 * K)%Z by lia.
    rewrite cell_right_out by lia. change (Z.to_nat 1) with 1%nat. cbn [pow]. field. lra. }
  assert (HM : sum cell 0 n = (1 - rho) / T * A + / T * B + (1 - rho) / T * C).
  { replace n with (k + ((n - 2 * k) + k))%nat at 1 by lia. rewrite !sum_split, Z.add_0_l, <- Nat2Z.inj_add.
    replace (k + (n - 2 * k))%nat with (n - k)%nat by lia. unfold A, B, C. rewrite <- !sum_scale, Rplus_assoc.
    f_equal; [|f_equal]; apply sum_ext; intros i Hi.
    - destruct (cell_left i) as [_ ->]; try lia. field. lra.
    - rewrite cell_middle by lia. field. lra.
    - destruct (cell_right i) as [_ ->]; try lia. field. lra. }
  unfold whole. rewrite HL, HR, HM. unfold mass_of_atom.
  replace B with (T - IZR (atom t) - A - C) by lra. field. lra.
Qed.

Lemma mass_le lo len : sum cell lo len <= 1 - mass_of_atom.
Proof.
  pose proof rho_range. destruct periods_of_cell as [P1 P2]. destruct sizes as (K0 & _).
  pose proof (sum_le_whole cell k rho rho_range n cell_nonneg P1 P2 lo len K0) as Hs. rewrite mass in Hs.
  apply Rmult_le_reg_r with (1 - rho); lra.
Qed.

Lemma mass_near eta : 0 < eta -> exists lo len, 1 - mass_of_atom - eta <= sum cell lo len.
Proof.
  intros He. pose proof rho_range. destruct periods_of_cell as [P1 P2].
  destruct (sum_near_whole cell k rho rho_range n cell_nonneg P1 P2 (eta * (1 - rho))) as (lo & len & Hs); [nra|].
  exists lo, len. rewrite mass in Hs. apply Rmult_le_reg_r with (1 - rho); lra.
Qed.

(* --- The lists of the checker --- *)

Let V : R := T * IZR (2 ^ spare t).

Lemma V_pos : 0 < V.
Proof. unfold V. apply Rmult_lt_0_compat; [apply T_pos | apply power_of_2; unfold spare; destruct (_ =? _)%Z; lia]. Qed.

Lemma unit_is m : (0 <= m <= 2)%Z -> (0 <= unit t m)%Z /\ IZR (unit t m) = V / T * (1 - rho) * rho ^ Z.to_nat m.
Proof.
  intros Hm. assert (Hc : m = 0%Z \/ m = 1%Z \/ m = 2%Z) by lia. pose proof T_pos as HT.
  pose proof formed_parts as (_ & _ & _ & _ & _ & HR & _). unfold V, unit, spare, rho.
  destruct (Z.eqb_spec (ratio t) 0) as [->|H].
  - change (IZR (2 ^ 0)) with 1. destruct Hc as [-> | [-> | -> ] ]; (split; [cbn; lia|]);
      change (Z.to_nat 1) with 1%nat; change (Z.to_nat 2) with 2%nat; cbn; field; lra.
  - replace (IZR (2 ^ 192)) with (T * T * T) by (unfold T; rewrite <- !mult_IZR; reflexivity).
    split; [apply Z.mul_nonneg_nonneg; [apply Z.mul_nonneg_nonneg|]; [lia | |]; apply Z.pow_nonneg; lia|].
    rewrite !mult_IZR, minus_IZR. fold T.
    destruct Hc as [-> | [-> | -> ] ].
    + replace (IZR (2 ^ (64 * (2 - 0)))) with (T * T) by (unfold T; rewrite <- mult_IZR; reflexivity).
      rewrite Z.pow_0_r. cbn [Z.to_nat pow]. field. lra.
    + replace (IZR (2 ^ (64 * (2 - 1)))) with T by reflexivity.
      rewrite Z.pow_1_r. change (Z.to_nat 1) with 1%nat. cbn [pow]. field. lra.
    + replace (IZR (2 ^ (64 * (2 - 2)))) with 1 by reflexivity.
      rewrite Z.pow_2_r, mult_IZR. change (Z.to_nat 2) with 2%nat. cbn [pow]. field. lra.
Qed.

Lemma block_lengths : length (left_block t) = k /\ length (middle t) = (n - 2 * k)%nat /\ length (right_block t) = k /\ length (core t) = n.
Proof.
  destruct sizes as (? & ? & ?). unfold core, left_block, middle, right_block. rewrite !app_length, !scaled_length.
  repeat rewrite skipn_length. repeat rewrite firstn_length. fold W n k. lia.
Qed.

Lemma blocks_nonneg : all_nonneg (left_block t) /\ all_nonneg (right_block t) /\ all_nonneg (core t).
Proof.
  assert (HW : all_nonneg W).
  { unfold W, listed. repeat apply Forall_app, conj; try apply zeros_nonneg. apply formed_parts. }
  assert (HL : all_nonneg (left_block t)) by (apply firstn_nonneg; exact HW).
  assert (HR : all_nonneg (right_block t)) by (apply skipn_nonneg; exact HW).
  destruct (unit_is 0) as [HU _]; [lia|].
  repeat split; auto. unfold core. repeat apply Forall_app, conj; apply scaled_nonneg; auto; [lia|].
  apply skipn_nonneg, firstn_nonneg. exact HW.
Qed.

Lemma left_list m i : (0 <= m <= 2)%Z -> (0 <= i < K)%Z -> IZR (at_place (scaled (unit t m) (left_block t)) i) = V * cell (i - m * K).
Proof.
  intros Hm Hi. destruct sizes as (? & ? & ?). pose proof T_pos.
  rewrite at_scaled, mult_IZR, cell_left_out by lia. destruct (unit_is m Hm) as [_ ->].
  unfold left_block. rewrite at_firstn by (fold k; lia). fold W. unfold w. field. lra.
Qed.

Lemma right_list m i : (0 <= m <= 2)%Z -> (0 <= i < K)%Z ->
  IZR (at_place (scaled (unit t m) (right_block t)) i) = V * cell (Z.of_nat n - K + i + m * K).
Proof.
  intros Hm Hi. destruct sizes as (? & ? & ?). pose proof T_pos.
  rewrite at_scaled, mult_IZR, cell_right_out by lia. destruct (unit_is m Hm) as [_ ->].
  unfold right_block. fold W n k. rewrite at_skipn by lia. replace (i + Z.of_nat (n - k))%Z with (Z.of_nat n - K + i)%Z by lia.
  unfold w. field. lra.
Qed.

Lemma core_list i : (0 <= i < Z.of_nat n)%Z -> IZR (at_place (core t) i) = V * cell i.
Proof.
  intros Hi. destruct sizes as (? & ? & HK). destruct block_lengths as (L1 & L2 & L3 & _). pose proof T_pos.
  unfold core. rewrite !at_app, !scaled_length, L1, L2. destruct (Z.ltb_spec i (Z.of_nat k)).
  - rewrite left_list by lia. do 2 f_equal. lia.
  - destruct (Z.ltb_spec (i - Z.of_nat k) (Z.of_nat (n - 2 * k))).
    + rewrite at_scaled, mult_IZR, cell_middle by lia. unfold middle. fold W n k.
      rewrite at_skipn, at_firstn by lia. replace (i - Z.of_nat k + Z.of_nat k)%Z with i by lia. unfold V, w. field. lra.
    + rewrite right_list by lia. do 2 f_equal. lia.
Qed.

Lemma extended_list i : (0 <= i < Z.of_nat n + 4 * K)%Z -> IZR (at_place (extended t) i) = V * cell (i - 2 * K).
Proof.
  intros Hi. destruct sizes as (? & ? & HK). destruct block_lengths as (L1 & L2 & L3 & L4).
  unfold extended. rewrite !at_app, !scaled_length, L1, L3, L4.
  repeat match goal with |- context [(?a <? ?b)%Z] => destruct (Z.ltb_spec a b) end;
    first [rewrite left_list by lia | rewrite right_list by lia | rewrite core_list by lia]; do 2 f_equal; lia.
Qed.
End Law.
