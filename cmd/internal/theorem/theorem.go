// SPDX-License-Identifier: Apache-2.0

// Package theorem writes what Coq is to prove of a table file, by the theories of proofs/.
package theorem

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"

	"github.com/noisewright/noisewright/dp"
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

// maxExponent is that of the multipliers that proofs/Bound.v can count in units of 2^-96.
const maxExponent = 96

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
	x.Open = open(&s)
	x.Loss, x.Bound = lossOpen(&s) == "", boundOpen(&s) == ""
	for piece := range slices.Chunk(file, pieceBytes) {
		x.Pieces = append(x.Pieces, strings.ReplaceAll(string(piece), `"`, `""`))
	}
	return theorems.Execute(w, x)
}

// open lists the claims of the file that no theorem is about.
func open(s *tables.Spec) (list []string) {
	if why := lossOpen(s); why != "" {
		list = append(list, fmt.Sprintf("that the expected loss is at most %s: %s", s.Claims.ExpectedLoss, why))
	}
	if why := boundOpen(s); why != "" {
		list = append(list, fmt.Sprintf("that no noise has an expected loss below %s: %s", s.Claims.LowerBound, why))
	}
	if !reflect.ValueOf(s.Constraints).IsZero() {
		list = append(list, "that the noise keeps its constraints: they are not covered")
	}
	if s.Total != (tables.Total{}) {
		list = append(list, "its total of several releases: composition is not covered")
	}
	return list
}

// lossOpen says why no theorem of proofs/Loss.v is about the loss, if none is.
func lossOpen(s *tables.Spec) string {
	if s.TailRatio != 0 {
		return "the loss of a tail is not covered"
	}
	for term := range strings.SplitSeq(s.Loss.Name(), " + ") {
		kind, rest, _ := strings.Cut(term, ":")
		power, _, _ := strings.Cut(rest, ":")
		_, broken := strconv.Atoi(power)
		if kind == "pwl" || kind == "lp" && broken != nil {
			return "the loss " + kind + " is not covered" // lp is for whole exponents
		}
	}
	return ""
}

// boundOpen says why the theorem of proofs/Bound.v is not about the lower bound, if it is not. Whatever else than the
// multipliers of shifts proves a bound, that theorem knows nothing of; so a field that a Dual gets has to be refused here.
func boundOpen(s *tables.Spec) string {
	d := s.Dual
	switch {
	case d == nil || strings.Trim(s.Claims.LowerBound, "0.") == "":
		return "there is nothing in the file that proves it, or nothing to prove"
	case s.Loss.Name() != "l1" || s.Query != dp.RealQuery:
		return "only bounds of the loss l1 for real queries are covered"
	case !reflect.ValueOf(s.Constraints).IsZero():
		return "bounds under constraints are not covered"
	case d.Edges || d.Spread || d.MonotoneRight != nil || d.MonotoneLeft != nil || d.Mean != 0 || d.Variance != 0 || len(d.Quantiles) > 0:
		return "only bounds that rest on multipliers of shifts alone, without edges or spread, are covered"
	case d.Exponent > maxExponent:
		return fmt.Sprintf("only multipliers in units up to 2^%d are covered", maxExponent)
	case slices.ContainsFunc(d.Shifts, func(r tables.DualShift) bool { return len(r.Multipliers) == 0 || slices.Max(r.Multipliers) == 0 }):
		return "shifts without a positive multiplier are not covered"
	}
	return ""
}

func fraction(r *big.Rat) string { return r.Num().String() + " # " + r.Denom().String() }

var theorems = template.Must(template.New("").Parse(`(* The table file {{.Name}}, SHA-256 {{.Hash}}, and what Coq proves of it:
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
`))
