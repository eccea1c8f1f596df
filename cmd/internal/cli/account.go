// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
)

type accountReport struct {
	Epsilon      float64  `json:"epsilon"`
	EpsilonLower float64  `json:"epsilon_lower"`
	Delta        float64  `json:"delta"`
	DeltaLower   float64  `json:"delta_lower"`
	BasicEpsilon *float64 `json:"basic_epsilon"`
	Releases     int      `json:"releases"`
	// Profile has the delta at each of the epsilons asked for.
	Profile []float64 `json:"profile,omitempty"`
}

type accountOptions struct {
	shell.Common
	releases []string // tables and mechanisms
	times    []int    // how often each
	delta    float64  // find epsilon, or
	epsilon  float64  // find delta; the other is NaN
	profile  []float64
	plot     string
	format   string // of the figure
}

func newAccountCommand(s *shell.Streams) *cobra.Command {
	o := &accountOptions{Common: shell.Common{Streams: s}}
	var forms []string
	for _, k := range mechanismKinds() {
		forms = append(forms, fmt.Sprintf("  %s\n      %s", k.form, k.note))
	}
	f := shell.NewFlags(&cobra.Command{
		Use:   "account RELEASE... [--times K] --delta D | --epsilon E",
		Short: "Compute the total epsilon or delta of several releases",
		Long: `Compute the total epsilon of several releases at a total delta, or the total
delta at an epsilon: for many releases much less than the sum, which is basic
composition. Each release adds fresh noise to a query about the same people; later
queries may depend on earlier answers.

The result is a proven upper bound, computed from the exact weights of the tables
and kernels with every error of the numerical convolution bounded and added. The lower
bound beside it says how far off it can be.

A RELEASE is a table file made by design or calibrate, a kernel file made by
design-kernel or design-additive, noise made by design-plane, a local randomizer
file made by local design, or a classical mechanism:

` + strings.Join(forms, "\n") + `

subsampled-gaussian is for neighbors that differ by one person who is added or removed,
and for samples to which everybody belongs independently: not for batches of a fixed
size, nor for neighbors in which a person is replaced.

` + shell.HardTruncation + `

With --json: "epsilon" and "delta" are the guarantee, "epsilon_lower" and
"delta_lower" the lower bounds of the one at the other, "basic_epsilon" is the sum
of the releases' epsilons, each at its share of delta, or null.`,
		Example: `  noisewright account table.json --times 100 --delta 1e-3
  noisewright account ages.json incomes.json --times 12,4 --epsilon 3
  noisewright account table.json gaussian:sigma=4 --times 10 --delta 1e-4 --plot profile.svg`,
	})
	f.Arguments(&o.releases, "RELEASE is missing, want a table or kernel file, or a mechanism such as laplace:epsilon=1", "json")
	f.ArgumentsComplete(completeMechanism)
	f.Func("times", "K[,K...]", "1", "how often each release is made: one number for all, or one for each, separated by commas", func(text string) (err error) {
		o.times, err = readTimes(text, len(o.releases))
		return err
	})
	o.targetFlags(f)
	f.Func("profile", "numbers", "", "epsilons A,B,C… without unit: with --json also the proven total delta at each, to 1e-15", o.readProfile)
	f.Figure(&o.plot, &o.format, "plot", "figure to write, of delta against epsilon, its name ending in .svg or .png")
	f.Force(&o.Common)
	f.Summary(&o.Common, "plot")
	f.Check(func() error {
		if o.profile != nil && !o.JSON {
			return errors.New("profile is given without json, want both: the summary has none")
		}
		return nil
	})
	return f.Run(o.run)
}

// readTimes reads how often each of n releases is made.
func readTimes(text string, n int) ([]int, error) {
	parts, times := strings.Split(text, ","), make([]int, n)
	if len(parts) != 1 && len(parts) != n {
		return nil, shell.Want(fmt.Sprintf("one integer, or %d separated by commas", n))
	}
	for i := range times {
		v, ok := shell.ParseCount(strings.TrimSpace(parts[min(i, len(parts)-1)]))
		if !ok || v < 1 || v > limits.TableReleases {
			return nil, shell.Want(fmt.Sprintf("integers from 1 to %d", limits.TableReleases))
		}
		times[i] = v
	}
	return times, nil
}

// mostProfile bounds the epsilons of a profile.
const mostProfile = 100_000

func (o *accountOptions) readProfile(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		e, err := shell.ParseNumber(part, epsilonRule)
		if err != nil {
			return shell.About("profile", part, err)
		}
		if len(o.profile) == mostProfile {
			return fmt.Errorf("profile has more than %d numbers", mostProfile)
		}
		o.profile = append(o.profile, e)
	}
	return nil
}

var epsilonRule = shell.Rule{Want: "a number from 0 to 10000", OK: func(v float64) bool { return v >= 0 && v <= 1e4 }}

func (o *accountOptions) targetFlags(f *shell.Flags) {
	deltaRule := shell.Rule{Want: "a probability, at least 0 and below 1 (or --epsilon)", OK: func(v float64) bool { return v >= 0 && v < 1 }}
	o.delta, o.epsilon = math.NaN(), math.NaN()
	delta := f.OptionalNumber(&o.delta, "delta", deltaRule, "total delta, a probability: find epsilon")
	epsilon := f.OptionalNumber(&o.epsilon, "epsilon", epsilonRule, "total epsilon, without unit: find delta")
	f.Check(func() error {
		switch {
		case delta.Given && epsilon.Given:
			return fmt.Errorf("delta = %s and epsilon = %s, want one of them: the other is the result", check.Quoted(delta.Text), check.Quoted(epsilon.Text))
		case !delta.Given && !epsilon.Given:
			return shell.About("delta", "", shell.Want(deltaRule.Want))
		}
		return nil
	})
}

func (o *accountOptions) run(ctx context.Context) error {
	o.Progress().Watch("composing")
	releases := make([]account.Release, len(o.releases))
	var errs []error
	for i, arg := range o.releases {
		m, err := readMechanism(ctx, o.Streams, arg)
		errs = append(errs, err)
		releases[i] = account.Release{PLD: m, Times: o.times[i]}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	c, err := account.Compose(releases, account.Options{})
	if err != nil {
		return shell.BadInput("noisewright account --help", err)
	}
	drawing, err := o.Reserve(o.plot, o.releases...)
	if err != nil {
		return err
	}
	defer drawing.Discard()
	r, err := newAccountReport(c, o.delta, o.epsilon)
	if err != nil {
		if errors.Is(err, account.ErrDeltaTooSmall) {
			return shell.BadInput("a larger --delta, or releases with a smaller one each (noisewright calibrate designs them)", err)
		}
		return shell.Invalid("noisewright account --help", err)
	}
	if r.Profile, err = profileOf(ctx, c, o.profile); err != nil {
		return err
	}
	if err := drawing.Put(func(w io.Writer) error { return drawProfile(ctx, w, o.format, releases, r) }); err != nil {
		return err
	}
	return o.Print(r, accountRows(o.releases, o.times, r))
}

// leastProfile is the delta below which a profile is not sharper: what is proved at an epsilon holds
// at larger ones too.
const leastProfile = 1e-15

// profileOf returns upper bounds on the deltas at the epsilons.
func profileOf(ctx context.Context, c *account.Composition, epsilons []float64) (deltas []float64, err error) {
	least := account.Bounds{Upper: 1}
	at := math.Inf(1)
	for _, e := range epsilons {
		if e < at || least.Upper > leastProfile {
			if least, err = c.Delta(e); err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, err
			}
			at = e
		}
		deltas = append(deltas, least.Upper)
	}
	return deltas, nil
}

func readMechanism(ctx context.Context, a *shell.Streams, arg string) (*account.PrivacyLossDistribution, error) {
	if isMechanism(arg) {
		m, err := parseMechanism(arg)
		if err != nil {
			return nil, shell.BadInput("noisewright account --help", err)
		}
		return m, nil
	}
	made, err := a.ReadAny(arg)
	if err != nil {
		return nil, err
	}
	if _, err := shell.Prove(ctx, arg, made); err != nil {
		return nil, err
	}
	m, err := account.LossOf(made)
	if err != nil {
		return nil, shell.BadInput("", fmt.Errorf("%s: %w", shell.InputName(arg), err))
	}
	return m, nil
}

// newAccountReport answers for delta, or for epsilon if delta is NaN.
func newAccountReport(c *account.Composition, delta, epsilon float64) (accountReport, error) {
	r := accountReport{Releases: c.Count(), Epsilon: epsilon, Delta: delta}
	given := math.IsNaN(delta) // epsilon is
	if given {
		d, err := c.Delta(epsilon)
		if err != nil {
			return r, err
		}
		r.Delta, r.DeltaLower = d.Upper, d.Lower
		if d.Upper >= 1 { // at any epsilon
			return r, nil
		}
	}
	if basic, ok := c.BasicEpsilon(r.Delta); ok {
		r.BasicEpsilon = &basic
	}
	e, err := c.Epsilon(r.Delta)
	if given {
		if err == nil {
			r.EpsilonLower = min(e.Lower, epsilon)
		} else if !errors.Is(err, account.ErrDeltaTooSmall) {
			return r, err
		}
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.Epsilon, r.EpsilonLower = e.Upper, e.Lower
	if b := r.BasicEpsilon; b != nil { // by a hair the better one, at times
		r.Epsilon = min(r.Epsilon, *b)
	}
	d, err := c.Delta(r.Epsilon)
	r.DeltaLower = min(d.Lower, delta)
	return r, err
}

func accountRows(args []string, counts []int, r accountReport) []shell.Row {
	var rows []shell.Row
	for i, arg := range args {
		name := ""
		if i == 0 {
			name = "releases"
		}
		rows = append(rows, shell.Row{name, fmt.Sprintf("%d of %s", counts[i], shell.InputName(arg))})
	}
	rows = append(rows,
		shell.Row{"epsilon", fmt.Sprintf("%s (at least %s at this delta)", shell.DigitsUp(r.Epsilon), shell.DigitsDown(r.EpsilonLower))},
		shell.Row{"delta", fmt.Sprintf("%s (at least %s at this epsilon)", shell.DigitsUp(r.Delta), shell.DigitsDown(r.DeltaLower))},
	)
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "subsampled-gaussian:") }) {
		rows = append(rows, shell.Row{"neighbors", "differ by one person who is added or removed, and not by one who is replaced"})
	}
	if b := r.BasicEpsilon; b != nil && r.Releases > 1 {
		saved := ""
		if *b > r.Epsilon*1.0001 {
			saved = fmt.Sprintf(", %s more", shell.Percent(*b/r.Epsilon-1))
		}
		rows = append(rows, shell.Row{"basic", fmt.Sprintf("epsilon %s by basic composition%s", shell.DigitsUp(*b), saved)})
	}
	return rows
}

func drawProfile(ctx context.Context, out io.Writer, format string, releases []account.Release, r accountReport) error {
	const points = 25
	// Wide bounds are fine for a figure, and faster.
	c, err := account.Compose(releases, account.Options{Width: 0.05})
	if err != nil {
		return err
	}
	most := 1.6 * max(r.Epsilon, 0x1p-10)
	var upper, lower plotter.XYs
	for i := range points {
		if err := ctx.Err(); err != nil {
			return err
		}
		epsilon := most * float64(i) / (points - 1)
		d, err := c.Delta(epsilon)
		if err != nil {
			return err
		}
		if d.Upper > 0 {
			upper = append(upper, plotter.XY{X: epsilon, Y: math.Log10(d.Upper)})
		}
		if d.Lower > 0 {
			lower = append(lower, plotter.XY{X: epsilon, Y: math.Log10(d.Lower)})
		}
	}
	p := figure.New()
	p.X.Label.Text = "total epsilon"
	p.Y.Label.Text = "total delta"
	p.Y.Tick.Marker = plot.TickerFunc(figure.DecadeTicks)
	curves := []figure.Curve{
		{Name: "lower bound", Points: lower, Style: figure.Dashed(figure.Green, 1.2)},
		{Name: fmt.Sprintf("proven, %d releases", r.Releases), Points: upper, Style: figure.Solid(figure.Blue, 2)},
	}
	if err := figure.Add(p, curves); err != nil {
		return err
	}
	return figure.Write(p, out, format, 18*vg.Centimeter, 11*vg.Centimeter)
}
