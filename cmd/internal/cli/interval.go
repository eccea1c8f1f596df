package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/estimate"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/local"
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
	f.ArgumentText(&o.value, "VALUE")
	f.Check(func() (err error) {
		if o.column == "" && o.response != nil {
			return shell.About("column", "", shell.Want("a name from the header, with --categories"))
		}
		if o.column == "" && o.value != "" {
			o.number, err = shell.ParseNumber(o.value, shell.Any("a finite number"))
		}
		return shell.About("value", o.value, err)
	})
	f.Summary(&o.Common)
	cmd := f.Run(o.run)
	shell.Negatives(cmd, "VALUE", "noisewright interval --table TABLE -- -3")
	return cmd
}

func (o *intervalOptions) sourceFlags(f *shell.Flags) {
	settings := map[string]string{}
	f.File(&o.table, "table", "file of the table, or with --column of the local randomizer, that was drawn from", "json")
	f.Settings(settings, "categories", "A,B,...", "with --column, in the place of a table: those given to privatize")
	f.Settings(settings, "epsilon", "number", "with --categories: the epsilon given to privatize, without unit: "+responseEpsilon.Want)
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
	lower, upper, err := v.Mechanism().Interval(o.number, o.level)
	if err != nil {
		return shell.BadInput("", err)
	}
	return o.Print(shell.Object{"value", o.number, "level", o.level, "lower", lower, "upper", upper}, []shell.Row{
		{"released value", fmt.Sprint(o.number)},
		{"true value", fmt.Sprintf("%v to %v, with a probability of at least %v", lower, upper, o.level)},
	})
}

func (o *intervalOptions) meanInterval(ctx context.Context) error {
	v, err := o.randomizer(ctx)
	if err != nil {
		return err
	}
	s := v.Mechanism().Spec()
	if s.Values.Kind == local.Category {
		return o.shareInterval(&s)
	}
	if v.Certificate().Bias.Sign() != 0 {
		return shell.BadInput("noisewright design-kernel --local --unbiased", fmt.Errorf("%s has biased answers, want unbiased ones for a mean", shell.InputName(o.table)))
	}
	n, mean, err := o.columnMean(&s)
	if err != nil {
		return err
	}
	half := estimate.MeanError(&s, n, o.level) + 0x1p-50*math.Abs(mean) // which was rounded, as the ends are
	lower, upper := max(mean-half, s.Values.Lower), min(mean+half, s.Values.Upper)
	if lower > upper { // an event of a probability of at most 1 - level
		lower, upper = s.Values.Lower, s.Values.Upper
	}
	return o.Print(shell.Object{"answers", n, "mean", mean, "level", o.level, "lower", lower, "upper", upper}, []shell.Row{
		{"mean of answers", fmt.Sprintf("%v, of %d", mean, n)},
		{"mean of values", fmt.Sprintf("%v to %v, with a probability of at least %v", lower, upper, o.level)},
	})
}

// randomizer returns what the answers of the column were drawn from, verified.
func (o *intervalOptions) randomizer(ctx context.Context) (*local.Verified, error) {
	if o.response != nil {
		return o.response.verified()
	}
	return shell.ReadAs[local.Randomizer, local.Certificate, *local.Randomizer](ctx, o.Streams, o.table, "a local randomizer with --column")
}

func (o *intervalOptions) columnMean(s *local.Spec) (n int, mean float64, err error) {
	var sum exact.Sum
	err = o.eachAnswer(func(answer string) error {
		y, err := csvfile.Number(answer)
		// What is between answers was moved, as by --clamp, which makes a bias.
		if _, found := slices.BinarySearch(s.Answers, y); err != nil || !found {
			return fmt.Errorf("is none of the randomizer's %d answers, want a column as privatize writes it", len(s.Answers))
		}
		sum.Add(y)
		n++
		return nil
	})
	return n, sum.Value() / float64(max(n, 1)), err
}

// eachAnswer calls a function with every cell of the column. There is at least one.
func (o *intervalOptions) eachAnswer(do func(answer string) error) error {
	in, err := o.OpenCSV(o.value, o.csv)
	if err != nil {
		return err
	}
	defer in.Close()
	bad := func(err error) error { return shell.BadFile(o.value, shell.FileCause(err)) }
	header, err := in.Header()
	if err != nil {
		return bad(err)
	}
	at, err := in.Find(header, o.column)
	if err != nil {
		return bad(err)
	}
	for {
		if err := in.Row(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return bad(err)
		}
		if err := do(strings.TrimSpace(in.Content(at))); err != nil {
			return bad(fmt.Errorf("row %d (line %d): %s %w", in.Rows, in.Line, check.Quoted(o.column), err))
		}
	}
	if in.Rows == 0 {
		return bad(errors.New("no rows"))
	}
	return nil
}

func (o *intervalOptions) shareInterval(s *local.Spec) error {
	counts, n := make([]int, len(s.AnswerLabels)), 0
	at := make(map[string]int, len(s.AnswerLabels))
	for i, label := range s.AnswerLabels {
		at[label] = i
	}
	err := o.eachAnswer(func(answer string) error {
		i, ok := at[answer]
		if !ok {
			return fmt.Errorf("is none of the randomizer's %d answers, want a column as privatize writes it", len(s.AnswerLabels))
		}
		counts[i]++
		n++
		return nil
	})
	if err != nil {
		return err
	}
	inverse, ok := estimate.NewShares(s)
	if !ok {
		return shell.BadInput("", fmt.Errorf("the answers of the randomizer do not tell all %d categories apart, want one whose rows are far from linearly dependent", len(s.Values.Labels)))
	}
	var shares []shell.Object
	rows := []shell.Row{
		{"answers", fmt.Sprintf("%d, of %d categories", n, len(s.Values.Labels))},
		{"shares", fmt.Sprintf("of the values, all in their intervals with a probability of at least %v", o.level)},
	}
	for i, label := range s.Values.Labels {
		share, lower, upper := inverse.Share(i, counts, n, o.level) // an unbiased estimate
		answers := 0
		if j, ok := at[label]; ok {
			answers = counts[j]
		}
		shares = append(shares, shell.Object{"category", label, "answers", answers, "share", share, "lower", lower, "upper", upper})
		rows = append(rows, shell.Row{check.Quoted(label), fmt.Sprintf("%.6g, from %s to %s", share, shell.DigitsDown(lower), shell.DigitsUp(upper))})
	}
	return o.Print(shell.Object{"answers", n, "level", o.level, "shares", shares}, rows)
}
