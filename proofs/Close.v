(* SPDX-License-Identifier: Apache-2.0 *)
(* When one law is at most E times another, but for d: sets, mixtures, and cells of equally likely points. *)
From Coq Require Import ZArith Reals List Lia Lra.
From Noisewright Require Import Statement Sums Exp.
Local Open Scope R_scope.

(* No window has more than d of what f is above E times f'. *)
Definition close (E d : R) (f f' : Z -> R) : Prop :=
  forall lo len, sum (fun y => pos (f y - E * f' y)) lo len <= d.

Lemma close_ext E d f f' g g' : (forall y, f y = g y) -> (forall y, f' y = g' y) -> close E d f f' -> close E d g g'.
Proof. intros H H' C lo len. rewrite (sum_ext _ (fun y => pos (f y - E * f' y))); auto. intros. rewrite H, H'. reflexivity. Qed.

(* Then it is so for every set: a point is in it or not, for both. *)
Lemma close_sets E d f f' A p p' : close E d f f' -> probability f A p -> probability f' A p' -> p <= E * p' + d.
Proof.
  intros H (w & Win & Wout & Hw) (w' & Win' & Wout' & Hw').
  assert (point : forall y, w y <= E * w' y + pos (f y - E * f' y)).
  { intros y. apply Rnot_lt_le. intros C.
    assert (HA : ~ A y). { intros HA. rewrite Win, Win' in C by auto. pose proof (pos_ge (f y - E * f' y)). lra. }
    rewrite Wout, Wout' in C by auto. pose proof (pos_nonneg (f y - E * f' y)). lra. }
  apply (sums_to_le w (fun y => E * w' y)); [exact Hw | apply sums_to_scale; exact Hw'|].
  intros N. eapply Rle_trans; [apply sum_le; intros; apply point|]. rewrite sum_plus.
  apply Rplus_le_compat_l. apply H.
Qed.

Lemma close_mix E d f f' g g' a : 0 <= a <= 1 -> close E d f f' -> close E d g g' ->
  close E d (fun y => (1 - a) * f y + a * g y) (fun y => (1 - a) * f' y + a * g' y).
Proof.
  intros Ha Hf Hg lo len. specialize (Hf lo len). specialize (Hg lo len).
  apply Rle_trans with (sum (fun y => (1 - a) * pos (f y - E * f' y) + a * pos (g y - E * g' y)) lo len).
  - apply sum_le. intros y _. rewrite <- !pos_scale by lra. eapply Rle_trans; [|apply pos_plus]. apply Req_le. f_equal. ring.
  - rewrite sum_plus, !sum_scale. nra.
Qed.

(* Three parts of a whole: a, b and the rest. *)
Lemma close_mix_3 E d f f' g g' h h' a b : 0 <= a -> 0 < b -> a + b <= 1 -> close E d f f' -> close E d g g' -> close E d h h' ->
  close E d (fun y => a * f y + b * g y + (1 - a - b) * h y) (fun y => a * f' y + b * g' y + (1 - a - b) * h' y).
Proof.
  intros Ha Hb Hab Hf Hg Hh.
  assert (Hc : 0 <= b / (a + b) <= 1).
  { split; [apply Rdiv_nonneg; lra|]. apply Rmult_le_reg_r with (a + b); [lra|].
    replace (b / (a + b) * (a + b)) with b by (field; lra). lra. }
  apply (close_ext _ _ _ _ _ _) with (3 := close_mix _ _ _ _ _ _ (1 - a - b) ltac:(lra) (close_mix _ _ _ _ _ _ _ Hc Hf Hg) Hh);
    intros y; field; lra.
Qed.

(* --- Cells of S equally likely points each --- *)

Section Cells.
Variables (cell : Z -> R) (S base : Z) (a : R).   (* base: the first point of cell 0; a: more at the point 0 *)
Hypothesis S_pos : (0 < S)%Z.
Hypothesis cell_nonneg : forall i, 0 <= cell i.
Hypothesis a_nonneg : 0 <= a.

Definition spread (n : Z) : R := cell ((n - base) / S) / IZR S.
Definition with_atom (n : Z) : R := spread n + (if (n =? 0)%Z then a else 0).

Let s := Z.to_nat S.
Let s_is : Z.of_nat s = S. Proof. unfold s. lia. Qed.
Let S_pos' : 0 < IZR S. Proof. apply IZR_lt. exact S_pos. Qed.

Lemma spread_nonneg n : 0 <= spread n.
Proof. apply Rdiv_nonneg; auto. Qed.
Lemma with_atom_nonneg n : 0 <= with_atom n.
Proof. unfold with_atom. pose proof (spread_nonneg n). destruct (n =? 0)%Z; lra. Qed.

Lemma index i r : (0 <= r < S)%Z -> ((base + i * S + r - base) / S = i)%Z.
Proof. intros H. symmetry. apply Z.div_unique with r; lia. Qed.

(* Every window of points is within one of cells. *)
Lemma within_cells lo len : exists j c,
  (base + j * S <= lo)%Z /\ (lo + Z.of_nat len <= base + j * S + Z.of_nat (c * s))%Z.
Proof.
  set (j := ((lo - base) / S)%Z). exists j, (Z.to_nat ((lo + Z.of_nat len - base) / S - j + 1)).
  pose proof (Z.mul_div_le (lo - base) S S_pos). pose proof (Z.mul_succ_div_gt (lo + Z.of_nat len - base) S S_pos).
  assert (j <= (lo + Z.of_nat len - base) / S)%Z by (apply Z.div_le_mono; lia).
  rewrite Nat2Z.inj_mul, Z2Nat.id by lia. rewrite s_is. split; [lia|nia].
Qed.

Lemma sum_of_cells f j c : sum f (base + j * S) (c * s) = sum (fun i => sum f (base + i * S) s) j c.
Proof.
  rewrite sum_blocks. apply sum_onto. intros i Hi. rewrite s_is. f_equal. lia.
Qed.

Lemma sum_of_cell i : sum spread (base + i * S) s = cell i.
Proof.
  rewrite (sum_ext _ (fun _ => cell i / IZR S)).
  - rewrite sum_const, INR_IZR_INZ, s_is. field. lra.
  - intros n Hn. rewrite s_is in Hn. unfold spread. do 2 f_equal.
    replace n with (base + i * S + (n - base - i * S))%Z at 1 by lia. apply index. lia.
Qed.

(* The grid lemma: a shift by m = kS + r points is between those by k and by k+1 cells. *)
Lemma close_points K E C m : (Z.abs m <= K * S)%Z ->
  (forall k, (Z.abs k <= K)%Z -> close E C (fun i => cell (i - k)) cell) ->
  close E C (fun n => spread (n - m)) spread.
Proof.
  intros Hm H lo len. set (k := (m / S)%Z). set (r := (m mod S)%Z).
  assert (Hdm : m = (k * S + r)%Z) by (unfold k, r; rewrite Z.mul_comm; apply Z.div_mod; lia).
  assert (Hr : (0 <= r < S)%Z) by (apply Z.mod_pos_bound; lia).
  set (over k i := pos (cell (i - k) - E * cell i)).
  set (f := fun n => pos (spread (n - m) - E * spread n)).
  destruct (within_cells lo len) as (j & c & H1 & H2).
  apply Rle_trans with (sum f (base + j * S) (c * s)); [apply sum_wider; auto; intros; apply pos_nonneg|].
  rewrite sum_of_cells.
  rewrite (sum_ext _ (fun i => / IZR S * (IZR r * over (k + 1)%Z i + IZR (S - r) * over k i))).
  - rewrite sum_scale, sum_plus, !sum_scale.
    assert (0 <= IZR r) by (apply IZR_le; lia). assert (0 <= IZR (S - r)) by (apply IZR_le; lia).
    assert (B0 : IZR (S - r) * sum (over k) j c <= IZR (S - r) * C).
    { apply Rmult_le_compat_l; [auto|]. apply H. nia. }
    assert (B1 : IZR r * sum (over (k + 1)%Z) j c <= IZR r * C).
    { destruct (Z.eq_dec r 0) as [->|]; [lra|]. apply Rmult_le_compat_l; [auto|]. apply H. nia. }
    apply Rmult_le_reg_l with (IZR S); [auto|]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
    rewrite minus_IZR in *. lra.
  - intros i _.
    rewrite (sum_ext _ (fun n => if (n <? base + i * S + Z.of_nat (Z.to_nat r))%Z then / IZR S * over (k + 1)%Z i else / IZR S * over k i)).
    + rewrite sum_two by lia. rewrite !INR_IZR_INZ, Nat2Z.inj_sub, s_is, Z2Nat.id by lia. ring.
    + intros n Hn. rewrite s_is in Hn. set (p := (n - base - i * S)%Z).
      assert (Hi : forall q, (q = i * S + p)%Z -> spread (base + q) = cell i / IZR S).
      { intros q ->. unfold spread. do 2 f_equal. rewrite Z.add_assoc. apply index. unfold p. lia. }
      unfold f, over. replace n with (base + (i * S + p))%Z at 2 by (unfold p; lia). rewrite Hi by reflexivity.
      assert (Hs : spread (n - m) = cell (if (n <? base + i * S + Z.of_nat (Z.to_nat r))%Z then i - (k + 1) else i - k)%Z / IZR S).
      { unfold spread. do 2 f_equal. rewrite Z2Nat.id by lia. destruct (Z.ltb_spec n (base + i * S + r)).
        - replace (n - m)%Z with (base + (i - (k + 1)) * S + (p - r + S))%Z by (unfold p; lia). apply index. unfold p. lia.
        - replace (n - m)%Z with (base + (i - k) * S + (p - r))%Z by (unfold p; lia). apply index. unfold p. lia. }
      rewrite Hs. assert (0 < / IZR S) by (apply Rinv_0_lt_compat; auto).
      destruct (n <? _)%Z; rewrite <- pos_scale by lra; f_equal; unfold Rdiv; ring.
Qed.

(* The atom is charged in full. *)
Lemma close_with_atom E C v v' : 0 <= E -> close E C (fun n => spread (n - (v - v'))) spread ->
  close E (C + a) (fun y => with_atom (y - v)) (fun y => with_atom (y - v')).
Proof.
  intros HE H lo len.
  apply Rle_trans with (sum (fun y => pos (spread (y - v) - E * spread (y - v')) + (if (y =? v)%Z then a else 0)) lo len).
  - apply sum_le. intros y _. unfold with_atom. pose proof (pos_ge (spread (y - v) - E * spread (y - v'))).
    pose proof (pos_nonneg (spread (y - v) - E * spread (y - v'))).
    apply Rmax_lub; destruct (Z.eqb_spec (y - v) 0), (Z.eqb_spec y v), (Z.eqb_spec (y - v') 0); try lia; nra.
  - rewrite sum_plus. apply Rplus_le_compat.
    + rewrite (sum_onto _ (fun n => pos (spread (n - (v - v')) - E * spread n)) lo (lo - v')); [apply H|].
      intros i _. do 2 f_equal; [|f_equal]; f_equal; lia.
    + eapply Rle_trans; [apply (sum_support _ lo len v 1)|].
      * intros n. destruct (n =? v)%Z; lra.
      * intros n Hn. destruct (Z.eqb_spec n v); [lia|reflexivity].
      * cbn [sum]. rewrite Z.add_0_r, Z.eqb_refl. lra.
Qed.

(* If the cells have 1 - a, all of it is 1. *)
Lemma with_atom_total :
  (forall lo len, sum cell lo len <= 1 - a) ->
  (forall eta, 0 < eta -> exists lo len, 1 - a - eta <= sum cell lo len) ->
  (forall lo len, sum with_atom lo len <= 1) /\ sums_to with_atom 1.
Proof.
  intros Hle Hge.
  assert (Hatom : forall lo len, sum (fun n => if (n =? 0)%Z then a else 0) lo len <= a).
  { intros lo len. eapply Rle_trans; [apply (sum_support _ lo len 0 1)|].
    - intros n. destruct (n =? 0)%Z; lra.
    - intros n Hn. destruct (Z.eqb_spec n 0); [lia|reflexivity].
    - cbn. lra. }
  assert (Hall : forall lo len, sum with_atom lo len <= 1).
  { intros lo len. unfold with_atom. rewrite sum_plus. specialize (Hatom lo len).
    destruct (within_cells lo len) as (j & c & H1 & H2).
    assert (sum spread lo len <= sum spread (base + j * S) (c * s)) by (apply sum_wider; auto; apply spread_nonneg).
    rewrite sum_of_cells, (sum_ext (fun i => sum spread (base + i * S) s) cell) in H by (intros; apply sum_of_cell). specialize (Hle j c). lra. }
  split; [exact Hall|]. apply sums_to_sup; [apply with_atom_nonneg | exact Hall|].
  intros eta He. destruct (Hge eta He) as (lo & len & H).
  set (L := Z.min 0 (base + lo * S)). set (U := Z.max 1 (base + lo * S + Z.of_nat (len * s))).
  exists L, (Z.to_nat (U - L)). unfold with_atom. rewrite sum_plus.
  assert (sum spread (base + lo * S) (len * s) <= sum spread L (Z.to_nat (U - L))).
  { apply sum_wider; [apply spread_nonneg | lia | lia]. }
  rewrite sum_of_cells, (sum_ext (fun i => sum spread (base + i * S) s) cell) in H0 by (intros; apply sum_of_cell).
  rewrite (sum_whole (fun n => if (n =? 0)%Z then a else 0) 0 1 L) by (try lia; (intros n Hn; destruct (Z.eqb_spec n 0); [lia|reflexivity])).
  cbn [sum Z.add Z.eqb Z.of_nat]. lra.
Qed.
End Cells.
