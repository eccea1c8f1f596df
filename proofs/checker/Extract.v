(* SPDX-License-Identifier: Apache-2.0 *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlChar.
From Noisewright Require Import Sampler Judge.
Extraction "checked.ml" judge draw.
