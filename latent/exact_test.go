// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// handmade returns a table on the integers around 0 with the given shares, for a
// sensitivity of one and epsilon; its delta is the least there is, rounded up.
func handmade(t *testing.T, epsilon float64, shares ...uint64) *tables.Table {
	t.Helper()
	var total uint64
	for _, s := range shares {
		total += s
	}
	unit := math.MaxUint64 / total
	weights := make([]uint64, len(shares))
	rest := uint64(0) // 2^64 less the others
	for i, s := range shares {
		weights[i] = s * unit
		rest -= weights[i]
	}
	weights[len(shares)/2] += rest
	spec := tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: 0.9, Sensitivity: 1}, Query: dp.RealQuery, Loss: loss.L2}, Weights: weights,
		Grid: tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: -(len(shares) / 2)},
	}
	table, err := tables.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	spec.Privacy.Delta = exact.FloatUp(table.Certify().DeltaUpper)
	if table, err = tables.New(spec); err != nil {
		t.Fatal(err)
	}
	return table
}

// mass returns P(X = k), exactly.
func mass(t *tables.Table, k int) *big.Rat {
	i := k - t.Grid().FirstCell
	if i < 0 || i >= t.Cells() {
		return new(big.Rat)
	}
	w := new(big.Int).SetUint64(t.Weight(i))
	return new(big.Rat).SetFrac(w, new(big.Int).Lsh(big.NewInt(1), 64))
}

// jointDelta returns Σ (P(x) − ratio·P(x−d))₊ over pairs of integers, P the law of two
// independent draws, exactly.
func jointDelta(a, b *tables.Table, shiftA, shiftB int, ratio *big.Rat) *big.Rat {
	sum := new(big.Rat)
	const reach = 6
	for i := -reach; i <= reach; i++ {
		for j := -reach; j <= reach; j++ {
			p := new(big.Rat).Mul(mass(a, i), mass(b, j))
			q := new(big.Rat).Mul(mass(a, i-shiftA), mass(b, j-shiftB))
			if p.Sub(p, q.Mul(q, ratio)).Sign() > 0 {
				sum.Add(sum, p)
			}
		}
	}
	return sum
}

// The exact composition of two hand-made tables against all shifts in the box of both
// coordinates, by enumeration: never below the truth, above it by 1 % of it at most, and
// a promise between the two sides of the truth is told from one that is broken.
func TestComposeAgainstEnumeration(t *testing.T) {
	for _, pair := range [][2]*tables.Table{
		{handmade(t, math.Ln2, 1, 3, 5, 3, 1), handmade(t, math.Ln2, 1, 3, 5, 3, 1)},
		{handmade(t, 1, 1, 4, 9, 4, 1), handmade(t, 0.5, 2, 3, 4, 3, 2)},
		{handmade(t, 0.75, 1, 2, 4, 8, 4, 2, 1), handmade(t, 1.5, 1, 6, 1)},
	} {
		a, b := pair[0], pair[1]
		epsilon := a.Privacy().Epsilon + b.Privacy().Epsilon
		basic := a.Privacy().Delta + b.Privacy().Delta
		ratio := new(big.Rat).SetFloat64(math.Exp(epsilon)) // to 2 units of the last place
		truth := 0.0
		for i := -1; i <= 1; i++ {
			for j := -1; j <= 1; j++ {
				truth = max(truth, exact.FloatUp(jointDelta(a, b, i, j, ratio)))
			}
		}
		got, err := composition([]*tables.Table{a, b}, bundle.Promise{Epsilon: epsilon})
		if err != nil {
			t.Fatal(err)
		}
		if !(got >= truth*(1-1e-14) && got <= truth*1.01) {
			t.Errorf("composed delta = %.12g, want %.12g and at most 1%% more", got, truth)
		}
		if !(got < 0.8*basic) {
			t.Errorf("composed delta = %g is not much below the basic %g", got, basic)
		}
		identity := bundle.Matrix{Rows: 2, Cols: 2, Data: []float64{1, 0, 0, 1}}
		verify := func(composition bundle.Composition, delta float64) error {
			b, err := bundle.New(bundle.Spec{
				Features: []string{"a", "b"}, Mean: []float64{0, 0}, Encoder: identity, Offset: []float64{0, 0},
				Axes: []float64{0.5, 0.5}, Domain: bundle.Box, Noise: bundle.Designed, Composition: composition,
				Tables: []*tables.Table{a, b}, TableOf: []int{0, 1}, Decoder: identity, DecoderOffset: []float64{0, 0},
				Promise: bundle.Promise{Epsilon: epsilon, Delta: delta},
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = Verify(t.Context(), b, proof.Options{})
			return err
		}
		if err := verify(bundle.Exact, got); err != nil {
			t.Errorf("delta %g: %v", got, err)
		}
		if err := verify("basic", got); !errors.Is(err, proof.ErrNotPrivate) {
			t.Errorf("basic, delta %g: error %v, want ErrNotPrivate", got, err)
		}
		if err := verify(bundle.Exact, truth*(1-1e-9)); !errors.Is(err, proof.ErrNotPrivate) {
			t.Errorf("delta %g, below the truth: error %v, want ErrNotPrivate", truth*(1-1e-9), err)
		}
	}
}

// Twenty equal coordinates in a small box: exact composition is used where it helps,
// which takes a large delta.
func TestDesignComposesExactly(t *testing.T) {
	const n = 20
	m, err := taskspace.GivenMoments(make([]float64, n), taskspace.Identity(n))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		epsilon, delta, saved float64 // of the loss, relative
	}{{20, 0.3, 0.01}, {20, 1e-2, 0}, {2, 1e-5, 0}} {
		p := named(Problem{Mean: m.Mean, Covariance: m.Covariance, Promise: bundle.Promise{Epsilon: test.epsilon, Delta: test.delta}, Domain: bundle.Box, Radius: 1})
		store := testStore(t)
		r := design(t, p, Options{Store: store, Kinds: []bundle.Kind{noise.TruncatedLaplace, bundle.Designed}})
		points, err := newCurve(store).split(t.Context(), r.Lambda, r.Radii, p.Epsilon, p.Delta)
		if err != nil {
			t.Fatal(err)
		}
		basic, used := sum(r.Lambda), 0
		for i, point := range points {
			if point != nil {
				basic -= r.Lambda[i] / (1 + 4*r.Radii[i]*r.Radii[i]*point.variance)
				used++
			}
		}
		c := find(t, r, bundle.Designed, taskAware)
		saved := 1 - c.Loss/basic
		t.Logf("epsilon %g, delta %g: %s composition, %d coordinates, basic %d, %.2f%% of the loss saved", p.Epsilon, p.Delta, c.Composition, c.Z, used, 100*saved)
		if (c.Composition == bundle.Exact) != (test.saved > 0) || !(saved >= test.saved-1e-9) {
			t.Errorf("epsilon %g, delta %g: %s composition saves %g of the loss, want %g", p.Epsilon, p.Delta, c.Composition, saved, test.saved)
		}
		b, err := r.Bundle(c)
		if err != nil {
			t.Fatal(err)
		}
		if s := b.Spec(); s.Composition != c.Composition || s.Promise.Delta != p.Delta {
			t.Errorf("bundle for %+v, composition %s", s.Promise, s.Composition)
		}
		if c.Composition == bundle.Exact && !(sum(c.Epsilon) > p.Epsilon) {
			t.Errorf("the exactly composed shares are %g together, not more than %g", sum(c.Epsilon), p.Epsilon)
		}
	}
}

// The bound by which exactSplit gives up, for the worst mechanisms.
func TestExactCompositionSavesLittle(t *testing.T) {
	for _, epsilons := range [][]float64{{3, 3}, {1, 2, 4}, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, {5}} {
		for _, delta := range []float64{1e-4, 1e-2, 0.1} {
			room, total := delta, 0.0
			var ms []*account.PrivacyLossDistribution
			for _, e := range epsilons {
				room *= 1 + math.Exp(-e)
				total += e
				m, err := account.Approximate(e, 0)
				if err != nil {
					t.Fatal(err)
				}
				ms = append(ms, m)
			}
			if room >= 1 {
				continue
			}
			// Beyond the bound the promise is broken.
			got, err := composedDelta(ms, total+math.Log1p(-room)-1e-6*total)
			if err != nil {
				t.Fatal(err)
			}
			if !(got > delta) {
				t.Errorf("%v: delta %g at an epsilon that saves more than %g, want above %g", epsilons, got, -math.Log1p(-room), delta)
			}
		}
	}
}

// The plan's formula against the composition of package account.
func TestWorstDelta(t *testing.T) {
	for _, test := range []struct {
		e, d, epsilon float64
		z             int
	}{{1, 1e-3, 2, 4}, {0.5, 0, 3, 12}, {3, 0.01, 5, 2}, {2, 0.02, 2, 1}, {1.6, 0.002, 20, 16}} {
		m, err := account.Approximate(test.e, test.d)
		if err != nil {
			t.Fatal(err)
		}
		ms := make([]*account.PrivacyLossDistribution, test.z)
		for i := range ms {
			ms[i] = m
		}
		want, err := composedDelta(ms, test.epsilon)
		if err != nil {
			t.Fatal(err)
		}
		wantNear(t, fmt.Sprintf("%+v", test), worstDelta(test.e, test.d, test.z, test.epsilon), want, 0.02)
		e := equalEpsilon(test.epsilon, 0.05, test.d, test.z)
		if low, high := worstDelta(e, test.d, test.z, test.epsilon), worstDelta(e*1.0002, test.d, test.z, test.epsilon); low > 0.05 || high <= 0.05 && e < test.epsilon*0.999 {
			t.Errorf("%+v: delta %g at the largest share %g, %g beyond it, want 0.05 between", test, low, e, high)
		}
	}
}
