// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// killed starts the program and kills it after a while, as a power cut would: it has no time
// for anything. It returns what was printed until then, and whether the program had come to
// its end before.
func killed(tb testing.TB, after time.Duration, args ...string) (stdout string, ended bool) {
	tb.Helper()
	var out bytes.Buffer
	cmd := exec.Command("noisewright", args...)
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	timer.Stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		tb.Fatal(err)
	}
	return out.String(), cmd.ProcessState.Exited()
}

// ledgerContent is what a ledger has, by ledger show.
type ledgerContent struct {
	Epsilon  float64
	Releases []struct {
		ID      int64
		Query   string
		Summary string
		Answer  *string
	}
}

// showLedger opens a ledger by the program, which checks it.
func showLedger(tb testing.TB, path string) (c ledgerContent) {
	tb.Helper()
	stdout, stderr, code := run(tb, "", "ledger", "show", path, "--json")
	if err := json.Unmarshal([]byte(stdout), &c); code != 0 || err != nil {
		tb.Fatalf("ledger show: exit code %d, %v, %q, %q", code, err, stdout, stderr)
	}
	return c
}

// showKept is showLedger, and wants the ledger's total to be kept.
func showKept(tb testing.TB, path string) (c ledgerContent) {
	tb.Helper()
	c = showLedger(tb, path)
	var total struct {
		SpentEpsilon float64 `json:"spent_epsilon"`
		Releases     int
	}
	stdout, stderr, code := run(tb, "", "ledger", "total", path, "--json")
	if err := json.Unmarshal([]byte(stdout), &total); code != 0 || err != nil {
		tb.Fatalf("ledger total: exit code %d, %v, %q, %q", code, err, stdout, stderr)
	}
	if total.SpentEpsilon > c.Epsilon || total.Releases < len(c.Releases) {
		tb.Fatalf("%+v spent of %v", total, c.Epsilon)
	}
	return c
}

// TestLedgerCreateKilled kills ledger create at random moments: there is no file, or a
// whole ledger.
func TestLedgerCreateKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(9, 10))
	begin := time.Now()
	if _, stderr, code := run(t, "", "ledger", "create", filepath.Join(t.TempDir(), "l"), "--epsilon", "1", "--delta", "0"); code != 0 {
		t.Fatal(stderr)
	}
	whole := time.Since(begin)
	kinds := map[string]int{}
	for range 40 {
		path := filepath.Join(t.TempDir(), "l")
		stdout, ended := killed(t, time.Duration(rng.Int64N(int64(whole))), "ledger", "create", path, "--epsilon", "1", "--delta", "0")
		_, err := os.Stat(path)
		_, stderr, code := run(t, "", "ledger", "show", path)
		switch {
		case code == 0:
			kinds["whole"]++
			showKept(t, path)
		case ended || stdout != "":
			t.Fatalf("made, said %q, and then %q", stdout, stderr)
		case code == 2 && err != nil:
			kinds["none"]++
		default:
			t.Fatalf("exit code %d, %q", code, stderr)
		}
		// The next one sweeps what was left.
		if _, stderr, code := run(t, "", "ledger", "create", path+"2", "--epsilon", "1", "--delta", "0"); code != 0 {
			t.Fatal(stderr)
		}
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); err != nil || len(left) > 0 {
			t.Errorf("left are %q, %v", left, err)
		}
	}
	t.Log(kinds)
}

// TestReleaseKilled kills release at random moments. After each kill the ledger opens, which
// checks it, the total is kept, and an answer that was printed is in it, with its charge.
func TestReleaseKilled(t *testing.T) {
	if !hasSolver() {
		t.Skip("designs need HiGHS")
	}
	if testing.Short() {
		t.Skip("slow")
	}
	const kills = 200
	dir := t.TempDir()
	path, data := filepath.Join(dir, "l"), filepath.Join(dir, "people.csv")
	if err := os.WriteFile(data, []byte("age\n20\n30\n40\n50\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := run(t, "", "ledger", "create", path, "--epsilon", "150", "--delta", "0"); code != 0 {
		t.Fatal(stderr)
	}
	release := func(i int) []string {
		return []string{
			"release", "count", "--data", data, "--where", fmt.Sprintf("age >= %d", i), "--epsilon", "1", "--delta", "0",
			"--ledger", path, "--tables", filepath.Join(dir, "tables"), "--json",
		}
	}
	var whole time.Duration
	for range 2 { // the first one designs the table
		begin := time.Now()
		if _, stderr, code := run(t, "", release(int(begin.UnixNano()%1e9+1e6))...); code != 0 {
			t.Fatal(stderr)
		}
		whole = time.Since(begin)
	}
	rng := rand.New(rand.NewPCG(11, 12))
	printed, pending := 0, 0
	for i := range kills {
		// Of two queries in turn the second one takes up what the first one left.
		stdout, _ := killed(t, whole/4+time.Duration(rng.Int64N(int64(whole))), release(i/2)...)
		show := showLedger
		if i%10 == 9 { // charges stay: a total that was not kept is not kept later
			show = showKept
		}
		content := show(t, path)
		pending = 0
		for _, r := range content.Releases {
			if r.Answer == nil {
				pending++
			}
		}
		if stdout == "" {
			continue
		}
		var got struct {
			Answers json.RawMessage
			Ledger  struct{ Release int64 }
		}
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatalf("%v: %q", err, stdout)
		}
		printed++
		stored := false
		for _, r := range content.Releases {
			if r.ID == got.Ledger.Release && r.Answer != nil {
				var there struct{ Answers json.RawMessage }
				if err := json.Unmarshal([]byte(*r.Answer), &there); err != nil {
					t.Fatal(err)
				}
				stored = bytes.Equal(there.Answers, got.Answers)
			}
		}
		if !stored {
			t.Fatalf("%q was printed, and is not in the ledger", stdout)
		}
	}
	t.Logf("%d kills, %d answers printed, %d left only charged", kills, printed, pending)
	if printed == 0 || printed == kills {
		t.Errorf("%d of %d printed: the kills came all too early, or too late", printed, kills)
	}
}

// TestReleaseTakenUp holds that what was charged and then not answered is drawn from the
// noise that was charged, whatever noise a design would find now.
func TestReleaseTakenUp(t *testing.T) {
	if !hasSolver() {
		t.Skip("designs need HiGHS")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "l")
	if _, stderr, code := run(t, "", "ledger", "create", path, "--epsilon", "1", "--delta", "0.1", "--allow-delta"); code != 0 {
		t.Fatal(stderr)
	}
	type report struct {
		Tables []string
		Ledger struct {
			Release  int
			Replayed bool
		}
	}
	release := func(gap string) (r report) {
		t.Helper()
		stdout, stderr, code := run(t, "age\n20\n30\n", "release", "sum", "--data", "-", "--column", "age", "--lower", "0", "--upper", "100", "--epsilon", "1", "--delta", "0.1", "--allow-delta",
			"--ledger", path, "--tables", filepath.Join(dir, "tables"), "--gap", gap, "--json")
		if code != 0 {
			t.Fatal(stderr)
		}
		if err := json.Unmarshal([]byte(stdout), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	charged := release("1").Tables
	// As a crash between the charge and the answer leaves it, which a trigger keeps others from.
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var trigger string
	if err := db.QueryRow("SELECT sql FROM sqlite_master WHERE name = 'answers_stay'").Scan(&trigger); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("DROP TRIGGER answers_stay; UPDATE releases SET answer = NULL, answered = NULL; " + trigger); err != nil {
		t.Fatal(err)
	}
	if content := showKept(t, path); len(content.Releases) != 1 || content.Releases[0].Answer != nil {
		t.Fatalf("%+v, want one without an answer", content)
	}
	got := release("0.1")
	if !slices.Equal(got.Tables, charged) || got.Ledger.Release != 1 || got.Ledger.Replayed {
		t.Errorf("%+v, want a draw of %v", got, charged)
	}
	// The test is about two tables.
	if fresh, stderr, code := run(t, "age\n20\n", "release", "sum", "--data", "-", "--column", "age", "--lower", "0", "--upper", "100", "--epsilon", "1", "--delta", "0.1", "--allow-delta", "--tables", filepath.Join(dir, "tables"), "--json"); code != 0 || strings.Contains(fresh, charged[0]) {
		t.Errorf("the design with a gap of 0.1 %% is the one with 1 %%: %s %s", fresh, stderr)
	}
}

// TestReleaseProcesses has eight processes at once on one ledger, four for either of two
// queries: each has one answer and one charge.
func TestReleaseProcesses(t *testing.T) {
	if !hasSolver() {
		t.Skip("designs need HiGHS")
	}
	dir := t.TempDir()
	path, data := filepath.Join(dir, "l"), filepath.Join(dir, "people.csv")
	if err := os.WriteFile(data, []byte("age\n20\n30\n40\n50\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := run(t, "", "ledger", "create", path, "--epsilon", "2", "--delta", "0"); code != 0 {
		t.Fatal(stderr)
	}
	type answer struct {
		query int
		text  string
	}
	answers := make(chan answer)
	for i := range 8 {
		go func() {
			var out bytes.Buffer
			cmd := exec.Command("noisewright", "release", "count", "--data", data, "--where", fmt.Sprintf("age >= %d", 25+i%2*10),
				"--epsilon", "1", "--delta", "0", "--ledger", path, "--tables", filepath.Join(dir, "tables"), "--json")
			cmd.Stdout = &out
			if err := cmd.Run(); err != nil {
				out.Reset() // reported below
			}
			answers <- answer{i % 2, out.String()}
		}()
	}
	var seen [2]string
	for range 8 {
		a := <-answers
		var got struct{ Answers json.RawMessage }
		if err := json.Unmarshal([]byte(a.text), &got); err != nil {
			t.Errorf("query %d: %v in %q", a.query, err, a.text)
			continue
		}
		if first := seen[a.query]; first != "" && first != string(got.Answers) {
			t.Errorf("query %d has the answers %s and %s", a.query, first, got.Answers)
		}
		seen[a.query] = string(got.Answers)
	}
	if c := showKept(t, path); len(c.Releases) != 2 {
		t.Errorf("%d releases charged, want 2", len(c.Releases))
	}
}
