(* SPDX-License-Identifier: Apache-2.0 *)
(* A loss as a sum of ramps, the parts of (x - k)^d that are on one side of the knot k, and constants; and their sums over grid
   points. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Lia Lra.
From Noisewright Require Import Statement Sums Losses.
Import ListNotations.
Local Open Scope Z_scope.

Inductive side := Right | Left | Everywhere.   (* Everywhere: 1 *)
Record ramp := { r_weight : Q; r_side : side; r_knot : Q; r_degree : nat }.

(* A ramp at a point, and several of them with their weights. *)
Fixpoint power_of (q : Q) (d : nat) : Q := match d with O => 1%Q | S d' => (q * power_of q d')%Q end.
Definition ramp_at (r : ramp) (x : Q) : Q :=
  match r_side r with
  | Right => if Qle_bool x (r_knot r) then 0 else power_of (x - r_knot r) (r_degree r)
  | Left => if Qle_bool (r_knot r) x then 0 else power_of (r_knot r - x) (r_degree r)
  | Everywhere => 1
  end.
Definition ramps_at (l : list ramp) (x : Q) : Q := fold_right (fun r s => Qred (r_weight r * ramp_at r x + s)) 0%Q l.

(* A piecewise linear function, up to a constant: at a jump upwards it has the value to the left, else that to the right. *)
Fixpoint ramps_of_pieces (slope : Q) (l : list (Q * Q * Q)) : list ramp :=
  match l with
  | [] => []
  | (knot, next, jump) :: l' =>
    {| r_weight := Qred (next - slope); r_side := Right; r_knot := knot; r_degree := 1 |} ::
    (if Qle_bool jump 0 then
       if Qeq_bool jump 0 then [] else
       [{| r_weight := jump; r_side := Everywhere; r_knot := 0; r_degree := 0 |}; {| r_weight := - jump; r_side := Left; r_knot := knot; r_degree := 0 |}]
     else [{| r_weight := jump; r_side := Right; r_knot := knot; r_degree := 0 |}]) ++ ramps_of_pieces next l'
  end.
Definition line_through_0 (slope : Q) : list ramp :=
  [{| r_weight := slope; r_side := Right; r_knot := 0; r_degree := 1 |}; {| r_weight := - slope; r_side := Left; r_knot := 0; r_degree := 1 |}].
Definition smaller_of (a b : Q) : Q := if Qle_bool a b then a else b.
(* Its ramps with the constant that makes its least value at a knot 0. *)
Definition ramps_of_piecewise (slope : Q) (l : list (Q * Q * Q)) : list ramp :=
  let r := line_through_0 slope ++ ramps_of_pieces slope l in
  let at_knot (s : Q * Q * Q) := ramps_at r (fst (fst s)) in
  {| r_weight := - fold_right smaller_of (at_knot (hd (0, 0, 0)%Q l)) (map at_knot l); r_side := Everywhere; r_knot := 0; r_degree := 0 |} :: r.
Definition weighing (w : Q) (r : ramp) : ramp :=
  {| r_weight := Qred (w * r_weight r); r_side := r_side r; r_knot := r_knot r; r_degree := r_degree r |}.

(* None: no theorem is about the term. *)
Definition ramps_of_term (w : Q) (c : term) : option (list ramp) :=
  let r a right k d := {| r_weight := Qred (w * a); r_side := if right : bool then Right else Left; r_knot := k; r_degree := d |} in
  let around t d := [r 1%Q true t d; r 1%Q false (- t)%Q d] in
  match c with
  | Power (S d) => Some (around 0%Q (S d))
  | Pinball tau => Some [r tau true 0%Q 1%nat; r (1 - tau)%Q false 0%Q 1%nat]
  | Asymmetric a b => Some [r b true 0%Q 1%nat; r a false 0%Q 1%nat]
  | Huber t => if 0 <? Qnum t then Some [r (1 # 2) true 0%Q 2%nat; r (1 # 2) false 0%Q 2%nat; r (- 1 # 2) true t 2%nat; r (- 1 # 2) false (- t)%Q 2%nat] else None
  | Deadzone t => if 0 <? Qnum t then Some (around t 1%nat) else None
  | Exceed t => if 0 <? Qnum t then Some (around t 0%nat) else None
  | Piecewise slope l => Some (map (weighing w) (ramps_of_piecewise slope l))
  | _ => None
  end.
Fixpoint ramps_of (c : loss) : option (list ramp) :=
  match c with
  | [] => Some []
  | (w, t) :: c' => match ramps_of_term w t, ramps_of c' with Some a, Some b => Some (a ++ b) | _, _ => None end
  end.

(* --- Sums of (Gi + C)^d over i = 0, ..., m-1, in falling factorials i(i-1)...(i-k+1) --- *)

Fixpoint falling (i : Z) (k : nat) : Z := match k with O => 1 | S k' => falling i k' * (i - Z.of_nat k') end.
Fixpoint combine_falling (l : list Z) (i : Z) (k : nat) : Z :=
  match l with [] => 0 | a :: l' => a * falling i k + combine_falling l' i (S k) end.
(* (Gi + C) times one of them: i * falling i k = falling i (k+1) + k * falling i k. *)
Fixpoint times_linear (G C : Z) (k : nat) (before : Z) (l : list Z) : list Z :=
  match l with
  | [] => [G * before]
  | a :: l' => (a * (G * Z.of_nat k + C) + G * before) :: times_linear G C (S k) a l'
  end.
Fixpoint linear_power (G C : Z) (d : nat) : list Z :=
  match d with O => [1] | S d' => times_linear G C 0 0 (linear_power G C d') end.
Fixpoint summed (l : list Z) (m : Z) (k : nat) : Z :=
  match l with [] => 0 | a :: l' => a * (falling m (S k) / Z.of_nat (S k)) + summed l' m (S k) end.

Lemma falling_next m k : falling (m + 1) (S k) = (m + 1) * falling m k.
Proof. induction k; cbn [falling] in *; [lia|]. rewrite IHk. nia. Qed.

Lemma falling_step m k : falling (m + 1) (S k) = falling m (S k) + Z.of_nat (S k) * falling m k.
Proof. rewrite falling_next. cbn [falling]. nia. Qed.

Lemma falling_divides m k : (Z.of_nat (S k) | falling (Z.of_nat m) (S k)).
Proof.
  induction m.
  - exists 0. clear. induction k; [reflexivity|]. cbn [falling] in *. rewrite IHk. lia.
  - rewrite (Nat2Z.inj_succ m), <- Z.add_1_r, falling_step. apply Z.divide_add_r; [exact IHm | apply Z.divide_factor_l].
Qed.

Lemma summed_step l : forall m k, 0 <= m -> summed l (m + 1) k = summed l m k + combine_falling l m k.
Proof.
  induction l as [|a l IH]; intros m k Hm; cbn [summed combine_falling]; [lia|]. rewrite IH by exact Hm.
  destruct (falling_divides (Z.to_nat m) k) as [q Hq]. rewrite Z2Nat.id in Hq by exact Hm.
  rewrite falling_step, Hq. replace (q * Z.of_nat (S k) + Z.of_nat (S k) * falling m k) with ((q + falling m k) * Z.of_nat (S k)) by lia.
  rewrite !Z.div_mul by lia. lia.
Qed.

Lemma times_linear_is G C i l : forall k before,
  combine_falling (times_linear G C k before l) i k =
  (G * i + C) * combine_falling l i k + G * before * falling i k.
Proof.
  induction l as [|a l IH]; intros k before; cbn [times_linear combine_falling]; [lia|]. rewrite IH. cbn [falling]. nia.
Qed.

Lemma linear_power_is G C i d : combine_falling (linear_power G C d) i 0 = (G * i + C) ^ Z.of_nat d.
Proof.
  induction d; [reflexivity|]. cbn [linear_power]. rewrite times_linear_is, IHd, Nat2Z.inj_succ, Z.pow_succ_r by lia. lia.
Qed.

(* --- Ramps on the grid, in units of 1/unit --- *)

(* (ng - k) = (Gn + C)/D for g = Gn/Gd and k = Kn/Kd. *)
Definition slope (g k : Q) : Z := Qnum g * Zpos (Qden k).
Definition shared (g k : Q) : Z := Zpos (Qden g) * Zpos (Qden k).
(* What increases by D^d (ng - k)^d from n to n+1 if ng > k, and not otherwise. *)
Definition cumulated (g k : Q) (d : nat) : Z -> Z :=
  let G := slope g k in
  let C := - (Qnum k * Zpos (Qden g)) in
  let n0 := (- C) / G + 1 in
  let l := linear_power G (G * n0 + C) d in
  fun n => summed l (Z.max 0 (n - n0)) 0.
Definition cumulative (g : Q) (r : ramp) : Z -> Z :=
  match r_side r with
  | Right => cumulated g (r_knot r) (r_degree r)
  | Left => let F := cumulated g (- r_knot r)%Q (r_degree r) in fun n => - F (1 - n)
  | Everywhere => fun n => n
  end.
Definition unit_of (g : Q) (r : ramp) : Z := match r_side r with Everywhere => 1 | _ => shared g (r_knot r) ^ Z.of_nat (r_degree r) end.

Local Open Scope R_scope.

Definition ramp_value (s : side) (k : R) (d : nat) (x : R) : R :=
  match s with
  | Right => if Rlt_dec k x then (x - k) ^ d else 0
  | Left => if Rlt_dec x k then (k - x) ^ d else 0
  | Everywhere => 1
  end.

Lemma Q2R_pos q : (0 < Qnum q)%Z -> 0 < Q2R q.
Proof. intros. apply Rmult_lt_0_compat; [apply IZR_lt; auto | apply Rinv_0_lt_compat, IZR_lt; lia]. Qed.

Lemma linear_is g k n : IZR (slope g k * n + - (Qnum k * Zpos (Qden g))) = IZR (shared g k) * (IZR n * Q2R g - Q2R k).
Proof.
  unfold slope, shared, Q2R. rewrite plus_IZR, opp_IZR, !mult_IZR. field. split; apply IZR_neq; lia.
Qed.

Lemma cumulated_step g k d n : (0 < Qnum g)%Z ->
  IZR (cumulated g k d (n + 1)) - IZR (cumulated g k d n) = IZR (shared g k ^ Z.of_nat d) * ramp_value Right (Q2R k) d (IZR n * Q2R g).
Proof.
  intros Hg. unfold cumulated. set (G := slope g k). set (C := (- (Qnum k * Zpos (Qden g)))%Z). set (n0 := ((- C) / G + 1)%Z).
  set (l := linear_power G (G * n0 + C) d).
  assert (HG : (0 < G)%Z) by (unfold G, slope; lia).
  assert (HD : 0 < IZR (shared g k)) by (apply IZR_lt; unfold shared; lia).
  pose proof (linear_is g k n) as HL. fold G C in HL.
  pose proof (Z.mul_div_le (- C) G HG). pose proof (Z.mul_succ_div_gt (- C) G HG).
  unfold ramp_value. destruct (Z_lt_le_dec n n0) as [Hn|Hn].
  - rewrite !Z.max_l by lia. destruct (Rlt_dec _ _) as [Hx|]; [|ring]. exfalso.
    assert (0 < IZR (G * n + C)) by (rewrite HL; apply Rmult_lt_0_compat; lra). apply lt_IZR in H1. unfold n0 in Hn. nia.
  - rewrite !Z.max_r by lia. replace (n + 1 - n0)%Z with (n - n0 + 1)%Z by lia. rewrite summed_step by lia.
    rewrite plus_IZR. unfold l. rewrite linear_power_is. replace (G * (n - n0) + (G * n0 + C))%Z with (G * n + C)%Z by lia.
    destruct (Rlt_dec _ _) as [Hx|Hx].
    + rewrite <- !pow_IZR, HL, Rpow_mult_distr. ring.
    + exfalso. apply Hx. assert (0 < IZR (G * n + C)) by (apply IZR_lt; unfold n0 in Hn; nia). rewrite HL in H1.
      apply Rnot_le_lt. intros Hc. assert (IZR (shared g k) * (IZR n * Q2R g - Q2R k) <= 0) by nra. lra.
Qed.

Theorem cumulative_step g r n : (0 < Qnum g)%Z ->
  IZR (cumulative g r (n + 1)) - IZR (cumulative g r n) =
  IZR (unit_of g r) * ramp_value (r_side r) (Q2R (r_knot r)) (r_degree r) (IZR n * Q2R g).
Proof.
  intros Hg. unfold cumulative, unit_of. destruct (r_side r); [apply cumulated_step; exact Hg| |rewrite plus_IZR; cbn [ramp_value]; ring].
  rewrite !opp_IZR. pose proof (cumulated_step g (- r_knot r)%Q (r_degree r) (- n) Hg) as H.
  replace (1 - n)%Z with (- n + 1)%Z by lia. replace (1 - (n + 1))%Z with (- n)%Z by lia.
  change (shared g (- r_knot r)) with (shared g (r_knot r)) in H.
  set (a := IZR (cumulated g (- r_knot r)%Q (r_degree r) (- n + 1))) in *. set (b := IZR (cumulated g (- r_knot r)%Q (r_degree r) (- n))) in *.
  replace (- b - - a) with (a - b) by ring. rewrite H. f_equal. rewrite Q2R_opp, opp_IZR. unfold ramp_value.
  destruct (Rlt_dec (- Q2R (r_knot r)) (- IZR n * Q2R g)), (Rlt_dec (IZR n * Q2R g) (Q2R (r_knot r))); try lra. f_equal. lra.
Qed.

(* --- Losses are sums of ramps --- *)

Definition ramps_value (l : list ramp) (x : R) : R :=
  fold_right (fun r s => Q2R (r_weight r) * ramp_value (r_side r) (Q2R (r_knot r)) (r_degree r) x + s) 0 l.

Lemma Q2R_red a b : Q2R (Qred (a * b)) = Q2R a * Q2R b.
Proof. rewrite <- Q2R_mult. apply Qeq_eqR, Qred_correct. Qed.

Lemma Q2R_small : Q2R 0 = 0 /\ Q2R 1 = 1 /\ Q2R (1 # 2) = / 2 /\ Q2R (- 1 # 2) = - / 2.
Proof. unfold Q2R. cbn. repeat split; field. Qed.

Lemma some_is {A} (a b : A) : Some a = Some b -> a = b.
Proof. congruence. Qed.

Lemma ramps_value_app a b x : ramps_value (a ++ b) x = ramps_value a x + ramps_value b x.
Proof. unfold ramps_value. induction a; cbn [app fold_right]; [ring|]. rewrite IHa. ring. Qed.

Lemma power_of_value q d : Q2R (power_of q d) = Q2R q ^ d.
Proof. induction d; cbn [power_of pow]; [apply Q2R_small|]. rewrite Q2R_mult, IHd. reflexivity. Qed.

Lemma Qle_bool_false a b : Qle_bool a b = false -> Q2R b < Q2R a.
Proof. intros H. apply Qlt_Rlt, Qnot_le_lt. rewrite <- Qle_bool_iff, H. discriminate. Qed.
Lemma Qle_bool_true a b : Qle_bool a b = true -> Q2R a <= Q2R b.
Proof. intros H. apply Qle_Rle, Qle_bool_iff, H. Qed.

Lemma ramp_at_value r x : Q2R (ramp_at r x) = ramp_value (r_side r) (Q2R (r_knot r)) (r_degree r) (Q2R x).
Proof.
  destruct Q2R_small as (Q0 & Q1 & _). unfold ramp_at, ramp_value. destruct (r_side r); [| |exact Q1].
  - destruct (Qle_bool x (r_knot r)) eqn:H; [apply Qle_bool_true in H | apply Qle_bool_false in H]; destruct (Rlt_dec _ _); try lra.
    rewrite power_of_value, Q2R_minus. reflexivity.
  - destruct (Qle_bool (r_knot r) x) eqn:H; [apply Qle_bool_true in H | apply Qle_bool_false in H]; destruct (Rlt_dec _ _); try lra.
    rewrite power_of_value, Q2R_minus. reflexivity.
Qed.

Lemma ramps_at_value l x : Q2R (ramps_at l x) = ramps_value l (Q2R x).
Proof.
  unfold ramps_at, ramps_value. induction l as [|r l IH]; cbn [fold_right]; [apply Q2R_small|].
  rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_plus, Q2R_mult, IH, ramp_at_value. reflexivity.
Qed.

Lemma ramps_of_pieces_value x l : forall slope, ramps_value (ramps_of_pieces slope l) x = pieces (Q2R slope) l x.
Proof.
  induction l as [|[[knot next] jump] l IH]; intros slope; cbn [ramps_of_pieces pieces]; [reflexivity|].
  rewrite app_comm_cons, ramps_value_app, IH. f_equal. unfold ramps_value.
  destruct Q2R_small as (Q0 & _). unfold Rmax, Rmin.
  destruct (Qle_bool jump 0) eqn:Hj; [destruct (Qeq_bool jump 0) eqn:He|]; cbn [fold_right r_weight r_side r_knot r_degree ramp_value pow];
    rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_minus, ?Q2R_opp;
    [apply Qeq_bool_iff, Qeq_eqR in He; rewrite He | apply Qle_bool_true in Hj | apply Qle_bool_false in Hj]; rewrite ?Q0 in *;
    repeat destruct (Rlt_dec _ _); repeat destruct (Rle_dec _ _); repeat destruct (Req_EM_T _ _); try lra;
    try (replace (x - Q2R knot) with 0 by lra; lra).
Qed.

Lemma smallest_value a l : Q2R (fold_right smaller_of a l) = fold_right Rmin (Q2R a) (map Q2R l).
Proof.
  induction l as [|b l IH]; cbn [fold_right map]; [reflexivity|]. rewrite <- IH. unfold smaller_of, Rmin.
  destruct (Qle_bool b _) eqn:H; [apply Qle_bool_true in H | apply Qle_bool_false in H]; destruct (Rle_dec _ _); lra.
Qed.

Lemma ramps_of_piecewise_value slope l x : ramps_value (ramps_of_piecewise slope l) x = term_value (Piecewise slope l) x.
Proof.
  unfold ramps_of_piecewise. set (r := line_through_0 slope ++ ramps_of_pieces slope l).
  assert (Hr : forall y, ramps_value r y = piecewise slope l y).
  { intros y. unfold r, piecewise. rewrite ramps_value_app, ramps_of_pieces_value. f_equal. destruct Q2R_small as (Q0 & _).
    unfold ramps_value. cbn. rewrite Q2R_opp, Q0. repeat destruct (Rlt_dec _ _); try lra. replace y with 0 by lra. ring. }
  unfold ramps_value. cbn [fold_right r_weight r_side ramp_value]. fold (ramps_value r x). rewrite Hr. cbn [term_value].
  rewrite Q2R_opp, smallest_value, map_map, ramps_at_value, Hr.
  rewrite (map_ext (fun s => Q2R (ramps_at r (fst (fst s)))) (fun s => piecewise slope l (Q2R (fst (fst s))))); [ring|].
  intros s. rewrite ramps_at_value. apply Hr.
Qed.

Lemma ramps_weighing w l x : ramps_value (map (weighing w) l) x = Q2R w * ramps_value l x.
Proof.
  unfold ramps_value. induction l as [|r l IH]; cbn [map fold_right]; [ring|].
  rewrite IH. cbn [weighing r_weight r_side r_knot r_degree]. rewrite Q2R_red. ring.
Qed.

Lemma ramps_of_term_value w c l x : ramps_of_term w c = Some l -> ramps_value l x = Q2R w * term_value c x.
Proof.
  destruct Q2R_small as (Q0 & Q1 & QH & QM).
  destruct c as [[|d]| |tau|a b|t|t|t|slope segments]; cbn [ramps_of_term]; try discriminate;
    try (intros H; apply some_is in H; rewrite <- H; rewrite ramps_weighing, ramps_of_piecewise_value; reflexivity);
    try (destruct (Z.ltb_spec 0 (Qnum t)) as [Ht|]; [apply Q2R_pos in Ht | discriminate]);
    intros H; apply some_is in H; rewrite <- H; cbn [ramps_value fold_right r_weight r_side r_knot r_degree term_value];
    rewrite !Q2R_red; rewrite ?Q2R_opp, ?Q2R_minus, ?Q0, ?Q1, ?QH, ?QM; unfold ramp_value;
    repeat destruct (Rlt_dec _ _); repeat destruct (Rle_dec _ _); unfold Rmax; repeat destruct (Rle_dec _ _);
    unfold Rabs in *; repeat destruct (Rcase_abs _); try lra; cbn [pow]; try (ring || lra);
    try (replace x with 0 by lra; ring).
  - rewrite !Rminus_0_r. ring.
  - replace (- 0 - x) with (- x) by ring. ring.
  - replace x with 0 by lra. field.
  - replace (- x - Q2R t) with 0 by lra. ring.
  - replace (x - Q2R t) with 0 by lra. ring.
Qed.

Theorem ramps_of_value c : forall l x, ramps_of c = Some l -> ramps_value l x = loss_value c x.
Proof.
  induction c as [|[w t] c IH]; intros l x H; cbn [ramps_of] in H; [injection H as <-; reflexivity|].
  destruct (ramps_of_term w t) as [a|] eqn:Ha; [|discriminate]. destruct (ramps_of c) as [b|] eqn:Hb; [|discriminate].
  injection H as <-. rewrite ramps_value_app, (ramps_of_term_value _ _ _ _ Ha), (IH _ _ eq_refl). reflexivity.
Qed.
