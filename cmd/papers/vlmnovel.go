package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/vlm"
	"github.com/noisewright/noisewright/encoder"
)

// novelDigit is the class that the training data has not.
const novelDigit = 9

var vlmFigure2 = vlmFigure{
	name:  "vlm-figure2",
	short: "Figure 2 of Mansbridge et al. (2020): people of a class that the network has not seen",
	about: `Run the experiment behind figure 2: a network is trained on the digits 0 to 8, and a
classifier is to tell 9 from them by what people send, nines and as many others. All of
epsilon is for the encoding: that somebody belongs to those who were asked for a nine is
known. The accuracy is on clean people, half of them nines, so 0.5 is chance.

` + mnistHelp,
	data: mnistFolder,
	published: []string{
		"about 75 % at local epsilon 2, for encodings and for features, and above chance at 1",
	},
	run: func(ctx context.Context, o *vlmOptions) error { return o.novelClass(ctx) },
}

func (o *vlmOptions) novelClass(ctx context.Context) error {
	parts, err := readParts(o.data)
	if err != nil {
		return err
	}
	var known, novel []int
	for i, y := range parts.train.labels {
		if y == novelDigit {
			novel = append(novel, i)
		} else {
			known = append(known, i)
		}
	}
	s := o.settings()[0]
	for _, seed := range o.seeds() {
		// Eight ninths of the known digits are for the network, the others for the classifier.
		m, err := o.network(ctx, s, parts.train.choose(known[:min(s.people, len(known)*8/9)]).x, seed, "mnist-0-to-8", nil)
		if err != nil {
			return err
		}
		train := novelLabels(parts.train.choose(slices.Concat(known[len(known)*8/9:], novel)))
		train = train.choose(train.balanced(encoders.Rand(seed, "novel", 0).Perm(len(train.labels)), 2))
		test := novelLabels(parts.test.choose(span(len(parts.test.labels), 0, 1)))
		test = test.choose(test.balanced(span(len(test.labels), 0, 1), 2))
		if err := o.novelSeries(ctx, m, train, test, seed); err != nil {
			return err
		}
	}
	return nil
}

// novelLabels replaces classes by whether they are the novel one.
func novelLabels(p people) people {
	for i, y := range p.labels {
		p.labels[i] = 0
		if y == novelDigit {
			p.labels[i] = 1
		}
	}
	return p
}

func (o *vlmOptions) novelSeries(ctx context.Context, m *vlm.Model, train, test people, seed uint64) error {
	u, clean := m.Encode(train.x), m.Encode(test.x)
	add := func(series string, epsilon float64, z encoder.Matrix, options vlm.ClassifierOptions, x encoder.Matrix) error {
		options.Classes, options.Seed = 2, seed
		k, err := vlm.TrainClassifier(ctx, z, train.labels, options)
		if err == nil {
			o.study.add("MNIST, 9 against others", series, epsilon, k.Accuracy(x, test.labels))
		}
		return err
	}
	if err := add("no noise", math.Inf(1), u, vlm.ClassifierOptions{}, clean); err != nil {
		return err
	}
	for _, epsilon := range append(slices.Clone(o.epsilons), 1) {
		o.line.Share("classifying", 0, fmt.Sprintf("ε = %g", epsilon))
		z, err := vlmRelease(ctx, m, u, epsilon, seed, "novel class")
		if err != nil {
			return err
		}
		if err := add("latent", epsilon, z, vlm.ClassifierOptions{}, clean); err != nil {
			return err
		}
		if err := add("features", epsilon, m.Decode(z), pixels, test.x); err != nil {
			return err
		}
		if err := add("direct noise", epsilon, noisyRanges(train.x, epsilon, seed), pixels, test.x); err != nil {
			return err
		}
	}
	return nil
}
