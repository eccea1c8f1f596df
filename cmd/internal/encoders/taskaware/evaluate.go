package taskaware

import (
	"math"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
)

// Evaluation is what is expected on people, over their noise.
type Evaluation struct {
	// Loss is the mean squared error or the cross entropy in nats, the mean of all draws.
	Loss float64
	// StandardError is that of Loss, over people like these; 0 for one.
	StandardError float64
	// Wrong is the share of answers that are another class; 0 for numbers.
	Wrong float64
}

// Evaluate draws the noise of the schedule for other people, so many times for each.
//
// Errors wrap [dp.ErrInvalid].
func (r *Scheduled) Evaluate(d *encoders.Data, draws int, seed uint64) (Evaluation, error) {
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
	draw := encoders.Rand(seed, "evaluation", 0)
	return evaluate(&reader{net: r.reader.net, task: r.reader.task}, u, &t, draws, func(dst, u []float64) {
		laplace(dst, r.Scale, draw)
		for i, v := range u {
			dst[i] += v
		}
	}), nil
}

// evaluate averages over releases of codes.
func evaluate(r *reader, codes dense.Matrix, t *dense.Target, draws int, release func(dst, u []float64)) Evaluation {
	released := dense.NewMatrix(codes.Rows, codes.Cols)
	losses := make([]float64, codes.Rows) // of each person, over the draws
	var e Evaluation
	for range draws {
		release(released.Data, codes.Data)
		out := r.answer(released)
		for i := range losses {
			losses[i] += lossOf(t, out, i) / float64(draws)
		}
		e.Wrong += t.Wrong(out) / float64(draws)
	}
	n := float64(len(losses))
	for _, loss := range losses {
		e.Loss += loss / n
	}
	squares := 0.0
	for _, loss := range losses {
		squares += (loss - e.Loss) * (loss - e.Loss)
	}
	e.StandardError = math.Sqrt(squares / max(n-1, 1) / n)
	return e
}
