// SPDX-License-Identifier: Apache-2.0

package local

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// losses returns the mean loss and the largest of a value, and where that is, about.
func (s *Spec) losses(m *proof.Meter) (mean, worst *big.Rat, at float64) {
	c := &coster{spec: s, bits: s.costBits(), meter: m}
	if s.Values.Kind != Category && !c.squares() {
		work := loss.Of(s.Loss).Work(exact.MostBits(s.Nodes, s.Answers) + worstHalvings)
		c.bound = work.Bound
		m.Spend(work.Pass * int64(len(s.Answers)))
		c.answers = exact.Rationals(s.Answers)
	}
	if s.Values.Kind == Real {
		mean = c.densityMean()
		worst, at = c.worst()
		return mean, worst, at
	}
	return c.atoms()
}

// coster computes sums of products of weights and costs, rounded up to multiples of
// 2^-bits. What it returns does not count if the meter said stop.
type coster struct {
	spec    *Spec
	answers []*big.Rat
	bits    int
	bound   int64 // work of a bound of the loss
	meter   *proof.Meter
	moments [][3]*big.Rat // of each row, for squared errors
}

// squares reports whether the loss is the squared error, and finds the moments
// Σ_j W_ij·y_j^k of every row: no more is needed then.
func (c *coster) squares() bool {
	s := c.spec
	if s.Loss != loss.L2 {
		return false
	}
	bits := gridBits(s.Answers)
	for i := range s.Rows {
		if !c.meter.Spend(int64(len(s.Answers)) * (60 + int64(bits)/8)) {
			break
		}
		var sums [3]big.Int
		var term, square big.Int
		for j, y := range onGrid(s.Answers, bits) {
			term.SetUint64(s.Rows[i][j])
			for k := range sums {
				sums[k].Add(&sums[k], &term)
				square.Mul(&term, y)
				term.Set(&square)
			}
		}
		c.moments = append(c.moments, [3]*big.Rat{at(&sums[0], 0), at(&sums[1], bits), at(&sums[2], 2*bits)})
	}
	return true
}

// atoms is losses where every value is a node.
func (c *coster) atoms() (mean, worst *big.Rat, where float64) {
	s := c.spec
	mean, worst = new(big.Rat), new(big.Rat)
	for i, share := range s.Values.shares() {
		if !c.meter.Spend(int64(s.answers()) * 100) {
			break
		}
		var sum *big.Int
		if s.Values.Kind == Category {
			var costs []*big.Int
			for _, x := range s.Costs[i] {
				costs = append(costs, ceilAt(exact.Rational(x), c.bits))
			}
			sum = c.sum(i, costs)
		} else {
			sum = c.costs(exact.Rational(s.Nodes[i]))(i)
		}
		f := at(sum, 64+c.bits)
		if f.Cmp(worst) > 0 {
			worst = f
			where = float64(i)
			if s.Values.Kind == Integer {
				where = s.Nodes[i]
			}
		}
		mean.Add(mean, share.Mul(share, f))
	}
	return mean, worst, where
}

// sum returns Σ_j W_ij·costs[j].
func (c *coster) sum(i int, costs []*big.Int) *big.Int {
	sum, term := new(big.Int), new(big.Int)
	for j, cost := range costs {
		if w := c.spec.Rows[i][j]; w > 0 {
			sum.Add(sum, term.Mul(term.SetUint64(w), cost))
		}
	}
	return sum
}

// rowSum is the sum of products of weights and costs for row i.
type rowSum func(i int) *big.Int

// costs is ramps at one value: c(y_j − x).
func (c *coster) costs(x *big.Rat) rowSum { return c.ramps(x, x) }

// ramps is about the average of c(y_j − x) over x between the two ends, with a weight that
// falls linearly to 0 at the second one.
func (c *coster) ramps(from, to *big.Rat) rowSum {
	if len(c.moments) > 0 {
		return c.squareRamps(from, to)
	}
	costs := make([]*big.Int, len(c.answers))
	for j, y := range c.answers {
		if !c.meter.Spend(c.bound) {
			costs = nil
			break
		}
		costs[j] = ceilAt(c.spec.Loss.RampMeanUp(new(big.Rat).Sub(y, from), new(big.Rat).Sub(y, to)), c.bits)
	}
	return func(i int) *big.Int { return c.sum(i, costs) }
}

// squareRamps is ramps for the squared error: with d = from − to the average of (y − x)² is
// (y − from)² + 2/3·d·(y − from) + d²/6.
func (c *coster) squareRamps(from, to *big.Rat) rowSum {
	d := new(big.Rat).Sub(from, to)
	return func(i int) *big.Int {
		if i >= len(c.moments) || !c.meter.Spend(12*exact.RationalWork(256)) {
			return new(big.Int)
		}
		m := c.moments[i]
		mass := new(big.Rat).Mul(m[0], from)
		first := new(big.Rat).Sub(m[1], mass) // of y − from
		sum := mass.Add(m[1], first)
		sum.Sub(m[2], sum.Mul(sum, from))
		sum.Add(sum, first.Mul(first, new(big.Rat).Mul(d, big.NewRat(2, 3))))
		square := new(big.Rat).Mul(d, d)
		return ceilAt(sum.Add(sum, square.Mul(square, m[0]).Mul(square, big.NewRat(1, 6))), c.bits)
	}
}

// densityMean returns Σ_i Σ_j P_i(j) ∫ hat_i(x) w(x) c(y_j − x) dx, hat_i being 1 at node i, 0 at
// all others and linear in between. Where w is constant, the hats are sums of two ramps.
func (c *coster) densityMean() *big.Rat {
	nodes := exact.Rationals(c.spec.Nodes)
	sum := new(big.Int)
	p, pieces := 0, c.spec.Values.densities()
	for i := range len(nodes) - 1 {
		a, width := nodes[i], new(big.Rat).Sub(nodes[i+1], nodes[i])
		for a.Cmp(nodes[i+1]) < 0 {
			for pieces[p].To.Cmp(a) <= 0 {
				p++
			}
			b := nodes[i+1]
			if pieces[p].To.Cmp(b) < 0 {
				b = pieces[p].To
			}
			if d := pieces[p].Density; d.Sign() > 0 && c.meter.Spend(int64(len(c.answers))*100) {
				from, to := c.ramps(a, b), c.ramps(b, a)
				part := new(big.Rat)
				for _, end := range []struct {
					at   *big.Rat
					sums rowSum
				}{{a, from}, {b, to}} {
					up := new(big.Rat).Sub(end.at, nodes[i])
					up.Quo(up, width)
					high := new(big.Rat).SetInt(end.sums(i + 1))
					part.Add(part, high.Mul(high, up))
					low := new(big.Rat).SetInt(end.sums(i))
					part.Add(part, low.Mul(low, up.Sub(big.NewRat(1, 1), up)))
				}
				part.Mul(part, d).Mul(part, new(big.Rat).Sub(b, a))
				sum.Add(sum, ceilAt(part, -1))
			}
			a = b
		}
	}
	return at(sum, 64+c.bits)
}

const (
	// worstHalvings is how often an interval is halved, at most, to bound the loss in it.
	worstHalvings = 6
	// worstBits says when it is not: when the bound is within 2^-worstBits of a loss found.
	worstBits = 14
)

// stretch is a part of an interval between nodes: the values at which the upper node has a share
// from k/2^halvings to (k+1)/2^halvings, and the sums of costs of both nodes at its ends.
type stretch struct {
	k, halvings   int64
	lower, higher [2]*big.Int
}

// worst bounds the loss of every value (docs/proofs/local-privacy.md), in a stretch by a quadratic.
func (c *coster) worst() (most *big.Rat, where float64) {
	s := c.spec
	nodes := exact.Rationals(s.Nodes)
	var parts []stretch
	top := new(big.Int) // the largest loss found
	for i := range nodes {
		if !c.meter.Spend(int64(len(c.answers)) * 100) {
			return new(big.Rat), 0
		}
		sums := c.costs(nodes[i])
		own := sums(i)
		if own.Cmp(top) > 0 {
			top.Set(own)
		}
		if i > 0 {
			parts[i-1].lower[1], parts[i-1].higher[1] = sums(i-1), own
		}
		if i+1 < len(nodes) {
			parts = append(parts, stretch{lower: [2]*big.Int{own}, higher: [2]*big.Int{sums(i + 1)}})
		}
	}
	bound := new(big.Int)
	for i, p := range parts {
		width := new(big.Rat).Sub(nodes[i+1], nodes[i])
		for open := []stretch{p}; len(open) > 0; {
			p := open[len(open)-1]
			open = open[:len(open)-1]
			high := p.highest()
			enough := new(big.Int).Rsh(top, worstBits)
			if high.Cmp(enough.Add(enough, top)) <= 0 || p.halvings == worstHalvings {
				if high.Cmp(bound) > 0 {
					bound = high
					x := new(big.Rat).SetFrac64(2*p.k+1, 2<<p.halvings)
					where, _ = x.Mul(x, width).Add(x, nodes[i]).Float64()
				}
				continue
			}
			if !c.meter.Spend(int64(len(c.answers)) * 100) {
				break
			}
			x := new(big.Rat).SetFrac64(2*p.k+1, 2<<p.halvings)
			sums := c.costs(x.Mul(x, width).Add(x, nodes[i]))
			low, up := p.halved(sums(i), sums(i+1))
			if found := up.atStart(); found.Cmp(top) > 0 {
				top = found
			}
			open = append(open, up, low)
		}
	}
	return at(bound, 64+c.bits), where
}

// halved returns both halves, given the sums of costs in the middle.
func (p stretch) halved(lower, higher *big.Int) (a, b stretch) {
	a = stretch{2 * p.k, p.halvings + 1, [2]*big.Int{p.lower[0], lower}, [2]*big.Int{p.higher[0], higher}}
	b = stretch{2*p.k + 1, p.halvings + 1, [2]*big.Int{lower, p.lower[1]}, [2]*big.Int{higher, p.higher[1]}}
	return a, b
}

// atStart returns the loss at its lower end, rounded down.
func (p stretch) atStart() *big.Int {
	lower := new(big.Int).Mul(p.lower[0], big.NewInt(1<<p.halvings-p.k))
	higher := new(big.Int).Mul(p.higher[0], big.NewInt(p.k))
	return lower.Rsh(lower.Add(lower, higher), uint(p.halvings)) //nolint:gosec // at most worstHalvings
}

// highest bounds the loss from above: the sums of both nodes are convex and so below
// their chords, and the loss is at most the quadratic q0 + q1·t + q2·t², over 2^halvings,
// that interpolates between the chords, 0 <= t <= 1.
func (p stretch) highest() *big.Int {
	k, rest := big.NewInt(p.k), big.NewInt(1<<p.halvings-p.k)
	low := new(big.Int).Sub(p.lower[1], p.lower[0])
	high := new(big.Int).Sub(p.higher[1], p.higher[0])
	q0 := new(big.Int).Mul(rest, p.lower[0])
	q0.Add(q0, new(big.Int).Mul(k, p.higher[0]))
	q1 := new(big.Int).Mul(rest, low)
	q1.Add(q1, new(big.Int).Mul(k, high)).Sub(q1, p.lower[0]).Add(q1, p.higher[0])
	q2 := new(big.Int).Sub(high, low)
	most := new(big.Int).Add(q0, q1)
	most.Add(most, q2)
	if q0.Cmp(most) > 0 {
		most.Set(q0)
	}
	fall := new(big.Int).Neg(q2)
	fall.Lsh(fall, 1)
	if q1.Sign() > 0 && q1.Cmp(fall) < 0 { // the top is inside
		rise := new(big.Int).Mul(q1, q1)
		most = q0.Add(q0, exact.DivUp(rise, rise, fall.Lsh(fall, 1)))
	}
	down := most.Neg(most)
	down.Rsh(down, uint(p.halvings)) //nolint:gosec // at most worstHalvings
	return down.Neg(down)
}
