// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
)

// querier is the database, or a transaction in it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Release charges the query durably, then calls answer, stores what it returns, and
// returns the record with the stored answer. A query that the ledger has an answer to is
// answered from it at no cost, without a call of answer.
//
// answer draws the noise of the query's costs, once. What it returns must not leave the process
// before Release returns it: if another process was faster, its answer is returned and this one is
// lost. So is one that is empty or larger than 128 MiB, for good: the charge stays. Whether answer
// fails must not depend on what it draws, as the query is drawn again then. Nor may anything of what it returns
// be of another length but the numbers of JSON, which are stored as if each were of the longest: then whether a disk
// has space for the answer does not depend on it either. Spaces at the end of an answer are not kept.
//
// Guarantee (docs/proofs/ledger.md): of one charge at most one answer is ever returned, in
// all processes and after any crash; and all charges together are within the Terms.
//
// Errors wrap dp.ErrInvalid for bad fields, all of them reported together, and for an equal
// query that was charged with other costs; account.ErrExceeded, with an *Exceeded for errors.As, if
// the charge does not fit; or they are those of answer, of the context, or of the database,
// such as a full disk. No answer was returned then, but a charge may remain, which the same
// query takes up again.
func (l *Ledger) Release(ctx context.Context, q account.Charge, answer func(context.Context) ([]byte, error)) (account.Record, error) {
	if err := validateCharge(q, l.terms); err != nil {
		return account.Record{}, err
	}
	texts := make(map[kind][]byte)
	charges, err := stored(q.Costs, texts)
	if err != nil {
		return account.Record{}, err
	}
	id, err := l.charge(ctx, q, charges, texts)
	if err != nil {
		return account.Record{}, err
	}
	r, err := l.record(ctx, id)
	if err != nil {
		return r, err
	}
	if r.Answer != nil {
		r.Replayed = true
		return l.kept(r)
	}
	// From here on the charge is on disk: whatever happens, it stays.
	draw, err := answer(ctx)
	if err != nil {
		return account.Record{}, err
	}
	size := width(draw)
	if draw = trimmed(draw); len(draw) == 0 || len(draw) > maxAnswer {
		draw = []byte(lost) // whether it is kept depends on the draw: another one would be for nothing
	}
	return l.store(context.WithoutCancel(ctx), id, padded(draw, size))
}

// lost stands for an answer that was empty or too large.
const lost = `{"lost":"the answer was empty or too large"}`

// widestNumber is the length of the longest number of an answer, -2.2250738585072014e-308, and one more.
const widestNumber = 25

// width is how long a text of JSON can be with other numbers in the same places, at most maxAnswer. Answers are
// stored at this length: the pages that are written, and so whether a disk has space for them, do not
// depend on the digits of what was drawn.
func width(text []byte) int {
	size := 0
	quoted, number := false, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !quoted && (c == '-' || '0' <= c && c <= '9' || number && (c == '+' || c == '.' || c == 'e' || c == 'E')) {
			if !number {
				size += widestNumber
			}
			number = true
			continue
		}
		number = false
		size++
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			size++
			i++
		}
	}
	return min(size, maxAnswer)
}

// padded returns the text with spaces up to a length.
func padded(text []byte, size int) []byte {
	return append(text, bytes.Repeat([]byte{' '}, max(size-len(text), 0))...)
}

// trimmed returns the text without what padded has put behind it.
func trimmed(text []byte) []byte { return bytes.TrimRight(text, " ") }

// kept refuses a record whose answer is lost. It does not say how large that was, which the draw decides.
func (l *Ledger) kept(r account.Record) (account.Record, error) {
	if string(r.Answer) == lost {
		return account.Record{}, check.Errorf("ledger", dp.ErrInvalid, "the answer of release %d is lost: it was empty, or larger than %d MiB", r.ID, maxAnswer>>20)
	}
	return r, nil
}

// store keeps the draw, unless there is an answer: whoever stores first wins, and the draws
// of all others are lost before they leave their process. This is what allows a charge to
// be taken up again: without it, a process that was only slow, not dead, would publish a
// second draw of one charge.
func (l *Ledger) store(ctx context.Context, id int64, draw []byte) (account.Record, error) {
	// The answer is durable when this returns, and so not lost after it was published.
	done, err := l.db.ExecContext(ctx, "UPDATE releases SET answer = ?, answered = ? WHERE id = ? AND answer IS NULL", draw, now(), id)
	if err != nil {
		return account.Record{}, l.failed(ctx, err)
	}
	n, err := done.RowsAffected()
	if err != nil {
		return account.Record{}, l.failed(ctx, err)
	}
	r, err := l.record(ctx, id)
	if err != nil {
		return account.Record{}, err
	}
	if r.Answer == nil {
		return account.Record{}, check.Errorf("ledger", proof.ErrFormat, "%s: damaged: the answer of release %d is gone", l.path, id)
	}
	r.Replayed = n == 0
	return l.kept(r)
}

func now() string { return time.Now().UTC().Format(time.RFC3339Nano) }

// charge returns the number of the query's record, charged durably.
func (l *Ledger) charge(ctx context.Context, q account.Charge, charges []charge, texts map[kind][]byte) (int64, error) {
	if id, err := l.find(ctx, l.db, q, charges); id != 0 || err != nil {
		return id, err
	}
	// What takes long and does not change, before others have to wait.
	if err := l.prepare(ctx, charges); err != nil {
		return 0, err
	}
	tx, err := l.db.BeginTx(ctx, nil) // immediate: no other process charges before the end
	if err != nil {
		return 0, l.failed(ctx, err)
	}
	defer tx.Rollback() //nolint:errcheck // of what is not committed
	if id, err := l.find(ctx, tx, q, charges); id != 0 || err != nil {
		return id, err
	}
	if q.Part != "" {
		return l.insertPart(ctx, tx, q)
	}
	spent, err := l.spending(ctx, tx)
	if err != nil {
		return 0, err
	}
	ok, err := l.charged(spent, charges).Fits(ctx)
	if err != nil {
		return 0, err
	}
	if !ok {
		so, err := l.count(ctx, tx)
		if err != nil {
			return 0, err
		}
		_ = tx.Rollback() // let others go on
		return 0, l.exceeded(ctx, so, spent, charges)
	}
	id, err := insert(ctx, tx, q, charges, texts)
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return 0, l.failed(ctx, err)
	}
	return id, nil
}

// find returns the number of an equal query's record, 0 if there is none.
func (l *Ledger) find(ctx context.Context, db querier, q account.Charge, charges []charge) (int64, error) {
	var id int64
	var answered bool
	row := db.QueryRowContext(ctx, "SELECT id, answer IS NOT NULL FROM releases WHERE text = ? AND data = ?", q.Text, q.Data)
	if err := row.Scan(&id, &answered); errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	} else if err != nil {
		return 0, l.failed(ctx, err)
	}
	if answered {
		return id, nil
	}
	// The draw to come has to be of the noise that was charged.
	charged, err := l.chargesOf(ctx, db, id)
	if err != nil {
		return 0, err
	}
	if !slices.EqualFunc(charged, charges, func(x, y charge) bool { return x.kind == y.kind && x.times == y.times }) {
		return 0, check.Field("ledger", "costs", "not those that the query was charged with before", "the noise of its record")
	}
	return id, nil
}

// insertPart adds the record of a part of an earlier charge.
func (l *Ledger) insertPart(ctx context.Context, tx *sql.Tx, q account.Charge) (id int64, err error) {
	charged := false
	row := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM releases JOIN costs ON release = id WHERE text = ? AND data = ?)", q.Part, q.Data)
	if err := row.Scan(&charged); err != nil {
		return 0, l.failed(ctx, err)
	}
	if !charged {
		return 0, check.Field("ledger", "part", check.Quoted(check.Shortened(q.Part)), "what was charged in this ledger, of the same data")
	}
	if id, err = insert(ctx, tx, q, nil, nil); err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return 0, l.failed(ctx, err)
	}
	return id, nil
}

// insert adds the record of a charge.
func insert(ctx context.Context, tx querier, q account.Charge, charges []charge, texts map[kind][]byte) (int64, error) {
	done, err := tx.ExecContext(ctx, "INSERT INTO releases (text, data, summary, charged) VALUES (?, ?, ?, ?)", q.Text, q.Data, q.Summary, now())
	if err != nil {
		return 0, err
	}
	id, err := done.LastInsertId()
	if err != nil {
		return 0, err
	}
	for i, c := range charges {
		var table, epsilon, delta any
		if c.kind.hash == "" {
			epsilon, delta = c.kind.epsilon, c.kind.delta
		} else {
			table = c.kind.hash
			if _, err := tx.ExecContext(ctx, "INSERT INTO tables VALUES (?, ?) ON CONFLICT DO NOTHING", c.kind.hash, texts[c.kind]); err != nil {
				return 0, err
			}
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO costs VALUES (?, ?, ?, ?, ?, ?)", id, i+1, table, epsilon, delta, c.times); err != nil {
			return 0, err
		}
	}
	return id, nil
}
