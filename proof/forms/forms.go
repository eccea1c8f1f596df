// SPDX-License-Identifier: Apache-2.0

// Package forms has the list of the forms of mechanisms, and reads files of any of them. A
// form is a package of its own and a line here (CONTRIBUTING.md).
//
// It stands beside package proof, which all forms import, and not in it; and it is a list
// and no registry that packages enter themselves into, so that which forms a program reads
// does not depend on what else it imports.
package forms

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/counts"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/plan"
	"github.com/noisewright/noisewright/plane"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/subset"
	"github.com/noisewright/noisewright/tables"
)

// Reader reads the files of a form.
type Reader struct {
	Form   proof.Form
	Decode func(io.Reader) (proof.Mechanism, error)
}

// reads returns the Reader of a form by the Decode of its package.
func reads[M proof.Mechanism](decode func(io.Reader) (M, error)) Reader {
	var none M // a nil pointer, which knows its form
	return Reader{none.Form(), func(r io.Reader) (proof.Mechanism, error) {
		m, err := decode(r)
		if err != nil {
			return nil, err // m is a nil pointer, which is not a nil Mechanism
		}
		return m, nil
	}}
}

// all lists the forms. What is of none is read as the first, whose errors say what is wrong.
var all = []Reader{reads(tables.Decode), reads(kernels.Decode), reads(cells.Decode), reads(local.Decode), reads(subset.Decode), reads(counts.Decode), reads(plan.Decode), reads(plane.Decode), reads(ball.Decode)}

// peek is how much of a file is looked at for its form.
const peek = 512

// Decode reads the file of a mechanism of any form, or of one of some more, and verifies
// nothing: Prove of what it returns does. Errors are those of Decode of the form.
func Decode(r io.Reader, more ...Reader) (proof.Mechanism, error) {
	b := bufio.NewReader(r) // r itself, if that is large enough
	head, _ := b.Peek(peek)
	for _, f := range slices.Concat(all, more) {
		if f.Form.Recognize(head) {
			return f.Decode(b)
		}
	}
	if name, ok := formatOf(head); ok {
		return nil, check.Errorf("forms", proof.ErrFormat, "format = %q, want one of %s", check.Shortened(name), names(more))
	}
	return all[0].Decode(b)
}

// formatOf returns what a file says that it is, by its start.
func formatOf(head []byte) (name string, ok bool) {
	d := json.NewDecoder(bytes.NewReader(head))
	for _, want := range []json.Token{json.Delim('{'), "format"} {
		if tok, err := d.Token(); err != nil || tok != want {
			return "", false
		}
	}
	tok, err := d.Token()
	name, ok = tok.(string)
	return name, ok && err == nil
}

func names(more []Reader) string {
	var list []string
	for _, f := range slices.Concat(all, more) {
		list = append(list, strconv.Quote(f.Form.File.Name))
	}
	return strings.Join(list, ", ")
}
