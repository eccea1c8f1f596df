// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

// maxGolden bounds the draws of an export, which are held in memory.
const maxGolden = 1 << 22

// defaultSeed is the seed of exported draws: 00 01 02 … 1f.
const defaultSeed = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

type exportOptions struct {
	shell.Common
	table string
	draws int
	seed  [32]byte
}

func newExportCommand(s *shell.Streams) *cobra.Command {
	o := &exportOptions{Common: shell.Common{Streams: s}, draws: 1000}
	f := shell.NewFlags(&cobra.Command{
		Use:   "export TABLE [-o FILE]",
		Short: "Write a table's probabilities and test draws for other implementations",
		Long: `Verify a table and write, as one JSON object, what an implementation in another
language needs to check itself: the exact probability of every cell, the delta of
every shift at the table's epsilon, and the draws that a stated deterministic
stream of random words leads to. Of an additive kernel these are the bins of every
cell, and draws of each. Of a local randomizer they are the laws of its nodes, and
answers to values that are stated, and of a subset selection answers to categories.

The draws are for comparison only: who knows their seed knows them.`,
		Example: `  noisewright export table.json -o export.json
  noisewright export table.json --draws 10`,
	})
	f.TableArgument(&o.table, "TABLE", 0, 0)
	f.Require(&o.table, "TABLE", "a table file")
	f.Integer(&o.draws, "draws", "", 0, maxGolden, "number of draws")
	f.Func("seed", "hex", defaultSeed, "seed of the draws, 32 bytes in hexadecimal", func(text string) error {
		seed, err := hex.DecodeString(text)
		if err != nil || copy(o.seed[:], seed) != len(o.seed) || len(seed) != len(o.seed) {
			return shell.Want("64 hexadecimal digits")
		}
		return nil
	})
	f.Output(&o.Common, "file to write, - for standard output (default -)", "json")
	f.Quiet(&o.Common, "no progress")
	return f.Run(o.run)
}

func (o *exportOptions) run(ctx context.Context) error {
	o.Progress().Watch("exporting")
	made, err := o.ReadAny(o.table)
	if err != nil {
		return err
	}
	_, exported := made.(proof.Exporter)
	_, table := made.(*tables.Table)
	if !exported && !table {
		return shell.BadInput("", fmt.Errorf("%s is %s, want a table, an additive kernel, a local randomizer or a subset selection", shell.InputName(o.table), made.Form().Noun))
	}
	v, err := shell.Prove(ctx, o.table, made)
	if err != nil {
		return err
	}
	return o.WriteFile(o.Output, func(w io.Writer) error { return sampler.WriteExport(w, v, o.seed, o.draws) }, o.table)
}
