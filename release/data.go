// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/big"
	"reflect"
	"strconv"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
)

// File is a CSV file whose fields the Delimiter separates; 0 means a comma. OneLine says that
// fields have no line breaks, in quotes neither: then every line is a row, and what a quote breaks
// is this line alone, whoever wrote the file. Both decide what a row is: with a ledger they are
// those of its Terms.
type File struct {
	io.Reader
	Delimiter byte
	OneLine   bool
}

// under returns the file as the terms of a ledger have it read. The error wraps dp.ErrInvalid for
// another Delimiter than theirs, and for OneLine where theirs is false.
func (f File) under(t account.Terms) (File, error) {
	want := cmp.Or(t.Delimiter, ",")
	bad := check.In("release")
	bad.If(f.Delimiter != 0 && string(rune(f.Delimiter)) != want, "delimiter", strconv.QuoteRune(rune(f.Delimiter)), "%q as in the ledger", want)
	bad.If(f.OneLine && !t.OneLine, "one-line", "true", "false as in the ledger")
	f.Delimiter, f.OneLine = want[0], t.OneLine
	return f, bad.Err()
}

// underTerms is under for all data that may be a file.
func underTerms(data any, t account.Terms) (any, error) {
	switch d := data.(type) {
	case interface {
		ReadData(ctx context.Context, q Query) (*Data, string, error)
	}:
		return data, nil // its own
	case File:
		return d.under(t)
	case io.Reader:
		return File{Reader: d}.under(t)
	case *CSV:
		f, err := File{Delimiter: d.delimiter}.under(t)
		if f.OneLine {
			err = errors.Join(err, check.Field("release", "one-line", "false", "true as in the ledger: a File can be"))
		}
		return data, err
	}
	return data, nil
}

// Read lets read take rows of the file and returns its digest, by which ledgers know data: the
// SHA-256 of the delimiter, with another one it is other data, of a line feed if OneLine is set,
// and of all bytes of the file.
func (f File) Read(ctx context.Context, read func(*CSV) error) (digest string, err error) {
	if f.Delimiter == 0 {
		f.Delimiter = ','
	}
	sum := sha256.New()
	sum.Write([]byte{f.Delimiter})
	if f.OneLine {
		sum.Write([]byte{'\n'})
	}
	all := io.TeeReader(ending{ctx, f.Reader}, sum)
	rows, err := newCSV(all, csvfile.Options{Delimiter: f.Delimiter, OneLine: f.OneLine})
	if err != nil {
		return "", err
	}
	defer rows.Close()
	if err = read(rows); err == nil {
		_, err = io.Copy(io.Discard, all)
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

// ending ends with the context.
type ending struct {
	ctx context.Context //nolint:containedctx // of one reading
	io.Reader
}

// Read implements io.Reader.
func (e ending) Read(p []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	return e.Reader.Read(p)
}

// ReadData computes what a query needs to know of data, exactly, and a digest of them by which
// ledgers know them. For a query of the kind Value, data is the number: a *big.Rat, a float64
// or an integer. For any other it is one of
//
//   - an io.Reader of a CSV file, with commas, or a File;
//   - a slice or an iterator (iter.Seq) of structs: every exported field is a column, named by
//     the tag csv:"name", by default as the field; csv:"-" is none;
//   - a slice or an iterator of numbers, texts or truth values, which are the column "value";
//   - Rows, or what has a method ReadData that does all of this.
//
// Numbers count as they are, without rounding; texts as in a CSV file; and nil pointers and NaN
// are missing. The digest of values is that of the CSV file that encoding/csv writes of them: a
// header, a comma between fields, "\n" after a row. So values and their file are the same data;
// a column more, or another order of the rows, are other data. The digest of a number is
// random, as its own would give the number away: every release of a number is a new one.
//
// Errors are those of Read.
func ReadData(ctx context.Context, data any, q Query) (d *Data, digest string, err error) {
	if own, ok := data.(interface {
		ReadData(ctx context.Context, q Query) (d *Data, digest string, err error)
	}); ok {
		return own.ReadData(ctx, q)
	}
	if x, ok := numberOf(data); q.Kind == Value && ok {
		var nonce [sha256.Size]byte
		if _, err := rand.Read(nonce[:]); err != nil {
			return nil, "", err
		}
		d, err = dataOf(x, q)
		return d, hex.EncodeToString(nonce[:]), err
	}
	switch data := data.(type) {
	case File:
		digest, err = data.Read(ctx, func(rows *CSV) (err error) {
			d, err = Read(rows, q)
			return err
		})
		return d, digest, err
	case io.Reader:
		return ReadData(ctx, File{Reader: data}, q)
	case Rows:
		rows := newDigested(ctx, data)
		if d, err = Read(rows, q); err != nil {
			return nil, "", err
		}
		digest, err = rows.digest()
		return d, digest, err
	}
	if q.Kind == Value {
		return nil, "", check.Field("release", "data", fmt.Sprintf("%T", data), "a finite number: a *big.Rat, a float64 or an integer")
	}
	rows, err := newValues(data)
	if err != nil {
		return nil, "", err
	}
	defer rows.stop()
	return ReadData(ctx, rows, q)
}

// numberOf reads a finite number, exactly.
func numberOf(data any) (*big.Rat, bool) {
	if x, ok := data.(*big.Rat); ok {
		return x, x != nil
	}
	switch v := reflect.ValueOf(data); {
	case v.CanInt():
		return new(big.Rat).SetInt64(v.Int()), true
	case v.CanUint():
		return new(big.Rat).SetUint64(v.Uint()), true
	case v.CanFloat():
		x := new(big.Rat).SetFloat64(v.Float())
		return x, x != nil
	}
	return nil, false
}

// digested are rows that are written to a digest while they are read.
type digested struct {
	Rows
	ctx  context.Context //nolint:containedctx // of one reading
	file *csv.Writer
	sum  hash.Hash
}

func newDigested(ctx context.Context, rows Rows) *digested {
	sum := sha256.New()
	sum.Write([]byte{','})
	r := &digested{rows, ctx, csv.NewWriter(sum), sum}
	_ = r.file.Write(rows.Columns()) // as all below: a hash takes everything
	return r
}

// Next implements Rows.
func (r *digested) Next() ([]string, int, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, 0, err
	}
	record, row, err := r.Rows.Next()
	switch {
	case err == nil:
		_ = r.file.Write(record)
	case errors.Is(err, ErrRow): // other data than a row that has the same texts and is read
		_ = r.file.Write(append(record[:len(record):len(record)], "\x00"))
	}
	return record, row, err
}

func (r *digested) digest() (string, error) {
	r.file.Flush()
	return hex.EncodeToString(r.sum.Sum(nil)), r.file.Error()
}
