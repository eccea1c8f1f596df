// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/sampler"
)

func TestEncode(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for name, s := range exampleSpecs(t) {
		s.Encoder.Data = []float64{0.7, -0.4, 0.3, 0.9}
		b := must(New(s))
		for trial := range 3000 {
			x := []float64{1 + rng.NormFloat64(), 2 + rng.NormFloat64()}
			switch trial % 3 {
			case 1:
				x[0] *= math.Exp(20 * rng.NormFloat64())
			case 2:
				x[rng.IntN(2)] = []float64{math.MaxFloat64, -math.MaxFloat64, 0, 5e-324}[rng.IntN(4)]
			}
			u := must(b.Encode(nil, x))
			norm, sum := new(big.Rat), new(big.Rat)
			for i, a := range s.Axes {
				if !(math.Abs(u[i]) <= a) {
					t.Fatalf("%s: u = %v of x = %v is not within %v", name, u, x, s.Axes)
				}
				r := new(big.Rat).Quo(exact.Rational(u[i]), exact.Rational(a))
				sum.Add(sum, new(big.Rat).Abs(r))
				norm.Add(norm, r.Mul(r, r))
				if s.Composition.joint() && u[i]/b.body.step != math.Trunc(u[i]/b.body.step) {
					t.Fatalf("%s: u = %v of x = %v is not on the grid of %g", name, u, x, b.body.step)
				}
			}
			if s.Domain == L1Ball {
				norm = sum
			}
			if s.Domain.scaled() {
				if f, _ := norm.Float64(); f > 1+1e-12 || (s.Composition.joint() && norm.Cmp(big.NewRat(1, 1)) > 0) {
					t.Fatalf("%s: u = %v of x = %v is not in the ball", name, u, x)
				}
			}
			// It is what it should be: the affine map, if that is inside.
			w := []float64{0.7*(x[0]-1) - 0.4*(x[1]-2), 0.3*(x[0]-1) + 0.9*(x[1]-2)}
			if s.FeatureLower == nil && math.Abs(w[0]/s.Axes[0])+math.Abs(w[1]/s.Axes[1]) < 0.9 || s.Domain != L1Ball && s.FeatureLower == nil && math.Hypot(w[0]/s.Axes[0], w[1]/s.Axes[1]) < 0.9 {
				for i := range w {
					if d := math.Abs(u[i] - w[i]); d > 1e-12+b.body.step/2 {
						t.Fatalf("%s: u = %v of x = %v, want %v", name, u, x, w)
					}
				}
			}
		}
	}
}

func TestRefusedFeatures(t *testing.T) {
	b := must(New(perCoordinate(t)))
	p := must(must(b.Verify(nil)).NewPrivatizer(sampler.Options{}))
	for _, x := range [][]float64{nil, {1}, {1, 2, 3}, {1, math.NaN()}, {math.Inf(-1), 1}} {
		if u, err := p.Privatize(nil, x); u != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("Privatize(%v) = %v, %v", x, u, err)
		}
		if u, err := b.Encode(nil, x); u != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("Encode(%v) = %v, %v", x, u, err)
		}
	}
	if _, err := b.Decode(nil, []float64{1}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("Decode: %v", err)
	}
}

type shortReader struct{ left int }

func (r *shortReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, errors.New("dry")
	}
	r.left--
	clear(p)
	return len(p), nil
}

func TestNoEntropy(t *testing.T) {
	v := must(must(New(perCoordinate(t))).Verify(nil))
	p := must(v.NewPrivatizer(sampler.Options{Entropy: &shortReader{left: 1}}))
	dst := []float64{7, 7}
	if u, err := p.Privatize(dst, []float64{1, 2}); u != nil || !errors.Is(err, sampler.ErrEntropy) {
		t.Errorf("Privatize = %v, %v, want sampler.ErrEntropy", u, err)
	}
	if dst[0] != 0 || dst[1] != 0 {
		t.Errorf("dst = %v after a failure, want zeros", dst)
	}
}

func TestMoments(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const n = 40000
	for name, s := range exampleSpecs(t) {
		b := must(New(s))
		p := must(must(b.Verify(nil)).NewDeterministicPrivatizer([32]byte{1}, sampler.Options{}))
		x := []float64{1.3, 1.9}
		u := must(b.Encode(nil, x))
		sums := make(map[string][2]float64)
		add := func(what string, v float64) {
			m := sums[what]
			sums[what] = [2]float64{m[0] + v, m[1] + v*v}
		}
		var out []float64
		for range n {
			out = must(p.Privatize(out, x))
			d0, d1 := out[0]-u[0], out[1]-u[1]
			add("mean 0", d0)
			add("mean 1", d1)
			add("square 0", d0*d0)
			add("square 1", d1*d1)
			add("product", d0*d1)
		}
		variance := func(i int) float64 {
			if s.Composition == jointNorm {
				return 3 * s.Tau * s.Tau
			}
			if s.Ball != nil {
				v, _ := s.Ball.Certify().ExpectedLoss.Float64()
				return v / 2
			}
			v, _ := tableAt(b, i).Certify().ExpectedLoss.Float64()
			return v
		}
		want := map[string]float64{"square 0": variance(0), "square 1": variance(1)}
		for what, m := range sums {
			mean := m[0] / n
			sd := math.Sqrt((m[1]/n - mean*mean) / n)
			// A per-coordinate encoding is rounded to the grid before.
			slack := 0.0
			if !s.Composition.joint() {
				slack = 0.15 // half a step of 1/4, and what that does to squares
			}
			if math.Abs(mean-want[what]) > 6.2*sd+slack {
				t.Errorf("%s: %s = %g, want %g ± %g", name, what, mean, want[what], 6.2*sd)
			}
		}
	}
}

func TestDeterministicAndForks(t *testing.T) {
	b := must(New(perCoordinate(t)))
	x := []float64{1, 2}
	p, q := must(must(b.Verify(nil)).NewDeterministicPrivatizer([32]byte{5}, sampler.Options{})), must(must(b.Verify(nil)).NewDeterministicPrivatizer([32]byte{5}, sampler.Options{}))
	f := must(q.Fork())
	different := 0
	for range 50 {
		one, two, forked := must(p.Privatize(nil, x)), must(q.Privatize(nil, x)), must(f.Privatize(nil, x))
		if !slices.Equal(one, two) {
			t.Fatalf("%v and %v with one seed", one, two)
		}
		if !slices.Equal(one, forked) {
			different++
		}
	}
	if different < 40 {
		t.Errorf("a fork draws the same noise in %d of 50 cases", 50-different)
	}
	if _, err := (*Verified)(nil).NewDeterministicPrivatizer([32]byte{}, sampler.Options{}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("no bundle: %v", err)
	}
	if _, err := must(b.Verify(nil)).NewDeterministicPrivatizer([32]byte{}, sampler.Options{Entropy: &shortReader{}}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("entropy: %v", err)
	}
	if _, err := (&Bundle{}).Verify(nil); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("zero bundle: %v", err)
	}
}

func TestDecode(t *testing.T) {
	b := must(New(perCoordinate(t)))
	x := must(b.Decode(nil, []float64{0.25, -1}))
	if want := []float64{1.5, 0}; !slices.Equal(x, want) {
		t.Errorf("Decode = %v, want %v", x, want)
	}
}
