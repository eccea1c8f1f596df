// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// program is the test programs of packages, in a folder, each of which is any of the mutants chosen.
type program struct {
	dir   string
	fail  context.CancelCauseFunc // if the tests fail as they are
	tests sync.Map                // func() []test, by suite
}

// suite is the tests of a package, or the quick ones among them.
type suite struct {
	pkg   string
	short bool
}

// test is one as it is without a mutant.
type test struct {
	name   string
	took   time.Duration
	enters map[int]bool // the places of functions
}

// defenders are the packages whose tests defend one, itself first.
func defenders(pkg string) []string { return append([]string{pkg}, targets[pkg]...) }

// mistaken is how the compiler says of which mutant it speaks.
var mistaken = regexp.MustCompile(`\bmutant(\d+):\d+`)

// choose builds a program of the first mutants of a queue that the compiler takes, as many as the sample is to have.
func (p *program) choose(ctx context.Context, queue []mutant) (chosen []mutant, err error) {
	for {
		for len(queue) > 0 && (*sample == 0 || len(chosen) < *sample) {
			chosen, queue = append(chosen, queue[0]), queue[1:]
		}
		changed, tested := make(map[string]bool), make(map[string]bool)
		var inside []mutant
		for _, m := range chosen {
			changed["./"+m.pkg()] = true
			for _, pkg := range defenders(m.pkg()) {
				tested["./"+pkg] = true
			}
			if m.in != nil {
				inside = append(inside, m)
			}
		}
		overlay := write(p.dir, schema(inside))
		out, err := compile(ctx, overlay, append([]string{"build"}, slices.Sorted(maps.Keys(changed))...)...)
		if err == nil {
			out, err = compile(ctx, overlay, append([]string{"test", "-c", "-o", p.dir + "/"}, slices.Sorted(maps.Keys(tested))...)...)
		}
		if err == nil || ctx.Err() != nil {
			return chosen, nil
		}
		bad := make(map[string]bool)
		for _, match := range mistaken.FindAllSubmatch(out, -1) {
			bad[string(match[1])] = true
		}
		if len(bad) == 0 {
			return nil, fmt.Errorf("the mutants do not build:\n%s", out)
		}
		chosen = slices.DeleteFunc(chosen, func(m mutant) bool { return bad[strconv.Itoa(m.number)] })
	}
}

// write writes changed files into a folder, and returns the name of the list of them that go build reads.
func write(dir string, files map[string]string) (overlay string) {
	replaced := make(map[string]string)
	err := os.MkdirAll(dir, 0o700)
	for file, source := range files {
		original, failed := filepath.Abs(file)
		replaced[original] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replaced)))
		err = cmp.Or(err, failed, os.WriteFile(replaced[original], []byte(source), 0o600))
	}
	text, _ := json.Marshal(map[string]map[string]string{"Replace": replaced}) //nolint:errchkjson // strings
	overlay = filepath.Join(dir, "overlay.json")
	if err = cmp.Or(err, os.WriteFile(overlay, text, 0o600)); err != nil {
		panic(err) // a folder of our own
	}
	return overlay
}

// compile runs go with an overlay, and lets it say all errors of a package.
func compile(ctx context.Context, overlay string, args ...string) (out []byte, err error) {
	cmd := exec.CommandContext(ctx, "go", slices.Insert(args, 1, "-gcflags=-e", "-overlay", overlay)...) //nolint:gosec // our own
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}

// test runs the tests on a mutant, the nearest first and then the quickest.
func (p *program) test(ctx context.Context, m mutant) (v verdict) {
	if ctx.Err() != nil {
		return stopped
	}
	dir := p.dir
	if m.in == nil {
		dir = filepath.Join(p.dir, strconv.Itoa(m.number))
		defer os.RemoveAll(dir) //nolint:errcheck // nothing in it is needed
		overlay := write(dir, map[string]string{m.file: m.source[:m.start] + m.with + m.source[m.end:]})
		for _, pkg := range defenders(m.pkg()) {
			if _, err := compile(ctx, overlay, "test", "-c", "-o", dir+"/", "./"+pkg); err != nil {
				return unbuilt
			}
		}
	}
	for _, short := range []bool{true, false} {
		for _, pkg := range defenders(m.pkg()) {
			if v = p.testWith(ctx, suite{pkg, short}, dir, m); v != survived {
				return v
			}
		}
	}
	return survived
}

// testWith runs what a mutant can change of a suite. It takes more than ten times as long as without the mutant
// only if it does not end, which is seen too.
func (p *program) testWith(ctx context.Context, s suite, dir string, m mutant) verdict {
	list, _ := p.tests.LoadOrStore(s, sync.OnceValue(func() []test { return p.list(ctx, s) }))
	tests := list.(func() []test)() //nolint:forcetypeassert // only these are stored
	for most := 100 * time.Millisecond; len(tests) > 0; most *= 10 {
		var names []string
		took := time.Duration(0)
		for ; len(tests) > 0 && took < most; tests = tests[1:] {
			if m.in == nil || tests[0].enters[m.place] {
				names, took = append(names, tests[0].name), took+tests[0].took
			}
		}
		if len(names) == 0 {
			continue
		}
		if v, _ := s.run(ctx, dir, m.number, 10*time.Second+10*took, names); v != survived {
			return v
		}
	}
	if ctx.Err() != nil { // and the list may not be whole
		return stopped
	}
	return survived
}

// list runs each test of a suite without a mutant, and returns them, the quickest first.
func (p *program) list(ctx context.Context, s suite) (tests []test) {
	out, err := s.command(ctx, p.dir, 0, "-test.list=^(Test|Fuzz|Example)").Output()
	if err != nil {
		p.fail(err)
	}
	file := filepath.Join(p.dir, fmt.Sprintf("%s.%v", path.Base(s.pkg), s.short))
	for _, name := range strings.Fields(string(out)) {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			p.fail(err)
		}
		begin := time.Now()
		if v, out := s.run(ctx, p.dir, -1, time.Hour, []string{name}); v == killed {
			p.fail(fmt.Errorf("%s of %s fails as it is:\n%s", name, s.pkg, out))
		}
		t := test{name, time.Since(begin), make(map[int]bool)}
		places, err := os.ReadFile(file) //nolint:gosec // our own
		if err != nil {
			p.fail(err)
		}
		for _, place := range strings.Fields(string(places)) {
			number, _ := strconv.Atoi(place) //nolint:errcheck // we wrote it
			t.enters[number] = true
		}
		tests = append(tests, t)
	}
	slices.SortFunc(tests, func(a, b test) int { return cmp.Compare(a.took, b.took) })
	return tests
}

// run says whether tests pass when the program in a folder is a mutant.
func (s suite) run(ctx context.Context, dir string, number int, limit time.Duration, names []string) (verdict, []byte) {
	ended, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := s.command(ended, dir, number, "-test.run=^("+strings.Join(names, "|")+")$").CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return stopped, nil
	case err != nil:
		return killed, out
	}
	return survived, nil
}

func (s suite) command(ctx context.Context, dir string, number int, what string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(dir, path.Base(s.pkg)+".test"), "-test.failfast", fmt.Sprintf("-test.short=%v", s.short), what) //nolint:gosec // our own
	cmd.Dir, cmd.WaitDelay = s.pkg, time.Second
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", chosen, number), fmt.Sprintf("%s=%s.%v", entered, filepath.Join(dir, path.Base(s.pkg)), s.short))
	return cmd
}
