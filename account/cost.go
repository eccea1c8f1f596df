// SPDX-License-Identifier: Apache-2.0

package account

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/tables"
)

// Cost is one mechanism of a release, used Times times on the same people, each with fresh noise.
type Cost struct {
	// Table is what the noise is drawn from. Without one, the mechanism is any that is
	// (Epsilon, Delta)-private; beside one they are 0 or what the table promises.
	Table          *tables.Verified
	Epsilon, Delta float64
	Times          int // from 1 to limits.TableReleases
}

// Promise returns the epsilon and the delta of a single use.
func (c Cost) Promise() (epsilon, delta float64) {
	if c.Table != nil {
		p := c.Table.Mechanism().Privacy()
		return p.Epsilon, p.Delta
	}
	return c.Epsilon, c.Delta
}

// Validate reports all bad fields together, wrapping dp.ErrInvalid.
func (c Cost) Validate() error {
	bad := check.In("account")
	bad.If(c.Times < 1 || c.Times > limits.TableReleases, "times", c.Times, "1 to %d", limits.TableReleases)
	if c.Table != nil {
		if c.Table.Mechanism() == nil {
			bad.Bad("table", "none", "one that Verify has proved")
			return bad.Err()
		}
		if e, d := c.Promise(); (c.Epsilon != 0 || c.Delta != 0) && (c.Epsilon != e || c.Delta != d) {
			bad.Badf("epsilon, delta", fmt.Sprintf("%v, %v", c.Epsilon, c.Delta), "0, or %v, %v as the table promises", e, d)
		}
		return bad.Err()
	}
	// The ranges of Approximate: a mechanism with an epsilon and a delta of 0 releases nothing.
	if !(c.Epsilon >= 0 && c.Epsilon <= maxEpsilon) || c.Epsilon == 0 && c.Delta == 0 {
		bad.Badf("epsilon", c.Epsilon, "a number from 0 to %d, and above 0 where delta is 0", maxEpsilon)
	}
	bad.Delta("delta", c.Delta)
	return bad.Err()
}

// mechanism tells mechanisms apart: costs of one have the same, whatever their Times.
func (c Cost) mechanism() Cost {
	if c.Table != nil {
		return Cost{Table: c.Table}
	}
	return Cost{Epsilon: c.Epsilon, Delta: c.Delta}
}

// loss returns the privacy loss distribution of a single use.
func (c Cost) loss() (*PrivacyLossDistribution, error) {
	if c.Table != nil {
		return LossOf(c.Table.Mechanism())
	}
	return Approximate(c.Epsilon, c.Delta)
}

// merged returns the costs and more, every mechanism once.
func merged(costs []Cost, more ...Cost) []Cost {
	sum := slices.Clone(costs)
	for _, c := range more {
		if i := slices.IndexFunc(sum, func(o Cost) bool { return o.mechanism() == c.mechanism() }); i >= 0 {
			sum[i].Times += c.Times
		} else {
			sum = append(sum, c)
		}
	}
	return sum
}

func uses(costs []Cost) (n int) {
	for _, c := range costs {
		n += c.Times
	}
	return n
}

// sums returns the sums of the epsilons and of the deltas promised, exactly: by basic
// composition all of it is private with these, however the mechanisms were chosen.
func sums(costs []Cost) (epsilon, delta *big.Rat) {
	epsilon, delta = new(big.Rat), new(big.Rat)
	for _, c := range costs {
		e, d := c.Promise()
		n := new(big.Rat).SetInt64(int64(c.Times))
		epsilon.Add(epsilon, new(big.Rat).Mul(n, exact.Rational(e)))
		delta.Add(delta, n.Mul(n, exact.Rational(d)))
	}
	return epsilon, delta
}

// EpsilonAt returns an upper bound on the epsilon that all uses of the mechanism have together at
// delta, on the same people and by exact composition; +Inf if none is proved.
func (c Cost) EpsilonAt(delta float64) (float64, error) {
	pld, err := c.loss()
	if err != nil {
		return 0, err
	}
	b, err := bestEpsilon([]Release{{PLD: pld, Times: c.Times}}, delta, 0)
	return b.Upper, err
}

// bestEpsilon composes releases on a grid of the width.
func bestEpsilon(releases []Release, delta, width float64) (Bounds, error) {
	c, err := Compose(releases, Options{Width: width})
	if err != nil {
		return Bounds{}, err
	}
	return c.BestEpsilon(delta)
}

// TableHash returns the SHA-256 of the Table's file, as Encode writes it, in hexadecimal
// digits, by which ledgers and reports of releases know it.
func (c Cost) TableHash() (string, error) {
	if c.Table == nil || c.Table.Mechanism() == nil {
		return "", check.Field("account", "table", "none", "one that Verify has proved")
	}
	h := sha256.New()
	err := c.Table.Mechanism().Encode(h)
	return hex.EncodeToString(h.Sum(nil)), err
}
