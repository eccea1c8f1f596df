// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/release"
)

func smallRecords(rows ...string) *records {
	r := &records{names: []string{"note", "class", "y", "letter", "x"}}
	for _, row := range rows {
		r.rows = append(r.rows, strings.Split(row, ","))
	}
	return r
}

func TestRead(t *testing.T) {
	d, err := small().Read(smallRecords("any,b,-4,s,10", ",c,0, p ,2.5", "?,b,4,q, 5e0"))
	if err != nil {
		t.Fatal(err)
	}
	if d.Len() != 3 || !d.Labeled() {
		t.Fatalf("%d records, labeled %v", d.Len(), d.Labeled())
	}
	for row, want := range []struct {
		class, letter int
		x, y          float64
	}{{1, 3, 1, -1}, {2, 0, -0.5, 0}, {1, 1, 0, 1}} {
		if d.Class(row) != want.class || d.Code(1, row) != want.letter || d.Unit(0, row) != want.x || d.Unit(2, row) != want.y {
			t.Errorf("record %d: %d %d %v %v, want %+v", row, d.Class(row), d.Code(1, row), d.Unit(0, row), d.Unit(2, row), want)
		}
	}
	picked := d.selected([]int{2, 2, 0})
	if picked.Len() != 3 || picked.Code(1, 0) != 1 || picked.Code(1, 2) != 3 || picked.Class(1) != 1 {
		t.Errorf("%+v", picked)
	}
	// Without the column of classes.
	r := smallRecords("any,b,-4,s,10")
	r.names[1] = "other"
	if _, err := small().Read(r); err == nil {
		t.Error("labeled without classes")
	}
	r.next = 0
	if d, err = small().ReadUnlabeled(r); err != nil || d.Labeled() || d.Len() != 1 || d.selected([]int{0}).Labeled() {
		t.Errorf("%+v, %v", d, err)
	}
	// No records are no error, nor is a class without any: both would tell of people.
	if d, err = small().Read(smallRecords()); err != nil || d.Len() != 0 || !d.Labeled() {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestReadErrors: an error says where the record is and what the schema asks for, and
// nothing of the record.
func TestReadErrors(t *testing.T) {
	const good = "note,a,1,p,7"
	for row, want := range map[string]string{
		"note,secret,1,p,7": "column class: not in the schema, want one of \"a\", \"b\", \"c\"",
		"note,,1,p,7":       "column class: not in the schema, want one of \"a\", \"b\", \"c\"",
		"note,a,1,secret,7": "column letter: not in the schema, want one of \"p\", \"q\", \"r\", \"s\"",
		"note,a,1,P,7":      "column letter: not in the schema, want one of \"p\", \"q\", \"r\", \"s\"",
		"note,a,4.04,p,7":   "column y: no number within the bounds of the schema, want one from -4 to 4",
		"note,a,NaN,p,7":    "column y: no number within the bounds of the schema, want one from -4 to 4",
		"note,a,1,p,-Inf":   "column x: no number within the bounds of the schema, want one from 0 to 10",
		"note,a,1,p,":       "column x: no number within the bounds of the schema, want one from 0 to 10",
		"note,a,1,p,secret": "column x: no number within the bounds of the schema, want one from 0 to 10",
	} {
		d, err := small().ReadUnlabeled(smallRecords(good, row))
		if d != nil || !errors.Is(err, dp.ErrInvalid) || err.Error() != "learn: line 3, "+want {
			t.Errorf("%q: %v, want line 3, %s", row, err, want)
		}
		// Nobody is told so of records that are learned from: numbers are moved into the
		// bounds, and other such records are left out.
		d, err = small().Read(smallRecords(good, row, good))
		if err != nil || d.Misfit() == nil || d.Misfit().Error() != "learn: line 3, "+want {
			t.Errorf("%q: %v, %v, want line 3, %s", row, err, d.Misfit(), want)
		} else if moved := row == "note,a,4.04,p,7"; moved != (d.Len() == 3) || moved && d.Unit(2, 1) != 1 {
			t.Errorf("%q: %d records", row, d.Len())
		}
	}
	file, err := release.NewCSV(strings.NewReader("class,letter,x,y\na,p,7,1,ragged\nb,q,1,1\n\n"), ',')
	if err != nil {
		t.Fatal(err)
	}
	if d, err := small().Read(file); err != nil || d.Len() != 1 || !strings.Contains(fmt.Sprint(d.Misfit()), "line 2: 5 fields") {
		t.Errorf("a malformed record: %+v, %v", d, err)
	}
	if d, err := small().Read(smallRecords(good, "note,a", good)); err != nil || d.Len() != 2 || !strings.Contains(fmt.Sprint(d.Misfit()), "line 3: 2 fields") {
		t.Errorf("a record that lacks fields: %+v, %v", d, err)
	}
	missing := smallRecords(good)
	missing.names[4] = "z"
	twice := smallRecords(good)
	twice.names[0] = " x"
	for _, r := range []*records{missing, twice} {
		if _, err := small().Read(r); err == nil || !strings.Contains(err.Error(), "column = x, want one") {
			t.Errorf("%q: %v", r.names, err)
		}
	}
	// A header with none of the names may be a record.
	for _, text := range []string{"secret,q\nb,p\n", "secret;q\nb;p\n"} {
		rows, err := release.NewCSV(strings.NewReader(text), ',')
		if err != nil {
			t.Fatal(err)
		}
		if _, err := small().Read(rows); !errors.Is(err, dp.ErrInvalid) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "header") {
			t.Errorf("%v", err)
		}
	}
	if _, err := small().Read(&records{names: []string{"x;y;letter;class"}}); err == nil || strings.Count(err.Error(), "want") != 1 {
		t.Errorf("another delimiter: %v, want one sentence", err)
	}
	bad := small()
	bad.Classes = nil
	if _, err := bad.Read(smallRecords(good)); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("a bad schema: %v", err)
	}
}

func TestListed(t *testing.T) {
	for want, texts := range map[string][]string{
		`"a", "", "c d"`:                                    {"a", "", "c d"},
		`"1", "2", "3", "4", "5", "6", "7", "8"`:            {"1", "2", "3", "4", "5", "6", "7", "8"},
		`"1", "2", "3", "4", "5", "6", "7", "8" and 2 more`: {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"},
	} {
		if got := listed(texts); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestUnits: bounds map to -1 and 1 whatever they are, and no value is beyond.
func TestUnits(t *testing.T) {
	for _, b := range []Bounds{{0, 1}, {-1e100, 1e100}, {1e99, 1e100}, {-3, -2}, {0, 5e-324}, {1, math.Nextafter(1, 2)}, {-1e-300, 1e-300}} {
		if low, high := onGrid(b.unit(b.Lower)), onGrid(b.unit(b.Upper)); low != -gridSteps || high != gridSteps {
			t.Errorf("%+v: %d, %d", b, low, high)
		}
		for i := range 100 {
			v := b.Lower + (b.Upper-b.Lower)*float64(i)/99
			if g := onGrid(b.unit(min(max(v, b.Lower), b.Upper))); g < -gridSteps || g > gridSteps {
				t.Errorf("%+v: %v is %d steps", b, v, g)
			}
		}
	}
}

// TestRecordChangesOneNumber is what the guarantee rests on: a record more changes a single
// number of each release, by the sensitivity at most; and there are as many releases as the
// noise is for.
func TestRecordChangesOneNumber(t *testing.T) {
	rows := []string{"n,a,1,p,7", "n,b,-4,q,10", "n,c,4,r,0", "n,c,3.999999999,s,1e-300", "n,a,0,p,5", "n,b,-4,s,0"}
	all, err := small().Read(smallRecords(rows...))
	if err != nil {
		t.Fatal(err)
	}
	sums := all.naiveBayesSums()
	if len(sums) != small().NaiveBayesReleases() {
		t.Errorf("%d releases, want %d", len(sums), small().NaiveBayesReleases())
	}
	most := int64(0)
	for removed := range rows {
		var kept []int
		for i := range rows {
			if i != removed {
				kept = append(kept, i)
			}
		}
		for i, less := range all.selected(kept).naiveBayesSums() {
			changed := 0
			for j := range less {
				if change := sums[i][j] - less[j]; change != 0 {
					changed++
					most = max(most, change, -change)
				}
			}
			if changed > 1 {
				t.Errorf("record %d changes %d numbers of release %d", removed, changed, i)
			}
		}
	}
	if most != gridSteps {
		t.Errorf("a record changes numbers by up to %d steps, want %d", most, gridSteps)
	}
	if !slices.Equal(sums[0], []int64{2 * gridSteps, 2 * gridSteps, 2 * gridSteps}) {
		t.Errorf("counts of the classes %d", sums[0])
	}
}

// selected returns the records of these numbers, in their order.
func (d *Data) selected(rows []int) *Data {
	pick := func(column []int32) []int32 {
		if column == nil {
			return nil
		}
		out := make([]int32, len(rows))
		for i, row := range rows {
			out[i] = column[row]
		}
		return out
	}
	out := &Data{schema: d.schema, classes: pick(d.classes), rows: len(rows)}
	for _, c := range d.columns {
		out.columns = append(out.columns, pick(c))
	}
	return out
}
