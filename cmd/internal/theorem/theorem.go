// SPDX-License-Identifier: Apache-2.0

// Package theorem writes what Coq is to prove of a table file, by the theories of proofs/.
package theorem

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/tables"
)

// theorem is what the template needs of a file.
type theorem struct {
	Name, Hash                  string
	Pieces                      []string
	Epsilon, Delta, Sensitivity string
	ClaimedDelta, ClaimedLoss   string
	ClaimedBound                string
	Open                        []string // claims that no theorem is about, and why
	Loss, Bound                 bool     // whether there is one about the loss, and about the lower bound
}

// pieceBytes is how long the literals are in which a file is written: Coq takes time and stack for long ones.
const pieceBytes = 2000

// Write writes, as a file of Coq, the theorems of proofs/ about a table file of the given name, whose bytes it
// contains. Coq decodes them again and decides: what is written here proves nothing by itself. Claims that no theorem is
// about are named in it as not machine-checked.
func Write(w io.Writer, name string, file []byte) error {
	t, err := tables.Decode(bytes.NewReader(file))
	if err != nil {
		return err
	}
	if bytes.ContainsFunc(file, func(r rune) bool { return r > unicode.MaxASCII }) {
		return check.Field("theorem", "file", name, "one without characters beyond ASCII, for a theorem")
	}
	s := t.Spec()
	claimedDelta, err := exact.ParseDecimal(s.Claims.Delta)
	if err != nil {
		return err
	}
	claimedLoss, err := exact.ParseDecimal(s.Claims.ExpectedLoss)
	if err != nil {
		return err
	}
	claimedBound, err := exact.ParseDecimal(s.Claims.LowerBound)
	if err != nil {
		return err
	}
	x := theorem{
		Name: strings.NewReplacer("(*", "( *", "*)", "* )", `"`, "'", "\n", " ").Replace(name), Hash: fmt.Sprintf("%x", sha256.Sum256(file)),
		Epsilon: fraction(exact.Rational(s.Privacy.Epsilon)), Delta: fraction(exact.Rational(s.Privacy.Delta)),
		Sensitivity:  fraction(exact.Rational(s.Privacy.Sensitivity)),
		ClaimedDelta: fraction(claimedDelta), ClaimedLoss: fraction(claimedLoss), ClaimedBound: fraction(claimedBound),
	}
	for _, c := range claims(&s) {
		x.Loss, x.Bound = x.Loss || c.Theorem == lossTheorem, x.Bound || c.Theorem == boundTheorem
		if c.Theorem == "" {
			x.Open = append(x.Open, c.says+": "+c.Why)
		}
	}
	for piece := range slices.Chunk(file, pieceBytes) {
		x.Pieces = append(x.Pieces, strings.ReplaceAll(string(piece), `"`, `""`))
	}
	// Parsed here, so that a program that writes no theorems has no templates in it.
	return template.Must(template.New("").Parse(theorems)).Execute(w, x)
}

func fraction(r *big.Rat) string { return r.Num().String() + " # " + r.Denom().String() }

const theorems = `(* The table file {{.Name}}, SHA-256 {{.Hash}}, and what Coq proves of it:
   coqc -Q proofs Noisewright THIS_FILE. What the words mean is in proofs/Statement.v and proofs/Losses.v. *)
From Coq Require Import ZArith QArith Qreals Reals List.
From Noisewright Require Import Statement Losses Json Decode Verdict Certificate.
Import ListNotations.

Definition bytes := Certificate.pieces [
{{- range $i, $piece := .Pieces}}{{if $i}};{{end}}
"{{$piece}}"
{{- end}}]%text.

Definition decoded : option file := Eval vm_compute in decode bytes.
Lemma decodes : decode bytes = decoded.
Proof. vm_cast_no_check (eq_refl decoded). Qed.

(* It is a law, and private as promised and for the delta of its certificate: epsilon, delta, sensitivity, delta claimed. *)
Theorem privacy : exists f, decode bytes = Some f /\
  ((epsilon (the_table f) == {{.Epsilon}})%Q /\
   (delta (the_table f) == {{.Delta}})%Q /\
   (sensitivity (the_table f) == {{.Sensitivity}})%Q) /\
  is_law (law (the_table f)) /\ private (the_table f) /\
  private (at_delta ({{.ClaimedDelta}}) (the_table f)).
Proof. rewrite decodes. apply certify_privacy. vm_compute. reflexivity. Qed.
{{if .Loss}}
(* Its expected loss is at most what it claims. *)
Theorem expected : exists f, decode bytes = Some f /\
  exists L, expected_loss (the_table f) (loss_value (the_loss f)) L /\ (L <= Q2R ({{.ClaimedLoss}}))%R.
Proof. rewrite decodes. apply certify_loss. vm_compute. reflexivity. Qed.
{{end}}
{{- if .Bound}}
(* No noise that competes with it, of any law, has an expected loss below what it claims. *)
Theorem optimal : exists f, decode bytes = Some f /\
  no_noise_loses_less (the_table f) (loss_value (the_loss f)) (Q2R ({{.ClaimedBound}})).
Proof. rewrite decodes. apply certify_bound. vm_compute. reflexivity. Qed.
{{end}}
{{- range .Open}}
(* Not machine-checked: {{.}}. *)
{{- end}}
`
