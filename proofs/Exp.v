(* SPDX-License-Identifier: Apache-2.0 *)
(* Integers just below and just above 2^bits * e^q, q >= 0 a fraction. *)
From Coq Require Import ZArith QArith Qreals Reals List Lia Lra.
Local Open Scope Z_scope.

(* Term i of the Taylor series at num/den, in units of 1/one, is term or less. What is returned is acc and the n terms
   after it, each rounded down. *)
Fixpoint taylor (num den term i : Z) (n : nat) (acc : Z) : Z :=
  match n with
  | O => acc
  | S n' => let t := term * num / (den * (i + 1)) in taylor num den t (i + 1) n' (acc + t)
  end.

(* x^(2^n), x in units of 2^-prec, rounded down each time. *)
Fixpoint square (prec : Z) (n : nat) (x : Z) : Z :=
  match n with O => x | S n' => square prec n' (Z.shiftr (x * x) prec) end.

(* e^q is e^(q/2^h) squared h times; q/2^h is below 2^-7, so that 80 terms are enough. *)
Definition exp_down (q : Q) (bits : Z) : Z :=
  let prec := bits + 512 in
  let h := Z.to_nat (Z.log2 (Qnum q) - Z.log2 (Zpos (Qden q)) + 9) in
  let one := 2 ^ prec in
  Z.shiftr (square prec h (taylor (Qnum q) (Zpos (Qden q) * 2 ^ Z.of_nat h) one 0 80 one)) (prec - bits).

(* e^-q is at least (1 - q/2^120)^(2^120), which this is, rounded down. *)
Definition exp_minus (q : Q) (bits : Z) : Z :=
  let prec := bits + 400 in
  square prec 120 (2 ^ prec - (Qnum q * 2 ^ prec / (Zpos (Qden q) * 2 ^ 120) + 1)).
(* ... and its reciprocal, rounded up. *)
Definition exp_up (q : Q) (bits : Z) : Z := 2 ^ bits * 2 ^ (bits + 400) / exp_minus q bits + 1.
(* Whether the roundings left anything of it. *)
Definition exp_up_fine (q : Q) (bits : Z) : bool :=
  let prec := bits + 400 in
  (0 <=? 2 ^ prec - (Qnum q * 2 ^ prec / (Zpos (Qden q) * 2 ^ 120) + 1)) && (0 <? exp_minus q bits).

Local Open Scope R_scope.

(* --- Division of integers, rounded down and up --- *)

Lemma quotient_down a b : (0 < b)%Z -> IZR (a / b) <= IZR a / IZR b.
Proof.
  intros Hb. apply IZR_lt in Hb as Hb'. apply Rmult_le_reg_r with (IZR b); [exact Hb'|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r, <- mult_IZR by lra.
  apply IZR_le. rewrite Z.mul_comm. apply Z.mul_div_le. exact Hb.
Qed.

Lemma quotient_up a b : (0 < b)%Z -> IZR a / IZR b <= IZR (a / b + 1).
Proof.
  intros Hb. apply IZR_lt in Hb as Hb'. apply Rmult_le_reg_r with (IZR b); [exact Hb'|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r, <- mult_IZR by lra.
  apply IZR_le. pose proof (Z.mul_succ_div_gt a b Hb). lia.
Qed.

Lemma Rdiv_nonneg a b : 0 <= a -> 0 < b -> 0 <= a / b.
Proof. intros. apply Rmult_le_pos; [auto | left; apply Rinv_0_lt_compat; auto]. Qed.

Lemma power_of_2 k : (0 <= k)%Z -> 0 < IZR (2 ^ k).
Proof. intros. apply IZR_lt, Z.pow_pos_nonneg; lia. Qed.

Lemma power_of_2_nat h : IZR (2 ^ Z.of_nat h) = 2 ^ h.
Proof. rewrite <- pow_IZR. reflexivity. Qed.

(* --- From below --- *)

(* Every partial sum of the series is below the exponential. *)
Lemma series_below y n : 0 <= y -> sum_f_R0 (fun i => / INR (fact i) * y ^ i) n <= exp y.
Proof.
  intros Hy. unfold exp. destruct (exist_exp y) as [l Hl]. apply (sum_incr (fun i => / INR (fact i) * y ^ i)); [exact Hl|].
  intros i. apply Rmult_le_pos; [left; apply Rinv_0_lt_compat, INR_fact_lt_0 | apply pow_le; auto].
Qed.

Section Taylor.
Variables (num den one : Z).
Hypotheses (num_nonneg : (0 <= num)%Z) (den_pos : (0 < den)%Z) (one_pos : (0 < one)%Z).
Let y := IZR num / IZR den.
Let term i := / INR (fact i) * y ^ i.

Let y_nonneg : 0 <= y. Proof. apply Rdiv_nonneg; [apply IZR_le | apply IZR_lt]; auto. Qed.

Lemma next_term t i : (0 <= t)%Z -> IZR t <= IZR one * term i ->
  (0 <= t * num / (den * Z.of_nat (S i)))%Z /\ IZR (t * num / (den * Z.of_nat (S i))) <= IZR one * term (S i).
Proof.
  intros Ht H. split; [apply Z.div_pos; nia|].
  eapply Rle_trans; [apply quotient_down; nia|]. rewrite !mult_IZR, <- INR_IZR_INZ.
  pose proof (lt_0_INR (S i) ltac:(lia)) as Hi. pose proof (INR_fact_lt_0 i). apply IZR_lt in den_pos as Hd.
  replace (IZR t * IZR num / (IZR den * INR (S i))) with (IZR t * (y / INR (S i))) by (unfold y; field; lra).
  replace (IZR one * term (S i)) with (IZR one * term i * (y / INR (S i))).
  - apply Rmult_le_compat_r; [apply Rdiv_nonneg; auto | exact H].
  - unfold term. change (fact (S i)) with (S i * fact i)%nat. rewrite mult_INR. cbn [pow]. field. lra.
Qed.

Lemma taylor_below n : forall i t acc, (0 <= t)%Z -> (0 <= acc)%Z ->
  IZR t <= IZR one * term i -> IZR acc <= IZR one * sum_f_R0 term i ->
  (0 <= taylor num den t (Z.of_nat i) n acc)%Z /\
  IZR (taylor num den t (Z.of_nat i) n acc) <= IZR one * exp y.
Proof.
  induction n; intros i t acc Ht Ha H HA; cbn [taylor].
  - split; [exact Ha|]. eapply Rle_trans; [exact HA|].
    apply Rmult_le_compat_l; [apply IZR_le; lia | apply series_below, y_nonneg].
  - destruct (next_term t i Ht H) as [H0 H1]. replace (Z.of_nat i + 1)%Z with (Z.of_nat (S i)) by lia.
    apply IHn; try lia; [exact H1|]. rewrite plus_IZR. cbn [sum_f_R0]. lra.
Qed.
End Taylor.

Lemma square_below prec : (0 <= prec)%Z -> forall n x y,
  (0 <= x)%Z -> IZR x <= IZR (2 ^ prec) * exp y ->
  (0 <= square prec n x)%Z /\ IZR (square prec n x) <= IZR (2 ^ prec) * exp (y * 2 ^ n).
Proof.
  intros Hp. pose proof (Z.pow_pos_nonneg 2 prec ltac:(lia) Hp) as H2. apply IZR_lt in H2 as H2'.
  induction n; intros x y Hx Hy; cbn [square]; [rewrite Rmult_1_r; auto|].
  replace (y * 2 ^ S n) with ((y + y) * 2 ^ n) by (cbn [pow]; ring).
  rewrite Z.shiftr_div_pow2 by auto. apply IHn; [apply Z.div_pos; nia|].
  eapply Rle_trans; [apply quotient_down; auto|]. rewrite mult_IZR, exp_plus.
  apply IZR_le in Hx as Hx'. apply Rmult_le_reg_r with (IZR (2 ^ prec)); auto.
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  replace (IZR (2 ^ prec) * (exp y * exp y) * IZR (2 ^ prec)) with ((IZR (2 ^ prec) * exp y) * (IZR (2 ^ prec) * exp y)) by ring.
  apply Rmult_le_compat; auto.
Qed.

Lemma scaled_back num den h : den <> 0 -> num / (den * 2 ^ h) * 2 ^ h = num * / den.
Proof. intros. assert (2 ^ h <> 0) by (apply pow_nonzero; lra). field. split; auto. Qed.

Theorem exp_down_le q bits : (0 <= Qnum q)%Z -> (0 <= bits)%Z ->
  IZR (exp_down q bits) <= IZR (2 ^ bits) * exp (Q2R q).
Proof.
  intros Hq Hb. unfold exp_down. set (h := Z.to_nat _). set (prec := (bits + 512)%Z).
  assert (Hden : (0 < Zpos (Qden q) * 2 ^ Z.of_nat h)%Z) by (apply Z.mul_pos_pos; [lia | apply Z.pow_pos_nonneg; lia]).
  assert (Hone : (0 < 2 ^ prec)%Z) by (apply Z.pow_pos_nonneg; lia).
  destruct (taylor_below (Qnum q) _ (2 ^ prec) Hq Hden Hone 80 0 (2 ^ prec) (2 ^ prec)) as [T0 T1]; try lia;
    try (cbn [fact sum_f_R0 pow INR]; lra).
  destruct (square_below prec ltac:(lia) h _ _ T0 T1) as [_ HS].
  rewrite mult_IZR, power_of_2_nat, scaled_back in HS by (apply IZR_neq; lia).
  fold (Q2R q) in HS. cbn [Z.of_nat] in HS.
  rewrite Z.shiftr_div_pow2 by lia. replace (prec - bits)%Z with 512%Z by lia.
  eapply Rle_trans; [apply quotient_down; lia|].
  pose proof (power_of_2 512 ltac:(lia)) as H5.
  apply Rmult_le_reg_r with (IZR (2 ^ 512)); [exact H5|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  eapply Rle_trans; [exact HS|]. unfold prec. rewrite Z.pow_add_r, (mult_IZR (2 ^ bits)) by lia. lra.
Qed.

(* --- From above --- *)

Lemma reciprocal a one low e : 0 < a -> 0 < low -> 0 < e -> low <= one * / e -> a * e <= a * one / low.
Proof.
  intros Ha Hl He H. apply Rmult_le_reg_r with low; [exact Hl|].
  replace (a * one / low * low) with (a * e * (one * / e)) by (field; lra).
  apply Rmult_le_compat_l; [nra | exact H].
Qed.

Theorem exp_up_ge q bits : (0 <= bits)%Z -> exp_up_fine q bits = true ->
  IZR (2 ^ bits) * exp (Q2R q) <= IZR (exp_up q bits).
Proof.
  intros Hb H. unfold exp_up_fine in H. apply Bool.andb_true_iff in H as [H0 H1].
  apply Z.leb_le in H0. apply Z.ltb_lt in H1.
  unfold exp_up. set (prec := (bits + 400)%Z) in *.
  set (z := IZR (Qnum q) / (IZR (Zpos (Qden q)) * 2 ^ 120)).
  assert (Hz : z * 2 ^ 120 = Q2R q) by (apply scaled_back, IZR_neq; lia).
  pose proof (power_of_2 prec ltac:(lia)) as Hone.
  assert (Hstart : IZR (2 ^ prec - (Qnum q * 2 ^ prec / (Zpos (Qden q) * 2 ^ 120) + 1)) <= IZR (2 ^ prec) * exp (- z)).
  { rewrite minus_IZR. pose proof (quotient_up (Qnum q * 2 ^ prec) (Zpos (Qden q) * 2 ^ 120) ltac:(lia)) as Hd.
    apply Rle_trans with (IZR (2 ^ prec) * (1 + - z)); [|apply Rmult_le_compat_l; [lra | apply exp_ineq1_le]].
    rewrite (mult_IZR (Qnum q)), (mult_IZR (Zpos _)) in Hd.
    replace (IZR (2 ^ 120)) with (2 ^ 120)%R in Hd by (symmetry; exact (power_of_2_nat 120)).
    replace (IZR (Qnum q) * IZR (2 ^ prec) / (IZR (Z.pos (Qden q)) * 2 ^ 120)) with (IZR (2 ^ prec) * z) in Hd
      by (unfold z, Rdiv; ring). lra. }
  destruct (square_below prec ltac:(lia) 120 _ _ H0 Hstart) as [_ HS].
  replace (- z * 2 ^ 120) with (- Q2R q) in HS by (rewrite <- Hz; ring). rewrite exp_Ropp in HS.
  fold (exp_minus q bits) in HS. apply IZR_lt in H1 as H1'.
  eapply Rle_trans; [|apply quotient_up; exact H1]. rewrite mult_IZR.
  apply reciprocal; auto; [apply power_of_2; auto | apply exp_pos].
Qed.
