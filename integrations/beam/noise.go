// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"reflect"
	"slices"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/integrations/beam/internal/fault"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

// noise is a table on its way to the workers: its text, which each of them proves again, and
// the secret by which all of them draw the same.
type noise struct {
	Table  []byte // the file
	Secret secret
	s      *sampler.Keyed
}

func newNoise(v *tables.Verified) (noise, error) {
	if v == nil || v.Mechanism() == nil {
		return noise{}, check.Field("noisebeam", "table", "none", "a verified one")
	}
	var text bytes.Buffer
	if err := v.Mechanism().Encode(&text); err != nil {
		return noise{}, err
	}
	return noise{Table: text.Bytes(), Secret: newSecret()}, nil
}

// proved is what this process has verified, by the hash of its text: Beam makes many instances of a DoFn.
var proved sync.Map

// verified returns what was read from a text once and verified, without a limit of work: who built the pipeline
// had it verified, and this takes as long as it did then.
func verified[V any, M any](text []byte, decode func(io.Reader) (M, error), verify func(context.Context, M, proof.Options) (V, error)) (v V, err error) {
	hash := sha256.Sum256(text)
	if known, ok := proved.Load(hash); ok {
		return known.(V), nil
	}
	m, err := decode(bytes.NewReader(text))
	if err != nil {
		return v, err
	}
	if v, err = verify(context.Background(), m, proof.Options{Work: math.MaxInt64}); err == nil {
		proved.Store(hash, v)
	}
	return v, err
}

// setup verifies the table and makes a sampler of its own.
func (n *noise) setup() error {
	v, err := verified(n.Table, tables.Decode, proof.Verify[tables.Table, tables.Certificate])
	if err != nil {
		return err
	}
	n.s, err = sampler.NewKeyed(v, n.Secret.key())
	return err
}

// setup sets up all of a list.
func setup(list []noise) error {
	for i := range list {
		if err := list[i].setup(); err != nil {
			return err
		}
	}
	return nil
}

// add returns x, rounded to the grid, plus the noise that is for the partition, what else it is of and x, to the
// nearest float64. Values that differ by at most the sensitivity are rounded to points that differ
// by at most as many as the table's proof counts (docs/proofs/rounding.md).
func (n *noise) add(partition string, x *big.Rat, of ...string) (float64, error) {
	index, err := n.s.AddNoiseExact(x, append([]string{partition}, of...)...)
	if err != nil {
		return 0, err
	}
	step := n.s.Table().Grid().Step()
	y, _ := step.Mul(step, new(big.Rat).SetInt(index)).Float64()
	return y, nil
}

// row returns a valid value plus the noise that is for the label and it.
func (n *noise) row(x float64, label ...string) (float64, error) { return n.s.AddNoise(x, label...) }

// valid returns the value that gets noise: clipped and, for integer queries, an integer. What is no
// finite number is the middle of the range: a rule that looks at nothing else, so that the
// noise hides this too. The error of a strict column ends the sentence that begins with what is
// wrong, and does not tell the value.
func (c Column) valid(x float64, query dp.Query) (float64, error) {
	integer := query == dp.IntegerQuery
	switch {
	case c.StrictNotPrivate && !check.Finite(x):
		return 0, errors.New("is not a finite number; leave such rows out")
	case c.StrictNotPrivate && integer && x != math.Trunc(x):
		return 0, fmt.Errorf("is not what the table is for, %s queries", query)
	case !check.Finite(x):
		x = c.Lower/2 + c.Upper/2
	}
	if integer {
		x = math.RoundToEven(x)
	}
	return c.clipped(x), nil
}

// clipped moves the value into the range; the two zeros are one.
func (c Column) clipped(x float64) float64 { return min(max(x, c.Lower), c.Upper) + 0 }

// Column is one that gets noise, and the range of its values.
type Column struct {
	// Name is that of the column of a CSV file, or of the exported field of a struct, which
	// is a float64; "" for rows that are float64s themselves.
	Name string
	// Lower and Upper are what values are clipped to: finite, Lower < Upper, and apart by
	// at most the sensitivity of the table. They are integers for a table for integer queries.
	Lower, Upper float64
	// StrictNotPrivate is for who holds the data: a value that is no finite number, or no
	// integer where the table wants one, fails the pipeline in the place of being repaired. That
	// it failed, and of which line, is exact and not private.
	StrictNotPrivate bool
}

func (c Column) validate(v *tables.Verified) error {
	bad := check.In("noisebeam")
	checkRange(bad, c.Lower, c.Upper)
	if err := bad.Err(); err != nil {
		return err
	}
	if v == nil || v.Mechanism() == nil {
		return check.Field("noisebeam", "table", "none", "a verified one")
	}
	width := new(big.Rat).Sub(exact.Rational(c.Upper), exact.Rational(c.Lower))
	t := v.Mechanism()
	s := t.Privacy().Sensitivity
	bad.Want(width.Cmp(exact.Rational(s)) <= 0, "upper - lower", exact.FloatUp(width), "at most the sensitivity of the table, %s", number(s))
	ends := number(c.Lower) + ", " + number(c.Upper)
	whole := c.Lower == math.Trunc(c.Lower) && c.Upper == math.Trunc(c.Upper)
	bad.Want(whole || t.Query() != dp.IntegerQuery, "lower and upper", ends, "integers, as the table is for integer queries")
	step, _ := t.Grid().Step().Float64()
	most := float64(exact.MaxInteger-t.Reach()) * step
	bad.Want(math.Max(math.Abs(c.Lower), math.Abs(c.Upper)) <= most, "lower and upper", ends, "of at most %s, what the table's grid holds", number(most))
	return bad.Err()
}

func checkRange(bad *check.List, lower, upper float64) {
	bad.Want(check.Finite(lower, upper) && lower < upper, "lower and upper", number(lower)+", "+number(upper), "finite numbers in ascending order, what values are clipped to: unbounded values have no sensitivity")
}

// AddNoise clips the column of every row to its range and replaces it by a private value,
// the column plus noise. rows are structs, or float64s; there are finitely many of them, and their
// windows and triggers are dropped. Rows keep everything else, unprotected, and come in an order
// that does not depend on the column.
//
// Rows that are equal but for the column go to one worker, which holds 8 bytes of each, and come in
// ascending order of what they are now. So a row needs no identity: equal rows have independent
// noise, and an engine that does it again gets the same rows.
//
// Guarantee: every row by itself has the privacy that the table promises, for rows that
// differ in this column. Who has several rows is protected by as much less, by composition.
//
// A value that is not a finite number counts as the middle of the range, and one that is not an
// integer, for an integer table, is rounded to one; with StrictNotPrivate it fails the
// pipeline, with an error that does not tell it. The error wraps dp.ErrInvalid, for an unbounded column or a
// range wider than the table's sensitivity too.
func AddNoise(s beam.Scope, rows beam.PCollection, table *tables.Verified, column Column) (beam.PCollection, error) {
	none := beam.PCollection{}
	if err := once(); err != nil {
		return none, err
	}
	if err := column.validate(table); err != nil {
		return none, err
	}
	row := rows.Type().Type()
	if err := checkField(row, column.Name); err != nil {
		return none, err
	}
	n, err := newNoise(table)
	if err != nil {
		return none, err
	}
	s = s.Scope("noisebeam.AddNoise")
	rows = beam.WindowInto(s, window.NewGlobalWindows(), rows)
	c := rowsColumn{beam.EncodedType{T: row}, column.Name}
	apart := beam.ParDo(s, &splitFn{Rows: c}, rows)
	noisy := beam.ParDo(s, &addNoiseFn{Rows: c, Noise: n, Column: column}, beam.GroupByKey(s, apart),
		beam.TypeDefinition{Var: beam.XType, T: row})
	return fault.After(s, "noisy", noisy), nil
}

// checkField reports whether rows of the type have the field.
func checkField(row reflect.Type, name string) error {
	number := reflect.TypeFor[float64]()
	if name == "" {
		if row != number {
			return check.Field("noisebeam", "column", `""`, "the name of a field: rows are "+row.String()+", not float64")
		}
		return nil
	}
	if row.Kind() == reflect.Struct {
		if f, ok := row.FieldByName(name); ok && f.IsExported() && f.Type == number {
			return nil
		}
	}
	return check.Field("noisebeam", "column", check.Quoted(name), "an exported float64 field of the rows, which are "+row.String())
}

// rowsColumn is a column of rows of some type.
type rowsColumn struct {
	Type beam.EncodedType
	Name string // of the field, "" if rows are float64s
}

func (c rowsColumn) of(row reflect.Value) reflect.Value {
	if c.Name == "" {
		return row
	}
	return row.FieldByName(c.Name)
}

// splitFn takes a row apart: what is not protected, encoded, and the column.
type splitFn struct {
	Rows    rowsColumn
	encoder beam.ElementEncoder
}

func (f *splitFn) Setup() { f.encoder = beam.NewElementEncoder(f.Rows.Type.T) }

func (f *splitFn) ProcessElement(row beam.X, emit func([]byte, float64)) error {
	rest := reflect.New(f.Rows.Type.T).Elem()
	rest.Set(reflect.ValueOf(row))
	field := f.Rows.of(rest)
	x := field.Float()
	field.SetFloat(0)
	var code bytes.Buffer
	if err := f.encoder.Encode(rest.Interface(), &code); err != nil {
		return err
	}
	emit(code.Bytes(), x)
	return nil
}

// addNoiseFn makes rows again, with noise.
type addNoiseFn struct {
	Rows    rowsColumn
	Noise   noise
	Column  Column
	decoder beam.ElementDecoder
}

func (f *addNoiseFn) Setup() error {
	f.decoder = beam.NewElementDecoder(f.Rows.Type.T)
	return f.Noise.setup()
}

// ProcessElement adds noise to all rows that are equal but for the column. The noise is for
// what they have in common, the value and the number of the row among those with this value too.
// Which row comes from which value is told by neither their order nor anything else.
func (f *addNoiseFn) ProcessElement(rest []byte, values func(*float64) bool, emit func(beam.X)) error {
	var list []float64
	var x float64
	for values(&x) {
		valid, err := f.Column.valid(x, f.Noise.s.Table().Query())
		if err != nil {
			return check.Errorf("noisebeam", dp.ErrInvalid, "column %s: a value %w", check.Quoted(f.Column.Name), err)
		}
		list = append(list, valid)
	}
	slices.Sort(list)
	out := make([]float64, len(list))
	copies := int64(0)
	for i, x := range list {
		if copies++; i == 0 || x != list[i-1] {
			copies = 0
		}
		var err error
		if out[i], err = f.Noise.row(x, "row", string(rest), whole(copies)); err != nil {
			return check.Errorf("noisebeam", dp.ErrInvalid, "column %s: a value %w", check.Quoted(f.Column.Name), err)
		}
	}
	slices.Sort(out)
	for _, y := range out {
		decoded, err := f.decoder.Decode(bytes.NewReader(rest))
		if err != nil {
			return err
		}
		row := reflect.New(f.Rows.Type.T).Elem()
		row.Set(reflect.ValueOf(decoded))
		f.Rows.of(row).SetFloat(y)
		emit(row.Interface())
	}
	return nil
}
