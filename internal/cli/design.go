package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/noise"
)

// designReport is what design --json prints.
type designReport struct {
	Schema              int            `json:"schema"`
	Epsilon             float64        `json:"epsilon"`
	Delta               float64        `json:"delta"`
	Sensitivity         float64        `json:"sensitivity"`
	Loss                string         `json:"loss"`
	Query               dp.Query       `json:"query"`
	Step                *float64       `json:"step"`
	Constraints         dp.Constraints `json:"constraints"`
	ExpectedLoss        json.Number    `json:"expected_loss"`
	LowerBound          json.Number    `json:"lower_bound"`
	Gap                 *float64       `json:"gap"`
	DeltaCertified      string         `json:"delta_certified"`
	Cells               int            `json:"cells"`
	CellsPerSensitivity int            `json:"cells_per_sensitivity"`
	Rounds              int            `json:"rounds"`
	Seconds             float64        `json:"seconds"`
	Status              string         `json:"status"`
}

func newDesignCommand(a *app) *cobra.Command {
	var (
		out           string
		asJSON, quiet bool
	)
	cmd := &cobra.Command{
		Use:   "design --epsilon E --delta D --sensitivity S --loss LOSS [-o TABLE]",
		Short: "Design the noise of least expected loss",
		Long: `Find additive noise that makes a query (epsilon, delta)-differentially private
with an expected loss within the requested gap of the least possible, and write
it as a table together with the proof of both.

If a limit is hit first, the best proven table is written, the gap it reached is
printed, and the exit code is 4. Every number printed was recomputed in exact
arithmetic: the expected loss and delta are rounded up, the lower bound down.

The noise may be restricted further (--symmetric, --monotone, --unbiased,
--support, --max-variance, --quantile, --max-distinguishing); the lower bound is
then about noise that keeps the same restrictions. --support integer is for
queries with integer values: the noise is the best on the integers. --output-step
publishes multiples of a number, and the noise is the best on these multiples.

With --trade A,B --points N it designs for weighted sums of two losses, and prints
the front between them: each design's weights, its exact expectation of either
loss, rounded up, and the lower bound on its weighted sum. Designs that another
one beats in both losses are left out. -o then writes the front as CSV and --plot
draws it, with the bound; --loss with the weights printed,
as in --loss l1:0.7 --loss exceed:3:0.3, designs the table of one of its points.

Without -o no table is written. With --json, "gap" is null if there is no lower
bound above 0, and "status" is "optimal" (the gap was reached) or "limit".

` + lossHelp(),
		Example: `  noisewright design --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l1 -o table.json
  noisewright design --epsilon 0.5 --delta 1e-9 --sensitivity 100 --loss l2 --gap 0.01 --time-limit 5m --json
  noisewright design --epsilon 1 --delta 1e-6 --sensitivity 5 --loss l1 --support integer --unbiased -o count.json
  noisewright design --epsilon 1 --delta 0.01 --sensitivity 1 --trade l1,exceed:3 --points 20 -o front.csv --plot front.svg`,
		Args: noArguments,
	}
	problemFlags := newProblemFlags(cmd, true)
	effort := newEffortFlags(cmd)
	tradeFlags := newTradeFlags(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "table file to write, CSV file with --trade, - for standard output (default none)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object instead of the summary")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress and no summary")
	_ = cmd.MarkFlagFilename("output", "json", "csv")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var f fields
		t, trading := tradeFlags.read(&f)
		p := problemFlags.read(&f, trading)
		o := effort.read(&f)
		if asJSON && out == "-" {
			f.add("output = - and --json, want only one of them on standard output")
		}
		if err := f.err(cmd); err != nil {
			return err
		}
		if trading {
			return a.trade(cmd, p, t, o, out, tradeFlags.plot, asJSON, quiet)
		}
		var w *output
		if out != "" { // before the work, which would be lost
			var err error
			if w, err = a.create(out); err != nil {
				return err
			}
			defer w.discard()
		}
		if !quiet {
			line := a.newProgress()
			defer line.clear()
			o.Progress = line.show
		}
		r, limit, err := design(cmd.Context(), p, o)
		if err != nil {
			return err
		}
		if w != nil {
			if err := r.Table.Encode(w); err != nil {
				return err
			}
			if err := w.commit(); err != nil {
				return err
			}
		}
		switch {
		case asJSON:
			err = printJSON(a.stdout, newDesignReport(r))
		case !quiet && out != "-":
			err = printRows(a.stdout, designRows(r, p, out))
		}
		if err != nil {
			return err
		}
		return limit
	}
	return cmd
}

// design runs a design. A limit that left a proven table is not an error.
func design(ctx context.Context, p dp.Problem, o lp.Options) (r *lp.Result, limit, err error) {
	r, err = lp.Design(ctx, p, o)
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err == nil:
		return r, nil, nil
	case errors.Is(err, highs.ErrUnavailable):
		return nil, nil, &failure{code: exitFailure, err: highs.ErrUnavailable, hint: "verify, sample, privatize, compare, plot, account, latent and calibrate --noise gaussian work without it"}
	case errors.Is(err, dp.ErrInvalid):
		return nil, nil, badInput("noisewright design --help", err)
	case errors.Is(err, lp.ErrInfeasible):
		return nil, nil, badInput("looser constraints, or a larger --epsilon or --delta", err)
	case errors.Is(err, lp.ErrLimit) && r != nil:
		reached := "a gap of " + percent(r.Gap)
		if math.IsInf(r.Gap, 0) {
			reached = "no lower bound"
		}
		text := fmt.Sprintf("stopped with %s, a gap of %s was requested; the table is proven and usable", reached, percent(o.Gap))
		if s := sentence(err); !strings.HasPrefix(s, lp.ErrLimit.Error()) {
			text += ": " + s
		}
		hint := "more time (--time-limit), more cells (--max-cells) or a larger gap (--gap)"
		if errors.Is(err, lp.ErrTooFine) {
			hint = "no option helps: at so large an epsilon only a smaller one has a smaller gap"
		}
		return r, &failure{code: exitLimit, err: errors.New(text), hint: hint}, nil
	case errors.Is(err, lp.ErrLimit):
		return nil, nil, &failure{code: exitBadInput, err: err, hint: "a larger --epsilon or --delta, or more cells (--max-cells)"}
	default:
		return nil, nil, err
	}
}

func newDesignReport(r *lp.Result) designReport {
	privacy, c := r.Table.Privacy(), r.Certificate
	return designReport{
		Schema:              schema,
		Epsilon:             privacy.Epsilon,
		Delta:               privacy.Delta,
		Sensitivity:         privacy.Sensitivity,
		Loss:                r.Table.Loss().Name(),
		Query:               r.Table.Query(),
		Step:                latticeStep(r.Table),
		Constraints:         r.Table.Problem().Constraints,
		ExpectedLoss:        json.Number(c.Claims().ExpectedLoss),
		LowerBound:          json.Number(c.Claims().LowerBound),
		Gap:                 finite(r.Gap),
		DeltaCertified:      c.Claims().Delta,
		Cells:               r.Table.Cells(),
		CellsPerSensitivity: r.Table.Grid().CellsPerSensitivity,
		Rounds:              r.Rounds,
		Seconds:             math.Round(r.Elapsed.Seconds()*1000) / 1000,
		Status:              status(r.Optimal),
	}
}

func designRows(r *lp.Result, p dp.Problem, out string) []row {
	c := r.Certificate
	rows := []row{
		{"epsilon", fmt.Sprint(p.Epsilon)},
		{"delta", fmt.Sprintf("%v (certified: %s)", p.Delta, c.Claims().Delta)},
		{"sensitivity", fmt.Sprint(p.Sensitivity)},
		{"loss", lossUnit(p.Loss)},
	}
	rows = append(rows, queryRows(p.Query, p.Step, p.Constraints)...)
	rows = append(rows, []row{
		{"expected loss", c.Claims().ExpectedLoss},
		{"lower bound", c.Claims().LowerBound},
		{"gap", percent(r.Gap)},
		{"cells", fmt.Sprintf("%d, %d per sensitivity", r.Table.Cells(), r.Table.Grid().CellsPerSensitivity)},
		{"effort", fmt.Sprintf("%d rounds, %s", r.Rounds, r.Elapsed.Round(time.Millisecond))},
	}...)
	designed, _ := c.ExpectedLoss.Float64()
	for _, m := range references(p) {
		if m.Loss == nil {
			continue
		}
		side := "above"
		if *m.Loss < designed {
			side = "below"
		}
		rows = append(rows, row{m.Name, fmt.Sprintf("%.6g, %s %s the table's%s", *m.Loss, percent(math.Abs(*m.Loss/designed-1)), side, unheld(p))})
	}
	if out != "" {
		rows = append(rows, row{"table", out})
	}
	return rows
}

// references are the classical mechanisms that a summary names.
func references(p dp.Problem) []contender {
	var out []contender
	for _, b := range noise.Baselines() {
		if _, drawn := overlays[b.Name]; drawn && suits(b.Name, p.Query) {
			out = append(out, newContender(b, p))
		}
	}
	if p.Query == dp.IntegerQuery {
		out = append(out, newDiscreteStaircase(p))
	}
	return out
}
