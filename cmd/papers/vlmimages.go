// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
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

// The names of the files of MNIST are that of a part and one of these.
const (
	trainPart, testPart    = "train", "t10k"
	imagesName, labelsName = "-images-idx3-ubyte", "-labels-idx1-ubyte"
)

// readImages reads a part of MNIST.
func readImages(folder, part string) (images, error) {
	pixels, err := readIDX(folder, part+imagesName, 3)
	if err != nil {
		return images{}, err
	}
	labels, err := readIDX(folder, part+labelsName, 1)
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

// choose returns the log-odds of the pixels of the given images, less those of a black pixel, and their
// labels. Four fifths of the numbers are 0 so, which the products of matrices skip.
func (im images) choose(numbers []int) people {
	size := len(im.pixels.Data) / im.pixels.Dims[0]
	out := people{matrix(len(numbers), size), make([]int, len(numbers))}
	var odds [256]float64
	for v := range odds {
		odds[v] = idx.Logit(byte(v), pixelAlpha) - idx.Logit(0, pixelAlpha)
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
	train, err := readImages(folder, trainPart)
	if err != nil {
		return nil, err
	}
	test, err := readImages(folder, testPart)
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

// vlmShare is the share of ε for the features of MNIST, λ, in the paper's table of parameters.
const vlmShare = 0.7

// Classifiers of pixels, which are a hundred times as many as encodings, are trained so: at
// the rate of others they end with one class for everybody.
var pixels = vlm.ClassifierOptions{Epochs: 10, Rate: 1e-4}

// What the answers of people choose from on MNIST. Table 4 of the paper has l from 5 to 10, ε_pre from
// 5 to 29, and the share 0.7 for each ε; half is better where there is much noise.
var imageShares = []float64{0.5, vlmShare}

// The largest local ε at which sharpened encodings of digits were better, of clean people and of private ones.
const sharpAt, sharpPrivateAt = 2, 6

// imageScene makes a scene of pictures; those that train the network come first.
func (o *vlmOptions) imageScene(data string, classes int, seed uint64, network encoder.Matrix, train, ask, test people, shares []float64) *scene {
	networks := o.networks
	if networks == nil {
		if networks = choices([]float64{1}, []float64{5}, []float64{15}); o.full {
			networks = append(networks, choice{1, 10, 27})
		}
	}
	s := &scene{
		data: data, classes: classes, seed: seed, network: network, train: train, ask: ask, test: test,
		options: vlm.Options{Encoder: o.hidden, Epochs: o.epochs}, pixels: pixels,
	}
	for _, n := range networks {
		s.choices = append(s.choices, choices(shares, []float64{n.radius}, []float64{n.trainingEpsilon})...)
	}
	if !o.full {
		// There is a minute for all.
		s.pixels.Epochs, s.pixels.Rate = max(2, 400/max(1, len(train.labels)/64)), 5e-4
	}
	s.direct = func(epsilon float64) encoder.Matrix { return noisyRanges(s.train.x, epsilon, seed) }
	return s
}

// collectImages adds the lines of classifiers of digits.
func (o *vlmOptions) collectImages(ctx context.Context, private, direct bool, levels ...level) error {
	parts, err := readParts(o.data)
	if err != nil {
		return err
	}
	for run := range o.runs {
		s := o.imageScene("MNIST", digits, runSeed(o.seed, run), parts.train.choose(parts.network[:min(o.people, len(parts.network))]).x,
			parts.train.choose(parts.collect), parts.train.choose(parts.ask), parts.test.choose(parts.private), imageShares)
		if s.sharpAt = sharpAt; private {
			s.sharpAt = sharpPrivateAt
		}
		o.size(s, len(parts.network), o.imageTraining())
		if err := o.lines(ctx, s, private, levels...); err != nil {
			return err
		}
		if direct {
			if err := o.directLine(ctx, s); err != nil {
				return err
			}
		}
		if !private {
			continue
		}
		for _, epsilon := range o.epsilons {
			if run == 0 && !math.IsInf(epsilon, 1) {
				o.study.add(s.at(levels[0], boundSeries, epsilon), accuracyBound(epsilon, digits))
			}
		}
	}
	return nil
}

const novelDigit = 9

// novelClass adds the lines of classifiers that tell a digit from those that the network has seen.
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
	for run := range o.runs {
		seed := runSeed(o.seed, run)
		// Eight ninths of the known digits are for the network, the others for the classifier, but for
		// a tenth that is asked.
		collected := novelLabels(parts.train.choose(slices.Concat(known[len(known)*8/9:], novel)))
		order := collected.balanced(encoders.Rand(seed, "novel", 0).Perm(len(collected.labels)), 2)
		test := novelLabels(parts.test.choose(span(len(parts.test.labels), 0, 1)))
		s := o.imageScene("MNIST, 9 against others", 2, seed, parts.train.choose(known[:min(o.people, len(known)*8/9)]).x,
			collected.choose(order[len(order)/10:]), collected.choose(order[:len(order)/10]), test.choose(test.balanced(span(len(test.labels), 0, 1), 2)), []float64{1})
		o.size(s, len(known)*8/9, o.imageTraining())
		if err := o.lines(ctx, s, false, latentLevel, featureLevel); err != nil {
			return err
		}
		if err := o.directLine(ctx, s); err != nil {
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
