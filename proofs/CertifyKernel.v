(* SPDX-License-Identifier: Apache-2.0 *)
(* From the bytes of a kernel file to what is in it, by the rules of docs/kernel-format.md, and the theorem that noisewright
   certificate --coq writes about it. What breaks a rule is None, but for limits of size, and for what only losses and the lower bound
   depend on. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Strings.Byte Lra.
From Noisewright Require Import Statement Losses Json Decode Ramps Verdict Randomizers Rows Cells DecodeRandomizer CertifyRandomizer.
Import ListNotations.
Local Open Scope text_scope.
Local Open Scope Z_scope.

Record kernel_file := { the_kernel : kernel; claimed_k_delta : Q }.

Definition decode_kernel_value (j : json) : option kernel_file :=
  let required := ["format"; "version"; "privacy"; "queries"; "loss"; "edges"; "nodes"; "rows"; "certificate"] in
  let others := ["instance_cap"; "instance_cap_loss"] in
  let* o := match j with Object o => outermost (required ++ others) o None [] | _ => None end in
  let* o := object required others (Object o) in
  let* format := at_field string "format" o in let* version := at_field small "version" o in
  let* p := at_field (object ["epsilon"; "delta"; "sensitivity"] []) "privacy" o in
  let* epsilon := at_field real "epsilon" p in let* delta := at_field real "delta" p in
  let* sensitivity := at_field real "sensitivity" p in
  let* q := at_field (object ["lower"; "upper"] ["weight"]) "queries" o in
  let* a := at_field real "lower" q in let* b := at_field real "upper" q in
  let* edges := at_field reals "edges" o in let* nodes := at_field reals "nodes" o in
  let* rows := at_field (array (array (word_of (2 ^ 64 - 1)) no_more) no_more) "rows" o in
  let* cert := at_field (object ["delta"; "expected_loss"; "max_loss"; "lower_bound"] ["dual"]) "certificate" o in
  let* c_delta := at_field claim "delta" cert in
  require (same format (bytes_of "noisewright-kernel") && (version =? 1) &&
      Qle_bool 0 epsilon && Qle_bool epsilon (inject_Z 100) && Qle_bool 0 delta && Qlt_bool delta 1 && Qlt_bool 0 sensitivity &&
      strictly edges && strictly nodes && Qeq_bool a (hd 0%Q edges) && Qeq_bool b (last edges 0%Q))
    (Some {| the_kernel := {| k_epsilon := epsilon; k_delta := delta; k_sensitivity := sensitivity;
               k_edges := edges; k_nodes := nodes; k_rows := rows |};
             claimed_k_delta := c_delta |}).

Definition decode_kernel (bytes : list byte) : option kernel_file := let* j := parse bytes in decode_kernel_value j.

Local Open Scope R_scope.

Definition kernel_private_as (o : option kernel_file) (eps del sens claimed : Q) : bool := of_file o (fun f =>
  let k := the_kernel f in
  Qeq_bool (k_epsilon k) eps && Qeq_bool (k_delta k) del && Qeq_bool (k_sensitivity k) sens && Qeq_bool (claimed_k_delta f) claimed &&
  private_cells k (smaller del claimed)).

Theorem certify_kernel_privacy o eps del sens claimed : kernel_private_as o eps del sens claimed = true -> exists f, o = Some f /\
  ((k_epsilon (the_kernel f) == eps)%Q /\ (k_delta (the_kernel f) == del)%Q /\ (k_sensitivity (the_kernel f) == sens)%Q /\
   (claimed_k_delta f == claimed)%Q) /\
  (forall x, query_of (the_kernel f) x -> answer_law (length (k_nodes (the_kernel f))) (kernel_law (the_kernel f) x)) /\
  kernel_private (the_kernel f) del /\ kernel_private (the_kernel f) claimed.
Proof.
  destruct o as [f|]; [|discriminate]. cbn [kernel_private_as of_file]. rewrite !andb_true_iff, !Qeq_bool_iff.
  intros [[[[H1 H2] H3] H4] H5]. exists f. pose proof (cells_private _ _ H5) as HP. destruct (smaller_le del claimed) as [L1 L2].
  unfold private_cells in H5. rewrite !andb_true_iff in H5. destruct H5 as [[H5 _] _].
  repeat split; auto; try apply (kernel_answers _ H5); auto; intros x x' Hx Hx' Hs;
    [apply (indistinguishable_weaker _ _ _ _ _ _ L1) | apply (indistinguishable_weaker _ _ _ _ _ _ L2)]; apply HP; auto.
Qed.
