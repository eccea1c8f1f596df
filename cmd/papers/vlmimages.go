package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/vlm"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/cmd/papers/idx"
	"github.com/noisewright/noisewright/encoder"
)

// digits is how many classes MNIST has.
const digits = 10

// pixelAlpha keeps the log-odds of pixels finite. The paper does not say what it does about
// pixels that are 0 or 1.
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
