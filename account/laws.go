package account

import (
	"errors"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// laws is the profile of a mechanism with one law of answers for each of finitely many
// inputs: the supremum over the pairs of inputs that are neighbors. The pairs are ordered,
// and there are both orders of each.
type laws struct {
	epsilon float64 // what the mechanism is made for
	rows    []law
	pairs   []couple // between which the profiles of all neighbors lie
	own     []couple // those of pairs that are neighbors
	coarse  []float64
	// probe is the pair of the largest finite expected loss, and mean that loss.
	probe couple
	mean  float64
}

// couple is a pair of laws P and Q, Q moved by so many answers.
type couple struct{ p, q, shift int }

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
	pairs := mirrored(rows, kernels.ProtectedPairs(edges, k.Privacy().Sensitivity))
	return newLaws("kernel", k.Privacy().Epsilon, rows, pairs, pairs)
}

// Additive is a release of a query value with noise drawn from the kernel. It trusts the
// weights and the cells, and nothing the kernel claims. Shifts by parts of a bin lie between
// those by whole bins. Errors are as those of [Kernel].
func Additive(k *cells.Kernel) (*PrivacyLossDistribution, error) {
	if _, err := k.Verify(); errors.Is(err, dp.ErrInvalid) || errors.Is(err, cells.ErrWork) {
		return nil, check.Errorf("account", nil, "additive kernel: %w", err)
	}
	var rows [][]uint64
	var pairs, own []couple
	for i := range k.Cells() {
		rows = append(rows, make([]uint64, k.Bins()))
		for j := range rows[i] {
			rows[i][j] = k.Weight(i, j)
		}
	}
	points := k.Grid().PointsPerBin
	for gain := range rows {
		for lose := range rows {
			first, last, ok := k.Shifts(gain, lose)
			if !ok {
				continue
			}
			for m := exact.FloorDiv(first, points); m < exact.FloorDiv(last+points-1, points)+1; m++ {
				c := couple{gain, lose, -int(m)}
				if pairs = append(pairs, c); m*points >= first && m*points <= last {
					own = append(own, c)
				}
			}
		}
	}
	return newLaws("additive kernel", k.Privacy().Epsilon, rows, pairs, own)
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
	all := mirrored(s.Rows, pairs)
	return newLaws("randomizer", s.Epsilon, s.Rows, all, all)
}

// mirrored returns both orders of pairs k < m, but of rows and pairs that are their own
// mirror image, so that there would be everything twice, one of each two.
func mirrored(rows [][]uint64, pairs [][2]int) []couple {
	n := len(rows)
	symmetric := true
	for i := range rows {
		symmetric = symmetric && slices.Equal(rows[i], reversed(rows[n-1-i]))
	}
	there := make(map[[2]int]bool, len(pairs))
	for _, c := range pairs {
		there[c] = true
	}
	for _, c := range pairs { // cells of different widths have neighbors of their own
		symmetric = symmetric && there[[2]int{n - 1 - c[1], n - 1 - c[0]}]
	}
	var out []couple
	for _, c := range pairs {
		for _, o := range [][2]int{c, {c[1], c[0]}} {
			if image := [2]int{n - 1 - o[0], n - 1 - o[1]}; !symmetric || slices.Compare(image[:], o[:]) >= 0 {
				out = append(out, couple{p: o[0], q: o[1]})
			}
		}
	}
	return out
}

// newLaws makes the profile of laws.
func newLaws(name string, epsilon float64, rows [][]uint64, pairs, own []couple) (*PrivacyLossDistribution, error) {
	l := &laws{epsilon: epsilon, pairs: pairs, own: own}
	for _, row := range rows {
		l.rows = append(l.rows, law{row, logs(row)})
	}
	if len(l.pairs) == 0 { // all inputs have one law
		l.pairs = []couple{{}}
	}
	if len(l.own) == 0 {
		l.own = []couple{{}}
	}
	if compared := int64(len(l.pairs)) * int64(len(rows[0])); compared > maxPairs {
		return nil, check.Errorf("account", tables.ErrWork, "%s: %d pairs of laws over %d answers are more than %d comparisons, the most that are accounted for", name, len(l.pairs), len(rows[0]), maxPairs)
	}
	for i, c := range l.own {
		mean := 0.0
		l.finite(c, func(p, loss float64) { mean += p * loss })
		if i == 0 || mean > l.mean {
			l.probe, l.mean = c, mean
		}
	}
	l.coarse = l.upper(coarseLosses)
	return &PrivacyLossDistribution{pair: l}, nil
}

// finite calls a function with the probabilities under P of outputs that Q has too, and
// their losses, right to a few roundoffs. It returns the probability of the others.
func (l *laws) finite(c couple, do func(p, loss float64)) (lone float64) {
	p, q := l.rows[c.p], l.rows[c.q]
	for j, w := range p.weights {
		switch {
		case w == 0:
		case at(q.weights, j-c.shift) == 0:
			lone += float64(w) * 0x1p-64
		default:
			do(float64(w)*0x1p-64, p.logs[j]-q.logs[j-c.shift])
		}
	}
	return lone
}

func (l *laws) deltaUpper(epsilon float64) float64 {
	r, most := exact.RatioDown(math.Min(epsilon, tables.MaxEpsilon)), new(big.Int)
	for _, c := range l.pairs {
		if d := r.ShiftedDivergence(l.rows[c.p].weights, l.rows[c.q].weights, c.shift); d.Cmp(most) > 0 {
			most = d
		}
	}
	return exact.FloatUp(proof.Probability(most))
}

func (l *laws) epsilonUpper(delta float64) (float64, error) {
	return solveOnGrids(l.coarse, l.upper, l.deltaUpper, delta)
}

func (l *laws) deltaLower(epsilon float64) float64 {
	if epsilon > tables.MaxEpsilon {
		return 0
	}
	e, high, best := math.Exp(epsilon), ratioUp(epsilon), 0.0
	for _, c := range l.own {
		best = math.Max(best, excess(l.rows[c.p].weights, l.rows[c.q].weights, c.shift, true, e, high))
	}
	return best * (1 - 8*roundoff)
}

func (l *laws) extent(tail float64) (least, most float64) {
	most = reach(l.coarse, tail)
	return -most, most
}

func (l *laws) unit(float64) float64 { return l.epsilon }
func (l *laws) narrow() float64      { return math.Inf(1) }

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
		b.spread(g, c.shift, l.rows[c.p], l.rows[c.q], countSlack)
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
func (l *laws) onGrid(g grid, c couple) *pmf {
	b := newLosses(g)
	b.spread(g, c.shift, l.rows[c.p], l.rows[c.q], g.slack()/2)
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
	var finite, lone couple
	top, best, most := reach(l.coarse, 0), -1.0, -1.0
	for _, c := range l.own {
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
