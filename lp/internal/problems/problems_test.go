// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestRandom: a problem depends on the seed and its number alone, and all losses and queries occur.
func TestRandom(t *testing.T) {
	few, many := random(7, 20), random(7, 300)
	if !reflect.DeepEqual(few, many[:20]) {
		t.Error("the first problems depend on how many there are")
	}
	if reflect.DeepEqual(few, random(8, 20)) {
		t.Error("another seed has the same problems")
	}
	seen := make(map[string]int)
	for i, p := range many {
		if p.ID != i+1 || p.band() < 0 {
			t.Fatalf("problem %d: %+v", i+1, p)
		}
		seen[p.loss()]++
		for _, flag := range []string{"query", "step", "symmetric", "monotone", "unbiased"} {
			if strings.Contains(strings.Join(p.Args, " "), "--"+flag) {
				seen[flag]++
			}
		}
	}
	for _, name := range append(families, "query", "step", "symmetric", "monotone", "unbiased") {
		if seen[name] < 5 {
			t.Errorf("%s occurs %d times", name, seen[name])
		}
	}
}

// TestPublished: the published tables have a hundred pairs of epsilon and delta for either loss.
func TestPublished(t *testing.T) {
	all := published("published")
	if len(all) != 200 || all[199].ID != 200 || all[199].option("loss") != "l2" || all[199].option("epsilon") != "5" || all[199].option("delta") != "0.75" {
		t.Errorf("%d problems, the last %+v", len(all), all[len(all)-1])
	}
	if few := published("3,5"); len(few) != 40 || few[0].option("epsilon") != "3" || few[0].band() != 3 {
		t.Errorf("%d problems for two epsilons, the first %+v", len(few), few[0])
	}
}

// TestRun: with a program that answers at once, what misses is listed and counted.
func TestRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "answers")
	text := "#!/bin/sh\nif [ \"$1\" = version ]; then exit; fi\nfor table; do :; done; : >\"$table\"\ncase \"$*\" in *l2*) echo '{\"gap\":0.01,\"seconds\":1}'; exit 4;; *lp:3*) echo '{\"gap\":null}'; exit 4;; *huber*) echo no >&2; exit 3;; esac\necho '{\"gap\":1e-4}'\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "list.json")
	problems := `[{"id":2,"args":["--epsilon","1","--loss","huber:1"]},{"id":3,"args":["--epsilon","1","--loss","l1"]},{"id":5,"args":["--epsilon","7","--loss","l2"]},{"id":6,"args":["--epsilon","7","--loss","lp:3"]},{"id":9,"args":["--epsilon","0.1","--loss","l1"]}]`
	if err := os.WriteFile(list, []byte(problems), 0o644); err != nil {
		t.Fatal(err)
	}
	*program, *file, *only, *record = script, list, "3,5,6", filepath.Join(dir, "all.csv")
	*picture, *files = filepath.Join(dir, "map.svg"), dir
	defer func() { *only, *most, *files = "", 300, "" }()
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"   5  gap         1 %", "   6  gap      +Inf %", "1 of 3 problems reach a gap of 0.1 %"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "   3  gap") || strings.Contains(out.String(), "   9  gap") {
		t.Errorf("problems that reach the gap, or were not asked for, are listed:\n%s", out.String())
	}
	written, err := os.ReadFile(*record)
	if err != nil || strings.Count(string(written), "\n") != 4 {
		t.Errorf("results %q, %v", written, err)
	}
	// What was recorded is counted and drawn the same way.
	*from, *record = *record, ""
	again := new(strings.Builder)
	err = run(again)
	for _, line := range strings.Split(out.String(), "\n") {
		line = strings.Split(line, "CPU")[0] // which is rounded in between
		if !strings.Contains(again.String(), line) {
			t.Errorf("from records: no %q in\n%s", line, again)
		}
	}
	if *from = ""; err != nil {
		t.Error(err)
	}
	drawing, err := os.ReadFile(*picture)
	legend := len(shades) + 3
	if err != nil || strings.Count(string(drawing), "<circle") != 3+legend || strings.Count(string(drawing), shades[3].color) != 2 {
		t.Errorf("map %s, %v", drawing, err)
	}
	if err := xml.Unmarshal(drawing, new(struct{})); err != nil {
		t.Error(err)
	}
	if tables, err := filepath.Glob(filepath.Join(dir, "[356].json")); err != nil || len(tables) != 3 {
		t.Errorf("tables %v, %v, want those of the three problems", tables, err)
	}
	*most = 1
	if err := run(&out); err == nil || !strings.Contains(err.Error(), "2 of 3 problems miss") {
		t.Errorf("error %v, want one of two misses", err)
	}
	*most, *only = 300, "2,3"
	out.Reset()
	if err := run(&out); err == nil || !strings.Contains(err.Error(), "problem 2") || !strings.Contains(out.String(), "1 of 1 problems reach") {
		t.Errorf("error %v, want one of problem 2 after the others\n%s", err, out.String())
	}
	*only = "three"
	if err := run(&out); err == nil {
		t.Error("numbers that are none are no error")
	}
}

// TestByCPU: problems are read and designed without the program.
func TestByCPU(t *testing.T) {
	defer func(before time.Duration) { *limit = before }(*limit)
	*limit = 20 * time.Millisecond
	for _, p := range random(3, 12) {
		what, err := p.parse()
		if err != nil {
			t.Fatal(err)
		}
		flags := strings.Join(p.Args, " ")
		if c := what.Constraints; strings.Contains(flags, "--monotone") != c.Monotone || strings.Contains(flags, "--unbiased") != c.Unbiased || strings.Contains(flags, "--symmetric") != c.Symmetric {
			t.Errorf("%s: %+v", flags, c)
		}
		if fmt.Sprint(what.Epsilon) != p.option("epsilon") || fmt.Sprint(what.Sensitivity) != p.option("sensitivity") || what.Loss.Name() != p.option("loss") {
			t.Errorf("%s: %+v", flags, what)
		}
	}
	r, err := designByCPU(problem{ID: 4, Args: []string{"--epsilon", "1", "--delta", "0.1", "--sensitivity", "1", "--loss", "l1", "--monotone"}})
	if err != nil || r.Gap == nil || !(r.Loss >= r.Bound && r.Bound > 0) || r.ID != 4 || r.CPU > 10 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := designByCPU(problem{Args: []string{"--support", "1,2"}}); err == nil {
		t.Error("flags that are not read are no error")
	}
}
