// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package highs

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/solver"
)

func TestHiGHS(t *testing.T) { testSolver(t, New) }

func TestVersion(t *testing.T) {
	var major, minor, patch int
	if n, err := fmt.Sscanf(Version(), "%d.%d.%d", &major, &minor, &patch); n != 3 || err != nil {
		t.Errorf("Version() = %q, want three numbers", Version())
	}
	t.Logf("HiGHS %s", Version())
}

// testSolver is what every lp.Solver has to pass. It asks for nothing that
// depends on the solver but one thing: limits have to stop it in seconds.
func testSolver(t *testing.T, newSolver solver.Factory) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*testing.T, solver.Factory)
	}{
		{"BruteForce", testBruteForce},
		{"DualSigns", testDualSigns},
		{"Incremental", testIncremental},
		{"WarmStart", testWarmStart},
		{"Infeasible", testInfeasible},
		{"Unbounded", testUnbounded},
		{"Empty", testEmpty},
		{"SmallEntries", testSmallEntries},
		{"TimeLimit", testTimeLimit},
		{"ClockPerCall", testClockPerCall},
		{"Cancelled", testCancelled},
		{"CancelMidway", testCancelMidway},
		{"Impatient", testImpatient},
		{"CancelledDeadline", testDeadline},
		{"Invalid", testInvalid},
		{"InvalidOptions", testInvalidOptions},
		{"Close", testClose},
		{"Silent", testSilent},
		{"Parallel", testParallel},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newSolver) })
	}
}

// tolerance is what two optima may differ by, relative to 1 + their size: the
// programs have tens of entries of size about 1 and the solver tolerates 1e-7
// in each row.
const tolerance = 1e-5

var inf = math.Inf(1)

// methods are the ways a program is solved in the tests of outcomes.
var methods = []struct {
	name    string
	options solver.Options
}{
	{"auto", solver.Options{}},
	{"auto presolve", solver.Options{Presolve: true}},
	{"dual", solver.Options{Method: solver.MethodDualSimplex}},
	{"dual presolve tight", solver.Options{Method: solver.MethodDualSimplex, Presolve: true, Tolerance: 1e-9}},
	{"primal", solver.Options{Method: solver.MethodPrimalSimplex}},
	{"primal unscaled", solver.Options{Method: solver.MethodPrimalSimplex, Scaling: -1}},
	{"dual max scaling", solver.Options{Method: solver.MethodDualSimplex, Scaling: 4}},
	{"interior", solver.Options{Method: solver.MethodInteriorPoint}},
	{"interior presolve", solver.Options{Method: solver.MethodInteriorPoint, Presolve: true}},
}

func testBruteForce(t *testing.T, newSolver solver.Factory) {
	r := rand.New(rand.NewPCG(1, 1))
	infeasible := 0
	for k := range 300 {
		p := small(r)
		want := p.bruteForce()
		for _, m := range methods {
			s := open(t, newSolver)
			p.load(t, s)
			got := solve(t, s, m.options)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if math.IsInf(want, 1) {
				infeasible++
				if got.Status != solver.StatusInfeasible || !math.IsInf(got.Objective, 1) {
					t.Fatalf("program %d, %s: status %d, objective %g, want infeasible, +Inf: %+v", k, m.name, got.Status, got.Objective, p)
				}
				continue
			}
			if !near(got.Objective, want) {
				t.Fatalf("program %d, %s: status %d, objective %g, want %g: %+v", k, m.name, got.Status, got.Objective, want, p)
			}
			p.check(t, got)
			if t.Failed() {
				t.Fatalf("program %d, %s: %+v", k, m.name, p)
			}
		}
	}
	if infeasible == 0 || infeasible == 300*len(methods) {
		t.Errorf("%d infeasible solves, want some of either kind", infeasible)
	}
}

// testDualSigns compares each dual with the change of the optimum as the
// active bound moves.
func testDualSigns(t *testing.T, newSolver solver.Factory) {
	// minimize −2x + 3y: y ≥ 1, x ≤ 4, x − y ≤ 100, x ≥ 0; at x = 4, y = 1.
	p := program{
		cost: []float64{-2, 3}, lower: []float64{0, -inf}, upper: []float64{inf, inf},
		matrix:   [][]float64{{0, 1}, {1, 0}, {1, -1}},
		rowLower: []float64{1, -inf, -inf}, rowUpper: []float64{inf, 4, 100},
	}
	for _, m := range methods {
		s := open(t, newSolver)
		p.load(t, s)
		got := solve(t, s, m.options)
		p.check(t, got)
		for i, want := range []float64{3, -2, 0} {
			if !near(got.RowDual[i], want) {
				t.Errorf("%s: dual of row %d = %g, want %g", m.name, i, got.RowDual[i], want)
			}
		}
		const step = 0.5
		for i, move := range []func(*program){
			func(q *program) { q.rowLower = []float64{1 + step, -inf, -inf} },
			func(q *program) { q.rowUpper = []float64{inf, 4 + step, 100} },
		} {
			moved := p
			move(&moved)
			s := open(t, newSolver)
			moved.load(t, s)
			change := solve(t, s, m.options).Objective - (-5)
			if !near(change, []float64{3, -2}[i]*step) {
				t.Errorf("%s: moving the bound of row %d by %g changes the optimum by %g", m.name, i, step, change)
			}
		}
	}
}

// testIncremental grows one program by rows and columns in turn and compares
// each stage with a fresh solver.
func testIncremental(t *testing.T, newSolver solver.Factory) {
	r := rand.New(rand.NewPCG(2, 1))
	for _, m := range methods {
		all := large(r, 24, 18)
		stage := func(rows, columns int) program {
			p := program{
				cost: all.cost[:columns], lower: all.lower[:columns], upper: all.upper[:columns],
				rowLower: all.rowLower[:rows], rowUpper: all.rowUpper[:rows],
			}
			for _, row := range all.matrix[:rows] {
				p.matrix = append(p.matrix, row[:columns])
			}
			return p
		}
		grown := open(t, newSolver)
		stage(4, 3).load(t, grown)
		for rows, columns := 4, 3; rows < 24; {
			p := stage(rows, columns)
			got := solve(t, grown, m.options)
			p.check(t, got)
			fresh := open(t, newSolver)
			p.load(t, fresh)
			if want := solve(t, fresh, m.options).Objective; !near(got.Objective, want) {
				t.Errorf("%s: %d rows, %d columns: %g, afresh %g", m.name, rows, columns, got.Objective, want)
			}
			// Three columns over the present rows, then four rows.
			c := solver.Vectors{Lower: all.lower[:3], Upper: all.upper[:3]}
			for j := columns; j < columns+3; j++ {
				c.Start = append(c.Start, len(c.Index))
				for i := range rows {
					c.Index, c.Value = append(c.Index, i), append(c.Value, all.matrix[i][j])
				}
			}
			if err := grown.AddColumns(all.cost[columns:columns+3], c); err != nil {
				t.Fatal(err)
			}
			columns += 3
			stage(rows, columns).check(t, solve(t, grown, m.options))
			if err := grown.AddRows(stage(rows+4, columns).rows(rows, rows+4)); err != nil {
				t.Fatal(err)
			}
			rows += 4
		}
		if err := grown.Reset(); err != nil {
			t.Fatal(err)
		}
		stage(24, 18).check(t, solve(t, grown, m.options))
	}
}

// testWarmStart counts iterations: of a solve of an unchanged program, of one
// after rows were added, and of one after Reset.
func testWarmStart(t *testing.T, newSolver solver.Factory) {
	p := large(rand.New(rand.NewPCG(3, 1)), 120, 80)
	s := open(t, newSolver)
	first := p
	first.matrix = p.matrix[:115]
	first.load(t, s)
	o := solver.Options{Method: solver.MethodDualSimplex}
	cold := solve(t, s, o).Iterations
	if cold < 20 {
		t.Fatalf("%d iterations from scratch, want a program that takes 20", cold)
	}
	if again := solve(t, s, o).Iterations; again != 0 {
		t.Errorf("%d iterations on a solved program, want 0: iterations are of the call", again)
	}
	if err := s.AddRows(p.rows(115, 120)); err != nil {
		t.Fatal(err)
	}
	warm := solve(t, s, o)
	objective := warm.Objective
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	reset := solve(t, s, o)
	t.Logf("iterations: %d cold, %d after five rows, %d after Reset", cold, warm.Iterations, reset.Iterations)
	if warm.Iterations == 0 || 2*warm.Iterations >= reset.Iterations {
		t.Errorf("%d iterations warm, %d after Reset, want less than half and some", warm.Iterations, reset.Iterations)
	}
	if !near(objective, reset.Objective) {
		t.Errorf("objective %g warm, %g after Reset", objective, reset.Objective)
	}
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	if n := solve(t, s, solver.Options{Method: solver.MethodInteriorPoint}).Iterations; n == 0 {
		t.Error("no interior point iterations")
	}
}

func testInfeasible(t *testing.T, newSolver solver.Factory) {
	for name, p := range map[string]program{
		"rows": {
			cost: []float64{1, 1}, lower: []float64{0, 0}, upper: []float64{inf, inf},
			matrix: [][]float64{{1, 1}, {1, 1}}, rowLower: []float64{3, -inf}, rowUpper: []float64{inf, 2},
		},
		"crossed bounds": {
			cost: []float64{1}, lower: []float64{2}, upper: []float64{1},
			matrix: [][]float64{{1}}, rowLower: []float64{-inf}, rowUpper: []float64{inf},
		},
	} {
		for _, m := range methods {
			s := open(t, newSolver)
			p.load(t, s)
			got := solve(t, s, m.options)
			if got.Status != solver.StatusInfeasible || !math.IsInf(got.Objective, 1) || got.Primal != nil {
				t.Errorf("%s, %s: %+v, want infeasible, +Inf", name, m.name, got)
			}
		}
	}
}

func testUnbounded(t *testing.T, newSolver solver.Factory) {
	p := program{
		cost: []float64{-1, -1}, lower: []float64{0, 0}, upper: []float64{inf, inf},
		matrix: [][]float64{{1, -1}, {-2, 1}}, rowLower: []float64{-inf, -inf}, rowUpper: []float64{1, 1},
	}
	for _, m := range methods {
		s := open(t, newSolver)
		p.load(t, s)
		got := solve(t, s, m.options)
		if got.Status != solver.StatusUnbounded || !math.IsInf(got.Objective, -1) || got.Primal != nil {
			t.Errorf("%s: %+v, want unbounded, -Inf", m.name, got)
		}
	}
}

func testEmpty(t *testing.T, newSolver solver.Factory) {
	s := open(t, newSolver)
	if got := solve(t, s, solver.Options{}); got.Status != solver.StatusOptimal || got.Objective != 0 {
		t.Errorf("empty program: %+v, want optimal, 0", got)
	}
	// Columns alone sit at the bound their cost asks for.
	if err := s.AddColumns([]float64{1, -1}, solver.Vectors{Lower: []float64{2, 3}, Upper: []float64{7, 8}, Start: []int{0, 0}}); err != nil {
		t.Fatal(err)
	}
	if got := solve(t, s, solver.Options{}); got.Status != solver.StatusOptimal || got.Objective != 2-8 {
		t.Errorf("columns alone: %+v, want optimal, -6", got)
	}
	for _, test := range []struct {
		lower float64
		want  solver.Status
	}{{0, solver.StatusOptimal}, {1, solver.StatusInfeasible}} {
		s := open(t, newSolver)
		if err := s.AddRows(solver.Vectors{Lower: []float64{test.lower}, Upper: []float64{inf}, Start: []int{0}}); err != nil {
			t.Fatal(err)
		}
		if got := solve(t, s, solver.Options{}); got.Status != test.want {
			t.Errorf("a row ≥ %g alone: status %d, want %d", test.lower, got.Status, test.want)
		}
		// A column makes either row feasible.
		if err := s.AddColumns([]float64{2}, solver.Vectors{Lower: []float64{0}, Upper: []float64{inf}, Start: []int{0}, Index: []int{0}, Value: []float64{1}}); err != nil {
			t.Fatal(err)
		}
		if got := solve(t, s, solver.Options{}); got.Status != solver.StatusOptimal || !near(got.Objective, 2*test.lower) {
			t.Errorf("a row ≥ %g and a column: %+v, want optimal, %g", test.lower, got, 2*test.lower)
		}
	}
	if err := s.AddColumns(nil, solver.Vectors{}); err != nil {
		t.Error(err)
	}
	if err := s.AddRows(solver.Vectors{}); err != nil {
		t.Error(err)
	}
}

// testSmallEntries needs an entry of 1e-10 to count.
func testSmallEntries(t *testing.T, newSolver solver.Factory) {
	p := program{
		cost: []float64{1}, lower: []float64{0}, upper: []float64{inf},
		matrix: [][]float64{{1e-10}}, rowLower: []float64{1e-2}, rowUpper: []float64{inf},
	}
	s := open(t, newSolver)
	p.load(t, s)
	if got := solve(t, s, solver.Options{}); got.Status != solver.StatusOptimal || math.Abs(got.Objective-1e8) > 1e4 {
		t.Errorf("%+v, want optimal, 1e8", got)
	}
}

// testInvalid refuses each faulty batch and leaves the program as it was.
func testInvalid(t *testing.T, newSolver solver.Factory) {
	p := program{
		cost: []float64{1, 1}, lower: []float64{0, 0}, upper: []float64{inf, inf},
		matrix: [][]float64{{1, 2}}, rowLower: []float64{3}, rowUpper: []float64{inf},
	}
	s := open(t, newSolver)
	p.load(t, s)
	nan := math.NaN()
	one, zero, free := []float64{1}, []int{0}, []float64{inf}
	for name, c := range map[string]struct {
		cost []float64
		solver.Vectors
	}{
		"cost NaN":       {[]float64{nan}, solver.Vectors{Lower: one, Upper: one, Start: zero}},
		"cost infinite":  {free, solver.Vectors{Lower: one, Upper: one, Start: zero}},
		"lower NaN":      {one, solver.Vectors{Lower: []float64{nan}, Upper: one, Start: zero}},
		"lower +Inf":     {one, solver.Vectors{Lower: free, Upper: free, Start: zero}},
		"lower -1e20":    {one, solver.Vectors{Lower: []float64{-1e20}, Upper: free, Start: zero}},
		"upper -Inf":     {one, solver.Vectors{Lower: one, Upper: []float64{-inf}, Start: zero}},
		"upper 1e20":     {one, solver.Vectors{Lower: one, Upper: []float64{1e20}, Start: zero}},
		"no upper":       {one, solver.Vectors{Lower: one, Start: zero}},
		"no start":       {one, solver.Vectors{Lower: one, Upper: one}},
		"start 1":        {one, solver.Vectors{Lower: one, Upper: one, Start: []int{1}, Index: zero, Value: one}},
		"starts fall":    {[]float64{1, 1, 1}, solver.Vectors{Lower: []float64{0, 0, 0}, Upper: []float64{1, 1, 1}, Start: []int{0, 1, 0}, Index: zero, Value: one}},
		"start past end": {[]float64{1, 1}, solver.Vectors{Lower: []float64{0, 0}, Upper: []float64{1, 1}, Start: []int{0, 2}, Index: zero, Value: one}},
		"index 1":        {one, solver.Vectors{Lower: one, Upper: one, Start: zero, Index: []int{1}, Value: one}},
		"index -1":       {one, solver.Vectors{Lower: one, Upper: one, Start: zero, Index: []int{-1}, Value: one}},
		"index twice":    {one, solver.Vectors{Lower: one, Upper: one, Start: zero, Index: []int{0, 0}, Value: []float64{1, 1}}},
		"no value":       {one, solver.Vectors{Lower: one, Upper: one, Start: zero, Index: zero}},
		"value NaN":      {one, solver.Vectors{Lower: one, Upper: one, Start: zero, Index: zero, Value: []float64{nan}}},
		"value infinite": {one, solver.Vectors{Lower: one, Upper: one, Start: zero, Index: zero, Value: free}},
		"value 1e16":     {one, solver.Vectors{Lower: one, Upper: one, Start: zero, Index: zero, Value: []float64{1e16}}},
		"stray entries":  {nil, solver.Vectors{Index: zero, Value: one}},
	} {
		if err := s.AddColumns(c.cost, c.Vectors); !errors.Is(err, errInvalid) || !strings.HasPrefix(err.Error(), "highs: add ") {
			t.Errorf("AddColumns, %s: error %v, want errInvalid", name, err)
		}
	}
	for name, r := range map[string]solver.Vectors{
		"lower NaN":   {Lower: []float64{nan}, Upper: one, Start: zero},
		"no upper":    {Lower: one, Start: zero},
		"index 2":     {Lower: one, Upper: one, Start: zero, Index: []int{2}, Value: one},
		"index twice": {Lower: one, Upper: one, Start: zero, Index: []int{1, 1}, Value: []float64{1, 1}},
		"value NaN":   {Lower: one, Upper: one, Start: zero, Index: zero, Value: []float64{nan}},
	} {
		if err := s.AddRows(r); !errors.Is(err, errInvalid) {
			t.Errorf("AddRows, %s: error %v, want errInvalid", name, err)
		}
	}
	got := solve(t, s, solver.Options{})
	p.check(t, got)
	if !near(got.Objective, 1.5) {
		t.Errorf("objective %g after refused batches, want 1.5", got.Objective)
	}
	// The same index in two vectors of one batch is no repetition.
	twice := []float64{1, 1}
	if err := s.AddColumns(twice, solver.Vectors{Lower: twice, Upper: twice, Start: []int{0, 1}, Index: []int{0, 0}, Value: twice}); err != nil {
		t.Error(err)
	}
}

func testInvalidOptions(t *testing.T, newSolver solver.Factory) {
	s := open(t, newSolver)
	for name, o := range map[string]solver.Options{
		"method":              {Method: solver.MethodInteriorOnly + 1},
		"negative method":     {Method: -1},
		"scaling":             {Scaling: 5},
		"tolerance 1e-11":     {Tolerance: 1e-11},
		"tolerance 1":         {Tolerance: 1},
		"tolerance NaN":       {Tolerance: math.NaN()},
		"negative tolerance":  {Tolerance: -1e-7},
		"negative time limit": {TimeLimit: -1},
	} {
		if got, err := s.Solve(t.Context(), o); !errors.Is(err, errInvalid) || got.Status != solver.StatusFailed {
			t.Errorf("%s: status %d, error %v, want failed, errInvalid", name, got.Status, err)
		}
	}
}

func testClose(t *testing.T, newSolver solver.Factory) {
	s, err := newSolver()
	if err != nil {
		t.Fatal(err)
	}
	p := small(rand.New(rand.NewPCG(1, 1)))
	p.load(t, s)
	solve(t, s, solver.Options{})
	for range 3 {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	_, solveErr := s.Solve(t.Context(), solver.Options{})
	for name, err := range map[string]error{
		"AddColumns": s.AddColumns(nil, solver.Vectors{}), "AddRows": s.AddRows(solver.Vectors{}),
		"Solve": solveErr, "Reset": s.Reset(),
	} {
		if !errors.Is(err, errClosed) {
			t.Errorf("%s after Close: %v, want errClosed", name, err)
		}
	}
}

// testSilent runs itself in another process, to catch what C prints.
func testSilent(t *testing.T, newSolver solver.Factory) {
	const child = "NOISEWRIGHT_SILENT_CHILD"
	if os.Getenv(child) != "" {
		for _, m := range methods {
			s := open(t, newSolver)
			large(rand.New(rand.NewPCG(6, 1)), 20, 20).load(t, s)
			solve(t, s, m.options)
			_ = s.Close()
		}
		os.Exit(0) // before the test framework prints its verdict
	}
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+pattern)
	c.Env = append(os.Environ(), child+"=1")
	said, err := c.CombinedOutput()
	if err != nil || len(said) > 0 {
		t.Errorf("the solver's process wrote %q and ended with %v, want silence", said, err)
	}
}

// testParallel solves in several goroutines, each with its own solver.
func testParallel(t *testing.T, newSolver solver.Factory) {
	for k := range uint64(4) {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			p := large(rand.New(rand.NewPCG(7, k)), 40, 40)
			s := open(t, newSolver)
			p.load(t, s)
			for range 10 {
				p.check(t, solve(t, s, solver.Options{}))
				if err := s.Reset(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSolve measures a covering program of 200 rows and columns, from
// scratch and from the optimum of its first 190 rows.
func BenchmarkSolve(b *testing.B) {
	p := large(rand.New(rand.NewPCG(8, 1)), 200, 200)
	for _, warm := range []bool{false, true} {
		name := "cold"
		if warm {
			name = "warm"
		}
		b.Run(name, func(b *testing.B) {
			iterations := 0
			for b.Loop() {
				b.StopTimer()
				s, err := New()
				if err != nil {
					b.Fatal(err)
				}
				err = errors.Join(
					s.AddColumns(p.cost, solver.Vectors{Lower: p.lower, Upper: p.upper, Start: make([]int, len(p.cost))}),
					s.AddRows(p.rows(0, 190)))
				if err != nil {
					b.Fatal(err)
				}
				if warm {
					if _, err := s.Solve(b.Context(), solver.Options{}); err != nil {
						b.Fatal(err)
					}
				}
				if err := s.AddRows(p.rows(190, 200)); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				got, err := s.Solve(b.Context(), solver.Options{Method: solver.MethodDualSimplex})
				if err != nil || got.Status != solver.StatusOptimal {
					b.Fatal(got.Status, err)
				}
				b.StopTimer()
				iterations += got.Iterations
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(iterations)/float64(b.N), "iterations/op")
		})
	}
}
