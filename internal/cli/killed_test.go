package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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

// showLedger opens a ledger by the program, which checks it, and wants its total to be kept.
func showLedger(tb testing.TB, path string) (c ledgerContent) {
	tb.Helper()
	stdout, stderr, code := run(tb, "", "ledger", "show", path, "--json")
	if err := json.Unmarshal([]byte(stdout), &c); code != 0 || err != nil {
		tb.Fatalf("ledger show: exit code %d, %v, %q, %q", code, err, stdout, stderr)
	}
	var total struct {
		SpentEpsilon float64 `json:"spent_epsilon"`
		Releases     int
	}
	stdout, stderr, code = run(tb, "", "ledger", "total", path, "--json")
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
			showLedger(t, path)
		case ended || stdout != "":
			t.Fatalf("made, said %q, and then %q", stdout, stderr)
		case code == 2 && err != nil:
			kinds["none"]++
		default:
			t.Fatalf("exit code %d, %q", code, stderr)
		}
	}
	t.Log(kinds)
}
