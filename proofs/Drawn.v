(* SPDX-License-Identifier: Apache-2.0 *)
(* Draws from independent and uniform words are independent, and have the law of the table. docs/proofs/sampling.md says it in words. *)
From Coq Require Import ZArith Reals List Bool Lia Lra.
From Noisewright Require Import Statement Sums Exp Lists Check Law Sampler.
Import ListNotations.
Local Open Scope R_scope.

(* --- Limits --- *)

Lemma cv_ext f g l : (forall N, f N = g N) -> Un_cv f l -> Un_cv g l.
Proof. intros H Hf e He. destruct (Hf e He) as [N0 HN]. exists N0. intros N HN0. rewrite <- H. auto. Qed.

Lemma cv_const c : Un_cv (fun _ => c) c.
Proof. intros e He. exists O. intros. unfold R_dist. rewrite Rminus_diag_eq, Rabs_R0; auto. Qed.

Lemma cv_later f l : Un_cv (fun N => f (S N)) l -> Un_cv f l.
Proof.
  intros H e He. destruct (H e He) as [N0 HN]. exists (S N0). intros N HN0. destruct N as [|N]; [lia|]. apply HN. lia.
Qed.

Lemma cv_scale c f l : Un_cv f l -> Un_cv (fun N => c * f N) (c * l).
Proof. intros H. apply (CV_mult (fun _ => c) f); [apply cv_const | exact H]. Qed.

Lemma cv_sum (f : Z -> nat -> R) (l : Z -> R) lo len : (forall k, (lo <= k < lo + Z.of_nat len)%Z -> Un_cv (f k) (l k)) ->
  Un_cv (fun N => sum (fun k => f k N) lo len) (sum l lo len).
Proof.
  induction len; intros H; cbn [sum]; [apply cv_const|]. apply CV_plus; [apply IHlen; intros|]; apply H; lia.
Qed.

(* What is replaced by what follows with probability b, again and again, and else is g. *)
Lemma cv_again f g a b l : 0 <= b < 1 -> (forall N, f (S N) = a * g N + b * f N) -> Un_cv g l -> Un_cv f (a * l / (1 - b)).
Proof.
  intros Hb Hf Hg e He. set (L := a * l / (1 - b)).
  assert (HL : L = a * l + b * L) by (unfold L; field; lra).
  destruct (cv_scale a g l Hg (e * (1 - b) / 2)) as [N0 HN]; [apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat|]; lra|].
  assert (near : forall m, Rabs (f (m + N0)%nat - L) <= b ^ m * Rabs (f N0 - L) + e / 2).
  { induction m as [|m IH]; [cbn; lra|]. cbn [Nat.add pow]. rewrite Hf.
    specialize (HN (m + N0)%nat ltac:(lia)). unfold R_dist in HN.
    replace (a * g (m + N0)%nat + b * f (m + N0)%nat - L) with (a * g (m + N0)%nat - a * l + b * (f (m + N0)%nat - L)) by (rewrite HL at 2; ring).
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_right b) by lra.
    apply (Rmult_le_compat_l b) in IH; [|lra]. lra. }
  set (D := Rabs (f N0 - L)) in *. assert (0 <= D) by apply Rabs_pos.
  destruct (pow_lt_1_zero b ltac:(rewrite Rabs_right; lra) (e / (2 * (D + 1)))) as [M HM]; [apply Rdiv_lt_0_compat; lra|].
  exists (M + N0)%nat. intros N HN0. specialize (near (N - N0)%nat). replace (N - N0 + N0)%nat with N in near by lia.
  specialize (HM (N - N0)%nat ltac:(lia)). pose proof (pow_le b (N - N0) ltac:(lra)) as Hp.
  rewrite Rabs_right in HM by lra. unfold R_dist.
  assert (b ^ (N - N0) * D < e / 2); [|lra].
  apply Rle_lt_trans with (b ^ (N - N0) * (D + 1)); [nra|].
  apply (Rmult_lt_compat_r (D + 1)) in HM; [|lra]. replace (e / (2 * (D + 1)) * (D + 1)) with (e / 2) in HM by (field; lra). exact HM.
Qed.

(* --- Averages over lists of words --- *)

Lemma average_ext N : forall f g, (forall words, f words = g words) -> average N f = average N g.
Proof.
  induction N as [|N IH]; intros f g H; cbn [average]; [apply H|].
  f_equal. apply sum_ext. intros u _. apply IH. intros. apply H.
Qed.

Lemma average_const N c : average N (fun _ => c) = c.
Proof.
  induction N as [|N IH]; cbn [average]; [reflexivity|].
  rewrite (sum_ext _ (fun _ => c)) by (intros; apply IH).
  rewrite sum_const, INR_IZR_INZ, Z2Nat.id by (apply Z.pow_nonneg; lia). fold T. pose proof T_pos. field. lra.
Qed.

(* One place of a list alone counts. *)
Lemma sum_single f k n : (0 <= k < Z.of_nat n)%Z -> (forall i, (0 <= i < Z.of_nat n)%Z -> i <> k -> f i = 0) -> sum f 0 n = f k.
Proof.
  intros Hk H. replace n with (Z.to_nat k + (1 + (n - Z.to_nat k - 1)))%nat by lia. rewrite !sum_split.
  rewrite (sum_zero f 0), (sum_zero f (0 + Z.of_nat (Z.to_nat k) + Z.of_nat 1)) by (intros; apply H; lia).
  cbn [sum]. rewrite Z2Nat.id by lia. replace (0 + k + Z.of_nat 0)%Z with k by lia. ring.
Qed.

(* Entry k of the list is chosen by l_k words, and none by those that are left. *)
Lemma entry_words f l : forall c : nat, all_nonneg l -> (total l 0 <= Z.of_nat c)%Z ->
  sum (fun u => f (entry l u)) 0 c =
  sum (fun k => IZR (at_place l k) * f k) 0 (length l) + (INR c - IZR (total l 0)) * f (Z.of_nat (length l)).
Proof.
  assert (shift : forall l a, total l a = (a + total l 0)%Z).
  { clear. induction l as [|x l IH]; intros a; cbn [total]; [lia|]. rewrite (IH (a + x)%Z), (IH (0 + x)%Z). lia. }
  assert (nonneg : forall l, all_nonneg l -> (0 <= total l 0)%Z).
  { induction 1; cbn [total]; [lia|]. rewrite shift. lia. }
  revert f. induction l as [|x l IH]; intros f c Hl Hc.
  - cbn [entry length total sum]. rewrite sum_const. cbn. lra.
  - inversion Hl as [|? ? Hx Hl']; subst. cbn [total] in Hc. rewrite shift in Hc. pose proof (nonneg l Hl') as Hn.
    replace c with (Z.to_nat x + (c - Z.to_nat x))%nat at 1 by lia. rewrite sum_split.
    rewrite (sum_ext _ (fun _ => f 0%Z)).
    2:{ intros u Hu. cbn [entry]. destruct (Z.ltb_spec u x); [reflexivity | lia]. }
    rewrite sum_const. rewrite (sum_onto _ (fun u => f (1 + entry l u)%Z) _ 0).
    2:{ intros u Hu. cbn [entry]. rewrite Z2Nat.id, Z.add_0_l by lia. destruct (Z.ltb_spec (x + u) x); [lia|]. do 2 f_equal. f_equal. lia. }
    rewrite (IH (fun k => f (1 + k)%Z)) by (auto; lia). cbn [length total]. rewrite sum_first, (shift l (0 + x)%Z).
    change (at_place (x :: l) 0) with x.
    rewrite (sum_onto (fun k => IZR (at_place (x :: l) k) * f k) (fun k => IZR (at_place l k) * f (1 + k)%Z) (0 + 1) 0).
    2:{ intros i Hi. replace (0 + 1 + i)%Z with (i + 1)%Z by lia. rewrite at_next by lia. do 2 f_equal. lia. }
    rewrite minus_INR by lia. rewrite (INR_IZR_INZ (Z.to_nat x)), Z2Nat.id, !plus_IZR by lia.
    replace (1 + Z.of_nat (length l))%Z with (Z.of_nat (S (length l))) by lia. ring.
Qed.

(* --- The point of a cell --- *)

Section Place.
Variables (B S : Z).                       (* B words; S points *)
Hypothesis S_pos : (0 < S <= B)%Z.
Let b := (B / S)%Z.
Let r := (B mod S)%Z.
Let division : (B = S * b + r)%Z /\ (0 <= r < S)%Z.
Proof. split; [apply Z.div_mod; lia | apply Z.mod_pos_bound; lia]. Qed.

(* The words v for which vS / B is below H. *)
Let below (H : Z) : Z := ((H * B + S - 1) / S)%Z.

(* Of these, b for each h < H are kept. *)
Lemma kept_below (f : Z -> R) (none : R) : forall H : nat,
  sum (fun v => if ((v * S) mod B <? r)%Z then none else f (v * S / B)%Z) 0 (Z.to_nat (below (Z.of_nat H))) =
  IZR b * sum f 0 H + IZR (below (Z.of_nat H) - b * Z.of_nat H) * none.
Proof.
  destruct division as [D1 D2]. assert (b0 : (0 <= b)%Z) by (apply Z.div_pos; lia).
  induction H as [|H IH].
  - assert (E : below (Z.of_nat 0) = 0%Z) by (apply Z.div_small; lia). rewrite E. cbn [sum Z.to_nat Z.of_nat]. rewrite Z.mul_0_r, Z.sub_0_r. ring.
  - set (c := below (Z.of_nat H)) in *. set (a := ((Z.of_nat H * B + r + S - 1) / S)%Z).
    assert (Hc : (0 <= c)%Z) by (apply Z.div_pos; nia).
    assert (Hca : (c <= a)%Z) by (apply Z.div_le_mono; lia).
    assert (E : below (Z.of_nat (Datatypes.S H)) = (a + b)%Z).
    { unfold below, a. rewrite <- Z.div_add by lia. f_equal. lia. }
    (* what a quotient rounded up means *)
    assert (up : forall x v, ((x + S - 1) / S <= v <-> x <= v * S)%Z).
    { intros x v. split; intros L.
      - pose proof (Z.mul_succ_div_gt (x + S - 1) S ltac:(lia)). nia.
      - apply Z.lt_succ_r, Z.div_lt_upper_bound; lia. }
    rewrite E. replace (Z.to_nat (a + b)) with (Z.to_nat c + (Z.to_nat (a - c) + Z.to_nat b))%nat by lia.
    rewrite !sum_split, IH.
    rewrite (sum_ext _ (fun _ => none) (0 + Z.of_nat (Z.to_nat c))).
    2:{ intros v Hv. assert (L1 : (Z.of_nat H * B <= v * S)%Z) by (apply up; fold (below (Z.of_nat H)); fold c; lia).
      assert (L2 : ~ (Z.of_nat H * B + r <= v * S)%Z) by (intros L; apply up in L; fold a in L; lia).
      replace ((v * S) mod B)%Z with (v * S - Z.of_nat H * B)%Z by (apply Z.mod_unique with (Z.of_nat H); lia).
      destruct (Z.ltb_spec (v * S - Z.of_nat H * B) r); [reflexivity | lia]. }
    rewrite (sum_ext _ (fun _ => f (Z.of_nat H)) (0 + Z.of_nat (Z.to_nat c) + Z.of_nat (Z.to_nat (a - c)))).
    2:{ intros v Hv. assert (L1 : (Z.of_nat H * B + r <= v * S)%Z) by (apply up; fold a; lia).
      assert (L2 : ~ ((Z.of_nat H + 1) * B <= v * S)%Z).
      { intros L. apply up in L. assert (below (Z.of_nat H + 1) = a + b)%Z by (rewrite <- E; f_equal; lia). unfold below in H0. lia. }
      replace ((v * S) mod B)%Z with (v * S - Z.of_nat H * B)%Z by (apply Z.mod_unique with (Z.of_nat H); lia).
      replace (v * S / B)%Z with (Z.of_nat H) by (apply Z.div_unique with (v * S - Z.of_nat H * B)%Z; lia).
      destruct (Z.ltb_spec (v * S - Z.of_nat H * B) r); [lia | reflexivity]. }
    rewrite !sum_const, !INR_IZR_INZ, !Z2Nat.id by lia. cbn [sum]. rewrite Z.add_0_l.
    rewrite !Nat2Z.inj_succ, !minus_IZR, !plus_IZR, !mult_IZR. unfold Z.succ. rewrite plus_IZR. ring.
Qed.

Lemma kept (f : Z -> R) (none : R) :
  sum (fun v => if ((v * S) mod B <? r)%Z then none else f (v * S / B)%Z) 0 (Z.to_nat B) =
  IZR b * sum f 0 (Z.to_nat S) + IZR r * none.
Proof.
  destruct division as [D1 D2].
  assert (E : below (Z.of_nat (Z.to_nat S)) = B).
  { unfold below. rewrite Z2Nat.id by lia. symmetry. apply Z.div_unique with (S - 1)%Z; lia. }
  pose proof (kept_below f none (Z.to_nat S)) as H. rewrite E, Z2Nat.id in H by lia. rewrite H. do 3 f_equal. lia.
Qed.
End Place.

(* What comes first, and what comes after it. *)
Lemma average_next N f : average (S N) f = sum (fun u => average N (fun words => f (u :: words))) 0 (Z.to_nat (2 ^ 64)) / T.
Proof. reflexivity. Qed.

(* With a point chosen, each is as likely, whatever comes after it. *)
Lemma share_of_kept S b r G F Tw : 0 < Tw -> Tw = S * b + r -> (b * G + r * F) / Tw = b / Tw * G + r / Tw * F.
Proof. intros. field. lra. Qed.
Lemma limit_of_kept S b r l Tw : 0 < S -> 0 < b -> 0 <= r -> Tw = S * b + r -> b / Tw * l / (1 - r / Tw) = l / S.
Proof. intros HS Hb Hr E. assert (0 < S * b) by (apply Rmult_lt_0_compat; assumption). rewrite E. field. repeat split; lra. Qed.

Lemma place_mean S (f : Z -> list Z -> R) (l : Z -> R) : (0 < S <= 2 ^ 64)%Z ->
  (forall h, (0 <= h < S)%Z -> Un_cv (fun N => average N (f h)) (l h)) ->
  Un_cv (fun N => average N (fun words => match place S words with Some (h, rest) => f h rest | None => 0 end)) (sum l 0 (Z.to_nat S) / IZR S).
Proof.
  intros HS Hl. set (F := fun words => match place S words with Some (h, rest) => f h rest | None => 0 end).
  assert (D : (2 ^ 64 = S * (2 ^ 64 / S) + 2 ^ 64 mod S)%Z) by (apply Z.div_mod; lia).
  assert (Hr : (0 <= 2 ^ 64 mod S)%Z) by (apply Z.mod_pos_bound; lia).
  assert (Hb : (0 < 2 ^ 64 / S)%Z) by (apply Z.div_str_pos; lia).
  apply IZR_lt in Hb. apply IZR_le in Hr. apply (f_equal IZR) in D. rewrite plus_IZR, mult_IZR in D. fold T in D.
  assert (HS' : 0 < IZR S) by (apply IZR_lt; lia). pose proof T_pos as HT.
  rewrite <- (limit_of_kept (IZR S) (IZR (2 ^ 64 / S)) (IZR (2 ^ 64 mod S)) _ T) by assumption.
  assert (0 < IZR S * IZR (2 ^ 64 / S)) by (apply Rmult_lt_0_compat; assumption).
  apply (cv_again _ (fun N => sum (fun h => average N (f h)) 0 (Z.to_nat S))).
  - split; [apply Rdiv_nonneg; assumption|]. apply Rmult_lt_reg_r with T; [assumption|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  - intros N. rewrite average_next, <- (share_of_kept (IZR S)) by assumption. f_equal. rewrite <- kept by exact HS.
    apply sum_ext. intros v _. unfold F. cbn [place]. unfold discarded. destruct (_ <? _)%Z; reflexivity.
  - apply cv_sum. intros h Hh. apply Hl. lia.
Qed.

(* --- The periods of a tail --- *)

Lemma periods_mean r g l (G : nat) : (0 <= r < 2 ^ 64)%Z -> Un_cv (fun N => average N g) l ->
  Un_cv (fun N => average N (fun words => match periods r words with Some (G', rest) => if (G' =? G)%nat then g rest else 0 | None => 0 end))
    ((1 - IZR r / T) * (IZR r / T) ^ G * l).
Proof.
  intros Hr Hg. pose proof T_pos as HT.
  assert (two : forall a c, sum (fun w => if (w <? r)%Z then a else c) 0 (Z.to_nat (2 ^ 64)) / T = IZR r / T * a + (1 - IZR r / T) * c).
  { intros a c. pose proof (sum_two a c 0 (Z.to_nat (2 ^ 64)) (Z.to_nat r)) as H. rewrite Z.add_0_l, Z2Nat.id in H by lia.
    rewrite H by (apply Z2Nat.inj_le; lia). rewrite minus_INR, !INR_IZR_INZ, !Z2Nat.id by (try apply Z2Nat.inj_le; lia). fold T. field. lra. }
  induction G as [|G IH].
  - apply cv_later, (cv_ext (fun N => (1 - IZR r / T) * average N g)).
    + intros N. rewrite average_next.
      rewrite (sum_ext _ (fun w => if (w <? r)%Z then 0 else average N g)); [rewrite two; ring|].
      intros w _. destruct (w <? r)%Z eqn:E.
      * rewrite (average_ext N _ (fun _ => 0)), average_const; [reflexivity|].
        intros words. cbn [periods]. rewrite E. destruct (periods r words) as [[G' rest]|]; reflexivity.
      * apply average_ext. intros words. cbn [periods]. rewrite E. reflexivity.
    + cbn [pow]. rewrite Rmult_1_r. apply cv_scale, Hg.
  - set (f := fun words => match periods r words with Some (G', rest) => if (G' =? G)%nat then g rest else 0 | None => 0 end) in *.
    apply cv_later, (cv_ext (fun N => IZR r / T * average N f)).
    + intros N. rewrite average_next.
      rewrite (sum_ext _ (fun w => if (w <? r)%Z then average N f else 0)); [rewrite two; ring|].
      intros w _. destruct (w <? r)%Z eqn:E.
      * apply average_ext. intros words. unfold f. cbn [periods]. rewrite E. destruct (periods r words) as [[G' rest]|]; reflexivity.
      * rewrite (average_ext N _ (fun _ => 0)), average_const; [reflexivity|]. intros words. cbn [periods]. rewrite E. reflexivity.
    + replace ((1 - IZR r / T) * (IZR r / T) ^ S G * l) with (IZR r / T * ((1 - IZR r / T) * (IZR r / T) ^ G * l)) by (cbn [pow]; ring).
      apply cv_scale, IH.
Qed.

(* --- A draw --- *)

(* If o is y, what g makes of the words that are left. *)
Definition when (y : Z) (g : list Z -> R) (o : option (Z * list Z)) : R :=
  match o with Some (n, rest) => if (n =? y)%Z then g rest else 0 | None => 0 end.

(* Points of a cell, one after another: one of them is y, if its cell is that of y. *)
Lemma one_point (S lo y : Z) (c : R) : (0 < S)%Z ->
  sum (fun h => if (lo + h =? y)%Z then c else 0) 0 (Z.to_nat S) = if ((y - lo) / S =? 0)%Z then c else 0.
Proof.
  intros HS. destruct (Z.eqb_spec ((y - lo) / S) 0) as [E|E].
  - assert (0 <= y - lo < S)%Z by (pose proof (Z.mul_div_le (y - lo) S HS); pose proof (Z.mul_succ_div_gt (y - lo) S HS); lia).
    rewrite (sum_single _ (y - lo)); [|lia|intros i Hi Hn; destruct (Z.eqb_spec (lo + i) y); [lia | reflexivity]].
    destruct (Z.eqb_spec (lo + (y - lo)) y); [reflexivity | lia].
  - apply sum_zero. intros h Hh. destruct (Z.eqb_spec (lo + h) y); [|reflexivity]. exfalso. apply E. apply Z.div_small. lia.
Qed.

Section Draw.
Variable t : table.
Hypothesis formed : well_formed t = true.
Hypothesis few_points : (points t <= 2 ^ 64)%Z.
Let S := points t.
Let K := cells t.
Let n := length (weights t).
Let rho := rho t.
Let base := (offset t - (S - 1) / 2 + first t * S)%Z.
Variables (y : Z) (g : list Z -> R) (gamma : R).
Hypothesis after : Un_cv (fun N => average N g) gamma.
Let j := ((y - base) / S)%Z.    (* the place of the cell of y *)

Let S_pos : (0 < S)%Z. Proof. apply (formed_parts t formed). Qed.
Let K_pos : (0 < K)%Z. Proof. apply (formed_parts t formed). Qed.

Let S_range : (0 < S <= 2 ^ 64)%Z. Proof. split; [exact S_pos | exact few_points]. Qed.

Lemma when_mean (f : list Z -> option (Z * list Z)) p words : f words = Some (p, words) -> when y g (f words) = if (p =? y)%Z then g words else 0.
Proof. intros ->. reflexivity. Qed.

Lemma if_mean (c : bool) : Un_cv (fun N => average N (fun words => if c then g words else 0)) (if c then gamma else 0).
Proof. destruct c; [exact after|]. apply (cv_ext (fun _ => 0)); [intros; symmetry; apply average_const | apply cv_const]. Qed.

(* The atom. *)
Lemma atom_mean : Un_cv (fun N => average N (fun words => match place S words with Some (h, rest) => when y g (Some (0%Z, rest)) | None => 0 end))
  (if (y =? 0)%Z then gamma else 0).
Proof.
  replace (if (y =? 0)%Z then gamma else 0) with (sum (fun _ => if (0 =? y)%Z then gamma else 0) 0 (Z.to_nat S) / IZR S).
  - apply (place_mean S (fun _ rest => when y g (Some (0%Z, rest)))); [exact S_range|]. intros h _. apply if_mean.
  - rewrite sum_const, INR_IZR_INZ, Z2Nat.id, (Z.eqb_sym 0 y) by lia. assert (0 < IZR S) by (apply IZR_lt; exact S_pos). field. lra.
Qed.

(* A cell that is where it is. *)
Lemma cell_mean i : Un_cv (fun N => average N (fun words => match place S words with
    Some (h, rest) => when y g (Some (base + i * S + h, rest)%Z) | None => 0 end)) ((if (j =? i)%Z then gamma else 0) / IZR S).
Proof.
  replace (if (j =? i)%Z then gamma else 0) with (sum (fun h => if (base + i * S + h =? y)%Z then gamma else 0) 0 (Z.to_nat S)).
  - apply (place_mean S (fun h rest => when y g (Some (base + i * S + h, rest)%Z))); [exact S_range|]. intros h _. apply if_mean.
  - rewrite one_point by exact S_pos. unfold j. replace (y - (base + i * S))%Z with (y - base + - i * S)%Z by ring.
    rewrite Z.div_add by lia. destruct (Z.eqb_spec ((y - base) / S + - i) 0), (Z.eqb_spec ((y - base) / S) i); try reflexivity; lia.
Qed.

(* The place j lies d periods further out than i, if it does. *)
Definition moved (o i : Z) : R :=
  if ((0 <=? o * (j - i)) && ((o * (j - i)) mod K =? 0))%Z then (1 - rho) * rho ^ Z.to_nat (o * (j - i) / K) else 0.

Lemma moved_mean o i : (o = 1 \/ o = -1)%Z -> Un_cv (fun N => average N (fun words => match place S words with
    Some (h, rest) => match periods (ratio t) rest with
      Some (G, rest) => when y g (Some (base + i * S + h + o * (Z.of_nat G * (K * S)), rest)%Z) | None => 0 end | None => 0 end))
  (moved o i * gamma / IZR S).
Proof.
  intros Ho. assert (Hratio : (0 <= ratio t < 2 ^ 64)%Z) by apply (formed_parts t formed).
  assert (HKS : (0 < K * S)%Z) by (apply Z.mul_pos_pos; assumption).
  (* how far y is, in points *)
  set (far := fun h => (o * (y - (base + i * S + h)))%Z).
  set (lim := fun h => if ((0 <=? far h) && (far h mod (K * S) =? 0))%Z then (1 - rho) * rho ^ Z.to_nat (far h / (K * S)) * gamma else 0).
  replace (moved o i * gamma) with (sum lim 0 (Z.to_nat S)).
  - apply (place_mean S (fun h rest => match periods (ratio t) rest with
      Some (G, rest) => when y g (Some (base + i * S + h + o * (Z.of_nat G * (K * S)), rest)%Z) | None => 0 end)); [exact S_range|].
    intros h _. unfold lim. destruct (Z.leb_spec 0 (far h)) as [Hf|Hf]; [destruct (Z.eqb_spec (far h mod (K * S)) 0) as [Hm|Hm]|]; cbn [andb].
    + set (G := Z.to_nat (far h / (K * S))).
      assert (HG : (far h = Z.of_nat G * (K * S))%Z).
      { unfold G. rewrite Z2Nat.id by (apply Z.div_pos; assumption). pose proof (Z.div_mod (far h) (K * S)). lia. }
      apply (cv_ext (fun N => average N (fun words => match periods (ratio t) words with Some (G', rest) => if (G' =? G)%nat then g rest else 0 | None => 0 end))).
      * intros N. apply average_ext. intros words. destruct (periods (ratio t) words) as [[G' rest]|]; [|reflexivity]. unfold when.
        destruct (Nat.eqb_spec G' G) as [HG'|Hne], (Z.eqb_spec (base + i * S + h + o * (Z.of_nat G' * (K * S))) y) as [Hy|Hy]; try reflexivity; exfalso.
        -- apply Hy. rewrite HG', <- HG. unfold far. destruct Ho as [-> | ->]; ring.
        -- apply Hne. assert (far h = Z.of_nat G' * (K * S))%Z by (unfold far; rewrite <- Hy; destruct Ho as [-> | ->]; ring).
           rewrite HG in H. apply Z.mul_cancel_r in H; lia.
      * apply periods_mean; assumption.
    + apply (cv_ext (fun _ => 0)); [|apply cv_const]. intros N. rewrite (average_ext N _ (fun _ => 0)), average_const; [reflexivity|].
      intros words. destruct (periods (ratio t) words) as [[G rest]|]; [|reflexivity]. unfold when.
      destruct (Z.eqb_spec (base + i * S + h + o * (Z.of_nat G * (K * S))) y) as [Hy|Hy]; [exfalso|reflexivity].
      apply Hm. replace (far h) with (Z.of_nat G * (K * S))%Z by (unfold far; rewrite <- Hy; destruct Ho as [-> | ->]; ring). apply Z.mod_mul. lia.
    + apply (cv_ext (fun _ => 0)); [|apply cv_const]. intros N. rewrite (average_ext N _ (fun _ => 0)), average_const; [reflexivity|].
      intros words. destruct (periods (ratio t) words) as [[G rest]|]; [|reflexivity]. unfold when.
      destruct (Z.eqb_spec (base + i * S + h + o * (Z.of_nat G * (K * S))) y) as [Hy|Hy]; [exfalso|reflexivity].
      assert (far h = Z.of_nat G * (K * S))%Z by (unfold far; rewrite <- Hy; destruct Ho as [-> | ->]; ring).
      assert (0 <= Z.of_nat G * (K * S))%Z by (apply Z.mul_nonneg_nonneg; lia). lia.
  - set (h0 := ((y - base) mod S)%Z). assert (H0 : (0 <= h0 < S)%Z) by (apply Z.mod_pos_bound; exact S_pos).
    assert (Hy : (y - base = S * j + h0)%Z) by (apply Z.div_mod; lia).
    assert (Hfar : forall h, far h = (o * (j - i) * S + o * (h0 - h))%Z).
    { intros h. unfold far. replace (y - (base + i * S + h))%Z with (y - base - i * S - h)%Z by ring. rewrite Hy. ring. }
    rewrite (sum_single lim h0); [|lia|].
    + unfold lim, moved. rewrite Hfar. replace (o * (j - i) * S + o * (h0 - h0))%Z with (o * (j - i) * S)%Z by ring.
      set (d := (o * (j - i))%Z). rewrite Z.mul_mod_distr_r, Z.div_mul_cancel_r by lia.
      destruct (Z.leb_spec 0 (d * S)), (Z.leb_spec 0 d); try nia; cbn [andb]; [|ring].
      destruct (Z.eqb_spec (d mod K * S) 0), (Z.eqb_spec (d mod K) 0); try nia; ring.
    + intros h Hh Hne. unfold lim. destruct (Z.eqb_spec (far h mod (K * S)) 0) as [Hm|]; [exfalso | rewrite andb_false_r; reflexivity].
      assert (E : (far h = S * (K * (far h / (K * S))))%Z) by (rewrite Z.mul_assoc, (Z.mul_comm S K); pose proof (Z.div_mod (far h) (K * S)); lia).
      rewrite Hfar in E at 1. assert (E' : (h0 - h = S * (o * (K * (far h / (K * S)) - o * (j - i))))%Z).
      { transitivity (o * (o * (h0 - h)))%Z; [destruct Ho as [-> | ->]; ring|].
        replace (o * (h0 - h))%Z with (S * (K * (far h / (K * S))) - o * (j - i) * S)%Z by lia. ring. }
      assert (o * (K * (far h / (K * S)) - o * (j - i)) = 0)%Z by nia. nia.
Qed.

(* What is drawn of the entry i. *)
Definition of_entry (i : Z) : R :=
  if (i =? Z.of_nat n)%Z then (if (y =? 0)%Z then gamma else 0)
  else if (outwards t i =? 0)%Z then (if (j =? i)%Z then gamma else 0) / IZR S
  else moved (outwards t i) i * gamma / IZR S.

Lemma draw_next N : average (Datatypes.S N) (fun words => when y g (draw t words)) =
  sum (fun u => average N (fun words => when y g (draw t (u :: words)))) 0 (Z.to_nat (2 ^ 64)) / T.
Proof. apply average_next. Qed.

Lemma entry_mean u : Un_cv (fun N => average N (fun words => when y g (draw t (u :: words)))) (of_entry (entry (weights t) u)).
Proof.
  unfold draw, of_entry. set (i := entry (weights t) u). fold n S K.
  destruct (i =? Z.of_nat n)%Z.
  - apply (cv_ext (fun N => average N (fun words => match place S words with Some (h, rest) => when y g (Some (0%Z, rest)) | None => 0 end))); [|apply atom_mean].
    intros N. apply average_ext. intros words. destruct (place S words) as [[h rest]|]; reflexivity.
  - destruct (outwards t i =? 0)%Z eqn:Ho.
    + apply (cv_ext (fun N => average N (fun words => match place S words with
        Some (h, rest) => when y g (Some (base + i * S + h, rest)%Z) | None => 0 end))); [|apply cell_mean].
      intros N. apply average_ext. intros words. destruct (place S words) as [[h rest]|]; [|reflexivity].
      replace (offset t - (S - 1) / 2 + (first t + i) * S + h)%Z with (base + i * S + h)%Z by (unfold base; ring). reflexivity.
    + apply (cv_ext (fun N => average N (fun words => match place S words with
        Some (h, rest) => match periods (ratio t) rest with
          Some (G, rest) => when y g (Some (base + i * S + h + outwards t i * (Z.of_nat G * (K * S)), rest)%Z) | None => 0 end | None => 0 end))).
      * intros N. apply average_ext. intros words. destruct (place S words) as [[h rest]|]; [|reflexivity].
        replace (offset t - (S - 1) / 2 + (first t + i) * S + h)%Z with (base + i * S + h)%Z by (unfold base; ring).
        destruct (periods (ratio t) rest) as [[G rest']|]; reflexivity.
      * apply moved_mean. revert Ho. unfold outwards. destruct (ratio t =? 0)%Z; [discriminate|].
        destruct (i <? cells t)%Z; [right; reflexivity|]. destruct (i <? _)%Z; [discriminate | left; reflexivity].
Qed.

Lemma law_here : law t y = cell_law t j / IZR S + (if (y =? 0)%Z then mass_of_atom t else 0).
Proof.
  unfold law, mass_of_atom, T. do 3 f_equal. unfold cell_of, j, base. fold S.
  replace (y - (offset t - (S - 1) / 2 + first t * S))%Z with (y - offset t + (S - 1) / 2 + - first t * S)%Z by ring.
  rewrite Z.div_add by lia. ring.
Qed.

Lemma moved_is o i q : (o * (j - i) = q * K)%Z -> (0 <= q)%Z -> moved o i = (1 - rho) * rho ^ Z.to_nat q.
Proof.
  intros H Hq. unfold moved. rewrite H, Z.mod_mul, Z.div_mul by lia.
  destruct (Z.leb_spec 0 (q * K)); [reflexivity|]. assert (0 <= q * K)%Z by (apply Z.mul_nonneg_nonneg; lia). lia.
Qed.
Lemma moved_not o i : (forall q, (0 <= q)%Z -> (o * (j - i) <> q * K)%Z) -> moved o i = 0.
Proof.
  intros H. unfold moved. destruct (Z.leb_spec 0 (o * (j - i))) as [L|L]; [|reflexivity].
  destruct (Z.eqb_spec ((o * (j - i)) mod K) 0) as [M|M]; [|reflexivity]. exfalso.
  apply (H ((o * (j - i)) / K)%Z); [apply Z.div_pos; lia|]. pose proof (Z.div_mod (o * (j - i)) K). lia.
Qed.

(* Of all cells one alone has the place j, or repeats there. *)
Lemma cells_sum : sum (fun k => IZR (at_place (weights t) k) * of_entry k) 0 n = T * (cell_law t j / IZR S) * gamma.
Proof.
  pose proof T_pos as HT. assert (HS : 0 < IZR S) by (apply IZR_lt; exact S_pos).
  assert (in_list : forall k, (0 <= k < Z.of_nat n)%Z -> of_entry k =
    if (outwards t k =? 0)%Z then (if (j =? k)%Z then gamma else 0) / IZR S else moved (outwards t k) k * gamma / IZR S).
  { intros k Hk. unfold of_entry. destruct (Z.eqb_spec k (Z.of_nat n)); [lia | reflexivity]. }
  (* it is enough to name that cell *)
  assert (one : forall k v, (0 <= k < Z.of_nat n)%Z -> of_entry k = v * gamma / IZR S -> cell_law t j = IZR (at_place (weights t) k) / T * v ->
    (forall k', (0 <= k' < Z.of_nat n)%Z -> k' <> k -> of_entry k' = 0) ->
    sum (fun k => IZR (at_place (weights t) k) * of_entry k) 0 n = T * (cell_law t j / IZR S) * gamma).
  { intros k v Hk Hv Hlaw Hn. rewrite (sum_single _ k), Hv, Hlaw; [field; lra | exact Hk|].
    intros k' Hk' Hne. rewrite Hn by assumption. ring. }
  revert one. unfold cell_law. cbv zeta. fold n K T. fold (Law.rho t). fold rho. intros one.
  unfold outwards in in_list. fold n K in in_list.
  destruct (Z.eqb_spec (ratio t) 0) as [R0|R0].
  - destruct (Z_lt_le_dec j 0) as [Hj|Hj]; [|destruct (Z_lt_le_dec j (Z.of_nat n)) as [Hj'|Hj']].
    2:{ apply (one j 1); [lia | | ring |].
      - rewrite in_list by lia. cbn [Z.eqb]. rewrite Z.eqb_refl. field. lra.
      - intros k' Hk' Hne. rewrite in_list by exact Hk'. cbn [Z.eqb]. destruct (Z.eqb_spec j k'); [congruence | field; lra]. }
    all: rewrite at_out by (fold n; lia); rewrite sum_zero; [field; lra|]; intros k Hk; rewrite in_list by lia; cbn [Z.eqb];
      destruct (Z.eqb_spec j k); [lia | field; lra].
  - destruct (listed_tail t R0) as [HW _].
    assert (Hn : (2 * K < Z.of_nat n)%Z) by (pose proof (formed_parts t formed) as P; rewrite HW in P; apply P).
    destruct (Z.ltb_spec j K) as [Hj|Hj]; [|destruct (Z.ltb_spec j (Z.of_nat n - K)) as [Hj'|Hj']].
    + assert (D : (K - 1 - j = K * ((K - 1 - j) / K) + (K - 1 - j) mod K)%Z) by (apply Z.div_mod; lia).
      assert (M : (0 <= (K - 1 - j) mod K < K)%Z) by (apply Z.mod_pos_bound; lia).
      assert (Q : (0 <= (K - 1 - j) / K)%Z) by (apply Z.div_pos; lia).
      apply (one (K - 1 - (K - 1 - j) mod K)%Z ((1 - rho) * rho ^ Z.to_nat ((K - 1 - j) / K))); [lia | | ring |].
      * rewrite in_list by lia. destruct (Z.ltb_spec (K - 1 - (K - 1 - j) mod K) K); [|lia]. cbn [Z.eqb].
        rewrite (moved_is _ _ ((K - 1 - j) / K)); [reflexivity | lia | exact Q].
      * intros k Hk Hne. rewrite in_list by exact Hk. destruct (Z.ltb_spec k K); [|destruct (Z.ltb_spec k (Z.of_nat n - K))]; cbn [Z.eqb].
        -- rewrite moved_not; [field; lra|]. intros q Hq E. apply Hne.
           assert ((K - 1 - j) mod K = K - 1 - k)%Z; [|lia]. symmetry. apply Z.mod_unique with q; lia.
        -- destruct (Z.eqb_spec j k); [lia | field; lra].
        -- rewrite moved_not; [field; lra|]. intros q Hq E. assert (0 <= q * K)%Z by (apply Z.mul_nonneg_nonneg; lia). lia.
    + apply (one j 1); [lia | | ring |].
      * rewrite in_list by lia. destruct (Z.ltb_spec j K); [lia|]. destruct (Z.ltb_spec j (Z.of_nat n - K)); [|lia].
        cbn [Z.eqb]. rewrite Z.eqb_refl. field. lra.
      * intros k Hk Hne. rewrite in_list by exact Hk. destruct (Z.ltb_spec k K); [|destruct (Z.ltb_spec k (Z.of_nat n - K))]; cbn [Z.eqb].
        -- rewrite moved_not; [field; lra|]. intros q Hq E. assert (0 <= q * K)%Z by (apply Z.mul_nonneg_nonneg; lia). lia.
        -- destruct (Z.eqb_spec j k); [congruence | field; lra].
        -- rewrite moved_not; [field; lra|]. intros q Hq E. assert (0 <= q * K)%Z by (apply Z.mul_nonneg_nonneg; lia). lia.
    + set (e := (j - (Z.of_nat n - K))%Z) in *.
      assert (D : (e = K * (e / K) + e mod K)%Z) by (apply Z.div_mod; lia).
      assert (M : (0 <= e mod K < K)%Z) by (apply Z.mod_pos_bound; lia).
      assert (Q : (0 <= e / K)%Z) by (apply Z.div_pos; lia).
      apply (one (Z.of_nat n - K + e mod K)%Z ((1 - rho) * rho ^ Z.to_nat (e / K))); [lia | | ring |].
      * rewrite in_list by lia. destruct (Z.ltb_spec (Z.of_nat n - K + e mod K) K); [lia|].
        destruct (Z.ltb_spec (Z.of_nat n - K + e mod K) (Z.of_nat n - K)); [lia|]. cbn [Z.eqb].
        rewrite (moved_is _ _ (e / K)); [reflexivity | lia | exact Q].
      * intros k Hk Hne. rewrite in_list by exact Hk. destruct (Z.ltb_spec k K); [|destruct (Z.ltb_spec k (Z.of_nat n - K))]; cbn [Z.eqb].
        -- rewrite moved_not; [field; lra|]. intros q Hq E. assert (0 <= q * K)%Z by (apply Z.mul_nonneg_nonneg; lia). lia.
        -- destruct (Z.eqb_spec j k); [lia | field; lra].
        -- rewrite moved_not; [field; lra|]. intros q Hq E. apply Hne.
           assert (e mod K = k - (Z.of_nat n - K))%Z; [|lia]. symmetry. apply Z.mod_unique with q; lia.
Qed.

Lemma total_weights : (total (weights t) 0 = 2 ^ 64 - atom t)%Z.
Proof.
  assert (before : forall k l a, total (repeat 0%Z k ++ l) a = total l a).
  { induction k; intros l a; cbn [repeat app total]; [reflexivity|]. rewrite Z.add_0_r. apply IHk. }
  assert (behind : forall k l a, total (l ++ repeat 0%Z k) a = total l a).
  { intros k. induction l as [|x l IH]; intros a; cbn [app total]; [|apply IH].
    rewrite <- (app_nil_r (repeat 0%Z k)), before. reflexivity. }
  assert (moved_out : forall l a, total l a = (a + total l 0)%Z).
  { induction l as [|x l IH]; intros a; cbn [total]; [lia|]. rewrite (IH (a + x)%Z), (IH (0 + x)%Z). lia. }
  assert (H : total (listed t) (atom t) = (2 ^ 64)%Z) by apply (formed_parts t formed).
  unfold listed in H. rewrite before, behind, moved_out in H. lia.
Qed.

(* A draw is y with the probability that y has in the law, and what comes after is as if nothing had been drawn. *)
Lemma draw_mean : Un_cv (fun N => average N (fun words => when y g (draw t words))) (law t y * gamma).
Proof.
  pose proof T_pos as HT.
  apply cv_later, (cv_ext (fun N => / T * sum (fun u => average N (fun words => when y g (draw t (u :: words)))) 0 (Z.to_nat (2 ^ 64)))).
  { intros N. rewrite draw_next. unfold Rdiv. apply Rmult_comm. }
  replace (law t y * gamma) with (/ T * sum (fun u => of_entry (entry (weights t) u)) 0 (Z.to_nat (2 ^ 64))).
  - apply cv_scale, cv_sum. intros u _. apply entry_mean.
  - assert (Ha : (0 <= atom t)%Z) by apply (formed_parts t formed).
    rewrite entry_words, total_weights; [| apply (formed_parts t formed) | rewrite total_weights, Z2Nat.id; lia].
    fold n. rewrite cells_sum, INR_IZR_INZ, Z2Nat.id, minus_IZR by lia. fold T. unfold of_entry. rewrite Z.eqb_refl, law_here.
    unfold mass_of_atom. assert (0 < IZR S) by (apply IZR_lt; exact S_pos). destruct (y =? 0)%Z; field; lra.
Qed.
End Draw.

(* The chance that N words give these draws first tends, the more words there are, to the product of their probabilities: draws are
   independent, and each has the law of the table. *)
Theorem draws_have_the_law t ys : well_formed t = true -> (points t <= 2 ^ 64)%Z ->
  Un_cv (fun N => chance N (draws t ys)) (fold_right (fun y p => law t y * p) 1 ys).
Proof.
  intros formed few. unfold chance. induction ys as [|y ys IH]; cbn [fold_right].
  - apply (cv_ext (fun _ => 1)); [intros; cbn [draws]; symmetry; apply average_const | apply cv_const].
  - apply (cv_ext (fun N => average N (fun words => when y (fun rest => if draws t ys rest then 1 else 0) (draw t words)))).
    + intros N. apply average_ext. intros words. cbn [draws]. unfold when.
      destruct (draw t words) as [[m rest]|]; [|reflexivity]. destruct (m =? y)%Z; reflexivity.
    + apply draw_mean; assumption.
Qed.

(* One draw. *)
Corollary draw_has_the_law t y : well_formed t = true -> (points t <= 2 ^ 64)%Z -> Un_cv (fun N => chance N (draws t [y])) (law t y).
Proof. intros H1 H2. pose proof (draws_have_the_law t [y] H1 H2) as H. cbn [fold_right] in H. rewrite Rmult_1_r in H. exact H. Qed.
