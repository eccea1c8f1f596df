package lp

import (
	"math"
	"math/big"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// bound says which side of the optimum a program computes.
type bound int

const (
	upper bound = iota
	lower
)

// grid describes the cells of one program: cell j is centred on j·width plus
// the offset, for first <= j < first+n.
type grid struct {
	k        int // K, cells per sensitivity
	first, n int
	// lay is how a table holds the cells of an upper program, but for
	// FirstCell: their points and offset. For the lower program of an integer
	// or lattice query PointsPerCell is the distance of its nodes in points.
	lay tables.Grid
	// edges: the cells of a lower program lie between its nodes, cell j from
	// node j to node j+1, and do not move.
	edges bool
	// open: noise may reach beyond the first or the last cell.
	openBelow, openAbove bool
}

// centred returns the n = 2·half+1 cells around 0 of a grid.
func (g grid) centred(half int) grid {
	g.first, g.n = -half, 2*half+1
	g.openBelow, g.openAbove = true, true
	return g
}

// center returns the middle of the i-th cell, in cells from 0.
func (g grid) center(i int) float64 {
	c := float64(g.first + i)
	if g.edges {
		c += 0.5
	}
	if g.lay.Offset != 0 {
		c += float64(g.lay.Offset) / float64(g.lay.PointsPerCell)
	}
	return c
}

// frame is a problem as its programs see it.
type frame struct {
	dp.Problem
	// folded: a symmetric noise is among the best (the average of a noise and
	// its mirror image is as good), so cells that mirror each other share a
	// variable and positive shifts suffice.
	folded bool
	// points is the number of points per sensitivity of an integer or lattice
	// query; 0: the query is real.
	points int64
	unit   *big.Rat // the distance of these points
	// peak is about where the best density is largest, in sensitivities.
	peak    float64
	jumping bool // the loss, or what a quantile bounds, jumps
	moments []moment
	// steps are where the best staircase first falls, in sensitivities from 0,
	// if it is known.
	steps []float64
}

// momentKind tells the multipliers of moments apart in a dual.
type momentKind int

const (
	quantileMoment momentKind = iota
	meanMoment
	varianceMoment
)

// moment is a constraint E g(X) <= limit, or E X = 0 of kind meanMoment.
type moment struct {
	kind  momentKind
	loss  loss.Loss
	limit float64
}

func newFrame(p dp.Problem) (*frame, error) {
	f := &frame{Problem: p}
	f.folded = (p.Loss.Symmetric() || p.Constraints.Symmetric) && p.Constraints.Mirrored()
	if f.discrete() {
		f.unit = new(big.Rat).SetInt64(1)
		if p.Query == dp.LatticeQuery {
			f.unit.SetFloat64(p.Step)
		}
		f.points = ceilQuo(p.Sensitivity, f.unit).Int64()
	}
	if p.Constraints.Unbiased && !f.folded {
		f.moments = append(f.moments, moment{kind: meanMoment})
	}
	if v := p.Constraints.MaxVariance; v > 0 {
		f.moments = append(f.moments, moment{varianceMoment, loss.L2{}, v})
	}
	for _, q := range p.Constraints.Quantiles {
		loss, err := q.Loss()
		if err != nil {
			return nil, err
		}
		f.moments = append(f.moments, moment{quantileMoment, loss, 1 - q.Probability})
	}
	f.peak, f.jumping = f.findPeak(), f.jumps()
	return f, nil
}

func (f *frame) discrete() bool {
	return f.Query == dp.IntegerQuery || f.Query == dp.LatticeQuery
}

// fit returns a possible number of cells per sensitivity, at least want and not
// much more: any for real queries; for others cells hold whole points, an odd
// number of them in the upper program. Of those it takes one whose cells make up
// the sensitivity best: the upper program protects what is over, and the lower
// one forgoes what is missing.
func (f *frame) fit(b bound, want int) int {
	if f.points == 0 {
		return want
	}
	if int64(want) >= f.points {
		return int(f.points)
	}
	best, least := int(f.points), math.Inf(1)
	for s := f.points / int64(want); s >= 1 && s >= f.points/int64(3*want); s-- {
		if b == upper && s%2 == 0 {
			continue
		}
		k := f.points / s
		if b == upper {
			k = (f.points + s - 1) / s
		}
		waste := math.Abs(float64(k*s-f.points)) / float64(f.points)
		if penalty := waste + pointsPatience*float64(k)/float64(want); penalty < least {
			best, least = int(k), penalty
		}
	}
	return best
}

// pointsPatience weighs more cells against waste.
const pointsPatience = 2e-3

// cells returns the grid of K cells per sensitivity, without its extent.
func (f *frame) cells(b bound, k int) grid {
	g := grid{k: k}
	switch {
	case f.points > 0 && b == upper:
		s := (f.points + int64(k) - 1) / int64(k)
		g.lay = tables.Grid{PointsPerCell: s + 1 - s%2, CellsPerSensitivity: k}
		if f.Query == dp.LatticeQuery {
			g.lay.Unit = f.Step
		}
	case f.points > 0:
		g.lay = tables.Grid{PointsPerCell: f.points / int64(k)}
		if f.Query == dp.LatticeQuery {
			g.lay.Unit = f.Step
		}
	case b == upper:
		g.lay = layGrid(f.Sensitivity, k)
	}
	return g
}

// extent returns the grid with the cells within reach sensitivities of the
// peak, on the support. The lower program takes a sensitivity more on either
// side, beyond the events that are constrained.
func (f *frame) extent(b bound, k int, reach float64) grid {
	g := f.cells(b, k)
	from, to := (f.peak-reach)*float64(k), (f.peak+reach)*float64(k)
	if f.folded {
		from, to = -reach*float64(k), reach*float64(k)
	}
	if b == lower {
		from, to = from-float64(k), to+float64(k)
	}
	first, last := math.Floor(from), math.Ceil(to)
	if b == upper && f.edgeCells(f.marks(), k) {
		g.lay.Offset = (g.lay.PointsPerCell + 1) / 2
		last--
	}
	g.openBelow, g.openAbove = true, true
	if s := f.Constraints.Support; s != nil {
		var lo, hi float64
		if b == lower {
			lo, hi = f.reachedNodes(&g, *s)
			if f.peak > 0 && !math.IsInf(lo, 0) {
				first = min(first, lo) // it is the end that keeps noise from 0
			}
			if f.peak < 0 && !math.IsInf(hi, 0) {
				last = max(last, hi)
			}
		} else {
			lo, hi = f.heldCells(&g, *s)
		}
		if first <= lo {
			first, g.openBelow = lo, false
		}
		if last >= hi {
			last, g.openAbove = hi, false
		}
	}
	g.first, g.n = int(first), max(0, int(last)-int(first)+1)
	return g
}

// betweenNodes turns the grid of a lower program into one whose cells lie
// between the nodes.
func (g grid) betweenNodes() grid {
	g.edges = true
	g.n--
	return g
}

// reachedNodes returns the first and the last node of the lower program that
// noise on the support reaches: within less than a cell of it, or in it if the
// nodes are all points there are.
func (f *frame) reachedNodes(g *grid, s dp.Interval) (lo, hi float64) {
	width := f.nodeStep(g)
	lo, hi = math.Inf(-1), math.Inf(1)
	end := func(x float64) *big.Rat {
		r := new(big.Rat).SetFloat64(x)
		return r.Quo(r, width)
	}
	exactNodes := f.points > 0 && g.lay.PointsPerCell == 1
	if !math.IsInf(s.Lower, 0) {
		lo = floorFloat(end(s.Lower), exactNodes)
	}
	if !math.IsInf(s.Upper, 0) {
		r := end(s.Upper)
		hi = -floorFloat(r.Neg(r), exactNodes)
	}
	return lo, hi
}

// floorFloat returns ⌊r⌋, or ⌈r⌉ if up.
func floorFloat(r *big.Rat, up bool) float64 {
	n := new(big.Int).Div(r.Num(), r.Denom())
	if up && !r.IsInt() {
		n.Add(n, big.NewInt(1))
	}
	v, _ := new(big.Float).SetInt(n).Float64()
	return v
}

// heldCells returns the first and the last cell of the upper program that the
// support holds, and for one end moves the cells so that it is an edge.
func (f *frame) heldCells(g *grid, s dp.Interval) (lo, hi float64) {
	step := g.lay.Step()
	size, half := g.lay.PointsPerCell, (g.lay.PointsPerCell-1)/2
	lo, hi = math.Inf(-1), math.Inf(1)
	div := func(a, b int64) int64 { // floor
		return (a - ((a%b)+b)%b) / b
	}
	point := func(x float64, up bool) int64 {
		r := new(big.Rat).SetFloat64(x)
		return int64(floorFloat(r.Quo(r, step), up))
	}
	switch {
	case f.folded && !math.IsInf(s.Upper, 0) && g.lay.Offset > 0: // edge cells
		hi = float64(div(point(s.Upper, false), size)) - 1
		return -hi - 1, hi
	case f.folded && !math.IsInf(s.Upper, 0):
		hi = float64(div(point(s.Upper, false)-half, size))
		return -hi, hi
	case !math.IsInf(s.Lower, 0):
		start := point(s.Lower, true) // of cell lo
		lo = float64(div(start+half, size))
		g.lay.Offset = start + half - int64(lo)*size
		if !math.IsInf(s.Upper, 0) {
			hi = float64(div(point(s.Upper, false)-half-g.lay.Offset, size))
		}
	case !math.IsInf(s.Upper, 0):
		end := point(s.Upper, false)
		hi = float64(div(end-half+size-1, size))
		g.lay.Offset = end - half - int64(hi)*size
	}
	if f.Constraints.Unbiased && g.lay.Offset != 0 {
		// Only cells centred on multiples of their size have a mean that
		// whole weights can make 0.
		g.lay.Offset = 0
		if !math.IsInf(lo, 0) {
			lo++
		}
	}
	return lo, hi
}

// nodeStep returns the distance of the lower program's nodes.
func (f *frame) nodeStep(g *grid) *big.Rat {
	if f.points > 0 {
		step := new(big.Rat).SetInt64(g.lay.PointsPerCell)
		return step.Mul(step, f.unit)
	}
	step := new(big.Rat).SetFloat64(f.Sensitivity)
	return step.Quo(step, new(big.Rat).SetInt64(int64(g.k)))
}

// cost returns what one unit of mass in the i-th cell costs under a loss, nil
// standing for the identity: the average over the cell in the upper program,
// the lower node in the lower one (docs/how-it-works.md).
func (f *frame) cost(b bound, g *grid, l loss.Loss, i int) float64 {
	j := g.first + i
	if b == lower {
		step := f.nodeStep(g)
		x := new(big.Rat).SetInt64(int64(j))
		x.Mul(x, step)
		switch {
		case g.edges:
			side := 1
			if j < 0 {
				x, side = x.Add(x, step), -1
			}
			x = loss.LimitDown(l, x, side)
		case l == nil:
		case f.points > 0 && g.lay.PointsPerCell == 1:
			x = l.AtDown(x)
		default:
			x = l.LowerNode(int64(j), step)
		}
		v, _ := x.Float64()
		return v
	}
	lay := g.lay
	lay.FirstCell = g.first
	step, _ := lay.Step().Float64()
	width := float64(lay.PointsPerCell) * step
	center := g.center(i) * width
	switch {
	case l == nil:
		return center
	case f.points > 0:
		v, _ := l.GridMeanUp(lay.FirstPoint(i), lay.PointsPerCell, lay.Step()).Float64()
		return v
	default:
		return l.CellMean(center, width)
	}
}

// layout lays out the program of one bound (docs/how-it-works.md):
//
//   - upper: the masses are those of a noise that is uniform inside each cell,
//     costs are cell averages of the loss, and there is an atom at 0;
//   - lower: the masses are the averages of cell probabilities over random
//     translations of the grid, for any noise whatever; costs are the nodes of
//     a piecewise linear function below the loss. Events are restricted to
//     cells K away from an open end.
//
// For an integer or lattice query both are about noise on its points, and the
// same where cells are single points. costs are divided by unit; the upper
// program keeps a share margin inside the constraints.
func (f *frame) layout(b bound, g grid, epsilon, delta, unit, margin float64) layout {
	n := g.n
	l := layout{
		variable: make([]int, n), first: g.first,
		eventLo: 0, eventHi: n,
		ratio: math.Exp(epsilon),
		delta: delta,
	}
	if b == lower {
		margin = 0
		if g.openBelow {
			l.eventLo = min(g.k, n)
		}
		if g.openAbove {
			l.eventHi = max(n-g.k, l.eventLo)
		}
	}
	l.atom = g.edges || b == upper && g.lay.PointsPerCell > 1 && f.Constraints.Holds(0)
	for i := range n {
		if mirror := n - 1 - i; f.folded && mirror < i {
			l.variable[i] = l.variable[mirror]
			continue
		}
		l.variable[i] = len(l.cost)
		l.cost = append(l.cost, f.folding(b, &g, f.Loss, i)/unit)
		// The expected fall: e^(−ε) per sensitivity, down to the order of δ.
		x := g.center(i)/float64(g.k) - f.peak
		l.scale = append(l.scale, max(math.Exp(-epsilon*math.Abs(x)), delta/10))
	}
	for k := 1; k <= g.k; k++ {
		l.shifts = append(l.shifts, k)
		if !f.folded {
			l.shifts = append(l.shifts, -k)
		}
	}
	if f.Constraints.Monotone {
		l.decreasing = f.monotonePairs(b, &g, &l)
	}
	for _, m := range f.moments {
		l.moments = append(l.moments, f.momentRow(b, &g, &l, m, margin))
	}
	if p := f.Constraints.MaxDistinguishing; p > 0 && b == upper {
		f.distinguish(&l, g.k, p*(1-margin)-float64(n)*0x1p-63)
	}
	return l
}

// folding returns cost, averaged with that of the mirror image if folded.
func (f *frame) folding(b bound, g *grid, loss loss.Loss, i int) float64 {
	c := f.cost(b, g, loss, i)
	if f.folded && (loss == nil || !loss.Symmetric()) {
		c = (c + f.cost(b, g, loss, g.n-1-i)) / 2
	}
	return c
}

// monotonePairs lists neighbours of which the one nearer to 0 has to weigh at
// least as much; see tables.Dual for the nodes of the lower program it is known
// of.
func (f *frame) monotonePairs(b bound, g *grid, l *layout) [][2]int {
	var pairs [][2]int
	from := 1
	if f.folded || (f.points > 0 && g.lay.PointsPerCell == 1) {
		from = 0
	}
	for i := 0; i+1 < g.n; i++ {
		inner, outer := i, i+1
		edge := g.center(i) + 0.5 // between the two
		if edge < 1e-9 {
			inner, outer = outer, inner
		}
		if b == lower && max(g.first+inner, -g.first-inner) < from {
			continue
		}
		if l.variable[inner] == l.variable[outer] || (f.folded && i >= g.n/2) {
			continue // the mirror image says the same
		}
		pairs = append(pairs, [2]int{l.variable[inner], l.variable[outer]})
	}
	return pairs
}

// momentRow is the row of one moment, divided by its limit or, for the mean, by
// a typical magnitude.
func (f *frame) momentRow(b bound, g *grid, l *layout, m moment, margin float64) momentRow {
	r := momentRow{kind: m.kind, lower: math.Inf(-1), upper: 1 - margin, scale: m.limit, coefficient: make([]float64, len(l.cost))}
	if m.loss == nil {
		r.lower, r.upper = 0, 0
		r.scale = f.Sensitivity * (1 + math.Abs(f.peak))
	}
	for i, v := range l.variable {
		if !f.folded || i <= g.n/2 {
			r.coefficient[v] = f.folding(b, g, m.loss, i) / r.scale
		}
	}
	return r
}

// distinguish bounds the masses of the first and last K cells, which some shift
// moves to where no mass was, by limit. The table has some mass in all others.
func (f *frame) distinguish(l *layout, k int, limit float64) {
	n := len(l.variable)
	for side := range 2 {
		r := momentRow{lower: math.Inf(-1), upper: 1, scale: limit, coefficient: make([]float64, len(l.cost)), atom: 1 / limit}
		for i := range min(k, n) {
			j := i
			if side == 1 {
				j = n - 1 - i
			}
			r.coefficient[l.variable[j]] = 1 / limit
			if f.folded && j != n-1-j {
				r.coefficient[l.variable[j]] = 0.5 / limit // it stands for two cells
			}
		}
		l.moments = append(l.moments, r)
		if f.folded {
			return
		}
	}
}

// layGrid chooses the granularity and the points per cell of a real query: g =
// 2^e with m = ⌈Δ/g⌉ ≥ K·2^16 points per sensitivity, and S the least odd
// number with K·S ≥ m, so that K·S/m − 1 ≤ 2/2^16.
func layGrid(sensitivity float64, k int) tables.Grid {
	_, exp := math.Frexp(sensitivity / float64(k))
	e := exp - 1 - minPointsBits
	step := tables.Grid{GranularityExponent: e}.Step()
	// ⌈⌈Δ/g⌉/K⌉ = ⌈Δ/(gK)⌉ for integers K.
	s := ceilQuo(sensitivity, step.Mul(step, new(big.Rat).SetInt64(int64(k)))).Int64()
	return tables.Grid{GranularityExponent: e, PointsPerCell: s + 1 - s%2, CellsPerSensitivity: k}
}

// minPointsBits: at least 2^16 grid points per cell keep the rounding of K·S to
// the sensitivity below 2^-15 of it.
const minPointsBits = 16

// ceilQuo returns ⌈x/y⌉.
func ceilQuo(x float64, y *big.Rat) *big.Int {
	r := new(big.Rat).SetFloat64(x)
	r.Quo(r, y)
	n := new(big.Int).Div(r.Num(), r.Denom())
	if !r.IsInt() {
		n.Add(n, big.NewInt(1))
	}
	return n
}
