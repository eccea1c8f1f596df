// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"strconv"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/keyed"
	"github.com/noisewright/noisewright/tables"
)

func newKeyedTest(t *testing.T, table *tables.Table, secret byte) *Keyed {
	t.Helper()
	k, err := newKeyed(table, keyed.Secret{secret})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// noises are what a Keyed adds to a value under 40 labels, which two independent ones share
// with a probability below 1e-20.
func noises(t *testing.T, k *Keyed, x float64, label ...string) (out []float64) {
	t.Helper()
	for i := range 40 {
		y, err := k.AddNoise(x, append([]string{strconv.Itoa(i)}, label...)...)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, y-x)
	}
	return out
}

// TestKeyedRepeats: the noise is the same whenever and wherever it is asked for, and another
// one if the secret, the table, a label or the value is another.
func TestKeyedRepeats(t *testing.T) {
	table := laplaceTable(t, 101, 10, 0)
	k := newKeyedTest(t, table, 1)
	first := noises(t, k, 3, "a", "b")
	if !slices.Equal(first, noises(t, k, 3, "a", "b")) || !slices.Equal(first, noises(t, newKeyedTest(t, table, 1), 3, "a", "b")) {
		t.Error("the noise does not repeat")
	}
	if !slices.Equal(noises(t, k, 0), noises(t, k, math.Copysign(0, -1))) {
		t.Error("the two zeros have different noise")
	}
	promise := laplaceSpec(t, 101, 10, 0)
	promise.Delta *= 2
	same, err := tables.New(promise) // another file, of the same law
	if err != nil {
		t.Fatal(err)
	}
	all := [][]float64{
		noises(t, newKeyedTest(t, same, 1), 3, "a", "b"),
		first, noises(t, k, 4, "a", "b"), noises(t, k, 3, "a", "c"), noises(t, k, 3, "ab"), noises(t, k, 3, "a", "b", ""),
		noises(t, k, 3), noises(t, newKeyedTest(t, table, 2), 3, "a", "b"), noises(t, newKeyedTest(t, laplaceTable(t, 103, 10, 0), 1), 3, "a", "b"),
	}
	for i, a := range all {
		for j, b := range all[:i] {
			if slices.Equal(a, b) {
				t.Errorf("noise %d and %d are the same", i, j)
			}
		}
	}
}

// TestKeyedIsDeterministic: a result is that of the deterministic sampler with the seed, for
// every kind of table, and nothing of it stays behind.
func TestKeyedIsDeterministic(t *testing.T) {
	for name, table := range map[string]*tables.Table{
		"real": laplaceTable(t, 101, 10, 0.05), "integer": unitTable(t, 0), "lattice": unitTable(t, 0.3), "tail": tailTable(t, 3, 1<<63, 0),
	} {
		k := newKeyedTest(t, table, 7)
		for i := range 50 {
			x := float64(i)
			k.seed("float64 "+strconv.FormatFloat(x, 'x', -1, 64), []string{name})
			want, err := newNoise(table, newLaw(table, false), k.s.gen).AddNoise(x)
			if err != nil {
				t.Fatal(err)
			}
			if y, err := k.AddNoise(x, name); err != nil || y != want {
				t.Fatalf("%s: %v plus noise is %v, %v, want %v", name, x, y, err, want)
			}
		}
		if k.s.gen != nil {
			t.Errorf("%s: a generator stays behind", name)
		}
		checkWiped(t, k.s)
	}
}

// TestKeyedExact: a rational is rounded to the next step as a float64 is, and its size
// does not matter.
func TestKeyedExact(t *testing.T) {
	table := laplaceTable(t, 101, 10, 0)
	k := newKeyedTest(t, table, 3)
	step := table.Grid().Step()
	for _, text := range []string{"0", "1/3", "-7/2", "123456789012345678901234567890/7"} {
		x, _ := new(big.Rat).SetString(text)
		n, err := k.AddNoiseExact(x, "a")
		if err != nil {
			t.Fatal(err)
		}
		again, err := k.AddNoiseExact(x, "a")
		if err != nil || n.Cmp(again) != 0 {
			t.Fatalf("%s: %s and then %s, %v", text, n, again, err)
		}
		off := new(big.Rat).Sub(new(big.Rat).Mul(new(big.Rat).SetInt(n), step), x)
		if reach := new(big.Rat).Mul(new(big.Rat).SetInt64(table.Reach()+1), step); off.Abs(off).Cmp(reach) > 0 {
			t.Errorf("%s: the noise is %s, more than %s", text, off.FloatString(3), reach.FloatString(3))
		}
		k.seed("rational "+x.RatString(), []string{"a"})
		draw, err := newNoise(table, newLaw(table, false), k.s.gen).SampleInt()
		steps := new(big.Rat).Quo(x, step)
		if want := exact.Floor(steps.Add(steps, big.NewRat(1, 2))); err != nil || want.Add(want, big.NewInt(draw)).Cmp(n) != 0 {
			t.Errorf("%s: %s, want %s, %v", text, n, want, err)
		}
	}
	if _, err := newKeyedTest(t, unitTable(t, 0.3), 1).AddNoiseExact(new(big.Rat)); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("lattice: %v, want dp.ErrInvalid", err)
	}
	if _, err := NewKeyed(verified(t, unitTable(t, 0)), [32]byte{}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("no secret: %v, want dp.ErrInvalid", err)
	}
	if _, err := NewKeyed(nil, [32]byte{1}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("no table: %v, want dp.ErrInvalid", err)
	}
}

// TestKeyedChiSquare: over values, over labels and over secrets, noise has the law of the
// table, and what is next to each other is independent. The seeds are fixed; fresh ones would fail
// each of the six by chance once in 10^9 runs, and 2^18 draws see probabilities off by 4 %.
func TestKeyedChiSquare(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics take many draws")
	}
	const draws = 1 << 18
	table := laplaceTable(t, 201, 20, 0)
	k := newKeyedTest(t, table, 5)
	class, p := classes(k.s.law, 1.0/40)
	half, step := big.NewRat(1, 2), table.Grid().Step()
	for name, next := range map[string]func(i int) (*big.Rat, string){
		"values": func(i int) (*big.Rat, string) { return new(big.Rat).SetFrac64(int64(i), 7), "a" },
		"labels": func(i int) (*big.Rat, string) { return big.NewRat(5, 1), strconv.Itoa(i) },
		"secrets": func(i int) (*big.Rat, string) {
			k.secret = keyed.Secret{byte(i), byte(i >> 8), byte(i >> 16), 1}
			return big.NewRat(5, 1), "a"
		},
	} {
		one := chiSquare{p: p, counts: make([]int, len(p)), total: draws}
		two := chiSquare{counts: make([]int, len(p)*len(p)), total: draws / 2}
		for _, a := range p {
			for _, b := range p {
				two.p = append(two.p, a*b)
			}
		}
		before := 0
		for i := range draws {
			x, label := next(i)
			n, err := k.AddNoiseExact(x, label)
			if err != nil {
				t.Fatal(err)
			}
			steps := new(big.Rat).Quo(x, step)
			entry, _ := cellOf(k.s.law, n.Sub(n, exact.Floor(steps.Add(steps, half))).Int64())
			one.counts[class[entry]]++
			if i%2 == 1 {
				two.counts[before*len(p)+class[entry]]++
			}
			before = class[entry]
		}
		for what, c := range map[string]*chiSquare{"draws": &one, "pairs": &two} {
			if stat, threshold, alarm := c.alarm(); alarm {
				t.Errorf("%s, %s: χ² = %.0f over %d classes, want at most %.0f", name, what, stat, len(c.p), threshold)
			}
		}
	}
}

func BenchmarkKeyed(b *testing.B) {
	k, err := newKeyed(laplaceTable(b, 2001, 150, 0), keyed.Secret{1})
	if err != nil {
		b.Fatal(err)
	}
	for i := range b.N {
		if _, err := k.AddNoise(float64(i), "a"); err != nil {
			b.Fatal(err)
		}
	}
}
