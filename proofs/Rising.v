(* SPDX-License-Identifier: Apache-2.0 *)
(* Sums of (1 - rho) rho^m f(m) over m = 0, 1, ... where f is a polynomial, by its differences: f(0) + q (Df(0) + q (D^2 f(0) + ...)),
   q = rho/(1 - rho). *)
From Coq Require Import ZArith QArith Qreals Reals List Lia Lra.
From Noisewright Require Import Statement Sums.
Import ListNotations.
Local Open Scope R_scope.

Definition diff (f : nat -> R) (m : nat) : R := f (S m) - f m.
(* f is a polynomial of a degree below k; and its differences at 0, of an order below k, are not negative. *)
Fixpoint vanishing (k : nat) (f : nat -> R) : Prop := match k with O => forall m, f m = 0 | S k' => vanishing k' (diff f) end.
Fixpoint rising (k : nat) (f : nat -> R) : Prop := match k with O => True | S k' => 0 <= f O /\ rising k' (diff f) end.
Fixpoint newton (q : R) (k : nat) (f : nat -> R) : R := match k with O => 0 | S k' => f O + q * newton q k' (diff f) end.
Fixpoint geometric (rho : R) (f : nat -> R) (m : nat) : R :=
  match m with O => 0 | S m' => geometric rho f m' + (1 - rho) * rho ^ m' * f m' end.

Lemma rising_nonneg k : forall f, vanishing k f -> rising k f -> forall m, 0 <= f m.
Proof.
  induction k; intros f V H m; [rewrite V; lra|]. destruct H as [H0 H]. induction m; [exact H0|].
  pose proof (IHk _ V H m). unfold diff in H1. lra.
Qed.

Lemma geometric_step rho q f m : q * (1 - rho) = rho ->
  geometric rho f m = f O - rho ^ m * f m + q * geometric rho (diff f) m.
Proof.
  intros Hq. induction m; cbn [geometric pow]; [ring|]. rewrite IHm, Rmult_plus_distr_l.
  replace (q * ((1 - rho) * rho ^ m * diff f m)) with (q * (1 - rho) * rho ^ m * diff f m) by ring.
  rewrite Hq. change (diff f m) with (f (S m) - f m). ring.
Qed.

Lemma geometric_le rho q k : 0 <= rho -> 0 <= q -> q * (1 - rho) = rho -> forall f, vanishing k f -> rising k f ->
  forall m, geometric rho f m <= newton q k f.
Proof.
  intros Hr Hq0 Hq. induction k; intros f V H m.
  - cbn [newton]. apply Req_le. induction m; cbn [geometric]; [reflexivity|]. rewrite IHm, V. ring.
  - rewrite (geometric_step rho q) by exact Hq. cbn [newton]. pose proof (rising_nonneg _ f V H m).
    destruct H as [_ H]. pose proof (IHk _ V H m). pose proof (pow_le rho m Hr). nra.
Qed.

(* --- Polynomials --- *)

Lemma vanishing_ext k : forall f g, (forall m, f m = g m) -> vanishing k f -> vanishing k g.
Proof.
  induction k; intros f g H V; cbn [vanishing] in *; [intros; rewrite <- H; apply V|].
  apply (IHk (diff f)); [|exact V]. intros. unfold diff. rewrite !H. reflexivity.
Qed.
Lemma vanishing_linear k : forall f g a b, vanishing k f -> vanishing k g -> vanishing k (fun m => a * f m + b * g m).
Proof.
  induction k; intros f g a b F G; cbn [vanishing] in *; [intros; rewrite F, G; ring|].
  apply (vanishing_ext k (fun m => a * diff f m + b * diff g m)); [intros; unfold diff; ring | apply IHk; auto].
Qed.
Lemma vanishing_zero k : vanishing k (fun _ => 0).
Proof. induction k; cbn [vanishing]; [auto|]. apply (vanishing_ext k (fun _ => 0)); [intros; unfold diff; ring | exact IHk]. Qed.
Lemma vanishing_more k : forall k' f, (k <= k')%nat -> vanishing k f -> vanishing k' f.
Proof.
  induction k; intros k' f H V; [apply (vanishing_ext k' (fun _ => 0)); [intros; symmetry; apply V | apply vanishing_zero]|].
  destruct k'; [lia|]. apply (IHk k' (diff f)); [lia | exact V].
Qed.
Lemma vanishing_times k : forall f a b, vanishing k f -> vanishing (S k) (fun m => (a * INR m + b) * f m).
Proof.
  induction k; intros f a b V.
  - intros m. unfold diff. cbn [vanishing] in V. rewrite !V. ring.
  - change (vanishing (S k) (diff (fun m => (a * INR m + b) * f m))).
    apply (vanishing_ext (S k) (fun m => 1 * ((a * INR m + (a + b)) * diff f m) + a * f m)).
    + intros m. unfold diff. rewrite S_INR. ring.
    + apply vanishing_linear; [apply IHk; exact V | exact V].
Qed.
Lemma vanishing_power a b d : vanishing (S d) (fun m => (a * INR m + b) ^ d).
Proof.
  induction d; [intros m; unfold diff; cbn; ring|].
  apply (vanishing_ext (S (S d)) (fun m => (a * INR m + b) * (a * INR m + b) ^ d)); [reflexivity | apply vanishing_times; exact IHd].
Qed.
Lemma vanishing_sum k f lo len : (forall n, (lo <= n < lo + Z.of_nat len)%Z -> vanishing k (f n)) ->
  vanishing k (fun m => sum (fun n => f n m) lo len).
Proof.
  intros V. induction len; cbn [sum]; [apply vanishing_zero|].
  apply (vanishing_ext k (fun m => 1 * sum (fun n => f n m) lo len + 1 * f (lo + Z.of_nat len)%Z m)); [intros; ring|].
  apply vanishing_linear; [apply IHlen; intros; apply V; lia | apply V; lia].
Qed.

(* --- The same of values f(0), f(1), ..., f(k-1); None if a difference is negative --- *)

Fixpoint diffs (l : list Q) : list Q := match l with a :: ((b :: _) as l') => Qred (b - a) :: diffs l' | _ => [] end.
Fixpoint newton_of (q : Q) (k : nat) (l : list Q) : option Q :=
  match k, l with
  | O, _ => Some 0%Q
  | S _, [] => None
  | S k', a :: _ =>
    match newton_of q k' (diffs l) with Some v => if Qle_bool 0 a then Some (Qred (a + q * v)) else None | None => None end
  end.

Definition values_of (l : list Q) (f : nat -> R) : Prop := forall i, (i < length l)%nat -> Q2R (nth i l 0%Q) = f i.

Lemma diffs_values l : forall f, values_of l f -> values_of (diffs l) (diff f).
Proof.
  induction l as [|a [|b l] IH]; intros f H i Hi; [cbn in Hi; lia | cbn in Hi; lia|].
  change (diffs (a :: b :: l)) with (Qred (b - a) :: diffs (b :: l)) in *. destruct i; cbn [nth].
  - rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_minus. unfold diff.
    rewrite <- (H 0%nat), <- (H 1%nat) by (cbn; lia). reflexivity.
  - apply (IH (fun m => f (S m))); [|cbn [length] in *; lia].
    intros j Hj. apply (H (S j)). cbn [length] in *. lia.
Qed.

Lemma newton_of_is q k : forall l f v, newton_of q k l = Some v -> values_of l f -> rising k f /\ newton (Q2R q) k f = Q2R v.
Proof.
  induction k; intros l f v H V; cbn [newton_of] in H.
  - injection H as <-. split; [exact I|]. cbn. unfold Q2R. cbn. ring.
  - destruct l as [|a l]; [discriminate|]. destruct (newton_of q k (diffs (a :: l))) as [w|] eqn:Hw; [|discriminate].
    destruct (Qle_bool 0 a) eqn:Ha; [|discriminate]. assert (Hv : v = Qred (a + q * w)) by congruence.
    destruct (IHk _ (diff f) w Hw (diffs_values _ f V)) as [Hr Hn].
    assert (H0 : Q2R a = f O) by (apply (V 0%nat); cbn; lia).
    split; [split; [|exact Hr]|].
    + rewrite <- H0. apply Qle_bool_iff, Qle_Rle in Ha. replace 0 with (Q2R 0) by (unfold Q2R; cbn; ring). exact Ha.
    + cbn [newton]. rewrite Hn, Hv, (Qeq_eqR _ _ (Qred_correct _)), Q2R_plus, Q2R_mult, H0. reflexivity.
Qed.

Lemma values_of_map (h : nat -> Q) f k : (forall m, Q2R (h m) = f m) -> values_of (map h (seq 0 k)) f.
Proof.
  intros H i Hi. rewrite map_length, seq_length in Hi. rewrite (nth_indep _ _ (h O)) by (rewrite map_length, seq_length; exact Hi).
  rewrite map_nth, seq_nth by exact Hi. apply H.
Qed.

(* --- What is not 0 in periods of p points alone, out = 1: to the right of lo, or out = -1: to the left of lo + p --- *)

Lemma tail_sums h (p : nat) out lo A rho c v : (out = 1 \/ out = -1)%Z -> 0 <= c -> (0 < p)%nat -> (forall n, 0 <= h n) ->
  (forall n, (out = 1 /\ n < lo \/ out = -1 /\ lo + Z.of_nat p <= n)%Z -> h n = 0) ->
  (forall m, sum h (lo + out * (Z.of_nat m * Z.of_nat p)) p = c * ((1 - rho) * rho ^ m * A m)) ->
  (forall m, geometric rho A m <= v) -> exists s, sums_to h s /\ s <= c * v.
Proof.
  intros Ho Hc Hp Hh Hz Hm Hv. apply sums_to_exists; [exact Hh|]. intros a len.
  set (M := Z.to_nat (Z.abs a + Z.of_nat len + Z.abs lo + Z.of_nat p)).
  assert (HM : (M <= M * p)%nat) by nia. apply Rle_trans with (c * geometric rho A M); [|apply Rmult_le_compat_l; auto].
  destruct Ho as [-> | ->].
  - assert (HS : forall N, sum h lo (N * p) = c * geometric rho A N).
    { induction N; [cbn; ring|]. replace (S N * p)%nat with (N * p + p)%nat by lia. rewrite sum_split, IHN, Nat2Z.inj_mul.
      specialize (Hm N). rewrite Z.mul_1_l in Hm. rewrite Hm. cbn [geometric]. ring. }
    rewrite <- HS. apply Rle_trans with (sum h (lo - Z.of_nat M) (M + M * p)); [apply sum_wider; auto; lia|].
    rewrite sum_split, (sum_zero h (lo - _)) by (intros; apply Hz; lia). replace (lo - Z.of_nat M + Z.of_nat M)%Z with lo by lia. lra.
  - assert (HS : forall N, sum h (lo + Z.of_nat p - Z.of_nat (N * p)) (N * p) = c * geometric rho A N).
    { induction N; [cbn; ring|]. replace (S N * p)%nat with (p + N * p)%nat by lia. rewrite sum_split.
      replace (lo + Z.of_nat p - Z.of_nat (p + N * p) + Z.of_nat p)%Z with (lo + Z.of_nat p - Z.of_nat (N * p))%Z by lia.
      rewrite IHN. specialize (Hm N). replace (lo + -1 * (Z.of_nat N * Z.of_nat p))%Z with (lo + Z.of_nat p - Z.of_nat (p + N * p))%Z in Hm by lia.
      rewrite Hm. cbn [geometric]. ring. }
    rewrite <- HS. apply Rle_trans with (sum h (lo + Z.of_nat p - Z.of_nat (M * p)) (M * p + M)); [apply sum_wider; auto; lia|].
    rewrite sum_split, (sum_zero h (_ + _)) by (intros; apply Hz; lia). lra.
Qed.
