package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/internal/figure"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/tables"
)

// readPair splits A,B at the comma that has a loss on either side: parameters of
// losses have commas too.
func readPair(s string) (pair [2]loss.Loss, ok bool) {
	for i := range len(s) {
		if s[i] != ',' {
			continue
		}
		a, errA := shell.ReadLoss(s[:i])
		b, errB := shell.ReadLoss(s[i+1:])
		if errA != nil || errB != nil {
			continue
		}
		pair = [2]loss.Loss{a, b}
		// A product of weights need not be a float64, so a loss that has one
		// or is a sum cannot be given another.
		for _, l := range pair {
			if _, err := loss.Sum(loss.Term{Loss: l, Weight: 2}); err != nil {
				return pair, false
			}
		}
		return pair, true
	}
	return pair, false
}

// front is a set of designs between two losses.
type front struct {
	problem dp.Problem
	losses  [2]loss.Loss
	points  []frontPoint // none dominated, by ascending expectation of the first loss
	bounds  []supportingLine
	removed int // dominated designs
	limit   int // designs short of the requested gap
	elapsed time.Duration
}

// frontPoint is one design.
type frontPoint struct {
	share    float64     // of the first loss, 0 to 1, in units of the losses' own optima
	weights  [2]float64  // of the losses in the loss designed for
	expected [2]*big.Rat // upper bounds, exact
	// Of the weighted sum of the losses.
	certificate tables.Certificate
	optimal     bool
}

// supportingLine says that Σ weights·expected >= bound for every noise.
type supportingLine struct {
	weights [2]float64
	bound   *big.Rat
}

// newFront designs. The limits of o hold for all designs together.
func newFront(ctx context.Context, p dp.Problem, t trade, o lp.Options, progress func(done int)) (*front, error) {
	f := &front{problem: p, losses: t.losses}
	start := time.Now()
	limit := o.TimeLimit
	all := make([]*frontPoint, t.points)
	var (
		mu   sync.Mutex // of what follows, and of progress
		done int
		errs []error
	)
	workers := min(runtime.GOMAXPROCS(0), t.points)
	one := func(ctx context.Context, i int, share float64, weights [2]float64) {
		mu.Lock()
		o := o
		left := t.points - done
		mu.Unlock()
		// The designs to come share the time that is left.
		rest := (limit - time.Since(start)) * time.Duration(workers) / time.Duration(max(left, workers))
		o.TimeLimit = max(rest, time.Millisecond)
		point, err := f.design(ctx, share, weights, o)
		mu.Lock()
		defer mu.Unlock()
		done++
		all[i] = point
		errs = append(errs, err)
		progress(done)
	}
	each := func(from, to int, weights func(i int) (share float64, w [2]float64)) error {
		next := make(chan int)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var wait sync.WaitGroup
		for range min(workers, to-from) {
			wait.Go(func() {
				for i := range next {
					if ctx.Err() == nil {
						share, w := weights(i)
						one(ctx, i, share, w)
					}
				}
			})
		}
		for i := from; i < to; i++ {
			next <- i
		}
		close(next)
		wait.Wait()
		return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
	}

	// The two ends, and from them the units of the losses.
	if err := each(0, 2, func(i int) (share float64, w [2]float64) {
		w[i] = 1
		return w[0], w
	}); err != nil {
		return nil, firstOf(ctx, err)
	}
	unit := f.units(all[:2])
	if err := each(2, t.points, func(i int) (share float64, w [2]float64) {
		share = chebyshev(i-1, t.points-1)
		return share, [2]float64{short(share / unit[0]), short((1 - share) / unit[1])}
	}); err != nil {
		return nil, firstOf(ctx, err)
	}
	f.collect(all)
	f.elapsed = time.Since(start)
	return f, nil
}

// firstOf returns the end of the context, if that is why the designs failed.
func firstOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var f *shell.Failure
	if errors.As(err, &f) {
		return f // one of many that say the same
	}
	return err
}

// chebyshev returns the i-th of the points 0 … last between 0 and 1 that are
// dense at the ends, where the front bends.
func chebyshev(i, last int) float64 {
	return (1 - math.Cos(math.Pi*float64(i)/float64(last))) / 2
}

// short rounds a weight to few digits, so that it is easily written.
func short(x float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 5, 64), 64)
	return v
}

// design designs for one weighted sum.
func (f *front) design(ctx context.Context, share float64, weights [2]float64, o lp.Options) (*frontPoint, error) {
	var terms []loss.Term
	for i, w := range weights {
		if w > 0 {
			terms = append(terms, loss.Term{Loss: f.losses[i], Weight: w})
		}
	}
	p := f.problem
	var err error
	if p.Loss, err = loss.Sum(terms...); err != nil {
		return nil, err
	}
	r, _, err := shell.Design(ctx, p, o)
	if err != nil {
		return nil, err
	}
	point := &frontPoint{share: share, weights: weights, certificate: r.Table.Certificate(), optimal: r.Optimal}
	for i, l := range f.losses {
		point.expected[i] = r.Table.Table().ExpectedLossOf(l)
	}
	return point, nil
}

// units returns each loss's own optimum, in which weights are measured; where
// that is 0, what the other end pays.
func (f *front) units(ends []*frontPoint) (unit [2]float64) {
	for i := range unit {
		unit[i] = 1
		for _, e := range []*frontPoint{ends[i], ends[1-i]} {
			if v, _ := e.expected[i].Float64(); v > 0 {
				unit[i] = v
				break
			}
		}
	}
	return unit
}

// collect keeps the designs that are not dominated.
func (f *front) collect(all []*frontPoint) {
	for i, p := range all {
		f.bounds = append(f.bounds, supportingLine{p.weights, p.certificate.LowerBound})
		if !p.optimal {
			f.limit++
		}
		if slices.ContainsFunc(all, func(q *frontPoint) bool { return q.dominates(p) }) ||
			slices.ContainsFunc(all[:i], func(q *frontPoint) bool { return q.compare(p) == [2]int{} }) {
			f.removed++
			continue
		}
		f.points = append(f.points, *p)
	}
	slices.SortFunc(f.points, func(p, q frontPoint) int { return p.compare(&q)[0] })
}

// compare compares the expectations of each loss.
func (p *frontPoint) compare(q *frontPoint) (c [2]int) {
	for i := range c {
		c[i] = p.expected[i].Cmp(q.expected[i])
	}
	return c
}

// dominates reports whether p is no worse than q in either loss, and better in
// one.
func (p *frontPoint) dominates(q *frontPoint) bool {
	c := p.compare(q)
	return c[0] <= 0 && c[1] <= 0 && c != [2]int{}
}

// frontReport is what design --trade --json prints.
type frontReport struct {
	Schema int `json:"schema"`
	promise
	Losses [2]string `json:"losses"`
	published
	Points    []pointReport `json:"points"`
	Dominated int           `json:"dominated"`
	outcome
}

type pointReport struct {
	Share    float64        `json:"share"`
	Weights  [2]float64     `json:"weights"`
	Expected [2]json.Number `json:"expected"`
	certified
	Status string `json:"status"`
}

func (p *frontPoint) report() pointReport {
	return pointReport{
		Share:     math.Round(p.share*1e6) / 1e6,
		Weights:   p.weights,
		Expected:  [2]json.Number{json.Number(tables.DecimalUp(p.expected[0])), json.Number(tables.DecimalUp(p.expected[1]))},
		certified: newCertified(p.certificate),
		Status:    status(p.optimal),
	}
}

func (f *front) report() frontReport {
	r := frontReport{
		Schema: shell.Schema, promise: newPromise(f.problem.Privacy), published: newPublished(f.problem),
		Losses:    [2]string{f.losses[0].Name(), f.losses[1].Name()},
		Dominated: f.removed,
		outcome:   newOutcome(f.limit == 0, f.elapsed),
	}
	for i := range f.points {
		r.Points = append(r.Points, f.points[i].report())
	}
	return r
}

// writeCSV writes the front with one design per line.
func (f *front) writeCSV(w io.Writer) error {
	var b strings.Builder
	b.WriteString("share,weight_a,weight_b,expected_a,expected_b,expected_loss,lower_bound,gap\n")
	for i := range f.points {
		r := f.points[i].report()
		gap := ""
		if r.Gap != nil {
			gap = fmt.Sprintf("%.6g", *r.Gap)
		}
		fmt.Fprintf(&b, "%v,%v,%v,%s,%s,%s,%s,%s\n", r.Share, r.Weights[0], r.Weights[1], r.Expected[0], r.Expected[1], r.ExpectedLoss, r.LowerBound, gap)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// print prints the front for a reader.
func (f *front) print(w io.Writer) error {
	p := f.problem
	var b strings.Builder
	fmt.Fprintf(&b, "epsilon %v, delta %v, sensitivity %v\n", p.Epsilon, p.Delta, p.Sensitivity)
	for _, r := range shell.QueryRows(p.Query, p.Step, p.Constraints) {
		fmt.Fprintf(&b, "%s: %s\n", r[0], r[1])
	}
	for i, name := range []string{"A", "B"} {
		fmt.Fprintf(&b, "%s = %s\n", name, shell.LossUnit(f.losses[i]))
	}
	fmt.Fprintf(&b, "%d designs, %d of them dominated and left out, %s\n\n", len(f.points)+f.removed, f.removed, f.elapsed.Round(time.Millisecond))
	lines := [][]string{{"share of A", "weight of A", "weight of B", "E A", "E B", "weighted sum", "lower bound", "gap"}}
	for i := range f.points {
		r := f.points[i].report()
		number := func(n json.Number) string {
			v, _ := n.Float64()
			return fmt.Sprintf("%.7g", v)
		}
		lines = append(lines, []string{
			fmt.Sprintf("%.4f", r.Share), fmt.Sprint(r.Weights[0]), fmt.Sprint(r.Weights[1]),
			number(r.Expected[0]), number(r.Expected[1]), number(r.ExpectedLoss), number(r.LowerBound), shell.Percent(shell.GapOf(f.points[i].certificate)),
		})
	}
	shell.WriteColumns(&b, lines, ">>>>>>>>")
	_, err := io.WriteString(w, b.String())
	return err
}

// runTrade designs a front and writes it where asked to.
func (o *designOptions) runTrade(ctx context.Context) error {
	table, err := o.Reserve()
	if err != nil {
		return err
	}
	defer table.Discard()
	var drawing shell.Reserved
	if o.plot != "" {
		if drawing.Output, err = o.Create(o.plot); err != nil {
			return err
		}
		defer drawing.Discard()
	}
	line := o.Progress()
	defer line.Clear()
	f, err := newFront(ctx, o.problem, trade{o.trade, o.points}, o.design, func(done int) { line.Count("designing", done, o.points) })
	if err != nil {
		return err
	}
	line.Clear()
	if err := table.Put(encoder(f.writeCSV)); err != nil {
		return err
	}
	if err := drawing.Put(encoder(func(w io.Writer) error { return f.Draw(w, o.format, 18*vg.Centimeter, 11*vg.Centimeter) })); err != nil {
		return err
	}
	switch {
	case o.JSON:
		err = shell.PrintJSON(o.Out, f.report())
	case !o.Quiet && o.Output != "-":
		err = f.print(o.Out)
	}
	if err != nil || f.limit == 0 {
		return err
	}
	return &shell.Failure{
		Code: shell.ExitLimit,
		Err:  fmt.Errorf("%d of %d designs stopped short of a gap of %s; all are proven", f.limit, o.points, shell.Percent(o.design.Gap)),
		Hint: "more time (--time-limit, which is for all designs together), more cells (--max-cells) or a larger gap (--gap)",
	}
}

// encoder writes a result.
type encoder func(io.Writer) error

// Encode implements the interface of what is put into an output.
func (e encoder) Encode(w io.Writer) error { return e(w) }

// trade is what a front is between.
type trade struct {
	losses [2]loss.Loss
	points int
}

// Draw renders the front, between the designs and the bound on all others, as svg
// or png.
func (f *front) Draw(w io.Writer, format string, width, height vg.Length) error {
	var designs, bound plotter.XYs
	for _, p := range f.points {
		x, _ := p.expected[0].Float64()
		y, _ := p.expected[1].Float64()
		designs = append(designs, plotter.XY{X: x, Y: y})
	}
	first, last := designs[0], designs[len(designs)-1]
	spanX, spanY := last.X-first.X, first.Y-last.Y
	margin := func(span, size float64) float64 { return max(0.06*span, 0.01*size, 1e-300) }
	marginX, marginY := margin(spanX, last.X), margin(spanY, first.Y)

	p := figure.New()
	privacy := f.problem
	p.Title.Text = fmt.Sprintf("ε = %v, δ = %v, sensitivity %v", privacy.Epsilon, privacy.Delta, privacy.Sensitivity)
	p.X.Label.Text = figure.LossSymbol(f.losses[0])
	p.Y.Label.Text = figure.LossSymbol(f.losses[1])
	p.X.Min, p.X.Max = first.X-marginX, last.X+marginX
	p.Y.Min, p.Y.Max = last.Y-marginY, first.Y+2*marginY

	const samples = 800
	for i := range samples + 1 {
		x := p.X.Min + (p.X.Max-p.X.Min)*float64(i)/samples
		if y := f.least(x); y <= p.Y.Max {
			bound = append(bound, plotter.XY{X: x, Y: max(y, p.Y.Min)})
		}
	}
	if len(bound) > 0 { // it starts with the wall that the bound on the first loss is
		bound = append(plotter.XYs{{X: bound[0].X, Y: p.Y.Max}}, bound...)
	}
	curves := []figure.Curve{
		{Name: "certified bound: no noise is below", Points: bound, Style: draw.LineStyle{Color: figure.Vermilion, Width: vg.Points(1.2), Dashes: []vg.Length{vg.Points(5), vg.Points(3)}}},
		{Name: "designed tables, and mixtures of neighbours", Points: designs, Style: draw.LineStyle{Color: figure.Blue, Width: vg.Points(1.6)}},
	}
	if len(bound) == 0 {
		curves = curves[1:]
	}
	if err := figure.Add(p, curves); err != nil {
		return err
	}
	dots, err := plotter.NewScatter(designs)
	if err != nil {
		return err
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: figure.Blue, Radius: vg.Points(2.4), Shape: draw.CircleGlyph{}}
	p.Add(dots)
	return figure.Write(p, w, format, width, height)
}

// least returns the least expectation of the second loss that the bounds allow
// where the first has expectation x; +Inf if none.
func (f *front) least(x float64) float64 {
	y := 0.0
	for _, b := range f.bounds {
		bound, _ := b.bound.Float64()
		switch rest := bound - b.weights[0]*x; {
		case b.weights[1] > 0:
			y = max(y, rest/b.weights[1])
		case rest > 0:
			return math.Inf(1)
		}
	}
	return y
}
