(* SPDX-License-Identifier: Apache-2.0 *)
(* noisewright-check [-seconds N] FILE...: the verdict of the checker that Coq extracted, one line a file. What is not proved of
   it: the reading of a file below, the extraction, the OCaml compiler and zarith. A table of many points a sensitivity takes it
   long if its weights are not few runs of equal ones: after N seconds a file is not decided. *)

let max_size = 64 lsl 20

exception Late

let read name =
  let channel = open_in_bin name in
  Fun.protect ~finally:(fun () -> close_in channel) (fun () -> really_input_string channel (in_channel_length channel))

let bytes_of s =
  let rec from i l = if i < 0 then l else from (i - 1) (s.[i] :: l) in
  from (String.length s - 1) []

(* The exit codes of noisewright verify. *)
let verdict seconds name =
  match read name with
  | exception Sys_error reason -> (2, "cannot be read: " ^ reason)
  | s when String.length s > max_size -> (2, "malformed")
  | s -> (
      ignore (Unix.alarm seconds);
      let found = try Some (Checked.judge (bytes_of s)) with Late -> None in
      ignore (Unix.alarm 0);
      match found with
      | None -> (4, "not decided in time")
      | Some Checked.Malformed -> (2, "malformed")
      | Some Checked.NotPrivate -> (3, "not proved private")
      | Some Checked.IsPrivate -> (0, "private"))

let () =
  Sys.set_signal Sys.sigalrm (Sys.Signal_handle (fun _ -> raise Late));
  let usage () = prerr_endline "noisewright-check: want [-seconds N] FILE..., N from 1 on"; exit 2 in
  let seconds, names =
    match List.tl (Array.to_list Sys.argv) with
    | "-seconds" :: n :: names -> ((match int_of_string_opt n with Some n when n > 0 -> n | _ -> usage ()), names)
    | names -> (0, names) (* no limit *)
  in
  if names = [] then usage ();
  let code name =
    let code, text = verdict seconds name in
    print_endline (name ^ ": " ^ text);
    code
  in
  exit (List.fold_left (fun worst name -> max worst (code name)) 0 names)
