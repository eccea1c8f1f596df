// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"strings"
	"testing"
)

func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{
		"":                        "",
		"a \"b\" \\ é … \ufffd":   "a \"b\" \\ é … \ufffd",
		"\x1b[2J\r\n\t\a\x00\x7f": `\x1b[2J\r\n\t\a\x00\x7f`,
		"\u009b\u202e\xff":        `\u009b\u202e\xff`,
	} {
		if got := Printable(s); got != want {
			t.Errorf("Printable(%q) = %q, want %q", s, got, want)
		}
	}
}

// TestReportEscapes has control characters in everything report prints.
func TestReportEscapes(t *testing.T) {
	var out strings.Builder
	a := &Streams{Err: &out}
	code := a.report(BadInput("try \x1b[2J", errors.Join(errors.New("one \x1b[31m"), errors.New("two \r"))))
	a.Warn("%s", "three \a")
	want := `error: one \x1b[31m
error: two \r
hint: try \x1b[2J
warning: three \a
`
	if code != ExitBadInput || out.String() != want {
		t.Errorf("exit code %d, %q, want %q", code, out.String(), want)
	}
}
