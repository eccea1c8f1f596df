// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"reflect"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/integrations/beam/internal/fault"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/plan"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/release"
)

// Entry is a row of a person for a plan: its values of the columns of WorkloadOptions.Cells, in their order. Entries of
// nobody, Person "", do not count.
type Entry struct {
	Person string
	Values []string
}

// WorkloadOptions say which cell an entry is in, and what Workload returns. All of it is public.
type WorkloadOptions struct {
	// Cells are the values that count: of one column, or for marginals of one for each attribute of the plan. An entry
	// with another value, or another number of values, is in no cell and does not count.
	Cells []release.Cells
	// MaxPerPerson is in how many cells a person counts, chosen at random among those that the person has
	// entries in; 0: as many as the plan says, and never more.
	MaxPerPerson int
	// Level is the probability of the intervals, above 0 and below 1.
	Level float64
	// NonNegative raises answers and intervals to 0, see release.Measured.
	NonNegative bool
	// StrictNotPrivate fails the pipeline for an entry in no cell, by an error that tells the column and not the
	// value. That it failed is exact and not private.
	StrictNotPrivate bool
}

// Workload releases all answers of a plan about entries, PCollection<Entry>, as a PCollection<release.WorkloadAnswer>, in any
// order. A person counts once in each of at most as many cells as the plan says. The budget is charged the plan's epsilon
// and delta. What is measured is drawn once, from one secret and all exact counts, by one worker, which holds 8 bytes
// for each number that the plan measures and counts.
//
// Guarantee: what is released is (epsilon, delta)-private as the plan, for neighbors that differ by one person with all entries, and
// for a plan of dp.Replace also for those in which a person has other entries instead. The windows and triggers
// of entries are dropped.
//
// The error wraps account.ErrExceeded or dp.ErrInvalid.
func Workload(s beam.Scope, entries beam.PCollection, v *plan.Verified, o WorkloadOptions, budget *Budget) (beam.PCollection, error) {
	none := beam.PCollection{}
	f, err := newWorkload(entries, v, o)
	if err != nil {
		return none, err
	}
	s = s.Scope("noisebeam.Workload")
	spec := v.Mechanism().Spec()
	rows := beam.ParDo(s, &placeFn{f}, entries)
	people, err := Bound(s, rows, Bounds{Partitions: cmp.Or(o.MaxPerPerson, spec.MaxPerPerson), Values: 1}, budget)
	if err != nil {
		return none, err
	}
	if err := budget.Charge(account.Cost{Epsilon: spec.Epsilon, Delta: spec.Delta, Times: 1}); err != nil {
		return none, err
	}
	// One number is there without any entries too, so that something is released.
	numbers := beam.Flatten(s, beam.ParDo(s, &inputFn{f}, people.parts), beam.ParDo(s, noEntry, beam.Impulse(s)))
	counts := fault.After(s, "counts", beam.ParDo(s, counted, beam.CombinePerKey(s, &addFn{}, numbers)))
	all := beam.GroupByKey(s, beam.AddFixedKey(s, counts))
	answers := beam.ParDo(s, &measureFn{f, newSecret()}, all)
	return beam.Reshuffle(s, fault.After(s, "answers", answers)), nil
}

// workload is a plan on its way to the workers.
type workload struct {
	Plan    []byte // the file
	Options WorkloadOptions
	plan    *plan.Plan
	layout  *release.Layout
}

func newWorkload(entries beam.PCollection, v *plan.Verified, o WorkloadOptions) (f workload, err error) {
	if v == nil || v.Mechanism() == nil {
		return f, check.Field("noisebeam", "plan", "none", "a verified one")
	}
	bad := check.In("noisebeam")
	most := v.Mechanism().Spec().MaxPerPerson
	bad.Want(o.MaxPerPerson >= 0 && o.MaxPerPerson <= most, "max-per-person", o.MaxPerPerson, "at most %d, the cells that a person may be in by the plan", most)
	bad.Want(entries.Type().Type() == reflect.TypeFor[Entry](), "entries", entries.Type(), "noisebeam.Entry")
	if err := bad.Err(); err != nil {
		return f, err
	}
	layout, err := (release.Workload{Plan: v, Cells: o.Cells}).Layout()
	if err == nil {
		err = layout.Validate(o.Level, o.NonNegative)
	}
	if err != nil {
		return f, err
	}
	f.Options = o
	f.Plan, err = encoded(v.Mechanism())
	return f, err
}

func encoded(p *plan.Plan) ([]byte, error) {
	var file bytes.Buffer
	err := p.Encode(&file)
	return file.Bytes(), err
}

// Setup verifies the plan, for the DoFns of which this is a part.
func (f *workload) Setup() error {
	v, err := verified(f.Plan, plan.Decode, proof.Verify[plan.Plan, plan.Certificate])
	if err != nil {
		return err
	}
	f.plan = v.Mechanism()
	f.layout, err = release.Workload{Plan: v, Cells: f.Options.Cells}.Layout()
	return err
}

// placeFn makes rows of entries, of which the partition is the cell.
type placeFn struct{ Of workload }

func (f *placeFn) Setup() error { return f.Of.Setup() }

func (f *placeFn) ProcessElement(e Entry, emit func(Row)) error {
	cell, err := f.Of.layout.Cell(e.Values)
	if err != nil {
		if f.Of.Options.StrictNotPrivate {
			return check.Errorf("noisebeam", dp.ErrInvalid, "an entry: %w", err)
		}
		return nil
	}
	var name []byte
	for _, i := range cell {
		name = append(strconv.AppendInt(name, int64(i), 10), ' ')
	}
	emit(Row{Person: e.Person, Partition: string(name)})
	return nil
}

// inputFn counts a person's cell in the numbers of the plan's input.
type inputFn struct{ Of workload }

func (f *inputFn) Setup() error { return f.Of.Setup() }

func (f *inputFn) ProcessElement(name string, _ contribution, emit func(int64, int64)) error {
	var cell []int
	for text := range strings.FieldsSeq(name) {
		i, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		cell = append(cell, i)
	}
	f.Of.layout.Inputs(cell, func(i int) { emit(int64(i), 1) })
	return nil
}

func noEntry([]byte) (place, people int64) { return 0, 0 }

// count is an exact, and secret, number of the plan's input.
type count struct{ Place, People int64 }

func counted(place, people int64) count { return count{place, people} }

// measureFn measures what the plan says of all counts, and answers.
type measureFn struct {
	Of     workload
	Secret secret
}

func (f *measureFn) Setup() error { return f.Of.Setup() }

// ProcessElement measures with random words that are for the plan and all counts: so whoever measures the same again
// gets the same, and of other counts everything has other noise.
func (f *measureFn) ProcessElement(_ int, counts func(*count) bool, emit func(release.WorkloadAnswer)) error {
	y, err := f.measured(counts)
	if err != nil {
		return noNoise(err)
	}
	return f.Of.answers(y, emit)
}

// answers emits all of what was measured.
func (f *workload) answers(y []int64, emit func(release.WorkloadAnswer)) error {
	return f.layout.Measured(y).Answers(f.Options.Level, f.Options.NonNegative, func(a release.WorkloadAnswer) error {
		emit(a)
		return nil
	})
}

func (f *measureFn) measured(counts func(*count) bool) ([]int64, error) {
	space := f.Of.plan.Inputs()
	input := make([]int64, space.Size)
	for c := (count{}); counts(&c); {
		input[c.Place] = min(c.People, int64(space.Upper)) // which makes no difference larger
	}
	text, hash := sha256.New(), sha256.Sum256(f.Of.Plan)
	if err := binary.Write(text, binary.LittleEndian, input); err != nil {
		return nil, err
	}
	words := f.Secret.key().Stream("plan", string(hash[:]), string(text.Sum(nil)))
	return f.Of.plan.Measure(input, func() (uint64, error) { return words.Uint64(), nil })
}
