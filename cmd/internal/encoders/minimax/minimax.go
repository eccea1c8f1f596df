// SPDX-License-Identifier: Apache-2.0

package minimax

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
)

// Result is a filter. It is immutable and safe for concurrent use.
type Result struct {
	// Objective is Φ of the filter on the training data, with classifiers that were fitted
	// as in the training; only of Minimax.
	Objective float64

	data    *Data
	options Options
	scaling dense.Scaling // of features
	net     *dense.Network
}

// Train learns a filter.
//
// Errors wrap dp.ErrInvalid for bad data or options; ctx ends the training, of which
// Options.Run may leave a checkpoint. The time of a step is that of fitting the classifiers:
// about ten milliseconds for 2000 people and 20 coordinates.
func Train(ctx context.Context, d Data, o Options) (*Result, error) {
	o.fill()
	if err := d.validate(); err != nil {
		return nil, err
	}
	if err := o.validate(&d); err != nil {
		return nil, err
	}
	r := &Result{data: &d, options: o}
	return r, r.find(ctx, r.standardize())
}

// standardize sets the scaling, and returns the data with it.
func (r *Result) standardize() dense.Matrix {
	n := r.data.X.Cols
	r.scaling = dense.Scaling{Mean: make([]float64, n), Scale: slices.Repeat([]float64{1}, n)}
	if r.options.Standardize {
		c := centered(toMat(r.data.X))
		for j := range n {
			r.scaling.Mean[j] = r.data.X.Data[j] - c.At(0, j)
			r.scaling.Scale[j] = mat.Norm(c.ColView(j), 2) / math.Sqrt(float64(r.data.X.Rows))
		}
	}
	return r.prepare(r.data.X)
}

func (r *Result) prepare(x dense.Matrix) dense.Matrix {
	if !r.options.Standardize {
		return x
	}
	return r.scaling.Apply(x)
}

func (r *Result) find(ctx context.Context, x dense.Matrix) error {
	o := &r.options
	if o.Hidden != nil {
		r.net = newNetwork(x.Cols, o.Hidden, o.Coordinates)
		if err := pretrain(ctx, r.net, x, r.data, o); err != nil {
			return err
		}
	} else {
		u, err := r.linear(toMat(x))
		if err != nil {
			return err
		}
		r.net = dense.New([]int{x.Cols, o.Coordinates}, []dense.Activation{dense.Identity})
		copy(r.net.Params(), u.RawMatrix().Data)
	}
	if o.Method != Minimax {
		return nil
	}
	t := newTrainer(o, x, r.net, r.data)
	run := o.Run
	run.Options += o.digest(r.data)
	if err := run.Train(ctx, t, t.o.Starts*t.o.Steps); err != nil {
		return err
	}
	copy(r.net.Params(), t.best)
	r.Objective = t.value
	return nil
}

// linear returns the linear filter of a method, n×d; for Minimax the one that it begins with.
func (r *Result) linear(x *mat.Dense) (*mat.Dense, error) {
	o := &r.options
	_, n := x.Dims()
	switch o.Method {
	case ClosedForm:
		return closedForm(centered(x), r.data, o.Rho, o.Coordinates)
	case PPLS:
		return leastSquares(x, r.data, o.Coordinates)
	case PCA:
		return topVectors(gram(x), o.Coordinates) // not centered, as in the authors' program
	case Random:
		return randomFilter(n, o.Coordinates, encoders.Rand(o.Seed, "random filter", 0)), nil
	case Masked:
		u := mat.NewDense(n, n, nil)
		for j, v := range o.Mask {
			u.Set(j, j, v)
		}
		return u, nil
	default:
		return discriminant(centered(x), r.data, o.Coordinates)
	}
}

// Encode returns the outputs of the filter for the rows of x, N×Z: neither clipped nor with
// noise. It panics unless x has the columns of the training data.
func (r *Result) Encode(x encoder.Matrix) encoder.Matrix {
	var p dense.Pass
	return r.net.Forward(&p, r.prepare(x))
}

func toMat(m dense.Matrix) *mat.Dense { return mat.NewDense(m.Rows, m.Cols, m.Data[:m.Rows*m.Cols]) }
