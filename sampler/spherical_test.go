// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noisewright/noisewright/dp"
)

// quaternary hands out words whose two leading bits are given, and stops after them. As
// numbers in base 4 are compared by their digits as those in base 2^64 are, the exact
// probabilities of what is decided by comparisons are the same.
type quaternary struct {
	digits []byte
	next   int
}

var errEnd = errors.New("end of the quaternary")

func (s *quaternary) word() (uint64, error) {
	if s.next == len(s.digits) {
		return 0, errEnd
	}
	s.next++
	return uint64(s.digits[s.next-1]) << 62, nil
}

// enumerate returns the probabilities of outcomes by all scripts of at most depth digits, and
// what these leave undecided.
func enumerate[T comparable](t *testing.T, depth int, decide func(words wordSource) (T, error)) (masses map[T]float64, undecided float64) {
	t.Helper()
	masses = make(map[T]float64)
	open := [][]byte{{}}
	for len(open) > 0 {
		digits := open[len(open)-1]
		open = open[:len(open)-1]
		s := &quaternary{digits: digits}
		outcome, err := decide(s)
		share := math.Pow(4, -float64(len(digits)))
		switch {
		case errors.Is(err, errEnd) && len(digits) < depth:
			for d := range byte(4) {
				open = append(open, append(slices.Clone(digits), d))
			}
		case errors.Is(err, errEnd):
			undecided += share
		case err != nil:
			t.Fatal(err)
		case s.next != len(s.digits):
			t.Fatal("a decision without the last digit") // it would have come before
		default:
			masses[outcome] += share
		}
	}
	return masses, undecided
}

// TestBernoulliByEnumeration: the two events that normal deviates are made of have the
// probabilities they should, by all words they can read.
func TestBernoulliByEnumeration(t *testing.T) {
	masses, rest := enumerate(t, 11, func(w wordSource) (bool, error) {
		return (&normal{words: w}).half()
	})
	if low, p := masses[true], math.Exp(-0.5); !(low <= p && p <= low+rest) || rest > 3e-3 {
		t.Errorf("half has a probability from %g to %g, want %g", low, low+rest, p)
	}
	// x in base 4, and 2k+2 a divisor of 4, so that scripts yield every chance alike.
	for _, c := range []struct {
		k uint64
		x []byte
	}{{0, []byte{1}}, {0, []byte{3, 2}}, {1, []byte{2}}} {
		x := 0.0
		fraction := uniform{}
		for i, d := range c.x {
			x += float64(d) * math.Pow(4, -float64(i+1))
			fraction = append(fraction, uint64(d)<<62)
		}
		// The digits after those given are 0, which the comparisons may ask for.
		fraction = append(fraction, make(uniform, 20)...)
		masses, rest := enumerate(t, 11, func(w wordSource) (bool, error) {
			return (&normal{words: w}).part(&deviate{c.k, slices.Clone(fraction)})
		})
		k := float64(c.k)
		if low, p := masses[true], math.Exp(-x*(2*k+x)/(2*k+2)); !(low <= p && p <= low+rest) || rest > 0.05 {
			t.Errorf("part of %g + %g has a probability from %g to %g, want %g", k, x, low, low+rest, p)
		}
	}
}

// TestNormalDeviates: the law of |N(0,1)| in cells of 1/4, by chi-square.
func TestNormalDeviates(t *testing.T) {
	g := normal{words: &wordReader{gen: newFixedGenerator([32]byte{1}), pos: blockBytes}}
	const draws, cells = 200000, 14
	counts := make([]float64, cells+1)
	var v deviate
	for range draws {
		if err := g.draw(&v); err != nil {
			t.Fatal(err)
		}
		w, err := v.fraction.digit(0, g.words)
		if err != nil {
			t.Fatal(err)
		}
		counts[min(cells, 4*v.whole+w>>62)]++
	}
	masses := make([]float64, cells+1)
	for i := range masses {
		masses[i] = math.Erf(float64(i+1)/4/math.Sqrt2) - math.Erf(float64(i)/4/math.Sqrt2)
	}
	masses[cells] = math.Erfc(float64(cells) / 4 / math.Sqrt2)
	fits(t, "normal deviates", counts, masses)
}

// fits compares counts of classes with their probabilities; those that are too rare for
// the test go together.
func fits(t *testing.T, name string, counts, masses []float64) {
	t.Helper()
	var c chiSquare
	for _, n := range counts {
		c.total += int(n)
	}
	rare, rareCount := 0.0, 0
	for i, m := range masses {
		if m*float64(c.total) < 10 {
			rare, rareCount = rare+m, rareCount+int(counts[i])
			continue
		}
		c.p, c.counts = append(c.p, m), append(c.counts, int(counts[i]))
	}
	if rare > 0 {
		c.p, c.counts = append(c.p, rare), append(c.counts, rareCount)
	}
	if stat, threshold, alarm := c.alarm(); alarm || len(c.p) < 3 {
		t.Errorf("%s: chi-square %g of %d classes, want at most %g", name, stat, len(c.p), threshold)
	}
}

// sphericalMass is the probability of a point of the grid, by the midpoint rule with
// side·side parts of its cell: the density is (2π)^-1·scale^-2·exp(-‖x‖/scale) in two
// dimensions.
func sphericalMass(scale float64, i, j int) float64 {
	const side = 40
	sum := 0.0
	for a := range side {
		for b := range side {
			x := float64(i) + (float64(a)+0.5)/side - 0.5
			y := float64(j) + (float64(b)+0.5)/side - 0.5
			sum += math.Exp(-math.Hypot(x, y) / scale)
		}
	}
	return sum / (side * side) / (2 * math.Pi * scale * scale)
}

// lineMass is that in one dimension, in closed form.
func lineMass(scale float64, i int) float64 {
	h := math.Exp(-0.5 / scale)
	if i == 0 {
		return 1 - h
	}
	return math.Exp(-math.Abs(float64(i))/scale) * (1/h - h) / 2
}

func draws(t *testing.T, dimension int, scale float64, n int, each func(dst []int64)) {
	t.Helper()
	s, err := NewSpherical(dimension, scale, Options{Entropy: Deterministic([32]byte{byte(dimension), 7})})
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]int64, dimension)
	for range n {
		if err := s.Fill(dst); err != nil {
			t.Fatal(err)
		}
		each(dst)
	}
}

// TestSphericalOnSmallGrids: all the points of grids with few steps in the scale.
func TestSphericalOnSmallGrids(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const reach = 9
	for _, scale := range []float64{0.4, 1.5} {
		counts, masses := make([]float64, 2*reach+2), make([]float64, 2*reach+2)
		draws(t, 1, scale, 60000, func(x []int64) {
			if -reach <= x[0] && x[0] <= reach {
				counts[x[0]+reach]++
			} else {
				counts[2*reach+1]++
			}
		})
		masses[2*reach+1] = 1
		for i := -reach; i <= reach; i++ {
			masses[i+reach] = lineMass(scale, i)
			masses[2*reach+1] -= lineMass(scale, i)
		}
		fits(t, "one dimension", counts, masses)
	}
	for _, scale := range []float64{0.7, 1.3} {
		const side = 2*reach + 1
		counts, masses := make([]float64, side*side+1), make([]float64, side*side+1)
		draws(t, 2, scale, 60000, func(x []int64) {
			if max(x[0], x[1], -x[0], -x[1]) > reach {
				counts[side*side]++
			} else {
				counts[(x[0]+reach)*side+x[1]+reach]++
			}
		})
		masses[side*side] = 1
		for i := -reach; i <= reach; i++ {
			for j := -reach; j <= reach; j++ {
				m := sphericalMass(scale, i, j)
				masses[(i+reach)*side+j+reach] = m
				masses[side*side] -= m
			}
		}
		fits(t, "two dimensions", counts, masses)
	}
}

// TestSphericalPrivacy: from the definition, on the grid: no shift changes the mass of a
// point by more than the factor exp(‖shift‖/scale), and some shifts nearly do.
func TestSphericalPrivacy(t *testing.T) {
	const scale, reach = 1.6, 12
	mass := make(map[[2]int]float64)
	for i := -reach - 3; i <= reach+3; i++ {
		for j := -reach - 3; j <= reach+3; j++ {
			mass[[2]int{i, j}] = sphericalMass(scale, i, j)
		}
	}
	nearest := 0.0
	for a := -3; a <= 3; a++ {
		for b := -3; b <= 3; b++ {
			allowed := math.Hypot(float64(a), float64(b)) / scale
			for i := -reach; i <= reach; i++ {
				for j := -reach; j <= reach; j++ {
					loss := math.Log(mass[[2]int{i, j}] / mass[[2]int{i - a, j - b}])
					if loss > allowed+1e-9 {
						t.Fatalf("shift (%d, %d) at (%d, %d): loss %g, want at most %g", a, b, i, j, loss, allowed)
					}
					if allowed > 0 {
						nearest = max(nearest, loss/allowed)
					}
				}
			}
		}
	}
	if nearest < 0.99 {
		t.Errorf("the largest loss is %g of what is allowed: the test sees little", nearest)
	}
}

// TestSphericalNormAndDirection: in many dimensions the norm is a gamma variable, and every
// octant of the first three coordinates is as likely as the next, whatever the norm.
func TestSphericalNormAndDirection(t *testing.T) {
	for _, c := range []struct{ dimension, draws int }{{3, 20000}, {40, 4000}, {1000, 300}} {
		if testing.Short() && c.dimension > 3 {
			continue
		}
		const scale, cells = 1 << 30, 10
		gamma := distuv.Gamma{Alpha: float64(c.dimension), Beta: 1}
		norms, octants := make([]float64, cells), make([]float64, 16)
		draws(t, c.dimension, scale, c.draws, func(x []int64) {
			sum := 0.0
			for _, v := range x {
				sum += float64(v) * float64(v)
			}
			u := gamma.CDF(math.Sqrt(sum) / scale)
			norms[min(cells-1, int(cells*u))]++
			octant := 0
			for i, v := range x[:3] {
				if v > 0 {
					octant |= 1 << i
				}
			}
			if u > 0.5 {
				octant |= 8
			}
			octants[octant]++
		})
		fits(t, "norm", norms, slices.Repeat([]float64{1.0 / cells}, cells))
		fits(t, "octants", octants, slices.Repeat([]float64{1.0 / 16}, 16))
	}
}

// TestSphericalRounding: what fill decides by bounds is what exact numbers say. The
// digits are few, so that many coordinates are undecided at first.
func TestSphericalRounding(t *testing.T) {
	for _, scale := range []float64{1, 3.25, 1 << 36} {
		s := newSpherical(2, scale, newFixedGenerator([32]byte{3}))
		ones := []uint64{0, 1<<64 - 1, 1 << 63, 12345 << 40}
		for i := range 200 {
			for j := range s.normals {
				w := ones[(i+j*j)%len(ones)]
				s.normals[j] = deviate{uint64((i + j) % 3), uniform{w, w, w, w, w, w}}
			}
			var x fixedPoint
			low, high, err := s.norm(1)
			if err != nil {
				t.Fatal(err)
			}
			_ = x.set(&s.normals[0], 1, &s.reader)
			n, ok, err := x.round(low.Mul(low, s.mantissa), high.Mul(high, s.mantissa), 128+s.shift)
			if err != nil {
				t.Fatal(err)
			}
			// To six places, with 600 bits.
			number := func(v deviate) *big.Float {
				f := new(big.Float).SetPrec(600).SetUint64(v.whole)
				for k, d := range v.fraction {
					f.Add(f, new(big.Float).SetMantExp(new(big.Float).SetPrec(600).SetUint64(d), -64*(k+1)))
				}
				return f
			}
			sum := new(big.Float).SetPrec(600)
			for _, v := range s.normals[2:] {
				h := number(v)
				sum.Add(sum, h.Mul(h, h))
			}
			sum.Sqrt(sum).Mul(sum, number(s.normals[0])).Mul(sum, big.NewFloat(scale)).Add(sum, big.NewFloat(0.5))
			want, _ := sum.Int64()
			if ok && n != want {
				t.Fatalf("scale %g: %d, want %d", scale, n, want)
			}
			fraction := new(big.Float).Sub(sum, new(big.Float).SetInt64(want))
			if f, _ := fraction.Float64(); !ok && f > 1e-6 && f < 1-1e-6 {
				t.Fatalf("scale %g: undecided at a fraction of %g", scale, f)
			}
		}
	}
}

func TestSphericalRefuses(t *testing.T) {
	for _, c := range []struct {
		dimension int
		scale     float64
		options   Options
	}{
		{0, 1, Options{}},
		{1<<16 + 1, 1, Options{}},
		{1, 0, Options{}},
		{1, math.NaN(), Options{}},
		{1, math.Inf(1), Options{}},
		{1, -1, Options{}},
		{1, 0x1p41, Options{}},
		{2, 1, Options{ConstantTime: true}},
	} {
		if s, err := NewSpherical(c.dimension, c.scale, c.options); s != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	s, err := NewSpherical(3, 5, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Fill(make([]int64, 2)); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("Fill of another length: %v", err)
	}
}

// TestSphericalWithoutEntropy: nothing is left of a draw that fails in the middle.
func TestSphericalWithoutEntropy(t *testing.T) {
	s, err := NewSpherical(2000, 5, Options{Entropy: &limited{blocks: 2}})
	if err != nil {
		t.Fatal(err)
	}
	dst := slices.Repeat([]int64{7}, 2000)
	if err := s.Fill(dst); !errors.Is(err, ErrEntropy) || slices.Max(dst) != 0 || slices.Min(dst) != 0 {
		t.Errorf("Fill without entropy: %v", err)
	}
	for _, v := range s.normals {
		if v.whole != 0 || len(v.fraction) != 0 {
			t.Fatal("deviates are left")
		}
	}
}

// limited is a reader of so many blocks.
type limited struct{ blocks int }

func (l *limited) Read(p []byte) (int, error) {
	if l.blocks == 0 {
		return 0, errors.New("none left")
	}
	l.blocks--
	for i := range p {
		p[i] = byte(i * 7)
	}
	return len(p), nil
}

// TestSphericalFork: forks of a deterministic sampler are determined, and others are not
// the same.
func TestSphericalFork(t *testing.T) {
	fill := func(s *Spherical) [4]int64 {
		var x [4]int64
		if err := s.Fill(x[:]); err != nil {
			t.Fatal(err)
		}
		return x
	}
	var all [][4]int64
	for range 2 {
		s, err := NewSpherical(4, 1000.5, Options{Entropy: Deterministic([32]byte{9})})
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.Fork()
		if err != nil {
			t.Fatal(err)
		}
		if f.mantissa.Cmp(s.mantissa) != 0 || f.shift != s.shift {
			t.Error("a fork has another scale")
		}
		all = append(all, fill(s), fill(f))
	}
	if all[0] != all[2] || all[1] != all[3] || all[0] == all[1] {
		t.Errorf("draws %v", all)
	}
}

func BenchmarkSpherical(b *testing.B) {
	for _, d := range []int{2, 20, 1000} {
		b.Run(big.NewInt(int64(d)).String(), func(b *testing.B) {
			s, err := NewSpherical(d, 0x1p33, Options{})
			if err != nil {
				b.Fatal(err)
			}
			dst := make([]int64, d)
			for b.Loop() {
				if err := s.Fill(dst); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*d), "ns/coordinate")
		})
	}
}
