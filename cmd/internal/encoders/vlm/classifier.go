// SPDX-License-Identifier: Apache-2.0

package vlm

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
)

// ClassifierOptions say how a classifier is trained. A zero value means the number in brackets.
type ClassifierOptions struct {
	Classes int // at least 2
	// Flip is the probability with which a label was replaced by another one.
	Flip   float64
	Rate   float64 // of Adam [0.001]
	Epochs int     // [30, or as many as make 2000 steps]
	Seed   uint64
}

// The hidden layer of a classifier, of ReLUs, and the people in a step of its training.
const hiddenUnits, peopleInStep = 50, 64

// Classifier is a network that tells classes from what people sent.
type Classifier struct {
	network *dense.Network
	scaling dense.Scaling
}

// TrainClassifier trains a classifier on rows of z, which are divided column by column by their
// standard deviations, with labels that were flipped: the loss is that of the labels as they
// were, with the flips summed over (equation 8). An interrupted context ends it with an error.
func TrainClassifier(ctx context.Context, z encoder.Matrix, labels []int, o ClassifierOptions) (*Classifier, error) {
	o.Rate = cmp.Or(o.Rate, 1e-3)
	o.Epochs = cmp.Or(o.Epochs, max(30, 2000/max(1, z.Rows/peopleInStep)))
	if err := o.check(z, labels); err != nil {
		return nil, err
	}
	c := &Classifier{scaling: dense.Scaling{Mean: make([]float64, z.Cols), Scale: dense.Standardize(z).Scale}}
	x := c.scaling.Apply(z)
	learner := dense.NewLearner(dense.MLP(z.Cols, []int{hiddenUnits}, dense.ReLU, o.Classes), dense.Adam{Rate: o.Rate})
	c.network = learner.Network
	c.network.Init(encoders.Rand(o.Seed, "classifier", 0))
	size := min(peopleInStep, z.Rows)
	batch, chosen, d := dense.NewMatrix(size, z.Cols), make([]int, size), dense.NewMatrix(size, o.Classes)
	for epoch := range o.Epochs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		order := encoders.Rand(o.Seed, "classifier's order", epoch).Perm(z.Rows)
		for ; len(order) >= size; order = order[size:] {
			for i, row := range order[:size] {
				copy(dense.Row(batch, i), dense.Row(x, row))
				chosen[i] = labels[row]
			}
			loss := learner.Fit(batch, d, func(logits, d dense.Matrix) float64 {
				return dense.NoisyCrossEntropy(logits, chosen, o.Flip, d)
			})
			if !check.Finite(loss) {
				return nil, check.Errorf("vlm", ErrDiverged, "the loss of the classifier is %g in epoch %d: a smaller rate may help", loss, epoch+1)
			}
		}
	}
	return c, nil
}

func (o ClassifierOptions) check(z encoder.Matrix, labels []int) error {
	bad := check.In("vlm")
	bad.Want(o.Classes >= 2, "classes", o.Classes, "at least 2")
	last := 1 - 1/float64(o.Classes)
	bad.Want(o.Flip >= 0 && o.Flip <= last, "flip", o.Flip, "0 to %.3g, where a label says nothing", last)
	bad.Want(check.Positive(o.Rate), "rate", o.Rate, "a finite number above 0")
	bad.Want(o.Epochs >= 1, "epochs", o.Epochs, "at least 1")
	bad.Want(z.Rows >= 1 && len(labels) == z.Rows, "labels", len(labels), "one for each of the %d people", z.Rows)
	dense.CheckLabels(bad, "labels", labels, o.Classes)
	bad.Want(check.Finite(z.Data...), "encodings", "NaN or infinite", "finite numbers")
	return bad.Err()
}

// Right says for each row whether the most likely class is right.
func (c *Classifier) Right(z encoder.Matrix, labels []int) []bool {
	out := make([]bool, z.Rows)
	for i, y := range dense.Likeliest(c.network.Forward(new(dense.Pass), c.scaling.Apply(z))) {
		out[i] = y == labels[i]
	}
	return out
}

// Accuracy is the share of rows that Right is true of.
func (c *Classifier) Accuracy(z encoder.Matrix, labels []int) float64 {
	n := 0.0
	for _, right := range c.Right(z, labels) {
		if right {
			n++
		}
	}
	return n / float64(z.Rows)
}

// FlipProbability returns the probability with which randomized response replaces a class by
// another, each of the others being as likely, for a promise of epsilon: (K - 1)/(e^ε + K - 1) of
// K classes (Warner 1965; Kairouz, Oh & Viswanath 2014). At ε = +Inf it is 0.
func FlipProbability(classes int, epsilon float64) float64 {
	return float64(classes-1) / (math.Exp(epsilon) + float64(classes-1))
}

// Flip replaces each label by another one of 0 … classes-1 with the probability flip. It is
// FOR STUDIES ONLY; what is released comes from a local.Randomizer.
func Flip(labels []int, classes int, flip float64, r *rand.Rand) []int {
	out := make([]int, len(labels))
	for i, y := range labels {
		out[i] = y
		if r.Float64() < flip {
			out[i] = (y + 1 + r.IntN(classes-1)) % classes
		}
	}
	return out
}
