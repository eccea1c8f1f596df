(* SPDX-License-Identifier: Apache-2.0 *)
(* noisewright-draw: the draws that Sampler.v makes of words, until they are used up. Read are three lines: the points of a cell, the
   offset, the cells per sensitivity, the number of the first cell, the weight of the atom and the ratio of the tail; the weights; the
   words. It is for tests: sampler/extracted_test.go. *)

let numbers () = List.map Z.of_string (List.filter (( <> ) "") (String.split_on_char ' ' (input_line stdin)))

let () =
  match numbers () with
  | [ points; offset; cells; first; atom; ratio ] ->
      let zero = { Checked.qnum = Z.zero; qden = Z.one } in
      let weights = numbers () in
      let table =
        { Checked.kind = Checked.Integer; epsilon = zero; delta = zero; sensitivity = zero; step = zero;
          points; offset; cells; first; weights; atom; ratio }
      in
      let rec all words =
        match Checked.draw table words with
        | None -> ()
        | Some (n, rest) -> print_endline (Z.to_string n); all rest
      in
      all (numbers ())
  | _ -> prerr_endline "noisewright-draw: want six numbers"; exit 2
