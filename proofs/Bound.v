(* SPDX-License-Identifier: Apache-2.0 *)
(* The checker of the lower bound of a table, from the multipliers of its file: for the values of integers and lattices, if these are
   the nodes, any loss that is a sum of ramps; otherwise those of Nodes.v. *)
From Coq Require Import ZArith QArith Qround Qreals Reals List Bool Lia Lra.
From Noisewright Require Import Statement Sums Exp Lists Check Law Private Losses Ramps Rising Loss Json Decode Lower Nodes.
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

(* The value at a node: that of the loss, if no noise is between nodes. *)
Definition on_nodes (t : table) (d : dual) : bool := stride t d =? 1.
Definition node_value (t : table) (d : dual) (c : list ramp) (j : Z) : Q :=
  if on_nodes t d then ramps_at c (inject_Z j * node_step t d) else any_value c (node_step t d) j.

(* What else than the multipliers of shifts is in a dual is not looked at: these prove what they prove without it.
   In units of 2^-p, p = 96 - exponent, and rounded down at nodes. All knots are between the first node and the last that are looked at,
   and the loss does not decrease from there on, nor do its values at nodes, which may be taken to be the same. *)
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
  let first := lo - 1 in let last := lo + Z.of_nat (length l) in
  let node j := Qfloor (node_value t d c j * inject_Z (2 ^ p))%Q in
  let least := (Qnum claim * 2 ^ p / Zpos (Qden claim) + 1) + (Qnum (delta t) * prices ms * 2 ^ 96 / Zpos (Qden (delta t)) + 1) in
  match kind t with Real => true | _ => (0 <? stride t d) && (0 <? Qnum (step t)) end && exp_up_fine (epsilon t) 96 &&
  (0 <? Qnum b) && (0 <? d_cells d) && (0 <=? p) &&
  forallb (fun m => (Z.abs (m_shift m) <=? d_cells d) && forallb (Z.leb 0) (m_values m) && (0 <? largest (m_values m))) ms &&
  (if on_nodes t d then rises c b (-1) first && rises c b 1 last else any_nodes_ok c b first last) &&
  (least <=? node first) && (least <=? node last) && all_above node least lo l.

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

Lemma line_above b v least x : (forall j, least <= v j) -> least <= line b v x.
Proof.
  intros H. unfold line. pose proof (floor_spec (x / b)). set (j := floor (x / b)) in *. pose proof (H j). pose proof (H (j + 1)%Z). nra.
Qed.

Section Bound.
Variables (t : table) (c : list ramp) (d : dual) (claim : Q).
Hypothesis ok : bound_ok t c d claim = true.

Let ms := all_shifts d.
Let e := exp_up (epsilon t) 96.
Let p := (96 - d_exponent d)%Z.
Let b := Q2R (node_step t d).
Let lo := fold_right (fun r m => Z.min (Qfloor (r_knot r / node_step t d)) m) (leftmost ms) c.
Let u := / IZR (2 ^ p).
Let P96 := IZR (2 ^ 96).
Let Eup := IZR e / P96.
Let short := brackets e lo ms.
Let hi := fold_right (fun r m => Z.max (Qfloor (r_knot r / node_step t d) + 1) m) 0%Z c.
Let l := short ++ repeat 0%Z (Z.to_nat (hi - (lo + Z.of_nat (length short)))).
Let first := (lo - 1)%Z.
Let last := (lo + Z.of_nat (length l))%Z.
(* Beyond the first and the last node that are looked at the value stays what it is there. *)
Let V (j : Z) : R := Q2R (node_value t d c (clamp first last j)).
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

Let node (j : Z) : Z := Qfloor (node_value t d c j * inject_Z (2 ^ p)).
Let least := (Qnum claim * 2 ^ p / Zpos (Qden claim) + 1 + (Qnum (delta t) * prices ms * 2 ^ 96 / Zpos (Qden (delta t)) + 1))%Z.

Lemma bound_parts : (kind t = Real \/ (0 < stride t d /\ 0 < Qnum (step t))%Z) /\ exp_up_fine (epsilon t) 96 = true /\
  (0 < Qnum (node_step t d))%Z /\ (0 < d_cells d)%Z /\ (0 <= p)%Z /\
  (forall m, In m ms -> (Z.abs (m_shift m) <= d_cells d)%Z /\ all_nonneg (m_values m) /\ (0 < largest (m_values m))%Z) /\
  (if on_nodes t d then rises c (node_step t d) (-1) first && rises c (node_step t d) 1 last else any_nodes_ok c (node_step t d) first last) = true /\
  (least <= node first)%Z /\ (least <= node last)%Z /\ all_above node least lo l = true.
Proof.
  assert (H := ok). unfold bound_ok in H. fold ms e p lo hi short l in H. fold least first last in H.
  repeat rewrite andb_true_iff in H. repeat rewrite Z.leb_le in H. repeat rewrite Z.ltb_lt in H. rewrite forallb_forall in H.
  destruct H as [[[[[[[[[H1 H2] H3] H4] H5] H6] H7] H8] H9] H10].
  (* By name: what auto would try does not end if a condition is not there. *)
  repeat match goal with |- _ /\ _ => split end; [| exact H2 | exact H3 | exact H4 | exact H5 | | exact H7 | exact H8 | exact H9 | exact H10].
  - destruct (kind t); auto; right; apply andb_true_iff in H1 as [A B]; apply Z.ltb_lt in A, B; auto.
  - intros m Hm. specialize (H6 _ Hm). repeat rewrite andb_true_iff in H6. destruct H6 as [[A B] C].
    split; [apply Z.leb_le, A | split; [apply nonneg_of_leb, B | apply Z.ltb_lt, C]].
Qed.

Let b_pos : 0 < b. Proof. apply Q2R_pos, bound_parts. Qed.

Lemma line_below X x : competes t X -> possible X x -> line b V x <= ramps_value c x.
Proof.
  intros [HX _] Hx. destruct bound_parts as (_ & _ & _ & _ & _ & _ & H & _). unfold V, node_value.
  destruct (on_nodes t d) eqn:E; [|apply any_nodes_line; [exact b_pos | exact H]].
  (* all noise is at nodes *)
  apply andb_true_iff in H as [Rl Rr]. apply Z.eqb_eq in E.
  assert (Hk : kind t <> Real) by (intros K; unfold stride in E; rewrite K in E; discriminate).
  destruct (HX Hk x Hx) as [n ->].
  assert (Hb : Q2R (step t) = b).
  { unfold b, node_step. rewrite E. destruct (kind t); [contradiction | |]; rewrite Q2R_mult, inject_value; ring. }
  rewrite Hb. unfold line. rewrite (floor_is (IZR n * b / b) n) by (replace (IZR n * b / b) with (IZR n) by (field; lra); lra).
  replace (IZR n * b / b - IZR n) with 0 by (field; lra). rewrite !ramps_at_value, !Q2R_mult, !inject_value. fold b.
  assert (C : ramps_value c (IZR (clamp first last n) * b) <= ramps_value c (IZR n * b)); [|lra].
  assert (D : (last <= n \/ n <= first \/ first <= n <= last)%Z) by lia. destruct D as [D|[D|D]].
  - replace (clamp first last n) with last by (unfold clamp, first, last in *; lia). apply (rises_from c _ 1 last b_pos ltac:(auto) Rr n). lia.
  - replace (clamp first last n) with first by (unfold clamp, first, last in *; lia). apply (rises_from c _ (-1) first b_pos ltac:(auto) Rl n). lia.
  - replace (clamp first last n) with n by (unfold clamp; lia). lra.
Qed.

Lemma node_le j : 0 < IZR (2 ^ p) -> u * IZR (node j) <= Q2R (node_value t d c j).
Proof.
  intros H2p. apply Rmult_le_reg_l with (IZR (2 ^ p)); [exact H2p|]. unfold u. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
  pose proof (Qfloor_le (node_value t d c j * inject_Z (2 ^ p))) as F. apply Qle_Rle in F.
  rewrite inject_value, Q2R_mult, inject_value in F. fold (node j) in F. lra.
Qed.

Lemma all_at_least j : 0 < IZR (2 ^ p) -> u * IZR least <= at_node ms j.
Proof.
  intros H2p. destruct bound_parts as (_ & _ & _ & _ & _ & _ & _ & Hl & Hr & Hw).
  assert (Hu : 0 < u) by (apply Rinv_0_lt_compat; exact H2p). unfold at_node, V. fold short.
  assert (Hshort : forall i, at_place short i = at_place l i) by (intros; unfold l; rewrite at_before_zeros; reflexivity). rewrite Hshort.
  destruct (Z_lt_le_dec j lo) as [Hj|Hj]; [|destruct (Z_lt_le_dec j last) as [Hj'|Hj']].
  - rewrite at_out by lia. replace (clamp first last j) with first by (unfold clamp, first, last in *; lia).
    pose proof (node_le first H2p) as G. apply IZR_le in Hl. nra.
  - replace (clamp first last j) with j by (unfold clamp, first in *; lia). pose proof (node_le j H2p) as N.
    pose proof (all_above_is _ _ _ _ Hw (j - lo)%Z ltac:(unfold last in *; lia)) as F. replace (lo + (j - lo))%Z with j in F by lia.
    apply IZR_le in F. rewrite plus_IZR in F. nra.
  - rewrite at_out by (unfold last in *; lia). replace (clamp first last j) with last by (unfold clamp, first, last in *; lia).
    pose proof (node_le last H2p) as G. apply IZR_le in Hr. nra.
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
Proof. apply ramps_bound. Qed.
