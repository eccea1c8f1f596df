package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
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

TABLE is a table, kernel or local randomizer file, or - for standard input. The exit
code is 0 if every claim holds, 3 if one is false, 2 if the file is malformed, and 4 if
the check did not end within --time-limit: the file is then not checked, which says
nothing about it. Other commands refuse a file whose check takes more than some ten
seconds.

With --json, "gap" is null where the lower bound is 0 or the noise is not private,
"worst_shift" is in cells, "step" is null unless values are published on the
integers or in steps, "total" is there only if the table claims one and is private,
with the composed "epsilon_upper" at its delta, and "error" only if a claim is
false. "valid" is null if the file is not checked.`,
		Example: `  noisewright verify table.json
  noisewright verify --json table.json`,
	})
	f.TableArgument(&o.file)
	f.CheckLimit(&o.limit)
	f.Verdict(&o.Common, "no progress and no summary")
	return f.Run(o.run)
}

// verdict is what verify --json prints.
type verdict struct {
	Schema int  `json:"schema"`
	Valid  bool `json:"valid"`
	statement
	Total *total `json:"total,omitempty"`
	certified
	Cells      int     `json:"cells"`
	WorstShift int     `json:"worst_shift"`
	TailRatio  float64 `json:"tail_ratio,omitempty"` // of a period of the tail to the one before
	Error      string  `json:"error,omitempty"`
}

// kernelVerdict is what verify --json prints for a kernel.
type kernelVerdict struct {
	Schema int  `json:"schema"`
	Valid  bool `json:"valid"`
	kernelStatement
	certified
	Nodes      int    `json:"nodes"`
	WorstCells [2]int `json:"worst_cells"`
	Error      string `json:"error,omitempty"`
}

// additiveVerdict is what verify --json prints for an additive kernel.
type additiveVerdict struct {
	Schema int  `json:"schema"`
	Valid  bool `json:"valid"`
	additiveStatement
	certified
	Bins       int    `json:"bins"`
	WorstCells [2]int `json:"worst_cells"`
	Error      string `json:"error,omitempty"`
}

// localVerdict is what verify --json prints for a local randomizer.
type localVerdict struct {
	Schema int  `json:"schema"`
	Valid  bool `json:"valid"`
	localStatement
	certifiedLocal
	WorstNodes [2]int `json:"worst_nodes"`
	Error      string `json:"error,omitempty"`
}

// unchecked is what verify --json and latent verify --json print if the check was given up.
type unchecked struct {
	Schema int    `json:"schema"`
	Valid  *bool  `json:"valid"` // null
	Error  string `json:"error"`
}

// giveUp prints that something is not checked, unless the command was interrupted.
func giveUp(c *shell.Common, stopped error) error {
	if f := new(shell.Failure); !errors.As(stopped, &f) {
		return stopped
	}
	u := unchecked{Schema: shell.Schema, Error: shell.Sentence(stopped)}
	if err := c.Print(u, []shell.Row{{"verdict", "not checked"}}); err != nil {
		return err
	}
	return stopped
}

func (o *verifyOptions) run(ctx context.Context) error {
	made, err := o.ReadAny(o.file)
	if err != nil {
		return err
	}
	o.Progress().Watch("verifying")
	var checked func(context.Context) error
	var found func(falsehood error) (report any, rows []shell.Row)
	switch made := made.(type) {
	case *tables.Table:
		checked, found = verifyTable(made)
	case *kernels.Kernel:
		checked, found = verifyKernel(made)
	case *cells.Kernel:
		checked, found = verifyAdditive(made)
	case *local.Randomizer:
		checked, found = verifyRandomizer(made)
	}
	falsehood, stopped := shell.Within(ctx, o.file, o.limit, checked)
	if stopped != nil {
		return giveUp(&o.Common, stopped)
	}
	report, rows := found(falsehood)
	err = o.Print(report, append([]shell.Row{{"verdict", judgement(falsehood)}}, rows...))
	if falsehood != nil {
		return shell.Negative("", fmt.Errorf("%s: %w", shell.InputName(o.file), falsehood))
	}
	return err
}

// verifyTable returns how a table is verified, and what is then said of it.
func verifyTable(t *tables.Table) (func(context.Context) error, func(error) (any, []shell.Row)) {
	var whole *total
	checked := func(ctx context.Context) (err error) {
		whole, err = verifyWhole(ctx, t)
		return err
	}
	return checked, func(falsehood error) (any, []shell.Row) {
		c := t.Certify()
		return newVerdict(t, c, whole, falsehood), certifiedRows(t, c, whole, falsehood)
	}
}

func verifyKernel(k *kernels.Kernel) (func(context.Context) error, func(error) (any, []shell.Row)) {
	checked := func(ctx context.Context) error {
		_, err := proof.Verify(ctx, k, proof.Options{Work: math.MaxInt64})
		return err
	}
	return checked, func(falsehood error) (any, []shell.Row) {
		c := k.Certify()
		report := kernelVerdict{shell.Schema, falsehood == nil, newKernelStatement(k), newCertifiedKernel(c).held(falsehood), k.Cells(), c.Worst, failing(falsehood)}
		return report, certifiedKernelRows(k, c, falsehood)
	}
}

func verifyAdditive(k *cells.Kernel) (func(context.Context) error, func(error) (any, []shell.Row)) {
	checked := func(ctx context.Context) error {
		_, err := proof.Verify(ctx, k, proof.Options{Work: math.MaxInt64})
		return err
	}
	return checked, func(falsehood error) (any, []shell.Row) {
		c := k.Certify()
		report := additiveVerdict{shell.Schema, falsehood == nil, newAdditiveStatement(k), newCertifiedAdditive(c).held(falsehood), k.Bins(), [2]int{c.Worst.Gain, c.Worst.Lose}, failing(falsehood)}
		return report, certifiedAdditiveRows(k, c, falsehood)
	}
}

func verifyRandomizer(r *local.Randomizer) (func(context.Context) error, func(error) (any, []shell.Row)) {
	checked := func(ctx context.Context) error {
		_, err := proof.Verify(ctx, r, proof.Options{Work: math.MaxInt64})
		return err
	}
	return checked, func(falsehood error) (any, []shell.Row) {
		c, s := r.Certify(), r.Spec()
		report := localVerdict{shell.Schema, falsehood == nil, newLocalStatement(&s), newCertifiedLocal(&s, c).held(falsehood), c.WorstPair, failing(falsehood)}
		return report, certifiedLocalRows(&s, c, falsehood)
	}
}

// verifyWhole verifies a table, and the total that it claims.
func verifyWhole(ctx context.Context, t *tables.Table) (*total, error) {
	v, err := proof.Verify(ctx, t, proof.Options{Work: math.MaxInt64})
	if err != nil {
		return nil, err
	}
	return proveTotal(v)
}

func newVerdict(t *tables.Table, c tables.Certificate, whole *total, falsehood error) verdict {
	v := verdict{
		Schema: shell.Schema, Valid: falsehood == nil, statement: newStatement(t), Total: whole, certified: newCertified(c).held(falsehood),
		Cells: t.Cells(), WorstShift: c.WorstShift, TailRatio: tailRatio(t), Error: failing(falsehood),
	}
	return v
}

// failing says what claim is false, "" if none is.
func failing(falsehood error) string {
	if falsehood == nil {
		return ""
	}
	return shell.Sentence(falsehood)
}
