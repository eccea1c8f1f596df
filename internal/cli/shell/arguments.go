package shell

import (
	"fmt"

	"github.com/spf13/cobra"
)

// OneArgument accepts exactly one argument, called what in messages.
func OneArgument(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("%s is missing", what)
		case len(args) > 1:
			return fmt.Errorf("%d arguments, want only %s: %q is one too many", len(args), what, args[1])
		}
		return nil
	}
}

// NoArguments refuses arguments.
func NoArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	return nil
}
