// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/release/ledger"
)

// nonAdaptive is the condition of exact composition, on two lines of a help text.
const nonAdaptive = `the mechanisms of releases (statistic, epsilon, delta, loss, releases, rows per
person, number of keys) were not chosen in view of earlier answers`

// NewLedgerCommand returns the commands of ledgers.
func NewLedgerCommand(s *shell.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger COMMAND",
		Short: "Keep a total of what is released about a set of people",
		Long: `Make and read ledgers. A ledger is a file with everything that was released about
a set of people and a total that it refuses to exceed. It charges a release before
the answer exists, so a crash can cost budget, but never privacy; and the same
query about the same data is answered from it again at no cost.

One ledger is for all releases about the same people, by all processes. The total
(epsilon, delta) is kept by exact composition, as account computes it, on the
condition that
` + nonAdaptive + `;
what is asked otherwise may be. A ledger made with --adaptive keeps the sums of all
epsilons and deltas within the total, which allows fewer releases and holds without
that.

The ledger is an internal document. Answers are meant to be published. The file's
digests of the data, which queries were asked and when, and whether the data changed
between equal queries are not protected. Keep one copy: one restored from a backup
has forgotten what was released since. FILE-journal beside it is part of it.`,
		Example: `  noisewright ledger create city.ledger --epsilon 1 --delta 1e-6
  noisewright ledger show city.ledger
  noisewright ledger left city.ledger`,
	}
	return shell.Group(cmd, "command", newLedgerCreateCommand(s), newLedgerShowCommand(s), newLedgerTotalCommand(s), newLedgerLeftCommand(s), newLedgerReportCommand(s))
}

type namedLedger struct {
	*ledger.Ledger
	path string
}

func openLedger(ctx context.Context, path string) (*namedLedger, error) {
	l, err := ledger.Open(ctx, path)
	if err != nil {
		return nil, ledgerFailure(path, err)
	}
	return &namedLedger{l, path}, nil
}

// dialect says what a row of a file is: with a ledger its terms, which flags may repeat.
type dialect struct {
	csvfile.Options
	given []*pflag.Flag
}

func (d *dialect) flags(f *shell.Flags, usage string) {
	d.given = []*pflag.Flag{f.Delimiter(&d.Options), f.OneLine(&d.Options)}
	for _, flag := range d.given {
		flag.Usage += usage
	}
}

// asLedger is what flags say with a ledger.
const asLedger = "; with --ledger its terms say it"

// under takes the terms, and refuses flags that say something else.
func (d *dialect) under(t account.Terms) error {
	said := d.words()
	d.Delimiter, d.OneLine = t.Delimiter[0], t.OneLine
	for i, want := range d.words() {
		if i < len(d.given) && d.given[i].Changed && said[i] != want {
			return fmt.Errorf("%s = %s, want %s as in the ledger", d.given[i].Name, said[i], want)
		}
	}
	return nil
}

func (d *dialect) words() [2]string {
	return [2]string{strconv.QuoteRune(rune(d.Delimiter)), strconv.FormatBool(d.OneLine)}
}

// openFor opens the ledger to charge, which has to be about the unit and the dialect; hint says how
// it would be about the unit, "" with a new ledger.
func openFor(ctx context.Context, path, neighbors, unit string, d *dialect, hint func(account.Terms) string) (*namedLedger, error) {
	l, err := openLedger(ctx, path)
	if err != nil {
		return nil, err
	}
	t := l.Terms()
	wrong := d.under(t)
	switch {
	case wrong != nil:
		err = shell.BadInput("ledger create fixed what a row is: leave the flag out, or give it to a ledger of these files", wrong)
	case neighbors != t.Neighbors:
		err = shell.BadInput("--neighbors "+t.Neighbors, fmt.Errorf("neighbors = %s, want %s as in the ledger", neighbors, t.Neighbors))
	case unit != t.Unit:
		err = shell.BadInput(cmp.Or(hint(t), "noisewright ledger create FILE --unit "+unit+" makes a ledger for that"), fmt.Errorf("unit = %s, want %s as in the ledger", unit, t.Unit))
	}
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// Find implements account.Ledger.
func (l *namedLedger) Find(ctx context.Context, text, data string) (account.Record, bool, error) {
	r, ok, err := l.Ledger.Find(ctx, text, data)
	return r, ok, ledgerFailure(l.path, err)
}

// Release implements account.Ledger.
func (l *namedLedger) Release(ctx context.Context, c account.Charge, answer func(context.Context) ([]byte, error)) (account.Record, error) {
	r, err := l.Ledger.Release(ctx, c, answer)
	return r, ledgerFailure(l.path, err)
}

// ledgerFailure gives an error of a ledger, if there is one, its exit code and a hint.
func ledgerFailure(path string, err error) error {
	var file *shell.Failure
	switch {
	case err == nil, errors.As(err, &file), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, account.ErrExceeded):
		hint := "noisewright ledger left " + path
		if e := (*ledger.Exceeded)(nil); errors.As(err, &e) && e.LeftDelta > 0 {
			hint += fmt.Sprintf(" --delta %v", e.LeftDelta)
		}
		return shell.Negative(hint, err)
	case errors.Is(err, fs.ErrNotExist):
		if _, missing := os.Stat(filepath.Dir(path)); missing != nil {
			return shell.BadInput("", fmt.Errorf("ledger = %s: no such folder, want a file in a folder that is there", check.Quoted(path)))
		}
		return shell.BadInput("noisewright ledger create "+path+" --epsilon E --delta D", fmt.Errorf("ledger = %s: no such file, want a file made by ledger create", check.Quoted(path)))
	case errors.Is(err, proof.ErrFormat) && shell.IsForeign(path):
		return shell.BadInput("", fmt.Errorf("%s: no ledger, want a file made by ledger create", path))
	case errors.Is(err, dp.ErrInvalid), errors.Is(err, proof.ErrFormat), errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrPermission):
		return shell.BadInput("", err)
	}
	return err
}

func termRows(t account.Terms) []shell.Row {
	composition := "exact, on the condition that " + strings.ReplaceAll(nonAdaptive, "\n", " ")
	if t.Adaptive {
		composition = "basic, for noise chosen in view of earlier answers too"
	}
	guess := "whether " + unitText(t) + " is there"
	if t.Neighbors == dp.Replace {
		guess = "which of two values " + unitText(t) + " has"
	}
	rows := fmt.Sprintf("%q between fields", t.Delimiter)
	if t.OneLine {
		rows += ", every line a row"
	}
	return []shell.Row{
		{"total", fmt.Sprintf("epsilon %v, delta %v", t.Epsilon, t.Delta)},
		{"in words", shell.InWords(t.Epsilon, t.Delta, guess) + " all releases"},
		{"neighbors", t.Neighbors},
		{"unit", t.Unit},
		{"CSV files", rows},
		{"composition", composition},
	}
}

// unitText is whose influence is hidden, in words.
func unitText(t account.Terms) string {
	if column, person := t.Person(); person {
		return "a person (" + column + ")"
	}
	return "a " + t.Unit
}

func newLedgerCreateCommand(s *shell.Streams) *cobra.Command {
	o := &ledgerOptions{Common: shell.Common{Streams: s}}
	terms, files := account.Terms{Neighbors: dp.AddRemove, Unit: dp.Row}, dialect{}
	f := shell.NewFlags(&cobra.Command{
		Use:   "create FILE --epsilon E --delta D",
		Short: "Make a ledger with a total",
		Long: `Make a ledger, a new file that its owner alone can read. Its terms stay as they are.

The total is for everything that is ever released about the people. --neighbors
and --unit say what is hidden; releases that hide something else are refused,
because their epsilons and deltas would add up different things. --delimiter and
--one-line say what a row of a CSV file is, for all releases, which may not say
something else: read by another delimiter, or line by line, one record is many rows.`,
		Example: `  noisewright ledger create city.ledger --epsilon 1 --delta 1e-6
  noisewright ledger create city.ledger --epsilon 1 --delta 1e-6 --unit person:id --adaptive`,
	})
	f.Argument(&o.file, "FILE", "ledger")
	f.Number(&terms.Epsilon, "epsilon", shell.Rule{Want: "a number above 0", OK: shell.Positive}, "total epsilon, without unit: a number above 0")
	f.Number(&terms.Delta, "delta", ledgerDelta, "total delta, "+ledgerDelta.Want)
	f.Prudent(&o.Common, &terms.Epsilon, &terms.Delta)
	f.Word(&terms.Neighbors, "neighbors", "word", "what neighbors differ in: one unit more or less (add-remove), or another one in the place of one (replace)", dp.AddRemove, dp.Replace)
	f.Text(&terms.Unit, "unit", "row|person:COLUMN", "whose influence is hidden: row, or person:COLUMN for all rows with the same value of the column")
	f.CompleteOrFile("unit", dp.Row, "person:")
	f.Bool(&terms.Adaptive, "adaptive", "basic composition, which allows noise to be chosen in view of earlier answers")
	files.flags(f, "")
	f.Verdict(&o.Common, "no progress and no summary")
	return f.Run(func(ctx context.Context) error {
		terms.Delimiter, terms.OneLine = string(rune(cmp.Or(files.Delimiter, ','))), files.OneLine
		if err := ledger.Create(ctx, o.file, terms); err != nil {
			return ledgerFailure(o.file, err)
		}
		return o.Print(terms, append(termRows(terms), shell.Row{"ledger", o.file}))
	})
}

var ledgerDelta = shell.Rule{Want: "a probability, at least 0 and below 1", OK: func(v float64) bool { return v >= 0 && v < 1 }}

type ledgerOptions struct {
	shell.Common
	file string
}

func (o *ledgerOptions) flags(f *shell.Flags) {
	f.Argument(&o.file, "FILE", "ledger")
	f.Summary(&o.Common)
}

func newLedgerReader(s *shell.Streams, doing string, run func(*ledgerOptions, context.Context, *ledger.Ledger) error, cmd *cobra.Command) *cobra.Command {
	o, f := &ledgerOptions{Common: shell.Common{Streams: s}}, shell.NewFlags(cmd)
	o.flags(f)
	return f.Run(o.reading(doing, func(ctx context.Context, l *ledger.Ledger) error { return run(o, ctx, l) }))
}

// reading is the run of a command that reads the ledger.
func (o *ledgerOptions) reading(doing string, run func(context.Context, *ledger.Ledger) error) func(context.Context) error {
	return func(ctx context.Context) error {
		l, err := openLedger(ctx, o.file)
		if err != nil {
			return err
		}
		defer l.Close() //nolint:errcheck // nothing was written
		o.Progress().Watch(doing)
		return ledgerFailure(o.file, run(ctx, l.Ledger))
	}
}

func newLedgerShowCommand(s *shell.Streams) *cobra.Command {
	return newLedgerReader(s, "verifying", (*ledgerOptions).show, &cobra.Command{
		Use:   "show FILE",
		Short: "Print the terms of a ledger and every release in it",
		Long: `Print the terms of a ledger and every release in it: when it was charged, whether
it was answered or only charged (by a process that still runs or has crashed; the
same query takes it up again), its mechanisms, each with the number of uses and
the epsilon and delta of a single one, and what was asked.

With --json also the answers, the queries in full, and which of them were about the
same data, by a number for each data set.`,
		Example: "  noisewright ledger show city.ledger",
	})
}

func (o *ledgerOptions) show(ctx context.Context, l *ledger.Ledger) error {
	records, err := l.Records(ctx)
	if err != nil {
		return err
	}
	list, lines := make([]shell.Object, len(records)), make([][]string, len(records))
	sets := map[string]int{} // numbers of data sets: a digest would confirm a guess of the whole file
	for i, r := range records {
		if sets[r.Data] == 0 {
			sets[r.Data] = len(sets) + 1
		}
		if list[i], lines[i], err = recorded(r, sets[r.Data]); err != nil {
			return err
		}
	}
	t := l.Terms()
	return o.PrintText(shell.Object{t, "releases", list}, func(b *strings.Builder) {
		shell.WriteRows(b, append(termRows(t), shell.Row{"releases", fmt.Sprint(len(list))}))
		shell.WriteColumns(b, lines, "><<<<")
	})
}

// recorded is a release as ledger show prints it: as an object, and in columns.
func recorded(r account.Record, data int) (shell.Object, []string, error) {
	state, answered, answer := "only charged", any(nil), any(nil)
	if r.Answer != nil {
		state, answered, answer = "answered", r.Answered, string(r.Answer)
	}
	costs := []shell.Object{}
	var mechanisms []string
	for _, c := range r.Costs {
		epsilon, delta := c.Promise() // of a single use
		table := any(nil)             // only the promise is known
		text := fmt.Sprintf("epsilon %s, delta %s", shell.DigitsUp(epsilon), shell.DigitsUp(delta))
		if c.Table != nil {
			hash, err := c.TableHash()
			if err != nil {
				return nil, nil, err
			}
			table, text = hash, fmt.Sprintf("table %s (%s)", hash[:12], text)
		}
		if c.Times > 1 {
			text = fmt.Sprintf("%d of %s", c.Times, text)
		}
		costs = append(costs, shell.Object{"table_sha256", table, "epsilon", epsilon, "delta", delta, "times", c.Times})
		mechanisms = append(mechanisms, text)
	}
	return shell.Object{
		"id", r.ID, "summary", r.Summary, "query", r.Text, "data", data, "costs", costs,
		"charged", r.Charged, "answered", answered, "answer", answer,
	}, []string{fmt.Sprint(r.ID), r.Charged.UTC().Format(time.DateTime) + "Z", state, cmp.Or(strings.Join(mechanisms, " and "), partCost), shell.Printable(r.Summary)}, nil
}

func newLedgerTotalCommand(s *shell.Streams) *cobra.Command {
	return newLedgerReader(s, "composing", (*ledgerOptions).total, &cobra.Command{
		Use:   "total FILE",
		Short: "Compute what was spent of a ledger's total",
		Long: `Compose everything that a ledger has charged, answered or not: at the total's delta
the epsilon of all of it together, a proven upper bound. The tables are those in
the ledger, verified again. basic is basic composition beside it, the sums of the
epsilons and of the deltas.

The composition holds on the condition that
` + nonAdaptive + `,
or if the ledger was made with --adaptive, where it is the sums.`,
		Example: "  noisewright ledger total city.ledger",
	})
}

func (o *ledgerOptions) total(ctx context.Context, l *ledger.Ledger) error {
	s, err := l.Spent(ctx)
	if err != nil {
		return err
	}
	t, basic, basicDelta := l.Terms(), exact.FloatUp(s.BasicEpsilon), exact.FloatUp(s.BasicDelta)
	releases := fmt.Sprintf("%d, with %d uses of noise", s.Releases, s.Uses)
	if s.Pending > 0 {
		releases += fmt.Sprintf("; %d only charged", s.Pending)
	}
	spent := shell.DigitsUp(s.Epsilon)
	if s.Epsilon == basic { // a sum has few digits, all of them
		spent = fmt.Sprint(s.Epsilon)
	}
	return o.Print(shell.Object{
		t, "spent_epsilon", s.Epsilon, "spent_delta", s.Delta, "basic_epsilon", basic, "basic_delta", basicDelta,
		"releases", s.Releases, "pending", s.Pending, "uses", s.Uses,
	}, append([]shell.Row{
		{"releases", releases},
		{"spent", fmt.Sprintf("epsilon %s, delta %v", spent, s.Delta)},
		shell.When(!t.Adaptive, "basic", fmt.Sprintf("epsilon %v, delta %v by basic composition", basic, basicDelta)),
	}, termRows(t)...))
}

type ledgerLeftOptions struct {
	ledgerOptions
	epsilon float64 // NaN: find it
	deltas  []float64
	table   string
}

func newLedgerLeftCommand(s *shell.Streams) *cobra.Command {
	o := &ledgerLeftOptions{ledgerOptions: ledgerOptions{Common: shell.Common{Streams: s}}, epsilon: math.NaN()}
	f := shell.NewFlags(&cobra.Command{
		Use:   "left FILE [TABLE | --delta D,... --epsilon E]",
		Short: "Compute what is left of a ledger's total",
		Long: `Print the largest epsilon of one more release with --delta that a ledger still takes,
rounded down, if nothing else is known of the release. With --epsilon too, print how
many more releases of that epsilon and delta it takes, and with a TABLE, how many
more that draw from the table once. Of several deltas each has an answer.`,
		Example: `  noisewright ledger left city.ledger
  noisewright ledger left city.ledger --delta 0,1e-8,1e-7
  noisewright ledger left city.ledger --epsilon 0.1 --delta 1e-8
  noisewright ledger left city.ledger table.json`,
	})
	f.TableArgument(&o.table, "TABLE", 1, 0)
	o.flags(f)
	delta := f.Func("delta", "numbers", "", "deltas of a release, separated by commas, each a probability, at least 0 and below 1 (default 0, and without --epsilon a hundredth and a tenth of the total's)", func(text string) (err error) {
		for s := range strings.SplitSeq(text, ",") {
			s = strings.TrimSpace(s)
			v, bad := shell.ParseNumber(s, ledgerDelta)
			o.deltas, err = append(o.deltas, v), cmp.Or(err, shell.About("delta", s, bad))
		}
		return err
	})
	epsilon := f.OptionalNumber(&o.epsilon, "epsilon", shell.Epsilon, "epsilon of a release, without unit: count how many fit")
	f.Check(func() error {
		if o.table != "" && (epsilon.Given || delta.Given) {
			return errors.New("table and epsilon or delta, want only one of them: the table has its own")
		}
		return nil
	})
	return f.Run(o.reading("composing", o.left))
}

func (o *ledgerLeftOptions) left(ctx context.Context, l *ledger.Ledger) error {
	if o.table != "" {
		v, err := o.ReadSound(ctx, o.table)
		if err != nil {
			return err
		}
		n, err := l.LeftTimes(ctx, account.Cost{Table: v})
		if err != nil {
			return err
		}
		return o.Print(shell.Object{"table", o.table, "times", n}, []shell.Row{{"left", fmt.Sprintf("%d of %s", n, shell.InputName(o.table))}})
	}
	find := math.IsNaN(o.epsilon)
	if o.deltas == nil {
		o.deltas = []float64{0}
		if total := l.Terms().Delta; find && total > 0 {
			for _, part := range []float64{100, 10} {
				delta, _ := strconv.ParseFloat(fmt.Sprintf("%.6g", total/part), 64)
				o.deltas = append(o.deltas, delta)
			}
		}
	}
	var list []shell.Object
	var rows []shell.Row
	for _, delta := range o.deltas {
		var one shell.Object
		var text string
		if find {
			epsilon, err := l.Left(ctx, delta)
			if err != nil {
				return err
			}
			one, text = shell.Object{"epsilon", epsilon, "delta", delta}, "one release of epsilon "+shell.DigitsDown(epsilon)
			if epsilon <= 1e-9*l.Terms().Epsilon { // less is what rounding left
				text = "no release"
			}
		} else {
			n, err := l.LeftTimes(ctx, account.Cost{Epsilon: o.epsilon, Delta: delta})
			if err != nil {
				return err
			}
			one, text = shell.Object{"epsilon", o.epsilon, "delta", delta, "times", n}, fmt.Sprintf("%d of epsilon %v", n, o.epsilon)
		}
		list = append(list, one)
		rows = append(rows, shell.Row{[]string{"left", "or"}[min(len(rows), 1)], fmt.Sprintf("%s, delta %v", text, delta)})
	}
	return o.Print(shell.Object{list[0], "left", list}, rows)
}
