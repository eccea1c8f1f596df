package minimax

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/regress"
	"github.com/noisewright/noisewright/latent/bundle"
)

// Bundle returns what devices and the server need: the filter with the noise. Without noise the
// bundle has no promise, and is of the kind bundle.None.
//
// The server's side is fitted to draws of what is released of the training data: the
// probabilities of the classes of a single target, or by least squares the numbers of
// all targets, and for classes of several targets the probability of each.
//
// Errors are those of bundle.New. A promise is proved by latent.Verify.
func (n *Noisy) Bundle() (*bundle.Bundle, error) {
	r := n.filter
	s := bundle.Spec{Features: r.data.Features, Mean: r.scaling.Mean, ClipOrigin: n.origin()}
	n.Noise.Install(&s)
	n.device(&s)
	if err := n.server(&s); err != nil {
		return nil, err
	}
	return bundle.New(s)
}

// device sets the encoder of a bundle.
func (n *Noisy) device(s *bundle.Spec) {
	r := n.filter
	s.Offset = n.shift
	scaled := r.scaling.Scaled(r.net)
	if len(r.net.Layers) > 1 {
		s.Layers = scaled.BundleLayers()
		s.Encoder = transposed(n.turn)
		return
	}
	var whole mat.Dense
	whole.Mul(toMat(scaled.Layers[0].Weights), n.turn)
	s.Encoder = transposed(&whole)
}

func transposed(m *mat.Dense) bundle.Matrix {
	t := mat.DenseCopyOf(m.T())
	rows, cols := t.Dims()
	return bundle.Matrix{Rows: rows, Cols: cols, Data: t.RawMatrix().Data}
}

// draws is about how many rows the server's side is fitted to.
const draws = 10_000

// server fits what decodes.
func (n *Noisy) server(s *bundle.Spec) error {
	d := n.filter.data
	rows := d.X.Rows
	copies := 1
	if n.Noise.Kind() != bundle.None {
		copies = min(max(draws/rows, 1), 10)
	}
	u := dense.NewMatrix(copies*rows, n.body.Coordinates)
	for c := range copies {
		copy(u.Data[c*rows*u.Cols:], n.Release(d.X, encoders.Rand(n.filter.options.Seed, "decoder", c)).Data)
	}
	var l *regress.Linear
	var err error
	if t := d.Targets[0]; len(d.Targets) == 1 && t.Labels != nil {
		s.Output, s.Outputs = bundle.Classes, t.Classes
		var m *regress.Softmax
		m, err = regress.FitSoftmax(u, slices.Repeat(t.Labels, copies), len(t.Classes), regress.Options{Ridge: n.filter.options.Ridge, Bias: true, Standardize: true})
		if err == nil {
			l = &m.Linear
		}
	} else {
		var y *mat.Dense
		y, s.Outputs = outputs(d, copies)
		if s.Output = bundle.Values; s.Outputs == nil {
			s.Output = bundle.Features
		}
		l, err = regress.FitRidge(u, y.RawMatrix(), n.filter.options.Ridge)
	}
	if err != nil {
		return err
	}
	s.Decoder, s.DecoderOffset = transposed(toMat(l.Weights)), l.Bias
	return nil
}

// outputs are those of all targets side by side, so many times below each other, with their names:
// nil for the features.
func outputs(d *Data, copies int) (*mat.Dense, []string) {
	var names []string
	total := 0
	for i := range d.Targets {
		t := &d.Targets[i]
		for k := range t.outs() {
			name := t.Name
			switch {
			case t.Labels != nil:
				name += " = " + t.Classes[k]
			case t.reconstructs:
				name = d.Features[k]
			case t.outs() > 1:
				name += fmt.Sprintf(" %d", k+1)
			}
			names = append(names, name)
		}
		total += t.outs()
	}
	if len(d.Targets) == 1 && d.Targets[0].reconstructs {
		names = nil
	}
	rows := d.X.Rows
	y := mat.NewDense(copies*rows, total, nil)
	for c := range copies {
		at := 0
		for i := range d.Targets {
			t := &d.Targets[i]
			y.Slice(c*rows, (c+1)*rows, at, at+t.outs()).(*mat.Dense).Copy(t.outputs(rows))
			at += t.outs()
		}
	}
	return y, names
}

// digest is of all that the result of a training depends on.
func (o *Options) digest(d *Data) string {
	h := sha256.New()
	fmt.Fprintln(h, o.Seed, o.Method, o.Coordinates, o.Hidden, o.Standardize, o.Rho, o.Ridge, o.NoIntercept, o.Steps, o.Starts)
	writeNumbers(h, d.X.Data)
	for _, side := range [][]Task{d.Targets, d.Private} {
		for _, t := range side {
			fmt.Fprintln(h, t.Labels, t.weight())
			writeNumbers(h, t.Values.Data)
		}
		fmt.Fprintln(h)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func writeNumbers(h hash.Hash, x []float64) {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(x)))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	h.Write(b)
}
