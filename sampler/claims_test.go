// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

const most = math.MaxUint64

// source hands out words, and fails after the last.
type source struct{ left []uint64 }

func (s *source) word() (uint64, error) {
	if len(s.left) == 0 {
		return 0, errUsedUp
	}
	w := s.left[0]
	s.left = s.left[1:]
	return w, nil
}

// roundedTo is the nearest integer to z/2^shift, halves up.
func roundedTo(z *big.Int, shift uint) *big.Int {
	n := new(big.Int).Rsh(z, shift-1)
	return n.Add(n, big.NewInt(1)).Rsh(n, 1)
}

// TestQuickly: what is decided by the first digit of a deviate is right for every number that begins with it, and is
// decided but for the few next to a half.
func TestQuickly(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	decided, late := 0, 0
	for range 60000 {
		g := &Gaussian{mantissa: 1<<52 + rng.Uint64N(1<<52), shift: uint(12 + rng.IntN(60))}
		g.normal.whole = rng.Uint64N(12)
		if rng.IntN(20) == 0 {
			g.normal.whole = 250 + rng.Uint64N(12)
		}
		w := rng.Uint64()
		m := new(big.Int).SetUint64(g.mantissa)
		if rng.IntN(2) == 0 { // next to a half
			half := new(big.Int).Lsh(big.NewInt(2*rng.Int64N(1<<20)+1), 63+g.shift)
			half.Quo(half, m)
			g.normal.whole = new(big.Int).Rsh(half, 64).Uint64()
			w = half.Uint64() + rng.Uint64N(5) - 2
		}
		n, ok := g.quickly(w)
		low := new(big.Int).SetUint64(g.normal.whole)
		low.Lsh(low, 64).Add(low, new(big.Int).SetUint64(w)).Mul(low, m)
		high := new(big.Int).Add(low, m)
		high.Sub(high, big.NewInt(1)) // no number is at the upper end itself
		from, to := roundedTo(low, 64+g.shift), roundedTo(high, 64+g.shift)
		if ok {
			decided++
			if !from.IsInt64() || n != from.Int64() || from.Cmp(to) != 0 || n >= maxNoise {
				t.Fatalf("%d·(%d + %#x/2^64)/2^%d is rounded to %d, want %s to %s", g.mantissa, g.normal.whole, w, g.shift, n, from, to)
			}
		} else if g.shift <= 62 && g.normal.whole < 1<<8 && from.Cmp(to) == 0 && from.BitLen() < 40 && new(big.Int).Sub(roundedTo(new(big.Int).Add(high, m), 64+g.shift), from).Sign() == 0 {
			late++ // decided needlessly late
		}
	}
	if decided < 20000 || late > 100 {
		t.Errorf("%d were decided, %d were not though they could be", decided, late)
	}
}

// TestRoundedByHand: a deviate next to a half takes as many digits as it needs, and the sign of a word.
func TestRoundedByHand(t *testing.T) {
	for _, x := range []struct {
		deviation float64
		whole     uint64
		fraction  []uint64 // drawn before
		words     []uint64 // the sign, and digits
		want      int64
	}{
		{1, 2, []uint64{1 << 62}, []uint64{0}, 2},
		{1, 2, []uint64{1 << 62}, []uint64{1 << 63}, -2},
		{1, 2, []uint64{3 << 62}, []uint64{1<<63 - 1}, 3},
		{1, 2, []uint64{1 << 63}, []uint64{most}, -3},
		{1, 2, []uint64{1<<63 - 1}, []uint64{0, 0}, 2},
		{1, 2, []uint64{1<<63 - 1}, []uint64{1 << 63, most, 7}, -2},
		{4, 2, []uint64{3<<61 - 1}, []uint64{0, 5}, 9},
		{4, 2, nil, []uint64{0, 3 << 61}, 10},
		{0x1p-12, 5000, []uint64{0}, []uint64{0}, 1},
		{0x1p30, 3, []uint64{1 << 40}, []uint64{1 << 63}, -(3<<30 + 64)},
	} {
		g := newGaussian(x.deviation, nil)
		words := make([]uint64, blockWords)
		copy(words, x.words)
		g.reader.gen = &readerGenerator{r: wordsOf(words...)}
		g.normal = deviate{whole: x.whole, fraction: append(uniform(nil), x.fraction...)}
		if n, err := g.rounded(); err != nil || n != x.want {
			t.Errorf("%v·(%d + %#x…): %d, %v, want %d", x.deviation, x.whole, x.fraction, n, err, x.want)
		}
	}
}

// TestFixedPoint: bounds of deviates and of norms are on either side of what they stand for, and what is rounded is
// the same at both.
func TestFixedPoint(t *testing.T) {
	var x fixedPoint
	v := &deviate{whole: 3, fraction: uniform{5, 7}}
	for places, low := range map[int]*big.Int{
		1: new(big.Int).SetBits([]big.Word{5, 3}), 2: new(big.Int).SetBits([]big.Word{7, 5, 3}), 3: new(big.Int).SetBits([]big.Word{9, 7, 5, 3}),
	} {
		if err := x.set(&deviate{3, append(uniform(nil), v.fraction...)}, places, &source{[]uint64{9}}); err != nil {
			t.Fatal(err)
		}
		if x.low.Cmp(low) != 0 || new(big.Int).Sub(&x.high, &x.low).Cmp(big.NewInt(1)) != 0 {
			t.Errorf("%d places: %s to %s, want %s and one more", places, &x.low, &x.high, low)
		}
	}
	for _, c := range []struct {
		low, high, factorLow, factorHigh int64
		shift                            uint
		n                                int64
		ok, overflow                     bool
	}{
		{10, 11, 1, 1, 2, 3, true, false}, // 2.5 to 2.75
		{9, 10, 1, 1, 2, 0, false, false}, // 2.25 to 2.5
		{9, 9, 1, 1, 2, 2, true, false},
		{2, 2, 5, 6, 2, 3, true, false},
		{2, 2, 4, 5, 2, 0, false, false},
		{1<<52 - 1, 1<<52 - 1, 2, 2, 1, 1<<52 - 1, true, false},
		{1 << 52, 1 << 52, 2, 2, 1, 0, false, true},
		{1 << 53, 1 << 53, 2, 2, 1, 0, false, true},
	} {
		x.low.SetInt64(c.low)
		x.high.SetInt64(c.high)
		n, ok, err := x.round(big.NewInt(c.factorLow), big.NewInt(c.factorHigh), c.shift)
		if ok != c.ok || n != c.n || errors.Is(err, ErrOverflow) != c.overflow {
			t.Errorf("%+v: %d, %v, %v", c, n, ok, err)
		}
	}
	rng := rand.New(rand.NewPCG(83, 84))
	for range 200 {
		s := newSpherical(1+rng.IntN(3), 1, nil)
		for i := range s.normals {
			s.normals[i] = deviate{rng.Uint64N(4), uniform{rng.Uint64(), rng.Uint64()}}
		}
		for places := 1; places <= 2; places++ {
			low, high, err := s.norm(places)
			if err != nil {
				t.Fatal(err)
			}
			least, most := new(big.Int), new(big.Int)
			for i := s.dimension; i < len(s.normals); i++ {
				if err := x.set(&s.normals[i], places, &s.reader); err != nil {
					t.Fatal(err)
				}
				least.Add(least, new(big.Int).Mul(&x.low, &x.low))
				most.Add(most, new(big.Int).Mul(&x.high, &x.high))
			}
			if new(big.Int).Mul(low, low).Cmp(least) > 0 || new(big.Int).Mul(high, high).Cmp(most) < 0 || new(big.Int).Sub(high, low).Cmp(big.NewInt(16)) > 0 {
				t.Fatalf("a norm of %s to %s, want its square to be %s to %s", low, high, least, most)
			}
		}
	}
}

// TestSphericalByHand: a coordinate that is not known to the step after one digit takes another of every deviate.
func TestSphericalByHand(t *testing.T) {
	deviateOf := func(fraction uint64) []uint64 { return []uint64{1, most, most, fraction} } // below 1
	var words []uint64
	for _, f := range []uint64{1<<63 - 1, 1 << 63, 0} { // the coordinate, a hair below 1/2, and the others, of norm 1/2
		words = append(words, deviateOf(f)...)
	}
	for sign, want := range map[uint64]int64{0: 2, 1 << 63: -2} {
		s := newSpherical(1, 10, &readerGenerator{r: wordsOf(append(append([]uint64(nil), words...), sign, 0, 0, 0)...)})
		var dst [1]int64
		if err := s.Fill(dst[:]); err != nil || dst[0] != want {
			t.Errorf("a hair below 5/2: %d, %v, want %d", dst[0], err, want)
		}
	}
	for dimension, ok := range map[int]bool{0: false, 1: true, 2: true} {
		if _, err := NewSpherical(dimension, 1, Options{}); (err == nil) != ok {
			t.Errorf("%d coordinates: %v", dimension, err)
		}
	}
	for scale, ok := range map[float64]bool{0x1p-40: true, 0x1p40: true, math.Nextafter(0x1p40, 0x1p41): false, math.Nextafter(0x1p-40, 0): false} {
		if _, err := NewGaussian(scale, Options{}); (err == nil) != ok {
			t.Errorf("a deviation of %v: %v", scale, err)
		}
	}
}

// TestEventsAreEqual: words that would make one of the chances more probable are not used.
func TestEventsAreEqual(t *testing.T) {
	for _, x := range []struct {
		words []uint64
		want  bool
	}{
		{[]uint64{0, most}, false},   // of 6 chances the last
		{[]uint64{0, 1 << 62}, true}, // the second
		{[]uint64{1 << 62}, true},
		{[]uint64{0, 0, 1 << 62}, true},
	} {
		s := &source{x.words}
		g := &normal{words: s}
		if got, err := g.event(&deviate{whole: 2, fraction: uniform{0}}); err != nil || got != x.want || len(s.left) > 0 {
			t.Errorf("%#x: %v, %v with %d words left, want %v", x.words, got, err, len(s.left), x.want)
		}
	}
}

// TestRoundUpOnNodes: a value that is a node, the last too, is never rounded up, and one between two nodes that are
// not 0 is at the word that decides.
func TestRoundUpOnNodes(t *testing.T) {
	r := testRandomizer(t, local.Real) // nodes -1, -0.75, 1, 2
	for _, x := range []struct {
		x     float64
		row   int
		words []uint64
		want  bool
	}{
		{-1, 0, []uint64{0}, false},
		{1, 2, []uint64{0}, false},
		{2, 3, []uint64{0}, false},
		{1.5, 2, []uint64{1<<63 - 1}, true},
		{1.5, 2, []uint64{1 << 63}, false},
		{-0.875, 0, []uint64{1<<63 - 1}, true},
		{-0.875, 0, []uint64{1 << 63}, false},
		{0.125, 1, []uint64{1<<63 - 1}, true},
		{0.125, 1, []uint64{1 << 63}, false},
	} {
		s := answersOf(r, &readerGenerator{r: wordsOf(x.words...)})
		if up, err := s.roundUp(x.x, x.row); err != nil || up != x.want {
			t.Errorf("%v with %#x: rounded up: %v, %v", x.x, x.words, up, err)
		}
	}
	for _, kind := range []local.Kind{local.Category, local.Integer} {
		s := answersOf(testRandomizer(t, kind), &readerGenerator{r: wordsOf(1, 2, 3)})
		if _, err := s.ReleaseNumber(1); (err != nil) != (kind == local.Category) || err != nil && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("a number for values of kind %v: %v", kind, err)
		}
	}
}

// TestScalesOfTails: draws of a table with a tail, and draws made word by word, are in units of the query like others.
func TestScalesOfTails(t *testing.T) {
	of := func(tail uint64) *tables.Table {
		tab, err := tables.New(tables.Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, Loss: loss.L1},
			Grid:    tables.Grid{GranularityExponent: -3, PointsPerCell: 3, CellsPerSensitivity: 3, FirstCell: -3},
			Weights: []uint64{1 << 61, 1 << 61, 1 << 61, 1 << 61, 1 << 61, 1 << 61, 1 << 62}, TailRatio: tail,
		})
		if err != nil {
			t.Fatal(err)
		}
		return tab
	}
	rng := rand.New(rand.NewPCG(85, 86))
	for _, tab := range []*tables.Table{of(0), of(1 << 62)} {
		words := hardWords(tab, 40, rng)
		for _, constantTime := range []bool{false, true} {
			a, b := sampling(t, tab, Options{Entropy: newScript(words), ConstantTime: constantTime}), sampling(t, tab, Options{Entropy: newScript(words), ConstantTime: constantTime})
			x, n := make([]float64, 2*chunk+7), make([]int64, 2*chunk+7)
			if err := errors.Join(a.Fill(x), b.FillInt(n)); err != nil {
				t.Fatal(err)
			}
			for i := range x {
				if x[i] != float64(n[i])/8 {
					t.Fatalf("draw %d is %v, want %d eighths", i, x[i], n[i])
				}
			}
			checkWiped(t, a)
			if _, err := a.Sample(); err != nil {
				t.Fatal(err)
			}
			checkWiped(t, a)
		}
	}
	s := sampling(t, unitTable(t, 0.7), Options{})
	for range 20 {
		if _, err := s.AddNoise(1.3); err != nil {
			t.Fatal(err)
		}
		checkWiped(t, s)
	}
}

// TestKindsOfReleases: an integer query is answered by integers, others by numbers, and what is neither is refused.
func TestKindsOfReleases(t *testing.T) {
	for _, query := range []dp.Query{dp.IntegerQuery, dp.RealQuery} {
		tab, err := tables.New(tables.Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, Query: query, Loss: loss.L1},
			Grid:    tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: -1}, Weights: []uint64{1 << 62, 1 << 63, 1 << 62},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := adder{sampling(t, tab, Options{})}
		for _, in := range []proof.Value{proof.Integer(5), proof.Number(5)} {
			y, err := s.Release(in)
			_, integer := y.(proof.Integer)
			x, number := proof.Float(y)
			if err != nil || integer != (query == dp.IntegerQuery) || !number || x < 4 || x > 6 {
				t.Errorf("%s, %T: %v, a %T, %v", query, in, y, y, err)
			}
		}
		if y, err := s.Release(proof.Category("x")); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("a label: %v, %v", y, err)
		}
	}
	if _, err := New(nil, Options{}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("no mechanism: %v", err)
	}
}

// TestExactRoundsToTheNearest: a number of any size is rounded to the nearest step, halves up.
func TestExactRoundsToTheNearest(t *testing.T) {
	k := newKeyedTest(t, weightsTable(t, 1, -1, 0, 1<<63, 1<<63), 1) // noise of -1 and 0
	for x, nearest := range map[[2]int64]int64{{1, 2}: 1, {499, 1000}: 0, {6, 10}: 1, {-1, 2}: 0, {-6, 10}: -1, {7, 3}: 2} {
		counts := map[int64]int{}
		for i := range 64 {
			y, err := k.AddNoiseExact(big.NewRat(x[0], x[1]), string(rune('a'+i)))
			if err != nil {
				t.Fatal(err)
			}
			counts[y.Int64()]++
		}
		if counts[nearest] == 0 || counts[nearest-1] == 0 || len(counts) != 2 {
			t.Errorf("%d/%d: %v, want %d and one less", x[0], x[1], counts, nearest)
		}
	}
}
