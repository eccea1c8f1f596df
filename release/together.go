// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/release/internal/ratio"
)

// together answers with a count, a sum, a mean and a variance of the same rows, all of them functions of the same sums with noise
// (docs/proofs/mean.md, "Together"). These are Σ(x − lower) and Σ(upper − x), a pair; or Σ(x − center) and the number of rows; and
// for a variance R, as of variances.
type together struct {
	query  Query
	kinds  []Kind // first that of the query
	pair   bool
	center *big.Rat // of a sum that is no half of a pair
	a, b   *scaled  // b is nil where the number of rows is public
	square *scaled  // of R, nil without a variance
	x, y   *ratio.Law
	r      *ratio.Law
	method *ratio.Method // nil where the number of rows is public
	cost   account.Cost
	before account.Cost
	delta  float64 // of before
}

// shares of epsilon, of what measures the rows and their sum, where there is a variance.
const (
	pairShare  = 0.75      // to the pair, and the rest to R
	countShare = 1.0 / 3.0 // to the number of rows, and the rest in halves to the sum and R
)

// newTogether chooses the sums whose largest error is the smallest, of all statistics, each in proportion to that of Laplace noise
// with an equal share of epsilon. That does not depend on the data.
func newTogether(ctx context.Context, q Query, source Source) (*mechanism, error) {
	ways := []func() (*together, error){func() (*together, error) { return newPublicSums(ctx, q, source) }}
	if !q.fixed() {
		ways = []func() (*together, error){
			func() (*together, error) { return newPairOf(ctx, q, source) },
			func() (*together, error) { return newApart(ctx, q, source, q.center()) },
			func() (*together, error) { return newApart(ctx, q, source, new(big.Rat)) },
		}
	}
	var best *mechanism
	var failed error
	least := math.Inf(1)
	for _, way := range ways {
		var own *mechanism
		m, err := way()
		if err == nil {
			own = m.mechanism()
			err = (&Plan{q, own}).prove()
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil: // such as less than a design takes, or no solver
			failed = err
		default:
			if worst := m.worst(own.also); best == nil || worst < least {
				best, least = own, worst
			}
		}
	}
	if best == nil {
		return nil, check.Errorf("release", dp.ErrInvalid, "epsilon = %v is too small or too large for so many statistics together: %w", q.Epsilon, failed)
	}
	return best, nil
}

// kindsOf are the statistics of a query, its own first.
func (q Query) kinds() []Kind { return append([]Kind{q.Kind}, q.Also...) }

// squares reports whether one of them is a variance.
func (q Query) squares() bool { return q.Kind == Variance }

// newPairOf measures a pair, and R with noise of its own.
func newPairOf(ctx context.Context, q Query, source Source) (*together, error) {
	own := q
	if q.squares() {
		own.Epsilon, own.Delta = pairShare*q.Epsilon, 0
	}
	p, err := newPair(own)
	if err != nil {
		return nil, err
	}
	m := &together{query: q, kinds: q.kinds(), pair: true, a: p.first, b: p.second, method: p.method, cost: p.cost}
	if q.squares() {
		m.before = p.cost
		if err := m.addSquares(ctx, q.left(m.before), source, 1); err != nil {
			return nil, err
		}
		m.cost.Times = q.uses()
	}
	return m, m.laws()
}

// left returns the query with the epsilon that is left beside a cost without a table.
func (q Query) left(c account.Cost) Query {
	spent := new(big.Rat).Mul(exact.Rational(c.Epsilon), big.NewRat(int64(c.Times*q.Releases), 1))
	q.Epsilon = exact.FloatDown(spent.Sub(exact.Rational(q.Epsilon), spent))
	return q
}

// newApart measures the number of rows with integer noise, and Σ(x − center).
func newApart(ctx context.Context, q Query, source Source, center *big.Rat) (*together, error) {
	m := &together{query: q, kinds: q.kinds(), center: center}
	rows, rest := q, q
	rows.Epsilon, rows.Delta = q.Epsilon/2, q.Delta/2
	if q.squares() {
		rows.Epsilon, rows.Delta = q.Epsilon*countShare, q.Delta*countShare
	}
	v, err := rows.table(ctx, source, float64(q.most()), dp.IntegerQuery, q.uses())
	if err != nil {
		return nil, err
	}
	m.b, m.before, m.delta = whole(v), account.Cost{Table: v, Times: q.uses()}, rows.Delta
	less := func(x, y float64) float64 {
		return exact.FloatDown(new(big.Rat).Sub(exact.Rational(x), exact.Rational(y)))
	}
	rest.Epsilon, rest.Delta = less(q.Epsilon, rows.Epsilon), less(q.Delta, rows.Delta)
	return m, m.addSum(ctx, rest, source)
}

// newPublicSums is for a number of rows that is public.
func newPublicSums(ctx context.Context, q Query, source Source) (*together, error) {
	m := &together{query: q, kinds: q.kinds(), center: new(big.Rat)}
	return m, m.addSum(ctx, q, source)
}

// addSum adds noise of the sum, and of R.
func (m *together) addSum(ctx context.Context, q Query, source Source) error {
	sums := 1
	if q.squares() {
		sums = 2
	}
	if err := m.addSquares(ctx, q, source, sums); err != nil {
		return err
	}
	m.cost.Times = sums * q.uses()
	m.a = newScaled(m.cost.Table, q.sensitivity(m.center))
	return m.laws()
}

// addSquares finds noise for so many sums of a use, R among them for a variance.
func (m *together) addSquares(ctx context.Context, q Query, source Source, sums int) error {
	v, err := q.table(ctx, source, 1, dp.RealQuery, sums*q.uses())
	if err != nil {
		return err
	}
	m.cost = account.Cost{Table: v}
	if q.squares() {
		of := &variances{query: q}
		of.scale(v)
		m.square = of.square
	}
	return nil
}

// laws makes the laws of the noise ready.
func (m *together) laws() (err error) {
	if m.x, err = m.a.law(); err != nil {
		return err
	}
	if m.y = m.x; m.b != nil {
		if m.y, err = m.b.law(); err != nil {
			return err
		}
	}
	if m.square != nil {
		if m.r, err = m.square.law(); err != nil {
			return err
		}
	}
	switch q := m.query; {
	case m.pair || m.b == nil:
	case m.center.Sign() == 0:
		m.method = ratio.Raw(q.Lower, q.Upper, m.x, m.y)
	default:
		m.method = ratio.Split(q.Lower, q.Upper, m.x, m.y)
	}
	return nil
}

// parts are the coefficients of both sums in the number of rows, in Σx, and in Σ(x − middle).
type parts struct{ a, b *big.Rat }

func (m *together) rows() parts {
	if !m.pair {
		return parts{new(big.Rat), big.NewRat(1, 1)}
	}
	width := new(big.Rat).Sub(exact.Rational(m.query.Upper), exact.Rational(m.query.Lower))
	return parts{new(big.Rat).Inv(width), new(big.Rat).Inv(width)}
}

// sumFrom is Σ(x − base).
func (m *together) sumFrom(base *big.Rat) parts {
	if !m.pair {
		return parts{big.NewRat(1, 1), new(big.Rat).Sub(m.center, base)}
	}
	rows := m.rows() // Σx is (upper·A + lower·B)/width
	return parts{
		rows.a.Mul(rows.a, new(big.Rat).Sub(exact.Rational(m.query.Upper), base)),
		rows.b.Mul(rows.b, new(big.Rat).Sub(exact.Rational(m.query.Lower), base)),
	}
}

// of returns the combination of two numbers.
func (p parts) of(a, b *big.Rat) *big.Rat {
	x := new(big.Rat).Mul(p.a, a)
	return x.Add(x, new(big.Rat).Mul(p.b, b))
}

func (p parts) sum(m *together) *ratio.Sum {
	a, _ := p.a.Float64()
	b, _ := p.b.Float64()
	if m.b == nil { // the number of rows has no noise
		b = 0
	}
	return ratio.NewSum(a, m.x, b, m.y)
}

// radius is how far the exact combination may be from the released one at a level, rounded up.
func (m *together) radius(p parts, level float64) (float64, error) {
	switch {
	case m.b == nil || p.b.Sign() == 0:
		r, err := m.a.radius(level)
		return exact.FloatUp(new(big.Rat).Mul(exact.Rational(r), new(big.Rat).Abs(p.a))), err
	case p.a.Sign() == 0:
		r, err := m.b.radius(level)
		return exact.FloatUp(new(big.Rat).Mul(exact.Rational(r), new(big.Rat).Abs(p.b))), err
	}
	r, err := p.sum(m).Radius(level)
	if err != nil {
		return 0, err
	}
	// Half a point of either for its rounding; integers are not rounded.
	all := new(big.Rat).Mul(m.a.unit, new(big.Rat).Abs(p.a))
	if m.pair {
		all.Add(all, new(big.Rat).Mul(m.b.unit, new(big.Rat).Abs(p.b)))
	}
	all.Quo(all, big.NewRat(2, 1))
	return exact.FloatUp(all.Add(all, exact.Rational(r))), nil
}

// error is that of a statistic: of a count or sum the mean absolute one; of a mean, to first order and times the number of rows,
// on average over what it may be; and of a variance so the root of the mean square.
func (m *together) error(k Kind) float64 {
	switch {
	case k == Count && m.b == nil:
		return 0
	case k == Count:
		return m.meanError(m.rows())
	case k == Sum, m.method == nil && k == Mean:
		return m.meanError(m.sumFrom(new(big.Rat)))
	case k == Mean:
		return averageError(m.method, m.query)
	}
	s, n := m.sumFrom(m.query.center()), m.rows()
	if m.b == nil {
		n = parts{new(big.Rat), new(big.Rat)}
		s.b = new(big.Rat)
	}
	half := m.query.Upper/2 - m.query.Lower/2
	return varianceError(half, m.r.Square(), func(ofSum, ofRows float64) float64 {
		at := func(of, rows *big.Rat, law *ratio.Law) float64 {
			p, _ := of.Float64()
			q, _ := rows.Float64()
			return (ofSum*p + ofRows*q) * (ofSum*p + ofRows*q) * law.Square()
		}
		return at(s.a, n.a, m.x) + at(s.b, n.b, m.y)
	})
}

// meanError is the mean absolute error of a combination, rounded up.
func (m *together) meanError(p parts) float64 {
	times := func(c *big.Rat, n *scaled) float64 {
		return exact.FloatUp(new(big.Rat).Mul(exact.Rational(n.meanError()), new(big.Rat).Abs(c)))
	}
	switch {
	case m.b == nil || p.b.Sign() == 0:
		return times(p.a, m.a)
	case p.a.Sign() == 0:
		return times(p.b, m.b)
	}
	return p.sum(m).MeanError() * (1 + 0x1p-9) // of an estimate that is good to half of that
}

// averageError is that of a mean times the number of rows, to choose by.
func averageError(m *ratio.Method, q Query) float64 {
	average, _ := m.Errors()
	if q.Loss == "l2" {
		average, _ = m.RootSquares()
	}
	return average
}

// varianceError is the root of the mean square error of a variance of values within half around their middle, to first order and times
// the number of rows, averaged over the mean, with a variance half as large as it can be. square is that of the noise of R, and
// others that of a combination of the noise of the sum and the number of rows.
func varianceError(half, square float64, others func(ofSum, ofRows float64) float64) float64 {
	const steps = 16
	all := 0.0
	for i := range steps {
		mean := half * (2*float64(i) + 1 - steps) / steps
		variance := (half*half - mean*mean) / 2
		all += square + others(-2*mean, mean*mean-variance+half*half/2)
	}
	return math.Sqrt(all / steps)
}

// worst is the largest error of the statistics, each in proportion to about that of Laplace noise with an equal share of epsilon: of a
// pair for a mean, and of three sums for a variance.
func (m *together) worst(of map[Kind]*forecast) float64 {
	q := m.query
	epsilon := q.Epsilon / float64(len(m.kinds)*q.uses()*q.Releases)
	width, changes := q.Upper-q.Lower, float64(q.most())
	sensitivity, _ := q.sensitivity(new(big.Rat)).Float64()
	own := map[Kind]float64{Count: changes / math.Sinh(epsilon), Sum: sensitivity / (2 * math.Sinh(epsilon/2))}
	if q.Neighbors == dp.Replace {
		changes *= 2
	}
	own[Mean], own[Variance] = width*changes/epsilon*5/6, 1.5*width*width*changes/epsilon
	worst := 0.0
	for k := range of {
		worst = max(worst, of[k].error/own[k])
	}
	return worst
}

func (m *together) mechanism() *mechanism {
	name := "noise on the number of rows and on the sum"
	switch {
	case m.pair:
		name = "Laplace noise on the sums of the distances to both bounds"
	case m.b == nil:
		name = "noise on the sum"
	}
	if m.square != nil {
		name += ", and on one of squares"
	}
	out := &mechanism{
		cost: m.cost, before: m.before, beforeDelta: m.delta, name: name + ", of which all answers are made", meanError: math.NaN(),
		answer: m.answer, also: map[Kind]*forecast{},
	}
	for _, k := range m.kinds {
		e := &forecast{error: m.error(k)}
		if p, ok := m.linear(k); ok {
			e.radius = func(level float64) (float64, error) { return m.radius(p, level) }
			if k == Count && m.b == nil {
				e.radius = func(float64) (float64, error) { return 0, nil }
			}
		}
		out.also[k] = e
	}
	return out
}

// linear returns the combination that a statistic is.
func (m *together) linear(k Kind) (parts, bool) {
	if k == Count {
		return m.rows(), true
	}
	return m.sumFrom(new(big.Rat)), k == Sum
}

// sums returns both exact sums of a group.
func (m *together) sums(t *tally) (a, b *big.Rat) {
	n, total := t.count(), t.total()
	from := func(base *big.Rat) *big.Rat { return new(big.Rat).Sub(total, new(big.Rat).Mul(n, base)) }
	if m.pair {
		b = from(exact.Rational(m.query.Upper))
		return from(exact.Rational(m.query.Lower)), b.Neg(b)
	}
	return from(m.center), n
}

func (m *together) answer(tallies []tally) ([]Estimate, error) {
	var firsts, seconds, squares []*big.Rat
	of := &variances{query: m.query}
	if m.square != nil {
		of.scale(m.square.table) // of which the half of the width is used
	}
	for i := range tallies {
		a, b := m.sums(&tallies[i])
		firsts, seconds = append(firsts, a), append(seconds, b)
		if m.square != nil {
			_, r := of.sums(&tallies[i])
			squares = append(squares, r)
		}
	}
	if m.b == nil && tallies[0].n == 0 {
		return nil, check.Errorf("release", dp.ErrInvalid, "no rows, and so no mean")
	}
	a, err := m.a.add(firsts)
	if err != nil {
		return nil, err
	}
	b := make([]*big.Int, len(seconds))
	if m.b != nil {
		if b, err = m.b.add(seconds); err != nil {
			return nil, err
		}
	}
	each := ofEach(level, 3) // of the rows, the sum and R
	var r []ranged
	if m.square != nil {
		if r, err = m.square.ranges(squares, each); err != nil {
			return nil, err
		}
	}
	out := make([]Estimate, len(tallies))
	for i := range out {
		var own ranged
		if m.square != nil {
			own = r[i]
		}
		exactly := seconds[i]
		if m.b != nil {
			exactly = nil
		}
		if out[i], err = m.estimate(of, a[i], b[i], exactly, own, each); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// estimate returns all answers of a group from its sums with noise; rows is the public number of them, if it is public.
func (m *together) estimate(of *variances, a, b *big.Int, rows *big.Rat, r ranged, each float64) (Estimate, error) {
	at := func(n *scaled, index *big.Int) *big.Rat {
		x := new(big.Rat).SetInt(index)
		return x.Mul(x, n.unit)
	}
	first, second := at(m.a, a), rows
	if rows == nil {
		second = at(m.b, b)
	}
	within := func(p parts, level float64) (ranged, error) {
		x := p.of(first, second)
		radius, err := m.radius(p, level)
		far := exact.Rational(radius)
		return ranged{x, new(big.Rat).Sub(x, far), new(big.Rat).Add(x, far)}, err
	}
	count := func(level float64) (ranged, error) {
		if rows != nil {
			return ranged{rows, rows, rows}, nil
		}
		return within(m.rows(), level)
	}
	n, err := count(level)
	if err != nil {
		return Estimate{}, err
	}
	sum, err := within(m.sumFrom(new(big.Rat)), level)
	if err != nil {
		return Estimate{}, err
	}
	answers := map[Kind]Estimate{Count: n.estimate(), Sum: sum.estimate()}
	if slices.Contains(m.kinds, Mean) {
		if answers[Mean], err = m.mean(n, sum, a, b); err != nil {
			return Estimate{}, err
		}
	}
	if m.square != nil {
		n, err := count(each)
		if err != nil {
			return Estimate{}, err
		}
		s, err := within(m.sumFrom(m.query.center()), each)
		if err != nil {
			return Estimate{}, err
		}
		answers[Variance] = of.estimate(n, s, r)
	}
	out := answers[m.kinds[0]]
	out.Also = &Also{}
	for _, k := range m.kinds[1:] {
		e := answers[k]
		*out.Also.of(k) = &Part{e.Value, e.Lower, e.Upper}
	}
	return out, nil
}

// mean is the sum by the number of rows, within the bounds, of which it is the middle if there are no rows.
func (m *together) mean(n, sum ranged, a, b *big.Int) (Estimate, error) {
	q := m.query
	e := Estimate{Value: q.middle()}
	if n.value.Sign() > 0 {
		e.Value, _ = new(big.Rat).Quo(sum.value, n.value).Float64()
	}
	e.Value = min(max(e.Value, q.Lower), q.Upper)
	if m.method == nil {
		e.Lower, e.Upper = exact.FloatDown(new(big.Rat).Quo(sum.low, n.value)), exact.FloatUp(new(big.Rat).Quo(sum.high, n.value))
	} else {
		var err error
		if e.Lower, e.Upper, err = m.method.Interval(steps(a), steps(b), level); err != nil {
			return e, err
		}
		e.Lower, e.Upper = min(e.Lower, e.Value), max(e.Upper, e.Value) // which a float64 of it may miss
	}
	e.Lower, e.Upper = min(max(e.Lower, q.Lower), q.Upper), min(max(e.Upper, q.Lower), q.Upper)
	return e, nil
}

// estimate is a number that is not bounded.
func (r ranged) estimate() Estimate {
	e := Estimate{Lower: max(exact.FloatDown(r.low), -math.MaxFloat64), Upper: min(exact.FloatUp(r.high), math.MaxFloat64)}
	e.Value, _ = r.value.Float64()
	e.Value = min(max(e.Value, -math.MaxFloat64), math.MaxFloat64)
	return e
}
