(* SPDX-License-Identifier: Apache-2.0 *)
(* What the losses of docs/table-format.md are. Like Statement.v it is to be believed, and has no proofs. *)
From Coq Require Import ZArith QArith Qreals Reals List.
Import ListNotations.
Local Open Scope R_scope.

Inductive term :=
| Power (p : nat)                     (* l1, l2, and lp with a whole exponent *)
| RealPower (p : Q)                   (* lp with another one *)
| Pinball (tau : Q)
| Asymmetric (a b : Q)                (* its slopes to the left and to the right of 0 *)
| Huber (t : Q)
| Deadzone (t : Q)
| Exceed (t : Q)
| Piecewise (slope : Q) (segments : list (Q * Q * Q)).  (* the first slope; then knot, slope to its right, jump *)

(* A piecewise linear function, but for a constant. At a jump it has the lower of the two values. *)
Fixpoint pieces (slope : R) (l : list (Q * Q * Q)) (x : R) : R :=
  match l with
  | [] => 0
  | (knot, next, jump) :: l' =>
    (Q2R next - slope) * Rmax 0 (x - Q2R knot) +
    (if Rlt_dec (Q2R knot) x then Q2R jump else if Req_EM_T x (Q2R knot) then Rmin 0 (Q2R jump) else 0) +
    pieces (Q2R next) l' x
  end.
Definition piecewise (slope : Q) (l : list (Q * Q * Q)) (x : R) : R := Q2R slope * x + pieces (Q2R slope) l x.

Definition term_value (c : term) (x : R) : R :=
  match c with
  | Power p => Rabs x ^ p
  | RealPower p => if Req_EM_T x 0 then 0 else Rpower (Rabs x) (Q2R p)
  | Pinball tau => if Rle_dec 0 x then Q2R tau * x else (1 - Q2R tau) * Rabs x
  | Asymmetric a b => if Rle_dec 0 x then Q2R b * x else Q2R a * Rabs x
  | Huber t => if Rle_dec (Rabs x) (Q2R t) then x ^ 2 / 2 else Q2R t * Rabs x - Q2R t ^ 2 / 2
  | Deadzone t => Rmax 0 (Rabs x - Q2R t)
  | Exceed t => if Rlt_dec (Q2R t) (Rabs x) then 1 else 0
  | Piecewise slope l => (* its least value is 0; it is reached at a knot *)
    piecewise slope l x - fold_right Rmin (piecewise slope l (Q2R (fst (fst (hd (0%Q, 0%Q, 0%Q) l)))))
      (map (fun s => piecewise slope l (Q2R (fst (fst s)))) l)
  end.

(* A sum of terms with weights. *)
Definition loss : Set := list (Q * term).
Definition loss_value (c : loss) (x : R) : R := fold_right (fun t s => Q2R (fst t) * term_value (snd t) x + s) 0 c.
