package bundle

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
)

// noPromise is that of the kind None: an infinite epsilon bounds nothing.
var noPromise = Promise{Epsilon: math.Inf(1)}

// Filter is Encode for a bundle of the kind None: what such a bundle releases. It is WITHOUT
// NOISE, and there is NO PROMISE about it: whoever knows the encoder may learn anything that
// the encoding tells. The error wraps ErrInvalid for a bundle of another kind.
func (b *Bundle) Filter(dst, x []float64) ([]float64, error) {
	if b.spec.Noise != None {
		return nil, check.Errorf("bundle", dp.ErrInvalid, "noise.kind = %s, want none: encodings without its noise are not to be released", b.spec.Noise)
	}
	return b.Encode(dst, x)
}

// validateNone checks that there is no noise, and no promise.
func (s *Spec) validateNone(c checker) {
	c.Want(s.Noise == None, "noise.kind", s.Noise, "none for the composition none")
	c.Want(s.Composition == noComposition, "noise.composition", s.Composition, "none for the kind none")
	c.Want(s.Promise == noPromise, "promise", fmt.Sprintf("epsilon %g, delta %g", s.Promise.Epsilon, s.Promise.Delta), "none, that is epsilon %g and delta %g, for the kind none", noPromise.Epsilon, noPromise.Delta)
	s.validateNoTables(c)
}
