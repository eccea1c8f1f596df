(* SPDX-License-Identifier: Apache-2.0 *)
(* The checker of privacy. It computes with integers alone; Private.v proves that what it accepts is private. *)
From Coq Require Import ZArith QArith List Bool.
From Noisewright Require Import Statement Exp Lists.
Import ListNotations.
Local Open Scope Z_scope.

(* A table without a tail is one whose blocks are K cells of weight 0 on either side, and whose ratio is 0. So there is
   one checker and one proof. *)
Definition margin (t : table) : Z := if ratio t =? 0 then cells t else 0.
Definition listed (t : table) : list Z :=
  let none := repeat 0 (Z.to_nat (margin t)) in none ++ weights t ++ none.
Definition period (t : table) : nat := Z.to_nat (cells t).

Definition left_block (t : table) : list Z := firstn (period t) (listed t).
Definition right_block (t : table) : list Z := skipn (length (listed t) - period t) (listed t).
Definition middle (t : table) : list Z := skipn (period t) (firstn (length (listed t) - period t) (listed t)).

(* Probabilities are integers in units of 2^-(64 + spare): a cell of the middle has 2^spare times its weight, one of a block,
   m periods further out, unit m times. *)
Definition spare (t : table) : Z := if ratio t =? 0 then 0 else 192.
Definition unit (t : table) (m : Z) : Z :=
  if ratio t =? 0 then if m =? 0 then 1 else 0 else (2 ^ 64 - ratio t) * ratio t ^ m * 2 ^ (64 * (2 - m)).

(* The cells of the list, and with two more periods on either side. *)
Definition core (t : table) : list Z :=
  scaled (unit t 0) (left_block t) ++ scaled (2 ^ spare t) (middle t) ++ scaled (unit t 0) (right_block t).
Definition extended (t : table) : list Z :=
  scaled (unit t 2) (left_block t) ++ scaled (unit t 1) (left_block t) ++ core t ++
  scaled (unit t 1) (right_block t) ++ scaled (unit t 2) (right_block t).

(* acc + sum of max(0, a_i - b_i). *)
Fixpoint excess (a b : list Z) (acc : Z) : Z :=
  match a with
  | [] => acc
  | x :: a' => excess a' (tl b) (let y := hd 0 b in if x <=? y then acc else acc + (x - y))
  end.

(* Whether excess is within the bound for b moved by 0, 1, ..., n-1 places: that of the middle m counts rest times, that of
   one period on the left l and on the right r counts whole times. *)
Fixpoint slide (n : nat) (l m r bl bm br : list Z) (rest whole bound : Z) : bool :=
  match n with
  | O => true
  | S n' => (excess m bm 0 * rest + (excess l bl 0 + excess r br 0) * whole <=? bound) &&
            slide n' l m r (tl bl) (tl bm) (tl br) rest whole bound
  end.

(* What the cells may lose, in units of 2^-(64 + bits): delta less the atom, which is charged in full. *)
Definition allowance (t : table) (bits : Z) : Z :=
  Qnum (delta t) * 2 ^ (64 + bits) / Zpos (Qden (delta t)) - atom t * 2 ^ bits.

Definition shifts_ok (t : table) : bool :=
  let b := scaled (exp_down (epsilon t) 96) (extended t) in
  let a := scaled (2 ^ 96) in
  let rest := 2 ^ 64 - ratio t in
  slide (2 * period t + 1)
    (a (scaled (unit t 1) (left_block t))) (a (core t)) (a (scaled (unit t 1) (right_block t)))
    b (skipn (period t) b) (skipn (period t + length (listed t)) b)
    rest (2 ^ 64) (allowance t (96 + spare t) * rest).

Definition well_formed (t : table) : bool :=
  (0 <=? Qnum (epsilon t)) && (0 <? Qnum (step t)) && (0 <? points t) && (0 <? cells t) && (0 <=? atom t) &&
  (0 <=? ratio t) && (ratio t <? 2 ^ 64) && (2 * cells t <? Z.of_nat (length (listed t))) &&
  forallb (Z.leb 0) (weights t) && (total (listed t) (atom t) =? 2 ^ 64).

Definition covers (t : table) : bool := Qle_bool (sensitivity t) (Qmult (inject_Z (cells t * points t)) (step t)).

(* A query of integers is not rounded, and may as well be of real values unless the step is not 1. *)
Definition unit_step (t : table) : bool := match kind t with Integer => Qeq_bool (step t) 1 | _ => true end.

Definition check (t : table) : bool := well_formed t && covers t && unit_step t && shifts_ok t.
