// SPDX-License-Identifier: Apache-2.0

package minimax

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/regress"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

// Noisy is a filter whose output is clipped to a body and gets noise for it: pre-filtering
// of Hamm (2017), with a body around the mean. It is immutable and safe for concurrent use.
type Noisy struct {
	// Noise is that of points of the body, as Encode returns them.
	Noise encoder.Noise

	filter  *Result
	options NoiseOptions
	body    encoder.Body
	// What is clipped is code·turn + shift.
	turn  *mat.Dense
	shift []float64
}

// AddNoise gives a filter noise. The output of a linear filter is first turned into coordinates
// of orthonormal directions of the features; that of a network stays as it is. Its mean becomes
// 0, unless AroundZero, and its scale such that Clip of the training data are in the body: of
// each coordinate in a box, of all rows in a ball. So the choice of the body follows the training
// data, and the promise rests on the body alone.
//
// Errors are those of encoder.NewNoise.
func (r *Result) AddNoise(ctx context.Context, o NoiseOptions) (*Noisy, error) {
	o.fill()
	if !(o.Clip > 0 && o.Clip <= 1) { // the rest is encoder.NewNoise's to check
		return nil, check.Field("minimax", "clip", o.Clip, "above 0 and at most 1, a share of the training data")
	}
	n := &Noisy{filter: r, options: o, body: encoder.Body{Domain: o.Domain, Radius: 1, Coordinates: r.net.Out()}}
	code := toMat(r.Encode(r.data.X))
	n.turn = r.axes()
	var turned mat.Dense
	turned.Mul(code, n.turn)
	n.shift = make([]float64, r.net.Out())
	c := &turned
	if !o.AroundZero {
		c = centered(&turned)
	}
	for j := range n.shift {
		n.shift[j] = c.At(0, j) - turned.At(0, j)
	}
	for j, s := range radii(c, o.Domain, o.Clip) {
		for i := range n.shift {
			n.turn.Set(i, j, n.turn.At(i, j)/s)
		}
		n.shift[j] /= s
	}
	var err error
	n.Noise, err = encoder.NewNoise(ctx, o.Kind, n.body, o.Promise, o.Design)
	return n, err
}

// axes returns the turn of the codes, d×d: the identity, or for linear filters the one that
// makes their directions orthonormal. Principal axes of the data are worse for noise per
// coordinate: where several coordinates know something of the target, its noise averages out.
func (r *Result) axes() *mat.Dense {
	d := r.net.Out()
	turn := toMat(dense.Same(d).Layers[0].Weights)
	if len(r.net.Layers) > 1 || r.options.Method == Masked {
		return turn
	}
	// W = QR: codes times R⁻¹ are coordinates of the orthonormal Q.
	var qr mat.QR
	qr.Factorize(toMat(r.net.Layers[0].Weights))
	if !(qr.Cond() <= maxCondition) {
		return turn
	}
	var upper, inverse mat.Dense
	qr.RTo(&upper)
	if err := inverse.Inverse(upper.Slice(0, d, 0, d)); err != nil {
		return turn
	}
	return &inverse
}

// Beyond maxCondition directions of a filter are not turned: they are numerically dependent.
const maxCondition = 1e8

// radii returns the scales of centered coordinates so that a share of the rows, of each
// coordinate in a box, are in the body of radius 1. None is 0.
func radii(c *mat.Dense, domain bundle.Domain, share float64) []float64 {
	rows, d := c.Dims()
	out := make([]float64, d)
	if domain == bundle.Box {
		for j := range out {
			out[j] = quantile(mat.Col(nil, j, c), share)
		}
	} else {
		norm := 2.0
		if domain == bundle.L1Ball {
			norm = 1
		}
		lengths := make([]float64, rows)
		for i := range lengths {
			lengths[i] = mat.Norm(c.RowView(i), norm)
		}
		out = slices.Repeat([]float64{quantile(lengths, share)}, d)
	}
	for j, v := range out {
		if !(v > 0) {
			out[j] = 1 // a coordinate that does not vary
		}
	}
	return out
}

// quantile returns the least size that a share of the numbers do not exceed. It changes them.
func quantile(x []float64, share float64) float64 {
	for i, v := range x {
		x[i] = math.Abs(v)
	}
	slices.Sort(x)
	return x[max(0, int(math.Ceil(share*float64(len(x))))-1)]
}

// Encode returns what gets noise for the rows of x, N×Z: the clipped output.
func (n *Noisy) Encode(x encoder.Matrix) encoder.Matrix {
	code := toMat(n.filter.Encode(x))
	out := dense.NewMatrix(x.Rows, n.body.Coordinates)
	to := toMat(out)
	to.Mul(code, n.turn)
	for i := range out.Rows {
		for j, s := range n.shift {
			out.Data[i*out.Stride+j] += s
		}
	}
	n.body.Clip(out)
	return out
}

// Release returns a draw of what is released for the rows of x, N×Z. It is FOR STUDIES ONLY
// AND UNSAFE FOR RELEASE: devices draw from a bundle.
func (n *Noisy) Release(x encoder.Matrix, r *rand.Rand) encoder.Matrix {
	u := n.Encode(x)
	n.Noise.Release(u.Data, u.Data, r)
	return u
}

func (n *Noisy) origin() string {
	what := "norms"
	if n.body.Domain == bundle.Box {
		what = "each coordinate"
	}
	around := "their mean"
	if n.options.AroundZero {
		around = "0"
	}
	return fmt.Sprintf("quantile %g of %s in the training data, around %s", n.options.Clip, what, around)
}

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
	var target dense.Target
	if t := d.Targets[0]; len(d.Targets) == 1 && t.Labels != nil {
		s.Output, s.Outputs = bundle.Classes, t.Classes
		target = dense.Target{Labels: slices.Repeat(t.Labels, copies), Classes: len(t.Classes)}
	} else {
		var y *mat.Dense
		y, s.Outputs = outputs(d, copies)
		if s.Output = bundle.Values; s.Outputs == nil {
			s.Output = bundle.Features
		}
		target = dense.Target{Values: y.RawMatrix()}
	}
	l, err := regress.Fit(u, target, regress.Options{Ridge: n.filter.options.Ridge, Bias: true, Standardize: true})
	if err != nil {
		return err
	}
	s.Decoder, s.DecoderOffset = transposed(toMat(l.Weights)), l.Bias
	return nil
}

// outputs are those of all targets side by side, so often, with their names: nil for the features.
func outputs(d *Data, copies int) (*mat.Dense, []string) {
	var names []string
	for i := range d.Targets {
		t := &d.Targets[i]
		if t.reconstructs() {
			names = append(names, d.Features...)
		} else {
			names = append(names, t.Answers()...)
		}
	}
	rows := d.X.Rows
	y := mat.NewDense(copies*rows, len(names), nil)
	for c := range copies {
		at := 0
		for i := range d.Targets {
			t := &d.Targets[i]
			y.Slice(c*rows, (c+1)*rows, at, at+t.outs()).(*mat.Dense).Copy(t.outputs(rows))
			at += t.outs()
		}
	}
	if len(d.Targets) == 1 && d.Targets[0].reconstructs() {
		names = nil
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
			writeNumbers(h, t.target().Values.Data)
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
