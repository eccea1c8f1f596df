// SPDX-License-Identifier: Apache-2.0

// Package report has what commands say of a mechanism, in the same words and names whatever
// command it is: parts of JSON objects, and rows of summaries.
package report

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/plane"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/subset"
	"github.com/noisewright/noisewright/tables"
)

// Finding is what was found out about a mechanism.
type Finding struct {
	Mechanism proof.Mechanism
	Proven    proof.Proven // nil if something that it claims is false
	Total     *Total       // what a table claims of several releases, or nil
	Falsehood error
}

// About is what commands say of a mechanism: parts of a shell.Object, and the rows of a summary.
type About struct {
	Problem   shell.Object // what it is made for
	Certified any          // its bounds
	Size      shell.Object // what it is made of
	Worst     shell.Object // where the bounds are reached
	Rows      []shell.Row
}

// Certified is what is proved: delta and losses are rounded up to a float64, the bound down.
type Certified struct {
	DeltaUpper   *float64 `json:"delta_upper"`
	ExpectedLoss *float64 `json:"expected_loss"`
	MaxLoss      *float64 `json:"max_loss,omitempty"` // of an input, where that differs
	LowerBound   *float64 `json:"lower_bound"`
	Gap          *float64 `json:"gap"`
}

// NewCertified rounds bounds outward; falsehood is why a claim does not hold, nil if all do.
func NewCertified(b proof.Bounds, falsehood error) Certified {
	c := Certified{DeltaUpper: shell.FloatUp(b.Delta), ExpectedLoss: shell.FloatUp(b.Loss), LowerBound: shell.FloatDown(b.LowerBound), Gap: gapOf(b, falsehood)}
	if b.Worst != nil {
		c.MaxLoss = shell.FloatUp(b.Worst)
	}
	return c
}

// gapOf is the gap, but where that would compare what is not private with the best that is.
func gapOf(b proof.Bounds, falsehood error) *float64 {
	if errors.Is(falsehood, proof.ErrNotPrivate) {
		return nil
	}
	return shell.Finite(shell.GapOf(b))
}

// summary has the rows of a mechanism that are not those of all.
type summary struct {
	neighbors string // after epsilon
	worst     string // where delta is reached
	values    []shell.Row
	demands   []shell.Row
	losses    []shell.Row
	caps      []shell.Row
	boundOn   string // after the lower bound
	size      shell.Row
}

func (s summary) rows(m proof.Mechanism, b proof.Bounds, falsehood error) []shell.Row {
	p := m.Privacy()
	rows := append([]shell.Row{
		{"epsilon", fmt.Sprint(p.Epsilon) + s.neighbors},
		{"delta", fmt.Sprintf("%v promised, %s certified%s", p.Delta, upper(b.Delta), s.worst)},
		shell.When(p.Sensitivity > 0, "sensitivity", fmt.Sprint(p.Sensitivity)),
	}, s.values...)
	if l := m.Loss(); l != nil {
		rows = append(rows, shell.Row{"loss", shell.LossUnit(l)})
	}
	gap := "none: it is not private as promised"
	if !errors.Is(falsehood, proof.ErrNotPrivate) {
		gap = shell.Percent(shell.GapOf(b))
	}
	return slices.Concat(rows, s.demands, s.losses, s.caps, []shell.Row{
		{"lower bound", shell.Decimal(exact.StateDown(b.LowerBound)) + s.boundOn},
		{"gap", gap},
		s.size,
	})
}

func upper(r *big.Rat) string { return shell.Decimal(exact.StateUp(r)) }

// Promise is the part of an object about the privacy that noise promises.
func Promise(p dp.Privacy) shell.Object {
	return shell.Object{"epsilon", p.Epsilon, "delta", p.Delta, "sensitivity", p.Sensitivity}
}

// Any says of a mechanism what package proof knows.
func Any(f Finding) About {
	m := f.Mechanism
	p, name := m.Privacy(), "costs"
	if l := m.Loss(); l != nil {
		name = l.Name()
	}
	a := About{Problem: shell.Object{
		"form", m.Form().File.Noun, "epsilon", p.Epsilon, "delta", p.Delta,
		shell.If(p.Sensitivity != 0, "sensitivity", p.Sensitivity), // absent: any two inputs are neighbors
		"inputs", m.Inputs().String(), "answers", m.Answers().String(), "loss", name,
	}}
	s := summary{values: []shell.Row{{"inputs", m.Inputs().String()}}, size: shell.Row{"answers", m.Answers().String()}}
	if p.Sensitivity == 0 {
		s.neighbors = ", between any two inputs"
	}
	if f.Proven == nil {
		a.Rows = []shell.Row{{"epsilon", fmt.Sprint(p.Epsilon) + s.neighbors}, {"delta", fmt.Sprintf("%v promised", p.Delta)}, s.values[0], s.size}
		return a
	}
	b := f.Proven.Bounds()
	s.losses = []shell.Row{{"expected loss", upper(b.Loss)}}
	if b.Worst != nil {
		s.losses = append(s.losses, shell.Row{"largest loss", upper(b.Worst)})
	}
	a.Certified, a.Rows = NewCertified(b, f.Falsehood), s.rows(m, b, f.Falsehood)
	return a
}

// Published is the part of an object about values, what is published and the constraints.
func Published(p dp.Problem) shell.Object {
	var step *float64 // of the values published; null: as fine as needed
	switch p.Query {
	case dp.IntegerQuery:
		step = shell.Finite(1)
	case dp.LatticeQuery:
		step = shell.Finite(p.Step)
	case dp.RealQuery:
	}
	return shell.Object{"query", p.Query, "step", step, "constraints", p.Constraints}
}

// NoBoundForSeveral says why a table with a total has no bound.
const NoBoundForSeveral = "none for several releases"

// OfOneRelease says what the gap of a table with a total is about.
const OfOneRelease = ", of noise for a release of this epsilon and delta"

// Table says what was found about a table.
func Table(f Finding) About {
	t := f.Mechanism.(*tables.Table)
	c, p := t.Certify(), t.Problem()
	// How much less likely a period of the tail is than the one before; 0 without a tail.
	tail := float64(t.TailRatio()) * 0x1p-64
	size := fmt.Sprintf("%d, %d per sensitivity", t.Cells(), t.Grid().CellsPerSensitivity)
	if tail > 0 {
		size = fmt.Sprintf("%d, the first and last %d of which repeat for ever, %.6g times as likely in each period", t.Cells(), t.Grid().CellsPerSensitivity, tail)
	}
	rows := summary{
		worst:   fmt.Sprintf(" (worst shift, in cells: %d)", c.WorstShift),
		demands: shell.QueryRows(p), losses: []shell.Row{{"expected loss", upper(c.ExpectedLoss)}},
		size: shell.Row{"cells", size},
	}.rows(t, c.Bounds(), f.Falsehood)
	if f.Total != nil {
		rows[0], rows[1] = f.Total.Row(), shell.Row{"each", fmt.Sprintf("epsilon %s, delta %s (%s certified)", shell.DigitsUp(p.Epsilon), shell.DigitsUp(p.Delta), upper(c.DeltaUpper))}
		bound := len(rows) - 3
		if rows[bound+1][1] += OfOneRelease; c.LowerBound.Sign() <= 0 {
			rows = slices.Replace(rows, bound, bound+2, shell.Row{"lower bound", NoBoundForSeveral})
		}
	}
	return About{
		Problem:   shell.Object{Promise(p.Privacy), "loss", p.Loss.Name(), Published(p)},
		Certified: NewCertified(c.Bounds(), f.Falsehood),
		Size:      shell.Object{"cells", t.Cells()},
		Worst:     shell.Object{"worst_shift", c.WorstShift, shell.If(tail != 0, "tail_ratio", tail)},
		Rows:      rows,
	}
}

// Kernel says what was found about a kernel.
func Kernel(f Finding) About {
	k := f.Mechanism.(*kernels.Kernel)
	c, q := k.Certify(), k.Queries()
	instanceCap, capLoss := any(nil), shell.Object(nil) // where it is another one
	weight := "uniform weight"
	if len(q.Weight) > 0 {
		weight = fmt.Sprintf("weight in %d pieces", len(q.Weight))
	}
	s := summary{
		worst:  fmt.Sprintf(" (worst between the query values %.6g and %.6g)", k.Node(c.Worst[0]), k.Node(c.Worst[1])),
		values: []shell.Row{{"range", fmt.Sprintf("%v to %v, %s", q.Lower, q.Upper, weight)}},
		losses: []shell.Row{{"expected loss", upper(c.ExpectedLoss)}, {"largest loss", fmt.Sprintf("%s (near the query value %.6g)", upper(c.MaxLoss), c.MaxLossAt)}},
		size:   shell.Row{"nodes", fmt.Sprint(k.Cells())},
	}
	if o := k.InstanceCap(); o > 0 {
		instanceCap = o
		row := shell.Row{"instance cap", fmt.Sprint(o)}
		if l := k.CapLoss().Name(); l != k.Loss().Name() {
			capLoss = shell.Object{"instance_cap_loss", l}
			row[1] += fmt.Sprintf(" for the loss %s (%s certified, near the query value %.6g)", l, shell.DigitsUp(exact.FloatUp(c.CapLoss)), c.CapLossAt)
		}
		s.caps = []shell.Row{row}
	}
	return About{
		Problem:   shell.Object{Promise(k.Privacy()), "loss", k.Loss().Name(), "range", [2]float64{q.Lower, q.Upper}, "instance_cap", instanceCap, capLoss},
		Certified: NewCertified(c.Bounds(), f.Falsehood), Worst: shell.Object{"worst_cells", c.Worst},
		Size: shell.Object{"nodes", k.Cells()}, Rows: s.rows(k, c.Bounds(), f.Falsehood),
	}
}

// Additive says what was found about an additive kernel.
func Additive(f Finding) About {
	k := f.Mechanism.(*cells.Kernel)
	c := k.Certify()
	step, _ := k.Grid().Step().Float64()
	from, to := k.Edge(0), k.Edge(k.Cells())
	instanceCap := shell.Object{"instance_cap", nil}
	s := summary{
		worst:  fmt.Sprintf(" (worst between the cells %d and %d, %.6g apart)", c.Worst.Gain, c.Worst.Lose, float64(c.Worst.Shift)*step),
		values: []shell.Row{{"cells", fmt.Sprintf("%d, from %v to %v", k.Cells(), from, to)}},
		losses: []shell.Row{{"expected loss", upper(c.ExpectedLoss)}, {"largest loss", upper(c.MaxLoss)}},
		size:   shell.Row{"bins", fmt.Sprint(k.Bins())},
	}
	if o, l := k.InstanceCap(); o > 0 {
		instanceCap = shell.Object{"instance_cap", o, "instance_cap_loss", l.Name()}
		s.caps = []shell.Row{{"instance cap", fmt.Sprintf("%v, of %s", o, l.Name())}}
	}
	ends := [2]*float64{shell.Finite(from), shell.Finite(to)} // null if the outer cell has none
	return About{
		Problem:   shell.Object{Promise(k.Privacy()), "loss", k.Loss().Name(), "range", ends, "cells", k.Cells(), instanceCap},
		Certified: NewCertified(c.Bounds(), f.Falsehood), Worst: shell.Object{"worst_cells", [2]int{c.Worst.Gain, c.Worst.Lose}},
		Size: shell.Object{"bins", k.Bins()}, Rows: s.rows(k, c.Bounds(), f.Falsehood),
	}
}

// Randomizer says what was found about a local randomizer.
func Randomizer(f Finding) About {
	r := f.Mechanism.(*local.Randomizer)
	c, s := r.Certify(), r.Spec()
	return About{
		Problem: localProblem(&s),
		// The names are those of other forms: expected_loss and lower_bound are about the objective.
		Certified: shell.Object{
			"delta_upper", shell.FloatUp(c.DeltaUpper), "expected_loss", shell.FloatUp(c.Loss()), "mean_loss", shell.FloatUp(c.MeanLoss),
			"max_loss", shell.FloatUp(c.WorstLoss), "bias", shell.FloatUp(c.Bias),
			"lower_bound", shell.FloatDown(c.LowerBound), "gap", gapOf(c.Bounds(), f.Falsehood),
		},
		Size:  shell.Object{"nodes", len(s.Rows), "answers", len(s.Rows[0])},
		Worst: shell.Object{"worst_nodes", c.WorstPair},
		Rows:  localSummary(&s, c).rows(r, c.Bounds(), f.Falsehood),
	}
}

// Plane says what was found about noise in the plane.
func Plane(f Finding) About {
	m := f.Mechanism.(*plane.Noise)
	c, s := m.Certify(), m.Spec()
	rows := summary{
		worst:  fmt.Sprintf(" (worst at a shift of %d and %d cells)", c.Worst[0], c.Worst[1]),
		values: []shell.Row{{"norm", fmt.Sprintf("%s, of %s values", s.Norm, s.Query)}},
		losses: []shell.Row{{"expected loss", upper(c.ExpectedLoss) + ", summed over both coordinates"}},
		size:   shell.Row{"cells", fmt.Sprintf("%d per sensitivity, %d weights", s.Grid.CellsPerSensitivity, len(s.Weights))},
	}.rows(m, c.Bounds(), f.Falsehood)
	return About{
		Problem:   shell.Object{Promise(s.Privacy), "norm", s.Norm, "query", s.Query, "loss", s.Loss.Name()},
		Certified: NewCertified(c.Bounds(), f.Falsehood), Worst: shell.Object{"worst_shift", c.Worst},
		Size: shell.Object{"cells_per_sensitivity", s.Grid.CellsPerSensitivity, "weights", len(s.Weights)}, Rows: rows,
	}
}

// Subset says what was found about a subset selection.
func Subset(f Finding) About {
	m := f.Mechanism.(*subset.Selection)
	c, s := m.Certify(), m.Spec()
	sets := fmt.Sprintf("sets of %d of %d categories, by rank", s.Size, m.Categories())
	switch {
	case s.Modulus > 0:
		sets = fmt.Sprintf("sets of %d residues modulo %d, as a:b", s.Size, s.Modulus)
	case s.Size == 1:
		sets = "a category"
	}
	rows := summary{
		neighbors: ", between any two categories",
		values:    []shell.Row{{"categories", fmt.Sprint(m.Categories())}},
		losses: []shell.Row{
			{"total variance", upper(c.TotalVariance) + ", of the shares of all categories, times the number of people"},
			{"largest variance", upper(c.LargestVariance) + ", of a share, for any data"},
		},
		boundOn: fmt.Sprintf(", on the %s variance of every unbiased estimate", s.Objective),
		size:    shell.Row{"answers", sets},
	}.rows(m, c.Bounds(), f.Falsehood)
	return About{
		Problem: shell.Object{"epsilon", s.Epsilon, "delta", 0, "categories", m.Categories(), "objective", s.Objective},
		Certified: shell.Object{
			"delta_upper", shell.FloatUp(c.DeltaUpper), "total_variance", shell.FloatUp(c.TotalVariance), "largest_variance", shell.FloatUp(c.LargestVariance),
			"lower_bound", shell.FloatDown(c.LowerBound), "gap", gapOf(c.Bounds(), f.Falsehood),
		},
		Size: shell.Object{"modulus", s.Modulus, "size", s.Size},
		Rows: rows,
	}
}

func localProblem(s *local.Spec) shell.Object {
	d := s.Demands
	values := shell.Object{"categories", len(s.Values.Labels), "loss", nil} // by costs
	if s.Loss != nil {
		values = shell.Object{"range", [2]float64{s.Values.Lower, s.Values.Upper}, "loss", s.Loss.Name()}
	}
	var instanceCap any
	if d.Cap > 0 {
		instanceCap = d.Cap
	}
	return shell.Object{
		"epsilon", s.Epsilon, "delta", s.Delta, "query", s.Values.Kind, values, "objective", s.Objective, "unbiased", d.Unbiased,
		shell.If(d.Lower != 0 || d.Upper != 0, "answer_range", [2]float64{d.Lower, d.Upper}), shell.If(d.Step != 0, "answer_step", d.Step),
		"instance_cap", instanceCap,
	}
}

func localSummary(s *local.Spec, c local.Certificate) summary {
	at := func(i int) string {
		if s.Loss == nil {
			return s.Values.Labels[i]
		}
		return fmt.Sprintf("%.6g", s.Nodes[i])
	}
	out := summary{
		neighbors: ", between any two values",
		losses:    []shell.Row{{"mean loss", upper(c.MeanLoss)}, {"largest loss", fmt.Sprintf("%s (near the value %.6g)", upper(c.WorstLoss), c.WorstAt)}},
		boundOn:   ", " + boundAbout(s),
		size:      shell.Row{"nodes", fmt.Sprintf("%d, %d answers", len(s.Rows), len(s.Rows[0]))},
	}
	if c.DeltaUpper.Sign() > 0 {
		out.worst = fmt.Sprintf(" (worst between the values %s and %s)", at(c.WorstPair[0]), at(c.WorstPair[1]))
	}
	if s.Loss == nil {
		out.losses[1][1] = fmt.Sprintf("%s (of %s)", upper(c.WorstLoss), at(int(c.WorstAt)))
	}
	if s.Objective == local.Worst {
		slices.Reverse(out.losses)
	}
	v, d, weight := s.Values, s.Demands, "uniform weight"
	switch {
	case len(v.Weight) > 0:
		weight = fmt.Sprintf("weight in %d pieces", len(v.Weight))
	case len(v.Shares) > 0:
		weight = "weights of their own"
	}
	if s.Loss == nil {
		out.values = []shell.Row{{"values", fmt.Sprintf("%d categories, %s", len(v.Labels), weight)}, {"loss", "by costs"}}
		return out
	}
	out.values = []shell.Row{{"range", fmt.Sprintf("%v to %v, %s values, %s", v.Lower, v.Upper, v.Kind, weight)}}
	out.demands = []shell.Row{
		shell.When(d.Lower != 0 || d.Upper != 0, "answers", fmt.Sprintf("from %v to %v", d.Lower, d.Upper)),
		shell.When(d.Step > 0, "answer step", fmt.Sprint(d.Step)),
		shell.When(d.Cap > 0, "instance cap", fmt.Sprint(d.Cap)),
	}
	bias := shell.Row{"bias", "0, exactly"}
	if c.Bias.Sign() != 0 {
		bias[1] = upper(c.Bias) + " at most"
	}
	out.caps = []shell.Row{bias}
	return out
}

func boundAbout(s *local.Spec) string {
	loss, of := "mean", "every mechanism"
	if s.Objective == local.Worst {
		loss = "largest"
	}
	if s.Demands.Unbiased {
		of = "every unbiased mechanism"
	}
	if d := s.Demands; d.Cap > 0 || d.Step > 0 || d.Lower != 0 || d.Upper != 0 {
		of += " with such answers"
	}
	return fmt.Sprintf("on the %s loss of %s", loss, of)
}

// Total is what a table claims of several releases, and what was proved of it.
type Total struct {
	Releases     int      `json:"releases"`
	Epsilon      float64  `json:"epsilon"`
	Delta        float64  `json:"delta"`
	EpsilonUpper *float64 `json:"epsilon_upper"` // null: no epsilon is proved
}

// ProveTotal proves the total that a table claims; nil if there is none. The error wraps
// proof.ErrFalseClaim, and what was proved is beside it, if that is not the total.
func ProveTotal(p proof.Proven) (*Total, error) {
	v, ok := p.(*tables.Verified) // no other form claims one
	if !ok {
		return nil, nil //nolint:nilnil // there is none
	}
	claim, ok := v.Mechanism().ClaimedTotal()
	if !ok {
		return nil, nil //nolint:nilnil // there is none
	}
	b, err := account.ProveTotal(v)
	if err != nil && !errors.Is(err, proof.ErrFalseClaim) {
		return nil, err
	}
	return &Total{claim.Releases, claim.Epsilon, claim.Delta, shell.Finite(b.Upper)}, err
}

// SoundTotal is ProveTotal for what was read from a file: a false total is a negative verdict.
func SoundTotal(ctx context.Context, file string, v proof.Proven) (*Total, error) {
	const noLimit = math.MaxInt64 // but that of account
	var whole *Total              // written to even after Within is left
	falsehood, stopped := shell.Within(ctx, file, noLimit, func(context.Context) (err error) {
		whole, err = ProveTotal(v)
		return err
	})
	switch {
	case stopped != nil:
		return nil, stopped
	case errors.Is(falsehood, proof.ErrFalseClaim):
		return nil, shell.Negative("noisewright verify "+file, fmt.Errorf("%s: %w", shell.InputName(file), falsehood))
	case falsehood != nil:
		return nil, falsehood
	}
	return whole, nil
}

// Part is the part of an object about the total, if there is one.
func (t *Total) Part() shell.Object { return shell.If(t != nil, "total", t) }

// Row is the total in a summary, if there is one.
func (t *Total) Row() shell.Row {
	if t == nil {
		return shell.Row{}
	}
	composed := "no epsilon is proved"
	if t.EpsilonUpper != nil {
		composed = "composed epsilon: " + shell.DigitsUp(*t.EpsilonUpper)
	}
	return shell.Row{"total", fmt.Sprintf("epsilon %v, delta %v for %s together (%s)", t.Epsilon, t.Delta, shell.Counted(t.Releases, "release"), composed)}
}

// Target is what classical noise is calibrated to, to compare it with the table.
func (t *Total) Target(table *tables.Table) account.Target {
	target := account.Target{Problem: table.Problem(), Releases: t.Releases}
	target.Epsilon, target.Delta = t.Epsilon, t.Delta
	return target
}
