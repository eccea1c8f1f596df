package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/tables"
)

// designStore keeps finished designs as table files in a folder.
type designStore struct {
	*tables.Store
	streams *shell.Streams
	dir     string
}

// storedDesign is a design with its certificate.
type storedDesign struct {
	dp.Problem
	certificate tables.Certificate
}

func newStoredDesign(v *tables.Verified) *storedDesign {
	return &storedDesign{v.Mechanism().Problem(), v.Certificate()}
}

func (d *storedDesign) gap() float64 { return shell.GapOf(d.certificate) }

// newDesignStore opens a folder, which is made if it is missing.
func newDesignStore(s *shell.Streams, dir string) (*designStore, error) {
	store, err := tables.NewStore(tables.StoreOptions{
		Directory: dir,
		Rejected:  func(err error) { s.Warn("%s; it is designed again", shell.Sentence(err)) },
	})
	if err != nil {
		return nil, shell.BadInput("", fmt.Errorf("output %s: %w", dir, shell.FileCause(err)))
	}
	return &designStore{store, s, dir}, nil
}

// obtain gets the design of a problem: the stored one if it is good enough, or else the better
// of it and a new one.
func (s *designStore) obtain(ctx context.Context, p dp.Problem, o lp.Options) (*storedDesign, error) {
	var old *storedDesign
	if v := s.Load(p); v != nil {
		if old = newStoredDesign(v); old.gap() <= o.Gap {
			return old, nil
		}
	}
	r, _, err := shell.Design(ctx, p, o)
	switch {
	case err != nil:
		return nil, err
	case old != nil && old.gap() <= r.Gap:
		return old, nil
	}
	return newStoredDesign(r.Table), s.Keep(r.Table)
}

// designAll obtains the designs of all problems, in their order, on all cores.
// Cancelled, it keeps what is finished in the store.
func (s *designStore) designAll(ctx context.Context, problems []dp.Problem, o lp.Options, line *shell.Progress) ([]*storedDesign, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	designs := make([]*storedDesign, len(problems))
	var lock sync.Mutex
	var first error
	count := 0
	todo := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(problems)) {
		workers.Go(func() {
			for i := range todo {
				d, err := s.obtain(inner, problems[i], o)
				lock.Lock()
				switch {
				case err == nil:
					designs[i] = d
					count++
					line.Count("designing", count, len(problems))
				case first == nil:
					first = err
					cancel()
				}
				lock.Unlock()
			}
		})
	}
	for _, i := range slowestFirst(problems) {
		if inner.Err() != nil {
			break
		}
		todo <- i
	}
	close(todo)
	workers.Wait()
	line.Clear()
	if err := ctx.Err(); err != nil {
		s.streams.Warn("%d of %d designs are kept in %s; the same command goes on from there", count, len(problems), s.dir)
		return nil, err
	}
	return designs, first
}

// slowestFirst orders problems by the time that they take, which is longest for large epsilon
// and delta, so that no core is left with a slow one at the end.
func slowestFirst(problems []dp.Problem) []int {
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
