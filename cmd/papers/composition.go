// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
)

// compositionCounts are the numbers of releases of the figure; the summary has the powers of ten.
var compositionCounts = []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}

// compositionCurve is one mechanism, as often as compositionCounts says. The total epsilons are
// null where delta is not reached.
type compositionCurve struct {
	Name         string     `json:"name"`
	ExpectedLoss float64    `json:"expected_loss"` // l1, of a release
	EpsilonUpper []*float64 `json:"epsilon_upper"`
	EpsilonLower []*float64 `json:"epsilon_lower"`
	mechanism    *account.PrivacyLossDistribution
}

type compositionOptions struct {
	shell.Common
	problem dp.Problem // of a single release
	total   float64    // delta of all releases
	design  lp.Options
}

func newCompositionCommand(s *shell.Streams) *cobra.Command {
	o := &compositionOptions{
		Common: shell.Common{Streams: s},
		problem: dp.Problem{
			Privacy: dp.Privacy{Epsilon: 0.1, Delta: 1e-9, Sensitivity: 1}, Loss: loss.L1, Query: dp.RealQuery,
		},
		total:  1e-5,
		design: shell.DesignOptions(),
	}
	return command(&o.Common, "composition", "", "The figure on composition: a designed table, Laplace and Gaussian noise over many releases",
		`Compute the total epsilon of 1 to 1000 releases of a designed table (loss l1), of
Laplace noise of the same epsilon and of the analytic Gaussian of the same epsilon
and delta, at a total delta: by exact composition, with a lower bound, and by
basic composition. Written are composition.csv and composition.svg; the releases have
different losses, which are in the file too.`, o.run, func(f *shell.Flags) {
			f.Number(&o.problem.Epsilon, "epsilon", shell.PositiveEpsilon, "epsilon of a single release, without unit: "+shell.PositiveEpsilon.Want)
			f.Number(&o.problem.Delta, "delta", shell.PositiveDelta, "delta of a single release, a probability: "+shell.PositiveDelta.Want)
			f.Number(&o.total, "total-delta", shell.Share, "delta of all releases, a probability: "+shell.Share.Want)
			f.Effort(&o.design, "")
		})
}

func (o *compositionOptions) run(ctx context.Context) error {
	var curves []compositionCurve
	var limit error
	files, err := produce(&o.Common, func(line *shell.Progress) (err error) {
		options := o.design
		options.Progress = line.Design(options.TimeLimit)
		if curves, limit, err = compositionCurves(ctx, o.problem, options); err != nil {
			return err
		}
		line.Clear()
		line = o.Progress()
		defer line.Clear()
		for i := range curves {
			line.Count("composing", i, len(curves))
			if err := curves[i].compose(ctx, o.total); err != nil {
				return err
			}
		}
		return nil
	}, output{"composition", func() [][]string { return compositionRecords(curves) }, func(w io.Writer) error { return drawComposition(w, curves, o.problem.Epsilon) }})
	if err != nil {
		return err
	}
	body := shell.Object{"epsilon", o.problem.Epsilon, "delta", o.problem.Delta, "total_delta", o.total, "releases", compositionCounts, "mechanisms", curves}
	rows := []shell.Row{
		{"each", fmt.Sprintf("epsilon %v, delta %v", o.problem.Epsilon, o.problem.Delta)},
		{"total delta", fmt.Sprint(o.total)},
	}
	for _, c := range curves {
		rows = append(rows, shell.Row{c.Name, c.summary()})
	}
	return cmp.Or(report(&o.Common, "composition", body, rows, files), limit)
}

func compositionCurves(ctx context.Context, p dp.Problem, o lp.Options) (curves []compositionCurve, limit, err error) {
	r, limit, err := shell.Design(ctx, p, o)
	if err != nil {
		return nil, nil, err
	}
	designed := compositionCurve{Name: "designed"}
	if designed.mechanism, err = account.LossOf(r.Verified.Mechanism()); err != nil {
		return nil, nil, err
	}
	designed.ExpectedLoss, _ = r.Verified.Certificate().ExpectedLoss.Float64()
	laplace := compositionCurve{Name: "laplace", ExpectedLoss: 1 / p.Epsilon}
	if laplace.mechanism, err = account.Laplace(p.Epsilon); err != nil {
		return nil, nil, err
	}
	gaussian := compositionCurve{Name: "gaussian"}
	if gaussian.mechanism, err = account.AnalyticGaussian(p.Epsilon, p.Delta); err != nil {
		return nil, nil, err
	}
	sigma, err := noise.GaussianSigma(p.Privacy)
	if err != nil {
		return nil, nil, err
	}
	gaussian.ExpectedLoss = sigma * math.Sqrt(2/math.Pi)
	return []compositionCurve{designed, laplace, gaussian}, limit, nil
}

func (c *compositionCurve) compose(ctx context.Context, delta float64) error {
	for _, k := range compositionCounts {
		if err := ctx.Err(); err != nil {
			return err
		}
		composition, err := account.Compose([]account.Release{{PLD: c.mechanism, Times: k}}, account.Options{})
		if err != nil {
			return err
		}
		b, err := composition.Epsilon(delta)
		if errors.Is(err, account.ErrDeltaTooSmall) {
			b, err = account.Bounds{Lower: math.Inf(1), Upper: math.Inf(1)}, nil
		}
		if err != nil {
			return err
		}
		c.EpsilonUpper, c.EpsilonLower = append(c.EpsilonUpper, shell.Finite(b.Upper)), append(c.EpsilonLower, shell.Finite(b.Lower))
	}
	return nil
}

func (c *compositionCurve) summary() string {
	text := fmt.Sprintf("loss %.4g each; epsilon", c.ExpectedLoss)
	for i, k := range compositionCounts {
		if !strings.HasPrefix(strconv.Itoa(k), "10") && k > 1 {
			continue
		}
		if upper := c.EpsilonUpper[i]; upper == nil {
			text += fmt.Sprintf(" none for %d,", k)
		} else {
			text += fmt.Sprintf(" %s for %d,", shell.DigitsUp(*upper), k)
		}
	}
	return text[:len(text)-1]
}

func compositionRecords(curves []compositionCurve) [][]string {
	out := [][]string{{"mechanism", "expected_loss_l1", "releases", "epsilon", "epsilon_lower"}}
	for _, c := range curves {
		for i, k := range compositionCounts {
			upper, lower := "", ""
			if c.EpsilonUpper[i] != nil {
				upper, lower = shell.DigitsUp(*c.EpsilonUpper[i]), shell.DigitsDown(*c.EpsilonLower[i])
			}
			out = append(out, record(c.Name, rounded(c.ExpectedLoss, 8), k, upper, lower))
		}
	}
	return out
}

func drawComposition(out io.Writer, curves []compositionCurve, epsilon float64) error {
	var basic plotter.XYs
	for _, k := range compositionCounts {
		basic = append(basic, plotter.XY{X: math.Log10(float64(k)), Y: math.Log10(float64(k) * epsilon)})
	}
	lines := []series{{name: "basic composition", points: basic, style: draw.LineStyle{Color: figure.Palette[len(figure.Palette)-1], Width: vg.Points(1)}}}
	styles := map[string]draw.LineStyle{
		"designed": {Color: figure.Blue, Width: vg.Points(2)},
		"laplace":  {Color: figure.Vermilion, Width: vg.Points(1.6), Dashes: []vg.Length{vg.Points(5), vg.Points(3)}},
		"gaussian": {Color: figure.Green, Width: vg.Points(1.6), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}},
	}
	for _, c := range slices.Backward(curves) {
		var points plotter.XYs
		for j, upper := range c.EpsilonUpper {
			if upper != nil && *upper > 0 {
				points = append(points, plotter.XY{X: math.Log10(float64(compositionCounts[j])), Y: math.Log10(*upper)})
			}
		}
		lines = append(lines, series{name: fmt.Sprintf("%s, E|x| = %.3g each", c.Name, c.ExpectedLoss), points: points, style: styles[c.Name]})
	}
	p, err := newPlot("", "releases", "total epsilon", lines)
	if err != nil {
		return err
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(figure.DecadeTicks), plot.TickerFunc(figure.DecadeTicks)
	return writeFigure(p, out)
}
