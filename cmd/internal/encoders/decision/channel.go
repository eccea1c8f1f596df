// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// law is the joint probability of cell and class, a row for each cell.
type law [][]float64

func (p law) classes() int { return len(p[0]) }

// share returns the probability of a cell.
func (p law) share(cell int) float64 { return floats.Sum(p[cell]) }

// worth returns what an answer is worth that is given together with the classes with these probabilities:
// the largest Σ_l a_l·r_l over the readings r that there are, the logarithms of all laws of classes, which
// is less the cross entropy; and that reading, the posterior's.
func worth(a []float64) (value float64, reading []float64) {
	sum := floats.Sum(a)
	reading = make([]float64, len(a))
	for l, v := range a {
		reading[l] = math.Log(max(v/sum, 1e-300))
	}
	return floats.Dot(a, reading), reading
}

// column is an answer: up to a factor, its probability given each cell is 1 or e^ε. Every
// mechanism that is ε-private is a mixture of such.
type column struct {
	high   []bool
	at     []float64 // the probabilities, of the mean 1
	worth  float64
	masses []float64 // of the classes
}

// channel is the linear programme of the best mechanism: weights w of columns v with Σ w·v = 1 in
// each cell and the largest Σ w·worth(v). As all columns have the mean 1, so has w the sum 1.
type channel struct {
	law     law
	ratio   float64 // e^ε
	basis   []column
	weights []float64
	prices  []float64 // of the cells
	// moved are what the sums of cells are moved by, so that no step is of length 0 and none goes in
	// circles: so little that integers makes up for it.
	moved []float64
}

func (c *channel) newColumn(high []bool) column {
	m, in := len(high), 0
	for _, h := range high {
		if h {
			in++
		}
	}
	low := float64(m) / (float64(in)*c.ratio + float64(m-in))
	v := column{high: high, at: make([]float64, m), masses: make([]float64, c.law.classes())}
	for i, h := range high {
		if v.at[i] = low; h {
			v.at[i] = low * c.ratio
		}
		floats.AddScaled(v.masses, v.at[i], c.law[i])
	}
	v.worth, _ = worth(v.masses)
	return v
}

// gain is the reduced worth of a column.
func (c *channel) gain(v column) float64 { return v.worth - floats.Dot(c.prices, v.at) }

const (
	enough = 1e-8 // gains that are not worth a step, in units of the worth
	// mostPivots ends a search that goes round in circles; the mechanism is then still one.
	mostPivots = 4000
)

// design solves the programme by the simplex method with columns that are made when they are
// needed. It starts at randomized response on the cells. gap bounds what is left, if pricing finds
// the best column: it does, to a fine grid, for two classes.
func design(ctx context.Context, p law, epsilon float64) (c *channel, gap float64, err error) {
	m := len(p)
	c = &channel{law: p, ratio: math.Exp(epsilon)}
	for i := range m {
		high := make([]bool, m)
		high[i] = true
		c.basis = append(c.basis, c.newColumn(high))
	}
	r := rand.New(rand.NewPCG(uint64(m), uint64(p.classes()))) //nolint:gosec // starts of a search
	for range m {
		c.moved = append(c.moved, 4e-9*r.Float64())
	}
	var pool []column
	for range mostPivots {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		factors, err := c.solve()
		if err != nil {
			return nil, 0, err
		}
		best := c.best(pool)
		if best < 0 {
			pool = c.price(r)
			if best = c.best(pool); best < 0 {
				return c, 0, nil
			}
		}
		if gap = c.gain(pool[best]); !c.pivot(factors, pool[best]) {
			return c, gap, nil
		}
	}
	return c, gap, nil
}

// best returns the column of the largest gain that is enough, or -1.
func (c *channel) best(pool []column) int {
	best, most := -1, enough
	for i, v := range pool {
		if g := c.gain(v); g > most {
			best, most = i, g
		}
	}
	return best
}

// solve computes the weights of the basis, and the prices.
func (c *channel) solve() (*mat.LU, error) {
	m := len(c.basis)
	b, ones, worth := mat.NewDense(m, m, nil), mat.NewVecDense(m, nil), mat.NewVecDense(m, nil)
	for j, v := range c.basis {
		for i, x := range v.at {
			b.Set(i, j, x)
		}
		ones.SetVec(j, 1+c.moved[j])
		worth.SetVec(j, v.worth)
	}
	var lu mat.LU
	lu.Factorize(b)
	var w, y mat.VecDense
	if lu.SolveVecTo(&w, false, ones) != nil && lu.Cond() > 1e15 || lu.SolveVecTo(&y, true, worth) != nil && lu.Cond() > 1e15 {
		return nil, check.Errorf("decision", nil, "the programme of the randomizer is singular")
	}
	c.weights, c.prices = w.RawVector().Data, y.RawVector().Data
	return &lu, nil
}

// pivot takes a column into the basis, in the place of the one whose weight is 0 first.
func (c *channel) pivot(lu *mat.LU, v column) bool {
	var d mat.VecDense
	_ = lu.SolveVecTo(&d, false, mat.NewVecDense(len(v.at), v.at)) // as in solve
	out, least := -1, math.Inf(1)
	for j, w := range c.weights {
		if step := d.AtVec(j); step > 1e-10 {
			if ratio := max(w, 0) / step; ratio < least || ratio == least && step > d.AtVec(out) {
				out, least = j, ratio
			}
		}
	}
	if out < 0 {
		return false
	}
	c.basis[out] = v
	return true
}

// fewCells are so few that all columns are tried.
const fewCells = 10

// price returns columns of positive gain: of few cells all there are; otherwise, for each reading those cells are high whose worth by it
// exceeds their price, and the reading of that column is tried in turn.
func (c *channel) price(r *rand.Rand) (pool []column) {
	if m := len(c.law); m <= fewCells {
		for set := range 1 << m {
			high := make([]bool, m)
			for i := range high {
				high[i] = set>>i&1 == 1
			}
			if v := c.newColumn(high); c.gain(v) > enough {
				pool = append(pool, v)
			}
		}
		return pool
	}
	seen := map[string]bool{}
	for _, reading := range c.readings(r) {
		for range 12 {
			high, key := make([]bool, len(c.law)), make([]byte, len(c.law))
			for i, p := range c.law {
				if high[i] = floats.Dot(p, reading) > c.prices[i]; high[i] {
					key[i] = 1
				}
			}
			if seen[string(key)] {
				break
			}
			seen[string(key)] = true
			v := c.newColumn(high)
			if c.gain(v) > enough {
				pool = append(pool, v)
			}
			_, reading = worth(v.masses)
		}
	}
	return pool
}

// readings are those to start from: a grid for two classes, and otherwise those of the basis, of every
// two classes alike, and some at random.
func (c *channel) readings(r *rand.Rand) (list [][]float64) {
	k := c.law.classes()
	if k == 2 {
		for x := -30.0; x <= 30; x += 0.05 {
			list = append(list, []float64{-math.Log1p(math.Exp(x)), -math.Log1p(math.Exp(-x))})
		}
		return list
	}
	for _, v := range c.basis {
		_, reading := worth(v.masses)
		list = append(list, reading)
	}
	for l := range k {
		for other := range l {
			reading := slices.Repeat([]float64{math.Log(1e-3)}, k)
			reading[l], reading[other] = math.Log(0.5), math.Log(0.5)
			list = append(list, reading)
		}
	}
	for range 4 * k {
		reading, sum := make([]float64, k), 0.0
		for l := range reading {
			reading[l] = math.Pow(r.Float64(), 4) + 1e-6
			sum += reading[l]
		}
		for l, v := range reading {
			reading[l] = math.Log(v / sum)
		}
		list = append(list, reading)
	}
	return list
}

// integers returns the mechanism in weights that sum to 2^64 in each row, for answers of some
// weight: of each answer the least probability is rounded and the others are ratio times that,
// rounded down. The rest of a row is added to its largest weight, which it changes far less than
// room (newRandomizer) allows.
func (c *channel) integers() [][]uint64 {
	rows := make([][]*big.Int, len(c.law))
	ratio := exact.Rational(c.ratio)
	for j, v := range c.basis {
		if c.weights[j] <= 1e-12 {
			continue
		}
		low := exact.Floor(exact.Rational(max(1, math.Round(c.weights[j]*slices.Min(v.at)*0x1p64))))
		high := new(big.Rat).SetInt(low)
		for i, up := range v.high {
			w := low
			if up {
				w = exact.Floor(new(big.Rat).Mul(high, ratio))
			}
			rows[i] = append(rows[i], w)
		}
	}
	out := make([][]uint64, len(rows))
	for i, row := range rows {
		most, rest := 0, new(big.Int).Lsh(big.NewInt(1), 64)
		for j, w := range row {
			rest.Sub(rest, w)
			if w.Cmp(row[most]) > 0 {
				most = j
			}
		}
		row[most] = new(big.Int).Add(row[most], rest)
		for _, w := range row {
			out[i] = append(out[i], w.Uint64())
		}
	}
	return out
}
