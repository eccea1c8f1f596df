(* SPDX-License-Identifier: Apache-2.0 *)
(* The largest expected loss of a randomizer for real values, by chords: docs/proofs/local-privacy.md, "The worst". *)
From Coq Require Import ZArith QArith Qround Qreals Reals List Bool Lia Lra.
From Noisewright Require Import Statement Sums Lists Check Private Losses Ramps Convex Randomizers Rows RowLoss.
Import ListNotations.
Local Open Scope Z_scope.

(* Whether the quadratic with the Bernstein coefficients u, v/2 and z is nowhere negative on [0, 1]. *)
Definition nowhere_negative (u v z : Z) : bool := (0 <=? u) && (0 <=? z) && ((0 <=? v) || (v * v <=? 4 * (u * z))).

(* Between the nodes a and b, f is the loss of the row of a, and h that of b. What the chords of [p, q] allow below a bound. *)
Definition part_ok (bound a b p q fp fq hp hq : Z) : bool :=
  let whole := (b - a) * bound in
  nowhere_negative (whole - ((b - p) * fp + (p - a) * hp))
    (2 * whole - ((b - p) * fq + (b - q) * fp + (p - a) * hq + (q - a) * hp)) (whole - ((b - q) * fq + (q - a) * hq)).

(* Parts are halved, up to n times, where their chords are above the bound. *)
Fixpoint parts_ok (f h : Z -> Z) (bound a b : Z) (n : nat) (p q fp fq hp hq : Z) : bool :=
  if part_ok bound a b p q fp fq hp hq then true else
  match n with
  | O => false
  | S n' =>
    let m := (p + q) / 2 in let fm := f m in let hm := h m in
    (2 * m =? p + q) && parts_ok f h bound a b n' p m fp fm hp hm && parts_ok f h bound a b n' m q fm fq hm hq
  end.

(* All pairs of neighboring nodes; losses are multiplied by den. *)
Fixpoint intervals_ok (f : list Z -> Z -> Z) (den bound : Z) (nodes : list Z) (rows : list (list Z)) : bool :=
  match nodes, rows with
  | a :: (b :: _) as nodes', v :: (w :: _) as rows' =>
    let fv p := den * f v p in let fw p := den * f w p in
    parts_ok fv fw bound a b 6 a b (fv a) (fv b) (fw a) (fw b) && intervals_ok f den bound nodes' rows'
  | _, _ => true
  end.

Definition worst_of_reals (r : randomizer) (claim : Q) : bool :=
  match r_costs r with
  | Costs _ => false
  | Differences c =>
    convex_loss c && (1 <? length (r_nodes r))%nat &&
    match scale_of r c with
    | None => false
    | Some s => intervals_ok (scaled_loss r s) (Zpos (Qden claim)) (Qnum claim * unit_loss s) (integers_of (s_D s) (r_nodes r)) (r_rows r)
    end
  end.

Definition worst_ok (r : randomizer) (claim : Q) : bool :=
  well_made r && match r_values r with Reals => worst_of_reals r claim | _ => worst_of_nodes r claim end.

Local Open Scope R_scope.

Lemma bernstein u v z t : 0 <= u -> 0 <= z -> 0 <= v \/ v * v <= 4 * (u * z) -> 0 <= t <= 1 ->
  0 <= (1 - t) * (1 - t) * u + t * (1 - t) * v + t * t * z.
Proof.
  intros Hu Hz Hv Ht.
  assert (S1 : 0 <= (1 - t) * (1 - t) * u) by (apply Rmult_le_pos; nra). assert (S2 : 0 <= t * t * z) by (apply Rmult_le_pos; nra).
  destruct Hv as [Hv|Hv]; [assert (0 <= t * (1 - t) * v) by (apply Rmult_le_pos; nra); lra|].
  destruct (Req_dec u 0) as [->|Hne].
  - assert (v = 0) by nra. subst v. lra.
  - (* 4u times it is a square and something more *)
    apply Rmult_le_reg_l with (4 * u); [lra|]. rewrite Rmult_0_r.
    replace (4 * u * ((1 - t) * (1 - t) * u + t * (1 - t) * v + t * t * z))
      with ((2 * u * (1 - t) + v * t) * (2 * u * (1 - t) + v * t) + t * t * (4 * (u * z) - v * v)) by ring.
    apply Rplus_le_le_0_compat; [apply Rle_0_sqr|]. apply Rmult_le_pos; [nra | lra].
Qed.

(* The mixture at x is below the bound if the chords of its two parts are. *)
Lemma chord_mix a b p q bound f h fp fq hp hq t x : a < b -> a <= p -> q <= b -> p <= q -> 0 <= t <= 1 -> x = (1 - t) * p + t * q ->
  f <= (1 - t) * fp + t * fq -> h <= (1 - t) * hp + t * hq ->
  0 <= (1 - t) * (1 - t) * ((b - a) * bound - ((b - p) * fp + (p - a) * hp)) +
    t * (1 - t) * (2 * ((b - a) * bound) - ((b - p) * fq + (b - q) * fp + (p - a) * hq + (q - a) * hp)) +
    t * t * ((b - a) * bound - ((b - q) * fq + (q - a) * hq)) ->
  (b - x) * f + (x - a) * h <= (b - a) * bound.
Proof.
  intros Hab Hp Hq Hpq Ht -> Hf Hh H.
  assert (A : 0 <= b - ((1 - t) * p + t * q)) by nra. assert (B : 0 <= (1 - t) * p + t * q - a) by nra.
  apply (Rmult_le_compat_l _ _ _ A) in Hf. apply (Rmult_le_compat_l _ _ _ B) in Hh. nra.
Qed.

Lemma within_part p q x : p < q -> p <= x <= q -> exists t, 0 <= t <= 1 /\ x = (1 - t) * p + t * q.
Proof.
  intros Hpq Hx. exists ((x - p) / (q - p)). split; [|field; lra]. split.
  - apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra].
  - apply Rmult_le_reg_r with (q - p); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma parts_sound f h F H bound a b : (forall p, IZR (f p) = F (IZR p)) -> (forall p, IZR (h p) = H (IZR p)) ->
  below_chords F -> below_chords H -> (a < b)%Z -> forall n p q,
  (a <= p)%Z -> (p < q)%Z -> (q <= b)%Z -> parts_ok f h bound a b n p q (f p) (f q) (h p) (h q) = true ->
  forall x, IZR p <= x <= IZR q -> (IZR b - x) * F x + (x - IZR a) * H x <= (IZR b - IZR a) * IZR bound.
Proof.
  intros Hf Hh CF CH Hab.
  assert (Base : forall p q, (a <= p)%Z -> (p < q)%Z -> (q <= b)%Z -> part_ok bound a b p q (f p) (f q) (h p) (h q) = true ->
    forall x, IZR p <= x <= IZR q -> (IZR b - x) * F x + (x - IZR a) * H x <= (IZR b - IZR a) * IZR bound).
  { intros p q Hp Hpq Hq HP x Hx. unfold part_ok, nowhere_negative in HP. rewrite !andb_true_iff, orb_true_iff, !Z.leb_le in HP.
    destruct HP as [[Hu Hz] Hv]. apply IZR_lt in Hpq as Hpq'. destruct (within_part _ _ x Hpq' Hx) as (t & Ht & Ex).
    apply IZR_lt in Hab as Hab'. apply IZR_le in Hp, Hq.
    apply (chord_mix (IZR a) (IZR b) (IZR p) (IZR q) (IZR bound) _ _ (F (IZR p)) (F (IZR q)) (H (IZR p)) (H (IZR q)) t); auto; try lra.
    - rewrite Ex. apply CF, Ht.
    - rewrite Ex. apply CH, Ht.
    - apply IZR_le in Hu, Hz. apply bernstein; auto.
      + rewrite !minus_IZR, plus_IZR, !mult_IZR, !minus_IZR, Hf, Hh in Hu. exact Hu.
      + rewrite !minus_IZR, plus_IZR, !mult_IZR, !minus_IZR, Hf, Hh in Hz. exact Hz.
      + rewrite <- !Hf, <- !Hh, <- !minus_IZR, <- !mult_IZR, <- !plus_IZR, <- !minus_IZR, <- !mult_IZR.
        destruct Hv as [Hv|Hv]; [left | right]; apply IZR_le; exact Hv. }
  induction n as [|n IH]; intros p q Hp Hpq Hq HP x Hx; cbn [parts_ok] in HP; destruct (part_ok _ _ _ _ _ _ _ _ _) eqn:HB;
    try (apply (Base p q); auto; fail); [discriminate|].
  set (m := ((p + q) / 2)%Z) in HP. rewrite !andb_true_iff, Z.eqb_eq in HP. destruct HP as [[Hm H1] H2].
  destruct (Rle_dec x (IZR m)) as [Hxm|Hxm].
  - apply (IH p m); auto; try lia. lra.
  - apply (IH m q); auto; try lia. lra.
Qed.

(* The loss of a row is below its chords. *)
Lemma chords_of_row r c row : r_costs r = Differences c -> convex_loss c = true ->
  answer_law (answers_of r) (weight row) -> below_chords (loss_of_row r row).
Proof.
  intros Hc HX [H0 _] a b t Ht. unfold loss_of_row. rewrite <- !sum_scale, <- sum_plus. apply sum_le. intros j Hj.
  unfold cost. rewrite Hc. set (y := place (r_answers r) j). set (l := loss_value c).
  replace (y - ((1 - t) * a + t * b)) with ((1 - t) * (y - a) + t * (y - b)) by ring.
  pose proof (chords_loss c HX (y - a) (y - b) t Ht) as H. fold l in H. specialize (H0 j ltac:(lia)).
  apply (Rmult_le_compat_l _ _ _ H0) in H. lra.
Qed.

Lemma chords_scaled F d D : 0 <= d -> below_chords F -> below_chords (fun z => d * F (/ D * z)).
Proof.
  intros Hd HF a b t Ht. replace (/ D * ((1 - t) * a + t * b)) with ((1 - t) * (/ D * a) + t * (/ D * b)) by ring.
  pose proof (HF (/ D * a) (/ D * b) t Ht). nra.
Qed.

(* Back from units: of D to a distance of 1, and of U to a loss of 1, times the denominator of the claim. *)
Lemma mixture_back xa xb x D d U num f h : xa < xb -> 0 < D -> 0 < d -> 0 < U ->
  (D * xb - D * x) * (d * U * f) + (D * x - D * xa) * (d * U * h) <= (D * xb - D * xa) * (num * U) ->
  (1 - (x - xa) / (xb - xa)) * f + (x - xa) / (xb - xa) * h <= num * / d.
Proof.
  intros Hab HD Hd HU H. apply Rmult_le_reg_r with (D * (xb - xa) * d * U).
  { repeat apply Rmult_lt_0_compat; lra. }
  replace (((1 - (x - xa) / (xb - xa)) * f + (x - xa) / (xb - xa) * h) * (D * (xb - xa) * d * U))
    with ((D * xb - D * x) * (d * U * f) + (D * x - D * xa) * (d * U * h)) by (field; lra).
  replace (num * / d * (D * (xb - xa) * d * U)) with ((D * xb - D * xa) * (num * U)) by (field; lra). exact H.
Qed.

Section Intervals.
Variable r : randomizer.
Variables (c : loss) (s : scale) (claim : Q).
Hypothesis Hc : r_costs r = Differences c.
Hypothesis Hs : scale_of r c = Some s.
Hypothesis HX : convex_loss c = true.

Lemma intervals_sound nodes : forall rows, length nodes = length rows -> ascends nodes = true -> (1 < length nodes)%nat ->
  forallb (fine (s_D s)) nodes = true -> (forall row, In row rows -> row_ok (answers_of r) row = true) ->
  intervals_ok (scaled_loss r s) (Zpos (Qden claim)) (Qnum claim * unit_loss s) (integers_of (s_D s) nodes) rows = true ->
  forall x, Q2R (hd 0%Q nodes) <= x <= Q2R (last nodes 0%Q) ->
  sum (fun j => answered nodes rows x j * cost r x j) 0 (answers_of r) <= Q2R claim.
Proof.
  destruct (scale_parts r c s Hs) as (HD & HC & _). pose proof (unit_loss_pos s HD HC) as HU.
  apply IZR_lt in HU. apply IZR_lt in HD as HD'.
  induction nodes as [|a nodes IH]; intros rows Hl Ha Hn HF HR HI x Hx; [cbn in Hn; lia|].
  destruct rows as [|v rows]; [discriminate|]. destruct nodes as [|b nodes]; [cbn in Hn; lia|]. destruct rows as [|w rows]; [discriminate|].
  assert (Hab : Q2R a < Q2R b) by (apply (ascends_first (b :: nodes) a 0 Ha); cbn; lia).
  assert (Ha' : ascends (b :: nodes) = true) by (cbn [ascends] in Ha |- *; apply andb_true_iff in Ha; apply Ha).
  cbn [forallb] in HF. rewrite !andb_true_iff in HF. destruct HF as (Fa & Fb & HF).
  change (hd 0%Q (a :: b :: nodes)) with a in Hx. change (last (a :: b :: nodes) 0%Q) with (last (b :: nodes) 0%Q) in Hx.
  change (integers_of (s_D s) (a :: b :: nodes)) with (in_units (s_D s) a :: integers_of (s_D s) (b :: nodes)) in HI.
  set (den := Zpos (Qden claim)) in *. set (bound := (Qnum claim * unit_loss s)%Z) in *.
  change (parts_ok (fun p => den * scaled_loss r s v p)%Z (fun p => den * scaled_loss r s w p)%Z bound (in_units (s_D s) a) (in_units (s_D s) b)
    6 (in_units (s_D s) a) (in_units (s_D s) b) (den * scaled_loss r s v (in_units (s_D s) a))%Z (den * scaled_loss r s v (in_units (s_D s) b))%Z
    (den * scaled_loss r s w (in_units (s_D s) a))%Z (den * scaled_loss r s w (in_units (s_D s) b))%Z &&
    intervals_ok (scaled_loss r s) den bound (integers_of (s_D s) (b :: nodes)) (w :: rows) = true) in HI.
  apply andb_true_iff in HI as [HP HI].
  destruct (Rle_dec x (Q2R b)) as [Hb|Hb].
  - set (theta := (x - Q2R a) / (Q2R b - Q2R a)).
    rewrite (sum_ext _ (fun j => (1 - theta) * (weight v j * cost r x j) + theta * (weight w j * cost r x j))).
    2:{ intros j _. change (answered (a :: b :: nodes) (v :: w :: rows) x j) with
        (if Rle_dec x (Q2R b) then (1 - theta) * weight v j + theta * weight w j else answered (b :: nodes) (w :: rows) x j).
        destruct (Rle_dec x (Q2R b)); [ring | contradiction]. }
    rewrite sum_mix. fold (loss_of_row r v x) (loss_of_row r w x).
    pose proof (in_units_is _ _ Fa) as Ea. pose proof (in_units_is _ _ Fb) as Eb.
    set (A := in_units (s_D s) a) in *. set (B := in_units (s_D s) b) in *.
    assert (HAB : (A < B)%Z) by (apply lt_IZR; rewrite Ea, Eb; nra).
    assert (Hdc : 0 < IZR den) by (apply IZR_lt; reflexivity).
    assert (HFr : forall row, row_ok (answers_of r) row = true -> forall p, IZR (den * scaled_loss r s row p) =
      IZR den * IZR (unit_loss s) * loss_of_row r row (/ IZR (s_D s) * IZR p)).
    { intros row Hrow p. rewrite mult_IZR, (scaled_loss_is r c s row p (/ IZR (s_D s) * IZR p) Hc Hs).
      - ring.
      - unfold row_ok in Hrow. rewrite !andb_true_iff in Hrow. apply Nat.eqb_eq, Hrow.
      - rewrite <- Rmult_assoc, Rinv_r by lra. ring. }
    assert (Hv : row_ok (answers_of r) v = true) by (apply HR; left; auto).
    assert (Hw : row_ok (answers_of r) w = true) by (apply HR; right; left; auto).
    pose proof (parts_sound _ _ (fun z => IZR den * IZR (unit_loss s) * loss_of_row r v (/ IZR (s_D s) * z))
      (fun z => IZR den * IZR (unit_loss s) * loss_of_row r w (/ IZR (s_D s) * z)) bound A B (HFr v Hv) (HFr w Hw)) as HS.
    specialize (HS ltac:(apply chords_scaled; [nra | apply (chords_of_row r c); auto; apply row_law, Hv])
      ltac:(apply chords_scaled; [nra | apply (chords_of_row r c); auto; apply row_law, Hw]) HAB 6%nat A B ltac:(lia) HAB ltac:(lia) HP
      (IZR (s_D s) * x) ltac:(rewrite Ea, Eb; split; nra)).
    cbv beta in HS. rewrite <- !(Rmult_assoc (/ IZR (s_D s))), Rinv_l, !Rmult_1_l in HS by lra.
    unfold bound in HS. rewrite mult_IZR, Ea, Eb in HS. unfold theta.
    apply (mixture_back (Q2R a) (Q2R b) x (IZR (s_D s)) (IZR den) (IZR (unit_loss s)) (IZR (Qnum claim))); auto.
  - destruct nodes as [|b' nodes]; [cbn in Hx; lra|].
    rewrite (sum_ext _ (fun j => answered (b :: b' :: nodes) (w :: rows) x j * cost r x j)).
    2:{ intros j _. change (answered (a :: b :: b' :: nodes) (v :: w :: rows) x j) with
        (if Rle_dec x (Q2R b) then (1 - (x - Q2R a) / (Q2R b - Q2R a)) * weight v j + (x - Q2R a) / (Q2R b - Q2R a) * weight w j
         else answered (b :: b' :: nodes) (w :: rows) x j). destruct (Rle_dec x (Q2R b)); [contradiction | reflexivity]. }
    apply IH; auto; [cbn; lia | cbn [forallb]; rewrite Fb; exact HF | intros; apply HR; right; auto |].
    change (hd 0%Q (b :: b' :: nodes)) with b. split; [lra | apply Hx].
Qed.
End Intervals.

Theorem worst_sound r claim : worst_ok r claim = true -> forall x, value_of r x -> expected_cost r x <= Q2R claim.
Proof.
  unfold worst_ok. rewrite andb_true_iff. intros [H HW].
  assert (HN : worst_of_nodes r claim = true -> forall x, value_of r x -> expected_cost r x <= Q2R claim).
  { intros HN. apply worst_of_nodes_sound; auto. }
  destruct (r_values r) eqn:HV; [|auto|auto]. unfold worst_of_reals in HW. destruct (r_costs r) as [c|] eqn:Hc; [|discriminate].
  rewrite !andb_true_iff in HW. destruct HW as [[HX Hn] HW]. apply Nat.ltb_lt in Hn.
  destruct (scale_of r c) as [s|] eqn:Hs; [|discriminate]. destruct (well_made_parts r H) as (_ & Hl & _ & Ha & Hr).
  destruct (scale_parts r c s Hs) as (_ & _ & _ & HF & _).
  intros x [Hx _]. apply (intervals_sound r c s claim Hc Hs HX (r_nodes r) (r_rows r)); auto.
  intros row Hrow. apply (In_nth _ _ []) in Hrow as (i & Hi & <-). apply Hr, Hi.
Qed.
