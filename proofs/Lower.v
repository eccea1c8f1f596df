(* SPDX-License-Identifier: Apache-2.0 *)
(* Why multipliers bound the loss of every noise that competes: docs/proofs/lower-bound.md, without random translations. *)
From Coq Require Import ZArith QArith Qreals Reals List Lia Lra FunctionalExtensionality.
From Noisewright Require Import Statement Exp Private.
Import ListNotations.
Local Open Scope R_scope.

(* --- What expectations do --- *)

Section Mean.
Variable X : noise.

Lemma mean_as f g : (forall x, f x = g x) -> integrable X f -> integrable X g /\ mean X g = mean X f.
Proof. intros H I. replace g with f; [auto | apply functional_extensionality; exact H]. Qed.

Lemma mean_constant a : integrable X (fun _ => a) /\ mean X (fun _ => a) = a.
Proof.
  destruct (mean_one X) as [I M]. destruct (mean_linear X _ _ (a - 1) I I) as [I' M'].
  destruct (mean_as (fun _ => 1 + (a - 1) * 1) (fun _ => a)) as [I2 M2]; [intros; ring | exact I'|].
  split; [exact I2|]. rewrite M2, M', M. ring.
Qed.

Lemma mean_scaled f a : integrable X f -> integrable X (fun x => a * f x) /\ mean X (fun x => a * f x) = a * mean X f.
Proof.
  intros I. destruct (mean_constant 0) as [I0 M0]. destruct (mean_linear X _ f a I0 I) as [I' M'].
  destruct (mean_as (fun x => 0 + a * f x) (fun x => a * f x)) as [I2 M2]; [intros; ring | exact I'|].
  split; [exact I2|]. rewrite M2, M', M0. ring.
Qed.
End Mean.

(* --- From sets to tests: functions with values in [0, 1] --- *)

(* How many of the levels 0, 1, ..., m-1 are below y. *)
Fixpoint levels (m : nat) (y : R) : R :=
  match m with O => 0 | S k => levels k y + 1 * (if Rlt_dec (INR k) y then 1 else 0) end.

Lemma levels_near m y : 0 <= y -> Rmin (INR m) y <= levels m y <= y + 1 /\ levels m y <= INR m.
Proof.
  intros Hy. induction m; cbn [levels].
  - change (INR 0) with 0. unfold Rmin. destruct Rle_dec; lra.
  - rewrite S_INR. destruct IHm as [[A1 A2] A3]. unfold Rmin in *.
    destruct (Rlt_dec (INR m) y); repeat destruct Rle_dec; lra.
Qed.

Section Competes.
Variables (t : table) (X : noise) (phi : R).
Hypotheses (HX : competes t X) (Hphi : reached t phi).
Let E := exp (Q2R (epsilon t)).
Let d := Q2R (delta t).

Lemma levels_private f g : (forall x, g x = f (x + phi)) -> integrable X f -> integrable X g ->
  forall m, integrable X (fun x => levels m (f x)) /\ integrable X (fun x => levels m (g x)) /\
  mean X (fun x => levels m (f x)) <= E * mean X (fun x => levels m (g x)) + INR m * d.
Proof.
  intros Hg If Ig. induction m as [|m (I1 & I2 & M)]; cbn [levels].
  - destruct (mean_constant X 0) as [I0 M0]. split; [exact I0|]. split; [exact I0|]. rewrite M0. cbn. lra.
  - set (A := fun x => if Rlt_dec (INR m) (f x) then true else false).
    destruct (mean_as X (fun x => if Rlt_dec (INR m) (f x) then 1 else 0) (indicator A)) as [L1 N1]; [|exact (integrable_level X f (INR m) If)|].
    { intros x. unfold indicator, A. destruct Rlt_dec; reflexivity. }
    destruct (mean_as X (fun x => if Rlt_dec (INR m) (g x) then 1 else 0) (fun x => indicator A (x + phi))) as [L2 N2]; [|exact (integrable_level X g (INR m) Ig)|].
    { intros x. unfold indicator, A. rewrite <- Hg. destruct Rlt_dec; reflexivity. }
    pose proof (proj2 HX phi A Hphi L1 L2) as P. rewrite N1, N2 in P. fold E d in P.
    destruct (mean_linear X _ _ 1 I1 (integrable_level X f (INR m) If)) as [I3 M3].
    destruct (mean_linear X _ _ 1 I2 (integrable_level X g (INR m) Ig)) as [I4 M4].
    split; [exact I3|]. split; [exact I4|]. rewrite M3, M4, S_INR. lra.
Qed.

(* So privacy holds for tests too, with their largest value in front of delta. *)
Lemma tests_private f g top : (forall x, g x = f (x + phi)) -> (forall x, 0 <= f x <= top) -> 0 < top ->
  integrable X f -> integrable X g -> mean X f <= E * mean X g + d * top.
Proof.
  intros Hg Hf Ht If Ig. apply Rnot_lt_le. intros H. pose proof (exp_pos (Q2R (epsilon t))) as HE. fold E in HE.
  set (eta := (mean X f - (E * mean X g + d * top)) / top). assert (He : 0 < eta) by (apply Rdiv_lt_0_compat; lra).
  destruct (archimed_cor1 (eta / E)) as [N [HN HN0]]; [apply Rdiv_lt_0_compat; auto|].
  assert (HNR : 0 < INR N) by (apply lt_0_INR; auto). set (s := INR N / top).
  assert (Hs : 0 < s) by (apply Rdiv_lt_0_compat; auto).
  destruct (mean_scaled X f s If) as [Isf Msf]. destruct (mean_scaled X g s Ig) as [Isg Msg].
  destruct (levels_private (fun x => s * f x) (fun x => s * g x) ltac:(intros; cbv beta; rewrite Hg; reflexivity) Isf Isg N) as (I1 & I2 & M).
  destruct (mean_one X) as [I0 M0]. destruct (mean_linear X _ _ 1 Isg I0) as [I3 M3].
  assert (Htop : s * top = INR N) by (unfold s; field; lra).
  assert (B1 : mean X (fun x => s * f x) <= mean X (fun x => levels N (s * f x))).
  { apply mean_le; auto. intros x _. destruct (Hf x).
    destruct (levels_near N (s * f x)) as [[B _] _]; [nra|]. unfold Rmin in B. destruct Rle_dec; nra. }
  assert (B2 : mean X (fun x => levels N (s * g x)) <= mean X (fun x => s * g x + 1 * 1)).
  { apply mean_le; auto. intros x _. rewrite Hg. destruct (Hf (x + phi)).
    destruct (levels_near N (s * f (x + phi))) as [[_ B] _]; [nra|]. lra. }
  rewrite Msf in B1. rewrite M3, Msg, M0 in B2.
  assert (B3 : E * mean X (fun x => levels N (s * g x)) <= E * (s * mean X g + 1 * 1)) by (apply Rmult_le_compat_l; lra).
  (* so INR N * eta <= E, which N was chosen against *)
  assert (B4 : INR N * eta <= E).
  { replace (INR N * eta) with (s * (mean X f - (E * mean X g + d * top))) by (unfold s, eta; field; lra).
    replace (INR N * d) with (s * (d * top)) in M by (rewrite <- Htop; ring). lra. }
  apply (Rmult_lt_compat_r (E * INR N)) in HN; [|nra].
  replace (/ INR N * (E * INR N)) with E in HN by (field; lra).
  replace (eta / E * (E * INR N)) with (INR N * eta) in HN by (field; lra). lra.
Qed.
End Competes.

(* --- Multipliers --- *)

Section Line.
Variable b : R.
Hypothesis b_pos : 0 < b.

Lemma line_between v lo hi x : (forall j, lo <= v j <= hi) -> lo <= line b v x <= hi.
Proof.
  intros H. unfold line. pose proof (floor_spec (x / b)). set (j := floor (x / b)) in *.
  pose proof (H j). pose proof (H (j + 1)%Z). nra.
Qed.

Lemma line_moved v k x : line b v (x + IZR k * b) = line b (fun j => v (j + k)%Z) x.
Proof.
  unfold line. replace ((x + IZR k * b) / b) with (x / b + IZR k) by (field; lra).
  pose proof (floor_spec (x / b)). set (j := floor (x / b)) in *.
  rewrite (floor_is (x / b + IZR k) (j + k)%Z) by (rewrite plus_IZR; lra).
  rewrite plus_IZR. replace (j + k + 1)%Z with (j + 1 + k)%Z by lia. ring.
Qed.
End Line.

(* The multipliers of one shift, by k nodes. *)
Record shifted := { by_nodes : Z; y : Z -> R; top : R }.

Section Bound.
Variables (t : table) (X : noise) (c : R -> R) (b B Eup : R) (ms : list shifted).
Hypotheses (HX : competes t X) (Hc : integrable X c).
Hypothesis b_pos : 0 < b.
Hypothesis fine : forall m, In m ms -> reached t (IZR (by_nodes m) * b) /\ 0 < top m /\ forall j, 0 <= y m j <= top m.
Hypothesis Eup_above : exp (Q2R (epsilon t)) <= Eup.

(* What multipliers add to the loss at a point, and what that is worth. *)
Definition added (ms : list shifted) (x : R) : R :=
  fold_right (fun m s => line b (y m) x - Eup * line b (y m) (x + IZR (by_nodes m) * b) + s) 0 ms.
Definition price (ms : list shifted) : R := fold_right (fun m s => top m + s) 0 ms.

Lemma added_mean l : incl l ms -> integrable X (added l) /\ mean X (added l) <= Q2R (delta t) * price l.
Proof.
  induction l as [|m l IH]; intros Hl.
  - destruct (mean_constant X 0) as [I0 M0]. split; [exact I0|]. unfold added, price. cbn [fold_right]. rewrite M0. lra.
  - destruct IH as [I M]; [intros a Ha; apply Hl; right; exact Ha|].
    destruct (fine m) as (Hk & Ht & Hy); [apply Hl; left; reflexivity|].
    set (f := line b (y m)). set (g := fun x => f (x + IZR (by_nodes m) * b)).
    assert (If : integrable X f) by (apply integrable_line with (top m); auto).
    assert (Ig : integrable X g).
    { apply (mean_as X (line b (fun j => y m (j + by_nodes m)%Z))).
      - intros x. symmetry. apply line_moved. exact b_pos.
      - apply integrable_line with (top m); auto. }
    assert (Hf : forall x, 0 <= f x <= top m) by (intros; apply line_between; auto).
    assert (P := tests_private t X _ HX Hk f g (top m) ltac:(reflexivity) Hf Ht If Ig).
    assert (Hg : 0 <= mean X g).
    { destruct (mean_constant X 0) as [I0 M0]. rewrite <- M0. apply mean_le; auto. intros x _. apply Hf. }
    destruct (mean_linear X f g (- Eup) If Ig) as [I1 M1]. destruct (mean_linear X _ _ 1 I1 I) as [I2 M2].
    destruct (mean_as X (fun x => f x + - Eup * g x + 1 * added l x) (added (m :: l))) as [I3 M3]; [|exact I2|].
    { intros x. unfold added at 2. cbn [fold_right]. fold (added l x). unfold g, f. ring. }
    split; [exact I3|]. rewrite M3, M2, M1. cbn [price fold_right]. fold (price l).
    assert (exp (Q2R (epsilon t)) * mean X g <= Eup * mean X g) by (apply Rmult_le_compat_r; auto). lra.
Qed.

(* If the loss and what is added are B or more wherever the noise may be, no noise that competes loses less than B less the
   price. What is left to check of a file is finitely many inequalities between nodes. *)
Theorem multipliers_bound : (forall x, possible X x -> B <= c x + added ms x) ->
  B - Q2R (delta t) * price ms <= mean X c.
Proof.
  intros H. destruct (added_mean ms (incl_refl ms)) as [Ia Ma]. destruct (mean_linear X c (added ms) 1 Hc Ia) as [I M].
  destruct (mean_constant X B) as [IB MB].
  assert (B <= mean X (fun x => c x + 1 * added ms x)).
  { rewrite <- MB at 1. apply mean_le; auto. intros x Hx. specialize (H x Hx). lra. }
  lra.
Qed.
End Bound.
