// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/decision"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/lp"
)

// decideOptions are those of decisions on the device.
type decideOptions struct {
	metric string // a word
	costs  shell.Costs
	file   string            // of the costs; "": none
	hidden []int             // of the network
	given  *local.Randomizer // of --noise, of categories; nil
}

// The words of --metric.
const (
	metricCrossEntropy = "cross-entropy"
	metricError        = "error"
	metricCost         = "cost"
)

var metricMeasures = map[string]string{
	metricCrossEntropy: encoders.MeasureCrossEntropy, metricError: encoders.MeasureError, metricCost: decision.MeasureCost,
}

func (o *decideOptions) flags(f *shell.Flags) {
	f.Word(&o.metric, "metric", "word", "what decisions are compared by: cross-entropy (of the posterior, in nats), error (the share of wrong classes), cost (of --costs), or auto: cost with --costs, and otherwise cross-entropy", shell.NoiseAuto, metricCrossEntropy, metricError, metricCost)
	f.Func("costs", "FILE", "", "what a decision costs, for decisions on the device: a CSV file with a header of the decisions, which are classes, and a row for each class that begins with it", func(text string) error {
		o.file, o.costs = text, shell.Costs{}
		return shell.ReadCosts(&o.costs, text)
	})
	f.CompleteOrFile("costs")
	widths(f, &o.hidden, "classifier", "", "widths of the hidden layers of the network that decides, ReLUs (default: one, twice as wide as there are features, from 8 to 64)")
	f.Check(func() error {
		if o.metric == shell.NoiseAuto {
			if o.metric = metricCrossEntropy; o.file != "" {
				o.metric = metricCost
			}
		}
		if o.metric == metricCost && o.file == "" {
			return errors.New("costs is missing, want a file for metric = cost")
		}
		return nil
	})
}

// unused refuses flags of decisions where there are none.
func (o *decideOptions) unused(noise string) error {
	switch {
	case decision.OnDevice(noise):
		return shell.BadInput("", fmt.Errorf("noise = %s with several targets, a task network, an approach other than task-aware or the paper's schedule, want none of these", noise))
	case o.file != "":
		return shell.BadInput("", errors.New("costs where there is no decision on the device, want none with several targets, a task network, an approach other than task-aware or the paper's schedule"))
	}
	return nil
}

// of returns the costs in the order of the classes.
func (o *decideOptions) of(classes []string) ([][]float64, error) {
	if o.file == "" {
		return nil, nil
	}
	sorted := func(names []string) []string { return slices.Sorted(slices.Values(names)) }
	want := sorted(classes)
	if !slices.Equal(sorted(o.costs.Values), want) || !slices.Equal(sorted(o.costs.Answers), want) {
		return nil, shell.BadInput("", fmt.Errorf("costs = %s, want a row and a column for each class, which are %s", check.Quoted(o.file), check.Shortened(strings.Join(classes, ", "))))
	}
	list := make([][]float64, len(classes))
	for l, class := range classes {
		for _, d := range classes {
			list[l] = append(list[l], o.costs.Losses[slices.Index(o.costs.Values, class)][slices.Index(o.costs.Answers, d)])
		}
	}
	return list, nil
}

// decided is what became of decisions; nil if none were tried.
type decided struct {
	prepared *decision.Prepared
	measure  string
	epsilon  float64
	filter   bool // without noise
	trials   []*decision.Trial
	// Of randomized response on the class of the first trial's classifier, the mean cost and
	// a bound on it for all mechanisms.
	cost, bound float64
	costly      bool // by costs that were given

	again          func(ctx context.Context, rows []int) (*bundle.Bundle, error) // trains the best numbers on some people
	numbers        *decision.Expected                                            // of these, on the other people; nil
	by, deviation  float64                                                       // by how much the taken one is better than the runner-up
	runnerUp       string
	numbersAreKept bool
}

// decisions tries decisions on the device, if the target is classes and they are asked for.
func (o *trainOptions) decisions(ctx context.Context, d *encoders.Data) (*decided, error) {
	alone := decision.OnDevice(o.noise)
	filter := o.noise == string(bundle.None)
	switch {
	case o.decide == nil:
		return nil, nil
	case d.Target.Classes == nil && (alone || o.decide.file != ""):
		return nil, shell.BadInput("", fmt.Errorf("target = %s has numbers, want classes to decide on, as with --classes", check.Quoted(d.Target.Name)))
	case d.Target.Classes == nil, !alone && !filter && (o.noise != shell.NoiseAuto || o.domain != shell.NoiseAuto):
		return nil, nil
	case filter && len(d.Target.Classes)-1 > slices.Max(o.coordinates):
		return nil, nil // logistic regression sends more numbers
	}
	if most := lp.Limits.Epsilon.Max; !filter && o.promise.Epsilon > most {
		if !alone {
			return nil, nil // numbers may be sent at it
		}
		return nil, shell.BadInput("", fmt.Errorf("epsilon = %v, want at most %v for decisions on the device", o.promise.Epsilon, most))
	}
	costs, err := o.decide.of(d.Target.Classes)
	if err != nil {
		return nil, err
	}
	line := o.Progress()
	own := decision.Options{Costs: costs, Hidden: o.decide.hidden, Seed: uint64(o.seed), Plain: filter, Progress: func(what string, done, of int) { //nolint:gosec // at least 0
		line.Count("deciding: "+what, done, of)
	}}
	r := &decided{measure: metricMeasures[o.decide.metric], epsilon: o.promise.Epsilon, filter: filter, costly: costs != nil}
	if o.noise == decision.Given {
		if own.Given, err = decision.OwnRandomizer(o.decide.given, d.Target.Classes); err != nil {
			return nil, shell.BadFile(o.file, err)
		}
	}
	if r.prepared, err = decision.Prepare(ctx, d, own); err != nil || filter {
		return r, err
	}
	var kinds []string
	if alone {
		kinds = []string{o.noise}
	}
	trials, err := r.prepared.Search(ctx, r.epsilon, kinds...)
	if err != nil {
		return nil, err
	}
	r.trials = decision.Rank(trials, r.measure)
	return r, r.prove(ctx, o.design)
}

// prove bounds by the programme what decisions cost.
func (d *decided) prove(ctx context.Context, o lp.Options) error {
	g, err := d.prepared.Programme(d.trials[0].Classifier, d.epsilon)
	if err != nil {
		return err
	}
	d.cost, o.Gap = g.Response, 0.0005
	r, _, err := shell.DesignLocal(ctx, lp.LocalProblem{
		Epsilon: d.epsilon, Values: local.Values{Kind: local.Category, Labels: g.Labels, Shares: g.Shares}, Objective: local.Mean,
		Costs: g.Costs, AnswerLabels: g.Answers,
	}, o)
	if err != nil {
		return err
	}
	d.bound, _ = r.Verified.Certificate().LowerBound.Float64()
	return nil
}

// choose returns the bundle of what is taken: decisions, unless the best numbers beat them.
func (d *decided) choose(ctx context.Context, best *trained) (*bundle.Bundle, error) {
	if d == nil {
		return best.bundle()
	}
	var numbers *bundle.Bundle
	if best != nil && d.measure != decision.MeasureCost {
		var err error
		if numbers, err = best.bundle(); err != nil {
			return nil, err
		}
		if d.numbers, err = d.judge(ctx); err != nil {
			return nil, err
		}
	}
	var own *decision.Expected
	if d.filter {
		own = d.prepared.Plain()
		d.runnerUp = decision.Logistic + ", without noise"
	} else {
		own = &d.trials[0].Expected
	}
	if d.numbers != nil {
		d.by, d.deviation, d.numbersAreKept = d.numbers.BeatsSurely(own, d.measure)
	}
	switch {
	case d.numbersAreKept:
		if !d.filter {
			d.runnerUp = d.trials[0].String()
		}
		return numbers, nil
	case d.filter:
		d.by, d.runnerUp = -d.by, "the network"
		return d.prepared.Filter()
	}
	d.by, d.runnerUp = -d.by, "numbers"
	if d.numbers == nil {
		d.by = math.Inf(1)
	}
	for _, t := range d.trials[1:] {
		if more, deviation := t.Less(own, d.measure); more < d.by {
			d.by, d.deviation, d.runnerUp = more, deviation, t.String()
		}
	}
	return d.prepared.Bundle(ctx, d.trials[0].Way, d.epsilon)
}

// judge trains the best numbers once more, without a fifth of the people, and returns what these lose: the
// steps, the restart and the numbers themselves were chosen on the people held out before.
func (d *decided) judge(ctx context.Context) (*decision.Expected, error) {
	rest, held := d.prepared.Outer()
	b, err := d.again(ctx, rest)
	if err != nil {
		return nil, err
	}
	return d.prepared.Judge(ctx, b, held)
}

// taken reports whether decisions are.
func (d *decided) taken() bool { return d != nil && !d.numbersAreKept }

// tried returns all trials, as objects and rows.
func (d *decided) tried() (list []shell.Object, rows []shell.Row) {
	if d == nil {
		return nil, nil
	}
	if d.filter {
		loss, deviation := decision.Mean(d.prepared.Plain().Of(d.measure))
		list = append(list, shell.Object{"coordinates", 1, "noise", bundle.None, "domain", bundle.Box, "loss", loss, "standard_error", deviation, "classifier", decision.Logistic})
		rows = append(rows, shell.Row{decision.Logistic + ", without noise", d.text(loss, deviation, "", d.taken())})
	}
	for i, t := range d.trials {
		loss, deviation := decision.Mean(t.Of(d.measure))
		wrong, _ := decision.Mean(t.Errors)
		o := shell.Object{"coordinates", 1, "noise", t.Kind, "domain", bundle.Cells, "loss", loss, "standard_error", deviation, "classifier", t.Classifier, "cells", t.Cells, "error", wrong}
		more := ""
		if d.measure != encoders.MeasureError {
			more = fmt.Sprintf(", error %.4g", wrong)
		}
		list = append(list, o)
		rows = append(rows, shell.Row{t.String(), d.text(loss, deviation, more, i == 0 && d.taken())})
	}
	return list, rows
}

func (d *decided) text(loss, deviation float64, more string, taken bool) string {
	text := fmt.Sprintf("%s %.5g ± %.2g%s on people out of fold", d.measure, loss, deviation, more)
	if taken {
		text += kept
	}
	return text
}

// why returns what was taken over what.
func (d *decided) why() (o shell.Object, rows []shell.Row) {
	if d == nil {
		return nil, nil
	}
	if d.runnerUp != "" && !math.IsInf(d.by, 0) {
		text := fmt.Sprintf("%s lower than that of the runner-up by %.3g ± %.2g, person by person; the runner-up: %s", d.measure, d.by, d.deviation, d.runnerUp)
		if d.by < 0 {
			text = fmt.Sprintf("the simpler one: %s of the runner-up is lower by %.3g ± %.2g, person by person, too little to take it: %s", d.measure, -d.by, d.deviation, d.runnerUp)
		}
		rows = append(rows, shell.Row{"chosen", text})
		o = append(o, "chosen", shell.Object{"by", d.by, "standard_error", d.deviation, "runner_up", d.runnerUp, "measure", d.measure})
	}
	if !d.filter {
		what := "errors"
		if d.costly {
			what = "costs"
		}
		gap := 0.0
		if d.cost > 0 {
			gap = max(0, (d.cost-d.bound)/d.cost)
		}
		rows = append(rows, shell.Row{what, fmt.Sprintf("%.5g by randomized response on the class, at least %.5g by any randomizer of its levels: gap %s", d.cost, d.bound, shell.Percent(gap))})
		o = append(o, "decisions", shell.Object{"cost", d.cost, "lower_bound", d.bound, "gap", gap})
	}
	return o, rows
}
