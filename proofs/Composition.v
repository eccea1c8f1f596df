(* SPDX-License-Identifier: Apache-2.0 *)
(* Basic composition: what is charged adds up, whatever is asked in view of answers; and what is made of answers without the
   data reveals no more than they do. *)
From Coq Require Import ZArith QArith Qreals Reals List Lia Lra FunctionalExtensionality.
From Noisewright Require Import Statement Answers Exp Lower.
Import ListNotations.
Local Open Scope R_scope.

(* --- What expectations do --- *)

Lemma bounded_in {T} (f : T -> R) lo hi : (forall a, lo <= f a <= hi) -> bounded f.
Proof. intros H. exists (Rabs lo + Rabs hi). intros a. specialize (H a). unfold Rabs. repeat destruct Rcase_abs; lra. Qed.

Lemma bounded_linear {T} (f g : T -> R) a : bounded f -> bounded g -> bounded (fun x => f x + a * g x).
Proof.
  intros [M H] [N I]. exists (M + Rabs a * N). intros x. eapply Rle_trans; [apply Rabs_triang|].
  apply Rplus_le_compat; [apply H|]. rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos | apply I].
Qed.

Lemma chance_in {T} (A : T -> bool) a : 0 <= chance_of A a <= 1.
Proof. unfold chance_of. destruct (A a); lra. Qed.

Section Lawful.
Variables (T : Type) (E : expectation T).
Hypothesis HE : lawful E.

Lemma of_constant c : E (fun _ => c) = c.
Proof.
  assert (B : bounded (fun _ : T => 1)) by (apply (bounded_in _ 1 1); intros; lra).
  pose proof (lawful_linear E HE _ _ (c - 1) B B) as H. rewrite (lawful_one E HE) in H.
  replace (fun _ : T => c) with (fun _ : T => 1 + (c - 1) * 1); [lra|]. apply functional_extensionality. intros. ring.
Qed.

Lemma of_linear f c a : bounded f -> E (fun x => c + a * f x) = c + a * E f.
Proof. intros B. rewrite (lawful_linear E HE (fun _ => c)), of_constant by (auto; apply (bounded_in _ c c); intros; lra). reflexivity. Qed.

Lemma of_between f lo hi : (forall a, lo <= f a <= hi) -> lo <= E f <= hi.
Proof.
  intros H. pose proof (bounded_in f lo hi H). rewrite <- (of_constant lo), <- (of_constant hi) at 1.
  split; apply (lawful_le E HE); auto; try (intros; apply H); eapply bounded_in; intros; split; apply Rle_refl.
Qed.
End Lawful.

(* --- From sets to tests: functions with values in [0, 1] --- *)

Section Tests.
Variables (data : Type) (near : data -> data -> Prop) (T : Type) (M : data -> expectation T) (e d : R).
Hypotheses (HM : forall x, lawful (M x)) (private : private_answer near e d M).
Variables (x x' : data) (f : T -> R).
Hypothesis close : near x x'.

Lemma levels_bounded m : bounded (fun a => levels m (f a)).
Proof.
  induction m; cbn [levels]; [apply (bounded_in _ 0 0); intros; lra|].
  apply bounded_linear; [exact IHm|]. apply (bounded_in _ 0 1). intros. destruct Rlt_dec; lra.
Qed.

Lemma levels_answer m : M x (fun a => levels m (f a)) <= exp e * M x' (fun a => levels m (f a)) + INR m * d.
Proof.
  induction m; cbn [levels]; [rewrite !of_constant by auto; cbn; lra|].
  set (A := fun a => if Rlt_dec (INR m) (f a) then true else false).
  replace (fun a => levels m (f a) + 1 * (if Rlt_dec (INR m) (f a) then 1 else 0)) with (fun a => levels m (f a) + 1 * chance_of A a).
  2: { apply functional_extensionality. intros a. unfold chance_of, A. destruct Rlt_dec; reflexivity. }
  assert (B : bounded (chance_of A)) by (apply (bounded_in _ 0 1), chance_in).
  rewrite !lawful_linear by (auto using levels_bounded). pose proof (private x x' close A). rewrite S_INR. lra.
Qed.
End Tests.

Lemma tests_answer data near T (M : data -> expectation T) e d x x' f :
  (forall x, lawful (M x)) -> private_answer near e d M -> near x x' -> (forall a, 0 <= f a <= 1) ->
  M x f <= exp e * M x' f + d.
Proof.
  intros HM HP Hx Hf. apply Rnot_lt_le. intros H. pose proof (exp_pos e) as He. set (E := exp e) in *.
  set (eta := M x f - (E * M x' f + d)) in *. assert (Heta : 0 < eta) by (unfold eta; lra).
  (* N levels are as good as f but for 1/N *)
  destruct (archimed_cor1 (eta / E)) as [N [HN HN0]]; [apply Rdiv_lt_0_compat; auto|].
  assert (HNR : 0 < INR N) by (apply lt_0_INR; auto).
  assert (Bf : bounded f) by (apply (bounded_in _ 0 1), Hf).
  assert (Bl : bounded (fun a => levels N (INR N * f a))) by apply (levels_bounded T (fun a => INR N * f a)).
  assert (Bs : forall c, bounded (fun a => c + INR N * f a)).
  { intros c. apply (bounded_linear (fun _ => c) f); [apply (bounded_in _ c c); intros; lra | exact Bf]. }
  assert (P := levels_answer data near T M e d HM HP x x' (fun a => INR N * f a) Hx N).
  assert (L : INR N * M x f <= M x (fun a => levels N (INR N * f a))).
  { replace (INR N * M x f) with (0 + INR N * M x f) by ring. rewrite <- of_linear by auto.
    apply (lawful_le _ (HM x)); [apply (Bs 0) | exact Bl |]. intros a. destruct (Hf a).
    destruct (levels_near N (INR N * f a)) as [[Q _] _]; [nra|]. unfold Rmin in Q. destruct Rle_dec; nra. }
  assert (U : M x' (fun a => levels N (INR N * f a)) <= 1 + INR N * M x' f).
  { rewrite <- of_linear by auto. apply (lawful_le _ (HM x')); [exact Bl | apply (Bs 1) |]. intros a. destruct (Hf a).
    destruct (levels_near N (INR N * f a)) as [[_ Q] _]; [nra|]. lra. }
  apply (Rmult_le_compat_l E) in U; [|lra]. fold E in P.
  assert (INR N * eta <= E) by (unfold eta; nra).
  apply (Rmult_lt_compat_r (E * INR N)) in HN; [|nra].
  replace (/ INR N * (E * INR N)) with E in HN by (field; lra).
  replace (eta / E * (E * INR N)) with (INR N * eta) in HN by (field; lra). lra.
Qed.

(* --- Composition --- *)

Section Composition.
Variables (data : Type) (near : data -> data -> Prop) (T : Type).

Lemma answers_lawful (s : session data T) : charged_fairly near s -> forall x, lawful (answers s x).
Proof.
  induction s as [|e d M next IH]; cbn [charged_fairly answers].
  - intros _ x. split; intros; auto.
  - intros (HM & _ & Hn) x.
    assert (L : forall a, lawful (answers (next a) x)) by (intros; apply IH, Hn).
    assert (B : forall f, bounded f -> bounded (fun a => answers (next a) x (fun l => f (a :: l)))).
    { intros f [N H]. apply (bounded_in _ (- N) N). intros a. apply of_between; [apply L|].
      intros l. specialize (H (a :: l)). revert H. unfold Rabs. destruct Rcase_abs; lra. }
    assert (Bc : forall f : list T -> R, bounded f -> forall a : T, bounded (fun l => f (a :: l))) by (intros f [N H] a; exists N; intros; apply H).
    split.
    + transitivity (M x (fun _ => 1)); [f_equal | apply (lawful_one _ (HM x))]. apply functional_extensionality. intros a. apply (lawful_one _ (L a)).
    + intros f g c Hf Hg. rewrite <- lawful_linear by (auto; apply B; auto). f_equal.
      apply functional_extensionality. intros a. apply (lawful_linear _ (L a)); apply Bc; auto.
    + intros f g Hf Hg H. apply (lawful_le _ (HM x)); [apply B, Hf | apply B, Hg |].
      intros a. apply (lawful_le _ (L a)); try apply Bc; auto.
Qed.

(* With tests, as the rest of a session is one for its first answer. *)
Lemma composed (s : session data T) : charged_fairly near s -> forall E D,
  (forall l, charges s l -> (fst (total l) <= E)%Q /\ (snd (total l) <= D)%Q) ->
  forall x x', near x x' -> forall f, (forall l, 0 <= f l <= 1) ->
  answers s x f <= exp (Q2R E) * answers s x' f + Q2R D.
Proof.
  induction s as [|e d M next IH]; cbn [charged_fairly answers]; intros fair E D within x x' Hx f Hf.
  - destruct (within [] (no_charge _ _)) as [W1 W2]. apply Qle_Rle in W1, W2. cbn [total fold_right fst snd] in W1, W2.
    rewrite RMicromega.Q2R_0 in W1, W2. pose proof (exp_ineq1_le (Q2R E)). specialize (Hf []). nra.
  - destruct fair as (HM & HP & Hn).
    assert (rest : forall a f, (forall l, 0 <= f l <= 1) ->
      answers (next a) x f <= exp (Q2R (E - e)) * answers (next a) x' f + Q2R (D - d)).
    { intros a. apply (IH a (Hn a)); [|exact Hx]. intros l Hl. specialize (within _ (one_more _ _ e d M next a l Hl)).
      cbn [total fold_right fst snd] in within. fold (total l) in within.
      destruct within as [W1 W2]. split; [rewrite <- Qplus_le_r with (z := e) | rewrite <- Qplus_le_r with (z := d)];
        (eapply Qle_trans; [eassumption|]); apply Qle_lteq; right; ring. }
    assert (L : forall x a, lawful (answers (next a) x)) by (intros; apply answers_lawful, Hn).
    (* the rest, given the first answer *)
    set (g := fun x a => answers (next a) x (fun l => f (a :: l))). fold (g x) (g x').
    assert (Hg : forall x a, 0 <= g x a <= 1) by (intros y a; unfold g; apply of_between; [apply L | intros; apply Hf]).
    rewrite Q2R_minus in rest. rewrite Q2R_minus in rest. set (c := exp (Q2R E - Q2R e)) in *. assert (Hc : 0 < c) by apply exp_pos.
    set (h := fun a => Rmin 1 (c * g x' a)).
    assert (Hh : forall a, 0 <= h a <= 1).
    { intros a. specialize (Hg x' a). unfold h, Rmin. destruct Rle_dec; nra. }
    assert (near_h : forall a, g x a <= Q2R D - Q2R d + 1 * h a).
    { intros a. pose proof (rest a (fun _ => 0) ltac:(intros; lra)) as R0. rewrite !of_constant in R0 by apply L.
      pose proof (rest a (fun l => f (a :: l)) ltac:(intros; apply Hf)) as R1. fold (g x a) (g x' a) in R1.
      specialize (Hg x a). unfold h, Rmin. destruct Rle_dec; lra. }
    assert (Bg : forall x, bounded (g x)) by (intros y; apply (bounded_in _ 0 1), Hg).
    assert (Bh : bounded h) by apply (bounded_in _ 0 1 Hh).
    assert (S1 : M x (g x) <= Q2R D - Q2R d + 1 * M x h).
    { rewrite <- of_linear by auto. apply (lawful_le _ (HM x)); auto.
      apply (bounded_in _ (Q2R D - Q2R d) (Q2R D - Q2R d + 1)). intros a. specialize (Hh a). lra. }
    assert (S2 := tests_answer data near T M _ _ x x' h HM HP Hx Hh).
    assert (S3 : M x' h <= 0 + c * M x' (g x')).
    { rewrite <- of_linear by auto. apply (lawful_le _ (HM x')); auto.
      - apply (bounded_in _ 0 c). intros a. specialize (Hg x' a). nra.
      - intros a. unfold h. pose proof (Rmin_r 1 (c * g x' a)). lra. }
    apply (Rmult_le_compat_l (exp (Q2R e))) in S3; [|left; apply exp_pos].
    replace (exp (Q2R E)) with (exp (Q2R e) * c) by (unfold c; rewrite <- exp_plus; f_equal; ring). lra.
Qed.

(* If whatever the answers, no more than (E, D) is charged, all answers together are (E, D)-private. *)
Theorem charges_add_up (s : session data T) E D : charged_fairly near s ->
  (forall l, charges s l -> (fst (total l) <= E)%Q /\ (snd (total l) <= D)%Q) ->
  private_answer near (Q2R E) (Q2R D) (answers s).
Proof. intros fair within x x' Hx A. apply composed; auto. intros. apply chance_in. Qed.

(* Of a list of budgets that is known beforehand: what it sums to. *)
Theorem basic_composition (s : session data T) l : charged_fairly near s -> (forall l', charges s l' -> l' = l) ->
  private_answer near (Q2R (fst (total l))) (Q2R (snd (total l))) (answers s).
Proof. intros fair same. apply charges_add_up; [exact fair|]. intros l' H. rewrite (same l' H). split; apply Qle_refl. Qed.

(* --- Postprocessing --- *)

Theorem postprocessing U (h : T -> U) e d (M : data -> expectation T) :
  private_answer near e d M -> private_answer near e d (fun x => after h (M x)).
Proof. intros H x x' Hx A. apply (H x x' Hx (fun a => A (h a))). Qed.

Theorem random_postprocessing U (K : T -> expectation U) e d (M : data -> expectation T) :
  (forall x, lawful (M x)) -> (forall a, lawful (K a)) -> private_answer near e d M ->
  private_answer near e d (fun x => randomly_after K (M x)).
Proof.
  intros HM HK H x x' Hx A. apply (tests_answer data near T M e d x x' (fun a => K a (chance_of A))); auto.
  intros a. apply of_between; [apply HK | apply chance_in].
Qed.
End Composition.
