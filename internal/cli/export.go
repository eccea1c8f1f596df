package cli

import (
	"encoding/hex"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/sampler"
)

// maxGolden bounds the draws of an export, which are held in memory.
const maxGolden = 1 << 22

// defaultSeed is the seed of exported draws: 00 01 02 … 1f.
const defaultSeed = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

func newExportCommand(a *shell.Streams) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "export TABLE [-o FILE]",
		Short: "Write a table's probabilities and test draws for other implementations",
		Long: `Verify a table and write, as one JSON object, what an implementation in another
language needs to check itself: the exact probability of every cell, the delta of
every shift at the table's epsilon, and the draws that a stated deterministic
stream of random words leads to.

The draws are for comparison only: who knows their seed knows them.`,
		Example: `  noisewright export table.json -o export.json
  noisewright export table.json --draws 10`,
		Args:              shell.OneArgument("TABLE"),
		ValidArgsFunction: completeFiles("json"),
	}
	draws := shell.NewText(cmd, "draws", "count", fmt.Sprint(sampler.GoldenDraws), "number of draws")
	seedText := shell.NewText(cmd, "seed", "hex", defaultSeed, "seed of the draws, 32 bytes in hexadecimal")
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write, - for standard output (default -)")
	_ = cmd.MarkFlagFilename("output", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var f shell.Fields
		n := f.Integer("draws", draws, fmt.Sprintf("an integer from 0 to %d", maxGolden), 0, maxGolden)
		seed, err := hex.DecodeString(seedText.Value)
		if err != nil || len(seed) != 32 {
			f.Bad("seed", seedText, "64 hexadecimal digits")
		}
		if err := f.Err(cmd); err != nil {
			return err
		}
		v, err := a.ReadSound(args[0])
		if err != nil {
			return err
		}
		e, err := sampler.NewExport(v, [32]byte(seed), int(n))
		if err != nil {
			return err
		}
		w, err := a.Create(out, args[0])
		if err != nil {
			return err
		}
		defer w.Discard()
		if err := e.Encode(w); err != nil {
			return err
		}
		return w.Commit()
	}
	return cmd
}
