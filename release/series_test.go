// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/plan"
	"github.com/noisewright/noisewright/release/ledger"
)

// arrival is a row that is there from a period on.
type arrival struct {
	at  int // from 1 on
	row []string
}

// countedRows returns what counts of each period when it is released, of rows that arrive in time or late.
func countedRows(t *testing.T, s *series, rows []arrival) []int64 {
	t.Helper()
	out := make([]int64, len(s.labels))
	for at := range out {
		var there [][]string
		for _, a := range rows {
			if a.at <= at+1 {
				there = append(there, a.row)
			}
		}
		out[at] = cellCounts(s.Plan.Mechanism(), read(t, s.query, there))[at]
	}
	return out
}

func seriesOf(tb testing.TB, w Workload) *series {
	tb.Helper()
	s, err := w.series(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestSeriesNeighbors: whenever the rows of a unit arrive, in time, late or early, periods of neighbors differ in as many
// numbers as the plan counts on at most, each by 1, and some do. All that a unit can do with up to three rows is tried.
func TestSeriesNeighbors(t *testing.T) {
	others := []arrival{{1, []string{"1", "a", "0"}}, {2, []string{"2", "a", "0"}}, {2, []string{"2", "b", "0"}}, {3, []string{"3", "c"}}, {3, []string{"1", "c", "1"}}}
	pairs := 0
	for _, neighbors := range []string{dp.AddRemove, dp.Replace} {
		for _, most := range []int{1, 2} {
			for _, person := range []string{"", "id"} {
				s := seriesOf(t, Workload{Plan: planOf(t, plan.Workload{Kind: plan.Prefix, Cells: 3}, 1, neighbors, most), Cells: []Cells{byCity}, Person: person})
				limit, rows := most, 3
				if person == "" {
					limit, rows = 1, 1
				}
				if neighbors == dp.Replace {
					limit *= 2
				}
				units := [][]arrival{nil}
				for known := 0; rows > 0; rows-- {
					for _, u := range units[known:] {
						known++
						for at := range 4 { // after the last period too
							for _, city := range byCity.Keys {
								units = append(units, append(slices.Clone(u), arrival{at + 1, []string{"9", city, "0"}}))
							}
						}
					}
				}
				outcomes := map[string][]int64{}
				for _, u := range units {
					c := countedRows(t, s, append(slices.Clone(others), u...))
					outcomes[fmt.Sprint(c)] = c
					if last := countedRows(t, s, append(slices.Clone(u), others...)); len(u) > 0 && u[0].at == 1 && !slices.Equal(c, last) {
						t.Fatalf("%s, %d, %q: %v at the end of the rows, and %v before them", neighbors, most, person, c, last)
					}
				}
				without, largest := countedRows(t, s, others), 0
				for _, x := range outcomes {
					for _, y := range outcomes {
						pairs++
						if neighbors == dp.AddRemove {
							y = without
						}
						sum := 0
						for i := range x {
							change := int(max(x[i]-y[i], y[i]-x[i]))
							if sum += change; change > 1 {
								t.Fatalf("%s, %d, %q: period %d changes by %d", neighbors, most, person, i, change)
							}
						}
						if largest = max(largest, sum); sum > limit {
							t.Fatalf("%s, %d, %q: %v and %v change by %d, want at most %d", neighbors, most, person, x, y, sum, limit)
						}
					}
				}
				if largest != min(limit, 3) {
					t.Errorf("%s, %d, %q: units change %d at most, want %d", neighbors, most, person, largest, limit)
				}
			}
		}
	}
	t.Logf("%d pairs", pairs)
}

// neverRead are data that nobody is to read.
type neverRead struct{ *testing.T }

func (u neverRead) ReadData(context.Context, Query) (*Data, string, error) {
	u.Error("the data are read")
	return nil, "", io.ErrUnexpectedEOF
}

func seriesLedger(tb testing.TB, epsilon float64) (*ledger.Ledger, string) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "series.ledger")
	if err := ledger.Create(tb.Context(), path, account.Terms{Epsilon: epsilon, Neighbors: dp.AddRemove, Unit: dp.Row}); err != nil {
		tb.Fatal(err)
	}
	l, err := ledger.Open(tb.Context(), path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l, path
}

// quiet is a plan whose noise is 0 but for one draw in some 10^8.
func quiet(tb testing.TB, kind string) *plan.Verified {
	return planOf(tb, plan.Workload{Kind: kind, Cells: 3}, 19, dp.AddRemove, 1)
}

// TestSeries: each period counts the rows that are there when it is released, and never again; the plan is
// charged once; and whoever asks for a period that is over gets the same bytes, whatever the data are by then.
func TestSeries(t *testing.T) {
	l, _ := seriesLedger(t, 20)
	w := Workload{Plan: quiet(t, plan.Prefix), Cells: []Cells{byCity}}
	files := []string{"1,a\n2,a\n3,b\n", "1,a\n2,a\n3,b\n4,a\n5,c\n", "4,a\n5,c\n6,b\n7,c\n8,d\n"}
	want := [][]int64{{2}, {2, 1}, {2, 1, 2}}
	var first []*Measured
	for i, period := range byCity.Keys {
		m, err := w.Period(t.Context(), l, strings.NewReader("id,city\n"+files[i]), period)
		if err != nil || m.Ledger.Replayed || m.Period != period || !slices.Equal(m.Sums, want[i]) {
			t.Fatalf("%+v, %v, want %v", m, err, want[i])
		}
		first = append(first, m)
		sum := 0.0
		var names []string
		err = m.Answers(0.95, false, func(a WorkloadAnswer) error {
			sum += float64(m.Sums[len(names)])
			if names = append(names, a.Of[0]); a.Value != sum || a.Upper < a.Value {
				t.Errorf("%+v, want %g", a, sum)
			}
			return nil
		})
		if err != nil || len(names) != i+1 || names[i] != "up to "+period {
			t.Errorf("answers %v, %v", names, err)
		}
		for k := range i + 1 {
			m, err := w.Period(t.Context(), l, neverRead{t}, byCity.Keys[k])
			if err != nil || !m.Ledger.Replayed {
				t.Fatal(m, err)
			}
			m.Ledger.Replayed = false
			a, _ := json.Marshal(m)
			b, _ := json.Marshal(first[k])
			if string(a) != string(b) {
				t.Errorf("again %s, want %s", a, b)
			}
		}
		if s, err := l.Spent(t.Context()); err != nil || s.Uses != 1 || s.Epsilon > 19.01 || s.Pending != 0 || s.Releases != i+2 {
			t.Errorf("spent %+v, %v", s, err)
		}
	}
	// Ranges of periods that are over, and another series, which the ledger has no room for.
	w.Plan = quiet(t, plan.Ranges)
	if m, err := w.Period(t.Context(), l, strings.NewReader("id,city\n"+files[0]), "a"); !errors.Is(err, account.ErrExceeded) {
		t.Errorf("%+v, %v", m, err)
	}
	l, _ = seriesLedger(t, 20)
	for i, period := range byCity.Keys {
		m, err := w.Period(t.Context(), l, strings.NewReader("id,city\n1,c\n2,b\n"), period)
		if err != nil || m.Plan.Mechanism().Answers().Size != (i+1)*(i+2)/2 {
			t.Fatalf("%+v, %v", m, err)
		}
	}
}

// TestSeriesOrder: periods come in their order; whatever else is asked is refused in a sentence, and
// nothing is charged.
func TestSeriesOrder(t *testing.T) {
	w := Workload{Plan: quiet(t, plan.Prefix), Cells: []Cells{byCity}}
	terms := account.Terms{Epsilon: 20, Neighbors: dp.AddRemove, Unit: dp.Row}
	dates := []Cells{{Column: "city", Every: "month", From: time.Now().UTC().Format("2006-01")}}
	table := Workload{Plan: planOf(t, pairs, 1, dp.AddRemove, 1, []int{0, 1}), Cells: []Cells{byCity, byAge}}
	l, err := plan.Geometric(1)
	if err != nil {
		t.Fatal(err)
	}
	levels, err := plan.New(plan.Spec{
		Budget: dp.Budget{Epsilon: 3}, Neighbors: dp.AddRemove, MaxPerPerson: 1, Workload: plan.Workload{Kind: plan.Prefix, Cells: 3},
		Measurements: []plan.Measurement{{Kind: plan.Partition, Block: 1, Weight: 1, Noise: &l}, {Kind: plan.Partition, Block: 2, Weight: 1, Noise: &l}},
	})
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := levels.Verify()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		w            Workload
		period, want string
	}{
		{w, "b", "period = b, want a, the first one: the ledger has no series of this plan with these columns, cells and flags"},
		{w, "c", "period = c, want a, the first one: "},
		{w, "d", "period = d, want one of the 3 of the plan, a to c"},
		{w, "", `period = , want one of the 3 of the plan`},
		{table, "a", "plan = one of marginals that measures sums of cells, want one of prefix, ranges or identity"},
		{Workload{Plan: blocks, Cells: w.Cells}, "a", "plan = one of prefix that measures sums of cells"},
		{Workload{Plan: w.Plan, Cells: dates}, time.Now().UTC().Format("2006-01"), "want one that is over: it ends before "},
		{Workload{Plan: w.Plan, Cells: []Cells{{Column: "town", Keys: byCity.Keys}}}, "a", `no column "town"`},
	} {
		if _, err := c.w.Period(t.Context(), uncharged{t, terms}, strings.NewReader("id,city,age\n1,a,2\n"), c.period); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if _, err := w.Period(t.Context(), nil, neverRead{t}, "a"); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "ledger = none") {
		t.Error(err)
	}
	book, _ := seriesLedger(t, 20)
	if _, err := w.Period(t.Context(), book, strings.NewReader("id,city\n1,a\n"), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Period(t.Context(), book, neverRead{t}, "c"); err == nil || !strings.Contains(err.Error(), "period = c, want b, the next one") {
		t.Error(err)
	}
}

// TestSeriesStrict: with StrictNotPrivate rows that are malformed, late, gone or changed are refused, after the charge; and without
// it nothing tells of them.
func TestSeriesStrict(t *testing.T) {
	const rows = "1,a\n2,a\n3,b\n"
	for text, refused := range map[string]bool{
		rows: false, "2,a\n1,a\n3,b\n4,b\n9,c\n5,c\n": false, // in another order, with more
		rows + "4,a\n": true, "1,a\n3,b\n": true, "1,a\n7,a\n3,b\n": true, "1,a\n2,a\n2,a\n3,b\n": true, rows + "4\n": true,
	} {
		for _, strict := range []bool{false, true} {
			l, _ := seriesLedger(t, 20)
			w := Workload{Plan: quiet(t, plan.Prefix), Cells: []Cells{byCity}, StrictNotPrivate: strict}
			if m, err := w.Period(t.Context(), l, strings.NewReader("id,city\n"+rows), "a"); err != nil || len(m.Rows) > 0 != strict {
				t.Fatal(m, err)
			} else if strict && len(m.Rows) != 1 {
				t.Errorf("digests of %d periods, of which one is over", len(m.Rows))
			}
			_, err := w.Period(t.Context(), l, strings.NewReader("id,city\n"+text), "b")
			if refused := refused && strict; (err != nil) != refused || err != nil && !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%q, strict: %v: %v", text, strict, err)
			}
			if err != nil { // with the rows as they were it is answered
				if _, err := w.Period(t.Context(), l, strings.NewReader("id,city\n"+rows), "b"); err != nil {
					t.Error(err)
				}
			}
			if s, err := l.Spent(t.Context()); err != nil || s.Uses != 1 || s.Pending != 0 {
				t.Errorf("spent %+v, %v", s, err)
			}
		}
	}
}

// TestSeriesForged: what a ledger has in the place of a period's answer is refused if it is not that.
func TestSeriesForged(t *testing.T) {
	w := Workload{Plan: quiet(t, plan.Prefix), Cells: []Cells{byCity}}
	l := &allCharges{terms: account.Terms{Epsilon: 20, Neighbors: dp.AddRemove, Unit: dp.Row}}
	s := seriesOf(t, w)
	for answer, ok := range map[string]bool{
		`{"kind":"series","period":"a","measured":[1]}`: true, `7`: false, `{"kind":"workload","period":"a","measured":[1]}`: false,
		`{"kind":"series","period":"b","measured":[1]}`: false, `{"kind":"series","period":"a","measured":[]}`: false, `{"kind":"series","period":"a","measured":[1,2]}`: false,
	} {
		c, err := s.charge(0)
		if err != nil {
			t.Fatal(err)
		}
		l.charged = &account.Record{Charge: c, Answer: []byte(answer)}
		if _, err := w.Period(t.Context(), l, neverRead{t}, "a"); (err == nil) != ok || err != nil && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// TestDates: every day is in the one period that its label and the calendar say, whatever the zone, and a time is that
// of the zone.
func TestDates(t *testing.T) {
	for every, s := range spans {
		from := s.start(time.Date(2023, 1, 4, 0, 0, 0, 0, time.UTC))
		next, label := from, ""
		for day := from; day.Year() < 2029; day = day.AddDate(0, 0, 1) {
			if day.Equal(next) {
				if s.label(day) <= label && label != "" {
					t.Errorf("%s: %s after %s", every, s.label(day), label)
				}
				label, from, next = s.label(day), day, s.next(day)
			}
			if !s.start(day).Equal(from) || s.label(s.start(day)) != label {
				t.Fatalf("%s: %v is in %v, %s, want %v, %s", every, day, s.start(day), s.label(s.start(day)), from, label)
			}
		}
	}
	for _, c := range []struct{ every, zone, text, want string }{
		{"month", "", "2026-03-31T23:30:00Z", "2026-03"},
		{"month", "Europe/Berlin", "2026-03-31T23:30:00Z", "2026-04"},
		{"month", "Europe/Berlin", " 2026-03-31T23:30:00 ", "2026-03"},
		{"month", "America/Los_Angeles", "2026-04-01 06:59:59.5+00:00", "2026-03"},
		{"day", "America/Sao_Paulo", "2018-11-04", "2018-11-04"}, // has no midnight
		{"day", "America/Sao_Paulo", "2018-11-04T03:00:00Z", "2018-11-04"},
		{"day", "America/Sao_Paulo", "2018-11-04T02:59:59Z", "2018-11-03"},
		{"week", "", "2027-01-03", "2026-W53"},
		{"week", "", "2027-01-04", "2027-W01"},
		{"quarter", "", "2026-10", "2026-Q4"},
		{"quarter", "", "2026-09-30", "2026-Q3"},
		{"year", "", "2026", "2026"},
		{"month", "", "2026", ""},
		{"month", "", "2026-02", "2026-02"},
		{"day", "", "2026-02", ""},
		{"week", "", "2026-02", ""},
		{"day", "", "2026-02-29", ""},
		{"day", "", "", ""},
		{"day", "", "02.03.2026", ""},
	} {
		cells := Cells{Column: "day", Every: c.every, Zone: c.zone}
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		cells.zone = zone
		if key, ok := cells.key(c.text); key != c.want || ok != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, key, ok)
		}
	}
	three := planOf(t, plan.Workload{Kind: plan.Prefix, Cells: 3}, 1, dp.AddRemove, 1)
	w := Workload{Plan: three, Cells: []Cells{{Column: "city", Every: "month", From: "2025-12-01", Zone: "Asia/Tokyo"}}}
	q, err := w.query()
	if err != nil || !slices.Equal(q.cells[0].Labels(), []string{"2025-12", "2026-01", "2026-02"}) {
		t.Fatalf("%+v, %v", q, err)
	}
	d := read(t, q, [][]string{{"1", "2025-12-31T15:00:00Z", ""}, {"2", "2025-11-30T14:59:59Z", ""}, {"3", "2026-02-28", ""}, {"4", "2026-03-01", ""}, {"5", "soon", ""}})
	if got := cellCounts(three.Mechanism(), d); !slices.Equal(got, []int64{0, 1, 1}) {
		t.Errorf("%v", got)
	}
	c := &q.cells[0]
	for text, over := range map[string]int{"2025-12-31T14:59:59Z": 0, "2025-12-31T15:00:00Z": 1, "2026-02-28T14:59:59Z": 2, "2026-02-28T15:00:00Z": 3} {
		now, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if c.over(i, now) != (i < over) {
				t.Errorf("period %d is over at %s: %v", i, text, i >= over)
			}
		}
	}
	last := Cells{Column: "city", Every: "year", From: "9996"}
	if _, err := (&Workload{Plan: three, Cells: []Cells{last}}).query(); err != nil {
		t.Error(err)
	}
	// However they are written, they are the same series.
	var texts []string
	for _, cells := range []Cells{{From: "2026-01"}, {From: "2026-01-01"}, {From: " 2026-01-01T00:00:00Z", Zone: "UTC"}, {From: "2026-01", Zone: "Asia/Tokyo"}} {
		cells.Column, cells.Every = "city", "month"
		w := Workload{Plan: three, Cells: []Cells{cells}}
		s, err := w.series(nil)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, s.text)
	}
	if texts[0] != texts[1] || texts[0] != texts[2] || texts[0] == texts[3] {
		t.Errorf("series %s, want those of UTC alone to be one", texts)
	}
	for _, c := range []struct {
		cells Cells
		want  string
	}{
		{Cells{Every: "fortnight", From: "2026-01-01"}, "every = fortnight, want day, week, month, quarter or year"},
		{Cells{Every: "month"}, `from = , want the day on which the first month begins`},
		{Cells{Every: "month", From: "2026-01-02"}, "from = 2026-01-02, want the day on which the first month begins"},
		{Cells{Every: "week", From: "2026-01-01"}, "from = 2026-01-01, want the day on which the first week begins"},
		{Cells{Every: "month", From: "2026-01", Zone: "Mars/Olympus"}, "zone = Mars/Olympus, want the name of a time zone"},
		{Cells{Every: "month", From: "2026-01", Zone: "Local"}, "zone = Local, want the name of a time zone"},
		{Cells{Every: "month", From: "2026-01", Keys: byCity.Keys}, "every = month, want either every or keys or edges"},
		{Cells{Every: "month", From: "2026-01", Edges: []float64{1, 2}}, "every = month, want either every or keys or edges"},
		{Cells{Every: "month", From: "2026-01", Keys: []string{"a"}}, "every = month, want either every or keys or edges"},
		{Cells{From: "2026-01", Keys: byCity.Keys}, "from = 2026-01, want none without every"},
		{Cells{Zone: "UTC", Keys: byCity.Keys}, "want none without every"},
		{Cells{Every: "year", From: "9997"}, "from = 9997-01-01, want dates up to the year 9999"},
		{Cells{Every: "year", From: "9998"}, "from = 9998-01-01, want dates up to the year 9999"},
	} {
		c.cells.Column = "city"
		if _, err := (&Workload{Plan: three, Cells: []Cells{c.cells}}).query(); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.cells, err, c.want)
		}
	}
}
