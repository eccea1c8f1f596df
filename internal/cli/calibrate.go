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
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
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
	Noise             string             `json:"noise"`
	Exponent          float64            `json:"exponent,omitempty"`
	ExpectedLoss      json.Number        `json:"expected_loss"`
	Alternatives      map[string]float64 `json:"alternatives"`
	GaussianCrossover *int               `json:"gaussian_crossover"`
}

// The words of --noise.
const (
	noiseAuto     = "auto"
	noiseDesigned = "designed"
	noiseGaussian = "gaussian"
	noisePower    = "exponential-power"
)

func newCalibrateCommand(a *shell.Streams) *cobra.Command {
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

Where a table of exponential power shape, with a density like exp(-|x/s|^p), has
the smallest loss at this total it is what is written, unless --noise says
otherwise; p = 2 is Gaussian noise. It is proved as any other table, and its own
epsilon and delta are one point of what it keeps. It needs a query without
constraints on the noise, and delta above 0.

Constraints are as for design. Every loss of a table was recomputed in exact
arithmetic and is rounded up. If a limit is hit, the best proven table is
written and the exit code is 4.

` + shell.LossHelp(),
		Example: `  noisewright calibrate --releases 12 --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l1 -o month.json
  noisewright account month.json --times 12 --delta 1e-6`,
		Args: shell.NoArguments,
	}
	releases := shell.NewText(cmd, "releases", "K", "", fmt.Sprintf("number of releases, from 1 to %d", account.MaxReleases))
	shape := shell.NewText(cmd, "noise", "word", "auto", "noise of the table: auto (the smallest loss), designed, gaussian or exponential-power")
	problemFlags := shell.NewProblemFlags(cmd, true)
	cmd.Flags().Lookup("epsilon").Usage = "epsilon of all releases together, without unit: from 0.001 to 20"
	cmd.Flags().Lookup("delta").Usage = "delta of all releases together, a probability: 0, or " + shell.WantDelta
	effort := shell.NewEffortFlags(cmd)
	cmd.Flags().Lookup("time-limit").Usage = "wall time of one design after which its best proven result is taken, with its unit: 500ms, 60s, 5m"
	cmd.Flags().StringVarP(&out, "output", "o", "", "table file to write, - for standard output (default none)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object instead of the summary")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress and no summary, and no comparison")
	_ = cmd.MarkFlagFilename("output", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var f shell.Fields
		k := f.Integer("releases", releases, fmt.Sprintf("an integer from 1 to %d", account.MaxReleases), 1, account.MaxReleases)
		p := problemFlags.Read(&f, false)
		if p.Epsilon == 0 {
			f.Bad("epsilon", problemFlags.Epsilon, fmt.Sprintf("a number from %g to %g", lp.MinEpsilon, float64(lp.MaxEpsilon)))
		}
		word := f.Choice("noise", shape, noiseAuto, noiseDesigned, noiseGaussian, noisePower)
		if (word == noiseGaussian || word == noisePower) && !gaussianApplies(p) {
			f.Add("noise = %s, want no constraints on the noise, and delta above 0", word)
		}
		o := effort.Read(&f)
		if asJSON && out == "-" {
			f.Add("output = - and --json, want only one of them on standard output")
		}
		if err := f.Err(cmd); err != nil {
			return err
		}
		var w *shell.Output
		if out != "" {
			var err error
			if w, err = a.Create(out); err != nil {
				return err
			}
			defer w.Discard()
		}
		none := math.NaN() // until compared
		c := &calibration{problem: p, options: o, releases: int(k), noise: word, line: a.NewProgress(), basic: none, laplace: none, gaussian: none}
		if quiet {
			c.line = &shell.Progress{}
		}
		defer c.line.Clear()
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
			if err := c.table.Table().Encode(w); err != nil {
				return err
			}
			if err := w.Commit(); err != nil {
				return err
			}
		}
		c.line.Clear()
		var err error
		switch {
		case asJSON:
			err = shell.PrintJSON(a.Out, c.report())
		case !quiet && out != "-":
			err = shell.PrintRows(a.Out, c.rows(out))
		}
		if err != nil {
			return err
		}
		return c.limit
	}
	return cmd
}

// gaussianApplies reports whether Gaussian noise is an answer to the problem.
func gaussianApplies(p dp.Problem) bool {
	return p.Constraints.None() && p.Delta > 0
}

// calibration finds the table of a single release.
type calibration struct {
	problem  dp.Problem
	options  lp.Options
	releases int
	noise    string // a word of --noise; auto is replaced by what was chosen
	line     *shell.Progress

	found    *account.Calibration
	table    *tables.Verified // of found
	exponent float64          // of its shape; 0 if it was designed
	result   *lp.Result       // of the last design
	limit    error

	// What the table is compared with; NaN if it does not apply.
	basic, laplace, gaussian float64
	crossover                int  // releases from which on the Gaussian is better; 0: not found
	unavailable              bool // the solver: nothing was designed
}

// designer designs tables with the gap, and keeps the last one.
func (c *calibration) designer(gap float64) account.Designer {
	return func(ctx context.Context, epsilon, delta float64) (*account.PrivacyLossDistribution, float64, error) {
		p, o := c.problem, c.options
		p.Epsilon, p.Delta, o.Gap = epsilon, delta, gap
		if gap > c.options.Gap {
			o.TimeLimit = min(o.TimeLimit, coarseTime)
		}
		if epsilon < lp.MinEpsilon {
			return nil, 0, fmt.Errorf("releases = %d at epsilon = %g leave a single release less than %g, want fewer releases or a larger epsilon", c.releases, c.problem.Epsilon, lp.MinEpsilon)
		}
		if delta != 0 && delta < lp.MinDelta {
			return nil, 0, fmt.Errorf("releases = %d at delta = %g leave a single release a delta below %g, want fewer releases or a larger delta", c.releases, c.problem.Delta, lp.MinDelta)
		}
		r, limit, err := shell.Design(ctx, p, o)
		if err != nil {
			return nil, 0, err
		}
		m, err := account.Table(r.Table.Table())
		if err != nil {
			return nil, 0, err
		}
		c.result, c.limit = r, limit
		loss, _ := r.Table.Certificate().ExpectedLoss.Float64()
		return m, loss, nil
	}
}

// The gap and the time of designs, and the width of compositions, that only steer
// the search.
const (
	coarseGap   = 0.02
	coarseTime  = 2 * time.Second
	coarseWidth = 0.05
)

func (c *calibration) target() account.Target {
	return account.Target{Releases: c.releases, Epsilon: c.problem.Epsilon, Delta: c.problem.Delta}
}

// run finds the table, and chooses.
func (c *calibration) run(ctx context.Context) error {
	c.options.Progress = c.line.Show
	var designed, gaussian *calibrated
	var err error
	if c.noise == noiseAuto || c.noise == noiseDesigned {
		designed, err = c.designed(ctx)
		c.unavailable = errors.Is(err, highs.ErrUnavailable)
		if err != nil && (c.noise == noiseDesigned || !gaussianApplies(c.problem) || ctx.Err() != nil) {
			return err
		}
	}
	if c.noise != noiseDesigned && gaussianApplies(c.problem) {
		var none error
		if gaussian, none = c.bestShape(ctx); gaussian == nil && designed == nil {
			if err == nil {
				err = none
			}
			return err
		}
	}
	if err := ctx.Err(); err != nil { // what there is may not be the best
		return err
	}
	chosen := designed
	if c.noise = noiseDesigned; designed == nil || gaussian != nil && gaussian.found.Loss < designed.found.Loss {
		if c.noise, chosen = noisePower, gaussian; gaussian.exponent == 2 {
			c.noise = noiseGaussian
		}
	}
	c.found, c.table, c.limit, c.exponent = chosen.found, chosen.table, chosen.limit, chosen.exponent
	return nil
}

// calibrated is a table whose releases keep the target.
type calibrated struct {
	found    *account.Calibration
	table    *tables.Verified
	limit    error   // of its design
	exponent float64 // of its shape; 0 if it was designed
}

// designed searches with coarse designs and ends with a fine one.
func (c *calibration) designed(ctx context.Context) (*calibrated, error) {
	coarse, err := account.Calibrate(ctx, c.target(), c.designer(max(coarseGap, c.options.Gap)), account.CalibrateOptions{Width: coarseWidth})
	if err != nil {
		return nil, err
	}
	made := map[*account.PrivacyLossDistribution]*calibrated{}
	fine := c.designer(c.options.Gap)
	found, err := account.Calibrate(ctx, c.target(), func(ctx context.Context, epsilon, delta float64) (*account.PrivacyLossDistribution, float64, error) {
		m, loss, err := fine(ctx, epsilon, delta)
		if err == nil {
			made[m] = &calibrated{table: c.result.Table, limit: c.limit}
		}
		return m, loss, err
	}, account.CalibrateOptions{Start: coarse})
	if err != nil {
		return nil, err
	}
	out := made[found.Mechanism]
	out.found = found
	return out, nil
}

// shaped makes a table of exponential power shape whose releases keep the target: the
// scale is searched for, from that of continuous normal noise on, until the table itself
// is proved to compose to little less.
func (c *calibration) shaped(ctx context.Context, exponent float64) (*calibrated, error) {
	p := c.problem.Privacy
	p.Sensitivity *= math.Sqrt(float64(c.releases))
	sigma, err := noise.GaussianSigma(p)
	if err != nil {
		return nil, err
	}
	const near = 1e-3 // relative, of the composed epsilon to the target
	none := fmt.Errorf("noise of exponent %g: no table was found that keeps epsilon = %g, delta = %g over %d releases", exponent, c.problem.Epsilon, c.problem.Delta, c.releases)
	lo, hi := 0.0, math.Inf(1) // too small, large enough
	scale := sigma * math.Sqrt2 * (1 + 1e-6)
	try := func(width float64) (*shapedRelease, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s, err := c.composeShape(shape{exponent, scale}, width)
		if err == nil && s.bounds.Upper <= c.problem.Epsilon {
			hi = scale
		} else {
			lo = scale
		}
		return s, err
	}
	for hi > lo*(1+near/4) {
		s, err := try(coarseWidth)
		if err != nil {
			return nil, err
		}
		ratio := s.bounds.Upper / c.problem.Epsilon
		if ratio <= 1 && ratio >= 1-near/2 {
			break
		}
		// The composed epsilon falls about as the scale grows.
		scale *= math.Min(math.Max(ratio, 0.25), 4) * (1 + near/8)
		if !(scale > lo && scale < hi) {
			scale = lo + (hi-lo)/2
		}
		if scale > 1e3*sigma {
			return nil, none
		}
	}
	// On a finer grid the bound may be a little larger, or smaller.
	for scale = hi; scale < 2*hi; scale *= 1 + near/4 {
		s, err := try(0)
		if err != nil {
			return nil, err
		}
		if s.bounds.Upper > c.problem.Epsilon {
			continue
		}
		// Of the points of its profile the table promises one with half of its part
		// of the total delta.
		t, err := promised(s.spec, s.mechanism, c.problem.Delta/float64(c.releases)/2)
		if err != nil {
			return nil, err
		}
		p := t.Table().Privacy()
		loss, _ := t.Certificate().ExpectedLoss.Float64()
		return &calibrated{
			found: &account.Calibration{
				Epsilon: p.Epsilon, Delta: p.Delta, Mechanism: s.mechanism, Loss: loss, Composed: s.bounds,
			},
			table: t, exponent: exponent,
		}, nil
	}
	return nil, none
}

// shapedRelease is a table of a given shape, without its promise, and what so many releases
// of it cost at the total delta.
type shapedRelease struct {
	spec      tables.Spec
	mechanism *account.PrivacyLossDistribution
	bounds    account.Bounds // on epsilon; +Inf if none is enough
}

// composeShape makes the weights of a shape and composes them.
func (c *calibration) composeShape(s shape, width float64) (*shapedRelease, error) {
	spec, err := shapedSpec(c.problem, s)
	if err != nil {
		return nil, err
	}
	t, err := tables.New(spec)
	if err != nil {
		return nil, err
	}
	m, err := account.Table(t)
	if err != nil {
		return nil, err
	}
	composition, err := account.Compose([]account.Release{{PLD: m, Times: c.releases}}, account.Options{Width: width})
	if err != nil {
		return nil, err
	}
	b, err := composition.Epsilon(c.problem.Delta)
	if errors.Is(err, account.ErrDeltaTooSmall) {
		b, err = account.Bounds{Lower: math.Inf(1), Upper: math.Inf(1)}, nil
	}
	return &shapedRelease{spec, m, b}, err
}

// bestShape tries exponents from 2, normal noise, down as long as the loss falls.
func (c *calibration) bestShape(ctx context.Context) (*calibrated, error) {
	best, err := c.shaped(ctx, 2)
	if err != nil || c.noise == noiseGaussian {
		return best, err
	}
	for _, exponent := range []float64{1.75, 1.5, 1.25} {
		next, err := c.shaped(ctx, exponent)
		if err != nil || next.found.Loss >= best.found.Loss {
			break
		}
		best = next
	}
	return best, nil
}

// shapeName names the noise chosen.
func (c *calibration) shapeName() string {
	if c.noise == noisePower {
		return fmt.Sprintf("%s, exponent %g", c.noise, c.exponent)
	}
	return c.noise
}

// failure is what a calibration that found nothing says.
func (c *calibration) failure(err error) error {
	var f *shell.Failure
	if errors.As(err, &f) || errors.Is(err, context.Canceled) {
		return err
	}
	return shell.BadInput("noisewright calibrate --help", err)
}

// compare computes the alternatives.
func (c *calibration) compare(ctx context.Context) {
	keepLimit := c.limit
	defer func() { c.limit = keepLimit }()
	k := float64(c.releases)
	if _, loss, err := c.designer(max(coarseGap, c.options.Gap))(ctx, c.problem.Epsilon/k, c.problem.Delta/k); err == nil {
		c.basic = loss
	}
	c.laplace = c.laplaceLoss(ctx)
	c.gaussian = c.gaussianLoss(c.releases)
	if gaussianApplies(c.problem) && !math.IsNaN(c.gaussian) {
		c.crossover = c.findCrossover(ctx)
	}
}

// laplaceLoss is that of Laplace noise calibrated to the target.
func (c *calibration) laplaceLoss(ctx context.Context) float64 {
	r, err := account.Calibrate(ctx, c.target(), func(_ context.Context, epsilon, _ float64) (*account.PrivacyLossDistribution, float64, error) {
		m, err := account.Laplace(epsilon)
		if err != nil {
			return nil, 0, err
		}
		law, err := noise.NewLaplace(dp.Privacy{Epsilon: epsilon, Sensitivity: c.problem.Sensitivity})
		if err != nil {
			return nil, 0, err
		}
		loss, _, err := law.ExpectedLoss(c.problem.Loss)
		return m, loss, err
	}, account.CalibrateOptions{Shares: []float64{0}, Width: coarseWidth})
	if err != nil {
		return math.NaN()
	}
	return r.Loss
}

// gaussianLoss is that of Gaussian noise: so many releases are one with a
// sensitivity larger by the root of their number.
func (c *calibration) gaussianLoss(releases int) float64 {
	p := c.problem.Privacy
	p.Sensitivity *= math.Sqrt(float64(releases))
	law, err := noise.NewAnalyticGaussian(p)
	if err != nil {
		return math.NaN()
	}
	loss, _, err := law.ExpectedLoss(c.problem.Loss)
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
		r, err := account.Calibrate(ctx, other.target(), other.designer(max(coarseGap, c.options.Gap)), account.CalibrateOptions{Shares: []float64{0.5}, Width: coarseWidth})
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
		Schema: shell.Schema, Releases: c.releases, Epsilon: c.problem.Epsilon, Delta: c.problem.Delta,
		EpsilonComposed: c.found.Composed.Upper, EpsilonLower: c.found.Composed.Lower,
		ReleaseEpsilon: c.found.Epsilon, ReleaseDelta: c.found.Delta,
		Sensitivity: c.problem.Sensitivity, Loss: c.problem.Loss.Name(),
		Noise: c.noise, Exponent: c.exponent, ExpectedLoss: json.Number(c.table.Certificate().Claims().ExpectedLoss),
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

func (c *calibration) rows(out string) []shell.Row {
	p := c.problem
	claims := c.table.Certificate().Claims()
	rows := []shell.Row{
		{"releases", fmt.Sprint(c.releases)},
		{"total", fmt.Sprintf("epsilon %v, delta %v (composed epsilon: %s)", p.Epsilon, p.Delta, shell.DigitsUp(c.found.Composed.Upper))},
		{"each", fmt.Sprintf("epsilon %v, delta %v", c.found.Epsilon, c.found.Delta)},
		{"sensitivity", fmt.Sprint(p.Sensitivity)},
		{"loss", shell.LossUnit(p.Loss)},
	}
	rows = append(rows, shell.QueryRows(p.Query, p.Step, p.Constraints)...)
	rows = append(rows,
		shell.Row{"noise", c.shapeName()},
		shell.Row{"expected loss", claims.ExpectedLoss},
	)
	if c.noise == noiseDesigned {
		rows = append(rows, shell.Row{"gap", shell.Percent(shell.GapOf(c.table.Certificate())) + ", of noise for a release of this epsilon and delta"})
	}
	designed := c.found.Loss
	free := "" // what the alternatives are free of
	if !p.Constraints.None() {
		free = ", without the constraints"
	}
	for _, other := range []struct {
		name, note string
		loss       float64
	}{
		{"basic", "designed for an equal part of epsilon and delta", c.basic},
		{"laplace", "Laplace noise for the same total" + free, c.laplace},
		{"gaussian", "Gaussian noise for the same total" + free, c.gaussian},
	} {
		if math.IsNaN(other.loss) || c.releases == 1 && other.name == "basic" || other.name == c.noise {
			continue
		}
		against := shell.Percent(math.Abs(other.loss/designed-1)) + " above the table's"
		switch ratio := other.loss / designed; {
		case math.Abs(ratio-1) < 1e-4:
			against = "the same as the table's"
		case ratio < 1:
			against = shell.Percent(1-ratio) + " below the table's"
		}
		rows = append(rows, shell.Row{other.name, fmt.Sprintf("%.6g, %s: %s", other.loss, against, other.note)})
	}
	switch {
	case c.crossover > 0:
		rows = append(rows, shell.Row{"crossover", fmt.Sprintf("from about %d releases on, Gaussian noise has a smaller loss than designed noise at this total", c.crossover)})
	case c.unavailable:
		rows = append(rows, shell.Row{"designed", highs.ErrUnavailable.Error()})
	case gaussianApplies(p):
		rows = append(rows, shell.Row{"crossover", "not found"})
	}
	if out != "" {
		rows = append(rows, shell.Row{"table", out})
	}
	return rows
}
