// SPDX-License-Identifier: Apache-2.0

// Command papers computes published tables and figures again.
package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
)

func main() { os.Exit(shell.Main(newRootCommand, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func newRootCommand(a *shell.Streams, started func()) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "papers NAME",
		Short: "Compute a published table or figure again",
		Long: `Compute a published table or figure again, with proofs, and compare it with what
was published. Each NAME is a command of its own, with its own flags:
papers NAME --help.`,
		Example: `  papers dro-table1
  papers dro-table4 --gap 1e-4 -o results`,
		SilenceUsage:     true,
		SilenceErrors:    true,
		PersistentPreRun: func(*cobra.Command, []string) { started() },
		// A misspelt name is what to report, not the flags after it.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		CompletionOptions:  cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	return shell.Group(cmd, "name", slices.Concat(
		each(a, droTables, newDROTableCommand), each(a, droFigures, newDROFigureCommand), each(a, droLearnings, newDROLearningCommand),
		each(a, taFigures, newTATrainedCommand), each(a, minimaxFigures, newMinimaxFigureCommand), each(a, gridFigures, newMinimaxGridCommand), each(a, vlmFigures, newVLMFigureCommand),
		[]*cobra.Command{newVLMTable1Command(a), newTAFigure3Command(a), newTAFigure4Command(a), newDROHistogramCommand(a), newCompositionCommand(a), newLocalLossesCommand(a), newShareOraclesCommand(a), newShareIntervalsCommand(a), newDecisionsCommand(a), newOverviewCommand(a)},
	)...)
}

// each has the command of each row of a table.
func each[T any](a *shell.Streams, rows []T, command func(*shell.Streams, T) *cobra.Command) (out []*cobra.Command) {
	for _, row := range rows {
		out = append(out, command(a, row))
	}
	return out
}
