// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

// These tests enumerate the laws of whole releases on coarse grids and compare them
// for every pair of clipped encodings. They share no formula with the package: what
// they take from it is the points that encodings are clipped to, and the weights.

// line is a law on the integers: masses of lowest, lowest+1, …
type line struct {
	lowest int
	masses []float64
}

// law unrolls a table: its points, and periods of its tail up to reach.
func law(t *tables.Table, reach int) line {
	g := t.Grid()
	at := make(map[int]float64)
	ratio := float64(t.TailRatio()) * 0x1p-64
	for i := range t.Cells() {
		p := float64(t.Weight(i)) * 0x1p-64 / float64(g.PointsPerCell)
		first := int(g.FirstPoint(i))
		side, tail := t.Block(i)
		for n := range int(g.PointsPerCell) {
			if !tail {
				at[first+n] += p
				continue
			}
			q := p * (1 - ratio)
			for n := first + n; n >= -reach && n <= reach; n += side * g.CellsPerSensitivity * int(g.PointsPerCell) {
				at[n] += q
				q *= ratio
			}
		}
	}
	at[0] += float64(t.Atom()) * 0x1p-64
	l := line{lowest: math.MaxInt}
	highest := math.MinInt
	for n := range at {
		l.lowest, highest = min(l.lowest, n), max(highest, n)
	}
	for n := l.lowest; n <= highest; n++ {
		l.masses = append(l.masses, at[n])
	}
	return l
}

func (l line) at(n int) float64 {
	if i := n - l.lowest; i >= 0 && i < len(l.masses) {
		return l.masses[i]
	}
	return 0
}

// hockeyStick is Σ over the plane of (P(n) - e^ε·P(n - shift))₊ for independent
// coordinates.
func hockeyStick(epsilon float64, x, y line, dx, dy int) float64 {
	e := math.Exp(epsilon)
	sum := 0.0
	for i, px := range x.masses {
		qx := x.at(x.lowest + i - dx)
		for j, py := range y.masses {
			if d := px*py - e*qx*y.at(y.lowest+j-dy); d > 0 {
				sum += d
			}
		}
	}
	return sum
}

// points returns, as grid points, what encodings of a bundle can be clipped to.
func points(t *testing.T, s Spec) [][2]int {
	t.Helper()
	b := must(New(s))
	seen := make(map[[2]int]bool)
	var all [][2]int
	const fine = 60
	for i := -fine; i <= fine; i++ {
		for j := -fine; j <= fine; j++ {
			x := []float64{1 + 2.4*float64(i)/fine, 2 + 2.4*float64(j)/fine}
			u := must(b.Encode(nil, x))
			var n [2]int
			for k := range n {
				step, _ := tableAt(b, k).Grid().Step().Float64()
				n[k] = int(math.Floor(u[k]/step + 0.5)) // as AddNoise does
			}
			if !seen[n] {
				seen[n] = true
				all = append(all, n)
			}
		}
	}
	return all
}

// shifts returns the distinct differences of points.
func shifts(all [][2]int) map[[2]int]bool {
	set := make(map[[2]int]bool)
	for _, a := range all {
		for _, b := range all {
			set[[2]int{a[0] - b[0], a[1] - b[1]}] = true
		}
	}
	return set
}

// worst returns the largest hockey-stick divergence over all pairs of points.
func worst(t *testing.T, s Spec, reach int) float64 {
	t.Helper()
	b := must(New(s))
	x, y := law(tableAt(b, 0), reach), law(tableAt(b, 1), reach)
	most := 0.0
	for d := range shifts(points(t, s)) {
		most = max(most, hockeyStick(s.Promise.Epsilon, x, y, d[0], d[1]))
	}
	return most
}

func TestPerCoordinateByEnumeration(t *testing.T) {
	for _, domain := range []Domain{Box, Ball, L1Ball} {
		s := perCoordinate(t)
		s.Domain = domain
		if n := len(points(t, s)); n < 13 || n > 25 {
			t.Fatalf("%d points, want those of five per coordinate", n)
		}
		delta := worst(t, s, 100)
		if delta > s.Promise.Delta || delta < s.Promise.Delta/100 {
			t.Errorf("%s: delta = %g by enumeration, %g promised", domain, delta, s.Promise.Delta)
		}
		// An accountant that knows the truth proves it for the box, where it is the worst.
		s.Composition = Exact
		s.Promise.Delta = delta * (1 + 1e-9)
		truth := func(ts []*tables.Table, p Promise) (float64, error) {
			x, y := law(ts[0], 100), law(ts[1], 100)
			return max(hockeyStick(p.Epsilon, x, y, 4, 4), hockeyStick(p.Epsilon, x, y, 4, -4)), nil
		}
		if _, err := must(New(s)).Verify(truth); domain == Box && err != nil {
			t.Errorf("%s: %v", domain, err)
		}
	}
}

// TestLaplaceByEnumeration: the largest log-ratio of the joint law over all outcomes of a
// square that holds both cores. Outside, an outcome in the tail of a coordinate and
// its neighbor one step further out have the same ratios, so nothing new comes.
func TestLaplaceByEnumeration(t *testing.T) {
	zonotope := jointLaplaceOn(t, Bounds, -4, 0.6, 0.6)
	zonotope.FeatureLower, zonotope.FeatureUpper = []float64{0, 1}, []float64{2, 3}
	zonotope.Encoder.Data = []float64{0.25, 0.25, 0.25, -0.25}
	for name, s := range map[string]Spec{
		"box":                 jointLaplaceOn(t, Box, -4, 0.375, 0.14),
		"ball":                jointLaplaceOn(t, Ball, -5, 0.375, 0.33),
		"l1 ball":             jointLaplaceOn(t, L1Ball, -5, 0.375, 0.375),
		"l1 ball of two axes": jointLaplaceOn(t, L1Ball, -5, 0.39, 0.2),
		"bounds":              zonotope,
	} {
		b := must(New(s))
		v, err := b.Verify(nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		core := int(tableAt(b, 0).Reach()) + 40
		l := law(tableAt(b, 0), 2*core)
		most := 0.0
		for d := range shifts(points(t, s)) {
			// The logarithm of a product is a sum, so each coordinate has its own worst.
			ratio := 0.0
			for _, shift := range d {
				high := math.Inf(-1)
				for n := -core; n <= core; n++ {
					high = max(high, math.Log(l.at(n)/l.at(n-shift)))
				}
				ratio += high
			}
			most = max(most, ratio)
		}
		proved, _ := v.EpsilonUpper().Float64()
		if most > proved*(1+1e-9) || most > s.Promise.Epsilon*(1+1e-9) {
			t.Errorf("%s: epsilon = %g by enumeration, %g proved, %g promised", name, most, proved, s.Promise.Epsilon)
		}
		if (name == "box" || name == "l1 ball") && most < proved*(1-1e-9) {
			t.Errorf("%s: epsilon = %g by enumeration, but %g is the least that Verify proves", name, most, proved)
		}
		if most < proved/2 {
			t.Errorf("%s: epsilon = %g by enumeration, far from %g: the test sees little", name, most, proved)
		}
	}
}

func jointLaplaceOn(t *testing.T, domain Domain, exponent int, axes ...float64) Spec {
	return jointLaplace(t, domain, 2, exponent, axes...)
}

func TestGaussianByEnumeration(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, c := range []struct {
		domain         Domain
		epsilon, delta float64
		exponent       int
		axes           []float64
	}{
		{Box, 1, 0.01, -2, []float64{0.5, 0.25}},
		{Box, 2, 1e-4, -3, []float64{0.25, 0.375}},
		{Ball, 1, 0.01, -3, []float64{0.51, 0.3}},
		{Ball, 0.5, 1e-3, -2, []float64{0.6, 0.5}},
		{L1Ball, 1, 0.01, -3, []float64{0.5, 0.5}},
		{L1Ball, 2, 1e-3, -3, []float64{0.51, 0.3}},
	} {
		s := plain(0.5, c.axes...)
		s.Domain, s.Noise, s.Composition, s.Promise = c.domain, noise.Gaussian, jointL2, Promise{c.epsilon, c.delta}
		table, tau, err := gaussianTable(c.epsilon, c.delta, c.exponent, c.domain, c.axes)
		if err != nil {
			t.Fatal(err)
		}
		s.Tables, s.Tau = []*tables.Table{table}, tau
		v, err := must(New(s)).Verify(nil)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		delta := worst(t, s, 0)
		proved, _ := v.DeltaUpper().Float64()
		if delta > proved*(1+1e-9) || delta < proved/3 || proved > c.delta || proved < 0.99*c.delta {
			t.Errorf("%+v: delta = %g by enumeration, %g proved", c, delta, proved)
		}
	}
}

// TestGaussianDelta holds the outward formula against the calibration of package noise, which inverts it.
func TestGaussianDelta(t *testing.T) {
	for _, epsilon := range []float64{0, 0.01, 0.5, 1, 3, 10, 20} {
		for _, tau := range []float64{0.05, 0.3, 0.9, 2.5, 10, 60} {
			got, _ := gaussianDeltaUp(epsilon, exact.Rational(1), tau).Float64()
			if got > 0.9 {
				continue // where noise promises no digits
			}
			want, err := noise.GaussianSigma(dp.Privacy{Epsilon: epsilon, Delta: got, Sensitivity: 1})
			if err != nil || want > tau*(1+1e-11) || got > 1e-30 && want < tau*(1-1e-11) {
				t.Errorf("delta at %g, tau %g = %g, which needs %g, %v", epsilon, tau, got, want, err)
			}
		}
	}
}

// TestRangeL1 tries all corners.
func TestRangeL1(t *testing.T) {
	m := Matrix{3, 4, []float64{0.5, -1, 2, 0.25, 1, 1, -3, 0, 0.125, 2, 0, 4}}
	lower, upper := []float64{0, -1, 2, 5}, []float64{1, 1, 2.5, 5}
	want := 0.0
	for corner := range 1 << 4 {
		sum := 0.0
		for i := range 3 {
			d := 0.0
			for j, w := range m.Row(i) {
				sign := 1 - 2*float64(corner>>j&1)
				d += w * sign * (upper[j] - lower[j])
			}
			sum += math.Abs(d)
		}
		want = max(want, sum)
	}
	if got := m.RangeL1(lower, upper); got < want || got > want*(1+1e-12) {
		t.Errorf("RangeL1 = %g, want %g", got, want)
	}
	wide := Matrix{Rows: 20, Cols: 4}
	for range 20 {
		wide.Data = append(wide.Data, 1, -1, 0.5, 0)
	}
	if got := wide.RangeL1(lower, upper); got < 20*3.25 || got > 20*3.25*(1+1e-12) {
		t.Errorf("RangeL1 of 20 coordinates = %g, want 65", got)
	}
}

func TestMakersRefuse(t *testing.T) {
	for _, epsilon := range []float64{0, -1, math.NaN(), 101} {
		if _, err := newLaplaceTable(epsilon, Box, []float64{0.5}); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("LaplaceTable(%g): %v", epsilon, err)
		}
	}
	for _, axes := range [][]float64{nil, {0}, {math.NaN()}, {1, -1}} {
		if _, err := newLaplaceTable(1, Ball, axes); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("LaplaceTable of %v: %v", axes, err)
		}
		if _, _, err := newGaussianTable(1, 1e-6, Ball, axes); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("GaussianTable of %v: %v", axes, err)
		}
	}
	if _, err := newLaplaceTable(1e-7, Box, []float64{0.5}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("too much Laplace noise: %v", err)
	}
	for _, c := range []struct{ epsilon, delta float64 }{{1, 0}, {-1, 0.1}, {1, 1}, {math.NaN(), 0.1}, {1, math.NaN()}, {1e-6, 1e-9}, {30, 1e-6}, {1, 1e-15}} {
		if table, _, err := newGaussianTable(c.epsilon, c.delta, Box, []float64{0.4, 0.3}); table != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("GaussianTable(%+v): %v", c, err)
		}
	}
}

// TestApproximation: it is Z·(1+e^ε)·TV, rounded up by 2^-95 of it and no more.
func TestApproximation(t *testing.T) {
	const places = 300
	unit := new(big.Int).Lsh(big.NewInt(1), places)
	for _, epsilon := range []float64{0, 0.01, 1, 20, 100} {
		for _, coordinates := range []int{1, 3, 64} {
			tv := big.NewRat(7, 1<<50)
			least := new(big.Int).Add(exact.ExpDown(epsilon, places), unit)
			want := new(big.Rat).SetFrac(least.Mul(least, big.NewInt(int64(coordinates))), unit)
			want.Mul(want, tv)
			got := approximation(epsilon, coordinates, tv)
			more := new(big.Rat).Mul(want, new(big.Rat).Add(big.NewRat(1, 1), exact.PowerOfTwo(-94)))
			if got.Cmp(want) < 0 || got.Cmp(more) > 0 {
				t.Errorf("epsilon %g, %d coordinates: %s, want %s", epsilon, coordinates, got.FloatString(40), want.FloatString(40))
			}
		}
	}
}

// TestRangeWithErrors: what encodings are charged for the errors of their computation, exactly.
func TestRangeWithErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for trial := range 50 {
		z, n := 1+rng.IntN(4), 1+rng.IntN(4)
		step := []float64{0x1p-10, 256}[trial%2]
		draw := func(count int, low, high float64) []float64 {
			out := make([]float64, count)
			for i := range out {
				out[i] = low + (high-low)*rng.Float64()
			}
			return out
		}
		s := Spec{
			Encoder: Matrix{z, n, draw(z*n, -3, 3)}, FeatureLower: draw(n, -9, -4), FeatureUpper: draw(n, 4, 9),
			Mean: draw(n, -3, 3), Offset: draw(z, -3, 3), Axes: draw(z, 1, 9),
		}
		r := exact.Rational
		distance, total := new(big.Rat), new(big.Rat)
		for signs := range 1 << z {
			all := new(big.Rat)
			for j := range n {
				sum := new(big.Rat)
				for i := range z {
					term := new(big.Rat).Sub(r(s.FeatureUpper[j]), r(s.FeatureLower[j]))
					term.Mul(term, r(s.Encoder.Row(i)[j]))
					if signs>>i&1 == 1 {
						term.Neg(term)
					}
					sum.Add(sum, term)
				}
				all.Add(all, sum.Abs(sum))
			}
			if all.Cmp(distance) > 0 {
				distance = all
			}
		}
		for i := range z {
			for j, w := range s.Encoder.Row(i) {
				low, high := new(big.Rat).Sub(r(s.FeatureLower[j]), r(s.Mean[j])), new(big.Rat).Sub(r(s.FeatureUpper[j]), r(s.Mean[j]))
				if low.Abs(low).Cmp(high.Abs(high)) > 0 {
					high = low
				}
				total.Add(total, high.Mul(high, r(math.Abs(w))))
			}
			total.Add(total, r(math.Abs(s.Offset[i]))).Add(total, r(s.Axes[i])).Add(total, r(step))
		}
		errors := new(big.Rat).Mul(total, big.NewRat(int64(4*(n+16)), 1<<52))
		least := new(big.Rat).Add(distance, new(big.Rat).Mul(errors, big.NewRat(999, 1000)))
		// And what rounding these sums takes.
		sums := new(big.Rat).Mul(r(s.Encoder.RangeL1(s.FeatureLower, s.FeatureUpper)), new(big.Rat).Add(big.NewRat(1, 1), exact.PowerOfTwo(-51)))
		if sums.Add(sums, new(big.Rat).Mul(errors, new(big.Rat).Sub(big.NewRat(1, 1), exact.PowerOfTwo(-40)))).Cmp(least) > 0 {
			least = sums
		}
		most := new(big.Rat).Add(distance, new(big.Rat).Add(errors, new(big.Rat).Mul(total, big.NewRat(int64(2*(z+n+8)), 1<<51))))
		most.Add(most, distance.Mul(distance, exact.PowerOfTwo(-48)))
		if got := r(s.rangeWithErrorsL1(step)); got.Cmp(least) < 0 || got.Cmp(most) > 0 {
			t.Errorf("%d coordinates of %d features: %s, want %s to %s", z, n, got.FloatString(20), least.FloatString(20), most.FloatString(20))
		}
	}
}
