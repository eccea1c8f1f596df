// SPDX-License-Identifier: Apache-2.0

package cells

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
	Format  string        `json:"format"`
	Version int           `json:"version"`
	Privacy dp.Privacy    `json:"privacy"`
	Loss    formfile.Loss `json:"loss"`
	// Lower and Upper are the ends of the first and the last cell that have one.
	Lower       *float64        `json:"lower,omitempty"`
	Upper       *float64        `json:"upper,omitempty"`
	Edges       []float64       `json:"edges"` // between cells
	Weight      []float64       `json:"weight"`
	InstanceCap *float64        `json:"instance_cap,omitempty"`
	CapLoss     *formfile.Loss  `json:"instance_cap_loss,omitempty"`
	Grid        Grid            `json:"grid"`
	Rows        [][]uint64      `json:"rows,string"`
	Certificate fileCertificate `json:"certificate"`
}

type fileCertificate struct {
	formfile.InputClaims
	Dual *Dual `json:"dual,omitempty"`
}

// Encode writes the kernel in the file format noisewright-additive-kernel, version 1.
func (k *Kernel) Encode(w io.Writer) error {
	s := &k.spec
	n := len(s.Edges) - 1
	return form.Encode(w, file{
		Format:      form.File.Name,
		Version:     form.File.Version,
		Privacy:     s.Privacy,
		Loss:        formfile.Loss{Name: s.Loss.Name()},
		Lower:       finite(s.Edges[0]),
		Upper:       finite(s.Edges[n]),
		Edges:       s.Edges[1:n],
		Weight:      s.Weight,
		Grid:        s.Grid,
		Rows:        s.Rows,
		InstanceCap: formfile.Given(s.InstanceCap),
		CapLoss:     formfile.LossOf(s.CapLoss),
		Certificate: fileCertificate{s.Claims, s.Dual},
	})
}

func finite(x float64) *float64 {
	if math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// Decode reads one additive kernel file. It checks the structure completely (see New) and nothing
// of the claims (see Kernel.Verify), with the same strictness and errors as tables.Decode.
func Decode(r io.Reader) (*Kernel, error) {
	var f file
	if err := form.Decode(r, &f); err != nil {
		return nil, err
	}
	s := Spec{
		Privacy: f.Privacy, Edges: []float64{formfile.Or(f.Lower, math.Inf(-1))}, Weight: f.Weight, Grid: f.Grid, Rows: f.Rows,
		Dual: f.Certificate.Dual, Claims: f.Certificate.InputClaims,
	}
	s.Edges = append(append(s.Edges, f.Edges...), formfile.Or(f.Upper, math.Inf(1)))
	var err error
	if s.Loss, err = loss.Parse(f.Loss.Name); err != nil {
		return nil, check.Errorf("cells", nil, "%w", err)
	}
	if f.CapLoss != nil {
		if s.CapLoss, err = loss.Parse(f.CapLoss.Name); err != nil {
			return nil, check.Errorf("cells", nil, "instance_cap_loss: %w", err)
		}
	}
	if s.InstanceCap, err = form.Positive("instance_cap", f.InstanceCap); err != nil {
		return nil, err
	}
	if s.Claims == (formfile.InputClaims{}) { // which New would fill in
		return nil, check.Errorf("cells", proof.ErrFormat, "certificate.delta is empty, want a plain decimal number")
	}
	return New(s)
}
