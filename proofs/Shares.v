(* SPDX-License-Identifier: Apache-2.0 *)
(* Sets of categories as answers: privacy, the variances of shares, and how far the lower bound of docs/proofs/shares.md goes. *)
From Coq Require Import ZArith Znumtheory QArith Qround Qreals Reals List Bool Lia Lra.
From Noisewright Require Import Statement Sums Exp Ramps Randomizers Rows Selections Designs.
Import ListNotations.
Local Open Scope Z_scope.

(* No number from n to n + len - 1 divides m. *)
Fixpoint no_divisor (m n : Z) (len : nat) : bool :=
  match len with O => true | S len' => negb (m mod n =? 0) && no_divisor m (n + 1) len' end.
Definition is_prime (m : Z) : bool := (1 <? m) && no_divisor m 2 (Z.to_nat (Z.sqrt m - 1)).

(* Answers tell something of the category, and not too much. *)
Definition sets_made (s : selection) : bool :=
  (1 <? s_categories s) && (s_categories s <=? points_of s) && (1 <=? s_size s) && (s_size s <? points_of s) &&
  (s_inside s <=? 2 ^ 64) && (s_size s * 2 ^ 64 <? s_inside s * points_of s) &&
  ((s_modulus s =? 0) || is_prime (s_modulus s)) && (0 <? Qnum (s_epsilon s)).
Definition private_sets (s : selection) : bool := sets_made s &&
  (s_inside s * (points_of s - s_size s) * 2 ^ 96 <=? exp_down (s_epsilon s) 96 * (s_size s * (2 ^ 64 - s_inside s))).

Definition p_of (s : selection) : Q := (inject_Z (s_inside s) / inject_Z (2 ^ 64))%Q.
Definition q_of (s : selection) : Q := ((inject_Z (s_size s) - p_of s) / (inject_Z (points_of s) - 1))%Q.
Definition apart (s : selection) : Q := ((p_of s - q_of s) * (p_of s - q_of s))%Q.
Definition spread (p : Q) : Q := (p * (1 - p))%Q.
Definition total_ok (s : selection) (claim : Q) : bool := sets_made s &&
  Qle_bool ((spread (p_of s) + (inject_Z (s_categories s) - 1) * spread (q_of s)) / apart s) claim.
Definition largest_ok (s : selection) (claim : Q) : bool := sets_made s &&
  Qle_bool (spread (p_of s) / apart s) claim && Qle_bool (spread (q_of s) / apart s) claim.

(* Over all sizes d, (alpha + beta d)(n + beta d) is at least T d(k - d): the difference is a d^2 + b d + alpha n, and least at the size
   least, from which it rises to both sides. *)
Definition sizes_ok (s : selection) (times share claim : Q) : bool :=
  let k := s_categories s in
  let c := (inject_Z (exp_up (s_epsilon s) 96) / inject_Z (2 ^ 96) - 1)%Q in
  let n := inject_Z (k - 1) in
  let beta := ((1 - share) * c)%Q in
  let alpha := (n - c + share * c * inject_Z k)%Q in
  let T := ((claim / times + share * (1 - share)) * (c * c))%Q in
  let a := Qred (beta * beta + T) in
  let b := Qred (beta * (alpha + n) - T * inject_Z k) in
  let least := Z.max 1 (Z.min (k - 1) (Qfloor ((a - b) / (2 * a)))) in
  let d := inject_Z least in
  sets_made s && exp_up_fine (s_epsilon s) 96 && Qle_bool 0 share && Qle_bool share 1 && (0 <? Qnum times) && Qle_bool 0 a &&
  ((least <=? 1) || Qle_bool (a * (2 * d - 1) + b) 0) && ((k - 1 <=? least) || Qle_bool 0 (a * (2 * d + 1) + b)) &&
  Qle_bool 0 (a * d * d + b * d + alpha * n).

(* --- Primes --- *)

Lemma no_divisor_is m len : forall n, no_divisor m n len = true -> forall d, n <= d < n + Z.of_nat len -> m mod d <> 0.
Proof.
  induction len as [|len IH]; intros n H d Hd; [lia|]. cbn [no_divisor] in H. apply andb_true_iff in H as [H1 H2].
  apply negb_true_iff, Z.eqb_neq in H1. destruct (Z.eq_dec d n) as [->|E]; [exact H1|]. apply (IH (n + 1)); [exact H2 | lia].
Qed.

(* Of two factors one is no larger than the root. *)
Lemma is_prime_prime m : is_prime m = true -> prime m.
Proof.
  unfold is_prime. rewrite andb_true_iff, Z.ltb_lt. intros [H1 H2]. apply prime_alt. split; [exact H1|].
  intros n Hn [k Hk]. pose proof (Z.sqrt_spec m ltac:(lia)) as [S1 S2]. set (r := Z.sqrt m) in *.
  assert (D : forall d, 2 <= d <= r -> ~ (d | m)).
  { intros d Hd Dm. apply (no_divisor_is _ _ _ H2 d); [lia|]. apply Z.mod_divide; [lia | exact Dm]. }
  destruct (Z_le_gt_dec n r) as [L|L]; [apply (D n); [lia | exists k; exact Hk]|].
  apply (D k); [nia | exists n; lia].
Qed.

Lemma sets_made_parts s : sets_made s = true ->
  (1 < s_categories s <= points_of s)%Z /\ (1 <= s_size s < points_of s)%Z /\ (s_inside s <= 2 ^ 64)%Z /\
  (s_size s * 2 ^ 64 < s_inside s * points_of s)%Z /\ (s_modulus s = 0 \/ prime (s_modulus s)) /\ (0 < Qnum (s_epsilon s))%Z.
Proof.
  unfold sets_made. rewrite !andb_true_iff, orb_true_iff, !Z.ltb_lt, !Z.leb_le, Z.eqb_eq.
  intros [[[[[[[H1 H2] H3] H4] H5] H6] H7] H8]. repeat split; auto. destruct H7 as [|H7]; [left; auto | right; apply is_prime_prime, H7].
Qed.

Local Open Scope R_scope.

(* --- The law --- *)

Section Made.
Variable s : selection.
Hypothesis made : sets_made s = true.

Let k := s_categories s.
Let m := points_of s.
Let d := s_size s.
Let p := inside s.
Let q := elsewhere s.
Let N := INR (length (sets s)).
Let T x := tally (has x) (sets s).
Let U x := tally (fun set => negb (has x set)) (sets s).

Let sizes : (1 < k <= m)%Z /\ (1 <= d < m)%Z.
Proof. destruct (sets_made_parts s made) as (H1 & H2 & _). split; assumption. Qed.
Let real_sizes : 1 < IZR k <= IZR m /\ 1 <= IZR d < IZR m.
Proof. destruct sizes as [[] []]. repeat split; first [apply IZR_lt | apply IZR_le]; assumption. Qed.

(* Each point is in as many sets, and with each other one in as many. *)
Lemma each_point x : category s x -> IZR m * T x = IZR d * N /\ 0 < N.
Proof.
  intros Hx. unfold category in Hx. destruct sizes as [Hk Hd]. unfold T, N, tally, sets. fold (over (fun set => one_if (has x set))).
  change (fold_right _ 0) with (over (fun set => one_if (has x set))).
  destruct (Z.eqb_spec (s_modulus s) 0) as [E|E].
  - assert (M : m = k) by (unfold m, k, points_of; rewrite E; reflexivity). fold k d.
    assert (L : length (range 0 k) = Z.to_nat k) by (unfold range; rewrite map_length, seq_length; reflexivity).
    replace (Z.to_nat d) with (S (Z.to_nat (d - 1))) by lia.
    rewrite (sets_with x _ (range_once 0 k)), sets_number, L by (apply in_range; fold k in Hx; lia).
    replace (IZR m) with (INR (S (Z.to_nat k - 1))) by (rewrite INR_IZR_INZ; f_equal; lia).
    rewrite choose_step. replace (S (Z.to_nat k - 1)) with (Z.to_nat k) by lia. split.
    + f_equal. rewrite INR_IZR_INZ. f_equal. lia.
    + apply choose_pos. lia.
  - assert (M : m = s_modulus s) by (unfold m, points_of; apply Z.eqb_neq in E; rewrite E; reflexivity). rewrite <- M. fold d.
    rewrite over_flat_map. rewrite (over_ext _ (fun a => over (fun b => one_if (has x (affine m d a b))) (range 0 m)))
      by (intros; rewrite over_map; reflexivity).
    assert (P : prime m) by (destruct (sets_made_parts s made) as (_ & _ & _ & _ & [|] & _); [congruence | rewrite M; assumption]).
    rewrite affine_with by (try assumption; fold k in Hx; lia).
    replace (INR (length _)) with (over (fun _ => 1) (flat_map (fun a => map (affine m d a) (range 0 m)) (range 1 (m - 1))))
      by (rewrite over_const; ring).
    rewrite over_flat_map, (over_ext _ (fun _ => IZR m)) by (intros; rewrite over_map, over_const, range_length by lia; ring).
    rewrite over_const, range_length, minus_IZR by lia. split; [ring|]. destruct real_sizes. nra.
Qed.

Lemma each_pair x z : category s x -> category s z -> x <> z ->
  (IZR m - 1) * tally (fun set => has x set && has z set) (sets s) = (IZR d - 1) * T x.
Proof.
  intros Hx Hz Ex. unfold category in Hx, Hz. destruct sizes as [Hk Hd]. unfold T. rewrite !tally_over. unfold sets.
  destruct (Z.eqb_spec (s_modulus s) 0) as [E|E].
  - assert (M : m = k) by (unfold m, k, points_of; rewrite E; reflexivity). fold k d.
    assert (L : length (range 0 k) = Z.to_nat k) by (unfold range; rewrite map_length, seq_length; reflexivity).
    replace (Z.to_nat d) with (S (Z.to_nat (d - 1))) by lia.
    rewrite (sets_with x _ (range_once 0 k)), (sets_with_both x z _ (range_once 0 k)), L by (try apply in_range; fold k in Hx, Hz; lia).
    replace (IZR m - 1) with (INR (S (Z.to_nat k - 2))) by (rewrite INR_IZR_INZ, <- minus_IZR; f_equal; lia).
    replace (IZR d - 1) with (INR (Z.to_nat (d - 1))) by (rewrite INR_IZR_INZ, <- minus_IZR; f_equal; lia).
    destruct (Z.to_nat (d - 1)) as [|d']; [cbn [INR]; ring|].
    rewrite choose_step. replace (S (Z.to_nat k - 2)) with (Z.to_nat k - 1)%nat by lia. reflexivity.
  - assert (M : m = s_modulus s) by (unfold m, points_of; apply Z.eqb_neq in E; rewrite E; reflexivity). rewrite <- M.
    assert (P : prime m) by (destruct (sets_made_parts s made) as (_ & _ & _ & _ & [|] & _); [congruence | rewrite M; assumption]).
    rewrite !over_flat_map. fold d.
    rewrite (over_ext _ (fun a => over (fun b => one_if (has x (affine m d a b) && has z (affine m d a b))) (range 0 m)))
      by (intros; rewrite over_map; reflexivity).
    rewrite (over_ext (fun a => over _ (map _ _)) (fun a => over (fun b => one_if (has x (affine m d a b))) (range 0 m)))
      by (intros; rewrite over_map; reflexivity).
    rewrite affine_with, affine_with_both by (try assumption; fold k in Hx, Hz; lia). ring.
Qed.

Lemma sets_without x : U x = N - T x.
Proof.
  unfold U, T, N. rewrite !tally_over.
  rewrite (over_ext _ (fun set => 1 + -1 * one_if (has x set))) by (intros set _; destruct (has x set); cbn; ring).
  rewrite over_plus, over_scale, over_const. ring.
Qed.

Lemma both_kinds x : category s x -> 0 < T x /\ 0 < U x.
Proof. intros Hx. destruct (each_point x Hx) as [H H0]. rewrite sets_without. destruct real_sizes as [_ []]. split; nra. Qed.

(* The mean of what is made of the set. *)
Lemma mean_of_sets x (f : list Z -> R) : category s x ->
  sum (fun y => selected s x y * f (set_of s y)) 0 (answers_to s) =
  p / T x * over (fun set => one_if (has x set) * f set) (sets s) + (1 - p) / U x * over (fun set => one_if (negb (has x set)) * f set) (sets s).
Proof.
  intros Hx. rewrite <- !over_scale, <- over_plus, <- (over_places _ _ []). apply sum_ext. intros y _. unfold selected.
  fold (set_of s y). fold p (T x) (U x). destruct (has x (set_of s y)); cbn [one_if negb]; ring.
Qed.

Lemma selected_total x : category s x -> sum (selected s x) 0 (answers_to s) = 1.
Proof.
  intros Hx. destruct (both_kinds x Hx). rewrite (sum_ext _ (fun y => selected s x y * 1)) by (intros; ring).
  rewrite (mean_of_sets x (fun _ => 1) Hx).
  rewrite (over_ext (fun set => one_if (has x set) * 1) (fun set => one_if (has x set))) by (intros; ring).
  rewrite (over_ext (fun set => one_if (negb (has x set)) * 1) (fun set => one_if (negb (has x set)))) by (intros; ring).
  rewrite <- !tally_over. fold (T x) (U x). field. split; lra.
Qed.

(* The set has the category with probability p, and another one with q. *)
Lemma has_with x z : category s x -> category s z ->
  sum (fun y => selected s x y * one_if (has z (set_of s y))) 0 (answers_to s) = if (x =? z)%Z then p else q.
Proof.
  intros Hx Hz. destruct (both_kinds x Hx). rewrite (mean_of_sets x (fun set => one_if (has z set)) Hx). destruct (Z.eqb_spec x z) as [<-|E].
  - rewrite (over_ext _ (fun set => one_if (has x set))) by (intros set _; destruct (has x set); cbn; ring).
    rewrite (over_zero (fun set => one_if (negb (has x set)) * _)) by (intros set _; destruct (has x set); cbn; ring).
    rewrite <- tally_over. fold (T x). field. lra.
  - destruct (each_point x Hx) as [X _]. destruct (each_point z Hz) as [Z _]. pose proof (each_pair x z Hx Hz E) as B.
    set (both := tally _ _) in B. destruct real_sizes as [K D].
    rewrite (over_ext (fun set => one_if (has x set) * _) (fun set => one_if (has x set && has z set))) by (intros; symmetry; apply one_if_and).
    rewrite (over_ext (fun set => one_if (negb (has x set)) * _) (fun set => one_if (has z set) + -1 * one_if (has x set && has z set)))
      by (intros set _; destruct (has x set), (has z set); cbn; ring).
    rewrite over_plus, over_scale, <- !tally_over. fold both (T z). rewrite sets_without in *.
    assert (TT : T z = T x) by (apply (Rmult_eq_reg_l (IZR m)); lra). rewrite TT.
    assert (EN : N = IZR m * T x / IZR d) by (rewrite X; field; lra).
    assert (EB : both = (IZR d - 1) * T x / (IZR m - 1)) by (rewrite <- B; field; lra).
    unfold q, elsewhere. fold p m d. rewrite EN in *. rewrite EB. field. repeat split; try lra. nra.
Qed.

(* --- Privacy --- *)

Lemma p_is : 0 < p <= 1.
Proof.
  destruct (sets_made_parts s made) as (_ & _ & H1 & H2 & _). fold d m in H2. pose proof sizes. unfold p, inside.
  assert (P : 0 < IZR (2 ^ 64)) by (apply IZR_lt; reflexivity). split.
  - apply Rdiv_lt_0_compat; [apply IZR_lt | exact P]. set (e := (2 ^ 64)%Z) in *. assert (0 < e)%Z by reflexivity. nia.
  - apply Rmult_le_reg_r with (IZR (2 ^ 64)); [exact P|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra.
    apply IZR_le, H1.
Qed.

Lemma more_inside : IZR d < p * IZR m.
Proof.
  destruct (sets_made_parts s made) as (_ & _ & _ & H & _). fold d m in H. apply IZR_lt in H. rewrite !mult_IZR in H.
  assert (P : 0 < IZR (2 ^ 64)) by (apply IZR_lt; reflexivity). unfold p, inside.
  apply Rmult_lt_reg_r with (IZR (2 ^ 64)); [exact P|]. replace (IZR (s_inside s) / IZR (2 ^ 64) * IZR m * IZR (2 ^ 64)) with (IZR (s_inside s) * IZR m) by (field; lra).
  exact H.
Qed.

Lemma p_above_q : 0 < p - q.
Proof.
  unfold q, elsewhere. fold p d m. pose proof more_inside. destruct real_sizes as [K D].
  replace (p - (IZR d - p) / (IZR m - 1)) with ((p * IZR m - IZR d) / (IZR m - 1)) by (field; lra). apply Rdiv_lt_0_compat; lra.
Qed.

Lemma selected_law x : category s x -> answer_law (answers_to s) (selected s x).
Proof.
  intros Hx. split; [|apply selected_total, Hx]. intros y _. destruct (both_kinds x Hx), p_is. unfold selected. fold p (T x) (U x).
  destruct (has x _); apply Rdiv_nonneg; lra.
Qed.

(* Sets with the category are at most e^epsilon times as likely as those without, and not less likely. *)
Lemma one_set e x x' y : category s x -> category s x' -> 1 <= e -> p * (IZR m - IZR d) <= e * (IZR d * (1 - p)) ->
  selected s x y <= e * selected s x' y.
Proof.
  intros Hx Hx' He HP. destruct (both_kinds x Hx) as [T1 U1]. destruct (both_kinds x' Hx') as [T2 U2].
  destruct (each_point x Hx) as [X _]. destruct (each_point x' Hx') as [X' _]. destruct real_sizes as [K D].
  rewrite !sets_without in *. assert (TT : T x' = T x) by (apply (Rmult_eq_reg_l (IZR m)); lra).
  assert (EN : N = IZR m * T x / IZR d) by (rewrite X; field; lra).
  assert (A : forall z, T z = T x -> tally (fun set => negb (has z set)) (sets s) = (IZR m - IZR d) * T x / IZR d).
  { intros z Ez. fold (U z). rewrite sets_without, Ez, EN. field. lra. }
  unfold selected. fold p (T x) (T x'). rewrite (A x eq_refl), (A x' TT), TT. pose proof p_is. pose proof more_inside.
  assert (In : 0 <= p / T x) by (apply Rdiv_nonneg; lra).
  set (W := (IZR m - IZR d) * T x / IZR d) in *. assert (HW : 0 < W) by (rewrite <- (A x eq_refl); fold (U x); rewrite sets_without; lra).
  assert (Out : 0 <= (1 - p) / W) by (apply Rdiv_nonneg; lra).
  assert (I1 : p / T x <= e * ((1 - p) / W)).
  { apply Rmult_le_reg_r with (T x * (IZR m - IZR d)); [nra|].
    replace (p / T x * (T x * (IZR m - IZR d))) with (p * (IZR m - IZR d)) by (field; lra).
    replace (e * ((1 - p) / W) * (T x * (IZR m - IZR d))) with (e * (IZR d * (1 - p))) by (unfold W; field; lra). exact HP. }
  assert (I2 : (1 - p) / W <= p / T x).
  { apply Rmult_le_reg_r with (T x * (IZR m - IZR d)); [nra|].
    replace (p / T x * (T x * (IZR m - IZR d))) with (p * (IZR m - IZR d)) by (field; lra).
    replace ((1 - p) / W * (T x * (IZR m - IZR d))) with (IZR d * (1 - p)) by (unfold W; field; lra). lra. }
  destruct (has x _), (has x' _); nra.
Qed.
End Made.

Theorem sets_private s delta : private_sets s = true -> 0 <= Q2R delta -> selection_private s delta.
Proof.
  unfold private_sets. rewrite andb_true_iff, Z.leb_le. intros [made HP] Hd x x' Hx Hx' A.
  destruct (sets_made_parts s made) as (_ & _ & Hw & _ & _ & He).
  pose proof (exp_down_le (s_epsilon s) 96 ltac:(lia) ltac:(lia)) as HE. set (e := exp (Q2R (s_epsilon s))) in *.
  assert (E1 : 1 <= e) by (unfold e; rewrite <- exp_0; left; apply exp_increasing, Q2R_pos, He).
  assert (I : inside s * (IZR (points_of s) - IZR (s_size s)) <= e * (IZR (s_size s) * (1 - inside s))).
  { apply IZR_le in HP. rewrite !mult_IZR, !minus_IZR in HP. destruct (sets_made_parts s made) as (_ & Hs & _).
    assert (P : 0 < IZR (2 ^ 64)) by (apply IZR_lt; reflexivity). assert (V : 0 < IZR (2 ^ 96)) by (apply IZR_lt; reflexivity).
    assert (D : 0 <= IZR (s_size s)) by (apply IZR_le; lia). apply IZR_le in Hw. unfold inside.
    set (u := IZR (2 ^ 64)) in *. set (v := IZR (2 ^ 96)) in *. set (w := IZR (s_inside s)) in *.
    set (dd := IZR (s_size s)) in *. set (mm := IZR (points_of s)) in *.
    apply Rmult_le_reg_r with (u * v); [nra|].
    replace (w / u * (mm - dd) * (u * v)) with (w * (mm - dd) * v) by (field; lra).
    replace (e * (dd * (1 - w / u)) * (u * v)) with (v * e * (dd * (u - w))) by (field; lra).
    eapply Rle_trans; [exact HP|]. apply Rmult_le_compat_r; [nra | exact HE]. }
  assert (S : chance (answers_to s) (selected s x) A <= e * chance (answers_to s) (selected s x') A); [|lra].
  unfold chance. rewrite <- sum_scale. apply sum_le. intros y _. destruct (A y); [apply one_set; auto | lra].
Qed.

(* --- Variances --- *)

Section Variances.
Variable s : selection.
Hypothesis made : sets_made s = true.
Variable j : Z.
Hypothesis Hj : category s j.

Let p := inside s.
Let q := elsewhere s.

(* That an answer has j, less its mean, and the variance of that. *)
Let mu (x : Z) : R := if (x =? j)%Z then p else q.
Let beyond (x y : Z) : R := one_if (has j (set_of s y)) - mu x.
Let v (x : Z) : R := mu x * (1 - mu x).

Lemma beyond_mean x : category s x -> sum (fun y => selected s x y * beyond x y) 0 (answers_to s) = 0.
Proof.
  intros Hx. rewrite (sum_ext _ (fun y => selected s x y * one_if (has j (set_of s y)) + - mu x * selected s x y)) by (intros; unfold beyond; ring).
  rewrite sum_plus, sum_scale, has_with, selected_total by auto. unfold mu. fold p q. ring.
Qed.

Lemma beyond_square x : category s x -> sum (fun y => selected s x y * beyond x y ^ 2) 0 (answers_to s) = v x.
Proof.
  intros Hx. rewrite (sum_ext _ (fun y => (1 - 2 * mu x) * (selected s x y * one_if (has j (set_of s y))) + mu x ^ 2 * selected s x y)).
  - rewrite sum_plus, !sum_scale, has_with, selected_total by auto. fold p q. change (if (x =? j)%Z then p else q) with (mu x). unfold v. ring.
  - intros y _. unfold beyond. destruct (has j (set_of s y)); cbn [one_if]; ring.
Qed.

Fixpoint beyond_all (people ys : list Z) : R :=
  match people, ys with x :: people', y :: ys' => beyond x y + beyond_all people' ys' | _, _ => 0 end.

Lemma mean_over_ext f g people : (forall ys, length ys = length people -> f ys = g ys) -> mean_over s people f = mean_over s people g.
Proof.
  revert f g. induction people as [|x people IH]; intros f g H; cbn [mean_over]; [apply H; reflexivity|].
  apply sum_ext. intros y _. f_equal. apply IH. intros ys Hl. apply H. cbn. congruence.
Qed.

Lemma mean_over_scale c f people : mean_over s people (fun ys => c * f ys) = c * mean_over s people f.
Proof.
  revert f. induction people as [|x people IH]; intros f; cbn [mean_over]; [reflexivity|].
  rewrite <- sum_scale. apply sum_ext. intros y _. rewrite IH. ring.
Qed.

(* Each answers by itself: means add up, and so do variances. *)
Lemma mean_of_all people : Forall (category s) people -> forall c, mean_over s people (fun ys => c + beyond_all people ys) = c.
Proof.
  induction 1 as [|x people Hx _ IH]; intros c; cbn [mean_over beyond_all]; [ring|].
  rewrite (sum_ext _ (fun y => c * selected s x y + selected s x y * beyond x y)).
  - rewrite sum_plus, sum_scale, selected_total, beyond_mean by auto. ring.
  - intros y _. rewrite (mean_over_ext _ (fun ys => (c + beyond x y) + beyond_all people ys)) by (intros; ring). rewrite IH. ring.
Qed.

Lemma variance_of_all people : Forall (category s) people -> forall c,
  mean_over s people (fun ys => (c + beyond_all people ys) ^ 2) = c ^ 2 + over v people.
Proof.
  induction 1 as [|x people Hx _ IH]; intros c; cbn [mean_over beyond_all]; [unfold over; cbn; ring|].
  rewrite over_cons, (sum_ext _ (fun y => (c ^ 2 + over v people) * selected s x y +
    (2 * c * (selected s x y * beyond x y) + selected s x y * beyond x y ^ 2))).
  - rewrite !sum_plus, !sum_scale, selected_total, beyond_mean, beyond_square by auto. ring.
  - intros y _. rewrite (mean_over_ext _ (fun ys => ((c + beyond x y) + beyond_all people ys) ^ 2)) by (intros; f_equal; ring).
    rewrite IH. ring.
Qed.

Lemma beyond_all_is people : forall ys, length ys = length people ->
  beyond_all people ys = tally (fun y => has j (set_of s y)) ys - (INR (length people) * q + (p - q) * tally (Z.eqb j) people).
Proof.
  induction people as [|x people IH]; intros [|y ys] H; try discriminate; cbn [beyond_all]; [unfold tally; cbn; ring|].
  rewrite IH by (injection H; auto). unfold beyond, mu. rewrite !tally_over, !over_cons. cbn [length]. rewrite S_INR, (Z.eqb_sym x j).
  destruct (j =? x)%Z; cbn [one_if]; ring.
Qed.

Lemma estimate_is people ys : people <> [] -> length ys = length people ->
  estimate s j ys - share_among people j = / (INR (length people) * (p - q)) * beyond_all people ys.
Proof.
  intros Hn Hl. pose proof (p_above_q s made). fold p q in H.
  assert (0 < INR (length people)) by (apply lt_0_INR; destruct people; [congruence | cbn; lia]).
  unfold estimate, share_among. rewrite beyond_all_is, Hl by exact Hl. fold p q. field. split; lra.
Qed.

Lemma estimate_unbiased people : Forall (category s) people -> people <> [] -> mean_over s people (estimate s j) = share_among people j.
Proof.
  intros Hp Hn. pose proof (p_above_q s made). fold p q in H.
  assert (0 < INR (length people)) by (apply lt_0_INR; destruct people; [congruence | cbn; lia]).
  set (c := share_among people j). set (g := / (INR (length people) * (p - q))).
  assert (G : g <> 0) by (apply Rinv_neq_0_compat; nra).
  rewrite (mean_over_ext _ (fun ys => g * (c / g + beyond_all people ys))).
  - rewrite mean_over_scale, mean_of_all by exact Hp. field. exact G.
  - intros ys Hl. pose proof (estimate_is people ys Hn Hl) as E. fold c g in E. replace (estimate s j ys) with (c + g * beyond_all people ys) by lra.
    field. exact G.
Qed.

Lemma variance_is people : Forall (category s) people -> people <> [] ->
  variance s people j = / INR (length people) * over (fun x => v x / (p - q) ^ 2) people.
Proof.
  intros Hp Hn. pose proof (p_above_q s made). fold p q in H.
  assert (0 < INR (length people)) by (apply lt_0_INR; destruct people; [congruence | cbn; lia]).
  unfold variance. set (g := / (INR (length people) * (p - q))).
  rewrite (mean_over_ext _ (fun ys => g ^ 2 * (0 + beyond_all people ys) ^ 2)) by (intros ys Hl; rewrite (estimate_is people ys Hn Hl); fold g; rewrite Rplus_0_l; apply Rpow_mult_distr).
  rewrite mean_over_scale, variance_of_all by exact Hp.
  rewrite (over_ext (fun x => v x / _) (fun x => / (p - q) ^ 2 * v x)) by (intros; unfold Rdiv; ring). rewrite over_scale. unfold g. field. split; lra.
Qed.
End Variances.

Definition mixed (s : selection) (j x : Z) : R :=
  let mu := if (x =? j)%Z then inside s else elsewhere s in mu * (1 - mu) / (inside s - elsewhere s) ^ 2.

Lemma over_le {A} (f : A -> R) top l : (forall a, In a l -> f a <= top) -> over f l <= INR (length l) * top.
Proof.
  intros H. induction l as [|x l IH]; [unfold over; cbn; lra|]. rewrite over_cons. cbn [length]. rewrite S_INR.
  pose proof (H x (or_introl eq_refl)). specialize (IH (fun a Ha => H a (or_intror Ha))). lra.
Qed.

(* The variance of the share of one category is at most the larger one of two, and all of them are the same for all people. *)
Lemma variance_at_most s people j top : sets_made s = true -> Forall (category s) people -> people <> [] -> category s j ->
  (forall x, mixed s j x <= top) -> variance s people j <= top.
Proof.
  intros made Hp Hn Hj H. rewrite variance_is by auto. change (over _ people) with (over (mixed s j) people).
  assert (P : 0 < INR (length people)) by (apply lt_0_INR; destruct people; [congruence | cbn; lia]).
  apply back; [exact P|]. rewrite Rmult_comm. apply over_le. intros x _. apply H.
Qed.

Lemma sum_over_range f n : (0 <= n)%Z -> sum f 0 (Z.to_nat n) = over f (range 0 n).
Proof.
  intros H. rewrite <- (over_places f (range 0 n) 0%Z). unfold range at 2. rewrite map_length, seq_length. apply sum_ext. intros i Hi.
  f_equal. unfold range. rewrite (nth_indep _ 0%Z (0 + Z.of_nat 0)%Z) by (rewrite map_length, seq_length; lia).
  rewrite (map_nth (fun i => 0 + Z.of_nat i)%Z). rewrite seq_nth by lia. lia.
Qed.

Lemma variances_total s people : sets_made s = true -> Forall (category s) people -> people <> [] ->
  total_variance s people = (inside s * (1 - inside s) + (IZR (s_categories s) - 1) * (elsewhere s * (1 - elsewhere s))) /
    (inside s - elsewhere s) ^ 2.
Proof.
  intros made Hp Hn. pose proof (p_above_q s made) as Ha. destruct (sets_made_parts s made) as ([Hk _] & _).
  assert (P : 0 < INR (length people)) by (apply lt_0_INR; destruct people; [congruence | cbn; lia]).
  unfold total_variance. rewrite sum_over_range by lia.
  rewrite (over_ext _ (fun j => / INR (length people) * over (mixed s j) people)).
  2: { intros j Hj. apply in_range in Hj. apply variance_is; auto. }
  rewrite over_scale, over_swap. set (all := _ / (inside s - elsewhere s) ^ 2).
  rewrite (over_ext _ (fun _ => all)); [rewrite over_const; field; lra|].
  intros x Hx. rewrite Forall_forall in Hp. specialize (Hp x Hx). unfold category in Hp.
  set (a := inside s * (1 - inside s) / (inside s - elsewhere s) ^ 2). set (b := elsewhere s * (1 - elsewhere s) / (inside s - elsewhere s) ^ 2).
  rewrite (over_ext _ (fun j => b + (a - b) * one_if (x =? j)%Z)).
  - rewrite over_plus, over_scale, over_const, range_length by lia.
    rewrite (over_range_once 0 (s_categories s) (fun j => x =? j)%Z x); [unfold all, a, b; field; lra | lia|].
    intros y _. rewrite Z.eqb_eq. split; congruence.
  - intros y _. unfold mixed, a, b. destruct (x =? y)%Z; cbn [one_if]; ring.
Qed.

(* --- What the checkers compute --- *)

Lemma p_of_is s : Q2R (p_of s) = inside s.
Proof. unfold p_of, inside. rewrite Q2R_div, !Q2R_inject by discriminate. reflexivity. Qed.

Lemma q_of_is s : sets_made s = true -> Q2R (q_of s) = elsewhere s.
Proof.
  intros made. destruct (sets_made_parts s made) as (_ & Hm & _). unfold q_of, elsewhere. destruct Q2R_small as (_ & Q1 & _).
  rewrite Q2R_div, !Q2R_minus, !Q2R_inject, Q1, p_of_is; [reflexivity|].
  intros E. apply Qeq_eqR in E. rewrite Q2R_minus, Q2R_inject, Q1 in E. destruct Q2R_small as (Q0 & _). rewrite Q0 in E.
  assert (1 < IZR (points_of s)) by (apply IZR_lt; lia). lra.
Qed.

Lemma apart_is s : sets_made s = true -> Q2R (apart s) = (inside s - elsewhere s) ^ 2 /\ ~ (apart s == 0)%Q.
Proof.
  intros made. assert (E : Q2R (apart s) = (inside s - elsewhere s) ^ 2).
  { unfold apart. rewrite Q2R_mult, Q2R_minus, p_of_is, q_of_is by exact made. ring. }
  split; [exact E|]. intros H. apply Qeq_eqR in H. destruct Q2R_small as (Q0 & _). rewrite E, Q0 in H. pose proof (p_above_q s made). nra.
Qed.

Lemma spread_is p : Q2R (spread p) = Q2R p * (1 - Q2R p).
Proof. unfold spread. destruct Q2R_small as (_ & Q1 & _). rewrite Q2R_mult, Q2R_minus, Q1. reflexivity. Qed.

Theorem total_sound s claim : total_ok s claim = true -> forall people, Forall (category s) people -> people <> [] ->
  total_variance s people <= Q2R claim.
Proof.
  unfold total_ok. rewrite andb_true_iff. intros [made H] people Hp Hn. apply Qle_bool_true in H.
  destruct (apart_is s made) as [A0 A1]. destruct Q2R_small as (_ & Q1 & _).
  rewrite Q2R_div, Q2R_plus, Q2R_mult, Q2R_minus, Q2R_inject, !spread_is, p_of_is, q_of_is, Q1, A0 in H by assumption.
  rewrite variances_total by assumption. exact H.
Qed.

Theorem largest_sound s claim : largest_ok s claim = true -> forall people j, Forall (category s) people -> people <> [] -> category s j ->
  variance s people j <= Q2R claim.
Proof.
  unfold largest_ok. rewrite !andb_true_iff. intros [[made H1] H2] people j Hp Hn Hj. apply Qle_bool_true in H1, H2.
  destruct (apart_is s made) as [A0 A1].
  rewrite Q2R_div, spread_is, A0, p_of_is in H1 by assumption. rewrite Q2R_div, spread_is, A0, q_of_is in H2 by assumption.
  apply variance_at_most; auto. intros x. unfold mixed. destruct (x =? j)%Z; assumption.
Qed.

(* --- The lower bound --- *)

(* The variance of a size falls in E: it is (n/c + share (k-d) + d - 1)(n/c + (1 - share) d)/(d(k-d)) - share (1 - share), c = E - 1. *)
Lemma size_falls k E E' share d : 1 < k -> 1 <= d < k -> 0 <= share <= 1 -> 1 < E <= E' ->
  variance_of_size k E' share d <= variance_of_size k E share d.
Proof.
  intros Hk Hd Hs HE. unfold variance_of_size.
  assert (F : forall c, 0 < c -> ((k - 1) + c * (d - 1) + share * c * (k - d)) * ((k - 1) + (1 - share) * c * d) / (c ^ 2 * d * (k - d)) =
    ((k - 1) * / c + share * (k - d) + (d - 1)) * ((k - 1) * / c + (1 - share) * d) * / (d * (k - d))) by (intros; field; lra).
  rewrite !F by lra. apply Rplus_le_compat_r. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; nra|].
  assert (I : 0 < / (E' - 1) <= / (E - 1)).
  { split; [apply Rinv_0_lt_compat; lra | apply Rinv_le_contravar; lra]. }
  apply Rmult_le_compat; nra.
Qed.

(* A convex quadratic function that rises from a whole number to both sides. *)
Lemma least_is a b r k least d : 0 <= a -> (1 <= d < k)%Z ->
  ((least <= 1)%Z \/ a * (2 * IZR least - 1) + b <= 0) -> ((k - 1 <= least)%Z \/ 0 <= a * (2 * IZR least + 1) + b) ->
  0 <= a * IZR least * IZR least + b * IZR least + r -> 0 <= a * IZR d * IZR d + b * IZR d + r.
Proof.
  intros Ha Hd HL HR H0. destruct (Z.eq_dec d least) as [->|E]; [exact H0|].
  replace (a * IZR d * IZR d + b * IZR d + r) with ((IZR d - IZR least) * (a * (IZR d + IZR least) + b) + (a * IZR least * IZR least + b * IZR least + r)) by ring.
  assert (D : (d + 1 <= least \/ least + 1 <= d)%Z) by lia. destruct D as [D|D]; apply IZR_le in D as D'; rewrite plus_IZR in D'.
  - destruct HL as [HL|HL]; [lia|]. assert (a * (IZR d + IZR least) <= a * (2 * IZR least - 1)) by (apply Rmult_le_compat_l; lra). nra.
  - destruct HR as [HR|HR]; [lia|]. assert (a * (2 * IZR least + 1) <= a * (IZR d + IZR least)) by (apply Rmult_le_compat_l; lra). nra.
Qed.

Lemma in_units u a e : 0 < u -> u * e <= a -> e <= a / u.
Proof. intros Hu H. apply Rmult_le_reg_l with u; [exact Hu|]. replace (u * (a / u)) with a by (field; lra). exact H. Qed.

Lemma or_le x (test : bool) (q : Prop) : (x || test)%bool = true -> (test = true -> q) -> x = true \/ q.
Proof. destruct x; [left; reflexivity|]. right. auto. Qed.

Theorem sizes_sound s times share claim : sizes_ok s times share claim = true ->
  0 <= Q2R share <= 1 /\ below_all_sizes s (Q2R times) (Q2R share) (Q2R claim).
Proof.
  unfold sizes_ok. set (k := s_categories s). set (c := (_ - 1)%Q). set (n := inject_Z (k - 1)). set (beta := ((1 - share) * c)%Q).
  set (alpha := (n - c + _)%Q). set (T := (_ * (c * c))%Q). set (a := Qred (beta * beta + T)). set (b := Qred (_ - T * _)).
  set (least := Z.max 1 _). rewrite !andb_true_iff, Z.ltb_lt. intros [[[[[[[[made fine] S0] S1] Ht] A0] HL] HR] H0].
  destruct (sets_made_parts s made) as ([Hk _] & _ & _ & _ & _ & He). fold k in Hk. destruct Q2R_small as (Q0 & Q1 & _).
  assert (Q2 : Q2R 2 = 2) by (unfold Q2R; cbn; field).
  apply Qle_bool_true in S0, S1, A0, H0. rewrite Q0 in *. rewrite Q1 in *. split; [lra|]. intros d Hd. fold k in Hd |- *.
  apply Q2R_pos in Ht. set (E := exp (Q2R (s_epsilon s))). set (E' := IZR (exp_up (s_epsilon s) 96) / IZR (2 ^ 96)).
  assert (V : 0 < IZR (2 ^ 96)) by (apply IZR_lt; reflexivity).
  assert (EE : 1 < E <= E').
  { split; [unfold E; rewrite <- exp_0; apply exp_increasing, Q2R_pos, He | apply in_units; [exact V | apply exp_up_ge; [lia | exact fine]]]. }
  assert (Ec : Q2R c = E' - 1) by (unfold c; rewrite Q2R_minus, Q2R_div, !Q2R_inject, Q1 by discriminate; reflexivity).
  clearbody E E' c.
  assert (En : Q2R n = IZR k - 1) by (unfold n; rewrite Q2R_inject, minus_IZR; reflexivity).
  assert (Eb : Q2R beta = (1 - Q2R share) * (E' - 1)) by (unfold beta; rewrite Q2R_mult, Q2R_minus, Q1, Ec; reflexivity).
  assert (Ea : Q2R alpha = IZR k - 1 - (E' - 1) + Q2R share * (E' - 1) * IZR k)
    by (unfold alpha; rewrite Q2R_plus, Q2R_minus, !Q2R_mult, Q2R_inject, En, Ec; reflexivity).
  assert (ET : Q2R T = (Q2R claim / Q2R times + Q2R share * (1 - Q2R share)) * (E' - 1) ^ 2).
  { unfold T. rewrite Q2R_mult, Q2R_plus, Q2R_div, !Q2R_mult, Q2R_minus, Q1, Ec; [ring|].
    intros Z. apply Qeq_eqR in Z. rewrite Q0 in Z. lra. }
  assert (EA : Q2R a = Q2R beta * Q2R beta + Q2R T) by (unfold a; rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_plus, Q2R_mult; reflexivity).
  assert (EB : Q2R b = Q2R beta * (Q2R alpha + Q2R n) - Q2R T * IZR k)
    by (unfold b; rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_minus, !Q2R_mult, Q2R_plus, Q2R_inject; reflexivity).
  assert (F : 0 <= Q2R a * IZR d * IZR d + Q2R b * IZR d + Q2R alpha * Q2R n).
  { apply (least_is _ _ _ k least d); [exact A0 | exact Hd | | |].
    - apply or_le with (q := Q2R a * (2 * IZR least - 1) + Q2R b <= 0) in HL; [destruct HL as [HL|HL]; [left; apply Z.leb_le, HL | right; exact HL]|].
      intros L. apply Qle_bool_true in L. rewrite Q0, Q2R_plus, Q2R_mult, Q2R_minus, Q2R_mult, Q2R_inject, Q1, Q2 in L. exact L.
    - apply or_le with (q := 0 <= Q2R a * (2 * IZR least + 1) + Q2R b) in HR; [destruct HR as [HR|HR]; [left; apply Z.leb_le, HR | right; exact HR]|].
      intros L. apply Qle_bool_true in L. rewrite Q0, Q2R_plus, Q2R_mult, Q2R_plus, Q2R_mult, Q2R_inject, Q1, Q2 in L. exact L.
    - rewrite !Q2R_plus, !Q2R_mult, Q2R_inject in H0. exact H0. }
  assert (D : 1 <= IZR d < IZR k) by (split; [apply IZR_le | apply IZR_lt]; lia).
  apply Rle_trans with (Q2R times * variance_of_size (IZR k) E' (Q2R share) (IZR d)).
  - apply Rmult_le_reg_l with (/ Q2R times); [apply Rinv_0_lt_compat, Ht|]. rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l by lra.
    unfold variance_of_size. set (x := Q2R claim) in *. set (t := Q2R times) in *. set (h := Q2R share) in *.
    enough (x / t + h * (1 - h) <= ((IZR k - 1) + (E' - 1) * (IZR d - 1) + h * (E' - 1) * (IZR k - IZR d)) *
      ((IZR k - 1) + (1 - h) * (E' - 1) * IZR d) / ((E' - 1) ^ 2 * IZR d * (IZR k - IZR d))) by (unfold Rdiv in *; lra).
    assert (P : 0 < (E' - 1) ^ 2 * IZR d * (IZR k - IZR d)) by (apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; [apply pow_lt|]|]; lra).
    apply Rmult_le_reg_r with ((E' - 1) ^ 2 * IZR d * (IZR k - IZR d)); [exact P|].
    unfold Rdiv at 2. rewrite (Rmult_assoc _ (/ _)), Rinv_l, Rmult_1_r by lra.
    rewrite EA, EB, ET, Ea, Eb, En in F. lra.
  - apply Rmult_le_compat_l; [lra|]. apply size_falls; auto; apply IZR_lt; lia.
Qed.
