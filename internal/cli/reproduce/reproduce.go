package reproduce

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/cli/shell"
)

// NewCommand is the parent of one command per published table or
// figure.
func NewCommand(a *shell.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reproduce NAME",
		Short: "Compute a published table or figure again",
		Long: `Compute a published table or figure again, with proofs, and compare it with what
was published. Each NAME is a command of its own, with its own flags:
noisewright reproduce NAME --help.`,
		Example: `  noisewright reproduce dro-table1
  noisewright reproduce dro-table4 --gap 1e-4 -o results`,
		// A misspelt name is what to report, not the flags after it.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
	}
	for _, t := range droTables {
		cmd.AddCommand(newDROTableCommand(a, t))
	}
	for _, t := range droFigures {
		cmd.AddCommand(newDROFigureCommand(a, t))
	}
	cmd.AddCommand(newTAFigure3Command(a), newTAFigure4Command(a), newCompositionCommand(a))
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	want := "want " + strings.Join(names, ", ")
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("name = %s, %s", check.Quoted(args[0]), want)
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return shell.BadInput(cmd.CommandPath()+" --help", errors.New("name is missing, "+want))
	}
	return cmd
}
