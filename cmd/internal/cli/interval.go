// SPDX-License-Identifier: Apache-2.0

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
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/subset"
	"github.com/noisewright/noisewright/tables"
)

type intervalOptions struct {
	shell.Common
	local  bool // for local randomizers only
	table  string
	value  string // or, with a column, the file of it
	column string
	csv    csvfile.Options
	level  float64
	number float64 // the value

	// of shares
	marginal, simplex, sampled bool

	people people // whose answers they are

	response *response // in the place of a table, with a column; nil: none
}

func newIntervalCommand(s *shell.Streams) *cobra.Command {
	o := &intervalOptions{Common: shell.Common{Streams: s}}
	cmd := o.command("TABLE", "VALUE", &cobra.Command{
		Use:   "interval TABLE (VALUE | --column NAME IN.csv)",
		Short: "Say where the true value behind a noisy one, or the mean of a column, may be",
		Long: `Verify a table and print a confidence interval for the true value behind VALUE, a
number that was released with noise from this table.

Over the noise, the interval contains the true value with a probability of at
least --level, and misses it on either side with at most half of the rest. This
follows exactly from the table's weights and its rounding of queries; the ends are
rounded outwards. The true value is the one that noise was added to: with
privatize --lower and --upper, the clipped one.

VALUE is a released value with all its digits. Put -- before a negative one.

With --column, IN.csv has a column of private values, as privatize writes it: with
noise of a table, or answers of a local randomizer without bias. Printed are their mean
and an interval for the mean of the values behind them, clipped as privatize does: by
Chernoff's bound for the noise of the table, a mean that is not 0 included, or for the
randomizer the least of three bounds that hold for any values (docs/local.md). They must
be as they were drawn: privatize --clamp makes them biased.

` + intervalOfShares,
		Example: `  noisewright interval table.json 1234
  noisewright interval hours.json --column hours private.csv
  noisewright interval --categories red,green,blue --epsilon 2 --column color private.csv
  noisewright interval table.json --level 0.99 --json -- -3`,
	})
	shell.Negatives(cmd, "VALUE", "noisewright interval TABLE -- -3")
	return cmd
}

func newLocalIntervalCommand(s *shell.Streams) *cobra.Command {
	o := &intervalOptions{Common: shell.Common{Streams: s}, local: true}
	return o.command("RANDOMIZER", "ANSWERS.csv", &cobra.Command{
		Use:   "interval RANDOMIZER --column NAME ANSWERS.csv",
		Short: "Say what the mean or the shares of the values may be, from the answers",
		Long: `Verify a local randomizer and print, from a column of its answers alone, their mean and
an interval for the mean of the values behind them, clipped as privatize does: the least
of three bounds, of Bentkus, of Berry and Esseen, and of Prawitz. The randomizer has to be
without bias (local design --unbiased), and the answers as they were drawn: privatize
--clamp makes them biased.

Over the randomness of the answers, the interval contains the mean with a probability of
at least --level.

` + intervalOfShares,
		Example: `  noisewright local interval hours.json --column hours answers.csv
  noisewright local interval --categories red,green,blue --epsilon 2 --column color answers.csv`,
	})
}

// command takes the file of a mechanism and, in an argument, a value or what has the column.
func (o *intervalOptions) command(file, argument string, cmd *cobra.Command) *cobra.Command {
	o.level = 0.95
	f := shell.NewFlags(cmd)
	o.sourceFlags(f, file)
	f.Number(&o.level, "level", shell.Share, "probability with which the interval contains the true value, at least")
	f.String(&o.column, "column", "name of the column, as in the header, of private values")
	f.Bool(&o.marginal, "marginal", "for shares: intervals each of which holds with the probability --level, and not all of them together")
	f.Bool(&o.simplex, "simplex", "for shares: those nearest to the estimates that are at least 0 and sum to 1; often closer, and biased")
	f.Bool(&o.sampled, "sampled", "for shares: those of all people, of whom those with an answer are a random sample, as after privatize --one; the other cells are empty")
	f.Text(&o.people.column, "person", "NAME", "name of the column that tells people apart: a second answer of one is refused")
	f.String(&o.people.seed, "seed", seedUsage)
	f.Delimiter(&o.csv)
	f.Argument(&o.value, argument, "csv", "gz", "zst")
	f.Check(func() (err error) {
		if err := o.people.together(); err != nil {
			return err
		}
		switch {
		case o.column == "" && o.people.column != "":
			return errors.New("person is given without column, want both")
		case o.column == "" && o.local:
			return shell.About("column", "", shell.Want("a name from the header"))
		case o.column == "" && o.response != nil:
			return shell.About("column", "", shell.Want("a name from the header, with --categories"))
		}
		if o.column == "" && o.value != "" {
			o.number, err = shell.ParseNumber(o.value, shell.Any("a finite number"))
		}
		return shell.About("value", o.value, err)
	})
	f.Summary(&o.Common)
	return f.Run(o.run)
}

const intervalOfShares = `Where the answers are categories, printed are the shares of the categories among the
values: the answers' shares, freed of what the randomizer mixed into them, without
bias (so one may be negative), and intervals that all hold together with a probability
of at least --level, or each with --marginal. Of sets of categories (local design
--categories) and of randomized response they are those of Clopper and Pearson, or
closer. Of a workload of counts printed are its queries. Of privatize --categories give
the same --categories and --epsilon in the place of a file.`

func (o *intervalOptions) sourceFlags(f *shell.Flags, file string) {
	settings := map[string]string{}
	f.TableArgument(&o.table, file, 0, 1)
	f.Settings(settings, "categories", "A,B,...", "with --column, in the place of "+file+": those given to privatize")
	f.Settings(settings, "epsilon", "number", "with --categories: the epsilon given to privatize, without unit: "+responseEpsilon.Want)
	forFlag(f, settings)
	f.Check(func() (err error) {
		settings["table"] = o.table
		if o.response, err = readResponse(settings); err != nil {
			return err
		}
		switch {
		case o.response != nil || o.table != "":
			return nil
		case o.local:
			return shell.About(file, "", wantRandomizer)
		}
		return shell.About(file, "", shell.Want("a table file"))
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
	if o.response != nil {
		v, err := o.response.verified()
		if err != nil {
			return err
		}
		return o.sharesOfResponse(ctx, v)
	}
	made, err := readFor(o.Streams, "interval", o.table, o.local)
	if err != nil {
		return err
	}
	mean := owns[made.Form().Package].mean
	if mean == nil {
		return shell.BadInput("", fmt.Errorf("%s is %s, want a table or a local randomizer with --column", shell.InputName(o.table), made.Form().Noun))
	}
	v, err := shell.Prove(ctx, o.table, made)
	if err != nil {
		return err
	}
	if _, sets := made.(*subset.Selection); !sets && (o.sampled || o.people.seed != "") {
		return shell.BadInput("", fmt.Errorf("sampled and seed are for shares from sets of categories, want neither with %s", made.Form().Noun))
	}
	return mean(o, ctx, v)
}

// meanOfNoisy prints the mean of values with noise of a table.
func (o *intervalOptions) meanOfNoisy(_ context.Context, v proof.Proven) error {
	t := v.(*tables.Verified).Mechanism()
	step, _ := t.Grid().Step().Float64()
	size := 0.0
	n, mean, err := o.columnMean(func(y float64) error {
		if !t.OnGrid(y) {
			return fmt.Errorf("is no multiple of the table's step, %g, want a column as privatize writes it", step)
		}
		size += math.Abs(y)
		return nil
	})
	if err != nil {
		return err
	}
	below, above := estimate.NoiseError(t, n, o.level)
	// A multiple of a decimal step was rounded, and so was the mean.
	rounding := 0x1p-49 * size / float64(n)
	return o.printMean(n, mean, mean-above-rounding, mean+below+rounding)
}

// meanOfAnswers prints the mean of answers of a local randomizer, or the shares of categories.
func (o *intervalOptions) meanOfAnswers(_ context.Context, p proof.Proven) error {
	v := p.(*local.Verified)
	s := v.Mechanism().Spec()
	if s.Values.Kind == local.Category {
		return o.shareInterval(&s)
	}
	if v.Certificate().Bias.Sign() != 0 {
		return shell.BadInput("noisewright local design --unbiased", fmt.Errorf("%s has biased answers, want unbiased ones for a mean", shell.InputName(o.table)))
	}
	n, mean, err := o.columnMean(func(y float64) error {
		// What is between answers was moved, as by --clamp, which makes a bias.
		if _, found := slices.BinarySearch(s.Answers, y); !found {
			return fmt.Errorf("is none of the randomizer's %d answers, want a column as privatize writes it", len(s.Answers))
		}
		return nil
	})
	if err != nil {
		return err
	}
	above, below := estimate.MeanError(&s, n, o.level)
	rounding := 0x1p-50 * math.Abs(mean) // as the ends are
	lower, upper := max(mean-above-rounding, s.Values.Lower), min(mean+below+rounding, s.Values.Upper)
	if lower > upper { // an event of a probability of at most 1 - level
		lower, upper = s.Values.Lower, s.Values.Upper
	}
	return o.printMean(n, mean, lower, upper)
}

func (o *intervalOptions) printMean(n int, mean, lower, upper float64) error {
	return o.Print(shell.Object{"answers", n, "mean", mean, "level", o.level, "lower", lower, "upper", upper}, []shell.Row{
		{"mean of answers", fmt.Sprintf("%v, of %d", mean, n)},
		{"mean of values", fmt.Sprintf("%v to %v, with a probability of at least %v", lower, upper, o.level)},
	})
}

func (o *intervalOptions) columnMean(check func(y float64) error) (n int, mean float64, err error) {
	var sum exact.Sum
	err = o.eachAnswer(func(answer string) error {
		y, err := csvfile.Number(answer)
		if err != nil {
			y = math.NaN() // which is no answer
		}
		sum.Add(y)
		n++
		return check(y)
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
	if err == nil {
		err = o.people.find(in.Reader, header)
	}
	if err != nil {
		return bad(err)
	}
	answered := map[string]bool{}
	for {
		if err := in.Row(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return bad(err)
		}
		if err := o.people.read(&in.Record); err != nil {
			return bad(err)
		}
		if p := &o.people; p.column != "" {
			if answered[p.current] {
				return bad(fmt.Errorf("row %d (line %d): %s is %s for the second time, want one answer of each person", in.Rows, in.Line, check.Quoted(p.column), check.Quoted(p.current)))
			}
			answered[p.current] = true
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
	level := o.level
	if o.marginal { // as Share divides by the categories
		level = 1 - float64(len(s.Values.Labels))*(1-level)
	}
	var list []counted
	for i, label := range s.Values.Labels {
		share, lower, upper := inverse.Share(i, counts, n, level) // an unbiased estimate
		answers := 0
		if j, ok := at[label]; ok {
			answers = counts[j]
		}
		list = append(list, counted{label, answers, share, lower, upper})
	}
	return o.printShares(n, list)
}
