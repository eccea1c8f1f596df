package vlm

import (
	"context"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/encoder/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
)

// ClassifierOptions say how a classifier is trained. A zero value means the number in
// brackets.
type ClassifierOptions struct {
	Classes int // at least 2
	// Flip is the probability with which a label was replaced by another one.
	Flip   float64
	Hidden []int   // widths of layers with ReLU [50]
	Rate   float64 // of Adam [0.001]
	Batch  int     // [64]
	Epochs int     // [30, or as many as make 2000 steps]
	Seed   uint64
}

// Classifier is a network that tells classes from what people sent.
type Classifier struct {
	network *dense.Network
	scale   []float64
}

// TrainClassifier trains a classifier on rows of z, which are divided column by column by
// their standard deviations, with labels that were flipped: the loss is that of the
// labels as they were, with the flips summed over (equation 8). An interrupted context
// ends it with an error.
func TrainClassifier(ctx context.Context, z encoder.Matrix, labels []int, o ClassifierOptions) (*Classifier, error) {
	o = o.filled(z.Rows)
	if err := o.check(z, labels); err != nil {
		return nil, err
	}
	_, scale := dense.Standard(z)
	c := &Classifier{scale: scale}
	x := c.scaled(z)
	c.network = dense.New(append(append([]int{z.Cols}, o.Hidden...), o.Classes), activations(len(o.Hidden)))
	c.network.Init(encoder.Rand(o.Seed, "classifier", 0))
	adam := dense.Adam{Rate: o.Rate}
	pass := dense.Pass{NoInput: true}
	grad := make([]float64, len(c.network.Params()))
	o.Batch = min(o.Batch, z.Rows)
	batch, chosen := dense.NewMatrix(o.Batch, z.Cols), make([]int, o.Batch)
	d := dense.NewMatrix(o.Batch, o.Classes)
	for epoch := range o.Epochs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		order := encoder.Rand(o.Seed, "classifier's order", epoch).Perm(z.Rows)
		for ; len(order) >= o.Batch; order = order[o.Batch:] {
			for i, row := range order[:o.Batch] {
				copy(dense.Row(batch, i), dense.Row(x, row))
				chosen[i] = labels[row]
			}
			clear(grad)
			loss := dense.NoisyCrossEntropy(c.network.Forward(&pass, batch), chosen, o.Flip, d)
			c.network.Backward(&pass, d, grad)
			adam.Step(c.network.Params(), grad)
			if !check.Finite(loss) {
				return nil, check.Errorf("vlm", ErrDiverged, "the loss of the classifier is %g in epoch %d: a smaller rate may help", loss, epoch+1)
			}
		}
	}
	return c, nil
}

func (o ClassifierOptions) filled(people int) ClassifierOptions {
	if o.Hidden == nil {
		o.Hidden = []int{50}
	}
	orDefault(&o.Rate, 1e-3)
	orDefault(&o.Batch, 64)
	orDefault(&o.Epochs, max(30, 2000/max(1, people/max(1, o.Batch))))
	return o
}

func (o ClassifierOptions) check(z encoder.Matrix, labels []int) error {
	bad := check.In("vlm")
	if o.Classes < 2 {
		bad.Bad("classes", o.Classes, "at least 2")
	}
	if last := 1 - 1/float64(o.Classes); !(o.Flip >= 0 && o.Flip <= last) {
		bad.Badf("flip", o.Flip, "0 to %.3g, where a label says nothing", last)
	}
	if !(o.Rate > 0) || math.IsInf(o.Rate, 1) {
		bad.Bad("rate", o.Rate, "a finite number above 0")
	}
	if o.Batch < 1 || o.Epochs < 1 {
		bad.Bad("batch and epochs", fmt.Sprintf("%d and %d", o.Batch, o.Epochs), "at least 1")
	}
	if z.Rows < 1 || len(labels) != z.Rows {
		bad.Badf("labels", len(labels), "one for each of the %d people", z.Rows)
	}
	for i, y := range labels {
		if y < 0 || y >= o.Classes {
			bad.Badf(fmt.Sprintf("labels[%d]", i), y, "0 to %d", o.Classes-1)
			break
		}
	}
	if !check.Finite(z.Data...) {
		bad.Bad("encodings", "NaN or infinite", "finite numbers")
	}
	return bad.Err()
}

// scaled returns a copy of z with columns divided by c.scale.
func (c *Classifier) scaled(z encoder.Matrix) encoder.Matrix {
	out := dense.NewMatrix(z.Rows, z.Cols)
	for i := range z.Rows {
		for j, v := range dense.Row(z, i) {
			out.Data[i*out.Stride+j] = v / c.scale[j]
		}
	}
	return out
}

// Predict returns the most likely class of each row.
func (c *Classifier) Predict(z encoder.Matrix) []int {
	var pass dense.Pass
	logits := c.network.Forward(&pass, c.scaled(z))
	out := make([]int, z.Rows)
	for i := range out {
		row := dense.Row(logits, i)
		for y, v := range row {
			if v > row[out[i]] {
				out[i] = y
			}
		}
	}
	return out
}

// Right says for each row whether Predict is right.
func (c *Classifier) Right(z encoder.Matrix, labels []int) []bool {
	out := make([]bool, z.Rows)
	for i, y := range c.Predict(z) {
		out[i] = y == labels[i]
	}
	return out
}

// Accuracy is the share of rows that Predict is right about.
func (c *Classifier) Accuracy(z encoder.Matrix, labels []int) float64 {
	n := 0.0
	for _, right := range c.Right(z, labels) {
		if right {
			n++
		}
	}
	return n / float64(z.Rows)
}

// activations are ReLU for each hidden layer and none for the last one.
func activations(hidden int) []dense.Activation {
	out := make([]dense.Activation, hidden+1)
	for i := range hidden {
		out[i] = dense.ReLU
	}
	return out
}

// orDefault sets a zero value.
func orDefault[T int | float64](p *T, v T) {
	if *p == 0 {
		*p = v
	}
}
