(* SPDX-License-Identifier: Apache-2.0 *)
(* What is drawn from a table that is certified is an answer as private as the table says, so that theorems of Composition.v
   are about tables. *)
From Coq Require Import ZArith QArith Qreals Reals List Lia Lra Classical ClassicalDedekindReals.
From Noisewright Require Import Statement Answers Sums Check Close Private.
Local Open Scope R_scope.

(* --- Sums of a law --- *)

Lemma window_under f s lo len : (forall n, 0 <= f n) -> sums_to f s -> sum f lo len <= s.
Proof.
  intros Hf Hs. apply Rle_trans with (window f (Z.to_nat (Z.abs lo + Z.of_nat len))).
  - apply sum_wider; auto; lia.
  - apply (growing_ineq (window f)); [apply window_grows, Hf | exact Hs].
Qed.

Lemma sums_to_moved f v s : (forall n, 0 <= f n) -> sums_to f s -> sums_to (fun y => f (y - v)%Z) s.
Proof.
  intros Hf Hs.
  assert (M : forall lo len, sum (fun y => f (y - v)%Z) lo len = sum f (lo - v) len) by (intros; apply (sum_moved f (- v))).
  apply sums_to_sup; [auto | intros; rewrite M; apply window_under; auto |].
  intros eta He. destruct (Hs eta He) as [N HN]. specialize (HN N (le_n N)). apply Rabs_def2 in HN.
  exists (- Z.of_nat N + v)%Z, (2 * N + 1)%nat. rewrite M. replace (- Z.of_nat N + v - v)%Z with (- Z.of_nat N)%Z by lia.
  unfold window in HN. lra.
Qed.

Section Drawn.
Variable w : Z -> R.
Hypotheses (w_nonneg : forall y, 0 <= w y) (w_one : sums_to w 1).

(* Bounded functions have an expectation: with their bound added, there is nothing negative. *)
Lemma expected_exists f : bounded f -> exists l, sums_to (fun y => w y * f y) l.
Proof.
  intros [M H].
  assert (Hf : forall y, 0 <= f y + M <= 2 * M) by (intros y; specialize (H y); unfold Rabs in H; destruct Rcase_abs; lra).
  destruct (sums_to_exists (fun y => w y * (f y + M)) (2 * M)) as (l & Hl & _).
  - intros y. apply Rmult_le_pos; [apply w_nonneg | apply Hf].
  - intros lo len. apply Rle_trans with (sum (fun y => 2 * M * w y) lo len).
    + apply sum_le. intros y _. specialize (Hf y). specialize (w_nonneg y). nra.
    + rewrite sum_scale. pose proof (window_under w 1 lo len w_nonneg w_one). specialize (Hf 0%Z). nra.
  - exists (1 * l + - M * 1). apply (sums_to_ext (fun y => 1 * (w y * (f y + M)) + - M * w y)); [intros; ring|].
    apply sums_to_linear; [exact Hl | exact w_one].
Qed.

Definition expected : expectation Z := fun f =>
  match sig_not_dec (Cauchy_crit (window (fun y => w y * f y))) with
  | left H => proj1_sig (R_complete _ (NNPP _ H))
  | right _ => 0
  end.

Lemma expected_drawn : drawn w expected.
Proof.
  intros f Hf. unfold expected. destruct (sig_not_dec _) as [H|H].
  - exact (proj2_sig (R_complete _ (NNPP _ H))).
  - destruct (expected_exists f Hf) as [l Hl]. destruct H. apply CV_Cauchy. exists l. exact Hl.
Qed.

Lemma drawn_lawful E : drawn w E -> lawful E.
Proof.
  intros D. split.
  - apply (sums_to_unique (fun y => w y * 1)); [apply D; exists 1; intros; rewrite Rabs_R1; lra|].
    apply (sums_to_ext w); [intros; ring | exact w_one].
  - intros f g a Hf Hg. destruct Hf as [M HM]. destruct Hg as [N HN].
    assert (Hf : bounded f) by (exists M; exact HM). assert (Hg : bounded g) by (exists N; exact HN).
    apply (sums_to_unique (fun y => w y * (f y + a * g y))).
    + apply D. exists (M + Rabs a * N). intros x. eapply Rle_trans; [apply Rabs_triang|].
      apply Rplus_le_compat; [apply HM|]. rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos | apply HN].
    + replace (E f + a * E g) with (1 * E f + a * E g) by ring.
      apply (sums_to_ext (fun y => 1 * (w y * f y) + a * (w y * g y))); [intros; ring | apply sums_to_linear; apply D; auto].
  - intros f g Hf Hg H. rewrite <- (Rplus_0_r (E g)).
    apply (sums_to_le _ _ _ _ 0 (D f Hf) (D g Hg)). intros N. rewrite Rplus_0_r. apply sum_le. intros y _.
    apply Rmult_le_compat_l; auto.
Qed.
End Drawn.

(* --- Tables --- *)

Section Table.
Variable t : table.
Hypothesis checked : check t = true.

Lemma published_law x : (forall y, 0 <= published t x y) /\ sums_to (published t x) 1.
Proof.
  destruct (check_law t checked) as (Hn & (u & Hu & _ & Hs) & _).
  assert (L : sums_to (law t) 1) by (apply (sums_to_ext u); auto).
  assert (M : forall v, sums_to (fun y => law t (y - v)) 1) by (intros; apply sums_to_moved; auto).
  unfold published. set (v := x / Q2R (step t)). pose proof (floor_spec v) as F. destruct (kind t); auto.
  split; [intros y; apply Rplus_le_le_0_compat; apply Rmult_le_pos; auto; lra|].
  set (r := v - IZR (floor v)). assert (C := sums_to_linear _ _ _ _ (1 - r) r (M (floor v)) (M (floor v + 1)%Z)).
  replace ((1 - r) * 1 + r * 1) with 1 in C by ring. exact C.
Qed.

(* There is such an answer. *)
Theorem answer_exists x : exists E, drawn (published t x) E.
Proof. destruct (published_law x) as [Hn H1]. exists (expected (published t x)). apply expected_drawn; auto. Qed.

(* A query q with that sensitivity, answered with the noise of the table, may be charged with the table's budget. *)
Theorem table_charged data (near : data -> data -> Prop) (q : data -> R) (M : data -> expectation Z) :
  (forall x x', near x x' -> Rabs (q x - q x') <= Q2R (sensitivity t)) ->
  (forall x, drawn (published t (q x)) (M x)) ->
  (forall x, lawful (M x)) /\ private_answer near (Q2R (epsilon t)) (Q2R (delta t)) M.
Proof.
  intros Hq D. split.
  - intros x. destruct (published_law (q x)) as [Hn H1]. exact (drawn_lawful _ Hn H1 _ (D x)).
  - intros x x' Hx A.
    assert (P : forall z, probability (published t (q z)) (fun y => A y = true) (M z (chance_of A))).
    { intros z. exists (fun y => published t (q z) y * chance_of A y). unfold chance_of at 1 2.
      split; [intros y ->; ring|]. split; [intros y Hy; destruct (A y); [tauto | ring]|].
      apply D. exists 1. intros y. unfold chance_of. destruct (A y); [rewrite Rabs_R1 | rewrite Rabs_R0]; lra. }
    exact (close_sets _ _ _ _ _ _ _ (close_published t checked (q x) (q x') (Hq x x' Hx)) (P x) (P x')).
Qed.
End Table.
