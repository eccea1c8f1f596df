package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// spending is what is charged, every kind once.
type spending []charge

// with adds charges.
func (s spending) with(more []charge) spending {
	sum := append(spending(nil), s...)
next:
	for _, c := range more {
		for i := range sum {
			if sum[i].kind == c.kind {
				sum[i].times += c.times
				continue next
			}
		}
		sum = append(sum, c)
	}
	return sum
}

// count returns the number of uses.
func (s spending) count() (n int) {
	for _, c := range s {
		n += c.times
	}
	return n
}

// spending reads all that is charged, with its tables.
func (l *Ledger) spending(ctx context.Context, db querier) (spending, error) {
	return l.readCharges(ctx, db, "SELECT table_sha256, epsilon, delta, SUM(times) FROM costs GROUP BY table_sha256, epsilon, delta ORDER BY MIN(release), MIN(position)")
}

// prepare learns the tables of the ledger and what composing them takes.
func (l *Ledger) prepare(ctx context.Context, more []charge) error {
	s, err := l.spending(ctx, l.db)
	if err != nil || l.terms.Adaptive {
		return err
	}
	for _, c := range s.with(more) {
		if _, err := l.loss(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// sums returns the sums of the epsilons and of the deltas promised, exactly: by basic
// composition all of it is private with these, however the mechanisms were chosen.
func (s spending) sums() (epsilon, delta *big.Rat) {
	epsilon, delta = new(big.Rat), new(big.Rat)
	for _, c := range s {
		e, d := c.cost().Promise()
		n := new(big.Rat).SetInt64(int64(c.times))
		epsilon.Add(epsilon, new(big.Rat).Mul(n, exact.Rational(e)))
		delta.Add(delta, n.Mul(n, exact.Rational(d)))
	}
	return epsilon, delta
}

// fits reports whether the total allows all of it.
func (l *Ledger) fits(ctx context.Context, s spending) (bool, error) {
	if s.count() > account.MaxReleases {
		return false, nil
	}
	epsilon, delta := s.sums()
	if epsilon.Cmp(exact.Rational(l.terms.Epsilon)) <= 0 && delta.Cmp(exact.Rational(l.terms.Delta)) <= 0 {
		return true, nil
	}
	if l.terms.Adaptive {
		return false, nil
	}
	composed, err := l.composed(ctx, s, l.terms.Epsilon)
	return composed <= l.terms.Epsilon, err
}

// widths are those of compositions: a coarse one answers most questions in milliseconds, and
// the default one, 0, is that of package account's own answers, so what calibrate made for
// the total fits.
var widths = []float64{0.05, 0}

// composed returns an epsilon that all of it has at the total's delta, proven; +Inf if none is
// found. It stops as soon as the question is answered whether that is at most the limit.
func (l *Ledger) composed(ctx context.Context, s spending, limit float64) (float64, error) {
	if len(s) == 0 {
		return 0, nil
	}
	releases := make([]account.Release, len(s))
	for i, c := range s {
		p, err := l.loss(ctx, c)
		if err != nil {
			return 0, err
		}
		releases[i] = account.Release{PLD: p, Times: c.times}
	}
	least := math.Inf(1)
	for _, width := range widths {
		c, err := account.Compose(releases, account.Options{Width: width})
		if err != nil {
			return 0, err
		}
		b, err := await(ctx, func() (account.Bounds, error) { return c.BestEpsilon(l.terms.Delta) })
		if err != nil {
			return 0, err
		}
		if least = min(least, b.Upper); least <= limit || b.Lower > limit {
			break
		}
	}
	return least, nil
}

// Spent is what was charged, whether or not it was answered.
type Spent struct {
	// Epsilon and Delta are the guarantee: all that was charged is (Epsilon, Delta)-private
	// together. Delta is that of the Terms, and Epsilon, rounded up, the smaller one of exact and
	// of basic composition. With Terms.Adaptive they are the sums, rounded up.
	Epsilon, Delta float64
	// BasicEpsilon and BasicDelta are the sums of what the mechanisms promise, exactly.
	BasicEpsilon, BasicDelta *big.Rat
	// Uses is the number of mechanisms used, Releases that of records, and Pending of
	// those that have no answer.
	Uses, Releases, Pending int
}

// Spent composes everything that was charged.
func (l *Ledger) Spent(ctx context.Context) (Spent, error) {
	tx, err := l.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return Spent{}, l.failed(ctx, err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	s, err := l.spending(ctx, tx)
	if err != nil {
		return Spent{}, err
	}
	t, err := l.count(ctx, tx)
	if err != nil {
		return Spent{}, err
	}
	_ = tx.Rollback() // others may write while this composes
	err = l.compose(ctx, &t, s)
	return t, err
}

// count returns what is known without composing.
func (l *Ledger) count(ctx context.Context, db querier) (t Spent, err error) {
	row := db.QueryRowContext(ctx, "SELECT COUNT(*), COUNT(*) - COUNT(answer) FROM releases")
	if err := row.Scan(&t.Releases, &t.Pending); err != nil {
		return t, l.failed(ctx, err)
	}
	return t, nil
}

// compose fills in the rest.
func (l *Ledger) compose(ctx context.Context, t *Spent, s spending) (err error) {
	t.Uses = s.count()
	t.BasicEpsilon, t.BasicDelta = s.sums()
	sum := exact.FloatUp(t.BasicEpsilon)
	if l.terms.Adaptive {
		t.Epsilon, t.Delta = sum, exact.FloatUp(t.BasicDelta)
		return nil
	}
	t.Delta = l.terms.Delta
	if t.Epsilon, err = l.composed(ctx, s, 0); err != nil { // as sharp as can be
		return err
	}
	if t.BasicDelta.Cmp(exact.Rational(t.Delta)) <= 0 {
		t.Epsilon = min(t.Epsilon, sum)
	}
	return nil
}

// ErrExceeded marks a release that would exceed the total.
var ErrExceeded = errors.New("the total would be exceeded")

// Exceeded says what is left where a release was refused. Its errors wrap ErrExceeded
// too.
type Exceeded struct {
	Terms Terms
	Spent Spent // so far
	// Left is the largest epsilon of one release that still fits, at the delta LeftDelta, that
	// of the release refused; 0 if there is none.
	Left, LeftDelta float64
}

func (e *Exceeded) Error() string {
	left := "nothing is left"
	if e.Left > 0 {
		left = fmt.Sprintf("left is one of epsilon %.6g", floor(e.Left))
	}
	return fmt.Sprintf("the release would exceed the total of epsilon %v, delta %v: %s at its delta of %.6g", e.Terms.Epsilon, e.Terms.Delta, left, e.LeftDelta)
}

// floor rounds down to 6 significant digits, by much less than is left uncertain.
func floor(x float64) float64 {
	f, err := strconv.ParseFloat(exact.DecimalDown(exact.Rational(x), 6), 64)
	if err != nil || f > x {
		return x
	}
	return f
}

// exceeded returns the error of charges that do not fit beside what is spent.
func (l *Ledger) exceeded(ctx context.Context, spent Spent, s spending, charges []charge) error {
	e := &Exceeded{Terms: l.terms, Spent: spent}
	_, delta := spending(charges).sums()
	e.LeftDelta = exact.FloatUp(delta)
	err := l.compose(ctx, &e.Spent, s)
	if err == nil && e.LeftDelta < 1 {
		e.Left, err = l.left(ctx, s, e.LeftDelta)
	}
	if err != nil {
		return err
	}
	return check.Errorf("ledger", ErrExceeded, "%w", e)
}

// Left returns the largest epsilon of one further release of which only (epsilon, delta) is
// known that fits, rounded down; 0 if there is none.
func (l *Ledger) Left(ctx context.Context, delta float64) (epsilon float64, err error) {
	if !(delta >= 0 && delta < 1) {
		return 0, check.Field("ledger", "delta", delta, "a probability, at least 0 and below 1")
	}
	s, err := l.spending(ctx, l.db)
	if err != nil {
		return 0, err
	}
	return l.left(ctx, s, delta)
}

// left is Left, given what is charged. By basic composition the rest is exact; where exact
// composition leaves more, bisection finds it, and every epsilon it returns was composed.
func (l *Ledger) left(ctx context.Context, s spending, delta float64) (float64, error) {
	rest := 0.0
	epsilon, sum := s.sums()
	if sum.Add(sum, exact.Rational(delta)).Cmp(exact.Rational(l.terms.Delta)) <= 0 {
		epsilon.Sub(exact.Rational(l.terms.Epsilon), epsilon)
		rest = min(maxPromise, max(0, exact.FloatDown(epsilon)))
	}
	if l.terms.Adaptive {
		return rest, nil
	}
	fits := func(e float64) (bool, error) {
		return l.fits(ctx, s.with([]charge{{kind: kind{epsilon: e, delta: delta}, times: 1}}))
	}
	lo, hi := rest, max(rest, l.terms.Epsilon)
	for {
		hi = min(hi, maxPromise)
		ok, err := fits(hi)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		if lo = hi; hi == maxPromise {
			return lo, nil
		}
		hi *= 2
	}
	for hi-lo > leftWidth*max(lo, l.terms.Epsilon/1024) {
		e := lo + (hi-lo)/2
		ok, err := fits(e)
		if err != nil {
			return 0, err
		}
		if ok {
			lo = e
		} else {
			hi = e
		}
	}
	return lo, nil
}

const (
	// maxPromise is the largest epsilon that account.Approximate takes.
	maxPromise = 100
	// leftWidth is how far below the truth, relatively, Left may be.
	leftWidth = 1e-4
)

// LeftTimes returns how many more uses of the mechanism fit, at most
// account.MaxReleases; cost.Times is not used. It composes some 2·log2 of that many times.
func (l *Ledger) LeftTimes(ctx context.Context, cost Cost) (int, error) {
	cost.Times = 1
	bad := check.In("ledger")
	cost.check(bad, 1)
	if err := bad.Err(); err != nil {
		return 0, err
	}
	charges, err := stored([]Cost{cost}, map[kind][]byte{})
	if err != nil {
		return 0, err
	}
	s, err := l.spending(ctx, l.db)
	if err != nil {
		return 0, err
	}
	fits := func(n int) (bool, error) {
		return l.fits(ctx, s.with([]charge{{charges[0].kind, cost.Table, n}}))
	}
	lo, hi := 0, 1
	for ok := true; ok; {
		if ok, err = fits(hi); err != nil {
			return 0, err
		}
		if ok {
			lo, hi = hi, 2*hi // ends: fits refuses more than account.MaxReleases
		}
	}
	for hi-lo > 1 {
		n := lo + (hi-lo)/2
		ok, err := fits(n)
		if err != nil {
			return 0, err
		}
		if ok {
			lo = n
		} else {
			hi = n
		}
	}
	return lo, nil
}
