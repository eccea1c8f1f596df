(* SPDX-License-Identifier: Apache-2.0 *)
(* What a reader has to believe says the right thing. Nothing is proved in this file, and nothing but it is needed to
   read a theorem about a table. The symbols are those of docs/table-format.md. *)
From Coq Require Import ZArith QArith Qreals Reals List.
Import ListNotations.
Local Open Scope Z_scope.

Inductive query := Real | Integer | Lattice.

Record table := {
  kind : query;
  epsilon : Q; delta : Q; sensitivity : Q;  (* the exact values of the float64s of the file *)
  step : Q;                                 (* g: the grid point n is the noise n*g *)
  points : Z; offset : Z;                   (* S, points of a cell; o, in grid points *)
  cells : Z; first : Z;                     (* K, cells per sensitivity; the index of the first weight *)
  weights : list Z; atom : Z;               (* in units of 2^-64 *)
  ratio : Z       (* R: the first and the last K cells repeat outwards, R/2^64 times as likely in each period; 0: no *)
}.

(* Entry i of a list, 0 outside. *)
Definition at_place (l : list Z) (i : Z) : Z := if i <? 0 then 0 else nth (Z.to_nat i) l 0.

(* The index of the cell that has the grid point n: cell j has o + jS - (S-1)/2, ..., o + jS + (S-1)/2. *)
Definition cell_of (t : table) (n : Z) : Z := (n - offset t + (points t - 1) / 2) / points t.

Local Open Scope R_scope.

(* The probability of the cell whose weight is number i of the list, or would be. *)
Definition cell_law (t : table) (i : Z) : R :=
  let n := Z.of_nat (length (weights t)) in
  let K := cells t in
  let rho := IZR (ratio t) / IZR (2 ^ 64) in
  let listed i := IZR (at_place (weights t) i) / IZR (2 ^ 64) in
  let repeated i periods := listed i * (1 - rho) * rho ^ Z.to_nat periods in
  if (ratio t =? 0)%Z then listed i
  else if (i <? K)%Z then repeated (K - 1 - (K - 1 - i) mod K)%Z ((K - 1 - i) / K)%Z
  else if (i <? n - K)%Z then listed i
  else repeated (n - K + (i - (n - K)) mod K)%Z ((i - (n - K)) / K)%Z.

(* The law of the noise: the probability of the grid point n. *)
Definition law (t : table) (n : Z) : R :=
  cell_law t (cell_of t n - first t) / IZR (points t) + (if (n =? 0)%Z then IZR (atom t) / IZR (2 ^ 64) else 0).

Definition floor (x : R) : Z := (up x - 1)%Z.

(* A query value x is rounded to R(x) steps and published as y*g, y = R(x) + n. This is the law of y. R(x) = floor(x/g +
   1/2), but for a lattice query, where R(x) = floor(x/g + U), U uniform on [0, 1): with v = x/g and r = v - floor(v) that is
   floor(v) with probability 1 - r, and floor(v) + 1 with probability r. *)
Definition published (t : table) (x : R) (y : Z) : R :=
  let v := x / Q2R (step t) in
  let r := v - IZR (floor v) in
  match kind t with
  | Lattice => (1 - r) * law t (y - floor v) + r * law t (y - (floor v + 1))
  | _ => law t (y - floor (v + / 2))
  end.

(* The values that a query takes: all, or the integers. *)
Definition query_value (t : table) (x : R) : Prop := kind t = Integer -> exists n, x = IZR n.

(* f(lo) + f(lo+1) + ... : len of them; and sums over all integers, as limits of those over -N, ..., N. *)
Fixpoint sum (f : Z -> R) (lo : Z) (len : nat) : R :=
  match len with O => 0 | S k => sum f lo k + f (lo + Z.of_nat k)%Z end.
Definition window (f : Z -> R) (N : nat) : R := sum f (- Z.of_nat N) (2 * N + 1).
Definition sums_to (f : Z -> R) (s : R) : Prop := Un_cv (window f) s.

(* p is the probability of the set A under the law f. *)
Definition probability (f : Z -> R) (A : Z -> Prop) (p : R) : Prop :=
  exists w, (forall n, A n -> w n = f n) /\ (forall n, ~ A n -> w n = 0) /\ sums_to w p.

(* It is a law: nothing is negative, all of it is 1, and every set has a probability. *)
Definition is_law (f : Z -> R) : Prop :=
  (forall n, 0 <= f n) /\ probability f (fun _ => True) 1 /\ forall A, exists p, probability f A p.

(* (epsilon, delta)-differential privacy, for all values at most the sensitivity apart and all sets of results. *)
Definition private (t : table) : Prop :=
  forall x x', query_value t x -> query_value t x' -> Rabs (x - x') <= Q2R (sensitivity t) ->
  forall (A : R -> Prop) p p',
  probability (published t x) (fun y => A (IZR y * Q2R (step t))) p ->
  probability (published t x') (fun y => A (IZR y * Q2R (step t))) p' ->
  p <= exp (Q2R (epsilon t)) * p' + Q2R (delta t).

(* L is the expected loss of the noise. *)
Definition expected_loss (t : table) (c : R -> R) (L : R) : Prop :=
  sums_to (fun n => law t n * c (IZR n * Q2R (step t))) L.

(* The law of any noise X, by its expectations E f(X): linear, monotone, E 1 = 1. Sums over a lattice are of this kind, and
   so are Borel laws with f the integrable Borel functions. line b v is linear between the nodes jb, where it is v(j). *)
Definition line (b : R) (v : Z -> R) (x : R) : R :=
  let j := floor (x / b) in let r := x / b - IZR j in (1 - r) * v j + r * v (j + 1)%Z.

Record noise := {
  possible : R -> Prop;               (* the values it may have *)
  integrable : (R -> R) -> Prop;
  mean : (R -> R) -> R;
  mean_one : integrable (fun _ => 1) /\ mean (fun _ => 1) = 1;
  mean_linear : forall f g a, integrable f -> integrable g ->
    integrable (fun x => f x + a * g x) /\ mean (fun x => f x + a * g x) = mean f + a * mean g;
  mean_le : forall f g, integrable f -> integrable g -> (forall x, possible x -> f x <= g x) -> mean f <= mean g;
  integrable_line : forall b v top, 0 < b -> (forall j, 0 <= v j <= top) -> integrable (line b v);
  integrable_level : forall f u, integrable f -> integrable (fun x => if Rlt_dec u (f x) then 1 else 0)
}.
Definition indicator (A : R -> bool) (x : R) : R := if A x then 1 else 0.

(* Noise that competes with the table: it has multiples of g only unless the query is real, and X and X + phi are
   (epsilon, delta)-indistinguishable: for all real phi within the sensitivity; for rounded values for all whole steps
   within the sensitivity rounded up. *)
Definition reached (t : table) (phi : R) : Prop :=
  match kind t with
  | Real => Rabs phi <= Q2R (sensitivity t)
  | _ => exists m, phi = IZR m * Q2R (step t) /\ IZR (Z.abs m) < Q2R (sensitivity t) / Q2R (step t) + 1
  end.
Definition competes (t : table) (X : noise) : Prop :=
  (kind t <> Real -> forall x, possible X x -> exists n, x = IZR n * Q2R (step t)) /\
  forall phi (A : R -> bool), reached t phi ->
  integrable X (indicator A) -> integrable X (fun x => indicator A (x + phi)) ->
  mean X (indicator A) <= exp (Q2R (epsilon t)) * mean X (fun x => indicator A (x + phi)) + Q2R (delta t).

(* No noise that competes loses less than B on average. *)
Definition no_noise_loses_less (t : table) (c : R -> R) (B : R) : Prop :=
  forall X, competes t X -> integrable X c -> B <= mean X c.
