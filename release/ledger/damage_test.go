// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

func makeLedger(tb testing.TB, path string, epsilon float64) *Ledger {
	tb.Helper()
	if err := Create(tb.Context(), path, account.Terms{Epsilon: epsilon, Delta: 0.1, Neighbors: dp.AddRemove, Unit: dp.Row}); err != nil {
		tb.Fatal(err)
	}
	l, err := Open(tb.Context(), path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

func ask(i int, costs ...account.Cost) account.Charge {
	if costs == nil {
		costs = []account.Cost{{Epsilon: 1, Times: 1}}
	}
	return account.Charge{Text: fmt.Sprintf(`{"n":%d}`, i), Data: strings.Repeat("01", 32), Summary: "a query", Neighbors: dp.AddRemove, Unit: dp.Row, Costs: costs}
}

// code is that of an error of SQLite, 0 for others.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// TestFull has a full disk at every point of a release: an error, and no answer that is not
// stored. Once there is space again, the same query goes on.
func TestFull(t *testing.T) {
	l := makeLedger(t, filepath.Join(t.TempDir(), "l"), 1000)
	limit := func(pages int) {
		t.Helper()
		var got int
		if err := l.db.QueryRow(fmt.Sprintf("PRAGMA max_page_count = %d", pages)).Scan(&got); err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // as many as there are
	drawn := 0
	for i := 0; ; i++ {
		long := ask(i)
		long.Summary = strings.Repeat("s", 3000)
		_, err := l.Release(t.Context(), long, func(context.Context) ([]byte, error) {
			drawn++
			return []byte("x"), nil
		})
		if err != nil {
			if code(err) != sqlite3.SQLITE_FULL {
				t.Fatal(err)
			}
			if drawn != i {
				t.Fatalf("%d drawn of %d charged: an answer without its charge", drawn, i)
			}
			break
		}
	}
	limit(1 << 20)
	// The disk is full once the charge is there.
	q := ask(1000)
	r, err := l.Release(t.Context(), q, func(context.Context) ([]byte, error) {
		limit(1)
		return []byte(strings.Repeat("a", 1<<16)), nil
	})
	if code(err) != sqlite3.SQLITE_FULL || r.Answer != nil {
		t.Fatalf("%v, %d bytes, want a full disk and no answer", err, len(r.Answer))
	}
	if r, ok, err := l.Find(t.Context(), q.Text, q.Data); err != nil || !ok || r.Answer != nil {
		t.Fatalf("%+v, %v, %v, want a charge without an answer", r, ok, err)
	}
	limit(1 << 20)
	if r, err = l.Release(t.Context(), q, func(context.Context) ([]byte, error) { return []byte("b"), nil }); err != nil || string(r.Answer) != "b" {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestFullForAllDraws: whether a nearly full disk has space for an answer does not depend on its digits, or the
// query could be drawn again where they are many.
func TestFullForAllDraws(t *testing.T) {
	numbers := func(digits string) string {
		return `{"key":"a \\\" 12","answers":[` + strings.Repeat(digits+", ", 999) + "0.5]}\n"
	}
	outcomes := map[bool]int{}
	for pages := range 12 {
		var first error
		for i, draw := range []string{numbers("7"), numbers("-2.2250738585072014e-308"), numbers("12345"), numbers("-0.1")} {
			l := makeLedger(t, filepath.Join(t.TempDir(), "l"), 10)
			r, err := l.Release(t.Context(), ask(1), func(context.Context) ([]byte, error) {
				var now, got int
				if err := l.db.QueryRow("PRAGMA page_count").Scan(&now); err != nil {
					t.Fatal(err)
				}
				if err := l.db.QueryRow(fmt.Sprintf("PRAGMA max_page_count = %d", now+pages)).Scan(&got); err != nil || got != now+pages {
					t.Fatal(got, err)
				}
				return []byte(draw), nil
			})
			switch {
			case err == nil && string(r.Answer) != draw:
				t.Fatalf("%d bytes for %d", len(r.Answer), len(draw))
			case err != nil && code(err) != sqlite3.SQLITE_FULL:
				t.Fatal(err)
			case i == 0:
				first = err
				outcomes[err == nil]++
			case (err == nil) != (first == nil):
				t.Errorf("%d more pages: %v for %.40q, %v for the first", pages, err, draw, first)
			}
		}
	}
	if len(outcomes) != 2 {
		t.Errorf("%v, want disks with and without space", outcomes)
	}
}

// TestWidth: no JSON is wider than it may be, numbers in the same places make the same width, and what stands
// in a string is no number.
func TestWidth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	widths := map[int]bool{}
	for range 2000 {
		x := []float64{-2.2250738585072014e-308, math.Float64frombits(rng.Uint64()), float64(rng.IntN(100))}[rng.IntN(3)]
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		text, err := json.Marshal(map[string]any{"a 5\"7": []any{x, "1e5", true, nil, int64(rng.Uint64())}, "b": "\\"})
		if err != nil {
			t.Fatal(err)
		}
		widths[width(text)] = true
		if w := width(text); w <= len(text) {
			t.Errorf("width(%s) = %d, which has %d bytes", text, w, len(text))
		}
	}
	if len(widths) != 1 {
		t.Errorf("widths %v of one shape, want one", widths)
	}
}

// TestFullDisk is TestFull on a file system without space.
func TestFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("needs root on Linux, to mount a small file system")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v: %s", err, out)
	}
	path := filepath.Join(dir, "l")
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	l := makeLedger(t, path, 1e6)
	answers := map[int]string{}
	failed := 0
	for i := 0; failed < 20 && i < 2000; i++ {
		q, draw := ask(i), fmt.Sprint("answer ", i, strings.Repeat(".", i))
		drawn := false
		r, err := l.Release(t.Context(), q, func(ctx context.Context) ([]byte, error) {
			drawn = true
			// Durable before the draw: another connection sees it.
			other, err := Open(ctx, path)
			if err != nil {
				return nil, err
			}
			defer other.Close() //nolint:errcheck // it has read
			if r, ok, err := other.Find(ctx, q.Text, q.Data); err != nil || !ok || r.Answer != nil {
				t.Errorf("release %d: %+v, %v, %v: drawn without a charge", i, r, ok, err)
			}
			return []byte(draw), nil
		})
		switch {
		case err == nil:
			answers[i] = string(r.Answer)
		case code(err) == sqlite3.SQLITE_FULL || code(err) == sqlite3.SQLITE_IOERR || code(err) == sqlite3.SQLITE_CANTOPEN:
			failed++
		default:
			t.Fatalf("release %d (drawn: %t): %v", i, drawn, err)
		}
	}
	if failed == 0 || len(answers) == 0 {
		t.Fatalf("%d answers and %d failures, want both", len(answers), failed)
	}
	again, err := Open(t.Context(), path) // which checks it
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close() //nolint:errcheck // it has read
	for i, want := range answers {
		if r, ok, err := again.Find(t.Context(), ask(i).Text, ask(i).Data); err != nil || !ok || string(r.Answer) != want {
			t.Errorf("release %d: %q, %v, %v, want %q", i, r.Answer, ok, err, want)
		}
	}
	t.Logf("%d answers, %d failures", len(answers), failed)
}

// alter changes a ledger as another program could.
func alter(tb testing.TB, path string, statements ...string) {
	tb.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // the errors are those of the statements
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			tb.Fatalf("%s: %v", s, err)
		}
	}
}

// TestAltered wants a refusal of a ledger whose content is not what was charged, and of
// changes by other programs.
func TestAltered(t *testing.T) {
	noise := func(sigma float64) *tables.Verified {
		v, err := shapes.Gaussian(dp.Problem{Privacy: dp.Privacy{Epsilon: 0.5, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L2}, sigma, tables.Grid{})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	less, err := tableText(noise(30))
	if err != nil {
		t.Fatal(err)
	}
	v := noise(10)
	h, err := account.Cost{Table: v}.TableHash()
	if err != nil {
		t.Fatal(err)
	}
	tables := "DROP TRIGGER tables_stay"
	for name, c := range map[string]struct {
		want       string
		statements []string
	}{
		"another table":     {"is not the one that was charged", []string{tables, fmt.Sprintf("UPDATE tables SET text = x'%x'", less)}},
		"one byte":          {"is not the one that was charged", []string{tables, "UPDATE tables SET text = CAST(replace(CAST(text AS TEXT), '0.5', '0.4') AS BLOB)"}},
		"its hash too":      {"atom is missing", []string{tables, fmt.Sprintf("PRAGMA foreign_keys = off; DROP TRIGGER costs_stay; UPDATE tables SET text = x'7b7d', sha256 = '%s'; UPDATE costs SET table_sha256 = '%[1]s'", hash([]byte("{}")))}},
		"no table":          {"is missing", []string{"PRAGMA foreign_keys = off; DROP TRIGGER tables_remain; DELETE FROM tables"}},
		"no terms":          {"the terms are missing", []string{"DROP TRIGGER terms_remain", "DELETE FROM terms"}},
		"bad terms":         {"unit = town", []string{"DROP TRIGGER terms_stay", "UPDATE terms SET unit = 'town'"}},
		"no table of terms": {"no such table", []string{"DROP TABLE terms"}},
		"another program":   {"application id 0x7", []string{"PRAGMA application_id = 7"}},
		"another version":   {"version 3", []string{"PRAGMA user_version = 3"}},
		"no version":        {"version 0", []string{"PRAGMA user_version = 0"}},
		"a bad delimiter":   {`delimiter = a, want tab, or a character`, []string{"DROP TRIGGER terms_stay", "UPDATE terms SET delimiter = 'a'"}},
		"another journal":   {"journal_mode = wal", []string{"PRAGMA journal_mode = wal"}},
		"times":             {"damaged", []string{"DROP TRIGGER costs_stay", "PRAGMA ignore_check_constraints = on; UPDATE costs SET times = -5"}},
		"a time":            {"the time of release 1", []string{"DROP TRIGGER releases_stay", "UPDATE releases SET charged = 'noon'"}},
		"a query":           {"the query of release 1", []string{"DROP TRIGGER releases_stay", "UPDATE releases SET summary = char(27) || '[2J'"}},
		"a hash":            {"damaged: a charge", []string{"PRAGMA foreign_keys = off; DROP TRIGGER costs_stay; UPDATE costs SET table_sha256 = 'ab'"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "l")
			l := makeLedger(t, path, 10)
			if _, err := l.Release(t.Context(), ask(1, account.Cost{Table: v, Times: 2}), func(context.Context) ([]byte, error) { return []byte("x"), nil }); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			alter(t, path, c.statements...)
			err := useAll(t, path)
			if !errors.Is(err, proof.ErrFormat) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "ledger: "+path+": ") {
				t.Errorf("%v, want a refusal that says %q", err, c.want)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "l")
	l := makeLedger(t, path, 10)
	if _, err := l.Release(t.Context(), ask(1, account.Cost{Table: v, Times: 2}), func(context.Context) ([]byte, error) { return []byte("x"), nil }); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		"DELETE FROM releases", "DELETE FROM costs", "DELETE FROM tables", "DELETE FROM terms", "UPDATE terms SET epsilon = 100", "UPDATE terms SET one_line = 1", "UPDATE costs SET times = 1",
		"UPDATE releases SET answer = x'01'", "UPDATE releases SET text = '{}'", "UPDATE tables SET text = x'00' WHERE sha256 = '" + h + "'", "INSERT INTO terms VALUES (2, 1, 0, 'replace', 'row', 0, ',', 0)",
		"UPDATE releases SET answer = NULL, answered = NULL",
	} {
		if _, err := l.db.Exec(s); code(err) != sqlite3.SQLITE_CONSTRAINT {
			t.Errorf("%s: %v, want a refusal", s, err)
		}
	}
	if err := useAll(t, path); err != nil {
		t.Error(err)
	}
}

// useAll opens a ledger and reads everything in it.
func useAll(tb testing.TB, path string) error {
	tb.Helper()
	l, err := Open(tb.Context(), path)
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // it has read
	if _, err := l.Spent(tb.Context()); err != nil {
		return err
	}
	_, err = l.Records(tb.Context())
	return err
}

// TestDamaged truncates a ledger everywhere, and changes bytes at random. There is an error,
// or everything is read: no panic, no hang, and nothing is made.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "l")
	l := makeLedger(t, path, 100)
	for i := range 30 {
		if _, err := l.Release(t.Context(), ask(i), func(context.Context) ([]byte, error) { return []byte(strings.Repeat("x", 300)), nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(dir, "d")
	write := func(b []byte) {
		if err := os.WriteFile(damaged, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for n := 0; n < len(whole); n += 512 + 1 {
		write(whole[:n])
		if err := useAll(t, damaged); !errors.Is(err, proof.ErrFormat) {
			t.Errorf("%d of %d bytes: %v, want a refusal", n, len(whole), err)
		}
	}
	tries := 200
	if testing.Short() {
		tries = 50
	}
	rng := rand.New(rand.NewPCG(5, 6))
	refused := 0
	for range tries {
		b := append([]byte(nil), whole...)
		for range 1 + rng.IntN(20) {
			b[rng.IntN(len(b))] = byte(rng.IntN(256))
		}
		write(b)
		if useAll(t, damaged) != nil {
			refused++
		}
	}
	if refused < tries/4 {
		t.Errorf("%d of %d refused, want most", refused, tries)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("%v, %v, want the two ledgers alone", list, err)
	}
}

// TestVersion1: a ledger from before there were delimiters is about files with commas.
func TestVersion1(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	makeLedger(t, path, 10)
	alter(t, path, "DROP TRIGGER terms_stay", "UPDATE terms SET delimiter = ';', one_line = 1", "ALTER TABLE terms DROP COLUMN delimiter", "ALTER TABLE terms DROP COLUMN one_line", "PRAGMA user_version = 1")
	l, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // as all others
	if x := l.Terms(); x.Delimiter != "," || x.OneLine || x.Epsilon != 10 {
		t.Errorf("%+v", x)
	}
	if _, err := l.Release(t.Context(), ask(1), func(context.Context) ([]byte, error) { return []byte("x"), nil }); err != nil {
		t.Error(err)
	}
}

// TestHardLink: a ledger with two names has two journals, of which a crash leaves one that
// the other name does not see.
func TestHardLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	makeLedger(t, path, 1)
	if err := os.Link(path, path+"2"); err != nil {
		t.Skip("no hard links here")
	}
	for _, name := range []string{path, path + "2"} {
		if _, err := Open(t.Context(), name); !errors.Is(err, proof.ErrFormat) {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
	if err := os.Remove(path + "2"); err != nil {
		t.Fatal(err)
	}
	// But for what a Create that was killed has left; that of another file is not the ledger's.
	other := filepath.Join(filepath.Dir(path), ".l.tmp-2BCDEFGHIJKL")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, filepath.Join(filepath.Dir(path), ".l.tmp-ABCDEFGHIJKL")); err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); err != nil || !slices.Equal(left, []string{other}) {
		t.Errorf("left are %q, %v, want %q", left, err, other)
	}
}

// TestCancelled ends the context at random moments: an answer that is returned is stored, and
// the ledger goes on.
func TestCancelled(t *testing.T) {
	l := makeLedger(t, filepath.Join(t.TempDir(), "l"), 1e6)
	rng := rand.New(rand.NewPCG(7, 8))
	ended := 0
	tries := 200
	if testing.Short() {
		tries = 50
	}
	for i := range tries {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.Int64N(int64(6*time.Millisecond))))
		r, err := l.Release(ctx, ask(i), func(context.Context) ([]byte, error) { return fmt.Append(nil, i), nil })
		cancel()
		found, ok, e := l.Find(t.Context(), ask(i).Text, ask(i).Data)
		switch {
		case e != nil:
			t.Fatal(e)
		case err == nil && (!ok || string(found.Answer) != string(r.Answer)):
			t.Fatalf("release %d: %q was returned and %q stored", i, r.Answer, found.Answer)
		case err != nil && !errors.Is(err, context.DeadlineExceeded):
			t.Fatalf("release %d: %v, want the context's error", i, err)
		case err != nil:
			ended++
		}
	}
	if ended == 0 {
		t.Error("no context ended early")
	}
}

// TestWaits has another connection that holds the ledger: a release waits for it, and no
// longer than its context.
func TestWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	l, holder := makeLedger(t, path, 10), (*Ledger)(nil)
	holder, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close() //nolint:errcheck // its transaction is rolled back
	tx, err := holder.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err = l.Release(ctx, ask(1), func(context.Context) ([]byte, error) { return []byte("x"), nil })
	if waited := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || waited > 5*time.Second {
		t.Errorf("%v after %s, want the end of the context", err, waited)
	}
	time.AfterFunc(30*time.Millisecond, func() { _ = tx.Rollback() })
	if r, err := l.Release(t.Context(), ask(1), func(context.Context) ([]byte, error) { return []byte("x"), nil }); err != nil || r.Replayed {
		t.Errorf("%+v, %v", r, err)
	}
}
