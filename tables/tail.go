// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// maxTailRatio bounds TailRatio, so that drawing from a tail ends: ρ <= 1 - 2^-20.
const maxTailRatio = 1<<64 - 1<<44

// maxTailTerms bounds the cells of a tail whose loss is summed one by one, those
// closer to 0 than where the loss is a polynomial.
const maxTailTerms = 1 << 16

// maxTailRuns bounds the runs of equal weights in the blocks if the loss is bounded by
// a power, which takes up to a hundred means of the loss for each.
const maxTailRuns = 1 << 10

// hasTail reports whether the last K cells at either end stand for a tail:
// with ρ = TailRatio/2^64, the cell i >= 0 periods of K cells further out than a
// cell of weight W has the probability W/2^64·(1-ρ)·ρ^i.
func (s *Spec) hasTail() bool { return s.TailRatio > 0 }

// validateTail checks that the blocks that repeat lie on either side of 0, with a
// cell between them, and that the loss of a tail is known.
func (s *Spec) validateTail(errs *check.List) {
	if !s.hasTail() {
		return
	}
	errs.If(s.TailRatio > maxTailRatio, "tail_ratio", s.TailRatio, "at most %d", uint64(maxTailRatio))
	g, n := s.Grid, len(s.Weights)
	if k := g.CellsPerSensitivity; n < 2*k+1 || g.FirstPoint(k) > 0 || g.FirstPoint(n-k) <= 0 {
		errs.Bad("tail_ratio", s.TailRatio, fmt.Sprintf("a table whose point 0 is in none of the first and last %d cells", k))
		return
	}
	losses := []loss.Loss{s.Loss}
	for _, q := range s.Constraints.Quantiles {
		if loss, err := q.Loss(); err == nil { // else Validate or keeps reports it
			losses = append(losses, loss)
		}
	}
	for _, l := range losses {
		parts := loss.Of(l).TailParts()
		if parts == nil {
			errs.Bad("tail_ratio", s.TailRatio, "0 for a loss whose tail is not known, such as "+l.Name())
		}
		for _, part := range parts {
			from, _, ok := loss.Of(part).PolynomialBeyond()
			if !ok {
				// Summed up to less than 1000/(1-ρ) periods, see powerTail.
				if g.period() > int64(0x1p61/1000*(float64(-s.TailRatio)*0x1p-64)) {
					errs.Bad("points_per_cell", g.PointsPerCell, "fewer points for a tail with the loss "+part.Name())
				}
				if runs := len(s.blockRuns()); runs > maxTailRuns {
					errs.Bad("weights", fmt.Sprintf("%d runs of equal weights in a tail", runs), fmt.Sprintf("at most %d with the loss %s", maxTailRuns, part.Name()))
				}
				continue
			}
			from.Quo(from, g.Step())
			if from.Cmp(new(big.Rat).SetInt64(maxTailTerms*g.PointsPerCell)) > 0 {
				errs.Bad("loss", part.Name(), fmt.Sprintf("one that is a polynomial from %d cells on, for a table with a tail", maxTailTerms))
			}
		}
	}
}

// period returns the distance in points at which the tail repeats.
func (g Grid) period() int64 { return int64(g.CellsPerSensitivity) * g.PointsPerCell }

// isBlock reports whether weight i stands for a tail, and on which side of 0.
func (s *Spec) isBlock(i int) (side int64, ok bool) {
	switch k := s.Grid.CellsPerSensitivity; {
	case !s.hasTail():
		return 0, false
	case i < k:
		return -1, true
	case i >= len(s.Weights)-k:
		return 1, true
	default:
		return 0, false
	}
}

func (s *Spec) ratio() *big.Rat {
	r := new(big.Rat).SetInt(new(big.Int).SetUint64(s.TailRatio))
	return r.Quo(r, exact.PowerOfTwo(64))
}

// tailSum is the expected loss of the blocks and all that they stand for, times 2^64.
type tailSum interface {
	// add adds block cell i, on the given side of 0; every one has its turn.
	add(i int, side int64)
	total() *big.Rat
}

// newTailSums returns a sum for each part of the loss.
func (s *Spec) newTailSums(l loss.Loss, m *proof.Meter) []tailSum {
	var sums []tailSum
	for _, part := range loss.Of(l).TailParts() { // validateTail made sure there are some
		if _, _, ok := loss.Of(part).PolynomialBeyond(); ok {
			sums = append(sums, s.newTailLoss(part, m))
		} else {
			power, _ := loss.Of(part).PowerBound()
			sums = append(sums, &powerTail{s: s, loss: part, meter: m, power: power, runs: s.blockRuns()})
		}
	}
	return sums
}

// tailLoss adds to sum the expected loss of a block cell and of what it stands
// for, times 2^64:
//
//	Σ_m W·(1-ρ)ρ^m·f(m),   f(m) the mean loss of the cell m periods further out.
//
// Where f is a polynomial of degree d from m = M on, it is by Newton's forward
// differences Σ_i Δ^i f(M)·C(m-M, i), and as Σ_m (1-ρ)ρ^m·C(m, i) = (ρ/(1-ρ))^i the
// rest of the sum is W·ρ^M·Σ_i Δ^i f(M)·(ρ/(1-ρ))^i. For M = 0 all of this is exact;
// otherwise the powers of ρ are rounded up, to a relative 2^-128 or so, and so is the result.
type tailLoss struct {
	s      *Spec
	loss   loss.Loss
	meter  *proof.Meter
	work   int64    // of a term
	ratio  *big.Rat // ρ
	rest   *big.Rat // 1-ρ
	from   *big.Rat
	degree int
	sum    *big.Rat
	orders []*big.Rat // Σ W·ρ^M·Δ^i f(M), to be multiplied by (ρ/(1-ρ))^i
}

func (s *Spec) newTailLoss(l loss.Loss, m *proof.Meter) *tailLoss {
	work := loss.Of(l).Work(s.pointBits()).Bound + 4*exact.RationalWork(s.pointBits()+2*tailBits)
	t := &tailLoss{s: s, loss: l, meter: m, work: work, ratio: s.ratio(), rest: rest(s.ratio()), sum: new(big.Rat)}
	t.from, t.degree, _ = loss.Of(l).PolynomialBeyond()
	for range t.degree + 1 {
		t.orders = append(t.orders, new(big.Rat))
	}
	return t
}

func (t *tailLoss) add(i int, side int64) {
	g, step := t.s.Grid, t.s.Grid.Step()
	weight := new(big.Rat).SetInt(new(big.Int).SetUint64(t.s.Weights[i]))
	first := g.FirstPoint(i)
	mean := func(m int64) *big.Rat {
		return t.loss.GridMeanUp(first+side*m*g.period(), g.PointsPerCell, step)
	}
	inside := func(m int64) bool { // whether the cell reaches from, where c may jump
		nearest := first + side*m*g.period()
		if side < 0 {
			nearest += g.PointsPerCell - 1
		}
		x := new(big.Rat).SetInt64(abs(nearest))
		return x.Mul(x, step).Cmp(t.from) <= 0
	}
	power := new(big.Rat).Set(weight) // W·ρ^m
	m := int64(0)
	for ; inside(m) && t.meter.Spend(t.work); m++ {
		term := mean(m)
		t.sum.Add(t.sum, term.Mul(term, power).Mul(term, t.rest))
		power.Mul(power, t.ratio)
		roundUp(power)
	}
	f := make([]*big.Rat, t.degree+1)
	if !t.meter.Spend(int64(len(f)) * t.work) {
		return
	}
	for i := range f {
		f[i] = mean(m + int64(i))
	}
	for i := range f {
		t.orders[i].Add(t.orders[i], new(big.Rat).Mul(power, f[0]))
		for j := range len(f) - i - 1 {
			f[j].Sub(f[j+1], f[j])
		}
	}
}

func (t *tailLoss) total() *big.Rat {
	factor := new(big.Rat).SetInt64(1)
	odds := new(big.Rat).Quo(t.ratio, t.rest)
	for _, o := range t.orders {
		t.sum.Add(t.sum, o.Mul(o, factor))
		factor.Mul(factor, odds)
	}
	return t.sum
}

// roundUp rounds r >= 0 up to a multiple of 2^-192, to keep its size in check.
func roundUp(r *big.Rat) {
	const keep = 192
	if r.Denom().BitLen() <= keep {
		return
	}
	n := new(big.Int).Lsh(r.Num(), keep)
	r.SetFrac(exact.DivUp(n, n, r.Denom()), new(big.Int).Lsh(big.NewInt(1), keep))
}

// periodic is a law with a tail, unrolled. All probabilities are in units of 2^-128.
type periodic struct {
	k int
	// cells are the cells of the table, those of the blocks with the
	// probability of their own place alone.
	cells []exact.Uint128
	// left and right are the blocks and the next period of them, ascending, over 1-ρ.
	left, right []exact.Uint128
}

func (s *Spec) unroll() *periodic {
	n, k := len(s.Weights), s.Grid.CellsPerSensitivity
	p := &periodic{k: k, cells: make([]exact.Uint128, n), left: make([]exact.Uint128, 2*k), right: make([]exact.Uint128, 2*k)}
	for i, w := range s.Weights {
		p.cells[i] = exact.Uint128{Hi: w}
		if _, ok := s.isBlock(i); ok {
			p.cells[i] = exact.Mul64(w, -s.TailRatio)
		}
	}
	for i := range k {
		l, r := s.Weights[i], s.Weights[n-k+i]
		p.left[i], p.left[k+i] = exact.Mul64(l, s.TailRatio), exact.Uint128{Hi: l}
		p.right[i], p.right[k+i] = exact.Uint128{Hi: r}, exact.Mul64(r, s.TailRatio)
	}
	return p
}

// mirror turns the law around.
func (p *periodic) mirror() {
	slices.Reverse(p.cells)
	slices.Reverse(p.left)
	slices.Reverse(p.right)
	p.left, p.right = p.right, p.left
}

// hockeyStick returns Σ_j (p_j - E·p_{j-k})₊ over all cells of the infinite law,
// for 1 <= k <= K, in units of 2^-(128+96), exactly.
//
// Where j and j-k both lie in one tail, the terms of the next period are ρ times these, so one
// period over 1-ρ is the whole sum; the other cells j number K to n-K+k-1 (docs/proofs/tail.md).
func (p *periodic) hockeyStick(k int, r *exact.Ratio) *big.Int {
	var gain, price exact.Uint192
	add := func(own, partner []exact.Uint128) {
		// Staircases repeat the same pair in long runs.
		var w, v exact.Uint128
		exceeds := false
		for i := range own {
			if own[i] != w || partner[i] != v {
				w, v = own[i], partner[i]
				exceeds = r.Exceeds128(w, v)
			}
			if exceeds {
				gain.Add(w)
				price.Add(v)
			}
		}
	}
	n := len(p.cells)
	add(p.cells[p.k:n-p.k+k], p.cells[p.k-k:])
	add(p.left[p.k:], p.left[p.k-k:])
	add(p.right[k:k+p.k], p.right)
	return r.Excess(gain.Big(), price.Big())
}
