// SPDX-License-Identifier: Apache-2.0

package account

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
)

// Release is a mechanism, known by its privacy loss distribution, and how often it is used, each
// time with fresh noise, by choice even depending on the answers so far.
type Release struct {
	PLD   *PrivacyLossDistribution
	Times int // from 1 to limits.TableReleases
}

// Bounds brackets a number: Upper is a proven upper bound, a claim that holds,
// and Lower a proven lower bound, how much of it the mechanisms really cost.
type Bounds struct{ Lower, Upper float64 }

// Composition is releases about the same people. It is immutable and safe for concurrent use.
type Composition struct {
	given []Release // by the caller, the uses of one distribution added up
	count int       // the number of releases given
	// releases are those given, all normal noise merged into one, and times is their number.
	releases []Release
	times    int
	width    float64
	// oneSided leaves lower bounds at 0, for searches that are steered by the upper ones.
	oneSided bool
}

// Options tune a composition; the zero value is useful.
type Options struct {
	// Width is the relative width aimed at in the bounds on epsilon, from
	// 1e-6 to 0.5; 0 means 0.01. Small ones take time and memory.
	Width float64
}

const defaultWidth = 0.01

// Compose puts releases together. All bad fields are reported together, wrapping [dp.ErrInvalid].
func Compose(releases []Release, o Options) (*Composition, error) {
	c := &Composition{width: o.Width}
	if o.Width == 0 {
		c.width = defaultWidth
	}
	bad := check.In("account")
	bad.If(!(c.width >= 1e-6 && c.width <= 0.5), "width", o.Width, "from 1e-6 to 0.5")
	bad.If(len(releases) == 0, "releases", "none", "at least one")
	at := map[*PrivacyLossDistribution]int{}
	c.given = make([]Release, 0, len(releases))
	for i, r := range releases {
		bad.If(r.PLD == nil, fmt.Sprintf("privacy loss distribution of release %d", i+1), "<nil>", "one")
		if r.Times < 1 || r.Times > limits.TableReleases || c.count+r.Times > limits.TableReleases {
			bad.Badf(fmt.Sprintf("times of release %d", i+1), r.Times, "1 to %d, and no more in all", limits.TableReleases)
			continue
		}
		c.count += r.Times
		if j, ok := at[r.PLD]; ok {
			c.given[j].Times += r.Times
			continue
		}
		at[r.PLD] = len(c.given)
		c.given = append(c.given, r)
	}
	if err := bad.Err(); err != nil {
		return nil, err
	}
	c.releases = mergeGaussians(c.given)
	for _, r := range c.releases {
		c.times += r.Times
	}
	return c, nil
}

// Count returns the number of releases.
func (c *Composition) Count() int { return c.count }

// BasicEpsilon is what basic composition proves: the sum of the epsilons of the releases, each at
// an equal part of delta. ok is false if a release is not private at any epsilon with that part.
//
// Guarantee: the composition is (epsilon, delta)-private. The part is rounded down and the sum up.
func (c *Composition) BasicEpsilon(delta float64) (epsilon float64, ok bool) {
	if !(delta >= 0 && delta < 1) {
		return 0, false
	}
	part, sum := portion(delta, c.count), new(big.Rat)
	for _, r := range c.given {
		e, err := (&Composition{releases: []Release{{r.PLD, 1}}, times: 1, width: c.width}).Epsilon(part)
		if err != nil || !check.Finite(e.Upper) {
			return 0, false
		}
		all := new(big.Rat).SetInt64(int64(r.Times))
		sum.Add(sum, all.Mul(all, exact.Rational(e.Upper)))
	}
	epsilon = exact.FloatUp(sum)
	return epsilon, check.Finite(epsilon)
}

// BestEpsilon is Epsilon with the smaller upper bound of exact and of basic composition. It is +Inf
// where neither proves any, which is no error. An error wraps dp.ErrInvalid unless 0 <= delta < 1.
func (c *Composition) BestEpsilon(delta float64) (Bounds, error) {
	if err := check.Delta("account", "delta", delta); err != nil {
		return Bounds{}, err
	}
	b, err := c.Epsilon(delta)
	switch {
	case errors.Is(err, ErrDeltaTooSmall):
		b = Bounds{Lower: math.Inf(1), Upper: math.Inf(1)}
	case errors.Is(err, dp.ErrInvalid): // too many for the grid, or a delta of 0
		b = Bounds{Upper: math.Inf(1)}
	case err != nil:
		return b, err
	}
	if basic, ok := c.BasicEpsilon(delta); ok {
		b.Upper = min(b.Upper, basic)
	}
	b.Lower = min(b.Lower, b.Upper)
	return b, nil
}

const (
	// maxLength bounds the Fourier transforms.
	maxLength = 1 << 21
	// maxGrid bounds the grid of a single release.
	maxGrid = 1 << 18
	// coarseGrid is the size of the grid of a first look.
	coarseGrid = 1 << 11
	// maxGridLoss bounds the losses of a grid, whose exponentials must stay far inside float64.
	maxGridLoss = 500
	// minSpan keeps grids from having no width.
	minSpan = 0x1p-30
)

// extent returns the extent of the losses of a pair, clipped to those that a grid can hold.
func extent(l dominatingPair, tail float64) (least, most float64) {
	least, most = l.extent(tail)
	return math.Max(least, -maxGridLoss), math.Min(most, maxGridLoss)
}

// measures returns a dominating distribution on a grid for every releaseand the grids. Losses above
// the extent, which add at most about tail to δ, count as infinite; those below it are rounded up.
func (c *Composition) measures(step, tail float64) (parts, []grid) {
	ps := make(parts, len(c.releases))
	grids := make([]grid, len(c.releases))
	for i, r := range c.releases {
		least, most := extent(r.PLD.pair, tail)
		g := grid{step: step, first: int(math.Max(math.Floor(least/step), -maxGrid/2)), last: int(math.Min(math.Ceil(most/step), maxGrid/2))}
		g.last = max(g.last, g.first+1)
		grids[i] = g
		ps[i] = part{connectDots(g, r.PLD.pair.upper(g)), r.Times}
	}
	return ps, grids
}

// lowerMeasures returns up to two choices of pairs of neighbors.
func (c *Composition) lowerMeasures(grids []grid, theta float64) []parts {
	choices := [2]parts{make(parts, len(c.releases)), make(parts, len(c.releases))}
	n := 1
	for i, r := range c.releases {
		ds := r.PLD.pair.lower(grids[i], theta)
		n = max(n, len(ds))
		for j := range choices {
			choices[j][i] = part{ds[min(j, len(ds)-1)], r.Times}
		}
	}
	return choices[:n]
}

// span returns the length of an interval about 0 that holds every law's extent.
func (c *Composition) span(tail float64) float64 {
	span := minSpan
	for _, r := range c.releases {
		least, most := extent(r.PLD.pair, tail)
		span = math.Max(span, 2*math.Max(-least, most))
	}
	return span
}

// step chooses the grid step. Where losses are on the grid, or so dense that they can be grouped to
// be (regroup), the bounds on a release are off by about (1+θ)·step²/4. Else they are rounded by up
// to one step each for the lower bound, and the step is a share of the loss asked for, divided over
// the releases. It is not finer than the limits allow.
func (c *Composition) step(loss, theta, window, span float64) float64 {
	allowed := c.width * loss / float64(c.times) // for each release
	within := func(step float64) float64 {
		return math.Min(math.Max(step, math.Max(1.5*window/maxLength, span/maxGrid)), span/64)
	}
	narrow := math.Inf(1)
	for _, r := range c.releases {
		narrow = math.Min(narrow, r.PLD.pair.narrow())
	}
	coarse, fine := within(math.Min(narrow/24, math.Max(0.8*allowed, math.Sqrt(allowed/(1+theta))))), within(0.8*allowed)
	unit, times := 0.0, 0
	for _, r := range c.releases {
		if u := r.PLD.pair.unit(coarse); u > 0 && (r.Times > times || r.Times == times && u > unit) {
			unit, times = u, r.Times
		}
	}
	if unit == 0 && narrow > coarse && !math.IsInf(narrow, 1) { // losses end on the grid
		coarse = within(narrow / math.Ceil(narrow/coarse))
	}
	const most = 64 // steps shorter than the coarse one that are tried
	for k, step := math.Ceil(unit/coarse), coarse; k < most+math.Ceil(unit/coarse); k++ {
		if unit > coarse {
			step = unit / k
		}
		if step < fine {
			break
		}
		if !slices.ContainsFunc(c.releases, func(r Release) bool { return !r.PLD.pair.fits(step) }) {
			return step
		}
	}
	if unit > fine {
		return unit / math.Ceil(unit/fine)
	}
	return fine
}

// multiple reports whether a loss is on the grid, but for the slack of lower bounds.
func multiple(loss, step float64) bool {
	return math.Abs(loss/step-math.Round(loss/step)) < slackShare/2
}

// search composes for a question. tilt finds θ for the parts, and the loss of the answer.
func (c *Composition) search(tail float64, tilt func(parts) (theta, loss float64)) (upper *composed, lower []*composed, err error) {
	span := c.span(tail)
	ps, _ := c.measures(span/coarseGrid, tail)
	theta, loss := tilt(ps)
	if theta == 0 {
		return nil, nil, nil
	}
	from, to := ps.window(theta)
	// A shift by a small part of 1/θ changes little, however small the loss.
	step := c.step(math.Max(loss, 0.25/theta), theta, (to-from)*ps[0].measure.step, span)
	for range 8 {
		var grids []grid
		ps, grids = c.measures(step, tail)
		theta, _ = tilt(ps)
		if theta == 0 {
			return nil, nil, nil
		}
		if upper, err = ps.compose(theta, maxLength); err != nil {
			step *= 2
			continue
		}
		if c.oneSided {
			return upper, nil, nil
		}
		for _, choice := range c.lowerMeasures(grids, theta) {
			for _, theta := range []float64{theta, gentleTilt} {
				l, err := choice.compose(theta, maxLength)
				if err != nil { // at least the mass at infinity
					l = &composed{releases: choice.count(), kinds: float64(len(choice)), step: step}
					l.infinityMass, l.exponents = choice.infinityMass()
				}
				if lower = append(lower, l); theta <= gentleTilt {
					break
				}
			}
		}
		return upper, lower, nil
	}
	return nil, nil, check.Field("account", "releases", c.count, fmt.Sprintf("fewer: their losses do not fit %d points", maxLength))
}

const (
	// gentleTilt is a tilt with weight on losses somewhat below the largest one. At the largest
	// loss the best tilt for upper bounds grows without limit, and leaves weight on no other loss.
	gentleTilt = 30
	// tailShare is the share of δ that losses beyond the grids may take.
	tailShare = 1e-4
	// leastDelta is about where bounds on δ stop being sharp.
	leastDelta = 1e-30
)

// Delta returns bounds on the δ of the composition at ε = epsilon, 0 <= epsilon.
//
// Guarantee (docs/proofs/composition.md): the composition is (epsilon, Upper)-private.
func (c *Composition) Delta(epsilon float64) (Bounds, error) {
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) {
		return Bounds{}, check.Field("account", "epsilon", epsilon, "a finite number >= 0")
	}
	if orders := c.orders(); orders != nil {
		return worse(orders, func(c *Composition) (Bounds, error) { return c.Delta(epsilon) })
	}
	if c.times == 1 {
		l := c.releases[0].PLD.pair
		return Bounds{l.deltaLower(epsilon), l.deltaUpper(epsilon)}, nil
	}
	if pure, err := c.pure(); err == nil && epsilon >= pure.Upper {
		return Bounds{}, nil
	}
	upper, lower, err := c.searchAt(epsilon)
	if err != nil {
		return Bounds{}, err
	}
	b := Bounds{Upper: math.Min(upper.deltaUpper(epsilon), c.basicDeltaAt(epsilon))}
	for _, l := range lower {
		b.Lower = math.Max(b.Lower, l.deltaLower(epsilon))
	}
	return b, nil
}

// searchAt composes for the δ at an ε. A first bound says which tails matter; below
// leastDelta none do. Where most losses are so close together that the coarse grid shows
// little of them, the bound is far off, and the δ that is found is the next one.
func (c *Composition) searchAt(epsilon float64) (upper *composed, lower []*composed, err error) {
	n, theta := float64(c.times), 0.0
	tilt := func(ps parts) (float64, float64) {
		theta = ps.tiltTo(epsilon)
		return theta, epsilon
	}
	coarse, _ := c.measures(c.span(leastDelta/n)/coarseGrid, leastDelta/n)
	tilt(coarse)
	value, _ := coarse.hockeyMoment(theta)
	infinity, _ := coarse.infinityMass()
	guess := math.Max(leastDelta, math.Min(1, math.Exp(value-theta*epsilon)+infinity))
	for range 3 {
		upper, lower, err = c.search(tailShare*guess/n, tilt)
		if err != nil {
			return nil, nil, err
		}
		// Chernoff's bound is some ten times what it bounds.
		found := upper.deltaUpper(epsilon)
		if found >= guess/64 || guess <= leastDelta {
			break
		}
		guess = math.Max(found, leastDelta)
	}
	return upper, lower, nil
}

// basicEpsilon returns the sum of the ε that the releases are made for, nil if one
// is made for none. There basicDelta bounds δ, and better than a grid does: so close
// to the sum of all losses their rounding counts most.
func (c *Composition) basicEpsilon() *big.Rat {
	return c.sum(func(l dominatingPair) float64 {
		if own := l.unit(math.Inf(1)); own > 0 {
			return own
		}
		return math.Inf(1)
	})
}

// basicDelta returns the sum of the δ of the releases, each at a share of its own ε.
func (c *Composition) basicDelta(share float64) *big.Rat {
	return c.sum(func(l dominatingPair) float64 { return l.deltaUpper(l.unit(math.Inf(1)) * share) })
}

// basicDeltaAt is what basic composition proves of δ at an ε from a little below the sum on, else 1.
func (c *Composition) basicDeltaAt(epsilon float64) float64 {
	sum := c.basicEpsilon()
	if sum == nil {
		return 1
	}
	if exact.Rational(epsilon).Cmp(sum) >= 0 {
		return exact.FloatUp(c.basicDelta(1))
	}
	share := epsilon / exact.FloatUp(sum)
	if share < 1-c.width {
		return 1
	}
	// A rounding of the share, one of this product, and one of each that it is a factor of.
	return exact.FloatUp(c.basicDelta(share * (1 - 4*roundoff)))
}

// sum adds a number for every release, exactly; nil if one is infinite.
func (c *Composition) sum(of func(dominatingPair) float64) *big.Rat {
	total := new(big.Rat)
	for _, r := range c.releases {
		term := exact.Rational(of(r.PLD.pair))
		if term == nil {
			return nil
		}
		total.Add(total, term.Mul(term, new(big.Rat).SetInt64(int64(r.Times))))
	}
	return total
}

// ErrDeltaTooSmall marks a delta that the composition does not reach at any
// epsilon: outputs that only one of two neighbors has are more probable.
var ErrDeltaTooSmall = errors.New("delta is not reached at any epsilon")

// Epsilon bounds the smallest ε at which the composition is (ε, delta)-private, 0 <= delta < 1.
//
// Guarantee: the composition is (Upper, delta)-differentially private. An error that wraps
// ErrDeltaTooSmall says that no epsilon is enough, and what delta at least is needed.
func (c *Composition) Epsilon(delta float64) (Bounds, error) {
	if err := check.Delta("account", "delta", delta); err != nil {
		return Bounds{}, err
	}
	if orders := c.orders(); orders != nil {
		return worse(orders, func(c *Composition) (Bounds, error) { return c.Epsilon(delta) })
	}
	if c.times == 1 {
		return c.single(delta)
	}
	if delta == 0 {
		return c.pure()
	}
	n := float64(c.times)
	needed, found := 0.0, true
	tilt := func(ps parts) (theta, loss float64) {
		infinity, _ := ps.infinityMass()
		if infinity >= delta*(1-0x1p-30) {
			needed, found = infinity, false
			return 0, 0
		}
		found = true
		bits := -math.Log(delta - infinity)
		least, most := ps.thetaRange()
		theta = minimize(ps.hockeyMoment, bits, least, most)
		value, _ := ps.hockeyMoment(theta)
		return theta, (value + bits) / theta
	}
	upper, lower, err := c.search(tailShare*delta/n, tilt)
	if err != nil {
		return Bounds{}, err
	}
	b := Bounds{Upper: math.Inf(1)}
	if !found {
		err = tooSmall(delta, needed)
	} else {
		b.Upper, err = solve(upper.deltaUpper, delta)
	}
	if pure, e := c.pure(); e == nil && (err != nil || pure.Upper < b.Upper) {
		b.Upper, err = pure.Upper, nil
	}
	if sum := c.basicEpsilon(); sum != nil && (err != nil || exact.FloatUp(sum) < b.Upper) {
		if c.basicDelta(1).Cmp(exact.Rational(delta)) <= 0 {
			b.Upper, err = exact.FloatUp(sum), nil
		}
	}
	if err != nil {
		return Bounds{}, err
	}
	for _, l := range lower {
		b.Lower = math.Max(b.Lower, solveBelow(l.deltaLower, delta, b.Upper))
	}
	return b, nil
}

// orders returns the composition for either order of neighbors, nil if they are the same.
func (c *Composition) orders() []*Composition {
	if !slices.ContainsFunc(c.releases, func(r Release) bool { return r.PLD.added != nil }) {
		return nil
	}
	removed, added := *c, *c
	removed.releases, added.releases = slices.Clone(c.releases), slices.Clone(c.releases)
	for i, r := range c.releases {
		if r.PLD.added != nil {
			removed.releases[i].PLD = &PrivacyLossDistribution{pair: r.PLD.pair}
			added.releases[i].PLD = &PrivacyLossDistribution{pair: r.PLD.added}
		}
	}
	return []*Composition{&removed, &added}
}

// worse returns the larger of the bounds for the two orders of neighbors.
func worse(orders []*Composition, of func(*Composition) (Bounds, error)) (worst Bounds, err error) {
	for _, c := range orders {
		b, err := of(c)
		if err != nil {
			return Bounds{}, err
		}
		worst = Bounds{math.Max(worst.Lower, b.Lower), math.Max(worst.Upper, b.Upper)}
	}
	return worst, nil
}

// tooSmall is the error for a delta that no ε reaches, but needed at best.
func tooSmall(delta, needed float64) error {
	return check.Errorf("account", ErrDeltaTooSmall, "delta = %g, want more than %.6g, the probability of outputs that only one of two neighbors has", delta, needed)
}

// single answers for one release from its profile.
func (c *Composition) single(delta float64) (b Bounds, err error) {
	l := c.releases[0].PLD.pair
	if b.Upper, err = l.epsilonUpper(delta); err != nil {
		return Bounds{}, err
	}
	// Bisection ends a little above; the law's own epsilon is often the answer.
	if u := l.unit(math.Inf(1)); u > 0 && u < b.Upper && l.deltaUpper(u) <= delta {
		b.Upper = u
	}
	b.Lower = solveBelow(l.deltaLower, delta, b.Upper)
	return b, nil
}

// pure answers for delta = 0, where basic composition is exact: the sum of the releases' own.
func (c *Composition) pure() (Bounds, error) {
	upper, lower := new(big.Rat), new(big.Rat)
	for _, r := range c.releases {
		b, err := (&Composition{releases: []Release{{r.PLD, 1}}, times: 1}).single(0)
		if err != nil {
			return Bounds{}, err
		}
		n := new(big.Rat).SetInt64(int64(r.Times))
		upper.Add(upper, new(big.Rat).Mul(n, exact.Rational(b.Upper)))
		lower.Add(lower, n.Mul(n, exact.Rational(b.Lower)))
	}
	return Bounds{Lower: exact.FloatDown(lower), Upper: exact.FloatUp(upper)}, nil
}

// maxSearch exceeds every ε that a composition can need.
const maxSearch = 0x1p40

// solve returns an ε >= 0 with bound(ε) <= delta, close to the smallest.
func solve(bound func(float64) float64, delta float64) (float64, error) {
	if bound(0) <= delta {
		return 0, nil
	}
	if least := bound(maxSearch); !(least <= delta) {
		return 0, tooSmall(delta, least)
	}
	lo, hi := 0.0, 0x1p-20
	for ; hi < maxSearch && !(bound(hi) <= delta); hi *= 2 {
		lo = hi
	}
	return bisect(lo, hi, func(e float64) bool { return bound(e) <= delta }, true), nil
}

// solveOnGrids is solve for a profile whose bounds at all losses of a grid, by upper, cost little
// more than one value of it; coarse are those at coarseLosses. They are slightly too high, which
// matters where delta is about the limit of the profile for large ε: there the exact one decides.
func solveOnGrids(coarse []float64, upper func(grid) []float64, exactly func(float64) float64, delta float64) (float64, error) {
	const (
		parts = 1 << 10
		// With this step maxLoss fits an int, and rounding errors of losses are larger.
		finest = 0x1p-48
	)
	g, heights, best := coarseLosses, coarse, math.Inf(1)
	for {
		i := slices.IndexFunc(heights, func(h float64) bool { return h <= delta })
		if i < 0 && math.IsInf(best, 1) {
			if least := heights[len(heights)-1]; delta < least*(1-closeTogether) {
				return 0, tooSmall(delta, least)
			}
			return solve(exactly, delta)
		} else if i < 0 { // other ranges were bounded at once
			return best, nil
		}
		best = g.at(g.first + i)
		if i == 0 || g.step <= math.Max(1e-11*best, finest) {
			return best, nil
		}
		g = grid{step: g.step / parts, first: (g.first + i - 1) * parts, last: (g.first + i) * parts}
		heights = upper(g)
	}
}

// solveBelow returns an ε >= 0 with bound(ε) > delta, close to the largest below
// most, or 0. The bound may be poor far below most.
func solveBelow(bound func(float64) float64, delta, most float64) float64 {
	lo := most
	for share := 0x1p-12; !(bound(lo) > delta); share *= 2 {
		if lo <= 0 {
			return 0
		}
		lo = math.Max(0, most*(1-share))
	}
	return bisect(lo, most, func(e float64) bool { return !(bound(e) > delta) }, false)
}

// bisect returns a number close to where holds, which is false at lo and true at hi,
// changes: one at which it is true if above, else one at which it is false.
func bisect(lo, hi float64, holds func(float64) bool, above bool) float64 {
	for hi-lo > 1e-11*hi {
		middle := lo + (hi-lo)/2
		if holds(middle) {
			hi = middle
		} else {
			lo = middle
		}
	}
	if above {
		return hi
	}
	return lo
}
