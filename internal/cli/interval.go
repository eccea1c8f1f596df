package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/internal/cli/shell"
)

// intervalOptions is what interval is asked.
type intervalOptions struct {
	Table        string // path
	Value, Level float64
	JSON         bool
}

// intervalReport is what interval --json prints.
type intervalReport struct {
	Schema int     `json:"schema"`
	Value  float64 `json:"value"`
	Level  float64 `json:"level"`
	Lower  float64 `json:"lower"`
	Upper  float64 `json:"upper"`
}

func newIntervalCommand(a *shell.Streams) *cobra.Command {
	var o intervalOptions
	cmd := &cobra.Command{
		Use:   "interval --table TABLE VALUE",
		Short: "Say where the true value behind a noisy one may be",
		Long: `Verify a table and print a confidence interval for the true value behind VALUE, a
number that was released with noise from this table.

Over the noise, the interval contains the true value with a probability of at
least --level, and misses it on either side with at most half of the rest. This
follows exactly from the table's weights and its rounding of queries; the ends are
rounded outwards. The true value is the one that noise was added to: with
privatize --lower and --upper, the clipped one.

VALUE is a released value with all its digits. Put -- before a negative one.`,
		Example: `  noisewright interval --table table.json 1234
  noisewright interval --table table.json --level 0.99 --json -- -3`,
		Args: shell.OneArgument("VALUE"),
	}
	cmd.Flags().StringVar(&o.Table, "table", "", "table file that the noise was drawn from")
	level := shell.NewText(cmd, "level", "number", "0.95", "probability with which the interval contains the true value, at least")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print one JSON object")
	completeTable(cmd)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if strings.HasPrefix(err.Error(), "unknown shorthand flag") { // a digit
			err = shell.BadInput("put -- before a negative VALUE: noisewright interval --table TABLE -- -3", err)
		}
		return err
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var f shell.Fields
		f.Required("table", o.Table, "a table file")
		o.Level = f.Number("level", level, "a number above 0 and below 1", func(v float64) bool { return v > 0 && v < 1 })
		o.Value = f.Number("value", &shell.Text{Value: args[0]}, "a finite number", func(float64) bool { return true })
		if err := f.Err(cmd); err != nil {
			return err
		}
		return runInterval(a, o)
	}
	return cmd
}

func runInterval(a *shell.Streams, o intervalOptions) error {
	t, k, err := a.ReadEither(o.Table)
	if err != nil {
		return err
	}
	if k != nil {
		return shell.BadInput("", fmt.Errorf("%s is a kernel, whose noise depends on the true value, want a table", shell.InputName(o.Table)))
	}
	if _, err := shell.SoundTable(o.Table, t); err != nil {
		return err
	}
	r := intervalReport{Schema: shell.Schema, Value: o.Value, Level: o.Level}
	if r.Lower, r.Upper, err = t.Interval(o.Value, o.Level); err != nil {
		return shell.BadInput("", err)
	}
	if o.JSON {
		return shell.PrintJSON(a.Out, r)
	}
	return shell.PrintRows(a.Out, []shell.Row{
		{"released value", fmt.Sprint(r.Value)},
		{"true value", fmt.Sprintf("%v to %v, with a probability of at least %v", r.Lower, r.Upper, r.Level)},
	})
}
