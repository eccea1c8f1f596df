(* SPDX-License-Identifier: Apache-2.0 *)
(* The theorems that noisewright certificate --coq writes about a file, each proved by one computation on what the file decodes
   to. Epsilon, delta and sensitivity are compared with those of the file; of a loss or a bound the theorem is about the number it names. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Strings.Byte FunctionalExtensionality.
From Noisewright Require Import Statement Losses Json Decode Check Private Ramps Loss Lower Bound Verdict.
Import ListNotations.
Local Open Scope R_scope.

(* A file is written as pieces of text. *)
Definition pieces (l : list text) : list byte := concat (map bytes_of l).

Definition private_as (o : option file) (eps del sens claimed : Q) : bool :=
  match o with
  | None => false
  | Some f => Qeq_bool (epsilon (the_table f)) eps && Qeq_bool (delta (the_table f)) del &&
      Qeq_bool (sensitivity (the_table f)) sens && Qeq_bool (claimed_delta f) claimed && private_ok f
  end.

Theorem certify_privacy o eps del sens claimed : private_as o eps del sens claimed = true -> exists f, o = Some f /\
  ((epsilon (the_table f) == eps)%Q /\ (delta (the_table f) == del)%Q /\ (sensitivity (the_table f) == sens)%Q) /\
  is_law (law (the_table f)) /\ private (the_table f) /\ private (at_delta claimed (the_table f)).
Proof.
  destruct o as [f|]; [|discriminate]. cbn [private_as]. rewrite !andb_true_iff, !Qeq_bool_iff.
  intros [[[[H1 H2] H3] H4] H5]. destruct (private_sound f H5) as (A & B & C).
  exists f. repeat split; auto; try apply A.
  apply (private_weaker (at_delta claimed (the_table f)) (claimed_delta f)); [|exact C].
  cbn. right. apply Qeq_eqR, H4.
Qed.

Definition loses_at_most (o : option file) (claimed : Q) : bool :=
  match o with
  | None => false
  | Some f => well_formed (the_table f) && loss_ok (the_table f) (the_loss f) claimed
  end.

Theorem certify_loss o claimed : loses_at_most o claimed = true -> exists f, o = Some f /\
  exists L, expected_loss (the_table f) (loss_value (the_loss f)) L /\ L <= Q2R claimed.
Proof.
  destruct o as [f|]; [|discriminate]. cbn [loses_at_most]. rewrite andb_true_iff. intros [H1 H2].
  exists f. split; [reflexivity|]. exact (loss_sound (the_table f) (the_loss f) claimed H1 H2).
Qed.

Definition no_less_than (o : option file) (claimed : Q) : bool :=
  match o with
  | None => false
  | Some f =>
    match ramps_of (the_loss f), the_dual f with Some c, Some d => bound_ok (the_table f) c d claimed | _, _ => false end
  end.

Theorem certify_bound o claimed : no_less_than o claimed = true -> exists f, o = Some f /\
  no_noise_loses_less (the_table f) (loss_value (the_loss f)) (Q2R claimed).
Proof.
  destruct o as [f|]; [|discriminate]. cbn [no_less_than]. intros H. exists f. split; [reflexivity|].
  destruct (ramps_of (the_loss f)) as [c|] eqn:Hc; [|discriminate]. destruct (the_dual f) as [d|]; [|discriminate].
  replace (loss_value (the_loss f)) with (ramps_value c); [exact (bound_sound _ c d _ H)|].
  apply functional_extensionality. intros x. apply ramps_of_value, Hc.
Qed.
