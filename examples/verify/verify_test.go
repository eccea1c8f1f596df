// Package verify_test holds the example table of docs/table-format.md, and the
// second implementation beside this file, against package tables.
package verify_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/tables"
)

const script = "verify.py"

func TestExampleTable(t *testing.T) {
	text := read(t, "../../docs/example-table.json")
	table, err := tables.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := table.Verify()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Encode(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), text) {
		t.Error("the example table is not written as Encode writes it")
	}

	delta, _ := c.DeltaUpper.Float64()
	loss, _ := c.ExpectedLoss.Float64()
	bound, _ := c.LowerBound.Float64()
	got, code := python(t, text)
	want := fmt.Sprintf("delta %.12g  expected loss %.12g  lower bound %.12g\n", delta, loss, bound)
	if !strings.HasPrefix(got, want) || strings.Contains(got, "FALSE") || code != 0 {
		t.Errorf("exit code %d, printed\n%swant\n%s", code, got, want)
	}
}

// TestFalseClaims falsifies one number at a time; both implementations object.
func TestFalseClaims(t *testing.T) {
	text := string(read(t, "../../docs/example-table.json"))
	for _, c := range []struct{ old, with, says string }{
		{`"delta":0.1,`, `"delta":0.09,`, "certified delta"},
		{`"epsilon":1,`, `"epsilon":0.5,`, "certified delta"},
		{`"sensitivity":1}`, `"sensitivity":1.1}`, "cells cover"},
		{`"delta":"0.0998`, `"delta":"0.0988`, "certificate.delta"},
		{`"expected_loss":"0.718`, `"expected_loss":"0.717`, "certificate.expected_loss"},
		{`"lower_bound":"0.682`, `"lower_bound":"0.683`, "certificate.lower_bound"},
	} {
		if !strings.Contains(text, c.old) {
			t.Fatalf("the example has no %s", c.old)
		}
		changed := []byte(strings.Replace(text, c.old, c.with, 1))
		table, err := tables.Decode(bytes.NewReader(changed))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := table.Verify(); err == nil {
			t.Errorf("Verify accepts %s", c.with)
		}
		if got, code := python(t, changed); code != 3 || !strings.Contains(got, "FALSE: "+c.says) {
			t.Errorf("%s: exit code %d, printed\n%swant FALSE: %s", c.with, code, got, c.says)
		}
	}
}

// python runs the script on a table file.
func python(t *testing.T, table []byte) (output string, code int) {
	t.Helper()
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is missing")
	}
	read(t, script) // for the test cache, which does not see what Python reads
	path := filepath.Join(t.TempDir(), "table.json")
	if err := os.WriteFile(path, table, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(interpreter, script, path).Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		if len(exit.Stderr) > 0 {
			t.Errorf("%s: %s", script, exit.Stderr)
		}
	case err != nil:
		t.Fatal(err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return string(out), code
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
