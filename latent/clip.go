package latent

import (
	"context"
	"math"

	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
)

// BestClip returns the Clip, from one half to one, with which noise of the kind has the smallest
// expected loss on the training data with a task-aware encoder; "" means any kind. A tight clip
// makes for less noise and more bias. It is for bundle.Ball and bundle.Box.
//
// Nothing is designed: truncated Laplace and staircase noise, which come close, stand for
// bundle.Designed, and for bundle.LocalUnbiased, whose own is a little wider. The cost and
// the errors are those of nine calls of Design.
func (p Problem) BestClip(ctx context.Context, kind bundle.Kind) (float64, error) {
	var kinds []bundle.Kind
	switch kind {
	case "":
	case bundle.Designed, bundle.LocalUnbiased:
		kinds = []bundle.Kind{noise.TruncatedLaplace, noise.Staircase}
	default:
		kinds = []bundle.Kind{kind}
	}
	best, least := 0.5, math.Inf(1)
	for _, share := range []float64{0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1} {
		p.Clip = share
		r, err := Design(ctx, p, Options{Kinds: kinds})
		if err != nil {
			return 0, err
		}
		for _, c := range r.Candidates {
			if c.Encoder == taskAware && c.Loss < least {
				best, least = share, c.Loss
			}
		}
	}
	return best, nil
}
