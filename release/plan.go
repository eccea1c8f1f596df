// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/tables"
)

// level is the probability with which an interval covers the exact answer.
const level = 0.95

// Source finds noise such that so many uses of it, each with fresh noise, keep the
// privacy of the problem together; see Tables.
type Source func(ctx context.Context, p dp.Problem, uses int) (*tables.Verified, error)

// Plan is how a query is answered: what its noise is, and what it costs. It is made
// without a look at the data. It is immutable and safe for concurrent use.
type Plan struct {
	query     Query
	mechanism *mechanism
}

// mechanism answers for all groups.
type mechanism struct {
	cost account.Cost
	// before is what it costs to find bounds or keys, of no Times where they are given.
	before account.Cost
	// beforeDelta is the delta at which before counts if it has a table.
	beforeDelta float64
	// name says what the noise is, and meanError how large, in the units of the
	// answer, rounded up; NaN if that depends on the data.
	name      string
	meanError float64
	answer    func([]tally) ([]Estimate, error)
	// radius is how far the exact answer may be from the released one at a level, rounded up, in the units of the answer,
	// of a quantile in rows; nil where that depends on the data.
	radius func(level float64) (float64, error)
	// scale is the error of a mean or variance times the number of rows, on average over what they may be, to choose by; or nil.
	scale func() float64
	// also has what is to be expected of all answers, where several are made of the same noise.
	also map[Kind]*forecast
}

// forecast is the error of an answer, and its radius, as of a mechanism.
type forecast struct {
	error  float64
	radius func(level float64) (float64, error)
}

// forecast is that of an answer of the kind; its error is NaN where nothing is known.
func (m *mechanism) forecast(k Kind) *forecast {
	if f := m.also[k]; f != nil {
		return f
	}
	f := &forecast{m.meanError, m.radius}
	if m.scale != nil {
		f.error = m.scale()
	}
	return f
}

// Estimate is a private answer.
type Estimate struct {
	// Key names the group, "" if there is one only; of a Top or Best what was chosen.
	Key string `json:"key,omitempty"`
	// Value is the answer, Lower and Upper a confidence interval at the Level of the Answer for the
	// exact one (within the query's bounds: clipped values, rows that count), all in
	// the units of the query.
	Value float64 `json:"value"`
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
	// RankError, of quantiles, bounds at that level how many rows are between Value and
	// a quantile of the data. Lower and Upper are then the bounds of the query.
	RankError int64 `json:"rank_error,omitempty"`
	// CountError, of a Top or Best, bounds at that level, for all that were chosen together, how far the count
	// of each is below the largest of those not chosen before it: it is less. Value is then the place among those
	// chosen, from 1, and Lower and Upper are 1 and the number of keys or options.
	CountError int64 `json:"count_error,omitempty"`
	// Clipped, of a query with Bounds, is what values were clipped to. The interval is of the noise, and not of what
	// clipping took off.
	Clipped *Clipped `json:"clipped,omitempty"`
	// Also has the other answers of a query with Also.
	Also *Also `json:"also,omitempty"`
}

// Also are answers that are made of the same noise as another one.
type Also struct {
	Count *Part `json:"count,omitempty"`
	Sum   *Part `json:"sum,omitempty"`
	Mean  *Part `json:"mean,omitempty"`
}

// Part is an answer as an Estimate has it.
type Part struct {
	Value float64 `json:"value"`
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// of is where the answer of a kind is.
func (a *Also) of(k Kind) **Part {
	switch k {
	case Count:
		return &a.Count
	case Sum:
		return &a.Sum
	default:
		return &a.Mean
	}
}

// Clipped are bounds that values were clipped to.
type Clipped struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
	// Bias, of bounds from a prior, is what clipping adds to the answer on average if values follow the prior, in the
	// units of the answer.
	Bias *float64 `json:"bias_by_prior,omitempty"`
}

// NewPlan plans the answer of a query.
//
// Guarantee: q.Releases answers are together (q.Epsilon, q.Delta)-private for the query's
// units and neighbors, as account proves of the Costs.
//
// All bad fields are reported together, wrapping dp.ErrInvalid; other errors are those
// of the source.
func NewPlan(ctx context.Context, q Query, source Source) (*Plan, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	q = q.normal()
	plan := newMechanism
	switch {
	case q.Bounds != "":
		plan = newUnbounded
	case q.PrivateKeys:
		plan = newPrivateKeys
	}
	m, err := plan(ctx, q, source)
	if err != nil {
		return nil, err
	}
	p := &Plan{q, m}
	return p, p.prove()
}

// newMechanism is for a query that is bounded.
func newMechanism(ctx context.Context, q Query, source Source) (*mechanism, error) {
	if len(q.Also) > 0 {
		return newTogether(ctx, q, source)
	}
	switch q.Kind {
	case Count, Histogram:
		return newCounts(ctx, q, source)
	case Sum:
		return newSums(ctx, q, source)
	case Mean:
		return newMeans(ctx, q, source)
	case Variance:
		return newVariances(ctx, q, source)
	case Distinct:
		return newDistinct(ctx, q, source)
	case Quantile:
		return newQuantiles(q)
	case Top, Best:
		return newChoice(q)
	case Value:
		return newValue(ctx, q, source)
	}
	return nil, check.Field("release", "kind", q.Kind, "one of this version")
}

// prove checks that what the plan costs is what the query allows.
func (p *Plan) prove() error {
	cost, before, delta := p.mechanism.cost, p.mechanism.before, p.query.Delta
	if before.Table != nil { // of all releases, at its own delta
		before.Times *= p.query.Releases
		epsilon, err := before.EpsilonAt(p.mechanism.beforeDelta)
		if err != nil || math.IsInf(epsilon, 1) {
			return check.Errorf("release", err, "the noise found costs more than the query allows")
		}
		before = account.Cost{Epsilon: epsilon, Delta: p.mechanism.beforeDelta, Times: 1}
	} else {
		before.Times *= p.query.Releases
	}
	n := new(big.Rat).SetInt64(int64(before.Times))
	if before.Times > 0 { // what is left beside it, by basic composition
		left := exact.Rational(delta)
		if delta = exact.FloatDown(left.Sub(left, new(big.Rat).Mul(n, exact.Rational(before.Delta)))); delta < 0 {
			return check.Errorf("release", nil, "what was found costs more than the delta = %v of the query", p.query.Delta)
		}
	}
	cost.Times *= p.query.Releases
	epsilon, err := cost.EpsilonAt(delta)
	if err != nil {
		return err
	}
	if before.Times > 0 && !math.IsInf(epsilon, 1) {
		epsilon = exact.FloatUp(n.Add(n.Mul(n, exact.Rational(before.Epsilon)), exact.Rational(epsilon)))
	}
	if !(epsilon <= p.query.Epsilon) {
		return check.Errorf("release", nil, "the noise found costs epsilon = %v, more than the %v of the query", epsilon, p.query.Epsilon)
	}
	return nil
}

// Costs returns what the answer costs a unit of privacy.
func (p *Plan) Costs() []account.Cost {
	if p.mechanism.before.Times > 0 {
		return []account.Cost{p.mechanism.cost, p.mechanism.before}
	}
	return []account.Cost{p.mechanism.cost}
}

// Mechanism says in a few words what the noise is.
func (p *Plan) Mechanism() string { return p.mechanism.name }

// MeanError returns the mean absolute error that the noise adds to an answer, in the
// units of the query, rounded up; NaN where it depends on the data.
func (p *Plan) MeanError() float64 { return p.mechanism.meanError }

// Answer draws fresh noise and answers for every group.
//
// Guarantee: with the privacy that NewPlan promises for one call; every further call
// costs as much again. Errors, after which nothing is released, are about data that
// were read for another query, no rows where the number of rows is public, a lack of entropy,
// and, of a query with StrictNotPrivate alone, a row that was left out; none of them depends on
// the draw.
func (p *Plan) Answer(d *Data) ([]Estimate, error) {
	if d == nil || d.query.Text() != p.query.Text() {
		return nil, check.Field("release", "data", "those of another query", "those that Read returns for the query of the plan")
	}
	if p.query.StrictNotPrivate && d.leftOut != nil {
		return nil, check.Errorf("", dp.ErrInvalid, "%w", d.leftOut)
	}
	out, err := p.mechanism.answer(d.tallies)
	if err != nil {
		return nil, err
	}
	if !p.query.chooses() && !p.query.PrivateKeys { // which name theirs
		for i, key := range p.query.groups() {
			out[i].Key = key
		}
	}
	return out, nil
}

// table asks the source for noise of so many uses in a release. What it costs is proved
// of the plan; here it has to be about the query's sensitivity, whatever the source says.
func (q Query) table(ctx context.Context, source Source, sensitivity float64, query dp.Query, uses int) (*tables.Verified, error) {
	v, err := source(ctx, q.problem(sensitivity, query), uses*q.Releases)
	if err != nil {
		return nil, err
	}
	if v == nil || v.Mechanism() == nil {
		return nil, check.Field("release", "table", "none", "one that Verify has proved")
	}
	if own := v.Mechanism().Privacy().Sensitivity; own != sensitivity || v.Mechanism().Query() != query {
		return nil, check.Errorf("release", nil, "the source returned noise for %s queries of sensitivity %v, want %s and %v", v.Mechanism().Query(), own, query, sensitivity)
	}
	return v, nil
}

// uses returns how many groups a unit can change, each of which is one use of the noise, or how many
// choices there are.
func (q Query) uses() int {
	if q.chooses() {
		return q.K
	}
	if !q.grouped() {
		return 1
	}
	changed := max(q.MaxPerPerson, 1) // a row is in one group
	if q.Neighbors == dp.Replace {
		changed *= 2 // its old groups and its new ones
	}
	if q.PrivateKeys {
		return changed
	}
	return min(changed, len(q.groups()))
}

// most returns how many rows of a unit count in one group.
func (q Query) most() int64 {
	if q.grouped() {
		return 1
	}
	return int64(max(q.MaxPerPerson, 1))
}

// fixed reports whether the number of rows that count is public: units are rows, of
// which none is left out, whatever is in it.
func (q Query) fixed() bool {
	return q.Neighbors == dp.Replace && q.Person == "" && !q.grouped() && q.Where == "" && (q.Missing == middleMissing || q.StrictNotPrivate)
}

// sensitivity is how far a unit can change the sum of values from lower to upper in a
// group, each less the center.
func (q Query) sensitivity(center *big.Rat) *big.Rat {
	low, high := exact.Rational(q.Lower), exact.Rational(q.Upper)
	width := new(big.Rat).Sub(high, low)
	if q.fixed() {
		return width // one value in the place of another
	}
	low.Abs(low.Sub(low, center))
	high.Abs(high.Sub(high, center))
	worst := low // a value more or less
	if high.Cmp(worst) > 0 {
		worst = high
	}
	if q.Neighbors == dp.Replace && width.Cmp(worst) > 0 {
		worst = width
	}
	return new(big.Rat).Mul(worst, new(big.Rat).SetInt64(q.most()))
}

// newCounts answers with integer noise.
func newCounts(ctx context.Context, q Query, source Source) (*mechanism, error) {
	v, err := q.table(ctx, source, float64(q.most()), dp.IntegerQuery, q.uses())
	if err != nil {
		return nil, err
	}
	return whole(v).adding("integer noise", q.uses(), (*tally).count), nil
}

// newDistinct answers with integer noise: a unit brings as many values that nobody else has as rows of it count, or takes
// them away, or both.
func newDistinct(ctx context.Context, q Query, source Source) (*mechanism, error) {
	v, err := q.table(ctx, source, float64(q.most()), dp.IntegerQuery, q.uses())
	if err != nil {
		return nil, err
	}
	return whole(v).adding("integer noise", q.uses(), (*tally).different), nil
}

// newSums answers with noise scaled to the sensitivity.
func newSums(ctx context.Context, q Query, source Source) (*mechanism, error) {
	noise, err := q.sumNoise(ctx, source)
	if err != nil {
		return nil, err
	}
	return noise.adding("noise on the sum", q.uses(), (*tally).total), nil
}

func (q Query) sumNoise(ctx context.Context, source Source) (*scaled, error) {
	v, err := q.table(ctx, source, 1, dp.RealQuery, q.uses())
	if err != nil {
		return nil, err
	}
	return newScaled(v, q.sensitivity(new(big.Rat))), nil
}

// newPublicMeans is for a number of rows that is public, by which it divides a sum. The mean is
// within the bounds, and to use that costs nothing.
func newPublicMeans(ctx context.Context, q Query, source Source) (*mechanism, error) {
	noise, err := q.sumNoise(ctx, source)
	if err != nil {
		return nil, err
	}
	m := noise.adding("noise on the sum, divided by the public number of rows", q.uses(), nil)
	of := m.meanError
	m.scale = func() float64 { return of }
	m.meanError, m.radius = math.NaN(), nil
	m.answer = func(tallies []tally) ([]Estimate, error) { // of one group
		if tallies[0].n == 0 {
			return nil, check.Errorf("release", dp.ErrInvalid, "no rows, and so no mean")
		}
		out, err := noise.estimates([]*big.Rat{tallies[0].total()}, tallies[0].count())
		if err != nil {
			return nil, err
		}
		for _, x := range []*float64{&out[0].Value, &out[0].Lower, &out[0].Upper} {
			*x = min(max(*x, q.Lower), q.Upper)
		}
		return out, nil
	}
	return m, nil
}

// pureUse returns the epsilon of each of so many (epsilon, 0)-private uses that cost at
// most the query's epsilon and delta together.
func (q Query) pureUse() (float64, error) {
	n := q.uses() * q.Releases
	if n == 1 {
		return q.Epsilon, nil
	}
	// By basic composition at least; more by exact composition if delta > 0.
	fits := func(epsilon float64) bool {
		e, err := account.Cost{Epsilon: epsilon, Times: n}.EpsilonAt(q.Delta)
		return err == nil && e <= q.Epsilon
	}
	low := exact.FloatDown(new(big.Rat).Quo(exact.Rational(q.Epsilon), new(big.Rat).SetInt64(int64(n))))
	if !fits(low) {
		return 0, check.Errorf("release", nil, "epsilon = %v is too small for %d uses", q.Epsilon, n)
	}
	if q.Delta == 0 {
		return low, nil
	}
	high := q.Epsilon
	for range 12 {
		if middle := math.Sqrt(low * high); fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low, nil
}

// newValue adds noise to a number that is there already.
func newValue(ctx context.Context, q Query, source Source) (*mechanism, error) {
	noise, err := q.valueNoise(ctx, source)
	if err != nil {
		return nil, err
	}
	name := "noise on the value"
	if q.Integer {
		name = "integer noise"
	}
	return noise.adding(name, 1, (*tally).total), nil
}

func (q Query) valueNoise(ctx context.Context, source Source) (*scaled, error) {
	if q.Integer {
		v, err := q.table(ctx, source, q.Sensitivity, dp.IntegerQuery, 1)
		if err != nil {
			return nil, err
		}
		return whole(v), nil
	}
	v, err := q.table(ctx, source, 1, dp.RealQuery, 1)
	if err != nil {
		return nil, err
	}
	return newScaled(v, exact.Rational(q.Sensitivity)), nil
}
