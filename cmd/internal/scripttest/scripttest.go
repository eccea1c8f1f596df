// SPDX-License-Identifier: Apache-2.0

// Package scripttest is for tests of a program: commands for scripts, options of a command with streams that
// are kept, and rules of the JSON that is printed.
package scripttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// Command is a command of a script.
type Command = func(ts *testscript.TestScript, neg bool, args []string)

// Commands returns the commands of this package, and more.
func Commands(more map[string]Command) map[string]Command {
	all := map[string]Command{
		"code":    codeCommand,
		"replace": replaceCommand,
		"json":    jsonCommand,
		"size":    sizeCommand,
		"empty":   emptyCommand,
		"repeat":  repeatCommand,
	}
	maps.Copy(all, more)
	return all
}

// code N PROGRAM ARG... runs a program and wants the exit code N.
func codeCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program [arg...]")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if want := args[0]; strconv.Itoa(code) != want {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}

// replace FILE REGEXP TEXT NEW rewrites a file with one change: the first match
// becomes the text. It fails if there is none.
func replaceCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: replace file regexp text new")
	}
	old := ts.ReadFile(args[0])
	at := regexp.MustCompile(args[1]).FindStringSubmatchIndex(old)
	if at == nil {
		ts.Fatalf("%s has no match of %s", args[0], args[1])
	}
	changed := old[:at[0]] + args[2] + old[at[1]:]
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(changed), 0o600))
}

// json FILE KEY... wants one JSON object on one line and no more, with the given keys, dots leading
// into arrays and objects. KEY=VALUE also wants the value, and ! KEY that there is no such key.
func jsonCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: json file [key[=value]...]")
	}
	text := ts.ReadFile(args[0])
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		ts.Fatalf("want one line, got %q", text)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v map[string]any
	ts.Check(d.Decode(&v))
	if d.More() {
		ts.Fatalf("data after the object")
	}
	if _, exported := v["golden"]; !exported { // an export is a file, with a format of its own
		ts.Check(CheckJSON([]byte(text)))
	}
	for _, arg := range args[1:] {
		path, want, compare := strings.Cut(arg, "=")
		var at any = v
		found := true
		for _, key := range strings.Split(path, ".") {
			switch node := at.(type) {
			case map[string]any:
				at, found = node[key]
			case []any:
				i, err := strconv.Atoi(key)
				if found = err == nil && i < len(node); found {
					at = node[i]
				}
			default:
				found = false
			}
			if !found {
				break
			}
		}
		if found == neg {
			ts.Fatalf("key %s is there: %v, in %s", path, found, text)
		}
		if compare && fmt.Sprint(at) != want {
			ts.Fatalf("key %s = %v, want %s", path, at, want)
		}
	}
}

// size FILE BYTES wants a file of that size.
func sizeCommand(ts *testscript.TestScript, neg bool, args []string) {
	if got := len(ts.ReadFile(args[0])); (strconv.Itoa(got) == args[1]) == neg {
		ts.Fatalf("%s has %d bytes", args[0], got)
	}
}

// empty DIR wants a directory without entries, hidden ones included.
func emptyCommand(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if (len(entries) == 0) == neg {
		ts.Fatalf("%s has %v", args[0], entries)
	}
}

// repeat TEXT N FILE writes a text N times.
func repeatCommand(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(strings.Repeat(args[0], n)), 0o600))
}

// CheckJSON wants the one JSON object that a command printed, with numbers that every reader
// has as they are meant: none is written as a string, and each is the float64 that it is
// read as, which else were rounded, perhaps to the wrong side.
func CheckJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("%s follows the object", text[d.InputOffset():])
	}
	return numbers(v, "")
}

func numbers(at any, path string) error {
	switch v := at.(type) {
	case map[string]any:
		for key, below := range v {
			if key == "key" || key == "answer" {
				continue // a user's own text
			}
			if err := numbers(below, path+"."+key); err != nil {
				return err
			}
		}
	case []any:
		for i, below := range v {
			if err := numbers(below, path+"."+strconv.Itoa(i)); err != nil {
				return err
			}
		}
	case string:
		if _, err := strconv.ParseFloat(v, 64); err == nil {
			return fmt.Errorf("%s = %q is a number as a string", path, v)
		}
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if shortest, err := json.Marshal(f); err != nil || string(shortest) != v.String() {
			return fmt.Errorf("%s = %s has another float64, %s", path, v, shortest)
		}
	}
	return nil
}
