// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/tables"
)

// pure designs noise with delta = 0, for which no solver is needed.
var pure = lp.Designer(lp.Options{NewSolver: highs.New})

func testSource(t testing.TB, dir string) Source {
	t.Helper()
	source, err := Tables{Design: pure, Directory: dir, Rejected: func(err error) { t.Error(err) }}.Source()
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// TestValidate holds that every field is checked, and named.
func TestValidate(t *testing.T) {
	good := Query{Kind: Mean, Epsilon: 1, Neighbors: dp.AddRemove, Column: "age", Lower: 0, Upper: 10}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		change func(*Query)
		want   string
	}{
		{func(q *Query) { q.Kind = "mode" }, "kind = mode, want count"},
		{func(q *Query) { q.Epsilon = 0 }, "epsilon = 0"},
		{func(q *Query) { q.Epsilon = math.NaN() }, "epsilon = NaN"},
		{func(q *Query) { q.Delta = 1 }, "delta = 1"},
		{func(q *Query) { q.Neighbors = "" }, "neighbors"},
		{func(q *Query) { q.Missing = "refuse" }, "missing = refuse, want drop or middle"},
		{func(q *Query) {
			q.Kind, q.Column, q.Upper, q.Missing = Count, "", 0, middleMissing
		}, "missing = middle, want drop"},
		{func(q *Query) { q.Loss = "l3" }, "loss"},
		{func(q *Query) { q.Person = "id" }, "max-per-person = 0"},
		{func(q *Query) { q.MaxPerPerson = 2 }, "max-per-person = 2, want none"},
		{func(q *Query) { q.Column = "" }, "column = none"},
		{func(q *Query) { q.Lower = 10 }, "bounds = 10, 10"},
		{func(q *Query) { q.Upper = math.Inf(1) }, "bounds"},
		{func(q *Query) { q.Kind, q.By, q.Keys = Histogram, "city", []string{"a"}; q.Lower, q.Upper = 0, 0 }, "column = age, want none"},
		{func(q *Query) { q.Also = []Kind{Quantile} }, "also = quantile, want count, sum, and of a variance mean, each once"},
		{func(q *Query) { q.Also = []Kind{Mean} }, "also = mean, want count"},
		{func(q *Query) { q.Also = []Kind{Sum, Sum} }, "also = sum, want count"},
		{func(q *Query) { q.Kind, q.Also = Sum, []Kind{Count} }, "also = count, want none but for a mean or a variance"},
		{func(q *Query) { q.Kind, q.Column = Count, "" }, "bounds = 0, 10, want none"},
		{func(q *Query) { q.Probability = 0.5 }, "probability = 0.5, want none"},
		{func(q *Query) { q.Kind = Quantile }, "probability = 0"},
		{func(q *Query) { q.Kind, q.Probability, q.Candidates = Quantile, 0.5, 1 }, "candidates = 1"},
		{func(q *Query) { q.By = "city" }, "keys = none"},
		{func(q *Query) { q.Keys = []string{"a"} }, "by = none"},
		{func(q *Query) { q.By, q.Keys = "city", []string{"a", "b", "a"} }, "keys = a, want every key once"},
		{func(q *Query) { q.Edges = []float64{1, 2} }, "edges"},
		{func(q *Query) { q.Kind, q.Lower, q.Upper, q.Edges = Histogram, 0, 0, []float64{2, 1} }, "edges = 1, want ascending"},
		{func(q *Query) { q.Kind, q.Lower, q.Upper, q.Column = Histogram, 0, 0, "" }, "by = none"},
		{func(q *Query) { q.Where = "name == '\xff'" }, "where = "},
		{func(q *Query) { q.By, q.Keys = "city", []string{"\xfe"} }, "keys = "},
		{func(q *Query) { q.By, q.Keys = "city", []string{"\xc3", "\xa9"} }, "keys = "}, // of another query, too, as JSON
		{func(q *Query) { q.Kind, q.Probability = Quantile, 1.0/3 }, "of at most 6 decimals"},
		{func(q *Query) { q.Sensitivity = 1 }, "sensitivity = 1, want none"},
		{func(q *Query) { *q = Query{Kind: Value, Epsilon: 1, Neighbors: dp.Replace} }, "sensitivity = 0"},
		{func(q *Query) {
			*q = Query{Kind: Value, Epsilon: 1, Neighbors: dp.Replace, Sensitivity: 1, Of: "house"}
		}, "unit = house, want row or person:COLUMN"},
		{func(q *Query) {
			*q = Query{Kind: Value, Epsilon: 1, Neighbors: dp.Replace, Sensitivity: 1, Of: "person:"}
		}, "unit = person:, want row or person:COLUMN"},
		{func(q *Query) {
			*q = Query{Kind: Value, Epsilon: 1, Neighbors: dp.Replace, Sensitivity: 1.5, Integer: true}
		}, "sensitivity = 1.5"},
	} {
		q := good
		test.change(&q)
		err := q.Validate()
		if !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", q, err, test.want)
		}
		if _, err := NewPlan(t.Context(), q, nil); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%+v: planned: %v", q, err)
		}
		if _, err := Read(&records{columns: testColumns}, q); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%+v: read: %v", q, err)
		}
	}
}

func TestCondition(t *testing.T) {
	columns := []string{"id", "sex", "age", "hours-per-week"}
	row := []string{"7", "F", " 65 ", "4e1"}
	for text, want := range map[string]bool{
		``:                                true,
		`age >= 65`:                       true,
		`65 > age`:                        false,
		`age > 64.5 && sex == "F"`:        true,
		`-age < -64`:                      true,
		`sex in ["M", "X"]`:               false,
		`$env["hours-per-week"] == 40`:    true,
		`number(age) + number(id) == 72`:  true,
		`not (sex matches "^[MX]")`:       true,
		`age + 1 == 66 and id * 2 <= 14`:  true,
		`sex == "F" ? age > 60 : id == 1`: true,
	} {
		c, err := newCondition(text, columns)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := c.holds(row); got != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		`agee > 1`, `age`, `age >`, `now() == now()`, `let x = 1`, `1 + 1`, `let x = sex + sex; x == "FF"`,
		// What takes long, or much memory, on a single row.
		`all(1..1000, # > 0)`, `len(repeat(sex, 1000000)) > 0`, `len(replace(sex, "", sex)) > 0`, `count(1..9, true) > 3`,
	} {
		if c, err := newCondition(text, columns); !errors.Is(err, dp.ErrInvalid) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, %v, want one sentence", text, c, err)
		}
	}
	// Two columns by size are numbers, a column may be called number, and one that is
	// there twice is not known.
	columns = []string{"number", "age", " twice", "bonus ", "twice "}
	for text, want := range map[string]bool{`age > bonus`: false, `age + bonus == 110`: true, `age == bonus`: false, `number >= 3`: true, `age < bonus && -number < 0`: true} {
		c, err := newCondition(text, columns)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := c.holds([]string{"3", "9", "1", "101", "2"}); got != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{`twice == "1"`, `$env["twice"] == "1"`} {
		if _, err := newCondition(text, columns); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "2 columns are called twice") {
			t.Errorf("a column that is there twice: %v", err)
		}
	}
	columns = []string{"id", "sex", "age", "hours-per-week"}
	// Errors of a row do not quote it.
	c, err := newCondition(`sex > 3`, columns)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.holds(row); err == nil || strings.Contains(err.Error(), "F") {
		t.Errorf("a text for a number: %v", err)
	}
}

var testRows = [][]string{
	{"1", "a", "3"}, {"1", "b", "5"}, {"2", "a", "-20"}, {"3", "c", "1.5"}, {"4", "b", "7"}, {"4", "b", "100"},
}

func TestRead(t *testing.T) {
	at := func(q Query) Query {
		q.Epsilon, q.Neighbors = 1, dp.AddRemove
		return q
	}
	d := read(t, at(Query{Kind: Sum, Column: "age", Lower: 0, Upper: 10}), testRows)
	if s, _ := d.tallies[0].sum.Rat(nil); s.Cmp(big.NewRat(53, 2)) != 0 || d.tallies[0].n != 6 {
		t.Errorf("clipped sum %v of %d, want 26.5 of 6", s, d.tallies[0].n)
	}
	d = read(t, at(Query{Kind: Histogram, Column: "age", Edges: []float64{1.5, 5, 7}}), testRows)
	if d.tallies[0].n != 2 || d.tallies[1].n != 2 {
		t.Errorf("between edges: %d and %d, want 2 and 2: the last edge inclusive, others not", d.tallies[0].n, d.tallies[1].n)
	}
	d = read(t, at(Query{Kind: Count, By: "city", Keys: []string{"b", "z"}, Person: "id", MaxPerPerson: 1}), testRows)
	if d.tallies[0].n != 2 || d.tallies[1].n != 0 {
		t.Errorf("persons by key: %d and %d, want 2 and 0: each counts once", d.tallies[0].n, d.tallies[1].n)
	}
	bad := append([][]string{{"5", "a", "?"}}, testRows...)
	q := at(Query{Kind: Sum, Column: "age", Lower: 0, Upper: 10})
	d = read(t, q, bad)
	if d.tallies[0].n != 6 {
		t.Errorf("%d rows, want the 6 with numbers", d.tallies[0].n)
	}
	if err := d.leftOut; err == nil || !strings.Contains(err.Error(), "line 2") || strings.Contains(err.Error(), "?") {
		t.Errorf("a text for a number: %v, want its line and not what it says", err)
	}
	q.Missing = middleMissing
	if d := read(t, q, bad); d.tallies[0].n != 7 || d.tallies[0].sum.String() != "31.5" || d.leftOut != nil {
		t.Errorf("%d rows of sum %v, %v, want the 6 with numbers and one with the middle", d.tallies[0].n, &d.tallies[0].sum, d.leftOut)
	}
	for _, q := range []Query{{Kind: Count, By: "town", Keys: []string{"a"}}, {Kind: Count, Person: "who", MaxPerPerson: 1}, {Kind: Count, Where: "town == 1"}} {
		if _, err := Read(&records{columns: testColumns}, at(q)); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%+v: %v, want an error about the column", q, err)
		}
	}
}

// TestReservoir holds that each of a person's rows is kept as often as another. Of 3 of 7
// rows in 7000 trials each is kept 3000 ± 41 times; beyond 6.2 standard deviations, one of
// the 7 is found with a probability below 1e-8.
func TestReservoir(t *testing.T) {
	q := Query{Kind: Sum, Epsilon: 1, Neighbors: dp.AddRemove, Column: "age", Lower: 0, Upper: 1e7, Person: "id", MaxPerPerson: 3}
	var rows [][]string
	for i := range 7 {
		rows = append(rows, []string{"1", "a", new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(i)), nil).String()})
	}
	var kept [7]int
	for range 7000 {
		d := read(t, q, rows)
		sum, _ := d.tallies[0].sum.Int64()
		count := 0
		for i := range kept {
			digit := int(sum % 10)
			kept[i] += digit
			count += digit
			sum /= 10
		}
		if count != 3 {
			t.Fatalf("%d rows of a person, want 3", count)
		}
	}
	for i, n := range kept {
		if n < 3000-256 || n > 3000+256 {
			t.Errorf("row %d was kept %d times of 7000, want 3000 ± 256", i, n)
		}
	}
}

// TestPlans holds that a plan costs what the query allows, and nearly all of it, and that
// tables are found again.
func TestPlans(t *testing.T) {
	dir := t.TempDir()
	source := testSource(t, dir)
	for _, q := range []Query{
		{Kind: Count},
		{Kind: Count, Person: "id", MaxPerPerson: 3},
		{Kind: Count, By: "city", Keys: []string{"a", "b", "c"}, Person: "id", MaxPerPerson: 2},
		{Kind: Sum, Column: "age", Lower: -1, Upper: 3},
		{Kind: Mean, Column: "age", Lower: -1, Upper: 3},
		{Kind: Quantile, Column: "age", Lower: -1, Upper: 3, Probability: 0.25, Candidates: 9},
		{Kind: Quantile, Column: "age", Lower: -1, Upper: 3, Probability: 0.25, Candidates: 9, By: "city", Keys: []string{"a", "b"}, Person: "id", MaxPerPerson: 2},
		{Kind: Value, Sensitivity: 2, Integer: true},
		{Kind: Value, Sensitivity: 2.5},
	} {
		for _, neighbors := range []string{dp.AddRemove, dp.Replace} {
			q.Epsilon, q.Neighbors = 2, neighbors
			p, err := NewPlan(t.Context(), q, source)
			if err != nil {
				t.Errorf("%s: %v", q.Text(), err)
				continue
			}
			epsilon, err := p.mechanism.cost.EpsilonAt(0)
			if err != nil || epsilon > 2 || epsilon < 1.99 {
				t.Errorf("%s costs epsilon %v, %v, want 2", q.Text(), epsilon, err)
			}
			uses := 0
			for _, c := range p.Costs() {
				uses += c.Times
			}
			if q.Kind != Mean && uses != q.uses() {
				t.Errorf("%s: %d uses, want %d", q.Text(), uses, q.uses())
			}
		}
	}
	again, err := Tables{Directory: dir, Rejected: func(err error) { t.Error(err) }, Design: func(context.Context, dp.Problem, float64) (*tables.Verified, error) {
		return nil, errors.New("designed again")
	}}.Source()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []Query{{Kind: Count}, {Kind: Count, By: "city", Keys: []string{"a", "b", "c"}, Person: "id", MaxPerPerson: 2}} {
		q.Epsilon, q.Neighbors = 2, dp.AddRemove
		if _, err := NewPlan(t.Context(), q, again); err != nil {
			t.Errorf("%s: %v", q.Text(), err)
		}
	}
}

// TestAnswers holds every kind of answer against the exact one, by its interval: in 400
// runs at a level of 0.95 at least 354 cover with a probability above 1 - 1e-6 each.
func TestAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	source := testSource(t, "")
	for _, q := range []Query{
		{Kind: Count},
		{Kind: Sum, Column: "age", Lower: -1, Upper: 9.5},
		{Kind: Sum, Column: "age", Lower: -1, Upper: 9.5, Loss: "l2", Neighbors: dp.Replace},
		{Kind: Mean, Column: "age", Lower: -1, Upper: 9.5, Neighbors: dp.Replace},
		{Kind: Mean, Column: "age", Lower: -1, Upper: 9.5},
		{Kind: Histogram, By: "city", Keys: []string{"a", "b"}},
	} {
		if q.Neighbors == "" {
			q.Neighbors = dp.AddRemove
		}
		q.Epsilon = 1
		p, err := NewPlan(t.Context(), q, source)
		if err != nil {
			t.Fatal(err)
		}
		d := read(t, q, testRows)
		exact, _ := d.tallies[0].sum.Float64()
		switch q.Kind { //nolint:exhaustive // those above
		case Count, Histogram:
			exact = float64(d.tallies[0].n)
		case Mean:
			exact /= float64(d.tallies[0].n)
		}
		covered := 0
		for range 400 {
			out, err := p.Answer(d)
			if err != nil {
				t.Fatal(err)
			}
			if e := out[0]; e.Lower <= exact && exact <= e.Upper {
				covered++
			}
			if len(out) != len(q.groups()) || out[0].Key != q.groups()[0] {
				t.Fatalf("%s: %+v", q.Text(), out)
			}
		}
		if covered < 354 {
			t.Errorf("%s: %d of 400 intervals cover %v", q.Text(), covered, exact)
		}
	}
}

// TestAnswerRefuses holds that data are for their query alone.
func TestAnswerRefuses(t *testing.T) {
	q := Query{Kind: Sum, Epsilon: 1, Neighbors: dp.Replace, Column: "age", Lower: 0, Upper: 1}
	p, err := NewPlan(t.Context(), q, testSource(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	wide := q
	wide.Upper = 10
	for _, d := range []*Data{nil, {}, read(t, wide, testRows)} {
		if out, err := p.Answer(d); out != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v, %v, want an error and no answer", out, err)
		}
	}
	q.Kind, q.Missing = Mean, middleMissing
	if p, err = NewPlan(t.Context(), q, testSource(t, "")); err != nil {
		t.Fatal(err)
	}
	if out, err := p.Answer(read(t, q, nil)); out != nil || !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("the mean of no rows: %v, %v", out, err)
	}
	v := Query{Kind: Value, Epsilon: 1, Neighbors: dp.Replace, Sensitivity: 1, Integer: true}
	for _, x := range []*big.Rat{big.NewRat(1, 2), nil} {
		if _, err := dataOf(x, v); !errors.Is(err, dp.ErrInvalid) || strings.Contains(err.Error(), "1/2") {
			t.Errorf("value %v: %v", x, err)
		}
	}
	// Whether there is a mean does not depend on the draw, however large the sums.
	q.Neighbors, q.Epsilon = dp.AddRemove, 20
	if p, err = NewPlan(t.Context(), q, testSource(t, "")); err != nil {
		t.Fatal(err)
	}
	d := read(t, q, testRows)
	for d.tallies[0].n = 1; d.tallies[0].n < 1<<60; d.tallies[0].n *= 2 {
		if out, err := p.Answer(d); err != nil || !(out[0].Lower <= out[0].Value && out[0].Value <= out[0].Upper) {
			t.Errorf("the mean of %d rows: %v, %v", d.tallies[0].n, out, err)
		}
	}
}

// TestSourceIsNotBelieved holds that noise for another change, for another kind of query,
// or none is refused, whatever its source says.
func TestSourceIsNotBelieved(t *testing.T) {
	honest := testSource(t, "")
	for name, dishonest := range map[string]func(*dp.Problem) *tables.Verified{
		"none":     func(*dp.Problem) *tables.Verified { return nil },
		"unproved": func(*dp.Problem) *tables.Verified { return &tables.Verified{} },
		"smaller": func(p *dp.Problem) *tables.Verified {
			p.Sensitivity /= 2
			return nil
		},
		"other": func(p *dp.Problem) *tables.Verified {
			if p.Query == dp.RealQuery {
				p.Query = dp.IntegerQuery
			} else {
				p.Query = dp.RealQuery
			}
			return nil
		},
	} {
		source := func(ctx context.Context, p dp.Problem, uses int) (*tables.Verified, error) {
			if v := dishonest(&p); v != nil || name == "none" {
				return v, nil
			}
			return honest(ctx, p, uses)
		}
		for _, q := range []Query{
			{Kind: Count, Person: "id", MaxPerPerson: 2, Neighbors: dp.AddRemove},
			{Kind: Sum, Column: "age", Upper: 1, Neighbors: dp.AddRemove},
			{Kind: Value, Sensitivity: 2, Integer: true, Neighbors: dp.AddRemove},
			{Kind: Value, Sensitivity: 2, Neighbors: dp.AddRemove},
		} {
			q.Epsilon = 1
			if p, err := NewPlan(t.Context(), q, source); err == nil {
				t.Errorf("%s: a %s with %s", name, q.Kind, p.Mechanism())
			}
		}
	}
}

// TestValueIsExact holds that numbers that no float64 tells apart are told apart by no
// more than the noise: their indices differ by the exact difference.
func TestValueIsExact(t *testing.T) {
	for _, test := range []struct {
		a, b        string
		sensitivity float64
		integer     bool
	}{
		{"1152921504606847104", "1152921504606847105", 1, true},
		{"9007199254740993", "9007199254740994", 1, true},
		{"100000000000000008", "100000000000000009", 1, false},
		{"1000000000000.7", "1000000000000.8", 0.1, false},
		{"1e120", "1.00000000000000000000000001e120", 1e94, false},
	} {
		q := Query{Kind: Value, Epsilon: 1, Neighbors: dp.AddRemove, Sensitivity: test.sensitivity, Integer: test.integer}
		noise, err := q.normal().valueNoise(t.Context(), testSource(t, ""))
		if err != nil {
			t.Fatal(err)
		}
		index := func(text string) *big.Int {
			x, ok := new(big.Rat).SetString(text)
			if !ok {
				t.Fatal(text)
			}
			d, err := dataOf(x, q)
			if err != nil {
				t.Fatal(err)
			}
			return noise.index(d.tallies[0].total())
		}
		points := new(big.Rat).Quo(new(big.Rat).SetFloat64(test.sensitivity), noise.unit)
		apart := new(big.Rat).SetInt(new(big.Int).Sub(index(test.b), index(test.a)))
		if apart.Sign() <= 0 || apart.Cmp(points) > 0 {
			t.Errorf("%s and %s are %v points apart, want at most %v", test.a, test.b, apart, points)
		}
	}
}
