package shell

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/internal/check"
)

// Group completes a command that has others below it and does nothing itself. Its errors
// list them; what is the word for one.
func Group(cmd *cobra.Command, what string, below ...*cobra.Command) *cobra.Command {
	names := make([]string, len(below))
	for i, c := range below {
		names[i] = c.Name()
	}
	want := Want(oneOf(names...))
	cmd.AddCommand(below...)
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("%s = %s, %w", what, check.Quoted(args[0]), want)
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return BadInput(cmd.CommandPath()+" --help", About(what, "", want))
	}
	return cmd
}
