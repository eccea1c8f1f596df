// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secretRow is a row of the data that are dropped, of which nothing is to be seen afterwards.
const secretRow = "Jena,49.5,rare-diagnosis-of-one"

// releaseRequest asks for a count.
func releaseRequest(fields map[string]string) map[string]any {
	all := map[string]string{"epsilon": "0.2", "delta": "1e-8", "ledger": "people.ledger"}
	for name, value := range fields {
		all[name] = value
		if value == "" {
			delete(all, name)
		}
	}
	data := "city,hours,diagnosis\nUlm,10,none\n" + secretRow + "\n"
	return map[string]any{"kind": "release", "statistic": "count", "fields": all, "name": "people.csv", "data": []byte(data)}
}

// filesBelow returns the files below a folder, with what is in them.
func filesBelow(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestStudioReleases charges a ledger from the page, asks for the same again and for what is refused in many ways. What
// is refused charges nothing, and of the data nothing is in an answer, in a file or in what the program prints.
func TestStudioReleases(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	for name, below := range map[string]string{"TMPDIR": "tmp", "HOME": "home", "XDG_CACHE_HOME": "home/cache", "XDG_CONFIG_HOME": "home/config"} {
		at := filepath.Join(folder, below)
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, at)
	}
	if _, text, code := run(t, "", "ledger", "create", "people.ledger", "--epsilon", "1", "--delta", "1e-6", "--quiet"); code != 0 {
		t.Fatal(text)
	}
	address, cmd, stderr := startStudio(t)
	says := func(request any) (events []event) {
		t.Helper()
		events = studySays(t, address, request)
		if text := fmt.Sprint(events); strings.Contains(text, "rare-diagnosis") || strings.Contains(text, "49.5") {
			t.Errorf("a row is in an answer: %s", text)
		}
		return events
	}
	rows := func(events []event, name string) string {
		t.Helper()
		if failed := named(events, "failed"); len(failed) > 0 || len(named(events, name)) != 1 {
			t.Fatalf("no %s: %v", name, events)
		}
		return fmt.Sprint(named(events, name)[0]["rows"])
	}
	first := rows(says(releaseRequest(nil)), "released")
	events := says(releaseRequest(nil))
	again, left := rows(events, "released"), rows(events, "left")
	answer := func(text string) string { before, _, _ := strings.Cut(text, "] ["); return before }
	if answer(first) != answer(again) || strings.Contains(first, "at no cost") || !strings.Contains(again, "at no cost") || !strings.Contains(left, "one release of epsilon 0.79999") {
		t.Errorf("first %s\nagain %s\nleft %s", first, again, left)
	}
	charged := filesBelow(t, folder)[filepath.Join(folder, "people.ledger")]

	for _, c := range []struct {
		fields map[string]string
		want   string
	}{
		{map[string]string{"epsilon": "NaN"}, "epsilon = NaN, want"},
		{map[string]string{"epsilon": "Inf"}, "epsilon = Inf, want"},
		{map[string]string{"epsilon": "-1"}, "epsilon = -1, want"},
		{map[string]string{"epsilon": "0"}, "epsilon = 0, want"},
		{map[string]string{"epsilon": "1e308"}, "epsilon = 1e308, want"},
		{map[string]string{"epsilon": "1e999"}, "epsilon = 1e999, want"},
		{map[string]string{"epsilon": ""}, "epsilon is missing"},
		{map[string]string{"epsilon": strings.Repeat("9", 100000)}, "epsilon = 9999"},
		{map[string]string{"epsilon": "0.5 --force"}, "epsilon = "},
		{map[string]string{"delta": "NaN"}, "delta = NaN, want"},
		{map[string]string{"delta": "-1e-9"}, "delta = -1e-9, want"},
		{map[string]string{"delta": "1"}, "delta = 1, want"},
		{map[string]string{"delta": "0.5"}, "delta = 0.5, want less than 0.1"},
		{map[string]string{"neighbors": "x"}, "neighbors = x, want"},
		{map[string]string{"neighbors": "replace"}, "neighbors = replace, want add-remove as in the ledger"},
		{map[string]string{"person": "city", "max-per-person": "1"}, "unit = person:city, want row as in the ledger"},
		{map[string]string{"max-per-person": "-1"}, "max-per-person = -1, want"},
		{map[string]string{"where": "hours >"}, "where"},
		{map[string]string{"where": "nothing == 1"}, "nothing"},
		{map[string]string{"by": "nothing", "keys": "a"}, `people.csv: by: no column "nothing"`},
		{map[string]string{"by": "city"}, "keys"},
		{map[string]string{"by": "city", "keys": "a,a"}, "keys = a, want every key once"},
		{map[string]string{"by": "city", "keys": `"a`}, "keys"},
		{map[string]string{"ledger": "none.ledger"}, "ledger = none.ledger: no such file"},
		{map[string]string{"ledger": "tmp"}, "tmp"},
		{map[string]string{"epsilon": "0.9"}, "the release would exceed the total of epsilon 1, delta 1e-06"},
		{map[string]string{"delta": "1e-5"}, "the release would exceed the total of epsilon 1, delta 1e-06"},
	} {
		failed := named(says(releaseRequest(c.fields)), "failed")
		if len(failed) != 1 || !strings.Contains(fmt.Sprint(failed[0]["errors"]), c.want) {
			t.Errorf("%.200v: %.300v, want %q", c.fields, failed, c.want)
		}
	}
	for name, data := range map[string]string{"no CSV": "\x00\xff" + secretRow, "a broken header": `"a` + secretRow, "no gzip": "\x1f\x8b" + secretRow, "nothing but a line": "\n", "a column twice": "a,a\n" + secretRow} {
		request := releaseRequest(map[string]string{"where": "a == 1"})
		request["data"] = []byte(data)
		if failed := named(says(request), "failed"); len(failed) != 1 {
			t.Errorf("%s: %v", name, failed)
		}
	}

	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
	if text := stderr.String(); strings.Contains(text, "rare-diagnosis") || strings.Contains(text, "49.5") {
		t.Errorf("standard error says %s", text)
	}
	after := filesBelow(t, folder)
	if !bytes.Equal(after[filepath.Join(folder, "people.ledger")], charged) {
		t.Error("what was refused changed the ledger")
	}
	for path, text := range after {
		if bytes.Contains(text, []byte("rare-diagnosis")) || bytes.Contains(text, []byte("49.5")) {
			t.Errorf("%s has a row of the data", path)
		}
		if strings.HasPrefix(path, filepath.Join(folder, "tmp")) {
			t.Errorf("%s was left behind", path)
		}
	}
}

// TestStudioPlans asks for a plan as the page does; it is the one of the command, and nothing is left behind.
func TestStudioPlans(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	address, _, _ := startStudio(t)
	ask := func(fields map[string]string) []event {
		return studySays(t, address, map[string]any{"kind": "plan", "fields": fields})
	}
	events := ask(map[string]string{"workload": "prefix:6", "epsilon": "1", "delta": "0"})
	made, errors := named(events, "planned"), named(events, "errors")
	if len(made) != 1 || len(errors) != 1 {
		t.Fatalf("events %v", events)
	}
	command := strings.Fields(made[0]["command"].(string))[1:]
	file := filepath.Join(t.TempDir(), "again.json")
	if _, text, code := run(t, "", append(command[:len(command)-1], file)...); code != 0 {
		t.Fatalf("%v: %s", command, text)
	}
	if want, err := os.ReadFile(file); err != nil || made[0]["file"] != string(want) {
		t.Errorf("the plan of the page is not that of %v, %v", command, err)
	}
	curves := errors[0]["curves"].([]any)
	if last := curves[len(curves)-1].(map[string]any); len(curves) < 3 || last["name"] != "released one by one" || len(last["points"].([]any)) != 6 {
		t.Errorf("curves %v", curves)
	}
	for _, c := range []struct{ name, value, want string }{
		{"epsilon", "NaN", "epsilon = NaN, want"},
		{"epsilon", "0", "epsilon = 0, want"},
		{"delta", "x", "delta = x, want"},
		{"max-per-person", "0", "max-per-person = 0, want"},
		{"max-per-person", "1e9", "max-per-person = 1e9, want"},
		{"neighbors", "all", "neighbors = all, want"},
		{"max-error", "1@0.95", "max-error and epsilon are given"},
	} {
		fields := map[string]string{"workload": "prefix:6", "epsilon": "1", "delta": "0"}
		fields[c.name] = c.value
		if failed := named(ask(fields), "failed"); len(failed) != 1 || !strings.Contains(fmt.Sprint(failed[0]["errors"]), c.want) {
			t.Errorf("%s = %s: %v, want %q", c.name, c.value, failed, c.want)
		}
	}
	if left := filesBelow(t, folder); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
