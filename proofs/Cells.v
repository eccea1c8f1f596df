(* SPDX-License-Identifier: Apache-2.0 *)
(* Privacy of kernels, by pairs of cells within reach of each other. docs/proofs/kernel-privacy.md says it in words. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Lia Lra.
From Noisewright Require Import Statement Sums Exp Lists Check Private Losses Ramps Randomizers Rows.
Import ListNotations.
Local Open Scope Z_scope.

(* Whether there is a law for each cell. *)
Definition cells_made (k : kernel) : bool :=
  (0 <=? Qnum (k_epsilon k)) && (length (k_edges k) =? S (length (k_rows k)))%nat && negb (length (k_rows k) =? 0)%nat &&
  forallb (row_ok (length (k_nodes k))) (k_rows k).

(* A cell, with its row in the units of gains and of prices. *)
Record cell := { lower : Q; upper : Q; gains : list Z; prices : list Z }.
Definition cell_number (k : kernel) (i : nat) : cell :=
  let row := row_of (k_rows k) i in
  {| lower := nth i (k_edges k) 0%Q; upper := nth (S i) (k_edges k) 0%Q; gains := gain row; prices := price (k_epsilon k) row |}.
Definition cells_of (k : kernel) : list cell := map (cell_number k) (seq 0 (length (k_rows k))).

(* Of two cells, the second further up: none of their values are within the sensitivity, or the rows are close, both ways. *)
Definition apart_or_close (sensitivity : Q) (bound : Z) (a b : cell) : bool :=
  if Qle_bool sensitivity (lower b - upper a) then true
  else (excess (gains a) (prices b) 0 <=? bound) && (excess (gains b) (prices a) 0 <=? bound).
Fixpoint all_pairs (ok : cell -> cell -> bool) (l : list cell) : bool :=
  match l with [] => true | a :: l' => forallb (ok a) l' && all_pairs ok l' end.

Definition private_cells (k : kernel) (delta : Q) : bool :=
  cells_made k && (0 <=? Qnum delta) && all_pairs (apart_or_close (k_sensitivity k) (allowed delta)) (cells_of k).

Local Open Scope R_scope.

Lemma all_pairs_nth ok d l : all_pairs ok l = true -> forall i j, (i < j < length l)%nat -> ok (nth i l d) (nth j l d) = true.
Proof.
  induction l as [|a l IH]; intros H i j Hij; [cbn in Hij; lia|]. cbn [all_pairs] in H. apply andb_true_iff in H as [Ha H].
  destruct j as [|j]; [lia|]. destruct i as [|i]; cbn [nth].
  - rewrite forallb_forall in Ha. apply Ha, nth_In. cbn in Hij. lia.
  - apply IH; [exact H | cbn in Hij; lia].
Qed.

(* A value has the law of a cell that it is in. The last one has no upper end: there is none beyond. *)
Lemma in_some_cell edges : forall rows x, length edges = S (length rows) -> rows <> [] -> Q2R (hd 0%Q edges) <= x ->
  exists i, (i < length rows)%nat /\ (forall j, of_cell edges rows x j = weight (row_of rows i) j) /\
  Q2R (nth i edges 0%Q) <= x /\ ((S i < length rows)%nat -> x < Q2R (nth (S i) edges 0%Q)).
Proof.
  induction edges as [|a edges IH]; intros rows x Hl Hne Hx; [discriminate|].
  destruct edges as [|b edges]; [destruct rows; [congruence | discriminate]|]. destruct rows as [|p rows]; [congruence|].
  destruct rows as [|q rows].
  - exists 0%nat. repeat split; [cbn; lia | exact Hx | cbn; lia].
  - change (hd 0%Q (a :: b :: edges)) with a in Hx. destruct (Rlt_dec x (Q2R b)) as [Hb|Hb].
    + exists 0%nat. split; [cbn; lia|]. split; [|split; [exact Hx | intros _; exact Hb]]. intros j.
      change (of_cell (a :: b :: edges) (p :: q :: rows) x j)
        with (if Rlt_dec x (Q2R b) then weight p j else of_cell (b :: edges) (q :: rows) x j).
      destruct (Rlt_dec x (Q2R b)); [reflexivity | contradiction].
    + destruct (IH (q :: rows) x ltac:(injection Hl; intros; cbn; lia) ltac:(discriminate) ltac:(cbn [hd]; lra)) as (i & Hi & HL & Hlo & Hup).
      exists (S i). split; [cbn in Hi |- *; lia|]. split; [|split; [exact Hlo | intros HS; apply Hup; cbn in HS |- *; lia]]. intros j.
      change (of_cell (a :: b :: edges) (p :: q :: rows) x j)
        with (if Rlt_dec x (Q2R b) then weight p j else of_cell (b :: edges) (q :: rows) x j).
      destruct (Rlt_dec x (Q2R b)); [contradiction | apply HL].
Qed.

Lemma cell_parts k : cells_made k = true -> (0 <= Qnum (k_epsilon k))%Z /\ length (k_edges k) = S (length (k_rows k)) /\ k_rows k <> [] /\
  forall i, (i < length (k_rows k))%nat -> row_ok (length (k_nodes k)) (row_of (k_rows k) i) = true.
Proof.
  unfold cells_made. rewrite !andb_true_iff, negb_true_iff. intros [[[H1 H2] H3] H4]. apply Z.leb_le in H1. apply Nat.eqb_eq in H2.
  apply Nat.eqb_neq in H3. rewrite forallb_forall in H4. repeat split; auto; [intros E; rewrite E in H3; auto|].
  intros i Hi. apply H4, nth_In, Hi.
Qed.

Lemma nonneg_Q q : (0 <= Qnum q)%Z -> 0 <= Q2R q.
Proof. intros H. apply Rdiv_nonneg; [apply IZR_le, H | apply IZR_lt; lia]. Qed.

(* One law is close to itself. *)
Lemma same_law m epsilon delta f : (0 <= Qnum epsilon)%Z -> (0 <= Qnum delta)%Z -> answer_law m f -> indistinguishable m epsilon delta f f.
Proof.
  intros He Hd [Hf _] A. apply nonneg_Q in He, Hd. pose proof (exp_ineq1_le (Q2R epsilon)).
  assert (0 <= chance m f A) by (apply sum_nonneg; intros n Hn; destruct (A n); [apply Hf; lia | lra]). nra.
Qed.

Lemma chance_ext m f g A : (forall j, f j = g j) -> chance m f A = chance m g A.
Proof. intros H. apply sum_ext. intros j _. rewrite H. reflexivity. Qed.

Theorem kernel_answers k : cells_made k = true -> forall x, query_of k x -> answer_law (length (k_nodes k)) (kernel_law k x).
Proof.
  intros H x [Hx _]. destruct (cell_parts k H) as (_ & Hl & Hne & Hr).
  destruct (in_some_cell (k_edges k) (k_rows k) x Hl Hne Hx) as (i & Hi & HL & _). destruct (row_law _ _ (Hr i Hi)) as [H0 H1].
  split; [intros j Hj; unfold kernel_law; rewrite HL; auto|].
  rewrite <- H1. apply sum_ext. intros j _. apply HL.
Qed.

Theorem cells_private k delta : private_cells k delta = true -> kernel_private k delta.
Proof.
  unfold private_cells. rewrite !andb_true_iff, Z.leb_le. intros [[H Hd] HP] x x' [Hx _] [Hx' _] Hs.
  destruct (cell_parts k H) as (He & Hl & Hne & Hr).
  destruct (in_some_cell _ _ x Hl Hne Hx) as (i & Hi & HL & Hlo & Hup).
  destruct (in_some_cell _ _ x' Hl Hne Hx') as (i' & Hi' & HL' & Hlo' & Hup').
  intros A. unfold kernel_law. rewrite (chance_ext _ _ _ A HL), (chance_ext _ _ _ A HL'). revert A.
  assert (Hpair : forall a b, (a < b < length (k_rows k))%nat ->
    apart_or_close (k_sensitivity k) (allowed delta) (cell_number k a) (cell_number k b) = true).
  { intros a b Hab. pose proof (all_pairs_nth _ (cell_number k 0) _ HP a b) as HN. unfold cells_of in HN.
    rewrite map_length, seq_length in HN. specialize (HN Hab). rewrite !map_nth, !seq_nth in HN by lia. exact HN. }
  assert (Hnear : forall a b y y', (a < b < length (k_rows k))%nat -> y < Q2R (nth (S a) (k_edges k) 0%Q) -> Q2R (nth b (k_edges k) 0%Q) <= y' ->
    y' - y <= Q2R (k_sensitivity k) ->
    (excess (gain (row_of (k_rows k) a)) (price (k_epsilon k) (row_of (k_rows k) b)) 0 <= allowed delta)%Z /\
    (excess (gain (row_of (k_rows k) b)) (price (k_epsilon k) (row_of (k_rows k) a)) 0 <= allowed delta)%Z).
  { intros a b y y' Hab Hy Hy' Hyy. specialize (Hpair a b Hab). unfold apart_or_close in Hpair. cbn [cell_number lower upper gains prices] in Hpair.
    destruct (Qle_bool (k_sensitivity k) _) eqn:HQ.
    - apply Qle_bool_true in HQ. rewrite Q2R_minus in HQ. lra.
    - apply andb_true_iff in Hpair as [H1 H2]. apply Z.leb_le in H1, H2. split; assumption. }
  unfold Rabs in Hs.
  destruct (lt_eq_lt_dec i i') as [[Hlt|<-]|Hgt].
  - apply close_rows; auto. apply (Hnear i i' x x'); [lia | apply Hup; lia | exact Hlo' | destruct (Rcase_abs _); lra].
  - apply same_law; auto. apply row_law, Hr, Hi.
  - apply close_rows; auto. apply (Hnear i' i x' x); [lia | apply Hup'; lia | exact Hlo | destruct (Rcase_abs _); lra].
Qed.
