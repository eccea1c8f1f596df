// SPDX-License-Identifier: Apache-2.0

package account

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// randomTable makes a table of few points, with or without zeros, atom, symmetry
// and points beside its sensitivity.
func randomTable(t *testing.T, r *rand.Rand) *tables.Table {
	t.Helper()
	points := int64(1 + 2*r.Intn(2))
	k := 1 + r.Intn(3)
	n := 2 + r.Intn(4)
	weights := make([]uint64, n)
	left := ^uint64(0) // and 1 more
	weights[0] = 1 << 40
	left -= weights[0]
	for i := range n - 1 {
		left += weights[i]
		weights[i] = 0
		if i > 0 && r.Intn(6) == 0 {
			continue
		}
		weights[i] = uint64(float64(left) * r.Float64() * 0.7)
		if r.Intn(8) == 0 {
			weights[i] = uint64(1 + r.Intn(1000))
		}
		left -= weights[i]
	}
	var atom uint64
	if r.Intn(2) == 0 {
		atom = left / uint64(2+r.Intn(10))
		left -= atom
	}
	if n%2 == 1 && r.Intn(2) == 0 { // symmetric
		clear(weights)
		left = ^uint64(0) - atom
		for i := range n / 2 {
			weights[i] = uint64(float64(left) * r.Float64() * 0.3)
			weights[n-1-i] = weights[i]
			left -= 2 * weights[i]
		}
		weights[n/2] = left + 1
	} else {
		weights[n-1] = left + 1
		r.Shuffle(n, func(i, j int) { weights[i], weights[j] = weights[j], weights[i] })
	}
	sensitivity := float64(int64(k) * points)
	if r.Intn(2) == 0 {
		sensitivity -= float64(r.Intn(int(points)))
	}
	table, err := tables.New(tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: sensitivity}, Query: dp.IntegerQuery, Loss: loss.L1},
		Grid:    tables.Grid{PointsPerCell: points, CellsPerSensitivity: k, FirstCell: -r.Intn(n + 1)},
		Weights: weights, Atom: atom,
	})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// pair is the pair of laws of the outputs for two neighbors.
type pair struct{ p, q []float64 }

// pairs lists those of all shifts by up to the sensitivity, point by point.
func pairs(table *tables.Table) []pair {
	g := table.Grid()
	law := map[int64]float64{}
	for i := range table.Cells() {
		for j := range g.PointsPerCell {
			law[g.FirstPoint(i)+j] += float64(table.Weight(i)) * 0x1p-64 / float64(g.PointsPerCell)
		}
	}
	law[0] += float64(table.Atom()) * 0x1p-64
	var out []pair
	reach := int64(table.Privacy().Sensitivity)
	for m := -reach; m <= reach; m++ {
		var x pair
		for n := int64(-60); n <= 60; n++ {
			if law[n] > 0 { // other points add nothing
				x.p, x.q = append(x.p, law[n]), append(x.q, law[n-m])
			}
		}
		out = append(out, x)
	}
	return out
}

// adaptive returns the δ at e^ε = alpha of a sequence of releases whose shifts
// an adversary chooses one by one, knowing the outputs so far: by dynamic
// programming over everything that can have come out.
func adaptive(releases [][]pair, alpha float64) float64 {
	if len(releases) == 0 {
		return math.Max(0, 1-alpha)
	}
	best := 0.0
	for _, x := range releases[0] {
		sum := 0.0
		for i, p := range x.p {
			sum += p * adaptive(releases[1:], alpha*x.q[i]/p)
		}
		best = math.Max(best, sum)
	}
	return best
}

func mustTable(t testing.TB, table *tables.Table) *PrivacyLossDistribution {
	t.Helper()
	m, err := LossOf(table)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func compose(t testing.TB, releases ...Release) *Composition {
	t.Helper()
	c, err := Compose(releases, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func delta(t testing.TB, c *Composition, epsilon float64) Bounds {
	t.Helper()
	b, err := c.Delta(epsilon)
	if err != nil {
		t.Fatalf("Delta(%g): %v", epsilon, err)
	}
	if !(b.Lower >= 0 && b.Lower <= b.Upper && b.Upper <= 1) {
		t.Fatalf("Delta(%g) = %v, want 0 <= Lower <= Upper <= 1", epsilon, b)
	}
	return b
}

// brackets checks that a number known to a relative 1e-12 lies in the bounds.
func brackets(t testing.TB, what string, b Bounds, exact float64) {
	t.Helper()
	const wrong = 1e-12
	if b.Upper < exact*(1-wrong)-1e-15 || b.Lower > exact*(1+wrong)+1e-15 {
		t.Errorf("%s: [%.15g, %.15g] does not hold %.15g", what, b.Lower, b.Upper, exact)
	}
}

// TestTablesAgainstAdversaries holds the bounds against the best adversary, for
// one to three releases of random tables, the same or others.
func TestTablesAgainstAdversaries(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewSource(1))
	for trial := range 150 {
		var releases []Release
		var laws [][]pair
		for range 1 + trial%3 {
			table := randomTable(t, r)
			m := mustTable(t, table)
			times := 1
			if len(laws) < 2 && r.Intn(2) == 0 {
				times = 2
			}
			if len(laws)+times > 3 {
				break
			}
			releases = append(releases, Release{m, times})
			for range times {
				laws = append(laws, pairs(table))
			}
		}
		c := compose(t, releases...)
		for _, epsilon := range []float64{0, 0.3, 1, 2.5, 6} {
			b := delta(t, c, epsilon)
			brackets(t, fmt.Sprintf("trial %d, %d releases, epsilon %g", trial, len(laws), epsilon),
				b, adaptive(laws, math.Exp(epsilon)))
		}
	}
}

// TestTablesExactly has pairs of neighbors where there is only one choice, so that
// the upper bound is close to what they cost, and not only above it: tables of one
// shift, either way the same.
func TestTablesExactly(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for trial := range 40 {
		n := 2 + r.Intn(5)
		weights := make([]uint64, 2*n)
		left := uint64(1 << 63)
		for i := range n - 1 {
			weights[i] = uint64(float64(left) * r.Float64())
			left -= weights[i]
		}
		weights[n-1] = left
		for i := range n {
			weights[2*n-1-i] = weights[i]
		}
		table, err := tables.New(tables.Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L1},
			Grid:    tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: -n},
			Weights: weights,
		})
		if err != nil {
			t.Fatal(err)
		}
		times := 2 + trial%2
		c := compose(t, Release{mustTable(t, table), times})
		laws := slices.Repeat([][]pair{pairs(table)[:1]}, times)
		for _, epsilon := range []float64{0, 0.5, 2} {
			exact := adaptive(laws, math.Exp(epsilon))
			b := delta(t, c, epsilon)
			brackets(t, fmt.Sprintf("trial %d, epsilon %g", trial, epsilon), b, exact)
			if b.Upper > 1.02*exact || b.Lower < 0.97*exact {
				t.Errorf("trial %d, epsilon %g: [%g, %g], want close to %g", trial, epsilon, b.Lower, b.Upper, exact)
			}
		}
	}
}

// TestRandomCompositions holds what must be true of any composition: order and
// grouping do not matter, and δ falls in ε and grows with every release.
func TestRandomCompositions(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	texts := []string{
		"laplace:epsilon=0.3", "gaussian:sigma=2", "randomized-response:epsilon=0.5,categories=4",
		"discrete-laplace:epsilon=0.7,sensitivity=3", "dp:epsilon=0.2,delta=1e-4", "staircase:epsilon=1.1",
		"discrete-gaussian:sigma=3", "laplace:epsilon=2", "dp:epsilon=0,delta=1e-3",
		"truncated-laplace:epsilon=0.6,delta=1e-3",
	}
	trials := 12
	if testing.Short() {
		trials = 4
	}
	for trial := range trials {
		var releases, flat []Release
		for range 2 + r.Intn(3) {
			m, err := parse(texts[r.Intn(len(texts))])
			if err != nil {
				t.Fatal(err)
			}
			times := 1 + r.Intn(4)
			releases = append(releases, Release{m, times})
			for range times {
				flat = append(flat, Release{m, 1})
			}
		}
		r.Shuffle(len(flat), func(i, j int) { flat[i], flat[j] = flat[j], flat[i] })
		c, same := compose(t, releases...), compose(t, flat...)
		more := compose(t, append(slices.Clone(releases), releases[0])...)
		if c.Count() != same.Count() || more.Count() <= c.Count() {
			t.Errorf("counts %d, %d and %d", c.Count(), same.Count(), more.Count())
		}
		before := 1.0
		for _, epsilon := range []float64{0, 0.5, 1, 2, 4} {
			b, d := delta(t, c, epsilon), delta(t, same, epsilon)
			if math.Abs(b.Upper-d.Upper) > 1e-6*b.Upper+1e-30 {
				t.Errorf("trial %d: in another order %g, want %g", trial, d.Upper, b.Upper)
			}
			if b.Lower > before {
				t.Errorf("trial %d: delta at %g is at least %g, but below %g before", trial, epsilon, b.Lower, before)
			}
			before = b.Upper
			if m := delta(t, more, epsilon); m.Upper < b.Lower {
				t.Errorf("trial %d: another release makes %g of %g", trial, m.Upper, b.Lower)
			}
		}
		for _, d := range []float64{1e-2, 5e-3} {
			e, err := c.Epsilon(d)
			if err != nil {
				t.Fatal(err)
			}
			if at := delta(t, c, e.Upper); at.Lower > d || at.Upper > 1.01*d && e.Upper > 0 {
				t.Errorf("trial %d: delta at the epsilon %g of %g is %v", trial, e.Upper, d, at)
			}
			if at := delta(t, c, e.Lower); e.Lower > 0 && at.Upper < d {
				t.Errorf("trial %d: delta at the least epsilon %g of %g is %v", trial, e.Lower, d, at)
			}
		}
	}
}

// TestNearTheSum: at the sum of the epsilons, and just below all losses, the deltas add up.
func TestNearTheSum(t *testing.T) {
	var releases []Release
	sum := 0.0
	for _, epsilon := range []float64{8.25, 6.5, 5.125} {
		m, err := Approximate(epsilon, 1e-4)
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, Release{PLD: m, Times: 1})
		sum += epsilon
	}
	c, err := Compose(releases, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, epsilon := range []float64{sum, sum * (1 - 0x1p-50), sum * (1 + 0x1p-50)} {
		d, err := c.Delta(epsilon)
		if err != nil || d.Upper > 3.01e-4 || d.Lower > d.Upper || d.Lower < 2.9e-4 {
			t.Errorf("delta at %v = %+v, error %v, want about 3e-4", epsilon, d, err)
		}
	}
	e, err := c.Epsilon(3.01e-4)
	if err != nil || e.Upper > sum || e.Lower > e.Upper {
		t.Errorf("epsilon = %+v, error %v, want at most %g", e, err, sum)
	}
}
