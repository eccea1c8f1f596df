(* SPDX-License-Identifier: Apache-2.0 *)
(* The expected loss of a table without a tail. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Lia Lra.
From Noisewright Require Import Statement Sums Exp Lists Check Law Close Private Losses Ramps.
Import ListNotations.
Local Open Scope Z_scope.

(* acc + sum of w_i (F(lo + (i+1)S) - F(lo + iS)); before is F(lo). *)
Fixpoint moment (F : Z -> Z) (S lo before : Z) (w : list Z) (acc : Z) : Z :=
  match w with
  | [] => acc
  | x :: w' => let next := F (lo + S) in moment F S (lo + S) next w' (acc + x * (next - before))
  end.

(* The first point of the first cell listed. *)
Definition lowest (t : table) : Z := offset t - (points t - 1) / 2 + first t * points t.

(* 2^64 S times what a ramp adds to the expected loss. *)
Definition ramp_moment (t : table) (r : ramp) : Q :=
  let F := cumulative (step t) r in
  Qmult (r_weight r) (Qmake (moment F (points t) (lowest t) (F (lowest t)) (weights t) 0) (Z.to_pos (unit_of (step t) r))).

Definition total_moment (t : table) (l : list ramp) : Q := fold_right (fun r s => Qplus (ramp_moment t r) s) 0%Q l.

Definition loss_ok (t : table) (c : loss) (claim : Q) : bool :=
  (ratio t =? 0) &&
  match ramps_of c with
  | None => false
  | Some l => Qle_bool (total_moment t l) (Qmult claim (inject_Z (2 ^ 64 * points t)))
  end.

Local Open Scope R_scope.

Lemma telescope F f lo len : (forall n, IZR (F (n + 1)%Z) - IZR (F n) = f n) ->
  sum f lo len = IZR (F (lo + Z.of_nat len)%Z) - IZR (F lo).
Proof.
  intros H. induction len; cbn [sum]; [rewrite Z.add_0_r; ring|].
  rewrite IHlen, <- H. replace (lo + Z.of_nat (S len))%Z with (lo + Z.of_nat len + 1)%Z by lia. ring.
Qed.

Lemma moment_sum F f S s : (forall n, IZR (F (n + 1)%Z) - IZR (F n) = f n) -> Z.of_nat s = S -> forall w lo acc,
  IZR (moment F S lo (F lo) w acc) = IZR acc + sum (fun i => IZR (at_place w i) * sum f (lo + i * S) s) 0 (length w).
Proof.
  intros H HS. induction w as [|x w IH]; intros lo acc; cbn [moment length]; [cbn; ring|].
  rewrite IH, sum_first, plus_IZR, mult_IZR, minus_IZR. change (at_place (x :: w) 0) with x.
  rewrite Z.mul_0_l, Z.add_0_r, (telescope F f lo s H), HS.
  rewrite (sum_onto (fun i => IZR (at_place (x :: w) i) * sum f (lo + i * S) s)
    (fun i => IZR (at_place w i) * sum f (lo + S + i * S) s) (0 + 1) 0); [ring|].
  intros i Hi. replace (0 + 1 + i)%Z with (i + 1)%Z by lia. rewrite at_next, Z.add_0_l by lia. do 2 f_equal. lia.
Qed.

Section Table.
Variables (t : table) (c : loss) (claim : Q).
Hypotheses (formed : well_formed t = true) (ok : loss_ok t c claim = true).

Let g := Q2R (step t).
Let S := points t.
Let s := Z.to_nat S.
Let lo := lowest t.
Let len := length (weights t).

Lemma no_tail : ratio t = 0%Z.
Proof. unfold loss_ok in ok. apply andb_true_iff in ok as [H _]. apply Z.eqb_eq, H. Qed.

Let S_pos : (0 < S)%Z. Proof. apply (formed_parts t formed). Qed.
Let s_is : Z.of_nat s = S. Proof. unfold s. lia. Qed.

Lemma law_no_tail n : law t n = spread (fun i => IZR (at_place (weights t) i) / T) S lo n + (if (n =? 0)%Z then mass_of_atom t else 0).
Proof.
  unfold law, spread, cell_law. rewrite no_tail. cbn [Z.eqb]. fold T. unfold mass_of_atom. do 4 f_equal.
  unfold cell_of, lo, lowest. fold S.
  replace (n - (offset t - (S - 1) / 2 + first t * S))%Z with (n - offset t + (S - 1) / 2 + - first t * S)%Z by lia.
  rewrite Z.div_add by lia. reflexivity.
Qed.

(* One ramp, summed over all points. *)
Let along (r : ramp) (n : Z) : R := ramp_value (r_right r) (Q2R (r_knot r)) (r_degree r) (IZR n * g).
Let weighed (f : Z -> R) : R := sum (fun i => IZR (at_place (weights t) i) * sum f (lo + i * S) s) 0 len.

Lemma ramp_moment_is r : Q2R (ramp_moment t r) = Q2R (r_weight r) * weighed (along r).
Proof.
  unfold ramp_moment. rewrite Q2R_mult. f_equal. pose proof (formed_parts t formed) as P.
  assert (HU : (0 < unit_of (step t) r)%Z) by (apply Z.pow_pos_nonneg; unfold shared; lia).
  unfold Q2R. cbn [Qnum Qden]. rewrite Z2Pos.id by exact HU.
  rewrite (moment_sum _ (fun n => IZR (unit_of (step t) r) * along r n) (points t) s).
  - fold lo S len. rewrite Rplus_0_l. unfold weighed.
    rewrite (sum_ext _ (fun i => IZR (unit_of (step t) r) * (IZR (at_place (weights t) i) * sum (along r) (lo + i * S) s)))
      by (intros; rewrite sum_scale; ring).
    rewrite sum_scale. apply IZR_lt in HU. field. lra.
  - intros n. apply cumulative_step. apply P.
  - exact s_is.
Qed.

Lemma weighed_linear a f b h : weighed (fun n => a * f n + b * h n) = a * weighed f + b * weighed h.
Proof.
  unfold weighed. rewrite <- !sum_scale, <- sum_plus. apply sum_ext. intros i _. rewrite sum_plus, !sum_scale. ring.
Qed.

Lemma total_moment_is l : Q2R (total_moment t l) = weighed (fun n => ramps_value l (IZR n * g)).
Proof.
  induction l as [|r l IH].
  - cbn. unfold weighed. rewrite sum_zero; [unfold Q2R; cbn; ring|]. intros i _. rewrite (sum_zero (fun _ => 0)) by auto. ring.
  - unfold total_moment, ramps_value. cbn [fold_right]. fold (total_moment t l). rewrite Q2R_plus, IH, ramp_moment_is.
    rewrite <- (Rmult_1_l (weighed (fun n => ramps_value l _))).
    rewrite <- weighed_linear. unfold weighed. apply sum_ext. intros i _. f_equal. apply sum_ext. intros n _. unfold along, ramps_value. ring.
Qed.

Theorem loss_sound : exists L, expected_loss t (loss_value c) L /\ L <= Q2R claim.
Proof.
  assert (H := ok). unfold loss_ok in H. apply andb_true_iff in H as [_ H].
  destruct (ramps_of c) as [l|] eqn:Hl; [|discriminate].
  pose proof T_pos as HT. assert (HS : 0 < IZR S) by (apply IZR_lt; exact S_pos).
  set (C := fun n => loss_value c (IZR n * g)).
  assert (C0 : C 0%Z = 0).
  { unfold C. rewrite Rmult_0_l, <- (ramps_of_value c l 0 Hl). apply (ramps_at_0 c l Hl). }
  exists (sum (fun n => law t n * C n) lo (len * s)). split.
  - apply sums_to_finite. intros n Hn. rewrite law_no_tail. rewrite Nat2Z.inj_mul, s_is in Hn. unfold spread. rewrite at_out.
    + destruct (Z.eqb_spec n 0) as [->|]; [fold (C 0%Z); rewrite C0; ring | unfold Rdiv; ring].
    + fold len. pose proof (Z.div_mod (n - lo) S ltac:(lia)). pose proof (Z.mod_pos_bound (n - lo) S S_pos). nia.
  - assert (HL : sum (fun n => law t n * C n) lo (len * s) = / (T * IZR S) * weighed C).
    { unfold weighed. rewrite <- sum_scale, sum_blocks. apply sum_ext. intros i Hi. rewrite Z.add_0_l in Hi.
      rewrite <- Rmult_assoc, <- sum_scale, s_is. apply sum_ext. intros n Hn. rewrite s_is in Hn. rewrite law_no_tail.
      unfold spread. replace ((n - lo) / S)%Z with i.
      - destruct (Z.eqb_spec n 0) as [->|]; [rewrite C0; ring | field; lra].
      - apply Z.div_unique with (n - (lo + i * S))%Z; lia. }
    rewrite HL. apply Qle_bool_iff, Qle_Rle in H. rewrite Q2R_mult, total_moment_is in H.
    assert (HC : weighed C = weighed (fun n => ramps_value l (IZR n * g))).
    { unfold weighed. apply sum_ext. intros i _. f_equal. apply sum_ext. intros n _. symmetry. apply ramps_of_value, Hl. }
    rewrite <- HC in H. unfold Q2R at 2, inject_Z in H. cbn [Qnum Qden] in H. rewrite Rinv_1, Rmult_1_r, mult_IZR in H. fold T S in H.
    apply Rmult_le_reg_l with (T * IZR S); [nra|]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by nra. lra.
Qed.
End Table.
