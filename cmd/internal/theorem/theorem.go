// SPDX-License-Identifier: Apache-2.0

// Package theorem writes what Coq is to prove of a table, a local randomizer, a kernel or a subset selection, by the theories of proofs/.
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
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/subset"
	"github.com/noisewright/noisewright/tables"
)

// sheet is what the template needs of a file.
type sheet struct {
	form
	Name, Hash string
	Pieces     []string
	Claims     []Claim
}

// form is what is written of one, what else the template needs of it, and the claims of its mechanisms.
type form struct {
	form                                  proof.Form
	decode                                func(io.Reader) (proof.Mechanism, error)
	claims                                func(proof.Mechanism) []Claim
	What, Words, Theories, Decode, Record string
}

// forms are those that theorems are about. What is of none is read as the last.
var forms = []form{
	of(local.Decode, func(r *local.Randomizer) []Claim { s := r.Spec(); return randomizerClaims(&s) }, form{
		What: "randomizer", Words: "proofs/Randomizers.v and proofs/Losses.v",
		Theories: "Statement Losses Json Certificate Randomizers DecodeRandomizer CertifyRandomizer",
		Decode:   "decode_randomizer", Record: "randomizer_file",
	}),
	of(kernels.Decode, kernelClaims, form{
		What: "kernel", Words: "proofs/Randomizers.v", Theories: "Statement Json Certificate Randomizers CertifyKernel",
		Decode: "decode_kernel", Record: "kernel_file",
	}),
	of(subset.Decode, selectionClaims, form{
		What: "subset", Words: "proofs/Selections.v and proofs/Randomizers.v",
		Theories: "Statement Json Certificate Randomizers Selections CertifySelection",
		Decode:   "decode_selection", Record: "selection_file",
	}),
	of(tables.Decode, func(t *tables.Table) []Claim { s := t.Spec(); return claims(&s) }, form{
		What: "table", Words: "proofs/Statement.v and proofs/Losses.v", Theories: "Statement Losses Json Decode Verdict Certificate",
		Decode: "decode", Record: "file",
	}),
}

// formOf returns the one of a file.
func formOf(file []byte) form {
	last := len(forms) - 1
	if i := slices.IndexFunc(forms[:last], func(f form) bool { return f.form.Recognize(file) }); i >= 0 {
		return forms[i]
	}
	return forms[last]
}

// of completes a form by the Decode of its package and the claims of its mechanisms.
func of[M proof.Mechanism](decode func(io.Reader) (M, error), claims func(M) []Claim, f form) form {
	var none M // a nil pointer, which knows its form
	f.form, f.claims = none.Form(), func(m proof.Mechanism) []Claim { return claims(m.(M)) }
	f.decode = func(r io.Reader) (proof.Mechanism, error) { return decode(r) }
	return f
}

// pieceBytes is how long the literals are in which a file is written: Coq takes time and stack for long ones.
const pieceBytes = 2000

// Write writes, as a file of Coq, the theorems of proofs/ about a table, randomizer, kernel or subset file of the given name, whose
// bytes it contains. Coq decodes them again and decides: what is written here proves nothing by itself. Claims that no theorem is
// about are named in it as not machine-checked.
func Write(w io.Writer, name string, file []byte) error {
	x := sheet{
		Name: strings.NewReplacer("(*", "( *", "*)", "* )", `"`, "'", "\n", " ").Replace(name), Hash: fmt.Sprintf("%x", sha256.Sum256(file)),
	}
	x.form = formOf(file)
	m, err := x.form.decode(bytes.NewReader(file))
	if err != nil {
		return err
	}
	if bytes.ContainsFunc(file, func(r rune) bool { return r > unicode.MaxASCII }) {
		return check.Field("theorem", "file", name, "one without characters beyond ASCII, for a theorem")
	}
	x.Claims = x.form.claims(m)
	for piece := range slices.Chunk(file, pieceBytes) {
		x.Pieces = append(x.Pieces, strings.ReplaceAll(string(piece), `"`, `""`))
	}
	// Parsed here, so that a program that writes no theorems has no templates in it.
	return template.Must(template.New("").Parse(theorems)).Execute(w, x)
}

// rational writes a float64, and decimal a claim, whose form is checked, as a fraction in Coq.
func rational(x float64) string { return fraction(exact.Rational(x)) }

func decimal(claim string) string {
	r, err := exact.ParseDecimal(claim)
	if err != nil {
		panic(err)
	}
	return fraction(r)
}

func fraction(r *big.Rat) string { return r.Num().String() + " # " + r.Denom().String() }

const theorems = `(* The {{.What}} file {{.Name}}, SHA-256 {{.Hash}}, and what Coq proves of it:
   coqc -Q proofs Noisewright THIS_FILE. What the words mean is in {{.Words}}. *)
From Coq Require Import ZArith QArith Qreals Reals List.
From Noisewright Require Import {{.Theories}}.
Import ListNotations.

Definition bytes := Certificate.pieces [
{{- range $i, $piece := .Pieces}}{{if $i}};{{end}}
"{{$piece}}"
{{- end}}]%text.

Definition decoded : option {{.Record}} := Eval vm_compute in {{.Decode}} bytes.
Lemma decodes : {{.Decode}} bytes = decoded.
Proof. vm_cast_no_check (eq_refl decoded). Qed.
{{range .Claims}}{{if .Theorem}}
(* {{.Comment}} *)
Theorem {{.Label}} : exists f, {{$.Decode}} bytes = Some f /\
  {{.Statement}}.
Proof. rewrite decodes. apply {{.Theorem}}. vm_cast_no_check (eq_refl true). Qed.
{{end}}{{end}}
{{- range .Claims}}{{if not .Theorem}}
(* Not machine-checked: {{.Says}}: {{.Why}}. *)
{{- end}}{{end}}
`
