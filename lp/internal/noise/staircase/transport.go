// SPDX-License-Identifier: Apache-2.0

package staircase

import (
	"math"
	"slices"
	"sort"
)

// For a large ε noise is nearly all inside a core far narrower than a sensitivity, and with
// delta > 0 little more than the tails of the best staircase is cut off. With A the level of all
// coefficients, nodes with l_j < A need A - l_j each; a node z outside can give a_z = e^-ε·(l_z - A),
// which leaves it at A. Nodes that need less than the node a sensitivity further out can give are helped by
// that alone. The others are the core, and share what the K nodes on either side of it can give. The
// bound is A less delta times the sum over the shifts of their largest multipliers, and no
// multipliers have less than A - l_j of the node that needs most.
//
// With y(j,z) in proportion to what j still needs, all shifts have about the shape of the needs, and
// the sum is about that least one, but for the outermost helpers, which reach a part of the core only.
// These serve in trains: the needs are a pile of boxes, and the wagons of a box are
// single shifts, which serve all of its nodes one by one, the first of them the shift K.

// Kind says which multipliers are wanted.
type Kind struct {
	// Cheap ones have a price not far above the level, which matters for a large delta only.
	Cheap bool
	// Sparse ones are fewer, and prove somewhat less.
	Sparse bool
	// Whole trains are of one shift for as many helpers as the core has nodes, one after the other: the cheapest where all of
	// these need the same, and few.
	Whole bool
	// Far ones let the innermost helpers, which make up no whole train, serve by no nearer shifts than cost more; they prove less
	// before the price is subtracted.
	Far bool
}

// Transport is what such multipliers are made from, and prove.
type Transport struct {
	// Level is A, less what is left unserved, and Price the sum of the largest multipliers.
	Level, Price float64

	Kind
	k      int
	base   int       // the node that stands first
	node   []float64 // l
	ratio  float64   // e^-ε
	peak   int       // indices: the least node, and the core
	lo, hi int
	give   []float64 // a_z
	needs  []float64 // of the core, what is left
	shifts []int     // of the bulk, from K down
	rows   []row     // by helper
}

// row is the multipliers y(j,z) of a helper: by node of the core if dense, or for
// the shifts from the given one on.
type row struct {
	dense bool
	from  int
	y     []float64
}

// NewTransport finds the largest level, at most most, on nodes of which from the Middle on K and N
// more on either side are asked for; N is some widths of the core. It returns nil if there is none.
func NewTransport(nodes Nodes, epsilon, most float64, kind Kind) *Transport {
	half := 2*nodes.K + nodes.N
	t := &Transport{Kind: kind, k: nodes.K, base: nodes.Middle - half, ratio: math.Exp(-epsilon), node: make([]float64, 2*half+1)}
	for i := range t.node {
		t.node[i] = nodes.At(t.base + i)
	}
	t.peak = half
	for i := half - nodes.N/2; i <= half+nodes.N/2; i++ {
		if t.node[i] < t.node[t.peak] {
			t.peak = i
		}
	}
	t.give = make([]float64, len(t.node))
	low, high, ok := t.node[t.peak], most, false
	for range 60 {
		if level := low + (high-low)/2; t.carries(level) {
			low, ok = level, true
		} else {
			high = level
		}
	}
	if !ok {
		return nil
	}
	t.carries(low)
	t.Level = low
	t.serve()
	return t
}

// carries finds the core and the helpers of a level, and reports whether they can give what it needs.
func (t *Transport) carries(level float64) bool {
	needy := func(j, side int) bool {
		short := level - t.node[j]
		return short > 0 && t.ratio*(t.node[j+side*t.k]-level) < short
	}
	t.lo, t.hi = t.peak, t.peak
	for t.hi+1+2*t.k < len(t.node) && needy(t.hi+1, 1) {
		t.hi++
	}
	for t.lo-1-2*t.k >= 0 && needy(t.lo-1, -1) {
		t.lo--
	}
	if !(t.node[t.peak] < level) || t.hi-t.lo >= t.k || t.lo <= 2*t.k || t.hi+2*t.k >= len(t.node)-1 {
		return false
	}
	balance := 0.0
	for j := t.lo; j <= t.hi; j++ {
		balance -= level - t.node[j]
	}
	for i := 1; i <= t.k; i++ {
		for _, z := range [2]int{t.hi + i, t.lo - i} {
			t.give[z] = max(0, t.ratio*(t.node[z]-level+t.relief(z, level)))
			balance += t.give[z]
		}
	}
	return balance >= 0
}

// relief is what helper z is helped itself by the node a sensitivity further out; if cheap, as much as
// costs nothing, since that shift has its price anyway.
func (t *Transport) relief(z int, level float64) float64 {
	k := t.k
	if z < t.peak {
		k = -k
	}
	most := t.node[z+k]
	if t.Cheap {
		most = min(most, t.node[t.peak+k])
	}
	return t.ratio * max(0, most-level)
}

// serve lets the helpers give, the outermost first, and lowers the level by what is left unserved.
func (t *Transport) serve() {
	t.needs = make([]float64, t.hi-t.lo+1)
	for i := range t.needs {
		t.needs[i] = t.Level - t.node[t.lo+i]
	}
	t.rows = make([]row, len(t.node))
	t.spread()
	outermost := t.k
	switch {
	case t.Whole:
		outermost = t.wagons()
	case t.Cheap:
		outermost -= t.trains()
	}
	for i := outermost; i > 0; i-- {
		t.share(t.hi + i)
		t.share(t.lo - i)
	}
	t.Level -= max(0, slices.Max(t.needs))
	t.price()
}

// A core of many nodes is served by sparse multipliers some at a time, but by the nearest share of helpers all.
const (
	served = 12
	all    = 0.25
)

// Served returns about how many nodes a helper serves of so many.
func (k Kind) Served(core float64) float64 {
	if core <= 2*served || !k.Sparse {
		return core
	}
	return all*core + 2*served
}

// spread chooses the shifts of the bulk. Those of sparse ones are not always the same number apart, as then
// nodes could not make up for what others lack.
func (t *Transport) spread() {
	const golden = 0.618
	stride := 1.0
	if n := len(t.needs) / served; n > 1 && t.Sparse {
		stride = float64(n-1) + golden
	}
	last := t.k
	if t.Far && !t.partly() {
		last = t.k - t.k%len(t.needs)
	}
	for i := 0.0; i < float64(last); i += stride {
		t.shifts = append(t.shifts, t.k-int(i))
		if i > float64(t.k)*(1-all) {
			stride = 1
		}
	}
}

// share lets helper z serve nodes within K of it in proportion to their needs.
func (t *Transport) share(z int) {
	side := 1
	if z < t.peak {
		side = -1
	}
	farthest := max(side*(z-t.lo), side*(z-t.hi))
	from := sort.Search(len(t.shifts), func(i int) bool { return t.shifts[i] <= farthest })
	var sum float64
	to := from
	for ; to < len(t.shifts); to++ {
		j := z - side*t.shifts[to]
		if j < t.lo || j > t.hi {
			break
		}
		sum += t.needs[j-t.lo]
	}
	if !(sum > 0) || t.give[z] == 0 {
		return
	}
	r, part := row{from: from, y: make([]float64, to-from)}, min(t.give[z]/sum, 1)
	for i := range r.y {
		n := &t.needs[z-side*t.shifts[from+i]-t.lo]
		r.y[i] = part * *n
		*n -= r.y[i]
	}
	if old := t.rows[z]; old.y != nil { // of a wagon
		y := make([]float64, len(t.needs))
		y[old.from] = old.y[0]
		for i, more := range r.y {
			y[z-side*t.shifts[from+i]-t.lo] += more
		}
		r = row{dense: true, y: y}
	}
	t.rows[z] = r
}

// box is a part of the pile of needs that is equally high from one node to another.
type box struct {
	from, to int // as offsets from the peak
	weight   float64
}

// boxes piles up the needs, around the peak; the weights sum to 1.
func (t *Transport) boxes() []box {
	var all []box
	var sum float64
	from, to := t.peak, t.peak
	for {
		height := max(t.node[from], t.node[to])
		for from > t.lo && t.node[from-1] <= height {
			from--
		}
		for to < t.hi && t.node[to+1] <= height {
			to++
		}
		next := t.Level
		if from > t.lo {
			next = min(next, t.node[from-1])
		}
		if to < t.hi {
			next = min(next, t.node[to+1])
		}
		b := box{from - t.peak, to - t.peak, (next - height) * float64(to-from+1)}
		all, sum = append(all, b), sum+b.weight
		switch {
		case from == t.lo && to == t.hi:
			for i := range all {
				all[i].weight /= sum
			}
			return all
		case to == t.hi || from > t.lo && t.node[from-1] <= t.node[to+1]:
			from--
		default:
			to++
		}
	}
}

// trains serves by the outermost helpers of either side, and returns how many. So that the trains
// end as the bulk goes on, each box has several, whose first wagons are shorter by ever
// more, up to the length of one in all.
func (t *Transport) trains() (depth int) {
	const wagons, phases = 5, 16
	width := t.hi - t.lo + 1
	depth = min((wagons+1)*width, (t.k-width)*2/3)
	for _, side := range [2]int{1, -1} {
		last := t.hi - t.peak
		if side < 0 {
			last = t.peak - t.lo
		}
		for _, b := range t.boxes() {
			if side < 0 {
				b.from, b.to = -b.to, -b.from
			}
			length := b.to - b.from + 1
			n := min(length, phases)
			for phase := range n {
				shorter := func(wagon int) int { // of the first ones, in all
					return int(math.Round(float64(phase*length) / float64(n) * float64(min(wagon, wagons)) / wagons))
				}
				part := b.weight / float64(n)
				wagon, shift := 1, t.k
				from := b.from + min(shorter(1), -b.from)
				for u := t.k + last; u > t.k+last-depth; u-- {
					if u-shift < from {
						wagon++
						cut := shorter(wagon) - shorter(wagon-1)
						outer := min(cut, b.to) // the peak stays
						shift = u - (b.to - outer)
						from = b.from + min(cut-outer, -b.from)
					}
					j, z := t.peak+side*(u-shift)-t.lo, t.peak+side*u
					y := min(part*t.give[z], t.needs[j])
					t.needs[j] -= y
					if t.rows[z].y == nil {
						t.rows[z] = row{dense: true, y: make([]float64, len(t.needs))}
					}
					t.rows[z].y[j] += y
				}
			}
		}
	}
	return depth
}

// wagons serves by whole wagons, with one multiplier for each helper. If those left over are most of one they go as one too, and
// the nodes that it does not reach get as much less from the wagon before, as all are to get the same. It returns how many helpers of
// either side may have something left.
func (t *Transport) wagons() (left int) {
	width := t.hi - t.lo + 1
	left = t.k % width
	missed := 0 // by the last wagon
	if t.partly() {
		missed = width - left
	}
	for i := t.k; i > 0 && (i > left || missed > 0); i-- {
		part := (t.k - i) % width
		for _, side := range [2]int{1, -1} {
			end := t.hi
			if side < 0 {
				end = t.lo
			}
			give := t.give[end+side*i]
			if out := i - left; out > 0 && out <= missed { // as if there were helpers of less than nothing further in
				give -= t.give[end+side*(missed-out+1)]
			}
			j := end - side*part - t.lo
			y := min(max(give, 0), t.needs[j])
			t.needs[j] -= y
			t.give[end+side*i] -= y
			t.rows[end+side*i] = row{dense: true, from: j, y: []float64{y}}
		}
	}
	return left + missed
}

// partly reports whether the helpers that are left over are most of a wagon.
func (t *Transport) partly() bool {
	const most = 0.75
	width := t.hi - t.lo + 1
	return float64(t.k%width) > most*float64(width)
}

// Value is the bound that the multipliers prove.
func (t *Transport) Value(delta float64) float64 { return t.Level - delta*t.Price }

// each calls f with all multipliers but zeros, by shift and node.
func (t *Transport) each(f func(shift, j int, y float64)) {
	for i := 1; i <= t.k; i++ {
		for _, side := range [2]int{1, -1} {
			z := t.hi + i
			if side < 0 {
				z = t.lo - i
			}
			r, used := t.rows[z], 0.0
			for i, y := range r.y {
				shift := z - t.lo - r.from - i
				if !r.dense {
					shift = side * t.shifts[r.from+i]
				}
				if y > 0 {
					f(-shift, t.base+z-shift, y)
					used += y
				}
			}
			if short := used/t.ratio - (t.node[z] - t.Level); short > 0 {
				f(-side*t.k, t.base+z, min(short, max(t.relief(z, t.Level), t.Level-t.node[z])))
			}
		}
	}
}

// price sums the largest multipliers of the shifts.
func (t *Transport) price() {
	top := make([]float64, 2*t.k+1)
	t.each(func(shift, _ int, y float64) { top[shift+t.k] = max(top[shift+t.k], y) })
	for _, y := range top {
		t.Price += y
	}
}

// Multipliers returns them.
func (t *Transport) Multipliers() Multipliers {
	y := make(Multipliers)
	t.each(y.add)
	return y
}
