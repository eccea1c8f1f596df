package noisebeam

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"sync"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/release/ledger"
)

// Budget is the total that everything released about the same people keeps, in this
// pipeline and in those that share the Budget. What is charged is one run of a pipeline: one
// that is run again draws again. It is safe for concurrent use. It lives as long as the
// process: for a total over many runs, charge the Costs to a ledger.
type Budget struct {
	epsilon, delta float64

	mu    sync.Mutex
	costs []ledger.Cost
	plds  []*account.PrivacyLossDistribution // of the costs
}

// NewBudget returns a Budget of epsilon > 0 and finite, 0 <= delta < 1, for one person.
// The error wraps dp.ErrInvalid.
func NewBudget(epsilon, delta float64) (*Budget, error) {
	bad := check.In("noisebeam")
	checkPromise(bad, epsilon, delta)
	if err := bad.Err(); err != nil {
		return nil, err
	}
	return &Budget{epsilon: epsilon, delta: delta}, nil
}

func checkPromise(bad *check.List, epsilon, delta float64) {
	if !(epsilon > 0) || math.IsInf(epsilon, 1) {
		bad.Bad("epsilon", epsilon, "a finite number above 0")
	}
	if !(delta >= 0 && delta < 1) {
		bad.Bad("delta", delta, "a probability, at least 0 and below 1")
	}
}

// Charge adds costs, all of them or none. The functions of this package charge what they
// release; call it for what is released about the same people in other ways.
//
// Guarantee: all that was charged is together (epsilon, delta)-private, by exact
// composition (account) or because the promises add up to no more. The mechanisms must
// not be chosen in view of answers.
//
// The error wraps ledger.ErrExceeded for costs that do not fit, and dp.ErrInvalid for bad
// ones.
func (b *Budget) Charge(costs ...ledger.Cost) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	all, plds := slices.Clone(b.costs), slices.Clone(b.plds)
	for _, c := range costs {
		if c.Times < 1 || c.Times > account.MaxReleases {
			return check.Field("noisebeam", "times", c.Times, fmt.Sprintf("1 to %d", account.MaxReleases))
		}
		if i := slices.IndexFunc(all, func(o ledger.Cost) bool { return same(o, c) }); i >= 0 {
			all[i].Times += c.Times
			continue
		}
		pld, err := distribution(c)
		if err != nil {
			return err
		}
		all, plds = append(all, c), append(plds, pld)
	}
	composed, err := b.composed(all, plds, b.epsilon)
	if err != nil {
		return err
	}
	if composed > b.epsilon {
		so, err := b.composed(b.costs, b.plds, 0)
		if err != nil {
			return err
		}
		return check.Errorf("noisebeam", ledger.ErrExceeded,
			"this release would exceed the budget of epsilon %v, delta %v: spent are %.6g, and with it %.6g would be", b.epsilon, b.delta, so, composed)
	}
	b.costs, b.plds = all, plds
	return nil
}

// same reports whether the costs are of one mechanism.
func same(a, b ledger.Cost) bool {
	return a.Table == b.Table && (a.Table != nil || a.Epsilon == b.Epsilon && a.Delta == b.Delta)
}

func distribution(c ledger.Cost) (*account.PrivacyLossDistribution, error) {
	if c.Table != nil {
		return account.Table(c.Table.Table())
	}
	return account.Approximate(c.Epsilon, c.Delta)
}

// widths of compositions: a coarse one answers most questions, 0 is the default of account.
var widths = []float64{0.05, 0}

// composed returns an epsilon that the costs keep together at the budget's delta, +Inf if
// none is proved. It stops as soon as it is known whether that is at most the limit.
func (b *Budget) composed(costs []ledger.Cost, plds []*account.PrivacyLossDistribution, limit float64) (float64, error) {
	if len(costs) == 0 {
		return 0, nil
	}
	least := math.Inf(1)
	releases := make([]account.Release, len(costs))
	epsilon, delta := new(big.Rat), new(big.Rat)
	for i, c := range costs {
		if c.Times > account.MaxReleases {
			return least, nil
		}
		releases[i] = account.Release{PLD: plds[i], Times: c.Times}
		e, d := c.Promise()
		times := big.NewRat(int64(c.Times), 1)
		epsilon.Add(epsilon, new(big.Rat).Mul(times, exact.Rational(e)))
		delta.Add(delta, times.Mul(times, exact.Rational(d)))
	}
	if delta.Cmp(exact.Rational(b.delta)) <= 0 {
		least = exact.FloatUp(epsilon)
	}
	for _, width := range widths {
		if least <= limit {
			break
		}
		c, err := account.Compose(releases, account.Options{Width: width})
		if err != nil {
			return 0, err
		}
		bounds, err := c.BestEpsilon(b.delta)
		if err != nil {
			return 0, err
		}
		if least = min(least, bounds.Upper); bounds.Lower > limit && limit > 0 {
			break
		}
	}
	return least, nil
}

// Spent returns an epsilon, rounded up, that all that was charged keeps together at the
// budget's delta.
func (b *Budget) Spent() (epsilon float64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.composed(b.costs, b.plds, 0)
}

// Costs returns what was charged, as a ledger takes it.
func (b *Budget) Costs() []ledger.Cost {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.costs)
}
