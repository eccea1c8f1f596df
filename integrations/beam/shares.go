// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"bytes"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/subset"
)

// Answer is that of one person by a subset selection, drawn on the person's device. The Text is what
// noisewright privatize writes.
type Answer struct{ Person, Text string }

// Share is that of a category among the people who answered: an unbiased estimate, which may be below 0 or above 1,
// and bounds.
type Share struct {
	Category            string
	Answers             int64 // whose set has the category
	Share, Lower, Upper float64
}

// ShareOptions say what Shares returns.
type ShareOptions struct {
	// Level is the probability with which all bounds hold together, or each with Marginal: above 0 and below 1.
	Level    float64
	Marginal bool
	// Seed, if not "", is that of public turns of people: answers are short, and people have names.
	Seed string
	// Named says that people have names, of which one that answers twice fails the pipeline.
	Named bool
	// Sampled says that those who answered are a random sample, of whose all people the shares are.
	Sampled bool
}

// Shares estimates the shares of all categories of a selection from answers, PCollection<Answer>, of which there
// is at least one, and returns a PCollection<Share>. The answers were private before they were collected, so this costs no
// budget. Their windows and triggers are dropped. Workers hold 8 bytes for each category.
//
// A text that is no answer fails the pipeline. The error of Shares wraps dp.ErrInvalid.
func Shares(s beam.Scope, answers beam.PCollection, v *subset.Verified, o ShareOptions) (beam.PCollection, error) {
	none := beam.PCollection{}
	if v == nil || v.Mechanism() == nil {
		return none, check.Field("noisebeam", "selection", "none", "a verified one")
	}
	bad := check.In("noisebeam")
	bad.Want(o.Level > 0 && o.Level < 1, "level", number(o.Level), "a probability above 0 and below 1")
	bad.Want(answers.Type().Type() == reflect.TypeFor[Answer](), "answers", answers.Type(), "noisebeam.Answer")
	bad.If(o.Seed != "" && v.Mechanism().Spec().Modulus == 0, "seed", check.Quoted(o.Seed), `"": %s has no part that could be public`, v.Mechanism().Answers())
	if err := bad.Err(); err != nil {
		return none, err
	}
	var file bytes.Buffer
	if err := v.Mechanism().Encode(&file); err != nil {
		return none, err
	}
	s = s.Scope("noisebeam.Shares")
	answers = beam.WindowInto(s, window.NewGlobalWindows(), answers)
	if o.Named || o.Seed != "" {
		answers = beam.ParDo(s, onlyOne, beam.GroupByKey(s, beam.ParDo(s, named, answers)))
	}
	f := sharesFn{File: file.Bytes(), Options: o}
	return beam.ParDo(s, &estimateFn{f}, beam.Combine(s, &tallyFn{f}, answers)), nil
}

func named(a Answer) (person, text string, err error) {
	if a.Person == "" {
		return "", "", check.Field("noisebeam", "person", "none", "a name of each person's own")
	}
	return a.Person, a.Text, nil
}

func onlyOne(person string, texts func(*string) bool) (Answer, error) {
	a := Answer{Person: person}
	if texts(&a.Text); texts(new(string)) {
		return a, check.Errorf("noisebeam", dp.ErrInvalid, "person %s: more than one answer, want one of each person", check.Quoted(person))
	}
	return a, nil
}

// sharesFn is a selection on its way to the workers.
type sharesFn struct {
	File      []byte
	Options   ShareOptions
	selection *subset.Selection
}

func (f *sharesFn) setup() (err error) {
	if f.selection == nil {
		f.selection, err = subset.Decode(bytes.NewReader(f.File))
	}
	return err
}

// code returns an answer as a set.
func (f *sharesFn) code(a Answer) (proof.Value, error) {
	space := f.selection.Answers()
	if f.Options.Seed != "" {
		space = proof.Space{Kind: proof.Codes, Count: space.Modulus}
	}
	y, err := space.Parse(a.Text)
	if err != nil {
		return nil, check.Errorf("noisebeam", dp.ErrInvalid, "an answer is not %s", space)
	}
	if f.Options.Seed == "" {
		return y, nil
	}
	turn, err := f.selection.Turn(f.Options.Seed, a.Person)
	return proof.Code{A: turn, B: y.(proof.Code).B}, err
}

// tallied is how many answers have each category, and answers that wait to be counted.
type tallied struct {
	People  int64
	Counts  []int64
	Waiting []Answer
}

// batch is how many answers wait, which are faster counted together.
const batch = 1 << 12

// tallyFn is a combiner.
type tallyFn struct{ Of sharesFn }

func (f *tallyFn) AddInput(t tallied, a Answer) (tallied, error) {
	t.Waiting = append(t.Waiting, a)
	if len(t.Waiting) < batch {
		return t, nil
	}
	return f.counted(t)
}

func (f *tallyFn) MergeAccumulators(a, b tallied) (tallied, error) {
	if len(a.Counts) == 0 {
		a.Counts = b.Counts
	} else {
		for j, c := range b.Counts {
			a.Counts[j] += c
		}
	}
	a.People += b.People
	a.Waiting = append(a.Waiting, b.Waiting...)
	if len(a.Waiting) < batch {
		return a, nil
	}
	return f.counted(a)
}

func (f *tallyFn) ExtractOutput(t tallied) (tallied, error) { return f.counted(t) }

// counted counts what waits.
func (f *tallyFn) counted(t tallied) (tallied, error) {
	if err := f.Of.setup(); err != nil {
		return t, err
	}
	tally := f.Of.selection.Tally()
	for _, a := range t.Waiting {
		y, err := f.Of.code(a)
		if err == nil {
			err = tally.Add(y)
		}
		if err != nil {
			return t, err
		}
	}
	counts := tally.Counts()
	for j, c := range t.Counts {
		counts[j] += c
	}
	return tallied{People: t.People + tally.Answers(), Counts: counts}, nil
}

// estimateFn makes shares of counts.
type estimateFn struct{ Of sharesFn }

func (f *estimateFn) Setup() error { return f.Of.setup() }

func (f *estimateFn) ProcessElement(t tallied, emit func(Share)) error {
	if t.People == 0 {
		return check.Field("noisebeam", "answers", "none", "one of each person")
	}
	s, o := f.Of.selection, f.Of.Options
	alpha, interval := (1-o.Level)/2, s.Interval
	if !o.Marginal {
		alpha /= float64(len(t.Counts))
	}
	if o.Sampled {
		interval = s.Sampled
	}
	bounds := map[int64][2]float64{} // by count: many categories have the same
	for j, share := range s.Shares(t.Counts, t.People) {
		c := t.Counts[j]
		b, known := bounds[c]
		if !known {
			b[0], b[1] = interval(c, t.People, alpha)
			bounds[c] = b
		}
		emit(Share{s.Label(int64(j)), c, share, b[0], b[1]})
	}
	return nil
}
