(* SPDX-License-Identifier: Apache-2.0 *)
(* Values at nodes that are nowhere above the loss once they are joined by lines: of continuous losses of degree 2 at most by how far a
   chord exceeds them, of higher powers by tangents. docs/proofs/lower-bound.md says it in words. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Lia Lra.
From Noisewright Require Import Statement Sums Lists Private Losses Ramps Rising Loss.
Import ListNotations.
Local Open Scope Z_scope.

Definition jointed (r : ramp) : bool :=
  match r_side r with Everywhere => true | _ => (r_degree r =? 1)%nat || (r_degree r =? 2)%nat end.
Definition outside (u v : Q) (r : ramp) : bool :=
  match r_side r with Everywhere => true | _ => Qle_bool (r_knot r) u || Qle_bool v (r_knot r) end.
Definition larger (a b : Q) : Q := if Qle_bool a b then b else a.

(* The largest value of a quadratic function that is f0 at 0, fm at 1/2 and f1 at 1, in between. *)
Definition bend (f0 fm f1 : Q) : Q := (2 * f0 - 4 * fm + 2 * f1)%Q.
Definition rise (f0 fm f1 : Q) : Q := (4 * fm - 3 * f0 - f1)%Q.
Definition peak (f0 fm f1 : Q) : Q :=
  let a := bend f0 fm f1 in let b := rise f0 fm f1 in
  if Qle_bool 0 a || Qle_bool b 0 || Qle_bool 0 (2 * a + b) then larger f0 f1 else (f0 - b * b / (4 * a))%Q.

(* How far the chord over an interval is above the loss, on the parts from u to the first point of rest, from there to the next ... *)
Definition middle_of (u v : Q) : Q := ((u + v) * (1 # 2))%Q.
Fixpoint excess_of (f : Q -> Q) (u : Q) (rest : list Q) : Q :=
  match rest with [] => 0%Q | v :: rest' => larger (peak (f u) (f (middle_of u v)) (f v)) (excess_of f v rest') end.
Fixpoint cleared (c : list ramp) (u : Q) (rest : list Q) : bool :=
  match rest with [] => true | v :: rest' => negb (Qle_bool v u) && forallb (outside u v) c && cleared c v rest' end.

(* The knots between node i and the next one, in order, and that node. *)
Fixpoint into (x : Q) (l : list Q) : list Q :=
  match l with
  | [] => [x]
  | y :: l' => if Qle_bool y x then if Qle_bool x y then l else y :: into x l' else x :: l
  end.
Definition node_at (b : Q) (j : Z) : Q := Qred (inject_Z j * b).
Definition parts_of (c : list ramp) (b : Q) (i : Z) : list Q :=
  fold_right (fun r l => if outside (node_at b i) (node_at b (i + 1)) r then l else into (r_knot r) l) [node_at b (i + 1)] c.
Definition chord (c : list ramp) (b : Q) (i : Z) (x : Q) : Q :=
  let u := ramps_at c (node_at b i) in (u + (x / b - inject_Z i) * (ramps_at c (node_at b (i + 1)) - u))%Q.
Definition dip (c : list ramp) (b : Q) (i : Z) : Q :=
  excess_of (fun x => Qred (chord c b i x - ramps_at c x)) (node_at b i) (parts_of c b i).
Definition value (c : list ramp) (b : Q) (j : Z) : Q := (ramps_at c (node_at b j) - larger (dip c b (j - 1)) (dip c b j))%Q.

(* From a node outwards there is no knot, and the loss does not decrease. *)
Definition grows (c : list ramp) (b : Q) (out start : Z) : bool :=
  let u := node_at b start in let v := node_at b (start + out) in
  let f0 := ramps_at c u in let fm := ramps_at c (middle_of u v) in let f1 := ramps_at c v in
  forallb (nearer out u) c && Qle_bool 0 (rise f0 fm f1) && Qle_bool 0 (bend f0 fm f1).
Definition nodes_ok (c : list ramp) (b : Q) (first last : Z) : bool :=
  forallb jointed c && grows c b (-1) first && grows c b 1 last &&
  forallb (fun i => cleared c (node_at b (first + Z.of_nat i)) (parts_of c b (first + Z.of_nat i))) (seq 0 (Z.to_nat (last - first))).

Local Open Scope R_scope.

(* --- Quadratic functions by three values --- *)

Definition three (f0 fm f1 t : R) : R := f0 + t * (4 * fm - 3 * f0 - f1) + t * t * (2 * f0 - 4 * fm + 2 * f1).

Lemma larger_ge a b : Q2R a <= Q2R (larger a b) /\ Q2R b <= Q2R (larger a b).
Proof. unfold larger. destruct (Qle_bool a b) eqn:H; [apply Qle_bool_true in H | apply Qle_bool_false in H]; lra. Qed.

Lemma whole_value n : Q2R (n # 1) = IZR n.
Proof. exact (inject_value n). Qed.
Lemma bend_is f0 fm f1 : Q2R (bend f0 fm f1) = 2 * Q2R f0 - 4 * Q2R fm + 2 * Q2R f1.
Proof. unfold bend. rewrite Q2R_plus, Q2R_minus, !Q2R_mult, (whole_value 2), (whole_value 4). ring. Qed.
Lemma rise_is f0 fm f1 : Q2R (rise f0 fm f1) = 4 * Q2R fm - 3 * Q2R f0 - Q2R f1.
Proof. unfold rise. rewrite !Q2R_minus, !Q2R_mult, (whole_value 4), (whole_value 3). ring. Qed.

Lemma peak_ge f0 fm f1 t : 0 <= t <= 1 -> three (Q2R f0) (Q2R fm) (Q2R f1) t <= Q2R (peak f0 fm f1).
Proof.
  intros Ht. destruct Q2R_small as (Q0 & _). unfold peak. pose proof (bend_is f0 fm f1) as A. pose proof (rise_is f0 fm f1) as B.
  set (a := bend f0 fm f1) in *. set (b := rise f0 fm f1) in *. unfold three. rewrite <- A, <- B.
  assert (E : Q2R f1 = Q2R f0 + Q2R b + Q2R a) by lra. destruct (larger_ge f0 f1) as [L0 L1].
  destruct (Qle_bool 0 a) eqn:Ha; cbn [orb]; [|destruct (Qle_bool b 0) eqn:Hb; cbn [orb]; [|destruct (Qle_bool 0 (2 * a + b)) eqn:Hab]].
  - apply Qle_bool_true in Ha. rewrite Q0 in Ha. set (x := Q2R (larger f0 f1)) in *.
    assert (0 <= Q2R a * (t * (1 - t))) by (apply Rmult_le_pos; nra). nra.
  - apply Qle_bool_false in Ha. apply Qle_bool_true in Hb. rewrite Q0 in Ha, Hb. nra.
  - apply Qle_bool_false in Ha. apply Qle_bool_true in Hab. rewrite Q0 in Ha, Hab. rewrite Q2R_plus, Q2R_mult, (whole_value 2) in Hab.
    assert (H1 : Q2R a * 2 <= Q2R a * (t + 1)) by nra. assert (H : 0 <= (1 - t) * (Q2R b + Q2R a * (t + 1))) by (apply Rmult_le_pos; lra). nra.
  - apply Qle_bool_false in Ha. rewrite Q0 in Ha.
    assert (N : Q2R (4 * a) = 4 * Q2R a) by (rewrite Q2R_mult, (whole_value 4); reflexivity).
    rewrite Q2R_minus, Q2R_div, Q2R_mult, N; [|intros Z; apply Qeq_eqR in Z; rewrite N, Q0 in Z; lra].
    replace (Q2R f0 - Q2R b * Q2R b / (4 * Q2R a)) with (Q2R f0 + t * Q2R b + t * t * Q2R a - Q2R a * (t + Q2R b / (2 * Q2R a)) ^ 2) by (field; lra).
    pose proof (pow2_ge_0 (t + Q2R b / (2 * Q2R a))). nra.
Qed.

Lemma ramp_beyond side k d x : (d = 1 \/ d = 2)%nat ->
  (k <= x -> ramp_value side k d x = match side with Right => (x - k) ^ d | Left => 0 | Everywhere => 1 end) /\
  (x <= k -> ramp_value side k d x = match side with Right => 0 | Left => (k - x) ^ d | Everywhere => 1 end).
Proof.
  intros Hd. unfold ramp_value. split; intros H; destruct side; try reflexivity; destruct (Rlt_dec _ _); try reflexivity; try lra;
    replace x with k by lra; destruct Hd as [-> | ->]; cbn [pow]; ring.
Qed.

(* On one side of its knot a ramp is quadratic. *)
Lemma ramp_three side k d u v t : (side = Everywhere \/ (d = 1 \/ d = 2)%nat) ->
  (side = Everywhere \/ (k <= u /\ k <= (u + v) * / 2 /\ k <= v /\ k <= (1 - t) * u + t * v) \/
    (u <= k /\ (u + v) * / 2 <= k /\ v <= k /\ (1 - t) * u + t * v <= k)) ->
  ramp_value side k d ((1 - t) * u + t * v) = three (ramp_value side k d u) (ramp_value side k d ((u + v) * / 2)) (ramp_value side k d v) t.
Proof.
  intros Hd H. destruct side; [destruct Hd as [|Hd]; [discriminate|]; destruct H as [|H]; [discriminate|] .. | unfold three; cbn [ramp_value]; ring].
  all: destruct H as [(H1 & H2 & H3 & H4)|(H1 & H2 & H3 & H4)].
  all: first [rewrite (proj1 (ramp_beyond _ k d _ Hd) H1), (proj1 (ramp_beyond _ k d _ Hd) H2), (proj1 (ramp_beyond _ k d _ Hd) H3),
      (proj1 (ramp_beyond _ k d _ Hd) H4) |
    rewrite (proj2 (ramp_beyond _ k d _ Hd) H1), (proj2 (ramp_beyond _ k d _ Hd) H2), (proj2 (ramp_beyond _ k d _ Hd) H3),
      (proj2 (ramp_beyond _ k d _ Hd) H4)].
  all: unfold three; destruct Hd as [-> | ->]; cbn [pow]; field.
Qed.

Lemma ramps_three c u v t : forallb jointed c = true ->
  (forall r, In r c -> r_side r = Everywhere \/
    (Q2R (r_knot r) <= u /\ Q2R (r_knot r) <= (u + v) * / 2 /\ Q2R (r_knot r) <= v /\ Q2R (r_knot r) <= (1 - t) * u + t * v) \/
    (u <= Q2R (r_knot r) /\ (u + v) * / 2 <= Q2R (r_knot r) /\ v <= Q2R (r_knot r) /\ (1 - t) * u + t * v <= Q2R (r_knot r))) ->
  ramps_value c ((1 - t) * u + t * v) = three (ramps_value c u) (ramps_value c ((u + v) * / 2)) (ramps_value c v) t.
Proof.
  intros Hj H. induction c as [|r c IH]; [unfold three, ramps_value; cbn; ring|].
  cbn [forallb] in Hj. apply andb_true_iff in Hj as [Hr Hj].
  assert (S : forall x, ramps_value (r :: c) x = Q2R (r_weight r) * ramp_value (r_side r) (Q2R (r_knot r)) (r_degree r) x + ramps_value c x) by reflexivity.
  rewrite !S, IH by (auto; intros r' Hr'; apply H; right; exact Hr').
  rewrite ramp_three; [unfold three; ring | | apply H; left; reflexivity].
  unfold jointed in Hr. destruct (r_side r); [right | right | left; reflexivity]; apply orb_true_iff in Hr as [E|E]; apply Nat.eqb_eq in E; auto.
Qed.

(* --- The chord and the loss --- *)

Lemma middle_is u v : Q2R (middle_of u v) = (Q2R u + Q2R v) * / 2.
Proof. unfold middle_of. destruct Q2R_small as (_ & _ & Q & _). rewrite Q2R_mult, Q2R_plus, Q. reflexivity. Qed.
Lemma node_at_is b j : Q2R (node_at b j) = IZR j * Q2R b.
Proof. unfold node_at. rewrite Q2R_red, inject_value. reflexivity. Qed.

Lemma excess_nonneg f rest : forall u, 0 <= Q2R (excess_of f u rest).
Proof.
  destruct Q2R_small as (Q0 & _). induction rest as [|v rest IH]; intros u; cbn [excess_of]; [rewrite Q0; lra|].
  pose proof (proj2 (larger_ge (peak (f u) (f (middle_of u v)) (f v)) (excess_of f v rest))). specialize (IH v). lra.
Qed.

(* L is a line, and f its excess over the loss. *)
Lemma excess_ge c (p q : R) (f : Q -> Q) : forallb jointed c = true -> (forall x, Q2R (f x) = p + q * Q2R x - ramps_value c (Q2R x)) ->
  forall rest u x, cleared c u rest = true -> rest <> [] -> Q2R u <= x <= Q2R (last rest 0%Q) ->
  p + q * x - ramps_value c x <= Q2R (excess_of f u rest).
Proof.
  intros Hj Hf. induction rest as [|v rest IH]; intros u x H Hne Hx; [congruence|].
  cbn [cleared] in H. rewrite !andb_true_iff in H. destruct H as [[Huv Ho] H]. apply negb_true_iff, Qle_bool_false in Huv.
  cbn [excess_of]. destruct (larger_ge (peak (f u) (f (middle_of u v)) (f v)) (excess_of f v rest)) as [G1 G2].
  destruct (Rle_dec x (Q2R v)) as [Hv|Hv].
  - eapply Rle_trans; [|exact G1]. set (t := (x - Q2R u) / (Q2R v - Q2R u)).
    assert (Ht : 0 <= t <= 1).
    { unfold t. split; [apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]|].
      apply Rmult_le_reg_r with (Q2R v - Q2R u); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    assert (Ex : x = (1 - t) * Q2R u + t * Q2R v) by (unfold t; field; lra).
    eapply Rle_trans; [|apply peak_ge, Ht]. rewrite !Hf, middle_is. rewrite Ex at 2.
    rewrite (ramps_three c (Q2R u) (Q2R v) t Hj).
    + rewrite Ex. unfold three. right. field.
    + intros r Hr. rewrite forallb_forall in Ho. specialize (Ho r Hr). unfold outside in Ho.
      destruct (r_side r); [right | right | left; reflexivity]; (apply orb_true_iff in Ho as [Ho|Ho]; apply Qle_bool_true in Ho; [left | right]; repeat split; nra).
  - eapply Rle_trans; [|exact G2]. apply IH; [exact H | intros ->; cbn in Hx; lra|].
    destruct rest as [|w rest]; [cbn in Hx; lra|]. change (last (v :: w :: rest) 0%Q) with (last (w :: rest) 0%Q) in Hx. lra.
Qed.

Lemma last_into x l : l <> [] -> Q2R x <= Q2R (last l 0%Q) -> last (into x l) 0%Q = last l 0%Q \/ Q2R (last (into x l) 0%Q) = Q2R (last l 0%Q).
Proof.
  induction l as [|y l IH]; intros Hne Hx; [congruence|]. cbn [into].
  destruct (Qle_bool y x) eqn:H1; [|left; reflexivity]. destruct (Qle_bool x y) eqn:H2; [left; reflexivity|].
  apply Qle_bool_false in H2. destruct l as [|z l]; [cbn in Hx; lra|].
  assert (N : into x (z :: l) <> []) by (cbn [into]; destruct (Qle_bool z x); [destruct (Qle_bool x z)|]; discriminate).
  specialize (IH ltac:(discriminate) Hx). destruct (into x (z :: l)) as [|a l'] eqn:E; [congruence|].
  change (last (y :: a :: l') 0%Q) with (last (a :: l') 0%Q). change (last (y :: z :: l) 0%Q) with (last (z :: l) 0%Q). exact IH.
Qed.

Lemma parts_end c b i : parts_of c b i <> [] /\ Q2R (last (parts_of c b i) 0%Q) = Q2R (node_at b (i + 1)).
Proof.
  unfold parts_of. induction c as [|r c IH]; cbn [fold_right]; [split; [discriminate | reflexivity]|].
  set (l := fold_right _ _ c) in *. destruct IH as [IH1 IH2]. destruct (outside _ _ r) eqn:Ho; [split; assumption|].
  split; [destruct l; cbn [into]; [discriminate|]; destruct (Qle_bool _ _); [destruct (Qle_bool _ _)|]; discriminate|].
  assert (K : Q2R (r_knot r) <= Q2R (last l 0%Q)).
  { rewrite IH2. unfold outside in Ho. destruct (r_side r); [| |discriminate]; apply orb_false_iff in Ho as [_ Ho]; apply Qle_bool_false in Ho; lra. }
  destruct (last_into (r_knot r) l IH1 K) as [-> | ->]; exact IH2.
Qed.

Lemma dip_ge c b i x : 0 < Q2R b -> forallb jointed c = true -> cleared c (node_at b i) (parts_of c b i) = true ->
  IZR i * Q2R b <= x <= (IZR i + 1) * Q2R b ->
  let A := ramps_value c (IZR i * Q2R b) in
  A + (x / Q2R b - IZR i) * (ramps_value c ((IZR i + 1) * Q2R b) - A) - ramps_value c x <= Q2R (dip c b i).
Proof.
  intros Hb Hj Hc Hx A. destruct (parts_end c b i) as [E1 E2]. set (B := ramps_value c ((IZR i + 1) * Q2R b)).
  replace (A + (x / Q2R b - IZR i) * (B - A)) with ((A - IZR i * (B - A)) + (B - A) / Q2R b * x) by (field; lra).
  apply excess_ge; auto.
  - intros y. rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_minus, ramps_at_value. f_equal. unfold chord.
    assert (nb : ~ (b == 0)%Q) by (intros Z; apply Qeq_eqR in Z; destruct Q2R_small as (Q0 & _); lra).
    rewrite Q2R_plus, Q2R_mult, !Q2R_minus, Q2R_div, !ramps_at_value, !node_at_is, inject_value, plus_IZR by exact nb.
    fold A B. field. lra.
  - rewrite E2, !node_at_is, plus_IZR. exact Hx.
Qed.

Lemma grows_from c b out start x : 0 < Q2R b -> forallb jointed c = true -> (out = 1 \/ out = -1)%Z -> grows c b out start = true ->
  0 <= IZR out * (x - IZR start * Q2R b) -> ramps_value c (IZR start * Q2R b) <= ramps_value c x.
Proof.
  intros Hb Hj Hout H Hx. unfold grows in H. rewrite !andb_true_iff in H. destruct H as [[Hn H1] H2].
  apply Qle_bool_true in H1, H2. destruct Q2R_small as (Q0 & _). rewrite Q0 in *.
  rewrite rise_is, !ramps_at_value, middle_is, !node_at_is in H1. rewrite bend_is, !ramps_at_value, middle_is, !node_at_is in H2.
  set (u := IZR start * Q2R b) in *. set (v := IZR (start + out) * Q2R b) in *. assert (Ev : v = u + IZR out * Q2R b) by (unfold u, v; rewrite plus_IZR; ring).
  set (t := IZR out * (x - u) / Q2R b).
  assert (Ht : 0 <= t) by (apply Rmult_le_pos; [exact Hx | left; apply Rinv_0_lt_compat, Hb]).
  assert (O2 : IZR out * IZR out = 1) by (destruct Hout as [-> | ->]; ring).
  assert (Ex : x = (1 - t) * u + t * v).
  { rewrite Ev. unfold t. replace ((1 - IZR out * (x - u) / Q2R b) * u + IZR out * (x - u) / Q2R b * (u + IZR out * Q2R b)) with (u + IZR out * IZR out * (x - u)) by (field; lra).
    rewrite O2. ring. }
  rewrite Ex, (ramps_three c u v t Hj).
  - unfold three. nra.
  - intros r Hr. rewrite forallb_forall in Hn. specialize (Hn r Hr). unfold nearer in Hn.
    destruct (r_side r); [right | right | left; reflexivity]; apply negb_true_iff, Qle_bool_false in Hn;
      rewrite !Q2R_mult, inject_value, node_at_is in Hn; fold u in Hn; rewrite <- Ex, Ev; destruct Hout as [-> | ->]; [left | right | left | right]; repeat split; lra.
Qed.

(* Beyond the first and the last node all are as these. *)
Definition clamp (first last j : Z) : Z := Z.max first (Z.min last j).

Lemma value_le c b j : Q2R (value c b j) <= ramps_value c (IZR j * Q2R b) - Q2R (dip c b j) /\
  Q2R (value c b j) <= ramps_value c (IZR j * Q2R b) - Q2R (dip c b (j - 1)) /\ Q2R (value c b j) <= ramps_value c (IZR j * Q2R b).
Proof.
  unfold value. rewrite Q2R_minus, ramps_at_value, node_at_is. destruct (larger_ge (dip c b (j - 1)) (dip c b j)).
  pose proof (excess_nonneg (fun x => Qred (chord c b j x - ramps_at c x)) (parts_of c b j) (node_at b j)) as P. fold (dip c b j) in P.
  repeat split; lra.
Qed.

Theorem nodes_line c b first last x : 0 < Q2R b -> (first <= last)%Z -> nodes_ok c b first last = true ->
  line (Q2R b) (fun j => Q2R (value c b (clamp first last j))) x <= ramps_value c x.
Proof.
  intros Hb Hfl H. unfold nodes_ok in H. rewrite !andb_true_iff in H. destruct H as [[[Hj HL] HR] Hc]. rewrite forallb_forall in Hc.
  unfold line. pose proof (floor_spec (x / Q2R b)) as F. set (i := floor (x / Q2R b)) in *.
  assert (Hx : IZR i * Q2R b <= x <= (IZR i + 1) * Q2R b).
  { assert (E : x = x / Q2R b * Q2R b) by (field; lra). rewrite E. split; apply Rmult_le_compat_r; lra. }
  assert (D : (last <= i \/ i + 1 <= first \/ first <= i < last)%Z) by lia. destruct D as [D|[D|D]].
  - replace (clamp first last i) with last by (unfold clamp; lia). replace (clamp first last (i + 1)) with last by (unfold clamp; lia).
    pose proof (proj2 (proj2 (value_le c b last))) as V. apply IZR_le in D.
    pose proof (Rmult_le_compat_r (Q2R b) _ _ ltac:(lra) D) as D'.
    pose proof (grows_from c b 1 last x Hb Hj ltac:(auto) HR ltac:(lra)). lra.
  - replace (clamp first last i) with first by (unfold clamp; lia). replace (clamp first last (i + 1)) with first by (unfold clamp; lia).
    pose proof (proj2 (proj2 (value_le c b first))) as V. apply IZR_le in D. rewrite plus_IZR in D.
    pose proof (Rmult_le_compat_r (Q2R b) _ _ ltac:(lra) D) as D'.
    pose proof (grows_from c b (-1) first x Hb Hj ltac:(auto) HL ltac:(lra)). lra.
  - replace (clamp first last i) with i by (unfold clamp; lia). replace (clamp first last (i + 1)) with (i + 1)%Z by (unfold clamp; lia).
    specialize (Hc (Z.to_nat (i - first)) ltac:(apply in_seq; lia)). replace (first + Z.of_nat (Z.to_nat (i - first)))%Z with i in Hc by lia.
    pose proof (dip_ge c b i x Hb Hj Hc Hx) as G. cbn zeta in G.
    destruct (value_le c b i) as (V1 & _). destruct (value_le c b (i + 1)) as (_ & V2 & _). replace (i + 1 - 1)%Z with i in V2 by lia.
    rewrite plus_IZR in V2. set (s := x / Q2R b - IZR i) in *.
    pose proof (Rmult_le_compat_l (1 - s) _ _ ltac:(unfold s; lra) V1). pose proof (Rmult_le_compat_l s _ _ ltac:(unfold s; lra) V2). lra.
Qed.

(* --- Powers of 3 and more, by tangents --- *)

Local Open Scope Z_scope.

(* The ramps of higher degree are to come in pairs that are w|x|^d, with these w and d; all others are those of above. *)
Definition high (right : bool) (r : ramp) : bool :=
  match r_side r, right with Right, true | Left, false => (3 <=? r_degree r)%nat | _, _ => false end.
Definition highs (right : bool) (c : list ramp) : list (Q * nat) := map (fun r => (r_weight r, r_degree r)) (filter (high right) c).
Definition low (c : list ramp) : list ramp := filter (fun r => negb (high true r || high false r)) c.
Fixpoint alike (a b : list (Q * nat)) : bool :=
  match a, b with
  | [], [] => true
  | (w, d) :: a', (w', d') :: b' => Qeq_bool w w' && (d =? d')%nat && (1 <=? d)%nat && Qle_bool 0 w && alike a' b'
  | _, _ => false
  end.
Definition paired (c : list ramp) : bool :=
  forallb (fun r => negb (high true r || high false r) || Qeq_bool (r_knot r) 0) c && alike (highs true c) (highs false c).

(* In steps: the point between n and n + 1 where a line touches y^d, the value of that line at j, and the node: what is lower of the
   lines to both sides. *)
Definition touch (d : nat) (n : Z) : Q := if (4 <=? d)%nat && (n <? Z.of_nat d - 1) then inject_Z n else (inject_Z n + (1 # 2))%Q.
Definition tangent (d : nat) (n j : Z) : Q :=
  let t := touch d n in (power_of t (d - 1) * (t + inject_Z (Z.of_nat d) * (inject_Z j - t)))%Q.
Definition power_node (d : nat) (b : Q) (j : Z) : Q :=
  let a := Z.abs j in
  (power_of b d * (if a =? 0 then tangent d 0 0 else smaller_of (tangent d (a - 1) a) (tangent d a a)))%Q.
Definition powers_node (l : list (Q * nat)) (b : Q) (j : Z) : Q := fold_right (fun wd s => Qred (fst wd * power_node (snd wd) b j + s)) 0%Q l.

Definition any_value (c : list ramp) (b : Q) (j : Z) : Q := (value (low c) b j + powers_node (highs true c) b j)%Q.
Definition any_nodes_ok (c : list ramp) (b : Q) (first last : Z) : bool :=
  paired c && (first <=? 0) && (0 <=? last) && nodes_ok (low c) b first last.

Local Open Scope R_scope.

Definition side_sum (side : side) (l : list (Q * nat)) (x : R) : R := fold_right (fun wd s => Q2R (fst wd) * ramp_value side 0 (snd wd) x + s) 0 l.
Definition power_sum (l : list (Q * nat)) (x : R) : R := fold_right (fun wd s => Q2R (fst wd) * Rabs x ^ snd wd + s) 0 l.

Lemma sides_power a x : forall b, alike a b = true -> side_sum Right a x + side_sum Left b x = power_sum a x.
Proof.
  induction a as [|[w d] a IH]; intros [|[w' d'] b] H; try discriminate; [cbn; ring|].
  cbn [alike] in H. rewrite !andb_true_iff in H. destruct H as [[[[H1 H2] H3] _] H4]. apply Qeq_bool_iff, Qeq_eqR in H1.
  apply Nat.eqb_eq in H2. apply Nat.leb_le in H3. subst d'. specialize (IH b H4). unfold side_sum, power_sum in *. cbn [fold_right fst snd].
  rewrite <- H1, <- IH. enough (ramp_value Right 0 d x + ramp_value Left 0 d x = Rabs x ^ d) as <- by ring.
  cbn [ramp_value]. unfold Rabs. destruct (Rlt_dec 0 x), (Rlt_dec x 0), (Rcase_abs x); try lra.
  - rewrite Rminus_0_r, Rplus_0_r. reflexivity.
  - unfold Rminus. rewrite !Rplus_0_l. reflexivity.
  - replace x with 0 by lra. rewrite pow_i by lia. lra.
Qed.

Lemma split_value c x : paired c = true -> ramps_value c x = ramps_value (low c) x + power_sum (highs true c) x.
Proof.
  unfold paired. rewrite andb_true_iff. intros [H A]. rewrite <- (sides_power _ _ _ A). clear A. destruct Q2R_small as (Q0 & _).
  induction c as [|r c IH]; [unfold ramps_value, side_sum; cbn; ring|]. cbn [forallb] in H. apply andb_true_iff in H as [Hr H]. specialize (IH H).
  unfold ramps_value, side_sum, low, highs in *. cbn [filter fold_right].
  destruct (high true r) eqn:E1; cbn [orb negb map fold_right fst snd] in *.
  - assert (E2 : high false r = false) by (unfold high in *; destruct (r_side r); auto; discriminate). rewrite E2.
    apply Qeq_bool_iff, Qeq_eqR in Hr. rewrite Q0 in Hr. rewrite Hr. assert (S : r_side r = Right) by (unfold high in E1; destruct (r_side r); auto; discriminate).
    rewrite S, IH. ring.
  - destruct (high false r) eqn:E2; cbn [negb map fold_right fst snd] in *; [|rewrite IH; ring].
    apply Qeq_bool_iff, Qeq_eqR in Hr. rewrite Q0 in Hr. rewrite Hr. assert (S : r_side r = Left) by (unfold high in E2; destruct (r_side r); auto; discriminate).
    rewrite S, IH. ring.
Qed.

(* A power is above its tangents. *)
Definition tangent_at (d : nat) (t y : R) : R := t ^ (d - 1) * (t + INR d * (y - t)).
Lemma above_tangent d : (1 <= d)%nat -> forall t y, 0 <= t -> 0 <= y -> tangent_at d t y <= y ^ d.
Proof.
  intros Hd t y Ht Hy. unfold tangent_at. destruct d as [|d]; [lia|]. clear Hd. replace (S d - 1)%nat with d by lia.
  induction d as [|d IH]; [cbn; lra|]. cbn [pow]. rewrite (S_INR (S d)).
  apply Rle_trans with (y * (t ^ d * (t + INR (S d) * (y - t)))); [|apply Rmult_le_compat_l; [exact Hy | exact IH]].
  assert (P : 0 <= t ^ d * (INR (S d) * (y - t) ^ 2)).
  { apply Rmult_le_pos; [apply pow_le, Ht|]. apply Rmult_le_pos; [apply pos_INR | apply pow2_ge_0]. }
  lra.
Qed.

Lemma touch_nonneg d n : (0 <= n)%Z -> 0 <= Q2R (touch d n).
Proof.
  intros Hn. apply IZR_le in Hn. destruct Q2R_small as (_ & _ & Q & _). unfold touch.
  destruct (_ && _)%bool; rewrite ?Q2R_plus, inject_value, ?Q; lra.
Qed.
Lemma tangent_is d n j : Q2R (tangent d n j) = tangent_at d (Q2R (touch d n)) (IZR j).
Proof. unfold tangent, tangent_at. rewrite Q2R_mult, power_of_value, Q2R_plus, Q2R_mult, Q2R_minus, !inject_value, <- INR_IZR_INZ. reflexivity. Qed.

Lemma smaller_of_le a b : Q2R (smaller_of a b) <= Q2R a /\ Q2R (smaller_of a b) <= Q2R b.
Proof. unfold smaller_of. destruct (Qle_bool a b) eqn:H; [apply Qle_bool_true in H | apply Qle_bool_false in H]; lra. Qed.

(* A node is on neither side above the tangent. *)
Lemma power_node_le d b n j : 0 < Q2R b -> (0 <= n)%Z -> (Z.abs j = n \/ Z.abs j = n + 1)%Z ->
  Q2R (power_node d b j) <= Q2R b ^ d * tangent_at d (Q2R (touch d n)) (IZR (Z.abs j)).
Proof.
  intros Hb Hn Hj. unfold power_node. rewrite Q2R_mult, power_of_value. apply Rmult_le_compat_l; [apply pow_le; lra|].
  rewrite <- tangent_is. destruct (Z.eqb_spec (Z.abs j) 0) as [E|E].
  - rewrite E. replace n with 0%Z by lia. lra.
  - destruct (smaller_of_le (tangent d (Z.abs j - 1) (Z.abs j)) (tangent d (Z.abs j) (Z.abs j))). destruct Hj as [Hj|Hj].
    + rewrite Hj in *. assumption.
    + replace n with (Z.abs j - 1)%Z by lia. assumption.
Qed.

Lemma power_line d b first last x : (1 <= d)%nat -> 0 < Q2R b -> (first <= 0 <= last)%Z ->
  line (Q2R b) (fun j => Q2R (power_node d b (clamp first last j))) x <= Rabs x ^ d.
Proof.
  intros Hd Hb Hfl. unfold line. pose proof (floor_spec (x / Q2R b)) as F. set (i := floor (x / Q2R b)) in *. set (y := x / Q2R b) in *.
  assert (Ex : x = Q2R b * y) by (unfold y; field; lra). assert (B : 0 <= Q2R b ^ d) by (apply pow_le; lra).
  assert (HX : Rabs x ^ d = Q2R b ^ d * Rabs y ^ d) by (rewrite Ex, Rabs_mult, (Rabs_pos_eq (Q2R b)), Rpow_mult_distr by lra; reflexivity).
  assert (Far : forall j, IZR (Z.abs j) <= Rabs y -> Q2R (power_node d b j) <= Rabs x ^ d).
  { intros j Hj. rewrite HX. eapply Rle_trans; [apply (power_node_le d b (Z.abs j)); [exact Hb | lia | left; reflexivity]|].
    apply Rmult_le_compat_l; [exact B|]. assert (J : 0 <= IZR (Z.abs j)) by (apply IZR_le; lia).
    eapply Rle_trans; [apply above_tangent; [exact Hd | apply touch_nonneg; lia | exact J] | apply pow_incr; lra]. }
  assert (D : (last <= i \/ i + 1 <= first \/ first <= i < last)%Z) by lia. destruct D as [D|[D|D]].
  - replace (clamp first last i) with last by (unfold clamp; lia). replace (clamp first last (i + 1)) with last by (unfold clamp; lia).
    assert (G : Q2R (power_node d b last) <= Rabs x ^ d); [|lra]. apply Far. rewrite Z.abs_eq by lia. apply IZR_le in D.
    assert (0 <= IZR last) by (apply IZR_le; lia). rewrite Rabs_pos_eq; lra.
  - replace (clamp first last i) with first by (unfold clamp; lia). replace (clamp first last (i + 1)) with first by (unfold clamp; lia).
    assert (G : Q2R (power_node d b first) <= Rabs x ^ d); [|lra]. apply Far. rewrite Z.abs_neq, opp_IZR by lia. apply IZR_le in D. rewrite plus_IZR in D.
    assert (IZR first <= 0) by (apply IZR_le; lia). rewrite Rabs_left1; lra.
  - replace (clamp first last i) with i by (unfold clamp; lia). replace (clamp first last (i + 1)) with (i + 1)%Z by (unfold clamp; lia).
    set (s := y - IZR i) in *. assert (S : 0 <= s <= 1) by (unfold s; lra). rewrite HX. destruct (Z_le_gt_dec 0 i) as [I|I].
    + pose proof (power_node_le d b i i Hb I ltac:(left; lia)) as V1. pose proof (power_node_le d b i (i + 1) Hb I ltac:(right; lia)) as V2.
      rewrite !Z.abs_eq in * by lia. rewrite plus_IZR in V2. apply IZR_le in I as I'.
      pose proof (above_tangent d Hd (Q2R (touch d i)) y (touch_nonneg d i I) ltac:(lra)) as T. apply (Rmult_le_compat_l _ _ _ B) in T.
      rewrite Rabs_pos_eq by lra. eapply Rle_trans; [|exact T].
      pose proof (Rmult_le_compat_l (1 - s) _ _ ltac:(lra) V1). pose proof (Rmult_le_compat_l s _ _ ltac:(lra) V2).
      unfold tangent_at in *. replace y with (IZR i + s) by (unfold s; ring). lra.
    + set (n := (- i - 1)%Z). assert (N : (0 <= n)%Z) by (unfold n; lia).
      pose proof (power_node_le d b n i Hb N ltac:(right; unfold n; lia)) as V1. pose proof (power_node_le d b n (i + 1) Hb N ltac:(left; unfold n; lia)) as V2.
      rewrite !Z.abs_neq, !opp_IZR in * by lia. rewrite plus_IZR in V2. assert (I' : IZR i <= -1) by (apply IZR_le; lia).
      pose proof (above_tangent d Hd (Q2R (touch d n)) (- y) (touch_nonneg d n N) ltac:(lra)) as T. apply (Rmult_le_compat_l _ _ _ B) in T.
      rewrite Rabs_left1 by lra. eapply Rle_trans; [|exact T].
      pose proof (Rmult_le_compat_l (1 - s) _ _ ltac:(lra) V1). pose proof (Rmult_le_compat_l s _ _ ltac:(lra) V2).
      unfold tangent_at in *. replace y with (IZR i + s) by (unfold s; ring). lra.
Qed.

Lemma powers_line l b first last x : alike l l = true -> 0 < Q2R b -> (first <= 0 <= last)%Z ->
  line (Q2R b) (fun j => Q2R (powers_node l b (clamp first last j))) x <= power_sum l x.
Proof.
  intros H Hb Hfl. destruct Q2R_small as (Q0 & _). induction l as [|[w d] l IH]; [unfold line, power_sum; cbn; rewrite Q0; lra|].
  cbn [alike] in H. rewrite !andb_true_iff in H. destruct H as [[[_ Hd] Hw] H]. apply Nat.leb_le in Hd. apply Qle_bool_true in Hw. rewrite Q0 in Hw.
  specialize (IH H). pose proof (Rmult_le_compat_l _ _ _ Hw (power_line d b first last x Hd Hb Hfl)) as P.
  assert (E : forall j, Q2R (powers_node ((w, d) :: l) b j) = Q2R w * Q2R (power_node d b j) + Q2R (powers_node l b j)).
  { intros j. unfold powers_node. cbn [fold_right fst snd]. rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_plus, Q2R_mult. reflexivity. }
  unfold power_sum. cbn [fold_right fst snd]. fold (power_sum l x). unfold line in *. rewrite !E. lra.
Qed.

Lemma alike_self a : forall b, alike a b = true -> alike a a = true.
Proof.
  induction a as [|[w d] a IH]; intros [|[w' d'] b] H; try discriminate; [reflexivity|]. cbn [alike] in *. rewrite !andb_true_iff in *.
  destruct H as [[[[_ _] H3] H4] H5]. repeat split; auto; [apply Qeq_bool_iff; reflexivity | apply Nat.eqb_refl | eapply IH, H5].
Qed.

Theorem any_nodes_line c b first last x : 0 < Q2R b -> any_nodes_ok c b first last = true ->
  line (Q2R b) (fun j => Q2R (any_value c b (clamp first last j))) x <= ramps_value c x.
Proof.
  intros Hb H. unfold any_nodes_ok in H. rewrite !andb_true_iff, !Z.leb_le in H. destruct H as [[[Hp Hf] Hl] Hn].
  rewrite (split_value c x Hp). pose proof (nodes_line (low c) b first last x Hb ltac:(lia) Hn) as N.
  unfold paired in Hp. apply andb_true_iff in Hp as [_ Hp].
  pose proof (powers_line (highs true c) b first last x (alike_self _ _ Hp) Hb ltac:(lia)) as P.
  unfold line, any_value in *. rewrite !Q2R_plus. lra.
Qed.
