// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"math"
	"slices"
)

// naiveBayes is the classifier of Vaidya, Shafiq, Basu & Hong (Differentially private naive
// Bayes classification, 2013): features count as independent given the class, categories
// have frequencies, and numbers are normal.
type naiveBayes struct {
	Counts   []float64      `json:"counts"` // of classes
	Features []naiveFeature `json:"features"`
}

// naiveFeature is what is known of a feature, by classes.
type naiveFeature struct {
	Cells     [][]float64 `json:"cells,omitempty"` // of categories
	Means     []float64   `json:"means,omitempty"` // of numbers on [-1, 1]
	Variances []float64   `json:"variances,omitempty"`
}

const (
	// minCount is the least that a class counts, cellCount what is added to a category's.
	minCount, cellCount = 1, 0.5
	// minVariance is the least variance of a number on [-1, 1], and floorDeviation of the
	// noise's deviation over the count, which is about that of a variance: one that the noise
	// made small would decide on its own.
	minVariance, floorDeviation = 2e-3, 1 / math.Sqrt2
)

// NaiveBayesReleases returns how many releases FitNaiveBayes makes: the counts of the
// classes, for every categorical feature the counts of its categories in them, and for every
// numeric one the sums of its values and of their squares.
func (s *Schema) NaiveBayesReleases() int {
	n := 1 + len(s.Features)
	for _, f := range s.Features {
		if f.Numeric() {
			n++
		}
	}
	return n
}

// FitNaiveBayes learns from labeled records by the schema's NaiveBayesReleases; that of the
// Releaser is the guarantee. A class without records is learned like any other.
//
// The error wraps dp.ErrInvalid for records without classes, or is that of the Releaser.
func (d *Data) FitNaiveBayes(r *Releaser) (*Model, error) {
	if err := d.wantLabels(); err != nil {
		return nil, err
	}
	var released [][]float64
	for _, sums := range d.naiveBayesSums() {
		noisy, err := r.Release(sums)
		if err != nil {
			return nil, err
		}
		released = append(released, noisy)
	}
	// From here on nothing looks at the data.
	return d.model(r, newNaiveBayes(d.schema, released, r.noise.Deviation())), nil
}

// naiveBayesSums returns what is released: by classes the numbers of records; of a categorical
// feature those with each category; and of a numeric one, with values x on [-1, 1], the sums of x
// and of 2x² - 1. The latter uses the sensitivity in both directions, where x² leaves half of it:
// the sum of squares that follows has half of the noise, and half of the count's.
//
// A record more or less changes one number of each release, by at most gridSteps.
func (d *Data) naiveBayesSums() [][]int64 {
	classes := len(d.schema.Classes)
	var all [][]int64
	release := func(cells int, of func(row int) (cell int, steps int64)) {
		sums := make([]int64, cells)
		for row := range d.rows {
			cell, steps := of(row)
			sums[cell] += steps
		}
		all = append(all, sums)
	}
	release(classes, func(row int) (int, int64) { return d.Class(row), gridSteps })
	for j, f := range d.schema.Features {
		column := d.columns[j]
		if n := len(f.Categories); !f.Numeric() {
			release(classes*n, func(row int) (int, int64) { return d.Class(row)*n + d.Code(j, row), gridSteps })
			continue
		}
		release(classes, func(row int) (int, int64) { return d.Class(row), int64(column[row]) })
		release(classes, func(row int) (int, int64) {
			x := int64(column[row])
			return d.Class(row), (2*x*x+gridSteps/2)/gridSteps - gridSteps
		})
	}
	return all
}

// newNaiveBayes makes the classifier of what was released with noise of this deviation.
func newNaiveBayes(s *Schema, released [][]float64, deviation float64) *naiveBayes {
	m := &naiveBayes{}
	counts, rest := released[0], released[1:]
	for _, n := range counts {
		m.Counts = append(m.Counts, max(n, minCount))
	}
	for _, f := range s.Features {
		if f.Numeric() {
			m.Features = append(m.Features, newNumeric(m.Counts, counts, rest[0], rest[1], deviation))
			rest = rest[2:]
		} else {
			m.Features = append(m.Features, newCategorical(len(f.Categories), rest[0]))
			rest = rest[1:]
		}
	}
	return m
}

func newCategorical(categories int, cells []float64) (f naiveFeature) {
	for i, x := range cells {
		cells[i] = max(x, 0) + cellCount
	}
	f.Cells = slices.Collect(slices.Chunk(cells, categories))
	return f
}

// newNumeric takes the counts twice: as divisors, which are at least minCount, and as released.
func newNumeric(divisors, counts, sums, squares []float64, deviation float64) (f naiveFeature) {
	for c, n := range divisors {
		mean, square := min(max(sums[c]/n, -1), 1), (squares[c]+counts[c])/2/n
		floor := max(minVariance, floorDeviation*deviation/n)
		f.Means = append(f.Means, mean)
		f.Variances = append(f.Variances, min(max(square-mean*mean, floor), max(floor, 1)))
	}
	return f
}

// Scores returns the logarithms of the likelihoods of the classes of a record, but for a
// number that they have in common.
func (m *naiveBayes) Scores(d *Data, row int) []float64 {
	scores := make([]float64, len(m.Counts))
	for c, n := range m.Counts {
		score := math.Log(n)
		for j, f := range m.Features {
			if f.Cells == nil {
				x := d.Unit(j, row) - f.Means[c]
				score -= (x*x/f.Variances[c] + math.Log(f.Variances[c])) / 2
				continue
			}
			all := 0.0
			for _, cell := range f.Cells[c] {
				all += cell
			}
			score += math.Log(f.Cells[c][d.Code(j, row)] / all)
		}
		scores[c] = score
	}
	return scores
}
