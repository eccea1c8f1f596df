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

// form is what it needs of a form.
type form struct {
	What, Words, Theories, Decode, Record string
}

var (
	tableForm = form{
		What: "table", Words: "proofs/Statement.v and proofs/Losses.v", Theories: "Statement Losses Json Decode Verdict Certificate",
		Decode: "decode", Record: "file",
	}
	randomizerForm = form{
		What: "randomizer", Words: "proofs/Randomizers.v and proofs/Losses.v",
		Theories: "Statement Losses Json Certificate Randomizers DecodeRandomizer CertifyRandomizer",
		Decode:   "decode_randomizer", Record: "randomizer_file",
	}
	kernelForm = form{
		What: "kernel", Words: "proofs/Randomizers.v", Theories: "Statement Json Certificate Randomizers CertifyKernel",
		Decode: "decode_kernel", Record: "kernel_file",
	}
	selectionForm = form{
		What: "subset", Words: "proofs/Selections.v and proofs/Randomizers.v",
		Theories: "Statement Json Certificate Randomizers Selections CertifySelection",
		Decode:   "decode_selection", Record: "selection_file",
	}
)

// pieceBytes is how long the literals are in which a file is written: Coq takes time and stack for long ones.
const pieceBytes = 2000

// Write writes, as a file of Coq, the theorems of proofs/ about a table, randomizer, kernel or subset file of the given name, whose
// bytes it contains. Coq decodes them again and decides: what is written here proves nothing by itself. Claims that no theorem is
// about are named in it as not machine-checked.
func Write(w io.Writer, name string, file []byte) error {
	x := sheet{
		Name: strings.NewReplacer("(*", "( *", "*)", "* )", `"`, "'", "\n", " ").Replace(name), Hash: fmt.Sprintf("%x", sha256.Sum256(file)),
	}
	m, err := decode(file)
	if err != nil {
		return err
	}
	if bytes.ContainsFunc(file, func(r rune) bool { return r > unicode.MaxASCII }) {
		return check.Field("theorem", "file", name, "one without characters beyond ASCII, for a theorem")
	}
	switch m.(type) {
	case *local.Randomizer:
		x.form = randomizerForm
	case *kernels.Kernel:
		x.form = kernelForm
	case *subset.Selection:
		x.form = selectionForm
	default:
		x.form = tableForm
	}
	x.Claims = Claims(m)
	for piece := range slices.Chunk(file, pieceBytes) {
		x.Pieces = append(x.Pieces, strings.ReplaceAll(string(piece), `"`, `""`))
	}
	// Parsed here, so that a program that writes no theorems has no templates in it.
	return template.Must(template.New("").Parse(theorems)).Execute(w, x)
}

// decode reads a randomizer, a kernel or a subset selection if the file says that it is one, and else a table.
func decode(file []byte) (proof.Mechanism, error) {
	switch {
	case (*local.Randomizer)(nil).Form().Recognize(file):
		return local.Decode(bytes.NewReader(file))
	case (*kernels.Kernel)(nil).Form().Recognize(file):
		return kernels.Decode(bytes.NewReader(file))
	case (*subset.Selection)(nil).Form().Recognize(file):
		return subset.Decode(bytes.NewReader(file))
	}
	return tables.Decode(bytes.NewReader(file))
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
