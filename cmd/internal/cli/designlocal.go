package cli

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/tables"
)

// runLocal designs a local randomizer.
func (o *designKernelOptions) runLocal(ctx context.Context) error {
	return finish(&o.Common, "randomizer", func() (designed, error) {
		o.design.Progress = o.Progress().Local(o.design.TimeLimit)
		r, whole, limit, err := o.designLocal(ctx)
		if err != nil {
			return designed{}, err
		}
		return designed{proven: r.Randomizer, Outcome: r.Outcome, limit: limit, total: whole}, nil
	})
}

// designLocal designs the randomizer of one release, or that of several with a total.
func (o *designKernelOptions) designLocal(ctx context.Context) (r *lp.LocalResult, whole *total, limit, err error) {
	p := o.localProblem()
	if o.releases == 1 {
		r, limit, err = shell.DesignLocal(ctx, p, o.design)
		return r, nil, limit, err
	}
	sum := tables.Total{Releases: o.releases, Epsilon: p.Epsilon, Delta: p.Delta}
	made := map[*local.Verified]*lp.LocalResult{}
	c, err := account.CalibrateLocal(ctx, sum, func(ctx context.Context, epsilon, delta, gap float64) (*local.Verified, error) {
		if epsilon < lp.MinEpsilon {
			return nil, check.Errorf("cli", dp.ErrInvalid, "releases = %d at epsilon = %g leave a single release less than %g, want fewer releases or a larger epsilon", o.releases, sum.Epsilon, lp.MinEpsilon)
		}
		p, options := p, o.design
		p.Epsilon, p.Delta = epsilon, delta
		if options.Gap = gap; gap > o.design.Gap && options.TimeLimit > coarseTime {
			options.TimeLimit = coarseTime
		}
		r, limit, err := shell.DesignLocal(ctx, p, options)
		if err != nil {
			return nil, err
		}
		made[r.Randomizer] = r
		return r.Randomizer, limit
	}, o.design.Gap)
	var f *shell.Failure
	switch {
	case err == nil:
		whole = &total{sum.Releases, sum.Epsilon, sum.Delta, shell.Finite(c.Composed.Upper)}
		return made[c.Randomizer], whole, c.Limit, nil
	case errors.As(err, &f), errors.Is(err, context.Canceled):
		return nil, nil, nil, err
	}
	return nil, nil, nil, shell.BadInput("noisewright design-kernel --help", err)
}

// localProblem is what the flags ask for.
func (o *designKernelOptions) localProblem() lp.LocalProblem {
	p := o.costs.problem(o.problem.Privacy, o.local, o.problem.Loss, o.integer == string(local.Integer), o.problem.Queries)
	p.Demands.Unbiased, p.Demands.Cap = o.unbiased, o.problem.InstanceCap
	if n := o.problem.Cells; n > 0 && o.costs.values == nil {
		p.Cells = n - 1
	}
	return p
}

// localFlags are those of design-kernel --local alone.
func (o *designKernelOptions) localFlags(f *shell.Flags) {
	f.Local(&o.local)
	f.With("local", func() {
		o.integer = string(local.Real)
		f.Word(&o.integer, "query", "integer|real", "with --local: values; integers are answered as they are, real ones between nodes after rounding at random", string(local.Integer), string(local.Real))
		f.Bool(&o.unbiased, "unbiased", "with --local: answers whose mean is the value, exactly")
		o.releases = 1
		f.Integer(&o.releases, "releases", "", 1, tables.MaxReleases, "with --local: number of answers to one value, each drawn afresh, that epsilon and delta are of together")
		o.costs.flag(f)
	})
}

// checkLocal holds the flags that only one of kernels and randomizers has against --local.
func (o *designKernelOptions) checkLocal() error {
	if !o.local.On {
		if o.problem.Delta == 0 {
			return shell.About("delta", "0", shell.Want(shell.PositiveDelta.Want+", or --local"))
		}
		return nil
	}
	var errs []error
	if o.costs.values != nil && o.unbiased {
		errs = append(errs, errors.New("costs and unbiased are given, want only one of them"))
	}
	if o.autoCap {
		errs = append(errs, errors.New("instance-cap = auto is for kernels, want a number with --local"))
	}
	if o.problem.CapLoss != nil {
		errs = append(errs, errors.New("instance-cap-loss is for kernels, want none with --local"))
	}
	if o.problem.Nodes != nil || o.problem.Cells == 1 {
		errs = append(errs, errors.New("nodes: want a number of at least 2 with --local"))
	}
	return errors.Join(errs...)
}

// costs is a matrix of the losses of categories.
type costs struct {
	values, answers []string
	losses          [][]float64
}

// flag adds --costs.
func (c *costs) flag(f *shell.Flags) {
	f.Func("costs", "FILE", "", "with --local, for categories in place of a range and a loss: a CSV file of the loss of every answer for every category, with a header of the answers, and a row for each category that begins with it", func(text string) error {
		return readCosts(c, text)
	})
	f.CompleteOrFile("costs")
}

// problem is that of the flags --local: of the costs if there are any, else of numbers.
func (c *costs) problem(privacy dp.Privacy, o shell.Local, l loss.Loss, integer bool, q kernels.Queries) lp.LocalProblem {
	p := lp.LocalProblem{
		Epsilon: privacy.Epsilon, Delta: privacy.Delta, Objective: o.Objective, Demands: o.Demands, MaxAnswers: o.MaxAnswers,
	}
	if c.values != nil {
		p.Values = local.Values{Kind: local.Category, Labels: c.values}
		p.Costs, p.AnswerLabels = c.losses, c.answers
		return p
	}
	p.Loss, p.Values = l, o.Values(integer, q)
	return p
}

// readCosts reads a CSV file with a header of answers and a row per category.
func readCosts(c *costs, path string) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("costs = %s: %s", check.Quoted(path), fmt.Sprintf(format, args...))
	}
	file, err := os.Open(path) //nolint:gosec // the file that the user names
	if err != nil {
		return bad("%v", shell.FileCause(err))
	}
	defer file.Close() //nolint:errcheck // only read
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return bad("not a CSV file whose rows have equally many fields: %v", err)
	}
	if len(rows) < 3 || len(rows[0]) < 3 {
		return bad("want a header and a row for each of two categories or more, each with a name and a number for every answer")
	}
	c.answers = rows[0][1:]
	for j, answer := range c.answers {
		if slices.Contains(c.answers[:j], answer) {
			return bad("the answer %s is there twice", check.Quoted(answer))
		}
	}
	for _, row := range rows[1:] {
		if slices.Contains(c.values, row[0]) {
			return bad("the category %s is there twice", check.Quoted(row[0]))
		}
		c.values = append(c.values, row[0])
		losses := make([]float64, len(row)-1)
		for j, text := range row[1:] {
			v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil || !(v >= 0) || !check.Finite(v) {
				return bad("the loss of the answer %s for %s is %s, want a finite number of at least 0", check.Quoted(c.answers[j]), check.Quoted(row[0]), cmp.Or(check.Quoted(text), "missing"))
			}
			losses[j] = v
		}
		c.losses = append(c.losses, losses)
	}
	return nil
}
