// SPDX-License-Identifier: Apache-2.0

package drolearn

import (
	"math"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// meanAbs integrates |x| over the quantiles of a noise for a value.
func meanAbs(n Noise, value float64) float64 {
	const steps = 1 << 17
	sum := 0.0
	for i := range steps {
		sum += math.Abs(n.unit((float64(i)+0.5)/steps, value))
	}
	return sum / steps
}

// TestClassical: mean magnitudes are those of package noise, or of normal noise.
func TestClassical(t *testing.T) {
	for _, p := range []dp.Privacy{{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, {Epsilon: 0.05, Delta: 0.005, Sensitivity: 1}} {
		list, err := Classical(p.Epsilon, p.Delta)
		if err != nil {
			t.Fatal(err)
		}
		truncated, err := noise.New(noise.TruncatedLaplace, p, loss.L1)
		if err != nil {
			t.Fatal(err)
		}
		analytic, err := noise.New(noise.AnalyticGaussian, p, loss.L1)
		if err != nil {
			t.Fatal(err)
		}
		wants := []float64{math.Sqrt(2*math.Log(1.25/p.Delta)) / p.Epsilon * math.Sqrt(2/math.Pi)}
		for _, m := range []noise.Mechanism{analytic, truncated} {
			v, _, err := m.ExpectedLoss(loss.L1)
			if err != nil {
				t.Fatal(err)
			}
			wants = append(wants, v)
		}
		for k, want := range wants {
			if got := meanAbs(list[k], 0); math.Abs(got-want) > 1e-4*want {
				t.Errorf("%s at %+v: mean magnitude %g, want %g", list[k].Name, p, got, want)
			}
			for i := range 1000 {
				u := (float64(i) + 0.5) / 1000
				if x, y := list[k].unit(u, 0), list[k].unit(1-u, 0); math.Abs(x+y) > 1e-9 || i > 0 && x < list[k].unit(u-0.001, 0) {
					t.Fatalf("%s: quantiles %g and %g at %g", list[k].Name, x, y, u)
				}
			}
		}
	}
}

// TestAdd: noise is proportional to the sensitivity, and takes one number from the source.
func TestAdd(t *testing.T) {
	s := &Set{Recipe: Recipe{Name: "x"}}
	list, err := Classical(1, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range append(list, None) {
		a, b := s.random(0, 1), s.random(0, 1)
		one := n.Add(a, 0, 1)
		if three := n.Add(b, 7, 3) - 7; math.Abs(three-3*one) > 1e-12 {
			t.Errorf("%s: %g with sensitivity 3, %g with 1", n.Name, three, one)
		}
		c := s.random(0, 1)
		c.Uint64()
		if a.Uint64() != c.Uint64() {
			t.Errorf("%s: takes other than one number", n.Name)
		}
	}
}

// TestDesigned: the noise of a table has its probabilities, with an atom and without.
func TestDesigned(t *testing.T) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.6, Sensitivity: 2}, Loss: loss.L1}
	v, err := shapes.TruncatedLaplace(p, tables.Grid{})
	if err != nil {
		t.Fatal(err)
	}
	// Half of it at 0, and an eighth and three below and above.
	atom, err := tables.New(tables.Spec{
		Problem: p, Grid: tables.Grid{GranularityExponent: -10, PointsPerCell: 2049, CellsPerSensitivity: 1},
		Weights: []uint64{1 << 63}, Atom: 1 << 63,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []*tables.Table{v.Mechanism(), atom} {
		n, err := Designed(table)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := table.Certify().ExpectedLoss.Float64()
		if got := 2 * meanAbs(n, 0); math.Abs(got-want) > 2e-3*want {
			t.Errorf("mean magnitude %g, want %g", got, want)
		}
		for i := range 1000 {
			u := (float64(i) + 0.5) / 1000
			if x, y := n.unit(u, 0), n.unit(1-u, 0); math.Abs(x+y) > 1e-9 {
				t.Fatalf("quantiles %g and %g at %g", x, y, u)
			}
		}
	}
	n, err := Designed(atom)
	if err != nil {
		t.Fatal(err)
	}
	if low, zero, high := n.unit(0.24, 0), n.unit(0.26, 0), n.unit(0.76, 0); !(low < 0) || zero != 0 || !(high > 0) {
		t.Errorf("quantiles %g, %g and %g, want the middle half to be 0", low, zero, high)
	}
	pure, err := shapes.Laplace(dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Sensitivity: 1}, Loss: loss.L1}, tables.Grid{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Designed(pure.Mechanism()); err == nil {
		t.Error("no error for noise with a tail")
	}
}

// kernel has two cells, below 0 and above, with other laws.
func kernel(t *testing.T) *cells.Kernel {
	t.Helper()
	k, err := cells.New(cells.Spec{
		Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 2}, Loss: loss.L1, Edges: []float64{math.Inf(-1), 0, math.Inf(1)}, Weight: []float64{1, 1},
		Grid: cells.Grid{GranularityExponent: -10, PointsPerBin: 1 << 10, FirstBin: -1},
		Rows: [][]uint64{{1 << 63, 1 << 62, 1 << 62}, {1 << 62, 1 << 63, 1 << 62}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestDataDependent: each cell has its own law, for any sensitivity.
func TestDataDependent(t *testing.T) {
	k := kernel(t)
	n := DataDependent(k)
	for _, c := range []struct {
		value float64
		cell  int
	}{{-0.1, 0}, {0.1, 1}, {-50, 0}} {
		want, _ := k.Certify().Losses[c.cell].Float64()
		if got := 2 * meanAbs(n, c.value/2); math.Abs(got-want) > 2e-3*want {
			t.Errorf("value %g: mean magnitude %g, want %g", c.value, got, want)
		}
		var below int
		const steps = 1 << 12
		for i := range steps {
			if 2*n.unit((float64(i)+0.5)/steps, c.value/2) < -0.5 {
				below++
			}
		}
		if want := []int{steps / 2, steps / 4}[c.cell]; math.Abs(float64(below-want)) > 4 {
			t.Errorf("value %g: %d of %d below the second bin, want %d", c.value, below, steps, want)
		}
	}
}

// TestQuantiles has an empty piece and a narrow one.
func TestQuantiles(t *testing.T) {
	q := newQuantiles([]float64{-1, 0, 2, 2.5}, []float64{1, 0, 3})
	for u, want := range map[float64]float64{0: -1, 0.125: -0.5, 0.25: 2, 0.625: 2.25, 0.9999999: 2.5} {
		if got := q.at(u); math.Abs(got-want) > 1e-6 {
			t.Errorf("quantile %g is %g, want %g", u, got, want)
		}
	}
	var got []float64
	for _, x := range []float64{-1, -0.5, 1, 2.25, 2.5} {
		got = append(got, q.below(x))
	}
	if !slices.Equal(got, []float64{0, 0.125, 0.25, 0.625, 1}) {
		t.Errorf("below: %v", got)
	}
}
