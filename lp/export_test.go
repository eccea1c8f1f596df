package lp

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/solver"
)

// SolveEdgeCells solves the complete problem on the cells [i/K, (i+1)/K) for
// i = −cells/2 … cells/2−1, sensitivity 1, without an atom.
func SolveEdgeCells(ctx context.Context, lpSolver solver.Factory, epsilon, delta float64, k, cells int, lossName string, monotone bool) (float64, error) {
	half := cells / 2
	width := 1 / float64(k)
	l := layout{
		variable: make([]int, cells),
		eventHi:  cells,
		ratio:    math.Exp(epsilon),
		delta:    delta,
	}
	for i := range cells {
		x := (float64(i-half) + 0.5) * width
		var c float64
		switch lossName {
		case "l1":
			c = loss.L1.CellMean(x, width)
		case "l2":
			c = loss.L2.CellMean(x, width)
		case "asym": // |x| to the left of 0, 2|x| to the right
			c = math.Abs(x)
			if x > 0 {
				c *= 2
			}
		default:
			return 0, fmt.Errorf("loss %q", lossName)
		}
		l.variable[i] = i
		l.cost = append(l.cost, c)
		l.scale = append(l.scale, max(math.Exp(-epsilon*math.Abs(x)), delta/10))
	}
	if monotone {
		for i := half; i+1 < cells; i++ {
			l.decreasing = append(l.decreasing, [2]int{i, i + 1}, [2]int{cells - 1 - i, cells - 2 - i})
		}
	}
	for s := 1; s <= k; s++ {
		l.shifts = append(l.shifts, s, -s)
	}
	p, err := newProgram(l, lpSolver, 0)
	if err != nil {
		return 0, err
	}
	status, err := p.generation.Solve(ctx, 1e-9, 0)
	if err == nil && status != solver.StatusOptimal {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		return 0, err
	}
	return p.generation.Value(), p.Close()
}

// SolveIntegers solves the upper and the lower program of a query on the
// integers, where cells are the integers themselves and the two coincide, and
// returns the optimum: noise on |j| ≤ half, sensitivity in integers.
func SolveIntegers(ctx context.Context, lpSolver solver.Factory, epsilon, delta float64, sensitivity, half int, loss loss.Loss) (float64, error) {
	n := 2*half + 1
	l := layout{
		variable: make([]int, n), eventHi: n,
		ratio: math.Exp(epsilon), delta: delta,
	}
	for j := 0; j <= half; j++ {
		l.variable[half+j], l.variable[half-j] = j, j
		l.cost = append(l.cost, loss.At(float64(j)))
		l.scale = append(l.scale, max(math.Exp(-epsilon*float64(j)/float64(sensitivity)), delta/10))
	}
	for s := 1; s <= sensitivity; s++ {
		l.shifts = append(l.shifts, s)
	}
	p, err := newProgram(l, lpSolver, 0)
	if err != nil {
		return 0, err
	}
	status, err := p.run(ctx, grid{k: sensitivity}.centered(half), nil, 1e-11, 0)
	if err == nil && status != solver.StatusOptimal {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		return 0, err
	}
	return p.generation.Value(), p.Close()
}

// Work is a clock that only solving moves on, so that what a Design does in some
// time can be repeated.
type Work struct{ now time.Duration }

// perEntry is the time that an iteration takes per row and column.
const perEntry = 100 * time.Nanosecond

// Generating returns options with which all programs are solved by constraint generation.
func Generating(o Options) Options {
	o.generate = true
	return o
}

// perProduct is the time that the interior point method takes for a multiplication.
const perProduct = 1e-9 // seconds

// DesignAtWork is Design with the time that the work of the solver takes, its iterations
// and as much as one for each call, and that of the interior point method.
func DesignAtWork(ctx context.Context, p dp.Problem, o Options) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, limit, newSolver := &Work{}, o.TimeLimit, o.NewSolver
	o.clock = func() time.Duration { return w.now }
	o.step = func(products float64) {
		if w.now += time.Duration(products * perProduct * float64(time.Second)); w.now >= limit {
			cancel()
		}
	}
	o.NewSolver = func() (solver.Solver, error) {
		s, err := newSolver()
		return &counted{Solver: s, work: w, limit: limit, cancel: cancel}, err
	}
	return Design(ctx, p, o)
}

// counted counts the work of a solver and ends the context when that has taken the time.
type counted struct {
	solver.Solver
	work   *Work
	limit  time.Duration
	cancel context.CancelFunc
	size   int // rows and columns
}

func (c *counted) AddColumns(cost []float64, v solver.Vectors) error {
	c.size += len(cost)
	return c.Solver.AddColumns(cost, v)
}

func (c *counted) AddRows(v solver.Vectors) error {
	c.size += len(v.Lower)
	return c.Solver.AddRows(v)
}

func (c *counted) Solve(ctx context.Context, o solver.Options) (solver.Solution, error) {
	each := time.Duration(c.size) * perEntry
	left := max(int((c.limit-c.work.now)/each), 1)
	if o.IterationLimit == 0 || o.IterationLimit > left {
		o.IterationLimit = left
	}
	s, err := c.Solver.Solve(ctx, o)
	c.work.now += time.Duration(1+s.Iterations) * each
	if c.work.now >= c.limit {
		c.cancel()
	}
	return s, err
}

// Aligned exposes the choice of grids.
func Aligned(upperBound bool, p dp.Problem, want int) int {
	m, err := newModel(p)
	if err != nil {
		panic(err)
	}
	if upperBound {
		return aligned(upper{m}, want)
	}
	return aligned(&lower{model: m}, want)
}

// OneCell solves both bounds with one cell per sensitivity, by the chain and by
// linear programs.
func OneCell(ctx context.Context, solver solver.Factory, p dp.Problem) (chainLoss, chainBound, loss, bound float64, err error) {
	s, _, _ := Options{Gap: 1e-6, NewSolver: solver}.begin(ctx, 0, DefaultMaxCells, 1)
	s.direct = true
	d, err := newDesigner(p, s)
	if err != nil {
		return 0, 0, 0, 0, err
	}
	t, err := d.chainTable(DefaultMaxCells)
	if err != nil {
		return 0, 0, 0, 0, err
	}
	chainLoss = expectedLoss(t)
	d.loss = chainLoss
	chainBound = d.keepDual(d.chainDual(chainLoss, DefaultMaxCells))
	reach := math.Ceil(3*supportBound(p)) + 2
	u, l := d.upper.bound, d.lower.bound
	if loss, err = u.solve(ctx, d, u.extent(1, reach)); err == nil {
		bound, err = l.solve(ctx, d, l.extent(1, reach))
	}
	return chainLoss, chainBound, loss, bound, err
}
