(* SPDX-License-Identifier: Apache-2.0 *)
(* Finite sums over the integers, and their limits. *)
From Coq Require Import ZArith Reals List Lia Lra.
From Noisewright Require Import Statement.
Local Open Scope R_scope.

(* --- Finite sums --- *)

Lemma sum_ext f g lo len :
  (forall n, (lo <= n < lo + Z.of_nat len)%Z -> f n = g n) -> sum f lo len = sum g lo len.
Proof.
  induction len; intros H; cbn [sum]; [reflexivity|].
  rewrite IHlen, H; [reflexivity | lia | intros; apply H; lia].
Qed.

Lemma sum_le f g lo len :
  (forall n, (lo <= n < lo + Z.of_nat len)%Z -> f n <= g n) -> sum f lo len <= sum g lo len.
Proof.
  induction len; intros H; cbn [sum]; [lra|].
  apply Rplus_le_compat; [apply IHlen; intros|]; apply H; lia.
Qed.

Lemma sum_plus f g lo len : sum (fun n => f n + g n) lo len = sum f lo len + sum g lo len.
Proof. induction len; cbn [sum]; [|rewrite IHlen]; lra. Qed.

Lemma sum_scale c f lo len : sum (fun n => c * f n) lo len = c * sum f lo len.
Proof. induction len; cbn [sum]; [|rewrite IHlen]; lra. Qed.

Lemma sum_const c lo len : sum (fun _ => c) lo len = INR len * c.
Proof. induction len; cbn [sum]; [cbn; lra | rewrite IHlen, S_INR; lra]. Qed.

Lemma sum_zero f lo len : (forall n, (lo <= n < lo + Z.of_nat len)%Z -> f n = 0) -> sum f lo len = 0.
Proof. intros H. rewrite (sum_ext f (fun _ => 0)), sum_const by auto. lra. Qed.

Lemma sum_nonneg f lo len : (forall n, (lo <= n < lo + Z.of_nat len)%Z -> 0 <= f n) -> 0 <= sum f lo len.
Proof. intros H. rewrite <- (sum_zero (fun _ => 0) lo len) by auto. apply sum_le. auto. Qed.

(* A window in two. *)
Lemma sum_split f lo a b : sum f lo (a + b) = sum f lo a + sum f (lo + Z.of_nat a) b.
Proof.
  induction b; [rewrite Nat.add_0_r; cbn; lra|].
  rewrite Nat.add_succ_r. cbn [sum]. rewrite IHb, <- Z.add_assoc, <- Nat2Z.inj_add. lra.
Qed.

Lemma sum_first f lo n : sum f lo (S n) = f lo + sum f (lo + 1) n.
Proof. change (S n) with (1 + n)%nat. rewrite sum_split. cbn [sum]. rewrite Z.add_0_r. cbn. lra. Qed.

Lemma sum_moved f m lo len : sum (fun n => f (n + m)%Z) lo len = sum f (lo + m) len.
Proof. induction len; cbn [sum]; [reflexivity|]. rewrite IHlen. do 2 f_equal. lia. Qed.

(* From one window to another of the same length. *)
Lemma sum_onto f g lo lo' len :
  (forall i, (0 <= i < Z.of_nat len)%Z -> f (lo + i)%Z = g (lo' + i)%Z) -> sum f lo len = sum g lo' len.
Proof.
  intros H. induction len; cbn [sum]; [reflexivity|].
  rewrite H by lia. rewrite IHlen; [reflexivity|]. intros; apply H; lia.
Qed.

(* Where nothing is negative, a wider window sums to more. *)
Lemma sum_wider f lo len lo' len' :
  (forall n, 0 <= f n) -> (lo' <= lo)%Z -> (lo + Z.of_nat len <= lo' + Z.of_nat len')%Z ->
  sum f lo len <= sum f lo' len'.
Proof.
  intros Hf H1 H2. set (a := Z.to_nat (lo - lo')). set (b := Z.to_nat (lo' + Z.of_nat len' - lo - Z.of_nat len)).
  replace len' with (a + (len + b))%nat by lia. rewrite !sum_split.
  replace (lo' + Z.of_nat a)%Z with lo by lia.
  pose proof (sum_nonneg f lo' a ltac:(auto)). pose proof (sum_nonneg f (lo + Z.of_nat len) b ltac:(auto)). lra.
Qed.

(* A window that has all that is not 0. *)
Lemma sum_whole f lo len lo' len' :
  (forall n, (n < lo \/ lo + Z.of_nat len <= n)%Z -> f n = 0) ->
  (lo' <= lo)%Z -> (lo + Z.of_nat len <= lo' + Z.of_nat len')%Z -> sum f lo' len' = sum f lo len.
Proof.
  intros H H1 H2. set (a := Z.to_nat (lo - lo')). set (b := Z.to_nat (lo' + Z.of_nat len' - lo - Z.of_nat len)).
  replace len' with (a + (len + b))%nat by lia. rewrite !sum_split.
  replace (lo' + Z.of_nat a)%Z with lo by lia.
  rewrite (sum_zero f lo'), (sum_zero f (lo + Z.of_nat len)) by (intros; apply H; lia). lra.
Qed.

Lemma sum_support f lo len lo' len' :
  (forall n, 0 <= f n) -> (forall n, (n < lo' \/ lo' + Z.of_nat len' <= n)%Z -> f n = 0) ->
  sum f lo len <= sum f lo' len'.
Proof.
  intros Hf Hz. set (L := Z.min lo lo'). set (U := Z.max (lo + Z.of_nat len) (lo' + Z.of_nat len')).
  rewrite <- (sum_whole f lo' len' L (Z.to_nat (U - L))) by (auto; lia). apply sum_wider; auto; lia.
Qed.

(* c blocks of s each. *)
Lemma sum_blocks f lo s c : sum f lo (c * s) = sum (fun j => sum f (lo + j * Z.of_nat s) s) 0 c.
Proof.
  induction c; [reflexivity|].
  replace (S c * s)%nat with (c * s + s)%nat by lia. rewrite sum_split, IHc. cbn [sum]. do 2 f_equal. lia.
Qed.

(* r of one value, then the others of another. *)
Lemma sum_two a b lo s r : (r <= s)%nat ->
  sum (fun n => if (n <? lo + Z.of_nat r)%Z then a else b) lo s = INR r * a + INR (s - r) * b.
Proof.
  intros H. replace s with (r + (s - r))%nat at 1 by lia. rewrite sum_split.
  f_equal; (etransitivity; [|apply sum_const]); apply sum_ext; intros n Hn.
  - destruct (Z.ltb_spec n (lo + Z.of_nat r)); [reflexivity|lia].
  - destruct (Z.ltb_spec n (lo + Z.of_nat r)); [lia|reflexivity].
Qed.

(* --- Positive parts --- *)

Definition pos (x : R) : R := Rmax 0 x.

Lemma pos_nonneg x : 0 <= pos x. Proof. apply Rmax_l. Qed.
Lemma pos_ge x : x <= pos x. Proof. apply Rmax_r. Qed.
Lemma pos_zero x : x <= 0 -> pos x = 0. Proof. intros. apply Rmax_left. lra. Qed.
Lemma pos_le x y : x <= y -> pos x <= pos y. Proof. intros. apply Rle_max_compat_l. auto. Qed.
Lemma pos_plus u v : pos (u + v) <= pos u + pos v.
Proof. unfold pos, Rmax. repeat destruct Rle_dec; lra. Qed.
Lemma pos_scale c x : 0 <= c -> pos (c * x) = c * pos x.
Proof.
  intros. unfold pos, Rmax. destruct (Rle_dec 0 x), (Rle_dec 0 (c * x)); try lra; nra.
Qed.

(* --- Sums over all integers --- *)

Lemma sums_to_unique f a b : sums_to f a -> sums_to f b -> a = b.
Proof. apply UL_sequence. Qed.

Lemma sums_to_ext f g s : (forall n, f n = g n) -> sums_to f s -> sums_to g s.
Proof.
  intros H Hf eps He. destruct (Hf eps He) as [N HN]. exists N. intros m Hm. specialize (HN m Hm).
  unfold window in *. rewrite <- (sum_ext f); auto.
Qed.

Lemma sums_to_linear f g s s' a b : sums_to f s -> sums_to g s' -> sums_to (fun n => a * f n + b * g n) (a * s + b * s').
Proof.
  intros Hf Hg.
  assert (constant : forall c, Un_cv (fun _ => c) c).
  { intros c eps He. exists 0%nat. intros. rewrite R_dist_eq. exact He. }
  assert (H := CV_plus _ _ _ _ (CV_mult _ _ _ _ (constant a) Hf) (CV_mult _ _ _ _ (constant b) Hg)).
  intros eps He. destruct (H eps He) as [N HN]. exists N. intros m Hm. specialize (HN m Hm).
  unfold window in *. rewrite sum_plus, !sum_scale. exact HN.
Qed.

Lemma sums_to_scale c f s : sums_to f s -> sums_to (fun n => c * f n) (c * s).
Proof.
  intros H. replace (c * s) with (c * s + 0 * s) by ring.
  apply (sums_to_ext (fun n => c * f n + 0 * f n)); [intros; ring | apply sums_to_linear; exact H].
Qed.

Lemma sums_to_le f g s s' d : sums_to f s -> sums_to g s' -> (forall N, window f N <= window g N + d) -> s <= s' + d.
Proof.
  intros Hf Hg H. apply (Rle_cv_lim H Hf). apply CV_plus; [exact Hg|].
  intros eps He. exists 0%nat. intros. rewrite R_dist_eq. exact He.
Qed.

Lemma sums_to_finite f lo len :
  (forall n, (n < lo \/ lo + Z.of_nat len <= n)%Z -> f n = 0) -> sums_to f (sum f lo len).
Proof.
  intros Hz eps He. exists (Z.to_nat (Z.abs lo + Z.of_nat len)). intros N HN.
  unfold window. rewrite (sum_whole f lo len) by (auto; lia). rewrite R_dist_eq. exact He.
Qed.

Lemma window_grows f : (forall n, 0 <= f n) -> Un_growing (window f).
Proof. intros Hf N. apply sum_wider; auto; lia. Qed.

(* Nothing negative and no window above b: there is a sum, at most b. *)
Lemma sums_to_exists f b :
  (forall n, 0 <= f n) -> (forall lo len, sum f lo len <= b) -> exists s, sums_to f s /\ s <= b.
Proof.
  intros Hf Hb. destruct (Un_cv_crit (window f)) as [l Hl].
  - apply window_grows; auto.
  - exists b. intros x [N ->]. apply Hb.
  - exists l. split; [exact Hl|]. apply Rnot_lt_le. intros H.
    destruct (Hl (l - b)) as [N HN]; [lra|]. specialize (HN N (le_n N)). specialize (Hb (- Z.of_nat N)%Z (2 * N + 1)%nat).
    unfold R_dist, window in HN. apply Rabs_def2 in HN. lra.
Qed.

(* No window above s, and some as close to it as one likes: the sum is s. *)
Lemma sums_to_sup f s : (forall n, 0 <= f n) -> (forall lo len, sum f lo len <= s) ->
  (forall eta, 0 < eta -> exists lo len, s - eta <= sum f lo len) -> sums_to f s.
Proof.
  intros Hf Hle Hge eps He. destruct (Hge (eps / 2)) as (lo & len & H); [lra|].
  exists (Z.to_nat (Z.abs lo + Z.of_nat len)). intros N HN.
  assert (sum f lo len <= window f N) by (apply sum_wider; auto; lia).
  specialize (Hle (- Z.of_nat N)%Z (2 * N + 1)%nat). unfold R_dist, window in *. apply Rabs_def1; lra.
Qed.

(* --- Sums of what repeats outwards, rho times as large in each period of K --- *)

Section Periods.
Variables (f : Z -> R) (K : nat) (rho : R).
Hypothesis rho_range : 0 <= rho < 1.

(* Periods in either direction, 1 and -1. *)
Lemma periods_right n M : (forall i, (n <= i)%Z -> f (i + Z.of_nat K)%Z = rho * f i) ->
  sum f n (M * K) * (1 - rho) = sum f n K * (1 - rho ^ M).
Proof.
  intros H. induction M; [cbn; ring|].
  cbn [Nat.mul]. rewrite sum_split, <- sum_moved.
  rewrite (sum_ext (fun i => f (i + Z.of_nat K)%Z) (fun i => rho * f i)) by (intros; apply H; lia).
  rewrite sum_scale, Rmult_plus_distr_r, Rmult_assoc, IHM. cbn [pow]. ring.
Qed.

Lemma periods_left n M : (forall i, (i < n)%Z -> f (i - Z.of_nat K)%Z = rho * f i) ->
  sum f (n - Z.of_nat (M * K)) (M * K) * (1 - rho) = sum f (n - Z.of_nat K) K * (1 - rho ^ M).
Proof.
  intros H. induction M; [cbn; ring|].
  cbn [Nat.mul]. rewrite (Nat.add_comm K), sum_split.
  rewrite (sum_onto f (fun i => rho * f i) (n - Z.of_nat (M * K + K)) (n - Z.of_nat (M * K))).
  2:{ intros i Hi. rewrite <- H by lia. f_equal. lia. }
  replace (n - Z.of_nat (M * K + K) + Z.of_nat (M * K))%Z with (n - Z.of_nat K)%Z by lia.
  rewrite sum_scale, Rmult_plus_distr_r, Rmult_assoc, IHM. cbn [pow]. ring.
Qed.

Variable m : nat.
Hypothesis f_nonneg : forall i, 0 <= f i.
Hypothesis right : forall i, (Z.of_nat m <= i)%Z -> f (i + Z.of_nat K)%Z = rho * f i.
Hypothesis left : forall i, (i < 0)%Z -> f (i - Z.of_nat K)%Z = rho * f i.

(* The whole sum, times 1 - rho: the middle 0, ..., m-1 and one period on either side. *)
Definition whole : R := sum f 0 m * (1 - rho) + (sum f (- Z.of_nat K) K + sum f (Z.of_nat m) K).

Lemma whole_of_periods M : sum f (- Z.of_nat (M * K)) (M * K + (m + M * K)) * (1 - rho) =
  whole - rho ^ M * (sum f (- Z.of_nat K) K + sum f (Z.of_nat m) K).
Proof.
  rewrite !sum_split. replace (- Z.of_nat (M * K) + Z.of_nat (M * K))%Z with 0%Z by lia.
  rewrite !Rmult_plus_distr_r, (periods_right (0 + Z.of_nat m)) by (intros; apply right; lia).
  replace (- Z.of_nat (M * K))%Z with (0 - Z.of_nat (M * K))%Z by lia.
  rewrite (periods_left 0) by (intros; apply left; lia). unfold whole. rewrite Z.sub_0_l, Z.add_0_l. ring.
Qed.

Lemma outer_nonneg : 0 <= sum f (- Z.of_nat K) K + sum f (Z.of_nat m) K.
Proof. pose proof (sum_nonneg f (- Z.of_nat K) K ltac:(auto)). pose proof (sum_nonneg f (Z.of_nat m) K ltac:(auto)). lra. Qed.

Lemma sum_le_whole lo len : (0 < K)%nat -> sum f lo len * (1 - rho) <= whole.
Proof.
  intros HK. set (M := Z.to_nat (Z.abs lo + Z.of_nat len)). assert (M <= M * K)%nat by nia.
  apply Rle_trans with (sum f (- Z.of_nat (M * K)) (M * K + (m + M * K)) * (1 - rho)).
  - apply Rmult_le_compat_r; [lra|]. apply sum_wider; auto; lia.
  - rewrite whole_of_periods. pose proof (pow_le rho M ltac:(lra)). pose proof outer_nonneg. nra.
Qed.

Lemma sum_near_whole eta : 0 < eta -> exists lo len, whole - eta <= sum f lo len * (1 - rho).
Proof.
  intros He. pose proof outer_nonneg as HT. set (T := sum f (- Z.of_nat K) K + sum f (Z.of_nat m) K) in *.
  destruct (pow_lt_1_zero rho ltac:(rewrite Rabs_right; lra) (eta / (T + 1))) as [M HM].
  { apply Rdiv_lt_0_compat; lra. }
  specialize (HM M (le_n M)). rewrite Rabs_right in HM by (apply Rle_ge, pow_le; lra).
  exists (- Z.of_nat (M * K))%Z, (M * K + (m + M * K))%nat. rewrite whole_of_periods. fold T.
  apply (Rmult_lt_compat_r (T + 1)) in HM; [|lra].
  replace (eta / (T + 1) * (T + 1)) with eta in HM by (field; lra).
  pose proof (pow_le rho M ltac:(lra)). nra.
Qed.
End Periods.
