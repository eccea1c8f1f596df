package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/tables"
)

// designStore keeps finished designs as table files in a folder. Nothing in a
// file is believed: it is verified when it is read.
type designStore struct {
	app *app
	dir string
}

// storedDesign is a design with its certificate, recomputed from its table.
type storedDesign struct {
	problem
	certificate tables.Certificate
}

func (d *storedDesign) gap() float64 { return gapOf(d.certificate) }

// newDesignStore opens a folder, which is made if it is missing.
func newDesignStore(a *app, dir string) (*designStore, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil { //nolint:gosec // less the umask, as for any file the user asked for
		return nil, badInput("", fmt.Errorf("output %s: %w", dir, inputCause(err)))
	}
	return &designStore{a, dir}, nil
}

func (s *designStore) path(p problem) string {
	return filepath.Join(s.dir, fmt.Sprintf("%s-epsilon-%v-delta-%v-sensitivity-%v.json", p.loss.Name(), p.Epsilon, p.Delta, p.Sensitivity))
}

// load returns the stored design of a problem, nil if there is none.
func (s *designStore) load(p problem) *storedDesign {
	path := s.path(p)
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	t, c, err := s.app.readSound(path)
	if err != nil {
		s.app.warn("%s; it is designed again", sentence(err))
		return nil
	}
	if t.Privacy() != (tables.Privacy{Epsilon: p.Epsilon, Delta: p.Delta, Sensitivity: p.Sensitivity}) || t.Loss().Name() != p.loss.Name() {
		s.app.warn("%s is about another problem than its name says; it is designed again", path)
		return nil
	}
	return &storedDesign{p, c}
}

// save writes a table.
func (s *designStore) save(p problem, t *tables.Table) error {
	w, err := s.app.create(s.path(p))
	if err != nil {
		return err
	}
	defer w.discard()
	if err := t.Encode(w); err != nil {
		return err
	}
	return w.commit()
}

// obtain returns the design of a problem: the stored one if it is good enough,
// or else the better of it and a new one.
func (s *designStore) obtain(ctx context.Context, p problem, o lp.Options) (*storedDesign, error) {
	old := s.load(p)
	if old != nil && old.gap() <= o.Gap {
		return old, nil
	}
	r, _, err := design(ctx, p, o)
	if err != nil {
		return nil, err
	}
	if old != nil && old.gap() <= r.Gap {
		return old, nil
	}
	return &storedDesign{p, r.Certificate}, s.save(p, r.Table)
}

// designAll obtains the designs of all problems, in their order, on all cores.
// Cancelled, it keeps what is finished in the store.
func (a *app) designAll(ctx context.Context, problems []problem, o lp.Options, store *designStore) ([]*storedDesign, error) {
	line := a.newProgress()
	defer line.clear()
	begin := time.Now()

	type finished struct {
		index  int
		design *storedDesign
		err    error
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	todo := make(chan int)
	done := make(chan finished)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(problems)) {
		workers.Go(func() {
			for i := range todo {
				d, err := store.obtain(inner, problems[i], o)
				done <- finished{i, d, err}
			}
		})
	}
	go func() {
		for _, i := range slowFirst(problems) {
			if inner.Err() != nil {
				break
			}
			todo <- i
		}
		close(todo)
		workers.Wait()
		close(done)
	}()

	designs := make([]*storedDesign, len(problems))
	var first error
	count := 0
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for open := true; open; {
		line.count(count, len(problems), time.Since(begin))
		select {
		case <-tick.C:
		case f, ok := <-done:
			switch {
			case !ok:
				open = false
			case f.err == nil:
				designs[f.index] = f.design
				count++
			case first == nil:
				first = f.err
				cancel()
			}
		}
	}
	line.clear()
	if err := ctx.Err(); err != nil {
		a.warn("%d of %d designs are kept in %s; the same command goes on from there", count, len(problems), store.dir)
		return nil, err
	}
	return designs, first
}

// slowFirst returns the order in which to solve the problems, so that no core
// is left with a slow one at the end: designs take longest for large epsilon
// and, there, for large delta.
func slowFirst(problems []problem) []int {
	order := make([]int, len(problems))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := problems[i], problems[j]
		return cmp.Or(cmp.Compare(b.Epsilon, a.Epsilon), cmp.Compare(b.Delta, a.Delta))
	})
	return order
}
