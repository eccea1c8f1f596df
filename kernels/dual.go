package kernels

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Dual proves a lower bound on the expected loss of every way, of any
// shape and with any outputs, to answer queries of a range that is (epsilon,
// delta)-differentially private. It holds multipliers of weak duality on a
// partition of the range into equal cells. All others are 0. Units are those of
// the loss, times 2^Exponent.
//
// Any non-negative multipliers give a true bound; good ones give a good bound.
type Dual struct {
	Cells    int `json:"cells"`
	Exponent int `json:"exponent"`
	// Mirrored: each multiplier of the cells (gain, lose) and output j also
	// stands at their mirror images.
	Mirrored bool `json:"mirrored"`
	// Caps, if not empty, has one multiplier per cell for the instance cap.
	Caps  []int64    `json:"caps,string"`
	Pairs []DualPair `json:"pairs"`
}

// DualPair holds the multipliers of one ordered pair of cells, no further
// apart than the sensitivity, for the outputs from First on.
type DualPair struct {
	Gain        int     `json:"gain"`
	Lose        int     `json:"lose"`
	First       int     `json:"first"`
	Multipliers []int64 `json:"multipliers,string"`
}

func (d *Dual) clone() *Dual {
	if d == nil {
		return nil
	}
	c := *d
	c.Caps = slices.Clone(d.Caps)
	c.Pairs = slices.Clone(d.Pairs)
	for i, p := range c.Pairs {
		c.Pairs[i].Multipliers = slices.Clone(p.Multipliers)
	}
	return &c
}

func (d *Dual) validate(p dp.Privacy, q Queries) error {
	if d == nil {
		return nil
	}
	bad := func(field string, value any, rule string) error {
		return check.Errorf("kernels", dp.ErrInvalid, "dual.%s = %v, want %s", field, value, rule)
	}
	n := d.Cells
	if n < 1 || n > MaxCells {
		return bad("cells", n, fmt.Sprintf("1 to %d", MaxCells))
	}
	if d.Exponent < -proof.MaxExponent || d.Exponent > proof.MaxExponent {
		return bad("exponent", d.Exponent, fmt.Sprintf("an integer from %d to %d", -proof.MaxExponent, proof.MaxExponent))
	}
	if len(d.Caps) != 0 && len(d.Caps) != n {
		return bad("caps", fmt.Sprintf("%d multipliers", len(d.Caps)), fmt.Sprintf("none or %d, one per cell", n))
	}
	reach := q.Reach(n, p.Sensitivity)
	// Sums must stay within an int64; see LowerBound.
	const limit = 1 << 61
	var sum int64
	seen := make(map[[2]int]bool)
	left := proof.MaxMultipliers
	for _, m := range d.Pairs {
		pair := [2]int{m.Gain, m.Lose}
		if m.Gain < 0 || m.Gain >= n || m.Lose < 0 || m.Lose >= n || m.Gain == m.Lose || max(m.Gain-m.Lose, m.Lose-m.Gain) > reach {
			return bad("pairs", fmt.Sprintf("cells %d and %d", m.Gain, m.Lose), fmt.Sprintf("two of %d cells, at most %d apart", n, reach))
		}
		if seen[pair] || (d.Mirrored && seen[[2]int{n - 1 - m.Gain, n - 1 - m.Lose}]) {
			return bad("pairs", fmt.Sprintf("cells %d and %d", m.Gain, m.Lose), "each pair once")
		}
		seen[pair] = true
		if left -= len(m.Multipliers); left < 0 {
			return bad("multipliers", "too many", fmt.Sprintf("at most %d in all", proof.MaxMultipliers))
		}
		if err := m.validate(n, bad); err != nil {
			return err
		}
		if sum += m.largest(); sum < 0 || sum > limit {
			return bad("multipliers", "too large", "the largest of each pair to sum to at most 2^61")
		}
	}
	for _, y := range d.Caps {
		if sum += y; y < 0 || sum < 0 || sum > limit {
			return bad("caps", y, "non-negative numbers, with the prices of all pairs at most 2^61")
		}
	}
	return nil
}

// validate says by bad which multiplier is of no output of the n cells, or below 0.
func (m *DualPair) validate(n int, bad func(field string, value any, rule string) error) error {
	if m.First < 0 || m.First+len(m.Multipliers) > n {
		return bad("first", m.First, fmt.Sprintf("outputs within 0 to %d", n-1))
	}
	for _, y := range m.Multipliers {
		if y < 0 {
			return bad("multipliers", y, "non-negative numbers")
		}
	}
	return nil
}

// Reach returns how far apart, in cells, two queries of the lower bound may be that
// are the same fraction of a cell from its edge: ⌊sensitivity·cells/range⌋.
func (q Queries) Reach(cells int, sensitivity float64) int {
	r := exact.Rational(sensitivity)
	r.Quo(r, q.cellWidth(cells))
	whole := exact.Floor(r)
	if !whole.IsInt64() || whole.Int64() > int64(cells) {
		return cells
	}
	return int(whole.Int64())
}

// largest returns the price η of the pair: its largest multiplier.
func (m *DualPair) largest() int64 {
	var top int64
	for _, y := range m.Multipliers {
		top = max(top, y)
	}
	return top
}

// LowerBound returns the bound the multipliers prove on the expected loss, over
// the law of q, of every private mechanism (docs/proofs/kernel-lower-bound.md):
//
//	Σ_k min_j [ w_k·l_{k,j} + κ_k·l′_{k,j} + Σ_m ( y_{k,m,j} − e^ε·y_{m,k,j} ) ] − δ·Σ η_{k,m} − cap·Σ κ_k
//
// with w and l from Queries.CellCosts, l′ of the cap's loss, y the multipliers of the pairs, η the
// largest of each and κ those of the cap, which count only if cap > 0: then the
// bound is about the mechanisms of which no query value has an expected loss
// above cap. It is never below 0. A nil Dual proves 0.
func (d *Dual) LowerBound(p dp.Privacy, q Queries, loss loss.Loss, instanceCap Cap) *big.Rat {
	return d.lowerBound(p, q, loss, instanceCap, nil)
}

// Cap bounds the expected loss of every query value.
type Cap struct {
	Limit float64   // in units of the loss; 0: no cap
	Loss  loss.Loss // of which it is one; nil: of the loss that is made small
}

// lowerBound is nothing that holds if the meter says stop.
func (d *Dual) lowerBound(p dp.Privacy, q Queries, loss loss.Loss, instanceCap Cap, meter *proof.Meter) *big.Rat {
	zero := new(big.Rat)
	if d == nil {
		return zero
	}
	w, l, ok := q.cellCosts(d.Cells, loss, meter)
	if !ok {
		return zero
	}
	capped := l // what the cap charges
	if instanceCap.Limit > 0 && instanceCap.Loss != nil {
		if _, capped, ok = q.cellCosts(d.Cells, instanceCap.Loss, meter); !ok {
			return zero
		}
	}
	n := d.Cells
	own, from := make([]int64, n*n), make([]int64, n*n)
	price := new(big.Int)
	for _, m := range d.Pairs {
		for i, y := range m.Multipliers {
			j := m.First + i
			own[m.Gain*n+j] += y
			from[m.Lose*n+j] += y
			if d.Mirrored {
				own[(n-1-m.Gain)*n+n-1-j] += y
				from[(n-1-m.Lose)*n+n-1-j] += y
			}
		}
		price.Add(price, big.NewInt(m.largest()))
	}
	if d.Mirrored {
		price.Lsh(price, 1)
	}
	unit := exact.PowerOfTwo(d.Exponent)
	up := exact.ExpUp(p.Epsilon, exact.RatioBits)
	// As in Dual.LowerBound, everything is an integer in units of
	// 2^(x−96), x the exponent; the costs are rounded down to it.
	fine := exact.PowerOfTwo(exact.RatioBits - d.Exponent)
	total := new(big.Int)
	caps := new(big.Rat)
	for k := range n {
		weight, kappa := new(big.Rat).Mul(w[k], fine), new(big.Rat)
		if instanceCap.Limit > 0 && len(d.Caps) > 0 {
			kappa.SetInt64(d.Caps[k])
			kappa.Mul(kappa, unit)
			caps.Add(caps, kappa)
			kappa.Mul(kappa, fine)
		}
		var least *big.Int
		for j := range n {
			if !meter.Spend(exact.RationalWork(exact.Bits(weight) + exact.Bits(l[k][j]))) {
				return zero
			}
			cost := new(big.Rat).Mul(weight, l[k][j])
			if kappa.Sign() > 0 {
				if !meter.Spend(2 * exact.RationalWork(exact.Bits(cost)+exact.Bits(capped[k][j]))) {
					return zero
				}
				cost.Add(cost, new(big.Rat).Mul(kappa, capped[k][j]))
			}
			c := exact.Floor(cost)
			part := big.NewInt(own[k*n+j])
			c.Add(c, part.Lsh(part, exact.RatioBits))
			part.SetInt64(from[k*n+j])
			c.Sub(c, part.Mul(part, up))
			if least == nil || c.Cmp(least) < 0 {
				least = c
			}
		}
		total.Add(total, least)
	}
	bound := new(big.Rat).SetInt(total)
	bound.Quo(bound, fine)
	cost := new(big.Rat).SetInt(price)
	cost.Mul(cost, unit).Mul(cost, exact.Rational(p.Delta))
	bound.Sub(bound, cost)
	if instanceCap.Limit > 0 {
		bound.Sub(bound, caps.Mul(caps, exact.Rational(instanceCap.Limit)))
	}
	if bound.Sign() < 0 {
		return zero
	}
	return bound
}
