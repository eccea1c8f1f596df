package learn

import (
	"math"

	"github.com/noisewright/noisewright/internal/check"
)

// NaiveBayes is the classifier of Vaidya, Shafiq, Basu & Hong (Differentially private naive
// Bayes classification, 2013): features count as independent given the class, categories
// have frequencies, and numbers are normal. It is immutable and safe for concurrent use.
type NaiveBayes struct {
	counts   []float64 // of classes
	features []naiveFeature
}

// naiveFeature is what is known of a feature, by classes.
type naiveFeature struct {
	cells            [][]float64 // of categories
	means, variances []float64   // of numbers on [-1, 1]
}

const (
	// minCount is the least that a class counts, cellCount what is added to a category's.
	minCount, cellCount = 1, 0.5
	// minVariance is the least variance of a number on [-1, 1]; noise asks for more, a
	// variance of floorDeviations of its deviation over the count.
	minVariance, floorDeviations = 2e-3, 2
)

// NaiveBayesReleases returns how many releases FitNaiveBayes makes: the counts of the
// classes, for every categorical feature the counts of its categories in them, and for every
// numeric one the sums and the sums of squares.
func NaiveBayesReleases(s *Schema) int {
	n := 1
	for _, f := range s.Features {
		n++
		if f.Numeric() {
			n++
		}
	}
	return n
}

// FitNaiveBayes learns from labeled records by NaiveBayesReleases releases; that of the
// Releaser is the guarantee. It looks at the data in no other way: a class without records is
// learned like any other.
//
// The error wraps dp.ErrInvalid for records without classes, or is that of the Releaser.
func FitNaiveBayes(d *Data, r *Releaser) (*NaiveBayes, error) {
	if !d.Labeled() {
		return nil, check.Field("learn", "data", "not labeled", "records with their classes")
	}
	classes := len(d.schema.Classes)
	m := &NaiveBayes{features: make([]naiveFeature, len(d.schema.Features))}
	var err error
	if m.counts, err = r.Release(d.sums(classes, func(row int) (cell int, steps int64) { return d.Class(row), gridSteps })); err != nil {
		return nil, err
	}
	for i := range m.counts {
		m.counts[i] = max(m.counts[i], minCount)
	}
	for j, f := range d.schema.Features {
		if f.Numeric() {
			err = m.numeric(d, r, j)
		} else {
			err = m.categorical(d, r, j)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// sums adds up what each record says: so many steps in one cell.
func (d *Data) sums(cells int, of func(row int) (cell int, steps int64)) []int64 {
	out := make([]int64, cells)
	for row := range d.rows {
		cell, steps := of(row)
		out[cell] += steps
	}
	return out
}

// categorical releases the histogram of classes and categories, of which a record is in one.
func (m *NaiveBayes) categorical(d *Data, r *Releaser, j int) error {
	n := len(d.schema.Features[j].Categories)
	flat, err := r.Release(d.sums(len(m.counts)*n, func(row int) (int, int64) { return d.Class(row)*n + d.Code(j, row), gridSteps }))
	if err != nil {
		return err
	}
	cells := make([][]float64, len(m.counts))
	for c := range cells {
		cells[c] = flat[c*n : (c+1)*n]
		for i := range cells[c] {
			cells[c][i] = max(cells[c][i], 0) + cellCount
		}
	}
	m.features[j].cells = cells
	return nil
}

// numeric releases the sum and the sum of squares of values on [-1, 1] by classes.
func (m *NaiveBayes) numeric(d *Data, r *Releaser, j int) error {
	column := d.columns[j]
	sums, err := r.Release(d.sums(len(m.counts), func(row int) (int, int64) { return d.Class(row), int64(column[row]) }))
	if err != nil {
		return err
	}
	squares, err := r.Release(d.sums(len(m.counts), func(row int) (int, int64) {
		x := int64(column[row])
		return d.Class(row), (x*x + gridSteps/2) / gridSteps // at most gridSteps
	}))
	if err != nil {
		return err
	}
	f := &m.features[j]
	for c, n := range m.counts {
		mean := min(max(sums[c]/n, -1), 1)
		floor := max(minVariance, floorDeviations*r.noise.Deviation()/n)
		f.means = append(f.means, mean)
		f.variances = append(f.variances, min(max(squares[c]/n-mean*mean, floor), max(floor, 1)))
	}
	return nil
}

// Scores returns the logarithms of the likelihoods of the classes of a record, but for a
// number that they have in common.
func (m *NaiveBayes) Scores(d *Data, row int) []float64 {
	scores := make([]float64, len(m.counts))
	for c, n := range m.counts {
		score := math.Log(n)
		for j, f := range m.features {
			if f.cells == nil {
				x := d.Unit(j, row) - f.means[c]
				score -= (x*x/f.variances[c] + math.Log(f.variances[c])) / 2
				continue
			}
			all := 0.0
			for _, cell := range f.cells[c] {
				all += cell
			}
			score += math.Log(f.cells[c][d.Code(j, row)] / all)
		}
		scores[c] = score
	}
	return scores
}
