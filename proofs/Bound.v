(* SPDX-License-Identifier: Apache-2.0 *)
(* The checker of the lower bound of a table, from the multipliers of its file: for the values of integers and lattices, if these are
   the nodes, any loss that is a sum of ramps; otherwise sums of parts that are linear or quadratic on either side of 0. *)
From Coq Require Import ZArith QArith Qround Qreals Reals List Bool Lia Lra.
From Noisewright Require Import Statement Sums Exp Lists Check Law Private Losses Ramps Rising Loss Json Decode Lower.
Import ListNotations.
Local Open Scope Z_scope.

(* The multipliers of a shift, and those of its mirror image. *)
Definition mirror (m : multipliers) : multipliers :=
  {| m_shift := - m_shift m; m_first := 1 - m_first m - Z.of_nat (length (m_values m)); m_values := rev (m_values m) |}.
Definition all_shifts (d : dual) : list multipliers :=
  if d_mirrored d then d_shifts d ++ map mirror (d_shifts d) else d_shifts d.

Fixpoint plus (a b : list Z) : list Z :=
  match a, b with [], _ => b | _, [] => a | x :: a', y :: b' => (x + y) :: plus a' b' end.
Definition placed (lo first : Z) (l : list Z) : list Z := repeat 0 (Z.to_nat (first - lo)) ++ l.

(* 2^96 y_{k,j} - e y_{k,j+k}, summed over the shifts, from j = lo on; e is 2^96 times e^epsilon or more. *)
Definition brackets (e lo : Z) (ms : list multipliers) : list Z :=
  fold_right (fun m s => plus (scaled (2 ^ 96) (placed lo (m_first m) (m_values m)))
    (plus (scaled (- e) (placed lo (m_first m - m_shift m) (m_values m))) s)) [] ms.
Definition leftmost (ms : list multipliers) : Z :=
  fold_right (fun m s => Z.min (Z.min (m_first m) (m_first m - m_shift m)) s) 0 ms.
Definition prices (ms : list multipliers) : Z := fold_right (fun m s => largest (m_values m) + s) 0 ms.

(* b <= node j + l_0, b <= node (j+1) + l_1, ... *)
Fixpoint all_above (node : Z -> Z) (b j : Z) (l : list Z) : bool :=
  match l with [] => true | x :: l' => (b <=? node j + x) && all_above node b (j + 1) l' end.

(* How far the nodes are apart. Values that are whole steps are so many steps apart that K of them are no more than the sensitivity,
   rounded up. *)
Definition stride (t : table) (d : dual) : Z :=
  match kind t with Real => 0 | _ => Qceiling (sensitivity t / step t) / d_cells d end.
Definition node_step (t : table) (d : dual) : Q :=
  match kind t with Real => sensitivity t / inject_Z (d_cells d) | _ => inject_Z (stride t d) * step t end.

(* By so much the values at nodes may be above the loss, once they are joined by lines: nothing if no noise is between nodes. *)
Definition at_zero (r : ramp) : bool :=
  Qeq_bool (r_knot r) 0 && Qle_bool 0 (r_weight r) && ((r_degree r =? 1)%nat || (r_degree r =? 2)%nat) &&
  match r_side r with Everywhere => false | _ => true end.
Definition bulge (right : bool) (b : Q) (l : list ramp) : Q :=
  fold_right (fun r s => match r_side r, right with
    | Right, true | Left, false => if (r_degree r =? 2)%nat then r_weight r * (b * b * (1 # 4)) + s else s
    | _, _ => s end)%Q 0%Q l.
Definition slack (t : table) (d : dual) (l : list ramp) : option Q :=
  if stride t d =? 1 then Some 0%Q
  else if forallb at_zero l then
    let right := bulge true (node_step t d) l in let left := bulge false (node_step t d) l in
    Some (if Qle_bool left right then right else left)
  else None.

(* What else than the multipliers of shifts is in a dual is not looked at: these prove what they prove without it.
   In units of 2^-p, p = 96 - exponent, and rounded down at nodes. All knots are between the first node and the last that are looked at,
   and the loss does not decrease from there on. *)
Definition bound_ok (t : table) (c : list ramp) (d : dual) (claim : Q) : bool :=
  let ms := all_shifts d in
  let e := exp_up (epsilon t) 96 in
  let p := 96 - d_exponent d in
  let b := node_step t d in
  let at_node r := (r_knot r / b)%Q in
  let lo := fold_right (fun r m => Z.min (Qfloor (at_node r)) m) (leftmost ms) c in
  let hi := fold_right (fun r m => Z.max (Qfloor (at_node r) + 1) m) 0 c in
  let short := brackets e lo ms in
  let l := short ++ repeat 0 (Z.to_nat (hi - (lo + Z.of_nat (length short)))) in
  match slack t d c with
  | None => false
  | Some below =>
    let node j := Qfloor ((ramps_at c (inject_Z j * b) - below) * inject_Z (2 ^ p))%Q in
    let least := (Qnum claim * 2 ^ p / Zpos (Qden claim) + 1) + (Qnum (delta t) * prices ms * 2 ^ 96 / Zpos (Qden (delta t)) + 1) in
    match kind t with Real => true | _ => (0 <? stride t d) && (0 <? Qnum (step t)) end && exp_up_fine (epsilon t) 96 &&
    (0 <? Qnum b) && (0 <? d_cells d) && (0 <=? p) &&
    forallb (fun m => (Z.abs (m_shift m) <=? d_cells d) && forallb (Z.leb 0) (m_values m) && (0 <? largest (m_values m))) ms &&
    rises c b (-1) (lo - 1) && rises c b 1 (lo + Z.of_nat (length l)) &&
    (least <=? node (lo - 1)) && (least <=? node (lo + Z.of_nat (length l))) && all_above node least lo l
  end.

(* --- Lists --- *)

Lemma at_plus a : forall b i, at_place (plus a b) i = at_place a i + at_place b i.
Proof.
  induction a as [|x a IH]; intros b i; [cbn [plus]; rewrite at_nil; lia|].
  destruct b as [|y b]; cbn [plus]; [rewrite at_nil; lia|].
  destruct (Z_lt_le_dec i 0); [rewrite !at_out by lia; lia|].
  destruct (Z.eq_dec i 0) as [->|]; [reflexivity|].
  replace i with (i - 1 + 1) by lia. rewrite !at_next by lia. apply IH.
Qed.

Lemma at_placed lo first l i : lo <= first -> at_place (placed lo first l) i = at_place l (i + lo - first).
Proof. intros H. unfold placed. rewrite at_after_zeros. f_equal. lia. Qed.

Lemma largest_ge l i : at_place l i <= largest l /\ 0 <= largest l.
Proof.
  revert i. induction l as [|x l IH]; intros i; [rewrite at_nil; cbn; lia|]. cbn [largest fold_right]. fold (largest l).
  destruct (Z_lt_le_dec i 0); [rewrite at_out by lia; specialize (IH 0); lia|].
  destruct (Z.eq_dec i 0) as [->|]; [change (at_place (x :: l) 0) with x; specialize (IH 0); lia|].
  replace i with (i - 1 + 1) by lia. rewrite at_next by lia. specialize (IH (i - 1)). lia.
Qed.

Lemma all_above_is node b l : forall j, all_above node b j l = true -> forall i, 0 <= i < Z.of_nat (length l) -> b <= node (j + i) + at_place l i.
Proof.
  induction l as [|x l IH]; intros j H i Hi; [cbn in Hi; lia|]. cbn [all_above] in H. apply andb_true_iff in H as [H1 H2].
  apply Z.leb_le in H1. destruct (Z.eq_dec i 0) as [->|]; [rewrite Z.add_0_r; exact H1|].
  specialize (IH _ H2 (i - 1) ltac:(cbn [length] in Hi; lia)). replace i with (i - 1 + 1) by lia. rewrite at_next by lia.
  replace (j + (i - 1 + 1)) with (j + 1 + (i - 1)) by lia. exact IH.
Qed.

Lemma leftmost_le ms m : In m ms -> leftmost ms <= m_first m /\ leftmost ms <= m_first m - m_shift m.
Proof.
  induction ms as [|m' ms IH]; intros H; [destruct H|]. cbn [leftmost fold_right]. fold (leftmost ms).
  destruct H as [->|H]; [lia|]. specialize (IH H). lia.
Qed.
Lemma leftmost_0 ms : leftmost ms <= 0.
Proof. induction ms; cbn [leftmost fold_right]; [lia|]. fold (leftmost ms). lia. Qed.

Local Open Scope R_scope.

(* --- Algebra, over plain variables --- *)

Lemma algebra_bracket u P E y y' s n : P <> 0 -> u * P * y - E / P * (u * P * y') + (n + u * s) = n + u * (P * y + (- E * y' + s)).
Proof. intros. field. auto. Qed.
Lemma algebra_price P Q cn cd dn dd w : P <> 0 -> cd <> 0 -> dd <> 0 ->
  P * (cn * / cd + dn * / dd * (/ P * Q * w)) = cn * P / cd + dn * w * Q / dd.
Proof. intros. field. auto. Qed.

(* --- Nodes below the loss --- *)

Lemma ramp_at_0 side d v : (side = Right \/ side = Left) -> (d = 1 \/ d = 2)%nat ->
  (0 <= v -> ramp_value side 0 d v = match side with Right => v ^ d | _ => 0 end) /\
  (v <= 0 -> ramp_value side 0 d v = match side with Right => 0 | _ => (- v) ^ d end).
Proof.
  intros Hs Hd. destruct Hs as [-> | ->], Hd as [-> | ->]; cbn [ramp_value pow]; split; intros Hv; destruct (Rlt_dec _ _); try lra;
    try (replace v with 0 by lra); ring.
Qed.

Section Ramp.
Variables (b x : R).
Hypothesis b_pos : 0 < b.
Let j := floor (x / b).

Lemma ramp_line side d : (side = Right \/ side = Left) -> (d = 1 \/ d = 2)%nat ->
  line b (fun i => ramp_value side 0 d (IZR i * b)) x <=
  ramp_value side 0 d x + (if (d =? 2)%nat then match side with Right => if Rle_dec 0 x then b * b / 4 else 0 | _ => if Rle_dec 0 x then 0 else b * b / 4 end else 0).
Proof.
  intros Hs Hd. unfold line. pose proof (floor_spec (x / b)) as F. fold j in F |- *.
  assert (Hx : x = x / b * b) by (field; lra). set (y := x / b) in *. rewrite plus_IZR. set (i := IZR j) in *.
  assert (S : (j >= 0 \/ j + 1 <= 0)%Z) by lia.
  assert (Hi : 0 <= i \/ i + 1 <= 0).
  { destruct S as [S|S]; [left; apply (IZR_le 0); lia | right; apply IZR_le in S; rewrite plus_IZR in S; exact S]. }
  clear S. rewrite Hx. clear Hx. clearbody y i. clear j.
  assert (Q : (1 - (y - i)) * (i * b) ^ 2 + (y - i) * ((i + 1) * b) ^ 2 <= (y * b) ^ 2 + b * b / 4).
  { replace ((1 - (y - i)) * (i * b) ^ 2 + (y - i) * ((i + 1) * b) ^ 2) with ((y * b) ^ 2 + b * b * ((y - i) * (1 - (y - i)))) by ring.
    pose proof (Rle_0_sqr (y - i - / 2)) as W. unfold Rsqr in W. assert (Z4 : (y - i) * (1 - (y - i)) <= / 4) by nra.
    assert (Hbb : 0 <= b * b) by nra. pose proof (Rmult_le_compat_l _ _ _ Hbb Z4). lra. }
  destruct Hi as [Hi|Hi].
  - assert (H1 : 0 <= i * b) by nra. assert (H2 : 0 <= y * b) by nra. assert (H3 : 0 <= (i + 1) * b) by nra.
    rewrite (proj1 (ramp_at_0 side d _ Hs Hd) H1), (proj1 (ramp_at_0 side d _ Hs Hd) H2), (proj1 (ramp_at_0 side d _ Hs Hd) H3).
    destruct (Rle_dec 0 (y * b)); [|lra]. destruct Hs as [-> | ->], Hd as [-> | ->]; cbn [Nat.eqb]; try lra; cbn [pow]; lra.
  - assert (H1 : i * b <= 0) by nra. assert (H0 : y * b < 0) by nra. assert (H2 : y * b <= 0) by lra.
    assert (H3 : (i + 1) * b <= 0) by nra.
    rewrite (proj2 (ramp_at_0 side d _ Hs Hd) H1), (proj2 (ramp_at_0 side d _ Hs Hd) H2), (proj2 (ramp_at_0 side d _ Hs Hd) H3).
    assert (Hb2 : 0 <= b * b) by nra.
    destruct Hs as [-> | ->], Hd as [-> | ->]; cbn [Nat.eqb]; destruct (Rle_dec 0 (y * b)); cbn [pow] in *; try lra.
Qed.
End Ramp.

Lemma line_above b v least x : (forall j, least <= v j) -> least <= line b v x.
Proof.
  intros H. unfold line. pose proof (floor_spec (x / b)). set (j := floor (x / b)) in *. pose proof (H j). pose proof (H (j + 1)%Z). nra.
Qed.

(* Values of the ramps at nodes, less what lines between them may be above. *)
Lemma line_linear b v w p q x : line b (fun j => p * v j + q * w j) x = p * line b v x + q * line b w x.
Proof. unfold line. ring. Qed.

Lemma ramps_line b c x : 0 < Q2R b -> forallb at_zero c = true ->
  line (Q2R b) (fun i => ramps_value c (IZR i * Q2R b)) x <=
  ramps_value c x + (if Rle_dec 0 x then Q2R (bulge true b c) else Q2R (bulge false b c)).
Proof.
  intros Hb H. destruct Q2R_small as (Q0 & _). unfold ramps_value, bulge.
  induction c as [|r c IH]; cbn [fold_right]; [rewrite Q0; unfold line; destruct (Rle_dec 0 x); lra|].
  cbn [forallb] in H. apply andb_true_iff in H as [Hr Hc]. specialize (IH Hc).
  unfold at_zero in Hr. rewrite !andb_true_iff in Hr. destruct Hr as [[[Hk Hw] Hd] Hs].
  apply Qeq_bool_iff, Qeq_eqR in Hk. rewrite Q0 in Hk. apply Qle_bool_true in Hw. rewrite Q0 in Hw.
  assert (Hd' : (r_degree r = 1 \/ r_degree r = 2)%nat) by (apply orb_true_iff in Hd as [D|D]; apply Nat.eqb_eq in D; auto).
  assert (Hs' : r_side r = Right \/ r_side r = Left) by (destruct (r_side r); auto; discriminate).
  rewrite Hk. set (f := fun i => ramp_value (r_side r) 0 (r_degree r) (IZR i * Q2R b)).
  set (g := fun i => fold_right (fun r s => Q2R (r_weight r) * ramp_value (r_side r) (Q2R (r_knot r)) (r_degree r) (IZR i * Q2R b) + s) 0 c) in *.
  match goal with |- line _ _ _ <= ?rhs => change (line (Q2R b) (fun i => Q2R (r_weight r) * f i + g i) x <= rhs) end.
  replace (line (Q2R b) (fun i => Q2R (r_weight r) * f i + g i) x) with (Q2R (r_weight r) * line (Q2R b) f x + 1 * line (Q2R b) g x) by (unfold line; ring).
  pose proof (ramp_line (Q2R b) x Hb (r_side r) (r_degree r) Hs' Hd') as HL. fold f in HL.
  apply (Rmult_le_compat_l _ _ _ Hw) in HL.
  assert (Hq : Q2R (b * b * (1 # 4)) = Q2R b * Q2R b / 4) by (rewrite !Q2R_mult; unfold Q2R at 3; cbn; field).
  destruct Hs' as [E|E], Hd' as [D|D]; rewrite E, D in *; cbn [Nat.eqb] in *; destruct (Rle_dec 0 x);
    rewrite ?Q2R_plus, ?(Q2R_mult (r_weight r)), ?Hq in *; lra.
Qed.

Section Bound.
Variables (t : table) (c : list ramp) (d : dual) (claim below : Q).
Hypothesis ok : bound_ok t c d claim = true.
Hypothesis is_slack : slack t d c = Some below.

Let ms := all_shifts d.
Let e := exp_up (epsilon t) 96.
Let p := (96 - d_exponent d)%Z.
Let b := Q2R (node_step t d).
Let lo := fold_right (fun r m => Z.min (Qfloor (r_knot r / node_step t d)) m) (leftmost ms) c.
Let u := / IZR (2 ^ p).
Let P96 := IZR (2 ^ 96).
Let Eup := IZR e / P96.
Let V (j : Z) : R := Q2R (ramps_at c (inject_Z j * node_step t d) - below).
Let of_file (m : multipliers) : shifted :=
  {| by_nodes := m_shift m; y := fun j => u * P96 * IZR (at_place (m_values m) (j - m_first m)); top := u * P96 * IZR (largest (m_values m)) |}.

Lemma lo_le : (lo <= leftmost ms)%Z.
Proof. unfold lo. generalize (leftmost ms). intros m. clear. induction c as [|r c' IH]; cbn [fold_right]; lia. Qed.

(* The loss and what is added at a node; and between nodes it is linear. *)
Let at_node (l : list multipliers) (j : Z) : R := V j + u * IZR (at_place (brackets e lo l) (j - lo)).

Lemma added_is l' x : 0 < b -> incl l' ms -> line b V x + added b Eup (map of_file l') x = line b (at_node l') x.
Proof.
  intros Hb. pose proof lo_le as Hlo. induction l' as [|m l' IH]; intros Hl.
  - unfold at_node. cbn [brackets fold_right map added]. unfold line. rewrite !at_nil. ring.
  - destruct (leftmost_le ms m) as [L1 L2]; [apply Hl; left; reflexivity|].
    assert (Hl' : incl l' ms) by (intros a Ha; apply Hl; right; exact Ha).
    cbn [map added fold_right]. fold (added b Eup (map of_file l') x).
    replace (line b V x + (line b (y (of_file m)) x - Eup * line b (y (of_file m)) (x + IZR (by_nodes (of_file m)) * b) + added b Eup (map of_file l') x))
      with (line b (y (of_file m)) x - Eup * line b (y (of_file m)) (x + IZR (by_nodes (of_file m)) * b) + line b (at_node l') x) by (rewrite <- (IH Hl'); ring).
    rewrite line_moved by exact Hb. pose proof (power_of_2 96 ltac:(lia)) as H96. fold P96 in H96.
    assert (Hn : forall j, at_node (m :: l') j = at_node l' j + 1 * (y (of_file m) j + - Eup * y (of_file m) (j + by_nodes (of_file m))%Z)).
    { intros j. unfold at_node. cbn [brackets fold_right of_file y by_nodes]. fold (brackets e lo l').
      rewrite !at_plus, !at_scaled, !at_placed by lia. rewrite !plus_IZR, !mult_IZR, opp_IZR. fold P96.
      replace (j - lo + lo - m_first m)%Z with (j - m_first m)%Z by lia.
      replace (j - lo + lo - (m_first m - m_shift m))%Z with (j + m_shift m - m_first m)%Z by lia.
      pose proof (algebra_bracket u P96 (IZR e) (IZR (at_place (m_values m) (j - m_first m))) (IZR (at_place (m_values m) (j + m_shift m - m_first m)))
        (IZR (at_place (brackets e lo l') (j - lo))) (V j) ltac:(lra)) as A. fold Eup in A. lra. }
    unfold line at 3. set (k := floor (x / b)). unfold line. fold k. rewrite !Hn. ring.
Qed.

Let short := brackets e lo ms.
Let hi := fold_right (fun r m => Z.max (Qfloor (r_knot r / node_step t d) + 1) m) 0%Z c.
Let l := short ++ repeat 0%Z (Z.to_nat (hi - (lo + Z.of_nat (length short)))).
Let node (j : Z) : Z := Qfloor ((ramps_at c (inject_Z j * node_step t d) - below) * inject_Z (2 ^ p)).
Let least := (Qnum claim * 2 ^ p / Zpos (Qden claim) + 1 + (Qnum (delta t) * prices ms * 2 ^ 96 / Zpos (Qden (delta t)) + 1))%Z.

Lemma bound_parts : (kind t = Real \/ (0 < stride t d /\ 0 < Qnum (step t))%Z) /\ exp_up_fine (epsilon t) 96 = true /\
  (0 < Qnum (node_step t d))%Z /\ (0 < d_cells d)%Z /\ (0 <= p)%Z /\
  (forall m, In m ms -> (Z.abs (m_shift m) <= d_cells d)%Z /\ all_nonneg (m_values m) /\ (0 < largest (m_values m))%Z) /\
  rises c (node_step t d) (-1) (lo - 1) = true /\ rises c (node_step t d) 1 (lo + Z.of_nat (length l)) = true /\
  (least <= node (lo - 1))%Z /\ (least <= node (lo + Z.of_nat (length l)))%Z /\ all_above node least lo l = true.
Proof.
  assert (H := ok). unfold bound_ok in H. rewrite is_slack in H. fold ms e p lo hi short l in H. fold least in H.
  repeat rewrite andb_true_iff in H. repeat rewrite Z.leb_le in H. repeat rewrite Z.ltb_lt in H. rewrite forallb_forall in H.
  destruct H as [[[[[[[[[[H1 H2] H3] H4] H5] H6] H7] H8] H9] H10] H11].
  repeat match goal with |- _ /\ _ => split end; auto.
  - destruct (kind t); auto; right; apply andb_true_iff in H1 as [A B]; apply Z.ltb_lt in A, B; auto.
  - intros m Hm. specialize (H6 _ Hm). repeat rewrite andb_true_iff in H6. destruct H6 as [[A B] C].
    split; [apply Z.leb_le, A | split; [apply nonneg_of_leb, B | apply Z.ltb_lt, C]].
Qed.

Let b_pos : 0 < b. Proof. apply Q2R_pos, bound_parts. Qed.

Lemma V_is j : V j = ramps_value c (IZR j * b) - Q2R below.
Proof. unfold V. rewrite Q2R_minus, ramps_at_value, Q2R_mult, inject_value. reflexivity. Qed.

Lemma line_below X x : competes t X -> possible X x -> line b V x <= ramps_value c x.
Proof.
  intros [HX _] Hx. destruct Q2R_small as (Q0 & _). assert (Hs := is_slack). unfold slack in Hs.
  destruct (Z.eqb_spec (stride t d) 1) as [E|E].
  - (* all noise is at nodes *)
    assert (Hk : kind t <> Real) by (intros K; unfold stride in E; rewrite K in E; discriminate).
    destruct (HX Hk x Hx) as [n ->]. replace below with 0%Q by congruence.
    assert (Hb : Q2R (step t) = b).
    { unfold b, node_step. rewrite E. destruct (kind t); [contradiction | |]; rewrite Q2R_mult, inject_value; ring. }
    rewrite Hb. unfold line. rewrite (floor_is (IZR n * b / b) n) by (replace (IZR n * b / b) with (IZR n) by (field; lra); lra).
    rewrite !V_is. replace below with 0%Q by congruence. rewrite Q0. replace (IZR n * b / b - IZR n) with 0 by (field; lra). lra.
  - destruct (forallb at_zero c) eqn:Hz; [|discriminate].
    pose proof (ramps_line (node_step t d) c x b_pos Hz) as HL. fold b in HL.
    assert (Hbelow : Q2R (bulge true (node_step t d) c) <= Q2R below /\ Q2R (bulge false (node_step t d) c) <= Q2R below).
    { cbv zeta in Hs. set (bl := bulge false (node_step t d) c) in *. set (br := bulge true (node_step t d) c) in *.
      assert (E2 : below = if Qle_bool bl br then br else bl) by congruence. rewrite E2.
      destruct (Qle_bool bl br) eqn:Hm; [apply Qle_bool_true in Hm | apply Qle_bool_false in Hm]; lra. }
    replace (line b V x) with (line b (fun i => ramps_value c (IZR i * b)) x - Q2R below); [destruct (Rle_dec 0 x); lra|].
    unfold line. rewrite !V_is. ring.
Qed.

Lemma node_le j : 0 < IZR (2 ^ p) -> u * IZR (node j) <= V j.
Proof.
  intros H2p. apply Rmult_le_reg_l with (IZR (2 ^ p)); [exact H2p|]. unfold u. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
  pose proof (Qfloor_le ((ramps_at c (inject_Z j * node_step t d) - below) * inject_Z (2 ^ p))) as F. apply Qle_Rle in F.
  rewrite inject_value, Q2R_mult, inject_value in F. fold (node j) (V j) in F. lra.
Qed.

Lemma all_at_least j : 0 < IZR (2 ^ p) -> u * IZR least <= at_node ms j.
Proof.
  intros H2p. destruct bound_parts as (_ & _ & Hb & _ & _ & _ & Rl & Rr & Hl & Hr & Hw).
  assert (Hu : 0 < u) by (apply Rinv_0_lt_compat; exact H2p). unfold at_node. fold short. pose proof (node_le j H2p) as N.
  assert (Hshort : forall i, at_place short i = at_place l i) by (intros; unfold l; rewrite at_before_zeros; reflexivity). rewrite Hshort.
  destruct (Z_lt_le_dec j lo) as [Hj|Hj]; [|destruct (Z_lt_le_dec j (lo + Z.of_nat (length l))) as [Hj'|Hj']].
  - rewrite at_out by lia. pose proof (rises_from c _ (-1) (lo - 1) b_pos ltac:(auto) Rl j ltac:(lia)) as F. fold b in F.
    pose proof (node_le (lo - 1) H2p) as G. rewrite V_is in G |- *. apply IZR_le in Hl. nra.
  - pose proof (all_above_is _ _ _ _ Hw (j - lo)%Z ltac:(lia)) as F. replace (lo + (j - lo))%Z with j in F by lia.
    apply IZR_le in F. rewrite plus_IZR in F. nra.
  - rewrite at_out by lia. pose proof (rises_from c _ 1 (lo + Z.of_nat (length l)) b_pos ltac:(auto) Rr j ltac:(lia)) as F. fold b in F.
    pose proof (node_le (lo + Z.of_nat (length l)) H2p) as G. rewrite V_is in G |- *. apply IZR_le in Hr. nra.
Qed.

Lemma reached_steps k : kind t <> Real -> (Z.abs k <= d_cells d)%Z ->
  exists m, IZR k * b = IZR m * Q2R (step t) /\ IZR (Z.abs m) < Q2R (sensitivity t) / Q2R (step t) + 1.
Proof.
  intros Ek Hk. destruct bound_parts as ([Hkind|[Hst Hstep]] & _ & _ & HK & _); [contradiction|].
  apply Q2R_pos in Hstep. exists (k * stride t d)%Z.
  assert (Hb : b = IZR (stride t d) * Q2R (step t)).
  { unfold b, node_step. destruct (kind t); [contradiction | |]; rewrite Q2R_mult, inject_value; reflexivity. }
  split; [rewrite Hb, mult_IZR; ring|].
  set (q := (sensitivity t / step t)%Q).
  assert (Hq : Q2R q = Q2R (sensitivity t) / Q2R (step t)).
  { unfold q. apply Q2R_div. intros Z0. apply Qeq_eqR in Z0. destruct Q2R_small as (Q0 & _). lra. }
  rewrite <- Hq. assert (Hm : (Z.abs (k * stride t d) <= Qceiling q)%Z).
  { rewrite Z.abs_mul, (Z.abs_eq (stride t d)) by lia. unfold stride in *. fold q in Hst |- *.
    destruct (kind t); [contradiction | |]; pose proof (Z.mul_div_le (Qceiling q) (d_cells d) HK); nia. }
  apply IZR_le in Hm. pose proof (Qceiling_lt q) as HC. apply Qlt_Rlt in HC. rewrite inject_value, minus_IZR in HC. lra.
Qed.

Lemma reaches k : (Z.abs k <= d_cells d)%Z -> reached t (IZR k * b).
Proof.
  intros Hk. destruct bound_parts as (Hkind & _ & _ & HK & _). assert (HKR : 0 < IZR (d_cells d)) by (apply IZR_lt; exact HK).
  assert (HbR := b_pos). unfold reached. destruct (kind t) eqn:Ek.
  - assert (Hb : b = Q2R (sensitivity t) / IZR (d_cells d)).
    { unfold b, node_step. rewrite Ek, Q2R_div, inject_value; [reflexivity|]. intros Z0. apply Qeq_eqR in Z0. rewrite inject_value in Z0.
      destruct Q2R_small as (Q0 & _). lra. }
    rewrite Rabs_mult, (Rabs_pos_eq b), <- abs_IZR by lra. apply IZR_le in Hk.
    apply Rle_trans with (IZR (d_cells d) * b); [apply Rmult_le_compat_r; lra|].
    apply Req_le. rewrite Hb. field. lra.
  - apply reached_steps; [rewrite Ek; discriminate | exact Hk].
  - apply reached_steps; [rewrite Ek; discriminate | exact Hk].
Qed.
Theorem ramps_bound : no_noise_loses_less t (ramps_value c) (Q2R claim).
Proof.
  intros X HX Hc. destruct bound_parts as (_ & Hfine & _ & _ & Hp & Hms & _).
  pose proof (power_of_2 96 ltac:(lia)) as H96. fold P96 in H96. pose proof (power_of_2 p Hp) as H2p.
  assert (Hu : 0 < u) by (apply Rinv_0_lt_compat; exact H2p).
  assert (Hprice : price (map of_file ms) = u * P96 * IZR (prices ms)).
  { clear. unfold price, prices. induction ms as [|m ms' IH]; cbn [map fold_right]; [ring|].
    rewrite IH, plus_IZR. cbn [top of_file]. ring. }
  apply Rle_trans with (u * IZR least - Q2R (delta t) * price (map of_file ms)).
  - rewrite Hprice. unfold least. rewrite plus_IZR.
    pose proof (quotient_up (Qnum claim * 2 ^ p) (Zpos (Qden claim)) ltac:(lia)) as B1.
    pose proof (quotient_up (Qnum (delta t) * prices ms * 2 ^ 96) (Zpos (Qden (delta t))) ltac:(lia)) as B2.
    rewrite mult_IZR in B1. rewrite (mult_IZR (_ * _)), (mult_IZR (Qnum (delta t))) in B2. fold P96 in B2.
    pose proof (algebra_price (IZR (2 ^ p)) P96 (IZR (Qnum claim)) (IZR (Zpos (Qden claim))) (IZR (Qnum (delta t))) (IZR (Zpos (Qden (delta t))))
      (IZR (prices ms)) ltac:(lra) ltac:(apply IZR_neq; lia) ltac:(apply IZR_neq; lia)) as A. fold u (Q2R claim) (Q2R (delta t)) in A.
    set (z1 := (Qnum claim * 2 ^ p / Zpos (Qden claim) + 1)%Z) in *.
    set (z2 := (Qnum (delta t) * prices ms * 2 ^ 96 / Zpos (Qden (delta t)) + 1)%Z) in *.
    assert (Hsum : Q2R claim + Q2R (delta t) * (u * P96 * IZR (prices ms)) <= u * (IZR z1 + IZR z2)).
    2:{ revert Hsum. generalize (Q2R (delta t) * (u * P96 * IZR (prices ms))) (u * (IZR z1 + IZR z2)). intros. lra. }
    apply Rmult_le_reg_l with (IZR (2 ^ p)); [exact H2p|]. rewrite A. unfold u. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. lra.
  - apply (multipliers_bound t X (ramps_value c) b (u * IZR least) Eup (map of_file ms) HX Hc b_pos).
    + intros m' Hm'. apply in_map_iff in Hm' as [m [<- Hm]]. destruct (Hms m Hm) as (Hsh & Hnn & Htop).
      cbn [by_nodes y top of_file]. split; [|split].
      * apply reaches, Hsh.
      * apply Rmult_lt_0_compat; [nra | apply IZR_lt; exact Htop].
      * intros j. pose proof (IZR_le _ _ (at_nonneg (m_values m) (j - m_first m) Hnn)) as G1.
        pose proof (IZR_le _ _ (proj1 (largest_ge (m_values m) (j - m_first m)))) as G2. assert (0 < u * P96) by nra.
        split; [apply Rmult_le_pos; lra | apply Rmult_le_compat_l; lra].
    + pose proof (exp_up_ge (epsilon t) 96 ltac:(lia) Hfine) as G. fold e P96 in G. unfold Eup.
      apply Rmult_le_reg_l with P96; [exact H96|]. unfold Rdiv. rewrite (Rmult_comm (IZR e)), <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. exact G.
    + intros x Hx. apply Rle_trans with (line b V x + added b Eup (map of_file ms) x).
      * rewrite added_is; [|exact b_pos | apply incl_refl]. apply line_above. intros j. apply all_at_least, H2p.
      * apply Rplus_le_compat_r. apply (line_below X); assumption.
Qed.
End Bound.

Theorem bound_sound t c d claim : bound_ok t c d claim = true -> no_noise_loses_less t (ramps_value c) (Q2R claim).
Proof.
  intros ok. destruct (slack t d c) as [below|] eqn:Hs; [exact (ramps_bound t c d claim below ok Hs)|].
  unfold bound_ok in ok. rewrite Hs in ok. discriminate.
Qed.
