// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
)

const (
	mostRings = 600
	rounds    = 20
	moreRings = 60 // that a round adds
	// mostIdle rounds that make a loss less by a smaller share than enough are the last ones.
	mostIdle = 4
	enough   = 5e-5
	// mostReach bounds radii, in sensitivities.
	mostReach  = 1 << 11
	firstRings = 100 // of grids without stairs
	mostStairs = 500
	finest     = 40 // edges near each other in the core
)

// Design returns noise on balls with nearly the least expected loss of all noise whose density falls with the norm. The error
// wraps dp.ErrInvalid, or is that of the context. The problem is valid, with a delta above 0.
func Design(ctx context.Context, p ball.Problem) (*ball.Verified, error) {
	d, err := newDesign(p)
	if err != nil {
		return nil, err
	}
	// From which grid one comes to the best differs. Where one attempt fails another may do.
	_ = d.climb(ctx)
	_ = d.refine(ctx, d.firstEdges())
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if d.best == nil {
		return nil, tooFar(p)
	}
	return d.best, nil
}

func tooFar(p ball.Problem) error {
	return check.Field("lp", "delta", p.Delta, fmt.Sprintf("one for which balls of at most %d sensitivities are enough at epsilon %v", mostReach, p.Epsilon))
}

// design is what is known of a problem, in units of the longest shift.
type design struct {
	ball.Problem
	rings
	exponent int
	shift    int64   // in steps
	end      float64 // where pure noise can be cut off
	best     *ball.Verified
}

func newDesign(p ball.Problem) (*design, error) {
	power, _ := p.Power()
	d := &design{Problem: p, rings: rings{space: space(p.Dimension), epsilon: p.Epsilon, delta: p.Delta, p: power}}
	d.end = d.cut()
	if d.end > mostReach {
		return nil, tooFar(p)
	}
	bits := 28 - int(math.Ceil(math.Log2(1.3*d.end+1)))
	d.exponent = math.Ilogb(p.Sensitivity) - bits
	d.shift = int64(math.Ceil(math.Ldexp(p.Sensitivity, -d.exponent) + math.Sqrt(float64(p.Dimension))))
	d.unit = math.Pow(d.end/3, power) // of about that order
	return d, nil
}

// cut returns the radius of a ball outside of which noise of the density e^(−ε·norm) may be left out.
func (d *design) cut() float64 {
	low, high := 0.5, 2.0*mostReach
	for range 50 {
		middle := (low + high) / 2
		if d.escapes(middle, 400) > d.delta {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// escapes returns the probability that such noise in a ball is outside of the ball moved by 1.
func (d *design) escapes(radius float64, parts int) float64 {
	var all, out float64
	for i := range parts {
		a, b := radius*float64(i)/float64(parts), radius*float64(i+1)/float64(parts)
		f, v := math.Exp(-d.epsilon*(a+b)/2), d.power(b)-d.power(a)
		all += f * v
		out += f * max(0, v-d.both(b, radius)+d.both(a, radius))
	}
	return out / all
}

// refine solves programs on grids that are finer and finer, from the first one, and the best again with more of a margin
// until it is private.
func (d *design) refine(ctx context.Context, first []float64) error {
	d.edges = first
	var edges []float64
	least := math.Inf(1)
	for round, idle := 0, 0; round < rounds && idle < mostIdle; round++ {
		d.lay()
		s, err := d.within(ctx, margins[0])
		if err != nil {
			break
		}
		idle++
		if s.value < least*(1-enough) {
			idle = 0
		}
		if s.value < least {
			least, edges = s.value, d.edges
		}
		d.edges = d.next(s)
	}
	if ctx.Err() != nil || edges == nil {
		return ctx.Err()
	}
	d.edges = edges
	d.lay()
	for _, m := range margins {
		s, err := d.within(ctx, m)
		if err != nil {
			return err
		}
		if err := d.keep(d.steps(edges), s.weights); !errors.Is(err, proof.ErrNotPrivate) {
			return err
		}
	}
	return nil
}

// steps returns all edges but 0, which are multiples of a step, in steps.
func (d *design) steps(edges []float64) (radii []int64) {
	for _, x := range edges[1:] {
		radii = append(radii, int64(math.Round(x*float64(d.shift))))
	}
	return radii
}

// margins are shares of delta that are left for what is not exact here.
var margins = []float64{1e-4, 1e-3, 1e-2}

// within solves the program with a margin.
func (d *design) within(ctx context.Context, margin float64) (*solution, error) {
	inner := d.rings
	inner.delta *= 1 - margin
	inner.epsilon -= 1e-10 * min(1, d.epsilon)
	var s *solution
	var err error
	for _, gap := range []float64{1e-6, 1e-5, 1e-4} {
		if s, err = inner.solve(ctx, gap); !errors.Is(err, errFailed) {
			break
		}
	}
	return s, err
}

// firstEdges returns those of equally wide rings, of which a whole number is a shift or the other way
// around, and some near whole shifts, where densities jump if they fall fast.
func (d *design) firstEdges() []float64 {
	end := 1.3 * d.end
	per := math.Floor(firstRings / end)
	width := math.Ceil(end / firstRings)
	if per >= 1 {
		width = 1 / min(per, 48)
	}
	edges := []float64{0}
	for i := 1.0; (i-1)*width < end; i++ {
		edges = append(edges, i*width)
	}
	const near, reach = 12, 0.4
	for k := 0.0; k < end && end < 10; k++ {
		for m := 0.0; m < near; m++ {
			t := reach * math.Pow(d.core()/reach/4, m/near)
			edges = append(edges, k+t, math.Abs(k-t))
		}
	}
	return d.onGrid(edges)
}

// core returns about the radius of the ball that has most of the noise if densities fall fast: outside of it the
// probability is some e^-ε/core^d, so that core^p and that are alike.
func (d *design) core() float64 {
	return min(0.01, math.Exp(-d.epsilon/(float64(d.Dimension)+d.p)))
}

// onGrid rounds edges to steps and sorts them, without those that are too near to another one.
func (d *design) onGrid(edges []float64) []float64 {
	for i, x := range edges {
		edges[i] = math.Round(x*float64(d.shift)) / float64(d.shift)
	}
	slices.Sort(edges)
	kept := edges[:1]
	for _, x := range edges {
		if x > kept[len(kept)-1]+d.core()/finest {
			kept = append(kept, x)
		}
	}
	return kept
}

// next returns edges for another program: those of balls with weights and their neighbors, as long as
// there is room all others, and where a ball would lose less; and a shift farther in or out, as densities there
// depend on each other.
func (d *design) next(s *solution) []float64 {
	n, r := len(d.volume), d.reduced(s)
	type candidate struct{ radius, loss float64 }
	var better []candidate
	level := s.value + s.price*d.delta
	for i := range n {
		width, best := d.edges[i+1]-d.edges[i], candidate{0, level}
		for _, t := range []float64{0.25, 0.5, 0.75} {
			x := d.edges[i] + t*width
			if l := r.at(x, i); l < best.loss {
				best = candidate{x, l}
			}
		}
		if best.radius > 0 && width > 4*d.core()/finest {
			better = append(better, best)
		}
	}
	slices.SortFunc(better, func(a, b candidate) int { return cmp.Compare(a.loss, b.loss) })
	const some, few = 1e-9, 1e-7 // weights
	edges := []float64{0}
	weight := func(i int) float64 { return s.weights[max(0, min(i, n-1))] }
	for i := range n {
		if n < mostRings/2 || weight(i) > some || weight(i-1) > few || weight(i+1) > few {
			edges = append(edges, d.edges[i+1])
		}
	}
	for _, c := range better[:min(len(better), moreRings)] {
		edges = append(edges, c.radius)
	}
	end := d.edges[n]
	for i := range n {
		if weight(i) > 1e-6 {
			for _, x := range []float64{d.edges[i+1] + 1, math.Abs(d.edges[i+1] - 1)} {
				if x < end {
					edges = append(edges, x)
				}
			}
		}
	}
	if len(edges) > mostRings+1 {
		edges = append(edges[:mostRings:mostRings], end)
	}
	return d.onGrid(edges)
}

// keep verifies noise, and keeps it if it is the best so far. Weights that are next to nothing are given to the next
// larger ball.
func (d *design) keep(radii []int64, weights []float64) error {
	least := 1e-7 * d.delta * math.Exp(-d.epsilon) // what it costs is up to e^ε as much
	sum, rest := 0.0, 0.0
	for _, w := range weights {
		sum += w
	}
	s := ball.Spec{Problem: d.Problem, StepExponent: d.exponent}
	left := ^uint64(0) // and 1 more
	heaviest := 0
	for j, w := range weights {
		if rest += w / sum; rest < least && j < len(weights)-1 {
			continue
		}
		x := uint64(math.Ldexp(min(rest, 1-0x1p-50), 64))
		x = min(x, left)
		rest = 0
		if x == 0 {
			continue
		}
		left -= x
		s.Radii, s.Weights = append(s.Radii, radii[j]), append(s.Weights, x)
		if x > s.Weights[heaviest] {
			heaviest = len(s.Weights) - 1
		}
	}
	if len(s.Weights) < 2 {
		return nil
	}
	s.Weights[heaviest] += left + 1
	noise, err := ball.New(s)
	if err != nil {
		return err
	}
	v, err := noise.Verify()
	if err != nil {
		return err
	}
	if d.best == nil || v.Certificate().ExpectedLoss.Cmp(d.best.Certificate().ExpectedLoss) < 0 {
		d.best = v
	}
	return nil
}
