(* SPDX-License-Identifier: Apache-2.0 *)
(* Of the sets of an answer each point is in equally many, and each pair of points in equally many: they are a 2-design. *)
From Coq Require Import ZArith Znumtheory Reals List FinFun Bool Lia Lra.
From Noisewright Require Import Statement Sums Randomizers Selections.
Import ListNotations.
Local Open Scope R_scope.

(* --- Sums over lists --- *)

Definition over {A} (f : A -> R) (l : list A) : R := fold_right (fun a s => f a + s) 0 l.
Definition one_if (b : bool) : R := if b then 1 else 0.

Lemma over_cons {A} (f : A -> R) x l : over f (x :: l) = f x + over f l.
Proof. reflexivity. Qed.

Lemma tally_over {A} (p : A -> bool) l : tally p l = over (fun a => one_if (p a)) l.
Proof. reflexivity. Qed.

Lemma over_ext {A} (f g : A -> R) l : (forall a, In a l -> f a = g a) -> over f l = over g l.
Proof.
  intros H. induction l as [|a l IH]; [reflexivity|]. rewrite !over_cons, (H a (or_introl eq_refl)), IH; [reflexivity|]. intros b Hb. apply H. right. exact Hb.
Qed.

Lemma over_app {A} (f : A -> R) a b : over f (a ++ b) = over f a + over f b.
Proof. induction a as [|x a IH]; [unfold over; cbn; lra|]. cbn [app]. rewrite !over_cons, IH. cbn beta. lra. Qed.

Lemma over_map {A B} (f : B -> R) (g : A -> B) l : over f (map g l) = over (fun a => f (g a)) l.
Proof. induction l as [|x l IH]; [reflexivity|]. cbn [map]. rewrite !over_cons, IH. reflexivity. Qed.

Lemma over_flat_map {A B} (f : B -> R) (g : A -> list B) l : over f (flat_map g l) = over (fun a => over f (g a)) l.
Proof. induction l as [|x l IH]; [reflexivity|]. cbn [flat_map]. rewrite over_app, over_cons, IH. reflexivity. Qed.

Lemma over_plus {A} (f g : A -> R) l : over (fun a => f a + g a) l = over f l + over g l.
Proof. induction l as [|x l IH]; [unfold over; cbn; lra|]. rewrite !over_cons, IH. cbn beta. lra. Qed.

Lemma over_scale {A} c (f : A -> R) l : over (fun a => c * f a) l = c * over f l.
Proof. induction l as [|x l IH]; [unfold over; cbn; lra|]. rewrite !over_cons, IH. cbn beta. lra. Qed.

Lemma over_const {A} c (l : list A) : over (fun _ => c) l = INR (length l) * c.
Proof. induction l as [|x l IH]; [unfold over; cbn; lra|]. cbn [length]. rewrite S_INR, over_cons, IH. cbn beta. lra. Qed.

Lemma over_zero {A} (f : A -> R) l : (forall a, In a l -> f a = 0) -> over f l = 0.
Proof. intros H. rewrite (over_ext f (fun _ => 0) l H), over_const. lra. Qed.

Lemma over_swap {A B} (f : A -> B -> R) a b : over (fun x => over (f x) b) a = over (fun y => over (fun x => f x y) a) b.
Proof.
  induction a as [|x a IH]; [symmetry; apply over_zero; reflexivity|].
  rewrite over_cons, IH, <- over_plus. reflexivity.
Qed.

Lemma over_times {A B} (f : A -> R) (g : B -> R) a b : over f a * over g b = over (fun x => over (fun y => f x * g y) b) a.
Proof.
  rewrite (over_ext (fun x => over (fun y => f x * g y) b) (fun x => over g b * f x)).
  - rewrite over_scale. ring.
  - intros x _. rewrite over_scale. ring.
Qed.

(* As a sum over places. *)
Lemma over_places {A} (f : A -> R) l none : sum (fun y => f (nth (Z.to_nat y) l none)) 0 (length l) = over f l.
Proof.
  induction l as [|x l IH]; [reflexivity|]. cbn [length]. rewrite sum_first. change (nth (Z.to_nat 0) (x :: l) none) with x.
  rewrite over_cons, <- IH. f_equal. apply sum_onto. intros i Hi.
  replace (Z.to_nat (0 + 1 + i)) with (S (Z.to_nat (0 + i))) by lia. reflexivity.
Qed.

Lemma one_if_and a b : one_if (a && b) = one_if a * one_if b.
Proof. destruct a, b; cbn; lra. Qed.

(* One member of a list has a property at most. *)
Lemma at_most_one {A} (p : A -> bool) l : NoDup l -> (forall a b, In a l -> In b l -> p a = true -> p b = true -> a = b) ->
  one_if (existsb p l) = over (fun a => one_if (p a)) l.
Proof.
  induction 1 as [|x l Hx _ IH]; intros H; [reflexivity|]. cbn [existsb]. rewrite over_cons.
  destruct (p x) eqn:E; cbn [orb one_if].
  - rewrite over_zero; [lra|]. intros a Ha. destruct (p a) eqn:Ea; [|reflexivity].
    rewrite (H x a (or_introl eq_refl) (or_intror Ha) E Ea) in Hx. contradiction.
  - rewrite <- IH; [lra|]. intros a b Ha Hb. apply H; right; assumption.
Qed.

Lemma existsb_map {A B} (p : B -> bool) (f : A -> B) l : existsb p (map f l) = existsb (fun a => p (f a)) l.
Proof. induction l; [reflexivity|]. cbn. rewrite IHl. reflexivity. Qed.

(* --- Ranges --- *)

Lemma in_range lo n x : In x (range lo n) <-> (lo <= x < lo + n)%Z.
Proof.
  unfold range. rewrite in_map_iff. split.
  - intros (i & <- & Hi). apply in_seq in Hi. lia.
  - intros H. exists (Z.to_nat (x - lo)). rewrite in_seq. lia.
Qed.

Lemma range_once lo n : NoDup (range lo n).
Proof. apply Injective_map_NoDup; [intros i j E; lia | apply seq_NoDup]. Qed.

Lemma range_length lo n : (0 <= n)%Z -> INR (length (range lo n)) = IZR n.
Proof. intros H. unfold range. rewrite map_length, seq_length, INR_IZR_INZ. f_equal. lia. Qed.

(* A number of a range is in it once. *)
Lemma over_range_once lo n p x : (lo <= x < lo + n)%Z -> (forall y, (lo <= y < lo + n)%Z -> p y = true <-> y = x) ->
  over (fun y => one_if (p y)) (range lo n) = 1.
Proof.
  intros Hx H. rewrite <- at_most_one; [|apply range_once|].
  - replace (existsb p (range lo n)) with true; [reflexivity|]. symmetry. apply existsb_exists. exists x. rewrite in_range. split; [exact Hx|].
    apply H; auto.
  - intros a b. rewrite !in_range. intros Ha Hb Pa Pb. apply H in Pa, Pb; auto. congruence.
Qed.

(* --- All sets of a size --- *)

Fixpoint choose (n d : nat) : R := match n, d with _, O => 1 | O, S _ => 0 | S n', S d' => choose n' d' + choose n' d end.

Lemma choose_0 n : choose n 0 = 1. Proof. destruct n; reflexivity. Qed.

Lemma choose_step n : forall d, INR (S n) * choose n d = INR (S d) * choose (S n) (S d).
Proof.
  induction n as [|n IH]; intros d.
  - destruct d; cbn [choose]; [cbn; lra|]. lra.
  - destruct d as [|d].
    + pose proof (IH 0%nat) as H1. change (choose (S (S n)) 1) with (choose (S n) 0 + choose (S n) 1).
      rewrite (S_INR (S n)), !choose_0 in *. change (INR 1) with 1 in *. lra.
    + pose proof (IH d) as H1. pose proof (IH (S d)) as H2. rewrite (S_INR (S n)), (S_INR (S d)) in *.
      change (choose (S (S n)) (S (S d))) with (choose (S n) (S d) + choose (S n) (S (S d))).
      change (choose (S n) (S d)) with (choose n d + choose n (S d)) in *.
      set (a := choose n d) in *. set (b := choose n (S d)) in *. set (c := choose (S n) (S (S d))) in *. lra.
Qed.

Lemma choose_pos n : forall d, (d <= n)%nat -> 0 < choose n d.
Proof.
  induction n as [|n IH]; intros [|d] H; cbn [choose]; try lra; [lia|]. pose proof (IH d ltac:(lia)).
  destruct (Nat.eq_dec d n) as [->|E]; [|pose proof (IH (S d) ltac:(lia)); lra].
  enough (0 <= choose n (S n)) by lra. clear. generalize (S n). induction n; intros [|d]; cbn [choose]; try lra.
  pose proof (IHn d). pose proof (IHn (S d)). lra.
Qed.

Lemma sets_of_0 l : sets_of l 0 = [[]]. Proof. destruct l; reflexivity. Qed.

Lemma sets_number l : forall d, INR (length (sets_of l d)) = choose (length l) d.
Proof.
  induction l as [|a l IH]; intros [|d]; try (cbn; lra). cbn [sets_of length choose].
  rewrite app_length, map_length, plus_INR, !IH. reflexivity.
Qed.

Lemma members_of l : forall d set x, In set (sets_of l d) -> In x set -> In x l.
Proof.
  induction l as [|a l IH]; intros [|d] set x Hs Hx; cbn in Hs.
  1, 3: destruct Hs as [<-|[]]; destruct Hx.
  - destruct Hs.
  - apply in_app_iff in Hs as [Hs|Hs].
    + apply in_map_iff in Hs as (set' & <- & Hs). destruct Hx as [<-|Hx]; [left; auto | right; eapply IH; eauto].
    + right. eapply IH; eauto.
Qed.

Lemma has_none l d x : ~ In x l -> over (fun set => one_if (has x set)) (sets_of l d) = 0.
Proof.
  intros H. apply over_zero. intros set Hs. destruct (has x set) eqn:E; [|reflexivity]. apply existsb_exists in E as (y & Hy & Ey).
  apply Z.eqb_eq in Ey. subst y. destruct H. eapply members_of; eauto.
Qed.

Lemma has_cons x a set : has x (a :: set) = (x =? a)%Z || has x set.
Proof. reflexivity. Qed.

Lemma sets_with x l : NoDup l -> In x l -> forall d, over (fun set => one_if (has x set)) (sets_of l (S d)) = choose (length l - 1) d.
Proof.
  induction 1 as [|a l Ha Hl IH]; intros Hx d; [destruct Hx|].
  cbn [sets_of]. rewrite over_app, over_map. rewrite (over_ext _ (fun set => one_if ((x =? a)%Z || has x set))) by (intros; apply f_equal, has_cons).
  replace (length (a :: l) - 1)%nat with (length l) by (cbn; lia).
  destruct (Z.eqb_spec x a) as [->|E].
  - cbn [orb one_if]. rewrite over_const, sets_number, has_none by exact Ha. ring.
  - cbn [orb]. destruct Hx as [<-|Hx]; [congruence|]. rewrite IH by exact Hx.
    destruct l as [|b l]; [destruct Hx|]. replace (length (b :: l) - 1)%nat with (length l) in * by (cbn; lia).
    destruct d as [|d]; [rewrite sets_of_0, choose_0; unfold over; cbn; lra|]. rewrite IH by exact Hx. reflexivity.
Qed.

Lemma sets_with_both x z l : NoDup l -> In x l -> In z l -> x <> z -> forall d,
  over (fun set => one_if (has x set && has z set)) (sets_of l (S d)) = match d with O => 0 | S d' => choose (length l - 2) d' end.
Proof.
  induction 1 as [|a l Ha Hl IH]; intros Hx Hz E d; [destruct Hx|].
  cbn [sets_of]. rewrite over_app, over_map.
  rewrite (over_ext _ (fun set => one_if (((x =? a)%Z || has x set) && ((z =? a)%Z || has z set)))) by (intros; rewrite !has_cons; reflexivity).
  replace (length (a :: l) - 2)%nat with (length l - 1)%nat by (cbn; lia).
  assert (H0 : forall y z, ~ In y l -> over (fun set => one_if (has y set && has z set)) (sets_of l (S d)) = 0 /\
    over (fun set => one_if (has z set && has y set)) (sets_of l (S d)) = 0).
  { intros y w Hy. split; apply over_zero; intros set Hs; (destruct (has y set) eqn:Ey; [|rewrite ?andb_false_r; reflexivity]);
      apply existsb_exists in Ey as (v & Hv & Ev); apply Z.eqb_eq in Ev; subst v; destruct Hy; eapply members_of; eauto. }
  assert (H1 : forall y, In y l -> over (fun set => one_if (has y set)) (sets_of l d) = match d with O => 0 | S d' => choose (length l - 1) d' end).
  { intros y Hy. destruct d; [rewrite sets_of_0; unfold over; cbn; lra | apply sets_with; auto]. }
  destruct (Z.eqb_spec x a) as [->|Ex].
  - destruct (Z.eqb_spec z a) as [->|Ez]; [congruence|]. destruct Hz as [<-|Hz]; [congruence|]. cbn [orb andb].
    rewrite H1, (proj1 (H0 a z Ha)) by exact Hz. lra.
  - destruct Hx as [<-|Hx]; [congruence|]. destruct (Z.eqb_spec z a) as [->|Ez].
    + cbn [orb]. rewrite (over_ext _ (fun set => one_if (has x set))) by (intros; rewrite andb_true_r; reflexivity).
      rewrite H1, (proj2 (H0 a x Ha)) by exact Hx. lra.
    + destruct Hz as [<-|Hz]; [congruence|]. cbn [orb]. rewrite IH by auto.
      destruct d as [|d]; [rewrite sets_of_0; unfold over; cbn; lra|]. rewrite IH by auto.
      assert (2 <= length l)%nat.
      { destruct l as [|b [|c l]]; cbn in *; [contradiction | | lia]. destruct Hx as [->|[]]. destruct Hz as [->|[]]. congruence. }
      replace (length l - 1)%nat with (S (length l - 2)) by lia. destruct d; [rewrite !choose_0; lra | reflexivity].
Qed.

(* --- Affine sets --- *)

Section Affine.
Variables m d : Z.
Hypotheses (m_prime : prime m) (d_size : (1 <= d < m)%Z).

Let m_large : (2 <= m)%Z. Proof. apply prime_ge_2, m_prime. Qed.

Lemma same_residue x y : (x mod m = y mod m <-> (m | x - y))%Z.
Proof.
  split.
  - intros H. exists (x / m - y / m)%Z. rewrite (Z_div_mod_eq_full x m), (Z_div_mod_eq_full y m) at 1. rewrite H. ring.
  - intros [k Hk]. replace x with (y + k * m)%Z by lia. apply Z.mod_add. lia.
Qed.

Lemma small_residue x y : (0 <= x < m)%Z -> ((x =? y mod m)%Z = true <-> (m | y - x)%Z).
Proof. intros Hx. rewrite Z.eqb_eq, <- same_residue, (Z.mod_small x m Hx). split; congruence. Qed.

Lemma no_multiple x : (- m < x < m)%Z -> x <> 0%Z -> ~ (m | x)%Z.
Proof. intros Hx H0 [k Hk]. assert (k = 0 \/ 1 <= k \/ k <= -1)%Z by lia. nia. Qed.

Lemma divides_product x y : (m | x * y)%Z -> (- m < y < m)%Z -> y <> 0%Z -> (m | x)%Z.
Proof. intros H Hy H0. destruct (prime_mult m m_prime x y H) as [|H']; [assumption|]. destruct (no_multiple y Hy H0 H'). Qed.

(* The set of a:b has x = at + b for one t at most. *)
Lemma affine_has a b x : (1 <= a < m)%Z -> (0 <= x < m)%Z ->
  one_if (has x (affine m d a b)) = over (fun t => one_if (x =? (a * t + b) mod m)%Z) (range 0 d).
Proof.
  intros Ha Hx. unfold has, affine. rewrite existsb_map. apply at_most_one; [apply range_once|].
  intros t u. rewrite !in_range, !small_residue by exact Hx. intros Ht Hu D1 D2.
  destruct (Z.eq_dec t u) as [|E]; [assumption|]. exfalso. apply (no_multiple a); [lia | lia|].
  apply (divides_product a (t - u)); [|lia | lia].
  replace (a * (t - u))%Z with ((a * t + b - x) - (a * u + b - x))%Z by ring. apply Z.divide_sub_r; assumption.
Qed.

Lemma one_shift_has a t x : (0 <= x < m)%Z -> over (fun b => one_if (x =? (a * t + b) mod m)%Z) (range 0 m) = 1.
Proof.
  intros Hx. pose proof (Z.mod_pos_bound (x - a * t) m ltac:(lia)).
  apply (over_range_once 0 m _ ((x - a * t) mod m)%Z); [lia|]. intros b Hb. rewrite small_residue by exact Hx.
  rewrite <- (Z.mod_small b m ltac:(lia)) at 2. rewrite same_residue. replace (a * t + b - x)%Z with (b - (x - a * t))%Z by ring. tauto.
Qed.

(* Two points are at + b and au + b for one (a, b), if t is not u. *)
Lemma pairs_of_shifts t u x z : (0 <= t < m)%Z -> (0 <= u < m)%Z -> (0 <= x < m)%Z -> (0 <= z < m)%Z -> x <> z ->
  over (fun a => over (fun b => one_if ((x =? (a * t + b) mod m) && (z =? (a * u + b) mod m))%Z) (range 0 m)) (range 1 (m - 1)) =
  one_if (negb (t =? u)%Z).
Proof.
  intros Ht Hu Hx Hz E.
  assert (Hb : forall a, over (fun b => one_if ((x =? (a * t + b) mod m) && (z =? (a * u + b) mod m))%Z) (range 0 m) =
    one_if (if Zdivide_dec m (a * (t - u) - (x - z)) then true else false)).
  { intros a. destruct (Zdivide_dec m (a * (t - u) - (x - z))) as [D|D].
    - rewrite (over_ext _ (fun b => one_if (x =? (a * t + b) mod m)%Z)); [apply one_shift_has; exact Hx|].
      intros b _. apply f_equal. destruct (x =? (a * t + b) mod m)%Z eqn:E1; [|reflexivity]. cbn [andb].
      apply small_residue in E1; [|exact Hx]. apply small_residue; [exact Hz|].
      replace (a * u + b - z)%Z with ((a * t + b - x) - (a * (t - u) - (x - z)))%Z by ring. apply Z.divide_sub_r; assumption.
    - apply over_zero. intros b _. destruct (x =? (a * t + b) mod m)%Z eqn:E1; [|reflexivity].
      destruct (z =? (a * u + b) mod m)%Z eqn:E2; [|reflexivity]. destruct D.
      apply small_residue in E1; [|exact Hx]. apply small_residue in E2; [|exact Hz].
      replace (a * (t - u) - (x - z))%Z with ((a * t + b - x) - (a * u + b - z))%Z by ring. apply Z.divide_sub_r; assumption. }
  rewrite (over_ext _ _ _ (fun a _ => Hb a)). clear Hb. destruct (Z.eqb_spec t u) as [->|Etu]; cbn [negb one_if].
  - apply over_zero. intros a _. destruct (Zdivide_dec m (a * (u - u) - (x - z))) as [D|]; [|reflexivity].
    exfalso. apply (no_multiple (z - x)); [lia | lia|]. replace (z - x)%Z with (a * (u - u) - (x - z))%Z by ring. exact D.
  - assert (Hp : rel_prime (t - u) m).
    { apply rel_prime_sym, prime_rel_prime; [exact m_prime|]. apply no_multiple; lia. }
    destruct (rel_prime_bezout _ _ Hp) as [v w Hvw].
    set (a0 := ((v * (x - z)) mod m)%Z).
    pose proof (Z.mod_pos_bound (v * (x - z)) m ltac:(lia)) as B. fold a0 in B.
    assert (S : forall a, (m | a * (t - u) - (x - z))%Z <-> (m | a - v * (x - z))%Z).
    { intros a. split; intros D.
      - apply (divides_product _ (t - u)); [|lia | lia].
        replace ((a - v * (x - z)) * (t - u))%Z with ((a * (t - u) - (x - z)) + (x - z) * (1 - v * (t - u)))%Z by ring.
        apply Z.divide_add_r; [exact D|]. replace (1 - v * (t - u))%Z with (w * m)%Z by lia. exists ((x - z) * w)%Z. ring.
      - replace (a * (t - u) - (x - z))%Z with ((a - v * (x - z)) * (t - u) - (x - z) * (1 - v * (t - u)))%Z by ring.
        apply Z.divide_sub_r; [apply Z.divide_mul_l, D|]. replace (1 - v * (t - u))%Z with (w * m)%Z by lia. exists ((x - z) * w)%Z. ring. }
    assert (N0 : a0 <> 0%Z).
    { intros E0. apply (no_multiple (x - z)); [lia | lia|]. assert (D : (m | 0 - v * (x - z))%Z).
      { replace (0 - v * (x - z))%Z with (- (v * (x - z)))%Z by ring. apply Z.divide_opp_r, Z.mod_divide; [lia | exact E0]. }
      apply S in D. replace (x - z)%Z with (- (0 * (t - u) - (x - z)))%Z by ring. apply Z.divide_opp_r, D. }
    apply (over_range_once 1 (m - 1) (fun a => if Zdivide_dec m (a * (t - u) - (x - z)) then true else false) a0); [lia|].
    intros a Ha. rewrite <- (Z.mod_small a m ltac:(lia)) at 2. unfold a0. rewrite same_residue, <- S.
    destruct (Zdivide_dec m (a * (t - u) - (x - z))); split; auto; discriminate.
Qed.

Lemma affine_with x : (0 <= x < m)%Z ->
  over (fun a => over (fun b => one_if (has x (affine m d a b))) (range 0 m)) (range 1 (m - 1)) = (IZR m - 1) * IZR d.
Proof.
  intros Hx. rewrite (over_ext _ (fun _ => IZR d)).
  - rewrite over_const, range_length, minus_IZR by lia. reflexivity.
  - intros a Ha. apply in_range in Ha. rewrite (over_ext _ _ _ (fun b _ => affine_has a b x ltac:(lia) Hx)), over_swap.
    rewrite (over_ext _ (fun _ => 1)) by (intros t _; apply one_shift_has, Hx). rewrite over_const, range_length by lia. ring.
Qed.

Lemma affine_with_both x z : (0 <= x < m)%Z -> (0 <= z < m)%Z -> x <> z ->
  over (fun a => over (fun b => one_if (has x (affine m d a b) && has z (affine m d a b))) (range 0 m)) (range 1 (m - 1)) =
  IZR d * (IZR d - 1).
Proof.
  intros Hx Hz E.
  rewrite (over_ext _ (fun a => over (fun t => over (fun u => over (fun b =>
    one_if ((x =? (a * t + b) mod m) && (z =? (a * u + b) mod m))%Z) (range 0 m)) (range 0 d)) (range 0 d))).
  2: { intros a Ha. apply in_range in Ha.
    rewrite (over_ext _ (fun b => over (fun t => over (fun u =>
      one_if ((x =? (a * t + b) mod m) && (z =? (a * u + b) mod m))%Z) (range 0 d)) (range 0 d))).
    - rewrite over_swap. apply over_ext. intros t _. rewrite over_swap. reflexivity.
    - intros b _. rewrite one_if_and, !affine_has, over_times by lia. apply over_ext. intros t _. apply over_ext. intros u _.
      rewrite one_if_and. reflexivity. }
  rewrite over_swap. rewrite (over_ext _ (fun t => IZR d - 1)); [rewrite over_const, range_length by lia; reflexivity|].
  intros t Ht. apply in_range in Ht. rewrite over_swap.
  rewrite (over_ext _ (fun u => 1 + -1 * one_if (u =? t)%Z)).
  - rewrite over_plus, over_scale, over_const, range_length by lia.
    rewrite (over_range_once 0 d (fun u => u =? t)%Z t); [ring | lia|]. intros u _. apply Z.eqb_eq.
  - intros u Hu. apply in_range in Hu. rewrite pairs_of_shifts by (try lia; assumption). rewrite Z.eqb_sym. destruct (u =? t)%Z; cbn; ring.
Qed.
End Affine.
