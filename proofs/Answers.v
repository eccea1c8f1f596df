(* SPDX-License-Identifier: Apache-2.0 *)
(* What many answers reveal together. As in Statement.v, nothing is proved in this file: it is what a reader of the theorems of
   Composition.v has to believe. *)
From Coq Require Import ZArith QArith Qreals Reals List.
From Noisewright Require Import Statement.
Import ListNotations.
Local Open Scope R_scope.

Definition bounded {T} (f : T -> R) : Prop := exists M, forall a, Rabs (f a) <= M.
Definition chance_of {T} (A : T -> bool) (a : T) : R := if A a then 1 else 0.

(* The law of a random answer out of T, by its expectations E f of bounded functions f. The laws on countable sets are of this
   kind, and so is anything that a program draws. *)
Definition expectation (T : Type) := (T -> R) -> R.
Record lawful {T} (E : expectation T) : Prop := {
  lawful_one : E (fun _ => 1) = 1;
  lawful_linear : forall f g a, bounded f -> bounded g -> E (fun x => f x + a * g x) = E f + a * E g;
  lawful_le : forall f g, bounded f -> bounded g -> (forall x, f x <= g x) -> E f <= E g
}.

(* The answer y has the probability w y, as in `published`. *)
Definition drawn (w : Z -> R) (E : expectation Z) : Prop := forall f, bounded f -> sums_to (fun y => w y * f y) (E f).

(* A function of an answer a; and one that draws, from the law K a. Neither looks at the data. *)
Definition after {T U} (h : T -> U) (E : expectation T) : expectation U := fun f => E (fun a => f (h a)).
Definition randomly_after {T U} (K : T -> expectation U) (E : expectation T) : expectation U := fun f => E (fun a => K a f).

Section Data.
Variables (data : Type) (near : data -> data -> Prop).  (* which data are neighbors *)

(* What answers in T about the data is (epsilon, delta)-private. *)
Definition private_answer {T} (epsilon delta : R) (M : data -> expectation T) : Prop :=
  forall x x', near x x' -> forall A, M x (chance_of A) <= exp epsilon * M x' (chance_of A) + delta.

Section Sessions.
Variable T : Type.

(* Somebody asks, and charges the budget (epsilon, delta) for it; what he asks next, what he charges for it, and when he ends, may
   depend on all that was answered; whatever the answers, he ends. That he draws himself is an answer that no data are asked for. *)
Inductive session :=
| End
| Ask (epsilon delta : Q) (M : data -> expectation T) (next : T -> session).

(* Each question is as private as what is charged for it. *)
Fixpoint charged_fairly (s : session) : Prop :=
  match s with
  | End => True
  | Ask e d M next => (forall x, lawful (M x)) /\ private_answer (Q2R e) (Q2R d) M /\ forall a, charged_fairly (next a)
  end.

(* The law of all answers, in order. *)
Fixpoint answers (s : session) (x : data) : expectation (list T) :=
  match s with
  | End => fun f => f []
  | Ask _ _ M next => fun f => M x (fun a => answers (next a) x (fun l => f (a :: l)))
  end.

(* What may be charged in all: a list of budgets for each course that the answers take. *)
Inductive charges : session -> list (Q * Q) -> Prop :=
| no_charge : charges End []
| one_more e d M next a l : charges (next a) l -> charges (Ask e d M next) ((e, d) :: l).
End Sessions.
End Data.

(* The sums of the epsilons and of the deltas. *)
Definition total (l : list (Q * Q)) : Q * Q := fold_right (fun c s => (fst c + fst s, snd c + snd s)%Q) (0%Q, 0%Q) l.

Arguments End {data T}.
Arguments Ask {data T}.
Arguments answers {data T}.
Arguments charges {data T}.
Arguments charged_fairly {data} near {T}.
Arguments private_answer {data} near {T}.
