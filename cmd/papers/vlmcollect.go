package main

import (
	"context"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/encoder/vlm"
)

// vlmShare is the share of ε that is spent on the features of MNIST, λ: that of the paper's
// table of parameters.
const vlmShare = 0.7

var vlmFigure1 = vlmFigure{
	name:  "vlm-figure1",
	short: "Figure 1 of Mansbridge et al. (2020): collecting data, tested on clean people",
	about: `Run the experiment behind figure 1: an organization trains a network, people send
encodings with Laplace noise and classes with randomized response, 0.7 of epsilon for
the former, and a classifier that knows of the flips is trained on what they send. Its
accuracy is on people who are encoded without noise. Series: encodings (latent),
what the decoder makes of them (features), direct noise on every feature, and no noise.
With --adult there is a second panel, where network and share of epsilon are chosen by
the private answers of other people, alike for direct noise.

` + mnistHelp,
	data: mnistFolder,
	published: []string{
		"direct noise is no better than chance for every local epsilon up to 100 on MNIST, and up to 20 on loans",
		"encodings with noise train classifiers far above chance",
	},
	run: func(ctx context.Context, o *vlmOptions) error {
		if err := o.collectImages(ctx, (*collection).cleanSeries); err != nil || o.adult == "" {
			return err
		}
		return o.collectAdult(ctx, o.adult)
	},
}

var vlmFigure4 = vlmFigure{
	name:  "vlm-figure4",
	short: "Figure 4 of Mansbridge et al. (2020): classifying people who send their features privately",
	about: `Run the experiment behind figure 4: as vlm-figure1, but the people whom the
classifier is tested on send their encodings with noise too. The epsilon of the
axis is theirs, all of it spent on the encoding, or 0.7 as by those who send a class.
The bound is equation (10), in its corrected form: no classifier of such encodings has
a higher accuracy.

` + mnistHelp,
	data: mnistFolder,
	published: []string{
		"the accuracy on private people stays below the bound (10)",
	},
	run: func(ctx context.Context, o *vlmOptions) error {
		return o.collectImages(ctx, (*collection).privateSeries)
	},
}

// collection is a network and the people whose data is collected with it.
type collection struct {
	o           *vlmOptions
	setting     vlmSetting
	name        string // of the setting, in series; "" if there is one
	model       *vlm.Model
	parts       *imageParts
	train, test people
	u, clean    encoder.Matrix // of train and test
	seed        uint64
}

// collectImages trains the networks and adds series for each.
func (o *vlmOptions) collectImages(ctx context.Context, series func(*collection, context.Context) error) error {
	parts, err := readParts(o.data)
	if err != nil {
		return err
	}
	settings := o.settings()
	for _, s := range settings {
		name := ""
		if len(settings) > 1 {
			name = ", " + s.String()
		}
		for seed := range o.seeds() {
			x := parts.train.choose(parts.network[:min(s.people, len(parts.network))]).x
			m, err := o.network(ctx, s, x, seed, "mnist", nil)
			if err != nil {
				return err
			}
			c := &collection{o: o, setting: s, name: name, model: m, parts: parts, seed: seed}
			c.train, c.test = parts.train.choose(parts.collect), parts.test.choose(parts.private)
			c.u, c.clean = m.Encode(c.train.x), m.Encode(c.test.x)
			if err := series(c, ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// latent trains a classifier on encodings and classes of people with a promise of epsilon.
func (c *collection) latent(ctx context.Context, epsilon float64) (*vlm.Classifier, error) {
	z, flip := c.u, 0.0
	if !math.IsInf(epsilon, 1) {
		var err error
		if z, err = vlmRelease(ctx, c.model, c.u, vlmShare*epsilon, c.seed, "collection"); err != nil {
			return nil, err
		}
		flip = vlm.FlipProbability(digits, (1-vlmShare)*epsilon)
	}
	return c.classifier(ctx, z, epsilon, vlm.ClassifierOptions{Flip: flip})
}

// classifier trains on people whose classes are flipped as the options say.
func (c *collection) classifier(ctx context.Context, z encoder.Matrix, epsilon float64, o vlm.ClassifierOptions) (*vlm.Classifier, error) {
	o.Classes, o.Seed = digits, c.seed
	labels := vlm.Flip(c.train.labels, digits, o.Flip, encoder.Rand(c.seed, fmt.Sprintf("classes, ε = %g", epsilon), 0))
	return vlm.TrainClassifier(ctx, z, labels, o)
}

// Classifiers of features, which are a hundred times as many as encodings: pixelEpochs and
// pixelRate are of their training, which at the rate of others ends with one class for
// everybody, and pixelRuns is how many runs have them, for they take most of the time.
const (
	pixelEpochs = 10
	pixelRate   = 1e-4
	pixelRuns   = 1
)

func (c *collection) cleanSeries(ctx context.Context) error {
	s := &c.o.study
	for _, epsilon := range append([]float64{math.Inf(1)}, c.o.epsilons...) {
		c.o.line.Share("classifying", 0, fmt.Sprintf("ε = %g", epsilon))
		k, err := c.latent(ctx, epsilon)
		if err != nil {
			return err
		}
		accuracy := k.Accuracy(c.clean, c.test.labels)
		if math.IsInf(epsilon, 1) {
			s.add("MNIST", "no noise"+c.name, epsilon, accuracy)
			continue
		}
		s.add("MNIST", "latent"+c.name, epsilon, accuracy)
		if c.seed >= pixelRuns {
			continue
		}
		z, err := vlmRelease(ctx, c.model, c.u, vlmShare*epsilon, c.seed, "collection")
		if err != nil {
			return err
		}
		o := vlm.ClassifierOptions{Flip: vlm.FlipProbability(digits, (1-vlmShare)*epsilon), Epochs: pixelEpochs, Rate: pixelRate}
		if k, err = c.classifier(ctx, c.model.Decode(z), epsilon, o); err != nil {
			return err
		}
		s.add("MNIST", "features"+c.name, epsilon, k.Accuracy(c.test.x, c.test.labels))
		if c.name != "" && c.setting != vlmFull[0] {
			continue // direct noise is the same for all networks
		}
		noisy := matrix(c.train.x.Rows, c.train.x.Cols)
		if err := vlm.Ranges(c.train.x).Noise(noisy, c.train.x, vlmShare*epsilon, encoder.Rand(c.seed, "direct noise", 0)); err != nil {
			return err
		}
		if k, err = c.classifier(ctx, noisy, epsilon, o); err != nil {
			return err
		}
		s.add("MNIST", "direct noise", epsilon, k.Accuracy(c.test.x, c.test.labels))
	}
	return nil
}

func (c *collection) privateSeries(ctx context.Context) error {
	s := &c.o.study
	for _, epsilon := range c.o.epsilons {
		c.o.line.Share("classifying", 0, fmt.Sprintf("ε = %g", epsilon))
		k, err := c.latent(ctx, epsilon)
		if err != nil {
			return err
		}
		for _, test := range []struct {
			series string
			share  float64
		}{{"all of ε on the encoding", 1}, {"0.7 ε on the encoding", vlmShare}} {
			z, err := vlmRelease(ctx, c.model, c.clean, test.share*epsilon, c.seed, "test")
			if err != nil {
				return err
			}
			s.add("MNIST", test.series+c.name, epsilon, k.Accuracy(z, c.test.labels))
		}
		if c.seed > 0 || (c.name != "" && c.setting != vlmFull[0]) {
			continue
		}
		bound, err := vlm.AccuracyBound(epsilon, digits)
		if err != nil {
			return err
		}
		s.add("MNIST", "bound (10)", epsilon, bound)
	}
	return nil
}
