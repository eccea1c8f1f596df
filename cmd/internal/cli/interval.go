package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/csvfile"
)

type intervalOptions struct {
	shell.Common
	table  string
	value  string // or, with a column, the file of it
	column string
	csv    csvfile.Options
	level  float64
	number float64 // the value

	response *response // in the place of a table, with a column; nil: none
}

// intervalReport is what interval --json prints.
type intervalReport struct {
	Schema int     `json:"schema"`
	Value  float64 `json:"value"`
	Level  float64 `json:"level"`
	Lower  float64 `json:"lower"`
	Upper  float64 `json:"upper"`
}

func newIntervalCommand(s *shell.Streams) *cobra.Command {
	o := &intervalOptions{Common: shell.Common{Streams: s}, level: 0.95}
	f := shell.NewFlags(&cobra.Command{
		Use:   "interval --table TABLE (VALUE | --column NAME IN.csv)",
		Short: "Say where the true value behind a noisy one may be",
		Long: `Verify a table and print a confidence interval for the true value behind VALUE, a
number that was released with noise from this table.

Over the noise, the interval contains the true value with a probability of at
least --level, and misses it on either side with at most half of the rest. This
follows exactly from the table's weights and its rounding of queries; the ends are
rounded outwards. The true value is the one that noise was added to: with
privatize --lower and --upper, the clipped one.

VALUE is a released value with all its digits. Put -- before a negative one.

With --column, IN.csv has a column of answers of a local randomizer without bias, as
privatize writes it. Printed are the mean of the answers and an interval for the mean
of the values they stand for, clipped as privatize does, by Bernstein's inequality. The
answers must be as they were drawn: privatize --clamp makes them biased.

Where the answers are categories, printed are the shares of the categories among the
values: the answers' shares, freed of what the randomizer mixed into them, without
bias (so one may be negative), and intervals that all hold together with a probability
of at least --level. Of privatize --categories give the same --categories and
--epsilon in the place of --table.`,
		Example: `  noisewright interval --table table.json 1234
  noisewright interval --table rating.json --column rating private.csv
  noisewright interval --categories red,green,blue --epsilon 2 --column color private.csv
  noisewright interval --table table.json --level 0.99 --json -- -3`,
	})
	o.sourceFlags(f)
	f.Number(&o.level, "level", shell.Share, "probability with which the interval contains the true value, at least")
	f.String(&o.column, "column", "name of the column, as in the header, of the answers of a local randomizer")
	f.Delimiter(&o.csv)
	f.ArgumentFunc("VALUE", func(text string) error {
		o.value = text
		return nil
	})
	f.Check(func() (err error) {
		if o.column == "" && o.response != nil {
			return shell.About("column", "", shell.Want("a name from the header, with --categories"))
		}
		if o.column == "" && o.value != "" {
			o.number, err = shell.ParseNumber(o.value, shell.Rule{Want: "a finite number", OK: func(float64) bool { return true }})
		}
		return shell.About("value", o.value, err)
	})
	f.Summary(&o.Common)
	cmd := f.Run(o.run)
	shell.Negatives(cmd, "VALUE", "noisewright interval --table TABLE -- -3")
	return cmd
}

// sourceFlags add what the noise or the answers were drawn from.
func (o *intervalOptions) sourceFlags(f *shell.Flags) {
	settings := map[string]string{}
	set := func(key string) func(string) error {
		return func(text string) error {
			settings[key] = text
			return nil
		}
	}
	f.File(&o.table, "table", "file of the table, or with --column of the local randomizer, that was drawn from", "json")
	f.Func("categories", "A,B,...", "", "with --column, in the place of a table: those given to privatize", set("categories"))
	f.Func("epsilon", "number", "", "with --categories: the epsilon given to privatize, without unit: "+responseEpsilon.Want, set("epsilon"))
	f.Misplaced("table", shell.IsTableFile)
	f.Check(func() (err error) {
		settings["table"] = o.table
		if o.response, err = readResponse(settings); err != nil {
			return err
		}
		if o.response == nil && o.table == "" {
			return shell.About("table", "", shell.Want("a table file"))
		}
		return nil
	})
}

func (o *intervalOptions) run(ctx context.Context) error {
	o.Progress().Watch("verifying")
	if o.column != "" {
		return o.meanInterval(ctx)
	}
	v, err := o.ReadSound(ctx, o.table)
	if err != nil {
		return err
	}
	r := intervalReport{Schema: shell.Schema, Value: o.number, Level: o.level}
	if r.Lower, r.Upper, err = v.Mechanism().Interval(o.number, o.level); err != nil {
		return shell.BadInput("", err)
	}
	return o.Print(r, []shell.Row{
		{"released value", fmt.Sprint(r.Value)},
		{"true value", fmt.Sprintf("%v to %v, with a probability of at least %v", r.Lower, r.Upper, r.Level)},
	})
}
