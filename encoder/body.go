// SPDX-License-Identifier: Apache-2.0

package encoder

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
)

// Matrix is a dense matrix by rows, of which Stride is Cols.
type Matrix = blas64.General

// Body is what encodings are clipped to: around 0, with the same radius r in each of Z
// coordinates. Box is |u_i| <= r, L1Ball is Σ|u_i| <= r, Ball is Σu_i² <= r².
type Body struct {
	Domain      bundle.Domain
	Radius      float64 // above 0, in units of the encoding
	Coordinates int     // Z, 1 to limits.Coordinates
}

// BestDomain returns the body in which a kind of noise does best: the l1 ball for Laplace
// noise, the ball for Gaussian and spherical noise and that on balls, the box for all others.
func BestDomain(kind bundle.Kind) bundle.Domain {
	switch kind {
	case noise.Laplace:
		return bundle.L1Ball
	case noise.Gaussian, bundle.Spherical, bundle.Balls:
		return bundle.Ball
	default:
		return bundle.Box
	}
}

// The least and the largest radius. Their tables are then far from what float64s hold.
const minRadius, maxRadius = 1e-6, 1e6

// Validate returns what is wrong with the body; it wraps dp.ErrInvalid.
func (b Body) Validate() error {
	c := check.In("encoder")
	switch b.Domain {
	case bundle.Box, bundle.Ball, bundle.L1Ball:
	default:
		c.Bad("domain", fmt.Sprintf("%.40q", string(b.Domain)), "box, l1-ball or ball")
	}
	c.Want(b.Radius >= minRadius && b.Radius <= maxRadius, "radius", b.Radius, "a number from %g to %g (units of the encoding)", minRadius, maxRadius)
	c.Want(b.Coordinates >= 1 && b.Coordinates <= limits.Coordinates, "coordinates", b.Coordinates, "1 to %d", limits.Coordinates)
	return c.Err()
}

func (b Body) axes() []float64 { return slices.Repeat([]float64{b.Radius}, b.Coordinates) }

// Clip moves each row of u (N×Z) into the body, in place, as a bundle does but for the rounding
// to a grid: a coordinate of a box by itself, rows beyond a ball back along their ray.
func (b Body) Clip(u Matrix) {
	axes := b.axes()
	for i := range u.Rows {
		b.Domain.Clip(u.Data[i*u.Stride:][:u.Cols], axes)
	}
}

// ClipBackward turns the gradient d (N×Z) in what was clipped into that in raw, which Clip
// made that of, in place: 0 where a coordinate of a box was clipped, without the part along
// the ray where a row was scaled back.
func (b Body) ClipBackward(raw, d Matrix) {
	for i := range raw.Rows {
		b.clipBackward(raw.Data[i*raw.Stride:][:raw.Cols], d.Data[i*d.Stride:][:d.Cols])
	}
}

// clipBackward is ClipBackward for a row. With n(u) a norm and ∇n its gradient, what is
// scaled back is c = r·u/n, and Σ_i d_i ∂c_i/∂u_j = r/n·(d_j - (Σ_i d_i·u_i)/n·∂n/∂u_j).
func (b Body) clipBackward(u, d []float64) {
	if b.Domain == bundle.Box {
		for j, x := range u {
			if !(math.Abs(x) <= b.Radius) {
				d[j] = 0
			}
		}
		return
	}
	norm, along := 0.0, 0.0
	for j, x := range u {
		if b.Domain == bundle.L1Ball {
			norm += math.Abs(x)
		} else {
			norm = math.Hypot(norm, x)
		}
		along += d[j] * x
	}
	if norm <= b.Radius {
		return
	}
	for j, x := range u {
		slope := x / norm
		if b.Domain == bundle.L1Ball {
			slope = math.Copysign(1, x)
			if x == 0 {
				slope = 0
			}
		}
		d[j] = b.Radius / norm * (d[j] - along/norm*slope)
	}
}
