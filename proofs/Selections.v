(* SPDX-License-Identifier: Apache-2.0 *)
(* What sets of categories as answers are, and what is claimed of them. Like Statement.v it is to be believed, and has no proofs. The
   symbols are those of docs/subset-format.md. *)
From Coq Require Import ZArith QArith Qreals Reals List.
From Noisewright Require Import Statement Randomizers.
Import ListNotations.
Local Open Scope Z_scope.

Record selection := {
  s_epsilon : Q;
  s_categories : Z;               (* k: they are 0, ..., k-1 *)
  s_modulus : Z;                  (* a prime, or 0 *)
  s_size : Z;                     (* d *)
  s_inside : Z                    (* w: the set has the category with probability w/2^64 *)
}.
Definition points_of (s : selection) : Z := if s_modulus s =? 0 then s_categories s else s_modulus s.

(* --- Answers, which are numbered from 0, and their sets --- *)

Definition range (lo n : Z) : list Z := map (fun i => lo + Z.of_nat i) (seq 0 (Z.to_nat n)).

(* All sets of d members of a list. *)
Fixpoint sets_of (l : list Z) (d : nat) : list (list Z) :=
  match d, l with
  | O, _ => [[]]
  | S _, [] => []
  | S d', x :: l' => map (cons x) (sets_of l' d') ++ sets_of l' d
  end.

(* The set of the answer a:b with the modulus m. *)
Definition affine (m d a b : Z) : list Z := map (fun t => (a * t + b) mod m) (range 0 d).

Definition sets (s : selection) : list (list Z) :=
  if s_modulus s =? 0 then sets_of (range 0 (s_categories s)) (Z.to_nat (s_size s))
  else flat_map (fun a => map (affine (s_modulus s) (s_size s) a) (range 0 (s_modulus s))) (range 1 (s_modulus s - 1)).
Definition set_of (s : selection) (y : Z) : list Z := nth (Z.to_nat y) (sets s) [].

Local Open Scope R_scope.

Definition has (x : Z) (set : list Z) : bool := existsb (Z.eqb x) set.
Definition tally {A} (test : A -> bool) (l : list A) : R := fold_right (fun a n => (if test a then 1 else 0) + n) 0 l.

(* The law of the answer y to the category x: the set has x with probability w/2^64, and sets that have it are equally likely, as are
   those that have it not. *)
Definition inside (s : selection) : R := IZR (s_inside s) / IZR (2 ^ 64).
Definition selected (s : selection) (x y : Z) : R :=
  if has x (set_of s y) then inside s / tally (has x) (sets s)
  else (1 - inside s) / tally (fun set => negb (has x set)) (sets s).
Definition answers_to (s : selection) : nat := length (sets s).
Definition category (s : selection) (x : Z) : Prop := (0 <= x < s_categories s)%Z.

(* Of any two categories the answers tell hardly which it was. *)
Definition selection_private (s : selection) (delta : Q) : Prop := forall x x', category s x -> category s x' ->
  indistinguishable (answers_to s) (s_epsilon s) delta (selected s x) (selected s x').

(* --- Shares --- *)

(* People have the categories of a list, and each answers by itself: the mean of f of their answers. *)
Fixpoint mean_over (s : selection) (people : list Z) (f : list Z -> R) : R :=
  match people with
  | [] => f []
  | x :: rest => sum (fun y => selected s x y * mean_over s rest (fun ys => f (y :: ys))) 0 (answers_to s)
  end.

(* Another category is in the set with the probability q. The share of j is estimated from how many of the answers have it. *)
Definition elsewhere (s : selection) : R := (IZR (s_size s) - inside s) / (IZR (points_of s) - 1).
Definition estimate (s : selection) (j : Z) (ys : list Z) : R :=
  (tally (fun y => has j (set_of s y)) ys / INR (length ys) - elsewhere s) / (inside s - elsewhere s).
Definition share_among (people : list Z) (j : Z) : R := tally (Z.eqb j) people / INR (length people).

(* The variance of the estimate, times the number of people. *)
Definition variance (s : selection) (people : list Z) (j : Z) : R :=
  INR (length people) * mean_over s people (fun ys => (estimate s j ys - share_among people j) ^ 2).
Definition total_variance (s : selection) (people : list Z) : R := sum (variance s people) 0 (Z.to_nat (s_categories s)).

(* That no unbiased estimate from private answers has less variance is proved in words, in docs/proofs/shares.md, and not here. What
   is proved here is that B is no more than the bound of that page: the least of this over all sizes d of sets, E being e^epsilon. *)
Definition variance_of_size (k E share d : R) : R :=
  let c := E - 1 in
  ((k - 1) + c * (d - 1) + share * c * (k - d)) * ((k - 1) + (1 - share) * c * d) / (c ^ 2 * d * (k - d)) - share * (1 - share).
Definition below_all_sizes (s : selection) (times share B : R) : Prop := forall d, (1 <= d < s_categories s)%Z ->
  B <= times * variance_of_size (IZR (s_categories s)) (exp (Q2R (s_epsilon s))) share (IZR d).
