// SPDX-License-Identifier: Apache-2.0

// Package fault crashes the workers of a pipeline, and writes down what others could see
// before, for trials and tests.
package fault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
)

// Behind, if not nil, is asked for what comes behind a step of noisebeam while a pipeline is
// built. It returns a collection with the same elements. It is nil but in trials and tests.
var Behind func(s beam.Scope, step string, col beam.PCollection) beam.PCollection

// After returns the collection that the step made.
func After(s beam.Scope, step string, col beam.PCollection) beam.PCollection {
	if Behind == nil {
		return col
	}
	return Behind(s, step, col)
}

// Crashes are one behind each step of a pipeline: at an element of a bundle, or at its end if
// it has fewer.
type Crashes struct {
	// Dir has a file for every crash that was, and "seen", a line for every element of the Watched steps
	// that was seen.
	Dir     string
	Kill    bool // the process, by SIGKILL, and not only the bundle
	Element int
	Watched []string

	steps []string
}

// Behind puts a crash behind a step.
func (c *Crashes) Behind(s beam.Scope, step string, col beam.PCollection) beam.PCollection {
	name := fmt.Sprintf("%s-%d", step, len(c.steps))
	c.steps = append(c.steps, name)
	f := crash{Mark: filepath.Join(c.Dir, name), Kill: c.Kill, Element: c.Element}
	if slices.Contains(c.Watched, step) {
		f.Name, f.Seen = name, filepath.Join(c.Dir, "seen")
	}
	if typex.IsKV(col.Type()) {
		return beam.ParDo(s, &pairFn{f}, col)
	}
	return beam.ParDo(s, &elementFn{f}, col)
}

// Steps is the number of crashes that there are to be.
func (c *Crashes) Steps() int { return len(c.steps) }

// Done is the number of those that were.
func (c *Crashes) Done() int {
	n := 0
	for _, step := range c.steps {
		if _, err := os.Stat(filepath.Join(c.Dir, step)); err == nil {
			n++
		}
	}
	return n
}

// crash is what the two DoFns have in common.
type crash struct {
	Mark, Name, Seen string
	Kill             bool
	Element          int
	n                int
}

func (c *crash) see(element string) error {
	if c.Seen != "" {
		seen, err := os.OpenFile(c.Seen, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(seen, c.Name, element)
		if err := errors.Join(err, seen.Close()); err != nil {
			return err
		}
	}
	if c.n++; c.n != c.Element {
		return nil
	}
	return c.crash()
}

// crash is once for all workers.
func (c *crash) crash() error {
	mark, err := os.OpenFile(c.Mark, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil //nolint:nilerr // it was before
	}
	if err := mark.Close(); err != nil {
		return err
	}
	if c.Kill {
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return fmt.Errorf("the bundle fails, as asked for, at %s", filepath.Base(c.Mark))
}

// finish crashes if there were too few elements.
func (c *crash) finish() error {
	if c.n == 0 {
		return nil
	}
	c.n = 0
	return c.crash()
}

type elementFn struct{ C crash }

func (f *elementFn) ProcessElement(x beam.X) (beam.X, error) { return x, f.C.see(fmt.Sprint(x)) }

func (f *elementFn) FinishBundle() error { return f.C.finish() }

type pairFn struct{ C crash }

func (f *pairFn) ProcessElement(x beam.X, y beam.Y) (beam.X, beam.Y, error) {
	return x, y, f.C.see(fmt.Sprint(x, " ", y))
}

func (f *pairFn) FinishBundle() error { return f.C.finish() }

func init() {
	beam.RegisterDoFn(reflect.TypeFor[elementFn]())
	beam.RegisterDoFn(reflect.TypeFor[pairFn]())
}
