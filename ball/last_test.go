// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// TestVolumesAreRoundedOutward: with angles of few places, where each unit of the last one shows, volumes are between
// their bounds. Balls as far apart as they are wide show units of the root too, in six and more dimensions.
func TestVolumesAreRoundedOutward(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for d := limits.BallMinDimension; d <= limits.BallMaxDimension; d += 2 {
		for n := range 300 {
			a := 1 + rng.Int64N(30)
			radii := []int64{a, a + 1 + rng.Int64N(20)}
			shift := big.NewInt(radii[1] - a + 1 + rng.Int64N(2*a-1))
			other := 2
			if n == 0 {
				radii, shift, other = []int64{1}, big.NewInt(1), 1
			}
			want := newLenses(d, radii, shift).of(1, other)
			for places := uint(1); places < 16; places++ {
				l := newLenses(d, radii, shift)
				l.places = places
				l.pi = exact.AngleDown(new(big.Int), unit, unit, places)
				l.pi.Lsh(l.pi, 1)
				if got := l.of(1, other); got.low.Cmp(want.low) > 0 || got.high.Cmp(want.high) < 0 {
					t.Fatalf("d %d, radii %v, %v apart, %d places: %v to %v, and it is %v to %v", d, radii, shift, places, got.low, got.high, want.low, want.high)
				}
			}
		}
	}
}

// TestAngles: angles are between their bounds, which are as near as their errors allow.
func TestAngles(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	l := newLenses(2, []int64{1}, unit)
	for range 300 {
		l.places = 1 + uint(rng.IntN(20))
		l.pi = exact.AngleDown(new(big.Int), unit, unit, l.places)
		l.pi.Lsh(l.pi, 1)
		r := 2 + rng.Int64N(50)
		h := rng.Int64N(2*r-1) - r + 1
		w := big.NewInt(r*r - h*h)
		low, high := l.angle(big.NewInt(h), w, big.NewInt(r))
		width := int64(2)
		fine := newLenses(2, []int64{1}, unit)
		from, to := fine.angle(big.NewInt(h), w, big.NewInt(r))
		if h < 0 {
			width = 6
		}
		up := fine.places - l.places
		if new(big.Int).Lsh(low, up).Cmp(from) > 0 || new(big.Int).Lsh(high, up).Cmp(to) < 0 || new(big.Int).Sub(high, low).Int64() != width {
			t.Fatalf("h %d, r %d, %d places: %v to %v", h, r, l.places, low, high)
		}
	}
}

// script returns words one after the other, and how many are left.
func script(list ...uint64) (word func() (uint64, error), left func() int) {
	return func() (uint64, error) {
		w := list[0]
		list = list[1:]
		return w, nil
	}, func() int { return len(list) }
}

// TestRefineAtTheSphere: points at a sphere, to the last digit of either side of 0, with as many words as are needed.
func TestRefineAtTheSphere(t *testing.T) {
	const last = ^uint64(0)
	for _, c := range []struct {
		cell   []int64
		radius uint64
		words  []uint64
		want   bool
	}{
		{[]int64{-3, 3}, 5, []uint64{0, last}, true},              // up to the sphere
		{[]int64{-4, 2}, 5, []uint64{0, last}, true},              // on either axis
		{[]int64{-4, 4}, 5, []uint64{last, 0}, false},             // from the sphere on
		{[]int64{4, -4}, 5, []uint64{0, last}, false},             //
		{[]int64{-4, 3}, 5, []uint64{last, last, 0, last}, false}, // on both sides of it
		{[]int64{0, 3}, 4, []uint64{0, last, last, 0}, true},      // beside the axis
		{[]int64{-1, 3}, 4, []uint64{last, last, last, 0}, true},
	} {
		word, left := script(c.words...)
		if got, err := refine(slices.Clone(c.cell), c.radius, word); err != nil || got != c.want || left() != 0 {
			t.Errorf("%+v: %v, %v, %d words left", c, got, err, left())
		}
	}
}

// TestCells: which cells decide, and which need digits, at the limits of both.
func TestCells(t *testing.T) {
	// at is a word for the cell of a number, well inside what is kept.
	at := func(cell, radius int64) uint64 {
		side := uint64(4 * radius)
		return uint64(cell+2*radius)*(^uint64(0)/side) + ^uint64(0)/side/2
	}
	for _, c := range []struct {
		radius int64
		cells  []int64
		digits []uint64
		again  []int64
		want   []int64
	}{
		{5, []int64{5, 7}, nil, nil, []int64{3, 4}},                     // up to the sphere
		{5, []int64{-6, -8}, nil, nil, []int64{-3, -4}},                 //
		{5, []int64{6, 8}, nil, []int64{0, -1}, []int64{0, 0}},          // from the sphere on
		{1, []int64{1, 1, 1}, []uint64{0, 0, 0}, nil, []int64{1, 1, 1}}, // the least of the norm is 3 of 4
		{5, []int64{-9, 5}, []uint64{1 << 63, 0}, nil, []int64{-4, 3}},  //
		{5, []int64{5, 8}, []uint64{1 << 63, 0}, nil, []int64{3, 4}},    //
		{5, []int64{5, 8}, []uint64{^uint64(0), 1 << 62}, []int64{1, 1}, []int64{1, 1}},
	} {
		var words []uint64
		for _, x := range c.cells {
			words = append(words, at(x, c.radius))
		}
		words = append(words, c.digits...)
		for _, x := range c.again {
			words = append(words, at(x, c.radius))
		}
		word, left := script(words...)
		got := make([]int64, len(c.want))
		if err := fill(got, c.radius, word); err != nil || !slices.Equal(got, c.want) || left() != 0 {
			t.Errorf("%+v: %v, %v, %d words left", c, got, err, left())
		}
	}
}

// TestNoiseIsAdded to the rounded value, with its sign; the value is rounded by half a step at most, whatever the step.
func TestNoiseIsAdded(t *testing.T) {
	n := coarse(t, 2, 1, []int64{1, 9}, []uint64{1, ^uint64(0)})
	for seed := range uint64(20) {
		noise := make([]int64, 2)
		if err := n.noise(noise, words(seed)); err != nil {
			t.Fatal(err)
		}
		want := proof.Row{100 + float64(noise[0]), -7 + float64(noise[1])}
		if got, err := n.Draw(proof.Row{99.5, -7.2}, words(seed)); err != nil || got.String() != want.String() {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	n.spec.StepExponent, n.draw.back = -3, 8
	for seed := range uint64(200) {
		noise, x := make([]int64, 2), proof.Row{0.37 * float64(seed), -1.13 * float64(seed)}
		if err := n.noise(noise, words(seed)); err != nil {
			t.Fatal(err)
		}
		got, err := n.Draw(x, words(seed))
		if err != nil {
			t.Fatal(err)
		}
		for i, y := range got.(proof.Row) {
			if math.Abs(y-float64(noise[i])/8-x[i]) > 1./16 {
				t.Errorf("%v is answered by %v, %v steps of noise", x, got, noise)
			}
		}
	}
}

// TestTwoReleases: by the definition, over all pairs of rings that two points are in, two releases of values at the longest shift or
// nearer diverge by no more than two draws from the laws do, at any epsilon.
func TestTwoReleases(t *testing.T) {
	s := Spec{Problem: Problem{Dimension: 3, Privacy: dp.Privacy{Sensitivity: 8}}, Radii: []int64{0, 4, 9, 20}, Weights: []uint64{1 << 58, 1 << 61, 1<<62 - 1<<58, 9 << 60}}
	s.Weights[3] = -(s.Weights[0] + s.Weights[1] + s.Weights[2])
	rows := s.rows()
	twice := func(p, q []float64, epsilon float64) (sum float64) {
		for i := range p {
			for j := range p {
				sum += max(0, p[i]*p[j]-math.Exp(epsilon)*q[i]*q[j])
			}
		}
		return sum
	}
	law := func(row []uint64) (p []float64) {
		for _, w := range row {
			p = append(p, float64(w)*0x1p-64)
		}
		return p
	}
	for _, epsilon := range []float64{0, 0.5, 2, 5} {
		most := twice(law(rows[0]), law(rows[1]), epsilon)
		for _, shift := range []float64{float64(s.reach().Int64()), 7, 2.5} {
			p, q := s.cells(shift)
			got := twice(p, q, epsilon)
			if got > most+1e-7 || shift > 9 && got < most-1e-7 {
				t.Errorf("epsilon %v, a shift of %v: %v, and of the laws %v", epsilon, shift, got, most)
			}
		}
	}
}

// cells lists the probabilities of pairs of rings around 0 and a point, to noise and to noise moved there; what is in no ring of the other,
// and the atoms, come last.
func (s *Spec) cells(shift float64) (p, q []float64) {
	n := len(s.Radii)
	density, radius := make([]float64, n+1), func(i int) float64 { return float64(s.Radii[i]) }
	for i := n - 1; i > 0; i-- {
		density[i] = density[i+1] + float64(s.Weights[i])*0x1p-64/math.Pow(radius(i), float64(s.Dimension))
	}
	both := func(i, j int) float64 {
		if i == 0 || j == 0 {
			return 0
		}
		return lens(s.Dimension, radius(i), radius(j), shift)
	}
	for i := 1; i < n; i++ {
		alone := math.Pow(radius(i), float64(s.Dimension)) - math.Pow(radius(i-1), float64(s.Dimension))
		for j := 1; j < n; j++ {
			v := both(i, j) - both(i-1, j) - both(i, j-1) + both(i-1, j-1)
			alone -= v
			p, q = append(p, v*density[i]), append(q, v*density[j])
		}
		p, q = append(p, alone*density[i], 0), append(q, 0, alone*density[i])
	}
	atom := float64(s.Weights[0]) * 0x1p-64
	return append(p, atom, 0), append(q, 0, atom)
}

// TestExpectedLossIsRoundedUp: 2/(2 + 1.5)·2^1.5, whose square is known.
func TestExpectedLossIsRoundedUp(t *testing.T) {
	l, err := loss.Parse("lp:1.5")
	if err != nil {
		t.Fatal(err)
	}
	s := Spec{Problem: Problem{Dimension: 2, Loss: l}, Radii: []int64{1, 2}, Weights: []uint64{0, ^uint64(0)}}
	got := s.expectedLoss()
	got.Mul(got, big.NewRat(7, 4)).Quo(got, new(big.Rat).SetFrac(new(big.Int).SetUint64(^uint64(0)), total))
	if got.Mul(got, got).Cmp(big.NewRat(8, 1)) <= 0 {
		t.Error("the loss is rounded down")
	}
}

// TestLawsOfOneBall, by its volume: 5/16 of two balls of three coordinates are in both if they are as far apart as they are wide. What
// both have alike is rounded down, and one unit less; where each has less than a unit it is none.
func TestLawsOfOneBall(t *testing.T) {
	s := Spec{Problem: Problem{Dimension: 3, Privacy: dp.Privacy{Sensitivity: 1}}, Radii: []int64{0, 3}, Weights: []uint64{1, ^uint64(0)}}
	const alike = 5<<60 - 2 // of 5/16·(2^64 − 1)
	if got, want := s.rows(), []uint64{1<<63 + 3<<60 + 2, alike, 0}; !slices.Equal(got[0], want) {
		t.Errorf("%v, want %v", got, want)
	}
	// Some 2^-90 of two large balls that nearly touch.
	s = Spec{Problem: Problem{Dimension: 8, Privacy: dp.Privacy{Sensitivity: 1<<21 - 4}}, Radii: []int64{1 << 20, 1<<20 + 1}, Weights: []uint64{1 << 63, 1 << 63}}
	if got, want := s.rows(), []uint64{1 << 63, 1 << 63, 0, 0}; !slices.Equal(got[0], want) {
		t.Errorf("%v, want %v", got, want)
	}
	if all, own := (*Noise)(nil).Pairs(); !slices.Equal(all, []proof.Pair{{Gain: 0, Lose: 1}, {Gain: 1, Lose: 0}}) || own != nil {
		t.Errorf("pairs %v and %v", all, own)
	}
}

// TestBallOfAWord: the last word of a ball is still its word where a search for it starts with that one.
func TestBallOfAWord(t *testing.T) {
	const start = 1 << (64 - guideBits)
	n := coarse(t, 2, 1, []int64{0, 9}, []uint64{start + 1, ^uint64(0) - start})
	for u, first := range map[uint64]bool{start - 1: true, start: true, start + 1: false} {
		asked := 0
		if err := n.noise(make([]int64, 2), func() (uint64, error) {
			if asked++; asked == 1 {
				return u, nil
			}
			return 1<<63 + 1, nil
		}); err != nil || (asked == 1) != first {
			t.Errorf("word %x: %v after %d words", u, err, asked)
		}
	}
}

// TestDualAdd: rows of one length make one shift.
func TestDualAdd(t *testing.T) {
	var d Dual
	d.Add(3, 0, 1, []int64{4, 5})
	d.Add(3, 2, 0, []int64{6})
	d.Add(4, 2, 0, []int64{7})
	want := []dualShift{
		{Length: 3, Rows: []dualRow{{0, 1, []int64{4, 5}}, {2, 0, []int64{6}}}},
		{Length: 4, Rows: []dualRow{{2, 0, []int64{7}}}},
	}
	if !reflect.DeepEqual(d.Shifts, want) {
		t.Errorf("%+v, want %+v", d.Shifts, want)
	}
}
