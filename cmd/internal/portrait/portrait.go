// SPDX-License-Identifier: Apache-2.0

package portrait

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/cmd/internal/theorem"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/proof/forms"
	"github.com/noisewright/noisewright/subset"
	"github.com/noisewright/noisewright/tables"
)

// Portrait is what a page shows of a verified file. Bounds are texts, rounded in the
// direction that keeps them true, to be shown as they are; float64s are for charts.
type Portrait struct {
	Kind    string      `json:"kind"` // table, kernel, additive or local, or the package of another form
	Name    string      `json:"name"` // of a file for it
	Epsilon float64     `json:"epsilon"`
	Delta   float64     `json:"delta"`
	Facts   [][2]string `json:"facts"` // names and values, in the order to show
	// Loss and its unit; "costs" for categories.
	Loss     string  `json:"loss"`
	LossUnit string  `json:"loss_unit"`
	Expected Bound   `json:"expected"`        // rounded up
	Bound    Bound   `json:"bound"`           // rounded down
	Worst    *Bound  `json:"worst,omitempty"` // of a value, rounded up
	Gap      string  `json:"gap"`
	Left     float64 `json:"left,omitempty"`  // of a chart of the density
	Right    float64 `json:"right,omitempty"` //

	Density   []Point    `json:"density,omitempty"`
	Per       string     `json:"per,omitempty"` // what the density is per
	Atom      float64    `json:"atom,omitempty"`
	Intervals []Interval `json:"intervals,omitempty"`
	Laws      *Laws      `json:"laws,omitempty"`

	Total tables.Total `json:"-"` // that is claimed of several releases; zero: none is
	Unit  float64      `json:"-"` // what the density is per, in query units
}

// Bound is a number that is proved: as it is shown, and for charts.
type Bound struct {
	Text  string  `json:"text"`
	Value float64 `json:"value"`
}

// Interval says where the true value lies around a released one, with that probability at least.
type Interval struct {
	Level float64 `json:"level"`
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
	Text  string  `json:"text"`
	Reach string  `json:"reach"` // the larger of the distances of the ends
}

// Laws are the laws of the answers, or of the noise, for some values.
type Laws struct {
	Of      string      `json:"of"` // what the numbers of Answers are
	Values  []string    `json:"values"`
	At      []float64   `json:"at"` // the values as numbers
	Answers []float64   `json:"answers,omitempty"`
	Labels  []string    `json:"labels,omitempty"` // in place of Answers
	Rows    [][]float64 `json:"rows"`
	Losses  []float64   `json:"losses"`
}

var levels = []float64{0.5, 0.8, 0.9, 0.95, 0.99, 0.999}

const maxLaws = 41

const digits = 7

func up(r *big.Rat) Bound {
	return Bound{short(exact.DecimalUp(r, digits)), min(exact.FloatUp(r), math.MaxFloat64)}
}

// FloatUp is up of a float64 that is a bound from above: its text, read back, is not below it.
// It is nil if it is not finite.
func FloatUp(x float64) *Bound { return ofFloat(x, up) }

// FloatDown is FloatUp for a bound from below.
func FloatDown(x float64) *Bound { return ofFloat(x, down) }

func ofFloat(x float64, round func(*big.Rat) Bound) *Bound {
	r := new(big.Rat).SetFloat64(x)
	if r == nil || r.Sign() < 0 {
		return nil
	}
	b := round(r)
	// A number of few digits is meant as it is written: 0.2, though its float64 is above.
	if text := strconv.FormatFloat(x, 'e', -1, 64); strings.IndexByte(text, 'e') <= digits+1 {
		b.Text = strconv.FormatFloat(x, 'g', -1, 64)
	}
	return &b
}

func down(r *big.Rat) Bound { return Bound{short(exact.DecimalDown(r, digits)), exact.FloatDown(r)} }

// short writes a decimal of few digits as numbers of its size are, with the same digits.
func short(text string) string {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x == 0 || math.Abs(x) < 1e-300 {
		return text
	}
	return strconv.FormatFloat(x, 'g', 15, 64)
}

// own is what a page has for one form in particular.
type own struct {
	kind, file string
	show       func(*Portrait, proof.Proven)
}

// owns lists what forms have of their own, by their packages.
var owns = map[string]own{
	(*tables.Table)(nil).Form().Package:     {"table", "table.json", func(p *Portrait, v proof.Proven) { p.table(v.(*tables.Verified)) }},
	(*kernels.Kernel)(nil).Form().Package:   {"kernel", "kernel.json", func(p *Portrait, v proof.Proven) { p.kernel(v.(*kernels.Verified)) }},
	(*cells.Kernel)(nil).Form().Package:     {"additive", "additive.json", func(p *Portrait, v proof.Proven) { p.additive(v.(*cells.Verified)) }},
	(*local.Randomizer)(nil).Form().Package: {"local", "randomizer.json", func(p *Portrait, v proof.Proven) { p.randomizer(v.(*local.Verified)) }},
	(*subset.Selection)(nil).Form().Package: {"subset", "subset.json", func(p *Portrait, v proof.Proven) { p.selection(v.(*subset.Verified)) }},
}

// New returns the portrait of what Verify returns.
func New(v proof.Proven) *Portrait {
	m, b := proof.Of(v), v.Bounds()
	pkg := m.Form().Package
	of, ok := owns[pkg]
	if !ok {
		of = own{pkg, pkg + ".json", (*Portrait).channel}
	}
	privacy := m.Privacy()
	p := &Portrait{
		Kind: of.kind, Name: of.file, Epsilon: privacy.Epsilon, Delta: privacy.Delta, Loss: "costs", LossUnit: "in the units of the costs",
		Expected: up(b.Loss), Bound: down(b.LowerBound), Gap: gap(b),
	}
	if b.Worst != nil {
		worst := up(b.Worst)
		p.Worst = &worst
	}
	p.add("epsilon", "%v", privacy.Epsilon)
	p.add("delta", "%v promised, %s certified", privacy.Delta, up(b.Delta).Text)
	if privacy.Sensitivity > 0 {
		p.add("sensitivity", "%v", privacy.Sensitivity)
	}
	if l := m.Loss(); l != nil {
		p.Loss, p.LossUnit = l.Name(), loss.Of(l).Unit()
	}
	p.add("loss", "%.80s (%s)", p.Loss, p.LossUnit)
	of.show(p, v)
	return p
}

// NameTheorems adds to the facts which theorem of proofs/ is about which claim.
func (p *Portrait) NameTheorems(m proof.Mechanism) {
	for _, c := range theorem.Claims(m) {
		p.add("theorem", "%s", c.Text())
	}
}

func (p *Portrait) add(name, format string, args ...any) {
	p.Facts = append(p.Facts, [2]string{name, fmt.Sprintf(format, args...)})
}

// gap is the distance of the loss from its bound, in percent.
func gap(b proof.Bounds) string {
	if b.LowerBound.Sign() <= 0 {
		return "unknown: there is no bound above 0"
	}
	gap := new(big.Rat).Quo(b.Loss, b.LowerBound)
	gap.Sub(gap, big.NewRat(1, 1))
	gap.Mul(gap, big.NewRat(100, 1))
	if gap.Sign() < 0 {
		gap.SetInt64(0)
	}
	return short(exact.DecimalUp(gap, 2)) + " %"
}

func (p *Portrait) table(v *tables.Verified) {
	t := v.Mechanism()
	switch t.Query() {
	case dp.IntegerQuery:
		p.add("query", "integer, with integer noise")
	case dp.LatticeQuery:
		p.add("query", "rounded at random to multiples of %v", t.Problem().Step)
	case dp.RealQuery:
		p.add("query", "real")
	}
	p.add("cells", "%d, %d per sensitivity", t.Cells(), t.Grid().CellsPerSensitivity)
	if total, ok := t.ClaimedTotal(); ok {
		p.Total = total
		p.add("total claimed", "epsilon %v, delta %v of %d releases together", total.Epsilon, total.Delta, total.Releases)
	}
	d := NewDensity(t)
	p.Unit = d.Unit
	p.Left, p.Right = d.Reach(false)
	p.Density = d.Steps(p.Left, p.Right)
	_, p.Atom = t.PMF()
	p.Per = "per query unit"
	switch t.Query() {
	case dp.IntegerQuery:
		p.Per = "per integer"
	case dp.LatticeQuery:
		p.Per = fmt.Sprintf("per step of %.4g", d.Step)
	case dp.RealQuery:
	}
	for _, level := range levels {
		lower, upper, err := t.Interval(0, level)
		if err != nil || math.IsInf(lower, 0) || math.IsInf(upper, 0) {
			continue // a tail reaches further than numbers
		}
		p.Intervals = append(p.Intervals, Interval{
			level, lower, upper, outward(lower, -1) + " to " + outward(upper, +1), FloatUp(max(-lower, upper, 0)).Text,
		})
	}
}

// outward prints an end of an interval to few digits, away from its middle: towards the sign.
func outward(x, sign float64) string {
	if x == 0 {
		return "0"
	}
	mark, round := "+", exact.DecimalUp
	if x < 0 {
		mark = "−"
	}
	if (x < 0) != (sign < 0) { // towards 0
		round = exact.DecimalDown
	}
	return mark + short(round(new(big.Rat).SetFloat64(math.Abs(x)), digits))
}

// some returns which of n laws are shown, first and last among them.
func some(n int) []int {
	m := min(n, maxLaws)
	out := make([]int, m)
	for i := range out {
		if m > 1 {
			out[i] = i * (n - 1) / (m - 1)
		}
	}
	return out
}

func (p *Portrait) kernel(v *kernels.Verified) {
	k := v.Mechanism()
	q := k.Queries()
	p.add("range", "%v to %v", q.Lower, q.Upper)
	p.add("cells", "%d", k.Cells())
	p.Laws = &Laws{Of: "answer (query units)"}
	for j := range k.Cells() {
		p.Laws.Answers = append(p.Laws.Answers, k.Node(j))
	}
	for _, i := range some(k.Cells()) {
		middle := (k.Edge(i) + k.Edge(i+1)) / 2
		p.Laws.row(middle, k.PMF(i), k.LossAt(middle))
	}
}

// CellEnds are the ends of a cell, where it has none so far from the other, or from 0.
func CellEnds(k *cells.Kernel, i int, reach float64) (from, to float64) {
	switch from, to = k.Edge(i), k.Edge(i+1); {
	case math.IsInf(from, 0) && math.IsInf(to, 0):
		return -reach, reach
	case math.IsInf(from, 0):
		return to - reach, to
	case math.IsInf(to, 0):
		return from, from + reach
	}
	return from, to
}

func (p *Portrait) additive(v *cells.Verified) {
	k, c := v.Mechanism(), v.Certificate()
	p.add("cells", "%d, from %v to %v", k.Cells(), k.Edge(0), k.Edge(k.Cells()))
	p.add("bins", "%d", k.Bins())
	p.Laws = &Laws{Of: "noise (query units)"}
	g := k.Grid()
	step, _ := g.Step().Float64()
	for j := range k.Bins() {
		p.Laws.Answers = append(p.Laws.Answers, float64(g.FirstPoint(j)+g.FirstPoint(j+1)-1)/2*step)
	}
	for _, i := range some(k.Cells()) {
		from, to := CellEnds(k, i, 0)
		masses := make([]float64, k.Bins())
		for j := range masses {
			masses[j] = math.Ldexp(float64(k.Weight(i, j)), -64)
		}
		expected, _ := c.Losses[i].Float64()
		p.Laws.row((from+to)/2, masses, expected)
	}
}

func (p *Portrait) randomizer(v *local.Verified) {
	r := v.Mechanism()
	s := r.Spec()
	p.add("neighbors", "any two values")
	p.add("objective", "%s loss", s.Objective)
	p.Laws = &Laws{Of: "answer", Answers: s.Answers}
	if s.Values.Kind == local.Category {
		p.add("categories", "%d", len(s.Rows))
		p.Laws.Labels = s.AnswerLabels
		if p.Laws.Labels == nil {
			p.Laws.Labels = s.Values.Labels
		}
	} else {
		p.add("range", "%v to %v, %s values", s.Values.Lower, s.Values.Upper, s.Values.Kind)
		p.add("bias", "%s at most", up(v.Certificate().Bias).Text)
	}
	p.add("answers", "%d", max(len(s.Answers), len(p.Laws.Labels)))
	for _, i := range some(len(s.Rows)) {
		if s.Values.Kind == local.Category {
			masses, expected := r.PMF(i), 0.0
			for j, m := range masses {
				expected += m * s.Costs[i][j]
			}
			p.Laws.row(float64(i), masses, expected)
			p.Laws.Values[len(p.Laws.Values)-1] = s.Values.Labels[i]
			continue
		}
		p.Laws.row(s.Nodes[i], r.PMF(i), r.LossAt(s.Nodes[i]))
	}
}

// selection shows, in place of laws of too many answers, how likely the set has a category.
func (p *Portrait) selection(v *subset.Verified) {
	m := v.Mechanism()
	s := m.Spec()
	p.Loss, p.LossUnit = string(s.Objective)+" variance", "of unbiased shares, times the number of people"
	p.Facts[len(p.Facts)-1][1] = p.Loss + " (" + p.LossUnit + ")"
	p.add("categories", "%d", m.Categories())
	p.add("answers", "%s, of %d each", m.Answers(), s.Size)
	p.Laws = &Laws{Of: "answer", Labels: []string{"the set has it", "it has not"}}
	inside := float64(s.Inside) * 0x1p-64
	for n, i := range some(int(min(m.Categories(), 1<<10))) {
		p.Laws.row(float64(i), []float64{inside, 1 - inside}, 0)
		p.Laws.Values[n] = m.Label(int64(i))
	}
}

// channel shows the numbered laws of a form that has nothing of its own.
func (p *Portrait) channel(v proof.Proven) {
	m := proof.Of(v)
	p.add("inputs", "%s", m.Inputs())
	p.add("answers", "%s", m.Answers())
	c, ok := m.(proof.Channel)
	if !ok {
		return
	}
	rows := c.Rows()
	p.Laws = &Laws{Of: "answer"}
	for n, i := range some(len(rows)) {
		input := c.Input(i)
		choice, err := c.Choose(input)
		masses := make([]float64, len(rows[i]))
		for j, w := range rows[i] {
			masses[j] = math.Ldexp(float64(w), -64)
			if n == 0 && err == nil {
				p.Laws.Labels = append(p.Laws.Labels, c.Answer(choice, j, 0).String())
			}
		}
		p.Laws.row(float64(i), masses, 0)
		p.Laws.Values[n] = input.String()
	}
}

func (l *Laws) row(value float64, masses []float64, expected float64) {
	if math.IsNaN(expected) || math.IsInf(expected, 0) {
		expected = 0 // for the chart: JSON has no such numbers
	}
	l.Values = append(l.Values, strconv.FormatFloat(value, 'g', 6, 64))
	l.At = append(l.At, value)
	for i, m := range masses {
		masses[i] = math.Round(m*1e9) / 1e9 // for a chart
	}
	l.Rows = append(l.Rows, masses)
	l.Losses = append(l.Losses, expected)
}

// Verify decodes the text of a file and verifies it, with the work that is allowed by
// default. The errors are those of forms.Decode and of proof.Verify.
func Verify(ctx context.Context, text []byte) (proof.Proven, error) {
	m, err := forms.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return m.Prove(ctx, proof.Options{})
}

// ProveTotal proves the total that a table claims over several releases, which is no part of
// its own proof, and adds it to the facts. A false one is an error. Of what claims none it does
// nothing.
func (p *Portrait) ProveTotal(proven proof.Proven) error {
	if p.Total.Releases == 0 {
		return nil
	}
	v, ok := proven.(*tables.Verified)
	if !ok {
		return nil // none but tables claim one
	}
	b, err := account.ProveTotal(v)
	if err != nil {
		return err
	}
	p.add("total proved", "epsilon %s at delta %v, %d releases", FloatUp(b.Upper).Text, p.Total.Delta, p.Total.Releases)
	return nil
}
