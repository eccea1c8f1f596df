package vlm

import (
	"math"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
)

// training is the first stage: encoder, decoder and perhaps the scales, together.
type training struct {
	m        *Model
	x        encoder.Matrix
	o        Options
	batches  int // in an epoch
	logScale []float64

	epoch   int // that order is of
	order   []int
	batch   encoder.Matrix
	e       elbo
	grads   [3][]float64 // of encoder, decoder and scales
	adams   [3]dense.Adam
	learned bool // the scales
	frozen  bool // the encoder
}

func newTraining(m *Model, x encoder.Matrix, o Options) *training {
	o.Batch = min(o.Batch, x.Rows)
	t := &training{
		m: m, x: x, o: o, batches: x.Rows / o.Batch, epoch: -1,
		logScale: make([]float64, o.Coordinates), learned: o.TrainingEpsilon == 0,
		batch: dense.NewMatrix(o.Batch, x.Cols),
	}
	t.e = newElbo(m, o.Batch)
	for j := range t.logScale {
		// A learned scale begins at that of the prior.
		t.logScale[j] = math.Log(dense.LaplacePrior)
		if !t.learned {
			t.logScale[j] = math.Log(2 * o.Radius / o.TrainingEpsilon)
		}
	}
	m.encoder.Init(encoders.Rand(o.Run.Seed, "encoder", 0))
	m.decoder.Init(encoders.Rand(o.Run.Seed, "decoder", 0))
	for i, params := range t.parameters() {
		t.grads[i] = make([]float64, len(params))
		t.adams[i].Rate = o.Rate
	}
	return t
}

func (t *training) parameters() [3][]float64 {
	return [3][]float64{t.m.encoder.Params(), t.m.decoder.Params(), t.logScale}
}

func (t *training) Step(step int) (loss float64, err error) {
	if epoch := step / t.batches; epoch != t.epoch {
		t.epoch, t.order = epoch, encoders.Rand(t.o.Run.Seed, "order", epoch).Perm(t.x.Rows)
	}
	from := step % t.batches * t.o.Batch
	for i, row := range t.order[from : from+t.o.Batch] {
		copy(dense.Row(t.batch, i), dense.Row(t.x, row))
	}
	for _, g := range t.grads {
		clear(g)
	}
	t.e.draw(t.logScale, encoders.Rand(t.o.Run.Seed, "noise", step))
	loss = t.e.forward(t.batch)
	t.e.backward(t.grads[0], t.grads[1], t.grads[2])
	for i, params := range t.parameters() {
		if (i == 0 && t.frozen) || (i == 2 && !t.learned) {
			continue
		}
		t.adams[i].Step(params, t.grads[i])
	}
	if !check.Finite(loss) {
		return loss, check.Errorf("vlm", ErrDiverged, "the loss is %g in step %d: a smaller rate, or features that are standardized, may help", loss, step+1)
	}
	return loss, nil
}

// parts are the names of the parameters in a checkpoint.
var parts = [3]string{"encoder", "decoder", "scales"}

func (t *training) State() map[string][]float64 {
	s := map[string][]float64{}
	for i, params := range t.parameters() {
		t.adams[i].Save(s, parts[i], params)
	}
	return s
}

func (t *training) Restore(state map[string][]float64) error {
	for i, params := range t.parameters() {
		if err := t.adams[i].Restore(state, parts[i], params); err != nil {
			return err
		}
	}
	return nil
}
