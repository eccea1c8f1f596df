// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"math/bits"

	"github.com/noisewright/noisewright/sampler/internal/rank"
	"github.com/noisewright/noisewright/tables"
)

// law is a table made ready for drawing. It is immutable, and shared by all forks of a Sampler.
//
// The entries are the cells in ascending order, without those of weight 0 at either end, and after
// them the atom if it has weight. The cell word u selects the first entry whose last word is not
// below u: entry i owns the words last[i-1]+1 … last[i], as many as its weight. The sum of all
// weights is 2^64, so the last entry ends at 2^64-1 and nothing wraps (docs/proofs/sampling.md).
type law struct {
	last  []uint64
	guide *[buckets]uint32 // fast mode: the entry of the least word in a bucket
	ranks *rank.List       // constant time: ends, the last one excepted

	points uint64 // S, the number of points of a cell
	reject uint64 // 2^64 mod S; see position
	first  uint64 // least point of entry 0, two's complement
	cells  uint64 // number of entries that are cells

	tail tail
}

const (
	// The guide has a bucket for each value of the top 16 bits of a word. A draw steps over fewer
	// than len(last)/buckets entries in expectation, whatever the weights, so for up to 4,000 cells
	// a step, and the mispredicted branch that comes with it, is rare. One size for all tables, 256
	// KB, because a constant shift into an array of known length leaves the loop of draw without
	// spills and bounds checks: it takes 0.2 ns less than a guide made to measure. Few of its lines
	// are touched by those who draw little.
	bucketShift = 48
	buckets     = 1 << (64 - bucketShift)
)

// newLaw makes a table ready for drawing in one of the modes.
func newLaw(t *tables.Table, constantTime bool) *law {
	from, to := 0, t.Cells()
	for from < to && t.Weight(from) == 0 {
		from++
	}
	for from < to && t.Weight(to-1) == 0 {
		to--
	}
	g := t.Grid()
	s := uint64(g.PointsPerCell)
	l := &law{
		last:   make([]uint64, 0, to-from+1),
		points: s,
		reject: -s % s,
		first:  uint64(g.FirstPoint(from)),
		cells:  uint64(to - from),
	}
	l.tail = newTail(t, uint64(from), l.cells)
	var end uint64 // words owned so far, modulo 2^64 once all are
	for i := from; i < to; i++ {
		end += t.Weight(i)
		l.last = append(l.last, end-1)
	}
	if a := t.Atom(); a > 0 {
		end += a
		l.last = append(l.last, end-1)
	}
	if end != 0 {
		panic("sampler: weights of a table do not sum to 2^64") // tables.New made sure
	}
	if constantTime {
		l.ranks = rank.New(l.last[:len(l.last)-1])
	} else {
		l.guide = newGuide(l.last)
	}
	return l
}

func newGuide(last []uint64) *[buckets]uint32 {
	guide, entry := new([buckets]uint32), uint32(0)
	for i := range guide {
		for least := uint64(i) << bucketShift; last[entry] < least; {
			entry++
		}
		guide[i] = entry
	}
	return guide
}

// fixed reports whether draws take constant time.
func (l *law) fixed() bool { return l.ranks != nil }

// hasAtom reports whether the last entry is the atom.
func (l *law) hasAtom() bool { return l.cells < uint64(len(l.last)) }

// entry returns the entry that owns the cell word u. Its time depends on u.
func (l *law) entry(u uint64) uint64 {
	k := l.guide[u>>bucketShift]
	for l.last[k] < u {
		k++
	}
	return uint64(k)
}

// scan is entry for one word without a branch, memory address or loop bound that depends
// on it: the entry is the number of entries, the last one excepted, that end below it.
func (l *law) scan(u uint64) uint64 { return rank.Of(l.last[:len(l.last)-1], u) }

// position maps the position word v to an offset in 0 … S-1, or reports that v has to be discarded
// (Lemire 2019, "Fast random integer generation in an interval"): of the 2^64 words v, exactly
// ⌊2^64/S⌋ yield each offset and 2^64 mod S are discarded.
func (l *law) position(v uint64) (offset uint64, ok bool) {
	offset, low := bits.Mul64(v, l.points)
	return offset, low >= l.reject
}

// point returns the grid point at an offset of an entry, without a branch: the
// atom, entry number l.cells, is 0 at every offset.
func (l *law) point(entry, offset uint64) int64 {
	_, cell := bits.Sub64(entry, l.cells, 0) // 1 if entry < l.cells
	return int64((l.first + entry*l.points + offset) & -cell)
}
