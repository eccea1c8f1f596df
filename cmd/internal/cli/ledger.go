package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/release/ledger"
)

// nonAdaptive is the condition of exact composition, on two lines of a help text.
const nonAdaptive = `the mechanisms of releases (statistic, epsilon, delta, loss, releases, rows per
person, number of keys) were not chosen in view of earlier answers`

func newLedgerCommand(s *shell.Streams) *cobra.Command {
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

The ledger is an internal document. Answers are meant to be published. The digests
of the data, which queries were asked and when, and whether the data changed
between equal queries are not protected. Keep one copy: one restored from a backup
has forgotten what was released since. FILE-journal beside it is part of it.`,
		Example: `  noisewright ledger create city.ledger --epsilon 1 --delta 1e-6
  noisewright ledger show city.ledger
  noisewright ledger left city.ledger`,
	}
	return shell.Group(cmd, "command", newLedgerCreateCommand(s), newLedgerShowCommand(s), newLedgerTotalCommand(s), newLedgerLeftCommand(s))
}

// namedLedger is the ledger of a file. Every error of a release is one of bad input, or of the
// machine.
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

// Find implements account.Ledger.
func (l *namedLedger) Find(ctx context.Context, text, data string) (r account.Record, ok bool, err error) {
	if r, ok, err = l.Ledger.Find(ctx, text, data); err != nil {
		err = ledgerFailure(l.path, err)
	}
	return r, ok, err
}

// Release implements account.Ledger.
func (l *namedLedger) Release(ctx context.Context, c account.Charge, answer func(context.Context) ([]byte, error)) (r account.Record, err error) {
	if r, err = l.Ledger.Release(ctx, c, answer); err != nil {
		err = ledgerFailure(l.path, err)
	}
	return r, err
}

// ledgerFailure gives an error of a ledger its exit code and a hint.
func ledgerFailure(path string, err error) error {
	var file *shell.Failure
	switch {
	case errors.As(err, &file), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, account.ErrExceeded):
		hint := "noisewright ledger left " + path
		if e := (*ledger.Exceeded)(nil); errors.As(err, &e) && e.LeftDelta > 0 {
			hint += fmt.Sprintf(" --delta %v", e.LeftDelta)
		}
		return shell.Negative(hint, err)
	case errors.Is(err, fs.ErrNotExist):
		return shell.BadInput("noisewright ledger create "+path+" --epsilon E --delta D", err)
	case errors.Is(err, proof.ErrFormat) && shell.IsForeign(path):
		return shell.BadInput("", fmt.Errorf("%s: no ledger, want a file made by ledger create", path))
	case errors.Is(err, dp.ErrInvalid), errors.Is(err, proof.ErrFormat), errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrPermission):
		return shell.BadInput("", err)
	}
	return err
}

// ledgerTerms are the terms of a ledger as printed.
type ledgerTerms struct {
	Epsilon   float64 `json:"epsilon"`
	Delta     float64 `json:"delta"`
	Neighbors string  `json:"neighbors"`
	Unit      string  `json:"unit"`
	Adaptive  bool    `json:"adaptive"`
}

func (t ledgerTerms) rows() []shell.Row {
	composition := "exact, on the condition that " + strings.ReplaceAll(nonAdaptive, "\n", " ")
	if t.Adaptive {
		composition = "basic, for noise chosen in view of earlier answers too"
	}
	unit := "a " + t.Unit
	if column, person := ledger.Terms(t).Person(); person {
		unit = "a person (" + column + ")"
	}
	guess := "whether " + unit + " is there"
	if t.Neighbors == dp.Replace {
		guess = "which of two values " + unit + " has"
	}
	return []shell.Row{
		{"total", fmt.Sprintf("epsilon %v, delta %v", t.Epsilon, t.Delta)},
		{"in words", shell.InWords(t.Epsilon, t.Delta, guess) + " all releases"},
		{"neighbors", t.Neighbors},
		{"unit", t.Unit},
		{"composition", composition},
	}
}

type ledgerCreateOptions struct {
	shell.Common
	file  string
	terms ledger.Terms
}

func newLedgerCreateCommand(s *shell.Streams) *cobra.Command {
	o := &ledgerCreateOptions{Common: shell.Common{Streams: s}}
	o.terms.Neighbors, o.terms.Unit = dp.AddRemove, dp.Row
	f := shell.NewFlags(&cobra.Command{
		Use:   "create FILE --epsilon E --delta D",
		Short: "Make a ledger with a total",
		Long: `Make a ledger, a new file that its owner alone can read. Its terms stay as they are.

The total is for everything that is ever released about the people. --neighbors
and --unit say what is hidden; releases that hide something else are refused,
because their epsilons and deltas would add up different things.`,
		Example: `  noisewright ledger create city.ledger --epsilon 1 --delta 1e-6
  noisewright ledger create city.ledger --epsilon 1 --delta 1e-6 --unit person:id --adaptive`,
	})
	f.Argument(&o.file, "FILE", "ledger")
	f.Number(&o.terms.Epsilon, "epsilon", shell.Rule{Want: "a number above 0", OK: shell.Positive}, "total epsilon, without unit: a number above 0")
	o.terms.Delta = math.NaN()
	f.Func("delta", "number", "", "total delta, a probability, at least 0 and below 1", func(text string) (err error) {
		o.terms.Delta, err = shell.ParseNumber(text, ledgerDelta)
		return err
	})
	f.Check(func() error {
		if math.IsNaN(o.terms.Delta) {
			return shell.About("delta", "", shell.Want(ledgerDelta.Want))
		}
		return nil
	})
	f.Prudent(&o.Common, &o.terms.Epsilon, &o.terms.Delta)
	f.Word(&o.terms.Neighbors, "neighbors", "word", "what neighbors differ in: one unit more or less (add-remove), or another one in the place of one (replace)", dp.AddRemove, dp.Replace)
	f.Text(&o.terms.Unit, "unit", "row|person:COLUMN", "whose influence is hidden: row, or person:COLUMN for all rows with the same value of the column")
	f.CompleteOrFile("unit", dp.Row, "person:")
	f.Bool(&o.terms.Adaptive, "adaptive", "basic composition, which allows noise to be chosen in view of earlier answers")
	f.Verdict(&o.Common, "no progress and no summary")
	return f.Run(o.run)
}

var ledgerDelta = shell.Rule{Want: "a probability, at least 0 and below 1", OK: func(v float64) bool { return v >= 0 && v < 1 }}

func (o *ledgerCreateOptions) run(ctx context.Context) error {
	if err := ledger.Create(ctx, o.file, o.terms); err != nil {
		return ledgerFailure(o.file, err)
	}
	t := ledgerTerms(o.terms)
	return o.Print(t, append(t.rows(), shell.Row{"ledger", o.file}))
}

// ledgerOptions are those of the commands that read a ledger.
type ledgerOptions struct {
	shell.Common
	file string
}

func (o *ledgerOptions) flags(f *shell.Flags) {
	f.Argument(&o.file, "FILE", "ledger")
	f.Summary(&o.Common)
}

// ledgerRecord is a release as ledger show prints it.
type ledgerRecord struct {
	ID       int64        `json:"id"`
	Summary  string       `json:"summary"`
	Query    string       `json:"query"`
	Data     string       `json:"data_sha256"`
	Costs    []ledgerCost `json:"costs"`
	Charged  time.Time    `json:"charged"`
	Answered *time.Time   `json:"answered"` // null: only charged
	Answer   *string      `json:"answer"`
}

type ledgerCost struct {
	Table   *string `json:"table_sha256"` // null: only the promise is known
	Epsilon float64 `json:"epsilon"`      // of a single use
	Delta   float64 `json:"delta"`
	Times   int     `json:"times"`
}

func newLedgerShowCommand(s *shell.Streams) *cobra.Command {
	o := &ledgerOptions{Common: shell.Common{Streams: s}}
	f := shell.NewFlags(&cobra.Command{
		Use:   "show FILE",
		Short: "Print the terms of a ledger and every release in it",
		Long: `Print the terms of a ledger and every release in it: when it was charged, whether
it was answered or only charged (by a process that still runs or has crashed; the
same query takes it up again), its mechanisms, each with the number of uses and
the epsilon and delta of a single one, and what was asked.

With --json also the answers, the queries in full and the digests of the data.`,
		Example: "  noisewright ledger show city.ledger",
	})
	o.flags(f)
	return f.Run(o.show)
}

func (o *ledgerOptions) show(ctx context.Context) error {
	l, err := openLedger(ctx, o.file)
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // nothing was written
	o.Progress().Watch("verifying")
	records, err := l.Records(ctx)
	if err != nil {
		return ledgerFailure(o.file, err)
	}
	list := make([]ledgerRecord, len(records))
	for i, r := range records {
		if list[i], err = newLedgerRecord(r); err != nil {
			return err
		}
	}
	t := ledgerTerms(l.Terms())
	return o.PrintText(struct {
		ledgerTerms
		Releases []ledgerRecord `json:"releases"`
	}{t, list}, func(b *strings.Builder) {
		shell.WriteRows(b, append(t.rows(), shell.Row{"releases", fmt.Sprint(len(list))}))
		lines := make([][]string, len(list))
		for i, r := range list {
			lines[i] = r.cells()
		}
		shell.WriteColumns(b, lines, "><<<<")
	})
}

func newLedgerRecord(r account.Record) (ledgerRecord, error) {
	out := ledgerRecord{ID: r.ID, Summary: r.Summary, Query: r.Text, Data: r.Data, Charged: r.Charged}
	if r.Answer != nil {
		text := string(r.Answer)
		out.Answered, out.Answer = &r.Answered, &text
	}
	for _, c := range r.Costs {
		p := ledgerCost{Times: c.Times}
		p.Epsilon, p.Delta = c.Promise()
		if c.Table != nil {
			hash, err := c.TableHash()
			if err != nil {
				return out, err
			}
			p.Table = &hash
		}
		out.Costs = append(out.Costs, p)
	}
	return out, nil
}

// cells are the columns of a release.
func (r ledgerRecord) cells() []string {
	state := "answered"
	if r.Answer == nil {
		state = "only charged"
	}
	var mechanisms []string
	for _, c := range r.Costs {
		text := fmt.Sprintf("epsilon %s, delta %s", shell.DigitsUp(c.Epsilon), shell.DigitsUp(c.Delta))
		if c.Table != nil {
			text = fmt.Sprintf("table %s (%s)", (*c.Table)[:12], text)
		}
		if c.Times > 1 {
			text = fmt.Sprintf("%d of %s", c.Times, text)
		}
		mechanisms = append(mechanisms, text)
	}
	return []string{fmt.Sprint(r.ID), r.Charged.UTC().Format(time.DateTime) + "Z", state, strings.Join(mechanisms, " and "), shell.Printable(r.Summary)}
}

// ledgerTotal is what ledger total prints.
type ledgerTotal struct {
	ledgerTerms
	SpentEpsilon float64 `json:"spent_epsilon"`
	SpentDelta   float64 `json:"spent_delta"`
	BasicEpsilon float64 `json:"basic_epsilon"`
	BasicDelta   float64 `json:"basic_delta"`
	Releases     int     `json:"releases"`
	Pending      int     `json:"pending"`
	Uses         int     `json:"uses"`
}

func newLedgerTotalCommand(s *shell.Streams) *cobra.Command {
	o := &ledgerOptions{Common: shell.Common{Streams: s}}
	f := shell.NewFlags(&cobra.Command{
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
	o.flags(f)
	return f.Run(o.total)
}

func (o *ledgerOptions) total(ctx context.Context) error {
	l, err := openLedger(ctx, o.file)
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // nothing was written
	o.Progress().Watch("composing")
	s, err := l.Spent(ctx)
	if err != nil {
		return ledgerFailure(o.file, err)
	}
	r := ledgerTotal{
		ledgerTerms: ledgerTerms(l.Terms()), SpentEpsilon: s.Epsilon, SpentDelta: s.Delta,
		BasicEpsilon: exact.FloatUp(s.BasicEpsilon), BasicDelta: exact.FloatUp(s.BasicDelta),
		Releases: s.Releases, Pending: s.Pending, Uses: s.Uses,
	}
	releases := fmt.Sprintf("%d, with %d uses of noise", r.Releases, r.Uses)
	if r.Pending > 0 {
		releases += fmt.Sprintf("; %d only charged", r.Pending)
	}
	spent := shell.DigitsUp(r.SpentEpsilon)
	if r.SpentEpsilon == r.BasicEpsilon { // a sum has few digits, all of them
		spent = fmt.Sprint(r.SpentEpsilon)
	}
	rows := []shell.Row{
		{"releases", releases},
		{"spent", fmt.Sprintf("epsilon %s, delta %v", spent, r.SpentDelta)},
	}
	if !r.Adaptive {
		rows = append(rows, shell.Row{"basic", fmt.Sprintf("epsilon %v, delta %v by basic composition", r.BasicEpsilon, r.BasicDelta)})
	}
	return o.Print(r, append(rows, r.rows()...))
}

type ledgerLeftOptions struct {
	ledgerOptions
	epsilon float64 // NaN: find it
	delta   float64
	table   string
}

// ledgerLeft is what ledger left prints: the epsilon of one more release at the delta,
// or how many more there can be.
type ledgerLeft struct {
	Epsilon *float64 `json:"epsilon,omitempty"`
	Delta   *float64 `json:"delta,omitempty"`
	Table   *string  `json:"table,omitempty"`
	Times   *int     `json:"times,omitempty"`
}

func newLedgerLeftCommand(s *shell.Streams) *cobra.Command {
	o := &ledgerLeftOptions{ledgerOptions: ledgerOptions{Common: shell.Common{Streams: s}}, epsilon: math.NaN()}
	f := shell.NewFlags(&cobra.Command{
		Use:   "left FILE [--delta D] [--epsilon E | --table TABLE]",
		Short: "Compute what is left of a ledger's total",
		Long: `Print the largest epsilon of one more release with --delta that a ledger still takes,
rounded down, if nothing else is known of the release. With --epsilon too, print how
many more releases of that epsilon and delta it takes, and with --table, how many
more that draw from the table once.`,
		Example: `  noisewright ledger left city.ledger
  noisewright ledger left city.ledger --epsilon 0.1 --delta 1e-8
  noisewright ledger left city.ledger --table table.json`,
	})
	o.flags(f)
	delta := f.OptionalNumber(&o.delta, "delta", ledgerDelta, "delta of a release, a probability, at least 0 and below 1 (default 0)")
	epsilon := f.OptionalNumber(&o.epsilon, "epsilon", shell.Epsilon, "epsilon of a release, without unit: count how many fit")
	f.File(&o.table, "table", "table file: count how many releases of it fit", "json")
	f.Check(func() error {
		if o.table != "" && (epsilon.Given || delta.Given) {
			return errors.New("table and epsilon or delta, want only one of them: the table has its own")
		}
		return nil
	})
	return f.Run(o.run)
}

func (o *ledgerLeftOptions) run(ctx context.Context) error {
	l, err := openLedger(ctx, o.file)
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // nothing was written
	o.Progress().Watch("composing")
	r := ledgerLeft{}
	cost := account.Cost{Epsilon: o.epsilon, Delta: o.delta}
	what := ""
	switch {
	case o.table != "":
		cost = account.Cost{}
		if cost.Table, err = o.ReadSound(ctx, o.table); err != nil {
			return err
		}
		r.Table, what = &o.table, shell.InputName(o.table)
	case math.IsNaN(o.epsilon):
		e, err := l.Left(ctx, o.delta)
		if err != nil {
			return ledgerFailure(o.file, err)
		}
		r.Epsilon, r.Delta = &e, &o.delta
		return o.Print(r, []shell.Row{{"left", fmt.Sprintf("one release of epsilon %s, delta %v", shell.DigitsDown(e), o.delta)}})
	default:
		r.Epsilon, r.Delta, what = &o.epsilon, &o.delta, fmt.Sprintf("epsilon %v, delta %v", o.epsilon, o.delta)
	}
	n, err := l.LeftTimes(ctx, cost)
	if err != nil {
		return ledgerFailure(o.file, err)
	}
	r.Times = &n
	return o.Print(r, []shell.Row{{"left", fmt.Sprintf("%d of %s", n, what)}})
}
