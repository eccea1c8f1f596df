(* SPDX-License-Identifier: Apache-2.0 *)
(* The theorems that noisewright certificate --coq writes about a local randomizer, as Certificate.v has those of tables. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Lra.
From Noisewright Require Import Statement Losses Json Decode Check Ramps Verdict Randomizers Rows RowLoss Chords DecodeRandomizer.
Import ListNotations.
Local Open Scope R_scope.

Definition of_file {A} (o : option A) (ok : A -> bool) : bool := match o with Some f => ok f | None => false end.

Definition answers_private_as (o : option randomizer_file) (eps del claimed : Q) : bool := of_file o (fun f =>
  let r := the_randomizer f in
  Qeq_bool (r_epsilon r) eps && Qeq_bool (r_delta r) del && Qeq_bool (claimed_r_delta f) claimed && private_rows r (smaller del claimed)).

Lemma indistinguishable_weaker m eps d d' f f' : Q2R d <= Q2R d' -> indistinguishable m eps d f f' -> indistinguishable m eps d' f f'.
Proof. intros Hd H A. specialize (H A). lra. Qed.

Theorem certify_randomizer_privacy o eps del claimed : answers_private_as o eps del claimed = true -> exists f, o = Some f /\
  ((r_epsilon (the_randomizer f) == eps)%Q /\ (r_delta (the_randomizer f) == del)%Q /\ (claimed_r_delta f == claimed)%Q) /\
  (forall x, value_of (the_randomizer f) x -> answer_law (answers_of (the_randomizer f)) (randomized (the_randomizer f) x)) /\
  locally_private (the_randomizer f) del /\ locally_private (the_randomizer f) claimed.
Proof.
  destruct o as [f|]; [|discriminate]. cbn [answers_private_as of_file]. rewrite !andb_true_iff, !Qeq_bool_iff.
  intros [[[H1 H2] H3] H4]. exists f. pose proof (rows_private _ _ H4) as HP. destruct (smaller_le del claimed) as [L1 L2].
  unfold private_rows in H4. rewrite andb_true_iff in H4.
  repeat split; auto; try apply (randomized_law _ (proj1 H4)); auto; intros x x' Hx Hx';
    [apply (indistinguishable_weaker _ _ _ _ _ _ L1) | apply (indistinguishable_weaker _ _ _ _ _ _ L2)]; apply HP; auto.
Qed.

(* How far the mean answer is from the value; not at all, if that is promised. *)
Definition biased_as (o : option randomizer_file) (claimed : Q) : bool := of_file o (fun f =>
  biased_at_most (the_randomizer f) claimed && (if unbiased f then biased_at_most (the_randomizer f) 0 else true)).

Theorem certify_randomizer_bias o claimed : biased_as o claimed = true -> exists f, o = Some f /\
  forall x, value_of (the_randomizer f) x -> Rabs (mean_answer (the_randomizer f) x - x) <= Q2R claimed /\
  (unbiased f = true -> mean_answer (the_randomizer f) x = x).
Proof.
  destruct o as [f|]; [|discriminate]. cbn [biased_as of_file]. rewrite andb_true_iff. intros [H1 H2].
  exists f. split; [reflexivity|]. intros x Hx. split; [apply bias_sound; auto|]. intros E. rewrite E in H2.
  pose proof (bias_sound _ _ H2 x Hx) as HB. destruct Q2R_small as (Q0 & _). rewrite Q0 in HB.
  unfold Rabs in HB. destruct (Rcase_abs _); lra.
Qed.

(* The largest expected loss of a value; and no larger than is promised. *)
Definition most (f : randomizer_file) (claimed : Q) : Q := match cap f with Some c => smaller c claimed | None => claimed end.
Definition loses_never_more (o : option randomizer_file) (claimed : Q) : bool := of_file o (fun f =>
  worst_ok (the_randomizer f) (most f claimed)).

Theorem certify_randomizer_worst o claimed : loses_never_more o claimed = true -> exists f, o = Some f /\
  forall x, value_of (the_randomizer f) x -> expected_cost (the_randomizer f) x <= Q2R claimed /\
  (forall c, cap f = Some c -> expected_cost (the_randomizer f) x <= Q2R c).
Proof.
  destruct o as [f|]; [|discriminate]. cbn [loses_never_more of_file]. unfold most. intros H. exists f. split; [reflexivity|]. intros x Hx.
  pose proof (worst_sound _ _ H x Hx) as HW. destruct (cap f) as [c|]; [|split; [exact HW | discriminate]].
  destruct (smaller_le c claimed) as [H1 H2]. split; [lra|]. intros c' E. injection E as <-. lra.
Qed.

(* The mean over the shares of integers or categories. *)
Definition loses_on_average (o : option randomizer_file) (claimed : Q) : bool := of_file o (fun f =>
  all_nodes (the_randomizer f) && mean_ok (the_randomizer f) claimed).

Theorem certify_randomizer_mean o claimed : loses_on_average o claimed = true -> exists f, o = Some f /\
  (forall x, value_of (the_randomizer f) x -> exists i, (i < length (r_nodes (the_randomizer f)))%nat /\
    x = Q2R (nth i (r_nodes (the_randomizer f)) 0%Q)) /\
  averaged_cost (the_randomizer f) <= Q2R claimed.
Proof.
  destruct o as [f|]; [|discriminate]. cbn [loses_on_average of_file]. rewrite andb_true_iff. intros [HN H]. exists f.
  split; [reflexivity|]. split; [|apply mean_sound, H]. intros x Hx. unfold mean_ok in H. rewrite !andb_true_iff in H.
  apply value_is_node; [apply H | exact HN | exact Hx].
Qed.
