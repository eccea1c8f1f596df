// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent/bundle"
)

const (
	// mostBins bounds the bins of a coordinate in a lookup, and allBins those of all: the
	// equations for their values have as many unknowns.
	mostBins, allBins = 32, 1 << 10
	// edgeRows is how many rows of the data at most say where the bins of noise end.
	edgeRows = 256
	// folds is the number of parts of the data of which each is held out once.
	folds = 5
)

// Lookup returns the bundle with a lookup in the place of its affine decoder, the best sum of
// functions of the bins that the released numbers lie in: the answers of randomizers, and for
// noise up to 32 intervals. affine and lookup are the expected losses of either decoder on rows
// that it was not fitted on: five times a fifth of the data is held out, and the decoder fitted
// on the rest, for the encoder and the noise of all of it.
//
// A bundle without data to fit on, of more than 512 coordinates, or of several with
// spherical noise or noise on balls, whose functions are correlated, is an error that wraps ErrInvalid.
func (r *Result) Lookup(b *bundle.Bundle) (with *bundle.Bundle, affine, lookup float64, err error) {
	s := b.Spec()
	z := len(s.Axes)
	switch {
	case r.problem.Data == nil:
		return nil, 0, 0, check.Field("latent", "data", "none", "rows of features, to fit a lookup on")
	case (s.Noise == bundle.Spherical || s.Noise == bundle.Balls) && z > 1:
		return nil, 0, 0, check.Field("latent", "noise", s.Noise, "another kind for a lookup of several coordinates: its coordinates are not independent")
	case z > allBins/2:
		return nil, 0, 0, check.Field("latent", "coordinates", z, fmt.Sprintf("at most %d for a lookup", allBins/2))
	}
	units, err := encodedRows(b, r.problem.Data)
	if err != nil {
		return nil, 0, 0, err
	}
	list := channels(&s)
	s.Lookup = &bundle.Lookup{Edges: lookupEdges(list, units)}
	plain := &observations{data: mat.DenseCopyOf(r.problem.Data), task: r.coordinates.Task, about: s.Mean}
	binned := *plain
	plain.means, plain.spread = released(list, units)
	binned.means, binned.spread = binProbabilities(list, units, s.Lookup.Edges)
	rows, n := binned.data.Dims()
	if affine, err = plain.heldOut(); err == nil {
		lookup, err = binned.heldOut()
	}
	if err != nil {
		return nil, 0, 0, err
	}
	all := upTo(rows)
	d, err := binned.fit(all)
	if err != nil {
		return nil, 0, 0, err
	}
	s.Predicted.TrainingLoss = binned.loss(d, all).Total
	s.Decoder, s.DecoderOffset = bundle.Matrix{}, d.Offset
	bins, _ := d.Matrix.T().Dims()
	s.Lookup.Values = bundle.Matrix{Rows: bins, Cols: n, Data: mat.DenseCopyOf(d.Matrix.T()).RawMatrix().Data}
	with, err = bundle.New(s)
	return with, affine, lookup, err
}

// encodedRows returns the clipped encodings (N×Z) of the rows of data, as a device makes them.
func encodedRows(b *bundle.Bundle, data mat.Matrix) (*mat.Dense, error) {
	rows, n := data.Dims()
	units := mat.NewDense(rows, b.Coordinates(), nil)
	x := make([]float64, n)
	for i := range rows {
		if _, err := b.Encode(units.RawRowView(i), mat.Row(x, i, data)); err != nil {
			return nil, check.Errorf("latent", nil, "row %d: %w", i+1, err)
		}
	}
	return units, nil
}

// lookupEdges returns the ends of bins: between the answers of randomizers of few, else
// where what is released of the units (N×Z) is as often below as in each other bin.
func lookupEdges(list []channel, units *mat.Dense) bundle.Matrix {
	most := min(mostBins, allBins/len(list)) - 1
	edges := make([][]float64, len(list))
	cols := 0
	for i, c := range list {
		if atoms := c.atoms(); atoms != nil && len(atoms) <= most+1 {
			for j := 1; j < len(atoms); j++ {
				edges[i] = append(edges[i], atoms[j-1]/2+atoms[j]/2)
			}
		} else {
			column := slices.Sorted(slices.Values(mat.Col(nil, i, units)))
			var some []float64
			for k := range min(edgeRows, len(column)) {
				some = append(some, column[k*len(column)/min(edgeRows, len(column))])
			}
			for j := 1; j <= most; j++ {
				edges[i] = append(edges[i], quantileOf(c, some, float64(j)/float64(most+1)))
			}
		}
		cols = max(cols, len(edges[i]))
	}
	m := bundle.Matrix{Rows: len(list), Cols: max(cols, 1)}
	for _, row := range edges {
		for len(row) < m.Cols {
			row = append(row, limits.Magnitude) // nothing is released beyond
		}
		m.Data = append(m.Data, row...)
	}
	return m
}

// quantileOf returns an edge that what is released of the values, on average, is below with
// about the given probability.
func quantileOf(c channel, values []float64, p float64) float64 {
	below := func(edge float64) float64 {
		total := 0.
		for _, v := range values {
			total += c.below(v, edge)
		}
		return total / float64(len(values))
	}
	low, high := -1., 1.
	for below(low) > p {
		low *= 2
	}
	for below(high) < p {
		high *= 2
	}
	for range 30 {
		if middle := (low + high) / 2; below(middle) < p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// observations are what a linear decoder is fitted to: rows of features, and of each the
// mean and the covariance of M observed numbers.
type observations struct {
	data  *mat.Dense // N×n
	task  *mat.Dense
	about []float64  // the features' means, about
	means *mat.Dense // N×M
	// spread returns the mean covariance of some rows; it is 0 between coordinates.
	spread func(rows []int) *mat.SymDense
}

// released observes what is released of the units itself.
func released(list []channel, units *mat.Dense) (means *mat.Dense, spread func(rows []int) *mat.SymDense) {
	n, z := units.Dims()
	means, variances := mat.NewDense(n, z, nil), mat.NewDense(n, z, nil)
	for i := range n {
		for k, c := range list {
			mean, variance := c.moments(units.At(i, k))
			means.Set(i, k, mean)
			variances.Set(i, k, variance)
		}
	}
	return means, func(rows []int) *mat.SymDense {
		m := mat.NewSymDense(z, nil)
		for _, i := range rows {
			for k, v := range variances.RawRowView(i) {
				m.SetSym(k, k, m.At(k, k)+v/float64(len(rows)))
			}
		}
		return m
	}
}

// binProbabilities observes in which bin of each coordinate it lies, as ones and zeros.
func binProbabilities(list []channel, units *mat.Dense, edges bundle.Matrix) (means *mat.Dense, spread func(rows []int) *mat.SymDense) {
	n, z := units.Dims()
	bins := edges.Cols + 1
	means = mat.NewDense(n, z*bins, nil)
	for i := range n {
		row := means.RawRowView(i)
		for k, c := range list {
			shares(c, units.At(i, k), edges.Row(k), row[k*bins:(k+1)*bins])
		}
	}
	return means, func(rows []int) *mat.SymDense {
		m := mat.NewSymDense(z*bins, nil)
		for _, i := range rows {
			row := means.RawRowView(i)
			for a, p := range row {
				m.SetSym(a, a, m.At(a, a)+p/float64(len(rows)))
				for b := a; b < (a/bins+1)*bins; b++ {
					m.SetSym(a, b, m.At(a, b)-p*row[b]/float64(len(rows)))
				}
			}
		}
		return m
	}
}

// shares sets dst to the probabilities of the bins between the edges, of what is released of u.
func shares(c channel, u float64, edges, dst []float64) {
	before := 0.
	for b, edge := range edges {
		below := c.below(u, edge)
		dst[b] = max(0, below-before)
		before = below
	}
	dst[len(edges)] = max(0, 1-before)
}

// upTo returns the integers below n.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func part(m *mat.Dense, rows []int) *mat.Dense {
	_, cols := m.Dims()
	p := mat.NewDense(len(rows), cols, nil)
	for k, i := range rows {
		p.SetRow(k, m.RawRowView(i))
	}
	return p
}

// fit returns the best decoder for the rows. What is observed of a bin counts as if one
// more row, with the means of all, had been in it: so bins that nobody is in have a value.
func (o *observations) fit(rows []int) (*taskspace.Decoder, error) {
	e := taskspace.Encoder{Mean: o.about}
	m := e.MomentsOf(part(o.data, rows), part(o.means, rows))
	m.Unit.AddSym(m.Unit, o.spread(rows))
	size := m.Unit.SymmetricDim()
	ridge := mat.Trace(m.Unit) / float64(size) / float64(len(rows))
	return taskspace.NewDecoder(m, slices.Repeat([]float64{ridge}, size))
}

// loss returns the expected loss of a decoder on the rows.
func (o *observations) loss(d *taskspace.Decoder, rows []int) taskspace.Loss {
	_, size := o.means.Dims()
	loss := taskspace.DecodedLoss(o.task, d, part(o.data, rows), part(o.means, rows), make([]float64, size))
	var read, spread mat.Dense
	read.Mul(o.task, d.Matrix)
	spread.Mul(&read, o.spread(rows))
	for k := range loss.Output {
		noise := mat.Dot(spread.RowView(k), read.RowView(k))
		loss.Output[k] += noise
		loss.Noise += noise
	}
	loss.Total = loss.Signal + loss.Noise
	return loss
}

// lookupLoss returns the expected loss of a bundle with a lookup, of the content s.
func lookupLoss(b *bundle.Bundle, s *bundle.Spec, task *mat.Dense, data mat.Matrix) (taskspace.Loss, error) {
	units, err := encodedRows(b, data)
	if err != nil {
		return taskspace.Loss{}, err
	}
	o := &observations{data: mat.DenseCopyOf(data), task: task, about: s.Mean}
	o.means, o.spread = binProbabilities(channels(s), units, s.Lookup.Edges)
	v := s.Lookup.Values
	d := &taskspace.Decoder{Matrix: mat.DenseCopyOf(mat.NewDense(v.Rows, v.Cols, v.Data).T()), Offset: s.DecoderOffset}
	rows, _ := data.Dims()
	return o.loss(d, upTo(rows)), nil
}

// heldOut returns the mean loss of rows that a decoder for the others has. Which rows are
// held out together is the same every time.
func (o *observations) heldOut() (float64, error) {
	n, _ := o.data.Dims()
	if n < 2*folds {
		return 0, check.Field("latent", "rows", n, fmt.Sprintf("at least %d, to hold some out", 2*folds))
	}
	order := rand.New(rand.NewPCG(1, 2)).Perm(n) //nolint:gosec // no secret
	total := 0.
	for f := range folds {
		from, to := f*n/folds, (f+1)*n/folds
		d, err := o.fit(slices.Concat(order[:from], order[to:]))
		if err != nil {
			return 0, err
		}
		total += o.loss(d, order[from:to]).Total * float64(to-from) / float64(n)
	}
	return total, nil
}
