// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/local"
)

// The ways to answer.
const (
	// Category is randomized response on the class.
	Category = "category"
	// Levels is a randomizer designed for the levels of the score.
	Levels = "levels"
	// Given is a randomizer of one's own on the class, or on the levels of its score.
	Given = "given"
	// NoAnswer is the base rate of the classes, whoever asks.
	NoAnswer = "no answer"
)

// OnDevice reports whether noise of that name is a decision on the device.
func OnDevice(noise string) bool { return slices.Contains([]string{Category, Levels, Given}, noise) }

// Logistic is the classifier by logistic regression.
const Logistic = "logistic regression"

// Options say what to try. The zero value tries all.
type Options struct {
	Hidden []int // widths of the hidden layers of the trained network; nil: one, of twice the features, from 8 to 64
	Costs  [][]float64
	Seed   uint64
	// Plain leaves out the trained network.
	Plain bool
	// Given, if it is not nil, is the one randomizer to try: as OwnRandomizer returns it.
	Given *local.Verified
	// Progress may be nil.
	Progress func(what string, done, of int)
}

// Prepared are classifiers, for any epsilon.
type Prepared struct {
	data        *encoders.Data
	options     Options
	classifiers []*classifier
}

// Prepare trains the classifiers. The target is classes. Errors wrap dp.ErrInvalid for bad data, or
// are those of the context.
func Prepare(ctx context.Context, d *encoders.Data, o Options) (*Prepared, error) {
	if d.Target.Classes == nil {
		return nil, check.Field("decision", "target", check.Quoted(d.Target.Name), "classes, which a device can decide on")
	}
	if err := d.Validate(); err != nil {
		return nil, err
	}
	if err := validateCosts(o.Costs, len(d.Target.Classes)); err != nil {
		return nil, err
	}
	progress := func(what string) func(done, of int) {
		return func(done, of int) {
			if o.Progress != nil {
				o.Progress(what, done, of)
			}
		}
	}
	p := &Prepared{data: d, options: o}
	c, err := logistic(ctx, d, o.Seed, progress(Logistic))
	if err != nil {
		return nil, err
	}
	p.classifiers = append(p.classifiers, c)
	if o.Plain {
		return p, nil
	}
	if o.Hidden == nil {
		o.Hidden = []int{min(max(2*d.X.Cols, 8), 64)}
	}
	if c, err = trained(ctx, d, o.Hidden, o.Seed, progress("network")); err != nil {
		return nil, err
	}
	p.classifiers = append(p.classifiers, c)
	return p, nil
}

func validateCosts(costs [][]float64, classes int) error {
	if costs == nil {
		return nil
	}
	c := check.In("decision")
	c.Want(len(costs) == classes, "costs", fmt.Sprintf("%d rows", len(costs)), "%d, one for each class", classes)
	for l, row := range costs {
		c.Want(len(row) == classes, fmt.Sprintf("costs[%d]", l), fmt.Sprintf("%d costs", len(row)), "%d, one for each decision", classes)
		for d, v := range row {
			c.Want(v >= 0 && check.Finite(v), fmt.Sprintf("costs[%d][%d]", l, d), v, "a finite number at least 0")
		}
	}
	return c.Err()
}

// Way is how to answer.
type Way struct {
	Kind       string // Category, Levels, Given or NoAnswer
	Classifier string // "" for NoAnswer
	Cells      int    // 0 for NoAnswer
	classifier *classifier
}

// String returns the way as people read it.
func (w Way) String() string {
	switch w.Kind {
	case NoAnswer:
		return "no answer, the base rate"
	case Levels:
		return fmt.Sprintf("%s, %d levels, designed for cross entropy", w.Classifier, w.Cells)
	case Given:
		return fmt.Sprintf("%s, %d cells, by the randomizer given", w.Classifier, w.Cells)
	default:
		return w.Classifier + ", its class by randomized response"
	}
}

// Expected is what people who were not learned from lose, each on the average over the answers.
type Expected struct {
	Rows                       []int // people
	Errors, CrossEntropy, Cost []float64
}

// Of returns the losses by the name of a measure.
func (e *Expected) Of(measure string) []float64 {
	switch measure {
	case encoders.MeasureError:
		return e.Errors
	case MeasureCost:
		return e.Cost
	default:
		return e.CrossEntropy
	}
}

// MeasureCost is that of decisions, by the costs.
const MeasureCost = "cost"

// Trial is a way and what it is worth on people it has not seen.
type Trial struct {
	Way
	Expected
}

// Baseline is the way to compare with: logistic regression and randomized response.
func (p *Prepared) Baseline() Way {
	return Way{Category, Logistic, len(p.data.Target.Classes), p.classifiers[0]}
}

// Ways returns those to try, simpler ones first.
func (p *Prepared) Ways() []Way {
	k := len(p.data.Target.Classes)
	var ways []Way
	if g := p.options.Given; g != nil {
		for _, c := range p.classifiers {
			ways = append(ways, Way{Given, c.name, len(g.Mechanism().Spec().Values.Labels), c})
		}
		return ways
	}
	sizes := []int{4, 8, 16}
	if k > 2 {
		sizes = []int{k, 2 * k, 4 * k}
	}
	ways = append(ways, Way{Kind: NoAnswer})
	for _, c := range p.classifiers {
		ways = append(ways, Way{Category, c.name, k, c})
		for _, m := range sizes {
			if m <= limits.LocalNodes && len(c.rows) >= leastPeople*m {
				ways = append(ways, Way{Levels, c.name, m, c})
			}
		}
	}
	return ways
}

// Try returns what people lose in a way: cells, law and randomizer are made without a fifth of them
// in turn, and tried on it.
func (p *Prepared) Try(ctx context.Context, w Way, epsilon float64) (*Trial, error) {
	c := w.classifier
	if c == nil {
		c = p.classifiers[0]
	}
	t := &Trial{Way: w}
	for f := range folds {
		in, out := divided(c.fold, f)
		a, err := p.answering(ctx, w, c.unseen.pick(out), epsilon)
		if err != nil {
			return nil, err
		}
		for _, i := range in {
			t.Rows = append(t.Rows, c.rows[i])
			t.add(a, dense.Row(c.unseen.scores, i), c.unseen.labels[i], p.options.Costs)
		}
	}
	return t, nil
}

// answering is how a category is answered and read.
type answering struct {
	category  *bundle.Category
	law       law
	proof     *local.Verified
	rows      [][]float64
	logs      [][]float64
	decisions []int
	shifts    []float64 // of the scores, for the costs
}

// shifts returns what is added to scores so that the largest is that of the class which the costs
// choose: the logarithm of what it costs on the average to miss the class. Of two classes this is
// exact; of more it is if all misses of a class cost the same.
func (p *Prepared) shifts(factor float64) []float64 {
	k := len(p.data.Target.Classes)
	shifts := make([]float64, k)
	for l, row := range p.options.Costs {
		missed := 0.0
		for d, c := range row {
			if d != l {
				missed += max(c-row[l], 0) / float64(k-1)
			}
		}
		shifts[l] = math.Log(max(missed, 1e-9)) / factor
	}
	return shifts
}

func (p *Prepared) answering(ctx context.Context, w Way, q people, epsilon float64) (a *answering, err error) {
	k := len(p.data.Target.Classes)
	a = &answering{}
	factor := q.temperature()
	q.shifts, a.shifts = p.shifts(factor), p.shifts(factor)
	a.category = newCells(q, max(w.Cells/k, 1), factor)
	a.law = newLaw(q, a.category, factor)
	switch w.Kind {
	case NoAnswer:
		a.proof, err = silence(len(a.law), epsilon)
	case Category:
		a.proof, err = response(p.data.Target.Classes, epsilon)
	case Given:
		a.proof = p.options.Given
	default:
		a.proof, err = newRandomizer(ctx, a.law, epsilon)
	}
	if err != nil {
		return nil, err
	}
	for i := range a.law {
		a.rows = append(a.rows, a.proof.Mechanism().PMF(i))
	}
	a.logs, a.decisions = decoder(a.law, a.rows, p.options.Costs)
	return a, nil
}

// add appends what a person with the scores loses.
func (t *Trial) add(a *answering, scores []float64, label int, costs [][]float64) {
	ce, wrong, cost := 0.0, 0.0, 0.0
	for j, q := range a.rows[a.category.Cell(shifted(scores, a.shifts))] {
		ce -= q * a.logs[label][j]
		if a.decisions[j] != label {
			wrong += q
		}
		if costs != nil {
			cost += q * costs[label][a.decisions[j]]
		}
	}
	t.CrossEntropy, t.Errors, t.Cost = append(t.CrossEntropy, ce), append(t.Errors, wrong), append(t.Cost, cost)
}

// Mean returns the mean of losses and its standard error.
func Mean(losses []float64) (mean, standardError float64) {
	n := float64(len(losses))
	mean = floats.Sum(losses) / n
	for _, x := range losses {
		standardError += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(standardError / max(n-1, 1) / n)
}

// leastPeople is how many there are to be for each cell: 16 levels of 400 people follow these people.
const leastPeople = 40

// Search tries the ways of these kinds, or all.
func (p *Prepared) Search(ctx context.Context, epsilon float64, kinds ...string) ([]*Trial, error) {
	ways := slices.DeleteFunc(p.Ways(), func(w Way) bool { return len(kinds) > 0 && !slices.Contains(kinds, w.Kind) })
	if len(ways) == 0 {
		return nil, check.Field("decision", "data", fmt.Sprintf("%d rows", len(p.classifiers[0].rows)), fmt.Sprintf("at least %d people for each of the cells of levels", leastPeople))
	}
	trials := make([]*Trial, len(ways))
	for i, w := range ways {
		if p.options.Progress != nil {
			p.options.Progress("answers", i, len(ways))
		}
		var err error
		if trials[i], err = p.Try(ctx, w, epsilon); err != nil {
			return nil, err
		}
	}
	return trials, nil
}

// Rank sorts trials by their loss, but for the one to take, which is first: the simplest of those whose loss
// is not above the least by more than a standard error of the difference, people by people (the rule
// of Breiman et al. 1984 for what is chosen out of fold). The network is taken only if its best trial beats
// that of logistic regression by two: it is larger, and another seed makes another one. So have levels
// that pay for cross entropy with decisions (Trial.dear). Trials are in the order of Ways.
func Rank(trials []*Trial, measure string) []*Trial {
	trials = slices.Clone(trials)
	less := func(a, b *Trial) int { return cmp.Compare(a.mean(measure), b.mean(measure)) }
	sound := slices.DeleteFunc(slices.Clone(trials), func(t *Trial) bool { return measure == encoders.MeasureCrossEntropy && t.dear(trials) })
	best := slices.MinFunc(sound, less)
	simple := slices.DeleteFunc(slices.Clone(sound), func(t *Trial) bool { return t.Classifier != Logistic && t.Kind != NoAnswer })
	if len(simple) > 0 {
		if b := slices.MinFunc(simple, less); b != best {
			if _, _, beats := best.Beats(&b.Expected, measure); !beats {
				best = b
			}
		}
	}
	take := slices.IndexFunc(trials, func(t *Trial) bool {
		more, standardError := t.Less(&best.Expected, measure)
		return more <= standardError && slices.Contains(sound, t)
	})
	taken := trials[take]
	trials = slices.Delete(trials, take, take+1)
	slices.SortStableFunc(trials, less)
	return slices.Insert(trials, 0, taken)
}

// dear reports whether levels have more errors than randomized response on the class of the same classifier,
// by half a person or more of those they were tried on, and not less cross entropy by two standard errors. At a
// small epsilon a programme for cross entropy spends decisions, which randomized response has the fewest errors of.
func (t *Trial) dear(trials []*Trial) bool {
	i := slices.IndexFunc(trials, func(o *Trial) bool { return o.Kind == Category && o.Classifier == t.Classifier })
	if t.Kind != Levels || i < 0 {
		return false
	}
	response := &trials[i].Expected
	_, _, beats := t.Beats(response, encoders.MeasureCrossEntropy)
	return !beats && t.spends(response)
}

// spends reports whether e has more errors than f, by half a person or more of those that both are about.
func (e *Expected) spends(f *Expected) bool {
	return floats.Sum(e.differences(f, encoders.MeasureError)) >= 0.5
}

func (e *Expected) mean(measure string) float64 {
	m, _ := Mean(e.Of(measure))
	return m
}

// Less returns by how much the loss of f is less than that of e, on the people that both are about,
// and the standard error of this difference.
func (e *Expected) Less(f *Expected, measure string) (difference, standardError float64) {
	return Mean(e.differences(f, measure))
}

// differences returns by how much each person that both are about loses more by e than by f.
func (e *Expected) differences(f *Expected, measure string) (differences []float64) {
	of := map[int]float64{}
	for i, row := range f.Rows {
		of[row] = f.Of(measure)[i]
	}
	for i, row := range e.Rows {
		if v, both := of[row]; both {
			differences = append(differences, e.Of(measure)[i]-v)
		}
	}
	return differences
}
