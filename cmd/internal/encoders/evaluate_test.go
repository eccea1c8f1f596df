// SPDX-License-Identifier: Apache-2.0

package encoders

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/latent/bundle"
)

// decoding is a filter that sends its one feature as it is, and decodes it so.
func decoding(t *testing.T, output string, outputs []string, decoder []float64) *bundle.Bundle {
	t.Helper()
	s := bundle.Spec{
		Features: []string{"x"}, Mean: []float64{0}, Encoder: bundle.Matrix{Rows: 1, Cols: 1, Data: []float64{1}}, Offset: []float64{0},
		Decoder: bundle.Matrix{Rows: len(decoder), Cols: 1, Data: decoder}, DecoderOffset: make([]float64, len(decoder)),
		Output: output, Outputs: outputs,
	}
	none, err := encoder.NewNoise(t.Context(), bundle.None, encoder.Body{Domain: bundle.Box, Radius: 10, Coordinates: 1}, bundle.Promise{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	none.Install(&s)
	b, err := bundle.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The measures of each kind of output, by hand, and the standard error over people.
func TestEvaluate(t *testing.T) {
	d := &Data{
		Features: []string{"x"}, X: encoder.Matrix{Rows: 3, Cols: 1, Stride: 1, Data: []float64{-1, 2, 3}},
		Target: Column{Name: "y", Classes: []string{"no", "yes"}, Labels: []int{0, 1, 0}},
	}
	measured := func(b *bundle.Bundle) []Measure {
		t.Helper()
		draws := 0
		m, err := Evaluate(t.Context(), b, b.Filter, d, 4, func(draw int) { draws = draw })
		if err != nil || draws != 4 {
			t.Fatalf("%d draws, %v", draws, err)
		}
		return m
	}
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-12 }
	// Classes, in another order: the logits are -x of yes and x of no, so 2 of 3 are wrong.
	m := measured(decoding(t, bundle.Classes, []string{"yes", "no"}, []float64{-1, 1}))
	entropy := 0.0
	for i, x := range []float64{-1, 2, 3} {
		entropy += math.Log1p(math.Exp([]float64{-2, 2, -2}[i]*x)) / 3
	}
	if len(m) != 2 || m[0].Name != MeasureError || !near(m[0].Mean, 2./3) || !near(m[0].StandardError, 1./3) || m[1].Name != MeasureCrossEntropy || !near(m[1].Mean, entropy) {
		t.Errorf("classes: %+v, want cross entropy %g", m, entropy)
	}
	d.Target = Column{Name: "y", Values: []float64{-2, 4, 7}}
	m = measured(decoding(t, bundle.Values, []string{"y"}, []float64{2})) // errors 0, 0, 1
	if len(m) != 1 || m[0].Name != MeasureSquared || !near(m[0].Mean, 1./3) || !near(m[0].StandardError, 1./3) {
		t.Errorf("values: %+v", m)
	}
	several := decoding(t, bundle.Values, []string{"z", "w = no", "y", "w = yes"}, []float64{9, -1, 2, 1})
	if m := measured(several); len(m) != 1 || !near(m[0].Mean, 1./3) {
		t.Errorf("one of several values: %+v", m)
	}
	d.Target = Column{Name: "w", Classes: []string{"no", "yes"}, Labels: []int{0, 0, 1}}
	if m := measured(several); len(m) != 1 || m[0].Name != MeasureError || !near(m[0].Mean, 1./3) {
		t.Errorf("classes by values: %+v", m)
	}
	m = measured(decoding(t, bundle.Features, nil, []float64{0})) // squares 1, 4, 9
	if len(m) != 1 || m[0].Name != MeasureSquared || !near(m[0].Mean, 14./3) {
		t.Errorf("features: %+v", m)
	}
	b := decoding(t, bundle.Features, nil, []float64{1})
	if u, err := ReleaseAll(b, b.Filter, d); err != nil || !slices.Equal(u.Data, d.X.Data) {
		t.Errorf("released %v, %v", u, err)
	}
	if !near(squaredTask(bundle.Matrix{Rows: 2, Cols: 2, Data: []float64{1, 1, 0, 3}}, []float64{1, 2}, []float64{0, 1}), 13) {
		t.Error("the squared error of a task")
	}
}

func TestEvaluateRefuses(t *testing.T) {
	d := &Data{Features: []string{"x"}, X: encoder.Matrix{Rows: 1, Cols: 1, Stride: 1, Data: []float64{1}}}
	classes, values := decoding(t, bundle.Classes, []string{"no", "yes"}, []float64{1, 1}), decoding(t, bundle.Values, []string{"y"}, []float64{1})
	for want, c := range map[string]struct {
		b      *bundle.Bundle
		target Column
		draws  int
	}{
		"has numbers, want the classes":   {classes, Column{Name: "y", Values: []float64{1}}, 1},
		"has the class maybe, want those": {classes, Column{Name: "y", Classes: []string{"maybe"}, Labels: []int{0}}, 1},
		"is none of the values":           {values, Column{Name: "y", Classes: []string{"a"}, Labels: []int{0}}, 1},
		"0 draws of 1×1 numbers":          {values, Column{Name: "y", Values: []float64{1}}, 0},
	} {
		d.Target = c.target
		if _, err := Evaluate(t.Context(), c.b, c.b.Filter, d, c.draws, nil); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	failed := errors.New("no entropy")
	d.Target = Column{Name: "y", Values: []float64{1}}
	broken := func([]float64, []float64) ([]float64, error) { return nil, failed }
	if _, err := Evaluate(t.Context(), values, broken, d, 1, nil); !errors.Is(err, failed) {
		t.Error(err)
	}
	if _, err := ReleaseAll(values, broken, d); !errors.Is(err, failed) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Evaluate(ctx, values, values.Filter, d, 1, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
