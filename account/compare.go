// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/noise"
)

// Alternatives returns the expected losses of a single release of other noise than [Calibrate]
// finds, in the units of the loss; NaN where there is none. basic is that of noise designed,
// coarsely, for basic composition: an equal part of epsilon and of delta. laplace and gaussian
// are those of Classical noise.
func (t Target) Alternatives(ctx context.Context, design Designer, gap float64) (basic, laplace, gaussian float64) {
	basic = math.NaN()
	if t.validate() != nil {
		return basic, math.NaN(), math.NaN()
	}
	if design != nil {
		k := float64(t.Releases)
		if r, err := t.designs(design, max(coarseGap, gap))(ctx, t.Epsilon/k, t.Delta/k); err == nil {
			basic = r.loss
		}
	}
	return basic, t.lossOf(t.laplace(ctx)), t.gaussianLoss()
}

// Classical returns classical noise calibrated to the target, but for its constraints:
// Laplace noise, discrete on the integers for integer queries, and continuous Gaussian
// noise. What does not apply to the target is not there. No guarantee rests on it.
func (t Target) Classical(ctx context.Context) []noise.Mechanism {
	if t.validate() != nil {
		return nil
	}
	var found []noise.Mechanism
	if law, err := t.laplace(ctx); err == nil {
		found = append(found, law)
	}
	if law, err := t.gaussian(); err == nil {
		found = append(found, law)
	}
	return found
}

// lossOf is the expected loss of noise, NaN if there is none.
func (t Target) lossOf(law noise.Mechanism, err error) float64 {
	if err != nil {
		return math.NaN()
	}
	loss, _, err := law.ExpectedLoss(t.Loss)
	if err != nil {
		return math.NaN()
	}
	return loss
}

// laplace returns Laplace noise calibrated to the target.
func (t Target) laplace(ctx context.Context) (noise.Mechanism, error) {
	privacyLoss, name := Laplace, noise.Laplace
	if t.Query == dp.IntegerQuery {
		name = noise.DiscreteLaplace
		privacyLoss = func(epsilon float64) (*PrivacyLossDistribution, error) {
			return DiscreteLaplace(epsilon, int(t.Sensitivity))
		}
	}
	s := &search{target: t, width: coarseWidth, make: func(_ context.Context, epsilon, _ float64) (*Calibration, error) {
		pld, err := privacyLoss(epsilon)
		return &Calibration{PLD: pld}, err
	}}
	r, err := s.findAt(ctx, 0, portion(t.Epsilon, t.Releases))
	if err != nil {
		return noise.Mechanism{}, err
	}
	return noise.New(name, dp.Privacy{Epsilon: r.epsilon, Sensitivity: t.Sensitivity}, t.Loss)
}

// gaussian returns Gaussian noise calibrated to the target: so many releases are one
// with a sensitivity larger by the root of their number.
func (t Target) gaussian() (noise.Mechanism, error) {
	p := t.Privacy
	p.Sensitivity *= math.Sqrt(float64(t.Releases))
	return noise.New(noise.AnalyticGaussian, p, t.Loss)
}

// gaussianLoss is that of Gaussian noise.
func (t Target) gaussianLoss() float64 { return t.lossOf(t.gaussian()) }

// maxCrossover bounds the search for the crossover.
const maxCrossover = 1 << 12

// Crossover returns about the least number of releases, with the same total epsilon and delta, for
// which Gaussian noise has a smaller expected loss than designed noise, by doubling and bisection
// with coarse designs; t.Releases is not used. It is 0 if there is none up to 4096, if Gaussian
// noise does not apply, or if a design fails or the context ends.
func (t Target) Crossover(ctx context.Context, design Designer, gap float64) int {
	if t.Releases = 1; design == nil || t.validate() != nil || !t.shapes() || math.IsNaN(t.gaussianLoss()) {
		return 0
	}
	wins := func(k int) (gaussian, ok bool) {
		t := t
		t.Releases = k
		s := &search{target: t, make: t.designs(design, max(coarseGap, gap)), width: coarseWidth}
		r, err := s.findAt(ctx, s.part(0.5), portion(t.Epsilon, k))
		if err != nil || ctx.Err() != nil {
			return false, false
		}
		return t.gaussianLoss() < r.loss, true
	}
	lo, hi := 0, 0 // hi is 0 until it wins
	for hi == 0 || hi-lo > 1 {
		k := (lo + hi) / 2
		if hi == 0 {
			k = max(1, 2*lo)
		}
		better, ok := wins(k)
		switch {
		case !ok || !better && k == maxCrossover:
			return 0
		case better:
			hi = k
		default:
			lo = k
		}
	}
	return hi
}
