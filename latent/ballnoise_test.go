// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
)

// fewBalls stands for a designer: a ball that has nearly all of δ, and one in it from which every shift leads into the
// first, in which the density is as much lower as is allowed.
func fewBalls(_ context.Context, p ball.Problem) (*ball.Verified, error) {
	share := 0.97 * p.Delta
	inner := 0.0
	for range 100 {
		inner = 1.01 * (1.01 + inner) * math.Pow(math.Exp(-p.Epsilon)*(1-share)/share, 1/float64(p.Dimension))
	}
	s := ball.Spec{Problem: p, StepExponent: -20, Radii: []int64{int64(math.Ldexp(inner, 20)), int64(math.Ldexp(1.01+inner, 20))}}
	outer := uint64(math.Ldexp(share, 64))
	s.Weights = []uint64{-outer, outer}
	n, err := ball.New(s)
	if err != nil {
		return nil, err
	}
	return n.Verify()
}

// TestBalls: the encoder is chosen by the real loss among all numbers of coordinates up to the one after which it rises;
// the bundle is proved, and what is measured is what is predicted.
func TestBalls(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for trial, domain := range []bundle.Domain{bundle.Ball, bundle.Box, bundle.Bounds, bundle.Ball} {
		p := randomProblem(r, domain)
		p.Promise = bundle.Promise{Epsilon: 9, Delta: 0.3}
		asked := map[int]bool{}
		res := design(t, p, Options{Kinds: []bundle.Kind{bundle.Balls, bundle.Spherical}, Ball: func(ctx context.Context, q ball.Problem) (*ball.Verified, error) {
			asked[q.Dimension] = true
			if q.Privacy != (dp.Privacy{Epsilon: 9, Delta: 0.3, Sensitivity: 1}) || q.Loss.Name() != "l2" {
				t.Errorf("asked for %+v", q)
			}
			return fewBalls(ctx, q)
		}})
		c := find(t, res, bundle.Balls, taskAware)
		if c.Z < 2 || !asked[c.Z] || asked[1] || asked[9] || c.Composition != bundle.Balls.Composition() {
			t.Errorf("%s: %d coordinates of %v", domain, c.Z, asked)
		}
		for z := range asked {
			v, err := fewBalls(t.Context(), ball.Problem{Dimension: z, Privacy: dp.Privacy{Epsilon: 9, Delta: 0.3, Sensitivity: 1}, Loss: c.ball.Spec().Loss})
			if err != nil {
				t.Fatal(err)
			}
			one, err := res.ballCandidate(v.Mechanism(), z)
			if err != nil || one != nil && (one.Loss < c.Loss || one.Z != z) {
				t.Errorf("%s: %d coordinates have the loss %v, %v, and %d %v", domain, z, one, err, c.Z, c.Loss)
			}
		}
		b, err := res.Bundle(c)
		if err != nil {
			t.Fatal(err)
		}
		wantNear(t, "loss of the bundle", b.Spec().Predicted.TrainingLoss, c.Loss, 1e-6)
		noisy, err := proved(t, b).NewDeterministicPrivatizer([32]byte{byte(trial)}, sampler.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := Evaluate(t.Context(), noisy, randomData(r, 60, len(p.Features)), 300)
		if err != nil {
			t.Fatal(err)
		}
		if low, high := e.Interval(4.5); !(low <= e.Predicted.Total && e.Predicted.Total <= high) {
			t.Errorf("%s: measured %g to %g, predicted %g", domain, low, high, e.Predicted.Total)
		}
		if _, _, _, err := res.Lookup(b); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("a lookup: %v", err)
		}
	}
}

// TestBallsAreLeftOut: without a designer or a delta, where a designer has none, and where one fails.
func TestBallsAreLeftOut(t *testing.T) {
	p := randomProblem(rand.New(rand.NewPCG(1, 7)), bundle.Ball)
	p.Promise = bundle.Promise{Epsilon: 3, Delta: 0.1}
	failed := errors.New("no balls today")
	answer := func(err error) Options {
		return Options{Kinds: []bundle.Kind{bundle.Balls}, Ball: func(context.Context, ball.Problem) (*ball.Verified, error) { return nil, err }}
	}
	if _, err := Design(t.Context(), p, answer(failed)); !errors.Is(err, failed) {
		t.Errorf("a designer that fails: %v", err)
	}
	for what, o := range map[string]Options{"none is made": answer(nil), "no designer": {Kinds: []bundle.Kind{bundle.Balls}}} {
		if res := design(t, p, o); len(res.Candidates) > 0 {
			t.Errorf("%s: %+v", what, res.Candidates[0])
		}
	}
	p.Delta = 0
	if res := design(t, p, answer(failed)); len(res.Candidates) > 0 {
		t.Error("balls with a delta of 0")
	}
	p.Promise = bundle.Promise{Epsilon: 50, Delta: 0.1}
	design(t, p, Options{Kinds: []bundle.Kind{bundle.Balls}, Ball: func(_ context.Context, q ball.Problem) (*ball.Verified, error) {
		if q.Epsilon != 20 {
			t.Errorf("asked for epsilon %v", q.Epsilon)
		}
		return nil, nil
	}})
}

// TestBallsOfTwoFeaturesAndNine: no more coordinates than there are, nor than balls have.
func TestBallsOfTwoFeaturesAndNine(t *testing.T) {
	for n, want := range map[int][]int{1: nil, 2: {2}, 9: {2, 3, 4, 5, 6, 7, 8}} {
		p := named(Problem{Mean: make([]float64, n), Covariance: taskspace.Identity(n), Domain: bundle.Ball, Radius: 3, Promise: bundle.Promise{Epsilon: 20, Delta: 0.1}})
		var asked []int
		design(t, p, Options{Kinds: []bundle.Kind{bundle.Balls}, Ball: func(_ context.Context, q ball.Problem) (*ball.Verified, error) {
			asked = append(asked, q.Dimension)
			// So little noise that each coordinate gains: of values next to each other.
			s := ball.Spec{Problem: q, StepExponent: -31}
			s.Sensitivity, s.Delta, s.Radii, s.Weights = 0x1p-30, 1-0x1p-30, []int64{1 << 20, 1 << 21}, []uint64{1 << 63, 1 << 63}
			return mustBall(t, s), nil
		}})
		if len(asked) != len(want) {
			t.Errorf("%d features: asked for %v, want %v", n, asked, want)
		}
	}
}

func mustBall(t *testing.T, s ball.Spec) *ball.Verified {
	t.Helper()
	n, err := ball.New(s)
	if err != nil {
		t.Fatal(err)
	}
	v, err := n.Verify()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestBallChannel: the law of a coordinate is that of draws, whatever the dimension, and so is its variance, which is
// the expected squared norm over the dimension too.
func TestBallChannel(t *testing.T) {
	for d := limits.BallMinDimension; d <= limits.BallMaxDimension; d++ {
		v := mustBall(t, ball.Spec{
			Problem:      ball.Problem{Dimension: d, Privacy: dp.Privacy{Epsilon: 1, Delta: math.Nextafter(1, 0), Sensitivity: 1}, Loss: loss.L2},
			StepExponent: -16, Radii: []int64{0, 1 << 15, 3 << 15}, Weights: []uint64{1 << 61, 1 << 62, 1<<63 + 1<<61},
		})
		c := newBallChannel(v.Mechanism())
		squares, _ := v.Mechanism().Certify().ExpectedLoss.Float64()
		if _, variance := c.moments(3); math.Abs(variance*float64(d)-squares) > 1e-12*squares {
			t.Errorf("d %d: variance %v, expected loss %v", d, variance, squares)
		}
		s, err := sampler.New(v, sampler.Options{Entropy: sampler.Deterministic([32]byte{byte(d)})})
		if err != nil {
			t.Fatal(err)
		}
		const draws = 40000
		edges := []float64{-1.2, -0.4, -0.01, 0.01, 0.3, 0.6, 1.4}
		counts := make([]float64, len(edges))
		for range draws {
			y, err := s.Release(make(proof.Row, d))
			if err != nil {
				t.Fatal(err)
			}
			for k, e := range edges {
				if y.(proof.Row)[d-1] < e {
					counts[k]++
				}
			}
		}
		for k, e := range edges {
			want := c.below(5, 5+e)
			if sd := math.Sqrt(want * (1 - want) / draws); math.Abs(counts[k]/draws-want) > 6.2*sd {
				t.Errorf("d %d: P(noise < %g) = %g, drawn %g", d, e, want, counts[k]/draws)
			}
		}
		if c.below(0, -1.6) != 0 || math.Abs(c.below(0, 1.6)-1) > 1e-12 || c.atoms() != nil {
			t.Errorf("d %d: %v below the last ball, %v below its end", d, c.below(0, -1.6), c.below(0, 1.6))
		}
	}
}
