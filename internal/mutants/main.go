// SPDX-License-Identifier: Apache-2.0

// Command mutants changes privacy-relevant code in one small place at a time and runs the tests of its
// package, the quick ones first. A change that none fails for, a survivor, is code that nothing defends. The tree stays
// as it is (go test -overlay), and the tests of a mutant stop at the first that fails. Which mutants are
// tried depends on the seed and on each mutant alone, not on the rest of the code.
//
// argued.txt lists those that need no test, with the reason, by what they change and not by where it stands.
// An entry that fits no mutant any more is stale: a warning, and with -stale, which make lint runs and which
// tries nothing, an error.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// targets are the packages that are changed, and beside each the others whose tests defend it.
var targets = map[string][]string{
	"tables": {"proof/forms"}, "kernels": {"proof/forms"}, "cells": {"proof/forms"}, "local": {"proof/forms"}, "proof": {"proof/forms"},
	"dp": nil, "loss": nil, "internal/exact": nil, "internal/selection": nil, "internal/keyed": nil, "account": nil,
	"sampler": nil, "sampler/internal/rank": {"sampler"}, "sampler/internal/chacha8": {"sampler"},
	"release": nil, "release/internal/ratio": {"release"}, "release/ledger": nil, "learn": nil, "latent/bundle": nil,
	"subset": {"proof/forms"}, "counts": {"proof/forms"}, "plan": nil,
}

// young are packages that are new, or new in part, whose survivors have not all been gone through: they are tried with
// -match alone.
var young = map[string]bool{"subset": true, "counts": true, "plan": true}

const list = "internal/mutants/argued.txt"

var (
	sample  = flag.Int("sample", 60, "how many mutants to try, 0 for all")
	seed    = flag.Uint64("seed", 1, "the number that says which")
	limit   = flag.Duration("time", time.Hour, "when to stop")
	workers = flag.Int("j", 2, "how many at a time")
	stale   = flag.Bool("stale", false, "try none, and fail if an entry of the list is stale")
	pattern = flag.String("match", "", "a regular expression of file:line: function | mutation | text, such as '^tables/dual.go:'")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run() error {
	match, err := regexp.Compile(*pattern)
	if err != nil {
		return err
	}
	argued, err := readArgued()
	if err != nil {
		return err
	}
	old := maps.Clone(argued)
	var open []mutant
	all, tested := make(map[string]int), make(map[string]int)
	for _, dir := range slices.Sorted(maps.Keys(targets)) {
		found, err := mutantsOf(dir)
		if err != nil {
			return err
		}
		all[dir] = len(found)
		for _, m := range found {
			known := false
			for _, key := range m.keys() {
				known = known || argued[key]
				delete(old, key)
			}
			if !known && match.MatchString(m.String()) && (*pattern != "" || !young[dir]) {
				open = append(open, m)
				tested[dir]++
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(old)) {
		fmt.Printf("mutants: stale, to be deleted or renewed in %s: %s\n", list, key)
	}
	if *stale {
		if len(old) > 0 {
			return fmt.Errorf("%d entries of %s fit no mutant", len(old), list)
		}
		return nil
	}
	scores, reached, err := try(ordered(open))
	if err != nil {
		return err
	}
	var sum score
	for _, pkg := range slices.Sorted(maps.Keys(targets)) {
		s := scores[pkg]
		fmt.Printf("mutants: %-24s %5d, %5d not argued, %3d tried, %3d survived\n", pkg, all[pkg], tested[pkg], s.tried, s.survived)
		sum.tried += s.tried
		sum.survived += s.survived
	}
	fmt.Printf("mutants: seed %d, %d tried, %d survived\n", *seed, sum.tried, sum.survived)
	if !reached {
		fmt.Printf("mutants: the others of the sample of %d were not reached in %v\n", *sample, *limit)
	}
	if sum.survived > 0 {
		return fmt.Errorf("a survivor wants a test, or a line with the reason in %s", list)
	}
	return nil
}

// readArgued reads lines of package, function, mutation, text and reason, separated by tabs.
func readArgued() (map[string]bool, error) {
	raw, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	out := make(map[string]bool)
	for i, line := range strings.Split(string(raw), "\n") {
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "python/") { // of scripts/mutants.py
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 5 || fields[4] == "" {
			return nil, fmt.Errorf("%s:%d: want package, function, mutation, text and reason, separated by tabs", list, i+1)
		}
		out[strings.Join(fields[:4], "\t")] = true
	}
	return out, nil
}

// ordered puts the mutants into the order of a hash.
func ordered(all []mutant) []mutant {
	for i := range all {
		h := fnv.New64a()
		fmt.Fprint(h, *seed, all[i].keys()[0])
		all[i].rank = h.Sum64()
	}
	slices.SortFunc(all, func(a, b mutant) int { return cmp.Compare(a.rank, b.rank) })
	return all
}

// score is what became of the mutants of a package.
type score struct{ tried, survived int }

// try tries mutants until so many were programs, or the time is over; reached says which.
func try(queue []mutant) (scores map[string]score, reached bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	wanted := make(map[string]bool)
	for _, m := range queue {
		wanted[m.pkg()] = true
		for _, other := range targets[m.pkg()] {
			wanted[other] = true
		}
	}
	packages := slices.Sorted(maps.Keys(wanted))
	if v, out := test(ctx, packages, "-short"); v != survived && v != stopped {
		return nil, false, fmt.Errorf("the tests fail as they are:\n%s", out)
	}
	dir, err := os.MkdirTemp("", "mutants-*")
	if err != nil {
		return nil, false, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // nothing in it is needed
	scores = make(map[string]score)
	var wg sync.WaitGroup
	var mu sync.Mutex
	tried, next := 0, 0
	take := func() (m mutant, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if ok = next < len(queue) && (*sample == 0 || tried < *sample) && ctx.Err() == nil; ok {
			m, next, tried = queue[next], next+1, tried+1
		}
		return m, ok
	}
	for i := range *workers {
		wg.Go(func() {
			for m, ok := take(); ok; m, ok = take() {
				v := m.test(ctx, filepath.Join(dir, fmt.Sprint(i)))
				mu.Lock()
				s := scores[m.pkg()]
				switch v {
				case survived:
					fmt.Printf("mutants: SURVIVED %s\n", m)
					scores[m.pkg()] = score{s.tried + 1, s.survived + 1}
				case killed:
					scores[m.pkg()] = score{s.tried + 1, s.survived}
				case unbuilt, stopped:
					tried-- // another in its place
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return scores, ctx.Err() == nil, nil
}

type verdict int

const (
	killed verdict = iota
	survived
	unbuilt // no program, and so no mutant
	stopped // the time was over
)

// test says whether the tests of packages pass.
func test(ctx context.Context, packages []string, flags ...string) (verdict, []byte) {
	args := append([]string{"test", "-failfast", "-vet=off"}, flags...)
	for _, p := range packages {
		args = append(args, "./"+p)
	}
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // our own
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return stopped, nil
	case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
		return unbuilt, out
	case err != nil:
		return killed, out
	}
	return survived, nil
}

// test writes the mutant into a folder of its own and runs the tests on it, the nearest first. One that
// does not end is seen too.
func (m mutant) test(ctx context.Context, dir string) (v verdict) {
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	original, err := filepath.Abs(m.file)
	text, _ := json.Marshal(map[string]map[string]string{"Replace": {original: changed}}) //nolint:errchkjson // strings
	err = cmp.Or(err, os.MkdirAll(dir, 0o700), os.WriteFile(changed, []byte(m.source[:m.start]+m.with+m.source[m.end:]), 0o600), os.WriteFile(overlay, text, 0o600))
	if err != nil {
		panic(err) // a folder of our own
	}
	for _, flags := range [][]string{{"-short", "-timeout", "90s"}, {"-timeout", "5m"}} {
		for _, pkg := range append([]string{m.pkg()}, targets[m.pkg()]...) {
			if v, _ = test(ctx, []string{pkg}, append(flags, "-overlay", overlay)...); v != survived {
				return v
			}
		}
	}
	return v
}
