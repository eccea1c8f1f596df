// SPDX-License-Identifier: Apache-2.0

package taskaware

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

// Result is a trained encoder with its noise. It is immutable and, with Evaluate on one
// goroutine at a time, safe to share.
type Result struct {
	// HeldOut is what is expected on the people of the data who were held out, at the step
	// and of the restart that it chose: a little better than on others.
	HeldOut Evaluation
	model
}

// model is an encoder, its noise, and what reads its releases.
type model struct {
	data    *encoders.Data
	body    encoder.Body
	noise   encoder.Noise
	scaling dense.Scaling
	unit    dense.Scaling  // of a target of numbers, or of several targets; else empty
	encoder *dense.Network // of scaled features
	reader  reader
}

// Adam's rate at the first step, and the weight decay of all networks.
const firstRate, weightDecay = 0.01, 0.005

// Train trains an encoder with outputs in the body, and what reads its releases. The noise is
// for the body. Features are standardized by the people not held out.
//
// A run with a Directory leaves a checkpoint there if the context ends, whose error is returned.
//
// Errors wrap [dp.ErrInvalid] for bad data or options. A loss that is no finite number, and
// answers that are the same for everybody at the end of every restart, are errors too.
func Train(ctx context.Context, d *encoders.Data, body encoder.Body, noise encoder.Noise, o Options, run encoders.Run) (*Result, error) {
	o = o.fill(d.X.Cols)
	if err := cmp.Or(validate(d), o.validate(), body.Validate()); err != nil {
		return nil, err
	}
	if o.Approach == Agnostic && body.Coordinates != d.X.Cols {
		return nil, check.Field("taskaware", "coordinates", body.Coordinates, fmt.Sprintf("%d, the number of features, for the task-agnostic approach", d.X.Cols))
	}
	t, err := newTraining(d, body, noise, o)
	if err != nil {
		return nil, err
	}
	run.Seed = o.Seed
	if err := run.Train(ctx, t, o.Restarts*t.steps()); err != nil {
		return nil, err
	}
	return t.result()
}

type set struct {
	x      dense.Matrix // scaled
	target dense.Target
}

// training is an encoders.Training: the restarts one after another.
type training struct {
	Options
	model

	fit, heldOut set
	repeated     dense.Target // of fit, for each draw

	coder, head *dense.Learner // of the encoder and the reader
	pass        dense.Pass
	raw         dense.Matrix // outputs of the encoder
	released    dense.Matrix // Draws rows for each person
	gradient    dense.Matrix // by the clipped code
	best, least []float64    // parameters of the best networks; their loss
}

func newTraining(d *encoders.Data, body encoder.Body, noise encoder.Noise, o Options) (*training, error) {
	t := &training{Options: o, model: model{data: d, body: body, noise: noise}, least: []float64{math.MaxFloat64}}
	all := d.Wanted()
	fit, held := split(&all, d.X.Rows, o.Seed)
	t.scaling = dense.Standardize(dense.Pick(d.X, fit))
	x := t.scaling.Apply(d.X)
	t.unit = standardized(&all, fit)
	t.fit, t.heldOut = set{dense.Pick(x, fit), all.Pick(fit)}, set{dense.Pick(x, held), all.Pick(held)}
	t.repeated = repeated(&t.fit.target, len(fit), o.Draws)
	out := all.Outputs()
	if o.Task != nil {
		task, err := network(o.Task, d.X.Cols, out)
		if err != nil {
			return nil, err
		}
		t.reader.task, out = t.unit.Answering(t.scaling.Reading(task)), d.X.Cols
	}
	z := body.Coordinates
	if o.Approach == Agnostic {
		t.Hidden = nil
	}
	t.coder = dense.NewLearner(dense.MLP(d.X.Cols, t.Hidden, dense.Sigmoid, z), t.adam())
	t.head = dense.NewLearner(dense.MLP(z, o.Head, dense.ReLU, out), t.adam())
	t.encoder, t.reader.net = t.coder.Network, t.head.Network
	t.pass.NoInput = true
	t.raw = dense.NewMatrix(len(fit), z)
	t.gradient = dense.NewMatrix(len(fit), z)
	t.released = dense.NewMatrix(len(fit)*o.Draws, z)
	return t, nil
}

// standardized gives numbers the mean 0 and the variance 1 among some people, so that the losses of
// several targets are shares of variances and cross entropies. It returns the scaling of the outputs.
func standardized(t *dense.Target, people []int) (unit dense.Scaling) {
	for k := range t.Parts {
		p := &t.Parts[k]
		s := standardized(&p.Target, people)
		if s.Scale == nil {
			s = dense.Scaling{Mean: make([]float64, p.Classes), Scale: slices.Repeat([]float64{1}, p.Classes)}
		}
		unit.Mean, unit.Scale = append(unit.Mean, s.Mean...), append(unit.Scale, s.Scale...)
	}
	if t.Parts == nil && t.Classes == 0 {
		unit = dense.Standardize(dense.Pick(t.Values, people))
		t.Values = unit.Apply(t.Values)
	}
	return unit
}

// split holds out a share of the people, of each class alike, at least one.
func split(t *dense.Target, people int, seed uint64) (fit, held []int) {
	const share = 0.2
	order := encoders.Rand(seed, "held out", 0).Perm(people)
	if t.Classes > 0 {
		slices.SortStableFunc(order, func(a, b int) int { return t.Labels[a] - t.Labels[b] })
	}
	// Every person at which the count of those held out grows is held out.
	for i, p := range order {
		if math.Floor(float64(i+1)*share) > math.Floor(float64(i)*share) || (i == people-1 && len(held) == 0) {
			held = append(held, p)
		} else {
			fit = append(fit, p)
		}
	}
	return fit, held
}

// steps is how many a restart takes.
func (t *training) steps() int {
	if t.Approach == PrivacyAgnostic {
		return 2 * t.Steps
	}
	return t.Steps
}

// quiet reports whether a step is one of those without noise and without clipping.
func (t *training) quiet(step int) bool { return t.Approach == PrivacyAgnostic && step < t.Steps }

// judged is how many steps there are between two looks at the people held out.
const judged = 20

func (t *training) Step(step int) (float64, error) {
	restart, k := step/t.steps(), step%t.steps()
	if k == 0 {
		t.start(restart)
	}
	if k == t.Steps {
		t.freeze(restart)
	}
	// From the rate to a tenth of it, linearly, in each phase.
	rate := firstRate * (1 - 0.9*float64(k%t.Steps)/float64(t.Steps))
	t.coder.Adam.Rate, t.head.Adam.Rate = rate, rate
	loss := t.descend(step, t.quiet(k))
	if !check.Finite(loss) || !check.Finite(t.encoder.Params()...) || !check.Finite(t.head.Params()...) {
		return loss, notFinite("encoder", loss)
	}
	if !t.quiet(k) && ((k+1)%judged == 0 || k+1 == t.steps()) {
		t.judge()
	}
	return loss, nil
}

func (t *training) start(restart int) {
	t.encoder.Init(encoders.Rand(t.Seed, "encoder", restart))
	t.head.Init(encoders.Rand(t.Seed, "head", restart))
	t.coder.Adam, t.head.Adam = t.adam(), t.adam()
	if t.Approach == Agnostic {
		copy(t.encoder.Params(), dense.Same(t.data.X.Cols).Params())
		t.fill(restart)
	}
}

// freeze ends the first phase of the privacy-agnostic approach.
func (t *training) freeze(restart int) {
	t.fill(restart)
	t.head.Adam = t.adam()
}

func (t *training) adam() dense.Adam { return dense.Adam{WeightDecay: weightDecay} }

// fillShares are the shares of people whose encoding the body holds unclipped, in the
// restarts of the benchmarks, whose encoders do not learn how far to reach.
var fillShares = [...]float64{0.9, 0.99, 0.5}

// fill centers and scales the last layer of the encoder so that the body holds most encodings.
func (t *training) fill(restart int) {
	u := t.encoder.Forward(&t.pass, t.fit.x)
	s := dense.Standardize(u)
	last := t.encoder.Layers[len(t.encoder.Layers)-1]
	norms := make([]float64, u.Rows)
	for i := range norms {
		for j, v := range dense.Row(u, i) {
			u.Data[i*u.Stride+j] = v - s.Mean[j]
		}
		norms[i] = reachOf(t.body, dense.Row(u, i))
	}
	slices.Sort(norms)
	reach := norms[int(fillShares[restart%len(fillShares)]*float64(len(norms)-1))]
	for j := range last.Bias {
		last.Bias[j] = (last.Bias[j] - s.Mean[j]) / reach
	}
	for i := range last.Weights.Data {
		last.Weights.Data[i] /= reach
	}
}

// reachOf is by how much the body would have to grow for u to lie on its surface.
func reachOf(b encoder.Body, u []float64) float64 {
	sum, squares, largest := 0.0, 0.0, 0.0
	for _, v := range u {
		sum += math.Abs(v)
		squares += v * v
		largest = max(largest, math.Abs(v))
	}
	switch b.Domain {
	case bundle.L1Ball:
		return sum / b.Radius
	case bundle.Ball:
		return math.Sqrt(squares) / b.Radius
	default:
		return largest / b.Radius
	}
}

func (t *training) descend(step int, quiet bool) float64 {
	u := t.encoder.Forward(&t.pass, t.fit.x)
	copy(t.raw.Data, u.Data)
	if !quiet {
		t.body.Clip(u)
	}
	z := u.Cols
	for i := range u.Rows {
		for d := range t.Draws {
			copy(dense.Row(t.released, i*t.Draws+d), u.Data[i*z:(i+1)*z])
		}
	}
	if !quiet {
		t.noise.Release(t.released.Data, t.released.Data, encoders.Rand(t.Seed, "noise", step))
	}
	loss := t.reader.loss(t.released, &t.repeated)
	dReleased := t.reader.backward(t.head.Grad)
	if t.Approach == Aware || quiet { // otherwise the encoder stays as it is
		clear(t.gradient.Data)
		for i := range dReleased.Rows {
			for j, v := range dense.Row(dReleased, i) {
				t.gradient.Data[i/t.Draws*z+j] += v
			}
		}
		if !quiet {
			t.body.ClipBackward(t.raw, t.gradient)
		}
		t.encoder.Backward(&t.pass, t.gradient, t.coder.Grad)
		t.coder.Descend()
	}
	t.head.Descend()
	return loss
}

// judgeDraws is how often the noise of each person held out is drawn; the draws are the same
// each time, so that steps are compared by the same noise.
const judgeDraws = 50

// judge keeps the networks if they are the best so far.
func (t *training) judge() {
	e := t.evaluate(&t.heldOut, judgeDraws, t.Seed)
	dead := constant(t.reader.answer(t.released))
	if dead || !(e.Loss < t.least[0]) {
		return
	}
	t.least = []float64{e.Loss}
	t.best = append(append(t.best[:0], t.encoder.Params()...), t.head.Params()...)
}

func (m *model) evaluate(s *set, draws int, seed uint64) Evaluation {
	u := m.encoder.Forward(&dense.Pass{}, s.x)
	m.body.Clip(u)
	r := encoders.Rand(seed, "evaluation", 0)
	e := evaluate(&reader{net: m.reader.net, task: m.reader.task}, u, &s.target, draws, func(dst, u []float64) { m.noise.Release(dst, u, r) })
	if len(m.data.More) > 0 {
		return e // in shares of variances
	}
	for _, scale := range m.unit.Scale {
		e.Loss, e.StandardError = e.Loss*scale*scale, e.StandardError*scale*scale
	}
	return e
}

func (t *training) State() map[string][]float64 {
	state := map[string][]float64{"best": t.best, "least": t.least}
	t.coder.Save(state, "encoder")
	t.head.Save(state, "head")
	return state
}

func (t *training) Restore(state map[string][]float64) error {
	size := len(t.encoder.Params()) + len(t.head.Params())
	if best := len(state["best"]); (best != 0 && best != size) || len(state["least"]) != 1 {
		return dense.OtherTraining(best, size)
	}
	t.best, t.least = state["best"], state["least"]
	return cmp.Or(t.coder.Restore(state, "encoder"), t.head.Restore(state, "head"))
}

func (t *training) result() (*Result, error) {
	if len(t.best) == 0 {
		return nil, check.Errorf("taskaware", nil, "the answers are the same for everybody at each of %d restarts: the ReLUs died; more restarts or a smaller rate may help", t.Restarts)
	}
	split := len(t.encoder.Params())
	copy(t.encoder.Params(), t.best[:split])
	copy(t.head.Params(), t.best[split:])
	t.reader = reader{net: t.reader.net, task: t.reader.task}
	return &Result{t.evaluate(&t.heldOut, judgeDraws, t.Seed), t.model}, nil
}

// Evaluate draws the noise for other people, so many times for each.
//
// Errors wrap [dp.ErrInvalid]; one is that of several targets, which [encoders.Evaluate] compares.
func (r *Result) Evaluate(d *encoders.Data, draws int, seed uint64) (Evaluation, error) {
	if n := 1 + len(r.data.More); n > 1 {
		return Evaluation{}, check.Field("taskaware", "targets", n, "one")
	}
	target, err := compared(d, r.data.Features, &r.data.Target)
	if err != nil {
		return Evaluation{}, err
	}
	if target.Classes == 0 {
		target.Values = r.unit.Apply(target.Values)
	}
	return r.evaluate(&set{r.scaling.Apply(d.X), target}, draws, seed), nil
}

// Refit trains again, with local randomizers for the encodings that the first training gave
// the people it did not hold out (encoder.Fit): its own were for any. It returns the result of
// less loss on those held out, and r itself where the noise is of another kind, as that does
// not depend on encodings. The options are those of r.
//
// Once is enough: a third training gained nothing where it was tried. Errors are those of Train.
func (r *Result) Refit(ctx context.Context, o Options, run encoders.Run) (*Result, error) {
	if r.noise.Kind() != bundle.Local {
		return r, nil
	}
	all := r.data.Wanted()
	people, _ := split(&all, r.data.X.Rows, o.Seed)
	u := r.encoder.Forward(&dense.Pass{}, r.scaling.Apply(dense.Pick(r.data.X, people)))
	r.body.Clip(u)
	noise, err := encoder.Fit(r.noise, u)
	if err != nil {
		return nil, err
	}
	again, err := Train(ctx, r.data, r.body, noise, o, run)
	if err != nil {
		return nil, err
	}
	if again.HeldOut.Loss < r.HeldOut.Loss {
		return again, nil
	}
	return r, nil
}

// Options say how an encoder is trained. The zero value of a field means the number in brackets.
type Options struct {
	Approach Approach // [Aware]
	// Hidden are the widths of the encoder's hidden layers, sigmoids; nil means a linear encoder.
	Hidden []int
	// Head are the widths of the hidden layers of the head or the decoder, ReLUs; nil means
	// one, twice as wide as there are features but no wider than 64.
	Head []int
	// Task is a frozen network, such as TrainTask makes, that answers the task from features as
	// they are; the server then decodes features for it. nil means that the server's head answers.
	Task []bundle.Layer
	// Steps of Adam on the full data in each restart [400]; the privacy-agnostic approach
	// takes as many before, without noise.
	Steps int
	// Restarts from other random networks [3]; the one with the least loss on the fifth of the
	// people held out is kept, at the step where it was least.
	Restarts int
	Draws    int // of noise for each person in a step [2]
	Seed     uint64
}

func (o Options) fill(features int) Options {
	o.Steps = cmp.Or(o.Steps, 400)
	o.Restarts = cmp.Or(o.Restarts, 3)
	o.Draws = cmp.Or(o.Draws, 2)
	o.Approach = cmp.Or(o.Approach, Aware)
	if o.Head == nil {
		o.Head = []int{min(2*features, 64)}
	}
	return o
}

func (o *Options) validate() error {
	c := check.In("taskaware")
	validateApproach(c, o.Approach)
	hidden(c, "hidden", o.Hidden)
	hidden(c, "head", o.Head)
	positive(c, "steps", o.Steps)
	positive(c, "restarts", o.Restarts)
	positive(c, "draws", o.Draws)
	return c.Err()
}

func validateApproach(c *check.List, a Approach) {
	c.Want(a == Aware || a == Agnostic || a == PrivacyAgnostic, "approach", check.Quoted(string(a)), "task-aware, task-agnostic or privacy-agnostic")
}

// positive reports a number of steps, restarts or the like that is not one.
func positive(c *check.List, field string, v int) { c.Want(v >= 1, field, v, "at least 1") }

// hidden reports widths of hidden layers that are none.
func hidden(c *check.List, field string, widths []int) {
	for _, w := range widths {
		c.Want(w >= 1 && w <= maxWidth, field, w, "widths from 1 to %d", maxWidth)
	}
}

// maxWidth bounds the layers, so that none has more entries than a bundle may.
const maxWidth = 1 << 12
