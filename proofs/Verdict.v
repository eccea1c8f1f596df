(* SPDX-License-Identifier: Apache-2.0 *)
(* What is checked of the privacy of a table file. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Strings.Byte Lra.
From Noisewright Require Import Statement Sums Losses Json Decode Check Runs Private.

(* As verify does, both for the delta that is promised and for the one that the certificate claims. *)
Definition at_delta (d : Q) (t : table) : table :=
  {| kind := kind t; epsilon := epsilon t; delta := d; sensitivity := sensitivity t; step := step t; points := points t;
     offset := offset t; cells := cells t; first := first t; weights := weights t; atom := atom t; ratio := ratio t |}.
Definition smaller (a b : Q) : Q := if Qle_bool a b then a else b.
Definition private_ok (f : file) : bool := check_runs (at_delta (smaller (delta (the_table f)) (claimed_delta f)) (the_table f)).

Lemma private_weaker t d : (Q2R d <= Q2R (delta t))%R -> private (at_delta d t) -> private t.
Proof. intros Hd H x x' Hx Hx' Hs A p p' Hp Hp'. specialize (H x x' Hx Hx' Hs A p p' Hp Hp'). cbn in H. unfold at_delta in H. cbn in H. lra. Qed.

Lemma smaller_le a b : (Q2R (smaller a b) <= Q2R a)%R /\ (Q2R (smaller a b) <= Q2R b)%R.
Proof.
  unfold smaller. destruct (Qle_bool a b) eqn:H; split; try lra.
  - apply Qle_Rle, Qle_bool_iff, H.
  - apply Qle_Rle. destruct (Qlt_le_dec b a) as [L|L]; [apply Qlt_le_weak, L|]. apply Qle_bool_iff in L. congruence.
Qed.

(* The law of a file is one, and is private as promised, and at the delta that the certificate claims. *)
Theorem private_sound f : private_ok f = true ->
  is_law (law (the_table f)) /\ private (the_table f) /\ private (at_delta (claimed_delta f) (the_table f)).
Proof.
  intros H. unfold private_ok in H. rewrite check_runs_is in H. set (d := smaller _ _) in H. destruct (check_sound _ H) as [HL HP].
  destruct (smaller_le (delta (the_table f)) (claimed_delta f)) as [H1 H2]. fold d in H1, H2.
  split; [exact HL|]. split; [exact (private_weaker _ d H1 HP)|].
  apply (private_weaker (at_delta (claimed_delta f) (the_table f)) d); [exact H2 | exact HP].
Qed.
