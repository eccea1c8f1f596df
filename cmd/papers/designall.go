package main

import (
	"cmp"
	"context"
	"errors"
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

func (d *storedDesign) gap() float64 { return shell.GapOf(d.certificate.Bounds()) }

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

// obtain gets the designs of problems that differ in delta only: the stored ones
// where they are good enough, or else the better of these and new ones. It calls
// done with the index of each.
func (s *designStore) obtain(ctx context.Context, problems []dp.Problem, o lp.Options, done func(i int, d *storedDesign)) error {
	var missing []int
	old := make([]*storedDesign, len(problems))
	for i, p := range problems {
		if v := s.Load(p); v != nil {
			old[i] = newStoredDesign(v)
		}
		if old[i] != nil && old[i].gap() <= o.Gap {
			done(i, old[i])
		} else {
			missing = append(missing, i)
		}
	}
	handed := 0
	keep := func(i int, r *lp.Result) error {
		handed++
		d := newStoredDesign(r.Table)
		if old[i] != nil && old[i].gap() <= r.Gap {
			d = old[i]
		} else if err := s.Keep(r.Table); err != nil {
			return err
		}
		done(i, d)
		return nil
	}
	if len(missing) == 0 {
		return nil
	}
	if len(missing) == 1 {
		r, _, err := shell.Design(ctx, problems[missing[0]], o)
		if err != nil {
			return err
		}
		return keep(missing[0], r)
	}
	var deltas []float64
	for _, i := range missing {
		deltas = append(deltas, problems[i].Delta)
	}
	p := problems[0]
	err := lp.Sweep(ctx, dp.Problem{Privacy: dp.Privacy{Epsilon: p.Epsilon, Sensitivity: p.Sensitivity}, Loss: p.Loss}, deltas, o, func(i int, r *lp.Result) error {
		if err := ctx.Err(); err != nil && !r.Optimal {
			return err
		}
		return keep(missing[i], r)
	})
	switch {
	case !errors.Is(err, lp.ErrLimit) || ctx.Err() != nil:
		return err
	case handed < len(missing):
		return &shell.Failure{Code: shell.ExitBadInput, Err: err, Hint: "a larger --epsilon or --delta, or more cells (--max-cells)"}
	}
	return nil // the designs are there; their gaps say it
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
	todo := make(chan []int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(problems)) {
		workers.Go(func() {
			for group := range todo {
				var list []dp.Problem
				for _, i := range group {
					list = append(list, problems[i])
				}
				err := s.obtain(inner, list, o, func(i int, d *storedDesign) {
					lock.Lock()
					defer lock.Unlock()
					designs[group[i]] = d
					count++
					line.Count("designing", count, len(problems))
				})
				lock.Lock()
				if err != nil && first == nil {
					first = err
					cancel()
				}
				lock.Unlock()
			}
		})
	}
	for _, group := range together(problems) {
		if inner.Err() != nil {
			break
		}
		todo <- group
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

// together returns the groups of problems to solve together, those of one epsilon, those
// that take longest first, so that no core is left with a slow one at the end: designs
// take longest for large epsilon.
func together(problems []dp.Problem) [][]int {
	order := make([]int, len(problems))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := problems[i], problems[j]
		return cmp.Or(cmp.Compare(b.Epsilon, a.Epsilon), cmp.Compare(b.Delta, a.Delta))
	})
	var groups [][]int
	for _, i := range order {
		e := problems[i].Epsilon
		if n := len(groups) - 1; n >= 0 && problems[groups[n][0]].Epsilon == e {
			groups[n] = append(groups[n], i)
		} else {
			groups = append(groups, []int{i})
		}
	}
	return groups
}
