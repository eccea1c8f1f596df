// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/proof"
)

func newLocalCommand(s *shell.Streams) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "local COMMAND",
		Short: "Answer values on devices: design, privatize, interval",
		Long: `Where nobody is trusted with a value, its owner's device sends an answer in its place,
from which any two values are indistinguishable: local differential privacy. Three
commands lead from values on devices to a result:

  design     once, the law of the answers to a range of numbers, to integers or to categories
  privatize  on each device, or on a file of values, draw the answers
  interval   from the answers alone, the mean of the values or the shares of categories,
             with an interval

compare shows beforehand what there is to gain over the published mechanisms. The file
of a randomizer is one for noisewright verify, plot, sample, account and export too.

If you may see the data, noisewright release has far less noise: it is added once, to the
result, and not to every value.`,
		Example: `  noisewright local design --range 0,60 --epsilon 2 --delta 0 --loss l2 --unbiased --objective worst -o hours.json
  noisewright local privatize hours.json --column hours people.csv -o answers.csv
  noisewright local interval hours.json --column hours answers.csv`,
	}, "command", newLocalDesignCommand(s), newLocalPrivatizeCommand(s), newLocalIntervalCommand(s), newLocalCompareCommand(s))
}

// newLocalPrivatizeCommand is privatize with what there is to say of a randomizer, whose file has
// the range.
func newLocalPrivatizeCommand(s *shell.Streams) *cobra.Command {
	o := &privatizeOptions{Common: shell.Common{Streams: s}, local: true}
	c := o.command(&cobra.Command{
		Use:   "privatize RANDOMIZER --column NAME IN.csv",
		Short: "Answer a column of values by a local randomizer",
		Long: `Verify a local randomizer, and replace every value of a column of a CSV file by an
answer that is drawn for it. Numbers are clipped to the randomizer's range, and
categories have to be its own. Everything else keeps its bytes: the header, other
columns, line ends. The file may be one row on a device, or larger than memory.

A column of categories needs no file: --categories red,green,blue --epsilon 2 answers
each by randomized response. The categories are those that you declare: those found in
private data would tell about it.

Each answer is (epsilon, delta)-private by itself. Other columns are not protected, and
every further run on the same data spends epsilon and delta again.

noisewright privatize --help tells of several columns, of compressed and of missing
data, and of noise that is added.`,
		Example: `  noisewright local privatize hours.json --column hours people.csv -o answers.csv
  noisewright local privatize --column color --categories red,green,blue --epsilon 2 in.csv -o out.csv`,
	})
	for _, name := range []string{"lower", "upper", "unclipped", "constant-time"} { // of tables
		_ = c.Flags().MarkHidden(name)
	}
	return c
}

const wantRandomizer = shell.Want("a file made by local design, or --categories")

// readFor reads the file of a mechanism for a command, which of noisewright local is for
// randomizers only.
func readFor(s *shell.Streams, command, path string, randomizer bool) (proof.Mechanism, error) {
	made, err := s.ReadAny(path)
	if err != nil || !randomizer {
		return made, err
	}
	if made.Privacy().Sensitivity == 0 { // it promises that any two inputs are alike
		return made, nil
	}
	return made, shell.BadInput("noisewright "+command+" --help", fmt.Errorf("%s is %s, want a local randomizer, made by local design", shell.InputName(path), made.Form().Noun))
}
