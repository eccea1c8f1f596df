package encoder

import (
	"context"

	"github.com/noisewright/noisewright/latent/bundle"
)

// Choice is how an encoding is sent: how many numbers, with what noise, clipped to what.
type Choice struct {
	Coordinates int
	Noise       bundle.Kind
	Domain      bundle.Domain
}

// Trial is what became of a choice.
type Trial struct {
	Choice
	Loss, StandardError float64 // on people held out, with fresh noise
	Err                 error   // why there is no loss; nil
}

// Search trains each choice and returns the trials, those of the least loss first.
func Search(ctx context.Context, choices []Choice, train func(context.Context, Choice) (loss, standardError float64, err error)) ([]Trial, error) {
	panic("not yet")
}
