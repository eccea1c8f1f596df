// Command mutants changes privacy-relevant code in one small place at a time and runs the quick tests of
// its package. A change that no test fails for, a survivor, is code that nothing defends. The tree stays
// as it is (go test -overlay), and the tests of a mutant stop at the first that fails. Which mutants are
// tried depends on the seed and on each mutant alone, not on the rest of the code.
//
// argued.txt lists those that need no test, with the reason. An entry that fits no mutant is stale.
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
	"internal/exact": nil, "internal/selection": nil, "internal/keyed": nil, "sampler": nil, "account": nil,
	"release": nil, "release/internal/ratio": {"release"}, "release/ledger": nil, "learn": nil, "latent/bundle": nil,
}

const list = "internal/mutants/argued.txt"

var (
	sample  = flag.Int("sample", 60, "how many mutants to try, the same number of each package; 0 for all")
	seed    = flag.Uint64("seed", 1, "the number that says which")
	limit   = flag.Duration("time", time.Hour, "when to stop")
	workers = flag.Int("j", 2, "how many at a time")
	pattern = flag.String("match", "", "a regular expression of file:line: mutation, such as '^tables/dual.go:'")
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
	stale := maps.Clone(argued)
	var open []mutant
	whole := 0
	for _, dir := range slices.Sorted(maps.Keys(targets)) {
		found, err := mutantsOf(dir)
		if err != nil {
			return err
		}
		whole += len(found)
		for _, m := range found {
			known := false
			for _, key := range m.keys() {
				known = known || argued[key]
				delete(stale, key)
			}
			if !known && match.MatchString(m.String()) {
				open = append(open, m)
			}
		}
	}
	fmt.Printf("mutants: %d in %d packages, of which %d need a test; seed %d\n", whole, len(targets), len(open), *seed)
	r := &runner{times: make(map[string]time.Duration), tried: make(map[string]int), alive: make(map[string]int), queue: ordered(open)}
	if err := r.run(); err != nil {
		return err
	}
	for _, pkg := range slices.Sorted(maps.Keys(r.tried)) {
		fmt.Printf("mutants: %-24s %4d tried, %3d survived\n", pkg, r.tried[pkg], r.alive[pkg])
	}
	for _, key := range slices.Sorted(maps.Keys(stale)) {
		fmt.Printf("mutants: stale: %s\n", key)
	}
	fmt.Printf("mutants: %d tried, %d survived, %d entries of %s are stale\n", r.count, r.survived, len(stale), list)
	if r.survived > 0 || len(stale) > 0 {
		return fmt.Errorf("a survivor wants a test, or a line with the reason in %s", list)
	}
	return nil
}

// readArgued reads lines of file, mutation, source and reason, separated by tabs.
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
		if len(fields) != 4 || fields[3] == "" {
			return nil, fmt.Errorf("%s:%d: want file, mutation, source and reason, separated by tabs", list, i+1)
		}
		out[strings.Join(fields[:3], "\t")] = true
	}
	return out, nil
}

// ordered puts the mutants into the order of a hash, one of each package after another.
func ordered(all []mutant) (out []mutant) {
	rank := func(m mutant) uint64 {
		h := fnv.New64a()
		fmt.Fprint(h, *seed, m.keys()[0])
		return h.Sum64()
	}
	slices.SortFunc(all, func(a, b mutant) int { return cmp.Compare(rank(a), rank(b)) })
	rounds := make(map[string]int)
	round := make(map[*mutant]int, len(all))
	places := make([]*mutant, len(all))
	for i := range all {
		places[i] = &all[i]
		round[&all[i]] = rounds[all[i].pkg()]
		rounds[all[i].pkg()]++
	}
	slices.SortStableFunc(places, func(a, b *mutant) int { return cmp.Compare(round[a], round[b]) })
	for _, m := range places {
		out = append(out, *m)
	}
	return out
}

type runner struct {
	mu              sync.Mutex
	queue           []mutant
	count, survived int
	tried, alive    map[string]int
	times           map[string]time.Duration // of the tests of unchanged packages
}

// run tries mutants until so many were programs, or the time is over.
func (r *runner) run() error {
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	for _, m := range r.queue {
		if _, ok := r.times[m.pkg()]; ok || *sample > 0 && len(r.times) >= *sample {
			continue
		}
		begin := time.Now()
		if v, out := test(ctx, m.pkg(), "", 0); v == killed || v == unbuilt {
			return fmt.Errorf("%s fails as it is:\n%s", m.pkg(), out)
		}
		r.times[m.pkg()] = time.Since(begin)
	}
	dir, err := os.MkdirTemp("", "mutants-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // nothing in it is needed
	var wg sync.WaitGroup
	for i := range *workers {
		wg.Go(func() {
			for m, ok := r.take(); ok && ctx.Err() == nil; m, ok = r.take() {
				r.note(m, m.test(ctx, filepath.Join(dir, fmt.Sprint(i)), 4*r.times[m.pkg()]+30*time.Second))
			}
		})
	}
	wg.Wait()
	return nil
}

func (r *runner) take() (m mutant, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 || *sample > 0 && r.count >= *sample {
		return m, false
	}
	m, r.queue = r.queue[0], r.queue[1:]
	r.count++
	return m, true
}

func (r *runner) note(m mutant, v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch v {
	case survived:
		fmt.Printf("mutants: SURVIVED %s\n", m)
		r.survived++
		r.alive[m.pkg()]++
		r.tried[m.pkg()]++
	case killed:
		r.tried[m.pkg()]++
	case unbuilt, stopped:
		r.count-- // another in its place
	}
}

type verdict int

const (
	killed verdict = iota
	survived
	unbuilt // no program, and so no mutant
	stopped // the time was over
)

// test says whether the tests of a package, and those beside it, pass with a file of replacements.
func test(ctx context.Context, pkg, overlay string, timeout time.Duration) (verdict, []byte) {
	args := []string{"test", "-short", "-failfast", "-vet=off"}
	if overlay != "" {
		args = append(args, "-overlay", overlay, "-timeout", timeout.String())
	}
	for _, p := range append([]string{pkg}, targets[pkg]...) {
		out, err := exec.CommandContext(ctx, "go", append(args, "./"+p)...).CombinedOutput() //nolint:gosec // our own
		switch {
		case ctx.Err() != nil:
			return stopped, nil
		case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
			return unbuilt, out
		case err != nil:
			return killed, out
		}
	}
	return survived, nil
}

// test writes the mutant into a folder of its own and runs the tests on it.
func (m mutant) test(ctx context.Context, dir string, timeout time.Duration) verdict {
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	original, err := filepath.Abs(m.file)
	text, _ := json.Marshal(map[string]map[string]string{"Replace": {original: changed}}) //nolint:errchkjson // strings
	err = cmp.Or(err, os.MkdirAll(dir, 0o700), os.WriteFile(changed, m.changed(), 0o600), os.WriteFile(overlay, text, 0o600))
	if err != nil {
		panic(err) // a folder of our own
	}
	v, _ := test(ctx, m.pkg(), overlay, timeout)
	return v
}
