// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"io"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

type file struct {
	Format       string          `json:"format"`
	Version      int             `json:"version"`
	Epsilon      float64         `json:"epsilon"`
	Delta        float64         `json:"delta"`
	Values       Values          `json:"values"`
	Objective    Objective       `json:"objective"`
	Demands      fileDemands     `json:"demands"`
	Loss         *formfile.Loss  `json:"loss,omitempty"`
	Costs        [][]float64     `json:"costs,omitempty"`
	Nodes        []float64       `json:"nodes,omitempty"`
	Answers      []float64       `json:"answers,omitempty"`
	AnswerLabels []string        `json:"answer_labels,omitempty"`
	Rows         [][]uint64      `json:"rows,string"`
	Certificate  fileCertificate `json:"certificate"`
}

type fileDemands struct {
	Unbiased bool      `json:"unbiased"`
	Range    []float64 `json:"range,omitempty"`
	Step     *float64  `json:"step,omitempty"`
	Cap      *float64  `json:"cap,omitempty"`
}

type fileCertificate struct {
	Claims
	Dual *Dual `json:"dual,omitempty"`
}

// Encode writes the randomizer in the file format noisewright-randomizer, version 1.
func (r *Randomizer) Encode(w io.Writer) error {
	s := &r.spec
	f := file{
		Format: form.File.Name, Version: form.File.Version, Epsilon: s.Epsilon, Delta: s.Delta,
		Values: s.Values, Objective: s.Objective, Loss: formfile.LossOf(s.Loss),
		Costs: s.Costs, Nodes: s.Nodes, Answers: s.Answers, AnswerLabels: s.AnswerLabels, Rows: s.Rows,
		Demands:     fileDemands{Unbiased: s.Demands.Unbiased, Step: formfile.Given(s.Demands.Step), Cap: formfile.Given(s.Demands.Cap)},
		Certificate: fileCertificate{s.Claims, s.Dual},
	}
	if d := s.Demands; d.bounded() {
		f.Demands.Range = []float64{d.Lower, d.Upper}
	}
	return form.Encode(w, f)
}

// Decode reads one randomizer file. It checks the structure completely (see New) and nothing of the
// claims (see Randomizer.Verify), with the same strictness and errors as tables.Decode.
func Decode(r io.Reader) (*Randomizer, error) {
	var f file
	if err := form.Decode(r, &f); err != nil {
		return nil, err
	}
	s := Spec{
		Epsilon: f.Epsilon, Delta: f.Delta, Values: f.Values, Objective: f.Objective,
		Costs: f.Costs, Nodes: f.Nodes, Answers: f.Answers, AnswerLabels: f.AnswerLabels, Rows: f.Rows,
		Dual: f.Certificate.Dual, Claims: f.Certificate.Claims,
	}
	var err error
	if s.Demands, err = f.Demands.demands(); err != nil {
		return nil, err
	}
	if f.Loss != nil {
		if s.Loss, err = loss.Parse(f.Loss.Name); err != nil {
			return nil, check.Errorf("local", nil, "%w", err)
		}
	}
	if s.Claims == (Claims{}) { // which New would fill in
		return nil, check.Errorf("local", proof.ErrFormat, "certificate.delta is empty, want a plain decimal number")
	}
	if s.Values.Kind != Category && len(s.Nodes) == 0 { // which New would fill in for integers
		return nil, check.Errorf("local", proof.ErrFormat, "nodes are missing, want those of the values")
	}
	return New(context.Background(), s)
}

// demands refuses what Encode does not write.
func (f fileDemands) demands() (d Demands, err error) {
	d.Unbiased = f.Unbiased
	if r := f.Range; r != nil {
		if len(r) != 2 || r[0] == 0 && r[1] == 0 {
			return d, check.Errorf("local", proof.ErrFormat, "demands.range = %v, want two numbers, not both 0", r)
		}
		d.Lower, d.Upper = r[0], r[1]
	}
	if d.Step, err = form.Positive("demands.step", f.Step); err != nil {
		return d, err
	}
	d.Cap, err = form.Positive("demands.cap", f.Cap)
	return d, err
}
