// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/report"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/cmd/internal/theorem"
	"github.com/noisewright/noisewright/proof"
)

type verifyOptions struct {
	shell.Common
	file  string
	limit time.Duration
}

func newVerifyCommand(s *shell.Streams) *cobra.Command {
	o := &verifyOptions{Common: shell.Common{Streams: s}}
	f := shell.NewFlags(&cobra.Command{
		Use:   "verify TABLE",
		Short: "Check a table's claims in exact arithmetic",
		Long: `Recompute, in exact arithmetic and from nothing but the weights, the grid and
the multipliers in the file, the delta of the table (rounded up), its expected
loss (rounded up) and the lower bound on every other noise's loss (rounded
down), and hold every claim of the file against them, those that the noise is
symmetric, bounded or restricted otherwise included.

A table made by calibrate claims a total, epsilon and delta of several releases
together. That is proved by exact composition, as account does it; a total that is
not proved is a false claim. Its epsilon and delta of one release are then only a
point of what it keeps.

For a kernel it also recomputes the largest loss of a query value, and the delta
and the bound are about its range of query values. For an additive kernel that is the
largest loss of a cell, and the bound is about noise that depends on the same cells.
For a local randomizer it recomputes the losses on average and of the worst value, and the
bias of its answers, and the bound is about one of the losses, as it says.

For each claim that holds it names the theorem of proofs/ that Coq proves of the file,
if "noisewright certificate --coq" writes it, or says that it is not machine-checked
and why. This command itself does not run Coq.

TABLE is a table, kernel or local randomizer file, or - for standard input. The exit
code is 0 if every claim holds, 3 if one is false, 2 if the file is malformed, and 4 if
the check did not end within --time-limit: the file is then not checked, which says
nothing about it. Other commands refuse a file whose check takes more than some ten
seconds.

With --json, "gap" is null where the lower bound is 0 or the noise is not private,
"worst_shift" is in cells, "step" is null unless values are published on the
integers or in steps, "total" is there only if the table claims one and is private,
with the composed "epsilon_upper" at its delta, "theorems" only if every claim holds,
and "error" only if one is false. "valid" is null if the file is not checked.`,
		Example: `  noisewright verify table.json
  noisewright verify --json table.json`,
	})
	f.TableArgument(&o.file, "TABLE", 0, 0)
	f.Require(&o.file, "TABLE", "a table file")
	f.CheckLimit(&o.limit)
	f.Verdict(&o.Common, "no progress and no summary")
	return f.Run(o.run)
}

func (o *verifyOptions) run(ctx context.Context) error {
	made, err := o.ReadAny(o.file)
	if err != nil {
		return err
	}
	o.Progress().Watch("verifying")
	f := report.Finding{Mechanism: made}
	var stopped error
	f.Falsehood, stopped = shell.Within(ctx, o.file, o.limit, func(ctx context.Context) (err error) {
		if f.Proven, err = made.Prove(ctx, proof.Options{Work: math.MaxInt64}); err == nil {
			f.Total, err = report.ProveTotal(f.Proven)
		}
		return err
	})
	if stopped != nil {
		return o.NotChecked(stopped)
	}
	a := about(f)
	rows := append([]shell.Row{{"verdict", judgement(f.Falsehood)}}, a.Rows...)
	var claims []theorem.Claim // of a false claim there is no theorem
	if f.Falsehood == nil {
		claims = theorem.Claims(made)
	}
	for _, c := range claims {
		rows = append(rows, shell.Row{"theorem", c.Text()})
	}
	object := shell.Object{
		"valid", f.Falsehood == nil, a.Problem, f.Total.Part(), a.Certified, a.Size, a.Worst,
		shell.If(claims != nil, "theorems", claims), shell.ErrorPart(f.Falsehood),
	}
	err = o.Print(object, rows)
	if f.Falsehood != nil {
		return shell.Negative("", fmt.Errorf("%s: %w", shell.InputName(o.file), f.Falsehood))
	}
	return err
}

func judgement(falsehood error) string {
	switch {
	case errors.Is(falsehood, proof.ErrNotPrivate):
		return "INVALID: not private as claimed"
	case falsehood != nil:
		return "INVALID: a claim is false"
	default:
		return "valid: every claim holds"
	}
}
