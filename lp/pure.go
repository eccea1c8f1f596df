package lp

import (
	"context"
	"errors"
	"math"
	"math/big"
	"slices"
	"sort"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// With delta = 0 noise has no bounded support, and for a loss that has one valley, so
// that it does not decrease away from some point, the best is a staircase (Geng &
// Viswanath 2016 for symmetric losses): a density that falls by e^ε at both ends of a
// core, and at every whole sensitivity from there. Both bounds are then known
// without a linear program:
//
//   - a staircase whose core is made of cells is a table of these cells and one
//     period of K equal cells on either side, which repeat as a tail (makeStairs);
//   - the lower program's optimum is a staircase on its nodes, and the multipliers that
//     prove it follow one another from cell to cell outwards (stairsDual).

// designPure is Design for delta = 0.
func designPure(ctx context.Context, p dp.Problem, o Options, start time.Time) (*Result, error) {
	if s := p.Constraints.Support; s != nil && !(math.IsInf(s.Lower, -1) && math.IsInf(s.Upper, 1)) {
		return nil, check.Errorf("lp", ErrInfeasible, "support = %g,%g with delta = 0, want none: where some noise is impossible so is, a sensitivity further, all of it", s.Lower, s.Upper)
	}
	if loss.TailParts(p.Loss) == nil {
		return nil, check.Errorf("lp", dp.ErrInvalid, "loss = %s is not supported with delta = 0, want one whose growth far from 0 is known", p.Loss.Name())
	}
	p.Constraints.Support = nil
	d, err := newDesigner(p, o, start)
	if err != nil {
		return nil, err
	}
	loss, s, e, ok := d.searchStairs()
	if !ok && d.folded && !p.Constraints.Symmetric {
		// The valleys of the loss lie off 0: the best noise, too, may be as good
		// as its mirror image and not symmetric.
		d.folded = false
		loss, s, e, ok = d.searchStairs()
	}
	if !ok {
		return nil, check.Errorf("lp", dp.ErrInvalid, "loss = %s is not supported with delta = 0, want one with a single valley, such as l1 or pinball:0.9", p.Loss.Name())
	}
	c := newCore(s, e)
	d.steps = []float64{math.Abs(c.from), math.Abs(c.from + c.width)}
	if err := d.stairsAbove(ctx, c); err != nil {
		return nil, err
	}
	return d.result(d.stairsBelow(ctx, c, loss))
}

// searchStairs finds the best staircase for the loss, or for the loss made symmetric, if
// folded.
func (m *model) searchStairs() (l loss.Loss, s *stairs, e ends, ok bool) {
	l = m.Loss
	if m.folded {
		l = loss.Symmetrized(l)
	}
	s = m.newStairs(l)
	starts := []int64{0}
	if !m.folded {
		starts = s.valleys()
	}
	least := math.Inf(1)
	for _, x := range starts {
		if found, value, good := s.best(x); good && value < least {
			e, least, ok = found, value, true
		}
	}
	return l, s, e, ok
}

// core is the core of a staircase, in sensitivities; on points that of their cells.
type core struct{ from, width float64 }

func newCore(s *stairs, e ends) core {
	from := -float64(e.left)
	if s.points {
		from += 0.5
	}
	return core{from / float64(s.period), float64(s.width(e)) / float64(s.period)}
}

// stairsAbove finds the best staircase table: of one point per cell for integer
// and lattice queries, and otherwise on grids with whole cells ever closer to the
// best core, until that gains nothing more.
func (d *designer) stairsAbove(ctx context.Context, c core) error {
	if d.discrete() {
		cells, points := d.pointCells(1), float64(d.points)
		cells.CellsPerSensitivity = int(d.points)
		return d.tryStairs(cells, int(math.Round(c.from*points+0.5)), int(math.Round(c.width*points)))
	}
	best := math.Inf(1)
	k := 1
	if c.width < 0.1 { // fewer cells have no edges near the core's
		k = int(math.Round(1 / c.width))
	}
	for ; best*best > stepMatch*d.options.Gap && k <= mostStairs; k++ {
		// The core is never wider than two sensitivities: a higher level inside
		// would gain.
		n := min(max(1, int(math.Round(c.width*float64(k)))), 2*k)
		if d.folded { // 0 is in the middle of a cell
			n = 2*min(max(0, int(math.Round((c.width*float64(k)-1)/2))), k-1) + 1
		}
		off := math.Abs(float64(n)/float64(k)/c.width - 1)
		if off > improvement*best {
			continue
		}
		best = off
		cells, first := realCells(d.Sensitivity, k), -(n-1)/2
		if !d.folded {
			cells, first = startAt(cells, (c.from+c.width/2)*float64(k)-float64(n)/2)
		}
		if err := d.tryStairs(cells, first, n); err != nil {
			return err
		}
		if ctx.Err() != nil {
			break
		}
	}
	if d.table == nil {
		return tooManyCells(d.options.MaxCells)
	}
	return nil
}

// startAt moves the cells of a grid so that one of them begins next to x, in cells
// from 0, and returns that one.
func startAt(cells tables.Grid, x float64) (tables.Grid, int) {
	whole := math.Floor(x)
	// Cell j begins half a cell before its middle, Offset + jS.
	cells.Offset = int64(math.Round((x - whole + 0.5) * float64(cells.PointsPerCell)))
	return cells, int(whole)
}

const (
	// stepMatch is how close to the best core is close enough: the square of
	// the relative distance, in gaps, as the relative excess of the loss is at
	// most about that square.
	stepMatch = 0.1
	// improvement is how much closer a finer grid has to come to be tried.
	improvement = 0.7
	// mostStairs bounds the cells per sensitivity of a staircase.
	mostStairs = 1 << 17
)

// tryStairs makes the staircase table with the core of n cells from the first one
// on, and keeps it if it is the best.
func (d *designer) tryStairs(cells tables.Grid, first, n int) error {
	left, right := extraPeriods(cells, first, n)
	if total := n + cells.CellsPerSensitivity*(2+left+right); total > d.options.MaxCells {
		if d.table != nil {
			return nil
		}
		return tooManyCells(d.options.MaxCells)
	}
	t, c, err := d.makeStairs(cells, first, n)
	if err != nil {
		return err
	}
	loss, _ := c.ExpectedLoss.Float64()
	d.keepTable(t, loss)
	d.rounds++
	return nil
}

// extraPeriods returns how many periods the table has on either side between the core
// and the block, so that the point 0 is in no block; one of them is 0.
func extraPeriods(cells tables.Grid, first, n int) (left, right int) {
	cells.FirstCell = first
	k := cells.CellsPerSensitivity
	for cells.FirstPoint(-left*k) > 0 {
		left++
	}
	for cells.FirstPoint(n+right*k) <= 0 {
		right++
	}
	return left, right
}

// makeStairs makes the staircase table with the core of n cells from the first one
// on. Its weights are the levels, the core's first, are stairWeights.
func (m *model) makeStairs(cells tables.Grid, first, n int) (*tables.Table, tables.Certificate, error) {
	var none tables.Certificate
	k := cells.CellsPerSensitivity
	left, right := extraPeriods(cells, first, n)
	w := newStairWeights(m.Epsilon, k, n, max(left, right))
	if w == nil {
		return nil, none, check.Errorf("lp", ErrLimit, "%d cells per sensitivity at epsilon = %g are more than integer weights can tell apart", k, m.Epsilon)
	}
	var outwards [2][]uint64 // the cells on either side, from the core on
	for side, extra := range []int{left, right} {
		levels := []uint64{w.near}
		if extra > 0 {
			levels = append(slices.Clone(w.between), w.far)
		}
		for _, v := range levels {
			outwards[side] = append(outwards[side], slices.Repeat([]uint64{v}, k)...)
		}
	}
	middle := slices.Repeat([]uint64{w.core}, n)
	middle[n/2] += w.left
	slices.Reverse(outwards[0])
	cells.FirstCell = first - len(outwards[0])
	t, err := tables.New(tables.Spec{
		Problem: m.Problem,
		Grid:    cells, Weights: slices.Concat(outwards[0], middle, outwards[1]), TailRatio: w.ratio,
	})
	if err != nil {
		return nil, none, check.Errorf("lp", nil, "%w", err)
	}
	c, err := t.Verify()
	if errors.Is(err, tables.ErrFalseClaim) {
		return nil, none, check.Errorf("lp", dp.ErrInvalid, "constraints are not supported with delta = 0 where the best noise without them breaks them, as here: %w", err)
	}
	if err != nil {
		return nil, none, check.Errorf("lp", nil, "%w", err)
	}
	return t, c, nil
}

// stairWeights holds the integer weights of the cells of a staircase, by level: each level
// is private to the next one out. Next to the core lie a block on one side and, on the
// other, the levels between and then the block far; or blocks like near on both.
type stairWeights struct {
	core, left uint64 // left is what the division by the core's cells leaves
	between    []uint64
	near, far  uint64
	ratio      uint64
}

// newStairWeights returns the weights of a core of n cells and periods of k cells, some of
// them between the core and one of the blocks, or nil if the weights are too small.
//
// With E <= e^ε the bound of the certificate, the ratio is the least ρ with ρ·E >= 1.
// The first period of a block of weight W weighs (1-ρ)·W per cell, so the next level
// in weighs ⌊E·(1-ρ)·W⌋ at most, and each further one ⌊E·V⌋, V being the one before.
// The block on the other side of the core has the least weight whose first period is
// not below the innermost V. W is the least one such that the core takes what is left.
func newStairWeights(epsilon float64, k, n, between int) *stairWeights {
	const bits = 96 // those of a table's certificate
	e := exact.ExpDown(epsilon, bits)
	one := new(big.Int).Lsh(big.NewInt(1), 64)
	ratio := new(big.Int).Lsh(big.NewInt(1), 64+bits) // ⌈2^64/E⌉
	ratio.Add(ratio, e).Sub(ratio, big.NewInt(1)).Div(ratio, e)
	first := new(big.Int).Sub(one, ratio) // (1-ρ)·2^64
	inwards := func(v *big.Int, shift uint) *big.Int {
		v = new(big.Int).Mul(v, e)
		return v.Rsh(v, bits+shift)
	}
	// levels returns the weights for a W: those between, the innermost first, the
	// other block's, the most that the core's cells may weigh and what is left to them.
	levels := func(w *big.Int) (inner []*big.Int, near, most, left *big.Int) {
		near = w
		most = inwards(new(big.Int).Mul(w, first), 64)
		cells := new(big.Int).Add(w, w)
		for range between {
			inner = append(inner, most)
			most = inwards(most, 0)
		}
		if between > 0 {
			slices.Reverse(inner)
			near = new(big.Int).Lsh(inner[0], 64)
			near.Add(near, first).Sub(near, big.NewInt(1)).Div(near, first)
			cells.Add(w, near)
			for _, v := range inner {
				cells.Add(cells, v)
			}
		}
		left = cells.Mul(cells, big.NewInt(int64(k)))
		return inner, near, most, left.Sub(one, left)
	}
	share := func(left *big.Int) (a, over *big.Int) {
		return new(big.Int).DivMod(left, big.NewInt(int64(n)), new(big.Int))
	}
	const large = math.MaxInt // two blocks of that weigh all there is
	least := sort.Search(large, func(w int) bool {
		_, _, most, left := levels(big.NewInt(int64(w)))
		a, over := share(left)
		return a.Add(a, over).Cmp(most) <= 0
	})
	far := big.NewInt(int64(least))
	inner, near, _, left := levels(far)
	a, over := share(left)
	if least == large || a.Sign() <= 0 || !a.IsUint64() || !near.IsUint64() {
		return nil
	}
	t := &stairWeights{core: a.Uint64(), left: over.Uint64(), near: near.Uint64(), far: far.Uint64(), ratio: ratio.Uint64()}
	for _, v := range inner {
		t.between = append(t.between, v.Uint64())
	}
	return t
}

// stairsBelow proves bounds on finer and finer nodes until the gap is reached. The
// loss is that of the problem, made symmetric if folded.
func (d *designer) stairsBelow(ctx context.Context, c core, loss loss.Loss) error {
	least, most := d.periodsBelow(c, loss)
	sides := 2
	if d.folded {
		sides = 1
	}
	k, finest := 1, max(1, d.options.MaxCells/(least*sides))
	if d.discrete() {
		k = d.stridedNodes(finest)
		finest = k
	}
	for idle := 0; ; {
		before := d.bound
		if !d.discrete() {
			k = min(aligned(d.lower.bound, k), finest)
		}
		periods := min(max(least, fewMultipliers/k), most)
		if dual := d.stairsDual(c, loss, k, k*periods); dual != nil {
			d.keepDual(dual)
		}
		d.rounds++
		if idle++; d.bound > before*(1+d.options.Gap/100) {
			idle = 0
		}
		d.report(k)
		switch {
		case d.gap() <= d.options.Gap:
			return nil
		case ctx.Err() != nil:
			return ErrLimit
		case d.discrete() && int64(k) == d.points:
			return check.Errorf("lp", ErrLimit, "nodes on all points do not prove the gap, which happens for losses with several valleys and for high powers")
		case k >= finest:
			return check.Errorf("lp", ErrLimit, "more than %d cells per sensitivity are needed, max-cells = %d", k, d.options.MaxCells)
		case idle >= mostIdle && d.bound > 0, idle >= 3*mostIdle:
			return check.Errorf("lp", ErrLimit, "finer grids no longer raise the lower bound, at %d cells per sensitivity, which happens for losses with several valleys and for high powers", k)
		}
		k += max(1, k/2)
	}
}

// mostIdle is after how many grids without a better bound the next are not tried; three
// times that without any.
const mostIdle = 4

// periodsBelow returns the least and the most periods on either side of the core that
// the proofs on nodes take. Beyond the least lies e^-12 of a gap; more of them gain a
// little where nodes are few. But for a loss that grows steeply fewer are better: the
// multipliers grow with it, and all are multiples of some 2^-60 of the largest, which
// the bound misses e^ε times.
func (d *designer) periodsBelow(c core, loss loss.Loss) (least, most int) {
	p := d.Problem
	p.Loss = loss
	middle := c.from + c.width/2
	coarse := func(periods int) float64 { // what the bound misses, relative
		far := float64(periods) * d.Sensitivity
		top := max(loss.At(middle*d.Sensitivity-far), loss.At(middle*d.Sensitivity+far))
		return math.Ldexp(math.Exp(d.Epsilon)*top/d.loss, 3-dualBits)
	}
	share := math.Exp(-12) * d.options.Gap
	for ; share < 1; share *= 2 {
		least = int(math.Ceil(tailReach(p, share)+math.Abs(d.peak))) + 3
		if coarse(least) <= share {
			break
		}
	}
	most = 2 * least
	for most > least && coarse(most) > share/8 {
		most--
	}
	return least, most
}

// stridedNodes returns a number of nodes per sensitivity, up to most, at a distance
// of whole points: one that leaves little of the sensitivity uncovered, whose share of
// the bound is lost, and is large, as the bound loses some (ε/k)² of itselm.
func (m *model) stridedNodes(most int) int {
	points := int(m.points)
	best, score := 1, math.Inf(-1)
	for k := 1; k <= min(most, points); k++ {
		s := float64(k*(points/k)) / float64(points)
		if k < points {
			s -= math.Pow(m.Epsilon/float64(k), 2)
		}
		if s >= score {
			best, score = k, s
		}
	}
	return best
}

// fewMultipliers of a proof are too few to save on.
const fewMultipliers = 1 << 14

// stairsDual returns multipliers that prove nearly the optimum of the lower
// program with K nodes per sensitivity and delta = 0, by events within n nodes of
// the middle of the core.
//
// Write y(j,i) for the multiplier of q_j <= e^ε·q_i, |j-i| <= K. The coefficients
// are c_j = l_j + Σ_i y(j,i) - e^ε·Σ_i y(i,j), and all c_j >= λ prove λ. The cells j
// of a core need s_j = λ - l_j from the cells they compare themselves with, the K
// on either side of it; a cell i there can carry A_i, see stairsSide. λ is the largest
// for which those can carry what is needed. The cells on the right serve the right end
// of the core, as far as they suffice, and those on the left the rest.
func (d *designer) stairsDual(c core, loss loss.Loss, k, n int) *tables.Dual {
	scale := float64(k)
	if d.discrete() {
		scale = float64(d.points) / float64(d.points/int64(k))
	}
	middle := 0
	if !d.folded {
		middle = int(math.Round((c.from + c.width/2) * scale))
	}
	sides := [2]*stairsSide{d.newSide(loss, k, middle, 1, n)}
	if sides[1] = sides[0]; !d.folded {
		sides[1] = d.newSide(loss, k, middle, -1, n)
	}
	enough := func(level float64) bool {
		need, can := level-sides[0].nodes[0], 0.0
		for _, s := range sides {
			if !s.fill(level, math.Exp(-d.Epsilon)) {
				return false
			}
			for j := 1; j < s.r; j++ {
				need += level - s.nodes[j]
			}
			for i := s.r; i < s.r+k; i++ {
				can += s.carry[i]
			}
		}
		return can >= need
	}
	hi := d.loss * (1 + 1e-9)
	lo := hi
	for share := 1e-4; !enough(lo); share *= 2 {
		if share >= 1 {
			return nil
		}
		lo = d.loss * (1 - share)
	}
	for range 80 {
		if m := lo + (hi-lo)/2; m > lo && m < hi {
			if enough(m) {
				lo = m
			} else {
				hi = m
			}
		}
	}
	enough(lo)

	edges := make(map[int]map[int]float64) // by shift j-i and j
	add := func(j, i int, y float64) {
		if edges[j-i] == nil {
			edges[j-i] = make(map[int]float64)
		}
		edges[j-i][j] += y
	}
	right, left := sides[0], sides[1]
	if d.folded { // cell 0 is helped from both sides alike
		need := right.needs(lo, 0)
		need[0] /= 2
		right.serve(0, need, add)
	} else {
		right.other, left.other = left, right
		from, need, share := right.split(lo)
		right.serve(from, need, add)
		need = left.needs(lo, -from)
		need[0] = share
		left.serve(-from, need, add)
	}
	return edgesDual(k, edges, d.folded)
}

// stairsSide is one side of the nodes of stairsDual, counted outwards from the middle.
type stairsSide struct {
	middle, side, k int
	nodes, carry    []float64
	other           *stairsSide
	r               int // the first cell beyond the core
}

func (d *designer) newSide(loss loss.Loss, k, middle, side, n int) *stairsSide {
	s := &stairsSide{middle: middle, side: side, k: k, nodes: make([]float64, n), carry: make([]float64, n+k)}
	program := &lower{model: d.model}
	g := program.cells(k)
	for j := range s.nodes {
		s.nodes[j], _ = program.node(&g, loss, middle+side*j).Float64()
	}
	return s
}

// fill computes A and r for λ, and reports whether the cells reach far enough. A cell
// i that is itself helped by cell i+K can carry at most
//
//	A_i = e^-ε·(l_i - λ + A_{i+K}),
//
// with A = 0 beyond the last cell. The cells with A_i < 0 have to be helped.
func (s *stairsSide) fill(level, ratio float64) bool {
	n := len(s.nodes)
	for j := n - 1; j >= 0; j-- {
		s.carry[j] = ratio * (s.nodes[j] - level + s.carry[j+s.k])
	}
	s.r = 1
	for s.r <= s.k && s.r < n && s.carry[s.r] < 0 {
		s.r++
	}
	return s.r <= s.k && s.r+s.k <= n
}

// needs returns what the cells of the core need, from one on.
func (s *stairsSide) needs(level float64, from int) []float64 {
	need := make([]float64, 0, s.r-from)
	for j := from; j < s.r; j++ {
		if j < 0 {
			need = append(need, level-s.other.nodes[-j])
		} else {
			need = append(need, level-s.nodes[j])
		}
	}
	return need
}

// split returns the part of the core's needs that this side can serve, from its outer
// end inwards: the last cell, whose need may be shared, the needs from there on, and
// the other side's share.
func (s *stairsSide) split(level float64) (from int, need []float64, share float64) {
	var can float64
	for i := s.r; i < s.r+s.k; i++ {
		can += s.carry[i]
	}
	all := s.needs(level, 1-s.other.r)
	at := len(all) - 1
	for ; at > 0 && can > all[at]; at-- {
		can -= all[at]
	}
	need = slices.Clone(all[at:])
	need[0] = min(can, all[at])
	return at + 1 - s.other.r, need, all[at] - need[0]
}

// serve calls add with the multipliers y(j,i) by which the cells r to r+K-1 serve the
// needs of the cells j from one on, and pass on what they then need from further out.
// The furthest helper i reaches the fewest cells, j >= i-K, so helpers are used up
// from the furthest on.
func (s *stairsSide) serve(from int, need []float64, add func(j, i int, y float64)) {
	edge := func(j, i int, y float64) { add(s.middle+s.side*j, s.middle+s.side*i, y) }
	var needy []int // cells that can use helper i, the last first
	next := s.r - 1
	for i := s.r + s.k - 1; i >= s.r; i-- {
		for ; next >= max(i-s.k, from); next-- {
			needy = append(needy, next)
		}
		for left := s.carry[i]; left > 0 && len(needy) > 0; {
			j := needy[len(needy)-1]
			y := min(left, need[j-from])
			edge(j, i, y)
			left -= y
			if need[j-from] -= y; need[j-from] <= 0 {
				needy = needy[:len(needy)-1]
			}
		}
	}
	for i := s.r; i+s.k < len(s.nodes); i++ {
		if s.carry[i+s.k] > 0 {
			edge(i, i+s.k, s.carry[i+s.k])
		}
	}
}

// edgesDual rounds multipliers, by shift and cell, to a dual, which doubles them if
// mirrored.
func edgesDual(k int, edges map[int]map[int]float64, mirrored bool) *tables.Dual {
	var total float64
	for _, cells := range edges {
		var top float64
		for _, y := range cells {
			top = max(top, y)
		}
		total += top
	}
	if !(total > 0) {
		return nil
	}
	_, exp := math.Frexp(2 * total)
	d := &tables.Dual{CellsPerSensitivity: k, Exponent: exp - dualBits, Mirrored: mirrored}
	for shift := -k; shift <= k; shift++ {
		cells := edges[shift]
		if len(cells) == 0 {
			continue
		}
		first, last := math.MaxInt, math.MinInt
		for j := range cells {
			first, last = min(first, j), max(last, j)
		}
		s := tables.DualShift{Shift: shift, FirstCell: first, Multipliers: make([]int64, last-first+1)}
		for j, y := range cells {
			s.Multipliers[j-first] = int64(math.Ldexp(y, -d.Exponent))
		}
		d.Shifts = append(d.Shifts, s)
	}
	return d
}
