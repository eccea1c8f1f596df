// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/shell"
)

// TestOverview: the page has the table that the command writes from the runs that are kept, every
// command of a figure or a table of a paper is in it, under the name of that figure, with the caption
// that it prints, and each has a run of that very command.
func TestOverview(t *testing.T) {
	runs, err := readOverview(filepath.Join("figures", "overview.csv"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), overviewText(runs)) {
		t.Error("README.md has another table: papers overview -o figures writes it")
	}
	rows := overviewRows()
	for _, r := range rows {
		if r.command == "" {
			continue
		}
		if !slices.ContainsFunc(runs, func(v overviewRun) bool { return v.name == r.name() && v.command == r.shown() && v.ours != "" }) {
			t.Errorf("%s has no run", r.shown())
		}
		if (r.caption == "") == (captionOf(r.name()) == "") {
			t.Errorf("%s: want the caption of the command, or one of its own", r.name())
		}
		_, number, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(r.what, " ", "")), "figure")
		if number, _, _ = strings.Cut(number, "("); number != "" && !strings.HasSuffix(r.name(), "figure"+number) {
			t.Errorf("%s is computed by %s", r.what, r.name())
		}
	}
	for _, c := range newRootCommand(&shell.Streams{}, func() {}).Commands() {
		name := c.Name()
		figure := strings.Contains(name, "-figure") || strings.Contains(name, "-table")
		if figure != slices.ContainsFunc(rows, func(r overviewRow) bool { return r.name() == name }) {
			t.Errorf("%s: in the table only if it is not of a paper", name)
		}
	}
}

// TestOverviewRuns makes the runs again that are quick and need no data, and wants their numbers in the table.
func TestOverviewRuns(t *testing.T) {
	withSolver(t)
	runs, err := readOverview(filepath.Join("figures", "overview.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range overviewRows() {
		if !slices.Contains([]string{"dro-figure1", "dro-figure4", "dro-supplement-figure1", "dro-supplement-figure2", "ta-figure3", "vlm-table1"}, r.name()) {
			continue
		}
		now, err := runOverview(t.Context(), r, "", t.TempDir())
		if err != nil {
			t.Errorf("%s: %v", r.name(), err)
			continue
		}
		i := slices.IndexFunc(runs, func(v overviewRun) bool { return v.name == r.name() })
		if i < 0 {
			t.Errorf("%s has no run", r.name())
		} else if runs[i].ours != now.ours {
			t.Errorf("%s has %q, want what the table has, %q", r.name(), now.ours, runs[i].ours)
		}
	}
}

// TestOverviewNumbers: what is picked from what a command prints, and what is refused.
func TestOverviewNumbers(t *testing.T) {
	const printed = `{"points":[{"a":"x","e":10,"v":0.25},{"a":"x","e":null,"v":-0.5},{"a":"y","e":10,"v":1.5}]}`
	for _, c := range []struct{ ours, want string }{
		{`{{fix 2 (pick .points "v" "a" "x" "e" 10)}}`, ".25"},
		{`{{fix 1 (pick .points "v" "a" "x" "e" nil)}}`, "−.5"},
		{`{{line .points "v" "a" "x"}}`, ".250, −.500"},
		{`{{percent (pick .points "v" "a" "x")}}, {{fix 1 (sqrt (pick .points "v" "a" "x"))}}`, "25.0 %, .5"},
		{`{{pick .points "v" "a" "z"}}`, ""},
		{`{{line .points "v" "a" "z"}}`, ""},
		{`{{line .points "w" "a" "x"}}`, ""},
		{`{{.others}}`, ""},
	} {
		got, err := overviewNumbers(overviewRow{ours: c.ours}, []byte(printed))
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s is %q, %v, want %q", c.ours, got, err, c.want)
		}
	}
}

// TestOverviewArguments: files are found by their names, in any folder.
func TestOverviewArguments(t *testing.T) {
	data := t.TempDir()
	below := filepath.Join(data, "genki")
	if err := os.Mkdir(below, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(below, "genki.csv.gz"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	args, err := overviewArguments("minimax-figure4 --data @genki.csv.gz --uci @uci", data)
	if want := []string{"minimax-figure4", "--data", filepath.Join(below, "genki.csv.gz"), "--uci", data}; err != nil || !slices.Equal(args, want) {
		t.Errorf("%q, %v, want %q", args, err, want)
	}
	if _, err := overviewArguments("x --data @adult.csv.gz", data); err == nil || !strings.Contains(err.Error(), "adult.csv.gz") {
		t.Errorf("%v, want an error about adult.csv.gz", err)
	}
}
