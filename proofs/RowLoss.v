(* SPDX-License-Identifier: Apache-2.0 *)
(* Expected losses of local randomizers. docs/proofs/local-privacy.md, 4, says it in words. *)
From Coq Require Import ZArith QArith Qround Qreals Reals List Bool Lia Lra.
From Noisewright Require Import Statement Sums Exp Lists Check Private Losses Ramps Loss Convex Randomizers Rows.
Import ListNotations.
Local Open Scope Z_scope.

(* --- The loss of a row, in integers --- *)

(* Numbers in units of 1/D, if their denominators divide it. *)
Definition largest_den (l : list Q) : Z := fold_right (fun q d => Z.max (Zpos (Qden q)) d) 1 l.
Definition fine (D : Z) (q : Q) : bool := D mod Zpos (Qden q) =? 0.
Definition in_units (D : Z) (q : Q) : Z := Qnum q * (D / Zpos (Qden q)).

(* The sum of weights times the ramp at answer minus P, in units of D^-d for a ramp of degree d: all numbers are in units of 1/D. *)
Definition ramp_degree (r : ramp) : nat := match r_side r with Everywhere => O | _ => r_degree r end.
Definition rise (s : side) (z : Z) : Z := match s with Right => z | Left => - z | Everywhere => 1 end.
Fixpoint ramp_total (s : side) (K : Z) (d : nat) (P : Z) (row answers : list Z) (acc : Z) : Z :=
  match row, answers with
  | w :: row', y :: answers' =>
    let z := rise s (y - P - K) in
    ramp_total s K d P row' answers' (if 0 <? z then acc + w * z ^ Z.of_nat d else acc)
  | _, _ => acc
  end.
(* That of the loss, in units of 1/(C D^top). *)
Definition row_loss (l : list ramp) (C D : Z) (top : nat) (answers : list Z) (row : list Z) (P : Z) : Z :=
  fold_right (fun r s =>
    in_units C (r_weight r) * D ^ Z.of_nat (top - ramp_degree r) *
      ramp_total (r_side r) (in_units D (r_knot r)) (ramp_degree r) P row answers 0 + s) 0 l.

Local Open Scope R_scope.

Lemma in_units_is D q : fine D q = true -> IZR (in_units D q) = IZR D * Q2R q.
Proof.
  unfold fine, in_units. intros H. apply Z.eqb_eq in H. rewrite mult_IZR. unfold Q2R.
  assert (HD : IZR D = IZR (Zpos (Qden q)) * IZR (D / Zpos (Qden q))).
  { rewrite <- mult_IZR. f_equal. pose proof (Z.div_mod D (Zpos (Qden q)) ltac:(lia)). lia. }
  rewrite HD. field. apply IZR_neq. lia.
Qed.

(* A ramp at z/D, for z in integers. *)
Lemma rise_is s K d z D x k : 0 < D -> IZR z = D * x -> IZR K = D * k ->
  (if (0 <? rise s (z - K))%Z then IZR (rise s (z - K)) ^ d else 0) =
  match s with Everywhere => 1 | _ => D ^ d * ramp_value s k d x end.
Proof.
  intros HD Hz HK. destruct s; cbn [rise ramp_value].
  - assert (E : IZR (z - K) = D * (x - k)) by (rewrite minus_IZR, Hz, HK; ring).
    destruct (Z.ltb_spec 0 (z - K)) as [H|H]; [apply IZR_lt in H | apply IZR_le in H]; rewrite E in H; destruct (Rlt_dec _ _); try nra.
    rewrite E, Rpow_mult_distr. reflexivity.
  - assert (E : IZR (- (z - K)) = D * (k - x)) by (rewrite opp_IZR, minus_IZR, Hz, HK; ring).
    destruct (Z.ltb_spec 0 (- (z - K))) as [H|H]; [apply IZR_lt in H | apply IZR_le in H]; rewrite E in H; destruct (Rlt_dec _ _); try nra.
    rewrite E, Rpow_mult_distr. reflexivity.
  - apply pow1.
Qed.

Definition integers_of (D : Z) (l : list Q) : list Z := map (in_units D) l.

Lemma ramp_total_is D s K d P x k answers : (0 < D)%Z -> forallb (fine D) answers = true -> IZR P = IZR D * x -> IZR K = IZR D * k ->
  forall row acc, length row = length answers ->
  IZR (ramp_total s K d P row (integers_of D answers) acc) = IZR acc +
  sum (fun j => IZR (at_place row j) * match s with Everywhere => 1 | _ => IZR D ^ d * ramp_value s k d (place answers j - x) end) 0 (length answers).
Proof.
  intros HD HF HP HK. apply IZR_lt in HD. induction answers as [|y answers IH]; intros [|w row] acc Hl; try discriminate; [cbn; ring|].
  cbn [forallb] in HF. apply andb_true_iff in HF as [Hy HF]. cbn [integers_of map ramp_total length]. fold (integers_of D answers).
  rewrite IH by (auto; injection Hl; auto). rewrite sum_first. change (at_place (w :: row) 0) with w. change (place (y :: answers) 0) with (Q2R y).
  rewrite <- (rise_is s K d (in_units D y - P) (IZR D) (Q2R y - x) k HD) by (rewrite ?minus_IZR, ?in_units_is, ?HP by exact Hy; auto; ring).
  rewrite (sum_onto (fun j => IZR (at_place (w :: row) j) * _) (fun j => IZR (at_place row j) *
    match s with Everywhere => 1 | _ => IZR D ^ d * ramp_value s k d (place answers j - x) end) (0 + 1) 0).
  - destruct (0 <? rise s (in_units D y - P - K))%Z; [rewrite plus_IZR, mult_IZR, <- pow_IZR|]; ring.
  - intros j Hj. replace (0 + 1 + j)%Z with (j + 1)%Z by lia. rewrite Z.add_0_l, at_next by lia.
    unfold place. replace (Z.to_nat (j + 1)) with (S (Z.to_nat j)) by lia. reflexivity.
Qed.

(* Ramps, of degrees up to top, weighed. *)
Lemma ramp_degree_le r l : In r l -> (ramp_degree r <= degree l)%nat.
Proof.
  intros H. assert (r_degree r <= degree l)%nat; [|unfold ramp_degree; destruct (r_side r); lia].
  unfold degree. induction l as [|a l IH]; [destruct H|]. cbn [fold_right]. destruct H as [->|H]; [lia | specialize (IH H); lia].
Qed.

Lemma one_ramp c u w t k d : (k + d)%nat = t -> c * u ^ k * (u ^ d * w) = c * u ^ t * w.
Proof. intros <-. rewrite pow_add. ring. Qed.

Definition fine_ramps (C D : Z) (l : list ramp) : bool := forallb (fun r => fine C (r_weight r) && fine D (r_knot r)) l.

Lemma row_loss_is l C D top answers row P x : (0 < D)%Z -> fine_ramps C D l = true -> forallb (fine D) answers = true ->
  (forall r, In r l -> (ramp_degree r <= top)%nat) -> length row = length answers -> IZR P = IZR D * x ->
  IZR (row_loss l C D top (integers_of D answers) row P) =
  IZR C * IZR D ^ top * sum (fun j => IZR (at_place row j) * ramps_value l (place answers j - x)) 0 (length answers).
Proof.
  intros HD HR HA HT Hl HP. induction l as [|r l IH].
  - rewrite sum_zero; [cbn; ring|]. intros. cbn. ring.
  - cbn [fine_ramps forallb] in HR. rewrite !andb_true_iff in HR. destruct HR as [[Hw Hk] HR].
    cbn [row_loss fold_right]. fold (row_loss l C D top (integers_of D answers) row P).
    rewrite plus_IZR, IH by (auto; intros; apply HT; right; auto). clear IH.
    rewrite !mult_IZR, <- pow_IZR, (in_units_is C _ Hw).
    rewrite (ramp_total_is D (r_side r) _ (ramp_degree r) P x (Q2R (r_knot r)) answers HD HA HP (in_units_is D _ Hk) row 0 Hl).
    rewrite Rplus_0_l.
    rewrite (sum_ext (fun j => IZR (at_place row j) * match r_side r with Everywhere => 1 | _ => _ end)
      (fun j => IZR D ^ ramp_degree r * (IZR (at_place row j) * ramp_value (r_side r) (Q2R (r_knot r)) (r_degree r) (place answers j - x)))).
    + rewrite sum_scale.
      replace (IZR C * Q2R (r_weight r) * IZR D ^ (top - ramp_degree r) * (IZR D ^ ramp_degree r * sum _ 0 (length answers)))
        with (IZR C * IZR D ^ (top - ramp_degree r) * (IZR D ^ ramp_degree r * (Q2R (r_weight r) *
          sum (fun j => IZR (at_place row j) * ramp_value (r_side r) (Q2R (r_knot r)) (r_degree r) (place answers j - x)) 0 (length answers)))) by ring.
      rewrite (one_ramp _ _ _ top) by (pose proof (HT r (or_introl eq_refl)); lia).
      rewrite <- Rmult_plus_distr_l, <- sum_scale, <- sum_plus. f_equal. apply sum_ext. intros j _.
      cbn [ramps_value fold_right]. fold (ramps_value l (place answers j - x)). ring.
    + intros j _. unfold ramp_degree. destruct (r_side r); cbn [ramp_value pow]; ring.
Qed.

(* --- Of all nodes --- *)

Local Open Scope Z_scope.

Fixpoint dot (a b : list Z) (acc : Z) : Z :=
  match a, b with x :: a', y :: b' => dot a' b' (acc + x * y) | _, _ => acc end.

(* The values i, i+1, ... *)
Fixpoint numbered (i : Z) (l : list Q) : bool := match l with [] => true | x :: l' => Qeq_bool x (inject_Z i) && numbered (i + 1) l' end.
Definition all_nodes (r : randomizer) : bool :=
  match r_values r with Reals => false | _ => numbered (Qfloor (hd 0%Q (r_nodes r))) (r_nodes r) end.

(* The units in which losses of rows are counted: U of them are a loss of 1, and D units a distance of 1. *)
Record scale := { s_ramps : list ramp; s_C : Z; s_D : Z; s_top : nat }.
Definition scale_of (r : randomizer) (c : loss) : option scale :=
  match ramps_of c with
  | None => None
  | Some l =>
    (* 64 parts of a distance between nodes are whole numbers, too *)
    let D := 64 * largest_den (map r_knot l ++ r_nodes r ++ r_answers r) in let C := largest_den (map r_weight l) in
    if (0 <? D) && (0 <? C) && fine_ramps C D l && forallb (fine D) (r_nodes r) && forallb (fine D) (r_answers r)
    then Some {| s_ramps := l; s_C := C; s_D := D; s_top := degree l |} else None
  end.
Definition unit_loss (s : scale) : Z := s_C s * s_D s ^ Z.of_nat (s_top s) * 2 ^ 64.
Definition scaled_loss (r : randomizer) (s : scale) : list Z -> Z -> Z :=
  row_loss (s_ramps s) (s_C s) (s_D s) (s_top s) (integers_of (s_D s) (r_answers r)).

Definition node_losses (r : randomizer) : option (Z * list Z) :=
  match r_costs r with
  | Differences c =>
    match scale_of r c with
    | Some s => let f := scaled_loss r s in
      Some (unit_loss s, map (fun xw => f (snd xw) (in_units (s_D s) (fst xw))) (combine (r_nodes r) (r_rows r)))
    | None => None
    end
  | Costs c =>
    let C := largest_den (concat c) in
    if (0 <? C) && numbered 0 (r_nodes r) && (length c =? length (r_rows r))%nat &&
      forallb (fun l => (length l =? answers_of r)%nat && forallb (fine C) l) c
    then Some (C * 2 ^ 64, map (fun cw => dot (snd cw) (integers_of C (fst cw)) 0) (combine c (r_rows r))) else None
  end.

(* Whether v, in units of 1/U, is at most a claim. *)
Definition at_most (v U : Z) (claim : Q) : bool := v * Zpos (Qden claim) <=? Qnum claim * U.

(* Of integers and categories. *)
Definition worst_of_nodes (r : randomizer) (claim : Q) : bool :=
  all_nodes r &&
  match node_losses r with Some (U, l) => forallb (fun v => at_most v U claim) l | None => false end.

Definition shares_of (r : randomizer) : list Q := match r_shares r with [] => repeat 1%Q (length (r_nodes r)) | s => s end.
(* s are the shares, and s' the same in units of 1/S. *)
Definition average_ok (r : randomizer) (s : list Q) (S : Z) (s' : list Z) (claim : Q) : bool :=
  (0 <? S) && (length s =? length (r_nodes r))%nat && forallb (fine S) s && (0 <? total s' 0) &&
  match node_losses r with Some (U, l) => at_most (dot l s' 0) (U * total s' 0) claim | None => false end.
Definition mean_ok (r : randomizer) (claim : Q) : bool :=
  let s := shares_of r in let S := largest_den s in well_made r && average_ok r s S (integers_of S s) claim.

Local Open Scope R_scope.

Lemma dot_is b : forall a acc, length a = length b ->
  IZR (dot a b acc) = IZR acc + sum (fun j => IZR (at_place a j) * IZR (at_place b j)) 0 (length b).
Proof.
  induction b as [|y b IH]; intros [|x a] acc H; try discriminate; cbn [dot length]; [cbn; ring|].
  rewrite IH, sum_first by (injection H; auto). change (at_place (x :: a) 0) with x. change (at_place (y :: b) 0) with y.
  rewrite plus_IZR, mult_IZR. rewrite (sum_onto (fun j => IZR (at_place (x :: a) j) * _)
    (fun j => IZR (at_place a j) * IZR (at_place b j)) (0 + 1) 0); [ring|].
  intros j Hj. replace (0 + 1 + j)%Z with (j + 1)%Z by lia. rewrite Z.add_0_l, !at_next by lia. reflexivity.
Qed.

Lemma at_integers D l j : forallb (fine D) l = true -> (0 <= j)%Z -> IZR (at_place (integers_of D l) j) = IZR D * place l j.
Proof.
  intros H Hj. unfold at_place, place, integers_of. destruct (Z.ltb_spec j 0); [lia|].
  revert l H. induction (Z.to_nat j); intros [|q l] H; cbn [map nth forallb] in *;
    try (destruct Q2R_small as (-> & _); ring); apply andb_true_iff in H as [H1 H2]; [apply in_units_is, H1 | apply IHn, H2].
Qed.

Lemma at_most_sound v U claim e : (0 < U)%Z -> IZR v = IZR U * e -> at_most v U claim = true -> e <= Q2R claim.
Proof.
  unfold at_most. intros HU Hv H. apply Z.leb_le, IZR_le in H. rewrite !mult_IZR, Hv in H. apply IZR_lt in HU.
  assert (Hd : 0 < IZR (Zpos (Qden claim))) by (apply IZR_lt; lia). unfold Q2R. set (d := IZR (Zpos _)) in *.
  apply Rmult_le_reg_r with (IZR U * d); [nra|]. replace (IZR (Qnum claim) * / d * (IZR U * d)) with (IZR (Qnum claim) * IZR U) by (field; lra).
  lra.
Qed.

(* The expected loss of a row for any value. *)
Definition loss_of_row (r : randomizer) (row : list Z) (x : R) : R :=
  sum (fun j => weight row j * cost r x j) 0 (answers_of r).

Lemma scale_parts r c s : scale_of r c = Some s -> (0 < s_D s)%Z /\ (0 < s_C s)%Z /\ fine_ramps (s_C s) (s_D s) (s_ramps s) = true /\
  forallb (fine (s_D s)) (r_nodes r) = true /\ forallb (fine (s_D s)) (r_answers r) = true /\
  s_top s = degree (s_ramps s) /\ forall x, ramps_value (s_ramps s) x = loss_value c x.
Proof.
  unfold scale_of. destruct (ramps_of c) as [l|] eqn:Hc; [|discriminate].
  set (D := (64 * largest_den _)%Z). set (C := largest_den _).
  destruct ((0 <? D)%Z && (0 <? C)%Z && fine_ramps C D l && forallb (fine D) (r_nodes r) && forallb (fine D) (r_answers r)) eqn:H; [|discriminate].
  rewrite !andb_true_iff, !Z.ltb_lt in H. intros E. injection E as <-. cbn. repeat split; try tauto. intros x. apply ramps_of_value, Hc.
Qed.

Lemma unit_loss_pos s : (0 < s_D s)%Z -> (0 < s_C s)%Z -> (0 < unit_loss s)%Z.
Proof. intros. unfold unit_loss. apply Z.mul_pos_pos; [apply Z.mul_pos_pos; [auto | apply Z.pow_pos_nonneg; lia] | reflexivity]. Qed.

Lemma scaled_loss_is r c s row P x : r_costs r = Differences c -> scale_of r c = Some s -> length row = answers_of r ->
  IZR P = IZR (s_D s) * x -> IZR (scaled_loss r s row P) = IZR (unit_loss s) * loss_of_row r row x.
Proof.
  intros Hc Hs Hl HP. destruct (scale_parts r c s Hs) as (HD & HC & HR & _ & HA & HT & HV).
  unfold scaled_loss, unit_loss, loss_of_row.
  rewrite (row_loss_is _ _ _ _ (r_answers r) row P x) by (auto; intros; rewrite HT; apply ramp_degree_le; auto).
  rewrite !mult_IZR, <- pow_IZR.
  rewrite (sum_ext (fun j => weight row j * cost r x j)
    (fun j => / IZR (2 ^ 64) * (IZR (at_place row j) * ramps_value (s_ramps s) (place (r_answers r) j - x)))).
  - rewrite sum_scale. unfold answers_of. assert (P2 : IZR (2 ^ 64) <> 0) by (apply IZR_neq; discriminate).
    set (u := IZR (2 ^ 64)) in *. set (y := sum _ _ _). field. exact P2.
  - intros j _. unfold cost, weight. rewrite Hc, HV. unfold Rdiv. ring.
Qed.

Lemma numbered_nth l : forall i k, numbered i l = true -> (k < length l)%nat -> Q2R (nth k l 0%Q) = IZR (i + Z.of_nat k).
Proof.
  induction l as [|x l IH]; intros i k H Hk; [cbn in Hk; lia|]. cbn [numbered] in H. apply andb_true_iff in H as [H1 H2].
  destruct k as [|k]; cbn [nth].
  - rewrite Z.add_0_r, <- Q2R_inject. apply Qeq_eqR, Qeq_bool_iff, H1.
  - rewrite (IH (i + 1)%Z k H2) by (cbn in Hk; lia). f_equal. lia.
Qed.

Lemma row_length r i : well_made r = true -> (i < length (r_rows r))%nat -> length (row_of (r_rows r) i) = answers_of r.
Proof.
  intros H Hi. destruct (well_made_parts r H) as (_ & _ & _ & _ & Hr). specialize (Hr i Hi). unfold row_ok in Hr.
  rewrite !andb_true_iff in Hr. apply Nat.eqb_eq, Hr.
Qed.

Theorem node_losses_is r U l : well_made r = true -> node_losses r = Some (U, l) -> (0 < U)%Z /\ length l = length (r_nodes r) /\
  forall i, (i < length (r_nodes r))%nat ->
  IZR (nth i l 0%Z) = IZR U * loss_of_row r (row_of (r_rows r) i) (Q2R (nth i (r_nodes r) 0%Q)).
Proof.
  intros H. destruct (well_made_parts r H) as (_ & Hl & _). unfold node_losses. destruct (r_costs r) as [c|c] eqn:Hc.
  - destruct (scale_of r c) as [s|] eqn:Hs; [|discriminate]. intros E. injection E as <- <-.
    destruct (scale_parts r c s Hs) as (HD & HC & _ & HN & _). split; [apply unit_loss_pos; auto|].
    rewrite map_length, combine_length, Hl, Nat.min_id. split; [reflexivity|]. intros i Hi.
    set (f := fun xw : Q * list Z => scaled_loss r s (snd xw) (in_units (s_D s) (fst xw))).
    rewrite (nth_indep _ 0%Z (f (0%Q, []))) by (rewrite map_length, combine_length; lia).
    rewrite map_nth, combine_nth by exact Hl. unfold f. cbn [fst snd].
    apply (scaled_loss_is r c s (row_of (r_rows r) i)); auto; [apply row_length; auto|]. apply in_units_is.
    rewrite forallb_forall in HN. apply HN, nth_In. lia.
  - set (C := largest_den (concat c)).
    match goal with |- (if ?b then _ else _) = _ -> _ => destruct b eqn:HB; [|discriminate] end.
    rewrite !andb_true_iff in HB. destruct HB as [[[HC HN] Hn] HF]. apply Z.ltb_lt in HC. apply Nat.eqb_eq in Hn.
    intros E. injection E as <- <-. split; [apply Z.mul_pos_pos; [exact HC | reflexivity]|].
    rewrite map_length, combine_length, Hn, Hl, Nat.min_id. split; [reflexivity|]. intros i Hi.
    set (f := fun cw : list Q * list Z => dot (snd cw) (integers_of C (fst cw)) 0).
    rewrite (nth_indep _ 0%Z (f ([], []))) by (rewrite map_length, combine_length; lia).
    rewrite map_nth, combine_nth by exact Hn. unfold f. cbn [fst snd]. fold (row_of (r_rows r) i).
    rewrite forallb_forall in HF. specialize (HF (nth i c []) (@nth_In _ i c [] ltac:(lia))). apply andb_true_iff in HF as [Hm HF].
    apply Nat.eqb_eq in Hm.
    rewrite dot_is by (unfold integers_of; rewrite map_length, row_length by auto; lia).
    unfold integers_of at 2. rewrite map_length, Hm, Rplus_0_l. unfold loss_of_row. rewrite <- sum_scale. apply sum_ext. intros j Hj.
    rewrite at_integers by (auto; lia). unfold cost. rewrite Hc.
    assert (Hfl : floor (Q2R (nth i (r_nodes r) 0%Q)) = Z.of_nat i).
    { rewrite (numbered_nth _ 0 i HN) by lia. apply floor_is. rewrite Z.add_0_l. lra. }
    rewrite Hfl, Nat2Z.id. change (Z.pow_pos 2 64) with (2 ^ 64)%Z. rewrite mult_IZR. unfold weight. assert (P2 : IZR (2 ^ 64) <> 0) by (apply IZR_neq; discriminate).
    set (u := IZR (2 ^ 64)) in *. set (p := place _ _). field. exact P2.
Qed.

(* A node is answered by its row alone. *)
Lemma ascends_first l : forall a i, ascends (a :: l) = true -> (i < length l)%nat -> Q2R a < Q2R (nth i l 0%Q).
Proof.
  induction l as [|b l IH]; intros a i H Hi; [cbn in Hi; lia|]. cbn [ascends] in H. apply andb_true_iff in H as [Hab H].
  apply negb_true_iff, Qle_bool_false in Hab. destruct i as [|i]; [exact Hab|].
  specialize (IH b i H ltac:(cbn in Hi; lia)). cbn [nth]. lra.
Qed.

Lemma answered_node nodes : forall rows i j, length nodes = length rows -> ascends nodes = true -> (i < length nodes)%nat ->
  answered nodes rows (Q2R (nth i nodes 0%Q)) j = weight (row_of rows i) j.
Proof.
  induction nodes as [|a nodes IH]; intros [|p rows] i j Hl Ha Hi; try discriminate; [cbn in Hi; lia|].
  destruct nodes as [|b nodes]; destruct rows as [|q rows]; try discriminate.
  - destruct i; [reflexivity | cbn in Hi; lia].
  - assert (Hab : Q2R a < Q2R b) by (apply (ascends_first (b :: nodes) a 0 Ha); cbn; lia).
    set (x := Q2R (nth i (a :: b :: nodes) 0%Q)).
    change ((if Rle_dec x (Q2R b)
      then (1 - (x - Q2R a) / (Q2R b - Q2R a)) * weight p j + (x - Q2R a) / (Q2R b - Q2R a) * weight q j
      else answered (b :: nodes) (q :: rows) x j) = weight (row_of (p :: q :: rows) i) j).
    assert (Ha' : ascends (b :: nodes) = true) by (cbn [ascends] in Ha |- *; apply andb_true_iff in Ha; apply Ha).
    destruct i as [|[|i]]; subst x; cbn [nth row_of].
    + destruct (Rle_dec _ _); [|lra]. field. lra.
    + destruct (Rle_dec _ _); [|lra]. field. lra.
    + pose proof (ascends_first nodes b i Ha' ltac:(cbn in Hi |- *; lia)). destruct (Rle_dec _ _); [lra|].
      exact (IH (q :: rows) (S i) j ltac:(injection Hl; intros; cbn; lia) Ha' ltac:(cbn in Hi |- *; lia)).
Qed.

Lemma cost_of_node r i : well_made r = true -> (i < length (r_nodes r))%nat ->
  expected_cost r (Q2R (nth i (r_nodes r) 0%Q)) = loss_of_row r (row_of (r_rows r) i) (Q2R (nth i (r_nodes r) 0%Q)).
Proof.
  intros H Hi. destruct (well_made_parts r H) as (_ & Hl & _ & Ha & _). apply sum_ext. intros j _. unfold randomized.
  rewrite answered_node by auto. reflexivity.
Qed.

Lemma last_is_nth (l : list Q) : l <> [] -> last l 0%Q = nth (length l - 1) l 0%Q.
Proof.
  induction l as [|a [|b l] IH]; intros H; [congruence | reflexivity|].
  change (last (a :: b :: l) 0%Q) with (last (b :: l) 0%Q). rewrite IH by discriminate.
  cbn [length]. replace (S (S (length l)) - 1)%nat with (S (S (length l) - 1)) by lia. reflexivity.
Qed.

(* All values are nodes. *)
Lemma value_is_node r x : well_made r = true -> all_nodes r = true -> value_of r x ->
  exists i, (i < length (r_nodes r))%nat /\ x = Q2R (nth i (r_nodes r) 0%Q).
Proof.
  intros H HN [Hx Hi]. destruct (well_made_parts r H) as (_ & _ & Hne & _). unfold all_nodes in HN.
  assert (HR : r_values r <> Reals) by (intros E; rewrite E in HN; discriminate). destruct (Hi HR) as [n ->].
  set (f := Qfloor (hd 0%Q (r_nodes r))) in HN. assert (HN' : numbered f (r_nodes r) = true) by (destruct (r_values r); congruence).
  assert (Hlen : (0 < length (r_nodes r))%nat) by (destruct (r_nodes r); [congruence | cbn; lia]).
  pose proof (numbered_nth _ f 0 HN' Hlen) as H0. pose proof (numbered_nth _ f (length (r_nodes r) - 1) HN' ltac:(lia)) as H1.
  rewrite <- last_is_nth in H1 by exact Hne. replace (nth 0 (r_nodes r) 0%Q) with (hd 0%Q (r_nodes r)) in H0 by (destruct (r_nodes r); reflexivity).
  rewrite H0, H1 in Hx. destruct Hx as [Hx0 Hx1]. apply le_IZR in Hx0, Hx1.
  exists (Z.to_nat (n - f)). split; [lia|]. rewrite (numbered_nth _ f) by (auto; lia). f_equal. lia.
Qed.

Theorem worst_of_nodes_sound r claim : well_made r = true -> worst_of_nodes r claim = true ->
  forall x, value_of r x -> expected_cost r x <= Q2R claim.
Proof.
  unfold worst_of_nodes. intros H. rewrite andb_true_iff. intros [HN HW] x Hx.
  destruct (node_losses r) as [[U l]|] eqn:HL; [|discriminate]. destruct (node_losses_is r U l H HL) as (HU & Hlen & Hi).
  destruct (value_is_node r x H HN Hx) as (i & Hil & ->). rewrite cost_of_node by auto.
  rewrite forallb_forall in HW. apply (at_most_sound (nth i l 0%Z) U); [exact HU | apply Hi, Hil | apply HW, nth_In; lia].
Qed.

Theorem mean_sound r claim : mean_ok r claim = true -> averaged_cost r <= Q2R claim.
Proof.
  unfold mean_ok, average_ok. set (s := shares_of r). set (S := largest_den s). rewrite !andb_true_iff. intros [H [[[[HS Hs] HF] HT] HM]].
  apply Z.ltb_lt in HS, HT. apply Nat.eqb_eq in Hs. destruct (node_losses r) as [[U l]|] eqn:HL; [|discriminate].
  destruct (node_losses_is r U l H HL) as (HU & Hlen & Hi). set (T := total (integers_of S s) 0) in *.
  set (n := length (r_nodes r)) in *.
  assert (Hshare : forall i, (0 <= i < 0 + Z.of_nat n)%Z -> share r i = place s i).
  { intros i Hi'. unfold share, s, shares_of. destruct (r_shares r); [|reflexivity]. unfold place.
    rewrite (nth_indep _ 0%Q 1%Q), nth_repeat by (rewrite repeat_length; unfold n in Hi'; lia). destruct Q2R_small as (_ & -> & _). reflexivity. }
  assert (HTs : IZR T = IZR S * sum (share r) 0 n).
  { unfold T. rewrite total_sum, Rplus_0_l. unfold integers_of at 2. rewrite map_length, Hs. rewrite <- sum_scale. apply sum_ext.
    intros i Hi'. rewrite at_integers by (auto; lia). rewrite Hshare by exact Hi'. reflexivity. }
  apply IZR_lt in HS. apply IZR_lt in HT as HT'. rewrite HTs in HT'.
  assert (HP : 0 < sum (share r) 0 n) by nra.
  apply (at_most_sound _ _ claim (averaged_cost r)) in HM; [exact HM | lia|].
  rewrite dot_is by (unfold integers_of; rewrite map_length; lia). unfold integers_of at 2. rewrite map_length, Hs, Rplus_0_l.
  rewrite mult_IZR, HTs. unfold averaged_cost. fold n.
  rewrite (sum_ext (fun j => IZR (at_place l j) * _) (fun i => IZR U * IZR S * (share r i * expected_cost r (place (r_nodes r) i)))).
  - rewrite sum_scale. field. lra.
  - intros i Hi'. rewrite at_integers by (auto; lia). rewrite <- Hshare by exact Hi'.
    unfold at_place. destruct (Z.ltb_spec i 0); [lia|]. unfold place at 1. rewrite cost_of_node, Hi by (auto; lia). ring.
Qed.
