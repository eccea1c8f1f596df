// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"math/big"
	"math/bits"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
)

// Certificate is what exact and outward-rounded arithmetic finds in a strategy. Variances are sums
// over the queries, times the number of people, of the unbiased estimate (docs/proofs/counts.md).
type Certificate struct {
	// DeltaUpper is the delta between any two categories, with e^epsilon rounded down.
	DeltaUpper *big.Rat
	// TotalVariance bounds the variance from above for data in which all categories are equally frequent.
	TotalVariance *big.Rat
	// WorstVariance bounds it for any data.
	WorstVariance *big.Rat
	// LowerBound bounds the variance from below, for the worst data and in the mean over data in which people
	// have independent, equally likely categories: of every estimate that is unbiased for all data, from
	// answers with the promise, whatever they are, and whatever earlier answers they depend on.
	LowerBound *big.Rat

	estimates bool // there are unbiased estimates
}

// Bounds implements proof.Certificate.
func (c Certificate) Bounds() proof.Bounds {
	return proof.Bounds{Delta: c.DeltaUpper, Loss: c.TotalVariance, LowerBound: c.LowerBound, Worst: c.WorstVariance}
}

// stated returns what Claims are about.
func (c Certificate) stated() []*big.Rat {
	return []*big.Rat{c.DeltaUpper, c.TotalVariance, c.WorstVariance, c.LowerBound}
}

// certify computes the certificate. It does not count if the meter said stop.
func (s *Spec) certify(m *proof.Meter) Certificate {
	c := Certificate{new(big.Rat), new(big.Rat), new(big.Rat), new(big.Rat), false}
	k := s.categories()
	c.DeltaUpper = s.delta(m)
	work := int64(s.Workload.size(k)) * int64(k) * int64(k)
	if s.Workload.Kind == Queries {
		work *= 25
	}
	if !m.Spend(work) {
		return c
	}
	g := s.Workload.gram(k)
	d := newDecoder(s.Rows, m)
	if d == nil {
		return c
	}
	norms := d.norms(g, m)
	if norms == nil {
		return c
	}
	c.estimates = true
	total, term := new(big.Rat), new(big.Int)
	for j, row := range s.Rows {
		sum := new(big.Int)
		for y, w := range row {
			sum.Add(sum, term.Mul(term.SetUint64(w), norms[y]))
		}
		variance := new(big.Rat).SetInt(sum)
		variance.Mul(variance, exact.PowerOfTwo(-64-normBits)).Sub(variance, g[j][j])
		total.Add(total, variance)
		if j == 0 || variance.Cmp(c.WorstVariance) > 0 {
			c.WorstVariance = variance
		}
	}
	c.TotalVariance = total.Mul(total, big.NewRat(1, int64(k)))
	if s.Dual != nil {
		c.LowerBound = s.Dual.bound(s.Epsilon, g, m)
	}
	return c
}

// delta returns the largest divergence between the laws of two categories.
func (s *Spec) delta(m *proof.Meter) *big.Rat {
	r := exact.RatioDown(s.Epsilon)
	k, answers := int64(len(s.Rows)), int64(len(s.Rows[0]))
	if !m.Spend(2*k*answers) || pure(s.Rows, r) {
		return new(big.Rat)
	}
	top := new(big.Int)
	for i, gain := range s.Rows {
		if !m.Spend(2 * k * answers) {
			break
		}
		for j, lose := range s.Rows {
			if i == j {
				continue
			}
			if h := r.Divergence(gain, lose); h.Cmp(top) > 0 {
				top = h
			}
		}
	}
	return exact.Probability(top)
}

// pure reports whether no weight of an answer is more than e^epsilon times another one.
func pure(rows [][]uint64, r *exact.Ratio) bool {
	for y := range rows[0] {
		low, high := rows[0][y], rows[0][y]
		for _, row := range rows {
			low, high = min(low, row[y]), max(high, row[y])
		}
		if r.Exceeds(high, low) {
			return false
		}
	}
	return true
}

// bound returns the lower bound, which is at least 0: with the slopes S, M = S·G·Sᵀ and the prices μ
//
//	2·tr(S·G) − Σ_j μ_j − max over v of ( vᵀMv/(πv)² − μv/(πv) ) − tr(G)/k,
//
// over all v of entries 1 and e^epsilon, for equal shares π (docs/proofs/counts.md).
func (d *Dual) bound(epsilon float64, g [][]*big.Rat, m *proof.Meter) *big.Rat {
	k := len(g)
	slopes, prices := make([][]*big.Rat, k), exact.Rationals(d.Prices)
	for i := range slopes {
		slopes[i] = exact.Rationals(d.Slopes[i])
	}
	size := exact.MostBits(append([][]float64{d.Prices}, d.Slopes...)...)
	if !m.Spend(int64(k*k*k)*exact.RationalWork(2*size+200) + int64(1)<<k*int64(k+10)*int64(20+size/8)) {
		return new(big.Rat)
	}
	product := func(a, b [][]*big.Rat, transposed bool) [][]*big.Rat {
		out := make([][]*big.Rat, k)
		for i := range out {
			out[i] = make([]*big.Rat, k)
			for j := range out[i] {
				sum := new(big.Rat)
				for l := range k {
					factor := b[l][j]
					if transposed {
						factor = b[j][l]
					}
					sum.Add(sum, new(big.Rat).Mul(a[i][l], factor))
				}
				out[i][j] = sum
			}
		}
		return out
	}
	steep := product(slopes, g, false)
	value := new(big.Rat)
	for i := range k {
		value.Add(value, steep[i][i]).Add(value, steep[i][i])
		value.Sub(value, prices[i])
		value.Sub(value, new(big.Rat).Mul(g[i][i], big.NewRat(1, int64(k))))
	}
	value.Sub(value, dearest(epsilon, product(steep, slopes, true), prices))
	if value.Sign() < 0 {
		return new(big.Rat)
	}
	return value
}

// dearest returns the largest vᵀMv/(πv)² − μv/(πv) over all v with entries 1 and E >= e^epsilon. They
// are 1 + c·1_S for sets S, which follow each other by one element at a time.
func dearest(epsilon float64, quadratic [][]*big.Rat, prices []*big.Rat) *big.Rat {
	k := len(prices)
	fraction := 0
	for _, row := range append(quadratic, prices) {
		for _, x := range row {
			fraction = max(fraction, x.Denom().BitLen()-1)
		}
	}
	whole := func(x *big.Rat) *big.Int {
		return new(big.Int).Lsh(x.Num(), uint(fraction-x.Denom().BitLen()+1))
	}
	mass, price := matrix(k, k), make([]*big.Int, k)
	of := make([]*big.Int, k) // M·1
	all, prized := new(big.Int), new(big.Int)
	for i := range k {
		price[i], of[i] = whole(prices[i]), new(big.Int)
		prized.Add(prized, price[i])
		for j := range k {
			mass[i][j] = whole(quadratic[i][j])
			of[i].Add(of[i], mass[i][j])
		}
		all.Add(all, of[i])
	}
	c := exact.ExpUp(epsilon, exact.RatioBits)
	c.Sub(c, new(big.Int).Lsh(one, exact.RatioBits))
	square := new(big.Int).Mul(c, c)
	// With n elements πv is T_n/(k·2^96), T_n = k·2^96 + n·c. The value is k/T_n² times an integer, of which
	// the largest is kept for each n.
	scales := make([]*big.Int, k+1)
	for n := range scales {
		scales[n] = new(big.Int).Lsh(big.NewInt(int64(k)), exact.RatioBits)
		scales[n].Add(scales[n], new(big.Int).Mul(c, big.NewInt(int64(n))))
	}
	tops := make([]*big.Int, k+1)
	inner := make([]*big.Int, k) // M·1_S
	for i := range inner {
		inner[i] = new(big.Int)
	}
	line, quad, paid, term, sum, twice := new(big.Int), new(big.Int), new(big.Int), new(big.Int), new(big.Int), new(big.Int)
	constant := new(big.Int).Lsh(all, 2*exact.RatioBits)
	base := new(big.Int).Lsh(prized, exact.RatioBits)
	factor := big.NewInt(int64(k))
	for code := uint64(0); ; {
		n := bits.OnesCount64(code ^ code>>1)
		sum.Mul(c, line)
		sum.Lsh(sum, exact.RatioBits+1).Add(sum, constant)
		sum.Add(sum, term.Mul(square, quad)).Mul(sum, factor)
		term.Mul(c, paid).Add(term, base)
		sum.Sub(sum, term.Mul(term, scales[n]))
		if tops[n] == nil {
			tops[n] = new(big.Int).Set(sum)
		} else if sum.Cmp(tops[n]) > 0 {
			tops[n].Set(sum)
		}
		if code++; code == 1<<k {
			break
		}
		j := bits.TrailingZeros64(code)
		in := (code^code>>1)>>j&1 == 1
		twice.Lsh(inner[j], 1)
		if in {
			quad.Add(quad, twice).Add(quad, mass[j][j])
			line.Add(line, of[j])
			paid.Add(paid, price[j])
		} else {
			quad.Sub(quad, twice).Add(quad, mass[j][j])
			line.Sub(line, of[j])
			paid.Sub(paid, price[j])
		}
		for i, x := range inner {
			if in {
				x.Add(x, mass[i][j])
			} else {
				x.Sub(x, mass[i][j])
			}
		}
	}
	var largest *big.Rat
	for n, top := range tops {
		value := new(big.Rat).SetFrac(new(big.Int).Mul(top, factor), new(big.Int).Mul(scales[n], scales[n]))
		value.Mul(value, exact.PowerOfTwo(-fraction))
		if largest == nil || value.Cmp(largest) > 0 {
			largest = value
		}
	}
	return largest
}

// judge holds what is promised and claimed against the certificate.
func (s *Spec) judge(c Certificate, _ *proof.Meter) error {
	if c.DeltaUpper.Sign() > 0 {
		return check.Errorf("counts", proof.ErrNotPrivate, "delta = 0 is promised but only %s is proved", exact.StateUp(c.DeltaUpper))
	}
	if !c.estimates {
		return check.Errorf("counts", proof.ErrFalseClaim, "rows: no unbiased estimate follows, want %s", noEstimate)
	}
	return formfile.Check("counts", &s.Claims, c.stated()...)
}
