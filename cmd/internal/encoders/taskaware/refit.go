package taskaware

import (
	"context"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/latent/bundle"
)

// Refit trains again, with local randomizers for the encodings that the first training gave
// the people it did not hold out (encoder.Fit): its own were for any. It returns the result of
// less loss on those held out, and r itself where the noise is of another kind, as that does
// not depend on encodings. The options are those of r.
//
// Once is enough: a third training gained nothing where it was tried. Errors are those of
// Train.
func (r *Result) Refit(ctx context.Context, o Options, run encoders.Run) (*Result, error) {
	if r.noise.Kind() != bundle.Local {
		return r, nil
	}
	o = o.fill(r.data.X.Cols)
	all := newTarget(&r.data.Target)
	people, _ := split(&all, r.data.X.Rows, o.HeldOut, o.Seed)
	u := r.encoder.Forward(&dense.Pass{}, r.scaling.Apply(dense.Pick(r.data.X, people)))
	r.body.Clip(u)
	noise, err := encoder.Fit(r.noise, u)
	if err != nil {
		return nil, err
	}
	again, err := Train(ctx, r.data, r.body, noise, o, run)
	if err != nil {
		return nil, err
	}
	if again.HeldOut.Loss < r.HeldOut.Loss {
		return again, nil
	}
	return r, nil
}
