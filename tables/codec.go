// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"io"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

type file struct {
	Format      string          `json:"format"`
	Version     int             `json:"version"`
	Privacy     dp.Privacy      `json:"privacy"`
	Query       *dp.Query       `json:"query,omitempty"` // absent: real
	Total       *Total          `json:"total,omitempty"`
	Loss        formfile.Loss   `json:"loss"`
	Constraints fileConstraints `json:"constraints,omitzero"`
	Grid        Grid            `json:"grid"`
	Weights     []uint64        `json:"weights,string"`
	Atom        uint64          `json:"atom,string"`
	TailRatio   *uint64         `json:"tail_ratio,string,omitempty"`
	Certificate fileCertificate `json:"certificate"`
}

// fileConstraints are written as dp.Constraints, of which the support is read
// here: its ends may be infinite.
type fileConstraints struct {
	dp.Constraints
	Lower *float64 `json:"lower,omitempty"`
	Upper *float64 `json:"upper,omitempty"`
}

type fileCertificate struct {
	formfile.Claims
	Dual *Dual `json:"dual,omitempty"`
}

// Encode writes the table in the file format, version 1.
func (t *Table) Encode(w io.Writer) error {
	s := &t.spec
	f := file{
		Format:      form.File.Name,
		Version:     form.File.Version,
		Privacy:     s.Privacy,
		Loss:        formfile.Loss{Name: s.Loss.Name()},
		Constraints: fileConstraints{Constraints: s.Constraints},
		Total:       formfile.Given(s.Total),
		TailRatio:   formfile.Given(s.TailRatio),
		Grid:        s.Grid,
		Weights:     s.Weights,
		Atom:        s.Atom,
		Certificate: fileCertificate{s.Claims, s.Dual},
	}
	if s.Query != dp.RealQuery {
		f.Query = &s.Query
	}
	return form.Encode(w, f)
}

// Decode reads one table file. It checks the structure completely (see New)
// and nothing of the claims (see Verify). It refuses duplicate, unknown and
// missing fields, numbers that are not written plainly or do not fit, and
// anything after the table. It allocates at most a small multiple of the file.
//
// Errors wrap proof.ErrFormat, or dp.ErrInvalid for values outside their range, or are those of r.
func Decode(r io.Reader) (*Table, error) {
	var f file
	if err := form.Decode(r, &f); err != nil {
		return nil, err
	}
	s := Spec{
		Problem: dp.Problem{Privacy: f.Privacy, Constraints: f.Constraints.Constraints},
		Grid:    f.Grid, Weights: f.Weights, Atom: f.Atom,
		Dual: f.Certificate.Dual, Claims: f.Certificate.Claims,
	}
	var err error
	if s.Loss, err = loss.Parse(f.Loss.Name); err != nil {
		return nil, check.Errorf("tables", nil, "%w", err)
	}
	if q := f.Query; q != nil {
		if s.Query = *q; *q == "" { // which is real in a problem
			return nil, check.Errorf("tables", proof.ErrFormat, `query = "", want real, integer or lattice, or no such field`)
		}
	}
	if t := f.TailRatio; t != nil {
		if s.TailRatio = *t; *t == 0 {
			return nil, check.Errorf("tables", proof.ErrFormat, `tail_ratio = "0", want a number above 0, or no such field`)
		}
	}
	if t := f.Total; t != nil {
		if s.Total = *t; *t == (Total{}) {
			return nil, check.Errorf("tables", proof.ErrFormat, "total.releases = 0, want an integer above 0, or no field total")
		}
	}
	if lower, upper := f.Constraints.Lower, f.Constraints.Upper; lower != nil || upper != nil {
		s.Constraints.Support = &dp.Interval{Lower: formfile.Or(lower, math.Inf(-1)), Upper: formfile.Or(upper, math.Inf(1))}
	}
	if s.Claims == (formfile.Claims{}) { // which New would fill in
		return nil, check.Errorf("tables", proof.ErrFormat, "certificate.delta is empty, want a plain decimal number")
	}
	return New(s)
}
