// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"math"
	"math/bits"

	"github.com/noisewright/noisewright/tables"
)

// tail is what a law needs to know of its tail. A draw from one of the first or last K cells is
// moved away from 0 by i periods of K·S points, i the number of words below ratio before another:
// geometric, with the probability (1-ρ)ρ^i exactly, ρ = ratio/2^64 (docs/proofs/sampling.md).
type tail struct {
	ratio  uint64 // 0: no tail
	period uint64 // points
	left   uint64 // the entries below it are blocks
	right  uint64 // the entries from it on, and below the atom's, are blocks
	batch  int    // words taken at a time in constant time
}

// far is returned for draws beyond 2^54 points, whose sum with any accepted value is beyond 2^53.
const far = 1 << 55

// newTail describes the tail of a table; entry 0 is its cell number from, and the
// number of entries that are cells is given.
func newTail(t *tables.Table, from, cells uint64) tail {
	ratio := t.TailRatio()
	if ratio == 0 {
		return tail{}
	}
	g := t.Grid()
	k := uint64(g.CellsPerSensitivity) //nolint:gosec // positive
	// Of the entries, all may be blocks of one side.
	right := uint64(t.Cells()) - k
	return tail{
		ratio:  ratio,
		period: k * uint64(g.PointsPerCell),
		left:   min(k-min(k, from), cells),
		right:  min(right-min(right, from), cells),
		// ρ^batch <= 2^-64, with some room for rounding.
		batch: int(math.Ceil(64.01*math.Ln2/-math.Log1p(-float64(-ratio)*0x1p-64))) + 1,
	}
}

// extend moves the point n of an entry outwards by random periods, if it is a block of a tail.
func (s *Noise) extend(n int64, entry uint64) (int64, error) {
	t := &s.tail
	if t.ratio == 0 {
		return n, nil
	}
	// 1 if the entry is a block to the left, or to the right, without branch.
	_, left := bits.Sub64(entry, t.left, 0)
	_, before := bits.Sub64(entry, t.right, 0)
	_, cell := bits.Sub64(entry, s.cells, 0)
	right := (1 - before) & cell
	if !s.fixed() && left|right == 0 {
		return n, nil
	}
	periods, err := s.periods()
	if err != nil {
		return 0, err
	}
	hi, move := bits.Mul64(periods, t.period&-(left|right))
	if hi != 0 || move > 1<<54 {
		move = far // practically never
	}
	if s.fixed() {
		return n + int64((move^-left)+left), nil // negative to the left
	}
	if left == 1 {
		return n - int64(move), nil
	}
	return n + int64(move), nil
}

// periods returns the number of words below ratio before the first that is not.
//
// In constant time the words are taken in batches that all lie below with a
// probability of at most 2^-64; only then is there another one, whatever the
// entry. So the number of batches, all that time tells, is 1 but for that.
func (s *Noise) periods() (uint64, error) {
	t := &s.tail
	if !s.fixed() {
		for i := uint64(0); ; i++ {
			w, err := s.word()
			if err != nil || w >= t.ratio {
				return i, err
			}
		}
	}
	var count uint64
	for alive := uint64(1); alive == 1; {
		for range t.batch {
			w, err := s.word()
			if err != nil {
				return 0, err
			}
			_, below := bits.Sub64(w, t.ratio, 0)
			alive &= below
			count += alive
		}
	}
	return count, nil
}
