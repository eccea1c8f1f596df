// SPDX-License-Identifier: Apache-2.0

// Package local designs answers to one value; see lp.DesignLocal.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/lp/internal/engine/ratio"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// Design finds a randomizer and a bound that meet to the requested gap.
func Design(ctx context.Context, p Problem, s *meet.Search) (*local.Verified, meet.Outcome, error) {
	d := &designer{Search: *s, model: newModel(p)}
	d.step = d.Options.Step
	d.Options.MaxCells = min(d.Options.MaxCells, limits.LocalNodes-1)
	d.margin = max(d.margin, marginShare*min(d.Options.Gap, meet.LargestMargin))
	d.expected = max(firstGap, d.Options.Gap)
	d.begin(ctx)
	err := d.beginBelow(ctx, false)
	stopped := d.refine(ctx)
	if err = cmp.Or(err, d.beginBelow(ctx, true)); err != nil {
		return nil, meet.Outcome{}, err
	}
	return meet.Finish(&d.Search, d.best, d.dual, d.rounds, stopped, func() error {
		return check.Errorf("lp", meet.ErrLimit, "no randomizer was found before the design was ended")
	})
}

type designer struct {
	meet.Search
	*model
	best  *local.Randomizer
	dual  *local.Dual
	begun *local.Dual                      // of few nodes, not certified yet
	shape struct{ upper, lower []float64 } // answers of the last programs
	proof time.Duration                    // of the last certificates
	whole *priced                          // the last upper solution, before MaxAnswers
	// expected is the gap that the next grid is expected to reach, before that of the grids
	// before the last one, and took the time of that.
	expected, before float64
	took             time.Duration
}

const (
	// The first grid has firstIntervals, and more the narrower the laws are: their width
	// falls by e for every perE of epsilon.
	firstIntervals = 8
	perE           = 6
	firstGap       = 0.2 // what is expected of the first grid, about
	// answerShare is the share of the gap that answers may miss.
	answerShare = 0.05
	// meetShare is how far below the gap the next grid aims.
	meetShare = 0.7
	// gainShare is the share of the gap that a finer grid has to gain for another one.
	gainShare = 0.05
	// marginShare is the share of the gap that the margin of the ratio may be at first; it
	// grows by marginStep at most mostMargins times.
	marginShare = 1.0 / 64
	marginStep  = 16
	mostMargins = 3
	// narrowMargin is for demands that can hardly be kept.
	narrowMargin = 0x1p-26
)

var errNoFiner = errors.Join(meet.ErrLimit, meet.ErrTooFine)

func (d *designer) refine(ctx context.Context) error {
	intervals := d.Cells
	if intervals == 0 {
		intervals = min(2*int(firstIntervals/2*math.Exp(d.Epsilon/perE)), d.Options.MaxCells)
	}
	if d.Cells > 0 || d.Values.Kind != local.Real {
		d.expected = d.Options.Gap
	}
	return d.Meet(ctx, d, intervals)
}

func (d *designer) Round(ctx context.Context, intervals int) error {
	start := d.Elapsed()
	d.before = d.Gap()
	err := d.both(ctx, intervals)
	d.took = d.Elapsed() - start
	return err
}

// Next returns the number of intervals expected to close the gap, which falls with their
// square. They stay even, so that the middle is a node.
func (d *designer) Next(intervals int) (int, error) {
	idle := d.Gap() > (1-gainShare)*d.before
	switch {
	case d.MaxAnswers > 0 && (d.Cells > 0 || d.Values.Kind != local.Real || idle):
		return 0, check.Errorf("lp", errNoFiner, "the lower bound is that of any number of answers")
	case d.Values.Kind != local.Real:
		return 0, check.Errorf("lp", errNoFiner, "the lower bound is weak for these demands")
	case d.Cells > 0:
		return 0, check.Errorf("lp", errNoFiner, "there are no more nodes than asked for")
	case idle:
		return 0, check.Errorf("lp", errNoFiner, "finer grids gain little, the lower bound is weak for these demands")
	}
	growth := min(max(math.Sqrt(d.Gap()/(meetShare*d.Options.Gap)), 1.25), 2.5)
	next := int(math.Ceil(float64(intervals)*growth/2)) * 2
	if next > d.Options.MaxCells {
		return 0, check.Errorf("lp", meet.ErrLimit, "%d intervals are needed, max-cells = %d", next, d.Options.MaxCells)
	}
	growth = float64(next) / float64(intervals)
	d.expected = max(min(d.Gap(), firstGap)/(growth*growth), d.Options.Gap)
	if float64(d.took)*growth*growth > float64(d.Left()) {
		return 0, check.Errorf("lp", meet.ErrLimit, "%d intervals would not be done in time", next)
	}
	return next, nil
}

// both solves both programs on a grid. With the mean objective they are one.
func (d *designer) both(whole context.Context, intervals int) error {
	ctx, cancel := d.Within(whole, 4*d.proof)
	defer cancel()
	if err := d.certifiedAbove(ctx, whole, intervals); err != nil {
		return d.failed(err)
	}
	if d.Delta > 0 {
		return d.belowDelta(ctx, whole, intervals)
	}
	below := d.whole // the bound is about any number of answers
	if d.Values.Kind == local.Real {
		var err error
		if below, err = d.below(ctx, d.model, intervals); errors.Is(err, ratio.ErrFailed) {
			return nil // another grid may do
		} else if err != nil {
			return err
		}
	}
	return d.prove(whole, d.model.dual(whole, below))
}

// belowDelta proves a bound by the multipliers of delta = 0, whose prices are products, and where that
// leaves a gap that a program with delta may close, by this one.
func (d *designer) belowDelta(ctx, whole context.Context, intervals int) error {
	pure := *d.model
	pure.Delta = 0
	below, err := d.below(ctx, &pure, intervals)
	d.rounds = pure.rounds
	switch {
	case err == nil:
		dual := pure.dual(whole, below)
		pure.product(dual, d.Delta)
		if err := d.prove(whole, dual); err != nil {
			return err
		}
	case !errors.Is(err, ratio.ErrFailed) && !errors.Is(err, meet.ErrInfeasible):
		return err
	}
	if d.Gap() <= d.Options.Gap || d.averaged() && !d.Demands.Unbiased {
		return nil
	}
	return d.belowPairs(ctx, whole, intervals)
}

// certifiedAbove solves the upper program and keeps the randomizer, with a larger margin
// where what it gives is not private to the last unit.
func (d *designer) certifiedAbove(ctx, whole context.Context, intervals int) error {
	for try := 0; ; try++ {
		above, err := d.above(ctx, intervals, try)
		if errors.Is(err, ratio.ErrFailed) && d.whole == nil && d.margin > narrowMargin {
			d.margin = narrowMargin // the answers may just reach
			continue
		}
		if err != nil {
			return err
		}
		start := d.Elapsed()
		err = d.roundMasses(whole, above)
		d.proof = d.Elapsed() - start
		if !meet.NotKept(err) {
			return err
		}
		if try == mostMargins {
			return ratio.ErrFailed
		}
		d.margin *= marginStep
	}
}

func (d *designer) failed(err error) error {
	if d.best != nil && (errors.Is(err, ratio.ErrFailed) || errors.Is(err, meet.ErrInfeasible)) {
		return check.Errorf("lp", meet.ErrLimit, "%s", strings.Join(check.Sentences(err), "; "))
	}
	if d.MaxAnswers > 0 && d.Demands.Unbiased && errors.Is(err, meet.ErrInfeasible) {
		return check.Errorf("lp", meet.ErrInfeasible, "max-answers = %d: no weights of 2^-64 make so few answers unbiased, want %d or more", d.MaxAnswers, d.MaxAnswers+1)
	}
	if !errors.Is(err, ratio.ErrFailed) {
		return err
	}
	if d.Demands.Cap > 0 {
		return check.Errorf("lp", meet.ErrInfeasible, "instance-cap = %g: no randomizer found that keeps it%s", d.Demands.Cap, d.leastCap())
	}
	if d.Demands.Step > 0 && d.Demands.Unbiased {
		return check.Errorf("lp", meet.ErrInfeasible, "answer-step = %g: no randomizer found whose weights are unbiased to the last unit; want a step that is a sum of few powers of 2, such as %g", d.Demands.Step, math.Exp2(math.Floor(math.Log2(d.Demands.Step))))
	}
	return check.Errorf("lp", meet.ErrInfeasible, "no randomizer found that keeps the demands on answers")
}

func (d *designer) leastCap() string {
	p := d.Problem
	p.Objective, p.Demands.Cap = local.Worst, 0
	worst := designer{Search: d.Search, model: newModel(p), expected: firstGap}
	s, err := worst.above(context.Background(), 2*firstIntervals, 0)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("; the smallest that can be kept is about %.4g", 1.0005*s.Value*worst.unit)
}

func (d *designer) tolerance() float64 { return answerShare * d.expected }

// above solves the program whose solutions are randomizers: losses are bounded at nodes
// and in the middle between them, and wherever else the solution exceeds that. Losses elsewhere
// may exceed a cap at these places by the tolerance, and by more where that was tried before.
func (d *designer) above(ctx context.Context, intervals, try int) (*priced, error) {
	g := grid{nodes: d.nodes(intervals), answers: d.shape.upper, kept: 1 / (1 + float64(try+1)*d.tolerance())}
	capped := d.Objective == local.Worst || d.Demands.Cap > 0
	if capped {
		g.places = d.startPlaces(&g)
	}
	for {
		s, err := d.generate(ctx, g, d.tolerance())
		if err != nil {
			return nil, err
		}
		d.shape.upper = s.grid.answers
		d.whole = s
		if s, err = d.fewer(ctx, s); err != nil || !capped {
			return s, err
		}
		more := d.exceeded(s)
		g.answers = d.shape.upper
		if len(more) == 0 {
			return s, nil
		}
		g.places = append(g.places, more...)
	}
}

// startPlaces are all nodes and the middles between them.
func (d *designer) startPlaces(g *grid) []place {
	var places []place
	for k := range d.laws(g) {
		places = append(places, place{node: k})
	}
	if d.Values.Kind == local.Real {
		for k := range d.intervals(g) {
			places = append(places, place{node: k, theta: 0.5})
		}
	}
	return places
}

func (m *model) intervals(g *grid) int {
	if m.mirrored {
		return len(g.nodes) / 2
	}
	return len(g.nodes) - 1
}

// placeParts is how many parts of an interval are looked at for an excess.
const placeParts = 8

// exceeded returns the places, the worst of each interval, where the losses of a solution exceed
// the bound of its program by more than the tolerance.
func (d *designer) exceeded(s *priced) []place {
	if d.Values.Kind != local.Real {
		return nil
	}
	limit := s.grid.kept * d.Demands.Cap / d.unit
	if d.Objective == local.Worst {
		limit = s.Value
	}
	limit *= 1 + d.tolerance()
	var out []place
	for k := range d.intervals(&s.grid) {
		var worst place
		most := limit
		for part := 1; part < placeParts; part++ {
			p := place{node: k, theta: float64(part) / placeParts}
			if loss := d.lossOf(&s.grid, p, s.Laws); loss > most {
				most, worst = loss, p
			}
		}
		if most > limit && !slices.Contains(s.grid.places, worst) {
			out = append(out, worst)
		}
	}
	return out
}

// lossOf returns the loss of laws at a place.
func (m *model) lossOf(g *grid, p place, laws [][]float64) (loss float64) {
	for _, t := range m.lossRow(g, p, g.answers).Terms {
		for j, v := range t.Value {
			loss += v * laws[t.Law][j]
		}
	}
	return loss
}

// below solves the program of which every mechanism is a solution: losses are bounded at nodes alone, or
// the mean loss is averaged.
func (d *designer) below(ctx context.Context, m *model, intervals int) (*priced, error) {
	g := grid{nodes: m.nodes(intervals), answers: d.shape.lower}
	if g.answers == nil {
		g.answers = d.shape.upper
	}
	switch {
	case m.averaged():
		g.nodes = m.averagedNodes(intervals)
		g.points = m.between(g.nodes)
	case m.Objective == local.Worst || m.Demands.Cap > 0:
		for k := range m.laws(&g) {
			g.places = append(g.places, place{node: k})
		}
	}
	s, err := m.generate(ctx, g, d.tolerance())
	if err == nil {
		d.shape.lower = s.grid.answers
	}
	return s, err
}

// roundMasses makes the randomizer of a solution and keeps it if it is the best.
func (d *designer) roundMasses(ctx context.Context, s *priced) error {
	if s.Value*d.unit >= d.Best {
		return nil
	}
	return d.certify(ctx, s)
}

func (d *designer) certify(ctx context.Context, s *priced) error {
	spec, err := d.spec(s)
	if err != nil {
		return err
	}
	v, err := meet.Verified(local.New(ctx, spec))
	if err != nil {
		return err
	}
	meet.Keep(&d.Search, &d.best, v)
	return nil
}

func (d *designer) spec(s *priced) (local.Spec, error) {
	spec := local.Spec{
		Epsilon: d.Epsilon, Delta: d.Delta, Values: d.Values, Objective: d.Objective, Demands: d.Demands,
		Loss: d.Loss, Costs: d.Costs,
	}
	laws := d.unfolded(s)
	nodes, answers := d.spread(s.grid.nodes), d.valuesOf(s.grid.answers)
	if d.Values.Kind == local.Category {
		nodes = s.grid.nodes
		laws, answers = d.overAll(laws, s.grid.answers)
	} else {
		laws, answers = likely(laws, answers)
		spec.Nodes, spec.Answers = nodes, answers
	}
	rows, err := exactRows(laws, nodes, answers, d.Demands.Unbiased)
	for k := 0; err != nil && k < len(answers) && d.Demands == (local.Demands{Unbiased: true, Cap: d.Demands.Cap}); k++ {
		// The differences of the answers may have an odd divisor: another one may not.
		answers[k] += d.grain * d.half
		rows, err = exactRows(laws, nodes, answers, true)
	}
	if err != nil {
		return spec, err
	}
	spec.Rows = rows
	if d.Values.Kind == local.Category {
		if spec.AnswerLabels = d.AnswerLabels; len(spec.AnswerLabels) == 0 {
			spec.AnswerLabels = d.Values.Labels
		}
	}
	return spec, nil
}

// overAll gives the labels that MaxAnswers left out, numbered from 0, probability 0.
func (d *designer) overAll(laws [][]float64, answers []float64) (all [][]float64, labels []float64) {
	labels = make([]float64, len(d.Costs[0]))
	for k := range labels {
		labels[k] = float64(k)
	}
	all = meet.Matrix(len(laws), len(labels))
	for i, law := range laws {
		for j, k := range answers {
			all[i][int(k)] = law[j]
		}
	}
	return all, labels
}

// leastLikely is the probability below which an answer is left out: rounding to weights
// would change it by too much. What is left out is made up for like rounding.
const leastLikely = 0x1p-36

func likely(laws [][]float64, answers []float64) (left [][]float64, of []float64) {
	left = make([][]float64, len(laws))
	for j, y := range answers {
		var most float64
		for _, law := range laws {
			most = max(most, law[j])
		}
		if most < leastLikely {
			continue
		}
		of = append(of, y)
		for i, law := range laws {
			left[i] = append(left[i], law[j])
		}
	}
	return left, of
}

// unfolded returns the laws of all nodes. That of the middle is averaged with its mirror image,
// and with epsilon = 0 all are one.
func (m *model) unfolded(s *priced) [][]float64 {
	n, laws := len(s.grid.nodes), make([][]float64, len(s.grid.nodes))
	for k := range laws {
		laws[k] = slices.Clone(s.Laws[min(k, len(s.Laws)-1)])
		if !m.mirrored {
			continue
		}
		laws[k] = slices.Clone(s.Laws[min(k, n-1-k)])
		if k > n-1-k {
			slices.Reverse(laws[k])
		}
		if k == n-1-k {
			for j := range laws[k] {
				laws[k][j] = (s.Laws[k][j] + s.Laws[k][len(laws[k])-1-j]) / 2
			}
		}
	}
	if m.Epsilon == 0 && m.Delta == 0 {
		for k := range laws {
			laws[k] = laws[n/2]
		}
	}
	return laws
}

func (d *designer) prove(ctx context.Context, dual *local.Dual) error {
	start := d.Elapsed()
	v, err := meet.Verified(d.best.WithDual(ctx, dual))
	d.proof += d.Elapsed() - start
	if err != nil {
		return err
	}
	if bound, _ := v.Certificate().LowerBound.Float64(); bound > d.Bound {
		d.dual, d.Bound, d.best = dual, bound, v.Mechanism()
	}
	return nil
}
