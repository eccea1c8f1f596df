// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/vlm"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/cmd/papers/idx"
	"github.com/noisewright/noisewright/encoder"
)

const digits = 10

// pixelAlpha keeps the log-odds of pixels finite; the paper is silent about pixels of 0 or 1.
const pixelAlpha = 0.05

// images are the pictures and labels of one part of MNIST.
type images struct {
	pixels *idx.Array
	labels []int
}

// readImages reads a part of MNIST: "train" or "t10k".
func readImages(folder, part string) (images, error) {
	pixels, err := readIDX(folder, part+"-images-idx3-ubyte", 3)
	if err != nil {
		return images{}, err
	}
	labels, err := readIDX(folder, part+"-labels-idx1-ubyte", 1)
	if err != nil {
		return images{}, err
	}
	out := images{pixels, make([]int, len(labels.Data))}
	if pixels.Dims[0] != labels.Dims[0] {
		return images{}, shell.BadFile(folder, fmt.Errorf("the part %s has %d images and %d labels, want as many", part, pixels.Dims[0], labels.Dims[0]))
	}
	for i, y := range labels.Data {
		if y >= digits {
			return images{}, shell.BadFile(folder, fmt.Errorf("label %d of the part %s is %d, want a digit", i+1, part, y))
		}
		out.labels[i] = int(y)
	}
	return out, nil
}

func readIDX(folder, name string, dims int) (*idx.Array, error) {
	path := filepath.Join(folder, name)
	f, err := os.Open(path) //nolint:gosec // the user's file
	if errors.Is(err, fs.ErrNotExist) {
		path += ".gz"
		f, err = os.Open(path) //nolint:gosec // the user's file
	}
	if err != nil {
		return nil, shell.BadFile(path, shell.FileCause(err))
	}
	defer func() { _ = f.Close() }()
	a, err := idx.Read(f)
	if err == nil && len(a.Dims) != dims {
		err = fmt.Errorf("it has %d dimensions, want %d", len(a.Dims), dims)
	}
	if err != nil {
		return nil, shell.BadFile(path, err)
	}
	return a, nil
}

// choose returns the log-odds of the pixels of the given images, and their labels.
func (im images) choose(numbers []int) people {
	size := len(im.pixels.Data) / im.pixels.Dims[0]
	out := people{matrix(len(numbers), size), make([]int, len(numbers))}
	var odds [256]float64
	for v := range odds {
		odds[v] = idx.Logit(byte(v), pixelAlpha)
	}
	for i, k := range numbers {
		for j, v := range im.pixels.Data[k*size : (k+1)*size] {
			out.x.Data[i*size+j] = odds[v]
		}
		out.labels[i] = im.labels[k]
	}
	return out
}

// span returns the numbers from a share to another of n.
func span(n int, from, to float64) []int {
	lo, hi := int(from*float64(n)), int(to*float64(n))
	out := make([]int, hi-lo)
	for i := range out {
		out[i] = lo + i
	}
	return out
}

// imageParts are MNIST as the paper divides it: three quarters of the training part for the
// network, of the rest nine tenths for classifiers; the last quarter of the test part.
type imageParts struct {
	train, test           images
	network, collect, ask []int // of train
	private               []int // of test
}

func readParts(folder string) (*imageParts, error) {
	train, err := readImages(folder, "train")
	if err != nil {
		return nil, err
	}
	test, err := readImages(folder, "t10k")
	if err != nil {
		return nil, err
	}
	n := len(train.labels)
	if n < 100 || len(test.labels) < 20 || len(train.pixels.Data)/n != len(test.pixels.Data)/len(test.labels) {
		return nil, shell.BadFile(folder, fmt.Errorf("it has %d and %d images, want at least 100 and 20, of one size", n, len(test.labels)))
	}
	return &imageParts{
		train: train, test: test,
		network: span(n, 0, 0.75), collect: span(n, 0.75, 0.975), ask: span(n, 0.975, 1),
		private: span(len(test.labels), 0.75, 1),
	}, nil
}

// network trains a network on images. With a directory of checkpoints it goes on from what it
// finds there, and is done at once if that is complete.
func (o *vlmOptions) network(ctx context.Context, s vlmSetting, x encoder.Matrix, seed uint64, what string, central *vlm.Central) (*vlm.Model, error) {
	run := encoders.Run{Seed: seed, Progress: o.training(what, seed)}
	run.Options = fmt.Sprintf("%s, %v, %d images of %d pixels, seed %d", what, s, x.Rows, x.Cols, seed)
	if o.checkpoints != "" {
		run.Directory = filepath.Join(o.checkpoints, fmt.Sprintf("%s-%d-%d-%g-%g-%d", what, x.Rows, s.epochs, s.radius, s.trainingEpsilon, seed))
	}
	return vlm.Train(ctx, x, vlm.Options{Encoder: o.hidden, Radius: s.radius, TrainingEpsilon: s.trainingEpsilon, Epochs: s.epochs, Central: central, Run: run})
}

// training shows how far a training has come.
func (o *vlmOptions) training(what string, seed uint64) func(step, steps int, loss float64) {
	return func(step, steps int, loss float64) {
		o.line.Share(fmt.Sprintf("training %s, run %d", what, seed+1), float64(step)/float64(steps), fmt.Sprintf("step %d of %d, loss %.5g", step, steps, loss))
	}
}

// vlmShare is the share of ε for the features of MNIST, λ, in the paper's table of parameters.
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
	run: func(o *vlmOptions, ctx context.Context) error {
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
	run: func(o *vlmOptions, ctx context.Context) error {
		return o.collectImages(ctx, (*collection).privateSeries)
	},
}

// collection is a network and the people whose data is collected with it.
type collection struct {
	o           *vlmOptions
	setting     vlmSetting
	name        string // of the setting, in series; "" if there is one
	data        string // what points are of
	purpose     string // of what people send
	classes     int
	share       float64 // of ε that is spent on encodings; the rest is for classes
	epsilons    []float64
	features    bool // whether there are classifiers of features
	model       *vlm.Model
	train, test people
	u, clean    encoder.Matrix // of train and test
	seed        uint64
}

func (o *vlmOptions) collect(ctx context.Context, parts *imageParts, s vlmSetting, seed uint64, central *vlm.Central) (*collection, error) {
	x := parts.train.choose(parts.network[:min(s.people, len(parts.network))]).x
	m, err := o.network(ctx, s, x, seed, "mnist", central)
	if err != nil {
		return nil, err
	}
	c := &collection{
		o: o, setting: s, data: "MNIST", purpose: "collection", classes: digits, share: vlmShare, epsilons: o.epsilons, features: seed < pixelRuns,
		model: m, seed: seed, train: parts.train.choose(parts.collect), test: parts.test.choose(parts.private),
	}
	c.u, c.clean = m.Encode(c.train.x), m.Encode(c.test.x)
	return c, nil
}

// collectImages trains the networks and adds series for each.
func (o *vlmOptions) collectImages(ctx context.Context, add func(*collection, context.Context) error) error {
	parts, err := readParts(o.data)
	if err != nil {
		return err
	}
	settings := o.settings()
	for _, s := range settings {
		for seed := range o.seeds() {
			c, err := o.collect(ctx, parts, s, seed, nil)
			if err != nil {
				return err
			}
			if len(settings) > 1 {
				c.name = ", " + s.String()
			}
			if err := add(c, ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// release is what people send with a promise of epsilon.
func (c *collection) release(ctx context.Context, epsilon float64) (encoder.Matrix, error) {
	c.o.line.Share("classifying", 0, fmt.Sprintf("ε = %g", epsilon))
	return vlmRelease(ctx, c.model, c.u, c.share*epsilon, c.seed, c.purpose)
}

// latent trains a classifier on encodings and classes of people with a promise of epsilon.
func (c *collection) latent(ctx context.Context, epsilon float64) (*vlm.Classifier, error) {
	z, err := c.release(ctx, epsilon)
	if err != nil {
		return nil, err
	}
	return c.classifier(ctx, z, epsilon, vlm.ClassifierOptions{})
}

// classifier trains on people whose classes are flipped by their share of epsilon.
func (c *collection) classifier(ctx context.Context, z encoder.Matrix, epsilon float64, o vlm.ClassifierOptions) (*vlm.Classifier, error) {
	o.Classes, o.Seed = c.classes, c.seed
	labels := c.train.labels
	if c.share < 1 {
		o.Flip = vlm.FlipProbability(c.classes, (1-c.share)*epsilon)
		labels = vlm.Flip(labels, c.classes, o.Flip, encoders.Rand(c.seed, fmt.Sprintf("classes, ε = %g", epsilon), 0))
	}
	return vlm.TrainClassifier(ctx, z, labels, o)
}

// Classifiers of features, which are a hundred times as many as encodings, are trained so: at
// the rate of others they end with one class for everybody. pixelRuns is how many runs have
// them, for they take most of the time.
var pixels = vlm.ClassifierOptions{Epochs: 10, Rate: 1e-4}

const pixelRuns = 1

// score adds the accuracy on people x of a classifier of z.
func (c *collection) score(ctx context.Context, series string, epsilon float64, z encoder.Matrix, o vlm.ClassifierOptions, x encoder.Matrix) error {
	k, err := c.classifier(ctx, z, epsilon, o)
	if err == nil {
		c.o.study.add(c.data, series, epsilon, k.Accuracy(x, c.test.labels))
	}
	return err
}

func (c *collection) cleanSeries(ctx context.Context) error {
	if err := c.score(ctx, "no noise"+c.name, math.Inf(1), c.u, vlm.ClassifierOptions{}, c.clean); err != nil {
		return err
	}
	for _, epsilon := range c.epsilons {
		z, err := c.release(ctx, epsilon)
		if err != nil {
			return err
		}
		if err := c.score(ctx, "latent"+c.name, epsilon, z, vlm.ClassifierOptions{}, c.clean); err != nil {
			return err
		}
		if !c.features {
			continue
		}
		if err := c.score(ctx, "features"+c.name, epsilon, c.model.Decode(z), pixels, c.test.x); err != nil {
			return err
		}
		if c.name != "" && c.setting != vlmFull[0] {
			continue // direct noise is the same for all networks
		}
		if err := c.score(ctx, "direct noise", epsilon, noisyRanges(c.train.x, c.share*epsilon, c.seed), pixels, c.test.x); err != nil {
			return err
		}
	}
	return nil
}

func (c *collection) privateSeries(ctx context.Context) error {
	for _, epsilon := range c.epsilons {
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
			c.o.study.add(c.data, test.series+c.name, epsilon, k.Accuracy(z, c.test.labels))
		}
		if c.seed == 0 && (c.name == "" || c.setting == vlmFull[0]) {
			c.o.study.add(c.data, "bound (10)", epsilon, accuracyBound(epsilon, digits))
		}
	}
	return nil
}

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
	run: (*vlmOptions).centralSeries,
}

func (o *vlmOptions) centralSeries(ctx context.Context) error {
	parts, err := readParts(o.data)
	if err != nil {
		return err
	}
	for seed := range o.seeds() {
		for _, k := range centralCases {
			var central *vlm.Central
			if k.epsilon > 0 {
				central = &vlm.Central{
					// Nobody asks for a better decoder but by the order of the paper.
					Epsilon: k.epsilon, Delta: centralDelta, Parts: vlm.Parts{Encoder: true, Decoder: !k.publishedOrder}, PublishedOrder: k.publishedOrder,
					Random: rand.New(rand.NewPCG(seed, 7)), //nolint:gosec // a study, to be the same again
				}
			}
			c, err := o.collect(ctx, parts, o.settings()[0], seed, central)
			if err != nil {
				return err
			}
			for _, epsilon := range o.epsilons {
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
	run: (*vlmOptions).novelClass,
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
	for seed := range o.seeds() {
		// Eight ninths of the known digits are for the network, the others for the classifier.
		m, err := o.network(ctx, s, parts.train.choose(known[:min(s.people, len(known)*8/9)]).x, seed, "mnist-0-to-8", nil)
		if err != nil {
			return err
		}
		train := novelLabels(parts.train.choose(slices.Concat(known[len(known)*8/9:], novel)))
		train = train.choose(train.balanced(encoders.Rand(seed, "novel", 0).Perm(len(train.labels)), 2))
		test := novelLabels(parts.test.choose(span(len(parts.test.labels), 0, 1)))
		test = test.choose(test.balanced(span(len(test.labels), 0, 1), 2))
		c := &collection{
			o: o, data: "MNIST, 9 against others", purpose: "novel class", classes: 2, share: 1, epsilons: append(slices.Clone(o.epsilons), 1), features: true,
			model: m, seed: seed, train: train, test: test, u: m.Encode(train.x), clean: m.Encode(test.x),
		}
		if err := c.cleanSeries(ctx); err != nil {
			return err
		}
	}
	return nil
}

func novelLabels(p people) people {
	for i, y := range p.labels {
		p.labels[i] = 0
		if y == novelDigit {
			p.labels[i] = 1
		}
	}
	return p
}
