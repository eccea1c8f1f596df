(* SPDX-License-Identifier: Apache-2.0 *)
(* Large tables have few weights that differ from the one before. The checker of privacy compares runs of equal weights with runs in
   place of cells with cells, and its verdict is that of Check.v. *)
From Coq Require Import ZArith QArith List Bool Lia.
From Noisewright Require Import Statement Exp Lists Check.
Import ListNotations.
Local Open Scope Z_scope.

(* A value, and how often it stands there. *)
Definition run : Type := Z * positive.
Fixpoint expanded (l : list run) : list Z :=
  match l with [] => [] | (x, n) :: l' => repeat x (Pos.to_nat n) ++ expanded l' end.

(* The runs of what stands before, x n times, l; acc has those before, the last one first. *)
Fixpoint gather (l : list Z) (x : Z) (n : positive) (acc : list run) : list run :=
  match l with
  | [] => rev' ((x, n) :: acc)
  | y :: l' => if y =? x then gather l' x (Pos.succ n) acc else gather l' y 1 ((x, n) :: acc)
  end.
Definition runs_of (l : list Z) : list run := match l with [] => [] | x :: l' => gather l' x 1 [] end.

(* acc + n max(0, x - y). *)
Definition more (x y : Z) (n : positive) (acc : Z) : Z := if x <=? y then acc else acc + Zpos n * (x - y).

(* What excess is of the lists: of the first run of a the n that are left are compared with the runs of b one after another. *)
Fixpoint excess_runs (a b : list run) (acc : Z) {struct a} : Z :=
  match a with
  | [] => acc
  | (x, n) :: a' =>
    (fix against (b : list run) (n : positive) (acc : Z) {struct b} : Z :=
      match b with
      | [] => excess_runs a' [] (more x 0 n acc)
      | (y, m) :: b' =>
        match (n ?= m)%positive with
        | Lt => excess_runs a' ((y, (m - n)%positive) :: b') (more x y n acc)
        | Eq => excess_runs a' b' (more x y n acc)
        | Gt => against b' (n - m)%positive (more x y m acc)
        end
      end) b n acc
  end.

Definition tail_of (l : list run) : list run :=
  match l with [] => [] | (x, n) :: l' => if (n =? 1)%positive then l' else (x, Pos.pred n) :: l' end.

Fixpoint slide_runs (n : nat) (l m r bl bm br : list run) (rest whole bound : Z) : bool :=
  match n with
  | O => true
  | S n' => (excess_runs m bm 0 * rest + (excess_runs l bl 0 + excess_runs r br 0) * whole <=? bound) &&
            slide_runs n' l m r (tail_of bl) (tail_of bm) (tail_of br) rest whole bound
  end.

(* By runs where they are few, as a comparison of runs takes as long as some of cells. *)
Definition slide_either (n : nat) (l m r bl bm br : list Z) (rest whole bound : Z) : bool :=
  let runs := runs_of bm in
  if 3 * Z.of_nat (length runs) <? Z.of_nat (length bm)
  then slide_runs n (runs_of l) (runs_of m) (runs_of r) (runs_of bl) runs (runs_of br) rest whole bound
  else slide n l m r bl bm br rest whole bound.

(* shifts_ok of Check.v, with runs. *)
Definition runs_ok (t : table) : bool :=
  let b := scaled (exp_down (epsilon t) 96) (extended t) in
  let a := scaled (2 ^ 96) in
  let rest := 2 ^ 64 - ratio t in
  slide_either (2 * period t + 1)
    (a (scaled (unit t 1) (left_block t))) (a (core t)) (a (scaled (unit t 1) (right_block t)))
    b (skipn (period t) b) (skipn (period t + length (listed t)) b)
    rest (2 ^ 64) (allowance t (96 + spare t) * rest).

Definition check_runs (t : table) : bool := well_formed t && covers t && unit_step t && runs_ok t.

(* --- It is the same --- *)

Lemma expanded_app a b : expanded (a ++ b) = expanded a ++ expanded b.
Proof. induction a as [|[x n] a IH]; cbn [expanded app]; [reflexivity|]. rewrite IH. apply app_assoc. Qed.

Lemma repeat_succ (x : Z) n l : repeat x (Pos.to_nat (Pos.succ n)) ++ l = repeat x (Pos.to_nat n) ++ x :: l.
Proof. rewrite Pos2Nat.inj_succ, <- Nat.add_1_r, repeat_app, <- app_assoc. reflexivity. Qed.

Lemma expanded_gather l : forall x n acc,
  expanded (gather l x n acc) = expanded (rev acc) ++ repeat x (Pos.to_nat n) ++ l.
Proof.
  induction l as [|y l IH]; intros x n acc; cbn [gather].
  - unfold rev'. rewrite <- rev_alt. cbn [rev]. rewrite expanded_app. cbn [expanded]. reflexivity.
  - destruct (Z.eqb_spec y x) as [->|]; rewrite IH; [rewrite repeat_succ; reflexivity|].
    cbn [rev]. rewrite expanded_app, <- !app_assoc. cbn [expanded]. rewrite app_nil_r. reflexivity.
Qed.

(* No cell is lost or counted twice. *)
Lemma expanded_runs l : expanded (runs_of l) = l.
Proof. destruct l as [|x l]; [reflexivity|]. unfold runs_of. rewrite expanded_gather. reflexivity. Qed.

Lemma excess_repeat x y a b : forall n acc, excess (repeat x n ++ a) (repeat y n ++ b) acc =
  excess a b (if x <=? y then acc else acc + Z.of_nat n * (x - y)).
Proof.
  induction n as [|n IH]; intros acc; [cbn [repeat app]; destruct (x <=? y); f_equal; lia|].
  cbn [repeat app excess hd tl]. rewrite IH. destruct (x <=? y); f_equal; lia.
Qed.
Lemma excess_none x a : forall n acc, excess (repeat x n ++ a) [] acc = excess a [] (if x <=? 0 then acc else acc + Z.of_nat n * (x - 0)).
Proof.
  induction n as [|n IH]; intros acc; [cbn [repeat app]; destruct (x <=? 0); f_equal; lia|].
  cbn [repeat app excess hd tl]. rewrite IH. destruct (x <=? 0); f_equal; lia.
Qed.

Lemma excess_runs_is a : forall b acc, excess_runs a b acc = excess (expanded a) (expanded b) acc.
Proof.
  induction a as [|[x n] a IH]; intros b acc; [reflexivity|].
  cbn [excess_runs expanded]. revert n acc. induction b as [|[y m] b IHb]; intros n acc.
  - rewrite IH. cbn [expanded]. rewrite excess_none, positive_nat_Z. reflexivity.
  - cbn [expanded]. destruct (Pos.compare_spec n m) as [->|L|L].
    + rewrite IH, excess_repeat, positive_nat_Z. reflexivity.
    + rewrite IH. replace (Pos.to_nat m) with (Pos.to_nat n + Pos.to_nat (m - n))%nat by lia.
      rewrite repeat_app, <- app_assoc, excess_repeat, positive_nat_Z. reflexivity.
    + rewrite IHb. replace (Pos.to_nat n) with (Pos.to_nat m + Pos.to_nat (n - m))%nat by lia.
      rewrite repeat_app, <- app_assoc, excess_repeat, positive_nat_Z. reflexivity.
Qed.

Lemma expanded_tail l : expanded (tail_of l) = tl (expanded l).
Proof.
  destruct l as [|[x n] l]; [reflexivity|]. cbn [tail_of expanded]. destruct (Pos.eqb_spec n 1) as [->|H]; [reflexivity|].
  cbn [expanded]. replace (Pos.to_nat n) with (S (Pos.to_nat (Pos.pred n))) by lia. reflexivity.
Qed.

Lemma slide_runs_is l m r rest whole bound : forall n bl bm br, slide_runs n l m r bl bm br rest whole bound =
  slide n (expanded l) (expanded m) (expanded r) (expanded bl) (expanded bm) (expanded br) rest whole bound.
Proof.
  induction n as [|n IH]; intros bl bm br; cbn [slide_runs slide]; [reflexivity|].
  rewrite IH, !excess_runs_is, !expanded_tail. reflexivity.
Qed.

Lemma slide_either_is n l m r bl bm br rest whole bound :
  slide_either n l m r bl bm br rest whole bound = slide n l m r bl bm br rest whole bound.
Proof. unfold slide_either. destruct (_ <? _); [|reflexivity]. rewrite slide_runs_is, !expanded_runs. reflexivity. Qed.

(* The verdict by runs is that shift by shift and cell by cell. *)
Theorem check_runs_is t : check_runs t = check t.
Proof. unfold check_runs, check, runs_ok, shifts_ok. rewrite slide_either_is. reflexivity. Qed.
