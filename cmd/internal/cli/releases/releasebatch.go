// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/strictjson"
	"github.com/noisewright/noisewright/release"
)

type releaseBatchOptions struct {
	releaseOptions
	queryFile  string
	total      dp.Budget // of all; epsilon 0: each query has its own
	statistics []release.Statistic
	queries    []release.Query // of the statistics
	sameData   bool
}

const mostQueries = 1000

// queryFormat is strict: of a field that stands twice, the epsilon that nobody meant may be spent.
var queryFormat = strictjson.Format{
	List: "queries", Noun: "list of queries", MaxElements: map[string]int{"queries": mostQueries},
	Elements: 100_001, MaxSize: 64 << 20, Err: dp.ErrInvalid, // more elements than any query takes
}

func newReleaseBatchCommand(s *shell.Streams) *cobra.Command {
	o := &releaseBatchOptions{releaseOptions: releaseOptions{Common: shell.Common{Streams: s}, design: shell.DesignOptions()}}
	f := shell.NewFlags(&cobra.Command{
		Use:   "batch --queries FILE [--epsilon E --delta D]",
		Short: "Publish several statistics of a file, with one total",
		Long: `Publish several statistics of a file, which is read once, all of them or none. The
queries are a TOML file with a table for each, named as you like, or a JSON list of
objects, with the fields of "query" in the answers of the other commands; what they leave
out has its default.

With --epsilon and --delta all of them share this total. error = "5@0.95" gives a count, a
sum, a histogram or a quantile the least epsilon with which its answer is within 5 of the
exact one with a probability of 0.95 (of a quantile, within 5 rows); the others get what
is left, in proportion to their weight = 1. If the errors take more than the total, it is
said how much is missing, and nothing is charged. Of many statistics parts are larger
than those of the sum, by exact composition. Without a total each has its own epsilon and
delta.

With a ledger nothing is charged unless all of them fit together, but for those that it
has an answer to, which cost nothing. Each is a release of its own, as if it had been
asked for alone.

` + releaseInterval,
		Example: `  printf '[old]\nkind = "count"\nwhere = "age >= 65"\nerror = "10@0.95"\n[work]\nkind = "mean"\ncolumn = "hours"\nlower = 0\nupper = 100\n' > queries.toml
  noisewright release batch --queries queries.toml --epsilon 1 --delta 1e-6 --data people.csv --ledger city.ledger`,
	})
	f.RequiredFile(&o.queryFile, "queries", "a file of queries", "TOML or JSON file of the queries, - for JSON in standard input", "toml", "json")
	total := f.OptionalNumber(&o.total.Epsilon, "epsilon", shell.PositiveEpsilon, "epsilon of all together, which they share, without unit: "+shell.PositiveEpsilon.Want)
	ofDelta := f.OptionalNumber(&o.total.Delta, "delta", shell.Delta, "with --epsilon: delta of all together, a probability: "+shell.Delta.Want)
	f.Check(func() error {
		switch {
		case total.Given && !ofDelta.Given:
			return errors.New("epsilon is given without delta, want both")
		case ofDelta.Given && !total.Given:
			return errors.New("delta is given without epsilon, want both")
		}
		return nil
	})
	f.RequiredFile(&o.data, "data", "a CSV file", "CSV file with a header, - for standard input; perhaps compressed with gzip or zstd", "csv", "gz", "zst")
	f.Check(func() error { return oneStandard(o.queryFile, o.data) })
	o.csv.flags(f, asLedger)
	// Of all queries together, so that weak promises are warned of.
	epsilon, delta := 0.0, 0.0
	f.Check(func() error {
		if o.queryFile == "" {
			return nil // reported
		}
		err := o.readQueries()
		if epsilon, delta = o.total.Epsilon, o.total.Delta; epsilon == 0 {
			for _, q := range o.queries {
				epsilon += q.Epsilon
				delta += q.Delta
			}
		}
		return err
	})
	f.Prudent(&o.Common, &epsilon, &delta)
	f.File(&o.ledger, "ledger", "ledger to charge, made by ledger create (default none: nothing adds up your releases)", "ledger")
	f.Bool(&o.sameData, "same-data", sameDataUsage)
	f.Directory(&o.tables, "tables", "directory of tables to keep, - for none (default that of the user's caches)")
	f.Gap(&o.design)
	f.TimeLimit(&o.design, " of one design")
	f.Output(&o.Common, "JSON file to write the answers to", "json")
	f.Summary(&o.Common, "output")
	return f.Run(o.run)
}

func (o *releaseBatchOptions) readQueries() error {
	in, err := o.Open(o.queryFile)
	if err != nil {
		return err
	}
	defer in.Close()
	var text io.Reader = in
	if strings.HasSuffix(o.queryFile, ".toml") {
		if text, err = tomlList(in); err != nil {
			return shell.BadFile(o.queryFile, err)
		}
	}
	if err := strictjson.Decode(text, queryFormat, &o.statistics); err != nil {
		return shell.BadFile(o.queryFile, shell.FileCause(err))
	}
	if len(o.statistics) == 0 {
		return shell.BadFile(o.queryFile, fmt.Errorf("queries = 0, want 1 to %d of them", mostQueries))
	}
	var errs []error
	for i, x := range o.statistics {
		q := x.Query
		o.queries = append(o.queries, q)
		q.Neighbors = cmp.Or(q.Neighbors, dp.AddRemove) // else those of the ledger
		if o.total.Epsilon != 0 && q.Epsilon == 0 {
			q.Epsilon, q.Delta = 1, cmp.Or(q.Delta, o.total.Delta) // its part of the total, which is less
		}
		err := q.Validate()
		switch {
		case q.Kind == release.Value:
			err = fmt.Errorf("kind = %s, want a statistic of the data", q.Kind)
		case o.total.Epsilon == 0 && (x.Weight != 0 || x.Error != ""):
			err = errors.Join(err, errors.New("weight or error is given without --epsilon and --delta, the total to share"))
		}
		errs = append(errs, o.about(i, len(o.statistics), err))
	}
	return errors.Join(errs...)
}

// tomlList reads tables as the JSON list of their contents, each with its name.
func tomlList(in io.Reader) (io.Reader, error) {
	var tables map[string]any
	m, err := toml.NewDecoder(io.LimitReader(in, queryFormat.MaxSize)).Decode(&tables)
	if err != nil {
		if p, ok := errors.AsType[toml.ParseError](err); ok {
			err = fmt.Errorf("line %d: %s", p.Position.Line, strings.TrimSuffix(p.Message, "."))
		}
		return nil, err
	}
	list := []map[string]any{}
	for _, key := range m.Keys() {
		if len(key) > 1 {
			continue
		}
		t, ok := tables[key[0]].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s is no table, want [%s] and its fields below", check.Quoted(key[0]), check.Shortened(key[0]))
		}
		for field, x := range t {
			if v, number := x.(float64); field == "name" || number && !check.Finite(v) {
				return nil, fmt.Errorf("[%s] has %s = %v, want a finite number, and for a name that of the table", check.Shortened(key[0]), field, x)
			}
		}
		t["name"] = key[0]
		list = append(list, t)
	}
	text, err := json.Marshal(list)
	return bytes.NewReader(text), err
}

// split gives statistics that share a total their parts of it.
func (o *releaseBatchOptions) split(ctx context.Context, adaptive bool) (err error) {
	for i := range o.statistics {
		o.statistics[i].Query = o.queries[i]
	}
	o.Progress().Watch("splitting the total")
	o.queries, err = release.Split(ctx, o.total, adaptive, o.statistics, o.source())
	return err
}

// name is that of a query.
func (o *releaseBatchOptions) name(i int) string {
	if name := o.statistics[i].Name; name != "" {
		return shell.Printable(name)
	}
	return fmt.Sprintf("query %d", i+1)
}

// about says which query an error is about, if there are several.
func (o *releaseBatchOptions) about(i, of int, err error) error {
	if err == nil || of == 1 {
		return err
	}
	sentences := check.Sentences(err)
	for j, s := range sentences {
		sentences[j] = fmt.Sprintf("%s: %s", o.name(i), s)
	}
	return check.Errorf("", err, "%s", strings.Join(sentences, "\n"))
}

func (o *releaseBatchOptions) run(ctx context.Context) error {
	w, err := o.Reserve(o.Output, o.data, o.queryFile, o.ledger)
	if err != nil {
		return err
	}
	defer w.Discard()
	var book *namedLedger
	if o.ledger != "" {
		if book, err = openLedger(ctx, o.ledger); err != nil {
			return err
		}
		defer book.Close()
		if err := o.csv.under(book.Terms()); err != nil {
			return shell.BadInput("what a row is was fixed by ledger create: leave the flag out", err)
		}
	}
	for i := range o.queries {
		if q := &o.queries[i]; q.Neighbors == "" {
			q.Neighbors = dp.AddRemove
			if book != nil {
				q.Neighbors = book.Terms().Neighbors
			}
		}
	}
	if o.total.Epsilon != 0 {
		err := o.split(ctx, book != nil && book.Terms().Adaptive)
		switch {
		case errors.Is(err, account.ErrExceeded):
			return shell.Negative("a larger --epsilon, or larger errors", err)
		case err != nil:
			return shell.Invalid("noisewright release batch --help", err)
		}
	}
	data, err := o.read(ctx, book)
	if err != nil {
		return err
	}
	answers, err := o.answer(ctx, book, data)
	if err != nil {
		return shell.Invalid("noisewright release batch --help", err)
	}
	if book == nil {
		o.Warn("no ledger: nothing adds up what your releases about these people cost together (see ledger create)")
	}
	var rows []shell.Row
	named := make([]namedAnswer, len(answers))
	for i, a := range answers {
		named[i] = namedAnswer{o.statistics[i].Name, a}
		rows = append(rows, shell.Row{o.name(i), string(a.Kind)})
		rows = append(rows, o.rows(a)...)
	}
	report := shell.Object{"answers", named}
	if o.total.Epsilon != 0 {
		report = append(report, "epsilon", o.total.Epsilon, "delta", o.total.Delta)
		rows = append(rows, shell.Row{"all", fmt.Sprintf("epsilon %v, delta %v together", o.total.Epsilon, o.total.Delta)})
	}
	return o.Finish(w, func(w io.Writer) error { return shell.EncodeJSON(w, report) }, report, rows, nil)
}

// namedAnswer is an answer with the name of its statistic.
type namedAnswer struct {
	Name string `json:"name,omitempty"`
	*release.Answer
}

// readData is what was read of the data for a query.
type readData struct {
	data   *release.Data
	digest string
}

// ReadData returns it to release.ReadData.
func (d *readData) ReadData(context.Context, release.Query) (*release.Data, string, error) {
	return d.data, d.digest, nil
}

// read reads the data for every query at once.
func (o *releaseBatchOptions) read(ctx context.Context, book *namedLedger) ([]*readData, error) {
	in, err := o.Open(o.data)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, errs := make([]*readData, len(o.queries)), make([]error, len(o.queries))
	pipes, writers := make([]*io.PipeWriter, len(o.queries)), make([]io.Writer, len(o.queries))
	var wg sync.WaitGroup
	for i := range o.queries {
		from, to := io.Pipe()
		pipes[i], writers[i] = to, to
		wg.Go(func() {
			data[i], errs[i] = o.readOne(ctx, from, o.queries[i])
			_, _ = io.Copy(io.Discard, from) // so that all queries say what is wrong with them
		})
	}
	_, err = io.Copy(io.MultiWriter(writers...), watched{in, o.Progress()})
	for _, to := range pipes {
		_ = to.CloseWithError(err) // nil is the end of the data
	}
	wg.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, shell.BadFile(o.data, shell.FileCause(err))
	}
	for i := range errs {
		errs[i] = o.about(i, len(errs), errs[i])
	}
	if err := errors.Join(errs...); err != nil {
		return nil, shell.BadFile(o.data, err)
	}
	if o.sameData && book != nil {
		return data, book.knows(ctx, data[0].digest)
	}
	return data, nil
}

func (o *releaseBatchOptions) readOne(ctx context.Context, from io.Reader, q release.Query) (*readData, error) {
	d := &readData{}
	digest, err := release.File{Reader: from, Delimiter: o.csv.Delimiter, OneLine: o.csv.OneLine}.Read(ctx, func(rows *release.CSV) (err error) {
		d.data, err = release.Read(rows, q)
		return err
	})
	d.digest = digest
	return d, err
}

// sameDataUsage is the help of --same-data.
const sameDataUsage = "refuse data that no release in the ledger is about, if there are any of data"

// knows refuses data other than those that the ledger's releases are about.
func (l *namedLedger) knows(ctx context.Context, digest string) error {
	records, err := l.Records(ctx)
	if err != nil {
		return ledgerFailure(l.path, err)
	}
	known := 0
	for _, r := range records {
		if r.Data == digest {
			return nil
		}
		if !strings.HasPrefix(r.Text, `{"kind":"value",`) { // which is of no data
			known++
		}
	}
	if known == 0 {
		return nil
	}
	return shell.BadInput("", fmt.Errorf("data = other bytes than in all %d releases of %s, want the same data, or a run without --same-data", known, l.path))
}

// planned is a ledger that charges nothing, but keeps what a release would cost.
type planned struct {
	account.Ledger
	before bool            // charged before, without an answer
	seen   map[string]bool // texts of queries
	costs  []account.Cost
}

// errPlanned is the error of a release that was planned alone.
var errPlanned = errors.New("planned")

// Find implements account.Ledger.
func (p *planned) Find(ctx context.Context, text, data string) (account.Record, bool, error) {
	r, ok, err := p.Ledger.Find(ctx, text, data)
	p.before = ok
	return r, ok, err
}

// Release implements account.Ledger.
func (p *planned) Release(_ context.Context, c account.Charge, _ func(context.Context) ([]byte, error)) (account.Record, error) {
	if !p.before && !p.seen[c.Text] {
		p.costs = append(p.costs, c.Costs...)
	}
	p.seen[c.Text] = true
	return account.Record{}, errPlanned
}

// answer plans all queries, and then charges and answers them.
func (o *releaseBatchOptions) answer(ctx context.Context, book *namedLedger, data []*readData) ([]*release.Answer, error) {
	source := o.source()
	answers, errs := make([]*release.Answer, len(data)), make([]error, len(data))
	each := func(l account.Ledger) error {
		for i, d := range data {
			a, err := release.Release(ctx, l, d, o.queries[i], source)
			if errors.Is(err, errPlanned) {
				err = nil
			}
			answers[i], errs[i] = a, o.about(i, len(data), err)
		}
		return errors.Join(errs...)
	}
	if book == nil {
		return answers, each(nil)
	}
	p := &planned{Ledger: book, seen: map[string]bool{}}
	if err := each(p); err != nil {
		return nil, err
	}
	if err := book.Fits(ctx, p.costs); err != nil {
		return nil, ledgerFailure(o.ledger, err)
	}
	return answers, each(book)
}
