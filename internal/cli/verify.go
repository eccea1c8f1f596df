package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/tables"
)

// verdict is what verify --json prints.
type verdict struct {
	Schema         int            `json:"schema"`
	Valid          bool           `json:"valid"`
	Loss           string         `json:"loss"`
	Query          dp.Query       `json:"query"`
	Step           *float64       `json:"step"`
	Constraints    dp.Constraints `json:"constraints"`
	DeltaCertified string         `json:"delta_certified"`
	ExpectedLoss   json.Number    `json:"expected_loss"`
	LowerBound     json.Number    `json:"lower_bound"`
	Gap            *float64       `json:"gap"`
	Cells          int            `json:"cells"`
	WorstShift     int            `json:"worst_shift"`
	TailRatio      string         `json:"tail_ratio,omitempty"` // 2^64 times the factor of a period
	Error          string         `json:"error,omitempty"`
}

func newVerifyCommand(a *shell.Streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify TABLE",
		Short: "Check a table's claims in exact arithmetic",
		Long: `Recompute, in exact arithmetic and from nothing but the weights, the grid and
the multipliers in the file, the delta of the table (rounded up), its expected
loss (rounded up) and the lower bound on every other noise's loss (rounded
down), and hold every claim of the file against them, those that the noise is
symmetric, bounded or restricted otherwise included.

For a kernel it also recomputes the largest loss of a query value, and the delta
and the bound are about its range of query values.

TABLE is a table or kernel file, or - for standard input. The exit code is 0 if every claim
holds, 3 if one is false and 2 if the file is malformed.

With --json, "gap" is null where the lower bound is 0, "worst_shift" is in
cells, "step" is null unless values are published on the integers or a lattice,
and "error" is there only if a claim is false.`,
		Example: `  noisewright verify table.json
  noisewright verify --json table.json`,
		Args:              shell.OneArgument("TABLE"),
		ValidArgsFunction: completeFiles("json"),
		RunE: func(_ *cobra.Command, args []string) error {
			t, k, err := a.ReadEither(args[0])
			if err != nil {
				return err
			}
			if k != nil {
				return verifyKernel(a, args[0], k, asJSON)
			}
			c := t.Certify()
			_, falsehood := t.Verify()
			if asJSON {
				err = shell.PrintJSON(a.Out, newVerdict(t, c, falsehood))
			} else {
				err = shell.PrintRows(a.Out, verdictRows(t, c, falsehood))
			}
			if falsehood != nil {
				return shell.Negative("", fmt.Errorf("%s: %w", shell.InputName(args[0]), falsehood))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func newVerdict(t *tables.Table, c tables.Certificate, falsehood error) verdict {
	v := verdict{
		Schema:         shell.Schema,
		Valid:          falsehood == nil,
		Loss:           t.Loss().Name(),
		Query:          t.Query(),
		Step:           latticeStep(t),
		Constraints:    t.Problem().Constraints,
		DeltaCertified: c.Claims().Delta,
		ExpectedLoss:   json.Number(c.Claims().ExpectedLoss),
		LowerBound:     json.Number(c.Claims().LowerBound),
		Gap:            shell.Finite(shell.GapOf(c)),
		Cells:          t.Cells(),
		WorstShift:     c.WorstShift,
	}
	if r := t.TailRatio(); r != 0 {
		v.TailRatio = strconv.FormatUint(r, 10)
	}
	if falsehood != nil {
		v.Error = shell.Sentence(falsehood)
	}
	return v
}

func verdictRows(t *tables.Table, c tables.Certificate, falsehood error) []shell.Row {
	p := t.Privacy()
	rows := []shell.Row{
		{"verdict", judgement(falsehood)},
		{"epsilon", fmt.Sprint(p.Epsilon)},
		{"delta", fmt.Sprintf("%v promised, %s certified (worst shift, in cells: %d)", p.Delta, c.Claims().Delta, c.WorstShift)},
		{"sensitivity", fmt.Sprint(p.Sensitivity)},
		{"loss", shell.LossUnit(t.Loss())},
	}
	rows = append(rows, shell.QueryRows(t.Query(), t.Grid().Unit, t.Problem().Constraints)...)
	return append(rows, []shell.Row{
		{"expected loss", c.Claims().ExpectedLoss},
		{"lower bound", c.Claims().LowerBound},
		{"gap", shell.Percent(shell.GapOf(c))},
		{"cells", cellCount(t)},
	}...)
}

// latticeStep returns the step of the values published with a table, in query
// units; nil for a real-valued query, whose grid is as fine as needed.
func latticeStep(t *tables.Table) *float64 {
	if t.Query() == dp.RealQuery {
		return nil
	}
	step, _ := t.Grid().Step().Float64() // exact: the unit of a lattice, or 1
	return &step
}

// cellCount says how many cells a table has, and whether they have a tail.
func cellCount(t *tables.Table) string {
	if t.TailRatio() == 0 {
		return fmt.Sprint(t.Cells())
	}
	return fmt.Sprintf("%d, the first and last %d of which repeat for ever, %.6g times as likely in each period",
		t.Cells(), t.Grid().CellsPerSensitivity, float64(t.TailRatio())*0x1p-64)
}

// judgement is the verdict in words.
func judgement(falsehood error) string {
	switch {
	case errors.Is(falsehood, tables.ErrNotPrivate):
		return "INVALID: not private as claimed"
	case falsehood != nil:
		return "INVALID: a claim is false"
	default:
		return "valid: every claim holds"
	}
}

// completeFiles completes a first argument by files of the given extension.
func completeFiles(extension string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return []cobra.Completion{extension}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// kernelVerdict is what verify --json prints for a kernel.
type kernelVerdict struct {
	Schema         int         `json:"schema"`
	Valid          bool        `json:"valid"`
	DeltaCertified string      `json:"delta_certified"`
	ExpectedLoss   json.Number `json:"expected_loss"`
	MaxLoss        json.Number `json:"max_loss"`
	LowerBound     json.Number `json:"lower_bound"`
	Gap            *float64    `json:"gap"`
	Nodes          int         `json:"nodes"`
	WorstCells     [2]int      `json:"worst_cells"`
	Error          string      `json:"error,omitempty"`
}

// verifyKernel prints the verdict on a kernel.
func verifyKernel(a *shell.Streams, path string, k *kernels.Kernel, asJSON bool) error {
	c := k.Certify()
	_, falsehood := k.Verify()
	var err error
	if asJSON {
		claims := c.Claims()
		v := kernelVerdict{
			Schema:         shell.Schema,
			Valid:          falsehood == nil,
			DeltaCertified: claims.Delta,
			ExpectedLoss:   json.Number(claims.ExpectedLoss),
			MaxLoss:        json.Number(claims.MaxLoss),
			LowerBound:     json.Number(claims.LowerBound),
			Nodes:          k.Cells(),
			WorstCells:     c.Worst,
		}
		if gap, ok := c.Gap(); ok {
			v.Gap = shell.Finite(gap)
		}
		if falsehood != nil {
			v.Error = shell.Sentence(falsehood)
		}
		err = shell.PrintJSON(a.Out, v)
	} else {
		err = shell.PrintRows(a.Out, append([]shell.Row{{"verdict", judgement(falsehood)}}, kernelRows(k, c)...))
	}
	if falsehood != nil {
		return shell.Negative("", fmt.Errorf("%s: %w", shell.InputName(path), falsehood))
	}
	return err
}
