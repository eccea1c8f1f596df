// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"math/big"
	"slices"
	"sync"

	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
)

// laws are made when they are first asked for.
type laws struct {
	once sync.Once
	rows [][]uint64
}

// Rows implements proof.Lossy: two laws that are no harder to tell apart than answers to any two values that are
// up to the sensitivity apart, whatever is composed of them (docs/proofs/ball.md). Their answers are
// pairs of rings around two centers that are the reach apart.
func (n *Noise) Rows() [][]uint64 {
	n.laws.once.Do(func() { n.laws.rows = n.spec.rows() })
	return formfile.Clone(n.laws.rows)
}

// Pairs implements proof.Lossy. Of no two values it is said that they are as far apart as that.
func (*Noise) Pairs() (all, own []proof.Pair) {
	return []proof.Pair{{Gain: 0, Lose: 1}, {Gain: 1, Lose: 0}}, nil
}

// rows returns the two laws, each the other backwards: first what the one center alone has, then where
// its density is larger, where both are alike, and so on. Weights are rounded down, of both laws, and what that leaves
// is given to where a law is alone, so that no divergence is less than that of the rings.
func (s *Spec) rows() [][]uint64 {
	radii, weights := s.Radii, s.Weights
	if radii[0] == 0 { // where a law is alone
		radii, weights = radii[1:], weights[1:]
	}
	n := len(radii)
	l := newLenses(s.Dimension, radii, s.reach())
	places := uint(volumeBits + l.powers[n].BitLen())
	density := densities(l.powers, weights, places)
	mass := func(v, f *big.Int) *big.Int {
		x := new(big.Int).Mul(v, f)
		return x.Rsh(x, volumeBits+places)
	}
	var larger, smaller []uint64 // of the law that is larger there, and of the other
	alike := new(big.Int)
	for i := 1; i <= n; i++ {
		for j := i; j <= n; j++ {
			// From below: what is in the ball j of both but not in ball j−1.
			v := new(big.Int).Sub(l.of(i, j).low, l.of(i-1, j).high)
			v.Sub(v, l.of(i, j-1).high)
			v.Add(v, l.of(i-1, j-1).low)
			if v.Sign() <= 0 {
				continue
			}
			if i == j {
				alike.Add(alike, v.Mul(v, density[i]))
				continue
			}
			if p := mass(v, density[i]); p.Sign() > 0 {
				larger, smaller = append(larger, p.Uint64()), append(smaller, mass(v, density[j]).Uint64())
			}
		}
	}
	row := append([]uint64{0}, larger...)
	// One less here is one more alone, which is more than what the certificate adds for its rounding.
	row = append(row, max(1, alike.Rsh(alike, volumeBits+places).Uint64())-1)
	slices.Reverse(smaller)
	row = append(append(row, smaller...), 0)
	for _, w := range row[1:] {
		row[0] -= w // modulo 2^64, which is their sum
	}
	if len(row) == 3 && row[1] == 0 { // nowhere both
		row = []uint64{1 << 63, 1 << 63, 0, 0}
	}
	other := slices.Clone(row)
	slices.Reverse(other)
	return [][]uint64{row, other}
}
