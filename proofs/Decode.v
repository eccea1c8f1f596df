(* SPDX-License-Identifier: Apache-2.0 *)
(* From the bytes of a table file to what is in it, by the rules of docs/table-format.md. What breaks one is None. *)
From Coq Require Import ZArith QArith List Bool Strings.Byte.
From Noisewright Require Import Statement Losses Json.
Import ListNotations.
Local Open Scope text_scope.
Local Open Scope Z_scope.

(* The multipliers of a lower bound. *)
Record multipliers := { m_shift : Z; m_first : Z; m_values : list Z }.
Record dual := {
  d_cells : Z; d_exponent : Z; d_mirrored : bool; d_edges : bool; d_spread : bool; d_shifts : list multipliers;
  d_plain : bool            (* none of monotone_right, monotone_left, mean, variance and quantiles is there *)
}.
Record file := {
  the_table : table; the_loss : loss;
  claimed_delta : Q; claimed_loss : Q; claimed_bound : Q; the_dual : option dual;
  constrained : bool; totaled : bool   (* whether it has constraints, or a total: no theorem is about these *)
}.

Notation "'let*' x := a 'in' b" := (match a with Some x => b | None => None end) (at level 200, x name, a at level 100, b at level 200).
Definition require {A} (ok : bool) (a : option A) : option A := if ok then a else None.
Fixpoint all {A B} (f : A -> option B) (l : list A) (acc : list B) : option (list B) :=
  match l with [] => Some (rev' acc) | x :: l' => let* y := f x in all f l' (y :: acc) end.
Definition within (lo hi x : Z) : bool := (lo <=? x) && (x <=? hi).

(* --- Fields --- *)

Definition fields := list (list byte * json).
Fixpoint field (k : list byte) (o : fields) : option json :=
  match o with [] => None | (k', v) :: o' => if same k k' then Some v else field k o' end.
Definition has (k : text) (o : fields) : bool := match field (bytes_of k) o with Some _ => true | None => false end.
Definition among (k : list byte) (l : list (list byte)) : bool := existsb (same k) l.
Fixpoint once (l : list (list byte)) : bool := match l with [] => true | k :: l' => negb (among k l') && once l' end.

(* The fields of an object: those required and maybe some others, each once, and none that is not known. *)
Definition object (required others : list text) (j : json) : option fields :=
  match j with
  | Object o =>
    let names := map fst o in
    require (once names && forallb (fun k => among k names) (map bytes_of required) &&
      forallb (fun k => among k (map bytes_of (required ++ others))) names) (Some o)
  | _ => None
  end.

Section Read.
Context {A : Type}.
Variable read : json -> option A.
Definition at_field (k : text) (o : fields) : option A := let* j := field (bytes_of k) o in read j.
Definition at_optional (k : text) (o : fields) (missing : A) : option A :=
  match field (bytes_of k) o with Some j => read j | None => Some missing end.
Definition at_maybe (k : text) (o : fields) : option (option A) :=
  match field (bytes_of k) o with Some j => option_map Some (read j) | None => Some None end.
Definition array (most : Z) (j : json) : option (list A) :=
  match j with Array l => require (Z.of_nat (length l) <=? most) (all read l []) | _ => None end.
End Read.

Definition string (j : json) : option (list byte) := match j with String s => Some s | _ => None end.
Definition flag (j : json) : option bool := match j with Boolean b => Some b | _ => None end.
Definition whole (most : Z) (j : json) : option Z :=
  match j with Number s => let* n := integer s in require (within (- most) most n) (Some n) | _ => None end.
Definition small (j : json) : option Z := let* n := whole (2 ^ 31) j in require (n <? 2 ^ 31) (Some n).
Definition real (j : json) : option Q := match j with Number s => let* d := decimal true s in float64 d | _ => None end.
Definition word_of (most : Z) (j : json) : option Z :=
  let* s := string j in require (Z.of_nat (length s) <=? 20) (let* n := digits s in require (n <=? most) (Some n)).

(* A claim: digits, and maybe a point and more of them. *)
Definition claim (j : json) : option Q :=
  let* s := string j in
  require ((Z.of_nat (length s) <=? 800) && forallb (fun b => is_digit b || is_point b) s)
    (let* d := decimal true s in let (m, e) := d in Some (Qred (m # Z.to_pos (10 ^ (- e))))).

(* --- Losses --- *)

Definition Qlt_bool (a b : Q) : bool := negb (Qle_bool b a).
Definition parameter (s : list byte) : option Q :=
  let* d := decimal false s in let* v := float64 d in
  let size := Qmake (Z.abs (Qnum v)) (Qden v) in
  let* least := float64 (1, -60) in
  require ((fst d =? 0) || (Qle_bool least size && Qle_bool size (inject_Z (10 ^ 60)))) (Some v).
Definition positive_parameter (s : list byte) : option Q := let* v := parameter s in require (Qlt_bool 0 v) (Some v).

Definition on (c : byte) : byte -> bool := fun b => eqb b c.
Definition segment (s : list byte) : option (Q * Q * Q) :=
  match split (on ","%byte) s [] with
  | [k; s] => let* k := parameter k in let* s := parameter s in Some (k, s, 0%Q)
  | [k; s; []] => let* k := parameter k in let* s := parameter s in Some (k, s, 0%Q)
  | [k; s; j] => let* k := parameter k in let* s := parameter s in let* j := parameter j in Some (k, s, j)
  | _ => None
  end.
Fixpoint ascending (l : list (Q * Q * Q)) : bool :=
  match l with a :: (b :: _) as l' => Qlt_bool (fst (fst a)) (fst (fst b)) && ascending l' | _ => true end.
Definition first_segment (s : list byte) : option Q :=
  match split (on ","%byte) s [] with
  | i :: s :: rest =>
    require (same i (bytes_of "-inf"))
      (let* s := parameter s in
       match rest with
       | [] | [[]] => Some s
       | [j] => let* j := parameter j in require (Qeq_bool j 0) (Some s)
       | _ => None
       end)
  | _ => None
  end.
Definition segments (s : list byte) : option term :=
  match split (on ";"%byte) s [] with
  | f :: (_ :: _) as l =>
    let* slope := first_segment f in let* l := all segment l [] in
    require (ascending l && (Z.of_nat (length l) <? 10000) && Qlt_bool slope 0 &&
      Qlt_bool 0 (snd (fst (last l (0%Q, 0%Q, 0%Q))))) (Some (Piecewise slope l))
  | _ => None
  end.

Definition power (s : list byte) : option term :=
  let* p := parameter s in
  require (Qle_bool 1 p && Qle_bool p (inject_Z 64))
    (Some (if Zpos (Qden p) =? 1 then Power (Z.to_nat (Qnum p)) else RealPower p)).
Definition pinball (s : list byte) : option term :=
  let* tau := parameter s in require (Qlt_bool 0 tau && Qlt_bool tau 1) (Some (Pinball tau)).
Definition asymmetric (s : list byte) : option term :=
  match split (on ","%byte) s [] with
  | [a; b] => let* a := positive_parameter a in let* b := positive_parameter b in Some (Asymmetric a b)
  | _ => None
  end.
Definition beyond (make : Q -> term) (s : list byte) : option term := option_map make (positive_parameter s).

Definition with_parameters : list (text * (list byte -> option term)) :=
  [("lp", power); ("pinball", pinball); ("asymmetric", asymmetric); ("huber", beyond Huber); ("deadzone", beyond Deadzone);
   ("exceed", beyond Exceed); ("pwl", segments)]%text.
Definition weighted (t : option term) (rest : list (list byte)) : option (Q * term) :=
  let* t := t in
  match rest with [] => Some (1%Q, t) | [w] => let* w := positive_parameter w in Some (w, t) | _ => None end.
Definition one_term (s : list byte) : option (Q * term) :=
  match split (on ":"%byte) s [] with
  | kind :: rest =>
    if same kind (bytes_of "l1") then weighted (Some (Power 1)) rest
    else if same kind (bytes_of "l2") then weighted (Some (Power 2)) rest
    else match find (fun k => same kind (bytes_of (fst k))) with_parameters, rest with
    | Some (_, read), p :: rest' => weighted (read p) rest'
    | _, _ => None
    end
  | [] => None
  end.

(* The terms are joined by " + ". *)
Fixpoint terms (s : list byte) (acc : list byte) : list (list byte) :=
  match s with
  | " "%byte :: ((("+"%byte :: " "%byte :: s')) as s1) => rev acc :: terms s' []
  | b :: s' => terms s' (b :: acc)
  | [] => [rev acc]
  end.
Definition knots (t : Q * term) : list Q :=
  match snd t with Huber k | Deadzone k | Exceed k => [k] | Piecewise _ l => map (fun s => fst (fst s)) l | _ => [] end.
Definition read_loss (j : json) : option loss :=
  let* o := object ["name"] [] j in let* s := at_field string "name" o in
  let l := terms s [] in
  let* c := all one_term l [] in
  require ((Z.of_nat (length c) <=? 32) && (Z.of_nat (length (concat (map knots c))) <=? 10000)) (Some c).

(* --- Multipliers --- *)

Definition multipliers_of (most : Z) (o : fields) : option (list Z) :=
  at_field (array (word_of most) (2 ^ 21)) "multipliers" o.
Definition one_shift (j : json) : option multipliers :=
  let* o := object ["shift"; "first_cell"; "multipliers"] [] j in
  let* k := at_field small "shift" o in let* f := at_field small "first_cell" o in let* v := multipliers_of (2 ^ 63 - 1) o in
  require (Z.abs f <=? 2 ^ 30) (Some {| m_shift := k; m_first := f; m_values := v |}).
Definition monotone_run (j : json) : option Z :=
  let* o := object ["first_cell"; "multipliers"] [] j in
  let* f := at_field small "first_cell" o in let* v := multipliers_of (2 ^ 61) o in
  require (within 0 (2 ^ 30) f) (Some (Z.of_nat (length v))).
Definition largest (l : list Z) : Z := fold_right Z.max 0 l.
Fixpoint distinct (mirrored : bool) (l : list Z) : bool :=
  match l with
  | [] => true
  | k :: l' => negb (existsb (fun k' => (k =? k') || (mirrored && (k =? - k'))) l') && distinct mirrored l'
  end.

Definition read_dual (j : json) : option dual :=
  let* o := object ["cells_per_sensitivity"; "exponent"; "mirrored"; "shifts"]
    ["edges"; "spread"; "monotone_right"; "monotone_left"; "mean"; "variance"; "quantiles"] j in
  let* k := at_field small "cells_per_sensitivity" o in
  let* x := at_field small "exponent" o in
  let* mirrored := at_field flag "mirrored" o in
  let* edges := at_optional flag "edges" o false in
  let* spread := at_optional flag "spread" o false in
  let* shifts := at_field (array one_shift (2 ^ 18)) "shifts" o in
  let* right_run := at_maybe monotone_run "monotone_right" o in
  let* left_run := at_maybe monotone_run "monotone_left" o in
  let* mean := at_optional real "mean" o 0%Q in
  let* variance := at_optional real "variance" o 0%Q in
  let* quantiles := at_optional (array real 16) "quantiles" o [] in
  let count := fold_right (fun m s => Z.of_nat (length (m_values m)) + s) 0 shifts in
  let size r := match r with Some n => n | None => 0 end in
  let there r := match r with Some _ => true | None => false end in
  let no_mean := Qeq_bool mean 0 in
  require (within 1 (2 ^ 18) k && within (-2000) 2000 x && forallb (fun m => within 1 k (Z.abs (m_shift m))) shifts &&
      distinct mirrored (map m_shift shifts) && (count + size right_run + size left_run <=? 2 ^ 21) &&
      (fold_right (fun m s => largest (m_values m) + s) 0 shifts <=? 2 ^ 61) &&
      negb (spread && (there right_run || there left_run)) &&
      negb (edges && (there right_run || there left_run || negb no_mean)) &&
      negb (mirrored && (there left_run || negb no_mean)) && forallb (Qle_bool 0) (variance :: quantiles))
    (Some {| d_cells := k; d_exponent := x; d_mirrored := mirrored; d_edges := edges; d_spread := spread; d_shifts := shifts;
             d_plain := negb (there right_run || there left_run) && forallb (Qeq_bool 0) (mean :: variance :: quantiles) |}).

(* --- Constraints and totals, of which only the format is checked --- *)

Definition quantile (j : json) : option Q :=
  let* o := object ["probability"; "magnitude"] [] j in
  let* p := at_field real "probability" o in let* t := at_field real "magnitude" o in
  let* least := float64 (1, -60) in
  require (Qlt_bool 0 p && Qlt_bool p 1 && Qle_bool least t && Qle_bool t (inject_Z (10 ^ 60))) (Some t).
(* Whether there is a constraint, and the magnitudes of its quantiles. *)
Definition constraints (j : json) : option (bool * list Q) :=
  let* o := object [] ["symmetric"; "monotone"; "unbiased"; "lower"; "upper"; "max_variance"; "quantiles"; "max_distinguishing"] j in
  let* s := at_optional flag "symmetric" o false in let* m := at_optional flag "monotone" o false in
  let* u := at_optional flag "unbiased" o false in
  let* a := at_maybe real "lower" o in let* b := at_maybe real "upper" o in
  let* v := at_optional real "max_variance" o 0%Q in
  let* q := at_optional (array quantile 16) "quantiles" o [] in
  let* d := at_optional real "max_distinguishing" o 0%Q in
  let ends := match a, b with
    | Some a, Some b => Qlt_bool a b && Qle_bool a 0 && Qle_bool 0 b
    | Some a, None => Qle_bool a 0 | None, Some b => Qle_bool 0 b | None, None => true end in
  require (ends && Qle_bool 0 v && Qle_bool 0 d && Qlt_bool d 1)
    (Some (s || m || u || has "lower" o || has "upper" o || negb (Qeq_bool v 0) || negb (Qeq_bool d 0) ||
           match q with [] => false | _ => true end, q)).

Definition total (j : json) : option bool :=
  let* o := object ["releases"; "epsilon"; "delta"] [] j in
  let* n := at_field small "releases" o in let* e := at_field real "epsilon" o in let* d := at_field real "delta" o in
  require (within 1 (2 ^ 24) n && Qle_bool 0 e && Qle_bool 0 d && Qlt_bool d 1) (Some true).

(* --- The table --- *)

Definition is_kind (q : query) (k : query) : bool :=
  match q, k with Real, Real | Integer, Integer | Lattice, Lattice => true | _, _ => false end.
Definition read_kind (j : json) : option query :=
  let* s := string j in
  if same s (bytes_of "real") then Some Real else if same s (bytes_of "integer") then Some Integer
  else if same s (bytes_of "lattice") then Some Lattice else None.

(* The step and what it has to be for the kind of query; a unit of 0 is that of none. *)
Definition read_step (k : query) (sensitivity : Q) (e : Z) (unit : Q) : option Q :=
  let unit := if Qeq_bool unit 0 then 1%Q else unit in
  let* least := float64 (1, -250) in let* most := float64 (1, 250) in
  require (within (-900) 900 e && match k with
    | Real => Qeq_bool unit 1
    | Integer => Qeq_bool unit 1 && (e =? 0) && (Zpos (Qden (Qred sensitivity)) =? 1)
    | Lattice => (e =? 0) && Qle_bool least unit && Qle_bool unit most end)
    (Some (Qred (Qmult (power_of_two e) unit))).

Definition grid_ok (t : table) : bool :=
  let n := Z.of_nat (length (weights t)) in
  (Z.abs (offset t) <=? 2 ^ 52) && within 1 (2 ^ 40) (points t) && Z.odd (points t) && (1 <=? n) &&
  within 1 (2 ^ 18) (cells t) && (cells t * n <=? 2 ^ 32) && (Z.abs (first t) <=? 2 ^ 18) &&
  ((Z.max (Z.abs (first t)) (Z.abs (first t + n - 1)) + 2 + Z.abs (offset t) / points t) * points t <=? 2 ^ 52) &&
  (fold_left Z.add (weights t) (atom t) =? 2 ^ 64).

(* How many runs of equal positive weights there are. *)
Fixpoint runs (l : list Z) (before : Z) : Z :=
  match l with [] => 0 | w :: l' => (if (w =? 0) || (w =? before) then 0 else 1) + runs l' w end.
Definition tail_ok (t : table) (c : loss) (magnitudes : list Q) : bool :=
  let n := Z.of_nat (length (weights t)) in let k := Z.to_nat (cells t) in
  let first_point i := offset t + (first t + i) * points t - (points t - 1) / 2 in
  let far := Qmult (inject_Z (2 ^ 16 * points t)) (step t) in
  let powers := existsb (fun t => match snd t with RealPower _ => true | Power p => Nat.leb 3 p | _ => false end) c in
  (2 * cells t + 1 <=? n) && (first_point (cells t) <=? 0) && (0 <? first_point (n - cells t)) &&
  forallb (fun k => Qle_bool (Qmake (Z.abs (Qnum k)) (Qden k)) far) (concat (map knots c) ++ magnitudes) &&
  (negb powers ||
   ((cells t * points t <=? (2 ^ 64 - ratio t) / 8000) &&
    (runs (firstn k (weights t)) 0 + runs (skipn (length (weights t) - k) (weights t)) 0 <=? 1024))).

Definition known : list text :=
  ["format"; "version"; "privacy"; "loss"; "grid"; "weights"; "atom"; "certificate"; "query"; "total"; "constraints"; "tail_ratio"]%text.
(* The fields that the reader knows; others are skipped if the list "optional", before them, has their names. *)
Definition name_ok (s : list byte) : bool :=
  within 1 64 (Z.of_nat (length s)) && forallb (fun b => is_small_letter b || is_digit b || on "_"%byte b) s &&
  is_small_letter (hd x00 s) && negb (same s (bytes_of "optional")).
Fixpoint outermost (known : list text) (o : fields) (skipped : option (list (list byte))) (acc : fields) : option fields :=
  match o with
  | [] => Some (rev' acc)
  | (k, v) :: o' =>
    if same k (bytes_of "optional") then
      match skipped with
      | Some _ => None
      | None => let* l := array string 64 v in require (once l && forallb name_ok l) (outermost known o' (Some l) acc)
      end
    else if among k (map bytes_of known) then outermost known o' skipped ((k, v) :: acc)
    else match skipped with Some l => require (among k l && negb (among k (map fst o'))) (outermost known o' skipped acc) | None => None end
  end.

Definition decode_value (j : json) : option file :=
  let* o := match j with Object o => outermost known o None [] | _ => None end in
  let* o := object ["format"; "version"; "privacy"; "loss"; "grid"; "weights"; "atom"; "certificate"]
    ["query"; "total"; "constraints"; "tail_ratio"] (Object o) in
  let* format := at_field string "format" o in let* version := at_field small "version" o in
  let* p := at_field (object ["epsilon"; "delta"; "sensitivity"] []) "privacy" o in
  let* epsilon := at_field real "epsilon" p in let* delta := at_field real "delta" p in
  let* sensitivity := at_field real "sensitivity" p in
  let* k := at_optional read_kind "query" o Real in
  let* c := at_field read_loss "loss" o in
  let* g := at_field (object ["granularity_exponent"; "points_per_cell"; "cells_per_sensitivity"; "first_cell"] ["unit"; "offset"]) "grid" o in
  let* e := at_field small "granularity_exponent" g in let* unit := at_optional real "unit" g 1%Q in
  let* step := read_step k sensitivity e unit in
  let* points := at_field (whole (2 ^ 53)) "points_per_cell" g in let* offset := at_optional (whole (2 ^ 53)) "offset" g 0 in
  let* cells := at_field small "cells_per_sensitivity" g in let* first := at_field small "first_cell" g in
  let* weights := at_field (array (word_of (2 ^ 64 - 1)) (2 ^ 18)) "weights" o in
  let* atom := at_field (word_of (2 ^ 64 - 1)) "atom" o in
  let* ratio := at_maybe (word_of (2 ^ 64 - 2 ^ 44)) "tail_ratio" o in
  let* restricted := at_optional constraints "constraints" o (false, []) in
  let* totals := at_optional total "total" o false in
  let* cert := at_field (object ["delta"; "expected_loss"; "lower_bound"] ["dual"]) "certificate" o in
  let* c_delta := at_field claim "delta" cert in let* c_loss := at_field claim "expected_loss" cert in
  let* c_bound := at_field claim "lower_bound" cert in let* d := at_maybe read_dual "dual" cert in
  let t := {| kind := k; Statement.epsilon := epsilon; Statement.delta := delta; Statement.sensitivity := sensitivity;
    Statement.step := step; Statement.points := points; Statement.offset := offset; Statement.cells := cells;
    Statement.first := first; Statement.weights := weights; Statement.atom := atom;
    ratio := match ratio with Some r => r | None => 0 end |} in
  require (same format (bytes_of "noisewright-table") && (version =? 1) &&
      Qle_bool 0 epsilon && Qle_bool epsilon (inject_Z 100) && Qle_bool 0 delta && Qlt_bool delta 1 && Qlt_bool 0 sensitivity &&
      grid_ok t && match ratio with Some r => (1 <=? r) && tail_ok t c (snd restricted) | None => true end)
    (Some {| the_table := t; the_loss := c; claimed_delta := c_delta; claimed_loss := c_loss; claimed_bound := c_bound;
             the_dual := d; constrained := fst restricted; totaled := totals |}).

Definition decode (bytes : list byte) : option file := let* j := parse bytes in decode_value j.
