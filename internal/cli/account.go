package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
)

// accountReport is what account --json prints.
type accountReport struct {
	Schema       int      `json:"schema"`
	Epsilon      float64  `json:"epsilon"`
	EpsilonLower float64  `json:"epsilon_lower"`
	Delta        float64  `json:"delta"`
	DeltaLower   float64  `json:"delta_lower"`
	BasicEpsilon *float64 `json:"basic_epsilon"`
	Releases     int      `json:"releases"`
}

const hardTruncation = `Designed tables with delta > 0 have bounded noise: an output near its end can rule
a neighbour out, with a probability of up to delta in every release. So many
releases of one table need a small delta each, and they compose worse than
Gaussian noise: calibrate designs for a number of releases and says from how many
on Gaussian noise is the better choice.`

func newAccountCommand(a *app) *cobra.Command {
	var (
		figure string
		asJSON bool
	)
	var forms []string
	for _, u := range account.Usages() {
		forms = append(forms, fmt.Sprintf("  %s\n      %s", u.Form, u.Note))
	}
	cmd := &cobra.Command{
		Use:   "account RELEASE... [--times K] --delta D | --epsilon E",
		Short: "Compute what several releases cost together",
		Long: `Compute the total epsilon of several releases at a total delta, or the total
delta at an epsilon: for many releases much less than the sum, which is basic
composition. Each release adds fresh noise to a query about the same people; later
queries may depend on earlier answers.

The result is a proven upper bound, computed from the exact weights of the tables
with every error of the numerical convolution bounded and added. The lower bound
beside it says how far off it can be.

A RELEASE is a table file made by design, or a classical mechanism:

` + strings.Join(forms, "\n") + `

` + hardTruncation + `

With --json: "epsilon" and "delta" are the guarantee, "epsilon_lower" and
"delta_lower" the lower bounds of the one at the other, "basic_epsilon" is the sum
of the releases' epsilons, each at its share of delta, or null.`,
		Example: `  noisewright account table.json --times 100 --delta 1e-5
  noisewright account ages.json incomes.json --times 12,4 --epsilon 3
  noisewright account table.json gaussian:sigma=4 --times 10 --delta 1e-6 --plot profile.svg`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("RELEASE is missing, want a table file or a mechanism such as laplace:epsilon=1")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return []cobra.Completion{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	times := newText(cmd, "times", "K[,K...]", "1", "how often each release is made: one number for all, or one for each, separated by commas")
	delta := newText(cmd, "delta", "number", "", "total delta, a probability: find epsilon")
	epsilon := newText(cmd, "epsilon", "number", "", "total epsilon, without unit: find delta")
	cmd.Flags().StringVar(&figure, "plot", "", "figure to write, of delta against epsilon, its name ending in .svg or .png")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	_ = cmd.MarkFlagFilename("plot", "svg", "png")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var f fields
		counts := f.counts("times", times, len(args))
		d, e := math.NaN(), math.NaN()
		switch {
		case delta.set && epsilon.set:
			f.add("delta = %s and epsilon = %s, want one of them: the other is the result", shown(delta.value), shown(epsilon.value))
		case epsilon.set:
			e = f.number("epsilon", epsilon, "a number from 0 to 10000", func(v float64) bool { return v >= 0 && v <= 1e4 })
		default:
			d = f.number("delta", delta, "a probability, at least 0 and below 1 (or --epsilon)", func(v float64) bool { return v >= 0 && v < 1 })
		}
		format := ""
		if figure != "" {
			format = f.figureFormat("plot", figure)
		}
		if err := f.err(cmd); err != nil {
			return err
		}
		releases := make([]account.Release, len(args))
		for i, arg := range args {
			m, err := a.mechanism(arg)
			if err != nil {
				return err
			}
			releases[i] = account.Release{Mechanism: m, Times: counts[i]}
		}
		c, err := account.Compose(releases, account.Options{})
		if err != nil {
			return badInput(cmd.CommandPath()+" --help", err)
		}
		var out *output
		if figure != "" {
			if out, err = a.create(figure, args...); err != nil {
				return err
			}
			defer out.discard()
		}
		r, err := newAccountReport(c, releases, d, e)
		if err != nil {
			return accountFailure(err)
		}
		if out != nil {
			if err := drawProfile(cmd.Context(), out, format, releases, r); err != nil {
				return err
			}
			if err := out.commit(); err != nil {
				return err
			}
		}
		if asJSON {
			return printJSON(a.stdout, r)
		}
		return printRows(a.stdout, accountRows(args, counts, r))
	}
	return cmd
}

// counts reads one count for all of n releases, or one for each.
func (f *fields) counts(name string, t *text, n int) []int {
	parts := strings.Split(t.value, ",")
	out := make([]int, n)
	if len(parts) != 1 && len(parts) != n {
		f.bad(name, t, fmt.Sprintf("one integer, or %d separated by commas", n))
		return out
	}
	for i := range out {
		v, err := strconv.Atoi(strings.TrimSpace(parts[min(i, len(parts)-1)]))
		if err != nil || v < 1 || v > account.MaxReleases {
			f.bad(name, t, fmt.Sprintf("integers from 1 to %d", account.MaxReleases))
			return out
		}
		out[i] = v
	}
	return out
}

// mechanism reads a release of the command line: a table, verified, or the
// name of a mechanism.
func (a *app) mechanism(arg string) (*account.Mechanism, error) {
	if account.IsMechanism(arg) {
		m, err := account.Parse(arg)
		if err != nil {
			return nil, badInput("noisewright account --help", err)
		}
		return m, nil
	}
	t, _, err := a.readSound(arg)
	if err != nil {
		return nil, err
	}
	m, err := account.Table(t)
	if err != nil {
		return nil, badInput("", fmt.Errorf("%s: %w", inputName(arg), err))
	}
	return m, nil
}

// accountFailure is the failure of a composition.
func accountFailure(err error) error {
	switch {
	case errors.Is(err, account.ErrDeltaTooSmall):
		return badInput("a larger --delta, or releases with a smaller one each (noisewright calibrate designs them)", err)
	case errors.Is(err, dp.ErrInvalid):
		return badInput("noisewright account --help", err)
	}
	return err
}

// newAccountReport answers for delta, or for epsilon if delta is NaN.
func newAccountReport(c *account.Composition, releases []account.Release, delta, epsilon float64) (accountReport, error) {
	r := accountReport{Schema: schema, Releases: c.Count()}
	if math.IsNaN(delta) {
		d, err := c.Delta(epsilon)
		if err != nil {
			return r, err
		}
		r.Epsilon, r.Delta, r.DeltaLower = epsilon, d.Upper, d.Lower
		if d.Upper >= 1 { // at any epsilon
			return r, nil
		}
		e, err := c.Epsilon(d.Upper)
		switch {
		case err == nil:
			r.EpsilonLower = min(e.Lower, epsilon)
		case !errors.Is(err, account.ErrDeltaTooSmall):
			return r, err
		}
	} else {
		e, err := c.Epsilon(delta)
		if err != nil {
			return r, err
		}
		r.Epsilon, r.EpsilonLower, r.Delta = e.Upper, e.Lower, delta
		d, err := c.Delta(e.Upper)
		if err != nil {
			return r, err
		}
		r.DeltaLower = min(d.Lower, delta)
	}
	r.BasicEpsilon = basicEpsilon(releases, c.Count(), r.Delta)
	return r, nil
}

// basicEpsilon returns the sum of the releases' epsilons, each at an equal
// share of delta, nil if a release does not reach its share.
func basicEpsilon(releases []account.Release, count int, delta float64) *float64 {
	sum := 0.0
	for _, release := range releases {
		c, err := account.Compose([]account.Release{{Mechanism: release.Mechanism, Times: 1}}, account.Options{})
		if err != nil {
			return nil
		}
		e, err := c.Epsilon(delta / float64(count))
		if err != nil {
			return nil
		}
		sum += float64(release.Times) * e.Upper
	}
	return finite(sum)
}

func accountRows(args []string, counts []int, r accountReport) []row {
	var rows []row
	for i, arg := range args {
		name := ""
		if i == 0 {
			name = "releases"
		}
		rows = append(rows, row{name, fmt.Sprintf("%d of %s", counts[i], inputName(arg))})
	}
	rows = append(rows,
		row{"epsilon", fmt.Sprintf("%s (at least %s at this delta)", digitsUp(r.Epsilon), digitsDown(r.EpsilonLower))},
		row{"delta", fmt.Sprintf("%s (at least %s at this epsilon)", digitsUp(r.Delta), digitsDown(r.DeltaLower))},
	)
	if b := r.BasicEpsilon; b != nil && r.Releases > 1 {
		saved := ""
		if *b > r.Epsilon*1.0001 {
			saved = fmt.Sprintf(", %s more", percent(*b/r.Epsilon-1))
		}
		rows = append(rows, row{"basic", fmt.Sprintf("epsilon %s by adding up%s", digitsUp(*b), saved)})
	}
	return rows
}

// digitsUp prints a finite x >= 0 to 7 significant digits that, read back, are not
// below it, digitsDown to digits that are not above.
func digitsUp(x float64) string   { return digits(x, +1) }
func digitsDown(x float64) string { return digits(x, -1) }

func digits(x, sign float64) string {
	const form = "%.6e"
	text := fmt.Sprintf(form, x)
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && sign*f < sign*x {
		// One more in the last digit; the exponent of the text is that of x.
		_, exponent, _ := strings.Cut(text, "e")
		e, _ := strconv.Atoi(exponent)
		f += sign * math.Pow10(e-6)
	}
	return fmt.Sprintf("%.7g", f)
}

// drawProfile draws delta against epsilon for the composition.
func drawProfile(ctx context.Context, out *output, format string, releases []account.Release, r accountReport) error {
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
	p := newPlot()
	p.X.Label.Text = "total epsilon"
	p.Y.Label.Text = "total delta"
	p.Y.Tick.Marker = plot.TickerFunc(decadeTicks)
	curves := []curve{
		{"lower bound", lower, draw.LineStyle{Color: colorTruncated, Width: vg.Points(1.2), Dashes: []vg.Length{vg.Points(5), vg.Points(3)}}},
		{fmt.Sprintf("proven, %d releases", r.Releases), upper, draw.LineStyle{Color: colorTable, Width: vg.Points(2)}},
	}
	if err := addCurves(p, curves); err != nil {
		return err
	}
	return writePlot(p, out, format, 18*vg.Centimeter, 11*vg.Centimeter)
}
