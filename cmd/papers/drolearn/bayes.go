// SPDX-License-Identifier: Apache-2.0

package drolearn

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Bayes is naive Bayes as in the authors' program: class counts, a count for each value of a
// categorical feature and class, mean and standard deviation of each number and class.
//
// Whatever is learned becomes one number for each value of a feature and class, its log
// likelihood, so that a draw of noise costs one sum of them for each row.
type Bayes struct {
	set    *Set
	counts []float64 // of the classes, in all rows: the sensitivities are theirs
	// numbers are the sorted values of numeric features, each once, scaled; rangeOf is the
	// distance of the first and the last.
	numbers [][]float64
	rangeOf []float64
	starts  []int // of each feature's values among all; the last is their number
	codes   []int32
}

// NewBayes prepares a set. Rows of codes have the values of the categories first.
func NewBayes(s *Set) *Bayes {
	b := &Bayes{set: s, counts: make([]float64, s.Classes), starts: []int{0}}
	for _, y := range s.Labels {
		b.counts[y]++
	}
	features := len(s.Categories) + len(s.Numbers)
	b.codes = make([]int32, s.Rows*features)
	add := func(values int, code func(row int) int) {
		f, start := len(b.starts)-1, b.starts[len(b.starts)-1]
		b.starts = append(b.starts, start+values)
		for i := range s.Rows {
			b.codes[i*features+f] = int32(start + code(i)) //nolint:gosec // at most rows × features
		}
	}
	for f, column := range s.Categories {
		add(s.Values[f], func(i int) int { return column[i] })
	}
	scale := max(s.Recipe.Scale, 1)
	for _, column := range s.Numbers {
		values := slices.Clone(column)
		slices.Sort(values)
		values = slices.Compact(values)
		add(len(values), func(i int) int { k, _ := slices.BinarySearch(values, column[i]); return k })
		for k := range values {
			values[k] *= scale
		}
		b.numbers, b.rangeOf = append(b.numbers, values), append(b.rangeOf, values[len(values)-1]-values[0])
	}
	return b
}

// Releases is how many numbers a person enters: one of the class counts, one count of each
// categorical feature, and two of each number.
func (b *Bayes) Releases() int { return 1 + len(b.set.Categories) + 2*len(b.set.Numbers) }

// bayesFit is what the training rows of a split say.
type bayesFit struct {
	*Bayes
	train      []bool
	rows       [2]float64 // that train and that test
	priors     []float64
	counts     []float64 // [value of a category][class]; 0: there is none
	means, sds []float64 // [number][class]
	likely     []float64 // [value][class], of the last noise
	logPriors  []float64
	sums       []float64 // of classes
}

// The least that counts and standard deviations are taken for.
const (
	leastCount     = 1e-6
	leastDeviation = 1
)

func (b *Bayes) learn(train []bool) trial {
	classes, categories := b.set.Classes, len(b.set.Categories)
	f := &bayesFit{
		Bayes: b, train: train, priors: make([]float64, classes), logPriors: make([]float64, classes),
		counts: make([]float64, b.starts[categories]*classes), likely: make([]float64, b.starts[len(b.starts)-1]*classes),
		means: make([]float64, len(b.numbers)*classes), sds: make([]float64, len(b.numbers)*classes),
		sums: make([]float64, classes),
	}
	features := categories + len(b.numbers)
	for i, y := range b.set.Labels {
		if !train[i] {
			f.rows[1]++
			continue
		}
		f.rows[0]++
		f.priors[y]++
		row := b.codes[i*features:][:features]
		for _, code := range row[:categories] {
			f.counts[int(code)*classes+y]++
		}
		for k, code := range row[categories:] {
			f.means[k*classes+y] += b.numbers[k][int(code)-b.starts[categories+k]]
		}
	}
	for j := range f.means {
		f.means[j] /= max(f.priors[j%classes], 1)
	}
	for i, y := range b.set.Labels {
		if !train[i] {
			continue
		}
		for k := range b.numbers {
			d := b.numbers[k][int(b.codes[i*features+categories+k])-b.starts[categories+k]] - f.means[k*classes+y]
			f.sds[k*classes+y] += d * d
		}
	}
	for j := range f.sds {
		f.sds[j] = max(math.Sqrt(f.sds[j]/max(f.priors[j%classes], 1)), leastDeviation)
	}
	return f
}

// smallest is the logarithm of half the smallest positive float64: the authors' program takes
// the logarithm of a density, which is 0 below that.
const smallest = -745.1332191019412

// draw adds noise to all that was learned and returns the shares of errors.
func (f *bayesFit) draw(r *rand.Rand, n Noise) (in, out float64) {
	classes, categories := f.set.Classes, len(f.set.Categories)
	priors := f.logPriors
	for y, count := range f.priors {
		priors[y] = math.Inf(-1)
		if count > 0 {
			priors[y] = math.Log(max(n.Add(r, count, 1), leastCount))
		}
	}
	for j, count := range f.counts {
		// A value that no one of a class has is impossible there, and told to be: it has no noise.
		f.likely[j] = math.Inf(-1)
		if count > 0 {
			f.likely[j] = math.Log(max(n.Add(r, count, 1), leastCount)) - priors[j%classes]
		}
	}
	for k, values := range f.numbers {
		for y := range classes {
			mean := n.Add(r, f.means[k*classes+y], math.Ceil(f.rangeOf[k]/f.Bayes.counts[y]))
			sd := max(n.Add(r, f.sds[k*classes+y], math.Ceil(f.rangeOf[k]/math.Sqrt(f.Bayes.counts[y]))), leastDeviation)
			factor := -math.Log(math.Sqrt(2*math.Pi) * sd)
			likely := f.likely[f.starts[categories+k]*classes+y:]
			for i, v := range values {
				z := (v - mean) / sd
				l := factor - z*z/2
				if l < smallest {
					l = math.Inf(-1)
				}
				likely[i*classes] = l
			}
		}
	}
	return f.errors()
}

// errors predicts the class of every row: the likeliest, the first among equals.
func (f *bayesFit) errors() (in, out float64) {
	features := len(f.starts) - 1
	var wrong [2]float64
	for i, y := range f.set.Labels {
		if f.likeliest(f.codes[i*features:][:features]) == y {
			continue
		}
		if f.train[i] {
			wrong[0]++
		} else {
			wrong[1]++
		}
	}
	return wrong[0] / f.rows[0], wrong[1] / f.rows[1]
}

func (f *bayesFit) likeliest(row []int32) int {
	sums := f.sums
	copy(sums, f.logPriors)
	for _, code := range row {
		for c, l := range f.likely[int(code)*len(sums):][:len(sums)] {
			sums[c] += l
		}
	}
	best := 0
	for c, l := range sums {
		if l > sums[best] {
			best = c
		}
	}
	return best
}
