// SPDX-License-Identifier: Apache-2.0

package dense

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/noisewright/noisewright/internal/check"
)

// wanted reports whether a gradient is asked for, and panics unless its shape is that
// of m. An empty matrix asks for none.
func wanted(d, m Matrix) bool {
	if d.Data == nil {
		return false
	}
	if d.Rows != m.Rows || d.Cols != m.Cols {
		panic(fmt.Sprintf("dense: gradient of %d×%d for %d×%d", d.Rows, d.Cols, m.Rows, m.Cols))
	}
	return true
}

// SquaredError returns the mean over all entries of (pred - target)². d, if it is not
// empty, becomes its gradient by pred.
func SquaredError(pred, target, d Matrix) float64 {
	if pred.Rows != target.Rows || pred.Cols != target.Cols {
		panic(fmt.Sprintf("dense: prediction of %d×%d for a target of %d×%d", pred.Rows, pred.Cols, target.Rows, target.Cols))
	}
	gradient := wanted(d, pred)
	sum, n := 0.0, float64(pred.Rows*pred.Cols)
	for i, v := range pred.Data[:pred.Rows*pred.Cols] {
		r := v - target.Data[i]
		sum += r * r
		if gradient {
			d.Data[i] = 2 * r / n
		}
	}
	return sum / n
}

// CrossEntropy returns the mean over the rows of -log p(label), where p is the softmax of
// the logits. d, if it is not empty, becomes its gradient by the logits.
func CrossEntropy(logits Matrix, labels []int, d Matrix) float64 {
	return NoisyCrossEntropy(logits, labels, 0, d)
}

// NoisyCrossEntropy is CrossEntropy of labels replaced by any of the others, all as likely, with
// probability flip: the mean of -log Σ_y p(label|y)·p(y). Its gradient is the softmax less the
// posterior of y (A. Mansbridge et al., Learning to Noise, 2020, equation 8). 0 <= flip < 1.
func NoisyCrossEntropy(logits Matrix, labels []int, flip float64, d Matrix) float64 {
	if len(labels) != logits.Rows || !(flip >= 0 && flip < 1) {
		panic(fmt.Sprintf("dense: %d labels, flipped with probability %g, for %d rows", len(labels), flip, logits.Rows))
	}
	gradient := wanted(d, logits)
	var exps []float64
	if !gradient {
		exps = make([]float64, logits.Cols)
	}
	share := flip / float64(logits.Cols-1) // of each other label
	sum, n := 0.0, float64(logits.Rows)
	for i, label := range labels {
		row := Row(logits, i)
		if gradient {
			exps = Row(d, i)
		}
		// All are of e^(z-peak), so that none overflows, and one is 1.
		peak := slices.Max(row)
		all, others := 0.0, 0.0
		for y, z := range row {
			exps[y] = math.Exp(z - peak)
			all += exps[y]
			if y != label {
				others += exps[y]
			}
		}
		if flip == 0 {
			// What is below may be 0 here, where the label is far from the likeliest.
			sum += math.Log(all) + peak - row[label]
			if gradient {
				floats.Scale(1/(all*n), exps)
				exps[label] -= 1 / n
			}
			continue
		}
		own := exps[label]
		noisy := (1-flip)*own + share*others
		sum += math.Log(all) - math.Log(noisy)
		if gradient {
			floats.Scale((1/all-share/noisy)/n, exps)
			exps[label] = own * (1/all - (1-flip)/noisy) / n
		}
	}
	return sum / n
}

// LaplacePrior is the scale of the Laplace distribution of variance 1.
const LaplacePrior = 1 / math.Sqrt2

// LaplaceKL returns the mean over the rows of the Kullback-Leibler divergence of independent
// Laplace noise around the row from independent Laplace noise of scale LaplacePrior around 0.
// Column j has the scale b = e^logScale[j], and with b0 for that of the prior contributes
//
//	log(b0/b) + |μ|/b0 + (b/b0)·e^(-|μ|/b) - 1.
//
// d, if not empty, becomes the gradient by the means, and dLogScale, if not nil, that by logScale.
func LaplaceKL(mean Matrix, logScale []float64, d Matrix, dLogScale []float64) float64 {
	if len(logScale) != mean.Cols || (dLogScale != nil && len(dLogScale) != mean.Cols) {
		panic(fmt.Sprintf("dense: %d scales and %d gradients for %d columns", len(logScale), len(dLogScale), mean.Cols))
	}
	gradient := wanted(d, mean)
	clear(dLogScale)
	sum, n := 0.0, float64(mean.Rows)
	for i := range mean.Rows {
		for j, m := range Row(mean, i) {
			b, size := math.Exp(logScale[j]), math.Abs(m)
			tail := math.Exp(-size / b)
			sum += math.Log(LaplacePrior) - logScale[j] + (size+b*tail)/LaplacePrior - 1
			if gradient {
				// 1 - tail is 0 at 0, where the sign is of no importance.
				d.Data[i*d.Stride+j] = math.Copysign(-math.Expm1(-size/b), m) / LaplacePrior / n
			}
			if dLogScale != nil {
				dLogScale[j] += ((b+size)*tail/LaplacePrior - 1) / n
			}
		}
	}
	return sum / n
}

// Target is what is asked of each person: numbers, a class, or several of these.
type Target struct {
	Values  Matrix // a row for each person; empty for classes
	Labels  []int  // nil for numbers
	Classes int    // 0 for numbers
	Parts   []Part // several targets, whose outputs are side by side; then the others are empty
}

// Part is one of several targets, and what its loss counts.
type Part struct {
	Target
	Weight float64
}

// Block returns the outputs of a part, whose first is the given column, and the column after them.
func (p *Part) Block(outputs Matrix, from int) (block Matrix, to int) {
	block = NewMatrix(outputs.Rows, p.Outputs())
	for i := range block.Rows {
		copy(Row(block, i), Row(outputs, i)[from:])
	}
	return block, from + block.Cols
}

// Outputs is how many numbers answer it: as many as there are, or a logit for each class.
func (t *Target) Outputs() int {
	n := 0
	for i := range t.Parts {
		n += t.Parts[i].Outputs()
	}
	if n > 0 {
		return n
	}
	if t.Classes == 0 {
		return t.Values.Cols
	}
	return t.Classes
}

// Pick returns the targets of some people.
func (t *Target) Pick(people []int) Target {
	if t.Parts != nil {
		parts := make([]Part, len(t.Parts))
		for i := range parts {
			parts[i] = Part{t.Parts[i].Pick(people), t.Parts[i].Weight}
		}
		return Target{Parts: parts}
	}
	if t.Classes == 0 {
		return Target{Values: Pick(t.Values, people)}
	}
	return Target{Classes: t.Classes, Labels: Chosen(t.Labels, people)}
}

// Loss is CrossEntropy or SquaredError of the outputs, of several targets the sum of what they lose
// times their weights, and d, unless empty, becomes its gradient.
func (t *Target) Loss(outputs, d Matrix) float64 {
	if t.Parts != nil {
		return t.sum(outputs, d)
	}
	if t.Classes == 0 {
		return SquaredError(outputs, t.Values, d)
	}
	return CrossEntropy(outputs, t.Labels, d)
}

func (t *Target) sum(outputs, d Matrix) (loss float64) {
	gradient, from := wanted(d, outputs), 0
	for k := range t.Parts {
		p, first := &t.Parts[k], from
		var block, slope Matrix
		block, from = p.Block(outputs, from)
		if gradient {
			slope = NewMatrix(block.Rows, block.Cols)
		}
		loss += p.Weight * p.Loss(block, slope)
		for i := range slope.Rows {
			for j, v := range Row(slope, i) {
				d.Data[i*d.Stride+first+j] = p.Weight * v
			}
		}
	}
	return loss
}

// Wrong is the share of the rows whose largest logit is of another class, 0 for numbers and for
// several targets.
func (t *Target) Wrong(outputs Matrix) float64 {
	if t.Classes == 0 {
		return 0
	}
	wrong := 0
	for i, y := range Likeliest(outputs) {
		if y != t.Labels[i] {
			wrong++
		}
	}
	return float64(wrong) / float64(len(t.Labels))
}

// CheckLabels reports the first label that is no class, 0 to classes-1.
func CheckLabels(list *check.List, field string, labels []int, classes int) {
	if i := slices.IndexFunc(labels, func(l int) bool { return l < 0 || l >= classes }); i >= 0 {
		list.Badf(fmt.Sprintf("%s[%d]", field, i), labels[i], "0 to %d", classes-1)
	}
}

// Likeliest returns the column of the largest logit of each row, the first of equals.
func Likeliest(logits Matrix) []int {
	best := make([]int, logits.Rows)
	for i := range best {
		row := Row(logits, i)
		for y, v := range row {
			if v > row[best[i]] {
				best[i] = y
			}
		}
	}
	return best
}
