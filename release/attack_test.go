// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
)

// attackRows are what may be in the place of the row of one person.
var attackRows = map[string]string{
	"no row": "", "undecided": "9,Ulm,x,30\n", "nothing": "9,Ulm,,\n", "a text": "9,Ulm,old,much\n", "NaN": "9,Ulm,NaN,nan\n",
	"infinite": "9,Ulm,inf,-Inf\n", "hexadecimal": "9,Ulm,0x1p5,0x20\n", "too large": "9,Ulm,1e999,-1e999\n",
	"above": "9,Ulm,1e300,1e300\n", "below": "9,Ulm,-1e300,-1e300\n", "at the bound": "9,Ulm,120,60\n",
	"few fields": "9,Ulm\n", "many fields": "9,Ulm,34,30,2\n", "open quote": "9,\"Ulm,34,30\n", "open quote at the end": "9,Ulm,34,\"30\n",
	"after a quote": "9,\"Ulm\"x,34,30\n", "quote inside": "9,U\"lm,34,30\n", "row inside": "9,\"Ulm\n1,Ulm,34,30\n\",34,30\n",
	"no UTF-8": "9,U\xfflm,34,30\xfe\n", "zero byte": "9,U\x00lm,34,30\n", "carriage return": "9,U\rlm,34,30\n", "empty line": "\n",
	"blanks": "   \n", "the same identifier": "1,Ulm,34,30\n", "nobody": " ,Ulm,34,30\n", "unknown key": "9,Nowhere,34,30\n",
	"a pattern": "9,(,34,30\n", "a long field": "9," + strings.Repeat("U", 1<<17) + ",34,30\n",
}

func attackQueries() []Query {
	base := []Query{
		{Kind: Count},
		{Kind: Count, Where: `id == "9" && int(age + "a") > 0`},
		{Kind: Count, Where: `split(city, "l")[1] == "m" || city matches "[(]"`},
		{Kind: Count, Where: `type(number(age)) == "float"`, Person: "id", MaxPerPerson: 1},
		{Kind: Count, By: "city", Keys: []string{"Ulm", "Jena"}, Person: "id", MaxPerPerson: 2},
		{Kind: Histogram, By: "city", Keys: []string{"Ulm", "Bonn"}},
		{Kind: Histogram, Column: "age", Edges: []float64{0, 30, 120}, Where: "hours > 1"},
		{Kind: Sum, Column: "hours", Upper: 60},
		{Kind: Sum, Column: "hours", Upper: 60, Missing: middleMissing},
		{Kind: Sum, Column: "hours", Upper: 60, By: "city", Keys: []string{"Ulm"}, Person: "id", MaxPerPerson: 1},
		{Kind: Mean, Column: "hours", Upper: 60, Where: `id == "9"`},
		{Kind: Quantile, Column: "age", Upper: 120, Probability: 0.5, Candidates: 13},
		{Kind: Quantile, Column: "age", Upper: 120, Probability: 0.25, Candidates: 13, By: "city", Keys: []string{"Bonn"}},
		{Kind: Sum, Column: "hours", Bounds: privateBounds},
		{Kind: Histogram, By: "city", PrivateKeys: true, Delta: 1e-9}, // of so few rows no key is found
		{Kind: Sum, Column: "hours", Bounds: "prior:lognormal,3,1", Rows: 100, Person: "id", MaxPerPerson: 2},
		{Kind: Top, By: "city", Keys: []string{"Ulm", "Bonn", "Jena"}, K: 2},
		{Kind: Best, Options: []Option{{"one", `id == "9" && int(age + "a") > 0`}, {"two", `hours > 1`}}, Where: `id == "9"`, Person: "id"},
	}
	var out []Query
	for _, q := range base {
		for _, q.Neighbors = range []string{dp.AddRemove, dp.Replace} {
			q.Epsilon = 1
			out = append(out, q)
		}
	}
	return out
}

// allCharges is a ledger that takes every charge.
type allCharges struct {
	terms account.Terms
	oneCharge
}

func (l *allCharges) Terms() account.Terms { return l.terms }

var (
	answerNumbers = regexp.MustCompile(`"(value|lower|upper|rank_error|count_error)":-?[0-9.e+-]+`)
	answerKeys    = regexp.MustCompile(`"key":"[^"]*"`) // of choices
)

// visible is all that an analyst sees of a release but the answer itself.
func visible(t *testing.T, data any, q Query, source Source) string {
	t.Helper()
	f, _ := data.(File)
	l := &allCharges{terms: account.Terms{Epsilon: 1, Neighbors: q.Neighbors, Unit: q.Unit(), OneLine: f.OneLine}}
	a, err := Release(t.Context(), l, data, q, source)
	text, _ := json.Marshal(a)
	if l.charged != nil {
		l.charged.Answer, l.charged.Data = nil, fmt.Sprint(len(l.charged.Data))
	}
	text = answerNumbers.ReplaceAll(text, []byte(`"$1":#`))
	if q.chooses() {
		text = answerKeys.ReplaceAll(text, []byte(`"key":#`))
	}
	return fmt.Sprintf("%s %v %+v", text, err, l.charged)
}

// TestMemoryOfQuantiles: the counts of candidates, up to 80 MB, are there whether or not rows are.
func TestMemoryOfQuantiles(t *testing.T) {
	q := Query{Kind: Quantile, Column: "age", Upper: 120, Probability: 0.5, Candidates: 13, By: "city", Keys: []string{"Bonn", "Ulm"}, Epsilon: 1, Neighbors: dp.AddRemove}
	for _, group := range read(t, q, [][]string{{"1", "Ulm", "34"}}).tallies {
		if len(group.counts) != q.Candidates {
			t.Errorf("%d counts, want %d", len(group.counts), q.Candidates)
		}
	}
}

// TestNoFreeAnswers: whatever is in the place of one row, an analyst sees nothing of it but in the
// answer, which has noise. Of the command cmd/internal/cli tries the same.
func TestNoFreeAnswers(t *testing.T) {
	const header, others = "id,city,age,hours\n", "1,Ulm,34,40\n2,Jena,71,0\n3,\"Ulm\",45,38.5\n4,\"Bad \"\"U\"\"\",19,12\n"
	source := testSource(t, t.TempDir())
	tried := 0
	for _, q := range attackQueries() {
		for _, oneLine := range []bool{false, true} {
			if oneLine && q.Kind != Count && q.Kind != Sum {
				continue
			}
			file := func(rows string) File { return File{Reader: strings.NewReader(header + rows), OneLine: oneLine} }
			want := visible(t, file(others+"9,Ulm,34,30\n"), q, source)
			if !strings.Contains(want, "#") || !strings.Contains(want, "<nil>") {
				t.Fatalf("%s: %s", q.Text(), want)
			}
			for name, row := range attackRows {
				tried++
				if name == "no row" && q.Neighbors == dp.Replace || q.Kind == Mean && tried%5 > 0 || testing.Short() && tried%96 > 0 {
					continue // no neighbors; slow
				}
				rows := []string{row + others, others + row, row}[tried%3]
				if got := visible(t, file(rows), q, source); got != want {
					t.Errorf("%s: %s: seen is %s, where others see %s", q.Text(), name, got, want)
				}
			}
		}
	}
	// Rows as values.
	type row struct {
		ID, City   string
		Age, Hours *float64
	}
	at := func(x float64) *float64 { return &x }
	good := []*row{{"1", "Ulm", at(34), at(40)}, {"2", "Jena", at(71), at(0)}}
	for _, q := range attackQueries()[14:] {
		q.Column = strings.ToUpper(q.Column[:min(1, len(q.Column))]) + q.Column[min(1, len(q.Column)):]
		if q.Where != "" || q.By != "" || q.Person != "" {
			continue
		}
		want := visible(t, append(good, &row{"9", "Ulm", at(34), at(30)}), q, source)
		for _, other := range []*row{nil, {}, {"9", "Ulm", at(math.NaN()), at(math.NaN())}, {"9", "\xff", at(math.Inf(1)), at(math.Inf(-1))}, {"9", "Ulm", nil, nil}} {
			tried++
			if got := visible(t, append(good, other), q, source); got != want {
				t.Errorf("%s: %+v: seen is %s, where others see %s", q.Text(), other, got, want)
			}
		}
	}
	// What has methods of its own: the value of one row is nil, or nothing in an interface.
	type own struct{ Age encoding.TextMarshaler }
	whole := []own{{big.NewInt(34)}, {big.NewInt(71)}}
	sum := Query{Kind: Sum, Column: "Age", Upper: 60, Epsilon: 1, Neighbors: dp.AddRemove}
	want := visible(t, append(whole, own{big.NewInt(1)}), sum, source)
	for _, other := range []encoding.TextMarshaler{nil, (*time.Time)(nil), (*big.Int)(nil), failing{}} {
		tried++
		if got := visible(t, append(whole, own{other}), sum, source); got != want {
			t.Errorf("%T: seen is %s, where others see %s", other, got, want)
		}
	}
	// Rows of one's own, of which one has too few fields.
	for _, q := range attackQueries() {
		if q.Kind == Mean {
			continue // slow
		}
		columns := []string{"id", "city", "age", "hours"}
		want := visible(t, &records{columns: columns, rows: [][]string{{"1", "Ulm", "34", "40"}, {"9", "Ulm", "34", "30"}}}, q, source)
		for _, row := range [][]string{nil, {"9"}, {"9", "Ulm", "34", "30", "2"}} {
			tried++
			if got := visible(t, &records{columns: columns, rows: [][]string{{"1", "Ulm", "34", "40"}, row}}, q, source); got != want {
				t.Errorf("%s: %q: seen is %s, where others see %s", q.Text(), row, got, want)
			}
		}
	}
	t.Logf("%d channels tried", tried)
}

// TestOneRecordIsOneRow: of a file whose quotes are closed, whatever is in one record counts at most once, and
// changes nothing of what the others count.
func TestOneRecordIsOneRow(t *testing.T) {
	const header, others = "id,city,age,hours\n", "1,Ulm,34,40\n2,Jena,71,0\n3,\"Ulm\",45,38.5\n4,\"Bad \"\"U\"\"\",19,12\n"
	const rows = "1,Ulm,34,30\n"
	large := maps.Clone(attackRows)
	delete(large, "open quote") // it opens the quotes of others
	if !testing.Short() {
		large["large, of many lines"] = "9,\"Ulm\n" + strings.Repeat(rows, 17<<20/len(rows)) + "\",34,30\n"
	}
	large["many fields, of many lines"] = "9" + strings.Repeat(",", 1<<20) + "\"\n" + strings.Repeat(rows, 9) + "\"\n"
	for name, row := range large {
		for _, text := range []string{row + others, others + row} {
			in, err := NewCSV(strings.NewReader(header+text), ',')
			if err != nil {
				t.Fatal(err)
			}
			d, err := Read(in, Query{Kind: Count, Epsilon: 1, Neighbors: dp.AddRemove})
			if err != nil {
				t.Fatal(err)
			}
			if n := d.tallies[0].n; n < 4 || n > 5 {
				t.Errorf("%s: %d rows count, want the 4 of others and at most one", name, n)
			}
		}
	}
}
