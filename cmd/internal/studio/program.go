// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/noisewright/noisewright/lp"
)

// Program runs a command line of the program in this process and returns its exit code. The
// design that it makes, if any, tells watch how far it has come.
type Program func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, watch func(lp.Progress)) int

// Exit codes of commands that left a result; see `noisewright --help`.
const (
	exitDone  = 0
	exitLimit = 4
)

// failure is what a command says on standard error, as it says it.
type failure struct {
	Code   int      `json:"code"`
	Errors []string `json:"errors"` // or warnings, of a command that left a result
	Hint   string   `json:"hint,omitempty"`
}

func (f *failure) Error() string { return strings.Join(f.Errors, "; ") }

// command runs a command. Its output comes with a failure that is only a warning if there is one,
// as of a limit that left a result; else the error is a *failure, or that of the context.
func (p Program) command(ctx context.Context, args []string, stdin string, watch func(lp.Progress)) (out []byte, warning *failure, err error) {
	var stdout, stderr bytes.Buffer
	code := p(ctx, args, strings.NewReader(stdin), &stdout, &stderr, watch)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	f, said := &failure{Code: code}, map[string][]string{}
	for line := range strings.Lines(stderr.String()) {
		label, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch label {
		case "hint":
			f.Hint = text
		default:
			said[label] = append(said[label], text)
		}
	}
	if code != exitDone && code != exitLimit {
		f.Errors = said["error"]
		return nil, nil, f
	}
	if f.Errors = said["warning"]; code == exitDone && f.Errors == nil {
		f = nil
	}
	return stdout.Bytes(), f, nil
}

// object is command for one that prints JSON, which is read into v.
func (p Program) object(ctx context.Context, args []string, stdin string, v any) error {
	out, _, err := p.command(ctx, args, stdin, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(out, v)
}
