package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
)

// calibrateReport is what calibrate --json prints.
type calibrateReport struct {
	Schema            int                `json:"schema"`
	Releases          int                `json:"releases"`
	Epsilon           float64            `json:"epsilon"`
	Delta             float64            `json:"delta"`
	EpsilonComposed   float64            `json:"epsilon_composed"`
	EpsilonLower      float64            `json:"epsilon_lower"`
	ReleaseEpsilon    float64            `json:"release_epsilon"`
	ReleaseDelta      float64            `json:"release_delta"`
	Sensitivity       float64            `json:"sensitivity"`
	Loss              string             `json:"loss"`
	ExpectedLoss      json.Number        `json:"expected_loss"`
	Alternatives      map[string]float64 `json:"alternatives"`
	GaussianCrossover *int               `json:"gaussian_crossover"`
}

func newCalibrateCommand(a *app) *cobra.Command {
	var (
		out           string
		asJSON, quiet bool
	)
	cmd := &cobra.Command{
		Use:   "calibrate --releases K --epsilon E --delta D --sensitivity S --loss LOSS [-o TABLE]",
		Short: "Design the noise of many releases with a total epsilon and delta",
		Long: `Design the table of a single release so that K releases of it, each with fresh
noise, are together (epsilon, delta)-differentially private: by exact composition,
as account computes it, which leaves much more for each release than epsilon/K.

The summary compares the loss of a release with that of a table for basic
composition, (epsilon/K, delta/K) each, and with Laplace and Gaussian noise
calibrated to the same total. ` + hardTruncation + `

Constraints are as for design. Every loss of a table was recomputed in exact
arithmetic and is rounded up. If a limit is hit, the best proven table is
written and the exit code is 4.

` + lossHelp(),
		Example: `  noisewright calibrate --releases 12 --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l1 -o month.json
  noisewright account month.json --times 12 --delta 1e-6`,
		Args: noArguments,
	}
	releases := newText(cmd, "releases", "K", "", fmt.Sprintf("number of releases, from 1 to %d", account.MaxReleases))
	problemFlags := newProblemFlags(cmd, true)
	cmd.Flags().Lookup("epsilon").Usage = "epsilon of all releases together, without unit: from 0.001 to 20"
	cmd.Flags().Lookup("delta").Usage = "delta of all releases together, a probability: 0, or " + wantDelta
	effort := newEffortFlags(cmd)
	cmd.Flags().Lookup("time-limit").Usage = "wall time of one design after which its best proven result is taken, with its unit: 500ms, 60s, 5m"
	cmd.Flags().StringVarP(&out, "output", "o", "", "table file to write, - for standard output (default none)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object instead of the summary")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress and no summary, and no comparison")
	_ = cmd.MarkFlagFilename("output", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var f fields
		k := f.integer("releases", releases, fmt.Sprintf("an integer from 1 to %d", account.MaxReleases), 1, account.MaxReleases)
		p := problemFlags.read(&f, false)
		if p.Epsilon == 0 {
			f.bad("epsilon", problemFlags.epsilon, fmt.Sprintf("a number from %g to %g", lp.MinEpsilon, float64(lp.MaxEpsilon)))
		}
		o := effort.read(&f)
		if asJSON && out == "-" {
			f.add("output = - and --json, want only one of them on standard output")
		}
		if err := f.err(cmd); err != nil {
			return err
		}
		var w *output
		if out != "" {
			var err error
			if w, err = a.create(out); err != nil {
				return err
			}
			defer w.discard()
		}
		c := &calibration{problem: p, options: o, releases: int(k), line: a.newProgress()}
		if quiet {
			c.line = &progress{}
		}
		defer c.line.clear()
		if err := c.run(cmd.Context()); err != nil {
			return c.failure(err)
		}
		if !quiet {
			c.compare(cmd.Context())
			if err := cmd.Context().Err(); err != nil {
				return err
			}
		}
		if w != nil {
			if err := c.result.Table.Encode(w); err != nil {
				return err
			}
			if err := w.commit(); err != nil {
				return err
			}
		}
		c.line.clear()
		var err error
		switch {
		case asJSON:
			err = printJSON(a.stdout, c.report())
		case !quiet && out != "-":
			err = printRows(a.stdout, c.rows(out))
		}
		if err != nil {
			return err
		}
		return c.limit
	}
	return cmd
}

// calibration finds the table of a single release.
type calibration struct {
	problem  problem
	options  lp.Options
	releases int
	line     *progress

	found  *account.Calibration
	result *lp.Result // of found
	limit  error      // of the last design

	// What the table is compared with; NaN if it does not apply.
	basic, laplace, gaussian float64
	crossover                int // releases from which on the Gaussian is better; 0: not found
}

// designer designs tables with the gap, and keeps the last one.
func (c *calibration) designer(gap float64) account.Designer {
	return func(ctx context.Context, epsilon, delta float64) (*account.Mechanism, float64, error) {
		p, o := c.problem, c.options
		p.Epsilon, p.Delta, o.Gap = epsilon, delta, gap
		if epsilon < lp.MinEpsilon {
			return nil, 0, fmt.Errorf("releases = %d at epsilon = %g leave a single release less than %g, want fewer releases or a larger epsilon", c.releases, c.problem.Epsilon, lp.MinEpsilon)
		}
		if delta != 0 && delta < lp.MinDelta {
			return nil, 0, fmt.Errorf("releases = %d at delta = %g leave a single release a delta below %g, want fewer releases or a larger delta", c.releases, c.problem.Delta, lp.MinDelta)
		}
		r, limit, err := design(ctx, p, o)
		if err != nil {
			return nil, 0, err
		}
		m, err := account.Table(r.Table)
		if err != nil {
			return nil, 0, err
		}
		c.result, c.limit = r, limit
		loss, _ := r.Certificate.ExpectedLoss.Float64()
		return m, loss, nil
	}
}

// coarseGap is the gap of designs that only steer the search.
const coarseGap = 0.02

func (c *calibration) target() account.Target {
	return account.Target{Releases: c.releases, Epsilon: c.problem.Epsilon, Delta: c.problem.Delta}
}

// run searches with coarse designs and ends with a fine one.
func (c *calibration) run(ctx context.Context) error {
	c.options.Progress = c.line.show
	coarse, err := account.Calibrate(ctx, c.target(), c.designer(max(coarseGap, c.options.Gap)), account.CalibrateOptions{})
	if err != nil {
		return err
	}
	results := map[*account.Mechanism]*lp.Result{}
	limits := map[*account.Mechanism]error{}
	fine := c.designer(c.options.Gap)
	keep := func(ctx context.Context, epsilon, delta float64) (*account.Mechanism, float64, error) {
		m, loss, err := fine(ctx, epsilon, delta)
		if err == nil {
			results[m], limits[m] = c.result, c.limit
		}
		return m, loss, err
	}
	if c.found, err = account.Calibrate(ctx, c.target(), keep, account.CalibrateOptions{Start: coarse}); err != nil {
		return err
	}
	c.result, c.limit = results[c.found.Mechanism], limits[c.found.Mechanism]
	return nil
}

// failure is what a calibration that found nothing says.
func (c *calibration) failure(err error) error {
	var f *failure
	if errors.As(err, &f) || errors.Is(err, context.Canceled) {
		return err
	}
	return badInput("noisewright calibrate --help", err)
}

// compare computes the alternatives.
func (c *calibration) compare(ctx context.Context) {
	keepResult, keepLimit := c.result, c.limit
	defer func() { c.result, c.limit = keepResult, keepLimit }()
	c.basic = math.NaN()
	k := float64(c.releases)
	if _, loss, err := c.designer(max(coarseGap, c.options.Gap))(ctx, c.problem.Epsilon/k, c.problem.Delta/k); err == nil {
		c.basic = loss
	}
	c.laplace = c.laplaceLoss(ctx)
	c.gaussian = c.gaussianLoss(c.releases)
	if c.problem.Delta > 0 && !math.IsNaN(c.gaussian) {
		c.crossover = c.findCrossover(ctx)
	}
}

// laplaceLoss is that of Laplace noise calibrated to the target.
func (c *calibration) laplaceLoss(ctx context.Context) float64 {
	r, err := account.Calibrate(ctx, c.target(), func(_ context.Context, epsilon, _ float64) (*account.Mechanism, float64, error) {
		m, err := account.Laplace(epsilon)
		if err != nil {
			return nil, 0, err
		}
		law, err := noise.NewLaplace(noise.Parameters{Epsilon: epsilon, Sensitivity: c.problem.Sensitivity})
		if err != nil {
			return nil, 0, err
		}
		loss, _, err := law.ExpectedLoss(c.problem.loss)
		return m, loss, err
	}, account.CalibrateOptions{Shares: []float64{0}})
	if err != nil {
		return math.NaN()
	}
	return r.Loss
}

// gaussianLoss is that of Gaussian noise: so many releases are one with a
// sensitivity larger by the root of their number.
func (c *calibration) gaussianLoss(releases int) float64 {
	p := c.problem.Parameters
	p.Sensitivity *= math.Sqrt(float64(releases))
	law, err := noise.NewAnalyticGaussian(p)
	if err != nil {
		return math.NaN()
	}
	loss, _, err := law.ExpectedLoss(c.problem.loss)
	if err != nil {
		return math.NaN()
	}
	return loss
}

// maxCrossover bounds the search for the crossover.
const maxCrossover = 1 << 12

// findCrossover returns the least number of releases, with the same total, for
// which Gaussian noise has a smaller loss, by doubling and bisection with coarse
// designs; 0 if there is none up to maxCrossover or a design fails.
func (c *calibration) findCrossover(ctx context.Context) int {
	start := time.Now()
	wins := func(k int) (gaussian, ok bool) {
		if time.Since(start) > c.options.TimeLimit {
			return false, false
		}
		other := *c
		other.releases = k
		r, err := account.Calibrate(ctx, other.target(), other.designer(max(coarseGap, c.options.Gap)), account.CalibrateOptions{Shares: []float64{0.5}})
		if err != nil {
			return false, false
		}
		return c.gaussianLoss(k) < r.Loss, true
	}
	lo, hi := 0, 1
	for {
		better, ok := wins(hi)
		if !ok {
			return 0
		}
		if better {
			break
		}
		if lo, hi = hi, 2*hi; hi > maxCrossover {
			return 0
		}
	}
	for hi-lo > 1 {
		middle := (lo + hi) / 2
		better, ok := wins(middle)
		if !ok {
			return 0
		}
		if better {
			hi = middle
		} else {
			lo = middle
		}
	}
	return hi
}

func (c *calibration) report() calibrateReport {
	r := calibrateReport{
		Schema: schema, Releases: c.releases, Epsilon: c.problem.Epsilon, Delta: c.problem.Delta,
		EpsilonComposed: c.found.Composed.Upper, EpsilonLower: c.found.Composed.Lower,
		ReleaseEpsilon: c.found.Epsilon, ReleaseDelta: c.found.Delta,
		Sensitivity: c.problem.Sensitivity, Loss: c.problem.loss.Name(),
		ExpectedLoss: json.Number(c.result.Certificate.Claims().ExpectedLoss),
		Alternatives: map[string]float64{},
	}
	for name, loss := range map[string]float64{"basic": c.basic, "laplace": c.laplace, "gaussian": c.gaussian} {
		if !math.IsNaN(loss) {
			r.Alternatives[name] = loss
		}
	}
	if c.crossover > 0 {
		r.GaussianCrossover = &c.crossover
	}
	return r
}

func (c *calibration) rows(out string) []row {
	p := c.problem
	claims := c.result.Certificate.Claims()
	rows := []row{
		{"releases", fmt.Sprint(c.releases)},
		{"total", fmt.Sprintf("epsilon %v, delta %v (composed epsilon: %.7g)", p.Epsilon, p.Delta, up(c.found.Composed.Upper))},
		{"each", fmt.Sprintf("epsilon %v, delta %v", c.found.Epsilon, c.found.Delta)},
		{"sensitivity", fmt.Sprint(p.Sensitivity)},
		{"loss", lossUnit(p.loss)},
	}
	rows = append(rows, queryRows(p.query, p.step, p.constraints)...)
	rows = append(rows,
		row{"expected loss", claims.ExpectedLoss},
		row{"gap", percent(c.result.Gap) + ", of noise for a release of this epsilon and delta"},
	)
	designed := c.found.Loss
	for _, other := range []struct {
		name, note string
		loss       float64
	}{
		{"basic", "designed for an equal part of epsilon and delta", c.basic},
		{"laplace", "Laplace noise for the same total", c.laplace},
		{"gaussian", "Gaussian noise for the same total", c.gaussian},
	} {
		if math.IsNaN(other.loss) || c.releases == 1 && other.name == "basic" {
			continue
		}
		side := "above"
		if other.loss < designed {
			side = "BELOW"
		}
		rows = append(rows, row{other.name, fmt.Sprintf("%.6g, %s %s the table's: %s", other.loss, percent(math.Abs(other.loss/designed-1)), side, other.note)})
	}
	switch {
	case c.crossover > 0:
		rows = append(rows, row{"crossover", fmt.Sprintf("from %d releases on, Gaussian noise has the smaller loss at this total", c.crossover)})
	case p.Delta > 0:
		rows = append(rows, row{"crossover", "not found in the time there was"})
	}
	if out != "" {
		rows = append(rows, row{"table", out})
	}
	return rows
}
