// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/tables"
)

// Answer is what is published: the estimates, what they promise, and what they do not. As
// JSON, but for Ledger, it is what a ledger keeps.
type Answer struct {
	Kind Kind `json:"kind"`
	// Answers has one for each group, and one where there are no groups.
	Answers []Estimate `json:"answers"`
	Level   float64    `json:"level"` // of the intervals
	// Epsilon and Delta are of so many Releases like this one together.
	Epsilon   float64 `json:"epsilon"`
	Delta     float64 `json:"delta"`
	Releases  int     `json:"releases"`
	Neighbors string  `json:"neighbors"`
	Unit      string  `json:"unit"`
	Mechanism string  `json:"mechanism"`
	// MeanError is Plan.MeanError, nil where that depends on the data.
	MeanError *float64 `json:"mean_error"`
	// MeanErrors are those of a query with Also, by kind, to some 1e-3.
	MeanErrors   map[Kind]float64 `json:"mean_errors,omitempty"`
	Tables       []string         `json:"tables"` // SHA-256 of their files
	NotProtected []string         `json:"not_protected"`
	Query        Query            `json:"query"` // all of it
	// Ledger is nil without a ledger.
	Ledger *Entry `json:"ledger,omitempty"`
}

// Entry is what the ledger says of an answer.
type Entry struct {
	Release int64     `json:"release"` // its number
	Charged time.Time `json:"charged"`
	// Replayed says that the ledger had the answer, which then cost nothing.
	Replayed bool `json:"replayed"`
}

// Release answers a query about data, see ReadData. With a ledger the answer is charged before
// it exists, and the same query about the same data is answered from it again at no cost.
// Without one, nil, nothing adds up what releases cost. Neighbors that the query does not name
// are those of the ledger, or dp.AddRemove. Files are read as its Terms say, and a File or a CSV with
// another delimiter or OneLine is refused.
//
// Guarantee: the answer is as private as NewPlan promises, and all that the ledger was charged
// with is together within its Terms.
//
// Errors, after which nothing is released, wrap dp.ErrInvalid for a bad query, for one that
// the ledger is not about and for data that it cannot be asked about, account.ErrExceeded if it
// would exceed the ledger's total; or they are those of the data, the source or the ledger. No
// error is about single rows, but those of a query with StrictNotPrivate.
func Release(ctx context.Context, l account.Ledger, data any, q Query, source Source) (*Answer, error) {
	q, err := q.forLedger(l)
	if err != nil {
		return nil, err
	}
	if l != nil {
		if data, err = underTerms(data, l.Terms()); err != nil {
			return nil, err
		}
	}
	d, digest, err := ReadData(ctx, data, q)
	if err != nil {
		return nil, err
	}
	if err := d.unanswerable(); err != nil {
		return nil, err
	}
	c := account.Charge{Text: q.key(), Data: digest, Summary: q.summary(), Neighbors: q.Neighbors, Unit: q.Unit()}
	record, err := c.Once(ctx, l, func(before []account.Cost) ([]account.Cost, func(context.Context) ([]byte, error), error) {
		plan, err := NewPlan(ctx, q, charged(before, source))
		if err != nil {
			return nil, nil, err
		}
		return plan.Costs(), func(context.Context) ([]byte, error) { return plan.record(d) }, nil
	})
	if err != nil {
		return nil, err
	}
	a := &Answer{}
	if err := json.Unmarshal(record.Answer, a); err != nil {
		return nil, check.Errorf("release", dp.ErrInvalid, "the answer of release %d in the ledger is not one of a query: %w", record.ID, err)
	}
	if l != nil {
		a.Ledger = &Entry{record.ID, record.Charged, record.Replayed}
	}
	return a, nil
}

// unanswerable is an error of data that have no rows where their number is public, and so no mean; before anything is charged.
func (d *Data) unanswerable() error {
	if q := d.query; q.fixed() && (q.Kind == Mean || q.Kind == Variance) && d.tallies[0].rows() == 0 && d.leftOut == nil {
		return check.Errorf("release", dp.ErrInvalid, "no rows, and so no %s", q.Kind)
	}
	return nil
}

// charged returns the source with the tables of costs that were charged before, in the place of those for the same queries.
func charged(before []account.Cost, source Source) Source {
	return func(ctx context.Context, p dp.Problem, uses int) (*tables.Verified, error) {
		for _, c := range before {
			if c.Table != nil && c.Table.Mechanism().Query() == p.Query {
				return c.Table, nil
			}
		}
		return source(ctx, p, uses)
	}
}

// forLedger returns the query with the neighbors of the ledger, if it names none, and refuses one
// that the ledger is not about before any work.
func (q Query) forLedger(l account.Ledger) (Query, error) {
	t := account.Terms{Neighbors: dp.AddRemove, Unit: q.Unit()}
	if v := reflect.ValueOf(l); v.Kind() == reflect.Pointer && v.IsNil() {
		return q, check.Field("release", "ledger", fmt.Sprintf("a %T that is nil", l), "one that is open, or nil itself for none")
	}
	if l != nil {
		t = l.Terms()
	}
	if q.Neighbors == "" {
		q.Neighbors = t.Neighbors
	}
	bad := check.In("release")
	bad.Add(q.Validate())
	if l != nil && q.Neighbors != t.Neighbors {
		bad.Bad("neighbors", check.Quoted(q.Neighbors), t.Neighbors+" as in the ledger")
	}
	if q.Unit() != t.Unit {
		bad.Bad("unit", q.Unit(), t.Unit+" as in the ledger")
	}
	return q, bad.Err()
}

// record draws an answer, as a ledger keeps it.
func (p *Plan) record(d *Data) ([]byte, error) {
	estimates, err := p.Answer(d)
	if err != nil {
		return nil, err
	}
	q := p.query
	a := &Answer{
		Kind: q.Kind, Answers: estimates, Level: level, Epsilon: q.Epsilon, Delta: q.Delta, Releases: q.Releases, Neighbors: q.Neighbors, Unit: q.Unit(),
		Mechanism: p.Mechanism(), Tables: []string{}, NotProtected: q.notProtected(), Query: q,
	}
	if e := p.MeanError(); !math.IsNaN(e) && !math.IsInf(e, 0) {
		a.MeanError = &e
	}
	for _, k := range []Kind{Count, Sum} {
		if f := p.mechanism.also[k]; f != nil && (k == Count || q.Bounds != privateBounds) { // that of a sum depends on bounds that are drawn
			if a.MeanErrors == nil {
				a.MeanErrors = map[Kind]float64{}
			}
			a.MeanErrors[k] = f.error
		}
	}
	for _, c := range p.Costs() {
		if c.Table == nil {
			continue
		}
		hash, err := c.TableHash()
		if err != nil {
			return nil, err
		}
		a.Tables = append(a.Tables, hash)
	}
	return json.Marshal(a)
}

// notProtected says what the promise is not about.
func (q Query) notProtected() []string {
	out := []string{"the query: columns, bounds, keys and conditions are public and must not be chosen in view of the data"}
	if q.Kind == Value {
		out = []string{"that the sensitivity is what you say: nothing here can check it"}
	}
	if q.Neighbors == dp.Replace {
		out = append(out, "how many units there are")
	}
	switch {
	case q.Kind == Value:
	case q.Person == "":
		out = append(out, "a person with several rows: each row is hidden by itself (see --person)")
	default:
		out = append(out, "groups of persons, such as families, beyond what each costs by itself")
	}
	if q.StrictNotPrivate {
		out = append(out, "ERRORS: with strict-not-private, whether a row was refused, and which, is exact")
	}
	header := "the header of the data, and how long"
	if q.Kind == Value {
		header = "how long"
	}
	return append(out, header+" the release took")
}

// key is the text that a ledger knows a query by: Text, or its hash if it is long.
func (q Query) key() string {
	text := q.Text()
	if len(text) < 1<<15 {
		return text
	}
	return fmt.Sprintf(`{"kind":%q,"sha256":"%x"}`, q.Kind, sha256.Sum256([]byte(text)))
}

// summary is a query in one line for readers.
func (q Query) summary() string {
	text := string(q.Kind)
	for _, part := range []struct{ word, text string }{{" ", q.Name}, {" of ", q.Column}, {" by ", q.By}, {" where ", q.Where}} {
		if part.text != "" {
			text += part.word + part.text
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(check.Shortened(text), " "))
}
