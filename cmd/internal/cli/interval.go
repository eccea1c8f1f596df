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
			o.number, err = shell.ParseNumber(o.value, shell.Any("a finite number"))
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

// meanReport is what interval --column --json prints.
type meanReport struct {
	Schema  int     `json:"schema"`
	Answers int     `json:"answers"`
	Mean    float64 `json:"mean"`
	Level   float64 `json:"level"`
	Lower   float64 `json:"lower"`
	Upper   float64 `json:"upper"`
}

// meanInterval prints the mean of a column of answers of a local randomizer, and an
// interval for the mean of the values that they answer.
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
	report := meanReport{Schema: shell.Schema, Answers: n, Mean: mean, Level: o.level, Lower: max(mean-half, s.Values.Lower), Upper: min(mean+half, s.Values.Upper)}
	if report.Lower > report.Upper { // an event of a probability of at most 1 - level
		report.Lower, report.Upper = s.Values.Lower, s.Values.Upper
	}
	return o.Print(report, []shell.Row{
		{"mean of answers", fmt.Sprintf("%v, of %d", mean, n)},
		{"mean of values", fmt.Sprintf("%v to %v, with a probability of at least %v", report.Lower, report.Upper, o.level)},
	})
}

// randomizer returns what the answers of the column were drawn from, verified.
func (o *intervalOptions) randomizer(ctx context.Context) (*local.Verified, error) {
	if o.response != nil {
		return o.response.verified()
	}
	return shell.ReadAs[local.Randomizer, local.Certificate, *local.Randomizer](ctx, o.Streams, o.table, "a local randomizer with --column")
}

// columnMean returns how many answers a column has, and their mean.
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

// sharesReport is what interval --column --json prints of categories.
type sharesReport struct {
	Schema  int             `json:"schema"`
	Answers int             `json:"answers"`
	Level   float64         `json:"level"`
	Shares  []categoryShare `json:"shares"`
}

// categoryShare is about one category: how often it was answered, if it is an answer, and
// an unbiased estimate of its share of the values with an interval.
type categoryShare struct {
	Category string  `json:"category"`
	Answers  int     `json:"answers"`
	Share    float64 `json:"share"`
	Lower    float64 `json:"lower"`
	Upper    float64 `json:"upper"`
}

// shareInterval prints, for a column of answers of a local randomizer of categories, the
// shares of the categories among the values that they answer.
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
	report := sharesReport{Schema: shell.Schema, Answers: n, Level: o.level}
	rows := []shell.Row{
		{"answers", fmt.Sprintf("%d, of %d categories", n, len(s.Values.Labels))},
		{"shares", fmt.Sprintf("of the values, all in their intervals with a probability of at least %v", o.level)},
	}
	for i, label := range s.Values.Labels {
		share := categoryShare{Category: label}
		share.Share, share.Lower, share.Upper = inverse.Share(i, counts, n, o.level)
		if j, ok := at[label]; ok {
			share.Answers = counts[j]
		}
		report.Shares = append(report.Shares, share)
		rows = append(rows, shell.Row{check.Quoted(label), fmt.Sprintf("%.6g, from %s to %s", share.Share, shell.DigitsDown(share.Lower), shell.DigitsUp(share.Upper))})
	}
	return o.Print(report, rows)
}
