// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/release"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// Budget is the total that a model may cost.
type Budget struct {
	// Epsilon and Delta are of all releases together: 0 < Epsilon <= limits.LearnEpsilon, 0 <= Delta < 1.
	Epsilon, Delta float64
	// Neighbors says what is hidden: that a record is there at all (dp.AddRemove), or
	// what it is (dp.Replace), which costs twice as much.
	Neighbors string
}

// Validate reports all bad fields together, wrapping dp.ErrInvalid.
func (b Budget) Validate() error {
	bad := check.In("learn")
	bad.Want(b.Epsilon > 0 && b.Epsilon <= limits.LearnEpsilon, "epsilon", b.Epsilon, "a number above 0, at most %d", limits.LearnEpsilon)
	bad.Delta("delta", b.Delta)
	bad.OneOf("neighbors", b.Neighbors, dp.AddRemove, dp.Replace)
	return bad.Err()
}

// addRemove is the budget for neighbors that differ by one record more or less, of which replacing
// a record is two steps: what is (e, d)-private for one step is (2e, (1+exp(e))·d)-private for two
// (Vadhan, The complexity of differential privacy, 2017, lemma 2.2).
func (b Budget) addRemove() dp.Privacy {
	p := dp.Privacy{Epsilon: b.Epsilon, Delta: b.Delta, Sensitivity: 1}
	if b.Neighbors == dp.Replace {
		p.Epsilon /= 2
		p.Delta = exact.FloatDown(new(big.Rat).Quo(exact.Rational(p.Delta), twoSteps(p.Epsilon)))
	}
	return p
}

// twoSteps returns 1+exp(epsilon), rounded up.
func twoSteps(epsilon float64) *big.Rat {
	const bits = 64
	one := exact.PowerOfTwo(bits)
	r := new(big.Rat).SetInt(exact.ExpUp(epsilon, bits))
	r.Quo(r, one)
	return r.Add(r, big.NewRat(1, 1))
}

// The kinds of noise.
const (
	auto     = "auto"
	designed = "designed"
	gaussian = "gaussian"
	laplace  = "laplace"
	none     = "none"
)

var kinds = []string{auto, designed, gaussian, laplace, none}

// Options say where noise comes from; the zero value is useful.
type Options struct {
	// Source finds the noise of "auto", such as one of release.Tables, which keeps what it
	// found. nil, or one that fails or is not done within the TimeLimit, leaves the shapes
	// of account.Calibrate, from Laplace to Gaussian noise; some seconds.
	Source release.Source
	// Design designs the tables of "designed", such as lp.Designer's.
	Design account.Designer
	// TimeLimit bounds the Source; 0 means a minute.
	TimeLimit time.Duration
}

// Guarantee says what a model costs the people whose records it was learned from.
type Guarantee struct {
	// Epsilon is what the releases are proved to compose to, at Delta: no more than the Budget's.
	Epsilon   float64 `json:"epsilon"`
	Delta     float64 `json:"delta"`
	Neighbors string  `json:"neighbors"`
	// Releases is how many there may be, of sensitivity 1.
	Releases int `json:"releases"`
	// Noise says what the noise is, and Deviation is that of one release.
	Noise     string  `json:"noise"`
	Deviation float64 `json:"deviation"`
}

// Noise is for a number of releases of sensitivity 1 each: numbers of which a record changes at
// most one, by at most 1, if it is added or removed. It is immutable and safe for concurrent use.
type Noise struct {
	table     *tables.Verified // nil for "none"
	releases  int
	cost      account.Cost
	guarantee *Guarantee
	deviation float64
}

// NewNoise finds noise of a kind: "auto" is what has the least variance for the budget and the
// number of releases, "designed" the table of the least variance at the budget, "gaussian" and
// "laplace" have these shapes, and "none", which takes a zero Budget, adds nothing, for
// baselines: there is no guarantee.
//
// Guarantee: what one Releaser returns is (Guarantee().Epsilon, Guarantee().Delta)-private
// for the budget's neighbors, and that is no more than the budget.
//
// All bad fields are reported together, wrapping dp.ErrInvalid, and so is a budget that there
// is no noise for.
func NewNoise(ctx context.Context, kind string, b Budget, releases int, o Options) (*Noise, error) {
	bad := check.In("learn")
	bad.OneOf("noise", kind, kinds...)
	bad.Want(releases >= 1 && releases <= limits.TableReleases, "releases", releases, "from 1 to %d", limits.TableReleases)
	switch {
	case kind != none:
		bad.Add(b.Validate())
	case b.Epsilon != 0 || b.Delta != 0:
		bad.Bad("epsilon", b.Epsilon, "none without noise: there is no guarantee")
	}
	bad.If(kind == gaussian && b.Delta == 0, "delta", b.Delta, "a number above 0: Gaussian noise is never private without")
	if err := bad.Err(); err != nil {
		return nil, err
	}
	if kind == none {
		return &Noise{releases: releases}, nil
	}
	problem := dp.Problem{Privacy: b.addRemove(), Query: dp.RealQuery, Loss: loss.L2}
	table, err := o.find(ctx, kind, account.Target{Problem: problem, Releases: releases})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && problem.Epsilon > mostEach*float64(releases):
		return nil, check.Errorf("learn", dp.ErrInvalid, "epsilon = %v is too much for %d releases, of which each would have %.4g: there is no noise so small, want at most about %v",
			b.Epsilon, releases, problem.Epsilon/float64(releases), mostEach*float64(releases)*b.Epsilon/problem.Epsilon)
	case err != nil:
		return nil, check.Errorf("learn", dp.ErrInvalid, "epsilon = %v, delta = %v: no noise was found for %d releases: %w", b.Epsilon, b.Delta, releases, err)
	}
	return prove(table, b, releases)
}

// mostEach is an epsilon of a single release beyond which noise may not be found: its mass
// off 0 is less than tables tell apart.
const mostEach = 10

// find finds noise for a target. What it keeps is proved of the result.
func (o Options) find(ctx context.Context, kind string, t account.Target) (*tables.Verified, error) {
	design, exponents := o.Design, []float64{}
	switch kind {
	case auto:
		if o.Source != nil {
			v, err := o.ask(ctx, t)
			if v != nil || ctx.Err() != nil {
				return v, errors.Join(err, ctx.Err())
			}
		}
		design, exponents = nil, nil
		if t.Delta == 0 {
			design = designLaplace
		}
	case gaussian:
		design, exponents = nil, []float64{2}
	case laplace:
		design = designLaplace
	}
	c, err := account.Calibrate(ctx, t, design, account.CalibrateOptions{Exponents: exponents})
	if err != nil {
		return nil, err
	}
	return c.Table, nil
}

// ask returns nil if the source has nothing in time.
func (o Options) ask(ctx context.Context, t account.Target) (*tables.Verified, error) {
	limit := o.TimeLimit
	if limit == 0 {
		limit = time.Minute
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	v, err := o.Source(limited, t.Problem, t.Releases)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// designLaplace is the account.Designer of Laplace noise.
func designLaplace(_ context.Context, p dp.Problem, _ float64) (*tables.Verified, error) {
	return shapes.Laplace(p, tables.Grid{})
}

// prove checks that the noise is for the releases, and that they keep to the budget together.
func prove(v *tables.Verified, b Budget, releases int) (*Noise, error) {
	if v == nil || v.Mechanism() == nil {
		return nil, check.Field("learn", "table", "none", "one that Verify has proved")
	}
	t, p := v.Mechanism(), b.addRemove()
	if own := t.Privacy().Sensitivity; own != 1 || t.Query() != dp.RealQuery {
		return nil, check.Errorf("learn", nil, "the noise found is for %s queries of sensitivity %v, want %s and 1", t.Query(), own, dp.RealQuery)
	}
	cost := account.Cost{Table: v, Times: releases}
	epsilon, err := cost.EpsilonAt(p.Delta)
	if err != nil {
		return nil, err
	}
	if !(epsilon <= p.Epsilon) {
		return nil, check.Errorf("learn", nil, "%d releases of the noise found cost epsilon = %v, more than the %v of the budget", releases, epsilon, p.Epsilon)
	}
	if b.Neighbors == dp.Replace { // of the pair of steps, see Budget.addRemove
		epsilon *= 2
		// The cost is that of the budget, which is at least the one proved: an equal call takes
		// up a charge that has no answer, with the same cost even if it finds other noise.
		cost = account.Cost{Epsilon: b.Epsilon, Delta: b.Delta, Times: 1}
	}
	variance, _ := t.ExpectedLossOf(loss.L2).Float64()
	deviation := math.Sqrt(variance)
	guarantee := &Guarantee{epsilon, b.Delta, b.Neighbors, releases, shape(t), deviation}
	return &Noise{table: v, releases: releases, cost: cost, deviation: deviation, guarantee: guarantee}, nil
}

// shape says what noise a table is: noise that was designed comes with its dual, other noise
// is of exponential power shape, whose exponent is read off its moments.
func shape(t *tables.Table) string {
	if t.Dual() != nil {
		return designed
	}
	mean, _ := t.ExpectedLossOf(loss.L1).Float64()
	square, _ := t.ExpectedLossOf(loss.L2).Float64()
	nearest, best := 0.0, math.Inf(1)
	for _, exponent := range []float64{1, 1.25, 1.5, 1.75, 2} {
		// The mean of |X| and of X² is Γ(2/p)/Γ(1/p) and Γ(3/p)/Γ(1/p).
		ratio := math.Pow(math.Gamma(2/exponent), 2) / math.Gamma(1/exponent) / math.Gamma(3/exponent)
		if off := math.Abs(mean*mean/square - ratio); off < best {
			nearest, best = exponent, off
		}
	}
	if name, ok := map[float64]string{1: laplace, 2: gaussian}[nearest]; ok {
		return name
	}
	return fmt.Sprintf("exponential-power of exponent %v", nearest)
}

// Guarantee returns what a model costs, nil without noise.
func (n *Noise) Guarantee() *Guarantee { return n.guarantee }

// Deviation returns the standard deviation of a release; 0 without noise.
func (n *Noise) Deviation() float64 { return n.deviation }

// Costs returns what a model costs, for a ledger with the budget's neighbors.
func (n *Noise) Costs() []account.Cost {
	if n.table == nil {
		return nil
	}
	return []account.Cost{n.cost}
}

// Releaser makes the releases of one model, and no more than those. It is not safe for
// concurrent use.
type Releaser struct {
	noise   *Noise
	sampler *sampler.Noise // nil: no noise
	left    int
	private bool // the guarantee holds: there is noise, and nobody knows it
}

// Releaser returns a Releaser with fresh noise, which costs the Guarantee. Every further one
// costs as much again. The error wraps sampler.ErrEntropy.
func (n *Noise) Releaser() (*Releaser, error) {
	r := &Releaser{noise: n, left: n.releases, private: n.table != nil}
	var err error
	if r.private {
		r.sampler, err = sampler.NewNoise(n.table, sampler.Options{})
	}
	return r, err
}

// Guarantee returns that of what the Releaser returns; nil for none.
func (r *Releaser) Guarantee() *Guarantee {
	if !r.private {
		return nil
	}
	g := *r.noise.guarantee
	return &g
}

// Release adds noise to sums in steps of 2^-24 and returns them in units. It is one release: a
// record that is added or removed must change at most one of the sums, by at most 2^24 steps.
//
// The error wraps account.ErrExceeded after the last one, or is one of
// sampler.Noise.SampleInt. Nothing is released then.
func (r *Releaser) Release(sums []int64) ([]float64, error) {
	if r.noise == nil {
		return nil, check.Field("learn", "releaser", "the zero value", "one of Noise.Releaser")
	}
	if r.left == 0 {
		return nil, check.Errorf("learn", account.ErrExceeded, "releases = %d are made, want no more", r.noise.releases)
	}
	r.left--
	out := make([]float64, len(sums))
	if r.sampler == nil {
		for i, sum := range sums {
			out[i] = float64(sum) / gridSteps
		}
		return out, nil
	}
	step := r.noise.table.Mechanism().Grid().Step()
	for i, sum := range sums {
		draw, err := r.sampler.SampleInt()
		if err != nil {
			return nil, err
		}
		// ⌊sum/step + 1/2⌋ moves by no more points than the sum may by steps
		// (docs/proofs/rounding.md); the noise is in points.
		x := big.NewRat(sum, gridSteps)
		point := exact.Floor(x.Add(x.Quo(x, step), big.NewRat(1, 2)))
		x.SetInt(point.Add(point, big.NewInt(draw)))
		out[i], _ = x.Mul(x, step).Float64()
	}
	return out, nil
}
