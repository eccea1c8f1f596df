// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/plan"
	"github.com/noisewright/noisewright/plan/design"
)

func newPlanCommand(s *shell.Streams) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "plan",
		Short: "Plan many statistics about the same people, as one release",
		Long: `Choose how to release many counts about the same people together: running totals,
all ranges of a scale, tables of attributes. A plan measures sums of cells with noise,
is proved as a whole, and costs its epsilon and delta once.`,
		Example: "  noisewright plan design --workload prefix:12 --epsilon 1 --delta 1e-6 -o plan.json\n  noisewright plan show plan.json",
	}, "command", newPlanDesignCommand(s), newPlanShowCommand(s))
}

// planTime is how long matrices for a plan are looked for by default.
const planTime = time.Minute

type planDesignOptions struct {
	shell.Common
	problem    design.Problem
	matrix     string                    // the file of matrix:FILE
	goodEnough func(*plan.Verified) bool // of --max-error
	timeLimit  time.Duration
}

func newPlanDesignCommand(s *shell.Streams) *cobra.Command {
	o := &planDesignOptions{
		Common:  shell.Common{Streams: s},
		problem: design.Problem{Neighbors: dp.AddRemove, MaxPerPerson: 1}, timeLimit: planTime,
	}
	f := shell.NewFlags(&cobra.Command{
		Use:   "design --workload WORKLOAD --epsilon E --delta D [-o PLAN]",
		Short: "Choose the plan with the least error for a workload",
		Long: `Compare ways to answer all queries of a workload together, choose the one with the
least mean squared error, and write it as a plan together with what proves it: that one
release of everything is (epsilon, delta)-differentially private, and the variance of
each answer, which is unbiased.

The workload asks for sums of cells, the counts of people in each period, bin or
combination of values:
  prefix:N      running totals: the first cell, the first two, … of N
  ranges:N      all runs of neighboring cells
  identity:N    the cells
  marginals:sex=2,race=5,work=9:2
                all tables of one to 2 of these attributes, with so many values each
  matrix:FILE   rows of a CSV file without a header: a whole number for each cell

A PERSON IS IN AT MOST --max-per-person CELLS, once in each. Members counted every month
are in many; plan their entries and exits instead, where a person is in two. What is
said of privacy is wrong where this does not hold.

Candidates are the cells by themselves; cells and one or two levels of blocks of them;
tables; p-identity matrices with geometric noise; and the best matrix with Gaussian
noise, of which a bound says how far any other is from better. Errors of candidates
that are clearly worse are estimates. Noise on cells is designed, or geometric. Of more
than 1,024 cells, up to 2,048, only levels of blocks are tried.

--max-error l2:25, in the place of epsilon, finds the least epsilon at which no query
has a variance above 25; --max-error 3@0.95 that at which each answer is within 3 of the
exact one with a probability of at least 0.95 (not all of them together).

--series keeps to the cells by themselves, for periods that are published one after
another as each is over; what the other candidates say is then what that costs.

When --time-limit is over, the best so far is proved and written, and the exit code is 4.
What the best Gaussian noise has is then said with the bound of its dual.`,
		Example: `  noisewright plan design --workload prefix:12 --epsilon 1 --delta 1e-6 -o months.json
  noisewright plan design --workload marginals:sex=2,race=5,work=9:2 --epsilon 3 --delta 1e-6 --json
  noisewright plan design --workload ranges:100 --max-error l2:25 --delta 1e-6 -o ages.json`,
	})
	p := &o.problem
	f.RequiredFunc("workload", "workload", "what is asked: prefix:N, ranges:N, identity:N, marginals:NAME=SIZE,…:ORDER or matrix:FILE", o.readWorkload)
	f.Func("max-error", "error", "", "in the place of epsilon: the largest variance of an answer, such as l2:25, or the largest error of each with a probability, such as 3@0.95", o.readMaxError)
	f.Unless("max-error", func() {
		f.Number(&p.Epsilon, "epsilon", shell.PositiveEpsilon, "epsilon of all answers together, without unit: "+shell.PositiveEpsilon.Want)
	})
	f.Number(&p.Delta, "delta", shell.Delta, "delta of all answers together, a probability: "+shell.Delta.Want)
	f.Prudent(&o.Common, &p.Epsilon, &p.Delta)
	f.Word(&p.Neighbors, "neighbors", "word", "what is hidden: add-remove (that a person is there) or replace (in which cells)", dp.AddRemove, dp.Replace)
	f.Integer(&p.MaxPerPerson, "max-per-person", "", 1, limits.PlanCells, fmt.Sprintf("cells that a person may be in, once in each, from 1 to %d", limits.PlanCells))
	f.Bool(&p.Series, "series", "measure each cell by itself, so that release series can publish a period when it is over")
	f.Duration(&o.timeLimit, "time-limit", "wall time to look for matrices, with its unit: 500ms, 60s, 5m")
	f.Output(&o.Common, "plan file to write, - for standard output (default none)", "json")
	f.Summary(&o.Common, "output")
	return f.Run(o.run)
}

func (o *planDesignOptions) readMaxError(text string) error {
	if value, is := strings.CutPrefix(text, "l2:"); is {
		v, err := strconv.ParseFloat(value, 64)
		most := new(big.Rat)
		if err != nil || !check.Positive(v) || most.SetFloat64(v) == nil {
			return shell.Want("l2: and a number above 0, such as l2:25")
		}
		o.goodEnough = func(v *plan.Verified) bool { return v.Certificate().MaxSquaredError.Cmp(most) <= 0 }
		return nil
	}
	value, level, _ := strings.Cut(text, "@")
	most, err := strconv.ParseFloat(value, 64)
	p, bad := strconv.ParseFloat(level, 64)
	if err != nil || bad != nil || !check.Positive(most) || !(p > 0 && p < 1) {
		return shell.Want("l2: and a variance, such as l2:25, or an error and its probability, such as 3@0.95")
	}
	o.goodEnough = func(v *plan.Verified) bool {
		radii, err := v.Mechanism().Radii(1 - p)
		return err == nil && slices.Max(radii) <= most
	}
	return nil
}

func (o *planDesignOptions) readWorkload(text string) (err error) {
	if file, is := strings.CutPrefix(text, "matrix:"); is && file != "" {
		o.matrix = file
		return nil
	}
	if text == "" {
		return shell.Want("one such as prefix:12, ranges:100 or marginals:sex=2,race=5:2")
	}
	o.problem.Workload, err = plan.ParseWorkload(text)
	return err
}

// readMatrix reads rows of whole numbers.
func (o *planDesignOptions) readMatrix() error {
	in, err := o.Open(o.matrix)
	if err != nil {
		return shell.BadInput("", fmt.Errorf("workload = matrix:%w, want a CSV file with a row of whole numbers for each query", err))
	}
	defer in.Close()
	file := csv.NewReader(in)
	file.FieldsPerRecord = -1 // Validate says which row is short
	lines, err := file.ReadAll()
	if err != nil {
		return shell.BadFile(o.matrix, err)
	}
	if len(lines) == 0 {
		return shell.BadFile(o.matrix, errors.New("no rows, want one for each query"))
	}
	w := plan.Workload{Kind: plan.Matrix}
	for i, line := range lines {
		row := make([]int64, len(line))
		for j, text := range line {
			if row[j], err = strconv.ParseInt(strings.TrimSpace(text), 10, 64); err != nil {
				return shell.BadFile(o.matrix, fmt.Errorf("row %d, column %d = %s, want a whole number", i+1, j+1, check.Quoted(text)))
			}
		}
		w.Rows, w.Cells = append(w.Rows, row), len(lines[0])
	}
	o.problem.Workload = w
	if err := w.Validate(); err != nil {
		return shell.BadFile(o.matrix, err)
	}
	return nil
}

func (o *planDesignOptions) run(ctx context.Context) error {
	w, err := o.Reserve(o.Output, o.matrix)
	if err != nil {
		return err
	}
	defer w.Discard()
	if o.matrix != "" {
		if err := o.readMatrix(); err != nil {
			return err
		}
	}
	o.Progress().Watch("planning")
	limited, cancel := context.WithTimeout(ctx, o.timeLimit)
	defer cancel()
	options := design.Options{Noise: lp.Designer(shell.DesignOptions())}
	var r *design.Result
	if o.goodEnough != nil {
		r, err = design.ForError(limited, o.problem, o.goodEnough, options)
	} else {
		r, err = design.Design(limited, o.problem, options)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, dp.ErrInvalid):
		return shell.BadInput("noisewright plan design --help", err)
	case err != nil:
		return err
	}
	object, rows := aboutPlan(r.Plan)
	object = append(object, "strategy", r.Strategy, "number_by_number", r.NumberByNumber, "candidates", planCandidates(r))
	rows = append(rows, shell.Row{"strategy", r.Strategy}, shell.Row{"one by one", fmt.Sprintf("%.6g for a release of each query, or table, at the same total", r.NumberByNumber)})
	for _, c := range r.Candidates {
		rows = append(rows, shell.Row{"  " + c.Name, candidateText(c)})
	}
	if r.Bound > 0 {
		object = append(object, "gaussian_bound", r.Bound)
		none := !slices.ContainsFunc(r.Candidates, func(c design.Candidate) bool { return c.Bound > 0 })
		rows = append(rows, shell.When(none, "  gaussian", fmt.Sprintf("not made (no Gaussian noise is below about %.6g)", r.Bound)))
	}
	return o.Finish(w, r.Plan.Mechanism().Encode, object, append(rows, shell.When(o.Output != "", "plan", o.Output)), planLimit(r))
}

// planLimit is the end of a search that the time limit stopped: what is there was written, and is proved.
func planLimit(r *design.Result) error {
	if !r.Stopped {
		return nil
	}
	text := "no bound on Gaussian noise was found"
	if r.Bound > 0 {
		text = fmt.Sprintf("no Gaussian noise is below about %.6g", r.Bound)
	}
	for _, c := range r.Candidates {
		if c.Bound > 0 {
			text = fmt.Sprintf("Gaussian noise has a gap of %s to its dual", shell.Percent(c.MeanSquaredError/c.Bound-1))
		}
	}
	return &shell.Failure{
		Code: shell.ExitLimit, Hint: "a longer --time-limit",
		Err: fmt.Errorf("stopped by the time limit; %s; the plan, %s, is proven and usable", text, r.Strategy),
	}
}

func candidateText(c design.Candidate) string {
	text := fmt.Sprintf("%.6g", c.MeanSquaredError)
	if c.Made == nil {
		text += ", about"
	}
	if c.Bound > 0 {
		text += fmt.Sprintf(" (no Gaussian noise is below %s)", shell.DigitsDown(c.Bound))
	}
	return text
}

type planCandidate struct {
	Name             string   `json:"name"`
	MeanSquaredError float64  `json:"mean_squared_error"`
	Bound            *float64 `json:"bound,omitempty"`
	Proved           bool     `json:"proved"`
}

func planCandidates(r *design.Result) (list []planCandidate) {
	for _, c := range r.Candidates {
		made := planCandidate{Name: c.Name, MeanSquaredError: c.MeanSquaredError, Proved: c.Made != nil}
		if c.Bound > 0 {
			made.Bound = &c.Bound
		}
		list = append(list, made)
	}
	return list
}

// aboutPlan is what commands say of a plan that is proved.
func aboutPlan(v *plan.Verified) (shell.Object, []shell.Row) {
	s, c := v.Mechanism().Spec(), v.Certificate()
	var kinds []string
	for _, m := range s.Measurements {
		kinds = append(kinds, m.Kind)
	}
	kinds = slices.Compact(kinds)
	object := shell.Object{
		"workload", s.Workload.Kind, "queries", s.Workload.Queries(), "epsilon", s.Epsilon, "delta", s.Delta,
		"neighbors", s.Neighbors, "max_per_person", s.MaxPerPerson, "delta_upper", shell.FloatUp(c.DeltaUpper),
		"mean_squared_error", shell.FloatUp(c.MeanSquaredError), "max_squared_error", shell.FloatUp(c.MaxSquaredError),
		"measurements", v.Mechanism().Measurements(), "kinds", kinds,
	}
	touch := shell.Counted(s.MaxPerPerson, "cell")
	return object, []shell.Row{
		{"workload", fmt.Sprintf("%s, %d queries", s.Workload.Kind, s.Workload.Queries())},
		{"epsilon", fmt.Sprint(s.Epsilon)},
		{"delta", fmt.Sprintf("%v promised, %s certified", s.Delta, shell.Decimal(s.Claims.Delta))},
		{"neighbors", s.Neighbors + ", a person in at most " + touch},
		{"mean squared error", shell.Decimal(s.Claims.MeanSquaredError) + " of a query"},
		{"largest", shell.Decimal(s.Claims.MaxSquaredError)},
		{"measurements", fmt.Sprintf("%d (%s)", v.Mechanism().Measurements(), strings.Join(kinds, ", "))},
	}
}

type planShowOptions struct {
	shell.Common
	file string
}

func newPlanShowCommand(s *shell.Streams) *cobra.Command {
	o := &planShowOptions{Common: shell.Common{Streams: s}}
	f := shell.NewFlags(&cobra.Command{
		Use:   "show PLAN",
		Short: "Prove a plan, and print the variance of each answer",
		Long: `Prove a plan again, as verify does, and print what it promises and the variance of
each answer, of tables that of their cells: proved, rounded up.`,
		Example: "  noisewright plan show plan.json",
	})
	f.Argument(&o.file, "PLAN", "json")
	f.Verdict(&o.Common, "no progress and no summary")
	return f.Run(o.run)
}

func (o *planShowOptions) run(ctx context.Context) error {
	v, err := shell.ReadAs[plan.Plan, plan.Certificate, *plan.Plan](ctx, o.Streams, o.file, "a plan")
	if err != nil {
		return err
	}
	object, rows := aboutPlan(v)
	s := v.Mechanism().Spec()
	for i, text := range s.Variances {
		name := fmt.Sprintf("  query %d", i+1)
		if s.Workload.Kind == plan.Marginals {
			var names []string
			for _, a := range s.Workload.Sets[i] {
				names = append(names, s.Workload.Attributes[a].Name)
			}
			name = "  " + strings.Join(names, " × ")
		}
		rows = append(rows, shell.Row{name, shell.Decimal(text)})
	}
	variances := make([]*float64, len(s.Variances))
	for i, r := range v.Certificate().Variances {
		variances[i] = shell.FloatUp(r)
	}
	return o.Print(append(object, "variances", variances), rows)
}
