package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/internal/figure"
	"github.com/noisewright/noisewright/lp"
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

func newDesignCommand(a *shell.Streams) *cobra.Command {
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

` + shell.LossHelp(),
		Example: `  noisewright design --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l1 -o table.json
  noisewright design --epsilon 0.5 --delta 1e-9 --sensitivity 100 --loss l2 --gap 0.01 --time-limit 5m --json
  noisewright design --epsilon 1 --delta 1e-6 --sensitivity 5 --loss l1 --support integer --unbiased -o count.json
  noisewright design --epsilon 1 --delta 0.01 --sensitivity 1 --trade l1,exceed:3 --points 20 -o front.csv --plot front.svg`,
		Args: shell.NoArguments,
	}
	problemFlags := shell.NewProblemFlags(cmd, true)
	effort := shell.NewEffortFlags(cmd)
	tradeFlags := newTradeFlags(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "table file to write, CSV file with --trade, - for standard output (default none)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object instead of the summary")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress and no summary")
	_ = cmd.MarkFlagFilename("output", "json", "csv")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var f shell.Fields
		t, trading := tradeFlags.read(&f)
		p := problemFlags.Read(&f, trading)
		o := effort.Read(&f)
		if asJSON && out == "-" {
			f.Add("output = - and --json, want only one of them on standard output")
		}
		if err := f.Err(cmd); err != nil {
			return err
		}
		if trading {
			return tradeOff(a, cmd, p, t, o, out, tradeFlags.plot, asJSON, quiet)
		}
		var w *shell.Output
		if out != "" { // before the work, which would be lost
			var err error
			if w, err = a.Create(out); err != nil {
				return err
			}
			defer w.Discard()
		}
		if !quiet {
			line := a.NewProgress()
			defer line.Clear()
			o.Progress = line.Show
		}
		r, limit, err := shell.Design(cmd.Context(), p, o)
		if err != nil {
			return err
		}
		if w != nil {
			if err := r.Table.Table().Encode(w); err != nil {
				return err
			}
			if err := w.Commit(); err != nil {
				return err
			}
		}
		switch {
		case asJSON:
			err = shell.PrintJSON(a.Out, newDesignReport(r))
		case !quiet && out != "-":
			err = shell.PrintRows(a.Out, designRows(r, p, out))
		}
		if err != nil {
			return err
		}
		return limit
	}
	return cmd
}

func newDesignReport(r *lp.Result) designReport {
	t, c := r.Table.Table(), r.Table.Certificate()
	privacy := t.Privacy()
	return designReport{
		Schema:              shell.Schema,
		Epsilon:             privacy.Epsilon,
		Delta:               privacy.Delta,
		Sensitivity:         privacy.Sensitivity,
		Loss:                t.Loss().Name(),
		Query:               t.Query(),
		Step:                latticeStep(t),
		Constraints:         t.Problem().Constraints,
		ExpectedLoss:        json.Number(c.Claims().ExpectedLoss),
		LowerBound:          json.Number(c.Claims().LowerBound),
		Gap:                 shell.Finite(r.Gap),
		DeltaCertified:      c.Claims().Delta,
		Cells:               t.Cells(),
		CellsPerSensitivity: t.Grid().CellsPerSensitivity,
		Rounds:              r.Rounds,
		Seconds:             math.Round(r.Elapsed.Seconds()*1000) / 1000,
		Status:              status(r.Optimal),
	}
}

func designRows(r *lp.Result, p dp.Problem, out string) []shell.Row {
	t, c := r.Table.Table(), r.Table.Certificate()
	rows := []shell.Row{
		{"epsilon", fmt.Sprint(p.Epsilon)},
		{"delta", fmt.Sprintf("%v (certified: %s)", p.Delta, c.Claims().Delta)},
		{"sensitivity", fmt.Sprint(p.Sensitivity)},
		{"loss", shell.LossUnit(p.Loss)},
	}
	rows = append(rows, shell.QueryRows(p.Query, p.Step, p.Constraints)...)
	rows = append(rows, []shell.Row{
		{"expected loss", c.Claims().ExpectedLoss},
		{"lower bound", c.Claims().LowerBound},
		{"gap", shell.Percent(r.Gap)},
		{"cells", fmt.Sprintf("%d, %d per sensitivity", t.Cells(), t.Grid().CellsPerSensitivity)},
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
		rows = append(rows, shell.Row{m.Name, fmt.Sprintf("%.6g, %s %s the table's%s", *m.Loss, shell.Percent(math.Abs(*m.Loss/designed-1)), side, unheld(p))})
	}
	if out != "" {
		rows = append(rows, shell.Row{"table", out})
	}
	return rows
}

// references are the classical mechanisms that a summary names.
func references(p dp.Problem) []contender {
	var out []contender
	for _, b := range noise.Baselines() {
		if figure.Compared(b.Name) && figure.Suits(b.Name, p.Query) {
			out = append(out, newContender(b, p))
		}
	}
	if p.Query == dp.IntegerQuery {
		out = append(out, newDiscreteStaircase(p))
	}
	return out
}

// status is the word for a design that reached its gap or did not.
func status(optimal bool) string {
	if optimal {
		return "optimal"
	}
	return "limit"
}
