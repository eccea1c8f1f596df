// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
)

// random is noise on up to so many balls of up to so many steps.
func random(rng *rand.Rand, d, balls int, radius int64) Spec {
	s := Spec{Problem: Problem{Dimension: d, Privacy: dp.Privacy{Epsilon: 3 * rng.Float64(), Delta: 0.9, Sensitivity: 1 + float64(radius)*rng.Float64()}, Loss: loss.L2}}
	if rng.IntN(5) == 0 {
		s.Epsilon = 0
	}
	chosen := map[int64]bool{}
	for range 2 + rng.IntN(balls-1) {
		chosen[rng.Int64N(radius+1)] = true
	}
	chosen[radius] = true
	chosen[1+rng.Int64N(radius)/2] = true
	for r := range chosen {
		s.Radii = append(s.Radii, r)
	}
	slices.Sort(s.Radii)
	left := ^uint64(0)
	for i := range s.Radii {
		w := left
		if i < len(s.Radii)-1 {
			w = 1 + uint64(rng.Float64()*rng.Float64()*float64(left)/2)
			left -= w
		} else {
			w++
		}
		s.Weights = append(s.Weights, w)
	}
	return s
}

// slices of a lens are balls of one dimension less: the volume of the intersection of balls of radii a and b around
// centers s apart, over that of the unit ball, by Simpson's rule in the angle.
func lens(d int, a, b, s float64) float64 {
	total := 0.0
	add := func(r, from, to float64) { // the part of a ball between two planes
		if from >= to {
			return
		}
		const steps = 200
		t0, t1 := math.Acos(max(-1, min(1, to/r))), math.Acos(max(-1, min(1, from/r)))
		h, sum := (t1-t0)/steps, 0.0
		for i := range steps + 1 {
			w := 2.0
			switch {
			case i == 0 || i == steps:
				w = 1
			case i%2 == 1:
				w = 4
			}
			sum += w * math.Pow(math.Sin(t0+h*float64(i)), float64(d))
		}
		total += math.Pow(r, float64(d)) * sum * h / 3
	}
	switch {
	case a+b <= s:
	case a+s <= b:
		add(a, -a, a)
	case b+s <= a:
		add(b, -b, b)
	default:
		h := (a*a - b*b + s*s) / (2 * s)
		add(a, h, a)
		add(b, s-h, b)
	}
	x, _ := math.Lgamma(float64(d)/2 + 1)
	y, _ := math.Lgamma(float64(d)/2 + 0.5)
	return total * math.Exp(x-y) / math.Sqrt(math.Pi)
}

// TestVolumes: bounds hold what quadrature finds, are close, and close to each other, whatever the position of the
// balls: apart, touching, one in the other.
func TestVolumes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for d := limits.BallMinDimension; d <= limits.BallMaxDimension; d++ {
		for range 60 {
			a, b, s := 1+rng.Int64N(40), 1+rng.Int64N(40), 1+rng.Int64N(50)
			switch rng.IntN(6) {
			case 0:
				b = a + s
			case 1:
				s = a + b
			case 2:
				b = a + s - 1
			}
			if b == a {
				b++
			}
			radii := []int64{min(a, b), max(a, b)}
			l := newLenses(d, radii, big.NewInt(s))
			got := l.of(2, 1)
			low, _ := new(big.Rat).SetFrac(got.low, new(big.Int).Lsh(unit, volumeBits)).Float64()
			want := lens(d, float64(a), float64(b), float64(s))
			whole := math.Pow(float64(radii[0]), float64(d))
			if math.Abs(low-want) > 1e-7*whole {
				t.Errorf("d %d, radii %d and %d, %d apart: %v, want %v", d, a, b, s, low, want)
			}
			if width := new(big.Int).Sub(got.high, got.low); width.Sign() < 0 || width.Cmp(big.NewInt(4)) > 0 {
				t.Errorf("d %d, radii %d and %d, %d apart: bounds %s units apart", d, a, b, s, width)
			}
			inner, outer := radii[0], radii[1]
			if exactly := new(big.Int).Lsh(power(inner, d), volumeBits); inner+s <= outer && (got.low.Cmp(exactly) != 0 || got.high.Cmp(exactly) != 0) {
				t.Errorf("d %d: a ball in another one, or touching it, has %v to %v of %v", d, got.low, got.high, exactly)
			}
			if a+b <= s && (got.low.Sign() != 0 || got.high.Sign() != 0) {
				t.Errorf("d %d: balls that touch or are apart have %v to %v in both", d, got.low, got.high)
			}
			if l.of(1, 2) != got || l.of(0, 1).high.Sign() != 0 {
				t.Error("the intersection depends on the order of the balls, or is not empty of none")
			}
		}
	}
}

// TestVolumesInClosedForm: two balls of radius 1 around centers 1 apart, from both sides, to the last unit.
func TestVolumesInClosedForm(t *testing.T) {
	// Of 5/16 of the volume in three dimensions, and 2/3 − √3/(2π) of the area in two.
	l := newLenses(3, []int64{16}, big.NewInt(16))
	if got, want := l.of(1, 1), new(big.Int).Lsh(big.NewInt(5*256), volumeBits); got.low.Cmp(want) != 0 || got.high.Cmp(want) != 0 {
		t.Errorf("%v, want %v twice", got, want)
	}
	const digits = "0.39100222" // 2/3 − √3/(2π) = 0.391002218955771…
	want, _ := new(big.Rat).SetString("0.3910022189557706419")
	if want.FloatString(8) != digits {
		t.Fatal(want.FloatString(8))
	}
	got := newLenses(2, []int64{1}, unit).of(1, 1)
	near := new(big.Rat).SetFrac(got.low, new(big.Int).Lsh(unit, volumeBits))
	if diff, _ := near.Sub(near, want).Float64(); math.Abs(diff) > 1e-18 {
		t.Errorf("%v too much", diff)
	}
}

// oddDelta is the definition in odd dimensions, in rationals: the sum over all pairs of rings of the volume of
// both times what is above e^ε times the other density, with e^ε rounded down as it is there.
func oddDelta(s *Spec, shift *big.Int) *big.Rat {
	d, sum := s.Dimension, new(big.Rat)
	volume := func(i, j int) *big.Rat {
		if i < 0 || j < 0 {
			return new(big.Rat)
		}
		return oddLens(d, s.Radii[i], s.Radii[j], shift)
	}
	n := len(s.Radii)
	density := make([]*big.Rat, n+1)
	density[n] = new(big.Rat)
	for i := n - 1; i >= 0; i-- {
		density[i] = density[n]
		if s.Radii[i] > 0 {
			w := new(big.Rat).SetFrac(new(big.Int).SetUint64(s.Weights[i]), power(s.Radii[i], d))
			density[i] = w.Add(w, density[i+1])
		} else {
			sum.Add(sum, new(big.Rat).SetInt(new(big.Int).SetUint64(s.Weights[i])))
		}
	}
	e := new(big.Rat).SetFrac(exact.ExpDown(s.Epsilon, exact.RatioBits), new(big.Int).Lsh(unit, exact.RatioBits))
	for i := range n {
		rest := new(big.Rat).SetInt(power(s.Radii[i], d))
		if i > 0 {
			rest.Sub(rest, new(big.Rat).SetInt(power(s.Radii[i-1], d)))
		}
		for j := range n {
			v := new(big.Rat).Sub(volume(i, j), volume(i-1, j))
			v.Sub(v, volume(i, j-1))
			v.Add(v, volume(i-1, j-1))
			rest.Sub(rest, v)
			x := new(big.Rat).Mul(e, density[j])
			if x.Sub(density[i], x); x.Sign() > 0 {
				sum.Add(sum, x.Mul(x, v))
			}
		}
		sum.Add(sum, rest.Mul(rest, density[i]))
	}
	return sum.Quo(sum, new(big.Rat).SetInt(total))
}

func power(r int64, d int) *big.Int {
	return new(big.Int).Exp(big.NewInt(r), big.NewInt(int64(d)), nil)
}

// oddLens integrates the polynomial (r² − x²)^((d−1)/2), term by term.
func oddLens(d int, a, b int64, shift *big.Int) *big.Rat {
	s, ra, rb := new(big.Rat).SetInt(shift), big.NewRat(a, 1), big.NewRat(b, 1)
	m := (d - 1) / 2
	part := func(r, from *big.Rat) *big.Rat { // ∫ from from to r
		sum, binomial := new(big.Rat), big.NewInt(1)
		powers := func(x *big.Rat, n int) *big.Rat {
			p := big.NewRat(1, 1)
			for range n {
				p.Mul(p, x)
			}
			return p
		}
		for k := range m + 1 { // C(m, k)·r^(2(m−k))·(−x²)^k
			binomial.Binomial(int64(m), int64(k))
			x := powers(r, 2*k+1)
			x.Sub(x, powers(from, 2*k+1))
			x.Mul(x, powers(r, 2*(m-k)))
			x.Mul(x, new(big.Rat).SetFrac(binomial, big.NewInt(int64(2*k+1))))
			if k%2 == 1 {
				x.Neg(x)
			}
			sum.Add(sum, x)
		}
		return sum
	}
	unit := part(big.NewRat(1, 1), big.NewRat(-1, 1))
	total := new(big.Rat)
	switch reach := new(big.Rat).Add(ra, rb); {
	case a == 0 || b == 0 || reach.Cmp(s) <= 0:
	case new(big.Rat).Add(ra, s).Cmp(rb) <= 0:
		total = part(ra, new(big.Rat).Neg(ra))
	case new(big.Rat).Add(rb, s).Cmp(ra) <= 0:
		total = part(rb, new(big.Rat).Neg(rb))
	default:
		h := new(big.Rat).Mul(ra, ra)
		h.Sub(h, new(big.Rat).Mul(rb, rb))
		h.Add(h, new(big.Rat).Mul(s, s))
		h.Quo(h, new(big.Rat).Mul(s, big.NewRat(2, 1)))
		total = part(ra, h)
		total.Add(total, part(rb, h.Sub(s, h)))
	}
	return total.Quo(total, unit)
}

// TestDeltaAgainstRationals: in odd dimensions the certificate is the definition, and some 2^-60 above at most.
func TestDeltaAgainstRationals(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	trials := 60
	if testing.Short() {
		trials = 10
	}
	for range trials {
		s := random(rng, 3+2*rng.IntN(3), 6, 30)
		want, got := oddDelta(&s, s.reach()), s.delta(nil)
		excess := new(big.Rat).Sub(got, want)
		if excess.Sign() < 0 || excess.Cmp(exact.PowerOfTwo(-80)) > 0 {
			t.Fatalf("%+v: %s, want %s, %s less", s, got.FloatString(30), want.FloatString(30), excess.FloatString(40))
		}
	}
}

// divergence is the definition by floating-point volumes, for noise and itself moved by so many steps.
func divergence(s *Spec, shift float64) float64 {
	n, d := len(s.Radii), s.Dimension
	both := func(i, j int) float64 {
		if i < 0 || j < 0 || s.Radii[i] == 0 || s.Radii[j] == 0 {
			return 0
		}
		return lens(d, float64(s.Radii[i]), float64(s.Radii[j]), shift)
	}
	volume := func(i int) float64 {
		if i < 0 {
			return 0
		}
		return math.Pow(float64(s.Radii[i]), float64(d))
	}
	density, sum := make([]float64, n+1), 0.0
	for i := n - 1; i >= 0; i-- {
		density[i] = density[i+1]
		if p := float64(s.Weights[i]) * 0x1p-64; s.Radii[i] > 0 {
			density[i] += p / volume(i)
		} else {
			sum += p
		}
	}
	for i := range n {
		rest := volume(i) - volume(i-1)
		for j := range n {
			v := both(i, j) - both(i-1, j) - both(i, j-1) + both(i-1, j-1)
			rest -= v
			sum += v * max(0, density[i]-math.Exp(s.Epsilon)*density[j])
		}
		sum += rest * density[i]
	}
	return sum
}

// TestDeltaAgainstQuadrature: in all dimensions, to the accuracy of floating-point numbers.
func TestDeltaAgainstQuadrature(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for d := limits.BallMinDimension; d <= limits.BallMaxDimension; d++ {
		for range 12 {
			s := random(rng, d, 5, 25)
			reach, _ := new(big.Float).SetInt(s.reach()).Float64()
			want := divergence(&s, reach)
			if got, _ := s.delta(nil).Float64(); math.Abs(got-want) > 1e-8 {
				t.Fatalf("%+v: %v, want %v", s, got, want)
			}
		}
	}
}

// TestLongestShift: the divergence does not fall as the shift grows, at any epsilon from 0 on, which is why one shift
// is enough. A density that rises with the norm would not do: the shift by half of what two rings are apart is worse.
func TestLongestShift(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 14 {
		s := random(rng, limits.BallMinDimension+rng.IntN(limits.BallMaxDimension-1), 6, 20)
		before := 0.0
		for shift := 0.5; shift < 45; shift += 2.25 {
			now := divergence(&s, shift)
			if now < before-1e-9 {
				t.Fatalf("%+v: %v at a shift of %v, and %v at a shorter one", s, now, shift, before)
			}
			before = now
		}
	}
}

// TestReach: the least number of steps that is not below Δ/g + √d.
func TestReach(t *testing.T) {
	for _, c := range []struct {
		d           int
		sensitivity float64
		exponent    int
		want        int64
	}{
		{2, 1, 0, 3},
		{4, 1, 0, 3},
		{4, 1.5, 0, 4},
		{5, 1, 0, 4},
		{2, 1, -10, 1026},
		{2, 0.5857864376269049, 0, 2},
		{2, 0.5857864376269051, 0, 3},
		{8, 3, 1, 5},
		{3, 0.25, -20, 262146},
	} {
		s := Spec{Problem: Problem{Dimension: c.d, Privacy: dp.Privacy{Sensitivity: c.sensitivity}}, StepExponent: c.exponent}
		if got := s.reach(); got.Int64() != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestExpectedLoss: powers of the norm by a quadrature, exactly for squares.
func TestExpectedLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, name := range []string{"l1", "l2", "lp:1.5", "lp:3", "lp:7"} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			s := random(rng, limits.BallMinDimension+rng.IntN(limits.BallMaxDimension-1), 6, 50)
			s.Loss, s.StepExponent = l, -3
			p, _ := s.Power()
			want := 0.0
			for j, r := range s.Radii {
				// E r^p with the density d·x^(d−1) of x = r/R.
				const steps = 1000
				sum := 0.0
				for i := range steps {
					x := (float64(i) + 0.5) / steps
					sum += float64(s.Dimension) * math.Pow(x, float64(s.Dimension)-1+p) / steps
				}
				want += float64(s.Weights[j]) * 0x1p-64 * sum * math.Pow(float64(r)/8, p)
			}
			got, _ := s.expectedLoss().Float64()
			if math.Abs(got-want) > 1e-5*want {
				t.Errorf("%s, %+v: %v, want %v", name, s, got, want)
			}
		}
	}
	s := Spec{Problem: Problem{Dimension: 3, Loss: loss.L2}, StepExponent: -1, Radii: []int64{1, 3}, Weights: []uint64{1 << 62, 3 << 62}}
	if got, want := s.expectedLoss(), big.NewRat(3*(1+3*9), 5*4*4); got.Cmp(want) != 0 {
		t.Errorf("%s, want %s", got, want)
	}
}
