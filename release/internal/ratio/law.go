package ratio

import (
	"cmp"
	"math"
	"slices"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/tables"
)

const (
	// cut is the probability of the outermost noise, on either side, that is left
	// out: it counts as a miss of every interval.
	cut = 1e-9
	// rounding exceeds what float64s lose in a sum of probabilities over all bins
	// (docs/proofs/mean.md).
	rounding = 0x1p-32
	// mostCells bounds the cells kept. If there are more, so many are merged.
	mostCells = 1 << 17
	// fine is the number of bins per mean absolute deviation, where they are
	// narrowest.
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

// bin is a range of points, both ends included. Those next to 0, which decide most, come
// first.
type bin struct{ low, high, mass float64 }

// NewLaw returns the law of noise of the table, each point being so many query units;
// unit is finite and above 0.
func NewLaw(v *tables.Verified, unit float64) *Law {
	t := v.Table()
	g := t.Grid()
	cells, before := unrolled(t)
	l := &Law{unit: unit, points: float64(g.PointsPerCell), atom: float64(t.Atom()) * 0x1p-64}
	l.first = float64(g.FirstPoint(0)) - float64(before)*l.points
	group := (len(cells) + mostCells - 1) / mostCells
	l.merged = group > 1
	l.before, l.moment = []float64{0}, []float64{0}
	var sum, moment, square, absolute exact.Sum
	for i, p := range cells {
		middle := l.first + (float64(i)+0.5)*l.points - 0.5
		sum.Add(p)
		moment.Add(p * middle)
		square.Add(p * (middle*middle + (l.points*l.points-1)/12))
		absolute.Add(p * max(math.Abs(middle), l.points/4))
		if (i+1)%group == 0 || i+1 == len(cells) {
			l.before, l.moment = append(l.before, sum.Value()), append(l.moment, moment.Value())
		}
	}
	l.mean, l.square = moment.Value(), square.Value()
	l.reach = max(math.Abs(l.first), math.Abs(l.first+float64(len(cells))*l.points))
	l.points *= float64(group)
	l.cutBins(absolute.Value())
	return l
}

// unrolled returns the probabilities of the cells of the table, and of so many of the
// tail on either side that no more than cut is left out; so many cells come before the
// table's first.
func unrolled(t *tables.Table) (cells []float64, before int) {
	pmf, _ := t.PMF()
	if t.TailRatio() == 0 {
		return pmf, 0
	}
	n, k := len(pmf), t.Grid().CellsPerSensitivity
	ends := 0.0
	for i := range k {
		ends += pmf[i] + pmf[n-1-i]
	}
	rest := float64(-t.TailRatio()) * 0x1p-64 // 1-ρ
	slope := math.Log1p(-rest)
	periods := max(int(math.Ceil(math.Log(cut/ends)/slope)), 1)
	before = (periods - 1) * k
	cells = make([]float64, n+2*before)
	copy(cells[before+k:], pmf[k:n-k])
	for m := range periods {
		p := rest * math.Exp(float64(m)*slope)
		for i := range k {
			cells[before-m*k+i] = p * pmf[i]
			cells[len(cells)-before-k+m*k+i] = p * pmf[n-k+i]
		}
	}
	return cells, before
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
	cell = int(k)
	return cell, k - float64(cell)
}

// below returns the probability of the cells' points below x, an integer: of those of a
// merged cell none if x is in it.
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
