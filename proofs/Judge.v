(* SPDX-License-Identifier: Apache-2.0 *)
(* The verdict on privacy that noisewright-check gives of a file. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Strings.Byte Lra.
From Noisewright Require Import Statement Json Decode Verdict Ramps Randomizers Selections Shares CertifySelection.
Import ListNotations.
Local Open Scope text_scope.

Inductive verdict := Malformed | NotPrivate | IsPrivate.
Definition word_on {A} (f : option A) (ok : A -> bool) : verdict :=
  match f with None => Malformed | Some f => if ok f then IsPrivate else NotPrivate end.

(* What says first that it is one is a file of sets of categories, and anything else is taken for a table. *)
Definition says (name : text) (j : json) : bool :=
  match j with Object ((k, String s) :: _) => same k (bytes_of "format") && same s (bytes_of name) | _ => false end.
Definition judge (bytes : list byte) : verdict :=
  match parse bytes with
  | None => Malformed
  | Some j =>
    if says "noisewright-subset" j then word_on (decode_selection_value j) (fun f => private_sets (the_selection f))
    else word_on (decode_value j) private_ok
  end.

Lemma word_is {A} (f : option A) ok : word_on f ok = IsPrivate -> exists g, f = Some g /\ ok g = true.
Proof. destruct f as [g|]; [|discriminate]. cbn. destruct (ok g) eqn:E; [|discriminate]. intros _. exists g. auto. Qed.

Theorem judge_sound bytes : judge bytes = IsPrivate ->
  (exists f, decode bytes = Some f /\ is_law (law (the_table f)) /\ private (the_table f)) \/
  (exists f, decode_selection bytes = Some f /\ selection_private (the_selection f) 0 /\
   forall x, category (the_selection f) x -> answer_law (answers_to (the_selection f)) (selected (the_selection f) x)).
Proof.
  unfold judge, decode, decode_selection. destruct (parse bytes) as [j|]; [|discriminate].
  destruct (says "noisewright-subset" j); intros H; apply word_is in H as (f & E & H); [right | left]; exists f; (split; [exact E|]).
  - split.
    + apply sets_private; [exact H|]. destruct Q2R_small as (Q0 & _). rewrite Q0. apply Rle_refl.
    + intros x. apply selected_law. unfold private_sets in H. apply andb_true_iff in H. apply H.
  - pose proof (private_sound f H). tauto.
Qed.
