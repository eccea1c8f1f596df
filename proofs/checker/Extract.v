(* SPDX-License-Identifier: Apache-2.0 *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlChar.
From Noisewright Require Import Verdict.
Extraction "checked.ml" judge.
