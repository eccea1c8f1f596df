package taskaware

import (
	"math"

	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/encoder/internal/dense"
)

// Evaluation is what is expected on people, over their noise.
type Evaluation struct {
	// Loss is the mean squared error or the cross entropy in nats, the mean of all draws.
	Loss float64
	// StandardError is that of Loss, from the differences between draws; the people are
	// given.
	StandardError float64
	// Wrong is the share of answers that are another class; 0 for numbers.
	Wrong float64
}

// Evaluate draws the noise of the schedule for other people, so many times for each.
//
// Errors wrap [dp.ErrInvalid].
func (r *Scheduled) Evaluate(d *encoder.Data, draws int, seed uint64) (Evaluation, error) {
	if err := sameShape(d, r.features); err != nil {
		return Evaluation{}, err
	}
	u := d.X
	if r.encoder != nil {
		u = r.encoder.Forward(&dense.Pass{}, d.X)
	}
	t, err := sameTarget(d, &r.like)
	if err != nil {
		return Evaluation{}, err
	}
	draw := encoder.Rand(seed, "evaluation", 0)
	return evaluate(&reader{net: r.reader.net, task: r.reader.task}, u, &t, draws, func(dst, u []float64) {
		laplace(dst, r.Scale, draw)
		for i, v := range u {
			dst[i] += v
		}
	}), nil
}

// evaluate averages over releases of codes.
func evaluate(r *reader, codes dense.Matrix, t *target, draws int, release func(dst, u []float64)) Evaluation {
	released := dense.NewMatrix(codes.Rows, codes.Cols)
	var e Evaluation
	squares := 0.0
	for range draws {
		release(released.Data, codes.Data)
		out := r.answer(released)
		loss := t.loss(out, dense.Matrix{})
		e.Loss += loss / float64(draws)
		squares += loss * loss / float64(draws)
		e.Wrong += t.wrong(out) / float64(draws)
	}
	e.StandardError = math.Sqrt(max(0, squares-e.Loss*e.Loss) / float64(max(draws-1, 1)))
	return e
}
