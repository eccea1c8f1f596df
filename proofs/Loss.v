(* SPDX-License-Identifier: Apache-2.0 *)
(* The expected loss of a table. A tail adds a series to it: of one period of cells m periods further out, the loss is a polynomial in m
   if all knots are nearer. *)
From Coq Require Import ZArith QArith Qround Qreals Reals List Bool Lia Lra.
From Noisewright Require Import Statement Sums Exp Lists Check Law Close Private Losses Ramps Rising.
Import ListNotations.
Local Open Scope Z_scope.

(* acc + sum of w_i (F(lo + (i+1)S) - F(lo + iS)); before is F(lo). *)
Fixpoint moment (F : Z -> Z) (S lo before : Z) (w : list Z) (acc : Z) : Z :=
  match w with
  | [] => acc
  | x :: w' => let next := F (lo + S) in moment F S (lo + S) next w' (acc + x * (next - before))
  end.

(* Cells of S points and of weights w, the first of them from the point lo on: the sum of each weight times that of the ramps at
   the points of its cell. *)
Definition ramp_moment (g : Q) (S lo : Z) (w : list Z) (r : ramp) : Q :=
  let F := cumulative g r in Qmult (r_weight r) (Qmake (moment F S lo (F lo) w 0) (Z.to_pos (unit_of g r))).
Definition moments (g : Q) (S lo : Z) (w : list Z) (l : list ramp) : Q :=
  fold_right (fun r s => Qred (Qplus (ramp_moment g S lo w r) s)) 0%Q l.

Definition degree (l : list ramp) : nat := fold_right (fun r d => Nat.max (r_degree r) d) O l.
(* Whether the knot is nearer than x; out is 1 to the right, -1 to the left. *)
Definition nearer (out : Z) (x : Q) (r : ramp) : bool :=
  match r_side r with Everywhere => true | _ => negb (Qle_bool (inject_Z out * x) (inject_Z out * r_knot r)) end.

(* At most this is the sum of weight times loss over a tail: w is its first period, from the point lo on, and start its first point.
   There the loss has to have differences that are not negative, so that it is not negative itself. *)
Definition series (t : table) (l : list ramp) (out start lo : Z) (w : list Z) : option Q :=
  let at_point m := ramps_at l (inject_Z (start + out * Z.of_nat m) * step t) in
  let in_period m := moments (step t) (points t) (lo + out * (Z.of_nat m * (cells t * points t))) w l in
  if forallb (nearer out (inject_Z start * step t)) l then
    match newton_of 0 (S (degree l)) (map at_point (seq 0 (S (degree l)))) with
    | Some _ => newton_of (ratio t # Z.to_pos (2 ^ 64 - ratio t)) (S (degree l)) (map in_period (seq 0 (S (degree l))))
    | None => None
    end
  else None.
(* The same, of which the first m periods are summed one by one: they may have knots. *)
Fixpoint tail_moment (t : table) (l : list ramp) (m : nat) (out start lo : Z) (w : list Z) : option Q :=
  match m with
  | O => series t l out start lo w
  | S m' =>
    let p := out * (cells t * points t) in
    match tail_moment t l m' out (start + p) (lo + p) w with
    | Some v => Some ((2 ^ 64 - ratio t # 2 ^ 64) * moments (step t) (points t) lo w l + (ratio t # 2 ^ 64) * v)%Q
    | None => None
    end
  end.
(* As many of them as it takes. *)
Definition tail_loss (t : table) (l : list ramp) (out start lo : Z) (w : list Z) : option Q :=
  if ratio t =? 0 then Some 0%Q else
  let periods r := match r_side r with
    | Everywhere => 0
    | _ => Qfloor ((r_knot r / step t - inject_Z start) * inject_Z out / inject_Z (cells t * points t)) + 1 end in
  tail_moment t l (Z.to_nat (fold_right Z.max 0 (map periods l))) out start lo w.

(* The first points of the middle, and of the block to its right. *)
Definition inner (t : table) : Z := first_point t + cells t * points t.
Definition outer (t : table) : Z := first_point t + (Z.of_nat (length (listed t)) - cells t) * points t.

(* 2^64 S times the expected loss is at most this. *)
Definition loss_moment (t : table) (l : list ramp) : option Q :=
  match tail_loss t l (-1) (inner t - 1) (first_point t) (left_block t), tail_loss t l 1 (outer t) (outer t) (right_block t) with
  | Some a, Some b => Some (a + b + moments (step t) (points t) (inner t) (middle t) l + inject_Z (atom t * points t) * ramps_at l 0)%Q
  | _, _ => None
  end.

Definition loss_ok (t : table) (c : loss) (claim : Q) : bool :=
  match ramps_of c with
  | None => false
  | Some l => match loss_moment t l with Some m => Qle_bool m (Qmult claim (inject_Z (2 ^ 64 * points t))) | None => false end
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

(* --- Beyond all knots --- *)

(* What a ramp is there. *)
Definition beyond (out : Z) (r : ramp) (x : R) : R :=
  match r_side r with
  | Everywhere => 1
  | Right => if (0 <? out)%Z then (x - Q2R (r_knot r)) ^ r_degree r else 0
  | Left => if (0 <? out)%Z then 0 else (Q2R (r_knot r) - x) ^ r_degree r
  end.

Lemma beyond_value out x0 r x : (out = 1 \/ out = -1)%Z -> nearer out x0 r = true -> 0 <= IZR out * (x - Q2R x0) ->
  ramp_value (r_side r) (Q2R (r_knot r)) (r_degree r) x = beyond out r x.
Proof.
  intros Ho H Hx. unfold nearer, ramp_value, beyond in *. destruct (r_side r); [| |reflexivity];
    apply negb_true_iff, Qle_bool_false in H; rewrite !Q2R_mult in H;
    replace (Q2R (inject_Z out)) with (IZR out) in H by (unfold Q2R; cbn; field);
    destruct Ho as [-> | ->]; cbn [Z.ltb Z.compare]; destruct (Rlt_dec _ _); try reflexivity; lra.
Qed.

Lemma vanishing_beyond out r k a b : (r_degree r < k)%nat -> vanishing k (fun m => beyond out r (a * INR m + b)).
Proof.
  intros Hk. unfold beyond. destruct (r_side r); [destruct (0 <? out)%Z | destruct (0 <? out)%Z |]; try apply vanishing_zero.
  - apply (vanishing_more (S (r_degree r))); [lia|].
    apply (vanishing_ext _ (fun m => (a * INR m + (b - Q2R (r_knot r))) ^ r_degree r)); [intros; f_equal; ring | apply vanishing_power].
  - apply (vanishing_more (S (r_degree r))); [lia|].
    apply (vanishing_ext _ (fun m => (- a * INR m + (Q2R (r_knot r) - b)) ^ r_degree r)); [intros; f_equal; ring | apply vanishing_power].
  - apply (vanishing_more 1); [lia|]. intros m. unfold diff. ring.
Qed.

Lemma vanishing_ramps out x0 a b l : (out = 1 \/ out = -1)%Z -> forallb (nearer out x0) l = true ->
  (forall m, 0 <= IZR out * (a * INR m + b - Q2R x0)) -> vanishing (S (degree l)) (fun m => ramps_value l (a * INR m + b)).
Proof.
  intros Ho H Hx. assert (Hd : (degree l < S (degree l))%nat) by lia. revert Hd. generalize (S (degree l)). intros k Hd.
  unfold ramps_value. induction l as [|r l IH]; cbn [fold_right]; [apply vanishing_zero|].
  cbn [forallb] in H. apply andb_true_iff in H as [H1 H2]. cbn [degree fold_right] in Hd. fold (degree l) in Hd.
  set (f := fun m => fold_right (fun r s => Q2R (r_weight r) * ramp_value (r_side r) (Q2R (r_knot r)) (r_degree r) (a * INR m + b) + s) 0 l) in *.
  apply (vanishing_ext k (fun m => Q2R (r_weight r) * beyond out r (a * INR m + b) + 1 * f m)).
  - intros m. unfold f. rewrite (beyond_value out x0 r) by auto. ring.
  - apply vanishing_linear; [apply vanishing_beyond; lia | apply IH; [exact H2 | lia]].
Qed.

Section Table.
Variables (t : table) (l : list ramp).
Hypothesis formed : well_formed t = true.

Let g := Q2R (step t).
Let S := points t.
Let s := Z.to_nat S.
Let K := cells t.
Let k := period t.
Let n := Z.of_nat (length (listed t)).
Let base := first_point t.
Let C (y : Z) : R := ramps_value l (IZR y * g).

Let S_pos : (0 < S)%Z. Proof. apply (formed_parts t formed). Qed.
Let s_is : Z.of_nat s = S. Proof. unfold s. lia. Qed.
Let K_pos : (0 < K /\ 2 * K < n)%Z. Proof. pose proof (formed_parts t formed) as P. split; apply P. Qed.
Let k_is : Z.of_nat k = K. Proof. apply (sizes t formed). Qed.
Let g_pos : 0 < g. Proof. apply Q2R_pos, (formed_parts t formed). Qed.
Let SR_pos : 0 < IZR S. Proof. apply IZR_lt. exact S_pos. Qed.

(* --- Moments --- *)

Let along (r : ramp) (y : Z) : R := ramp_value (r_side r) (Q2R (r_knot r)) (r_degree r) (IZR y * g).
Definition weighed (lo : Z) (w : list Z) (f : Z -> R) : R := sum (fun i => IZR (at_place w i) * sum f (lo + i * S) s) 0 (length w).

Lemma weighed_linear lo w a f b h : weighed lo w (fun y => a * f y + b * h y) = a * weighed lo w f + b * weighed lo w h.
Proof.
  unfold weighed. rewrite <- !sum_scale, <- sum_plus. apply sum_ext. intros i _. rewrite sum_plus, !sum_scale. ring.
Qed.

Lemma ramp_moment_is lo w r : Q2R (ramp_moment (step t) S lo w r) = Q2R (r_weight r) * weighed lo w (along r).
Proof.
  unfold ramp_moment. rewrite Q2R_mult. f_equal. pose proof (formed_parts t formed) as P.
  assert (HU : (0 < unit_of (step t) r)%Z) by (unfold unit_of; destruct (r_side r); try lia; apply Z.pow_pos_nonneg; unfold shared; lia).
  unfold Q2R. cbn [Qnum Qden]. rewrite Z2Pos.id by exact HU.
  rewrite (moment_sum _ (fun y => IZR (unit_of (step t) r) * along r y) S s).
  - rewrite Rplus_0_l. unfold weighed.
    rewrite (sum_ext _ (fun i => IZR (unit_of (step t) r) * (IZR (at_place w i) * sum (along r) (lo + i * S) s)))
      by (intros; rewrite sum_scale; ring).
    rewrite sum_scale. apply IZR_lt in HU. field. lra.
  - intros y. apply cumulative_step. apply P.
  - exact s_is.
Qed.

Lemma moments_are lo w : Q2R (moments (step t) S lo w l) = weighed lo w C.
Proof.
  unfold C. induction l as [|r l' IH].
  - cbn. unfold weighed. rewrite sum_zero; [unfold Q2R; cbn; ring|]. intros i _. rewrite (sum_zero (fun _ => 0)) by auto. ring.
  - unfold moments, ramps_value. cbn [fold_right]. fold (moments (step t) S lo w l').
    rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_plus, IH, ramp_moment_is.
    rewrite <- (Rmult_1_l (weighed lo w (fun y => ramps_value l' _))).
    rewrite <- weighed_linear. unfold weighed. apply sum_ext. intros i _. f_equal. apply sum_ext. intros y _. unfold along, ramps_value. ring.
Qed.

(* --- What the law adds where the points are --- *)

Let T_pos' := T_pos.
Let added (y : Z) : R := spread (cell t) S base y * C y.

(* Over cells of which each has c times its weight. *)
Lemma added_sum c lo j w : lo = (base + j * S)%Z ->
  (forall i, (0 <= i < Z.of_nat (length w))%Z -> cell t (j + i) = c * IZR (at_place w i)) ->
  sum added lo (length w * s) = c / IZR S * weighed lo w C.
Proof.
  intros -> Hw. unfold weighed. rewrite <- sum_scale, sum_blocks. apply sum_ext. intros i Hi. rewrite Z.add_0_l in Hi.
  rewrite <- Rmult_assoc, <- sum_scale, s_is. apply sum_ext. intros y Hy. rewrite s_is in Hy. unfold added, spread.
  replace ((y - base) / S)%Z with (j + i)%Z by (apply Z.div_unique with (y - (base + (j + i) * S))%Z; lia).
  rewrite Hw by lia. field. lra.
Qed.

Lemma cell_right_far (m : nat) i : (n - K <= i < n)%Z ->
  cell t (i + Z.of_nat m * K) = / T * (1 - rho t) * rho t ^ m * IZR (at_place (listed t) i).
Proof.
  intros Hi. induction m; cbn [pow].
  - rewrite Z.mul_0_l, Z.add_0_r. rewrite (proj2 (cell_right t formed i (proj1 Hi)) (proj2 Hi)). unfold Rdiv. ring.
  - replace (i + Z.of_nat (Datatypes.S m) * K)%Z with (i + Z.of_nat m * K + K)%Z by lia.
    destruct (cell_right t formed (i + Z.of_nat m * K)) as [E _]; [fold n K; nia|]. fold K in E. rewrite E, IHm. ring.
Qed.
Lemma cell_left_far (m : nat) i : (0 <= i < K)%Z ->
  cell t (i - Z.of_nat m * K) = / T * (1 - rho t) * rho t ^ m * IZR (at_place (listed t) i).
Proof.
  intros Hi. induction m; cbn [pow].
  - rewrite Z.mul_0_l, Z.sub_0_r. rewrite (proj2 (cell_left t formed i (proj2 Hi)) (proj1 Hi)). unfold Rdiv. ring.
  - replace (i - Z.of_nat (Datatypes.S m) * K)%Z with (i - Z.of_nat m * K - K)%Z by lia.
    destruct (cell_left t formed (i - Z.of_nat m * K)) as [E _]; [fold n K; nia|]. fold K in E. rewrite E, IHm. ring.
Qed.

(* --- A tail --- *)

Lemma inject_value z : Q2R (inject_Z z) = IZR z.
Proof. unfold Q2R. cbn. field. Qed.

Lemma point_value z : ramps_value l (Q2R (inject_Z z * step t)) = C z.
Proof. rewrite Q2R_mult, inject_value. reflexivity. Qed.

(* start is its first point and lo that of its first period; w and i0 are the weights of that period and the place of the first. *)
Section Tail.
Variables (out : Z) (w : list Z).
Hypothesis w_length : length w = k.
Definition is_start (start lo i0 : Z) : Prop :=
  (lo = base + i0 * S /\ (out = 1 /\ start = lo \/ out = -1 /\ start = lo + K * S - 1))%Z.
(* All cells are p times what a period and its weights say. *)
Definition are_cells (p : R) (i0 : Z) : Prop := forall m i, (0 <= i < K)%Z ->
  cell t (i0 + i + out * (Z.of_nat m * K)) = p * ((1 - rho t) * rho t ^ m * IZR (at_place w i)).
Definition from (start y : Z) : R := if (0 <=? out * (y - start))%Z then added y else 0.

Lemma from_period start lo i0 p m : is_start start lo i0 -> are_cells p i0 ->
  sum (from start) (lo + out * (Z.of_nat m * (K * S))) (k * s) =
  p / IZR S * ((1 - rho t) * rho t ^ m * weighed (lo + out * (Z.of_nat m * (K * S))) w C).
Proof.
  intros [Hlo Ho] Hcell. rewrite (sum_ext _ added).
  - rewrite <- w_length. rewrite (added_sum (p * ((1 - rho t) * rho t ^ m)) _ (i0 + out * (Z.of_nat m * K)) w).
    + field. lra.
    + rewrite Hlo. ring.
    + intros i Hi. rewrite w_length, k_is in Hi. rewrite Rmult_assoc, <- Hcell by exact Hi. f_equal. ring.
  - intros y Hy. rewrite Nat2Z.inj_mul, k_is, s_is in Hy. unfold from. destruct (Z.leb_spec 0 (out * (y - start))); [reflexivity|].
    assert (0 <= Z.of_nat m * (K * S))%Z by (pose proof K_pos; nia). destruct Ho as [(-> & Hs) | (-> & Hs)]; lia.
Qed.

Lemma series_sound start lo i0 p v : 0 <= p -> is_start start lo i0 -> are_cells p i0 -> series t l out start lo w = Some v ->
  exists a, sums_to (from start) a /\ a <= p / IZR S * Q2R v.
Proof.
  intros Hp Hstart Hcell H. pose proof (rho_range t formed) as Hr. pose proof Hstart as [Hlo Ho].
  assert (Hout : (out = 1 \/ out = -1)%Z) by tauto. unfold series in H.
  destruct (forallb _ l) eqn:Hn; [|discriminate]. destruct (newton_of 0 _ _) as [v0|] eqn:H0; [|discriminate].
  set (d := Datatypes.S (degree l)) in *. set (A := fun m => weighed (lo + out * (Z.of_nat m * (K * S))) w C).
  (* the points there, along lines *)
  assert (Hline : forall a b, (0 <= a)%Z -> (0 <= out * (b - start))%Z -> vanishing d (fun m => C (b + out * (Z.of_nat m * a)))).
  { intros a b Ha Hb. apply (vanishing_ext d (fun m => ramps_value l (IZR (out * a) * g * INR m + IZR b * g))).
    - intros m. unfold C. f_equal. rewrite plus_IZR, !mult_IZR, INR_IZR_INZ. ring.
    - apply (vanishing_ramps out (inject_Z start * step t)); [exact Hout | exact Hn|]. intros m.
      rewrite Q2R_mult, inject_value. fold g. apply IZR_le in Ha, Hb. rewrite mult_IZR, minus_IZR in Hb. rewrite mult_IZR.
      pose proof (pos_INR m). assert (0 <= IZR a * INR m) by (apply Rmult_le_pos; auto).
      replace (IZR out * (IZR out * IZR a * g * INR m + IZR b * g - IZR start * g))
        with (g * (IZR out * IZR out * (IZR a * INR m) + IZR out * (IZR b - IZR start))) by ring.
      apply Rmult_le_pos; [lra|]. destruct Hout as [-> | ->]; lra. }
  apply newton_of_is with (f := fun m => C (start + out * Z.of_nat m)) in H0 as [R1 _];
    [|apply values_of_map; intros m; rewrite ramps_at_value; apply point_value].
  apply newton_of_is with (f := A) in H as [R2 HN]; [|apply values_of_map; intros m; apply moments_are].
  assert (V1 : vanishing d (fun m => C (start + out * Z.of_nat m))).
  { apply (vanishing_ext d (fun m => C (start + out * (Z.of_nat m * 1)))); [intros; do 2 f_equal; ring | apply Hline; lia]. }
  assert (V2 : vanishing d A).
  { apply (vanishing_ext d (fun m => sum (fun i => sum (fun y => IZR (at_place w i) * C (y + out * (Z.of_nat m * (K * S)))) (lo + i * S) s) 0 (length w))).
    - intros m. unfold A, weighed. apply sum_ext. intros i _. rewrite sum_scale. f_equal.
      rewrite (sum_moved C). f_equal. ring.
    - apply vanishing_sum. intros i Hi. rewrite w_length, k_is in Hi. apply vanishing_sum. intros y Hy. rewrite s_is in Hy.
      apply (vanishing_ext d (fun m => IZR (at_place w i) * C (y + out * (Z.of_nat m * (K * S))) + 0 * 0)); [intros; ring|].
      apply (vanishing_linear d _ (fun _ => 0)); [apply Hline; nia | apply vanishing_zero]. }
  assert (Hq : Q2R (ratio t # Z.to_pos (2 ^ 64 - ratio t)) * (1 - rho t) = rho t /\ 0 <= Q2R (ratio t # Z.to_pos (2 ^ 64 - ratio t))).
  { assert (P : (0 <= ratio t < 2 ^ 64)%Z) by apply (formed_parts t formed). unfold Q2R, rho. cbn [Qnum Qden].
    rewrite Z2Pos.id, minus_IZR by lia. fold T. destruct P as [P1 P2]. apply IZR_le in P1. apply IZR_lt in P2. fold T in P2.
    split; [field; lra | apply Rdiv_nonneg; lra]. }
  rewrite <- HN. apply (tail_sums (from start) (k * s) out lo A (rho t)).
  - exact Hout.
  - apply Rdiv_nonneg; lra.
  - pose proof K_pos. nia.
  - intros y. unfold from. destruct (Z.leb_spec 0 (out * (y - start))) as [Hy|]; [|lra]. unfold added. apply Rmult_le_pos.
    + apply spread_nonneg; [exact S_pos | apply (cell_nonneg t formed)].
    + pose proof (rising_nonneg _ _ V1 R1 (Z.to_nat (out * (y - start)))) as HC. cbv beta in HC. rewrite Z2Nat.id in HC by exact Hy.
      replace (start + out * (out * (y - start)))%Z with y in HC by (destruct Hout as [-> | ->]; lia). exact HC.
  - intros y Hy. rewrite Nat2Z.inj_mul, k_is, s_is in Hy. unfold from. destruct (Z.leb_spec 0 (out * (y - start))); [nia | reflexivity].
  - intros m. rewrite Nat2Z.inj_mul, k_is, s_is. apply (from_period start lo i0); assumption.
  - apply geometric_le; [apply Hr | apply Hq | apply Hq | exact V2 | exact R2].
Qed.

Lemma tail_moment_sound m : forall start lo i0 p v, 0 <= p -> is_start start lo i0 -> are_cells p i0 ->
  tail_moment t l m out start lo w = Some v -> exists a, sums_to (from start) a /\ a <= p / IZR S * Q2R v.
Proof.
  pose proof (rho_range t formed) as Hr. pose proof T_pos as HT.
  induction m as [|m IH]; intros start lo i0 p v Hp Hstart Hcell H; [exact (series_sound start lo i0 p v Hp Hstart Hcell H)|].
  cbn [tail_moment] in H. fold K S in H. destruct (tail_moment t l m out _ _ w) as [v'|] eqn:Hv'; [|discriminate].
  destruct (IH (start + out * (K * S))%Z (lo + out * (K * S))%Z (i0 + out * K)%Z (p * rho t) v') as (a & Ha & Ba).
  { nra. }
  { destruct Hstart as [Hlo Ho]. split; [rewrite Hlo; ring|]. destruct Ho as [(-> & Hs) | (-> & Hs)]; [left | right]; split; lia. }
  { intros j i Hi. replace (i0 + out * K + i + out * (Z.of_nat j * K))%Z with (i0 + i + out * (Z.of_nat (Datatypes.S j) * K))%Z by lia.
    rewrite Hcell by exact Hi. cbn [pow]. ring. }
  { exact Hv'. }
  pose proof (from_period start lo i0 p 0 Hstart Hcell) as H0. cbn [pow Z.of_nat] in H0. rewrite Z.mul_0_l, Z.mul_0_r, Z.add_0_r in H0.
  assert (Hks : Z.of_nat (k * s) = (K * S)%Z) by (rewrite Nat2Z.inj_mul, k_is, s_is; reflexivity).
  assert (HKS : (0 < K * S)%Z) by (pose proof K_pos; nia). destruct Hstart as [Hlo Ho].
  set (f0 := fun y => if ((lo <=? y) && (y <? lo + K * S))%Z then from start y else 0).
  assert (S0 : sums_to f0 (sum f0 lo (k * s))).
  { apply sums_to_finite. intros y Hy. unfold f0. destruct (Z.leb_spec lo y), (Z.ltb_spec y (lo + K * S)); try reflexivity; lia. }
  rewrite (sum_ext f0 (from start)), H0 in S0.
  2:{ intros y Hy. unfold f0. destruct (Z.leb_spec lo y), (Z.ltb_spec y (lo + K * S)); try reflexivity; lia. }
  eexists. split; [refine (sums_to_ext _ _ _ _ (sums_to_linear _ _ _ _ 1 1 S0 Ha))|].
  - intros y. unfold f0, from. destruct Ho as [(-> & Hs) | (-> & Hs)];
      destruct (Z.leb_spec lo y), (Z.ltb_spec y (lo + K * S)); cbn [andb];
      repeat match goal with |- context [(0 <=? ?x)%Z] => destruct (Z.leb_spec 0 x) end; try lia; ring.
  - replace v with ((2 ^ 64 - ratio t # 2 ^ 64) * moments (step t) S lo w l + (ratio t # 2 ^ 64) * v')%Q by congruence.
    rewrite Q2R_plus, !Q2R_mult, moments_are.
    replace (Q2R (2 ^ 64 - ratio t # 2 ^ 64)) with (1 - rho t).
    2:{ unfold rho, Q2R. cbn [Qnum Qden]. rewrite minus_IZR. fold T. change (IZR (Zpos (2 ^ 64))) with T. field. lra. }
    replace (Q2R (ratio t # 2 ^ 64)) with (rho t) by reflexivity.
    replace (p / IZR S * ((1 - rho t) * weighed lo w C + rho t * Q2R v'))
      with (p / IZR S * ((1 - rho t) * 1 * weighed lo w C) + p * rho t / IZR S * Q2R v') by (field; lra). lra.
Qed.

Lemma tail_sound start lo i0 v : is_start start lo i0 -> (out = 1 /\ i0 = n - K \/ out = -1 /\ i0 = 0)%Z -> are_cells (/ T) i0 ->
  tail_loss t l out start lo w = Some v -> exists a, sums_to (from start) a /\ a <= / (T * IZR S) * Q2R v.
Proof.
  intros Hstart Hi0 Hcell H. pose proof T_pos as HT. unfold tail_loss in H. destruct (Z.eqb_spec (ratio t) 0) as [R0|R0].
  - (* without a tail nothing is there *)
    destruct Hstart as [Hlo Ho]. exists 0. replace v with 0%Q by congruence. split; [|unfold Q2R; cbn; lra].
    replace 0 with (sum (from start) 0 0) by reflexivity. apply sums_to_finite. intros y _. unfold from.
    destruct (Z.leb_spec 0 (out * (y - start))); [|reflexivity]. unfold added, spread.
    destruct (no_tail_cell t formed ((y - base) / S) R0) as [E Z0]. rewrite E, Z0; [unfold Rdiv; ring|]. fold K n.
    destruct Ho as [(-> & Hs) | (-> & Hs)]; [right | left].
    + apply Z.div_le_lower_bound; lia.
    + apply Z.div_lt_upper_bound; lia.
  - destruct (tail_moment_sound _ start lo i0 (/ T) v ltac:(left; apply Rinv_0_lt_compat, HT) Hstart Hcell H) as (a & Ha & Ba).
    exists a. split; [exact Ha|]. replace (/ (T * IZR S)) with (/ T / IZR S) by (field; lra). exact Ba.
Qed.
End Tail.

Theorem loss_moment_sound m : loss_moment t l = Some m -> exists L, sums_to (fun y => law t y * C y) L /\ L <= / (T * IZR S) * Q2R m.
Proof.
  intros H. unfold loss_moment in H.
  destruct (tail_loss t l (-1) _ _ _) as [va|] eqn:Ha; [|discriminate].
  destruct (tail_loss t l 1 _ _ _) as [vb|] eqn:Hb; [|discriminate].
  destruct (block_lengths t formed) as (L1 & L2 & L3 & _). destruct (sizes t formed) as (_ & HN & _). pose proof T_pos as HT. pose proof K_pos as HK.
  destruct (tail_sound (-1) (left_block t) L1 (inner t - 1) base 0 va) as (a & Sa & Ba).
  { split; [ring | right; split; reflexivity]. }
  { right. split; reflexivity. }
  { intros j i Hi. replace (0 + i + -1 * (Z.of_nat j * K))%Z with (i - Z.of_nat j * K)%Z by ring.
    rewrite cell_left_far by exact Hi. unfold left_block. rewrite at_firstn by (fold k; lia). ring. }
  { exact Ha. }
  destruct (tail_sound 1 (right_block t) L3 (outer t) (outer t) (n - K) vb) as (b & Sb & Bb).
  { split; [reflexivity | left; split; reflexivity]. }
  { left. split; reflexivity. }
  { intros j i Hi. replace (n - K + i + 1 * (Z.of_nat j * K))%Z with (n - K + i + Z.of_nat j * K)%Z by ring.
    rewrite cell_right_far by lia. unfold right_block. rewrite at_skipn by lia. fold k.
    replace (n - K + i)%Z with (i + Z.of_nat (length (listed t) - k))%Z by (unfold n in *; lia). ring. }
  { exact Hb. }
  set (M := (length (middle t) * s)%nat).
  set (fm := fun y => if ((inner t <=? y) && (y <? outer t))%Z then added y else 0).
  set (fa := fun y => if (y =? 0)%Z then mass_of_atom t * C 0 else 0).
  assert (HM : (inner t + Z.of_nat M)%Z = outer t).
  { unfold M. rewrite Nat2Z.inj_mul, s_is, L2. unfold inner, outer. fold K S k n base.
    replace (Z.of_nat (length (listed t) - 2 * k)) with (n - 2 * K)%Z by (unfold n; fold k in HN; lia). ring. }
  assert (Sm : sums_to fm (sum fm (inner t) M)).
  { apply sums_to_finite. intros y Hy. unfold fm. destruct (Z.leb_spec (inner t) y), (Z.ltb_spec y (outer t)); try reflexivity; lia. }
  assert (Sf : sums_to fa (sum fa 0 1)).
  { apply sums_to_finite. intros y Hy. unfold fa. destruct (Z.eqb_spec y 0); [lia | reflexivity]. }
  assert (Em : sum fm (inner t) M = / (T * IZR S) * weighed (inner t) (middle t) C).
  { rewrite (sum_ext fm added).
    - unfold M. rewrite (added_sum (/ T) (inner t) K (middle t)); [field; lra | reflexivity|].
      intros i Hi. rewrite L2 in Hi. fold k n in Hi. rewrite cell_middle by (auto; fold K n; unfold n; lia).
      unfold middle. rewrite at_skipn, at_firstn by (fold k; lia). unfold Rdiv. rewrite Rmult_comm. do 3 f_equal. fold k. lia.
    - intros y Hy. rewrite HM in Hy. unfold fm. destruct (Z.leb_spec (inner t) y), (Z.ltb_spec y (outer t)); try reflexivity; lia. }
  exists (1 * (1 * a + 1 * b) + 1 * (1 * sum fm (inner t) M + 1 * sum fa 0 1)). split.
  - refine (sums_to_ext _ _ _ _ (sums_to_linear _ _ _ _ 1 1 (sums_to_linear _ _ _ _ 1 1 Sa Sb) (sums_to_linear _ _ _ _ 1 1 Sm Sf))).
    intros y. rewrite (law_of_cells t y formed). unfold with_atom. fold S base. fold (added y).
    replace ((spread (cell t) S base y + (if (y =? 0)%Z then mass_of_atom t else 0)) * C y) with (added y + fa y).
    + assert (Hio : (inner t < outer t)%Z) by (unfold inner, outer; fold K S n; nia). unfold fm, from.
      destruct (Z.leb_spec 0 (-1 * (y - (inner t - 1)))), (Z.leb_spec 0 (1 * (y - outer t))), (Z.leb_spec (inner t) y), (Z.ltb_spec y (outer t));
        cbn [andb]; try lia; ring.
    + unfold fa, added. destruct (Z.eqb_spec y 0) as [->|]; ring.
  - replace m with (va + vb + moments (step t) (points t) (inner t) (middle t) l + inject_Z (atom t * points t) * ramps_at l 0)%Q by congruence.
    rewrite !Q2R_plus, Q2R_mult, inject_value, moments_are, ramps_at_value.
    unfold fa. cbn [sum Z.add Z.of_nat Z.eqb]. unfold C at 1. rewrite mult_IZR. fold S. replace (Q2R 0) with (0 * g) by (unfold Q2R; cbn; ring).
    unfold mass_of_atom. replace (/ (T * IZR S) * (Q2R va + Q2R vb + weighed (inner t) (middle t) C + IZR (atom t) * IZR S * ramps_value l (0 * g)))
      with (/ (T * IZR S) * Q2R va + / (T * IZR S) * Q2R vb + / (T * IZR S) * weighed (inner t) (middle t) C + IZR (atom t) / T * ramps_value l (0 * g))
      by (field; lra). rewrite <- Em. lra.
Qed.
End Table.

Theorem loss_sound t c claim : well_formed t = true -> loss_ok t c claim = true ->
  exists L, expected_loss t (loss_value c) L /\ L <= Q2R claim.
Proof.
  intros formed H. unfold loss_ok in H. destruct (ramps_of c) as [l|] eqn:Hl; [|discriminate].
  destruct (loss_moment t l) as [m|] eqn:Hm; [|discriminate]. destruct (loss_moment_sound t l formed m Hm) as (L & HL & HB).
  exists L. split.
  - apply (sums_to_ext (fun y => law t y * ramps_value l (IZR y * Q2R (step t)))); [|exact HL].
    intros y. rewrite (ramps_of_value c l _ Hl). reflexivity.
  - apply Qle_bool_true in H. rewrite Q2R_mult in H. pose proof T_pos. pose proof (formed_parts t formed) as P.
    assert (HS : 0 < IZR (points t)) by (apply IZR_lt, P).
    replace (Q2R (inject_Z (2 ^ 64 * points t))) with (T * IZR (points t)) in H by (unfold T, Q2R; cbn [Qnum Qden inject_Z]; rewrite mult_IZR; field).
    eapply Rle_trans; [exact HB|]. apply Rmult_le_reg_l with (T * IZR (points t)); [nra|]. rewrite <- Rmult_assoc, Rinv_r by nra. lra.
Qed.
