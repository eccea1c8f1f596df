// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// spending reads all that is charged, every kind once, with its tables.
func (l *Ledger) spending(ctx context.Context, db querier) ([]charge, error) {
	return l.readCharges(ctx, db, "SELECT table_sha256, epsilon, delta, SUM(times) FROM costs GROUP BY table_sha256, epsilon, delta ORDER BY MIN(release), MIN(position)")
}

// charged returns the ledger's budget with all of that charged.
func (l *Ledger) charged(lists ...[]charge) *account.Budget {
	var costs []account.Cost
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range slices.Concat(lists...) {
		if c.table != nil { // a budget tells tables apart by their pointers
			if l.first[c.kind.hash] == nil {
				l.first[c.kind.hash] = c.table
			}
			c.table = l.first[c.kind.hash]
		}
		costs = append(costs, c.cost())
	}
	return l.budget.With(costs...)
}

// prepare learns the tables of the ledger and what composing them takes.
func (l *Ledger) prepare(ctx context.Context, more []charge) error {
	s, err := l.spending(ctx, l.db)
	if err != nil {
		return err
	}
	return l.charged(s, more).Prepare(ctx)
}

// Spent is what was charged, whether or not it was answered.
type Spent struct {
	// Epsilon and Delta are the guarantee: all that was charged is (Epsilon, Delta)-private
	// together. Delta is that of the Terms, and Epsilon, rounded up, the smaller one of basic and of
	// exact composition, as sharp as account proves it. With Terms.Adaptive they are the sums, rounded up.
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
	err = l.compose(ctx, &t, l.charged(s))
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
func (l *Ledger) compose(ctx context.Context, t *Spent, charged *account.Budget) (err error) {
	t.Uses = charged.Uses()
	t.BasicEpsilon, t.BasicDelta = charged.Sums()
	if l.terms.Adaptive {
		t.Epsilon, t.Delta = exact.FloatUp(t.BasicEpsilon), exact.FloatUp(t.BasicDelta)
		return nil
	}
	t.Delta = l.terms.Delta
	t.Epsilon, err = charged.Epsilon(ctx, math.NaN())
	return err
}

// Exceeded says what is left where a release was refused. Its errors wrap account.ErrExceeded too.
type Exceeded struct {
	Terms account.Terms
	Spent Spent // so far
	// Left is the largest epsilon of one release that still fits, at the delta LeftDelta, that
	// of the release refused; 0 if there is none.
	Left, LeftDelta float64
}

// useless is a part of the total that no release is made of.
const useless = 1e-4

func (e *Exceeded) Error() string {
	left := "nothing is left"
	if e.Left > 1e-9*e.Terms.Epsilon { // less is what rounding left
		left = fmt.Sprintf("left is one of epsilon %.6g", floor(e.Left))
		if e.Left < useless*e.Terms.Epsilon {
			left = "hardly anything is left, " + strings.TrimPrefix(left, "left is one of ")
		}
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
func (l *Ledger) exceeded(ctx context.Context, spent Spent, s, charges []charge) error {
	e := &Exceeded{Terms: l.terms, Spent: spent}
	_, delta := l.charged(charges).Sums()
	e.LeftDelta = exact.FloatUp(delta)
	before := l.charged(s)
	err := l.compose(ctx, &e.Spent, before)
	if err == nil && e.LeftDelta < 1 {
		e.Left, err = before.Left(ctx, e.LeftDelta)
	}
	if err != nil {
		return err
	}
	return check.Errorf("ledger", account.ErrExceeded, "%w", e)
}

// Fits charges nothing. Its error is that of Release, wrapping account.ErrExceeded, if the costs do
// not fit together.
func (l *Ledger) Fits(ctx context.Context, costs []account.Cost) error {
	charges, err := stored(costs, map[kind][]byte{})
	if err != nil {
		return err
	}
	s, err := l.spending(ctx, l.db)
	if err != nil {
		return err
	}
	ok, err := l.charged(s, charges).Fits(ctx)
	if ok || err != nil {
		return err
	}
	so, err := l.count(ctx, l.db)
	if err != nil {
		return err
	}
	return l.exceeded(ctx, so, s, charges)
}

// Left returns the largest epsilon of one further release of which only (epsilon, delta) is
// known that fits, rounded down; 0 if there is none.
func (l *Ledger) Left(ctx context.Context, delta float64) (epsilon float64, err error) {
	if err := check.Delta("ledger", "delta", delta); err != nil {
		return 0, err
	}
	s, err := l.spending(ctx, l.db)
	if err != nil {
		return 0, err
	}
	return l.charged(s).Left(ctx, delta)
}

// LeftTimes returns how many more uses of the mechanism fit, at most
// tables.MaxReleases; cost.Times is not used. It composes some 2·log2 of that many times.
func (l *Ledger) LeftTimes(ctx context.Context, cost account.Cost) (int, error) {
	cost.Times = 1
	bad := check.In("ledger")
	bad.AddOf(cost.Validate(), " of cost 1")
	if err := bad.Err(); err != nil {
		return 0, err
	}
	charges, err := stored([]account.Cost{cost}, map[kind][]byte{})
	if err != nil {
		return 0, err
	}
	s, err := l.spending(ctx, l.db)
	if err != nil {
		return 0, err
	}
	return l.charged(s).LeftTimes(ctx, l.charged(charges).Costs()[0])
}
