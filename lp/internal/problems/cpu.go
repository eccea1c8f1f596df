// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"syscall"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/lp/internal/noise"
)

// spent returns the CPU time of this process.
func spent() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// designByCPU is design in this process, with CPU time for a clock. Both sides are then solved one after the other.
func designByCPU(p problem) (r result, err error) {
	what, err := p.parse()
	if err != nil {
		return r, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	start := spent()
	clock := func() time.Duration { return spent() - start }
	const mostCells = 1 << 17
	s, ctx, end := meet.Options{
		Gap: *gap, MaxCells: mostCells, TimeLimit: *limit, Clock: clock,
		Step: func(float64) {
			if clock() >= *limit {
				cancel()
			}
		},
	}.Begin(ctx)
	defer end()
	v, outcome, err := noise.Design(ctx, what, s)
	if v == nil || err != nil && !errors.Is(err, meet.ErrLimit) {
		return r, err
	}
	r = result{problem: p, CPU: clock().Seconds(), Wall: time.Since(s.Start).Seconds()}
	r.Loss, _ = v.Bounds().Loss.Float64()
	r.Bound, _ = v.Bounds().LowerBound.Float64()
	if !math.IsInf(outcome.Gap, 1) {
		r.Gap = &outcome.Gap
	}
	return r, nil
}

// parse reads the arguments, of which random ones are some that the program knows.
func (p problem) parse() (what dp.Problem, err error) {
	what.Query = dp.RealQuery
	for i := 0; i < len(p.Args); i++ {
		name, value := p.Args[i], ""
		if i+1 < len(p.Args) {
			value = p.Args[i+1]
		}
		i++ // flags without a value take it back
		var bad error
		switch name {
		case "--epsilon":
			what.Epsilon, bad = strconv.ParseFloat(value, 64)
		case "--delta":
			what.Delta, bad = strconv.ParseFloat(value, 64)
		case "--sensitivity":
			what.Sensitivity, bad = strconv.ParseFloat(value, 64)
		case "--step":
			what.Query = dp.LatticeQuery
			what.Step, bad = strconv.ParseFloat(value, 64)
		case "--query":
			what.Query = dp.Query(value)
		case "--loss":
			what.Loss, bad = loss.Parse(value)
		case "--symmetric":
			what.Constraints.Symmetric = true
			i--
		case "--monotone":
			what.Constraints.Monotone = true
			i--
		case "--unbiased":
			what.Constraints.Unbiased = true
			i--
		default:
			bad = errors.New("want one that random problems have")
		}
		if bad != nil {
			return what, fmt.Errorf("-cpu: %s %s: %w", name, value, bad)
		}
	}
	return what, what.Validate()
}
