(* SPDX-License-Identifier: Apache-2.0 *)
(* From the bytes of a file to a value of JSON, by two machines that read what comes once: bytes to tokens, tokens to a value.
   Whatever is no JSON is None. *)
From Coq Require Import ZArith QArith List Bool Strings.Byte.
Import ListNotations.
Local Open Scope Z_scope.

(* A string literal between quotes stands for its bytes. *)
Inductive text := Text (bytes : list byte).
Definition bytes_of (t : text) : list byte := match t with Text l => l end.
Declare Scope text_scope.
Delimit Scope text_scope with text.
Bind Scope text_scope with text.
String Notation text Text bytes_of : text_scope.

Definition code (b : byte) : Z := Z.of_N (to_N b).
Fixpoint same (a b : list byte) : bool :=
  match a, b with
  | [], [] => true
  | x :: a', y :: b' => eqb x y && same a' b'
  | _, _ => false
  end.
(* By cases and not by code b, which takes as long as all the rest. *)
Definition digit (b : byte) : option Z :=
  match b with
  | "0" => Some 0 | "1" => Some 1 | "2" => Some 2 | "3" => Some 3 | "4" => Some 4
  | "5" => Some 5 | "6" => Some 6 | "7" => Some 7 | "8" => Some 8 | "9" => Some 9 | _ => None
  end%byte.
Definition is_digit (b : byte) : bool := match digit b with Some _ => true | None => false end.
Definition is_small_letter (b : byte) : bool :=
  match b with
  | "a" | "b" | "c" | "d" | "e" | "f" | "g" | "h" | "i" | "j" | "k" | "l" | "m"
  | "n" | "o" | "p" | "q" | "r" | "s" | "t" | "u" | "v" | "w" | "x" | "y" | "z" => true
  | _ => false
  end%byte.
(* Below a space: the bits of 32, 64 and 128 are not set. *)
Definition is_control (b : byte) : bool := let '(_, (_, (_, (_, (_, (b32, (b64, b128))))))) := to_bits b in negb (b32 || b64 || b128).
Definition ten : Z := 10.

Inductive token := Mark (b : byte) | Quoted (s : list byte) | Word (s : list byte).

(* What is being read: nothing, a string, an escape in a string with the digits still to come, a number or a name. *)
Inductive reading := Idle | InString (acc : list byte) | InEscape (acc : list byte)
  | InCode (acc : list byte) (more : nat) (value : Z) | InWord (acc : list byte).

Definition is_space (b : byte) : bool := match b with x20 | x09 | x0a | x0d => true | _ => false end.
Definition is_mark (b : byte) : bool := match b with "{" | "}" | "[" | "]" | ":" | "," => true | _ => false end%byte.
Definition is_word (b : byte) : bool :=
  is_digit b || is_small_letter b || match b with "-" | "+" | "." | "E" => true | _ => false end%byte.

Definition hex (b : byte) : option Z :=
  let c := code b in
  if is_digit b then Some (c - 48) else if (97 <=? c) && (c <=? 102) then Some (c - 87)
  else if (65 <=? c) && (c <=? 70) then Some (c - 55) else None.
(* No string of a table has a character beyond ASCII: a byte that fits none stands for all of them. *)
Definition character (c : Z) : byte := if c <? 128 then match of_N (Z.to_N c) with Some b => b | None => xff end else xff.
Definition escape (b : byte) : option byte :=
  match b with
  | x22 | "\" | "/" => Some b
  | "b" => Some x08 | "f" => Some x0c | "n" => Some x0a | "r" => Some x0d | "t" => Some x09
  | _ => None
  end%byte.

Definition begin (b : byte) (done : list token) : option (reading * list token) :=
  if is_space b then Some (Idle, done)
  else if is_mark b then Some (Idle, Mark b :: done)
  else if is_word b then Some (InWord [b], done)
  else match b with x22 => Some (InString [], done) | _ => None end.

Definition read (b : byte) (r : reading) (done : list token) : option (reading * list token) :=
  match r with
  | Idle => begin b done
  | InWord acc => if is_word b then Some (InWord (b :: acc), done) else begin b (Word (rev acc) :: done)
  | InString acc =>
    match b with
    | x22 => Some (Idle, Quoted (rev acc) :: done)
    | "\"%byte => Some (InEscape acc, done)
    | _ => if is_control b then None else Some (InString (b :: acc), done)
    end
  | InEscape acc =>
    match b with
    | "u"%byte => Some (InCode acc 3 0, done)
    | _ => match escape b with Some c => Some (InString (c :: acc), done) | None => None end
    end
  | InCode acc more value =>
    match hex b, more with
    | None, _ => None
    | Some d, O => Some (InString (character (16 * value + d) :: acc), done)
    | Some d, S more' => Some (InCode acc more' (16 * value + d), done)
    end
  end.

Fixpoint tokens (l : list byte) (r : reading) (done : list token) : option (list token) :=
  match l with
  | [] => match r with Idle => Some (rev' done) | InWord acc => Some (rev' (Word (rev acc) :: done)) | _ => None end
  | b :: l' => match read b r done with Some (r', done') => tokens l' r' done' | None => None end
  end.

(* --- Numbers --- *)

Fixpoint all_digits (l : list byte) : bool := match l with [] => true | b :: l' => is_digit b && all_digits l' end.
Fixpoint natural (l : list byte) (acc : Z) : Z := match l with [] => acc | b :: l' => natural l' (ten * acc + match digit b with Some d => d | None => 0 end) end.
(* Digits, with no 0 in front of others. *)
Definition digits (l : list byte) : option Z :=
  match l with
  | [] => None
  | "0"%byte :: _ :: _ => None
  | _ => if all_digits l then Some (natural l 0) else None
  end.
Definition integer (l : list byte) : option Z :=
  match l with "-"%byte :: l' => option_map Z.opp (digits l') | _ => digits l end.

(* The part before the first byte of a kind, and after it if there is one. *)
Fixpoint cut (at_ : byte -> bool) (l : list byte) (acc : list byte) : list byte * option (list byte) :=
  match l with
  | [] => (rev acc, None)
  | b :: l' => if at_ b then (rev acc, Some l') else cut at_ l' (b :: acc)
  end.
Fixpoint split (at_ : byte -> bool) (l : list byte) (acc : list byte) : list (list byte) :=
  match l with
  | [] => [rev acc]
  | b :: l' => if at_ b then rev acc :: split at_ l' [] else split at_ l' (b :: acc)
  end.

(* A decimal m * 10^e. An exponent of more than 9 digits stands for one that is as far out. *)
Definition exponent (signs : bool) (l : list byte) : option Z :=
  let magnitude l := match l with [] => None | _ => if all_digits l then Some (Z.min (natural l 0) 1000000000) else None end in
  match l with
  | "-"%byte :: l' => option_map Z.opp (magnitude l')
  | "+"%byte :: l' => if signs then magnitude l' else None
  | _ => magnitude l
  end.
Definition is_e (b : byte) : bool := match b with "e" | "E" => true | _ => false end%byte.
Definition is_point (b : byte) : bool := match b with "." => true | _ => false end%byte.

(* strict: as JSON writes numbers; else as a loss does: digits may be missing on one side of the point, and there may be zeros in
   front. *)
Definition decimal (strict : bool) (l : list byte) : option (Z * Z) :=
  let (negative, l) := match l with "-"%byte :: l' => (true, l') | _ => (false, l) end in
  let (mantissa, ten) := cut is_e l [] in
  let (whole, part) := cut is_point mantissa [] in
  let part' := match part with Some p => p | None => [] end in
  let fine := if strict then match digits whole, part with None, _ => false | _, Some [] => false | _, _ => all_digits part' end
    else match whole ++ part' with [] => false | _ => all_digits whole && all_digits part' end in
  match fine, match ten with None => Some 0 | Some t => exponent strict t end with
  | true, Some e =>
    let m := natural part' (natural whole 0) in
    Some (if negative then - m else m, e - Z.of_nat (length part'))
  | _, _ => None
  end.

(* The float64 nearest to m * 10^e, of two the one with an even last bit; None beyond their range. *)
Definition nearest_even (num den : Z) : Z :=
  let q := num / den in
  match 2 * (num - q * den) ?= den with Lt => q | Gt => q + 1 | Eq => if Z.even q then q else q + 1 end.
Definition power_of_two (k : Z) : Q := if 0 <=? k then inject_Z (2 ^ k) else 1 # Z.to_pos (2 ^ (- k)).
(* The exponent of the last bit: that of 53 bits, but not below -1074. *)
Definition last_bit (num den : Z) : Z :=
  let k := Z.log2 num - Z.log2 den - 53 in
  let fits := if 0 <=? k then num <? 2 ^ (k + 53) * den else num * 2 ^ (- k) <? 2 ^ 53 * den in
  Z.max (-1074) (if fits then k else k + 1).
Definition round_positive (num den : Z) : option Q :=
  let k := last_bit num den in
  let m := if 0 <=? k then nearest_even num (den * 2 ^ k) else nearest_even (num * 2 ^ (- k)) den in
  if (if 0 <=? k then 2 ^ 1024 <=? m * 2 ^ k else false) then None else Some (Qred (Qmult (inject_Z m) (power_of_two k))).
Definition float64 (d : Z * Z) : option Q :=
  let (m, e) := d in
  if m =? 0 then Some 0%Q else
  let size := e + Z.log2 (Z.abs m) * 3 / 10 in   (* 10^size is below it, and 10^(size + digits/300 + 2) above *)
  let longest := Z.log2 (Z.abs m) / 900 + 3 in
  if 400 <? size then None else if size + longest <? -400 then Some 0%Q else
  let q := if 0 <=? e then round_positive (Z.abs m * 10 ^ e) 1 else round_positive (Z.abs m) (10 ^ (- e)) in
  if m <? 0 then option_map Qopp q else q.

(* --- Values --- *)

Inductive json := Null | Boolean (b : bool) | Number (s : list byte) | String (s : list byte)
  | Array (l : list json) | Object (l : list (list byte * json)).

(* What is open around the value that is being read; and what may come. *)
Inductive open := Elements (done : list json) | Fields (done : list (list byte * json)) (key : list byte).
Inductive want := AValue | AValueOrEnd | AKey | AKeyOrEnd | AColon | ACommaOrEnd | TheEnd (v : json).

Definition word (s : list byte) : option json :=
  if same s (bytes_of "null") then Some Null
  else if same s (bytes_of "true") then Some (Boolean true)
  else if same s (bytes_of "false") then Some (Boolean false)
  else match decimal true s with Some _ => Some (Number s) | None => None end.

Definition put (v : json) (stack : list open) : list open * want :=
  match stack with
  | [] => ([], TheEnd v)
  | Elements done :: s => (Elements (v :: done) :: s, ACommaOrEnd)
  | Fields done key :: s => (Fields ((key, v) :: done) [] :: s, ACommaOrEnd)
  end.

Definition close_one (b : byte) (stack : list open) : option (list open * want) :=
  match b, stack with
  | "]"%byte, Elements done :: s => Some (put (Array (rev' done)) s)
  | "}"%byte, Fields done _ :: s => Some (put (Object (rev' done)) s)
  | _, _ => None
  end.

Definition value (t : token) (stack : list open) : option (list open * want) :=
  match t with
  | Mark "{"%byte => Some (Fields [] [] :: stack, AKeyOrEnd)
  | Mark "["%byte => Some (Elements [] :: stack, AValueOrEnd)
  | Quoted s => Some (put (String s) stack)
  | Word s => match word s with Some v => Some (put v stack) | None => None end
  | _ => None
  end.

Definition parse_token (t : token) (stack : list open) (w : want) : option (list open * want) :=
  match w, t, stack with
  | AValue, _, _ => value t stack
  | AValueOrEnd, Mark "]"%byte, _ => close_one "]"%byte stack
  | AValueOrEnd, _, _ => value t stack
  | (AKey | AKeyOrEnd), Quoted k, Fields done _ :: s => Some (Fields done k :: s, AColon)
  | AKeyOrEnd, Mark "}"%byte, _ => close_one "}"%byte stack
  | AColon, Mark ":"%byte, _ => Some (stack, AValue)
  | ACommaOrEnd, Mark ","%byte, Elements _ :: _ => Some (stack, AValue)
  | ACommaOrEnd, Mark ","%byte, Fields _ _ :: _ => Some (stack, AKey)
  | ACommaOrEnd, Mark b, _ => close_one b stack
  | _, _, _ => None
  end.

Fixpoint parse_tokens (l : list token) (stack : list open) (w : want) : option json :=
  match l with
  | [] => match w with TheEnd v => Some v | _ => None end
  | t :: l' => match parse_token t stack w with Some (stack', w') => parse_tokens l' stack' w' | None => None end
  end.

Definition parse (l : list byte) : option json :=
  match tokens l Idle [] with Some ts => parse_tokens ts [] AValue | None => None end.
