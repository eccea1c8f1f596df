// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// inMemory is the files of a bundle, in memory.
func inMemory(t *testing.T, s Spec) fstest.MapFS {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "b")
	if err := must(New(s)).Write(dir, false); err != nil {
		t.Fatal(err)
	}
	all := fstest.MapFS{}
	for name, text := range contents(t, dir) {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

// words are those that mean something in a bundle.json, each with another meaning.
var words = []any{
	"ball", "l1-ball", "box", "bounds", "cells", "category", "basic", "exact", "l1", "l2", "norm", "none", "designed", "laplace", "gaussian", "spherical", "local", "local-unbiased",
	"features", "values", "classes", "identity", "sigmoid", "relu", "tanh", "noisewright-bundle", "noisewright-table", "", "x",
}

// forgeries returns what may be put in the place of a value.
func forgeries(v any) []any {
	list := []any{nil, true, false, "1", 0.0, -1.0, 1.0, 2.0, 3.0, 0.25, 17.0, 1e9, 1e-300, 1e300, []any{}, []any{1.0}, map[string]any{}}
	switch v := v.(type) {
	case float64:
		list = append(list, v+1, v-1, 2*v, v/2, math.Nextafter(v, math.Inf(-1)), 0-v)
	case string:
		list = append(list, words...)
	case []any:
		list = append(list, append(slices.Clone(v), 0.0), append(slices.Clone(v), "more"), append(slices.Clone(v), v...))
		if len(v) > 0 {
			list = append(list, v[1:], append(slices.Clone(v), v[0]))
		}
	case map[string]any:
		for name := range v {
			less := maps.Clone(v)
			delete(less, name)
			list = append(list, less)
		}
		more := maps.Clone(v)
		more["more"] = 1.0
		list = append(list, more)
	}
	return list
}

// eachForgery calls f with every document that differs from that of doc in one value,
// and the path of that value.
func eachForgery(doc any, path string, f func(path string, forged any)) {
	for _, v := range forgeries(doc) {
		f(path, v)
	}
	switch v := doc.(type) {
	case map[string]any:
		for name, x := range v {
			eachForgery(x, path+"."+name, func(path string, forged any) {
				c := maps.Clone(v)
				c[name] = forged
				f(path, c)
			})
		}
	case []any:
		for i, x := range v {
			eachForgery(x, path+"[]", func(path string, forged any) {
				c := slices.Clone(v)
				c[i] = forged
				f(path, c)
			})
		}
	}
}

// free are the values of a bundle.json that may be others without an effect on what is
// proved.
var free = []string{
	".features[]", ".clip_origin", ".predicted.training_loss", ".predicted.theory_loss", ".privacy.epsilon", ".privacy.delta",
	".layers[].activation", ".head[].activation", ".output", ".outputs[]", ".cells.decisions[]",
}

// TestForgedFields puts something else in the place of every value of bundle.json, at
// every level. What is then read and proved is proved as before, and only a value that has no
// part in the proof is another; what had no promise has none.
func TestForgedFields(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for name, s := range map[string]Spec{"layers": layered(t), "filter": filter(t), "category": decisive(t), "balls": layeredOnBalls(t)} {
		all := inMemory(t, s)
		var want *Verified
		if s.Noise != None {
			want = must(must(ReadFS(all)).Verify(nil))
		}
		var doc any
		if err := json.Unmarshal(all["bundle.json"].Data, &doc); err != nil {
			t.Fatal(err)
		}
		read, proved, count := 0, 0, 0
		eachForgery(doc, "", func(path string, forged any) {
			text, err := json.Marshal(forged)
			if err != nil {
				t.Fatal(err)
			}
			count++
			forgery := maps.Clone(all)
			forgery["bundle.json"] = &fstest.MapFile{Data: text}
			b, err := ReadFS(forgery)
			if err != nil {
				if b != nil || !errors.Is(err, proof.ErrFormat) && !errors.Is(err, dp.ErrInvalid) && !errors.Is(err, fs.ErrNotExist) {
					t.Fatalf("%s, %s: %s: %v", name, path, text, err)
				}
				return
			}
			read++
			v, err := b.Verify(nil)
			if want == nil && (v != nil || !errors.Is(err, ErrNoPromise) || b.spec.Noise != None) {
				t.Fatalf("%s, %s: %s: %v, want ErrNoPromise", name, path, text, err)
			}
			if err != nil {
				return
			}
			proved++
			if p := b.Promise(); !slices.Contains(free, path) && !same(doc, forged) && !(path == ".domain" && s.Ball != nil) || v.EpsilonUpper().Cmp(want.EpsilonUpper()) != 0 ||
				v.DeltaUpper().Cmp(want.DeltaUpper()) != 0 || v.EpsilonUpper().Cmp(exact.Rational(p.Epsilon)) > 0 {
				t.Errorf("%s, %s is proved: %s", name, path, text)
			}
		})
		if count < 1000 || read < 50 || want != nil && proved < 50 {
			t.Errorf("%s: %d forgeries, %d of them read, %d proved: the test sees little", name, count, read, proved)
		}
	}
}

// layeredOnBalls is layered with noise on balls for the box, in which other bodies are.
func layeredOnBalls(t *testing.T) Spec {
	s, noise := layered(t), jointOnBalls(t, Box, 1.25, -12, 0.375, 0.5)
	s.Domain, s.Axes, s.Noise, s.Composition, s.Promise = noise.Domain, noise.Axes, noise.Noise, noise.Composition, noise.Promise
	s.Tables, s.TableOf, s.Ball = nil, nil, noise.Ball
	return s
}

// same reports whether nothing was forged.
func same(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// TestForgedArrays spoils every array; one that is read, but for the axes, has no effect on
// what is proved.
func TestForgedArrays(t *testing.T) {
	all := inMemory(t, layered(t))
	want := must(must(ReadFS(all)).Verify(nil)).EpsilonUpper()
	arrays := 0
	for name, file := range all {
		if !strings.HasSuffix(name, ".npy") {
			continue
		}
		arrays++
		text := string(file.Data)
		last := func(x float64) string {
			bits := math.Float64bits(x)
			b := []byte(text)
			for i := range 8 {
				b[len(b)-8+i] = byte(bits >> (8 * i))
			}
			return string(b)
		}
		header := text[:128]
		for what, forged := range map[string]string{
			"an entry less":    text[:len(text)-8],
			"an entry more":    text + text[len(text)-8:],
			"nothing":          "",
			"the header alone": header,
			"a NaN":            last(math.NaN()),
			"an infinity":      last(math.Inf(-1)),
			"a large number":   last(math.Nextafter(limits.Magnitude, math.Inf(1))),
			"another type":     strings.Replace(text, "<f8", "<f4", 1),
			"another order":    strings.Replace(text, "False", "True ", 1),
			"another shape":    strings.Replace(text, "'shape': (", "'shape': (1", 1),
			"no shape":         strings.Replace(text, "'shape': (", "'shape': (0, ", 1),
		} {
			forgery := maps.Clone(all)
			forgery[name] = &fstest.MapFile{Data: []byte(forged)}
			if b, err := ReadFS(forgery); b != nil || !errors.Is(err, proof.ErrFormat) && !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%s in %s: %v", what, name, err)
			}
		}
		forgery := maps.Clone(all)
		forgery[name] = &fstest.MapFile{Data: []byte(last(0.75))}
		v, err := must(ReadFS(forgery)).Verify(nil)
		if name == "axes.npy" {
			if v != nil || !errors.Is(err, proof.ErrNotPrivate) {
				t.Errorf("a larger axis: %v, want ErrNotPrivate", err)
			}
		} else if err != nil || v.EpsilonUpper().Cmp(want) != 0 {
			t.Errorf("another number in %s: %v", name, err)
		}
	}
	if arrays != 12 {
		t.Errorf("%d arrays, want those of layers and a head too", arrays)
	}
}

// TestForgedTables: the body and the table of another are not those of the promise.
func TestForgedTables(t *testing.T) {
	for name, change := range map[string]func(s *Spec){
		"a table for half of the axes": func(s *Spec) {
			s.Tables = []*tables.Table{must(laplaceTable(2, -6, L1Ball, []float64{0.25, 0.25}))}
		},
		"a table with a coarser grid": func(s *Spec) { s.Tables = []*tables.Table{must(laplaceTable(2, -4, L1Ball, []float64{0.4, 0.4}))} },
		"a table that is weaker":      func(s *Spec) { s.Tables[0] = weaker(s.Tables[0]) },
		"a table per coordinate":      func(s *Spec) { s.Tables = twoTables(t)[:1] },
		"one axis a step too large":   func(s *Spec) { s.Axes[1] += s.gridStep() },
		"a box":                       func(s *Spec) { s.Domain = Box },
		"a ball":                      func(s *Spec) { s.Domain = Ball },
	} {
		s := layered(t)
		change(&s)
		if v, err := must(ReadFS(inMemory(t, s))).Verify(nil); v != nil || !errors.Is(err, proof.ErrNotPrivate) {
			t.Errorf("%s: %v, want ErrNotPrivate", name, err)
		}
	}
}

func (s *Spec) gridStep() float64 { return newBody(s).step }
