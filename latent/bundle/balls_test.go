// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
)

// onBalls is noise in the plane that falls by the same factor from ball to ball, with the least delta that is true
// of it.
func onBalls(t testing.TB, epsilon, sensitivity float64, exponent int) *ball.Noise {
	t.Helper()
	s := ball.Spec{
		Problem:      ball.Problem{Dimension: 2, Privacy: dp.Privacy{Epsilon: epsilon, Delta: 0.9, Sensitivity: sensitivity}, Loss: loss.L2},
		StepExponent: exponent,
	}
	left := ^uint64(0)
	const balls = 12
	for k := 1; k <= balls; k++ {
		s.Radii = append(s.Radii, int64(math.Ceil(float64(k)/4*math.Ldexp(sensitivity, -exponent))))
		w := uint64(0x1p61 * math.Exp(-0.2*float64(k)))
		if k == balls {
			w = left + 1
		}
		s.Weights, left = append(s.Weights, w), left-w
	}
	s.Delta = exact.FloatUp(must(ball.New(s)).Certify().DeltaUpper)
	return must(ball.New(s))
}

func jointOnBalls(t testing.TB, domain Domain, sensitivity float64, exponent int, axes ...float64) Spec {
	t.Helper()
	s := plain(0.5, axes...)
	s.Domain, s.Noise, s.Composition, s.TableOf = domain, Balls, jointBalls, nil
	s.Ball = onBalls(t, 1, sensitivity, exponent)
	s.Promise = Promise{1, s.Ball.Privacy().Delta}
	return s
}

// TestBallsToTheLastPlace: the ℓ2 distance of two points of the body is at most the sensitivity of the noise, to
// the last place of either.
func TestBallsToTheLastPlace(t *testing.T) {
	down, up := func(x float64) float64 { return math.Nextafter(x, 0) }, func(x float64) float64 { return math.Nextafter(x, 9) }
	for i, c := range []struct {
		domain      Domain
		sensitivity float64
		axes        []float64
		kept        bool
	}{
		{Ball, 1, []float64{0.5, 0.25}, true},
		{Ball, down(1), []float64{0.5, 0.25}, false},
		{Ball, 1, []float64{0.25, up(0.5)}, false},
		{Box, 1.25, []float64{0.375, 0.5}, true}, // 0.75² + 1² = 1.25²
		{Box, down(1.25), []float64{0.375, 0.5}, false},
		{Box, 1.25, []float64{0.375 + 0x1p-12, 0.5}, false},
		{Box, 1.25, []float64{down(0.375 + 0x1p-12), 0.5}, true}, // rounded down to the grid
		{L1Ball, 1, []float64{0.5, 0.125}, true},
		{L1Ball, down(1), []float64{0.125, 0.5}, false},
	} {
		v, err := must(New(jointOnBalls(t, c.domain, c.sensitivity, -12, c.axes...))).Verify(nil)
		if c.kept {
			if err != nil || v.EpsilonUpper().Cmp(exact.Rational(1)) != 0 || v.DeltaUpper().Cmp(exact.Rational(v.bundle.spec.Promise.Delta)) != 0 {
				t.Errorf("%d: %v", i, err)
			}
		} else if v != nil || !errors.Is(err, proof.ErrNotPrivate) || !strings.Contains(err.Error(), "the sensitivity of balls[0] in the ℓ2 norm") {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// TestBallsOfAllNeighbors: on a coarse grid the release of no two inputs can be told apart better than is promised,
// by the law of the noise from areas and no formula of a package; and that of some two nearly as well.
func TestBallsOfAllNeighbors(t *testing.T) {
	for domain, axes := range map[Domain][]float64{Ball: {1, 0.7}, Box: {0.5, 0.75}, L1Ball: {1, 1}} {
		s := jointOnBalls(t, domain, 2, -3, axes...)
		must(must(New(s)).Verify(nil))
		law := lawOnBalls(s.Ball.Spec())
		b, seen := must(New(s)), map[[2]int]bool{}
		for i := -60; i <= 60; i++ {
			for j := -60; j <= 60; j++ {
				u := must(b.Encode(nil, []float64{1 + float64(i)/20, 2 + float64(j)/20}))
				seen[[2]int{int(u[0] * 8), int(u[1] * 8)}] = true
			}
		}
		all := slices.Collect(maps.Keys(seen))
		most := 0.0
		for shift := range shifts(all) {
			delta := 0.0
			for at, p := range law {
				delta += max(0, p-math.E*law[[2]int{at[0] - shift[0], at[1] - shift[1]}])
			}
			most = max(most, delta)
		}
		if promised := s.Promise.Delta; len(all) < 20 || most > promised || most < promised/2 {
			t.Errorf("%s: delta %v of %d points, %v promised", domain, most, len(all), promised)
		}
	}
}

// lawOnBalls returns the probabilities of the points of the grid, by the areas of squares in each disc.
func lawOnBalls(s ball.Spec) map[[2]int]float64 {
	law := map[[2]int]float64{}
	for k, r := range s.Radii {
		n := int(r) + 1
		for i := -n; i <= n; i++ {
			for j := -n; j <= n; j++ {
				area := 0.0
				const parts = 40
				for a := range parts { // exact in one direction
					x := float64(i) - 0.5 + (float64(a)+0.5)/parts
					if half := float64(r*r) - x*x; half > 0 {
						y := math.Sqrt(half)
						area += max(0, min(y, float64(j)+0.5)-max(-y, float64(j)-0.5)) / parts
					}
				}
				law[[2]int{i, j}] += float64(s.Weights[k]) * 0x1p-64 * area / (math.Pi * float64(r*r))
			}
		}
	}
	return law
}

// TestBallsAreDrawn: what is released is the encoding and noise of the law, on the grid.
func TestBallsAreDrawn(t *testing.T) {
	s := jointOnBalls(t, Box, 2, -3, 0.5, 0.75)
	v := must(must(New(s)).Verify(nil))
	p := must(v.NewDeterministicPrivatizer([32]byte{1}, sampler.Options{}))
	x := []float64{1.5, 40}
	u := must(p.Bundle().Encode(nil, x))
	if u[0] != 0.25 || u[1] != 0.75 {
		t.Fatalf("encoded %v", u)
	}
	law, seen := lawOnBalls(s.Ball.Spec()), map[[2]int]float64{}
	const draws = 400000
	for range draws {
		y := must(p.Privatize(nil, x))
		seen[[2]int{int(8 * (y[0] - u[0])), int(8 * (y[1] - u[1]))}]++
	}
	chi, cells := 0.0, 0
	for at, q := range law {
		if e := q * draws; e > 20 {
			chi += (seen[at] - e) * (seen[at] - e) / e
			cells++
		}
		delete(seen, at)
	}
	if len(seen) > 0 || cells < 500 || chi > float64(cells)+5*math.Sqrt(2*float64(cells)) {
		t.Errorf("chi-square %v of %d cells; %d beyond the last ball", chi, cells, len(seen))
	}
}

// TestBallsFork: a privatizer and its fork are determined by the seed, and differ; what fails leaves nothing.
func TestBallsFork(t *testing.T) {
	v := must(must(New(jointOnBalls(t, Ball, 1, -12, 0.5, 0.25))).Verify(nil))
	x := []float64{1.2, 2.1}
	var all [][]float64
	for range 2 {
		p := must(v.NewDeterministicPrivatizer([32]byte{8}, sampler.Options{}))
		f := must(p.Fork())
		all = append(all, must(p.Privatize(nil, x)), must(f.Privatize(nil, x)))
	}
	for i, u := range all {
		if u[0] == u[1] || math.Mod(u[0], 0x1p-12) != 0 {
			t.Errorf("released %v", u)
		}
		if same := u[0] == all[0][0]; same != (i%2 == 0) {
			t.Errorf("released %v and %v", u, all[0])
		}
	}
	for _, make := range []func(o sampler.Options) (*Privatizer, error){
		func(o sampler.Options) (*Privatizer, error) { return v.NewPrivatizer(o) },
		func(o sampler.Options) (*Privatizer, error) { return v.NewDeterministicPrivatizer([32]byte{}, o) },
	} {
		if p, err := make(sampler.Options{ConstantTime: true}); p != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("constant time: %v", err)
		}
	}
	dst := make([]float64, 2)
	p, err := v.NewPrivatizer(sampler.Options{Entropy: strings.NewReader(strings.Repeat("x", 64))})
	for err == nil {
		_, err = p.Privatize(dst, x)
	}
	if !errors.Is(err, sampler.ErrEntropy) || dst[0] != 0 || dst[1] != 0 {
		t.Errorf("%v leaves %v", err, dst)
	}
}

func TestBallsRefuse(t *testing.T) {
	for says, spoil := range map[string]func(s *Spec){
		"coordinate, for the composition ball":                   func(s *Spec) { s.TableOf = []int{0, 0} },
		"want ball for the composition ball":                     func(s *Spec) { s.Noise = Spherical },
		"noise.tau = 0.5, want 0":                                func(s *Spec) { s.Tau = 0.5 },
		"balls = none, want noise on balls":                      func(s *Spec) { s.Ball = nil },
		"balls = none, want noise":                               func(s *Spec) { s.Ball = new(ball.Noise) },
		"axes[1] = 1e+12, want at most 2^40 steps":               func(s *Spec) { s.Axes[1] = 1e12 },
		"want ball with noise on balls for the composition":      func(s *Spec) { s.Noise, s.Composition, s.Tau = Spherical, jointNorm, 1 },
		"ball, want ball with noise on balls for the":            func(s *Spec) { s.Ball, s.Composition = nil, basic },
		"noise of 2 coordinates, want one of 1":                  func(s *Spec) { *s = line1(*s) },
		"noise with steps of 1.6069380442589903e+60, want steps": func(s *Spec) { s.Ball = onBalls(t, 1, 1e65, 200) },
	} {
		s := jointOnBalls(t, Ball, 1, -12, 0.5, 0.5)
		spoil(&s)
		if b, err := New(s); b != nil || !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	s := jointOnBalls(t, Ball, 1, -12, 0x1p28, 0.5) // 2^40 steps
	must(New(s))
	s.Axes[0] = math.Nextafter(s.Axes[0], 1e12)
	if _, err := New(s); err == nil {
		t.Error("an axis above 2^40 steps is accepted")
	}
	s.Axes[0], s.Ball = maxAxis, onBalls(t, 1, 1e63, 199) // steps of some 8e59
	must(New(s))
}

// line1 has one coordinate.
func line1(s Spec) Spec {
	s.Encoder, s.Offset, s.Axes = Matrix{1, 2, []float64{1, 0}}, []float64{0}, []float64{0.5}
	s.Decoder = Matrix{2, 1, []float64{1, 0}}
	return s
}

// TestBallsShareNothing: a bundle keeps noise of its own.
func TestBallsShareNothing(t *testing.T) {
	s := jointOnBalls(t, Ball, 1, -12, 0.5, 0.5)
	b := must(New(s))
	*s.Ball = *onBalls(t, 9, 1, -12)
	*b.Spec().Ball = *onBalls(t, 9, 1, -12)
	if b.spec.Ball.Privacy().Epsilon != 1 {
		t.Error("the noise of a bundle can be changed")
	}
	must(b.Verify(nil))
}

// TestForgedBalls: noise that keeps no promise or makes a false claim proves nothing, and versions and words that do
// not belong to it are malformed.
func TestForgedBalls(t *testing.T) {
	all := inMemory(t, jointOnBalls(t, Ball, 1, -12, 0.5, 0.5))
	if _, err := must(ReadFS(all)).Verify(nil); err != nil {
		t.Fatal(err)
	}
	forge := func(name, was, now string) fstest.MapFS {
		t.Helper()
		forgery, text := maps.Clone(all), string(all[name].Data)
		if !strings.Contains(text, was) {
			t.Fatalf("%s has no %s", name, was)
		}
		forgery[name] = &fstest.MapFile{Data: []byte(strings.Replace(text, was, now, 1))}
		return forgery
	}
	var file struct {
		Certificate struct {
			Delta string `json:"delta"`
			Loss  string `json:"expected_loss"`
		} `json:"certificate"`
	}
	if err := json.Unmarshal(all["balls/00.json"].Data, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, old, new string
		malformed      bool
	}{
		{"balls/00.json", `"epsilon":1`, `"epsilon":0.999`, false},
		{"balls/00.json", `"sensitivity":1`, `"sensitivity":1.001`, false},
		{"balls/00.json", `"sensitivity":1`, `"sensitivity":0.999`, false},
		{"balls/00.json", file.Certificate.Delta, "0.01", false},
		{"balls/00.json", file.Certificate.Loss, "0.01", false},
		{"balls/00.json", `"dimension":2`, `"dimension":3`, true},
		{"balls/00.json", `"noisewright-ball"`, `"noisewright-table"`, true},
		{"balls/00.json", `"weights":[`, `"weights":["0", `, true},
		{"bundle.json", `"version": 4`, `"version": 2`, true},
		{"bundle.json", `"version": 4`, `"version": 3`, true},
		{"bundle.json", `"version": 4`, `"version": 5`, true},
		{"bundle.json", `"composition": "ball"`, `"composition": "norm"`, true},
		{"bundle.json", `"composition": "ball"`, `"composition": "basic"`, true},
		{"bundle.json", `"kind": "ball"`, `"kind": "spherical"`, true},
		{"bundle.json", `"tables": 0`, `"tables":1`, true},
		{"bundle.json", `"randomizers": 0`, `"randomizers":1`, true},
		{"bundle.json", `"table_of": []`, `"table_of": [0, 0]`, true},
		{"bundle.json", `"domain": "ball"`, `"domain": "box"`, false},
		{"bundle.json", `"domain": "ball"`, `"domain": "cells"`, true},
	} {
		b, err := ReadFS(forge(c.name, c.old, c.new))
		if c.malformed {
			if b != nil || !errors.Is(err, proof.ErrFormat) && !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%s for %s: %v", c.new, c.old, err)
			}
		} else if err != nil {
			t.Errorf("%s for %s: %v", c.new, c.old, err)
		} else if v, err := b.Verify(nil); v != nil || !errors.Is(err, proof.ErrNotPrivate) {
			t.Errorf("%s for %s: %v", c.new, c.old, err)
		}
	}
	missing := maps.Clone(all)
	delete(missing, "balls/00.json")
	if b, err := ReadFS(missing); b != nil || err == nil || !strings.Contains(err.Error(), "balls/00.json") {
		t.Errorf("without noise: %v", err)
	}
	// Another bundle says nothing of it.
	spherical := inMemory(t, jointSpherical(t, Ball, 2, 0.5, 0.5))
	spherical["bundle.json"].Data = []byte(strings.Replace(string(spherical["bundle.json"].Data), `"version": 2`, `"version": 4`, 1))
	if b, err := ReadFS(spherical); b != nil || !errors.Is(err, proof.ErrFormat) || !strings.Contains(err.Error(), "want 4 with the kind ball") {
		t.Errorf("version 4 of spherical noise: %v", err)
	}
}
