// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/sampler"
)

// TestNormDistance: encodings of any features are within epsilon·tau of each other, exactly,
// and some nearly so far apart.
func TestNormDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 5))
	for _, domain := range []Domain{Ball, L1Ball, Box} {
		s := jointSpherical(t, domain, 1.7, 0.5, 0.3)
		b := must(New(s))
		most := new(big.Rat)
		for trial := range 2000 {
			x, y := []float64{1 + 9*rng.NormFloat64(), 2 + 9*rng.NormFloat64()}, []float64{1 + 9*rng.NormFloat64(), 2 + 9*rng.NormFloat64()}
			if trial%2 == 0 { // corners of the l1 ball
				x[1], y[1] = 2, 2
			}
			u, v := must(b.Encode(nil, x)), must(b.Encode(nil, y))
			sum := new(big.Rat)
			for i := range u {
				d := exact.Rational(u[i])
				sum.Add(sum, square(d.Sub(d, exact.Rational(v[i]))))
			}
			if sum.Cmp(most) > 0 {
				most = sum
			}
		}
		allowed := exact.Rational(s.Promise.Epsilon)
		allowed = square(allowed.Mul(allowed, exact.Rational(s.Tau)))
		share, _ := new(big.Rat).Quo(most, allowed).Float64()
		if most.Cmp(allowed) > 0 || share < 0.98 {
			t.Errorf("%s: the largest squared distance found is %g of what is proved", domain, share)
		}
	}
}

func TestSphericalScale(t *testing.T) {
	axes := []float64{0.5, 0.25, 0.5}
	if tau := must(sphericalScale(4, Ball, axes)); tau != 0.25 {
		t.Errorf("scale %g for a ball of diameter 1 at epsilon 4, want 0.25", tau)
	}
	if tau := must(sphericalScale(4, Box, axes)); tau != 0.375 {
		t.Errorf("scale %g for a box of diameter 1.5 at epsilon 4, want 0.375", tau)
	}
	for _, epsilon := range []float64{0, -1, 101, math.NaN(), 1e-12} {
		if _, err := sphericalScale(epsilon, Ball, axes); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("SphericalScale at epsilon %g: %v", epsilon, err)
		}
	}
	if tau := must(sphericalScale(1, Ball, []float64{5e59})); tau != maxAxis {
		t.Errorf("scale %g of the largest axes", tau)
	}
	if tau := must(sphericalScale(100, Ball, axes)); tau != math.Nextafter(0.01, 1) && tau != 0.01 {
		t.Errorf("scale %g at the largest epsilon", tau)
	}
	for _, bad := range [][2]float64{{-1, 0.1}, {math.NaN(), 0.1}, {math.Nextafter(100, 101), 0.1}, {1, 0}, {1, -0.1}, {1, 1}, {1, math.NaN()}} {
		if _, _, err := newGaussianTable(bad[0], bad[1], Ball, axes); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "want numbers from 0 to 100, and above 0 and below 1") {
			t.Errorf("Gaussian noise at %v: %v", bad, err)
		}
	}
	if _, _, err := newGaussianTable(100, 0.1, Ball, axes); err == nil || !strings.Contains(err.Error(), "epsilon = 100 is too large for Gaussian noise") {
		t.Errorf("Gaussian noise at the largest epsilon: %v", err)
	}
	if _, tau, err := newGaussianTable(0, 0.5, Ball, axes); err != nil || !(tau > 0.1) {
		t.Errorf("Gaussian noise at epsilon 0: %v, %v", tau, err)
	}
	if _, err := sphericalScale(1, Ball, nil); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("SphericalScale without axes: %v", err)
	}
}

func TestNormRefuses(t *testing.T) {
	for says, spoil := range map[string]func(s *Spec){
		"coordinate, for the composition norm":    func(s *Spec) { s.TableOf = []int{0, 0} },
		"want spherical for the composition norm": func(s *Spec) { s.Noise = noise.Gaussian },
		"noise.tau = 0":      func(s *Spec) { s.Tau = 0 },
		"at most 2^40 steps": func(s *Spec) { s.Axes[0] = 1e6 },
	} {
		s := jointSpherical(t, Ball, 2, 0.5, 0.5)
		spoil(&s)
		if b, err := New(s); b != nil || !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	b := must(New(jointSpherical(t, Ball, 2, 0.5, 0.5)))
	if len(b.spec.Tables) > 0 {
		t.Error("a table, want none")
	}
	v := must(b.Verify(nil))
	for _, make := range []func(o sampler.Options) (*Privatizer, error){
		func(o sampler.Options) (*Privatizer, error) { return v.NewPrivatizer(o) },
		func(o sampler.Options) (*Privatizer, error) { return v.NewDeterministicPrivatizer([32]byte{}, o) },
	} {
		if p, err := make(sampler.Options{ConstantTime: true}); p != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("constant time: %v", err)
		}
	}
}

// TestNormForks: a privatizer and its fork are determined by the seed, on the grid, and
// differ.
func TestNormForks(t *testing.T) {
	v := must(must(New(jointSpherical(t, Ball, 2, 0.5, 0.5))).Verify(nil))
	x := []float64{1.2, 2.1}
	var all [][]float64
	for range 2 {
		p := must(v.NewDeterministicPrivatizer([32]byte{8}, sampler.Options{}))
		f := must(p.Fork())
		all = append(all, must(p.Privatize(nil, x)), must(f.Privatize(nil, x)))
	}
	for i, u := range all {
		if u[0] == u[1] || math.Mod(u[0], v.bundle.body.step) != 0 {
			t.Errorf("released %v", u)
		}
		if same := u[0] == all[0][0]; same != (i%2 == 0) {
			t.Errorf("released %v and %v", u, all[0])
		}
	}
}
