// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"math"
	"math/big"

	"github.com/noisewright/noisewright/internal/check"
)

// The limits of Spherical.
const (
	// maxDimension bounds the number of coordinates.
	maxDimension = 1 << 16
	// maxScale and minScale bound the scale, in steps.
	maxScale = 1 << 40
	minScale = 1.0 / maxScale
	// maxNoise bounds each coordinate of a draw, so that a sum with as much is a float64.
	maxNoise = 1 << 52
)

// Spherical draws vectors of noise whose size is that of their norm, not of their
// coordinates: x of the density proportional to exp(-‖x‖₂/scale), each coordinate rounded
// to the nearest integer, a number of steps. Its norm has the law Gamma(dimension, scale)
// and its direction is uniform, but for the rounding. It is not safe for concurrent use;
// give each goroutine its own by Fork. It must not be copied.
//
// Guarantee (docs/proofs/spherical.md): if the words of the generator are independent and
// uniform, draws are independent and have exactly this law. So for vectors of integers
// whose ℓ2 distance is at most ε·scale, what is released of them is (ε, 0)-private.
//
// The law is that of its two parameters, and nothing about them is to be proved. How long a
// draw takes depends on what is drawn.
type Spherical struct {
	_         noCopy
	dimension int
	mantissa  *big.Int // scale = mantissa·2^-shift
	shift     uint
	reader    wordReader
	normals   []deviate // scratch: the numerators, dimension, then those of the norm
	negative  []bool    // signs of the numerators
}

// NewSpherical returns a Spherical of a number of coordinates, from 1 to 65536, and a scale
// in steps, from 2^-40 to 2^40. Options.Entropy is as for New.
//
// The error wraps dp.ErrInvalid if a parameter is out of range, or for Options.ConstantTime, which
// is not to be had here; and ErrEntropy if the generator cannot be seeded.
func NewSpherical(dimension int, scale float64, o Options) (*Spherical, error) {
	c := check.In("sampler")
	c.If(dimension < 1 || dimension > maxDimension, "dimension", dimension, "1 to %d coordinates", maxDimension)
	o.checkNormal("scale", scale, "noise of a vector", c)
	if err := c.Err(); err != nil {
		return nil, err
	}
	g, err := o.generator()
	if err != nil {
		return nil, err
	}
	return newSpherical(dimension, scale, g), nil
}

// checkNormal checks what noise made of normal deviates asks for.
func (o Options) checkNormal(field string, scale float64, what string, c *check.List) {
	c.If(!(scale >= minScale && scale <= maxScale), field, scale, "a number of steps from 2^-40 to 2^40")
	c.If(o.ConstantTime, "constant time", true, "false for %s, the time of which depends on what is drawn", what)
}

func newSpherical(dimension int, scale float64, g generator) *Spherical {
	mantissa, exponent := math.Frexp(scale) // scale = mantissa·2^exponent, in [1/2, 1)
	return &Spherical{
		dimension: dimension,
		mantissa:  big.NewInt(int64(math.Ldexp(mantissa, 53))),
		shift:     uint(53 - exponent),
		reader:    wordReader{gen: g, pos: blockBytes},
		normals:   make([]deviate, 2*dimension+1),
		negative:  make([]bool, dimension),
	}
}

// Fork returns a Spherical of the same law for another goroutine, with a generator as Noise.Fork
// gives it. It is a use of s, not to be concurrent with others. The error wraps ErrEntropy.
func (s *Spherical) Fork() (*Spherical, error) {
	g, err := s.reader.gen.fork()
	if err != nil {
		return nil, err
	}
	return newSpherical(s.dimension, math.Ldexp(float64(s.mantissa.Int64()), -int(s.shift)), g), nil
}

// Fill sets dst, as many numbers as there are coordinates, to one draw, in steps: at most
// 2^52 in magnitude. It takes about 1 µs per coordinate.
//
// The error wraps dp.ErrInvalid if dst has another length, ErrEntropy if there is no
// randomness, and ErrOverflow if the noise is larger than that. dst is then zero.
func (s *Spherical) Fill(dst []int64) error {
	if len(dst) != s.dimension {
		return check.Field("sampler", "length", len(dst), "the number of coordinates")
	}
	err := s.fill(dst)
	for i := range s.normals {
		v := &s.normals[i]
		clear(v.fraction[:cap(v.fraction)])
		v.whole, v.fraction = 0, v.fraction[:0]
	}
	clear(s.negative)
	if err != nil {
		clear(dst)
	}
	return err
}

// fill multiplies a vector of d independent normal deviates by the norm of d+1 others: then
// the density is the one wanted, as the mixture of normal laws that it is. All are known
// to some digits, and more are drawn until every coordinate is known to the step.
func (s *Spherical) fill(dst []int64) error {
	g := normal{words: &s.reader}
	for i := range s.normals {
		if err := g.draw(&s.normals[i]); err != nil {
			return err
		}
	}
	undecided := make([]int, s.dimension)
	for i := range undecided {
		undecided[i] = i
		w, err := s.reader.word()
		if err != nil {
			return err
		}
		s.negative[i] = w>>63 == 1
	}
	for places := 1; len(undecided) > 0; places++ {
		low, high, err := s.norm(places)
		if err != nil {
			return err
		}
		low.Mul(low, s.mantissa)
		high.Mul(high, s.mantissa)
		left := undecided[:0]
		var x fixedPoint
		for _, i := range undecided {
			if err := x.set(&s.normals[i], places, &s.reader); err != nil {
				return err
			}
			n, ok, err := x.round(low, high, uint(128*places)+s.shift)
			if err != nil {
				return err
			}
			if !ok {
				left = append(left, i)
				continue
			}
			if s.negative[i] {
				n = -n
			}
			dst[i] = n
		}
		undecided = left
	}
	return nil
}

// norm bounds that of the last d+1 deviates from both sides, by their digits up to so
// many places, in units of the last of these.
func (s *Spherical) norm(places int) (low, high *big.Int, err error) {
	low, high = new(big.Int), new(big.Int)
	var x fixedPoint
	var square big.Int
	for i := s.dimension; i < len(s.normals); i++ {
		if err := x.set(&s.normals[i], places, &s.reader); err != nil {
			return nil, nil, err
		}
		low.Add(low, square.Mul(&x.low, &x.low))
		high.Add(high, square.Mul(&x.high, &x.high))
	}
	return low.Sqrt(low), high.Sqrt(high).Add(high, unit), nil
}

var unit = big.NewInt(1)

// fixedPoint bounds a deviate by its digits up to some place, in units of that place: it
// is from low to high. The other numbers are scratch.
type fixedPoint struct {
	low, high, above, below big.Int
}

// set takes the deviate up to the place, drawing what is missing.
func (x *fixedPoint) set(v *deviate, places int, words wordSource) error {
	if _, err := v.fraction.digit(places-1, words); err != nil {
		return err
	}
	x.low.SetUint64(v.whole)
	for _, d := range v.fraction[:places] {
		x.low.Lsh(&x.low, 64)
		x.low.Or(&x.low, x.below.SetUint64(d))
	}
	x.high.Add(&x.low, unit)
	return nil
}

// round returns the integer nearest to the product of the deviate and a factor, given by
// bounds on it, divided by 2^shift, or ok = false if that is not known yet.
func (x *fixedPoint) round(low, high *big.Int, shift uint) (n int64, ok bool, err error) {
	nearest := func(z, bound, factor *big.Int) {
		z.Mul(bound, factor).Rsh(z, shift-1).Add(z, unit).Rsh(z, 1)
	}
	nearest(&x.below, &x.low, low)
	nearest(&x.above, &x.high, high)
	if x.below.Cmp(&x.above) != 0 {
		return 0, false, nil
	}
	if x.below.BitLen() > 52 {
		return 0, false, overflowError()
	}
	return x.below.Int64(), true, nil
}
