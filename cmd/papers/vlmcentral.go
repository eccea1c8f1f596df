package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/noisewright/noisewright/encoder/vlm"
)

// centralDelta is that of the paper.
const centralDelta = 1e-5

// centralCases are how the people of the training data are protected.
var centralCases = []struct {
	series         string
	epsilon        float64 // 0: not at all
	publishedOrder bool
}{
	{"not protected", 0, false},
	{"central ε = 5", 5, false},
	{"central ε = 1", 1, false},
	{"order of the paper, noise of ε = 5", 5, true},
}

var vlmFigure7 = vlmFigure{
	name:  "vlm-figure7",
	short: "Figure 7 of Mansbridge et al. (2020): networks whose training data is protected too",
	about: `Collect data as vlm-figure1 does, with networks that were trained by DP-Adam
(Poisson sampling, gradients clipped to norm 1, delta 1e-5 for people added or removed).
The axis is the local epsilon of those who send; series are the central epsilon of
those whose images trained the network. Encoder and decoder are trained privately
together. The paper trains without privacy, freezes the decoder, and trains the
encoder again: the frozen decoder knows the training data, so what is trained against
it has no guarantee. That order is a series too, with the noise that would be right
for 5 if the decoder were public.

` + mnistHelp,
	data: mnistFolder,
	published: []string{
		"the paper has central epsilon 5 and 1 for its networks, at delta 1e-5, and fixes neither epochs nor accountant",
	},
	run: func(ctx context.Context, o *vlmOptions) error { return o.centralSeries(ctx) },
}

func (o *vlmOptions) centralSeries(ctx context.Context) error {
	parts, err := readParts(o.data)
	if err != nil {
		return err
	}
	setting := o.settings()[0]
	x := parts.train.choose(parts.network[:min(setting.people, len(parts.network))]).x
	for seed := range o.seeds() {
		for _, k := range centralCases {
			var central *vlm.Central
			if k.epsilon > 0 {
				central = &vlm.Central{
					Epsilon: k.epsilon, Delta: centralDelta, Parts: vlm.Parts{Encoder: true}, PublishedOrder: k.publishedOrder,
					Random: rand.New(rand.NewPCG(seed, 7)), //nolint:gosec // a study, to be the same again
				}
				if !k.publishedOrder {
					central.Parts.Decoder = true // nobody asks for a better decoder here
				}
			}
			m, err := o.network(ctx, setting, x, seed, "mnist", central)
			if err != nil {
				return err
			}
			c := &collection{o: o, model: m, parts: parts, seed: seed, train: parts.train.choose(parts.collect), test: parts.test.choose(parts.private)}
			c.u, c.clean = m.Encode(c.train.x), m.Encode(c.test.x)
			for _, epsilon := range o.epsilons {
				o.line.Share("classifying", 0, fmt.Sprintf("ε = %g", epsilon))
				classifier, err := c.latent(ctx, epsilon)
				if err != nil {
					return err
				}
				o.study.add("MNIST", k.series, epsilon, classifier.Accuracy(c.clean, c.test.labels))
			}
		}
	}
	return nil
}
