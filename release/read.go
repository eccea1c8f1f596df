// SPDX-License-Identifier: Apache-2.0

package release

import (
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/internal/selection"
)

// Rows are the records of a data set, one after another.
type Rows interface {
	// Columns returns the names of the columns.
	Columns() []string
	// Next returns the next record, a text for every column, and the line it starts
	// on; the record is valid until the next call. The error is io.EOF after the last. One
	// that wraps ErrRow is about this row alone, which is not selected: there may be others
	// after it. All other errors end a release before it is charged, and must not depend on
	// single rows.
	Next() (record []string, line int, err error)
}

// ErrRow marks errors of Rows about one row alone.
var ErrRow = csvfile.ErrRow

// Data is what a query needs to know of a data set, exactly. It is secret.
type Data struct {
	query Query
	// leftOut is what was wrong with the first row that could not be read or decided, which
	// nobody is told but with Query.StrictNotPrivate.
	leftOut error
	// One for each group.
	tallies []tally
	// combinations has the cell of each group, of a Workload: the number of a label for each column.
	combinations [][]int
	// digests of the rows of each cell that has any, of a series with Query.StrictNotPrivate.
	digests map[int]*big.Int
}

// tally is about the rows of a group that count.
type tally struct {
	n      int64
	sum    big.Float            // of values, exact
	counts []uint64             // of values by candidates, for quantiles only
	square *big.Float           // of the squares of values, exact, for variances only
	values map[float64]struct{} // numbers of texts, for Distinct only
	value  *big.Rat             // of the kind Value, in place of the sum
	key    string               // that was found, and not asked for
	bins   bins                 // by powers of two, for bounds that are found, in place of the sum
}

// rows is how many count.
func (t *tally) rows() int64 {
	n := t.n
	for i := range t.bins {
		n += t.bins[i].n
	}
	return n
}

func (t *tally) count() *big.Rat { return new(big.Rat).SetInt64(t.n) }

// total returns the sum, or the value.
func (t *tally) total() *big.Rat {
	if t.value != nil {
		return t.value
	}
	sum, _ := t.sum.Rat(nil)
	return sum
}

// totalSquares returns the sum of squares, anew.
func (t *tally) totalSquares() *big.Rat {
	if t.square == nil {
		return new(big.Rat)
	}
	sum, _ := t.square.Rat(nil)
	return sum
}

// different returns the number of different values.
func (t *tally) different() *big.Rat { return new(big.Rat).SetInt64(int64(len(t.values))) }

// sumPrecision has a bit for every multiple of 2^-1074 below 2^1024, and for 2^64
// summands.
const sumPrecision = 1074 + 1024 + 64

// Read reads the rows and keeps what the query needs, within its bounds on what a unit
// contributes.
//
// A row that is malformed, on which the condition cannot be decided, or that has no number where
// one has to be, is not selected (but see Query.Missing), and nothing tells so. Errors are those of rows; or they
// wrap dp.ErrInvalid, for a bad query or a column that is missing: they are about the header.
func Read(rows Rows, q Query) (*Data, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	if q.Kind == Value {
		return nil, check.Field("release", "kind", q.Kind, "one of rows: a value is there already")
	}
	r, err := newReader(rows, q.normal())
	if err != nil {
		return nil, err
	}
	place := "line"
	if _, ok := rows.(*digested); ok {
		place = "row"
	}
	width := len(rows.Columns())
	for {
		record, line, err := rows.Next()
		switch {
		case errors.Is(err, ErrRow):
			r.unknown()
		case errors.Is(err, io.EOF):
			return r.data()
		case err != nil:
			return nil, err
		case len(record) != width:
			r.unknown()
			err = check.Errorf("release", nil, "%s %d: %d fields, want one for each column", place, line, len(record))
		default:
			if err = r.row(record); err != nil {
				err = check.Errorf("release", nil, "%s %d, %w", place, line, err)
			}
		}
		r.leftOut.Row(err)
	}
}

// dataOf returns the data of a query of the kind Value, exactly: two numbers that differ
// by at most the sensitivity would not if they were rounded. The error wraps
// dp.ErrInvalid.
func dataOf(x *big.Rat, q Query) (*Data, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	switch {
	case q.Kind != Value:
		return nil, check.Field("release", "kind", q.Kind, "value: other queries are of rows")
	case x == nil || q.Integer && !x.IsInt():
		return nil, check.Field("release", "value", "not shown", "a number, an integer if the query says so")
	}
	return &Data{query: q.normal(), tallies: []tally{{value: new(big.Rat).Set(x)}}}, nil
}

type reader struct {
	asked, query       Query // as it was, and with its bounds
	column, by, person int   // index of a column, -1 for none
	condition          *condition
	group              map[string]int
	keys               []string    // that were found
	cells              *cellFinder // of a Workload
	options            []*condition
	tallies            []tally
	people             map[string]*person
	texts              map[string]float64 // numbers of different values, of Distinct
	random             *rand.Rand
	grid               selection.Grid // of quantiles
	leftOut            csvfile.LeftOut
}

// person is the sample of a person's rows.
type person struct {
	rows []contribution // at most as many as count
	seen int            // rows that could have been kept
	// groups are for a grouped query, of which one row counts in each group.
	groups map[int]*choice
}

type contribution struct {
	group int
	value float64
}

type choice struct {
	seen  int
	value float64
}

func newReader(rows Rows, q Query) (*reader, error) {
	columns := rows.Columns()
	file, _ := rows.(*CSV)
	asked := q
	q, err := q.resolved()
	if err != nil {
		return nil, err
	}
	r := &reader{asked: asked, query: q, tallies: make([]tally, len(q.groups()))}
	bad := check.In("release")
	find := func(field, name string) int {
		if name == "" {
			return -1
		}
		if file != nil {
			i, err := file.Find(name)
			if err != nil {
				bad.Add(check.Errorf("release", dp.ErrInvalid, "%s: %w", field, err))
			}
			return i
		}
		i, found := csvfile.Index(columns, name)
		bad.If(found == 0, field, check.Quoted(name), "a column of the data: %s", listed(columns))
		bad.If(found > 1, field, check.Quoted(name), "a column that is there once")
		return i
	}
	r.column, r.by, r.person = find("column", q.Column), find("by", q.By), find("person", q.Person)
	if len(q.cells) > 0 { // groups are those that are there, and nothing of them is published
		r.cells, r.tallies = newCellFinder(q.cells, find), nil
	}
	condition := func(text string) *condition {
		c, err := newCondition(text, columns)
		if err != nil && file != nil && file.suspect() != nil {
			err = check.Errorf("release", dp.ErrInvalid, "where: %w", file.suspect())
		}
		bad.Add(err)
		return c
	}
	r.condition = condition(q.Where)
	for _, o := range q.Options {
		r.options = append(r.options, condition(o.Where))
	}
	if err := bad.Err(); err != nil {
		return nil, err
	}
	if q.Kind == Quantile {
		if r.grid, err = q.grid(); err != nil {
			return nil, err
		}
		for i := range r.tallies { // whether or not there are rows: it is much memory
			r.tallies[i].counts = make([]uint64, q.Candidates)
		}
	}
	if q.By != "" {
		r.group = make(map[string]int, len(q.Keys))
		for i, k := range q.Keys {
			r.group[k] = i
		}
	}
	if q.Kind == Distinct {
		r.texts = make(map[string]float64)
	}
	if q.Person != "" {
		r.people = make(map[string]*person)
		var seed [32]byte
		if _, err := cryptorand.Read(seed[:]); err != nil {
			return nil, check.Errorf("release", nil, "no entropy: %w", err)
		}
		r.random = rand.New(rand.NewChaCha8(seed)) //nolint:gosec // cryptographic, and freshly seeded
	}
	for i := range r.tallies {
		r.tallies[i].sum.SetPrec(sumPrecision)
		if q.Bounds == privateBounds {
			r.tallies[i].bins = newBins()
		}
	}
	return r, nil
}

// listed names columns, not too many of them.
func listed(names []string) string {
	const most = 12
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

// row takes one row. What becomes of it depends on the row alone, and on the other rows
// of the same person. The error says why it is not selected, if that cannot be decided.
func (r *reader) row(record []string) error {
	holds, err := r.condition.holds(record)
	switch {
	case err != nil:
		return check.Errorf("", nil, "where: %w", err)
	case !holds:
		return nil
	}
	c := contribution{}
	if r.column >= 0 {
		c.value, err = r.valueOf(record[r.column])
		switch {
		case err != nil && r.query.Missing == middleMissing:
			c.value = r.query.middle()
		case err != nil:
			return check.Errorf("", nil, "column %s: %w", check.Quoted(r.query.Column), err)
		}
	}
	if r.person >= 0 && strings.TrimSpace(record[r.person]) == "" {
		return check.Errorf("", nil, "column %s: empty: whose row it is", check.Quoted(r.query.Person))
	}
	inside := true
	switch {
	case r.options != nil:
		return r.optionsOf(record)
	case r.cells != nil:
		if c.group, err = r.cells.find(record); err != nil {
			return err
		}
		if r.query.series && r.query.StrictNotPrivate {
			r.cells.digest(c.group, record)
		}
	case r.by >= 0:
		if c.group, inside = r.group[record[r.by]]; !inside && r.query.PrivateKeys {
			if c.group, err = r.found(record[r.by]); err != nil {
				return err
			}
			inside = true
		}
	case len(r.query.Edges) > 0:
		c.group, inside = between(r.query.Edges, c.value)
	}
	if !inside {
		return nil
	}
	if r.query.valued() {
		c.value = min(max(c.value, r.query.Lower), r.query.Upper)
	}
	r.take(record, c)
	return nil
}

// valueOf reads the text of a row in the column: a number, or which of the different texts it is, in any order.
func (r *reader) valueOf(text string) (float64, error) {
	if r.query.Kind != Distinct {
		return number(text)
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, check.Errorf("", nil, "empty, want a value")
	}
	i, known := r.texts[text]
	if !known {
		i = float64(len(r.texts))
		r.texts[strings.Clone(text)] = i
	}
	return i, nil
}

// take takes what a row contributes.
func (r *reader) take(record []string, c contribution) {
	if r.person < 0 {
		r.count(c)
	} else {
		r.sample(strings.TrimSpace(record[r.person]), c)
	}
}

// optionsOf takes a row for each option that holds for it. One that cannot be decided takes nothing from the
// others, and the error says which was the first.
func (r *reader) optionsOf(record []string) (first error) {
	for i, option := range r.options {
		holds, err := option.holds(record)
		switch {
		case err != nil && first == nil:
			first = check.Errorf("", nil, "option %s: %w", check.Quoted(r.query.Options[i].Name), err)
		case holds:
			r.take(record, contribution{group: i})
		}
	}
	return first
}

// unknown takes a row that nothing is known of.
func (r *reader) unknown() {
	if r.query.Missing == middleMissing && r.query.Where == "" && r.query.By == "" && r.query.Person == "" {
		r.count(contribution{value: r.query.middle()})
	}
}

// between finds the edges on either side of a value.
func between(edges []float64, v float64) (i int, ok bool) {
	last := len(edges) - 1
	if v == edges[last] {
		return last - 1, true
	}
	i = sort.Search(len(edges), func(i int) bool { return edges[i] > v }) - 1
	return i, i >= 0 && i < last
}

func (r *reader) count(c contribution) {
	for c.group >= len(r.tallies) { // of cells, and of keys that are found
		r.tallies = append(r.tallies, tally{})
		r.tallies[len(r.tallies)-1].sum.SetPrec(sumPrecision)
	}
	t := &r.tallies[c.group]
	t.n++
	switch {
	case t.bins != nil:
		t.bins.take(c.value)
	case r.query.Kind == Quantile:
		t.counts[r.grid.Index(c.value)]++
	case r.query.Kind == Distinct:
		if t.values == nil {
			t.values = map[float64]struct{}{}
		}
		t.values[c.value] = struct{}{}
	case r.query.Kind == Variance:
		if t.square == nil {
			t.square = new(big.Float).SetPrec(2 * sumPrecision)
		}
		x := big.NewFloat(c.value)
		t.sum.Add(&t.sum, x)
		t.square.Add(t.square, x.SetPrec(106).Mul(x, x)) // exact: of two numbers of 53 bits
	case r.query.valued():
		t.sum.Add(&t.sum, big.NewFloat(c.value)) // exact: see sumPrecision
	}
}

// sample takes a row of a person into the sample of those that count: of the rows seen so far
// every subset of that size is the sample with equal probability (Vitter 1985, algorithm R).
func (r *reader) sample(name string, c contribution) {
	p := r.people[name]
	if p == nil {
		p = &person{}
		r.people[strings.Clone(name)] = p
	}
	if r.query.grouped() {
		if p.groups == nil {
			p.groups = make(map[int]*choice, 1)
		}
		g := p.groups[c.group]
		if g == nil {
			g = &choice{}
			p.groups[c.group] = g
		}
		if g.seen++; r.random.IntN(g.seen) == 0 {
			g.value = c.value
		}
		return
	}
	p.seen++
	if len(p.rows) < r.query.MaxPerPerson {
		p.rows = append(p.rows, c)
	} else if i := r.random.IntN(p.seen); i < len(p.rows) {
		p.rows[i] = c
	}
}

// data counts the sample of every person.
func (r *reader) data() (*Data, error) {
	for _, p := range r.people {
		for _, c := range p.rows {
			r.count(c)
		}
		groups := slices.Sorted(maps.Keys(p.groups))
		switch most := r.query.MaxPerPerson; {
		case r.query.series:
			groups = r.cells.earliest(groups, most)
		case most > 0 && len(groups) > most:
			r.random.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
			groups = groups[:most]
		}
		for _, g := range groups {
			r.count(contribution{g, p.groups[g].value})
		}
	}
	for i, key := range r.keys { // of those that no row counts for, too
		if i == len(r.tallies) {
			r.tallies = append(r.tallies, tally{})
		}
		r.tallies[i].key = key
	}
	d := &Data{query: r.asked, tallies: r.tallies, leftOut: r.leftOut.Err()}
	if r.cells != nil {
		d.combinations, d.digests = r.cells.combinations[:len(d.tallies)], r.cells.digests
	}
	return d, nil
}
