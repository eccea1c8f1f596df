package local

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/claims"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

// losses returns the mean loss and the largest of a value, and where that is, about.
func (s *Spec) losses(m *claims.Meter) (mean, worst *big.Rat, at float64) {
	c := &coster{spec: s, bits: s.costBits(), meter: m}
	if s.Values.Kind != Category {
		largest := 0
		for _, list := range [][]float64{s.Nodes, s.Answers} {
			for _, x := range list {
				largest = max(largest, exact.Bits(exact.Rational(x)))
			}
		}
		work := loss.WorkOf(s.Loss, largest+worstHalvings)
		c.bound = work.Bound
		m.Spend(work.Pass * int64(len(s.Answers)))
		c.answers = rationals(s.Answers)
	}
	if s.Values.Kind == Real {
		mean = c.densityMean()
		worst, at = c.worst()
		return mean, worst, at
	}
	return c.atoms()
}

// coster computes costs, rounded up to multiples of 2^-bits, and sums of their products
// with weights. What it returns is nothing if the meter has said stop.
type coster struct {
	spec    *Spec
	answers []*big.Rat
	bits    int
	bound   int64 // work of a bound of the loss
	meter   *claims.Meter
}

// atoms is losses where every value is a node.
func (c *coster) atoms() (mean, worst *big.Rat, at float64) {
	s := c.spec
	mean, worst = new(big.Rat), new(big.Rat)
	for i, share := range s.Values.shares() {
		var costs []*big.Int
		if s.Values.Kind == Category {
			for _, x := range s.Costs[i] {
				costs = append(costs, ceilAt(exact.Rational(x), c.bits))
			}
		} else {
			costs = c.costs(exact.Rational(s.Nodes[i]))
		}
		f := c.expected(i, costs)
		if f.Cmp(worst) > 0 {
			worst = f
			at = float64(i)
			if s.Values.Kind == Integer {
				at = s.Nodes[i]
			}
		}
		mean.Add(mean, share.Mul(share, f))
	}
	return mean, worst, at
}

// expected returns Σ_j W_ij/2^64·costs[j].
func (c *coster) expected(i int, costs []*big.Int) *big.Rat {
	return at(c.sum(i, costs), 64+c.bits)
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

// costs returns c(y_j − x) for all answers.
func (c *coster) costs(x *big.Rat) []*big.Int { return c.ramps(x, x) }

// ramps returns the average of c(y_j − x) over x between the two ends, with a weight that
// falls linearly to 0 at the second one, for all answers.
func (c *coster) ramps(from, to *big.Rat) []*big.Int {
	out := make([]*big.Int, len(c.answers))
	for j, y := range c.answers {
		if !c.meter.Spend(c.bound) {
			out[j] = new(big.Int)
			continue
		}
		out[j] = ceilAt(c.spec.Loss.RampMeanUp(new(big.Rat).Sub(y, from), new(big.Rat).Sub(y, to)), c.bits)
	}
	return out
}

// densityMean returns Σ_i Σ_j P_i(j) ∫ hat_i(x) w(x) c(y_j − x) dx, hat_i being 1 at node i,
// 0 at all others and linear in between. Where w is constant, the hats are sums of two
// ramps.
func (c *coster) densityMean() *big.Rat {
	nodes := rationals(c.spec.Nodes)
	sum := new(big.Int)
	p, pieces := 0, c.spec.Values.pieces()
	for i := range len(nodes) - 1 {
		a, width := nodes[i], new(big.Rat).Sub(nodes[i+1], nodes[i])
		for a.Cmp(nodes[i+1]) < 0 {
			for pieces[p].to.Cmp(a) <= 0 {
				p++
			}
			b := nodes[i+1]
			if pieces[p].to.Cmp(b) < 0 {
				b = pieces[p].to
			}
			if d := pieces[p].density; d.Sign() > 0 {
				from, to := c.ramps(a, b), c.ramps(b, a)
				part := new(big.Rat)
				for _, end := range []struct {
					at    *big.Rat
					costs []*big.Int
				}{{a, from}, {b, to}} {
					up := new(big.Rat).Sub(end.at, nodes[i])
					up.Quo(up, width)
					high := new(big.Rat).SetInt(c.sum(i+1, end.costs))
					part.Add(part, high.Mul(high, up))
					low := new(big.Rat).SetInt(c.sum(i, end.costs))
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
	// worstHalvings is how often an interval between nodes is halved, at most, to bound
	// the loss in it.
	worstHalvings = 6
	// worstBits says when it is not: when the bound is within 2^-worstBits of a loss found.
	worstBits = 14
)

// stretch is a part of an interval between nodes: the values at which the upper node has
// a share from k/2^halvings to (k+1)/2^halvings, and the sums of costs of both nodes at
// its ends.
type stretch struct {
	k, halvings   int64
	lower, higher [2]*big.Int
}

// worst bounds the expected loss of every value, see docs/proofs/local-privacy.md: in a
// stretch it is at most a quadratic.
func (c *coster) worst() (most *big.Rat, where float64) {
	s := c.spec
	nodes := rationals(s.Nodes)
	var parts []stretch
	top := new(big.Int) // the largest loss found
	for i := range nodes {
		costs := c.costs(nodes[i])
		own := c.sum(i, costs)
		if own.Cmp(top) > 0 {
			top.Set(own)
		}
		if i > 0 {
			parts[i-1].lower[1], parts[i-1].higher[1] = c.sum(i-1, costs), own
		}
		if i+1 < len(nodes) {
			parts = append(parts, stretch{lower: [2]*big.Int{own}, higher: [2]*big.Int{c.sum(i+1, costs)}})
		}
	}
	bound := new(big.Int)
	for i, p := range parts {
		width := new(big.Rat).Sub(nodes[i+1], nodes[i])
		for open := []stretch{p}; len(open) > 0 && c.meter.Spend(1); {
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
			x := new(big.Rat).SetFrac64(2*p.k+1, 2<<p.halvings)
			costs := c.costs(x.Mul(x, width).Add(x, nodes[i]))
			low, up := p.halved(c.sum(i, costs), c.sum(i+1, costs))
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
