// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"io"

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
	Norm        Norm            `json:"norm"`
	Query       dp.Query        `json:"query"`
	Loss        formfile.Loss   `json:"loss"`
	Grid        Grid            `json:"grid"`
	Weights     []uint64        `json:"weights,string"`
	Certificate fileCertificate `json:"certificate"`
}

type fileCertificate struct {
	formfile.Claims
	Dual *Dual `json:"dual,omitempty"`
}

// Encode writes the noise in the file format noisewright-plane, version 1.
func (n *Noise) Encode(w io.Writer) error {
	s := &n.spec
	return form.Encode(w, file{
		Format: form.File.Name, Version: form.File.Version, Privacy: s.Privacy, Norm: s.Norm, Query: s.Query,
		Loss: formfile.Loss{Name: s.Loss.Name()}, Grid: s.Grid, Weights: s.Weights,
		Certificate: fileCertificate{s.Claims, s.Dual},
	})
}

// Decode reads one file of noise in the plane. It checks the structure completely (see New) and nothing
// of the claims, with the same strictness and errors as tables.Decode.
func Decode(r io.Reader) (*Noise, error) {
	var f file
	if err := form.Decode(r, &f); err != nil {
		return nil, err
	}
	s := Spec{
		Problem: Problem{Privacy: f.Privacy, Norm: f.Norm, Query: f.Query}, Grid: f.Grid, Weights: f.Weights,
		Claims: f.Certificate.Claims, Dual: f.Certificate.Dual,
	}
	var err error
	if s.Loss, err = loss.Parse(f.Loss.Name); err != nil {
		return nil, check.Errorf("plane", nil, "%w", err)
	}
	if s.Claims == (formfile.Claims{}) { // which New would fill in
		return nil, check.Errorf("plane", proof.ErrFormat, "certificate.delta is empty, want a plain decimal number")
	}
	return New(s)
}
