// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	_ "embed" // the published numbers
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/cmd/papers/drolearn"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

// droTable is a table of Selvi, Liu & Wiesemann, "Differential Privacy via Distributionally
// Robust Optimization" (Operations Research, 2025), or of its supplement: how far known
// mechanisms and known bounds are from the optimum, by epsilon and delta, for a sensitivity of 1.
type droTable struct {
	name   string // of the command and of the files
	title  string // in the paper
	column string // of the published numbers
	loss   loss.Loss
	part   distance
}

// distance is what a table is about.
type distance struct {
	words string
	of    func(c *droCell) float64
}

var (
	fromKnownToKnown   = distance{"known upper bound less known lower bound", func(c *droCell) float64 { return c.truncated - c.known }}
	fromKnownToOptimum = distance{"known upper bound less optimum", func(c *droCell) float64 { return c.truncated - c.optimum }}
	fromOptimumToKnown = distance{"optimum less known lower bound", func(c *droCell) float64 { return c.optimum - c.known }}
)

var droTables = []droTable{
	{"dro-table1", "Table 1", "table1", loss.L1, fromKnownToKnown},
	{"dro-table4", "Table 4", "table4", loss.L1, fromKnownToOptimum},
	{"dro-table5", "Table 5", "table5", loss.L1, fromOptimumToKnown},
	{"dro-table6", "Table 6", "table6", loss.L2, fromKnownToKnown},
	{"dro-supplement-table1", "Supplement, Table 1", "supplement1", loss.L2, fromKnownToOptimum},
	{"dro-supplement-table2", "Supplement, Table 2", "supplement2", loss.L2, fromOptimumToKnown},
}

// droPublished are the tables' numbers, in percent, as published: Tables 1, 4, 5 and 6 in the
// accepted version of December 2024, the others in the supplement of May 2024.
//
//go:embed published/dro-tables.csv
var droPublished string

// The grid of the tables.
const (
	droEpsilon = "0.005,0.01,0.02,0.05,0.1,0.2,0.5,1,2,5"
	droDelta   = "0.005,0.01,0.02,0.05,0.1,0.2,0.25,0.3,0.5,0.75"
)

// closeTo is the difference, in percentage points, up to which a number counts as reproduced.
const closeTo = 0.5

type droTableOptions struct {
	shell.Common
	table  droTable
	grid   droGrid
	design lp.Options
}

func newDROTableCommand(s *shell.Streams, t droTable) *cobra.Command {
	o := &droTableOptions{Common: shell.Common{Streams: s}, table: t, design: shell.DesignOptions()}
	cmd := paperCommand(&o.Common, t.name, "", fmt.Sprintf("%s of Selvi, Liu & Wiesemann (2025), %s: %s", t.title, t.loss.Name(), t.part.words), t.said(), fmt.Sprintf(`It is a table of Selvi, Liu & Wiesemann, "Differential Privacy via Distributionally Robust
Optimization" (2025). The known upper bound is the loss of truncated Laplace noise, the
known lower bound the expression of Geng, Ding, Guo & Kumar (2020) with the number of
terms rounded up. Rounded up it is no true bound; it is here because the paper has it.

Written are %[1]s.csv, with the published numbers beside ours,
%[1]s.svg, a map of the numbers, and, in the folder tables, the
designed tables themselves.
These are read and verified when the same or another command needs them, so an
interrupted run goes on where it stopped. Nothing is random.

If a limit stops a design, its row of the file has "reached" = no, and the exit
code is 4.`, t.name), o.run, func(f *shell.Flags) {
		o.grid.flags(f)
		f.Effort(&o.design, " of one design")
	})
	cmd.Example += "\n  papers " + t.name + " --epsilon 1,2 --delta 0.1 --gap 1e-5 --json"
	return cmd
}

func (t droTable) said() said {
	loss := map[string]string{"l1": "E|x|", "l2": "E x²"}[t.loss.Name()]
	return said{
		caption: fmt.Sprintf("%s: for each epsilon and delta and a sensitivity of 1 the %s (loss %s, %s), in percent of max(optimum, 1)", t.title, t.part.words, t.loss.Name(), loss),
		differs: `the optimum is the midpoint of the certified bounds of a design, where the paper has that of its grids; the known lower
bound has the number of terms rounded down where, rounded up, it is above the loss of a designed noise`,
	}
}

func (o *droTableOptions) run(ctx context.Context) error {
	store, err := newDesignStore(o.Streams, filepath.Join(o.Output, "tables"))
	if err != nil {
		return err
	}
	var cells []droCell
	files, err := produce(&o.Common, func(line *shell.Progress) error {
		designs, err := store.designAll(ctx, o.grid.problems(o.table.loss), o.design, line)
		if err != nil {
			return err
		}
		cells, err = o.table.cells(designs, o.design.Gap)
		return err
	}, output{o.table.name, func() [][]string { return droRecords(cells) }, func(w io.Writer) error {
		return o.table.heatMap(o.grid, cells).Draw(w, "svg", 22*vg.Centimeter, 15*vg.Centimeter)
	}})
	if err != nil {
		return err
	}
	summary := o.table.summary(cells, o.design.Gap, files, store.dir)
	says := o.table.said()
	says.against = o.table.against(cells)
	if o.grid.pairs() < droPairs {
		says.form = fmt.Sprintf("%d of the paper's %d pairs of epsilon and delta, or others", o.grid.pairs(), droPairs)
	}
	if err := says.print(&o.Common, o.table.name, summary, summary.rows(), files); err != nil || summary.Missed == 0 {
		return err
	}
	worst := "at " + shell.Percent(summary.worst)
	if math.IsInf(summary.worst, 1) {
		worst = "without a lower bound"
	}
	return &shell.Failure{
		Code: shell.ExitLimit,
		Err: fmt.Errorf("%d of %d designs stopped short of the gap of %s, the worst %s; their numbers are proven all the same",
			summary.Missed, summary.Cells, shell.Percent(o.design.Gap), worst),
		Hint: "more time (--time-limit) or a larger gap (--gap); finished designs are not made again",
	}
}

type droGrid struct{ epsilon, delta []float64 }

func (g *droGrid) flags(f *shell.Flags) {
	f.Numbers(&g.epsilon, "epsilon", droEpsilon, shell.Epsilon, "values of epsilon, separated by commas")
	f.Numbers(&g.delta, "delta", droDelta, shell.PositiveDelta, "values of delta, separated by commas")
}

// droPairs is how many pairs the tables of the paper have.
const droPairs = 100

func (g droGrid) pairs() int { return len(g.epsilon) * len(g.delta) }

func (g droGrid) problems(loss loss.Loss) []dp.Problem {
	var list []dp.Problem
	for _, e := range g.epsilon {
		for _, d := range g.delta {
			list = append(list, dp.Problem{Privacy: dp.Privacy{Epsilon: e, Delta: d, Sensitivity: 1}, Loss: loss})
		}
	}
	return list
}

// droCell is one number of a table and what it is made of.
type droCell struct {
	dp.Problem
	claims              formfile.Claims
	gap                 float64
	reached             bool
	optimum             float64 // midpoint of the certified bounds
	truncated, gaussian float64 // losses; NaN: does not apply
	known               float64 // lower bound as the paper has it
	value, relative     float64 // percent of max(optimum, 1), of the optimum
	published           float64 // percent; NaN: none
}

func (t droTable) cells(designs []*tables.Verified, gap float64) ([]droCell, error) {
	published, err := readDROPublished(t.column)
	if err != nil {
		return nil, err
	}
	var list []droCell
	for _, d := range designs {
		certificate := d.Certificate()
		c := droCell{Problem: d.Mechanism().Problem(), claims: certificate.Claims(), gap: shell.GapOf(certificate.Bounds()), published: math.NaN()}
		c.reached = c.gap <= gap
		if v, ok := published[[2]float64{c.Epsilon, c.Delta}]; ok {
			c.published = v
		}
		loss, _ := certificate.ExpectedLoss.Float64()
		bound, _ := certificate.LowerBound.Float64()
		c.truncated = baselineLoss("truncated-laplace", c.Problem)
		c.gaussian = baselineLoss("analytic-gaussian", c.Problem)
		c.known = knownBound(c.Problem, loss)
		c.measure(t.part, (loss+bound)/2)
		list = append(list, c)
	}
	return list, nil
}

// measure computes the number with this optimum.
func (c *droCell) measure(d distance, optimum float64) {
	c.optimum = optimum
	c.value = 100 * d.of(c) / max(optimum, 1)
	c.relative = 100 * d.of(c) / optimum
}

// difference is how far the number is from the published one, in percentage points, NaN if none.
func (c droCell) difference() float64 { return c.value - c.published }

// baselineLoss returns the expected loss of a classical mechanism, NaN if it does not apply.
func baselineLoss(name string, p dp.Problem) float64 {
	for _, b := range noise.Baselines() {
		if b.Name != name {
			continue
		}
		m, err := b.New(p.Privacy, p.Loss)
		if err != nil {
			break
		}
		if loss, _, err := m.ExpectedLoss(p.Loss); err == nil {
			return loss
		}
	}
	return math.NaN()
}

// knownBound is the known lower bound of the tables, that of Geng, Ding, Guo & Kumar (2020),
//
//	2aΔ^m Σ_{k<n} k^m b^k,   a = (δ+(e^ε-1)/2)/e^ε,   b = e^-ε,
//
// with m = 1 for l1 and 2 for l2, and the least n with Σ_{k<n} a b^k >= 1/2, which is ⌈A/Δ⌉ with A
// of truncated Laplace noise on [-A, A]. The paper proves it for a sum of exactly 1/2. Elsewhere it is
// no bound: at ε = 0, δ = 0.49 it is 0.98 Δ for l1, and uniform noise has 0.51 Δ; with n = ⌊A/Δ⌋ it
// is one. Where it is above the loss of a designed noise, which refutes it, the tables have that n.
func knownBound(p dp.Problem, loss float64) float64 {
	if v := knownTerms(p, math.Ceil); v <= loss {
		return v
	}
	return knownTerms(p, math.Floor)
}

// knownTerms is that expression with A/Δ rounded to a number of terms.
func knownTerms(p dp.Problem, round func(float64) float64) float64 {
	power := map[string]float64{"l1": 1, "l2": 2}[p.Loss.Name()]
	a := p.Delta*math.Exp(-p.Epsilon) - math.Expm1(-p.Epsilon)/2
	n := round(supportOf(dp.Privacy{Epsilon: p.Epsilon, Delta: p.Delta, Sensitivity: 1}))
	var sum float64
	for k := 1.0; k < n; k++ {
		sum += math.Pow(k, power) * math.Exp(-p.Epsilon*k)
	}
	return 2 * a * math.Pow(p.Sensitivity, power) * sum
}

// supportOf is A of truncated Laplace noise, NaN where there is none.
func supportOf(p dp.Privacy) float64 {
	m, err := noise.New(noise.TruncatedLaplace, p, loss.L1)
	if err != nil {
		return math.NaN()
	}
	return m.Support()
}

type termCount struct {
	words string
	of    func(float64) float64
}

// termCounts are the ways to make A/Δ a number of terms that published numbers follow.
var termCounts = []termCount{
	{"rounded down", math.Floor},
	{"rounded up", math.Ceil},
	{"rounded up, and one more", func(n float64) float64 { return math.Ceil(n) + 1 }},
}

// against says which published numbers ours are not, and why where they have another number of terms.
func (t droTable) against(cells []droCell) (texts []string) {
	others := 0
	for _, c := range cells {
		if d := c.difference(); math.IsNaN(d) || math.Abs(d) <= closeTo {
			continue
		}
		i := slices.IndexFunc(termCounts, func(n termCount) bool {
			theirs := c
			theirs.known = knownTerms(c.Problem, n.of)
			theirs.measure(t.part, c.optimum)
			return theirs.known != c.known && math.Abs(theirs.difference()) <= closeTo
		})
		if i < 0 {
			others++
			continue
		}
		texts = append(texts, fmt.Sprintf("epsilon %g, delta %g: %.2f, published %.2f: that has the number of terms of the known lower bound %s, %.4g; ours is %.4g, and the optimum %.4g",
			c.Epsilon, c.Delta, c.value, c.published, termCounts[i].words, knownTerms(c.Problem, termCounts[i].of), c.known, c.optimum))
	}
	if others > 0 {
		texts = append(texts, fmt.Sprintf("%d numbers differ by more than %g points for other reasons: cmd/papers/README.md", others, closeTo))
	}
	return texts
}

// readDROPublished returns one column of the published numbers by epsilon and delta.
func readDROPublished(column string) (map[[2]float64]float64, error) {
	records, err := csv.NewReader(strings.NewReader(droPublished)).ReadAll()
	if err != nil {
		return nil, err
	}
	at := slices.Index(records[0], column)
	list := make(map[[2]float64]float64)
	for _, r := range records[1:] {
		v, err := floats([]string{r[0], r[1], r[at]})
		if err != nil {
			return nil, err
		}
		list[[2]float64{v[0], v[1]}] = v[2]
	}
	return list, nil
}

func droRecords(cells []droCell) [][]string {
	out := [][]string{{
		"epsilon", "delta", "expected_loss", "lower_bound", "gap_percent", "reached",
		"truncated_laplace", "analytic_gaussian", "known_lower_bound",
		"percent", "relative_percent", "published_percent", "difference_points",
	}}
	number := func(format string, v float64) string {
		if !check.Finite(v) {
			return "" // there is none
		}
		return fmt.Sprintf(format, v)
	}
	for _, d := range cells {
		reached := "yes"
		if !d.reached {
			reached = "no"
		}
		out = append(out, record(
			d.Epsilon, d.Delta, d.claims.ExpectedLoss, d.claims.LowerBound, number("%.5f", 100*d.gap), reached,
			number("%.10g", d.truncated), number("%.10g", d.gaussian), number("%.10g", d.known),
			number("%.4f", d.value), number("%.4f", d.relative), number("%.2f", d.published), number("%.4f", d.difference()),
		))
	}
	return out
}

func (t droTable) heatMap(g droGrid, cells []droCell) *figure.HeatMap {
	h := &figure.HeatMap{
		Title:  fmt.Sprintf("%s (%s): %s, in percent", t.title, t.loss.Name(), t.part.words),
		XLabel: "δ", YLabel: "ε",
	}
	for _, d := range g.delta {
		h.X = append(h.X, fmt.Sprint(d))
	}
	for _, e := range g.epsilon {
		h.Y = append(h.Y, fmt.Sprint(e))
	}
	for _, c := range cells {
		small := ""
		if !math.IsNaN(c.published) {
			small = fmt.Sprintf("publ. %.2f", c.published)
		}
		h.Cells = append(h.Cells, figure.HeatCell{Value: c.value, Large: fmt.Sprintf("%.2f", c.value), Small: small})
	}
	return h
}

type droSummary struct {
	Cells             int      `json:"cells"`
	Missed            int      `json:"missed"`   // the gap
	Compared          int      `json:"compared"` // with a published number
	LargestDifference *float64 `json:"largest_difference,omitempty"`
	LargestAt         *[2]any  `json:"largest_at,omitempty"`
	MeanDifference    *float64 `json:"mean_absolute_difference,omitempty"`
	Within            int      `json:"within_half_point"`
	CSV               string   `json:"csv"`
	SVG               string   `json:"svg"`
	Tables            string   `json:"tables"`
	gap, worst        float64
}

func (t droTable) summary(cells []droCell, gap float64, files []string, dir string) droSummary {
	s := droSummary{Cells: len(cells), gap: gap, CSV: files[0], SVG: files[1], Tables: dir}
	var sum float64
	for _, c := range cells {
		if !c.reached {
			s.Missed++
		}
		s.worst = max(s.worst, c.gap)
		d := c.difference()
		if math.IsNaN(d) {
			continue
		}
		s.Compared++
		sum += math.Abs(d)
		if math.Abs(d) <= closeTo {
			s.Within++
		}
		if s.LargestDifference == nil || math.Abs(d) > math.Abs(*s.LargestDifference) {
			s.LargestDifference, s.LargestAt = shell.Finite(d), &[2]any{c.Epsilon, c.Delta}
		}
	}
	if s.Compared > 0 {
		s.MeanDifference = shell.Finite(sum / float64(s.Compared))
	}
	return s
}

func (s droSummary) rows() []shell.Row {
	rows := []shell.Row{
		{"designs", fmt.Sprintf("%d, %d within the gap of %s, the largest gap %s", s.Cells, s.Cells-s.Missed, shell.Percent(s.gap), shell.Percent(s.worst))},
	}
	if s.Compared > 0 {
		rows = append(rows,
			shell.Row{"largest difference", fmt.Sprintf("%+.2f points from the published number, at epsilon %v, delta %v", *s.LargestDifference, s.LargestAt[0], s.LargestAt[1])},
			shell.Row{"mean difference", fmt.Sprintf("%.2f points, absolute", *s.MeanDifference)},
			shell.Row{"within 0.5 points", fmt.Sprintf("%d of %d", s.Within, s.Compared)})
	} else {
		rows = append(rows, shell.Row{"published", "none of these numbers"})
	}
	return append(rows, shell.Row{"designed tables", s.Tables})
}

// designStore keeps finished designs as table files in a folder.
type designStore struct {
	*tables.Store
	streams *shell.Streams
	dir     string
}

// newDesignStore opens a folder, which is made if it is missing.
func newDesignStore(s *shell.Streams, dir string) (*designStore, error) {
	store, err := tables.NewStore(tables.StoreOptions{
		Directory: dir,
		Rejected:  func(err error) { s.Warn("%s; it is designed again", shell.Sentence(err)) },
	})
	if err != nil {
		return nil, shell.BadInput("", fmt.Errorf("output %s: %w", dir, shell.FileCause(err)))
	}
	return &designStore{store, s, dir}, nil
}

// obtain gets the design of a problem: stored, if good enough, or the better of that and a new one.
func (s *designStore) obtain(ctx context.Context, p dp.Problem, o lp.Options) (*tables.Verified, error) {
	old := s.Load(p)
	if old != nil && shell.GapOf(old.Certificate().Bounds()) <= o.Gap {
		return old, nil
	}
	r, _, err := shell.Design(ctx, p, o)
	switch {
	case err != nil:
		return nil, err
	case old != nil && shell.GapOf(old.Certificate().Bounds()) <= r.Gap:
		return old, nil
	}
	return r.Verified, s.Keep(r.Verified)
}

// designAll obtains the designs of all problems, in their order, on all cores.
// Cancelled, it keeps what is finished in the store.
func (s *designStore) designAll(ctx context.Context, problems []dp.Problem, o lp.Options, line *shell.Progress) ([]*tables.Verified, error) {
	designs := make([]*tables.Verified, len(problems))
	var lock sync.Mutex
	count := 0
	order := slowestFirst(problems)
	err := drolearn.Each(ctx, len(order), func(ctx context.Context, k int) error {
		d, err := s.obtain(ctx, problems[order[k]], o)
		if err != nil {
			return err
		}
		lock.Lock()
		defer lock.Unlock()
		designs[order[k]] = d
		count++
		line.Count("designing", count, len(problems))
		return nil
	})
	line.Clear()
	if err := ctx.Err(); err != nil {
		s.streams.Warn("%d of %d designs are kept in %s; the same command goes on from there", count, len(problems), s.dir)
		return nil, err
	}
	return designs, err
}

// slowestFirst orders problems by the time that they take, which is longest for large epsilon
// and delta, so that no core is left with a slow one at the end.
func slowestFirst(problems []dp.Problem) []int {
	order := span(len(problems), 0, 1)
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := problems[i], problems[j]
		return cmp.Or(cmp.Compare(b.Epsilon, a.Epsilon), cmp.Compare(b.Delta, a.Delta))
	})
	return order
}
