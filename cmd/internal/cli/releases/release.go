// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/release"
	"github.com/noisewright/noisewright/tables"
)

type releaseOptions struct {
	shell.Common
	query    release.Query
	maxError string // in the place of the query's epsilon
	data     string // file
	csv      dialect
	value    string // of a query of the kind value
	ledger   string // file
	tables   string // directory
	design   lp.Options
}

// NewReleaseCommand returns the commands that release statistics.
func NewReleaseCommand(s *shell.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "release count|sum|mean|variance|distinct|histogram|quantile|top|best|value|batch|workload|series",
		Short: "Publish a statistic of a data set with the best proven noise",
		Long: `Publish a number about a data set so that it is (epsilon, delta)-differentially
private: a count, a sum, a mean, a histogram or a quantile of the rows of a CSV file,
which keys most of them have, or a number that was computed elsewhere. This is the
central model: you hold the data, and the answer is about all of it. To protect every
row by itself, for instance on a device, use privatize.

Noise comes from a table that was designed for the promise and proved; tables are
kept, and proved again, for the next time. With a ledger the release is charged
before its answer exists, and refused if it would exceed the ledger's total.

What a row or a person can change is bounded by what you state: bounds, rows per
person, keys. These, the condition and the names of columns are public, and must not
be chosen in view of the data.

A row that is malformed, without a number where one is needed, or on which the
condition cannot be decided, is not selected, and nothing tells so: not an error, not
the exit code, not a count. What may end a release before it is charged is public by
declaration: that there is a file, its compression, and its header. For who holds the
data, --strict-not-private charges and then refuses such a file with its line. THAT IS
NOT PRIVATE: it is an exact answer, free of noise, about a single row.`,
		Example: `  noisewright ledger create city.ledger --epsilon 1 --delta 1e-6
  noisewright release count --data people.csv --where "age >= 65" --epsilon 0.1 --delta 1e-8 --ledger city.ledger
  noisewright release mean --data people.csv --column hours --lower 0 --upper 100 --epsilon 0.2 --delta 1e-8 --ledger city.ledger -o mean.json`,
	}
	var below []*cobra.Command
	for _, kind := range statistics {
		below = append(below, newReleaseOf(s, kind.kind, &cobra.Command{
			Use: kind.use, Short: kind.short, Long: kind.long + intervalHelp(kind.kind), SuggestFor: otherStatistics[kind.kind],
			Example: "  noisewright release " + string(kind.kind) + " " + kind.extra,
		}))
	}
	below = append(below, newReleaseBatchCommand(s), newReleaseWorkloadCommand(s), newReleaseSeriesCommand(s))
	return shell.Group(cmd, "statistic", below...)
}

// statistics are the commands of one query each.
var statistics = []struct {
	kind        release.Kind
	use, short  string
	long, extra string
}{
	{
		release.Count, "count", "Count the rows of a file", `Count the rows, or those that a condition holds for; with --person and
--max-per-person 1 the persons; with --by and --keys one count for each key.`,
		`--data people.csv --where "age >= 65" --epsilon 0.1 --delta 1e-8`,
	},
	{
		release.Sum, "sum", "Add up a column", `Add up the values of a column, each clipped to the bounds. The sum is exact before the
noise: of the float64s nearest to the decimals.`,
		`--data people.csv --column hours --lower 0 --upper 100 --epsilon 0.1 --delta 1e-8`,
	},
	{
		release.Mean, "mean", "Average a column", `Average the values of a column, each clipped to the bounds. If rows are added or removed,
the number of them is private too: two sums get noise, of the values and of their
distances to the upper bound (Kulesza, Suresh & Wang 2024), or a sum and a count,
whichever has the smaller error.`,
		`--data people.csv --column hours --lower 0 --upper 100 --epsilon 0.1 --delta 1e-8`,
	},
	{
		release.Variance, "variance", "Find the variance of a column", `Find the variance of the values of a column, each clipped to the bounds: their mean
squared distance from their mean, in squared units. A sum, one of squares and the number
of rows get noise, a third of the privacy each; if that number is public, half each.`,
		`--data people.csv --column hours --lower 0 --upper 100 --epsilon 0.3 --delta 1e-8`,
	},
	{
		release.Distinct, "distinct", "Count the different values of a column", `Count the different texts in a column, but for blanks at their ends; empty ones do not
count. One row brings or takes one at most, so the noise is that of a count.`,
		`--data people.csv --column city --epsilon 0.1 --delta 1e-8`,
	},
	{
		release.Histogram, "histogram", "Count the rows for every key, or between edges", `Count the rows for each of the keys of a column, or the values of a column between
edges. Rows with other keys, or beyond the edges, do not count. With --person a person
counts once for each key, and for at most --max-per-person keys.`,
		`--data people.csv --by city --keys Ulm,Jena --epsilon 0.1 --delta 1e-8`,
	},
	{
		release.Quantile, "quantile", "Find a median or another quantile of a column", `Choose one of the candidates, evenly spaced from --lower to --upper, whose rank is
near that of the quantile, by permute-and-flip (McKenna & Sheldon 2020). It costs
epsilon alone, and no delta.`,
		`--data people.csv --column hours --lower 0 --upper 100 --probability 0.5 --epsilon 0.1 --delta 0`,
	},
	{
		release.Top, "top", "Name the keys that most rows have", `Name the --k keys that most rows have, out of those you list, the first one first, and
without their counts. Each is chosen by permute-and-flip (McKenna & Sheldon 2020) among
those that are left, for a k-th of epsilon, or for more of it by exact composition if
delta is above 0. With --person a person counts once for each of his keys: without
--max-per-person for all of them, which costs nothing.`,
		`--data people.csv --k 2 --by city --keys Ulm,Jena,Kiel --epsilon 0.1 --delta 0`,
	},
	{
		release.Best, "best", "Name the option that holds for most rows", `Name the option whose condition holds for most rows, or the --k options, as release top
names keys. A row may count for several options. With --person a person counts once for
each option that one of his rows is in.`,
		`--data people.csv --option young='age < 30' --option old='age >= 65' --epsilon 0.1 --delta 0`,
	},
	{
		release.Value, "value X", "Add noise to a number computed elsewhere", `Add noise to the number X, or with - to the one in standard input. An exact number is
a secret: as an argument it is in the list of processes and in the history of a shell,
for others to read. You state the sensitivity: how far one unit can change it. Every
call is charged, also for the same number.`,
		`- <number.txt --sensitivity 1 --query integer --name "patients in March" --epsilon 0.1 --delta 1e-8`,
	},
}

// otherStatistics are names that others have for statistics.
var otherStatistics = map[release.Kind][]string{release.Mean: {"average"}, release.Quantile: {"median", "percentile"}, release.Top: {"mode", "argmax"}}

func intervalHelp(k release.Kind) string {
	if k == release.Quantile {
		return ` The answer
comes with a bound on how many rows are between it and the quantile, which holds with a
probability of at least 0.95; nothing is said of the distance in values.`
	}
	if choosesGroups(k) {
		return choiceHelp
	}
	return "\n\n" + releaseInterval
}

// hasError reports whether how far an answer is from the exact one does not depend on the data.
func hasError(kind release.Kind) bool {
	switch kind { //nolint:exhaustive // others do
	case release.Count, release.Sum, release.Histogram, release.Distinct, release.Quantile:
		return true
	}
	return false
}

const releaseInterval = `The answer comes with an interval that contains the exact one (of what counts, within
the bounds) with a probability of at least 0.95, from the exact quantiles of the noise.`

func newReleaseOf(s *shell.Streams, kind release.Kind, cmd *cobra.Command) *cobra.Command {
	o := &releaseOptions{Common: shell.Common{Streams: s}, design: shell.DesignOptions()}
	q := &o.query
	q.Kind, q.Neighbors, q.Loss = kind, dp.AddRemove, "l1"
	f := shell.NewFlags(cmd)
	if kind == release.Value {
		o.valueFlags(f)
	} else {
		o.dataFlags(f)
	}
	epsilon := func() {
		f.Number(&q.Epsilon, "epsilon", shell.PositiveEpsilon, "privacy parameter epsilon of the release, without unit: "+shell.PositiveEpsilon.Want)
	}
	if hasError(kind) {
		f.Func("max-error", "ERROR", "", "in the place of epsilon: the largest error of an answer with its probability, such as 3@0.95 (of a quantile, in rows): the least epsilon for it is spent", func(text string) error {
			most, level, _ := strings.Cut(text, "@")
			size, bad := strconv.ParseFloat(most, 64)
			p, worse := strconv.ParseFloat(level, 64)
			if o.maxError = text; bad != nil || worse != nil || !(size > 0) || math.IsInf(size, 0) || !(p > 0 && p < 1) {
				return shell.Want("an error and its probability, such as 3@0.95")
			}
			return nil
		})
		f.Unless("max-error", epsilon)
	} else {
		epsilon()
	}
	f.Number(&q.Delta, "delta", shell.Delta, "privacy parameter delta of the release, a probability: "+shell.Delta.Want)
	f.Prudent(&o.Common, &q.Epsilon, &q.Delta)
	q.Releases = 1
	most, _, _ := q.Limits()
	f.Integer(&q.Releases, "releases", "", 1, most, "how many releases like this one, such as one a month, epsilon and delta are for, together")
	f.Word(&q.Neighbors, "neighbors", "word", "what is hidden: add-remove (that a unit is there) or replace (what its values are; how many units there are is public)", dp.AddRemove, dp.Replace)
	if noisy(kind) {
		f.Word(&q.Loss, "loss", "word", "what the noise is best for: l1 (mean absolute error) or l2 (variance)", "l1", "l2")
	}
	f.File(&o.ledger, "ledger", "ledger to charge, made by ledger create (default none: nothing adds up your releases)", "ledger")
	if noisy(kind) {
		f.Directory(&o.tables, "tables", "directory of tables to keep, - for none (default that of the user's caches)")
		f.Gap(&o.design)
		f.TimeLimit(&o.design, " of one design")
	}
	f.Output(&o.Common, "JSON file to write the answer to", "json")
	f.Summary(&o.Common, "output")
	f.Check(func() error {
		if strings.HasPrefix(q.Bounds, "prior:") {
			q.Rows, _ = shell.ParseCount(cmd.Flags().Lookup("rows").Value.String())
		}
		switch {
		case math.IsNaN(q.Epsilon + q.Delta + q.Lower + q.Upper + q.Probability + q.Sensitivity):
			return nil // reported
		case q.MaxPerPerson == 0 && cmd.Flags().Changed("max-per-person"):
			return nil // reported
		case q.Person != "" && q.MaxPerPerson == 0 && !choosesGroups(kind):
			return shell.About("max-per-person", "", shell.Want("how many rows of a person count at most"))
		}
		given := *q
		if o.maxError != "" {
			given.Epsilon = 1 // it is looked for
		}
		return given.Validate()
	})
	cmd = f.Run(o.run)
	if kind == release.Value {
		shell.Negatives(cmd, "X", "noisewright release value --sensitivity S --epsilon E --delta D -- -3, or - to read it from standard input")
	}
	return cmd
}

func (o *releaseOptions) valueFlags(f *shell.Flags) {
	q := &o.query
	values := string(dp.RealQuery)
	f.ArgumentText(&o.value, "X")
	f.RequiredFunc("sensitivity", "number", "how far one unit can change X, in its units: a number above 0", func(text string) error {
		r, ok := decimal(text)
		if !ok || r.Sign() <= 0 {
			q.Sensitivity = 1 // what is wrong is said here
			return shell.NumberWant(text, "a number above 0")
		}
		q.Sensitivity = exact.FloatUp(r) // X is exact, and this not below what was said
		return nil
	})
	f.Word(&values, "query", "integer|real", "values that X could have; integers get integer noise", "integer", "real")
	f.Check(func() error {
		q.Integer = values == string(dp.IntegerQuery)
		return nil
	})
	f.String(&q.Name, "name", "what the number is, for the ledger")
	f.Text(&q.Of, "unit", "row|person:COLUMN", "whose influence the sensitivity is about, as in the ledger (default row)")
	f.CompleteOrFile("unit", "row", "person:")
}

func (o *releaseOptions) dataFlags(f *shell.Flags) {
	q := &o.query
	_, mostRows, mostCandidates := q.Limits()
	f.RequiredFile(&o.data, "data", "a CSV file", "CSV file with a header, - for standard input; perhaps compressed with gzip or zstd", "csv", "gz", "zst")
	o.csv.flags(f, asLedger)
	switch q.Kind { //nolint:exhaustive // others have no column
	case release.Sum, release.Mean, release.Variance, release.Quantile:
		f.String(&q.Column, "column", "column of the values")
		f.Require(&q.Column, "column", "the column of the values")
		boundFlags(f, q)
	case release.Distinct:
		f.String(&q.Column, "column", "column of the values")
		f.Require(&q.Column, "column", "the column of the values")
	case release.Histogram:
		f.String(&q.Column, "column", "column of the values to count between --edges")
		f.Func("edges", "numbers", "", "edges A,B,C…: counts of A <= value < B, B <= value < C and so on, the last edge inclusive", func(text string) (err error) {
			for s := range strings.SplitSeq(text, ",") {
				v, bad := shell.ParseNumber(strings.TrimSpace(s), columnNumber)
				if bad != nil {
					err = shell.Want("ascending numbers, separated by commas")
				}
				q.Edges = append(q.Edges, v)
			}
			return err
		})
	}
	if q.Kind == release.Quantile {
		f.Number(&q.Probability, "probability", shell.Share, "which quantile: 0.5 for the median")
		q.Candidates = 1001
		f.Integer(&q.Candidates, "candidates", "", 2, mostCandidates, "how many numbers, evenly spaced from --lower to --upper, to choose from")
	}
	if choosesGroups(q.Kind) {
		choiceFlags(f, q)
	}
	f.String(&q.Where, "where", `condition for a row to count, such as 'age >= 65 && city == "Ulm"'`)
	if q.Kind != release.Best {
		f.String(&q.By, "by", "column of keys, for one answer for each of --keys")
		keyFlags(f, q)
	}
	if !choosesGroups(q.Kind) && q.Kind != release.Quantile {
		f.Bool(&q.PrivateKeys, "private-keys", "with --by, where nobody knows --keys: answer for those in the data that enough rows or persons have, with half of epsilon and of delta, which is above 0, for which these are")
	}
	f.String(&q.Person, "person", "column that tells whose a row is, to protect persons in the place of rows")
	f.OptionalInteger(&q.MaxPerPerson, "max-per-person", 1, mostRows, "with --person: how many rows of a person count at most (chosen at random), or with --by how many keys")
	q.Missing = "drop"
	f.Word(&q.Missing, "missing", "word", "a row without a number in --column: drop (it does not count) or middle (of a sum, mean or quantile: it counts with the middle of the bounds, so that with replace the number of rows stays public, which takes less noise)", "drop", "middle")
	f.Bool(&q.StrictNotPrivate, "strict-not-private", strictUsage)
}

func keyFlags(f *shell.Flags, q *release.Query) {
	f.Texts("keys", "A,B,C", "keys to answer for, known without a look at the data; in quotes if with a comma", func(texts []string) error {
		for _, text := range texts {
			r := csv.NewReader(strings.NewReader(text))
			r.TrimLeadingSpace = true
			keys, err := r.Read()
			if err != nil {
				return shell.About("keys", text, shell.Want("keys separated by commas"))
			}
			q.Keys = append(q.Keys, keys...)
		}
		return nil
	})
}

func (o *releaseOptions) run(ctx context.Context) error {
	w, err := o.Reserve(o.Output, o.data, o.ledger)
	if err != nil {
		return err
	}
	defer w.Discard()
	var l account.Ledger
	if o.ledger != "" {
		book, err := openFor(ctx, o.ledger, o.query.Neighbors, o.query.Unit(), &o.csv, o.otherUnit)
		if err != nil {
			return err
		}
		defer book.Close()
		l = book
	}
	if o.maxError != "" {
		o.Progress().Watch("looking for the least epsilon")
		one := release.Statistic{Query: o.query, Error: o.maxError}
		one.Delta = 0 // it has all of the total's
		found, err := release.Split(ctx, dp.Budget{Epsilon: 20, Delta: o.query.Delta}, true, []release.Statistic{one}, o.source())
		if err != nil {
			return shell.Invalid("noisewright release "+string(o.query.Kind)+" --help", err)
		}
		o.query = found.Queries[0]
		o.WarnWeak(o.query.Epsilon, o.query.Delta, 0)
	}
	answer, err := release.Release(ctx, l, o, o.query, o.source())
	if err != nil {
		return shell.Invalid("noisewright release --help", err)
	}
	if o.ledger == "" {
		o.Warn("no ledger: nothing adds up what your releases about these people cost together (see ledger create)")
	}
	return o.Finish(w, func(w io.Writer) error { return shell.EncodeJSON(w, answer) }, answer, o.rows(answer), nil)
}

// source is where noise comes from. It is opened when it is asked: an answer that the ledger has
// needs no tables.
func (o *releaseOptions) source() release.Source {
	source := sync.OnceValues(func() (release.Source, error) { return tableSource(&o.Common, "tables", o.tables, o.design) })
	return func(ctx context.Context, p dp.Problem, uses int) (*tables.Verified, error) {
		find, err := source()
		if err != nil {
			return nil, err
		}
		return find(ctx, p, uses)
	}
}

// otherUnit is the hint where a ledger is about another unit, "" for a new ledger.
func (o *releaseOptions) otherUnit(t account.Terms) string {
	if o.query.Kind == release.Value {
		return "--unit " + t.Unit + ", if the sensitivity is about that"
	}
	if column, person := t.Person(); person {
		return "--person " + column + " --max-per-person N"
	}
	return ""
}

// tableSource is where noise comes from: a directory of tables, "" for the user's own, and designs.
func tableSource(c *shell.Common, flag, given string, design lp.Options) (release.Source, error) {
	design.Progress = c.Progress().Design(design.TimeLimit)
	store := release.Tables{
		Directory: shell.CacheDirectory(given, "tables", design),
		Rejected:  func(err error) { c.Warn("tables %s", shell.Sentence(err)) },
		Design: func(ctx context.Context, p dp.Problem, gap float64) (*tables.Verified, error) {
			d := design
			d.Gap = max(d.Gap, gap)
			r, limit, err := shell.Design(ctx, p, d)
			if err != nil {
				if f, ok := errors.AsType[*shell.Failure](err); ok && strings.HasPrefix(f.Hint, "noisewright design") {
					f.Hint = "noisewright release --help"
				}
				return nil, err
			}
			return r.Verified, limit
		},
	}
	return shell.OpenCache(flag, given, &store.Directory, func() (release.Source, error) { return store.Source() })
}

// ReadData reads the data for release.ReadData.
func (o *releaseOptions) ReadData(ctx context.Context, q release.Query) (d *release.Data, digest string, err error) {
	if q.Kind == release.Value {
		text, err := o.number()
		if err != nil {
			return nil, "", err
		}
		x, ok := decimal(text)
		if !ok {
			return nil, "", shell.BadInput("", errors.New("value is not a decimal number, want one such as 1234"))
		}
		if q.Integer && !x.IsInt() {
			return nil, "", shell.BadInput("noisewright release value --help", errors.New("value is not an integer, want one with --query integer"))
		}
		return release.ReadData(ctx, x, q)
	}
	digest, err = readRows(ctx, &o.Common, o.data, o.csv.Options, func(rows *release.CSV) (err error) {
		d, err = release.Read(rows, q)
		return err
	})
	return d, digest, err
}

// number returns the text of the number that is released, which standard input keeps out of lists of processes.
func (o *releaseOptions) number() (string, error) {
	if o.value != "-" {
		return o.value, nil
	}
	in, err := o.Open(o.value)
	if err != nil {
		return "", err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, longestNumber+1))
	if err != nil || len(text) > longestNumber {
		return "", nil // no number
	}
	return strings.TrimSpace(string(text)), nil
}

// longestNumber bounds the bytes of a number in standard input.
const longestNumber = 1 << 16

// strictUsage is the help of --strict-not-private.
const strictUsage = "charge, and then refuse data with a row that would be left out, and say which; for who holds the data: that error is NOT PRIVATE"

// readRows lets read take the rows of a file, and returns the digest that ledgers know it by.
func readRows(ctx context.Context, c *shell.Common, file string, o csvfile.Options, read func(*release.CSV) error) (string, error) {
	in, err := c.Open(file)
	if err != nil {
		return "", err
	}
	defer in.Close()
	digest, err := release.File{Reader: watched{in, c.Progress()}, Delimiter: o.Delimiter, OneLine: o.OneLine}.Read(ctx, read)
	if err != nil && ctx.Err() == nil {
		err = shell.BadFile(file, shell.FileCause(err))
	}
	return digest, err
}

func decimal(text string) (*big.Rat, bool) {
	if !decimalForm().MatchString(text) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// decimalForm is compiled at its first use: it takes as long as all else that happens before a command runs.
var decimalForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})?$`)
})

type watched struct {
	in   *shell.Input
	line *shell.Progress
}

func (w watched) Read(p []byte) (int, error) {
	if share := w.in.Share(); !math.IsNaN(share) {
		w.line.Share("reading", share, "of the file")
	}
	return w.in.Read(p)
}

func ledgerRow(e *release.Entry) shell.Row {
	if e == nil {
		return shell.Row{}
	}
	text := fmt.Sprintf("release %d, charged %s", e.Release, e.Charged.Format(time.RFC3339))
	if e.Replayed {
		text += "; answered from the ledger, at no cost"
	}
	return shell.Row{"ledger", text}
}

func (o *releaseOptions) rows(r *release.Answer) []shell.Row {
	var rows []shell.Row
	if r.Query.PrivateKeys && len(r.Answers) == 0 {
		rows = append(rows, shell.Row{"answer", "no key that enough have"})
	}
	for _, a := range r.Answers {
		if choosesGroups(r.Kind) {
			break
		}
		value, lower, upper := rounded(a)
		text := fmt.Sprintf("%s, %s to %s with a probability of at least %v", value, lower, upper, r.Level)
		if r.Kind == release.Quantile {
			text = fmt.Sprintf("%v, with a probability of at least %v no more than %d rows from the quantile", a.Value, r.Level, a.RankError)
		}
		rows = append(rows, shell.Row{cmp.Or(a.Key, "answer"), text})
		rows = append(rows, alsoRows(a)...)
		rows = append(rows, boundRows(a.Clipped)...)
	}
	rows = append(rows, choiceRows(r)...)
	unit := "a " + r.Unit
	if name, ok := strings.CutPrefix(r.Unit, "person:"); ok {
		unit = "a person (" + name + ")"
	}
	hidden, guess := "that "+unit+" is there or not", "whether "+unit+" is there"
	if r.Neighbors == dp.Replace {
		hidden, guess = "the values of "+unit, "which of two values "+unit+" has"
	}
	guarantee := fmt.Sprintf("epsilon %s, delta %s", shell.DigitsUp(r.Epsilon), shell.DigitsUp(r.Delta))
	if r.Releases > 1 {
		guarantee += fmt.Sprintf(", for %d releases like this one together", r.Releases)
	}
	rows = append(rows,
		shell.Row{"guarantee", guarantee},
		shell.Row{"hides", hidden},
		shell.Row{"in words", shell.InWords(r.Epsilon, r.Delta, guess)},
		shell.Row{"noise", r.Mechanism},
	)
	if r.MeanError != nil {
		rows = append(rows, shell.Row{"mean error", shell.DigitsUp(*r.MeanError)})
	}
	for _, t := range r.Tables {
		rows = append(rows, shell.Row{"table", t})
	}
	return append(append(rows, ledgerRow(r.Ledger)), notProtectedRows(r.NotProtected)...)
}

func notProtectedRows(what []string) (rows []shell.Row) {
	for _, s := range what {
		rows = append(rows, shell.Row{"not protected", s})
	}
	return rows
}

// rounded prints to a thousandth of the interval, which is rounded outwards.
func rounded(a release.Estimate) (value, lower, upper string) {
	if max(math.Abs(a.Lower), math.Abs(a.Upper)) >= 1e15 {
		return fmt.Sprint(a.Value), fmt.Sprint(a.Lower), fmt.Sprint(a.Upper)
	}
	digits := 0
	if width := a.Upper - a.Lower; width > 0 && (a.Value != math.Trunc(a.Value) || a.Lower != math.Trunc(a.Lower) || a.Upper != math.Trunc(a.Upper)) {
		digits = int(min(max(math.Ceil(3-math.Log10(width)), 0), 300))
	}
	text := func(v float64, outwards int) string {
		exactly := new(big.Rat).SetFloat64(v)
		near := exactly.FloatString(digits)
		back, _ := new(big.Rat).SetString(near)
		if outwards*back.Cmp(exactly) < 0 {
			unit := new(big.Rat).SetFrac(big.NewInt(int64(outwards)), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil))
			return back.Add(back, unit).FloatString(digits)
		}
		return near
	}
	return text(a.Value, 0), text(a.Lower, -1), text(a.Upper, +1)
}
