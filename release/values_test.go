// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/release/ledger"
	"github.com/noisewright/noisewright/tables"
)

// place is embedded in rows.
type place struct {
	City string `csv:"city"`
}

type resident struct {
	ID int32 `csv:"id"`
	place
	Age    *float64  `csv:"age,omitempty"`
	Member bool      // its own name
	Since  time.Time `csv:"since"`
	Notes  []string  `csv:"-"`
	hidden string
}

func number64(v float64) *float64 { return &v }

var residents = []resident{
	{1, place{"Ulm"}, number64(34.5), true, time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC), nil, "x"},
	{2, place{"Jena, Lobeda"}, nil, false, time.Time{}, []string{"a"}, ""},
	{1, place{"Ulm"}, number64(1e-7), true, time.Time{}, nil, ""},
	{3, place{`the "city"`}, number64(71), false, time.Time{}, nil, ""},
}

// residentsFile is the CSV file of the residents.
const residentsFile = "id,city,age,Member,since\n" +
	"1,Ulm,34.5,true,2020-01-02T00:00:00Z\n" +
	"2,\"Jena, Lobeda\",,false,0001-01-01T00:00:00Z\n" +
	"1,Ulm,1e-07,true,0001-01-01T00:00:00Z\n" +
	"3,\"the \"\"city\"\"\",71,false,0001-01-01T00:00:00Z\n"

// TestValuesAreTheirFile: rows as values are read as the rows of their CSV file, and have its
// digest.
func TestValuesAreTheirFile(t *testing.T) {
	pointers := make([]*resident, len(residents))
	for i := range residents {
		pointers[i] = &residents[i]
	}
	for _, q := range []Query{
		{Kind: Count, Where: `Member == "true" && city == "Ulm"`},
		{Kind: Count, Where: `since startsWith "2020"`},
		{Kind: Sum, Column: "age", Upper: 50, Missing: dropMissing},
		{Kind: Mean, Column: "age", Upper: 50, Missing: dropMissing, Neighbors: dp.Replace},
		{Kind: Histogram, By: "city", Keys: []string{"Ulm", "Jena, Lobeda"}},
		{Kind: Histogram, Column: "age", Edges: []float64{0, 1, 50, 100}, Missing: dropMissing},
		{Kind: Quantile, Column: "age", Upper: 100, Probability: 0.5, Missing: dropMissing},
		{Kind: Count, Person: "id", MaxPerPerson: 1},
	} {
		q.Epsilon = 1
		if q.Neighbors == "" {
			q.Neighbors = dp.AddRemove
		}
		want, digest, err := ReadData(t.Context(), strings.NewReader(residentsFile), q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		want.leftOut = nil
		for i, data := range []any{
			residents, [4]resident(residents), pointers, slices.Values(residents), slices.Values(pointers),
			File{Reader: strings.NewReader(residentsFile)},
		} {
			d, sum, err := ReadData(t.Context(), data, q)
			if err != nil {
				t.Fatalf("%+v: data %d: %v", q, i, err)
			}
			d.leftOut = nil // of lines of a file, and of rows
			if sum != digest || !reflect.DeepEqual(d, want) {
				t.Errorf("%+v: data %d are %+v of digest %s, want those of the file, %+v of %s", q, i, d, sum, want, digest)
			}
		}
		// With another delimiter, another order or a row less they are other data.
		for i, data := range []any{
			File{Reader: strings.NewReader(strings.ReplaceAll(residentsFile, ",", ";")), Delimiter: ';'},
			File{Reader: strings.NewReader(residentsFile), OneLine: true},
			append(slices.Clone(residents[1:]), residents[0]), residents[1:],
		} {
			if _, sum, err := ReadData(t.Context(), data, q); err != nil || sum == digest {
				t.Errorf("%+v: other data %d: digest %s, %v", q, i, sum, err)
			}
		}
	}
}

// TestValuesAreExact: what is added up are the numbers themselves, of every type.
func TestValuesAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	floats, singles, integers := make([]float64, 300), make([]float32, 300), make([]int64, 300)
	for i := range floats {
		floats[i] = math.Ldexp(2*rng.Float64()-1, rng.IntN(200)-150)
		singles[i] = float32(floats[i])
		integers[i] = rng.Int64N(1<<53) - 1<<52
	}
	q := Query{Kind: Sum, Column: "value", Lower: -1e60, Upper: 1e60, Epsilon: 1, Neighbors: dp.AddRemove}
	for name, c := range map[string]struct {
		data any
		want iter.Seq[*big.Rat]
	}{
		"float64": {floats, rationals(floats)}, "float32": {singles, rationals(singles)},
		"int64": {slices.Values(integers), rationals(integers)},
	} {
		want := new(big.Rat)
		for x := range c.want {
			want.Add(want, x)
		}
		d, _, err := ReadData(t.Context(), c.data, q)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := d.tallies[0].total(); got.Cmp(want) != 0 || d.tallies[0].n != 300 {
			t.Errorf("%s: the sum of %d values is %v, want %v", name, d.tallies[0].n, got, want)
		}
	}
}

func rationals[T int64 | float32 | float64](list []T) iter.Seq[*big.Rat] {
	return func(yield func(*big.Rat) bool) {
		for _, v := range list {
			x, _ := numberOf(v)
			if !yield(x) {
				return
			}
		}
	}
}

// failing is a text that fails.
type failing struct{}

func (failing) MarshalText() ([]byte, error) { return nil, errors.New("no text today") }

// TestDataRefused: one sentence, before anything is charged, says what is wrong.
func TestDataRefused(t *testing.T) {
	count := Query{Kind: Count, Epsilon: 1}
	mean := Query{Kind: Mean, Column: "value", Upper: 1, Epsilon: 1}
	value := Query{Kind: Value, Sensitivity: 1, Epsilon: 1}
	for want, c := range map[string]struct {
		data any
		q    Query
	}{
		"release: data = none, want a CSV file as an io.Reader, or a slice or an iterator of structs or numbers":            {nil, count},
		"release: data is string, want a CSV file as an io.Reader, or a slice or an iterator of structs or numbers":         {"people.csv", count},
		"release: data is []uint8, want a CSV file as an io.Reader, or a slice or an iterator of structs or numbers":        {[]byte("age\n1\n"), count},
		"release: data is map[string]int, want a CSV file as an io.Reader, or a slice or an iterator of structs or numbers": {map[string]int{}, count},
		"release: data is float64, want a CSV file as an io.Reader, or a slice or an iterator of structs or numbers":        {1.5, mean},
		"release: a row of the data is []int, want a struct, " + wantValue:                                                  {[][]int{}, count},
		"release: a row of the data is struct {}, want one with an exported field":                                          {[]struct{}{{}}, count},
		"release: field Tags of struct { Tags []string } is []string, want " + wantValue + `, or the tag csv:"-"`:           {[]struct{ Tags []string }{}, count},
		`release: column = age, want a column of the data: value`:                                                           {[]float64{1}, Query{Kind: Mean, Column: "age", Upper: 1, Epsilon: 1}},
		`release: data = string, want a finite number: a *big.Rat, a float64 or an integer`:                                 {"12", value},
		`release: data = float64, want a finite number: a *big.Rat, a float64 or an integer`:                                {math.Inf(1), value},
		`release: kind = sums, want count, sum, mean, variance, distinct, histogram, quantile, top, best or value`:          {[]float64{1}, Query{Kind: "sums", Epsilon: 1}},
		`release: neighbors = replace, want add-remove as in the ledger`:                                                    {[]float64{1}, Query{Kind: Count, Epsilon: 1, Neighbors: dp.Replace}},
		`release: delimiter = ';', want "," as in the ledger`:                                                               {File{Reader: unread{}, Delimiter: ';'}, Query{Kind: Count, Epsilon: 1}},
		`release: one-line = true, want false as in the ledger`:                                                             {File{Reader: unread{}, OneLine: true}, Query{Kind: Count, Epsilon: 1}},
		`release: unit = person:id, want row as in the ledger`:                                                              {residents, Query{Kind: Count, Epsilon: 1, Person: "id", MaxPerPerson: 1}},
	} {
		l := &oneCharge{}
		a, err := Release(t.Context(), l, c.data, c.q, nil)
		if a != nil || !errors.Is(err, dp.ErrInvalid) || err.Error() != want || l.charged != nil {
			t.Errorf("%v, %v\nwant %s", a, err, want)
		}
	}
}

// unread is not to be read.
type unread struct{}

func (unread) Read([]byte) (int, error) { panic("read") }

// TestLedgerSaysWhatARowIs: a file is read as the terms say, whoever asks, and what says something else
// is refused. A ledger that is nil is no ledger, and not none.
func TestLedgerSaysWhatARowIs(t *testing.T) {
	const text = "a;b\n1;\"x\n2;y\n"
	count := Query{Kind: Count, Epsilon: 1, Where: "a > 0", Neighbors: dp.AddRemove}
	terms := account.Terms{Epsilon: 1, Neighbors: dp.AddRemove, Unit: dp.Row, Delimiter: ";", OneLine: true}
	_, want, err := ReadData(t.Context(), File{Reader: strings.NewReader(text), Delimiter: ';', OneLine: true}, count)
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []any{strings.NewReader(text), File{Reader: strings.NewReader(text)}, File{Reader: strings.NewReader(text), Delimiter: ';', OneLine: true}} {
		l := &allCharges{terms: terms}
		if _, err := Release(t.Context(), l, data, count, testSource(t, "")); err != nil || l.charged.Data != want {
			t.Errorf("%T: %v, %+v, want the digest %s", data, err, l.charged, want)
		}
	}
	for _, c := range []struct {
		delimiter byte
		oneLine   bool
		want      string
	}{{',', true, `delimiter = ',', want ";" as in the ledger`}, {';', true, "one-line = false, want true as in the ledger: a File can be"}, {';', false, ""}} {
		rows, err := NewCSV(strings.NewReader(text), c.delimiter)
		if err != nil {
			t.Fatal(err)
		}
		terms.OneLine = c.oneLine
		l := &allCharges{terms: terms}
		_, err = Release(t.Context(), l, rows, Query{Kind: Count, Epsilon: 1}, testSource(t, ""))
		if refused := c.want != ""; refused != (l.charged == nil) || refused && !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%+v: %v, charged %v", c, err, l.charged)
		}
	}
	var none *allCharges
	if _, err := Release(t.Context(), none, unread{}, count, nil); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "ledger = a *release.allCharges that is nil") {
		t.Error(err)
	}
}

// TestStrictIsCharged: rows without a value do not end a release; who wants to be told of them, and
// says that this is not private, is charged first.
func TestStrictIsCharged(t *testing.T) {
	count := Query{Kind: Count, Epsilon: 1}
	for want, c := range map[string]struct {
		data any
		q    Query
	}{
		`release: row 2, column value: not a finite number`: {[]float64{0.5, math.NaN()}, Query{Kind: Sum, Column: "value", Upper: 1, Epsilon: 1}},
		`release: row 1 is nil, want a struct`:              {[]*resident{nil}, count},
		`release: row 1, column F: no text today`:           {[]struct{ F failing }{{}}, count},
		`line 2: 2 fields, want 1 as in the header`:         {strings.NewReader("age\n1,2\n3\n"), count},
		`line 2 is empty, want a row`:                       {strings.NewReader("age\n\n3\n\n\n"), count},
	} {
		source := testSource(t, "")
		for _, strict := range []bool{false, true} {
			l := &oneCharge{}
			c.q.StrictNotPrivate = strict
			if r, ok := c.data.(io.Seeker); ok {
				_, _ = r.Seek(0, io.SeekStart)
			}
			a, err := Release(t.Context(), l, c.data, c.q, source)
			if l.charged == nil || (err != nil) != strict || (a == nil) != strict {
				t.Errorf("%s: strict is %v: %v, %v, charged %v", want, strict, a, err, l.charged != nil)
			}
			if strict && (!errors.Is(err, dp.ErrInvalid) || err.Error() != want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
}

// oneCharge is a ledger about rows that takes one charge.
type oneCharge struct{ charged *account.Record }

func (l *oneCharge) Terms() account.Terms {
	return account.Terms{Epsilon: 1, Neighbors: dp.AddRemove, Unit: dp.Row}
}

func (l *oneCharge) Find(_ context.Context, text, data string) (account.Record, bool, error) {
	if r := l.charged; r != nil && r.Text == text && r.Data == data {
		return *r, true, nil
	}
	return account.Record{}, false, nil
}

func (l *oneCharge) Release(ctx context.Context, c account.Charge, answer func(context.Context) ([]byte, error)) (r account.Record, err error) {
	if l.charged != nil && l.charged.Text != c.Text {
		return account.Record{}, account.ErrExceeded
	}
	l.charged = &account.Record{Charge: c, ID: 1}
	l.charged.Answer, err = answer(ctx)
	return *l.charged, err
}

// TestReleaseOnce: an answer is charged before it is drawn, drawn from the noise that was
// charged, and given again to the same query about the same data, however they come.
func TestReleaseOnce(t *testing.T) {
	l := &oneCharge{}
	q := Query{Kind: Count, Where: `city == "Ulm"`, Epsilon: 1}
	source := testSource(t, "")
	calls := 0
	counted := func(ctx context.Context, p dp.Problem, uses int) (*tables.Verified, error) {
		calls++
		if l.charged != nil {
			t.Error("noise was sought after the charge")
		}
		return source(ctx, p, uses)
	}
	first, err := Release(t.Context(), l, residents, q, counted)
	if err != nil || first.Ledger == nil || first.Ledger.Replayed || first.Neighbors != dp.AddRemove || calls != 1 {
		t.Fatalf("%+v, %v after %d calls", first, err, calls)
	}
	again, err := Release(t.Context(), l, strings.NewReader(residentsFile), q, counted)
	if err != nil || !again.Ledger.Replayed || !reflect.DeepEqual(again.Answers, first.Answers) || calls != 1 {
		t.Errorf("%+v, %v after %d calls, want %+v again", again, err, calls, first)
	}
	// A crash after the charge: the draw is of the noise that was charged.
	l.charged.Answer = nil
	third, err := Release(t.Context(), l, slices.Values(residents), q, counted)
	if err != nil || third.Ledger.Replayed || !slices.Equal(third.Tables, first.Tables) || calls != 1 {
		t.Errorf("%+v, %v after %d calls", third, err, calls)
	}
	l.charged.Answer = []byte("7")
	if _, err := Release(t.Context(), l, residents, q, counted); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "the answer of release 1 in the ledger is not one of a query") {
		t.Errorf("%v of a foreign answer", err)
	}
	q.Epsilon = 0.5
	if a, err := Release(t.Context(), l, residents, q, source); a != nil || !errors.Is(err, account.ErrExceeded) {
		t.Errorf("%v, %v, want nothing more", a, err)
	}
	free, err := Release(t.Context(), nil, residents, q, source)
	if err != nil || free.Ledger != nil || len(free.Answers) != 1 {
		t.Errorf("%+v, %v without a ledger", free, err)
	}
}

// TestReleaseKeeps takes a release to a file of package ledger.
func TestReleaseKeeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	if err := ledger.Create(t.Context(), path, account.Terms{Epsilon: 1, Neighbors: dp.Replace, Unit: "person:id"}); err != nil {
		t.Fatal(err)
	}
	var answers []*Answer
	for _, data := range []any{residents, slices.Values(residents), strings.NewReader(residentsFile)} {
		l, err := ledger.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		q := Query{Kind: Sum, Column: "age", Upper: 100, Missing: dropMissing, Person: "id", MaxPerPerson: 1, Epsilon: 1}
		a, err := Release(t.Context(), l, data, q, testSource(t, ""))
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
		left, err := l.Left(t.Context(), 0)
		if err != nil || left != 0 {
			t.Errorf("%v left, %v, want nothing", left, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i, a := range answers {
		if a.Neighbors != dp.Replace || a.Ledger.Replayed != (i > 0) || !reflect.DeepEqual(a.Answers, answers[0].Answers) {
			t.Errorf("answer %d is %+v, want that of %+v", i, a, answers[0])
		}
	}
}

// TestValueIsNew: a number has no digest, and so every release of it is charged.
func TestValueIsNew(t *testing.T) {
	q := Query{Kind: Value, Name: "patients", Sensitivity: 1, Integer: true, Epsilon: 1, Neighbors: dp.AddRemove}
	known := map[string]bool{}
	for _, x := range []any{12, uint16(12), 12.0, big.NewRat(12, 1), 12} {
		d, digest, err := ReadData(t.Context(), x, q)
		if err != nil || d.tallies[0].total().Cmp(big.NewRat(12, 1)) != 0 || known[digest] || len(digest) != 64 {
			t.Errorf("%T: %v, digest %s, %v", x, d, digest, err)
		}
		known[digest] = true
	}
	if _, _, err := ReadData(t.Context(), 12.5, q); !errors.Is(err, dp.ErrInvalid) || strings.Contains(err.Error(), "12.5") {
		t.Errorf("%v of a fraction", err)
	}
}

// TestReadingEnds: a context ends the reading of rows and of files.
func TestReadingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	rows := func(yield func(int) bool) {
		for i := 0; yield(i); i++ {
			if i == 10 {
				cancel()
			}
		}
	}
	q := Query{Kind: Count, Epsilon: 1, Neighbors: dp.AddRemove}
	if _, _, err := ReadData(ctx, iter.Seq[int](rows), q); !errors.Is(err, context.Canceled) {
		t.Errorf("rows: %v", err)
	}
	if _, _, err := ReadData(ctx, strings.NewReader(residentsFile), q); !errors.Is(err, context.Canceled) {
		t.Errorf("file: %v", err)
	}
	broken := io.MultiReader(strings.NewReader("age\n1\n"), failingReader{})
	if _, _, err := ReadData(t.Context(), broken, q); err == nil || !strings.Contains(err.Error(), "a broken disk") {
		t.Errorf("file: %v", err)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, fmt.Errorf("a broken disk") }
