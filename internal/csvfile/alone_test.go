// SPDX-License-Identifier: Apache-2.0

package csvfile

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// alone returns what is read of every row after a header of two columns, all that was read, and the
// line of the last row.
func alone(t *testing.T, text string, o Options) (rows []string, all string, line int) {
	t.Helper()
	r, err := NewReader(strings.NewReader("a,b\n"+text), o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.HeaderLine(); err != nil {
		t.Fatal(err)
	}
	for len(rows) <= len(text) {
		err := r.RowAlone()
		if errors.Is(err, io.EOF) && !errors.Is(err, ErrRow) {
			return rows, all, line
		}
		row := "malformed"
		if err == nil {
			row = fmt.Sprintf("%q %q", r.Content(0), r.Content(1))
		} else if !errors.Is(err, ErrRow) {
			t.Fatalf("%q: %v", text, err)
		}
		rows, all, line = append(rows, row), all+string(r.Raw), r.Line
	}
	t.Fatalf("%q: more rows than bytes", text)
	return nil, "", 0
}

// TestRowsAlone: every byte is read once, whatever is malformed. Where rows are lines each is read as
// if it were alone; where they are records, those with closed quotes are.
func TestRowsAlone(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const letters = "\"\",,\n\n\rxy "
	texts := 20_000
	if testing.Short() {
		texts = 4000
	}
	for range texts {
		var b strings.Builder
		for range random.IntN(24) {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		text := b.String()
		if _, all, _ := alone(t, text, Options{}); all != text {
			t.Fatalf("%q is read as %q", text, all)
		}
		rows, all, _ := alone(t, text, Options{OneLine: true})
		var want []string
		for text := range strings.Lines(text) {
			one, _, _ := alone(t, text, Options{OneLine: true})
			want = append(want, one...)
		}
		if fmt.Sprint(rows) != fmt.Sprint(want) || all != text {
			t.Fatalf("%q: %q, want the rows of its lines, %q", text, rows, want)
		}
	}
	const good = "1,\"x\ny\"\n"
	for bad, want := range map[string]string{
		"\"1,2\n": "malformed", "1\n": "malformed", "\n": "malformed", "1,2,3\n": "malformed", "\"1\"x,2\n": "malformed", "1\",2\n": "malformed",
		"\"1\n2\",\"3\"\"\n": "malformed malformed", // its last quote is open: its lines are rows
	} {
		rows, _, _ := alone(t, good+bad+good, Options{})
		if got, all := fmt.Sprint(rows), fmt.Sprintf(`["1" "x\ny" %s "1" "x\ny"]`, want); got != all {
			t.Errorf("%q: %s, want %s", bad, got, all)
		}
	}
}

// TestLargeRecords: a record that is too large costs its row alone, and no memory for all of it. What is
// between its quotes is no row, whatever is on the lines there.
func TestLargeRecords(t *testing.T) {
	long, lines := strings.Repeat("x", maxRecord+100), strings.Repeat("3,4\n", maxRecord/4+100)
	fields := strings.Repeat(",", maxFields)
	for i, test := range []struct {
		bad     string
		oneLine bool
		want    string // of its rows
		line    int    // of the row after it
	}{
		{long + ",2\n", false, "malformed", 3},
		{"1,\"" + long + "\"\r\n", false, "malformed", 3},
		{"1,\"" + lines + "\"\n", false, "malformed", 3 + len(lines)/4},
		{"\"1\n" + lines + "\"\"\n3,4\n\"\"\n\",\"\n3,4\n\"\n", false, "malformed", 9 + len(lines)/4},
		{fields + "\"3,4\n3,4\n\"\n", false, "malformed", 5},
		{"\"\n\"" + fields + "\n", false, "malformed", 4},
		{"1,\"" + long + "\"x\n", false, "malformed", 3}, // its last quote breaks it, and it ends with that line
		{"\"1\n" + long + "\n3,4\n", true, `malformed malformed "3" "4"`, 5},
		{"\"" + long + "\n", true, "malformed", 3},
		{"\"" + fields + long + "\n", true, "malformed", 3},
	} {
		if testing.Short() && i%9 > 0 {
			continue // 16 MiB each
		}
		rows, _, line := alone(t, test.bad+"5,6\n", Options{OneLine: test.oneLine})
		if got, want := fmt.Sprint(rows), "["+test.want+` "5" "6"]`; got != want || line != test.line {
			t.Errorf("%d: %.200s, the last one on line %d, want %s on line %d", i, got, line, want, test.line)
		}
	}
}

// TestHeaderAlone: a header whose quote is left open is said to be that, whatever is on other lines.
func TestHeaderAlone(t *testing.T) {
	for _, rest := range []string{"", "1,Ulm\n", "1,Ulm\n2,\"Jena\n3,x\n", "\"\n"} {
		r, err := NewReader(strings.NewReader("id,\"city\n"+rest), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.HeaderLine(); err == nil || err.Error() != "line 1: a quote is not closed" {
			t.Errorf("%q: %v", rest, err)
		}
	}
}
