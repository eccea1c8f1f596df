// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// coarse is noise of few steps, on whose grid all can be listed.
func coarse(t testing.TB, d int, sensitivity float64, radii []int64, weights []uint64) *Noise {
	t.Helper()
	n, err := New(Spec{
		Problem: Problem{Dimension: d, Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: sensitivity}, Loss: loss.L2},
		Radii:   radii, Weights: weights,
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// points lists all points of a grid with coordinates from −most to most.
func points(d int, most int64, do func(p []int64)) {
	p := make([]int64, d)
	var visit func(i int)
	visit = func(i int) {
		if i == d {
			do(p)
			return
		}
		for p[i] = -most; p[i] <= most; p[i]++ {
			visit(i + 1)
		}
	}
	visit(0)
}

// inCell is the share of the cube of side 1 around a point of the grid that is in a ball, by halving cells that the
// sphere cuts so many times.
func inCell(p []int64, radius float64, depth int) float64 {
	var visit func(center []float64, half float64, depth int) float64
	visit = func(center []float64, half float64, depth int) float64 {
		near, far := 0.0, 0.0
		for _, c := range center {
			c = math.Abs(c)
			near += math.Pow(max(0, c-half), 2)
			far += (c + half) * (c + half)
		}
		switch {
		case far <= radius*radius:
			return 1
		case near >= radius*radius:
			return 0
		case depth == 0:
			return 0.5
		}
		sum := 0.0
		next := make([]float64, len(center))
		for corner := range 1 << len(center) {
			for i, c := range center {
				next[i] = c + half/2*(2*float64(corner>>i&1)-1)
			}
			sum += visit(next, half/2, depth-1)
		}
		return sum / float64(int(1)<<len(center))
	}
	center := make([]float64, len(p))
	for i, x := range p {
		center[i] = float64(x)
	}
	return visit(center, 0.5, depth)
}

// law returns the probabilities of noise on the grid, by the geometry of balls and cells.
func law(s *Spec, depth int) map[[3]int64]float64 {
	out := map[[3]int64]float64{}
	for j, r := range s.Radii {
		p := float64(s.Weights[j]) * 0x1p-64
		if r == 0 {
			out[[3]int64{}] += p
			continue
		}
		x, _ := math.Lgamma(float64(s.Dimension)/2 + 1)
		volume := math.Exp(float64(s.Dimension)/2*math.Log(math.Pi)-x) * math.Pow(float64(r), float64(s.Dimension))
		points(s.Dimension, r, func(at []int64) {
			if share := inCell(at, float64(r), depth); share > 0 {
				out[key(at)] += p * share / volume
			}
		})
	}
	return out
}

func key(at []int64) (k [3]int64) {
	copy(k[:], at)
	return k
}

// words are those of a seed.
func words(seed uint64) func() (uint64, error) {
	rng := rand.NewPCG(seed, 1)
	return func() (uint64, error) { return rng.Uint64(), nil }
}

// TestDraws: noise on coarse grids, where most cells are cut by a sphere, has the law of the rounded point. The statistic
// is above the limit by chance once in 1e9 times for each of the cases; a share of points of 0.1 % at
// another place than they belong to is seen.
func TestDraws(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds")
	}
	for i, c := range []struct {
		d       int
		radii   []int64
		weights []uint64
		depth   int
	}{
		{2, []int64{0, 1, 3, 4}, []uint64{1 << 60, 3 << 60, 1 << 62, 1 << 63}, 8},
		{2, []int64{2, 7}, []uint64{1 << 61, 7 << 61}, 8},
		{3, []int64{1, 2}, []uint64{1 << 62, 3 << 62}, 5},
		{3, []int64{0, 3}, []uint64{1 << 62, 3 << 62}, 5},
	} {
		n := coarse(t, c.d, 1, c.radii, c.weights)
		want := law(&n.spec, c.depth)
		total := 0.0
		for _, p := range want {
			total += p
		}
		if math.Abs(total-1) > 2e-4 {
			t.Fatalf("%+v: the law sums to %v", c, total)
		}
		const draws = 2e6
		got, word := map[[3]int64]float64{}, words(uint64(i))
		noise := make([]int64, c.d)
		for range int(draws) {
			if err := n.noise(noise, word); err != nil {
				t.Fatal(err)
			}
			got[key(noise)]++
		}
		statistic, degrees := 0.0, -1.0
		for k, p := range want {
			if expected := draws * p; expected > 5 {
				statistic += (got[k] - expected) * (got[k] - expected) / expected
				degrees++
			}
			delete(got, k)
		}
		for k, count := range got {
			t.Errorf("%+v: %v comes %v times", c, k, count)
		}
		if limit := (distuv.ChiSquared{K: degrees}).Quantile(1 - 1e-9); statistic > limit+20 { // of what the depth leaves
			t.Errorf("%+v: chi-square %v of %v degrees, want at most %v", c, statistic, degrees, limit)
		}
	}
}

// drawsOr returns BALL_DRAWS of the environment, such as 1e7, or n: how many draws a test makes.
func drawsOr(t *testing.T, n float64) float64 {
	t.Helper()
	if text := os.Getenv("BALL_DRAWS"); text != "" {
		var err error
		if n, err = strconv.ParseFloat(text, 64); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// TestRadiiAndAngles: on a fine grid balls come by their weights, and points are uniform in the volume and the angle, by
// chi-square tests of 1e6 draws or BALL_DRAWS. False alarms once in 1e9 times for each of the six; seeds do not change. Of a
// million, a cell's share that is 8 % off is seen, of ten million one that is 2.5 % off.
func TestRadiiAndAngles(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds")
	}
	for d := 2; d <= 4; d++ {
		n := coarse(t, d, 1<<20, []int64{1 << 20, 3<<20 + 12345}, []uint64{5 << 61, 3 << 61})
		const parts = 40
		draws := drawsOr(t, 1e6)
		small, large := float64(n.spec.Radii[0]), float64(n.spec.Radii[1])
		var radii, angles [parts]float64
		word, x := words(uint64(40+d)), make([]int64, d)
		for range int(draws) {
			if err := n.noise(x, word); err != nil {
				t.Fatal(err)
			}
			square := 0.0
			for _, c := range x {
				square += float64(c) * float64(c)
			}
			r := math.Sqrt(square)
			// The distribution function of the norm.
			u := 5.0/8*min(1, math.Pow(r/small, float64(d))) + 3.0/8*math.Pow(r/large, float64(d))
			radii[min(parts-1, int(u*parts))]++
			angles[int((math.Atan2(float64(x[0]), float64(x[1]))/math.Pi+1)/2*parts*(1-1e-12))]++
		}
		limit := (distuv.ChiSquared{K: parts - 1}).Quantile(1 - 1e-9)
		for what, counts := range map[string][parts]float64{"radii": radii, "angles": angles} {
			statistic := 0.0
			for _, c := range counts {
				statistic += (c - draws/parts) * (c - draws/parts) / (draws / parts)
			}
			t.Logf("d %d, %s: chi-square %.1f of %g draws, at most %.1f", d, what, statistic, draws, limit)
			if statistic > limit {
				t.Errorf("d %d, %s: chi-square %v, want at most %v", d, what, statistic, limit)
			}
		}
	}
}

// TestRounding: all pairs of values on a finer grid that are up to the sensitivity apart, and the laws of their answers
// by geometry: none are farther apart than is certified, and their differences in steps are at most the reach. For
// some noise they are farther apart than the noise itself moved by the sensitivity is, so that the reach is needed.
func TestRounding(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds")
	}
	needed := 0
	for _, c := range []struct {
		sensitivity float64
		radii       []int64
		weights     []uint64
		epsilon     float64
	}{
		{0.6, []int64{2, 3}, []uint64{1 << 63, 1 << 63}, 0.1},
		{1, []int64{1, 3, 4}, []uint64{1 << 62, 1 << 62, 1 << 63}, 0.5},
		{1.4, []int64{0, 2, 4}, []uint64{1 << 60, 7 << 60, 1 << 63}, 1},
		{2, []int64{2, 5}, []uint64{3 << 61, 5 << 61}, 0.3},
	} {
		n := coarse(t, 2, c.sensitivity, c.radii, c.weights)
		n.spec.Epsilon = c.epsilon
		p := law(&n.spec, 9)
		certified, _ := n.spec.delta(nil).Float64()
		plain := divergence(&n.spec, c.sensitivity)
		// Differences of rounded values that are up to the sensitivity apart.
		const fine = 8
		moves := map[[3]int64]bool{}
		span := int64(math.Ceil(c.sensitivity*fine)) + 1
		round := func(x int64) int64 { return int64(math.Floor((float64(x)+0.5)/fine + 0.5)) }
		for x := range int64(fine) {
			for y := range int64(fine) {
				points(2, span, func(q []int64) {
					if math.Hypot(float64(q[0]), float64(q[1])) <= c.sensitivity*fine {
						moves[[3]int64{round(x+q[0]) - round(x), round(y+q[1]) - round(y)}] = true
					}
				})
			}
		}
		reach := n.spec.reach().Int64()
		worst := 0.0
		for m := range moves {
			if m[0]*m[0]+m[1]*m[1] > reach*reach {
				t.Errorf("%+v: a move by %v, want at most %d", c, m, reach)
			}
			sum := 0.0
			for k, w := range p {
				sum += max(0, w-math.Exp(c.epsilon)*p[[3]int64{k[0] - m[0], k[1] - m[1]}])
			}
			worst = max(worst, sum)
		}
		if worst > certified+1e-4 {
			t.Errorf("%+v: answers diverge by %v, and %v is certified", c, worst, certified)
		}
		if worst > plain+1e-3 {
			needed++
		}
	}
	if needed == 0 {
		t.Error("no answers diverge by more than the noise moved by the sensitivity: nothing tests the reach")
	}
}

// TestDivergenceOfDraws: the share of draws in the event of the certificate, of noise and of itself moved, of 2^20 draws
// or BALL_DRAWS, such as 4e6. False alarms once in 1e9 times; a delta that is 3 % too small is seen.
func TestDivergenceOfDraws(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds")
	}
	n := coarse(t, 2, 1<<20, []int64{1 << 19, 1<<20 + 1<<18, 3 << 20}, []uint64{3 << 62, 1<<62 - 1<<57, 1 << 57})
	n.spec.Epsilon = 2
	shift := float64(n.spec.reach().Int64())
	density := func(x, y float64) (f float64) {
		for j, r := range n.spec.Radii {
			if x*x+y*y <= float64(r)*float64(r) {
				f += float64(n.spec.Weights[j]) * 0x1p-64 / (float64(r) * float64(r))
			}
		}
		return f
	}
	draws := drawsOr(t, 1<<20)
	var gain, price float64
	word, p := words(77), make([]int64, 2)
	e := math.Exp(n.spec.Epsilon)
	for range int(draws) {
		if err := n.noise(p, word); err != nil {
			t.Fatal(err)
		}
		x, y := float64(p[0]), float64(p[1])
		if density(x, y) > e*density(x-shift, y) {
			gain++
		}
		if density(x+shift, y) > e*density(x, y) {
			price++
		}
	}
	got := (gain - e*price) / draws
	sigma := math.Sqrt(gain+e*e*price) / draws
	want, _ := n.spec.delta(nil).Float64()
	t.Logf("%v ± %v of %g draws, certified %v", got, sigma, draws, want)
	if math.Abs(got-want) > 6.2*sigma || 6.2*sigma > 0.03*want {
		t.Errorf("%v ± %v, want %v", got, sigma, want)
	}
}

// TestDrawOfWords: what words become, and how many are asked for.
func TestDrawOfWords(t *testing.T) {
	n := coarse(t, 2, 1, []int64{0, 1, 4}, []uint64{1 << 63, 1 << 62, 1 << 62})
	const half, quarter = 1 << 63, 1 << 62
	for _, c := range []struct {
		words []uint64
		want  [2]int64
	}{
		{[]uint64{0}, [2]int64{}},
		{[]uint64{half - 1}, [2]int64{}},
		{[]uint64{half, half, half}, [2]int64{}},                         // of radius 1, cell 0 to 1 in half steps, in the ball
		{[]uint64{half + quarter - 1, quarter, quarter}, [2]int64{0, 0}}, // cell −1 to 0
		// Cells 1 to 2 in both coordinates, which the circle cuts: 1 + 1/2 is out, another is drawn.
		{[]uint64{half, half + quarter, half + quarter, half, half, half, half}, [2]int64{}},
		// In the cell 1 to 2, 1 and 0 to 1: in the ball by digits, and rounded to 1.
		{[]uint64{half, half + quarter, half, 0, 0}, [2]int64{1, 0}},
		{[]uint64{^uint64(0), 0, half, ^uint64(0), 0}, [2]int64{-4 + 1 - 1, 0}}, // of radius 4, the outermost cell
	} {
		next := 0
		var got [2]int64
		err := n.noise(got[:], func() (uint64, error) {
			if next == len(c.words) {
				return 0, errors.New("too many words")
			}
			next++
			return c.words[next-1], nil
		})
		if err != nil || got != c.want || next != len(c.words) {
			t.Errorf("%x: %v after %d words, %v, want %v", c.words, got, next, err, c.want)
		}
	}
}

// TestUnevenWords: words that would favor some cells are left out.
func TestUnevenWords(t *testing.T) {
	// 12 cells: of 2^64 words 2^64 mod 12 = 4 are left out, for which 12 times the word is less than that modulo 2^64.
	var got [2]int64
	list := []uint64{0, 1 << 63, 1<<63 + 1, 1<<63 + 1} // the first two are left out
	err := fill(got[:], 3, func() (uint64, error) {
		w := list[0]
		list = list[1:]
		return w, nil
	})
	if err != nil || got != [2]int64{} || len(list) != 0 {
		t.Errorf("%v, %v, %d words left", got, err, len(list))
	}
}

// TestRefine decides by digits what is in a ball: all words 0 are the nearest corner, and all ones the farthest.
func TestRefine(t *testing.T) {
	for _, c := range []struct {
		cell   []int64
		radius uint64
		word   uint64
		want   bool
	}{
		{[]int64{3, 3}, 5, 0, true},            // (3, 3) of norm 4.24 to (4, 4) of norm 5.66
		{[]int64{3, 3}, 5, ^uint64(0), false},  //
		{[]int64{-4, -4}, 5, 0, false},         // from (−4, −4)
		{[]int64{-4, 3}, 5, 1 << 63, true},     // (−3.5, 3.5) of norm 4.95
		{[]int64{3, 3, 3}, 6, 1 << 62, true},   // 3.25·√3 = 5.63
		{[]int64{3, 3, 3}, 6, 1 << 63, false},  // 3.5·√3 = 6.06
		{[]int64{0, 1, -2}, 2, 1 << 62, false}, // (0.25, 1.25, −1.75): 2.17
	} {
		if got, err := refine(c.cell, c.radius, func() (uint64, error) { return c.word, nil }); err != nil || got != c.want {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
	// x = 1 and y = √24, by their digits, leave it open for as long as they are given; then y is a little more.
	digits := new(big.Int).Sqrt(new(big.Int).Lsh(big.NewInt(24), 2*64*3))
	for _, more := range []uint64{0, 1} {
		calls := 0
		in, err := refine([]int64{1, 4}, 5, func() (uint64, error) {
			calls++
			switch {
			case calls%2 == 1:
				return 0, nil
			case calls <= 6:
				return new(big.Int).Rsh(digits, uint(64*(3-calls/2))).Uint64() + more*uint64(calls/6), nil
			}
			return 0, nil
		})
		if err != nil || in != (more == 0) || calls != 8-2*int(more) {
			t.Errorf("%v, %v after %d digits", in, err, calls)
		}
	}
	broken := errors.New("no words")
	if _, err := refine([]int64{3, 3}, 5, func() (uint64, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("%v, want the error of a word", err)
	}
}

// TestDraw: answers are multiples of the step, of values rounded to the nearest with halves up; other inputs are refused
// before a word is asked for; the error of a word is passed on.
func TestDraw(t *testing.T) {
	n := coarse(t, 2, 1, []int64{0, 1}, []uint64{^uint64(0), 1})
	n.spec.StepExponent, n.draw.back = -2, 4
	zero := func() (uint64, error) { return 0, nil }
	for _, c := range []struct{ in, want proof.Row }{
		{proof.Row{0.125, -0.125}, proof.Row{0.25, 0}},
		{proof.Row{0.3, -7.9}, proof.Row{0.25, -8}},
		{proof.Row{0x1p50, -0x1p50}, proof.Row{0x1p50, -0x1p50}},
	} {
		got, err := n.Draw(c.in, zero)
		if err != nil || got.String() != c.want.String() {
			t.Errorf("%v: %v, %v, want %v", c.in, got, err, c.want)
		}
		if !n.Answers().Contains(got) {
			t.Errorf("%v is no answer", got)
		}
	}
	never := func() (uint64, error) {
		t.Error("asked for a word")
		return 0, nil
	}
	for _, bad := range []proof.Value{
		nil, proof.Number(1), proof.Row{1}, proof.Row{1, 2, 3}, proof.Row{1, math.NaN()}, proof.Row{math.Inf(1), 0}, proof.Row{0x1p50 + 1, 0},
	} {
		if got, err := n.Draw(bad, never); got != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v: %v, %v, want ErrInvalid", bad, got, err)
		}
	}
	broken := errors.New("no words")
	if got, err := n.Draw(proof.Row{0, 0}, func() (uint64, error) { return 0, broken }); got != nil || !errors.Is(err, broken) {
		t.Errorf("%v, %v, want the error of a word", got, err)
	}
	later := 0
	if got, err := n.Draw(proof.Row{0, 0}, func() (uint64, error) {
		if later++; later > 1 {
			return 0, broken
		}
		return ^uint64(0), nil
	}); got != nil || !errors.Is(err, broken) {
		t.Errorf("%v, %v, want the error of a later word", got, err)
	}
}

// TestLaws: the laws diverge by what is certified, and a little more, at every epsilon, in both orders.
func TestLaws(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for i := range 60 {
		s := random(rng, limits.BallMinDimension+rng.IntN(limits.BallMaxDimension-1), 8, 40)
		if i == 0 { // nowhere both
			s.Radii, s.Weights, s.Sensitivity = []int64{1, 2}, []uint64{1 << 63, 1 << 63}, 9
		}
		n, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		rows := n.Rows()
		for k, row := range rows {
			sum := uint64(0) // modulo 2^64
			for _, w := range row {
				sum += w
			}
			if sum != 0 {
				t.Fatalf("%+v: the weights of law %d sum to %d more than 2^64", s, k, sum)
			}
		}
		for _, epsilon := range []float64{0, 0.3, 1, 2.5, 6} {
			s.Epsilon = epsilon
			want := s.delta(nil)
			for k := range 2 {
				got := excess(rows[k], rows[1-k], epsilon)
				over := new(big.Rat).Sub(got, want)
				// Each weight of either law is at most one unit less.
				if few, _ := over.Float64(); over.Sign() < 0 || few > float64(len(rows[0])+1)*0x1p-64*(1+math.Exp(epsilon)) {
					t.Fatalf("%+v at epsilon %v: %v more than certified", s, epsilon, few)
				}
			}
		}
	}
	n := coarse(t, 2, 1, []int64{1, 2}, []uint64{1 << 63, 1 << 63})
	n.Rows()[0][0]++
	if a, b := n.Rows(), n.Rows(); a[0][0] != b[0][0] || a[0][0] != n.laws.rows[0][0] {
		t.Error("rows are shared")
	}
}

// excess is Σ (p − e^ε·q)₊ with e^ε rounded down as certificates do.
func excess(p, q []uint64, epsilon float64) *big.Rat {
	return exact.Probability(exact.RatioDown(epsilon).Divergence(p, q))
}

func BenchmarkDraw(b *testing.B) {
	for _, d := range []int{2, 3, 8} {
		n := coarse(b, d, 1<<20, []int64{1 << 22, 1 << 24}, []uint64{1 << 63, 1 << 63})
		word, in := words(1), proof.Row(make([]float64, d))
		b.Run(string(rune('0'+d)), func(b *testing.B) {
			for b.Loop() {
				if _, err := n.Draw(in, word); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
