// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/plan"
)

// Workload asks for all answers of a plan about a data set. All of it is public, as a Query is.
type Workload struct {
	// Plan is what is released. Its neighbors are those of the promise, and its MaxPerPerson
	// bounds in how many cells a unit counts.
	Plan *plan.Verified
	// Cells say which cell a row is in: one column, or for marginals one for each attribute.
	Cells []Cells

	// Where, Person, MaxPerPerson and StrictNotPrivate are those of a Query. Of a person a row counts in
	// each of at most MaxPerPerson cells, chosen at random; 0: as many as the plan says, and never more.
	Where            string
	Person           string
	MaxPerPerson     int
	StrictNotPrivate bool
}

// Cells are a column's values that count, in the order of the plan's cells: each of Keys, or the
// numbers between two Edges, as of a Query; or the dates and times in each of the periods from a day on. They are
// public; a row with another value is in no cell and does not count.
type Cells struct {
	Column string    `json:"column"`
	Keys   []string  `json:"keys,omitempty"`
	Edges  []float64 `json:"edges,omitempty"`
	// Every is "day", "week", "month", "quarter" or "year": then the column has dates, such as 2026-03-31 or
	// 2026-03-31T23:59:59+02:00, From is the day on which the first cell begins, and the Keys follow. Zone names the time
	// zone of the calendar and of times without an offset; "" is UTC.
	Every string `json:"every,omitempty"`
	From  string `json:"from,omitempty"`
	Zone  string `json:"zone,omitempty"`

	zone *time.Location // of Every
	ends []time.Time    // of the cells of Every, the days after them
}

// Labels names the cells.
func (c *Cells) Labels() []string {
	if len(c.Edges) > 0 {
		return Query{Edges: c.Edges}.groups()
	}
	return c.Keys
}

// validate checks the labels of a column, of which there are to be so many.
func (c *Cells) validate(want int, bad *check.List) {
	q := Query{Kind: Histogram, Epsilon: 1, Neighbors: dp.AddRemove, By: c.Column, Keys: c.Keys}
	dates := check.In("release")
	if c.dated(want, dates); !dates.None() {
		bad.Add(dates.Err())
		return
	}
	q.Keys = c.Keys
	field := "keys"
	if len(c.Edges) > 0 {
		q.By, q.Column, q.Edges, field = "", c.Column, c.Edges, "edges"
		bad.If(len(c.Keys) > 0, "keys", len(c.Keys), "either keys or edges of a column, and not both")
	}
	if err := q.Validate(); err != nil {
		bad.Add(err)
		return
	}
	if n := len(c.Labels()); n != want {
		bad.Badf(field, fmt.Sprintf("%s of column %s", counted(n), check.Quoted(c.Column)), "%d, one for each of the plan's", want)
	}
}

// Query returns what is said of rows and units, as a query.
func (w *Workload) query() (q Query, err error) {
	bad := check.In("release")
	if w.Plan == nil || w.Plan.Mechanism() == nil {
		return q, check.Field("release", "plan", "none", "one that Verify has proved")
	}
	s := w.Plan.Mechanism().Spec()
	q = Query{
		Kind: Histogram, Epsilon: s.Epsilon, Delta: s.Delta, Releases: 1, Neighbors: s.Neighbors,
		Where: w.Where, Person: w.Person, MaxPerPerson: w.MaxPerPerson, StrictNotPrivate: w.StrictNotPrivate,
	}
	if q.Person != "" {
		q.MaxPerPerson = cmp.Or(q.MaxPerPerson, s.MaxPerPerson)
		bad.If(q.MaxPerPerson > s.MaxPerPerson, "max-per-person", q.MaxPerPerson, "at most %d, the cells that a person may be in by the plan", s.MaxPerPerson)
	}
	want, got := []string{""}, make([]string, len(w.Cells))
	if s.Workload.Kind == plan.Marginals {
		want = want[:0]
		for _, a := range s.Workload.Attributes {
			want = append(want, a.Name)
		}
	}
	var cells []Cells
	for i, c := range w.Cells {
		if got[i] = c.Column; s.Workload.Kind != plan.Marginals {
			got[i] = ""
		}
		at := slices.Index(want, got[i])
		switch {
		case at < 0:
			bad.Bad("column", check.Quoted(c.Column), "one of the attributes of the plan: "+listed(want))
		case slices.Index(got, got[i]) < i:
			bad.Bad("column", check.Quoted(c.Column), "one column for the cells, or for marginals each attribute once")
		case s.Workload.Kind == plan.Marginals:
			c.validate(s.Workload.Attributes[at].Size, bad)
		default:
			c.validate(s.Workload.Cells, bad)
		}
		cells = append(cells, c)
	}
	for _, name := range want {
		if i := slices.Index(got, name); i >= 0 {
			q.cells = append(q.cells, cells[i])
		} else {
			bad.Bad("keys", "none of "+cmp.Or(check.Quoted(name), "a column"), "the values or edges, known without a look at the data, of every column of the plan")
		}
	}
	if err := bad.Err(); err != nil {
		return q, err
	}
	return q, q.Validate()
}

// Measured is what a release of a Workload tells: everything else is computed from it and from what
// is public, at no cost.
type Measured struct {
	Plan *plan.Verified `json:"-"`
	// Cells are the columns, of marginals in the order of the attributes.
	Cells []Cells `json:"-"`

	Kind string `json:"kind"` // workload, or series
	// Period is the last one of a series that is over, Rows what tells whether rows of periods that are over change,
	// which is not private and is there with StrictNotPrivate alone.
	Period string   `json:"period,omitempty"`
	Rows   []string `json:"rows,omitempty"`
	// PlanHash is the SHA-256 of the plan's file, as Encode writes it.
	PlanHash string `json:"plan"`
	// Sums are what the plan measures, with noise, in its order.
	Sums         []int64  `json:"measured"`
	Unit         string   `json:"unit"`
	NotProtected []string `json:"not_protected"`
	// Ledger is nil without a ledger.
	Ledger *Entry `json:"ledger,omitempty"`
}

const workloadKind = "workload"

// text describes the workload, or a period of a series of this kind, in a line of JSON, the same for the same one only.
func (w *Workload) text(kind, period string, q Query, hash string) (string, error) {
	text, err := json.Marshal(struct {
		Kind   string  `json:"kind"`
		Period string  `json:"period,omitempty"`
		Plan   string  `json:"plan"`
		Cells  []Cells `json:"cells"`
		Where  string  `json:"where,omitempty"`
		Person string  `json:"person,omitempty"`
		Most   int     `json:"max_per_person,omitempty"`
		Strict bool    `json:"strict_not_private,omitempty"`
	}{kind, period, hash, q.cells, q.Where, q.Person, q.MaxPerPerson, q.StrictNotPrivate})
	if len(text) >= 1<<15 {
		return fmt.Sprintf(`{"kind":%q,"sha256":"%x"}`, kind, sha256.Sum256(text)), err
	}
	return string(text), err
}

// Release measures what the plan says of data, as the function Release answers a query: charged to the ledger
// before it is drawn, and drawn once for the same plan, cells and data.
//
// Guarantee: it is (epsilon, delta)-private as the plan, for units of which each counts in at most
// MaxPerPerson cells, which is enforced here: a row is in one cell, a person in so many of its own.
//
// Errors are those of Release.
func (w Workload) Release(ctx context.Context, l account.Ledger, data any) (*Measured, error) {
	q, name, err := w.begin(l)
	if err != nil {
		return nil, err
	}
	d, digest, err := readCells(ctx, l, data, q)
	if err != nil {
		return nil, err
	}
	text, err := w.text(workloadKind, "", q, name)
	if err != nil {
		return nil, err
	}
	c := account.Charge{Text: text, Data: digest, Summary: w.summary(q), Neighbors: q.Neighbors, Unit: q.Unit()}
	record, err := c.Once(ctx, l, func([]account.Cost) ([]account.Cost, func(context.Context) ([]byte, error), error) {
		return []account.Cost{{Epsilon: q.Epsilon, Delta: q.Delta, Times: 1}}, func(context.Context) ([]byte, error) { return w.record(q, name, d) }, nil
	})
	if err != nil {
		return nil, err
	}
	m := &Measured{}
	if err := json.Unmarshal(record.Answer, m); err != nil || m.Kind != workloadKind || len(m.Sums) != w.Plan.Mechanism().Measurements() {
		return nil, check.Errorf("release", dp.ErrInvalid, "the answer of release %d in the ledger is not one of this plan", record.ID)
	}
	m.Plan, m.Cells = w.Plan, q.cells
	if l != nil {
		m.Ledger = &Entry{record.ID, record.Charged, record.Replayed}
	}
	return m, nil
}

// begin returns the workload as a query for a ledger, and the plan's hash.
func (w *Workload) begin(l account.Ledger) (q Query, name string, err error) {
	if q, err = w.query(); err != nil {
		return q, "", err
	}
	if q, err = q.forLedger(l); err != nil {
		return q, "", err
	}
	hash := sha256.New()
	err = w.Plan.Mechanism().Encode(hash)
	return q, hex.EncodeToString(hash.Sum(nil)), err
}

// readCells is ReadData for a query of cells, as the terms of a ledger have it.
func readCells(ctx context.Context, l account.Ledger, data any, q Query) (d *Data, digest string, err error) {
	if l != nil {
		if data, err = underTerms(data, l.Terms()); err != nil {
			return nil, "", err
		}
	}
	if d, digest, err = ReadData(ctx, data, q); err != nil {
		return nil, "", err
	}
	if d == nil || d.query.Text() != q.Text() || !reflect.DeepEqual(d.query.cells, q.cells) || d.query.series != q.series {
		return nil, "", check.Field("release", "data", "those of another query", "those of the workload")
	}
	return d, digest, nil
}

// record draws what is measured, as a ledger keeps it: of another draw only the digits differ.
func (w *Workload) record(q Query, name string, d *Data) ([]byte, error) {
	if q.StrictNotPrivate && d.leftOut != nil {
		return nil, check.Errorf("", dp.ErrInvalid, "%w", d.leftOut)
	}
	p := w.Plan.Mechanism()
	y, err := p.Measure(cellCounts(p, d), randomWords())
	if err != nil {
		return nil, err
	}
	return json.Marshal(&Measured{Kind: workloadKind, PlanHash: name, Sums: y, Unit: q.Unit(), NotProtected: q.notProtected()})
}

// randomWords returns what draws cryptographic words.
func randomWords() func() (uint64, error) {
	in := bufio.NewReader(rand.Reader)
	var word [8]byte
	return func() (uint64, error) {
		_, err := io.ReadFull(in, word[:])
		return binary.LittleEndian.Uint64(word[:]), err
	}
}

// cellCounts returns the input of a plan: the counts of its cells, of marginals those of the tables of its
// bases. A count beyond what a plan takes is clipped, which makes no difference larger.
func cellCounts(p *plan.Plan, d *Data) []int64 {
	inputs, l := p.Inputs(), newLayout(p, d.query.cells)
	most, cells := int64(inputs.Upper), make([]int64, inputs.Size)
	for g, at := range d.combinations {
		l.Inputs(at, func(i int) { cells[i] += min(d.tallies[g].n, most-cells[i]) })
	}
	return cells
}

// Layout is where the cells of a Workload are in the input of its plan, for who counts people elsewhere.
type Layout struct {
	plan   *plan.Verified
	cells  []Cells // in the order of the plan
	finder *cellFinder
	bases  [][]int
	sizes  []int // of cells: how many labels there are
}

func newLayout(p *plan.Plan, cells []Cells) *Layout {
	l := &Layout{cells: cells, bases: p.Bases()}
	if len(l.bases) == 0 {
		l.bases = [][]int{{0}}
	}
	for i := range cells {
		l.sizes = append(l.sizes, len(cells[i].Labels()))
	}
	return l
}

// Layout returns that of the Workload's Plan and Cells. The error wraps dp.ErrInvalid, as that of Release does.
func (w Workload) Layout() (*Layout, error) {
	q, err := (&Workload{Plan: w.Plan, Cells: w.Cells}).query()
	if err != nil {
		return nil, err
	}
	l := newLayout(w.Plan.Mechanism(), q.cells)
	l.plan = w.Plan
	l.finder = newCellFinder(q.cells, func(_, name string) int {
		return slices.IndexFunc(w.Cells, func(c Cells) bool { return c.Column == name })
	})
	return l, nil
}

// Cell returns the cell of a row, as the number of its label in each column of the plan. values are one for each of
// the Workload's Cells, in their order. The error does not tell them.
func (l *Layout) Cell(values []string) ([]int, error) {
	if len(values) != len(l.cells) {
		return nil, fmt.Errorf("a row of %d values, want %d", len(values), len(l.cells))
	}
	return l.finder.cell(values)
}

// Inputs calls a function with the place, in the input of the plan, of each number that counts a cell.
func (l *Layout) Inputs(cell []int, place func(i int)) {
	from := 0
	for _, set := range l.bases {
		i, size := 0, 1
		for _, a := range set {
			i, size = i*l.sizes[a]+cell[a], size*l.sizes[a]
		}
		place(from + i)
		from += size
	}
}

// Validate returns the error of Answers for this level and nonNegative.
func (l *Layout) Validate(level float64, nonNegative bool) error {
	s := l.plan.Mechanism().Spec()
	return checkAnswers(&s.Workload, level, nonNegative)
}

// Measured returns what was measured, of which it has Answers.
func (l *Layout) Measured(sums []int64) *Measured {
	return &Measured{Plan: l.plan, Cells: l.cells, Kind: workloadKind, Sums: sums}
}

// summary is a line for readers.
func (w *Workload) summary(q Query) string {
	names := make([]string, len(q.cells))
	for i, c := range q.cells {
		names[i] = c.Column
	}
	return Query{Kind: Kind(w.Plan.Mechanism().Spec().Workload.Kind), By: strings.Join(names, ", "), Where: q.Where}.summary()
}

// cellFinder finds the cells of rows.
type cellFinder struct {
	cells        []Cells
	columns      []int
	keys         []map[string]int // of columns without edges
	groups       map[string]int
	combinations [][]int
	digests      map[int]*big.Int // of the rows of cells, see Data
}

func newCellFinder(cells []Cells, column func(field, name string) int) *cellFinder {
	f := &cellFinder{cells: cells, groups: map[string]int{}}
	for _, c := range cells {
		keys := make(map[string]int, len(c.Keys))
		for i, k := range c.Keys {
			keys[k] = i
		}
		f.columns, f.keys = append(f.columns, column("column", c.Column)), append(f.keys, keys)
	}
	return f
}

var errNoCell = errors.New("in no cell")

// cell returns the numbers of a row's labels.
func (f *cellFinder) cell(record []string) ([]int, error) {
	at := make([]int, len(f.cells))
	for i := range f.cells {
		text, inside := record[f.columns[i]], false
		if edges := f.cells[i].Edges; len(edges) == 0 {
			if text, inside = f.cells[i].key(text); inside {
				at[i], inside = f.keys[i][text]
			}
		} else if v, err := number(text); err == nil {
			at[i], inside = between(edges, v)
		}
		if !inside {
			return nil, check.Errorf("", nil, "column %s: %w", check.Quoted(f.cells[i].Column), errNoCell)
		}
	}
	return at, nil
}

// find returns the number of a row's combination of cells, which is the next one if it is new.
func (f *cellFinder) find(record []string) (int, error) {
	at, err := f.cell(record)
	if err != nil {
		return 0, err
	}
	name := make([]byte, 0, 2*len(at))
	for _, i := range at {
		name = binary.AppendUvarint(name, uint64(i)) //nolint:gosec // it is the index of a label
	}
	g, known := f.groups[string(name)]
	if !known {
		g = len(f.combinations)
		f.groups[string(name)] = g
		f.combinations = append(f.combinations, at)
	}
	return g, nil
}

// WorkloadAnswer is the answer to one query of a plan.
type WorkloadAnswer struct {
	// Of names the cells: of marginals a label for each column, "" for those that are not in the table.
	Of    []string `json:"of"`
	Value float64  `json:"value"`
	// Lower and Upper are an interval that has the exact answer, of the rows that count, with the
	// probability Level by itself; LowerOfAll and UpperOfAll intervals that all have it together.
	Lower      float64 `json:"lower"`
	Upper      float64 `json:"upper"`
	LowerOfAll float64 `json:"lower_of_all"`
	UpperOfAll float64 `json:"upper_of_all"`
	// Variance of Value is proved, an upper bound.
	Variance float64 `json:"variance"`
}

// Answers computes all of them, one after another, from what was measured: of one estimate of the
// cells, so that answers agree with each other, and sums with their parts. With nonNegative none is below 0,
// which is never farther from the truth, but biased, and answers do not agree any more.
//
// The error is that of answer, which ends it, or wraps dp.ErrInvalid for another level than one above 0 and
// below 1, and for nonNegative where a query subtracts.
func (m *Measured) Answers(level float64, nonNegative bool, answer func(WorkloadAnswer) error) error {
	p := m.Plan.Mechanism()
	s := p.Spec()
	w := &s.Workload
	if err := checkAnswers(w, level, nonNegative); err != nil {
		return err
	}
	single, err := p.Radii(1 - level)
	if err != nil {
		return err
	}
	all, err := p.Radii((1 - level) / float64(w.Queries()))
	if err != nil {
		return err
	}
	variances := make([]float64, len(single))
	for i, v := range m.Plan.Certificate().Variances {
		variances[i] = exact.FloatUp(v)
	}
	names := m.names(w)
	return p.Decode(m.Sums, func(x float64) error {
		q, of := names()
		a := WorkloadAnswer{of, x, x - single[q], x + single[q], x - all[q], x + all[q], variances[q]}
		if nonNegative {
			for _, y := range []*float64{&a.Value, &a.Lower, &a.Upper, &a.LowerOfAll, &a.UpperOfAll} {
				*y = max(*y, 0)
			}
		}
		return answer(a)
	})
}

func checkAnswers(w *plan.Workload, level float64, nonNegative bool) error {
	bad := check.In("release")
	bad.If(!(level > 0 && level < 1), "level", level, "a probability above 0 and below 1")
	subtracts := func(row []int64) bool { return slices.Min(row) < 0 }
	bad.If(nonNegative && slices.ContainsFunc(w.Rows, subtracts), "non-negative", "true", "false, as there are queries that subtract")
	return bad.Err()
}

// names returns what returns, for one query after another, the number of its variance and its cells.
func (m *Measured) names(w *plan.Workload) func() (q int, of []string) {
	q, labels := 0, make([][]string, len(m.Cells))
	for i := range m.Cells {
		labels[i] = m.Cells[i].Labels()
	}
	if w.Kind != plan.Marginals {
		from, to := 0, 0
		return func() (int, []string) {
			q++
			name := fmt.Sprintf("query %d", q)
			switch w.Kind {
			case plan.Identity:
				name = labels[0][q-1]
			case plan.Prefix:
				name = "up to " + labels[0][q-1]
			case plan.Ranges:
				name = labels[0][from] + " to " + labels[0][to]
				if to++; to == w.Cells {
					from++
					to = from
				}
			}
			return q - 1, []string{name}
		}
	}
	var at []int
	return func() (int, []string) {
		if at == nil {
			at = make([]int, len(w.Sets[q]))
		}
		of, table := make([]string, len(labels)), q
		for i, a := range w.Sets[q] {
			of[a] = labels[a][at[i]]
		}
		for i := len(at) - 1; ; i-- { // the last one changes first
			if i < 0 {
				q, at = q+1, nil
				break
			}
			if at[i]++; at[i] < len(labels[w.Sets[q][i]]) {
				break
			}
			at[i] = 0
		}
		return table, of
	}
}

func counted(n int) string {
	if n == 1 {
		return "1 cell"
	}
	return fmt.Sprintf("%d cells", n)
}
