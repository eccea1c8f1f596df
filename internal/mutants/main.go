// SPDX-License-Identifier: Apache-2.0

// Command mutants changes privacy-relevant code in one small place at a time and runs the tests of its
// package, the quick ones first. A change that none fails for, a survivor, is code that nothing defends. The tree stays
// as it is (go test -overlay), one program is all mutants but those of variables and constants of a package, and the
// tests of a mutant stop at the first that fails. Which mutants are tried depends on the seed and on each mutant
// alone, not on the rest of the code.
//
// argued.txt lists those that need no test, with the reason, by what they change and not by where it stands.
// An entry that fits no mutant any more is stale: a warning, and with -stale, which make lint runs and which
// tries nothing, an error.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"go/ast"
	"hash/fnv"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// targets are the packages that are changed, and beside each the others whose tests defend it.
var targets = map[string][]string{
	"tables": {"proof/forms"}, "kernels": {"proof/forms"}, "cells": {"proof/forms"}, "local": {"proof/forms"}, "proof": {"proof/forms"},
	"dp": nil, "loss": nil, "internal/exact": nil, "internal/selection": nil, "internal/keyed": nil, "internal/powers": nil, "account": nil,
	"sampler": nil, "sampler/internal/rank": {"sampler"}, "sampler/internal/chacha8": {"sampler"},
	"release": nil, "release/internal/ratio": {"release"}, "release/ledger": nil, "learn": nil, "latent/bundle": nil,
	"subset": {"proof/forms"}, "counts": {"proof/forms"}, "plane": {"proof/forms"}, "ball": {"proof/forms"}, "plan": nil,
}

const list = "internal/mutants/argued.txt"

var (
	sample  = flag.Int("sample", 60, "how many mutants to try, 0 for all")
	seed    = flag.Uint64("seed", 1, "the number that says which")
	limit   = flag.Duration("time", time.Hour, "when to stop")
	workers = flag.Int("j", 2, "how many at a time")
	stale   = flag.Bool("stale", false, "try none, and fail if an entry of the list is stale")
	verbose = flag.Bool("v", false, "say what became of every mutant")
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
			if !known && match.MatchString(m.String()) {
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
	places := make(map[*ast.FuncDecl]int)
	for i, m := range all {
		if places[m.in] == 0 {
			places[m.in] = len(places) + 1
		}
		all[i].number, all[i].place = i+1, places[m.in]
	}
	return all
}

// score is what became of the mutants of a package.
type score struct{ tried, survived int }

// try tries mutants until so many were programs, or the time is over; reached says which.
func try(queue []mutant) (scores map[string]score, reached bool, err error) {
	timed, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	ctx, fail := context.WithCancelCause(timed)
	defer fail(nil)
	dir, err := os.MkdirTemp("", "mutants-*")
	if err != nil {
		return nil, false, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // nothing in it is needed
	p := &program{dir: dir, fail: fail}
	chosen, err := p.choose(ctx, queue)
	if err != nil {
		return nil, false, err
	}
	scores = make(map[string]score)
	var wg sync.WaitGroup
	var mu sync.Mutex
	waiting := make(chan mutant, len(chosen))
	for _, m := range chosen {
		waiting <- m
	}
	close(waiting)
	for range *workers {
		wg.Go(func() {
			for m := range waiting {
				v := p.test(ctx, m)
				mu.Lock()
				s := scores[m.pkg()]
				if v == survived || *verbose && v != stopped {
					fmt.Printf("mutants: %s %s\n", v, m)
				}
				switch v {
				case survived:
					scores[m.pkg()] = score{s.tried + 1, s.survived + 1}
				case killed:
					scores[m.pkg()] = score{s.tried + 1, s.survived}
				case unbuilt, stopped:
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil && timed.Err() == nil {
		return nil, false, context.Cause(ctx)
	}
	return scores, ctx.Err() == nil, nil
}

type verdict string

const (
	killed   verdict = "killed"
	survived verdict = "SURVIVED"
	unbuilt  verdict = "unbuilt" // no program, and so no mutant
	stopped  verdict = "stopped" // the time was over
)
