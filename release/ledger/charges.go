// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// kind is a mechanism: a table by its hash, or else a promise.
type kind struct {
	hash           string
	epsilon, delta float64
}

// charge is a mechanism used so many times.
type charge struct {
	kind  kind
	table *tables.Verified // of a kind with a hash
	times int
}

// cost returns the charge as an account.Cost.
func (c charge) cost() account.Cost {
	return account.Cost{Table: c.table, Epsilon: c.kind.epsilon, Delta: c.kind.delta, Times: c.times}
}

// stored returns the costs as they are stored, and adds the texts of their tables to texts.
func stored(costs []account.Cost, texts map[kind][]byte) ([]charge, error) {
	list := make([]charge, len(costs))
	for i, c := range costs {
		k := kind{epsilon: c.Epsilon, delta: c.Delta}
		if c.Table != nil {
			text, err := tableText(c.Table)
			if err != nil {
				return nil, err
			}
			k = kind{hash: hash(text)}
			texts[k] = text
		}
		list[i] = charge{k, c.Table, c.Times}
	}
	return list, nil
}

// chargesOf reads the charges of a record.
func (l *Ledger) chargesOf(ctx context.Context, db querier, id int64) ([]charge, error) {
	return l.readCharges(ctx, db, "SELECT table_sha256, epsilon, delta, times FROM costs WHERE release = ? ORDER BY position", id)
}

func (l *Ledger) readCharges(ctx context.Context, db querier, query string, args ...any) ([]charge, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, l.failed(ctx, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var list []charge
	for rows.Next() {
		var table sql.NullString
		var epsilon, delta sql.NullFloat64
		var c charge
		if err := rows.Scan(&table, &epsilon, &delta, &c.times); err != nil {
			return nil, l.failed(ctx, err)
		}
		c.kind = kind{table.String, epsilon.Float64, delta.Float64}
		if c.times < 1 || table.Valid != isHash(table.String) {
			return nil, check.Errorf("ledger", proof.ErrFormat, "%s: damaged: a charge of %d times %s", l.path, c.times, check.Quoted(check.Shortened(table.String)))
		}
		list = append(list, c)
	}
	if err := rows.Err(); err != nil {
		return nil, l.failed(ctx, err)
	}
	for i, c := range list {
		if c.kind.hash == "" {
			continue
		}
		if list[i].table, err = l.table(ctx, db, c.kind.hash); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// table returns a table of the ledger, read from its text and verified, once.
func (l *Ledger) table(ctx context.Context, db querier, sha256 string) (*tables.Verified, error) {
	l.mu.Lock()
	v := l.tables[sha256]
	l.mu.Unlock()
	if v != nil {
		return v, nil
	}
	var text []byte
	err := db.QueryRowContext(ctx, "SELECT text FROM tables WHERE sha256 = ?", sha256).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, check.Errorf("ledger", proof.ErrFormat, "%s: damaged: table %s is missing", l.path, check.Shortened(sha256))
	}
	if err != nil {
		return nil, l.failed(ctx, err)
	}
	if hash(text) != sha256 {
		return nil, check.Errorf("ledger", proof.ErrFormat, "%s: damaged: table %s is not the one that was charged", l.path, check.Shortened(sha256))
	}
	t, err := tables.Decode(bytes.NewReader(text))
	if err == nil {
		// Whoever charged it had it verified: this takes as long as it did then.
		v, err = proof.Verify(ctx, t, proof.Options{Work: math.MaxInt64})
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, check.Errorf("ledger", proof.ErrFormat, "%s: damaged: table %s: %w", l.path, check.Shortened(sha256), err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tables[sha256] = v
	return v, nil
}

const selectRecords = "SELECT id, text, data, summary, charged, answered, answer FROM releases"

// Find returns the record of the query with the text and the data; ok is false if it was
// never charged. Its Costs are those that were charged, with their tables.
func (l *Ledger) Find(ctx context.Context, text, data string) (r account.Record, ok bool, err error) {
	list, err := l.records(ctx, selectRecords+" WHERE text = ? AND data = ?", text, data)
	if err != nil || len(list) == 0 {
		return account.Record{}, false, err
	}
	r, err = l.kept(list[0])
	return r, err == nil, err
}

// Records returns all records in the order of their charges. The tables are those of the
// ledger, verified.
func (l *Ledger) Records(ctx context.Context) ([]account.Record, error) {
	return l.records(ctx, selectRecords+" ORDER BY id")
}

func (l *Ledger) record(ctx context.Context, id int64) (account.Record, error) {
	list, err := l.records(ctx, selectRecords+" WHERE id = ?", id)
	if err != nil {
		return account.Record{}, err
	}
	if len(list) == 0 {
		return account.Record{}, check.Errorf("ledger", proof.ErrFormat, "%s: damaged: release %d is gone", l.path, id)
	}
	return list[0], nil
}

// records reads records in one transaction, so that they have all their costs.
func (l *Ledger) records(ctx context.Context, query string, args ...any) ([]account.Record, error) {
	tx, err := l.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, l.failed(ctx, err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	list, err := l.scanRecords(ctx, tx, query, args...)
	if err != nil {
		return nil, err
	}
	for i := range list {
		r := &list[i]
		r.Neighbors, r.Unit = l.terms.Neighbors, l.terms.Unit
		charges, err := l.chargesOf(ctx, tx, r.ID)
		if err != nil {
			return nil, err
		}
		for _, c := range charges {
			r.Costs = append(r.Costs, c.cost())
		}
	}
	return list, nil
}

func (l *Ledger) scanRecords(ctx context.Context, db querier, query string, args ...any) ([]account.Record, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, l.failed(ctx, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var list []account.Record
	for rows.Next() {
		var r account.Record
		var charged string
		var answered sql.NullString
		if err := rows.Scan(&r.ID, &r.Text, &r.Data, &r.Summary, &charged, &answered, &r.Answer); err != nil {
			return nil, l.failed(ctx, err)
		}
		if r.Charged, err = time.Parse(time.RFC3339Nano, charged); err == nil && answered.Valid {
			r.Answered, err = time.Parse(time.RFC3339Nano, answered.String)
		}
		if err != nil {
			return nil, check.Errorf("ledger", proof.ErrFormat, "%s: damaged: the time of release %d: %w", l.path, r.ID, err)
		}
		if !isLine(r.Text) || !isLine(r.Summary) || !isHash(r.Data) {
			return nil, check.Errorf("ledger", proof.ErrFormat, "%s: damaged: the query of release %d", l.path, r.ID)
		}
		if r.Answer != nil {
			r.Answer = trimmed(r.Answer)
		}
		list = append(list, r)
	}
	if err := rows.Err(); err != nil {
		return nil, l.failed(ctx, err)
	}
	return list, nil
}
