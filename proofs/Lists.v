(* SPDX-License-Identifier: Apache-2.0 *)
(* Lists of integers as functions of the place, 0 outside. *)
From Coq Require Import ZArith Reals List Lia Lra.
From Noisewright Require Import Statement Sums.
Import ListNotations.
Local Open Scope Z_scope.

Definition all_nonneg (l : list Z) : Prop := Forall (fun x => 0 <= x) l.
Definition scaled (c : Z) (l : list Z) : list Z := map (Z.mul c) l.

Lemma at_out l i : i < 0 \/ Z.of_nat (length l) <= i -> at_place l i = 0.
Proof. intros H. unfold at_place. destruct (Z.ltb_spec i 0); [reflexivity|]. apply nth_overflow. lia. Qed.

Lemma at_nil i : at_place [] i = 0.
Proof. apply at_out. cbn. lia. Qed.

Lemma at_next x l i : 0 <= i -> at_place (x :: l) (i + 1) = at_place l i.
Proof.
  intros H. unfold at_place. destruct (Z.ltb_spec (i + 1) 0), (Z.ltb_spec i 0); try lia.
  replace (Z.to_nat (i + 1)) with (S (Z.to_nat i)) by lia. reflexivity.
Qed.

Lemma at_app a b i : at_place (a ++ b) i = if i <? Z.of_nat (length a) then at_place a i else at_place b (i - Z.of_nat (length a)).
Proof.
  unfold at_place. destruct (Z.ltb_spec i 0), (Z.ltb_spec i (Z.of_nat (length a))); try lia; try reflexivity.
  - apply app_nth1. lia.
  - destruct (Z.ltb_spec (i - Z.of_nat (length a)) 0); [lia|]. rewrite app_nth2 by lia. f_equal. lia.
Qed.

Lemma at_repeat_0 k i : at_place (repeat 0 k) i = 0.
Proof. unfold at_place. destruct (i <? 0); [reflexivity | apply nth_repeat]. Qed.

(* What follows k zeros, and what comes before them. *)
Lemma at_after_zeros k l i : at_place (repeat 0 k ++ l) i = at_place l (i - Z.of_nat k).
Proof.
  rewrite at_app, repeat_length. destruct (Z.ltb_spec i (Z.of_nat k)); [|reflexivity].
  rewrite at_repeat_0, at_out; [reflexivity | lia].
Qed.
Lemma at_before_zeros k l i : at_place (l ++ repeat 0 k) i = at_place l i.
Proof.
  rewrite at_app. destruct (Z.ltb_spec i (Z.of_nat (length l))); [reflexivity|].
  rewrite at_repeat_0, at_out; [reflexivity | lia].
Qed.

Lemma at_firstn l k i : i < Z.of_nat k -> at_place (firstn k l) i = at_place l i.
Proof.
  intros H. unfold at_place. destruct (Z.ltb_spec i 0); [reflexivity|].
  assert (Hk : (Z.to_nat i < k)%nat) by lia. revert l Hk. generalize (Z.to_nat i). clear.
  induction k; intros i l Hi; [lia|]. destruct l, i; cbn; try reflexivity. apply IHk. lia.
Qed.

Lemma at_skipn l k i : 0 <= i -> at_place (skipn k l) i = at_place l (i + Z.of_nat k).
Proof.
  intros H. unfold at_place. destruct (Z.ltb_spec i 0), (Z.ltb_spec (i + Z.of_nat k) 0); try lia.
  replace (Z.to_nat (i + Z.of_nat k)) with (k + Z.to_nat i)%nat by lia. clear. revert l.
  induction k; intros l; [reflexivity|]. destruct l; cbn; [destruct (Z.to_nat i); reflexivity | apply IHk].
Qed.

Lemma at_tl l i : 0 <= i -> at_place (tl l) i = at_place l (i + 1).
Proof. intros H. destruct l; cbn [tl]; [rewrite !at_nil | rewrite at_next by lia]; reflexivity. Qed.

Lemma at_scaled c l i : at_place (scaled c l) i = c * at_place l i.
Proof.
  unfold at_place, scaled. destruct (i <? 0); [lia|]. replace 0 with (c * 0) at 1 by lia. apply map_nth.
Qed.
Lemma scaled_length c l : length (scaled c l) = length l.
Proof. apply map_length. Qed.

Lemma at_nonneg l i : all_nonneg l -> 0 <= at_place l i.
Proof.
  intros H. unfold at_place. destruct (i <? 0); [lia|]. generalize (Z.to_nat i).
  induction H; intros [|k]; cbn [nth]; auto; lia.
Qed.
Lemma scaled_nonneg c l : 0 <= c -> all_nonneg l -> all_nonneg (scaled c l).
Proof. intros Hc H. apply Forall_map. eapply Forall_impl; [|exact H]. cbn. nia. Qed.
Lemma firstn_nonneg k l : all_nonneg l -> all_nonneg (firstn k l).
Proof. intros H. revert k. induction H; intros [|k]; cbn; constructor; auto; apply IHForall. Qed.
Lemma skipn_nonneg k l : all_nonneg l -> all_nonneg (skipn k l).
Proof. intros H. revert k. induction H; intros [|k]; cbn; try apply IHForall; constructor; auto. Qed.
Lemma zeros_nonneg k : all_nonneg (repeat 0 k).
Proof. apply Forall_forall. intros x Hx. apply repeat_spec in Hx. lia. Qed.
Lemma nonneg_of_leb l : forallb (Z.leb 0) l = true -> all_nonneg l.
Proof. rewrite forallb_forall. intros H. apply Forall_forall. intros. apply Z.leb_le; auto. Qed.

(* The sum of a list. *)
Fixpoint total (l : list Z) (acc : Z) : Z := match l with [] => acc | x :: l' => total l' (acc + x) end.

Lemma total_sum l : forall acc, IZR (total l acc) = (IZR acc + sum (fun i => IZR (at_place l i)) 0 (length l))%R.
Proof.
  induction l as [|x l IH]; intros acc; cbn [total length]; [cbn; lra|].
  rewrite IH, sum_first, plus_IZR. change (at_place (x :: l) 0) with x.
  rewrite (sum_onto (fun i => IZR (at_place (x :: l) i)) (fun i => IZR (at_place l i)) (0 + 1) 0); [lra|].
  intros i Hi. f_equal. rewrite <- (at_next x l) by lia. f_equal. lia.
Qed.
