// SPDX-License-Identifier: Apache-2.0

package catalogue_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables/catalogue"
)

// TestEveryTable: the catalogue is the whole grid, every table of it is about the problem of its name, is proved
// anew, and keeps its gap; and all are text of at most 2 MB.
func TestEveryTable(t *testing.T) {
	left := map[string]bool{}
	for _, name := range catalogue.Names() {
		left[name] = true
	}
	for query, gap := range map[dp.Query]float64{dp.IntegerQuery: 0.001, dp.RealQuery: 0.005} {
		for _, l := range []loss.Loss{loss.L1, loss.L2} {
			for _, epsilon := range []float64{0.1, 0.25, 0.5, 1, 2, 3, 5, 10} {
				for _, delta := range []float64{0, 1e-9, 1e-6, 1e-5} {
					p := dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, Query: query, Loss: l}
					v, err := catalogue.Find(p)
					if err != nil {
						t.Errorf("%+v: %v", p, err)
						continue
					}
					delete(left, catalogue.Name(p))
					if own := v.Mechanism().Problem(); own.Privacy != p.Privacy || own.Query != query || own.Loss.Name() != l.Name() || !own.Constraints.None() {
						t.Errorf("%s is about %+v", catalogue.Name(p), own)
					}
					if g, ok := v.Bounds().Gap(); !ok || g > gap {
						t.Errorf("%s has a gap of %v, want at most %v", catalogue.Name(p), g, gap)
					}
				}
			}
		}
	}
	if len(left) > 0 {
		t.Errorf("%v are no part of the grid", left)
	}
	size := int64(0)
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			if info, bad := d.Info(); bad == nil && !d.IsDir() {
				size += info.Size()
			}
		}
		return err
	})
	if err != nil || size > 2e6 {
		t.Errorf("%d bytes (%v), want at most 2 MB", size, err)
	}
}

func TestFindRefuses(t *testing.T) {
	good := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 1e-6, Sensitivity: 1}, Loss: loss.L1}
	for name, change := range map[string]func(*dp.Problem){
		"epsilon":     func(p *dp.Problem) { p.Epsilon = 0.7 },
		"delta":       func(p *dp.Problem) { p.Delta = 1e-7 },
		"sensitivity": func(p *dp.Problem) { p.Sensitivity = 2 },
		"loss":        func(p *dp.Problem) { p.Loss, _ = loss.Parse("huber:1") },
		"no loss":     func(p *dp.Problem) { p.Loss = nil },
		"constraints": func(p *dp.Problem) { p.Constraints.Unbiased = true },
		"a path":      func(p *dp.Problem) { p.Query = "../integer" },
	} {
		p := good
		change(&p)
		if v, err := catalogue.Find(p); !errors.Is(err, dp.ErrInvalid) || v != nil {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if _, err := catalogue.Read("../catalogue"); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("no name: %v, want ErrInvalid", err)
	}
	if v, err := catalogue.Find(good); err != nil || v == nil {
		t.Errorf("a real query need not be named: %v", err)
	}
}

// TestNames: families with weighted losses have names of their own, fit for files.
func TestNames(t *testing.T) {
	l, err := loss.Parse("l1:0.7 + exceed:3:0.3")
	if err != nil {
		t.Fatal(err)
	}
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 0.1, Delta: 1e-6, Sensitivity: 1}, Loss: l}
	if got, want := catalogue.Name(p), "real-l1-0.7-exceed-3-0.3-epsilon-0.1-delta-1e-06"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func ExampleFind() {
	v, err := catalogue.Find(dp.Problem{
		Privacy: dp.Privacy{Epsilon: 1, Delta: 1e-6, Sensitivity: 1},
		Query:   dp.IntegerQuery,
		Loss:    loss.L1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := sampler.NewNoise(v, sampler.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := s.AddNoise(120); err != nil { // a count
		fmt.Println(err)
	}
	fmt.Println(v.Mechanism().Cells(), "integers")
	// Output: 29 integers
}
