(* SPDX-License-Identifier: Apache-2.0 *)
(* Which losses lie below their chords. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Lia Lra.
From Noisewright Require Import Losses Ramps.
Import ListNotations.

Fixpoint slopes_rise (slope : Q) (l : list (Q * Q * Q)) : bool :=
  match l with [] => true | (_, next, jump) :: l' => Qle_bool slope next && Qeq_bool jump 0 && slopes_rise next l' end.
Definition convex_term (c : term) : bool :=
  match c with
  | Power d => negb (d =? 0)%nat
  | Pinball tau => Qle_bool 0 tau && Qle_bool tau 1
  | Asymmetric a b => Qle_bool 0 a && Qle_bool 0 b
  | Huber t => Qle_bool 0 t
  | Deadzone _ => true
  | Piecewise slope l => slopes_rise slope l
  | RealPower _ | Exceed _ => false
  end.
Definition convex_loss (c : loss) : bool := forallb (fun t => Qle_bool 0 (fst t) && convex_term (snd t)) c.

Local Open Scope R_scope.

Definition below_chords (f : R -> R) : Prop :=
  forall a b t, 0 <= t <= 1 -> f ((1 - t) * a + t * b) <= (1 - t) * f a + t * f b.

Lemma chords_ext f g : (forall x, f x = g x) -> below_chords f -> below_chords g.
Proof. intros H F a b t Ht. rewrite <- !H. apply F, Ht. Qed.

Lemma chords_line m c : below_chords (fun x => m * x + c).
Proof. intros a b t Ht. lra. Qed.

Lemma chords_max f g : below_chords f -> below_chords g -> below_chords (fun x => Rmax (f x) (g x)).
Proof.
  intros F G a b t Ht. specialize (F a b t Ht). specialize (G a b t Ht).
  pose proof (Rmax_l (f a) (g a)). pose proof (Rmax_r (f a) (g a)). pose proof (Rmax_l (f b) (g b)). pose proof (Rmax_r (f b) (g b)).
  apply Rmax_lub; nra.
Qed.

Lemma chords_sum w f g : 0 <= w -> below_chords f -> below_chords g -> below_chords (fun x => w * f x + g x).
Proof. intros Hw F G a b t Ht. specialize (F a b t Ht). specialize (G a b t Ht). nra. Qed.

(* The product of two that are not negative and rise and fall together. *)
Lemma product_mix s t fa fb ga gb f g : 0 <= s -> 0 <= t -> s + t = 1 -> 0 <= f -> 0 <= g ->
  f <= s * fa + t * fb -> g <= s * ga + t * gb -> 0 <= (fa - fb) * (ga - gb) -> f * g <= s * (fa * ga) + t * (fb * gb).
Proof.
  intros Hs Ht Hst Hf Hg HF HG H. assert (HX : f * g <= (s * fa + t * fb) * (s * ga + t * gb)) by (apply Rmult_le_compat; auto).
  assert (HY : 0 <= s * t * ((fa - fb) * (ga - gb))) by (apply Rmult_le_pos; [nra | auto]).
  replace s with (1 - t) in * by lra. nra.
Qed.

Lemma chords_power d : below_chords (fun x => Rabs x ^ S d).
Proof.
  assert (H1 : below_chords Rabs).
  { apply (chords_ext (fun x => Rmax (1 * x + 0) (-1 * x + 0))); [|apply chords_max; apply chords_line].
    intros x. unfold Rmax, Rabs. destruct (Rle_dec _ _), (Rcase_abs x); lra. }
  induction d as [|d IH]; [intros a b t Ht; rewrite !pow_1; apply H1, Ht|].
  intros a b t Ht. change (Rabs ?x ^ S (S d)) with (Rabs x * Rabs x ^ S d).
  change (Rabs a ^ S (S d)) with (Rabs a * Rabs a ^ S d). change (Rabs b ^ S (S d)) with (Rabs b * Rabs b ^ S d).
  apply product_mix; [lra | lra | lra | apply Rabs_pos | apply pow_le, Rabs_pos | apply H1, Ht | apply IH, Ht |].
  destruct (Rle_dec (Rabs a) (Rabs b)) as [H|H].
  - pose proof (pow_incr (Rabs a) (Rabs b) (S d) (conj (Rabs_pos a) H)). nra.
  - assert (H' : Rabs b <= Rabs a) by lra. pose proof (pow_incr (Rabs b) (Rabs a) (S d) (conj (Rabs_pos b) H')). nra.
Qed.

(* It is the largest of its tangents, whose slopes are those from -k to k. *)
Definition huber (k x : R) : R := if Rle_dec (Rabs x) k then x ^ 2 / 2 else k * Rabs x - k ^ 2 / 2.
Lemma huber_tangent k s x : 0 <= k -> - k <= s <= k -> s * x - s ^ 2 / 2 <= huber k x.
Proof.
  intros Hk Hs. unfold huber. destruct (Rle_dec _ _) as [H|H]; unfold Rabs in H |- *.
  - pose proof (Rle_0_sqr (x - s)) as Q. unfold Rsqr in Q. lra.
  - pose proof (Rle_0_sqr (s + k)) as Q. pose proof (Rle_0_sqr (s - k)) as Q'. unfold Rsqr in Q, Q'. destruct (Rcase_abs x).
    + assert (0 <= (s + k) * (- x - k)) by (apply Rmult_le_pos; lra). lra.
    + assert (0 <= (k - s) * (x - k)) by (apply Rmult_le_pos; lra). lra.
Qed.
Lemma huber_touches k x : 0 <= k -> exists s, - k <= s <= k /\ huber k x = s * x - s ^ 2 / 2.
Proof.
  intros Hk. unfold huber. destruct (Rle_dec _ _) as [H|H]; unfold Rabs in H |- *; destruct (Rcase_abs x).
  - exists x. split; [lra | field].
  - exists x. split; [lra | field].
  - exists (- k). split; [lra | field].
  - exists k. split; [lra | field].
Qed.
Lemma chords_huber k : 0 <= k -> below_chords (huber k).
Proof.
  intros Hk a b t Ht. destruct (huber_touches k ((1 - t) * a + t * b) Hk) as (s & Hs & ->).
  pose proof (huber_tangent k s a Hk Hs). pose proof (huber_tangent k s b Hk Hs). nra.
Qed.

Lemma chords_pieces l : forall slope, slopes_rise slope l = true -> below_chords (pieces (Q2R slope) l).
Proof.
  induction l as [|[[knot next] jump] l IH]; intros slope H; cbn [slopes_rise] in H.
  { apply (chords_ext (fun x => 0 * x + 0)); [intros; cbn; ring | apply chords_line]. }
  rewrite !andb_true_iff in H. destruct H as [[H1 H2] H3]. apply Qle_bool_true in H1. apply Qeq_bool_iff, Qeq_eqR in H2.
  apply (chords_ext (fun x => (Q2R next - Q2R slope) * Rmax (0 * x + 0) (1 * x + - Q2R knot) + pieces (Q2R next) l x)).
  - intros x. cbn [pieces]. rewrite H2. destruct Q2R_small as (-> & _).
    replace (0 * x + 0) with 0 by ring. replace (1 * x + - Q2R knot) with (x - Q2R knot) by ring.
    rewrite (Rmin_left 0 0) by lra. destruct (Rlt_dec _ _); [|destruct (Req_EM_T _ _)]; ring.
  - apply chords_sum; [lra | apply chords_max; apply chords_line | apply IH, H3].
Qed.

Lemma chords_term c : convex_term c = true -> below_chords (term_value c).
Proof.
  destruct Q2R_small as (Q0 & Q1 & _).
  destruct c as [d| |tau|a b|k|k| |slope l]; cbn [convex_term]; try discriminate; rewrite ?andb_true_iff.
  - destruct d; [discriminate|]. intros _. apply chords_power.
  - intros [H1 H2]. apply Qle_bool_true in H1, H2. rewrite Q0 in H1. rewrite Q1 in H2.
    apply (chords_ext (fun x => Rmax (Q2R tau * x + 0) (- (1 - Q2R tau) * x + 0))); [|apply chords_max; apply chords_line].
    intros x. cbn [term_value]. unfold Rmax. destruct (Rle_dec 0 x); [|rewrite Rabs_left by lra]; destruct (Rle_dec _ _); nra.
  - intros [H1 H2]. apply Qle_bool_true in H1, H2. rewrite Q0 in H1, H2.
    apply (chords_ext (fun x => Rmax (Q2R b * x + 0) (- Q2R a * x + 0))); [|apply chords_max; apply chords_line].
    intros x. cbn [term_value]. unfold Rmax. destruct (Rle_dec 0 x); [|rewrite Rabs_left by lra]; destruct (Rle_dec _ _); nra.
  - intros H. apply Qle_bool_true in H. rewrite Q0 in H. exact (chords_huber (Q2R k) H).
  - intros _. apply (chords_ext (fun x => Rmax (0 * x + 0) (Rmax (1 * x + - Q2R k) (-1 * x + - Q2R k)))).
    + intros x. cbn [term_value]. unfold Rmax, Rabs.
      destruct (Rcase_abs x); repeat destruct (Rle_dec _ _); lra.
    + repeat apply chords_max; apply chords_line.
  - intros H. set (k := fold_right Rmin (piecewise slope l (Q2R (fst (fst (hd (0, 0, 0)%Q l))))) (map (fun s => piecewise slope l (Q2R (fst (fst s)))) l)).
    apply (chords_ext (fun x => 1 * pieces (Q2R slope) l x + (Q2R slope * x + - k))); [intros x; change (term_value _ x) with (piecewise slope l x - k); unfold piecewise; ring|].
    apply chords_sum; [lra | apply chords_pieces, H | apply chords_line].
Qed.

Theorem chords_loss c : convex_loss c = true -> below_chords (loss_value c).
Proof.
  unfold convex_loss. induction c as [|[w t] c IH]; cbn [forallb fst snd].
  - intros _. apply (chords_ext (fun x => 0 * x + 0)); [intros; cbn; ring | apply chords_line].
  - rewrite !andb_true_iff. intros [[H1 H2] H3]. apply Qle_bool_true in H1. destruct Q2R_small as (Q0 & _). rewrite Q0 in H1.
    apply (chords_sum (Q2R w) (term_value t) (loss_value c)); [exact H1 | apply chords_term, H2 | apply IH, H3].
Qed.
