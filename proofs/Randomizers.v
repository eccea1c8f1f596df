(* SPDX-License-Identifier: Apache-2.0 *)
(* What local randomizers and kernels are, and what is claimed of them. Like Statement.v it is to be believed, and has no proofs. The
   symbols are those of docs/local-format.md and docs/kernel-format.md. *)
From Coq Require Import ZArith QArith Qreals Reals List.
From Noisewright Require Import Statement Losses.
Import ListNotations.
Local Open Scope R_scope.

(* --- Laws of m answers, which are numbered from 0 --- *)

Definition answer_law (m : nat) (f : Z -> R) : Prop := (forall j, (0 <= j < Z.of_nat m)%Z -> 0 <= f j) /\ sum f 0 m = 1.

(* The probability that the number of the answer is in the set A. *)
Definition chance (m : nat) (f : Z -> R) (A : Z -> bool) : R := sum (fun j => if A j then f j else 0) 0 m.

Definition indistinguishable (m : nat) (epsilon delta : Q) (f f' : Z -> R) : Prop :=
  forall A, chance m f A <= exp (Q2R epsilon) * chance m f' A + Q2R delta.

(* A row of weights, in units of 2^-64. *)
Definition weight (row : list Z) (j : Z) : R := IZR (at_place row j) / IZR (2 ^ 64).

(* Entry j of a list of numbers. *)
Definition place (l : list Q) (j : Z) : R := Q2R (nth (Z.to_nat j) l 0%Q).
Definition row_of (l : list (list Z)) (i : nat) : list Z := nth i l [].

(* --- Local randomizers --- *)

Inductive values := Reals | Integers | Categories.
Inductive costs :=
| Differences (c : loss)          (* the loss of answer minus value *)
| Costs (c : list (list Q)).      (* that of each answer, for each category *)

Record randomizer := {
  r_values : values; r_epsilon : Q; r_delta : Q;
  r_nodes : list Q;               (* ascending, the first and the last are the ends of the range; of n categories 0, ..., n-1 *)
  r_answers : list Q;             (* of m categories as answers 0, ..., m-1 *)
  r_rows : list (list Z);         (* for each node the weights of the answers *)
  r_costs : costs;
  r_shares : list Q               (* of each node, up to a factor; none: equal *)
}.
Definition answers_of (r : randomizer) : nat := length (r_answers r).

(* The law of the answer to x: between two nodes one of them is drawn, so that x is its mean, and it is answered. *)
Fixpoint answered (nodes : list Q) (rows : list (list Z)) (x : R) (j : Z) : R :=
  match nodes, rows with
  | a :: (b :: _) as nodes', p :: (q :: _) as rows' =>
    if Rle_dec x (Q2R b)
    then let theta := (x - Q2R a) / (Q2R b - Q2R a) in (1 - theta) * weight p j + theta * weight q j
    else answered nodes' rows' x j
  | _, p :: _ => weight p j
  | _, [] => 0
  end.
Definition randomized (r : randomizer) : R -> Z -> R := answered (r_nodes r) (r_rows r).

(* The values it has an answer for. *)
Definition value_of (r : randomizer) (x : R) : Prop :=
  Q2R (hd 0%Q (r_nodes r)) <= x <= Q2R (last (r_nodes r) 0%Q) /\ (r_values r <> Reals -> exists n, x = IZR n).

(* Whatever somebody's value is, and whatever another's: an answer tells them hardly apart. *)
Definition locally_private (r : randomizer) (delta : Q) : Prop := forall x x', value_of r x -> value_of r x' ->
  indistinguishable (answers_of r) (r_epsilon r) delta (randomized r x) (randomized r x').

(* The mean answer, and the expected loss, of a value. *)
Definition mean_answer (r : randomizer) (x : R) : R := sum (fun j => randomized r x j * place (r_answers r) j) 0 (answers_of r).
Definition cost (r : randomizer) (x : R) (j : Z) : R :=
  match r_costs r with
  | Differences c => loss_value c (place (r_answers r) j - x)
  | Costs c => place (nth (Z.to_nat (floor x)) c []) j
  end.
Definition expected_cost (r : randomizer) (x : R) : R := sum (fun j => randomized r x j * cost r x j) 0 (answers_of r).

(* Averaged over the shares of the nodes, for integers and categories, whose values are all nodes. *)
Definition share (r : randomizer) (i : Z) : R := match r_shares r with [] => 1 | s => place s i end.
Definition averaged_cost (r : randomizer) : R :=
  sum (fun i => share r i * expected_cost r (place (r_nodes r) i)) 0 (length (r_nodes r)) / sum (share r) 0 (length (r_nodes r)).

(* --- Kernels --- *)

Record kernel := {
  k_epsilon : Q; k_delta : Q; k_sensitivity : Q;
  k_edges : list Q;               (* of the cells, ascending: a cell has its lower edge, and the last one both *)
  k_nodes : list Q;               (* the answers *)
  k_rows : list (list Z)          (* for each cell their weights *)
}.

(* The law of the answer to x is that of its cell. *)
Fixpoint of_cell (edges : list Q) (rows : list (list Z)) (x : R) (j : Z) : R :=
  match edges, rows with
  | _ :: (b :: _) as edges', p :: (_ :: _) as rows' => if Rlt_dec x (Q2R b) then weight p j else of_cell edges' rows' x j
  | _, p :: _ => weight p j
  | _, [] => 0
  end.
Definition kernel_law (k : kernel) : R -> Z -> R := of_cell (k_edges k) (k_rows k).
Definition query_of (k : kernel) (x : R) : Prop := Q2R (hd 0%Q (k_edges k)) <= x <= Q2R (last (k_edges k) 0%Q).

Definition kernel_private (k : kernel) (delta : Q) : Prop := forall x x', query_of k x -> query_of k x' ->
  Rabs (x - x') <= Q2R (k_sensitivity k) ->
  indistinguishable (length (k_nodes k)) (k_epsilon k) delta (kernel_law k x) (kernel_law k x').
