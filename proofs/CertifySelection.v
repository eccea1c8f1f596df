(* SPDX-License-Identifier: Apache-2.0 *)
(* From the bytes of a file of sets of categories to what is in it, by the rules of docs/subset-format.md, and the theorems that
   noisewright certificate --coq writes about it. What breaks a rule is None; so is a label with a character beyond ASCII. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Strings.Byte Lra.
From Noisewright Require Import Statement Losses Json Decode Ramps Randomizers DecodeRandomizer CertifyRandomizer Selections Shares.
Import ListNotations.
Local Open Scope text_scope.
Local Open Scope Z_scope.

Record selection_file := {
  the_selection : selection;
  largest_matters : bool;         (* the lower bound is about the largest variance, and not about the total *)
  s_share : Q;                    (* the law of people that it is proved with has so many of one category, the others alike *)
  claimed_s_delta : Q; claimed_total : Q; claimed_largest : Q; claimed_s_bound : Q
}.
(* The bound of a total is so many times that of one share. *)
Definition times (f : selection_file) : Q := if largest_matters f then 1%Q else inject_Z (s_categories (the_selection f)).

Definition is_blank (b : byte) : bool := match b with x09 | x0a | x0b | x0c | x0d | x20 => true | _ => false end.
Definition is_ascii (b : byte) : bool := code b <? 128.
Definition label_ok (l : list byte) : bool :=
  within 1 1024 (Z.of_nat (length l)) && forallb is_ascii l && negb (is_blank (hd x20 l)) && negb (is_blank (last l x20)).

(* The number of sets of the size i is given; those of the next sizes have ranks too. *)
Fixpoint have_ranks (k i number : Z) (more : nat) : bool :=
  match more with
  | O => true
  | S more' => let next := number * (k - i) / (i + 1) in if next <? 2 ^ 63 then have_ranks k (i + 1) next more' else false
  end.
Definition ranked_ok (k d : Z) : bool := (d =? 1) || ((k <=? 4096) && have_ranks k 1 k (Z.to_nat (Z.min d k - 1))).

Definition read_objective (j : json) : option bool :=
  let* s := string j in
  if same s (bytes_of "total") then Some false else if same s (bytes_of "largest") then Some true else None.
Definition read_share (j : json) : option Q := let* o := object ["share"] [] j in at_field real "share" o.

Definition decode_selection_value (j : json) : option selection_file :=
  let required := ["format"; "version"; "epsilon"; "modulus"; "size"; "inside"; "objective"; "certificate"] in
  let others := ["count"; "labels"] in
  let* o := match j with Object o => outermost (required ++ others) o None [] | _ => None end in
  let* o := object required others (Object o) in
  let* format := at_field string "format" o in let* version := at_field small "version" o in
  let* epsilon := at_field real "epsilon" o in
  let* count := at_optional (whole (2 ^ 53)) "count" o 0 in
  let* names := at_optional (array string (2 ^ 20)) "labels" o [] in
  let* m := at_field (whole (2 ^ 53)) "modulus" o in let* d := at_field (whole (2 ^ 53)) "size" o in
  let* w := at_field (word_of (2 ^ 64 - 1)) "inside" o in
  let* largest := at_field read_objective "objective" o in
  let* cert := at_field (object ["delta"; "total_variance"; "largest_variance"; "lower_bound"] ["dual"]) "certificate" o in
  let* c_delta := at_field claim "delta" cert in let* c_total := at_field claim "total_variance" cert in
  let* c_largest := at_field claim "largest_variance" cert in let* c_bound := at_field claim "lower_bound" cert in
  let* share := at_maybe read_share "dual" cert in
  let k := if none names then count else Z.of_nat (length names) in
  let s := {| s_epsilon := epsilon; s_categories := k; s_modulus := m; s_size := d; s_inside := w |} in
  (* By if, as what follows takes long for numbers that are too large. *)
  if same format (bytes_of "noisewright-subset") && (version =? 1) && Qle_bool epsilon (inject_Z 100) &&
      (none names || (count =? 0)) && (k <=? 2 ^ 31) && forallb label_ok names && once names &&
      (m <=? 2 ^ 31 + 1024) && match share with Some l => largest && Qle_bool 0 l && Qle_bool l 1 | None => true end
  then require (((0 <? m) || ranked_ok k d) && sets_made s)
      (Some {| the_selection := s; largest_matters := largest;
             s_share := match share with Some l => l | None => 1 # Z.to_pos k end;
             claimed_s_delta := c_delta; claimed_total := c_total; claimed_largest := c_largest; claimed_s_bound := c_bound |})
  else None.

Definition decode_selection (bytes : list byte) : option selection_file := let* j := parse bytes in decode_selection_value j.

Local Open Scope R_scope.

Definition selection_private_as (o : option selection_file) (eps claimed : Q) : bool := of_file o (fun f =>
  Qeq_bool (s_epsilon (the_selection f)) eps && Qeq_bool (claimed_s_delta f) claimed && Qle_bool 0 claimed && private_sets (the_selection f)).

Theorem certify_selection_privacy o eps claimed : selection_private_as o eps claimed = true -> exists f, o = Some f /\
  ((s_epsilon (the_selection f) == eps)%Q /\ (claimed_s_delta f == claimed)%Q) /\
  (forall x, category (the_selection f) x -> answer_law (answers_to (the_selection f)) (selected (the_selection f) x)) /\
  selection_private (the_selection f) 0 /\ selection_private (the_selection f) claimed.
Proof.
  destruct o as [f|]; [|discriminate]. cbn [selection_private_as of_file]. rewrite !andb_true_iff, !Qeq_bool_iff.
  intros [[[H1 H2] H3] H4]. apply Qle_bool_true in H3. destruct Q2R_small as (Q0 & _). rewrite Q0 in H3. exists f.
  repeat split; auto; try (apply selected_law; [unfold private_sets in H4; apply andb_true_iff in H4; apply H4 | assumption]);
    apply sets_private; auto; rewrite Q0; lra.
Qed.

Definition total_as (o : option selection_file) (claimed : Q) : bool := of_file o (fun f => total_ok (the_selection f) claimed).

Theorem certify_selection_total o claimed : total_as o claimed = true -> exists f, o = Some f /\
  forall people, Forall (category (the_selection f)) people -> people <> [] ->
  (forall j, category (the_selection f) j -> mean_over (the_selection f) people (estimate (the_selection f) j) = share_among people j) /\
  total_variance (the_selection f) people <= Q2R claimed.
Proof.
  destruct o as [f|]; [|discriminate]. cbn [total_as of_file]. intros H. exists f. split; [reflexivity|]. intros people Hp Hn.
  split; [|apply total_sound; assumption]. intros j Hj. unfold total_ok in H. apply andb_true_iff in H. apply estimate_unbiased; auto; apply H.
Qed.

Definition largest_as (o : option selection_file) (claimed : Q) : bool := of_file o (fun f => largest_ok (the_selection f) claimed).

Theorem certify_selection_largest o claimed : largest_as o claimed = true -> exists f, o = Some f /\
  forall people j, Forall (category (the_selection f)) people -> people <> [] -> category (the_selection f) j ->
  variance (the_selection f) people j <= Q2R claimed.
Proof.
  destruct o as [f|]; [|discriminate]. cbn [largest_as of_file]. intros H. exists f. split; [reflexivity|]. apply largest_sound, H.
Qed.

Definition below_formula_as (o : option selection_file) (claimed : Q) : bool := of_file o (fun f =>
  sizes_ok (the_selection f) (times f) (s_share f) claimed).

Theorem certify_selection_formula o claimed : below_formula_as o claimed = true -> exists f, o = Some f /\
  0 <= Q2R (s_share f) <= 1 /\ below_all_sizes (the_selection f) (Q2R (times f)) (Q2R (s_share f)) (Q2R claimed).
Proof.
  destruct o as [f|]; [|discriminate]. cbn [below_formula_as of_file]. intros H. exists f. split; [reflexivity|]. apply sizes_sound, H.
Qed.
