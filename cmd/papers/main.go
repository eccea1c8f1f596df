// Command papers computes published tables and figures again.
package main

import (
	"os"

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
	var below []*cobra.Command
	for _, t := range droTables {
		below = append(below, newDROTableCommand(a, t))
	}
	for _, t := range droFigures {
		below = append(below, newDROFigureCommand(a, t))
	}
	for _, t := range droLearnings {
		below = append(below, newDROLearningCommand(a, t))
	}
	for _, v := range taFigures {
		below = append(below, newTATrainedCommand(a, v))
	}
	for _, v := range minimaxFigures {
		below = append(below, newMinimaxFigureCommand(a, v))
	}
	for _, v := range vlmFigures {
		below = append(below, newVLMFigureCommand(a, v))
	}
	below = append(below, newVLMTable1Command(a), newTAFigure3Command(a), newTAFigure4Command(a), newDROHistogramCommand(a), newCompositionCommand(a), newLocalLossesCommand(a))
	return shell.Group(cmd, "name", below...)
}
