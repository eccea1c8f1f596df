// SPDX-License-Identifier: Apache-2.0

// Package counts designs strategies for workloads of counts: it makes tr(W J⁻¹ Wᵀ) small over mixtures of
// answers whose probabilities are w or w·e^ε, J being the information of an answer about equally
// frequent categories (docs/proofs/counts.md).
package counts

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/counts"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
)

const (
	// Gap is the relative distance of the variance from the bound, at which a design ends.
	Gap = 1.5e-3
	// stalled is the relative gain of three rounds at which one without a bound ends.
	stalled = 1e-3
	rounds  = 60
	steps   = 60 // of the weights in a round, and more where a bound is to meet it
	closer  = 200
	// priced is the most answers that a round adds.
	priced = 300
	// negligible is the weight, relative to the largest, below which an answer is left out.
	negligible = 1e-6
)

// set is the categories with the larger probability of an answer.
type set [2]uint64

func (s set) has(j int) bool    { return s[j>>6]>>(j&63)&1 == 1 }
func (s set) flipped(j int) set { s[j>>6] ^= 1 << (j & 63); return s }
func (s set) size() int         { return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) }
func (s set) members(k int) []int { // in ascending order
	list := make([]int, 0, s.size())
	for j := range k {
		if s.has(j) {
			list = append(list, j)
		}
	}
	return list
}

// designer has the answers that are mixed, with the probability w of each to a category that its
// set has not, and w·(1 + c) to one that it has.
type designer struct {
	k       int
	c       float64
	gram    *mat.SymDense // of the workload
	sets    []set
	members [][]int
	weights []float64
	prices  []float64 // of the probabilities of a category
	random  *rand.Rand
}

// Design returns a strategy with nearly the least total variance. Up to limits.CountProved categories
// it comes with multipliers of a lower bound. The error wraps dp.ErrInvalid or is that of the context.
func Design(ctx context.Context, p counts.Problem) (*counts.Verified, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	d := newDesigner(p)
	best, dual, err := d.search(ctx)
	if err != nil {
		return nil, err
	}
	rows := best.rows(p.Epsilon)
	if rows == nil {
		return nil, check.Field("lp", "epsilon", p.Epsilon, "one for which probabilities differ by more than their rounding to 2^-64")
	}
	s, err := counts.New(counts.Spec{Problem: p, Rows: rows, Dual: dual})
	if err != nil {
		return nil, err
	}
	return s.Verify()
}

func newDesigner(p counts.Problem) *designer {
	k := max(p.Count, len(p.Labels))
	// Where searches start decides about no claim, and is the same every time.
	random := rand.New(rand.NewPCG(1, uint64(k))) //nolint:gosec // see above
	d := &designer{k: k, c: math.Expm1(p.Epsilon), gram: mat.NewSymDense(k, nil), random: random}
	trace := 0.0
	for _, q := range p.Workload.Matrix(k) {
		for i, a := range q {
			trace += a * a
			for j := range i + 1 {
				d.gram.SetSym(i, j, d.gram.At(i, j)+a*q[j])
			}
		}
	}
	// What no query is about is estimated too, so that information is not singular.
	for i := range k {
		d.gram.SetSym(i, i, d.gram.At(i, i)+1e-6*trace/float64(k))
	}
	seen := map[set]bool{}
	add := func(s set) {
		if n := s.size(); n > 0 && n < k && !seen[s] {
			seen[s] = true
			d.add(s)
		}
	}
	for first := range k { // intervals on a circle
		s := set{}
		for length := range k - 1 {
			s = s.flipped((first + length) % k)
			add(s)
		}
	}
	for period := 2; period <= k; period *= 2 { // square waves
		for phase := range period {
			s, rest := set{}, set{}
			for j := range k {
				if (j+phase*k/period/2)*period/k%2 == 0 {
					s = s.flipped(j)
				} else {
					rest = rest.flipped(j)
				}
			}
			add(s)
			add(rest)
		}
	}
	for y := range d.weights {
		d.weights[y] = 1 / (float64(len(d.weights)) * d.mean(y))
	}
	d.prices = slices.Repeat([]float64{trace}, k)
	return d
}

func (d *designer) add(s set) {
	d.sets, d.members, d.weights = append(d.sets, s), append(d.members, s.members(d.k)), append(d.weights, 0)
}

// mean is the mean over the categories of the probability of an answer, over its weight.
func (d *designer) mean(y int) float64 { return 1 + d.c*float64(len(d.members[y]))/float64(d.k) }

// moments returns Σ_y a_y·v_y·v_yᵀ, for v = 1 + c·1_S.
func (d *designer) moments(of func(y int) float64) *mat.SymDense {
	total, line, quad := 0.0, make([]float64, d.k), make([]float64, d.k*d.k)
	for y, list := range d.members {
		a := of(y)
		total += a
		for n, i := range list {
			line[i] += a
			row := quad[i*d.k : (i+1)*d.k]
			for _, j := range list[:n+1] {
				row[j] += a
			}
		}
	}
	out := mat.NewSymDense(d.k, nil)
	for i := range d.k {
		for j := range i + 1 {
			out.SetSym(i, j, total+d.c*(line[i]+line[j])+d.c*d.c*quad[i*d.k+j])
		}
	}
	return out
}

// form is a quadratic one, m, with what of it is needed for 1 + c·1_S.
type form struct {
	m    *mat.Dense
	line []float64 // m·1
	all  float64   // 1ᵀm1
}

func newForm(m *mat.Dense) form {
	k, _ := m.Dims()
	f := form{m, make([]float64, k), 0}
	for i := range k {
		for _, x := range m.RawRowView(i) {
			f.line[i] += x
		}
		f.all += f.line[i]
	}
	return f
}

func (f form) at(list []int, c float64) float64 {
	line, quad := 0.0, 0.0
	for n, i := range list {
		line += f.line[i]
		row := f.m.RawRowView(i)
		quad += row[i]
		for _, j := range list[:n] {
			quad += 2 * row[j]
		}
	}
	return f.all + 2*c*line + c*c*quad
}

// price returns μ·v for the prices μ.
func (d *designer) price(list []int) (sum float64) {
	for _, x := range d.prices {
		sum += x
	}
	for _, j := range list {
		sum += d.c * d.prices[j]
	}
	return sum
}

// state is what the weights amount to.
type state struct {
	inverse *mat.Dense // of the information J
	value   float64    // tr(G J⁻¹)
	gain    form       // J⁻¹ G J⁻¹
}

// look returns nil where the information is singular.
func (d *designer) look() *state {
	information := d.moments(func(y int) float64 { return d.weights[y] / d.mean(y) })
	var c mat.Cholesky
	if !c.Factorize(information) {
		return nil
	}
	var symmetric mat.SymDense
	if err := c.InverseTo(&symmetric); err != nil {
		return nil
	}
	var inverse, product, gain mat.Dense
	inverse.CloneFrom(&symmetric)
	product.Mul(&inverse, d.gram)
	gain.Mul(&product, &inverse)
	return &state{&inverse, mat.Trace(&product), newForm(&gain)}
}

// step multiplies weights by √(g/(μ·v)), g being the gain of an answer over its mean, with the prices μ for
// which probabilities sum to 1 again: those that make Σμ_j − 2·Σ_y w_y·√(g_y·μv_y) least.
func (d *designer) step(s *state, precision float64) bool {
	root := make([]float64, len(d.sets))
	for y := range root {
		root[y] = d.weights[y] * math.Sqrt(max(0, s.gain.at(d.members[y], d.c)/d.mean(y)))
	}
	cost := make([]float64, len(d.sets))
	value := func() float64 {
		sum := 0.0
		for _, x := range d.prices {
			sum += x
		}
		for y, list := range d.members {
			if cost[y] = d.price(list); !(cost[y] > 0) {
				return math.Inf(1)
			}
			sum -= 2 * root[y] * math.Sqrt(cost[y])
		}
		return sum
	}
	now := value()
	if math.IsInf(now, 0) || math.IsNaN(now) {
		return false
	}
	for range 60 {
		short := mat.NewVecDense(d.k, nil) // Σ_y w_y·v_y − 1
		total := 0.0
		for y, list := range d.members {
			w := root[y] / math.Sqrt(cost[y])
			total += w
			for _, j := range list {
				short.SetVec(j, short.AtVec(j)+w*d.c)
			}
		}
		worst := 0.0
		for j := range d.k {
			short.SetVec(j, short.AtVec(j)+total-1)
			worst = max(worst, math.Abs(short.AtVec(j)))
		}
		if worst <= precision {
			break
		}
		curve := d.moments(func(y int) float64 { return root[y] / (2 * cost[y] * math.Sqrt(cost[y])) })
		ridge := 1e-14 * mat.Trace(curve)
		for j := range d.k {
			curve.SetSym(j, j, curve.At(j, j)+ridge)
		}
		var c mat.Cholesky
		var move mat.VecDense
		if !c.Factorize(curve) || c.SolveVecTo(&move, short) != nil {
			return false
		}
		before, slope := slices.Clone(d.prices), mat.Dot(short, &move)
		for length := 1.0; ; length /= 2 {
			for j := range d.prices {
				d.prices[j] = before[j] + length*move.AtVec(j)
			}
			if next := value(); next <= now-0.25*length*slope+1e-12*math.Abs(now) {
				now = next
				break
			}
			if length < 1e-9 {
				return false
			}
		}
	}
	for y := range d.weights {
		d.weights[y] = root[y] / math.Sqrt(cost[y])
	}
	return true
}

func (d *designer) steps() int {
	if d.k <= limits.CountProved {
		return closer
	}
	return steps
}

// search refines the weights, and adds answers that are worth more than their price.
func (d *designer) search(ctx context.Context) (best *designer, dual *counts.Dual, err error) {
	lower, history := math.Inf(-1), []float64{}
	offset := mat.Trace(d.gram) / float64(d.k)
	for round := range rounds {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		s := d.look()
		for range d.steps() {
			if s == nil || !d.step(s, 1e-7) {
				break
			}
			s = d.look()
		}
		if s == nil || !d.step(s, 1e-12) {
			break
		}
		if s = d.look(); s == nil {
			break
		}
		best = d.copy()
		found, excess := d.dearest(s)
		bound := 2*s.value - excess
		for _, x := range d.prices {
			bound -= x
		}
		if bound > lower {
			lower = bound
			if d.k <= limits.CountProved {
				dual = d.dual(s)
			}
		}
		history = append(history, s.value-offset)
		if s.value-lower < Gap*(s.value-offset) || len(found) == 0 {
			break
		}
		if d.k > limits.CountProved && round >= 3 && history[round-3]-history[round] < stalled*history[round] {
			break
		}
		d.trim(negligible)
		d.insert(found)
	}
	if best == nil {
		return nil, nil, check.Field("lp", "epsilon", math.Log1p(d.c), "one for which answers tell categories apart")
	}
	best.trim(negligible)
	if s := best.look(); s != nil {
		best.step(s, 1e-13)
	}
	return best, dual, nil
}

func (d *designer) copy() *designer {
	e := *d
	e.sets, e.members, e.weights, e.prices = slices.Clone(d.sets), slices.Clone(d.members), slices.Clone(d.weights), slices.Clone(d.prices)
	return &e
}

// trim leaves out answers of a weight below a part of the largest, and so many that a file has place.
func (d *designer) trim(part float64) {
	order := make([]int, len(d.sets))
	for y := range order {
		order[y] = y
	}
	weight := func(y int) float64 { return d.weights[y] * d.mean(y) }
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case weight(a) > weight(b):
			return -1
		case weight(a) < weight(b):
			return 1
		}
		return 0
	})
	least := part * weight(order[0])
	sets, weights := d.sets, d.weights
	d.sets, d.members, d.weights = nil, nil, nil
	for n, y := range order {
		if n >= limits.CountWeights/d.k || weights[y]*(1+d.c*float64(sets[y].size())/float64(d.k)) < least {
			break
		}
		d.add(sets[y])
		d.weights[n] = weights[y]
	}
}

// insert adds answers, which take a tenth of the probability.
func (d *designer) insert(found []set) {
	have := make(map[set]bool, len(d.sets))
	for _, s := range d.sets {
		have[s] = true
	}
	var fresh []set
	for _, s := range found {
		if !have[s] {
			have[s] = true
			fresh = append(fresh, s)
		}
	}
	for y := range d.weights {
		d.weights[y] *= 0.9
	}
	for _, s := range fresh {
		d.add(s)
		y := len(d.sets) - 1
		d.weights[y] = 0.1 / (float64(len(fresh)) * d.mean(y))
	}
}

// dual returns the multipliers of the bound at the present weights, with few digits.
func (d *designer) dual(s *state) *counts.Dual {
	slopes := make([][]float64, d.k)
	for i := range slopes {
		slopes[i] = slices.Clone(s.inverse.RawRowView(i))
	}
	short(slopes...)
	prices := slices.Clone(d.prices)
	short(prices)
	return &counts.Dual{Slopes: slopes, Prices: prices}
}

// short rounds numbers to 44 binary digits of the largest.
func short(lists ...[]float64) {
	top := 0.0
	for _, list := range lists {
		for _, x := range list {
			top = max(top, math.Abs(x))
		}
	}
	unit := math.Ldexp(1, math.Ilogb(top)-43)
	for _, list := range lists {
		for i, x := range list {
			list[i] = math.RoundToEven(x/unit) * unit
		}
	}
}
