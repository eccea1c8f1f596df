// SPDX-License-Identifier: Apache-2.0

package drolearn

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Descent is proximal coordinate descent for logistic regression with an l1 penalty, with the
// parameters of the authors' program: 100 rounds, in each of which a quarter of the
// coordinates, at random, move once by a step of 1. The sum of the gradients is divided by
// the number of rows only after the noise. A round ends at the mean of the points that it
// went through, from a start that is uniform in [−1, 1]^d.
type Descent struct {
	set *Set
	// columns have the intercept first. Numbers, and indicators of the values of a
	// category but one, are centered and divided by their largest magnitude.
	columns [][]float64
	labels  []float64 // −1 or 1
}

const (
	rounds  = 100
	penalty = 1e-8
)

// GradientSensitivity is how far a replaced row moves a component of the sum: each is within ±1.
const GradientSensitivity = 2

// NewDescent prepares a set of two classes.
func NewDescent(s *Set) *Descent {
	d := &Descent{set: s, columns: [][]float64{slices.Repeat([]float64{1}, s.Rows)}, labels: make([]float64, s.Rows)}
	for i, y := range s.Labels {
		d.labels[i] = float64(2*y - 1)
	}
	for _, column := range s.Numbers {
		d.columns = append(d.columns, centered(column))
	}
	for f, codes := range s.Categories {
		for v := 1; v < s.Values[f]; v++ {
			indicator := make([]float64, s.Rows)
			for i, code := range codes {
				if code == v {
					indicator[i] = 1
				}
			}
			d.columns = append(d.columns, centered(indicator))
		}
	}
	return d
}

// centered moves the mean to 0 and scales the largest magnitude to 1; numbers differ.
func centered(column []float64) []float64 {
	mean, most := 0.0, 0.0
	for _, v := range column {
		mean += v / float64(len(column))
	}
	for _, v := range column {
		most = max(most, math.Abs(v-mean))
	}
	out := make([]float64, len(column))
	for i, v := range column {
		out[i] = (v - mean) / most
	}
	return out
}

// Dimensions is the number of coordinates, the intercept among them.
func (d *Descent) Dimensions() int { return len(d.columns) }

// Releases is how many gradients are asked for: a person enters all of them.
func (d *Descent) Releases() int { return rounds * d.steps() }

// steps is the number of coordinates that move in a round.
func (d *Descent) steps() int { return (len(d.columns) + 3) / 4 }

// descentFit is the training rows of a split, and the others.
type descentFit struct {
	*Descent
	signed [][]float64 // label × column of the training rows
	labels []float64   // of the training rows
	test   []int
	each   func(gradient float64) // or nil

	// Of the last run.
	point, mean      []float64
	margins, average []float64 // label × prediction of the training rows, at the point and at the mean
}

func (d *Descent) learn(train []bool) trial { return d.fit(train) }

func (d *Descent) fit(train []bool) *descentFit {
	f := &descentFit{Descent: d, signed: make([][]float64, len(d.columns))}
	for i, learned := range train {
		if !learned {
			f.test = append(f.test, i)
			continue
		}
		f.labels = append(f.labels, d.labels[i])
		for j, column := range d.columns {
			f.signed[j] = append(f.signed[j], d.labels[i]*column[i])
		}
	}
	f.mean, f.point = make([]float64, len(d.columns)), make([]float64, len(d.columns))
	f.margins, f.average = make([]float64, len(f.labels)), make([]float64, len(f.labels))
	return f
}

// draw runs once and returns the shares of errors: of the training rows, and of the others.
func (f *descentFit) draw(r *rand.Rand, n Noise) (in, out float64) {
	f.descend(r, n)
	wrong := 0.0
	for i, m := range f.average {
		if m < 0 || m == 0 && f.labels[i] < 0 { // 0 predicts 1
			wrong++
		}
	}
	in = wrong / float64(len(f.labels))
	wrong = 0
	for _, i := range f.test {
		sum := 0.0
		for j, w := range f.mean {
			sum += w * f.columns[j][i]
		}
		if (sum >= 0) != (f.Descent.labels[i] > 0) {
			wrong++
		}
	}
	return in, wrong / float64(len(f.test))
}

// descend leaves the last mean, and its margins.
//
// The k-th step of K adds its move to the K − k + 1 points from it on, so the mean moves by (K −
// k + 1)/K of it, and predictions with it: they are never computed from all coordinates again.
func (f *descentFit) descend(r *rand.Rand, n Noise) {
	rows := float64(len(f.labels))
	steps := f.steps()
	for j := range f.mean {
		f.mean[j] = 2*r.Float64() - 1
	}
	clear(f.average)
	for j, w := range f.mean {
		for i, x := range f.signed[j] {
			f.average[i] += w * x
		}
	}
	order := make([]int, len(f.mean))
	for j := range order {
		order[j] = j
	}
	for range rounds {
		copy(f.point, f.mean)
		copy(f.margins, f.average)
		for k := range steps {
			// The first steps of a shuffle are enough.
			at := k + r.IntN(len(order)-k)
			order[k], order[at] = order[at], order[k]
			j := order[k]
			column := f.signed[j]
			gradient := 0.0
			for i, m := range f.margins[:len(column)] {
				gradient -= column[i] * logistic(-m)
			}
			if f.each != nil {
				f.each(gradient)
			}
			moved := f.point[j] - n.Add(r, gradient, GradientSensitivity)/rows
			moved = math.Copysign(max(0, math.Abs(moved)-penalty), moved)
			by, share := moved-f.point[j], float64(steps-k)/float64(steps)
			f.point[j] = moved
			f.mean[j] += share * by
			margins, average := f.margins[:len(column)], f.average[:len(column)]
			for i, x := range column {
				margins[i] += by * x
				average[i] += share * by * x
			}
		}
	}
}

// logistic returns 1/(1 + e^−x) with an error below 2e-7, by linear interpolation: it takes
// nearly all of the time. The second derivative is at most 0.0963.
func logistic(x float64) float64 {
	at := (x + logisticReach) * logisticSteps
	if !(at > 0) {
		return 0
	}
	if at >= float64(len(logisticTable)-1) {
		return 1
	}
	i := int(at)
	low := logisticTable[i]
	return low + (at-float64(i))*(logisticTable[i+1]-low)
}

const logisticReach, logisticSteps = 20, 256

var logisticTable = func() (t [2*logisticReach*logisticSteps + 1]float64) {
	for i := range t {
		t[i] = 1 / (1 + math.Exp(logisticReach-float64(i)/logisticSteps))
	}
	return t
}()
