package csvfile

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// alone returns what is read of every row after a header of two columns, and all that was read.
func alone(t *testing.T, text string, o Options) (rows []string, all string) {
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
			return rows, all
		}
		row := "malformed"
		if err == nil {
			row = fmt.Sprintf("%q %q", r.Content(0), r.Content(1))
		} else if !errors.Is(err, ErrRow) {
			t.Fatalf("%q: %v", text, err)
		}
		rows, all = append(rows, row), all+string(r.Raw)
	}
	t.Fatalf("%q: more rows than bytes", text)
	return nil, ""
}

// TestRowsAlone: every byte is read once, whatever is malformed. Where rows are lines each is read as
// if it were alone; where they are records, those with closed quotes are.
func TestRowsAlone(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const letters = "\"\",,\n\n\rxy "
	for range 20_000 {
		var b strings.Builder
		for range random.IntN(24) {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		text := b.String()
		if _, all := alone(t, text, Options{}); all != text {
			t.Fatalf("%q is read as %q", text, all)
		}
		rows, all := alone(t, text, Options{OneLine: true})
		var want []string
		for line := range strings.Lines(text) {
			one, _ := alone(t, line, Options{OneLine: true})
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
		rows, _ := alone(t, good+bad+good, Options{})
		if got, all := fmt.Sprint(rows), fmt.Sprintf(`["1" "x\ny" %s "1" "x\ny"]`, want); got != all {
			t.Errorf("%q: %s, want %s", bad, got, all)
		}
	}
}

// TestLongLine: a line that is too long costs its row alone, and no memory for all of it.
func TestLongLine(t *testing.T) {
	long := strings.Repeat("x", maxRecord+100)
	for _, bad := range []string{long + ",2\n", "\"" + long + "\n", "\"1\n" + long + "\n3,4\n"} {
		rows, _ := alone(t, bad+"5,6\n", Options{})
		if got := rows[len(rows)-1]; got != `"5" "6"` || rows[0] != "malformed" {
			t.Errorf("%d bytes: %q", len(bad), rows)
		}
	}
}
