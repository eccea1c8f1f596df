// SPDX-License-Identifier: Apache-2.0

package ratio

import (
	"cmp"
	"math"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/tables"
)

const (
	// cut is the probability of the outermost noise, on either side, that is left
	// out: it counts as a miss of every interval.
	cut = 1e-9
	// rounding exceeds what float64s lose in a sum of probabilities over all bins
	// (docs/proofs/mean.md).
	rounding = 0x1p-28
	// mostCells bounds the cells kept. If there are more, so many are merged.
	mostCells = 1 << 17
	// mostUnrolled bounds the cells before that: less than a second.
	mostUnrolled = 1 << 26
	// fine is the number of bins per mean absolute deviation, where they are narrowest.
	fine = 1 << 10
)

// Law is the law of a table's noise, made ready for intervals. It is immutable and safe
// for concurrent use. It has at most 2^17 cells and some 7,000 bins.
type Law struct {
	unit float64 // a point, in query units

	// cell i is the points first + i·points … first + (i+1)·points - 1. In a merged
	// one, points are not equally likely.
	first, points float64
	merged        bool
	before        []float64 // before[i]: the probability of the cells below i
	moment        []float64 // the same for the sum of probability times point
	atom          float64

	bins         []bin
	mean, square float64 // E X and E X², in points
	reach        float64 // no point is further from 0
}

// bin is a range of points, both ends included. Those next to 0, which decide most, come first.
type bin struct{ low, high, mass float64 }

// NewLaw returns the law of noise of the table, each point being so many query units;
// unit is finite and above 0. The error wraps dp.ErrInvalid if there is no table, or its
// tail falls so slowly that 1 - 2e-9 of the noise takes more than 2^26 cells.
func NewLaw(v *tables.Verified, unit float64) (*Law, error) {
	t := v.Mechanism()
	if t == nil {
		return nil, check.Field("ratio", "table", "none", "one that was verified")
	}
	periods := periods(t)
	g := t.Grid()
	before := float64(g.CellsPerSensitivity) * (periods - 1) // cells more, on either side
	n := float64(t.Cells()) + 2*before
	if n > mostUnrolled {
		return nil, check.Field("ratio", "tail_ratio", t.TailRatio(), "a tail of at most 2^26 cells, up to a probability of 1e-9")
	}
	l := &Law{unit: unit, points: float64(g.PointsPerCell), atom: float64(t.Atom()) * 0x1p-64}
	l.first = float64(g.FirstPoint(0)) - before*l.points
	l.reach = max(math.Abs(l.first), math.Abs(l.first+n*l.points))
	group := math.Ceil(n / mostCells)
	l.merged = group > 1
	l.before, l.moment = []float64{0}, []float64{0}
	var sum exact.Sum
	absolute := 0.0
	i, left := 0.0, group // cells before this one, and to the end of its group
	eachCell(t, periods, func(p float64) {
		middle := l.first + (i+0.5)*l.points - 0.5
		sum.Add(p)
		l.mean += p * middle
		l.square += p * (middle*middle + (l.points*l.points-1)/12)
		absolute += p * max(math.Abs(middle), l.points/4)
		i++
		if left--; left == 0 || i == n {
			left = group
			l.before, l.moment = append(l.before, sum.Value()), append(l.moment, l.mean)
		}
	})
	l.points *= group
	l.cutBins(absolute)
	return l, nil
}

// periods returns how many periods of the tail there are until no more than cut is left
// on either side; 1 without a tail.
func periods(t *tables.Table) float64 {
	if t.TailRatio() == 0 {
		return 1
	}
	ends := 0.0
	for i := range t.Cells() {
		if _, ok := t.Block(i); ok {
			ends += float64(t.Weight(i)) * 0x1p-64
		}
	}
	return max(math.Ceil(math.Log(cut/ends)/slope(t)), 1)
}

// slope returns ln ρ for the factor ρ between the periods of the tail.
func slope(t *tables.Table) float64 {
	if r := t.TailRatio(); r < 1<<63 {
		return math.Log(float64(r) * 0x1p-64)
	}
	return math.Log1p(-float64(-t.TailRatio()) * 0x1p-64)
}

// eachCell calls f with the probabilities of the cells, ascending, and of so many periods
// of the tail.
func eachCell(t *tables.Table, periods float64, f func(p float64)) {
	n, k := t.Cells(), 0 // k cells of a block
	if t.TailRatio() != 0 {
		k = t.Grid().CellsPerSensitivity
	}
	rest := float64(-t.TailRatio()) * 0x1p-64 // 1-ρ
	run := func(from, to int, factor float64) {
		for i := from; i < to; i++ {
			f(factor * float64(t.Weight(i)) * 0x1p-64)
		}
	}
	for m := periods - 1; m >= 0; m-- {
		run(0, k, rest*math.Exp(m*slope(t)))
	}
	run(k, n-k, 1)
	for m := 0.0; m < periods; m++ {
		run(n-k, n, rest*math.Exp(m*slope(t)))
	}
}

// cutBins cuts the law into bins, which are wider further out.
func (l *Law) cutBins(scale float64) {
	end := l.first + float64(len(l.before)-1)*l.points
	// snap returns the nearest place where a bin may end.
	snap := func(x float64) float64 {
		if l.merged {
			return l.first + math.Round((x-l.first)/l.points)*l.points
		}
		return math.Round(x)
	}
	least := 1.0
	if l.merged {
		least = l.points
	}
	for x := l.first; x < end; {
		// Inwards of 0, the width is that at the other end of the bin.
		w := (scale + max(math.Abs(x)-scale/fine, 0)) / fine
		next := min(snap(x+max(w, least)), end)
		if next <= x {
			next = min(x+least, end)
		}
		if mass := l.below(next) - l.below(x); mass > 0 {
			l.bins = append(l.bins, bin{x, next - 1, mass})
		}
		x = next
	}
	if l.atom > 0 {
		l.bins = append(l.bins, bin{0, 0, l.atom})
	}
	slices.SortFunc(l.bins, func(a, b bin) int { return cmp.Compare(math.Abs(a.low), math.Abs(b.low)) })
}

// Square returns E X², in the square of query units.
func (l *Law) Square() float64 { return l.square * l.unit * l.unit }

// locate returns the cell of the points below x, an integer, and how many of its points
// are, as a share.
func (l *Law) locate(x float64) (cell int, share float64) {
	k := (x - l.first) / l.points
	if !(k > 0) {
		return 0, 0
	}
	if last := len(l.before) - 1; k >= float64(last) {
		return last, 0
	}
	// The rest is exact, and k may have been rounded up.
	cell = int(k)
	rest := x - l.first - float64(cell)*l.points
	if rest < 0 {
		cell, rest = cell-1, rest+l.points
	}
	return cell, rest / l.points
}

// below returns the probability of the points below x, an integer, without the atom. The
// points of a merged cell count only if all of them are below x.
func (l *Law) below(x float64) float64 {
	cell, share := l.locate(x)
	if share == 0 || l.merged {
		return l.before[cell]
	}
	return l.before[cell] + share*(l.before[cell+1]-l.before[cell])
}

// between returns the probability of the points x with low < x < high, at most.
func (l *Law) between(low, high float64) float64 {
	low, high = math.Floor(low)+1, math.Ceil(high)
	if !(low < high) {
		return 0
	}
	from := l.below(low)
	if l.merged {
		if cell, share := l.locate(low); share > 0 {
			from = l.before[cell+1]
		}
	}
	p := max(l.below(high)-from, 0)
	if low <= 0 && 0 < high {
		p += l.atom
	}
	return p
}

// momentBelow returns the sum of probability times point over the points below x,
// those of a cell being taken for equally likely, and their probability.
func (l *Law) momentBelow(x float64) (moment, p float64) {
	cell, share := l.locate(math.Ceil(x))
	moment, p = l.moment[cell], l.before[cell]
	if share > 0 {
		part := share * (l.before[cell+1] - l.before[cell])
		moment += part * (l.first + (float64(cell)+share/2)*l.points - 0.5)
		p += part
	}
	if x > 0 {
		p += l.atom
	}
	return moment, p
}
