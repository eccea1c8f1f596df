// SPDX-License-Identifier: Apache-2.0

package vlm

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
)

// ThroughNoise is a classifier of encodings as they are, learned from encodings with Laplace noise
// whose scale is known. A classifier that learns p(class | encoding with noise) is nearly flat where
// there is much noise, so that for an encoding without noise the errors in the frequencies of
// the classes decide, not the encoding. This one learns p(class | encoding) itself.
//
// It stays with who holds the training data of the network: it knows where encodings lie.
type ThroughNoise struct {
	classifier Classifier
	places     encoder.Matrix // where encodings lie, K×Z
	shares     []float64      // of encodings that lie there
	classes    encoder.Matrix // p(class | place), K×classes
}

// How the places are found, and the fit: full steps of Adam, until they stop to matter.
const (
	mostPlaces, placedPeople, placeRounds = 60, 4000, 12
	weighSteps                            = 10
	throughSteps, throughRate             = 150, 0.05
)

// TrainThroughNoise trains on rows of z, encodings with Laplace noise of the scale on each coordinate, and labels that were flipped. Known are encodings without noise, which need no
// labels: those of the people who trained the network. With places k where they lie,
// it maximizes
//
//	Σ_i log Σ_k p(k | z_i) Σ_y p(label_i | y)·p_ψ(y | k) - ‖ψ‖²,
//
// of which p(k | z) is known and p_ψ is the softmax of an affine function of the place. Of the options
// Classes, Flip and Seed count.
func TrainThroughNoise(ctx context.Context, known, z encoder.Matrix, labels []int, scale float64, o ClassifierOptions) (*ThroughNoise, error) {
	o.Rate, o.Epochs = throughRate, cmp.Or(o.Epochs, throughSteps)
	if err := o.check(z, labels); err != nil {
		return nil, err
	}
	if !check.Positive(scale) {
		return nil, check.Field("vlm", "scale", scale, "a finite number above 0")
	}
	if known.Rows < 1 || known.Cols != z.Cols {
		return nil, check.Field("vlm", "known encodings", fmt.Sprintf("%d×%d", known.Rows, known.Cols), fmt.Sprintf("at least one, of %d coordinates", z.Cols))
	}
	c := &ThroughNoise{}
	c.findPlaces(known, o.Seed)
	c.addCorners(known)
	c.weigh(z, scale)
	_, deviation := dense.Moments(known)
	spread := 0.0
	for _, v := range deviation {
		spread = max(spread, v)
	}
	c.classifier.scaling = dense.Scaling{Mean: make([]float64, z.Cols), Scale: make([]float64, z.Cols)}
	for j := range z.Cols {
		c.classifier.scaling.Scale[j] = cmp.Or(spread, 1)
	}
	x := c.classifier.scaling.Apply(c.places)
	learner := dense.NewLearner(dense.MLP(z.Cols, nil, dense.ReLU, o.Classes), dense.Adam{Rate: o.Rate})
	c.classifier.network = learner.Network // from 0, where all classes are as likely
	fit := c.newFit(z, labels, scale, o)
	d, pass := dense.NewMatrix(x.Rows, o.Classes), dense.Pass{NoInput: true}
	for range o.Epochs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		fit.loss(learner.Forward(&pass, x), d)
		learner.Backward(&pass, d, learner.Grad)
		for i, v := range learner.Params() {
			learner.Grad[i] += 2 * v / float64(z.Rows) // of the prior
		}
		learner.Descend()
	}
	c.classes = dense.NewMatrix(x.Rows, o.Classes)
	softmax(c.classes, c.classifier.network.Forward(new(dense.Pass), x))
	return c, nil
}

// findPlaces divides encodings by k-means (Lloyd 1982).
func (c *ThroughNoise) findPlaces(known encoder.Matrix, seed uint64) {
	rows := encoders.Rand(seed, "places", 0).Perm(known.Rows)
	rows = rows[:min(len(rows), placedPeople)]
	c.places = dense.Pick(known, rows[:min(len(rows), mostPlaces)])
	nearest := make([]int, len(rows))
	for range placeRounds {
		sums, counts := dense.NewMatrix(c.places.Rows, known.Cols), make([]float64, c.places.Rows)
		for i, row := range rows {
			least := math.Inf(1)
			for k := range c.places.Rows {
				distance := 0.0
				for j, v := range dense.Row(c.places, k) {
					e := v - known.Data[row*known.Stride+j]
					distance += e * e
				}
				if distance < least {
					least, nearest[i] = distance, k
				}
			}
			counts[nearest[i]]++
			for j, v := range dense.Row(known, row) {
				sums.Data[nearest[i]*sums.Stride+j] += v
			}
		}
		c.shares = make([]float64, len(counts))
		for k, n := range counts {
			c.shares[k] = n / float64(len(rows))
			if n == 0 {
				continue // a place of nobody stays where it is
			}
			for j, v := range dense.Row(sums, k) {
				c.places.Data[k*c.places.Stride+j] = v / n
			}
		}
	}
}

// cornerShare is what the corners of the l1 ball that holds all known encodings, and of half of it, count
// at first: people of a class that the network has not seen may lie where nobody else does.
const cornerShare = 0.2

func (c *ThroughNoise) addCorners(known encoder.Matrix) {
	radius := 0.0
	for i := range known.Rows {
		norm := 0.0
		for _, v := range dense.Row(known, i) {
			norm += math.Abs(v)
		}
		radius = max(radius, norm)
	}
	for k := range c.shares {
		c.shares[k] *= 1 - cornerShare
	}
	d := known.Cols
	for _, size := range []float64{radius, -radius, radius / 2, -radius / 2} {
		for j := range d {
			corner := make([]float64, d)
			corner[j] = size
			c.places.Data = append(c.places.Data, corner...)
			c.shares = append(c.shares, cornerShare/float64(4*d))
		}
	}
	c.places.Rows = len(c.shares)
}

// weigh fits the shares of the places to what was sent (Kiefer & Wolfowitz 1956), by steps of EM.
func (c *ThroughNoise) weigh(z encoder.Matrix, scale float64) {
	z.Rows = min(z.Rows, placedPeople)
	shares := c.shares
	c.shares = slices.Repeat([]float64{1}, len(shares))
	likelihood := c.posterior(z, scale) // but for a factor of each row
	for range weighSteps {
		next := make([]float64, len(shares))
		for i := range z.Rows {
			row, sum := dense.Row(likelihood, i), 0.0
			for k, v := range row {
				sum += shares[k] * v
			}
			for k, v := range row {
				next[k] += shares[k] * v / sum / float64(z.Rows)
			}
		}
		shares = next
	}
	c.shares = shares
}

// posterior returns p(place | row of z) with Laplace noise of the scale.
func (c *ThroughNoise) posterior(z encoder.Matrix, scale float64) encoder.Matrix {
	out := dense.NewMatrix(z.Rows, c.places.Rows)
	for i := range z.Rows {
		row, u := dense.Row(out, i), dense.Row(z, i)
		least := math.Inf(1)
		for k := range row {
			for j, v := range dense.Row(c.places, k) {
				row[k] += math.Abs(v-u[j]) / scale
			}
			least = min(least, row[k])
		}
		sum := 0.0
		for k, v := range row {
			row[k] = c.shares[k] * math.Exp(least-v)
			sum += row[k]
		}
		for k := range row {
			row[k] /= max(sum, math.SmallestNonzeroFloat64)
		}
	}
	return out
}

// softmax sets dst to the classes' probabilities; it may be the logits.
func softmax(dst, logits encoder.Matrix) {
	for i := range logits.Rows {
		row, to := dense.Row(logits, i), dense.Row(dst, i)
		peak, sum := math.Inf(-1), 0.0
		for _, v := range row {
			peak = max(peak, v)
		}
		for y, v := range row {
			to[y] = math.Exp(v - peak)
			sum += to[y]
		}
		for y := range to {
			to[y] /= sum
		}
	}
}

// throughFit is what a fit keeps from step to step.
type throughFit struct {
	posterior   encoder.Matrix
	labels      []int
	kept, other float64 // probabilities of a label that is right, and of each wrong one
	p, byLabel  encoder.Matrix
	d           encoder.Matrix // gradient by p(label | place), classes×K
}

func (c *ThroughNoise) newFit(z encoder.Matrix, labels []int, scale float64, o ClassifierOptions) *throughFit {
	k := c.places.Rows
	return &throughFit{
		posterior: c.posterior(z, scale), labels: labels, kept: 1 - o.Flip, other: o.Flip / float64(o.Classes-1),
		p: dense.NewMatrix(k, o.Classes), byLabel: dense.NewMatrix(o.Classes, k), d: dense.NewMatrix(o.Classes, k),
	}
}

// loss returns the mean of -log p(label | z) over the people, and sets d to its gradient by the
// logits of the places.
func (f *throughFit) loss(logits, d encoder.Matrix) float64 {
	softmax(f.p, logits)
	for k := range f.p.Rows {
		for y, v := range dense.Row(f.p, k) {
			f.byLabel.Data[y*f.byLabel.Stride+k] = f.other + (f.kept-f.other)*v
		}
	}
	clear(f.d.Data)
	n, loss := float64(len(f.labels)), 0.0
	for i, label := range f.labels {
		posterior, by := dense.Row(f.posterior, i), dense.Row(f.byLabel, label)
		likelihood := 0.0
		for k, v := range posterior {
			likelihood += v * by[k]
		}
		likelihood = max(likelihood, 1e-300)
		loss -= math.Log(likelihood) / n
		to := dense.Row(f.d, label)
		for k, v := range posterior {
			to[k] -= v / likelihood / n
		}
	}
	for k := range f.p.Rows {
		p, to := dense.Row(f.p, k), dense.Row(d, k)
		mean := 0.0
		for y, v := range p {
			to[y] = (f.kept - f.other) * f.d.Data[y*f.d.Stride+k]
			mean += v * to[y]
		}
		for y, v := range p {
			to[y] = v * (to[y] - mean)
		}
	}
	return loss
}

// Right says for each encoding without noise whether the likeliest class is right.
func (c *ThroughNoise) Right(u encoder.Matrix, labels []int) []bool {
	return c.classifier.Right(u, labels)
}

// RightNoisy is Right of encodings with Laplace noise of the scale.
func (c *ThroughNoise) RightNoisy(z encoder.Matrix, scale float64, labels []int) []bool {
	posterior := c.posterior(z, scale)
	out := make([]bool, z.Rows)
	p := make([]float64, c.classes.Cols)
	for i := range out {
		clear(p)
		for k, v := range dense.Row(posterior, i) {
			for y, share := range dense.Row(c.classes, k) {
				p[y] += v * share
			}
		}
		best := 0
		for y, v := range p {
			if v > p[best] {
				best = y
			}
		}
		out[i] = best == labels[i]
	}
	return out
}
