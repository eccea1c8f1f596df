package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/plot"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/attack"
	"github.com/noisewright/noisewright/cmd/internal/encoders/minimax"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

// The parts of a figure with noise.
const (
	partVectors = "vectors"         // noise of vectors, as in the paper
	partFew     = "few coordinates" // noise of a useful ε
)

// The ε of the two parts. The paper's begin at 1000, of which there is no promise here.
var (
	vectorEpsilons = []float64{100, 30, 10}
	fewEpsilons    = []float64{1, 2, 3, 5, 10}
)

// fewDelta is that of designed noise.
const fewDelta = 1e-6

// The shares of the training data that are within the body around the mean: of the norms
// of many coordinates, and of each of few.
const (
	manyClip = 0.9
	fewClip  = 0.5
)

// fewSteps are those of a training of few coordinates: they cost little, and all counts.
const fewSteps = 200

// bounding is one of the paper's ways to get outputs into the unit ball, of which the first is
// the body's: divided by the largest norm, and clipped.
type bounding struct {
	name  string
	scale func(norm, typical float64) float64 // of a vector of that norm; nil: nothing
}

var boundings = []bounding{
	{"", nil},
	{", tangent of norm", func(norm, typical float64) float64 { return math.Tanh(norm/typical) / norm }},
	{", norm 1", func(norm, _ float64) float64 { return 1 / norm }},
}

// noisy is a figure with noise.
func (o *minimaxOptions) noisy(ctx context.Context, d *minimaxData) error {
	if err := o.vectors(ctx, d); err != nil {
		return err
	}
	return o.few(ctx, d)
}

// vectors adds noise to vectors of the paper's filters.
func (o *minimaxOptions) vectors(ctx context.Context, d *minimaxData) error {
	epsilons := vectorEpsilons
	if !o.full {
		epsilons = []float64{100}
	}
	train, test, err := o.parts(d, 0)
	if err != nil {
		return err
	}
	z := min(o.figure.coordinates[0], train.X.Cols)
	for _, method := range []minimax.Method{minimax.Minimax, minimax.PCA} {
		r, err := minimax.Train(ctx, train, o.options(method, z, 0))
		if err != nil {
			return err
		}
		codes := minimaxCodes{train, test, r.Encode(train.X), r.Encode(test.X)}
		if err := o.guess(ctx, minimaxPlace{Part: "no noise", Filter: string(method), Coordinates: z}, codes, 0); err != nil {
			return err
		}
		for i, epsilon := range epsilons {
			o.line.Count(fmt.Sprintf("noise for the filter %s, epsilons", method), i, len(epsilons))
			p := minimaxPlace{Part: partVectors, Coordinates: z, Epsilon: &epsilons[i]}
			if err := o.before(ctx, p, method, train, test, r, epsilon); err != nil {
				return err
			}
			if err := o.after(ctx, p, method, train, test, r, epsilon); err != nil {
				return err
			}
		}
	}
	return nil
}

// before adds noise to the features, and filters them on the server.
func (o *minimaxOptions) before(ctx context.Context, p minimaxPlace, method minimax.Method, train, test minimax.Data, r *minimax.Result, epsilon float64) error {
	whole, err := minimax.Train(ctx, train, minimax.Options{Method: minimax.Masked, Mask: slices.Repeat([]float64{1}, train.X.Cols)})
	if err != nil {
		return err
	}
	n, err := whole.AddNoise(ctx, minimax.NoiseOptions{Kind: bundle.Spherical, Promise: bundle.Promise{Epsilon: epsilon}, AroundZero: true})
	if err != nil {
		return err
	}
	p.Filter = string(method) + " post"
	return o.guesses(ctx, p, "noise of features", train, test, func(x encoder.Matrix, random *rand.Rand) encoder.Matrix {
		return r.Encode(n.Release(x, random))
	})
}

// after filters the features and adds noise, with each way of bounding.
func (o *minimaxOptions) after(ctx context.Context, p minimaxPlace, method minimax.Method, train, test minimax.Data, r *minimax.Result, epsilon float64) error {
	noise := minimax.NoiseOptions{Kind: bundle.Spherical, Promise: bundle.Promise{Epsilon: epsilon}}
	centered := noise
	centered.Clip = manyClip
	noise.AroundZero = true
	for _, v := range []struct {
		noise minimax.NoiseOptions
		bounding
	}{{noise, boundings[0]}, {noise, boundings[1]}, {noise, boundings[2]}, {centered, bounding{name: ", around the mean"}}} {
		if v.scale != nil && (method != minimax.Minimax || !o.full) {
			continue
		}
		n, err := r.AddNoise(ctx, v.noise)
		if err != nil {
			return err
		}
		p.Filter = string(method) + " pre" + v.name
		if err := o.guesses(ctx, p, "noise of codes", train, test, func(x encoder.Matrix, random *rand.Rand) encoder.Matrix {
			u := n.Encode(x)
			if v.scale != nil {
				v.apply(u)
			}
			n.Noise.Release(u.Data, u.Data, random)
			return u
		}); err != nil {
			return err
		}
	}
	return nil
}

// apply scales rows in the unit ball, in place, so that they stay there. What is typical is
// public: half the radius.
func (b bounding) apply(u encoder.Matrix) {
	const typical = 0.5
	for i := range u.Rows {
		row := u.Data[i*u.Stride:][:u.Cols]
		norm := 0.0
		for _, v := range row {
			norm = math.Hypot(norm, v)
		}
		if norm == 0 {
			continue
		}
		s := b.scale(norm, typical)
		for j := range row {
			row[j] *= s
		}
	}
}

// guess scores a run: by linear attackers, and in the first run by a network too.
func (o *minimaxOptions) guess(ctx context.Context, p minimaxPlace, c minimaxCodes, run int) error {
	private := []attack.Attacker{attack.Linear}
	if run == 0 {
		private = append(private, attack.MLP)
	}
	return o.study.score(ctx, p, c, private[:1], private, run)
}

// guesses scores runs of noise, which release draws.
func (o *minimaxOptions) guesses(ctx context.Context, p minimaxPlace, purpose string, train, test minimax.Data, release func(encoder.Matrix, *rand.Rand) encoder.Matrix) error {
	for run := range o.count(10) {
		random := encoders.Rand(uint64(run), purpose, 0) //nolint:gosec // not negative
		a := release(train.X, random)
		if err := o.guess(ctx, p, minimaxCodes{train, test, a, release(test.X, random)}, run); err != nil {
			return err
		}
	}
	return nil
}

// few adds noise of a useful ε to few coordinates.
func (o *minimaxOptions) few(ctx context.Context, d *minimaxData) error {
	train, test, err := o.parts(d, 0)
	if err != nil {
		return err
	}
	epsilons := fewEpsilons
	if !o.full {
		epsilons = []float64{5, 10}
	}
	for _, z := range []int{1, 2} {
		options := o.options(minimax.Minimax, z, 0)
		if o.full || o.figure.faces {
			options.Steps = fewSteps
		}
		r, err := minimax.Train(ctx, train, options)
		if err != nil {
			return err
		}
		for _, kind := range []bundle.Kind{bundle.Designed, noise.Laplace, bundle.Spherical} {
			for i, epsilon := range epsilons {
				o.line.Count(fmt.Sprintf("%d coordinates with %s noise, epsilons", z, kind), i, len(epsilons))
				p := minimaxPlace{Part: partFew, Filter: fmt.Sprintf("%s, d = %d", kind, z), Coordinates: z, Epsilon: &epsilons[i]}
				if err := o.draws(ctx, p, kind, epsilon, train, test, r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// draws scores draws of noise of a kind.
func (o *minimaxOptions) draws(ctx context.Context, p minimaxPlace, kind bundle.Kind, epsilon float64, train, test minimax.Data, r *minimax.Result) error {
	promise := bundle.Promise{Epsilon: epsilon}
	if kind == bundle.Designed {
		promise.Delta = fewDelta
	}
	noise := minimax.NoiseOptions{Kind: kind, Promise: promise, Clip: fewClip, Domain: bundle.Box, Design: o.designer()}
	if kind != bundle.Designed {
		noise.Domain = "" // what suits it
	}
	n, err := r.AddNoise(ctx, noise)
	if err != nil {
		return err
	}
	return o.guesses(ctx, p, "noise of few", train, test, n.Release)
}

// designer makes tables.
func (o *minimaxOptions) designer() encoder.Design {
	return func(ctx context.Context, p dp.Problem) (*tables.Verified, error) {
		r, _, err := shell.Design(ctx, p, o.design)
		if err != nil {
			return nil, err
		}
		return r.Table, nil
	}
}

// noisyPanels are those of a figure with noise.
func noisyPanels() (out []minimaxPanel) {
	for _, p := range []struct {
		title, part, role string
		attacker          attack.Attacker
	}{
		{"target, linear classifier", partVectors, roleTarget, attack.Linear},
		{"private, linear attacker", partVectors, rolePrivate, attack.Linear},
		{"private, network as attacker", partVectors, rolePrivate, attack.MLP},
		{"few coordinates: target", partFew, roleTarget, attack.Linear},
	} {
		panel := minimaxPanel{
			title: p.title, part: p.part, role: p.role, attacker: p.attacker,
			x: "ε", at: func(p *minimaxPoint) float64 { return noiseless(p.Epsilon) },
		}
		if p.part == partVectors {
			panel.at = func(p *minimaxPoint) float64 { return math.Log10(1 / noiseless(p.Epsilon)) }
			panel.x, panel.ticks = "1/ε", plot.TickerFunc(ratioTicks)
		}
		out = append(out, panel)
	}
	return out
}
