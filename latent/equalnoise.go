package latent

import (
	"context"
	"slices"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/latent/internal/blocks"
	"github.com/noisewright/noisewright/latent/internal/budget"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/tables"
)

// EqualTable returns the table that each of z coordinates has alike, for values that differ
// by a sensitivity at most, and the composition by which all of them together keep the
// promise: basic, or exact where that leaves room for less variance, see exactSplit.
// What design makes is verified by the bundle that it comes into.
//
// Errors wrap dp.ErrInvalid for a promise outside the range of designs, or are those of
// design and of package account.
func EqualTable(ctx context.Context, promise bundle.Promise, z int, sensitivity float64, design func(context.Context, dp.Problem) (*tables.Verified, error)) (*tables.Table, bundle.Composition, error) {
	table := func(epsilon, delta float64) (*tables.Table, error) {
		p, err := designProblem(epsilon, delta, sensitivity)
		if err != nil {
			return nil, err
		}
		v, err := design(ctx, p)
		if err != nil {
			return nil, check.Errorf("latent", nil, "noise for epsilon = %g, delta = %g: %w", p.Epsilon, p.Delta, err)
		}
		return v.Mechanism(), nil
	}
	epsilon, delta := exact.Share(promise.Epsilon, z), exact.Share(promise.Delta, z)
	if e, d := exactShares(promise, z, epsilon, delta); e > 0 {
		for range retries {
			t, err := table(e, d)
			if err != nil {
				return nil, "", err
			}
			one, err := account.LossOf(t)
			if fits, err := composes(one, err, z, promise); err != nil || fits {
				return t, bundle.Exact, err
			}
			e *= 1 - minSaving
		}
	}
	t, err := table(epsilon, delta)
	return t, bundle.Designed.Composition(), err
}

// exactShares returns the equal shares of exact composition that have less variance, as
// planned, than (epsilon, delta) by basic composition; 0 if there are none.
func exactShares(promise bundle.Promise, z int, epsilon, delta float64) (e, d float64) {
	family := budget.TruncatedStaircase()
	best, err := family.Variance(epsilon, delta)
	if z < 2 || promise.Delta == 0 || err != nil {
		return 0, 0
	}
	best *= 1 - minSaving
	for _, share := range deltaShares {
		if larger, own, v, ok := equalShare(promise, z, share, family); ok && v < best {
			best, e, d = v, larger, own
		}
	}
	return e, d
}

// FitRandomizer returns the local randomizer of least mean squared error, with delta = 0,
// for values that have the law of those given, within ±radius. With few of them the
// law is mixed with the uniform one. Its answer is the mean of the values given that answer.
//
// Errors wrap dp.ErrInvalid: no values, one that is not within ±radius, or an epsilon that
// is not from 1e-6 to 100.
func FitRandomizer(values []float64, radius, epsilon float64) (*local.Randomizer, error) {
	if len(values) == 0 {
		return nil, check.Field("latent", "values", "none", "at least one")
	}
	if i := slices.IndexFunc(values, func(v float64) bool { return !(v >= -radius && v <= radius) }); i >= 0 {
		return nil, check.Errorf("latent", dp.ErrInvalid, "values[%d] = %g, want a number within ±%g", i, values[i], radius)
	}
	if !(epsilon >= leastLocalEpsilon && epsilon <= check.MaxEpsilon) {
		return nil, check.Errorf("latent", dp.ErrInvalid, "epsilon = %g, want a number from %g to %d", epsilon, leastLocalEpsilon, check.MaxEpsilon)
	}
	return blocks.NewLaw(values, values, radius).Randomizer(epsilon)
}
