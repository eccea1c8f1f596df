package encoder

import "github.com/noisewright/noisewright/latent/bundle"

// Body is what encodings are clipped to: around 0, with the same radius in each coordinate.
type Body struct {
	Domain      bundle.Domain // Box, L1Ball or Ball
	Radius      float64       // above 0, in units of the encoding
	Coordinates int           // at least 1
}

// Clip moves each row of u (N×Z) into the body, in place, as a bundle does but for the
// rounding to a grid.
func (b Body) Clip(u Matrix) { panic("not yet") }

// ClipBackward turns the gradient d (N×Z) of what was clipped into that of raw, which
// became clipped, in place.
func (b Body) ClipBackward(raw, clipped, d Matrix) { panic("not yet") }
