(* SPDX-License-Identifier: Apache-2.0 *)
(* From the bytes of a randomizer file to what is in it, by the rules of docs/local-format.md. What breaks one is None, but for
   limits of size, and for what only the lower bound depends on. *)
From Coq Require Import ZArith QArith List Bool Strings.Byte.
From Noisewright Require Import Statement Losses Json Decode Randomizers.
Import ListNotations.
Local Open Scope text_scope.
Local Open Scope Z_scope.

Record randomizer_file := {
  the_randomizer : randomizer;
  claimed_r_delta : Q; claimed_mean : Q; claimed_worst : Q; claimed_bias : Q;
  unbiased : bool;        (* the promise that the mean answer to every value is the value *)
  cap : option Q          (* the promise that no value has a larger expected loss *)
}.

Definition no_more : Z := 2 ^ 21.
Definition values_of_name (s : list byte) : option values :=
  if same s (bytes_of "real") then Some Reals else if same s (bytes_of "integer") then Some Integers
  else if same s (bytes_of "category") then Some Categories else None.
Definition reals (j : json) : option (list Q) := array real no_more j.
Definition labels (j : json) : option (list (list byte)) := array string no_more j.
Definition none {A} (l : list A) : bool := match l with [] => true | _ => false end.
Fixpoint strictly (l : list Q) : bool := match l with a :: (b :: _) as l' => Qlt_bool a b && strictly l' | _ => true end.
Definition numbers (n : nat) : list Q := map (fun i => inject_Z (Z.of_nat i)) (seq 0 n).
Definition piece (j : json) : option Q :=
  let* o := object ["from"; "weight"] [] j in let* _f := at_field real "from" o in at_field real "weight" o.

Definition decode_randomizer_value (j : json) : option randomizer_file :=
  let required := ["format"; "version"; "epsilon"; "delta"; "values"; "objective"; "demands"; "rows"; "certificate"] in
  let others := ["loss"; "costs"; "nodes"; "answers"; "answer_labels"] in
  let* o := match j with Object o => outermost (required ++ others) o None [] | _ => None end in
  let* o := object required others (Object o) in
  let* format := at_field string "format" o in let* version := at_field small "version" o in
  let* epsilon := at_field real "epsilon" o in let* delta := at_field real "delta" o in
  let* v := at_field (object ["kind"; "lower"; "upper"] ["weight"; "shares"; "labels"]) "values" o in
  let* kind := at_field string "kind" v in let* kind := values_of_name kind in
  let* lower := at_field real "lower" v in let* upper := at_field real "upper" v in
  let* density := at_optional (array piece 4096) "weight" v [] in
  let* shares := at_optional reals "shares" v [] in
  let* names := at_optional labels "labels" v [] in
  let* _objective := at_field string "objective" o in
  let* demands := at_field (object ["unbiased"] ["range"; "step"; "cap"]) "demands" o in
  let* unbiased := at_field flag "unbiased" demands in let* cap := at_maybe real "cap" demands in
  let* loss := at_maybe read_loss "loss" o in
  let* costs := at_optional (array reals no_more) "costs" o [] in
  let* nodes := at_optional reals "nodes" o [] in
  let* answers := at_optional reals "answers" o [] in
  let* answer_names := at_optional labels "answer_labels" o [] in
  let* rows := at_field (array (array (word_of (2 ^ 64 - 1)) no_more) no_more) "rows" o in
  let* cert := at_field (object ["delta"; "mean_loss"; "worst_loss"; "bias"; "lower_bound"] ["dual"]) "certificate" o in
  let* c_delta := at_field claim "delta" cert in let* c_mean := at_field claim "mean_loss" cert in
  let* c_worst := at_field claim "worst_loss" cert in let* c_bias := at_field claim "bias" cert in
  let* costs_and_numbers := match kind, loss with
    | Categories, None =>
      require (Qeq_bool lower 0 && Qeq_bool upper 0 && negb unbiased && none nodes && none answers && once names && once answer_names &&
          forallb (forallb (Qle_bool 0)) costs)
        (Some (Costs costs, numbers (length names), numbers (length answer_names)))
    | Reals, Some c | Integers, Some c =>
      require (none costs && none names && none answer_names && strictly nodes && strictly answers &&
          Qeq_bool lower (hd 0%Q nodes) && Qeq_bool upper (last nodes 0%Q)) (Some (Differences c, nodes, answers))
    | _, _ => None
    end in
  let '(costs, nodes, answers) := costs_and_numbers in
  require (same format (bytes_of "noisewright-randomizer") && (version =? 1) &&
      Qle_bool 0 epsilon && Qle_bool epsilon (inject_Z 100) && Qle_bool 0 delta && Qlt_bool delta 1 &&
      match kind with Reals => none shares | _ => none density end && forallb (Qle_bool 0) shares &&
      match cap with Some c => Qlt_bool 0 c | None => true end)
    (Some {| the_randomizer := {| r_values := kind; r_epsilon := epsilon; r_delta := delta; r_nodes := nodes; r_answers := answers;
               r_rows := rows; r_costs := costs; r_shares := shares |};
             claimed_r_delta := c_delta; claimed_mean := c_mean; claimed_worst := c_worst; claimed_bias := c_bias;
             unbiased := unbiased; cap := cap |}).

Definition decode_randomizer (bytes : list byte) : option randomizer_file := let* j := parse bytes in decode_randomizer_value j.
