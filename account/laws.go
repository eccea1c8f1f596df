package account

import (
	"errors"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/claims"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/tables"
)

// laws is the profile of a mechanism with one law of answers for each of finitely many
// inputs: the supremum over the pairs of inputs that are neighbors. The pairs are ordered,
// and there are both orders of each.
type laws struct {
	epsilon float64 // what the mechanism is made for
	rows    []law
	pairs   [][2]int // P, Q
	coarse  []float64
	// probe is the pair of the largest finite expected loss, and mean that loss.
	probe [2]int
	mean  float64
}

// Kernel is a release of an answer drawn from the kernel, for a query with values in its
// range. It trusts the weights and the cells, and nothing the kernel claims.
//
// The error wraps [dp.ErrInvalid] if there is no kernel, and kernels.ErrWork if checking it
// takes more than tables.DefaultWork and was not done before, or if it has too many cells.
func Kernel(k *kernels.Kernel) (*PrivacyLossDistribution, error) {
	if _, err := k.Verify(); errors.Is(err, dp.ErrInvalid) || errors.Is(err, kernels.ErrWork) {
		return nil, check.Errorf("account", nil, "kernel: %w", err)
	}
	n := k.Cells()
	edges, rows := make([]float64, n+1), make([][]uint64, n)
	for i := range edges {
		edges[i] = k.Edge(i)
	}
	for i := range rows {
		rows[i] = make([]uint64, n)
		for j := range rows[i] {
			rows[i][j] = k.Weight(i, j)
		}
	}
	return newLaws("kernel", k.Privacy().Epsilon, rows, kernels.ProtectedPairs(edges, k.Privacy().Sensitivity))
}

// Randomizer is a release of an answer drawn from the randomizer, for any value it takes:
// values between nodes lie between those of the nodes, for divergences are convex. It trusts
// the weights, and nothing the randomizer claims. Errors are as those of [Kernel].
func Randomizer(r *local.Randomizer) (*PrivacyLossDistribution, error) {
	if _, err := r.Verify(); errors.Is(err, dp.ErrInvalid) || errors.Is(err, local.ErrWork) {
		return nil, check.Errorf("account", nil, "randomizer: %w", err)
	}
	s := r.Spec()
	var pairs [][2]int
	for i := range s.Rows {
		for k := range i {
			pairs = append(pairs, [2]int{k, i})
		}
	}
	return newLaws("randomizer", s.Epsilon, s.Rows, pairs)
}

// newLaws makes the profile of laws over the same answers; pairs are unordered.
func newLaws(name string, epsilon float64, rows [][]uint64, pairs [][2]int) (*PrivacyLossDistribution, error) {
	l := &laws{epsilon: epsilon}
	// A mechanism that is its own mirror image has every pair twice.
	n := len(rows)
	symmetric := true
	for i := range rows {
		symmetric = symmetric && slices.Equal(rows[i], reversed(rows[n-1-i]))
		l.rows = append(l.rows, law{rows[i], logs(rows[i])})
	}
	for _, c := range pairs {
		for _, o := range [][2]int{c, {c[1], c[0]}} {
			if image := [2]int{n - 1 - o[0], n - 1 - o[1]}; symmetric && slices.Compare(image[:], o[:]) < 0 {
				continue // the image is, or will be, there
			}
			l.pairs = append(l.pairs, o)
		}
	}
	if len(l.pairs) == 0 { // all inputs have one law
		l.pairs = [][2]int{{0, 0}}
	}
	if compared := int64(len(l.pairs)) * int64(len(rows[0])); compared > maxPairs {
		return nil, check.Errorf("account", kernels.ErrWork, "%s: %d pairs of laws over %d answers are more than %d comparisons, the most that are accounted for", name, len(l.pairs), len(rows[0]), maxPairs)
	}
	for i, c := range l.pairs {
		mean := 0.0
		l.finite(c, func(p, loss float64) { mean += p * loss })
		if i == 0 || mean > l.mean {
			l.probe, l.mean = c, mean
		}
	}
	l.coarse = l.upper(coarseLosses)
	return &PrivacyLossDistribution{l}, nil
}

// finite calls a function with the probabilities under P of outputs that Q has too, and
// their losses, right to a few roundoffs. It returns the probability of the others.
func (l *laws) finite(c [2]int, do func(p, loss float64)) (lone float64) {
	p, q := l.rows[c[0]], l.rows[c[1]]
	for j, w := range p.weights {
		switch {
		case w == 0:
		case q.weights[j] == 0:
			lone += float64(w) * 0x1p-64
		default:
			do(float64(w)*0x1p-64, p.logs[j]-q.logs[j])
		}
	}
	return lone
}

func (l *laws) deltaUpper(epsilon float64) float64 {
	r, most := exact.RatioDown(math.Min(epsilon, tables.MaxEpsilon)), new(big.Int)
	for _, c := range l.pairs {
		if d := r.Divergence(l.rows[c[0]].weights, l.rows[c[1]].weights); d.Cmp(most) > 0 {
			most = d
		}
	}
	return exact.FloatUp(claims.Probability(most))
}

func (l *laws) deltaLower(epsilon float64) float64 {
	if epsilon > tables.MaxEpsilon {
		return 0
	}
	e, high, best := math.Exp(epsilon), ratioUp(epsilon), 0.0
	for _, c := range l.pairs {
		best = math.Max(best, excess(l.rows[c[0]].weights, l.rows[c[1]].weights, 0, true, e, high))
	}
	return best * (1 - 8*roundoff)
}

func (l *laws) extent(tail float64) (least, most float64) {
	most = reach(l.coarse, tail)
	return -most, most
}

func (l *laws) unit(float64) float64 { return l.epsilon }

// fits looks at what rounding the losses of one pair down costs, and what regrouping them
// does where there are enough of them.
func (l *laws) fits(step float64) bool {
	all, lost := 0.0, 0.0 // in steps
	l.finite(l.probe, func(p, loss float64) {
		x := loss/step + slackShare
		all += p
		lost += p * (x - math.Floor(x))
	})
	if lost <= mostLost*all {
		return true
	}
	end := math.Ceil(reach(l.coarse, 0)/step) + 1
	if answers := len(l.rows[0].weights); end > float64(answers) {
		return false
	}
	d := l.onGrid(grid{step: step, first: -int(end), last: int(end)}, l.probe)
	kept := 0.0
	for i, m := range d.mass {
		kept += m * float64(d.first+i) * step
	}
	return l.mean-kept <= mostLost*step
}

// maxHeights bounds the heights that upper computes, over all pairs.
const maxHeights = 1 << 29

func (l *laws) upper(g grid) []float64 {
	if every := int(int64(len(l.pairs))*int64(g.len())/maxHeights) + 1; every > 1 {
		return chords(g, every, l.envelope)
	}
	return l.envelope(g)
}

// envelope is the largest of [losses.raise] over the pairs.
func (l *laws) envelope(g grid) []float64 {
	out := make([]float64, g.len())
	b, alphas := newLosses(g), discounted(g)
	for _, c := range l.pairs {
		b.spread(g, 0, l.rows[c[0]], l.rows[c[1]], countSlack)
		b.raise(out, alphas, exact.Uint128{})
	}
	for i := range out {
		out[i] = math.Min(1, out[i]*0x1p-64*(1+8*roundoff))
	}
	return out
}

// chords returns bounds above a profile at the losses of a grid from bounds, with the
// slack of raise, at every so many of them: the profile is convex in α, so nowhere above
// its chords.
func chords(g grid, every int, upper func(grid) []float64) []float64 {
	thin := grid{step: g.step * float64(every), first: int(math.Floor(float64(g.first) / float64(every)))}
	thin.last = int(math.Ceil(float64(g.last)/float64(every))) + 1
	heights := upper(thin)
	out := make([]float64, g.len())
	for i := range out {
		at := g.first + i - thin.first*every // in steps of g
		k, part := at/every, float64(at%every)*g.step
		// The share of the way in α, rounded down.
		share := math.Expm1(part) / math.Expm1(thin.step) * (1 - 16*roundoff)
		out[i] = (heights[k] - share*(heights[k]-heights[k+1])) * (1 + 8*roundoff)
	}
	return out
}

// onGrid returns a sub-law of the losses of the pair on the grid, regrouped.
func (l *laws) onGrid(g grid, c [2]int) *pmf {
	b := newLosses(g)
	b.spread(g, 0, l.rows[c[0]], l.rows[c[1]], g.slack()/2)
	d := &pmf{step: g.step, first: g.first, mass: make([]float64, g.len())}
	d.infinityMass = b.lone.Float64() * 0x1p-64 * (1 - 8*roundoff)
	gain, price := make([]float64, g.len()), make([]float64, g.len())
	for i := range gain {
		gain[i], price[i] = b.gain[i].Float64()*0x1p-64, b.price[i].Float64()*0x1p-64
	}
	d.regroup(g, gain, price)
	return d
}

// lower takes the pair of the largest moment, and that of the largest mass at infinity.
func (l *laws) lower(g grid, theta float64) []*pmf {
	var finite, lone [2]int
	top, best, most := reach(l.coarse, 0), -1.0, -1.0
	for _, c := range l.pairs {
		moment := 0.0
		infinity := l.finite(c, func(p, loss float64) { moment += p * math.Exp(theta*(loss-top)) })
		if moment > best {
			finite, best = c, moment
		}
		if infinity > most {
			lone, most = c, infinity
		}
	}
	d := l.onGrid(g, finite)
	if lone == finite || most <= 1.001*d.infinityMass { // not worth another composition
		return []*pmf{d}
	}
	return []*pmf{d, l.onGrid(g, lone)}
}
