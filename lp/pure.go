package lp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

// With delta = 0 noise has no bounded support, and for a symmetric loss that does
// not decrease away from 0 the best is a staircase (Geng & Viswanath 2016): a
// density that falls by e^ε at the distances γ, 1+γ, 2+γ, … sensitivities. Both
// bounds are then known without a linear program:
//
//   - a staircase whose steps lie on cell edges is a table of 2r-1 equal cells
//     around 0 and one period of K equal cells on either side, which repeat as a
//     tail (makeStairs);
//   - the lower program's optimum is a staircase on its nodes, and the multipliers that
//     prove it follow one another from cell to cell outwards (stairsDual).

// designPure is Design for delta = 0.
func designPure(ctx context.Context, p Problem, o Options, start time.Time) (*Result, error) {
	if s := p.Constraints.Support; s != nil && !(math.IsInf(s.Lower, -1) && math.IsInf(s.Upper, 1)) {
		return nil, fmt.Errorf("lp: support = %g,%g with delta = 0, want none: where some noise is impossible so is, a sensitivity further, all of it: %w",
			s.Lower, s.Upper, ErrInfeasible)
	}
	if !p.Loss.Symmetric() || !noise.Increasing(p.Loss) {
		return nil, fmt.Errorf("lp: loss = %s is not supported with delta = 0, want a symmetric one that does not decrease away from 0, such as l1 or l2: %w",
			p.Loss.Name(), ErrInvalid)
	}
	if _, _, ok := noise.PolynomialBeyond(p.Loss); !ok {
		return nil, fmt.Errorf("lp: loss = %s is not supported with delta = 0, want one that is a polynomial far from 0: %w", p.Loss.Name(), ErrInvalid)
	}
	p.Constraints.Support = nil
	f, err := newFrame(p)
	if err != nil {
		return nil, fmt.Errorf("lp: %w", err)
	}
	d := &designer{frame: f, options: o, start: start}
	if err := d.stairsAbove(ctx); err != nil {
		return nil, err
	}
	return d.result(d.stairsBelow(ctx))
}

// stairsAbove finds the best staircase table: of one point per cell for integer
// and lattice queries, and otherwise on grids with an edge ever closer to the
// best step, until that gains nothing more.
func (d *designer) stairsAbove(ctx context.Context) error {
	if d.discrete() {
		k := int(d.points)
		lay := tables.Grid{PointsPerCell: 1, CellsPerSensitivity: k}
		if d.Query == noise.LatticeQuery {
			lay.Unit = d.Step
		}
		return d.bestStep(ctx, lay)
	}
	m, err := noise.NewStaircase(noise.Parameters{Epsilon: d.Epsilon, Sensitivity: d.Sensitivity}, d.Loss)
	if err != nil {
		return fmt.Errorf("lp: %w", err)
	}
	gamma := m.Step()
	best := math.Inf(1)
	k := 1
	if gamma < 0.05 { // fewer cells have no edge near the step
		k = int(math.Round(0.5 / gamma))
	}
	for ; best*best > stepMatch*d.options.Gap && k <= mostStairs; k++ {
		r := max(1, int(math.Round(gamma*float64(k)+0.5)))
		off := math.Abs((float64(r)-0.5)/float64(k)/gamma - 1)
		if off > improvement*best || r > k {
			continue
		}
		best = off
		if err := d.tryStairs(layGrid(d.Sensitivity, k), r); err != nil {
			return err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil
}

const (
	// stepMatch is how close to the best step is close enough: the square of
	// the relative distance, in gaps, as the relative excess of the loss is at
	// most about that square.
	stepMatch = 0.1
	// improvement is how much closer a finer grid has to come to be tried.
	improvement = 0.7
	// mostStairs bounds the cells per sensitivity of a staircase.
	mostStairs = 1 << 17
)

// bestStep finds the best staircase on points, whose loss falls with the step r and
// then rises, by bisection: the sum of an increasing loss over its level sets is
// convex in r, over a positive linear function.
func (d *designer) bestStep(ctx context.Context, lay tables.Grid) error {
	k := lay.CellsPerSensitivity
	low, high := 1, k
	losses := make(map[int]float64)
	at := func(r int) float64 {
		if _, ok := losses[r]; !ok {
			losses[r] = d.stairsLoss(lay, r)
		}
		return losses[r]
	}
	for low < high && ctx.Err() == nil {
		if m := low + (high-low)/2; at(m) <= at(m+1) {
			high = m
		} else {
			low = m + 1
		}
	}
	return d.tryStairs(lay, low)
}

// stairsLoss returns about the expected loss of a staircase on points. The levels
// beyond where the loss is a polynomial are summed as a table's tail is.
func (d *designer) stairsLoss(lay tables.Grid, r int) float64 {
	k := lay.CellsPerSensitivity
	unit, _ := d.unit.Float64()
	b := math.Exp(-d.Epsilon)
	run := func(from, to int) (sum float64) {
		for j := from; j < to; j++ {
			sum += d.Loss.At(float64(j)*unit) + d.Loss.At(-float64(j)*unit)
		}
		return sum
	}
	loss := d.Loss.At(0) + run(1, r)
	mass := float64(2*r-1) + 2*float64(k)*b/-math.Expm1(-d.Epsilon)
	from, degree, _ := noise.PolynomialBeyond(d.Loss)
	bend, _ := from.Float64()
	level := b
	for ; float64(r)*unit <= bend; r += k {
		loss += level * run(r, r+k)
		level *= b
	}
	differences := make([]float64, degree+1)
	for i := range differences {
		differences[i] = run(r+i*k, r+(i+1)*k)
	}
	level /= -math.Expm1(-d.Epsilon)
	for i := range differences {
		loss += level * differences[0]
		level *= b / -math.Expm1(-d.Epsilon)
		for j := range len(differences) - i - 1 {
			differences[j] = differences[j+1] - differences[j]
		}
	}
	return loss / mass
}

// tryStairs makes a staircase table and keeps it if it is the best.
func (d *designer) tryStairs(lay tables.Grid, r int) error {
	n := 2*lay.CellsPerSensitivity + 2*r - 1
	if n > d.options.MaxCells {
		if d.table != nil {
			return nil
		}
		return tooManyCells(d.options.MaxCells)
	}
	t, c, err := d.makeStairs(lay, r)
	if err != nil {
		return err
	}
	if loss, _ := c.ExpectedLoss.Float64(); d.table == nil || loss < d.loss {
		d.table, d.loss = t, loss
	}
	d.rounds++
	return nil
}

// makeStairs makes the staircase table with 2r-1 cells of weight A around 0 and K
// cells of weight W on either side, which stand for themselves and, with the ratio
// ρ, for all their repetitions. It is private if, with E <= e^ε the bound of the
// certificate,
//
//	ρ·E >= 1   and   A <= E·(1-ρ)·W,
//
// as the tail falls by no more than E in every period, and the middle by no more
// than E to the first; everything else in reach of a shift differs by less.
func (f *frame) makeStairs(lay tables.Grid, r int) (*tables.Table, tables.Certificate, error) {
	var none tables.Certificate
	const bits = 96 // those of a table's certificate
	k, mid := int64(lay.CellsPerSensitivity), int64(2*r-1)
	e := exact.ExpDown(f.Epsilon, bits)
	one := new(big.Int).Lsh(big.NewInt(1), 64)
	// The least ratio: ⌈2^64/E⌉.
	ratio := new(big.Int).Lsh(big.NewInt(1), 64+bits)
	ratio.Add(ratio, e).Sub(ratio, big.NewInt(1)).Div(ratio, e)
	// fall = E·(1-ρ)·2^(64+96).
	fall := new(big.Int).Sub(one, ratio)
	fall.Mul(fall, e)
	// The least W for which the rest, over the cells of the middle, is at most fall·W
	// with mid to spare: W·(2K + mid·fall) >= 2^64 + mid·mid.
	num := new(big.Int).Add(one, big.NewInt(mid*mid))
	num.Lsh(num, 64+bits)
	den := new(big.Int).Mul(fall, big.NewInt(mid))
	den.Add(den, new(big.Int).Lsh(big.NewInt(2*k), 64+bits))
	w := num.Div(num, den)
	w.Add(w, big.NewInt(1))
	rest := new(big.Int).Sub(one, new(big.Int).Mul(w, big.NewInt(2*k)))
	a, left := rest.DivMod(rest, big.NewInt(mid), new(big.Int))
	if a.Sign() <= 0 {
		return nil, none, fmt.Errorf("lp: %d cells per sensitivity at epsilon = %g are more than integer weights can tell apart: %w", k, f.Epsilon, ErrLimit)
	}

	weights := make([]uint64, 2*k+mid)
	for i := range weights {
		if int64(i) < k || int64(i) >= k+mid {
			weights[i] = w.Uint64()
		} else {
			weights[i] = a.Uint64()
		}
	}
	weights[len(weights)/2] += left.Uint64()
	lay.FirstCell = -(r - 1) - int(k)
	t, err := tables.New(tables.Spec{
		Privacy: f.privacy(), Query: f.Query, Loss: f.Loss, Constraints: f.Constraints,
		Grid: lay, Weights: weights, TailRatio: ratio.Uint64(),
	})
	if err != nil {
		return nil, none, fmt.Errorf("lp: %w", err)
	}
	c, err := t.Verify()
	if errors.Is(err, tables.ErrFalseClaim) {
		return nil, none, fmt.Errorf("lp: constraints are not supported with delta = 0 where the best noise without them breaks them, as here: %w: %w", err, ErrInvalid)
	}
	if err != nil {
		return nil, none, fmt.Errorf("lp: %w", err)
	}
	return t, c, nil
}

// stairsBelow proves bounds on finer and finer nodes until the gap is reached.
func (d *designer) stairsBelow(ctx context.Context) error {
	// What lies beyond so many periods is e^-12 of a gap.
	least := int(math.Ceil((12-math.Log(d.options.Gap))/d.Epsilon)) + 2
	k, most := 1, max(1, d.options.MaxCells/least)
	if d.discrete() {
		k = d.stridedNodes(most)
		most = k
	}
	for {
		if !d.discrete() {
			k = min(d.aligned(lower, k), most)
		}
		periods := min(max(least, fewMultipliers/k), 2*least)
		if dual := d.stairsDual(k, periods); dual != nil {
			d.keepDual(dual)
		}
		d.rounds++
		gap := d.gap()
		if d.options.Progress != nil {
			d.options.Progress(Progress{
				CellsPerSensitivity: k, ExpectedLoss: d.loss, LowerBound: d.bound, Gap: gap, Elapsed: time.Since(d.start),
			})
		}
		switch {
		case gap <= d.options.Gap:
			return nil
		case ctx.Err() != nil:
			return ErrLimit
		case k >= most:
			return fmt.Errorf("lp: more than %d cells per sensitivity are needed, max-cells = %d: %w", k, d.options.MaxCells, ErrLimit)
		}
		k += max(1, k/2)
	}
}

// stridedNodes returns a number of nodes per sensitivity, up to most, at a distance
// of whole points: one that leaves little of the sensitivity uncovered, whose share of
// the bound is lost, and is large, as the bound loses some (ε/k)² of itself.
func (f *frame) stridedNodes(most int) int {
	points := int(f.points)
	best, score := 1, math.Inf(-1)
	for k := 1; k <= min(most, points); k++ {
		s := float64(k*(points/k)) / float64(points)
		if k < points {
			s -= math.Pow(f.Epsilon/float64(k), 2)
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
// program with K nodes per sensitivity and delta = 0, by events within so many periods.
//
// Write y(j,i) for the multiplier of q_j <= e^ε·q_i, |j-i| <= K, and mirror all of
// them. The coefficients are c_j = l_j + Σ_i y(j,i) - e^ε·Σ_i y(i,j), and all c_j >= λ
// prove λ. A cell j needs s_j = λ - l_j from the cells it compares itself with. A
// cell i further out that is itself helped by cell i+K can carry at most
//
//	A_i = e^-ε·(l_i - λ + A_{i+K}),
//
// with A = 0 beyond the last period. The cells with A_i < 0, |i| < r, have to be
// helped, by the K cells on either side from r on; λ is the largest for which
// those can carry what is needed. Cell 0 is helped from both sides alike, and the
// others from their own. The furthest helper i reaches the fewest cells, j >= i-K, so
// helpers are used up from the furthest on.
func (d *designer) stairsDual(k, periods int) *tables.Dual {
	n := k * periods
	nodes := make([]float64, n)
	target := d.target()
	for j := range nodes {
		nodes[j] = d.stairsNode(target.Step, k, j)
	}
	b := math.Exp(-d.Epsilon)
	carry := make([]float64, n+k)
	// fill computes A for λ, and returns r and whether it is enough.
	fill := func(level float64) (r int, enough bool) {
		for j := n - 1; j >= 0; j-- {
			carry[j] = b * (nodes[j] - level + carry[j+k])
		}
		r = 1
		for r <= k && r < n && carry[r] < 0 {
			r++
		}
		if r > k || r+k > n {
			return r, false
		}
		var need, can float64
		for j := range r {
			if need += level - nodes[j]; j > 0 {
				need += level - nodes[j]
			}
		}
		for i := r; i < r+k; i++ {
			can += 2 * carry[i]
		}
		return r, can >= need
	}
	lo, hi := nodes[0], d.loss*(1+1e-9)
	if _, ok := fill(lo); !ok {
		return nil
	}
	for range 80 {
		if m := lo + (hi-lo)/2; m > lo && m < hi {
			if _, ok := fill(m); ok {
				lo = m
			} else {
				hi = m
			}
		}
	}
	r, _ := fill(lo)

	edges := make(map[int]map[int]float64) // by shift -(i-j) and j
	add := func(j, i int, y float64) {
		if edges[j-i] == nil {
			edges[j-i] = make(map[int]float64)
		}
		edges[j-i][j] += y
	}
	var needy []int // cells that can use helper i, the last first
	need := make([]float64, r)
	for j := range need {
		need[j] = lo - nodes[j]
	}
	need[0] /= 2
	next := r - 1
	for i := r + k - 1; i >= r; i-- {
		for ; next >= max(i-k, 0); next-- {
			needy = append(needy, next)
		}
		for left := carry[i]; left > 0 && len(needy) > 0; {
			j := needy[len(needy)-1]
			y := min(left, need[j])
			add(j, i, y)
			left -= y
			if need[j] -= y; need[j] <= 0 {
				needy = needy[:len(needy)-1]
			}
		}
	}
	for i := r; i+k < n; i++ {
		if carry[i+k] > 0 {
			add(i, i+k, carry[i+k])
		}
	}
	return edgesDual(k, edges)
}

// stairsNode returns l_j of the dual's grid, as the certificate does.
func (f *frame) stairsNode(unit *big.Rat, k, j int) float64 {
	step := new(big.Rat)
	points := false
	if f.discrete() {
		stride := f.points / int64(k)
		points = stride == 1
		step.Mul(unit, new(big.Rat).SetInt64(stride))
	} else {
		step.SetFloat64(f.Sensitivity)
		step.Quo(step, new(big.Rat).SetInt64(int64(k)))
	}
	l := new(big.Rat)
	if points {
		l = f.Loss.AtDown(l.Mul(step, l.SetInt64(int64(j))))
	} else {
		l = f.Loss.LowerNode(int64(j), step)
	}
	c, _ := l.Float64()
	return c
}

// edgesDual rounds multipliers, by shift and cell, to a mirrored dual.
func edgesDual(k int, edges map[int]map[int]float64) *tables.Dual {
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
	d := &tables.Dual{CellsPerSensitivity: k, Exponent: exp - dualBits, Mirrored: true}
	for shift := -1; shift >= -k; shift-- {
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
