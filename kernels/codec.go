// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"context"
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
	Queries     Queries         `json:"queries"`
	Loss        formfile.Loss   `json:"loss"`
	InstanceCap *float64        `json:"instance_cap,omitempty"`
	CapLoss     *formfile.Loss  `json:"instance_cap_loss,omitempty"`
	Edges       []float64       `json:"edges"`
	Nodes       []float64       `json:"nodes"`
	Rows        [][]uint64      `json:"rows,string"`
	Certificate fileCertificate `json:"certificate"`
}

type fileCertificate struct {
	formfile.InputClaims
	Dual *Dual `json:"dual,omitempty"`
}

// Encode writes the kernel in the file format noisewright-kernel, version 1.
func (k *Kernel) Encode(w io.Writer) error {
	s := &k.spec
	return form.Encode(w, file{
		Format:      form.File.Name,
		Version:     form.File.Version,
		Privacy:     s.Privacy,
		Queries:     s.Queries,
		Loss:        formfile.Loss{Name: s.Loss.Name()},
		Edges:       s.Edges,
		Nodes:       s.Nodes,
		Rows:        s.Rows,
		InstanceCap: formfile.Given(s.InstanceCap),
		CapLoss:     formfile.LossOf(s.CapLoss),
		Certificate: fileCertificate{s.Claims, s.Dual},
	})
}

// Decode reads one kernel file. It checks the structure completely (see New) and nothing of the
// claims (see Kernel.Verify), with the same strictness and errors as tables.Decode.
func Decode(r io.Reader) (*Kernel, error) {
	var f file
	if err := form.Decode(r, &f); err != nil {
		return nil, err
	}
	s := Spec{
		Privacy: f.Privacy, Queries: f.Queries, Edges: f.Edges, Nodes: f.Nodes, Rows: f.Rows,
		Dual: f.Certificate.Dual, Claims: f.Certificate.InputClaims,
	}
	var err error
	if s.Loss, err = loss.Parse(f.Loss.Name); err != nil {
		return nil, check.Errorf("kernels", nil, "%w", err)
	}
	if s.InstanceCap, err = form.Positive("instance_cap", f.InstanceCap); err != nil {
		return nil, err
	}
	if l := f.CapLoss; l != nil {
		if s.CapLoss, err = loss.Parse(l.Name); err != nil {
			return nil, check.Errorf("kernels", nil, "instance_cap_loss: %w", err)
		}
	}
	if s.Claims == (formfile.InputClaims{}) { // which New would fill in
		return nil, check.Errorf("kernels", proof.ErrFormat, "certificate.delta is empty, want a plain decimal number")
	}
	return New(context.Background(), s)
}
