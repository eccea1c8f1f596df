// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"math"
	"math/bits"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
)

// drawing is what draws need beside the Spec: the cells (x, y) that have a weight and 0 ≤ y ≤ x, and the
// last word that draws one of their images.
type drawing struct {
	last []uint64
	x, y []int64
	// limit bounds rounded values, so that answers are float64s.
	limit int64
}

func newDrawing(s *Spec) (d drawing) {
	var end uint64
	for i := range s.rings() + 1 {
		for j := range i + 1 {
			if w := s.Weights[At(i, j)]; w > 0 {
				end += w * uint64(Images(i, j)) //nolint:gosec // not negative; 2^64 is 0
				d.last, d.x, d.y = append(d.last, end-1), append(d.x, int64(i)), append(d.y, int64(j))
			}
		}
	}
	d.limit = exact.MaxInteger - int64(s.rings()+1)*s.Grid.PointsPerCell
	if s.turned() {
		d.limit = exact.MaxInteger/2 - int64(s.rings()+1)*s.Grid.PointsPerCell
	}
	return d
}

// Draw implements proof.Drawer: it rounds both numbers to the grid and adds noise to them; of turned
// noise, half the sum of its coordinates to the one and half their difference to the other.
//
// Guarantee (docs/proofs/plane.md): if the words are independent and uniform, the noise is each point
// of a cell with probability exactly its weight/(2^64·S²).
//
// No branch, memory address or loop bound depends on the values or on the cell, but for the
// verdict on values that are no numbers or too large.
func (n *Noise) Draw(input proof.Value, word func() (uint64, error)) (proof.Value, error) {
	s := &n.spec
	row, ok := input.(proof.Row)
	if !ok || len(row) != 2 {
		return nil, check.Errorf("", dp.ErrInvalid, "the value is not two numbers")
	}
	var at [2]int64
	for i, x := range row {
		if at[i], ok = exact.RoundToGrid(x, 1/s.Grid.step(), n.draw.limit); !ok {
			return nil, check.Errorf("", dp.ErrInvalid, "a number is not finite or too large, want a magnitude of at most %g", float64(n.draw.limit)*s.Grid.step())
		}
		if s.Query == dp.IntegerQuery && x != math.Trunc(x) {
			return nil, check.Errorf("", dp.ErrInvalid, "a number is no whole number, as the noise wants both")
		}
	}
	x, y, err := n.draw.point(s.Grid.PointsPerCell, word)
	if err != nil {
		return nil, err
	}
	step := s.Grid.step()
	if s.turned() {
		return proof.Row{float64(2*at[0]+x+y) * (step / 2), float64(2*at[1]+x-y) * (step / 2)}, nil
	}
	return proof.Row{float64(at[0]+x) * step, float64(at[1]+y) * step}, nil
}

// point draws noise in steps: a word selects a cell up to its images, the three lowest bits of the next
// which image, and where there are several points a number below S for each axis where in the cell.
func (d *drawing) point(points int64, word func() (uint64, error)) (x, y int64, err error) {
	u, err := word()
	if err != nil {
		return 0, 0, err
	}
	v, err := word()
	if err != nil {
		return 0, 0, err
	}
	index := uint64(0)
	for _, last := range d.last {
		_, below := bits.Sub64(last, u, 0)
		index += below
	}
	for i := range d.x { // every entry is read
		here := mask(uint64(i) ^ index)
		x |= d.x[i] & here
		y |= d.y[i] & here
	}
	swap := (x ^ y) & -int64(v&1) //nolint:gosec // a bit
	x, y = negated(x^swap, v>>1&1), negated(y^swap, v>>2&1)
	if points == 1 {
		return x, y, nil
	}
	for _, at := range []*int64{&x, &y} {
		r, err := below(uint64(points), word) //nolint:gosec // above 0
		if err != nil {
			return 0, 0, err
		}
		*at = *at*points - (points-1)/2 + int64(r) //nolint:gosec // below 2^40
	}
	return x, y, nil
}

// mask is −1 for 0 and 0 for all else.
func mask(x uint64) int64 {
	_, zero := bits.Sub64(x, 1, 0)
	return -int64(zero) //nolint:gosec // a bit
}

// negated returns −x for the bit 1.
func negated(x int64, bit uint64) int64 {
	b := int64(bit) //nolint:gosec // a bit
	return (x ^ -b) + b
}

// below draws a number below n, each with the same probability (Lemire 2019).
func below(n uint64, word func() (uint64, error)) (uint64, error) {
	for reject := -n % n; ; {
		w, err := word()
		if err != nil {
			return 0, err
		}
		if x, low := bits.Mul64(w, n); low >= reject {
			return x, nil
		}
	}
}
