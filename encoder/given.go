// SPDX-License-Identifier: Apache-2.0

package encoder

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/local"
)

// Given returns noise of one's own, the same on each coordinate of the body, whose radius is at
// most that of the noise. The coordinates' promises add up (basic composition).
//
// The promise is checked here, by a bundle of this noise alone: errors wrap dp.ErrInvalid for a
// body or a promise out of range, and proof.ErrNotPrivate for a promise that is not kept.
func Given(own *latent.Own, body Body, promise bundle.Promise) (Noise, error) {
	c := check.In("encoder")
	c.Add(validate(own.Kind, body, promise))
	c.Want(body.Radius <= own.Radius, "radius", body.Radius, "at most %g, which is what the noise given is for", own.Radius)
	if err := c.Err(); err != nil {
		return nil, err
	}
	base := base{own.Kind, body, promise}
	var n Noise
	if own.Table != nil {
		n = &perCoordinate{base, own.Kind.Composition(), own.Table, newLaw(own.Table)}
	} else {
		n = &randomized{
			base: base, given: true, randomizers: []*local.Randomizer{own.Randomizer},
			responses: slices.Repeat([]*response{newResponse(own.Randomizer)}, body.Coordinates),
		}
	}
	s := identity(body.Coordinates)
	n.Install(&s)
	b, err := bundle.New(s)
	if err == nil {
		_, err = b.Verify(nil)
	}
	if err != nil {
		return nil, check.Errorf("encoder", nil, "the noise given, on %d coordinates within ±%g: %w", body.Coordinates, body.Radius, err)
	}
	return n, nil
}

// identity is a bundle that sends its features as they are, but for clipping and noise.
func identity(coordinates int) bundle.Spec {
	unit := bundle.Matrix{Rows: coordinates, Cols: coordinates, Data: make([]float64, coordinates*coordinates)}
	zeros := make([]float64, coordinates)
	s := bundle.Spec{
		Mean: zeros, Encoder: unit, Offset: zeros, Decoder: unit, DecoderOffset: zeros,
		ClipOrigin: fmt.Sprintf("given, %d coordinates", coordinates),
	}
	for i := range coordinates {
		unit.Data[i*coordinates+i] = 1
		s.Features = append(s.Features, "x"+strconv.Itoa(i+1))
	}
	return s
}
