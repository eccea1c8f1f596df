// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// unitTable has the noise -1, 0 or 1 for a query rounded to multiples of unit,
// or for an integer query if unit is 0.
func unitTable(tb testing.TB, unit float64) *tables.Table {
	tb.Helper()
	s := tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L1},
		Grid:    tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: -1},
		Weights: []uint64{1 << 62, 1 << 63, 1 << 62},
	}
	if unit != 0 {
		s.Query, s.Grid.Unit, s.Privacy.Sensitivity = dp.LatticeQuery, unit, unit
	}
	t, err := tables.New(s)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// scripted returns a sampler that reads the given words and then zeros.
func scripted(t *tables.Table, l *law, words ...uint64) *Noise {
	words = append(words, make([]uint64, blockWords)...)
	return newNoise(t, l, &readerGenerator{r: newScript(words)})
}

// digits returns the first n digits of a/h in base 2^64, for 0 <= a < h.
func digits(a, h float64, n int) []uint64 {
	r := new(big.Rat).Quo(new(big.Rat).SetFloat64(a), new(big.Rat).SetFloat64(h))
	scale := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 64))
	var d []uint64
	for range n {
		r.Mul(r, scale)
		q := new(big.Int).Div(r.Num(), r.Denom())
		d = append(d, q.Uint64())
		r.Sub(r, new(big.Rat).SetInt(q))
	}
	return d
}

// TestBelowIsExact checks that a random number is found below a/h exactly where
// it is: the verdict turns at the digits of a/h, to the last of 192 bits. As it
// is nondecreasing between, its probability is a/h to 2^-192, and the number of
// words is not bounded.
func TestBelowIsExact(t *testing.T) {
	trials := 2000
	if testing.Short() {
		trials = 200
	}
	rng := rand.New(rand.NewPCG(21, 22))
	tab := unitTable(t, 1)
	l := newLaw(tab, false)
	for i := range trials {
		h := math.Ldexp(1+rng.Float64(), rng.IntN(1600)-800)
		a := h * rng.Float64() / 2 * math.Ldexp(1, -rng.IntN(1+i%200))
		switch i % 50 {
		case 0:
			a = 0
		case 1:
			a = h / 4
		case 2:
			a = math.SmallestNonzeroFloat64 * float64(rng.IntN(100))
		}
		d := digits(a, h, 4)
		check := func(want int64, words ...uint64) {
			t.Helper()
			got, err := scripted(tab, l, words...).below(a, h)
			if err != nil || got != want {
				t.Fatalf("0.%d below %g/%g = %d, %v, want %d", words, a, h, got, err, want)
			}
		}
		for n := range 3 {
			if d[n] > 0 {
				check(1, append(append([]uint64{}, d[:n]...), d[n]-1, math.MaxUint64)...)
				check(1, append(append([]uint64{}, d[:n]...), rng.Uint64N(d[n]))...)
			}
			if d[n] < math.MaxUint64 {
				check(0, append(append([]uint64{}, d[:n]...), d[n]+1)...)
			}
		}
	}
}

// TestBelowEnds checks numbers that have the digits of a/h as far as these go, and 0 ever after: they are
// not below it, which is known with the last of these words, and those before in the last place are.
func TestBelowEnds(t *testing.T) {
	tab := unitTable(t, 1)
	l := newLaw(tab, false)
	for _, h := range []float64{1, 0x1p-800, 0x1p800} {
		for _, c := range []struct {
			a     float64 // in units of h
			words []uint64
		}{
			{0x1p-2, []uint64{1 << 62}},
			{0.375, []uint64{3 << 61}},
			{0x1p-64, []uint64{1}},
			{0x1p-65, []uint64{0, 1 << 63}},
			{3 * 0x1p-100, []uint64{0, 3 << 28}},
			{0x1p-30 + 0x1p-70, []uint64{1 << 34, 1 << 58}},
			{0x1p-200, []uint64{0, 0, 0, 1 << 56}},
		} {
			last := len(c.words) - 1
			for _, below := range []int64{0, 1} {
				words := append([]uint64{}, c.words...)
				words[last] -= uint64(below) //nolint:gosec // 0 or 1
				marked := scripted(tab, l, append(words, math.MaxUint64, 12345)...)
				got, err := marked.below(c.a*h, h)
				if err != nil || got != below {
					t.Errorf("%d below %g: %d, %v, want %d", words, c.a, got, err, below)
				}
				if next, err := marked.word(); err != nil || next != math.MaxUint64 {
					t.Errorf("%d below %g: the next word is %d, %v, so another number of words was taken", words, c.a, next, err)
				}
			}
		}
	}
}

// TestMantissa checks the parts of numbers of all sizes.
func TestMantissa(t *testing.T) {
	for _, x := range []float64{0, math.SmallestNonzeroFloat64, 0x1.8p-1073, 0x1p-1022 - 0x1p-1074, 0x1p-1022, 0x1.8p-1022, 0x1p-1021, 0.1, 1, 3, 1e300, math.MaxFloat64} {
		m, e := mantissa(x)
		if got := math.Ldexp(float64(m), int(e)-1075); got != x || m >= 1<<53 { //nolint:gosec // an exponent
			t.Errorf("%g is %d·2^(%d-1075), which is %g", x, m, e, got)
		}
	}
}

// lawOfRounding returns the two results of rounding x and the exact probability
// of the larger one, found from the sampler's verdicts.
func lawOfRounding(t *testing.T, s *Noise, x float64) (low int64, up *big.Rat) {
	t.Helper()
	nearest := math.RoundToEven(x / s.step)
	rest := new(big.Rat).Mul(new(big.Rat).SetFloat64(nearest), new(big.Rat).SetFloat64(s.step))
	rest.Sub(new(big.Rat).SetFloat64(x), rest)
	if got := math.FMA(-nearest, s.step, x); new(big.Rat).SetFloat64(got).Cmp(rest) != 0 {
		t.Fatalf("the rest of %g by %g is %g, want %s", x, s.step, got, rest)
	}
	rest.Quo(rest, new(big.Rat).SetFloat64(s.step))
	if rest.Sign() >= 0 {
		return int64(nearest), rest
	}
	return int64(nearest) - 1, rest.Add(rest, big.NewRat(1, 1))
}

// TestLatticeUnbiased checks that the rest is exact, so that with TestBelowIsExact
// rounding is x on average, for numbers of all sizes; and that the sampler
// returns the points next to x.
func TestLatticeUnbiased(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(23, 24))
	for _, unit := range []float64{1, 0.1, 1.0 / 3, 7, 1e-250, 1e250, math.Nextafter(1, 2), math.Nextafter(2, 1)} {
		tab := unitTable(t, unit)
		s := deterministic(t, tab, 3, Options{})
		for i := range 20000 {
			x := (rng.Float64() - 0.5) * math.Ldexp(unit, rng.IntN(54))
			switch i % 4 {
			case 0:
				x = math.Nextafter((float64(rng.IntN(1000))+0.5)*unit, float64(i%3-1)*math.MaxFloat64)
			case 1:
				x = math.Nextafter(float64(rng.Int64N(1<<40))*unit, float64(i%3-1)*math.MaxFloat64)
			case 2:
				x = math.Ldexp(x, -rng.IntN(300))
			}
			low, up := lawOfRounding(t, s, x)
			mean := new(big.Rat).Add(new(big.Rat).SetInt64(low), up)
			if mean.Mul(mean, new(big.Rat).SetFloat64(unit)).Cmp(new(big.Rat).SetFloat64(x)) != 0 {
				t.Fatalf("the mean of rounding %g to multiples of %g is %s", x, unit, mean)
			}
			n, ok, err := s.roundAtRandom(x)
			if err != nil || !ok || (n != low && (n != low+1 || up.Sign() == 0)) {
				t.Fatalf("round(%g) to multiples of %g = %d, %v, %v, want %d or the next", x, unit, n, ok, err, low)
			}
		}
	}
}

// TestLatticeCoupling checks what the privacy proof needs, on a small grid: with
// the results of two values coupled monotonically, they are never further apart
// than the values, rounded up to whole steps.
func TestLatticeCoupling(t *testing.T) {
	const unit = 0.75
	s := deterministic(t, unitTable(t, unit), 1, Options{})
	step := new(big.Rat).SetFloat64(unit)
	for a := -40; a <= 40; a++ {
		for b := a; b <= 40; b++ {
			x, y := float64(a)/16, float64(b)/16
			la, ua := lawOfRounding(t, s, x)
			lb, ub := lawOfRounding(t, s, y)
			gap := new(big.Rat).Sub(new(big.Rat).SetFloat64(y), new(big.Rat).SetFloat64(x))
			gap.Quo(gap, step)
			most := new(big.Int).Div(gap.Num(), gap.Denom()).Int64()
			if !gap.IsInt() {
				most++
			}
			// With ⌊x/h+u⌋ the one goes up where u >= 1-ua, the other
			// where u >= 1-ub: look between all thresholds.
			for _, u := range []*big.Rat{new(big.Rat), new(big.Rat).Sub(big.NewRat(1, 1), ua), new(big.Rat).Sub(big.NewRat(1, 1), ub)} {
				if u.Cmp(big.NewRat(1, 1)) >= 0 {
					continue
				}
				na, nb := la, lb
				if new(big.Rat).Add(u, ua).Cmp(big.NewRat(1, 1)) >= 0 {
					na++
				}
				if new(big.Rat).Add(u, ub).Cmp(big.NewRat(1, 1)) >= 0 {
					nb++
				}
				if nb-na > most || nb < na {
					t.Fatalf("%g and %g land on %d and %d for u = %s, want at most %d apart", x, y, na, nb, u, most)
				}
			}
		}
	}
}

// TestLatticeAddNoise draws with known words: rounding, noise and the final
// product.
func TestLatticeAddNoise(t *testing.T) {
	const unit = 0.1
	tab := unitTable(t, unit)
	l := newLaw(tab, false)
	quarter := uint64(1) << 62
	for _, c := range []struct {
		x       float64
		round   uint64 // the word that decides the rounding
		rounded int64
	}{
		{0.325, 0, 4},                // 3.25 steps: up below a quarter
		{0.325, quarter * 2, 3},      //
		{-0.325, 0, -4},              // away from the nearest
		{-0.325, quarter * 2, 3 - 6}, //
		{0.375, 0, 3},                // 3.75 steps: down below a quarter
		{0.375, quarter * 2, 4},      //
		{0, 0, 0},
	} {
		n, err := scripted(tab, l, c.round).AddNoiseSteps(c.x)
		// The word 0 draws the first cell, -1.
		if err != nil || n != c.rounded-1 {
			t.Errorf("AddNoiseSteps(%g) = %d, %v, want %d", c.x, n, err, c.rounded-1)
		}
		y, err := scripted(tab, l, c.round).AddNoise(c.x)
		if err != nil || y != float64(n)*unit {
			t.Errorf("AddNoise(%g) = %g, %v, want %g", c.x, y, err, float64(n)*unit)
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0x1p54, -0x1p54, 1e300} {
		if n, err := scripted(tab, l).AddNoiseSteps(x); !errors.Is(err, dp.ErrInvalid) || n != 0 {
			t.Errorf("AddNoiseSteps(%g) = %d, %v, want ErrInvalid", x, n, err)
		}
	}
	s := sampling(t, tab, Options{Entropy: failing(0)})
	if n, err := s.AddNoiseSteps(0.31); !errors.Is(err, ErrEntropy) || n != 0 {
		t.Errorf("without entropy: %d, %v, want ErrEntropy", n, err)
	}
}

func TestIntegerAddNoise(t *testing.T) {
	tab := unitTable(t, 0)
	s, twin := deterministic(t, tab, 1, Options{}), deterministic(t, tab, 1, Options{})
	limit := int64(1)<<53 - 1
	for _, x := range []int64{0, 1, -7, 1 << 40, limit, -limit} {
		n, err := twin.SampleInt()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.AddNoiseInt(x); err != nil || got != x+n {
			t.Errorf("AddNoiseInt(%d) = %d, %v, want %d", x, got, err, x+n)
		}
		n, err = twin.SampleInt()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.AddNoise(float64(x)); err != nil || got != float64(x+n) {
			t.Errorf("AddNoise(%d) = %g, %v, want %d", x, got, err, x+n)
		}
	}
	for _, x := range []int64{limit + 1, -limit - 1, math.MaxInt64, math.MinInt64} {
		if got, err := s.AddNoiseInt(x); !errors.Is(err, dp.ErrInvalid) || got != 0 {
			t.Errorf("AddNoiseInt(%d) = %d, %v, want ErrInvalid", x, got, err)
		}
	}
	for _, x := range []float64{7.25, -0.5, math.NaN(), math.Inf(1), 1e300, math.SmallestNonzeroFloat64} {
		got, err := s.AddNoise(x)
		if !errors.Is(err, dp.ErrInvalid) || got != 0 {
			t.Errorf("AddNoise(%g) = %g, %v, want ErrInvalid", x, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "7.25") {
			t.Errorf("%q quotes x", err)
		}
	}
	if _, err := deterministic(t, unitTable(t, 0.5), 1, Options{}).AddNoiseInt(1); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("AddNoiseInt with a lattice table: %v, want ErrInvalid", err)
	}
}

// TestUnits checks that draws in query units are the multiples of the unit, and
// that the atom is told from cells in them, up to the edge of the range.
func TestUnits(t *testing.T) {
	for _, unit := range []float64{0.1, 1.0 / 3, 1e250, 3} {
		spec := tables.Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: unit}, Query: dp.LatticeQuery, Loss: loss.L1},
			Grid:    tables.Grid{Unit: unit, PointsPerCell: 1, Offset: 1<<52 - 12, CellsPerSensitivity: 1, FirstCell: 0},
			Weights: []uint64{1 << 62, 1 << 62, 1 << 62, 1 << 61},
			Atom:    1 << 61,
		}
		tab, err := tables.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		ints, floats := make([]int64, 3000), make([]float64, 3000)
		if err := deterministic(t, tab, 5, Options{}).FillInt(ints); err != nil {
			t.Fatal(err)
		}
		if err := deterministic(t, tab, 5, Options{}).Fill(floats); err != nil {
			t.Fatal(err)
		}
		for i, n := range ints {
			if floats[i] != float64(n)*unit || (n == 0) != (floats[i] == 0) {
				t.Fatalf("draw %d = %g, want %d times %g", i, floats[i], n, unit)
			}
		}
	}
}

func BenchmarkLatticeAddNoise(b *testing.B) {
	s, err := NewNoise(verified(b, unitTable(b, 0.1)), Options{})
	if err != nil {
		b.Fatal(err)
	}
	x := 0.0
	for b.Loop() {
		if _, err := s.AddNoise(x); err != nil {
			b.Fatal(err)
		}
		x += 0.37
	}
}
