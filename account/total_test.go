// SPDX-License-Identifier: Apache-2.0

package account

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// claiming returns a table, verified, with a total that nobody has proved.
func claiming(t *testing.T, build func(dp.Problem, tables.Grid) (*tables.Verified, error), epsilon, delta float64, total tables.Total) *tables.Verified {
	t.Helper()
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 2}, Query: dp.IntegerQuery, Loss: loss.L1}
	v, err := build(p, tables.Grid{})
	if err != nil {
		t.Fatal(err)
	}
	table, err := v.Mechanism().WithTotal(total)
	if err != nil {
		t.Fatal(err)
	}
	if v, err = table.Verify(); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestProveTotal(t *testing.T) {
	truncated, laplace := shapes.TruncatedLaplace, shapes.Laplace
	// What the composition itself says is proved, and a little less is not.
	v := claiming(t, truncated, 0.25, 1e-6, tables.Total{Releases: 40, Epsilon: 1e4, Delta: 1e-4})
	b, err := ProveTotal(v)
	if err != nil || !(b.Lower > 1 && b.Lower <= b.Upper && b.Upper < 40*0.25) {
		t.Fatalf("bounds %v, %v", b, err)
	}
	for _, c := range []struct {
		name           string
		build          func(dp.Problem, tables.Grid) (*tables.Verified, error)
		epsilon, delta float64
		total          tables.Total
		ok             bool
	}{
		{"exact", truncated, 0.25, 1e-6, tables.Total{Releases: 40, Epsilon: b.Upper, Delta: 1e-4}, true},
		{"below what is proved", truncated, 0.25, 1e-6, tables.Total{Releases: 40, Epsilon: math.Nextafter(b.Upper, 0), Delta: 1e-4}, false},
		{"below the lower bound", truncated, 0.25, 1e-6, tables.Total{Releases: 40, Epsilon: b.Lower * 0.999, Delta: 1e-4}, false},
		{"one release more", truncated, 0.25, 1e-6, tables.Total{Releases: 41, Epsilon: b.Upper, Delta: 1e-4}, false},
		{"no delta at all", truncated, 0.25, 1e-6, tables.Total{Releases: 40, Epsilon: 100, Delta: 0}, false},
		{"basic composition", truncated, 0.25, 1e-6, tables.Total{Releases: 2, Epsilon: 0.5, Delta: 2e-6}, true},
		{"less than basic composition", truncated, 0.25, 1e-6, tables.Total{Releases: 2, Epsilon: 0.25, Delta: 2e-6}, false},
		{"one release", truncated, 0.25, 1e-6, tables.Total{Releases: 1, Epsilon: 0.25, Delta: 1e-6}, true},
		{"pure", laplace, 0.25, 0, tables.Total{Releases: 4, Epsilon: 1, Delta: 0}, true},
		{"pure, too many", laplace, 0.25, 0, tables.Total{Releases: 5, Epsilon: 1, Delta: 0}, false},
		{"nothing at all", laplace, 0.25, 0, tables.Total{Releases: 1, Epsilon: 0, Delta: 0}, false},
		{"most releases", truncated, 0.25, 1e-6, tables.Total{Releases: limits.TableReleases, Epsilon: 100, Delta: 0.5}, false},
	} {
		b, err := ProveTotal(claiming(t, c.build, c.epsilon, c.delta, c.total))
		if c.ok && (err != nil || b.Upper > c.total.Epsilon) {
			t.Errorf("%s: %v, %v, want it proved", c.name, b, err)
		}
		if !c.ok && (!errors.Is(err, proof.ErrFalseClaim) || b.Upper <= c.total.Epsilon) {
			t.Errorf("%s: %v, %v, want ErrFalseClaim", c.name, b, err)
		}
	}
	none := claiming(t, laplace, 1, 0, tables.Total{})
	for _, v := range []*tables.Verified{nil, {}, none} {
		if _, err := ProveTotal(v); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("error %v, want ErrInvalid", err)
		}
	}
}

// TestTotalWithoutALaw: a total of a table whose losses are not accounted for is that of basic composition, or none.
func TestTotalWithoutALaw(t *testing.T) {
	g := geometric(t, 1, 1)
	for _, x := range []struct {
		total tables.Total
		ok    bool
	}{
		{tables.Total{Releases: 3, Epsilon: 1e-9, Delta: 0.5}, false},
		{tables.Total{Releases: 3, Epsilon: 100, Delta: 0.5}, false}, // one has a delta of 0.4
		{tables.Total{Releases: 2, Epsilon: 1, Delta: 0.8}, true},
		{tables.Total{Releases: 2, Epsilon: 0.999, Delta: 0.8}, false},
		{tables.Total{Releases: 2, Epsilon: 1, Delta: 0.799}, false},
	} {
		p := g.Problem()
		p.Epsilon, p.Delta = 0.5, 0.4 // it has losses of 1
		table, err := tables.New(tables.Spec{Problem: p, Grid: g.Grid(), TailRatio: g.TailRatio(), Weights: []uint64{g.Weight(0), g.Weight(1), g.Weight(2)}, Total: x.total})
		if err != nil {
			t.Fatal(err)
		}
		v, err := table.Verify()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := LossOf(table); err == nil {
			t.Fatal("a tail with a delta is accounted for: this tests nothing")
		}
		b, err := ProveTotal(v)
		if (err == nil) != x.ok || x.ok && b.Upper > x.total.Epsilon || !x.ok && (!errors.Is(err, proof.ErrFalseClaim) || b.Upper <= x.total.Epsilon) {
			t.Errorf("%+v: %v, %v", x.total, b, err)
		}
	}
}

// TestPortion: so many parts are no more than the whole, exactly, and a larger part would be.
func TestPortion(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	for range 3000 {
		whole, n := math.Exp(10*(r.Float64()-0.5)), 1+r.IntN(1000)
		all := func(part float64) int {
			sum := exact.Rational(part)
			return sum.Mul(sum, big.NewRat(int64(n), 1)).Cmp(exact.Rational(whole))
		}
		if part := portion(whole, n); all(part) > 0 || all(math.Nextafter(part, math.Inf(1))) <= 0 {
			t.Fatalf("%d times %v, a part of %v", n, part, whole)
		}
	}
}
