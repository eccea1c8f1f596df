// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"errors"
	"math"
	"math/big"
	"slices"
	"sync"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
)

// ErrExceeded marks costs that do not fit in a total beside what was charged before.
var ErrExceeded = errors.New("the total would be exceeded")

// Budget is the total that everything released about the same people keeps, and what was
// charged to it. It is safe for concurrent use. It lives as long as the process: for a total
// that outlives it, charge a ledger (package release/ledger).
type Budget struct {
	total    dp.Budget
	adaptive bool
	losses   *sync.Map // *PrivacyLossDistribution by *tables.Verified

	mu      sync.Mutex
	charged []Cost // every mechanism once
}

// NewBudget returns a Budget that nothing was charged to.
//
// An adaptive one keeps the sums of the epsilons and of the deltas promised within the total,
// whatever is released. Any other composes exactly, which allows more, on a condition: the
// mechanisms must not be chosen in view of answers.
//
// The error wraps dp.ErrInvalid.
func NewBudget(total dp.Budget, adaptive bool) (*Budget, error) {
	if err := total.Validate(); err != nil {
		return nil, err
	}
	return &Budget{total: total, adaptive: adaptive, losses: new(sync.Map)}, nil
}

// With returns a Budget with the costs charged too, whether or not they fit, and leaves b.
func (b *Budget) With(costs ...Cost) *Budget {
	return &Budget{total: b.total, adaptive: b.adaptive, losses: b.losses, charged: merged(b.Costs(), costs...)}
}

// Costs returns what was charged, every mechanism once.
func (b *Budget) Costs() []Cost {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.charged)
}

// Charge adds costs, all of them or none.
//
// Guarantee: all that was charged is together (epsilon, delta)-private, by exact composition
// or because the promises add up to no more.
//
// The error wraps ErrExceeded for costs that do not fit, and dp.ErrInvalid for bad ones.
func (b *Budget) Charge(costs ...Cost) error {
	for _, c := range costs {
		if err := c.Validate(); err != nil {
			return err
		}
	}
	ctx := context.Background()
	b.mu.Lock()
	defer b.mu.Unlock()
	all := merged(b.charged, costs...)
	if err := b.prepare(ctx, all); err != nil {
		return err
	}
	composed, err := b.composed(ctx, all, b.total.Epsilon)
	if err != nil {
		return err
	}
	if composed > b.total.Epsilon {
		so, err := b.composed(ctx, b.charged, math.NaN())
		if err != nil {
			return err
		}
		return check.Errorf("account", ErrExceeded,
			"this release would exceed the budget of epsilon %v, delta %v: spent are %.6g, and with it %.6g would be", b.total.Epsilon, b.total.Delta, so, composed)
	}
	b.charged = all
	return nil
}

// Spent returns an epsilon, rounded up, that all charges keep together at the budget's delta.
func (b *Budget) Spent() (epsilon float64, err error) {
	return b.Epsilon(context.Background(), math.NaN())
}

// Sums returns the sums of the epsilons and of the deltas promised, exactly.
func (b *Budget) Sums() (epsilon, delta *big.Rat) { return sums(b.Costs()) }

// Uses returns how many uses of mechanisms were charged.
func (b *Budget) Uses() int { return uses(b.Costs()) }

// Prepare computes what composing the costs takes, once for this Budget and all that With
// returns of it. What is composed later takes the less time.
func (b *Budget) Prepare(ctx context.Context) error { return b.prepare(ctx, b.Costs()) }

func (b *Budget) prepare(ctx context.Context, costs []Cost) error {
	if b.adaptive {
		return nil // promises add up
	}
	for _, c := range costs {
		if _, err := b.lossOf(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// Fits reports whether all that was charged is within the total.
func (b *Budget) Fits(ctx context.Context) (bool, error) {
	epsilon, err := b.Epsilon(ctx, b.total.Epsilon)
	return epsilon <= b.total.Epsilon, err
}

// Epsilon returns an epsilon, rounded up, that all that was charged keeps together at the
// budget's delta; +Inf if none is proved. It stops as soon as it is known whether that is at
// most the limit. With a limit that is not a number it is as sharp as can be.
func (b *Budget) Epsilon(ctx context.Context, limit float64) (float64, error) {
	return b.composed(ctx, b.Costs(), limit)
}

// widths are those of compositions: a coarse one answers most questions in milliseconds, and the
// default one, 0, is that of this package's own answers, so what Calibrate made for the total fits.
var widths = []float64{0.05, 0}

// composed is Epsilon of the costs, every mechanism once.
func (b *Budget) composed(ctx context.Context, costs []Cost, limit float64) (float64, error) {
	least := math.Inf(1)
	switch n := uses(costs); {
	case n == 0:
		return 0, nil
	case n > limits.TableReleases:
		return least, nil
	}
	if epsilon, delta := sums(costs); delta.Cmp(exact.Rational(b.total.Delta)) <= 0 {
		least = exact.FloatUp(epsilon)
	}
	if b.adaptive || least <= limit {
		return least, nil
	}
	releases := make([]Release, len(costs))
	for i, c := range costs {
		pld, err := b.lossOf(ctx, c)
		if err != nil {
			return 0, err
		}
		releases[i] = Release{PLD: pld, Times: c.Times}
	}
	for _, width := range widths {
		bounds, err := await(ctx, func() (Bounds, error) { return bestEpsilon(releases, b.total.Delta, width) })
		if err != nil {
			return 0, err
		}
		if least = min(least, bounds.Upper); least <= limit || bounds.Lower > limit {
			break
		}
	}
	return least, nil
}

// Left returns the largest epsilon of one further release of which only (epsilon, delta) is
// known that fits, rounded down; 0 if there is none. By basic composition the rest is exact;
// where exact composition leaves more, bisection finds it, and every epsilon it returns was
// composed. The error wraps dp.ErrInvalid for a bad delta.
func (b *Budget) Left(ctx context.Context, delta float64) (float64, error) {
	if err := check.Delta("account", "delta", delta); err != nil {
		return 0, err
	}
	rest := 0.0
	epsilon, sum := b.Sums()
	if sum.Add(sum, exact.Rational(delta)).Cmp(exact.Rational(b.total.Delta)) <= 0 {
		epsilon.Sub(exact.Rational(b.total.Epsilon), epsilon)
		rest = min(maxEpsilon, max(0, exact.FloatDown(epsilon)))
	}
	if b.adaptive {
		return rest, nil
	}
	fits := func(epsilon float64) (bool, error) {
		return b.With(Cost{Epsilon: epsilon, Delta: delta, Times: 1}).Fits(ctx)
	}
	return largest(rest, min(max(rest, b.total.Epsilon), maxEpsilon), maxEpsilon, fits, func(lo, hi float64) bool {
		return hi-lo > leftWidth*max(lo, b.total.Epsilon/1024)
	})
}

// largest returns a number that fits, by doubling hi up to most and bisection while the last that
// fits and the first that does not are apart. lo need not be tried.
func largest[T int | float64](lo, hi, most T, fits func(T) (bool, error), apart func(lo, hi T) bool) (T, error) {
	for {
		ok, err := fits(hi)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		if lo = hi; hi == most {
			return lo, nil
		}
		hi = min(2*hi, most)
	}
	for apart(lo, hi) {
		middle := lo + (hi-lo)/2
		ok, err := fits(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			lo = middle
		} else {
			hi = middle
		}
	}
	return lo, nil
}

// leftWidth is how far below the truth, relatively, Left may be.
const leftWidth = 1e-4

// LeftTimes returns how many more uses fit, at most limits.TableReleases; cost.Times is not used. It
// composes some 2·log2 of that times. The error wraps dp.ErrInvalid for a bad cost.
func (b *Budget) LeftTimes(ctx context.Context, cost Cost) (int, error) {
	cost.Times = 1
	if err := cost.Validate(); err != nil {
		return 0, err
	}
	fits := func(n int) (bool, error) {
		cost.Times = n
		return b.With(cost).Fits(ctx)
	}
	return largest(0, 1, 2*limits.TableReleases, fits, func(lo, hi int) bool { return hi-lo > 1 }) // more than MaxReleases never fit
}

// lossOf returns the privacy loss distribution of a cost; that of a table is computed once.
func (b *Budget) lossOf(ctx context.Context, c Cost) (*PrivacyLossDistribution, error) {
	if c.Table == nil {
		return c.loss()
	}
	if p, ok := b.losses.Load(c.Table); ok {
		return p.(*PrivacyLossDistribution), nil //nolint:forcetypeassert // only these are stored
	}
	p, err := await(ctx, c.loss)
	if err == nil {
		b.losses.Store(c.Table, p)
	}
	return p, err
}

// await returns what f does, or the error of the context once that ends; f has no effects.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}
