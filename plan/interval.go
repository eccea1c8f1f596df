// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/quadrature"
)

// Radii returns how far the answers may be from the truth: the error of the answer to each query, of
// Marginals of each table's cells, is larger with a probability of at most miss, on both sides together.
//
// The error of an answer is a sum of independent noises times numbers (docs/proofs/plan.md, Intervals).
// Where it is a sum of at most a dozen with one law, these are convolved; normal noise alone has its
// quantile; of all else the characteristic function is inverted, or where that is too much work Chernoff's
// bound taken, which is wider. It is in float64, rounded outwards by a part in 10^6, which is
// more than the answers of Decode are off.
func (p *Plan) Radii(miss float64) ([]float64, error) {
	if !(miss > 0 && miss < 1) {
		return nil, check.Field("plan", "miss", miss, "a probability above 0 and below 1")
	}
	r := &radii{plan: p, miss: miss, sums: map[int64]float64{}, known: map[string]float64{}}
	for i := range p.spec.Measurements {
		var e *envelope
		if l := p.spec.Measurements[i].Noise; l != nil {
			e = newEnvelope(l)
			e.spectrum = newSpectrum(l)
		}
		r.laws = append(r.laws, e)
	}
	if p.spec.Workload.Kind == Marginals {
		return r.marginals(), nil
	}
	return r.dense()
}

type radii struct {
	plan  *Plan
	miss  float64
	laws  []*envelope // of the measurements, nil for normal noise
	sums  map[int64]float64
	known map[string]float64 // radii by the terms of their parts
	work  int                // of characteristic functions so far
}

// part is what the noise of a measurement has in an error.
type part struct {
	squares, largest float64 // of the numbers that it is multiplied with: Σh² and max |h|
	absolute         float64 // Σ|h|
	terms            []term  // of noise of a law, the largest first
}

// outward is by how much a radius is rounded up: of itself, and of the answers' scale 1.
func outward(x float64) float64 { return x * (1 + 1e-6) }

// whole returns the law of the only measurement, if that is of the cells themselves: then answers are
// sums of what was measured.
func (s *Spec) whole() *Law {
	m := &s.Measurements[0]
	if len(s.Measurements) > 1 || m.Kind != Partition || m.Attributes == nil && m.Block > 1 {
		return nil
	}
	return m.Noise
}

// ofSum returns the radius of a sum of n noises of the only law, or ok = false if that is too much work.
func (r *radii) ofSum(n int64) (radius float64, ok bool) {
	if x, known := r.sums[n]; known {
		return x, x >= 0
	}
	x, ok := r.plan.spec.whole().radius(n, r.miss)
	if !ok {
		parts := []part{{squares: float64(n), largest: 1}}
		start, rest := math.Floor(r.chernoff(parts, r.miss)), r.miss*1e-4
		if x, ok = start, r.laws[0].spectrum != nil; ok {
			x = r.laws[0].spectrum.ofSum(n, r.miss, start, math.Ceil(r.chernoff(parts, rest)), rest)
		}
	}
	if !ok {
		x = -1
	}
	r.sums[n] = x
	return x, ok
}

// of returns the radius of an error with these parts.
func (r *radii) of(parts []part) float64 {
	x := r.tail(parts)
	if r.plan.spec.whole() != nil { // then the error is a whole number
		x = math.Floor(x)
	}
	return x
}

func (r *radii) tail(parts []part) float64 {
	normal, rounding, work := 0.0, 0.0, 0
	for i, p := range parts {
		switch {
		case p.largest == 0:
		case r.laws[i] == nil:
			normal += p.squares
			rounding += p.absolute / 2
		case r.laws[i].spectrum == nil || len(p.terms) == 0:
			return outward(r.chernoff(parts, r.miss) + rounding)
		default:
			work += len(p.terms)
		}
	}
	if work == 0 {
		return outward(math.Sqrt(2*normal)*math.Erfcinv(r.miss) + rounding)
	}
	name := fmt.Sprint(normal, rounding)
	for _, p := range parts {
		name += fmt.Sprint(p.terms)
	}
	if x, known := r.known[name]; known {
		return x
	}
	x, rest := r.chernoff(parts, r.miss), r.miss*1e-4
	if r.work < maxInverted {
		m := &mixture{parts: parts, laws: r.laws, normal: normal}
		x = m.inverted(r.miss, x, r.chernoff(parts, rest), rest)
		r.work += m.work
	}
	r.known[name] = outward(x + rounding)
	return r.known[name]
}

// maxInverted bounds the evaluations of characteristic functions for all answers, some seconds.
const maxInverted = 1 << 28

// chernoff returns a radius of an error without the rounding of normal noise.
func (r *radii) chernoff(parts []part, miss float64) float64 {
	normal, variance, top := 0.0, 0.0, math.Inf(1)
	for i, p := range parts {
		e := r.laws[i]
		switch {
		case p.largest == 0:
		case e == nil:
			normal += p.squares
		default:
			variance += 2 * p.squares * e.first
			top = min(top, e.end/p.largest)
		}
	}
	need := math.Log(2 / miss)
	bound := func(x float64) float64 { // Chernoff's, at the rate e^x
		rate := math.Exp(x)
		sum := rate * rate * normal / 2
		for i, p := range parts {
			if e := r.laws[i]; e != nil && p.largest > 0 {
				sum += rate * rate * p.squares * e.at(rate*p.largest)
			}
		}
		return (sum + need) / rate
	}
	guess := math.Sqrt(2 * need / (variance + normal))
	high := math.Log(min(64*guess, top)) - 1e-9
	low := min(math.Log(guess/64), high-1)
	_, best := quadrature.Minimum(bound, low, high, 20) // any rate gives a bound
	return best
}

// marginals: what a table's noise has in a cell's error is a sum of orthogonal components, so that their
// squares add up.
func (r *radii) marginals() []float64 {
	s := &r.plan.spec
	w := &s.Workload
	residual := s.Measurements[0].Kind == Residuals
	out := make([]float64, len(w.Sets))
	for q, set := range w.Sets {
		if s.whole() != nil {
			if x, ok := r.ofSum(w.others(*s.Measurements[0].Attributes, set)); ok {
				out[q] = x
				continue
			}
		}
		parts := make([]part, len(s.Measurements))
		weights := make([]map[string]float64, len(parts)) // of components in what a table is multiplied with
		for i := range weights {
			weights[i] = map[string]float64{}
		}
		Subsets(set, func(b []int) {
			others, own := float64(w.others(set, b)), 1.0
			for _, n := range w.sizes(b) {
				own *= 1 - 1/float64(n)
			}
			if residual {
				m := &s.Measurements[0]
				for k, sub := range m.Sets {
					if key(sub) == key(b) {
						d := m.Deviations[k] * (1 + 0x1p-46)
						parts[0].squares += d * d * own / (others * others)
						parts[0].absolute += 1 / others
						parts[0].largest = 1
					}
				}
				return
			}
			_, shares := r.plan.component(b)
			for i, share := range shares {
				if share > 0 {
					a := *s.Measurements[i].Attributes
					parts[i].squares += share * share * float64(w.others(a, b)) * own / (others * others)
					parts[i].largest += share * own / others
					weights[i][key(b)] = share / others
				}
			}
		})
		for i := range weights {
			if len(weights[i]) > 0 {
				parts[i].terms = w.tableTerms(*s.Measurements[i].Attributes, set, weights[i])
			}
		}
		out[q] = r.of(parts)
	}
	return out
}

// tableTerms returns what a cell of the table of a set multiplies the cells of a measured table with: Σ weight_B·Π_B
// ([same value] − 1/n) over subsets B of what both have, which is one number for each choice of where they agree.
func (w *Workload) tableTerms(measured, set []int, weights map[string]float64) []term {
	var both []int
	for _, a := range set {
		if slices.Contains(measured, a) {
			both = append(both, a)
		}
	}
	values, counts := make([]float64, 0, 1<<len(both)), []int64{w.others(measured, both)}
	Subsets(both, func(b []int) { values = append(values, weights[key(b)]) })
	for i, a := range both {
		n := w.Attributes[a].Size
		for at := range values {
			if at>>i&1 == 0 {
				without, with := values[at], values[at|1<<i]
				values[at], values[at|1<<i] = without-with/float64(n), without+with*(1-1/float64(n))
			}
		}
		counts = append(counts, counts...) // those that agree come after those that do not
		for at := range len(counts) / 2 {
			counts[at] *= int64(n - 1)
		}
	}
	terms := make([]term, len(values))
	for i, h := range values {
		terms[i] = term{math.Abs(h), counts[i]}
	}
	return grouped(terms)
}

// dense computes what the answers multiply noises with: rows of W·M⁻¹·Aᵀ·Ω.
func (r *radii) dense() ([]float64, error) {
	s := &r.plan.spec
	w := &s.Workload
	grams := make([][][]int64, len(s.Measurements))
	for i := range grams {
		grams[i], _ = s.gram(&s.Measurements[i])
	}
	matrix, err := s.matrix(grams)
	if err != nil {
		return nil, err
	}
	inverse, ok := approximate(matrix, s.pieces())
	if !ok {
		return nil, errRank()
	}
	// columns[k][c] adds up to cell c, for all that is measured, in the order of the measurements.
	var columns [][]float64
	var of []int
	for i := range s.Measurements {
		m := &s.Measurements[i]
		for k := range r.plan.rows(m) {
			sums := make([]float64, w.Cells+1)
			for c := range w.Cells {
				x := 0.0
				m.coefficients(k, w.Cells, func(j int, a float64) { x += inverse[c][j] * a })
				sums[c+1] = sums[c] + x*float64(m.Weight)
			}
			columns, of = append(columns, sums), append(of, i)
		}
	}
	out := make([]float64, w.Queries())
	each := func(q int, ones int64, coefficient func(sums []float64) float64) {
		if ones >= 0 && s.whole() != nil {
			if x, ok := r.ofSum(ones); ok {
				out[q] = x
				return
			}
		}
		parts := make([]part, len(s.Measurements))
		for k, sums := range columns {
			h, p := math.Abs(coefficient(sums)), &parts[of[k]]
			if d := s.Measurements[of[k]].Deviation; d > 0 {
				p.squares += h * h * d * d
			} else {
				p.squares += h * h
			}
			p.absolute += h
			p.largest = max(p.largest, h)
			if s.Measurements[of[k]].Noise != nil {
				p.terms = append(p.terms, term{h, 1})
			}
		}
		for i := range parts {
			parts[i].terms = grouped(parts[i].terms)
		}
		out[q] = r.of(parts)
	}
	if w.Kind != Matrix {
		w.intervals(func(q, a, b int) {
			each(q, int64(b-a), func(sums []float64) float64 { return sums[b] - sums[a] })
		})
		return out, nil
	}
	for q, row := range w.Rows {
		each(q, -1, func(sums []float64) (h float64) {
			for j, a := range row {
				h += float64(a) * (sums[j+1] - sums[j])
			}
			return h
		})
	}
	return out, nil
}

// rows returns how many numbers a measurement of cells measures.
func (p *Plan) rows(m *Measurement) int {
	if m.Kind == Partition {
		return p.spec.blocks(m)
	}
	return len(m.Rows)
}

// coefficients calls a function with those of the k-th row that are not 0.
func (m *Measurement) coefficients(k, cells int, do func(j int, a float64)) {
	if m.Kind == Partition {
		for j := k * m.Block; j < min(cells, (k+1)*m.Block); j++ {
			do(j, 1)
		}
		return
	}
	for j, a := range m.Rows[k] {
		if a != 0 {
			do(j, float64(a))
		}
	}
}

// envelope bounds the logarithm K of a law's moment generating function: K(s) <= s²·at(t) for |s| <= t.
type envelope struct {
	first  float64 // the limit of K(s)/s² at 0, half of the variance, or little more
	end    float64 // up to which it is finite here
	values []float64
	// spectrum is the characteristic function, nil if that is too much work.
	spectrum *spectrum
}

// The nodes of an envelope are end·ratio^(i−steps), i = 0 … steps.
const (
	envelopeRatio = 1.02
	envelopeSteps = 850
)

func newEnvelope(l *Law) *envelope {
	m := float64(len(l.Weights) - 1)
	e := &envelope{end: 600 / m, values: make([]float64, envelopeSteps+1)}
	if l.TailRatio > 0 {
		e.end = min(e.end, -0.98*math.Log(float64(l.TailRatio)*0x1p-64))
	}
	s := e.end * math.Pow(envelopeRatio, -envelopeSteps)
	before, k := s, l.coshMean(s)
	// (cosh(x) − 1)/x² grows with |x|, so this bounds K(u)/u² for u <= s.
	e.first = k / (s * s)
	e.values[0] = e.first
	k = math.Log1p(k)
	for i := 1; i <= envelopeSteps; i++ {
		s *= envelopeRatio
		next := math.Log1p(l.coshMean(s))
		// K is convex: below the chord a + b·u from before to s, of which the maximum over u² is at an
		// end, or −b²/(4a) between them.
		b := (next - k) / (s - before)
		a := k - b*before
		top := max(k/(before*before), next/(s*s))
		if a < 0 {
			top = max(top, -b*b/(4*a))
		}
		e.values[i] = max(e.values[i-1], top*(1+1e-9))
		before, k = s, next
	}
	return e
}

// at returns a bound of K(s)/s² for |s| <= t.
func (e *envelope) at(t float64) float64 {
	x := envelopeSteps + math.Log(t/e.end)/math.Log(envelopeRatio)
	switch i := int(math.Ceil(x + 1e-6)); {
	case i > envelopeSteps+1:
		return math.Inf(1)
	default:
		return e.values[min(max(i, 0), envelopeSteps)]
	}
}

// coshMean returns the mean of cosh(s·η) − 1, a little too large.
func (l *Law) coshMean(s float64) float64 {
	sum, last := 0.0, len(l.Weights)-1
	explicit := l.Weights[1:]
	if l.TailRatio > 0 {
		explicit = l.Weights[1:last]
	}
	for i, w := range explicit {
		x := math.Sinh(s * float64(i+1) / 2)
		sum += float64(w) * 0x1p-62 * x * x // two sides of 2·sinh²
	}
	if l.TailRatio > 0 { // of last + J, J geometric: E e^(s(last+J)) − 1 for s and −s
		rho, m := float64(l.TailRatio)*0x1p-64, float64(last)
		side := func(s float64) float64 {
			return ((1-rho)*math.Expm1(s*m) + rho*math.Expm1(s)) / (1 - rho*math.Exp(s))
		}
		up, down := side(s), side(-s)
		sum += float64(l.Weights[last]) * 0x1p-64 * (up + down + 0x1p-49*(math.Abs(up)+math.Abs(down)))
	}
	return sum * (1 + 1e-12)
}

// mostSummed bounds the noises of a sum that are convolved, and maxConvolved the work.
const (
	mostSummed   = 12
	maxConvolved = 1 << 28
)

// radius returns the least whole number that a sum of n noises exceeds in magnitude with a probability
// of at most miss, or ok = false if finding it is too much work.
func (l *Law) radius(n int64, miss float64) (radius float64, ok bool) {
	half := l.masses(miss * 1e-9)
	if n > mostSummed || n > 1 && int64(len(half))*int64(len(half))*4*n*n > maxConvolved {
		return 0, false
	}
	one := make([]float64, 2*len(half)-1) // from −(len−1) on
	beyond := 1.0
	for i, p := range half {
		one[len(half)-1+i], one[len(half)-1-i] = p, p
		if beyond -= p; i > 0 {
			beyond -= p
		}
	}
	sum := one
	for range n - 1 {
		next := make([]float64, len(sum)+len(one)-1)
		for i, p := range sum {
			for j, q := range one {
				next[i+j] += p * q
			}
		}
		sum = next
	}
	// What was cut off, with the rounding of all sums.
	middle, tail := len(sum)/2, float64(n)*(max(beyond, 0)+1e-14)
	for r := middle; r > 0; r-- {
		if tail += sum[middle+r] + sum[middle-r]; tail > miss {
			return float64(r), true
		}
	}
	return 0, true
}

// masses are the probabilities of 0, 1, 2, …, up to where less than cut is left on both sides together.
func (l *Law) masses(cut float64) (out []float64) {
	last := len(l.Weights) - 1
	out = make([]float64, last+1, last+2)
	for i, w := range l.Weights {
		out[i] = float64(w) * 0x1p-64
	}
	if l.TailRatio == 0 {
		return out
	}
	rho := float64(l.TailRatio) * 0x1p-64
	left := out[last]
	for out = out[:last]; 2*left > cut && len(out) < 1<<22; left *= rho {
		out = append(out, left*(1-rho))
	}
	return out
}
