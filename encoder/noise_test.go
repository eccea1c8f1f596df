// SPDX-License-Identifier: Apache-2.0

package encoder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// truncated is a Design that needs no solver: truncated Laplace noise.
func truncated(_ context.Context, p dp.Problem) (*tables.Verified, error) {
	exponent := math.Ilogb(p.Sensitivity) - 8
	steps := int(math.Ceil(math.Ldexp(p.Sensitivity, -exponent)))
	return shapes.TruncatedLaplace(p, tables.Grid{GranularityExponent: exponent, PointsPerCell: 1, CellsPerSensitivity: steps})
}

// install makes the bundle that sends its features as they are, with the noise.
func install(t *testing.T, n Noise, z int) *bundle.Bundle {
	t.Helper()
	s := bundle.Spec{Mean: make([]float64, z), Offset: make([]float64, z), DecoderOffset: make([]float64, z)}
	s.Encoder = bundle.Matrix{Rows: z, Cols: z, Data: make([]float64, z*z)}
	for i := range z {
		s.Features = append(s.Features, fmt.Sprint("f", i))
		s.Encoder.Data[i*z+i] = 1
	}
	s.Decoder = s.Encoder
	n.Install(&s)
	b, err := bundle.New(s)
	if err != nil {
		t.Fatalf("%s in %v: %v", n.Kind(), s.Domain, err)
	}
	return b
}

var domains = []bundle.Domain{bundle.Box, bundle.L1Ball, bundle.Ball}

// private are the kinds with a promise.
var private = kinds[:len(kinds)-1]

// Whatever the kind, the body and the promise: the bundle proves the promise, and nearly all
// of its epsilon is used.
func TestNoiseIsProved(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	all, one := []int{1, 3}, []int{3}
	for _, c := range []struct {
		promise     bundle.Promise
		domains     []bundle.Domain
		coordinates []int
	}{
		{bundle.Promise{Epsilon: 0.1, Delta: 0.01}, domains[1:2], one},
		{bundle.Promise{Epsilon: 1, Delta: 0.1}, domains, all},
		{bundle.Promise{Epsilon: 4, Delta: 1e-6}, domains, one},
		{bundle.Promise{Epsilon: 6}, domains[:2], one},
		{bundle.Promise{Epsilon: 100, Delta: 1e-6}, domains[2:], one},
	} {
		for _, kind := range private {
			if kind == noise.Gaussian && (c.promise.Delta == 0 || c.promise.Epsilon == 100) { // TestNoiseRefuses
				continue
			}
			for _, domain := range c.domains {
				for _, z := range c.coordinates {
					if kind == bundle.Balls && (c.promise.Delta == 0 || z == 1) { // TestNoiseRefuses
						continue
					}
					proved(t, kind, Body{domain, 1.7, z}, c.promise)
				}
			}
		}
	}
}

func proved(t *testing.T, kind bundle.Kind, body Body, promise bundle.Promise) {
	t.Helper()
	name := fmt.Sprintf("%s in %v at %v", kind, body, promise)
	n, err := NewNoise(t.Context(), kind, body, promise, truncated)
	if err != nil {
		t.Error(name, err)
		return
	}
	v, err := latent.Verify(t.Context(), install(t, n, body.Coordinates), proof.Options{})
	if err != nil {
		t.Error(name, err)
		return
	}
	// Designs for a coordinate end at an epsilon of 20, unbiased ones of 8.
	most := float64(check.MaxEpsilon)
	switch kind {
	case bundle.Balls:
		most = 20
	case bundle.Designed, noise.Staircase:
		most = 20 * float64(body.Coordinates)
	case bundle.LocalUnbiased:
		most = mostUnbiasedEpsilon * float64(body.Coordinates)
	default:
	}
	if e, _ := v.EpsilonUpper().Float64(); n.Kind() != kind || e < 0.97*math.Min(promise.Epsilon, most) {
		t.Errorf("%s: %g proved", name, e)
	}
}

// Exact composition is used where it leaves room for more epsilon, and proved.
func TestNoiseIsComposedExactly(t *testing.T) {
	promise := bundle.Promise{Epsilon: 1, Delta: 0.3}
	n, err := NewNoise(t.Context(), bundle.Designed, Body{bundle.Box, 1, 12}, promise, truncated)
	if err != nil {
		t.Fatal(err)
	}
	b := install(t, n, 12)
	if b.Spec().Composition != bundle.Exact || !(b.Spec().Tables[0].Privacy().Epsilon > 1.1*promise.Epsilon/12) {
		t.Errorf("composition %s with epsilon %g each", b.Spec().Composition, b.Spec().Tables[0].Privacy().Epsilon)
	}
	if _, err := latent.Verify(t.Context(), b, proof.Options{}); err != nil {
		t.Error(err)
	}
}

// A draw for training has the law of a draw from the bundle, by the test of Kolmogorov and
// Smirnov for each coordinate and for the sum of both: false alarms once in 10⁹, distances of
// 0.05 are seen.
func TestReleaseIsThatOfTheBundle(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const draws = 10000
	x := []float64{0.9, -0.4}
	for _, kind := range private {
		for _, domain := range domains {
			body := Body{domain, 1, 2}
			n, err := NewNoise(t.Context(), kind, body, bundle.Promise{Epsilon: 3, Delta: 1e-3}, truncated)
			if err != nil {
				t.Fatal(err)
			}
			v, err := latent.Verify(t.Context(), install(t, n, 2), proof.Options{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := v.NewDeterministicPrivatizer([32]byte{1}, sampler.Options{})
			if err != nil {
				t.Fatal(err)
			}
			u := Matrix{Rows: draws, Cols: 2, Stride: 2, Data: slices.Repeat(x, draws)}
			body.Clip(u)
			n.Release(u.Data, u.Data, random(1))
			var ours, theirs [3][]float64
			for k := range draws {
				own := u.Data[2*k:][:2]
				out, err := p.Privatize(nil, x)
				if err != nil {
					t.Fatal(err)
				}
				for i, pair := range [][2]float64{{own[0], out[0]}, {own[1], out[1]}, {own[0] + own[1], out[0] + out[1]}} {
					ours[i], theirs[i] = append(ours[i], pair[0]), append(theirs[i], pair[1])
				}
			}
			for i := range ours {
				// Answers are the same numbers, but for sums.
				if d, limit := distance(ours[i], theirs[i]), math.Sqrt(math.Log(2e9)/draws); d > limit {
					t.Errorf("%s in %s: distance %g of the laws %d, want at most %g", kind, domain, d, i, limit)
				}
			}
		}
	}
}

// distance returns the largest difference of two empirical distribution functions.
func distance(a, b []float64) float64 {
	slices.Sort(a)
	slices.Sort(b)
	most := 0.0
	for _, x := range slices.Concat(a, b) {
		below := func(v []float64) float64 {
			return float64(sort.Search(len(v), func(i int) bool { return v[i] > x })) / float64(len(v))
		}
		most = math.Max(most, math.Abs(below(a)-below(b)))
	}
	return most
}

// Draws from a table have the probabilities of its cells: chi-square, with false alarms once
// in 10⁹. A cell of probability 0.01 that is drawn a tenth too often is seen.
func TestLaw(t *testing.T) {
	const draws = 200000
	problem := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.05, Sensitivity: 2}, Query: dp.RealQuery, Loss: loss.L2}
	bounded, err := truncated(t.Context(), problem)
	if err != nil {
		t.Fatal(err)
	}
	endless, err := pure(t.Context(), problem)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []*tables.Verified{bounded, endless} {
		table := v.Mechanism()
		l, r := newLaw(table), random(7)
		cells, atom := table.PMF()
		if atom != 0 {
			t.Fatal("a table with an atom")
		}
		// The probabilities of the cells; those further out are the last two.
		want := make([]float64, len(cells)+2)
		ratio := float64(table.TailRatio()) * 0x1p-64
		for i, p := range cells {
			want[i] = p
			if side, ok := table.Block(i); ok {
				want[i] -= p * ratio
				want[len(cells)+(side+1)/2] += p * ratio
			}
		}
		got := make([]float64, len(want))
		for range draws {
			x := l.draw(r)
			switch i := int(math.Floor((x - l.lower[0]) / l.width)); {
			case i < 0:
				got[len(cells)]++
			case i >= len(cells):
				got[len(cells)+1]++
			default:
				got[i]++
			}
		}
		square, freedom := 0.0, -1.0
		rest, restGot := 0.0, 0.0
		for i, p := range want {
			if p*draws < 50 {
				rest, restGot = rest+p, restGot+got[i]
				continue
			}
			square += (got[i] - p*draws) * (got[i] - p*draws) / (p * draws)
			freedom++
		}
		if rest*draws >= 50 {
			square += (restGot - rest*draws) * (restGot - rest*draws) / (rest * draws)
			freedom++
		}
		if limit := (distuv.ChiSquared{K: freedom}).Quantile(1 - 1e-9); square > limit || freedom < 15 {
			t.Errorf("chi-square %g with %g degrees of freedom, want at most %g (tail ratio %g)", square, freedom, limit, ratio)
		}
	}
}

// Randomizers that were fitted know the encodings: their loss is less than that of those for
// the uniform law. Other noise stays what it is.
func TestFit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 0))
	u := Matrix{Rows: 500, Cols: 2, Stride: 2, Data: make([]float64, 1000)}
	for i := range u.Data {
		u.Data[i] = 0.1 + 0.1*r.Float64()
	}
	body := Body{bundle.Box, 1, 2}
	n, err := NewNoise(t.Context(), bundle.Local, body, bundle.Promise{Epsilon: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	fitted, err := Fit(n, u)
	if err != nil {
		t.Fatal(err)
	}
	square := func(n Noise) (sum float64) {
		out := make([]float64, len(u.Data))
		n.Release(out, u.Data, random(1))
		for i, x := range u.Data {
			sum += (out[i] - x) * (out[i] - x)
		}
		return sum
	}
	if before, after := square(n), square(fitted); !(after < before/5) {
		t.Errorf("squared error %g, fitted %g", before, after)
	}
	if _, err := latent.Verify(t.Context(), install(t, fitted, 2), proof.Options{}); err != nil {
		t.Error(err)
	}
	if _, err := Fit(n, Matrix{Rows: 1, Cols: 1, Stride: 1, Data: []float64{0}}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("encodings of another width: %v", err)
	}
	laplace, err := NewNoise(t.Context(), noise.Laplace, body, bundle.Promise{Epsilon: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := Fit(laplace, u); err != nil || same != laplace {
		t.Errorf("laplace noise was fitted: %v", err)
	}
}

// None is a copy and has no proof.
func TestNone(t *testing.T) {
	n, err := NewNoise(t.Context(), bundle.None, Body{bundle.Box, 1, 2}, bundle.Promise{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float64, 2)
	if n.Release(dst, []float64{0.25, -1}, random(1)); !slices.Equal(dst, []float64{0.25, -1}) {
		t.Errorf("released %v", dst)
	}
	if _, err := install(t, n, 2).Verify(nil); !errors.Is(err, bundle.ErrNoPromise) {
		t.Errorf("verified: %v", err)
	}
}

func TestNoiseRefuses(t *testing.T) {
	good := Body{bundle.Box, 1, 2}
	for _, c := range []struct {
		kind    bundle.Kind
		body    Body
		promise bundle.Promise
		want    string
	}{
		{"magic", good, bundle.Promise{Epsilon: 1}, `noise = "magic", want one of`},
		{noise.Laplace, good, bundle.Promise{}, "epsilon = 0, want a number above 0"},
		{noise.Laplace, good, bundle.Promise{Epsilon: math.NaN()}, "epsilon = NaN, want a number above 0"},
		{noise.Laplace, good, bundle.Promise{Epsilon: 101}, "epsilon = 101, want a number above 0 and at most 100"},
		{noise.Laplace, good, bundle.Promise{Epsilon: 1, Delta: 1}, "delta = 1, want a probability, at least 0 and below 1"},
		{noise.Gaussian, good, bundle.Promise{Epsilon: 1}, "delta = 0, want a number above 0 for gaussian noise"},
		{bundle.Balls, good, bundle.Promise{Epsilon: 1}, "delta = 0, want a number above 0 for noise on balls"},
		{bundle.Balls, Body{bundle.Ball, 1, 1}, bundle.Promise{Epsilon: 1, Delta: 0.1}, "coordinates = 1, want 2 to 8 for noise on balls"},
		{bundle.Balls, Body{bundle.Ball, 1, 9}, bundle.Promise{Epsilon: 1, Delta: 0.1}, "coordinates = 9, want 2 to 8 for noise on balls"},
		{bundle.Balls, good, bundle.Promise{Epsilon: 1e-4, Delta: 0.1}, "epsilon = 0.0001, want 0, or a number from 0.001 to 20"},
		{noise.Laplace, Body{bundle.Bounds, 1, 2}, bundle.Promise{Epsilon: 1}, `domain = "bounds", want box, l1-ball or ball`},
		{bundle.None, Body{bundle.Box, 0, 2}, bundle.Promise{}, "radius = 0, want a number from 1e-06"},
		{noise.Laplace, Body{bundle.Box, 1, 0}, bundle.Promise{Epsilon: 1}, "coordinates = 0, want 1 to 4096"},
		{bundle.LocalUnbiased, good, bundle.Promise{Epsilon: 1e-4}, "epsilon = 5e-05, want"},
		{noise.Gaussian, good, bundle.Promise{Epsilon: 1e-4, Delta: 1e-6}, "scale of the noise = "},
		{noise.Gaussian, good, bundle.Promise{Epsilon: 100, Delta: 1e-6}, "epsilon = 100 is too large for Gaussian noise"},
	} {
		if _, err := NewNoise(t.Context(), c.kind, c.body, c.promise, truncated); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c, err, c.want)
		}
	}
	failed := errors.New("no solver today")
	_, err := NewNoise(t.Context(), bundle.Designed, good, bundle.Promise{Epsilon: 1, Delta: 1e-3}, func(context.Context, dp.Problem) (*tables.Verified, error) { return nil, failed })
	if !errors.Is(err, failed) {
		t.Errorf("the designer failed: %v", err)
	}
}
