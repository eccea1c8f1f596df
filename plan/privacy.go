// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
)

// spent is what a measurement costs between any two neighbors: a number of uses of noise that is
// (epsilon, delta)-private, or normal noise over the distance of the answers.
type spent struct {
	uses    int
	epsilon *big.Rat // of a use; nil for normal noise
	delta   *big.Rat
	law     *law
	squared *big.Rat // of normal noise: (distance/deviation)²
}

// cost returns that of the i-th measurement (docs/proofs/plan.md).
func (s *Spec) cost(i int, l *law, gram [][]int64) spent {
	m, touched := &s.Measurements[i], s.touched()
	switch m.Kind {
	case Partition:
		// Pure noise: by the changes of all blocks together, of which the cells that differ are a bound.
		// Other noise, where each block changes by 1 at most: as many uses as blocks change.
		uses := touched
		if s.largestChange(m) == 1 {
			uses = min(touched, s.blocks(m))
		}
		return spent{uses: uses, epsilon: exact.Rational(m.Noise.Epsilon), delta: l.delta, law: l}
	case L1:
		e := exact.Rational(m.Noise.Epsilon)
		return spent{uses: 1, epsilon: e.Mul(e, new(big.Rat).SetInt64(s.DistanceL1(m.Rows))), delta: new(big.Rat), law: l}
	case L2:
		sum := new(big.Rat).SetInt(s.distance(gram))
		d := exact.Rational(m.Deviation)
		return spent{squared: sum.Quo(sum, d.Mul(d, d))}
	}
	sum := new(big.Rat)
	for k, set := range m.Sets {
		term, d := s.residualDistance(set), exact.Rational(m.Deviations[k])
		sum.Add(sum, term.Quo(term, d.Mul(d, d)))
	}
	return spent{squared: sum}
}

// DistanceL1 bounds the ℓ1 distance of the answers of whole rows to neighbors, by the norms of columns: exactly if at most
// two cells differ.
func (s *Spec) DistanceL1(rows [][]int64) (most int64) {
	norms := make([]int64, s.Workload.Cells)
	norm := func(i, j int, sign int64) (sum int64) { // of column i and sign times column j
		for _, row := range rows {
			x := row[i] + sign*row[j]
			sum += max(x, -x)
		}
		return sum
	}
	for i := range norms {
		norms[i] = norm(i, i, 0)
	}
	touched := s.touched()
	if touched != 2 {
		return largestSum(norms, touched)
	}
	sign := int64(1)
	if s.Neighbors == dp.Replace {
		sign = -1
	}
	most = slices.Max(norms)
	for i := range norms {
		for j := range i {
			most = max(most, norm(i, j, sign))
		}
	}
	return most
}

// largestSum adds the k largest numbers.
func largestSum(list []int64, k int) (sum int64) {
	slices.Sort(list)
	for _, x := range list[max(0, len(list)-k):] {
		sum += x
	}
	return sum
}

// distance bounds the square of the ℓ2 distance of the answers to neighbors, by the inner products
// of columns: exactly if at most two cells differ, else by Cauchy's inequality.
func (s *Spec) distance(gram [][]int64) *big.Int {
	most, norms := int64(0), make([]int64, len(gram))
	for i := range gram {
		norms[i] = gram[i][i]
		most = max(most, norms[i])
		if s.touched() == 2 {
			for j := range i {
				inner := 2 * gram[i][j]
				if s.Neighbors == dp.Replace {
					inner = -inner
				}
				most = max(most, gram[i][i]+gram[j][j]+inner)
			}
		}
	}
	if touched := s.touched(); touched > 2 {
		sum := big.NewInt(largestSum(norms, touched))
		return sum.Mul(sum, big.NewInt(int64(min(touched, len(norms)))))
	}
	return big.NewInt(most)
}

// Distance returns about the square of the ℓ2 distance of the answers of whole rows to neighbors.
func (s *Spec) Distance(rows [][]int64) float64 {
	g, ok := s.gram(&Measurement{Kind: L2, Rows: rows})
	if !ok {
		return math.Inf(1)
	}
	f, _ := new(big.Float).SetInt(s.distance(g)).Float64()
	return f
}

// ResidualDistance returns about the square of the distance of neighbors in the residuals of a set of
// attributes, with rows of norm 1.
func (s *Spec) ResidualDistance(set []int) float64 {
	f, _ := s.residualDistance(set).Float64()
	return f
}

// residualDistance bounds the square of the distance of neighbors in the residuals of a set with
// rows of norm 1: Π(1−1/n) for a cell, over the sizes n of its attributes.
func (s *Spec) residualDistance(set []int) *big.Rat {
	own, other := big.NewRat(1, 1), new(big.Rat) // other: the largest inner product of two cells, in magnitude
	for _, a := range set {
		n := int64(s.Workload.Attributes[a].Size)
		alike, apart := big.NewRat(n-1, n), big.NewRat(1, n)
		// Two cells that differ in some attributes have the product of alike and −apart over them.
		differ := new(big.Rat).Mul(own, apart)
		other.Mul(other, alike) // at least apart, as n >= 2
		if differ.Cmp(other) > 0 {
			other = differ
		}
		own.Mul(own, alike)
	}
	switch touched := s.touched(); {
	case touched == 1:
		return own
	case touched == 2 && s.Neighbors == dp.Replace:
		if len(set) == 0 {
			return big.NewRat(1, 1) // a person may be in no cell before or after
		}
		return own.Add(own, other).Mul(own, big.NewRat(2, 1))
	default:
		return own.Mul(own, big.NewRat(int64(touched)*int64(touched), 1))
	}
}

// deltaUpper bounds the delta of all measurements together at the plan's epsilon: by the sums of
// theirs where these keep it, else by exact composition.
func (s *Spec) deltaUpper(costs []spent) (*big.Rat, error) {
	one := big.NewRat(1, 1)
	epsilon, delta, basic := new(big.Rat), new(big.Rat), true
	for _, c := range costs {
		if c.epsilon == nil {
			basic = false
			break
		}
		uses := new(big.Rat).SetInt64(int64(c.uses))
		epsilon.Add(epsilon, new(big.Rat).Mul(uses, c.epsilon))
		delta.Add(delta, new(big.Rat).Mul(uses, c.delta))
	}
	if basic && epsilon.Cmp(exact.Rational(s.Epsilon)) <= 0 && delta.Cmp(one) < 0 {
		return delta, nil
	}
	c, err := compose(costs)
	if err != nil {
		return nil, err
	}
	b, err := c.Delta(s.Epsilon)
	if err != nil {
		return nil, check.Errorf("plan", nil, "measurements: %w", err)
	}
	return exact.Rational(min(b.Upper, 1)), nil
}

// compose puts the measurements together.
func compose(costs []spent) (*account.Composition, error) {
	var releases []account.Release
	for _, c := range costs {
		var pld *account.PrivacyLossDistribution
		var err error
		switch {
		case c.epsilon == nil:
			pld, err = account.Gaussian(multiplier(c.squared))
			c.uses = 1
		case c.delta.Sign() == 0:
			all := new(big.Rat).SetInt64(int64(c.uses))
			pld, err = account.Approximate(exact.FloatUp(all.Mul(all, c.epsilon)), 0)
			c.uses = 1
		default:
			pld, err = account.LossOf(c.law.table)
		}
		if err != nil {
			return nil, check.Errorf("plan", nil, "measurements: %w", err)
		}
		releases = append(releases, account.Release{PLD: pld, Times: c.uses})
	}
	c, err := account.Compose(releases, account.Options{})
	if err != nil {
		return nil, check.Errorf("plan", nil, "measurements: %w", err)
	}
	return c, nil
}

// multiplier returns a float64 of which the square is at most 1/squared, and little less.
func multiplier(squared *big.Rat) float64 {
	f, _ := squared.Float64()
	x := 1 / math.Sqrt(f)
	for {
		r := exact.Rational(x)
		if r.Mul(r, r).Mul(r, squared).Cmp(big.NewRat(1, 1)) <= 0 {
			return x
		}
		x = math.Nextafter(x, 0)
	}
}

// certify computes the certificate. It does not count if the meter said stop.
func (c *content) certify(m *proof.Meter) (found Certificate) {
	s := &c.spec
	var grams [][][]int64
	if s.Workload.Kind != Marginals {
		n, rows := int64(s.Workload.Cells), int64(0)
		for i := range s.Measurements {
			rows += int64(len(s.Measurements[i].Rows)) + 1
		}
		cuts, cubes := s.pieces(), int64(0)
		for k, b := range cuts[1:] {
			part := int64(b - cuts[k])
			cubes += part * part * part
		}
		if !m.Spend(n*n*rows + 8*cubes) {
			return Certificate{}
		}
		for i := range s.Measurements {
			g, ok := s.gram(&s.Measurements[i])
			if !ok {
				return Certificate{err: check.Field("plan", "measurements", "rows with products above 2^52", "smaller numbers")}
			}
			grams = append(grams, g)
		}
	} else if !m.Spend(1 << 20) {
		return Certificate{}
	}
	costs := make([]spent, len(s.Measurements))
	for i := range costs {
		var g [][]int64
		if grams != nil {
			g = grams[i]
		}
		costs[i] = s.cost(i, &c.laws[i], g)
	}
	if found.DeltaUpper, found.err = s.deltaUpper(costs); found.err != nil {
		return found
	}
	if grams != nil {
		found.err = c.certifyDense(&found, grams)
	} else {
		c.certifyMarginals(&found)
	}
	return found
}

// claims returns the strongest that the certificate supports, but for a part in 10^9 of variances:
// others who verify bound rounding in their own way.
func (c Certificate) claims() (claims, []string) {
	slack := big.NewRat(1e9+1, 1e9)
	up := func(v *big.Rat) string { return exact.StateUp(new(big.Rat).Mul(v, slack)) }
	list := make([]string, len(c.Variances))
	for i, v := range c.Variances {
		list[i] = up(v)
	}
	return claims{exact.StateUp(c.DeltaUpper), up(c.MeanSquaredError), up(c.MaxSquaredError)}, list
}
