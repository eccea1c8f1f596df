(* SPDX-License-Identifier: Apache-2.0 *)
(* How a table is drawn from, as docs/proofs/sampling.md has it: a draw from a list of words of 64 bits, and the words that it leaves,
   or None if there are too few. Nothing is proved in this file; Drawn.v proves that draws have the law of Statement.v. *)
From Coq Require Import ZArith Reals List Bool.
From Noisewright Require Import Statement.
Import ListNotations.
Local Open Scope Z_scope.

(* The word u chooses an entry: entry 0 has the first l_0 words, entry 1 the l_1 words after them; no entry of the list has those
   that are left, for which this is the length of the list. *)
Fixpoint entry (l : list Z) (u : Z) : Z := match l with [] => 0 | w :: l' => if u <? w then 0 else 1 + entry l' (u - w) end.

(* A number below S, of the first word that is not discarded (Lemire 2019). *)
Definition discarded (S v : Z) : bool := (v * S) mod 2 ^ 64 <? 2 ^ 64 mod S.
Fixpoint place (S : Z) (words : list Z) : option (Z * list Z) :=
  match words with
  | [] => None
  | v :: rest => if discarded S v then place S rest else Some (v * S / 2 ^ 64, rest)
  end.

(* How many words are below r before the first that is not. *)
Fixpoint periods (r : Z) (words : list Z) : option (nat * list Z) :=
  match words with
  | [] => None
  | w :: rest => if w <? r then match periods r rest with Some (g, rest') => Some (S g, rest') | None => None end else Some (O, rest)
  end.

(* The direction in which a cell repeats: -1 to the left, 1 to the right, 0 if it does not. *)
Definition outwards (t : table) (i : Z) : Z :=
  if ratio t =? 0 then 0 else if i <? cells t then -1 else if i <? Z.of_nat (length (weights t)) - cells t then 0 else 1.

(* The first word chooses the cell or the atom, which has the words that no cell has; further ones the point of the cell, also for
   the atom; and for cells that repeat further ones how many periods further out. *)
Definition draw (t : table) (words : list Z) : option (Z * list Z) :=
  match words with
  | [] => None
  | u :: rest =>
    let i := entry (weights t) u in
    match place (points t) rest with
    | None => None
    | Some (h, rest) =>
      if i =? Z.of_nat (length (weights t)) then Some (0, rest) else
      let n := offset t - (points t - 1) / 2 + (first t + i) * points t + h in
      if outwards t i =? 0 then Some (n, rest) else
      match periods (ratio t) rest with
      | None => None
      | Some (g, rest) => Some (n + outwards t i * (Z.of_nat g * (cells t * points t)), rest)
      end
    end
  end.

(* Whether the first draws are these. *)
Fixpoint draws (t : table) (ys : list Z) (words : list Z) : bool :=
  match ys with
  | [] => true
  | y :: ys' => match draw t words with Some (n, rest) => (n =? y) && draws t ys' rest | None => false end
  end.

(* The average over all lists of N words: the mean of f if words are independent, and each is uniform. *)
Fixpoint average (N : nat) (f : list Z -> R) : R :=
  match N with
  | O => f []
  | S N' => (sum (fun u => average N' (fun words => f (u :: words))) 0 (Z.to_nat (2 ^ 64)) / IZR (2 ^ 64))%R
  end.
Definition chance (N : nat) (A : list Z -> bool) : R := average N (fun words => if A words then 1%R else 0%R).
