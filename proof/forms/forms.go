// Package forms has the list of the forms of mechanisms, and reads files of any of them. A
// form is a package of its own and a line here (CONTRIBUTING.md).
//
// It stands beside package proof, which all forms import, and not in it; and it is a list
// and no registry that packages enter themselves into, so that which forms a program reads
// does not depend on what else it imports.
package forms

import (
	"io"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// all lists the forms. What is of none is read as the first, whose errors say what is wrong.
var all = []proof.Reader{
	proof.Reads(tables.Form, tables.Decode),
	proof.Reads(kernels.Form, kernels.Decode),
	proof.Reads(cells.Form, cells.Decode),
	proof.Reads(local.Form, local.Decode),
}

// Decode reads the file of a mechanism of any form and verifies nothing: Prove of what it
// returns does. Errors are those of Decode of the form.
func Decode(r io.Reader) (proof.Mechanism, error) { return proof.Decode(r, all) }
