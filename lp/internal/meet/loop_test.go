// SPDX-License-Identifier: Apache-2.0

package meet

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// halving is a design whose gap is that of its grid's size.
type halving struct {
	*Search
	most  int
	round error
}

func (h *halving) Round(_ context.Context, size int) error {
	h.Best, h.Bound = 1+1/float64(size), 1
	return h.round
}

func (h *halving) Next(size int) (int, error) {
	if 2*size > h.most {
		return 0, ErrLimit
	}
	return 2 * size, nil
}

// TestMeet: a design ends at the gap asked for, at its limits, or with the context.
func TestMeet(t *testing.T) {
	broken := errors.New("broken")
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		most   int
		round  error
		rounds int
		want   error
	}{
		{"gap", t.Context(), 1 << 10, nil, 7, nil},
		{"limit", t.Context(), 10, nil, 4, ErrLimit},
		{"context", ended, 1 << 10, nil, 1, ErrLimit},
		{"error", t.Context(), 1 << 10, broken, 1, broken},
		{"reserve", t.Context(), 1 << 10, fmt.Errorf("program: %w", context.DeadlineExceeded), 1, ErrLimit},
		{"canceled", t.Context(), 1 << 10, fmt.Errorf("check: %w", context.Canceled), 1, ErrLimit},
	} {
		rounds := 0
		s, ctx, cancel := Options{Gap: 0.02, Progress: func(*Search, int) { rounds++ }}.Begin(c.ctx)
		err := s.Meet(ctx, &halving{s, c.most, c.round}, 1)
		cancel()
		if !errors.Is(err, c.want) || rounds != c.rounds {
			t.Errorf("%s: %d rounds, error %v, want %d and %v", c.name, rounds, err, c.rounds, c.want)
		}
	}
}

// TestBoth: an error of a side is returned, and a limit of one is that of both.
func TestBoth(t *testing.T) {
	broken := errors.New("broken")
	s, ctx, cancel := Options{}.Begin(t.Context())
	defer cancel()
	side := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	for _, c := range []struct{ upper, lower, want error }{
		{nil, nil, nil}, {ErrLimit, nil, ErrLimit}, {nil, broken, broken}, {broken, ErrLimit, ErrLimit},
	} {
		if err := s.Both(ctx, 0, side(c.upper), side(c.lower)); !errors.Is(err, c.want) {
			t.Errorf("%v and %v: %v, want %v", c.upper, c.lower, err, c.want)
		}
	}
}
