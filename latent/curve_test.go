package latent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/oracle"
	"github.com/noisewright/noisewright/latent/internal/budget"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// cutLaplace is a designer without a solver: truncated Laplace noise on a grid of
// 16 points per sensitivity.
func cutLaplace(_ context.Context, epsilon, delta float64) (*tables.Table, error) {
	return cutLaplaceFor(dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, dp.RealQuery, loss.L2{}, 0)
}

// cutLaplaceFor makes it for any promise; skew > 0 adds cells on the right.
func cutLaplaceFor(p dp.Privacy, query dp.Query, loss loss.Loss, skew int) (*tables.Table, error) {
	const perUnit = 16
	exponent := -4
	if query == dp.IntegerQuery {
		exponent = 0
	}
	for half := perUnit; half < 1<<14; half += 1 + half/32 {
		mass := make([]float64, 2*half+1+skew)
		var sum, left, right float64
		for i := range mass {
			mass[i] = math.Exp(-p.Epsilon * (1 - 1e-9) * math.Abs(float64(i-half)) / perUnit)
			sum += mass[i]
			if i < perUnit {
				left += mass[i]
			}
			if i >= len(mass)-perUnit {
				right += mass[i]
			}
		}
		if math.Max(left, right) > p.Delta*(1-1e-6)*sum {
			continue
		}
		for i := range mass {
			mass[i] /= sum
		}
		weights, atom, err := tables.Quantize(mass, 0)
		if err != nil {
			return nil, err
		}
		return tables.New(tables.Spec{
			Problem: dp.Problem{Privacy: p, Query: query, Loss: loss}, Weights: weights, Atom: atom,
			Grid: tables.Grid{GranularityExponent: exponent, PointsPerCell: 1, CellsPerSensitivity: perUnit, FirstCell: -half},
		})
	}
	return nil, errors.New("too many cells")
}

type designer = func(context.Context, float64, float64) (*tables.Table, error)

// counted counts the calls of a designer.
func counted(d designer) (designer, *atomic.Int64) {
	var calls atomic.Int64
	return func(ctx context.Context, epsilon, delta float64) (*tables.Table, error) {
		calls.Add(1)
		return d(ctx, epsilon, delta)
	}, &calls
}

func newTestCurve(t *testing.T, o CurveOptions) *Curve {
	t.Helper()
	c, err := NewCurve(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func point(t *testing.T, c *Curve, epsilon, delta float64) *Point {
	t.Helper()
	p, err := c.At(t.Context(), epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCurveKeepsPointsInMemoryAndOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tables")
	design, calls := counted(cutLaplace)
	reject := func(path string, err error) { t.Errorf("%s rejected: %v", path, err) }
	c := newTestCurve(t, CurveOptions{Design: design, Directory: dir, Rejected: reject})
	p := point(t, c, 1, 1e-3)
	if point(t, c, 1, 1e-3) != p {
		t.Error("the second call has another point")
	}
	again := newTestCurve(t, CurveOptions{Design: design, Directory: dir, Rejected: reject})
	q := point(t, again, 1, 1e-3)
	if q.Variance != p.Variance || q.Table.Privacy() != p.Table.Privacy() {
		t.Errorf("the file has variance %g for %+v, want %g for %+v", q.Variance, q.Table.Privacy(), p.Variance, p.Table.Privacy())
	}
	if calls.Load() != 1 {
		t.Errorf("%d designs, want 1", calls.Load())
	}
	// Neighbouring float64s are other points.
	point(t, again, math.Nextafter(1, 2), 1e-3)
	if calls.Load() != 2 {
		t.Errorf("%d designs, want 2", calls.Load())
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("%d files, %v, want 2", len(files), err)
	}
}

func TestCurveInMemoryWritesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	point(t, newTestCurve(t, CurveOptions{Design: cutLaplace}), 1, 0.01)
	if files, err := os.ReadDir("."); err != nil || len(files) != 0 {
		t.Errorf("%d files, %v, want none", len(files), err)
	}
}

func encoded(t *testing.T, table *tables.Table) string {
	t.Helper()
	var b bytes.Buffer
	if err := table.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A file that is not what its name says is reported, designed anew and replaced.
func TestCurveRefusesBadFiles(t *testing.T) {
	good := func(p dp.Privacy, q dp.Query, l loss.Loss) string {
		table, err := cutLaplaceFor(p, q, l, 0)
		if err != nil {
			t.Fatal(err)
		}
		return encoded(t, table)
	}
	want := dp.Privacy{Epsilon: 1, Delta: 0.01, Sensitivity: 1}
	text := good(want, dp.RealQuery, loss.L2{})
	// The claim of less ε than the noise has.
	forged := strings.Replace(good(dp.Privacy{Epsilon: 2, Delta: 0.01, Sensitivity: 1}, dp.RealQuery, loss.L2{}),
		`"epsilon":2`, `"epsilon":1`, 1)
	if forged == good(dp.Privacy{Epsilon: 2, Delta: 0.01, Sensitivity: 1}, dp.RealQuery, loss.L2{}) {
		t.Fatal("nothing forged; has the format changed?")
	}
	for name, file := range map[string]struct {
		text string
		want error // nil: any
	}{
		"empty":             {"", tables.ErrFormat},
		"not a table":       {"{}", tables.ErrFormat},
		"truncated":         {text[:len(text)/2], tables.ErrFormat},
		"trailing":          {text + "x", tables.ErrFormat},
		"forged epsilon":    {forged, tables.ErrNotPrivate},
		"other epsilon":     {good(dp.Privacy{Epsilon: 1.5, Delta: 0.01, Sensitivity: 1}, dp.RealQuery, loss.L2{}), nil},
		"other delta":       {good(dp.Privacy{Epsilon: 1, Delta: 0.02, Sensitivity: 1}, dp.RealQuery, loss.L2{}), nil},
		"other loss":        {good(want, dp.RealQuery, loss.L1{}), nil},
		"integer query":     {good(dp.Privacy{Epsilon: 1, Delta: 0.01, Sensitivity: 1}, dp.IntegerQuery, loss.L2{}), nil},
		"other sensitivity": {good(dp.Privacy{Epsilon: 1, Delta: 0.01, Sensitivity: 0.5}, dp.RealQuery, loss.L2{}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			design, calls := counted(cutLaplace)
			var rejected []error
			c := newTestCurve(t, CurveOptions{Design: design, Directory: t.TempDir(), Rejected: func(_ string, err error) { rejected = append(rejected, err) }})
			path := c.path(pointKey{1, 0.01})
			if err := os.WriteFile(path, []byte(file.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if p := point(t, c, 1, 0.01); p.Table.Privacy() != want {
				t.Errorf("privacy = %+v", p.Table.Privacy())
			}
			if calls.Load() != 1 || len(rejected) != 1 {
				t.Fatalf("%d designs, rejected %v, want one of each", calls.Load(), rejected)
			}
			if file.want != nil && !errors.Is(rejected[0], file.want) {
				t.Errorf("rejected for %v, want %v", rejected[0], file.want)
			}
			if _, err := load(path, pointKey{1, 0.01}); err != nil {
				t.Errorf("the file is still bad: %v", err)
			}
		})
	}
}

// A designer is not trusted either.
func TestCurveRefusesBadDesigns(t *testing.T) {
	for name, design := range map[string]designer{
		"none":      func(context.Context, float64, float64) (*tables.Table, error) { return nil, nil },
		"failing":   func(context.Context, float64, float64) (*tables.Table, error) { return nil, errors.New("no idea") },
		"other":     func(ctx context.Context, e, d float64) (*tables.Table, error) { return cutLaplace(ctx, 2*e, d) },
		"not sharp": func(ctx context.Context, e, d float64) (*tables.Table, error) { return cutLaplace(ctx, e, 2*d) },
	} {
		c := newTestCurve(t, CurveOptions{Design: design, Directory: t.TempDir()})
		if p, err := c.At(t.Context(), 1, 0.01); err == nil {
			t.Errorf("%s: point %+v", name, p)
		}
		if files, _ := os.ReadDir(c.options.Directory); len(files) != 0 {
			t.Errorf("%s: a file was written", name)
		}
		if len(c.points) != 0 {
			t.Errorf("%s: the failure is remembered", name)
		}
	}
}

func TestCurveReportsWhatItCannotWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	var rejected []error
	c := newTestCurve(t, CurveOptions{Design: cutLaplace, Directory: dir, Rejected: func(_ string, err error) { rejected = append(rejected, err) }})
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	point(t, c, 1, 0.01)
	if len(rejected) != 1 {
		t.Errorf("rejected %v, want one error", rejected)
	}
}

// Concurrent callers, and concurrent curves on one directory, agree and leave
// whole files only.
func TestCurveIsConcurrent(t *testing.T) {
	dir := t.TempDir()
	design, calls := counted(cutLaplace)
	reject := func(path string, err error) { t.Errorf("%s rejected: %v", path, err) }
	curves := []*Curve{
		newTestCurve(t, CurveOptions{Design: design, Directory: dir, Rejected: reject}),
		newTestCurve(t, CurveOptions{Design: design, Directory: dir, Rejected: reject}),
	}
	const callers, points = 16, 4
	got := make([][points]*Point, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for j := range points {
				p, err := curves[i%2].At(t.Context(), 1+float64(j), 0.01)
				if err != nil {
					t.Error(err)
					return
				}
				got[i][j] = p
			}
		})
	}
	wg.Wait()
	for i := range got {
		for j := range points {
			if got[i][j] != got[i%2][j] {
				t.Errorf("caller %d has another point %d", i, j)
			}
		}
	}
	if n := calls.Load(); n < points || n > 2*points {
		t.Errorf("%d designs for %d points and two curves", n, points)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != points {
		t.Errorf("%d files, %v, want %d", len(files), err, points)
	}
}

// Who waits for a caller that gives up makes the point itself.
func TestCurveOutlivesACancelledCaller(t *testing.T) {
	started := make(chan struct{})
	var calls atomic.Int64
	design := func(ctx context.Context, epsilon, delta float64) (*tables.Table, error) {
		if calls.Add(1) == 1 {
			close(started)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return cutLaplace(ctx, epsilon, delta)
	}
	c := newTestCurve(t, CurveOptions{Design: design})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() { _, err := c.At(ctx, 1, 0.01); first <- err }()
	<-started
	second := make(chan error)
	go func() { _, err := c.At(t.Context(), 1, 0.01); second <- err }()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled caller: %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("other caller: %v", err)
	}
}

// Outside the range of designs the noise is that of a stricter promise.
func TestCurveServesTheWholeRange(t *testing.T) {
	for _, c := range []struct{ epsilon, delta, toEpsilon, toDelta float64 }{
		{1e-4, 0.01, 0, 0.01},
		{1, 0.01, 1, 0.01},
		{50, 0.01, 20, 0.01},
		{1, 0.99, 1, 0.9},
		{1, 1e-13, 1, 0},
	} {
		key, err := designPoint(c.epsilon, c.delta)
		if err != nil || key != (pointKey{c.toEpsilon, c.toDelta}) {
			t.Errorf("(%g, %g) is served by %v, %v, want (%g, %g)", c.epsilon, c.delta, key, err, c.toEpsilon, c.toDelta)
		}
	}
	curve := newTestCurve(t, CurveOptions{Design: cutLaplace})
	for _, c := range [][4]float64{{50, 0.01, 20, 0.01}, {1e-4, 0.1, 0, 0.1}, {1, 1e-13, 1, 0}} {
		v, err1 := curve.family().Variance(c[0], c[1])
		w, err2 := curve.family().Variance(c[2], c[3])
		if err := errors.Join(err1, err2); err != nil || v != w {
			t.Errorf("variance %g at (%g, %g), want %g as at (%g, %g); %v", v, c[0], c[1], w, c[2], c[3], err)
		}
	}
	if p := point(t, curve, 1e-4, 0.1); p.Table.Privacy().Epsilon != 0 {
		t.Errorf("privacy = %+v, want ε = 0", p.Table.Privacy())
	}
	for _, bad := range [][2]float64{{0, 0}, {1e-4, 1e-13}, {math.NaN(), 0.1}, {1, -1}, {1, 1}} {
		if _, err := designPoint(bad[0], bad[1]); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v: %v, want ErrInvalid", bad, err)
		}
	}
	if _, err := NewCurve(CurveOptions{}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("no designer: %v, want ErrInvalid", err)
	}
}

// The moments of a lopsided table, against a plain sum over its points.
func TestPointMoments(t *testing.T) {
	key := pointKey{0.5, 0.2}
	table, err := cutLaplaceFor(dp.Privacy{Epsilon: key.epsilon, Delta: key.delta, Sensitivity: 1}, dp.RealQuery, loss.L2{}, 5)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPoint(table, key)
	if err != nil {
		t.Fatal(err)
	}
	first, second := new(big.Rat), new(big.Rat)
	for i := range table.Cells() {
		w := new(big.Rat).SetInt(new(big.Int).SetUint64(table.Weight(i)))
		w.Quo(w, new(big.Rat).SetFloat64(0x1p64))
		x := big.NewRat(table.Grid().FirstPoint(i), 16)
		first.Add(first, w.Mul(w, x))
		second.Add(second, w.Mul(w, x))
	}
	mean, _ := first.Float64()
	if p.Mean != mean || p.Mean <= 0 {
		t.Errorf("mean = %g, want %g > 0", p.Mean, mean)
	}
	truth := second.Sub(second, first.Mul(first, first))
	want, _ := truth.Float64()
	if !near(p.Variance, want, 1e-15) || new(big.Rat).SetFloat64(p.Variance).Cmp(truth) < 0 {
		t.Errorf("variance = %g, want %g rounded up", p.Variance, want)
	}
	symmetric := point(t, newTestCurve(t, CurveOptions{Design: cutLaplace}), 0.5, 0.2)
	if square := exact.FloatUp(symmetric.Table.ExpectedLossOf(loss.L2{})); symmetric.Mean != 0 || symmetric.Variance != square {
		t.Errorf("symmetric table: %+v, want mean 0 and variance %g", symmetric, square)
	}
}

// The bound of the search is above what any noise can do, so above what a proven
// table shows to be impossible, and a Laplace table is never much better.
func TestCurveBoundIsNotOptimistic(t *testing.T) {
	c := newTestCurve(t, CurveOptions{Design: cutLaplace})
	r := rand.New(rand.NewPCG(4, 1))
	for range 50 {
		epsilon, delta := 0.2*math.Pow(20, r.Float64()), 1e-4*math.Pow(2000, r.Float64())
		bound, err := c.family().Variance(epsilon, delta)
		if err != nil {
			t.Fatal(err)
		}
		least, err := oracle.LowerBound(dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, loss.L2{})
		if err != nil {
			t.Fatal(err)
		}
		if bound < least {
			t.Errorf("(%g, %g): bound %g, below %g", epsilon, delta, bound, least)
		}
		// Rounding the query to the grid spares up to step²/12.
		if p := point(t, c, epsilon, delta); p.Variance+1.0/256/12 < bound*0.95 {
			t.Errorf("(%g, %g): bound %g, a table has %g", epsilon, delta, bound, p.Variance)
		}
	}
}

func ExampleCurve() {
	curve, err := NewCurve(CurveOptions{Design: cutLaplace}) // usually lp.Design
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := curve.At(context.Background(), 1, 1e-3)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("variance %.3f, mean %g\n", p.Variance, p.Mean)
	// Output: variance 1.935, mean 0
}

// Four numbers of different worth share one promise: two are worth a table each.
func ExampleCurve_Split() {
	curve, err := NewCurve(CurveOptions{Design: cutLaplace}) // usually lp.Design
	if err != nil {
		fmt.Println(err)
		return
	}
	worth, halfwidth := []float64{16, 4, 1, 0.5}, []float64{2.5, 2.5, 2.5, 2.5}
	noise, err := curve.Split(context.Background(), worth, halfwidth, 20, 1e-3)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, p := range noise {
		if p != nil {
			fmt.Printf("coordinate %d: epsilon %.2f, delta %.4f\n", i, p.Table.Privacy().Epsilon, p.Table.Privacy().Delta)
		}
	}
	// Output:
	// coordinate 0: epsilon 11.05, delta 0.0010
	// coordinate 1: epsilon 8.95, delta 0.0000
}

func TestCurveSplit(t *testing.T) {
	design, calls := counted(cutLaplace)
	c := newTestCurve(t, CurveOptions{Design: design})
	lambda, halfwidth := []float64{9, 8, 0.1, 0}, []float64{1, 1.2, 3, 1}
	a, err := budget.Split(t.Context(), lambda, halfwidth, 10, 1e-3, c.family())
	if err != nil {
		t.Fatal(err)
	}
	points, err := c.Split(t.Context(), lambda, halfwidth, 10, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	if a.Epsilon[0] == 0 || a.Epsilon[1] == 0 || a.Epsilon[2] != 0 || calls.Load() != 2 {
		t.Fatalf("shares %g and %d designs, want two of both", a.Epsilon, calls.Load())
	}
	for i, p := range points {
		switch {
		case a.Epsilon[i] == 0:
			if p != nil {
				t.Errorf("coordinate %d is not used, but has a table", i)
			}
		case p.Table.Privacy().Epsilon != a.Epsilon[i] || p.Table.Privacy().Delta != a.Delta[i]:
			t.Errorf("coordinate %d: table %+v, want (%g, %g)", i, p.Table.Privacy(), a.Epsilon[i], a.Delta[i])
		}
	}
	failing := newTestCurve(t, CurveOptions{Design: newFailingDesigner(errTest)})
	if _, err := failing.Split(t.Context(), lambda, halfwidth, 10, 1e-3); !errors.Is(err, errTest) {
		t.Errorf("failing designer: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Split(ctx, lambda, halfwidth, 10, 1e-3); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Where a share of ε is below what can be designed the search goes on without it.
func TestCurveSplitOfLittle(t *testing.T) {
	c := newTestCurve(t, CurveOptions{Design: cutLaplace})
	lambda, halfwidth := []float64{9, 8, 1}, []float64{1, 1.2, 3}
	a, err := budget.Split(t.Context(), lambda, halfwidth, 0.01, 0, c.family())
	if err != nil || a.Epsilon[0] != 0.01 {
		t.Errorf("%+v, %v, want all for coordinate 0", a, err)
	}
	if _, err := c.Split(t.Context(), lambda, halfwidth, 1e-4, 0); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("too little for any design: %v, want ErrInvalid", err)
	}
}

func near(a, b, relative float64) bool {
	return math.Abs(a-b) <= relative*math.Max(math.Abs(a), math.Abs(b))
}

var errTest = errors.New("a designer that fails")

func newFailingDesigner(err error) designer {
	return func(context.Context, float64, float64) (*tables.Table, error) { return nil, err }
}
