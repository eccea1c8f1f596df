// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/integrations/beam/internal/fault"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/plan"
	"github.com/noisewright/noisewright/release"
)

// PeriodOptions say which period of a series is released. All of it is public.
type PeriodOptions struct {
	// WorkloadOptions are of all periods, and the same for each of them. Cells are one column, whose values are the periods in their
	// order. MaxPerPerson is in how many periods a person counts: the earliest, and not any.
	WorkloadOptions
	// Period is the value of the one that is released, which is over.
	Period string
	// Before are the numbers that were measured of the periods before it, in their order.
	Before []int64
}

// Period releases one period of a plan that measures each cell by itself, such as those of plan design --series: the number
// that is measured of it, a PCollection<int64> of one element, and the answers to all queries about the periods up to it, a
// PCollection<release.WorkloadAnswer>. What was measured is Before of the next period, in another pipeline. The budget is
// charged the plan's epsilon and delta with the first period, and nothing with others.
//
// Guarantee (docs/proofs/plan.md, "Series"): what is released of all periods together is (epsilon, delta)-private as the plan, if
// each has been released by one pipeline that was run once, and entries only grow from one period to the next, so
// that none that has counted goes or moves. Where a person may be in several periods they have all entries up to now. The
// windows and triggers of entries are dropped.
//
// The error wraps account.ErrExceeded or dp.ErrInvalid.
func Period(s beam.Scope, entries beam.PCollection, v *plan.Verified, o PeriodOptions, budget *Budget) (measured, answers beam.PCollection, err error) {
	place, err := newWorkload(entries, v, o.WorkloadOptions)
	if err != nil {
		return measured, answers, err
	}
	of, at, err := closed(v, o)
	if err != nil {
		return measured, answers, err
	}
	s = s.Scope("noisebeam.Period")
	spec := v.Mechanism().Spec()
	rows := beam.ParDo(s, &placeFn{place}, entries)
	people, err := bound(s, rows, Bounds{Partitions: cmp.Or(o.MaxPerPerson, spec.MaxPerPerson), Values: 1}, budget, true)
	if err != nil {
		return measured, answers, err
	}
	if at == 0 {
		if err := budget.Charge(account.Cost{Epsilon: spec.Epsilon, Delta: spec.Delta, Times: 1}); err != nil {
			return measured, answers, err
		}
	}
	// One number is there without any entries too, so that something is released.
	numbers := beam.Flatten(s, beam.ParDo(s, &withinFn{at}, people.parts), beam.ParDo(s, noEntry, beam.Impulse(s)))
	counts := fault.After(s, "counts", beam.CombinePerKey(s, &addFn{}, numbers))
	measured = fault.After(s, "answers", beam.ParDo(s, &periodFn{of, o.Before, newSecret()}, counts))
	answers = fault.After(s, "answers", beam.ParDo(s, &sinceFn{of, o.Before}, measured))
	return beam.Reshuffle(s, measured), beam.Reshuffle(s, answers), nil
}

// closed returns the plan up to a period, which is the at-th one, from 0 on.
func closed(v *plan.Verified, o PeriodOptions) (of workload, at int, err error) {
	layout, err := (release.Workload{Plan: v, Cells: o.Cells}).Layout()
	if err != nil {
		return of, 0, err
	}
	if _, err := v.Mechanism().Closed(1); err != nil {
		return of, 0, err
	}
	labels := layout.Measured(nil).Cells[0].Labels()
	if at = slices.Index(labels, o.Period); at < 0 {
		return of, 0, check.Field("noisebeam", "period", check.Quoted(check.Shortened(o.Period)), fmt.Sprintf("one of the %d of the plan, %s to %s", len(labels), labels[0], labels[len(labels)-1]))
	}
	if len(o.Before) != at {
		return of, 0, check.Field("noisebeam", "before", len(o.Before), fmt.Sprintf("%d numbers, one that was measured of each period before %s", at, check.Shortened(o.Period)))
	}
	p, err := v.Mechanism().Closed(at + 1)
	if err != nil {
		return of, 0, err
	}
	options := o.WorkloadOptions
	options.Cells = []release.Cells{{Column: o.Cells[0].Column, Keys: labels[:at+1]}}
	of.Options = options
	of.Plan, err = encoded(p)
	return of, at, err
}

// withinFn counts who counts in a period.
type withinFn struct{ At int }

func (f *withinFn) ProcessElement(name string, _ contribution, emit func(int64, int64)) error {
	cell, err := cellOf(name)
	if err == nil && cell == uint64(f.At) { //nolint:gosec // an index
		emit(0, 1)
	}
	return err
}

// cellOf reads the partition of a cell of one column, which placeFn wrote.
func cellOf(name string) (uint64, error) { return strconv.ParseUint(strings.TrimSpace(name), 10, 64) }

// periodFn measures a period.
type periodFn struct {
	Of     workload // up to it
	Before []int64
	Secret secret
}

func (f *periodFn) Setup() error { return f.Of.Setup() }

// ProcessElement measures with random words that are for the plan, the number of the period and its count.
func (f *periodFn) ProcessElement(_, people int64) (int64, error) {
	one, err := f.Of.plan.Closed(1)
	if err != nil {
		return 0, err
	}
	people = min(people, int64(one.Inputs().Upper)) // which makes no difference larger
	hash := sha256.Sum256(f.Of.Plan)
	words := f.Secret.key().Stream("period", string(hash[:]), whole(int64(len(f.Before))), whole(people))
	y, err := one.Measure([]int64{people}, func() (uint64, error) { return words.Uint64(), nil })
	if err != nil {
		return 0, noNoise(err)
	}
	return y[0], nil
}

// sinceFn answers about all periods up to one.
type sinceFn struct {
	Of     workload
	Before []int64
}

func (f *sinceFn) Setup() error { return f.Of.Setup() }

func (f *sinceFn) ProcessElement(measured int64, emit func(release.WorkloadAnswer)) error {
	return f.Of.answers(append(slices.Clone(f.Before), measured), emit)
}
