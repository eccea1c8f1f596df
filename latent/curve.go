package latent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/latent/internal/budget"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// The range that CurveOptions.Design is asked for. A point outside gets the noise of a point
// inside with no larger ε and δ, which serves there too: with ε = 0 and δ = 0
// below the least, and with the most above.
const (
	leastDesignEpsilon = 1e-3
	mostDesignEpsilon  = 20
	leastDesignDelta   = 1e-12
	mostDesignDelta    = 0.9
)

// CurveOptions say where a Curve gets its noise from.
type CurveOptions struct {
	// Design makes a table of (ε, δ)-private noise for a real query of sensitivity
	// 1 with the loss l2, such as lp.Design does. It is asked for every table that is
	// not known yet, and must be safe for concurrent use.
	Design func(ctx context.Context, epsilon, delta float64) (*tables.Table, error)
	// Directory holds the tables of earlier runs, a file each; it is made if it
	// does not exist, and may be shared by several processes. Empty: tables are
	// kept in memory only.
	Directory string
	// Rejected, if set, is called for every file that cannot be read, used or
	// written, with its path. Such a file is designed anew. It must be safe for
	// concurrent use.
	Rejected func(path string, err error)
}

// Curve is designed noise as a function of (ε, δ), for sensitivity 1 and the loss
// l2. It is safe for concurrent use.
type Curve struct {
	options CurveOptions
	mu      sync.Mutex
	points  map[pointKey]*pending
}

type pointKey struct{ epsilon, delta float64 }

// pending is a point that is being made until done is closed.
type pending struct {
	done  chan struct{}
	point *Point
	err   error
}

// Point is a table for sensitivity 1 and what a decoder needs to know of it. It
// is immutable.
type Point struct {
	// Table keeps (ε, δ)-privacy with its own, possibly smaller, ε and δ.
	Table *tables.Table
	// Mean is E X, rounded to the nearest; 0 for a symmetric table.
	Mean float64
	// Variance is E (X - Mean)², exact but for rounding up to the next float64.
	Variance float64
}

// NewCurve returns a curve. The error wraps [dp.ErrInvalid] if there is no Design; others
// are about making the directory.
func NewCurve(o CurveOptions) (*Curve, error) {
	if o.Design == nil {
		return nil, check.Field("latent", "design", "none", "a function that designs tables")
	}
	if o.Directory != "" {
		if err := os.MkdirAll(o.Directory, 0o750); err != nil {
			return nil, check.Errorf("latent", nil, "directory for tables: %w", err)
		}
	}
	return &Curve{options: o, points: make(map[pointKey]*pending)}, nil
}

// family is designed noise as a split of a budget sees it: without its tables, which take
// time. Its variance is an upper bound on the least one of all private noise, proved in
// docs/proofs/noise-curve.md, where At has a table for it. One designed within a gap g of
// the optimum has at most (1+g) times this variance; At knows exactly.
func (c *Curve) family() budget.Family {
	bound := budget.TruncatedStaircase()
	return budget.Family{Name: "designed", Variance: func(epsilon, delta float64) (float64, error) {
		key, err := designPoint(epsilon, delta)
		if err != nil {
			return 0, err
		}
		return bound.Variance(key.epsilon, key.delta)
	}}
}

// Split divides the budget (ε, δ) over coordinates and returns noise for each, nil for one
// that is better not released. Coordinate i has variance one and the price lambda[i] >= 0,
// which is lost without it (any unit), and is clipped to ±halfwidth[i], above 0: noise of
// variance v for sensitivity 1 leaves the share k/(1+k), k = 4·halfwidth[i]²·v, of the
// price. The split is the one of the least total loss that was found.
//
// Guarantee: the ε and the δ of the tables, as numbers without rounding, add up to at most
// the budget, so that by basic composition the release of all is (ε, δ)-private.
//
// Errors wrap [dp.ErrInvalid], or are those of At.
func (c *Curve) Split(ctx context.Context, lambda, halfwidth []float64, epsilon, delta float64) ([]*Point, error) {
	a, err := budget.Split(ctx, lambda, halfwidth, epsilon, delta, c.family())
	if err != nil {
		return nil, err
	}
	return c.pointsOf(ctx, a)
}

// pointsOf returns the noise of an allocation, nil for coordinates that are not used.
func (c *Curve) pointsOf(ctx context.Context, a *budget.Allocation) ([]*Point, error) {
	points := make([]*Point, len(a.Epsilon))
	for i, epsilon := range a.Epsilon {
		if epsilon == 0 {
			continue
		}
		var err error
		if points[i], err = c.At(ctx, epsilon, a.Delta[i]); err != nil {
			return nil, err
		}
	}
	return points, nil
}

// At returns noise that is (ε, δ)-private for sensitivity 1, from memory, from
// the directory or from the designer, in this order.
//
// Guarantee: whatever the file or the designer said, the table was certified
// in exact arithmetic for an ε and a δ of at most those asked for.
//
// Errors wrap [dp.ErrInvalid] for ε or δ outside their range, or are those of the
// designer and of the context.
func (c *Curve) At(ctx context.Context, epsilon, delta float64) (*Point, error) {
	key, err := designPoint(epsilon, delta)
	if err != nil {
		return nil, err
	}
	for {
		c.mu.Lock()
		p, known := c.points[key]
		if !known {
			p = &pending{done: make(chan struct{})}
			c.points[key] = p
		}
		c.mu.Unlock()
		if !known {
			p.point, p.err = c.make(ctx, key)
			if p.err != nil { // the next one may have more luck
				c.mu.Lock()
				delete(c.points, key)
				c.mu.Unlock()
			}
			close(p.done)
			return p.point, p.err
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// Another caller's context is no reason to give up.
		if !errors.Is(p.err, context.Canceled) && !errors.Is(p.err, context.DeadlineExceeded) {
			return p.point, p.err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// designPoint returns the point to design for (ε, δ); see leastDesignEpsilon.
func designPoint(epsilon, delta float64) (pointKey, error) {
	if err := (dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}).Validate(); err != nil {
		return pointKey{}, check.Errorf("latent", dp.ErrInvalid, "%w", err)
	}
	key := pointKey{math.Min(epsilon, mostDesignEpsilon), math.Min(delta, mostDesignDelta)}
	if key.epsilon < leastDesignEpsilon {
		key.epsilon = 0
	}
	if key.delta < leastDesignDelta {
		key.delta = 0
	}
	if key.epsilon == 0 && key.delta == 0 {
		return pointKey{}, check.Field("latent", "epsilon", epsilon,
			fmt.Sprintf("at least %g, or delta at least %g, for noise to be designed", leastDesignEpsilon, leastDesignDelta))
	}
	return key, nil
}

// path returns the file of a point; both numbers are in it with all their digits.
func (c *Curve) path(key pointKey) string {
	digits := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return filepath.Join(c.options.Directory, "l2-epsilon-"+digits(key.epsilon)+"-delta-"+digits(key.delta)+".json")
}

func (c *Curve) reject(path string, err error) {
	if c.options.Rejected != nil {
		c.options.Rejected(path, err)
	}
}

// make loads or designs a point.
func (c *Curve) make(ctx context.Context, key pointKey) (*Point, error) {
	path := c.path(key)
	if c.options.Directory != "" {
		p, err := load(path, key)
		if err == nil {
			return p, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			c.reject(path, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := c.options.Design(ctx, key.epsilon, key.delta)
	if err != nil {
		return nil, check.Errorf("latent", nil, "noise for epsilon = %g, delta = %g: %w", key.epsilon, key.delta, err)
	}
	p, err := newPoint(t, key)
	if err != nil {
		return nil, check.Errorf("latent", nil, "designed table: %w", err)
	}
	if c.options.Directory != "" {
		if err := store(path, t); err != nil {
			c.reject(path, err)
		}
	}
	return p, nil
}

// load reads the table of a point and trusts nothing in it.
func load(path string, key pointKey) (*Point, error) {
	f, err := os.Open(path) //nolint:gosec // the caller's directory and a name made of numbers
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := tables.Decode(f)
	if err != nil {
		return nil, err
	}
	return newPoint(t, key)
}

// store writes a table so that a reader sees all of it or nothing.
func store(path string, t *tables.Table) (err error) {
	var text bytes.Buffer
	if err := t.Encode(&text); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".table-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text.Bytes())
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// newPoint checks that a table keeps the promise of the point, for a real query
// of sensitivity 1, and measures it.
func newPoint(t *tables.Table, key pointKey) (*Point, error) {
	if t == nil {
		return nil, errors.New("no table")
	}
	if want := (dp.Privacy{Epsilon: key.epsilon, Delta: key.delta, Sensitivity: 1}); t.Privacy() != want {
		return nil, fmt.Errorf("privacy = %+v, want %+v", t.Privacy(), want)
	}
	if t.Query() != dp.RealQuery {
		return nil, fmt.Errorf("query = %s, want %s", t.Query(), dp.RealQuery)
	}
	if name := t.Loss().Name(); name != (loss.L2{}).Name() {
		return nil, fmt.Errorf("loss = %s, want %s", name, loss.L2{}.Name())
	}
	if _, err := t.Verify(); err != nil {
		return nil, err
	}
	return measure(t)
}

// measure returns a point with the moments of a table.
func measure(t *tables.Table) (*Point, error) {
	square := t.ExpectedLossOf(loss.L2{})
	if symmetric(t) {
		return &Point{Table: t, Variance: exact.FloatUp(square)}, nil
	}
	p := &Point{Table: t}
	exactMean, err := mean(t)
	if err != nil {
		return nil, err
	}
	p.Mean, _ = exactMean.Float64()
	// E (X-m)² = E X² - m(2 E X - m).
	m := exact.Rational(p.Mean)
	off := exactMean.Add(exactMean, exactMean)
	off.Sub(off, m).Mul(off, m)
	p.Variance = exact.FloatUp(square.Sub(square, off))
	return p, nil
}

// symmetric reports whether a table of one point per cell is its own mirror image.
func symmetric(t *tables.Table) bool {
	g, last := t.Grid(), t.Cells()-1
	if g.PointsPerCell != 1 || g.Offset != 0 || 2*g.FirstCell != -last {
		return false
	}
	for i := range last {
		if t.Weight(i) != t.Weight(last-i) {
			return false
		}
	}
	return true
}

// mean returns E X, exactly: it is the difference of two losses, of which x is
// that of their costs.
func mean(t *tables.Table) (*big.Rat, error) {
	right, err := loss.New("asymmetric", 1, 2)
	if err != nil {
		return nil, err
	}
	left, err := loss.New("asymmetric", 2, 1)
	if err != nil {
		return nil, err
	}
	return new(big.Rat).Sub(t.ExpectedLossOf(right), t.ExpectedLossOf(left)), nil
}
