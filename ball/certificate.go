// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
)

// Certificate is what exact arithmetic finds in noise on balls (docs/proofs/ball.md).
type Certificate struct {
	// DeltaUpper bounds from above the delta between answers to two values that are up to the
	// sensitivity apart, both rounded to the grid.
	DeltaUpper *big.Rat
	// ExpectedLoss is that of the norm of the noise before its rounding to the grid, which moves an
	// answer by at most √d/2 steps, as that of the value does; rounded up if it is no fraction.
	ExpectedLoss *big.Rat
	// LowerBound is what the Dual proves of the loss of all noise that keeps the promise.
	LowerBound *big.Rat
}

// Bounds implements proof.Certificate.
func (c Certificate) Bounds() proof.Bounds {
	return proof.Bounds{Delta: c.DeltaUpper, Loss: c.ExpectedLoss, LowerBound: c.LowerBound}
}

// stated returns what Claims are about.
func (c Certificate) stated() []*big.Rat {
	return []*big.Rat{c.DeltaUpper, c.ExpectedLoss, c.LowerBound}
}

// certify computes the certificate. It does not count if the meter said stop.
func (s *Spec) certify(m *proof.Meter) Certificate {
	// Each of up to two intersections for a ball is some 100 operations on that many bits.
	last := big.NewInt(s.Radii[len(s.Radii)-1])
	bits := s.Dimension * (last.BitLen() + s.reach().BitLen() + 2)
	if !m.Spend(int64(2*len(s.Radii)+1) * 100 * exact.RationalWork(volumeBits+bits)) {
		return Certificate{}
	}
	return Certificate{s.delta(m), s.expectedLoss(), s.LowerBound(m)}
}

// expectedLoss returns Σ w_j·d/(d+p)·r_j^p, in units of the values.
func (s *Spec) expectedLoss() *big.Rat {
	p, _ := s.Power()
	sum, rest := new(big.Rat), exact.Rational(p)
	for j, r := range s.Radii {
		x := new(big.Rat).Mul(big.NewRat(r, 1), s.step())
		x = exact.PowUp(x, p, lossBits)
		sum.Add(sum, x.Mul(x, new(big.Rat).SetFrac(new(big.Int).SetUint64(s.Weights[j]), total)))
	}
	d := big.NewRat(int64(s.Dimension), 1)
	return sum.Mul(sum, rest.Quo(d, rest.Add(rest, d)))
}

// lossBits are those of a power of a radius: squares of radii have no more, so they are not rounded.
const lossBits = 128

var total = new(big.Int).Lsh(unit, 64)

// delta bounds the divergence between the noise and itself moved by the reach: the sum, over the
// pairs of rings around the two centers, of the volume in both times what the first density has
// above e^ε times the second.
func (s *Spec) delta(m *proof.Meter) *big.Rat {
	radii, weights, atom := s.Radii, s.Weights, uint64(0)
	if radii[0] == 0 {
		radii, weights, atom = radii[1:], weights[1:], weights[0]
	}
	n, ratio := len(radii), exact.RatioDown(s.Epsilon)
	l := newLenses(s.Dimension, radii, s.reach())
	places := uint(volumeBits + l.powers[n].BitLen())
	density := densities(l.powers, weights, places)
	reached := reaches(density, ratio)
	gain, price := new(big.Int), new(big.Int)
	term := new(big.Int)
	for i := 1; i <= n && m.Go(); i++ {
		// Ring i, but for what is in the ball of the second center that is too dense.
		v := new(big.Int).Sub(l.powers[i], l.powers[i-1])
		v.Lsh(v, volumeBits)
		v.Sub(v, l.of(i, reached[i]).low)
		v.Add(v, l.of(i-1, reached[i]).high)
		gain.Add(gain, term.Mul(v, density[i]))
	}
	outer := 0 // the last ring i with reached[i] < j
	for j := 1; j <= n && m.Go(); j++ {
		for outer < n && reached[outer+1] < j {
			outer++
		}
		v := new(big.Int).Sub(l.of(outer, j).low, l.of(outer, j-1).high)
		if v.Sign() > 0 {
			price.Add(price, term.Mul(v, density[j]))
		}
	}
	// Densities are up to n units above what is computed, all over the last ball.
	slack := new(big.Int).Lsh(new(big.Int).Mul(big.NewInt(int64(n)), l.powers[n]), volumeBits)
	gain.Add(gain, slack)
	excess := ratio.Excess(gain, price) // times 2^RatioBits, at least 0 as what it bounds is
	delta := new(big.Rat).SetFrac(excess, new(big.Int).Lsh(unit, exact.RatioBits+volumeBits+places))
	delta.Add(delta, new(big.Rat).SetInt(new(big.Int).SetUint64(atom)))
	if delta.Quo(delta, new(big.Rat).SetInt(total)); delta.Cmp(big.NewRat(1, 1)) > 0 {
		delta.SetInt64(1)
	}
	return delta
}

// densities returns those of rings 1, 2, …, each rounded down to a multiple of 2^-places: of each ball
// by at most one, so that the density of a ring is less than n of these more. Volumes are the powers.
func densities(powers []*big.Int, weights []uint64, places uint) []*big.Int {
	f := make([]*big.Int, len(powers)+1)
	f[len(powers)] = new(big.Int)
	for j := len(weights); j > 0; j-- {
		w := new(big.Int).SetUint64(weights[j-1])
		w.Div(w.Lsh(w, places), powers[j])
		f[j] = w.Add(w, f[j+1])
	}
	return f
}

// reaches returns for each ring of density f the last ring k with ratio·f_k >= f: beyond that, and nowhere
// nearer, the divergence has the points of the ring. It does not decrease, as densities fall.
func reaches(density []*big.Int, ratio *exact.Ratio) []int {
	n := len(density) - 2
	out := make([]int, n+1)
	k := 0
	for i := 1; i <= n; i++ {
		for k < n && ratio.Excess(density[i], density[k+1]).Sign() <= 0 {
			k++
		}
		out[i] = k
	}
	return out
}

// judge holds what is promised and claimed against the certificate.
func (s *Spec) judge(c Certificate, _ *proof.Meter) error {
	if promised := exact.Rational(s.Delta); c.DeltaUpper.Cmp(promised) > 0 {
		return check.Errorf("ball", proof.ErrNotPrivate, "delta = %v is promised but only %s is proved (excess %s)", s.Delta, exact.StateUp(c.DeltaUpper), formfile.Excess(c.DeltaUpper, promised))
	}
	return formfile.Check("ball", &s.Claims, c.stated()...)
}
