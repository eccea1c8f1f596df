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
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/tables"
)

// roundExact returns ⌊x/2^e + 1/2⌋ in rationals.
func roundExact(x float64, e int) *big.Int {
	r := new(big.Rat).SetFloat64(x)
	scale := new(big.Int).Lsh(big.NewInt(1), uint(max(e, -e)))
	if e >= 0 {
		r.Quo(r, new(big.Rat).SetInt(scale))
	} else {
		r.Mul(r, new(big.Rat).SetInt(scale))
	}
	r.Add(r, big.NewRat(1, 2))
	return new(big.Int).Div(r.Num(), r.Denom()) // Euclidean, so the floor
}

// checkRound compares exact.RoundToGrid with its specification.
func checkRound(t *testing.T, x float64, e int, limit int64) {
	t.Helper()
	n, ok := exact.RoundToGrid(x, math.Ldexp(1, -e), limit)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		if ok {
			t.Fatalf("round(%g) is accepted", x)
		}
		return
	}
	want := roundExact(x, e)
	if inside := want.CmpAbs(big.NewInt(limit)) <= 0; ok != inside {
		t.Fatalf("round(%g, e=%d, limit=%d): accepted = %v, want %v", x, e, limit, ok, inside)
	}
	if ok && (!want.IsInt64() || n != want.Int64()) {
		t.Fatalf("round(%g, e=%d) = %d, want %s", x, e, n, want)
	}
}

// awkward are numbers of steps at which rounding goes wrong if it does.
func awkward() []float64 {
	steps := []float64{
		0, math.Copysign(0, -1), 0.25, 0.5, 0.75, 1, 1.5, 2.5, 3.5, 1e6 + 0.5,
		math.Nextafter(0.5, 0), math.Nextafter(0.5, 1), math.Nextafter(1, 0), math.Nextafter(1.5, 0),
		math.Nextafter(0.25, 1), math.SmallestNonzeroFloat64, 0x1p-1022, 0x1p-53, 0x1p-54,
		1 << 51, 1<<51 + 0.5, 1 << 52, 1<<52 + 1, 1<<52 - 0.5, 1<<52 - 1, 1<<53 - 1, 1 << 53, 1<<53 + 2, 1 << 54, 0x1p62, 0x1p63, 0x1p64,
		math.MaxFloat64, math.Inf(1), math.NaN(),
	}
	for _, x := range steps[:len(steps):len(steps)] {
		steps = append(steps, -x)
	}
	return steps
}

func TestRoundAwkward(t *testing.T) {
	for _, e := range []int{-900, -60, -1, 0, 1, 52, 900} {
		for _, limit := range []int64{1 << 53, 1 << 52, 1<<53 - 12345, 7, 1, 0} {
			for _, steps := range awkward() {
				checkRound(t, steps, e, limit)                // tiny or huge
				checkRound(t, math.Ldexp(steps, e), e, limit) // about that many steps
			}
		}
	}
}

func TestRoundRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(11, 12))
	for range 200000 {
		e := rng.IntN(1801) - 900
		var x float64
		switch rng.IntN(3) {
		case 0:
			x = math.Float64frombits(rng.Uint64())
		case 1:
			x = math.Ldexp(float64(rng.Int64N(1<<54)-1<<53), e-1) // ties
		default:
			x = math.Ldexp(rng.NormFloat64(), e+rng.IntN(60)-3)
		}
		checkRound(t, x, e, 1<<53-rng.Int64N(1<<52))
	}
}

// TestRoundTranslation checks what the privacy proof needs: values at most m
// steps apart, exactly, land at most m points apart.
func TestRoundTranslation(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	tries := 200000
	if testing.Short() {
		tries = 40000
	}
	for range tries {
		m := rng.Int64N(1 << rng.IntN(20))
		x := float64(rng.Int64N(1<<30)-1<<29) / 2 // ties half the time
		if rng.IntN(2) == 0 {
			x = rng.NormFloat64() * 1000
		}
		y := x + float64(m)*(2*rng.Float64()-1)
		gap := new(big.Rat).Sub(new(big.Rat).SetFloat64(x), new(big.Rat).SetFloat64(y))
		if gap.Abs(gap).Cmp(new(big.Rat).SetInt64(m)) > 0 {
			continue // the float64 addition went beyond
		}
		a, ok := exact.RoundToGrid(x, 1, 1<<53)
		b, ok2 := exact.RoundToGrid(y, 1, 1<<53)
		if !ok || !ok2 || max(a-b, b-a) > m {
			t.Fatalf("%g and %g, at most %d apart, round to %d and %d", x, y, m, a, b)
		}
	}
}

func FuzzRound(f *testing.F) {
	for _, x := range awkward() {
		f.Add(math.Float64bits(x), 0, int64(1)<<53)
		f.Add(math.Float64bits(x), -900, int64(1)<<52)
	}
	f.Fuzz(func(t *testing.T, bits uint64, e int, limit int64) {
		if e < -900 || e > 900 || limit < 0 || limit > 1<<53 {
			t.Skip()
		}
		checkRound(t, math.Float64frombits(bits), e, limit)
	})
}

// checkAddNoise compares AddNoise with the same draw from a twin and exact
// arithmetic.
func checkAddNoise(t *testing.T, s, twin *Noise, x float64) {
	t.Helper()
	y, err := s.AddNoise(x)
	e := s.Table().Grid().GranularityExponent
	fits := !math.IsNaN(x) && !math.IsInf(x, 0)
	if fits {
		reach := new(big.Int).Abs(roundExact(x, e))
		fits = reach.Add(reach, big.NewInt(s.Table().Reach())).Cmp(big.NewInt(1<<53)) <= 0
	}
	if !fits {
		if !errors.Is(err, dp.ErrInvalid) || y != 0 {
			t.Fatalf("AddNoise(%g) = %g, %v, want 0 and ErrInvalid", x, y, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("AddNoise(%g): %v", x, err)
	}
	n, err := twin.SampleInt()
	if err != nil {
		t.Fatal(err)
	}
	want := new(big.Rat).SetInt(new(big.Int).Add(roundExact(x, e), big.NewInt(n)))
	step := new(big.Rat).SetFloat64(s.Step())
	if got := new(big.Rat).SetFloat64(y); got.Cmp(want.Mul(want, step)) != 0 {
		t.Fatalf("AddNoise(%g) = %g, want %s", x, y, want)
	}
	if y == 0 && math.Signbit(y) {
		t.Fatalf("AddNoise(%g) = -0", x)
	}
}

func scaledTable(tb testing.TB, e int) *tables.Table {
	tb.Helper()
	spec := laplaceSpec(tb, 21, 2, 0.01)
	spec.Grid.GranularityExponent = e
	tab, err := tables.New(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return tab
}

func TestAddNoise(t *testing.T) {
	for _, e := range []int{-900, -10, 0, 10, 900} {
		tab := scaledTable(t, e)
		s, twin := deterministic(t, tab, 1, Options{}), deterministic(t, tab, 1, Options{})
		xs := awkward()
		for _, steps := range awkward() {
			xs = append(xs, math.Ldexp(steps, e))
		}
		edge := float64(int64(1)<<53 - tab.Reach())
		for _, steps := range []float64{edge, edge - 1, edge + 1, edge - 0.5, edge + 0.5} {
			xs = append(xs, math.Ldexp(steps, e), math.Ldexp(-steps, e))
		}
		for _, x := range xs {
			checkAddNoise(t, s, twin, x)
		}
	}
}

// TestAddNoiseRefusesWithoutDrawing checks that the verdict costs no randomness:
// the words left are those of a sampler never asked.
func TestAddNoiseRefusesWithoutDrawing(t *testing.T) {
	tab := scaledTable(t, 0)
	src := newScript(make([]uint64, blockWords))
	s := sampling(t, tab, Options{Entropy: src})
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0x1p53, -0x1p53, 1e300} {
		if y, err := s.AddNoise(x); !errors.Is(err, dp.ErrInvalid) || y != 0 {
			t.Errorf("AddNoise(%g) = %g, %v, want ErrInvalid", x, y, err)
		}
	}
	if len(src.bytes) != blockBytes {
		t.Error("a refused value used randomness")
	}
	// The message must not quote a private value.
	if _, err := s.AddNoise(9.87654321e17); err == nil || strings.Contains(err.Error(), "9.87") {
		t.Errorf("error %v, want one that does not quote x", err)
	}
}

func FuzzAddNoise(f *testing.F) {
	for _, x := range awkward() {
		f.Add(math.Float64bits(x), 0)
		f.Add(math.Float64bits(x), -900)
		f.Add(math.Float64bits(x), 900)
	}
	f.Fuzz(func(t *testing.T, bits uint64, e int) {
		if e < -900 || e > 900 {
			t.Skip()
		}
		tab := scaledTable(t, e)
		checkAddNoise(t, deterministic(t, tab, 1, Options{}), deterministic(t, tab, 1, Options{}), math.Float64frombits(bits))
	})
}
