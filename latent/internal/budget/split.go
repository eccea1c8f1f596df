// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// Allocation is a privacy budget split over coordinates. The slices have one element per
// coordinate, in the order they were given in, and are the caller's.
type Allocation struct {
	// Epsilon and Delta are the shares; 0 and 0: the coordinate is not used.
	// Their exact sums, as numbers without rounding, are within the budget.
	Epsilon, Delta []float64
	// Variance is the family's, an upper bound, at the share for sensitivity 1; 0
	// where the coordinate is not used.
	Variance []float64
	// Loss is the total task loss, Σ λ_i k_i/(1+k_i) with k_i = 4c_i²v_i over
	// the coordinates used, and Σ λ_i over the others.
	Loss float64
}

// Split divides the budget (ε, δ) over task coordinates of unit variance with the weights
// λ_i >= 0 (of the task loss, any unit) and half-widths c_i > 0 (coordinate i is clipped to
// |y_i| <= c_i), so that the task loss is least: noise of variance v for sensitivity 1 leaves
// the share k/(1+k), k = 4c²v, of λ.
//
// By basic composition the release of all coordinates, each with noise of its own (ε_i, δ_i),
// is (ε, δ)-private if Σε_i <= ε and Σδ_i <= δ; these sums hold exactly. With the family Laplace
// this is the joint ℓ1 mechanism on a box too: Laplace noise of one scale 1/ε on coordinates
// scaled to half-widths s_i, 2Σs_i = 1, is noise for sensitivity 2s_i at ε_i = 2s_i·ε, and every
// split of ε is of that form.
//
// The problem is not convex. The result is the best on a grid of 256 units of ε with equal δ_i,
// whichever coordinates are used (docs/proofs/noise-curve.md), improved continuously from there
// in all ε_i and δ_i. For δ <= 0.03 nothing better was ever found by trying all splits over up to
// 3 coordinates; for δ around 0.1, where very uneven δ_i can be best, up to 0.4 % of the loss was.
//
// Errors wrap [dp.ErrInvalid] for bad inputs, or are those of the family and of the context.
func Split(ctx context.Context, lambda, halfwidth []float64, epsilon, delta float64, family Family) (*Allocation, error) {
	if err := checkSplit(lambda, halfwidth, epsilon, delta); err != nil {
		return nil, err
	}
	s := newSplitter(lambda, halfwidth, epsilon, delta, family)
	p, err := s.search(ctx)
	if err != nil {
		return nil, err
	}
	shares := s.shares(p)
	if err := polish(ctx, shares, family); err != nil {
		return nil, err
	}
	return s.allocate(len(lambda), shares)
}

func checkSplit(lambda, halfwidth []float64, epsilon, delta float64) error {
	if len(lambda) == 0 || len(lambda) != len(halfwidth) {
		return check.Field("latent", "coordinates", fmt.Sprintf("%d weights and %d half-widths", len(lambda), len(halfwidth)), "as many of both, at least 1")
	}
	for i, l := range lambda {
		if !(l >= 0) || math.IsInf(l, 1) {
			return check.Field("latent", fmt.Sprintf("lambda[%d]", i), l, "a finite number >= 0")
		}
		if c := halfwidth[i]; !check.Positive(c) {
			return check.Field("latent", fmt.Sprintf("half-width[%d]", i), c, "a finite number > 0")
		}
	}
	if !check.Positive(epsilon) {
		return check.Field("latent", "epsilon", epsilon, "a finite number > 0")
	}
	return check.Delta("latent", "delta", delta)
}

// gridUnits is the number of equal parts of ε that the search deals in: a few for
// each coordinate that ε = 100 is enough for. Polishing does the rest.
const gridUnits = 256

// coordinate is one that can be worth using.
type coordinate struct {
	lambda float64
	spread float64 // 4c², the noise variance factor
	index  int     // among those given
}

// gain is how much less than λ the loss is with noise of variance v.
func (c coordinate) gain(v float64) float64 { return c.lambda / (1 + c.spread*v) }

// splitter is the state of one Split.
type splitter struct {
	epsilon, delta float64
	family         Family
	coordinates    []coordinate // by falling λ, then rising spread
}

func newSplitter(lambda, halfwidth []float64, epsilon, delta float64, family Family) *splitter {
	s := &splitter{epsilon: epsilon, delta: delta, family: family}
	if family.Pure {
		s.delta = 0
	}
	for i, l := range lambda {
		if l > 0 {
			s.coordinates = append(s.coordinates, coordinate{l, 4 * halfwidth[i] * halfwidth[i], i})
		}
	}
	slices.SortStableFunc(s.coordinates, func(a, b coordinate) int {
		return cmp.Or(cmp.Compare(b.lambda, a.lambda), cmp.Compare(a.spread, b.spread))
	})
	return s
}

// search returns the best plan on the grid in which each of at most z used coordinates has δ/z,
// over all z. Let U(z) be the best gain with δ/z each however many are used, and B(z) that with all
// of δ each for at most z. Less δ is never better, so U falls with z and B(z) bounds every plan of
// at most z coordinates. If the plan of U(z) uses at most z, it is thus the best of all that use z
// or more; and of those that use fewer only the ones with a bound above its gain can beat it.
func (s *splitter) search(ctx context.Context) (plan, error) {
	var best plan
	z := 0
	for enough := false; !enough; enough = s.delta == 0 || len(best.items) <= z {
		z++
		v, err := s.variances(ctx, s.delta/float64(z))
		if err != nil {
			return plan{}, err
		}
		best = s.knapsack(v, unlimited).plan(gridUnits)
	}
	if z == 1 {
		return best, nil
	}
	v, err := s.variances(ctx, s.delta)
	if err != nil {
		return plan{}, err
	}
	bounds := s.knapsack(v, z-1).gains
	for z--; z >= 1 && bounds[z][gridUnits] > best.gain; z-- {
		if v, err = s.variances(ctx, s.delta/float64(z)); err != nil {
			return plan{}, err
		}
		if p := s.knapsack(v, z).plan(gridUnits); p.gain > best.gain {
			best = p
		}
	}
	return best, nil
}

// variances returns the family's at 0 … gridUnits units of ε, infinite where it
// has no noise; it is an error if there is none for all of ε.
func (s *splitter) variances(ctx context.Context, delta float64) ([]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v := make([]float64, gridUnits+1)
	v[0] = math.Inf(1)
	for m := 1; m <= gridUnits; m++ {
		var err error
		v[m], err = s.family.Variance(s.epsilon*float64(m)/gridUnits, delta)
		switch {
		case err != nil && m == gridUnits:
			return nil, err
		case err != nil:
			v[m] = math.Inf(1)
		}
	}
	return v, nil
}

// plan is a division of whole units.
type plan struct {
	gain  float64
	items []planItem
}

type planItem struct {
	coordinate
	units int
}

// unlimited lets a knapsack take as many coordinates as it likes.
const unlimited = 0

// knapsack is the table of a dynamic program: gains[z][m] is the most that m units can gain with at
// most z coordinates. If the number is unlimited there is the row z = 0 only.
type knapsack struct {
	limited bool
	items   []coordinate
	gains   [][]float64
	choices [][]uint16 // [z·len(items)+i][m]: the units that item i gets
}

// knapsack runs the dynamic program for the given variances and the most coordinates. One is
// left out beforehand if as many others as can be used have both no smaller λ and no larger
// spread: one of these is free wherever it is used, and gains no less with the same noise.
func (s *splitter) knapsack(v []float64, most int) *knapsack {
	k := &knapsack{limited: most != unlimited}
	usable := most
	if !k.limited {
		usable = gridUnits
	}
	for i, c := range s.coordinates {
		better := 0
		for _, d := range s.coordinates[:i] {
			if d.spread <= c.spread {
				better++
			}
		}
		if better < usable {
			k.items = append(k.items, c)
		}
	}
	first := 0
	if k.limited {
		first = 1
	}
	k.gains = make([][]float64, most+1)
	for z := range k.gains {
		k.gains[z] = make([]float64, gridUnits+1)
	}
	k.choices = make([][]uint16, (most+1)*len(k.items))
	gain := make([]float64, gridUnits+1)
	for i, c := range k.items {
		for m := range gain {
			gain[m] = c.gain(v[m])
		}
		for z := most; z >= first; z-- {
			k.choices[z*len(k.items)+i] = deal(k.gains[max(z-1, 0)], k.gains[z], gain)
		}
	}
	return k
}

// deal gives one more item the units by which it gains most, for each number of units there may
// be. The most that can be gained without the item is in to, and without it where it gets some
// in from, which may be to; to then has the most with the item. It returns the units of the item.
func deal(from, to, gain []float64) []uint16 {
	choice := make([]uint16, len(to))
	for m := len(to) - 1; m > 0; m-- { // downwards: what is read is without the item
		top, units := to[m], 0
		for j := 1; j <= m; j++ {
			if g := from[m-j] + gain[j]; g > top {
				top, units = g, j
			}
		}
		to[m], choice[m] = top, uint16(units) //nolint:gosec // some hundreds
	}
	return choice
}

// plan returns the best division of m units.
func (k *knapsack) plan(m int) plan {
	z := len(k.gains) - 1
	p := plan{gain: k.gains[z][m]}
	for i := len(k.items) - 1; i >= 0 && (z > 0 || !k.limited); i-- {
		units := int(k.choices[z*len(k.items)+i][m])
		if units == 0 {
			continue
		}
		p.items = append(p.items, planItem{k.items[i], units})
		m -= units
		if k.limited {
			z--
		}
	}
	slices.Reverse(p.items)
	return p
}

// share is a coordinate in use.
type share struct {
	coordinate
	epsilon, delta float64
}

// shares turns a plan into shares of the whole budget.
func (s *splitter) shares(p plan) []share {
	total := 0
	for _, item := range p.items {
		total += item.units
	}
	var shares []share
	for _, item := range p.items {
		shares = append(shares, share{
			coordinate: item.coordinate,
			epsilon:    s.epsilon * (float64(item.units) / float64(total)),
			delta:      s.delta / float64(len(p.items)),
		})
	}
	return shares
}

// allocate makes the sums of the shares fit the budget and has the final noise.
func (s *splitter) allocate(n int, shares []share) (*Allocation, error) {
	a := &Allocation{Epsilon: make([]float64, n), Delta: make([]float64, n), Variance: make([]float64, n)}
	for _, h := range shares {
		a.Epsilon[h.index], a.Delta[h.index] = h.epsilon, h.delta
	}
	fit(a.Epsilon, s.epsilon)
	fit(a.Delta, s.delta)
	for _, c := range s.coordinates {
		i, loss := c.index, c.lambda
		if a.Epsilon[i] > 0 {
			var err error
			if a.Variance[i], err = s.family.Variance(a.Epsilon[i], a.Delta[i]); err != nil {
				return nil, err
			}
			loss /= 1 + 1/(c.spread*a.Variance[i])
		}
		a.Loss += loss
	}
	return a, nil
}

// fit lowers the largest part, as little as it can, until the exact sum is at most the budget.
func fit(parts []float64, budget float64) {
	for {
		over := new(big.Rat)
		largest := 0
		for i, x := range parts {
			over.Add(over, exact.Rational(x))
			if x > parts[largest] {
				largest = i
			}
		}
		if over.Sub(over, exact.Rational(budget)).Sign() <= 0 {
			return
		}
		lower := parts[largest] - exact.FloatUp(over)
		parts[largest] = math.Max(0, math.Min(lower, math.Nextafter(parts[largest], 0)))
	}
}
