// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/proof"
)

// drawing is what draws need beside the Spec.
type drawing struct {
	below []uint64 // the weights of this ball and those before, less 1
	first []int32  // by the upper bits of a word: the first ball that it can be
	back  float64  // steps per unit
}

// guideBits are the bits of a word that first looks at.
const guideBits = 8

func newDrawing(s *Spec) drawing {
	d := drawing{back: math.Ldexp(1, -s.StepExponent), first: make([]int32, 1<<guideBits)}
	sum := ^uint64(0)
	for _, w := range s.Weights {
		sum += w
		d.below = append(d.below, sum)
	}
	j := int32(0)
	for g := range d.first {
		for d.below[j] < uint64(g)<<(64-guideBits) {
			j++
		}
		d.first[g] = j
	}
	return d
}

// Draw implements proof.Drawer: a proof.Row of numbers is rounded to the grid, halves up, and noise
// added.
//
// Guarantee (docs/proofs/ball.md): if the words are independent and uniform, the noise is a point
// of the mixture of uniform laws on balls, rounded to the grid, exactly. The time of a draw depends on what is
// drawn.
func (n *Noise) Draw(input proof.Value, word func() (uint64, error)) (proof.Value, error) {
	row, ok := input.(proof.Row)
	if !ok || len(row) != n.spec.Dimension {
		return nil, n.refused()
	}
	var steps, noise [limits.BallMaxDimension]int64
	for i, x := range row {
		m, ok := exact.RoundToGrid(x, n.draw.back, maxValue)
		if !ok {
			return nil, n.refused()
		}
		steps[i] = m
	}
	if err := n.noise(noise[:len(row)], word); err != nil {
		return nil, err
	}
	y := make(proof.Row, len(row))
	for i := range y {
		y[i] = math.Ldexp(float64(steps[i]+noise[i]), n.spec.StepExponent)
	}
	return y, nil
}

func (n *Noise) refused() error {
	return check.Errorf("", dp.ErrInvalid, "the value is not %s", n.Inputs())
}

// noise sets dst, as many numbers as there are coordinates, to noise in steps.
func (n *Noise) noise(dst []int64, word func() (uint64, error)) error {
	u, err := word()
	if err != nil {
		return err
	}
	j := n.draw.first[u>>(64-guideBits)]
	for n.draw.below[j] < u {
		j++
	}
	return fill(dst, n.spec.Radii[j], word)
}

// fill sets dst to a uniform point of the ball of a radius in steps, rounded.
//
// The point is one of the cube around the ball, kept if it is in the ball. A cell of half a step, by its
// number, holds it, and that says to what it is rounded. Only where a cell is neither in the ball nor outside it
// are digits of the point drawn.
func fill(dst []int64, radius int64, word func() (uint64, error)) error {
	if radius == 0 {
		clear(dst)
		return nil
	}
	r := uint64(2 * radius) //nolint:gosec // at most 2^30
	side := 2 * r
	reject := -side % side
	for {
		var near, far uint64 // the least and the most of squared norms in the cell
		for i := range dst {
			var z, low uint64
			for again := true; again; again = low < reject {
				w, err := word()
				if err != nil {
					return err
				}
				z, low = bits.Mul64(w, side)
			}
			at := int64(z) - int64(r) //nolint:gosec // below 2^31
			dst[i] = at               // of points from at/2 to (at+1)/2
			a := uint64(at ^ at>>63)  //nolint:gosec // the lesser of |at| and |at+1|
			near += a * a
			far += (a + 1) * (a + 1)
		}
		inside := far <= r*r
		if !inside && near < r*r {
			var err error
			if inside, err = refine(dst, r, word); err != nil {
				return err
			}
		}
		if inside {
			for i, at := range dst {
				dst[i] = (at + 1) >> 1
			}
			return nil
		}
	}
}

// refine decides whether a point of the cell is in the ball, both in half steps, by digits in base 2^64
// for each coordinate, until the cell that they leave is in it or outside.
func refine(cell []int64, radius uint64, word func() (uint64, error)) (inside bool, err error) {
	var at [limits.BallMaxDimension]big.Int
	for i, c := range cell {
		at[i].SetInt64(c)
	}
	square := new(big.Int).SetUint64(radius * radius)
	digit, side := new(big.Int), new(big.Int)
	for {
		near, far := new(big.Int), new(big.Int)
		for i := range cell {
			w, err := word()
			if err != nil {
				return false, err
			}
			x := &at[i]
			x.Lsh(x, 64)
			x.Add(x, digit.SetUint64(w)) // from x to x+1
			if side.Set(x); side.Sign() < 0 {
				side.Not(side) // −x−1
			}
			near.Add(near, digit.Mul(side, side))
			side.Add(side, unit)
			far.Add(far, digit.Mul(side, side))
		}
		square.Lsh(square, 128)
		if far.Cmp(square) <= 0 {
			return true, nil
		}
		if near.Cmp(square) >= 0 {
			return false, nil
		}
	}
}
