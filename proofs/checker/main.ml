(* SPDX-License-Identifier: Apache-2.0 *)
(* noisewright-check FILE...: the verdict of the checker that Coq extracted, one line a file. What is not proved of it: the
   reading of a file below, the extraction, the OCaml compiler and zarith. *)

let max_size = 64 lsl 20

let read name =
  let channel = open_in_bin name in
  Fun.protect ~finally:(fun () -> close_in channel) (fun () -> really_input_string channel (in_channel_length channel))

let bytes_of s = List.of_seq (String.to_seq s)

(* The exit codes of noisewright verify. *)
let verdict name =
  match read name with
  | exception Sys_error reason -> (2, "cannot be read: " ^ reason)
  | s when String.length s > max_size -> (2, "malformed")
  | s -> (
      match Checked.judge (bytes_of s) with
      | Checked.Malformed -> (2, "malformed")
      | Checked.NotPrivate -> (3, "not proved private")
      | Checked.IsPrivate -> (0, "private"))

let () =
  let names = List.tl (Array.to_list Sys.argv) in
  if names = [] then (prerr_endline "noisewright-check: no file given, want FILE..."; exit 2);
  let code name =
    let code, text = verdict name in
    print_endline (name ^ ": " ^ text);
    code
  in
  exit (List.fold_left (fun worst name -> max worst (code name)) 0 names)
