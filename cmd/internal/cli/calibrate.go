// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/report"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// The words of --noise that no other command has.
const (
	noiseTruncated = noise.TruncatedLaplace
	noisePower     = "exponential-power"
)

type calibrateOptions struct {
	shell.Common
	target account.Target
	design lp.Options
	noise  string  // a word of --noise
	rate   float64 // of a subsampled Gaussian, which has no table; 0: not asked for
}

func newCalibrateCommand(s *shell.Streams) *cobra.Command {
	o := &calibrateOptions{Common: shell.Common{Streams: s}, design: shell.DesignOptions(), noise: shell.NoiseAuto}
	f := shell.NewFlags(&cobra.Command{
		Use:   "calibrate --releases K --epsilon E --delta D --sensitivity S --loss LOSS [-o TABLE]",
		Short: "Design the noise of many releases with a total epsilon and delta",
		Long: `Design the table of a single release so that K releases of it, each with fresh
noise, are together (epsilon, delta)-differentially private: by exact composition,
as account computes it, which leaves much more for each release than epsilon/K.

The summary compares the loss of a release with that of a table for basic
composition, (epsilon/K, delta/K) each, and with Laplace and Gaussian noise
calibrated to the same total.

` + shell.HardTruncation + `

Where a table of exponential power shape, with a density like exp(-|x/s|^p), has
the smallest loss at this total it is what is written, unless --noise says
otherwise; p = 2 is Gaussian noise. It is proved as any other table, and its own
epsilon and delta are one point of what it keeps. It needs a query without
constraints on the noise, and delta above 0.

With --rate there is no table: found is the standard deviation of the Gaussian noise
on sums over random samples, in which each person takes part with that probability,
as in DP-SGD. It is over the norm to which a person's vector is clipped, and holds
for neighbors that differ by one person who is added or removed.

Constraints are as for design. Every loss of a table was recomputed in exact
arithmetic and is rounded up. If a limit is hit, the best proven table is
written and the exit code is 4.

` + shell.LossHelp(),
		Example: `  noisewright calibrate --releases 12 --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l1 -o month.json
  noisewright account month.json --times 12 --delta 1e-6
  noisewright calibrate --releases 1000 --epsilon 2 --delta 1e-5 --rate 0.01`,
	})
	p := &o.target.Problem
	f.Integer(&o.target.Releases, "releases", "", 1, limits.TableReleases, fmt.Sprintf("number of releases, from 1 to %d", limits.TableReleases))
	f.Number(&p.Epsilon, "epsilon", shell.PositiveEpsilon, "epsilon of all releases together, without unit: "+shell.PositiveEpsilon.Want)
	f.Number(&p.Delta, "delta", shell.Delta, "delta of all releases together, a probability: "+shell.Delta.Want)
	f.Prudent(&o.Common, &p.Epsilon, &p.Delta)
	f.OptionalNumber(&o.rate, "rate", samplingRate, "sample people, each with this probability: find the noise of a step of DP-SGD, and no table")
	f.Unless("rate", func() { o.tableFlags(f) })
	f.SummaryQuiet(&o.Common, "no progress and no summary, and no comparison", "output")
	return f.Run(o.run)
}

func (o *calibrateOptions) tableFlags(f *shell.Flags) {
	p := &o.target.Problem
	f.Sensitivity(&p.Sensitivity)
	f.Loss(&p.Loss)
	f.Query(p)
	f.Word(&o.noise, "noise", "word", "noise of the table: auto (the smallest loss), designed, truncated-laplace, gaussian or exponential-power", shell.NoiseAuto, shell.NoiseDesigned, noiseTruncated, noise.Gaussian, noisePower)
	f.Check(func() error {
		if o.noise != shell.NoiseAuto && o.noise != shell.NoiseDesigned && !gaussianApplies(*p) {
			return fmt.Errorf("noise = %s, want no constraints on the noise, and delta above 0", o.noise)
		}
		return nil
	})
	f.Effort(&o.design, " of one design")
	f.Output(&o.Common, "table file to write, - for standard output (default none)", "json")
}

func (o *calibrateOptions) run(ctx context.Context) error {
	if o.rate > 0 {
		return o.runSubsampled()
	}
	w, err := o.Reserve(o.Output)
	if err != nil {
		return err
	}
	defer w.Discard()
	o.design.Progress = o.Progress().Design(o.design.TimeLimit)
	c := &calibration{target: o.target, options: o.design, word: o.noise}
	if err := c.find(ctx); err != nil {
		return err
	}
	if !o.Quiet {
		c.compare(ctx)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return o.Finish(w, c.found.Table.Mechanism().Encode, c.report(), c.rows(o.Output), c.found.Limit)
}

func gaussianApplies(p dp.Problem) bool {
	return p.Constraints.None() && p.Delta > 0
}

type calibration struct {
	target  account.Target
	options lp.Options
	word    string // of --noise

	found                    *account.Calibration
	basic, laplace, gaussian float64 // expected losses of other noise, NaN where there is none

	crossover int // releases from which on the Gaussian is better; 0: not found
}

func (c *calibration) designer() account.Designer {
	return shell.DesignerOf(c.target.Releases, dp.Budget{Epsilon: c.target.Epsilon, Delta: c.target.Delta}, c.options)
}

func (c *calibration) find(ctx context.Context) (err error) {
	o := account.CalibrateOptions{Gap: c.options.Gap}
	design := c.designer()
	switch c.word {
	case shell.NoiseDesigned:
		o.Exponents = []float64{}
	case noiseTruncated:
		o.Exponents, design = []float64{}, func(_ context.Context, p dp.Problem, _ float64) (*tables.Verified, error) {
			return shapes.TruncatedLaplace(p, tables.Grid{})
		}
	case noise.Gaussian:
		o.Exponents, design = []float64{2}, nil
	case noisePower:
		design = nil
	}
	none := math.NaN() // until compared
	c.basic, c.laplace, c.gaussian = none, none, none
	c.found, err = account.Calibrate(ctx, c.target, design, o)
	var f *shell.Failure
	if err == nil || errors.As(err, &f) || errors.Is(err, context.Canceled) {
		return err
	}
	return shell.BadInput("noisewright calibrate --help", err)
}

func (c *calibration) compare(ctx context.Context) {
	c.basic, c.laplace, c.gaussian = c.target.Alternatives(ctx, c.designer(), c.options.Gap)
	limited, cancel := context.WithTimeout(ctx, c.options.TimeLimit)
	defer cancel()
	c.crossover = c.target.Crossover(limited, c.designer(), c.options.Gap)
}

func (c *calibration) noise() string {
	switch {
	case c.word == noiseTruncated:
		return noiseTruncated
	case c.found.Exponent == 0:
		return shell.NoiseDesigned
	case c.found.Exponent == 2:
		return noise.Gaussian
	}
	return noisePower
}

func (c *calibration) report() shell.Object {
	each := c.found.Table.Mechanism().Privacy()
	others := map[string]float64{"basic": c.basic, noise.Laplace: c.laplace, noise.Gaussian: c.gaussian}
	maps.DeleteFunc(others, func(_ string, loss float64) bool { return math.IsNaN(loss) })
	var crossover *int // null: not found
	if c.crossover > 0 {
		crossover = &c.crossover
	}
	return shell.Object{
		"releases", c.target.Releases, "epsilon", c.target.Epsilon, "delta", c.target.Delta,
		"epsilon_upper", c.found.Composed.Upper, "epsilon_lower", c.found.Composed.Lower,
		"release_epsilon", each.Epsilon, "release_delta", each.Delta,
		"sensitivity", c.target.Sensitivity, "loss", c.target.Loss.Name(), "noise", c.noise(),
		shell.If(c.found.Exponent != 0, "exponent", c.found.Exponent),
		"expected_loss", shell.FloatUp(c.found.Table.Certificate().ExpectedLoss),
		"alternatives", others, "gaussian_crossover", crossover,
	}
}

func (c *calibration) rows(out string) []shell.Row {
	p, each, certificate := c.target.Problem, c.found.Table.Mechanism().Privacy(), c.found.Table.Certificate()
	name := c.noise()
	if name == noisePower {
		name = fmt.Sprintf("%s, exponent %g", name, c.found.Exponent)
	}
	rows := slices.Concat([]shell.Row{
		{"releases", fmt.Sprint(c.target.Releases)},
		{"total", fmt.Sprintf("epsilon %v, delta %v (composed epsilon: %s)", p.Epsilon, p.Delta, shell.DigitsUp(c.found.Composed.Upper))},
		{"each", fmt.Sprintf("epsilon %s, delta %s", shell.DigitsUp(each.Epsilon), shell.DigitsUp(each.Delta))},
		{"sensitivity", fmt.Sprint(p.Sensitivity)},
		{"loss", shell.LossUnit(p.Loss)},
	}, shell.QueryRows(p), []shell.Row{
		{"noise", name},
		{"expected loss", shell.Decimal(certificate.Claims().ExpectedLoss)},
		shell.When(c.noise() == shell.NoiseDesigned, "gap", shell.Percent(shell.GapOf(certificate.Bounds()))+report.OfOneRelease),
	}, c.otherRows())
	switch {
	case c.crossover > 0:
		rows = append(rows, shell.Row{"crossover", fmt.Sprintf("from about %d releases on, Gaussian noise has a smaller loss than designed noise at this total", c.crossover)})
	case gaussianApplies(p):
		rows = append(rows, shell.Row{"crossover", "not found"})
	}
	return append(rows, shell.When(out != "", "table", out))
}

func (c *calibration) otherRows() []shell.Row {
	found, _ := c.found.Table.Certificate().ExpectedLoss.Float64()
	laplace, free := "Laplace", "" // what the alternatives are free of
	if c.target.Query == dp.IntegerQuery {
		laplace = "discrete Laplace"
	}
	if !c.target.Constraints.None() {
		free = ", without the constraints"
	}
	var rows []shell.Row
	for _, other := range []struct {
		name, note string
		loss       float64
	}{
		{"basic", "designed for an equal part of epsilon and delta", c.basic},
		{noise.Laplace, laplace + " noise for the same total" + free, c.laplace},
		{noise.Gaussian, "Gaussian noise for the same total" + free, c.gaussian},
	} {
		if math.IsNaN(other.loss) || c.target.Releases == 1 && other.name == "basic" || other.name == c.noise() {
			continue
		}
		against := shell.Percent(math.Abs(other.loss/found-1)) + " above the table's"
		switch ratio := other.loss / found; {
		case math.Abs(ratio-1) < 1e-4:
			against = "the same as the table's"
		case ratio < 1:
			against = shell.Percent(1-ratio) + " below the table's"
		}
		rows = append(rows, shell.Row{other.name, fmt.Sprintf("%.6g, %s: %s", other.loss, against, other.note)})
	}
	return rows
}

var samplingRate = shell.AtMost("a probability", 1)

func (o *calibrateOptions) runSubsampled() error {
	o.Progress().Watch("composing")
	t := o.target
	sigma, bounds, err := account.SubsampledMultiplier(o.rate, t.Releases, t.Epsilon, t.Delta)
	if err != nil {
		return shell.BadInput("noisewright calibrate --help", err)
	}
	return o.Print(shell.Object{
		"releases", t.Releases, "rate", o.rate, "epsilon", t.Epsilon, "delta", t.Delta,
		"epsilon_upper", bounds.Upper, "epsilon_lower", bounds.Lower, "sigma", sigma,
	}, []shell.Row{
		{"releases", fmt.Sprintf("%d, each about a sample to which a person belongs with probability %v", t.Releases, o.rate)},
		{"total", fmt.Sprintf("epsilon %v, delta %v, if a person is added or removed", t.Epsilon, t.Delta)},
		{"sigma", fmt.Sprintf("%v, the standard deviation of Gaussian noise over the norm", sigma)},
		{"composed", fmt.Sprintf("epsilon %s (at least %s at this delta)", shell.DigitsUp(bounds.Upper), shell.DigitsDown(bounds.Lower))},
	})
}
