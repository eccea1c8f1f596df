// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
)

const seriesKind = "series"

// series is a Workload whose cells are periods, released one after another.
type series struct {
	Workload
	query  Query
	hash   string   // of the plan
	labels []string // of the periods
	text   string   // of the charge for all of them
	data   string   // what a ledger knows it by: no data are, as each period comes with its own
}

// Period releases the answers of a plan to all queries about periods up to the named one, which is a
// label of the only Cells. The ledger is charged for the whole plan with the first period, and for nothing after it.
// The rows of a period are counted once, with noise drawn once: whoever asks for it again, with whatever data, gets the same
// answer, and data are not read. So a row that arrives for a period that is over does not count. Periods are released in
// their order.
//
// With StrictNotPrivate a period is refused if rows of earlier ones are not those that were counted.
//
// Guarantee (docs/proofs/plan.md, "Series"): all answers together are (epsilon, delta)-private as the plan, for units of
// which each counts in at most MaxPerPerson periods, the earliest: as long as data only grow from one period to the next, so
// that no row that has counted goes or moves to another period.
//
// Errors are those of Release, or wrap dp.ErrInvalid without a ledger, for a plan that measures several periods
// together, and for a period that is not the plan's, not over or not the next one.
func (w Workload) Period(ctx context.Context, l account.Ledger, data any, period string) (*Measured, error) {
	if l == nil {
		return nil, check.Field("release", "ledger", "none", "one, which keeps what each period was answered")
	}
	s, err := w.series(l)
	if err != nil {
		return nil, err
	}
	at := slices.Index(s.labels, period)
	if at < 0 {
		return nil, check.Field("release", "period", check.Quoted(check.Shortened(period)), fmt.Sprintf("one of the %d of the plan, %s to %s", len(s.labels), s.labels[0], s.labels[len(s.labels)-1]))
	}
	p, err := s.Plan.Mechanism().Closed(at + 1)
	if err != nil {
		return nil, err
	}
	closed, err := p.Verify()
	if err != nil {
		return nil, err
	}
	c, err := s.charge(at)
	if err != nil {
		return nil, err
	}
	record, err := c.Once(ctx, l, func([]account.Cost) ([]account.Cost, func(context.Context) ([]byte, error), error) {
		draw, err := s.next(ctx, l, data, at)
		return nil, draw, err
	})
	if err != nil {
		return nil, err
	}
	m, err := s.measured(record, at)
	if err != nil {
		return nil, err
	}
	m.Plan, m.Cells = closed, []Cells{{Column: s.query.cells[0].Column, Keys: s.labels[:at+1]}}
	m.Ledger = &Entry{record.ID, record.Charged, record.Replayed}
	return m, nil
}

func (w Workload) series(l account.Ledger) (s *series, err error) {
	s = &series{Workload: w}
	if s.query, s.hash, err = w.begin(l); err != nil {
		return nil, err
	}
	if _, err = w.Plan.Mechanism().Closed(1); err != nil {
		return nil, err
	}
	s.query.series = true
	s.labels = s.query.cells[0].Labels()
	if s.text, err = w.text(seriesKind, "", s.query, s.hash); err != nil {
		return nil, err
	}
	id := sha256.Sum256([]byte(s.text))
	s.data = hex.EncodeToString(id[:])
	return s, nil
}

// charge returns that of a period, which is a part of that of the series.
func (s *series) charge(at int) (account.Charge, error) {
	text, err := s.Workload.text(seriesKind, s.labels[at], s.query, s.hash)
	return account.Charge{
		Text: text, Data: s.data, Summary: s.labels[at] + " of " + s.summary(s.query), Part: s.text,
		Neighbors: s.query.Neighbors, Unit: s.query.Unit(),
	}, err
}

// summary is a line for readers.
func (s *series) summary(q Query) string {
	whose := "each row in one of them"
	if q.Person != "" {
		whose = fmt.Sprintf("each person in at most %d of them", q.MaxPerPerson)
	}
	if q.Neighbors == dp.Replace {
		whose += ", before and after a change"
	}
	return fmt.Sprintf("%s, a series of %d periods, %s", s.Workload.summary(q), len(s.labels), whose)
}

// next reads the data of the next period, and returns what draws it.
func (s *series) next(ctx context.Context, l account.Ledger, data any, at int) (func(context.Context) ([]byte, error), error) {
	if c := &s.query.cells[0]; !c.over(at, time.Now()) {
		return nil, check.Field("release", "period", check.Quoted(s.labels[at]), "one that is over: it ends before "+c.ends[at].Format(time.DateOnly)+" in "+c.zone.String())
	}
	before, err := s.before(ctx, l, at)
	if err != nil {
		return nil, err
	}
	d, _, err := readCells(ctx, l, data, s.query)
	if err != nil {
		return nil, err
	}
	whole := account.Charge{Text: s.text, Data: s.data, Summary: s.summary(s.query), Neighbors: s.query.Neighbors, Unit: s.query.Unit()}
	_, err = whole.Once(ctx, l, func([]account.Cost) ([]account.Cost, func(context.Context) ([]byte, error), error) {
		return []account.Cost{{Epsilon: s.query.Epsilon, Delta: s.query.Delta, Times: 1}}, func(context.Context) ([]byte, error) {
			return json.Marshal(&Measured{Kind: seriesKind, PlanHash: s.hash, Unit: s.query.Unit(), Sums: []int64{}, NotProtected: s.notProtected()})
		}, nil
	})
	if err != nil {
		return nil, err
	}
	return func(context.Context) ([]byte, error) { return s.draw(before, d, at) }, nil
}

// before returns what was measured up to a period, which has to be the next one.
func (s *series) before(ctx context.Context, l account.Ledger, at int) (*Measured, error) {
	if at == 0 {
		return &Measured{}, nil
	}
	c, err := s.charge(at - 1)
	if err != nil {
		return nil, err
	}
	record, _, err := l.Find(ctx, c.Text, c.Data)
	switch {
	case err != nil:
		return nil, err
	case record.Answer != nil:
		return s.measured(record, at-1)
	}
	next := at - 1
	for ; next > 0; next-- {
		if c, err = s.charge(next - 1); err != nil {
			return nil, err
		}
		if record, _, err = l.Find(ctx, c.Text, c.Data); err != nil {
			return nil, err
		}
		if record.Answer != nil {
			break
		}
	}
	if next == 0 {
		return nil, check.Field("release", "period", check.Quoted(s.labels[at]), s.labels[0]+", the first one: the ledger has no series of this plan with these columns, cells and flags")
	}
	return nil, check.Field("release", "period", check.Quoted(s.labels[at]), s.labels[next]+", the next one of this series: periods are released in their order")
}

// measured reads the record of a period.
func (s *series) measured(r account.Record, at int) (*Measured, error) {
	m := &Measured{}
	if err := json.Unmarshal(r.Answer, m); err != nil || m.Kind != seriesKind || m.Period != s.labels[at] || len(m.Sums) != at+1 {
		return nil, check.Errorf("release", dp.ErrInvalid, "the answer of release %d in the ledger is not one of this series", r.ID)
	}
	return m, nil
}

// draw counts a period, as a ledger keeps it, with all before it.
func (s *series) draw(before *Measured, d *Data, at int) ([]byte, error) {
	m := &Measured{
		Kind: seriesKind, Period: s.labels[at], PlanHash: s.hash, Unit: s.query.Unit(), NotProtected: s.notProtected(),
		Sums: slices.Clone(before.Sums),
	}
	if s.StrictNotPrivate {
		if d.leftOut != nil {
			return nil, check.Errorf("", dp.ErrInvalid, "%w", d.leftOut)
		}
		for i, label := range s.labels[:at+1] {
			m.Rows = append(m.Rows, fmt.Sprintf("%064x", cmp.Or(d.digests[i], new(big.Int))))
			if i < at && m.Rows[i] != before.Rows[i] {
				return nil, check.Field("release", "data", "other rows of "+label, "those of periods that are over as they were counted, with strict-not-private, which is exact and not private")
			}
		}
	}
	one, err := s.Plan.Mechanism().Closed(1)
	if err != nil {
		return nil, err
	}
	y, err := one.Measure(cellCounts(s.Plan.Mechanism(), d)[at:at+1], randomWords())
	if err != nil {
		return nil, err
	}
	m.Sums = append(m.Sums, y...)
	return json.Marshal(m)
}

func (s *series) notProtected() []string {
	return append(s.query.notProtected(), "rows that are removed, or moved to another period, after theirs has been released")
}

// earliest returns the groups of a person that count in a series: those of the earliest cells.
func (f *cellFinder) earliest(groups []int, most int) []int {
	slices.SortFunc(groups, func(g, h int) int { return cmp.Compare(f.combinations[g][0], f.combinations[h][0]) })
	return groups[:min(len(groups), most)]
}

// digest adds a row to that of its cell, which does not depend on the order of the rows.
func (f *cellFinder) digest(group int, record []string) {
	var text []byte
	for _, field := range record {
		text = append(binary.AppendUvarint(text, uint64(len(field))), field...)
	}
	row := sha256.Sum256(text)
	if f.digests == nil {
		f.digests = map[int]*big.Int{}
	}
	cell := f.combinations[group][0]
	sum := cmp.Or(f.digests[cell], new(big.Int))
	sum.Add(sum, new(big.Int).SetBytes(row[:]))
	f.digests[cell] = sum.And(sum, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1)))
}
