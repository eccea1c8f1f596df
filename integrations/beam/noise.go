package noisebeam

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"math/big"
	"reflect"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

// noise is a table on its way to the workers: its text, which each of them proves again.
type noise struct {
	Table []byte // the file
	s     *sampler.Noise
}

func newNoise(v *tables.Verified) (noise, error) {
	if v == nil || v.Mechanism() == nil {
		return noise{}, check.Field("noisebeam", "table", "none", "a verified one")
	}
	var text bytes.Buffer
	if err := v.Mechanism().Encode(&text); err != nil {
		return noise{}, err
	}
	return noise{Table: text.Bytes()}, nil
}

// proved are the tables that this process has verified, by the hash of their text: Beam
// makes many instances of a DoFn.
var proved sync.Map

// setup verifies the table and makes a sampler of its own.
func (n *noise) setup() error {
	hash := sha256.Sum256(n.Table)
	v, ok := proved.Load(hash)
	if !ok {
		t, err := tables.Decode(bytes.NewReader(n.Table))
		if err != nil {
			return err
		}
		// Who built the pipeline had it verified: this takes as long as it did then.
		if v, err = proof.Verify(context.Background(), t, proof.Options{Work: math.MaxInt64}); err != nil {
			return err
		}
		proved.Store(hash, v)
	}
	var err error
	n.s, err = sampler.NewNoise(v.(*tables.Verified), sampler.Options{})
	return err
}

// index returns ⌊x/step + 1/2⌋ plus a draw, a number of steps, and the step. Values that
// differ by at most the sensitivity get indices that differ by at most as many points as the
// table's proof counts (docs/proofs/rounding.md).
func (n *noise) index(x *big.Rat) (index *big.Int, step *big.Rat, err error) {
	step = n.s.Table().Grid().Step()
	draw, err := n.s.SampleInt()
	if err != nil {
		return nil, nil, err
	}
	i := new(big.Rat).Quo(x, step)
	index = exact.Floor(i.Add(i, big.NewRat(1, 2)))
	return index.Add(index, big.NewInt(draw)), step, nil
}

// add returns x, rounded to the grid, plus a draw, to the nearest float64.
func (n *noise) add(x *big.Rat) (float64, error) {
	index, step, err := n.index(x)
	if err != nil {
		return 0, err
	}
	y, _ := step.Mul(step, new(big.Rat).SetInt(index)).Float64()
	return y, nil
}

// Column is one that gets noise, and the range of its values.
type Column struct {
	// Name is that of the column of a CSV file, or of the exported field of a struct, which
	// is a float64; "" for rows that are float64s themselves.
	Name string
	// Lower and Upper are what values are clipped to: finite, Lower < Upper, and apart by
	// at most the sensitivity of the table.
	Lower, Upper float64
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
	if s := v.Mechanism().Privacy().Sensitivity; width.Cmp(exact.Rational(s)) > 0 {
		bad.Bad("upper - lower", exact.FloatUp(width), "at most the sensitivity of the table, "+number(s))
	}
	return bad.Err()
}

func checkRange(bad *check.List, lower, upper float64) {
	if !check.Finite(lower, upper) || !(lower < upper) {
		bad.Bad("lower and upper", number(lower)+", "+number(upper), "finite numbers in ascending order, what values are clipped to: unbounded values have no sensitivity")
	}
}

// AddNoise clips the column of every row to its range and replaces it by a private value,
// the column plus fresh noise, and freezes the result by a Reshuffle. rows are structs, or
// float64s. Rows keep everything else, unprotected.
//
// Guarantee: every row by itself has the privacy that the table promises, for rows that
// differ in this column. Who has several rows is protected by as much less, by composition.
//
// The error wraps dp.ErrInvalid, for an unbounded column or a range wider than the table's
// sensitivity too. A value that is not a number, or for an integer table not an integer,
// fails the pipeline, with an error that does not tell it.
func AddNoise(s beam.Scope, rows beam.PCollection, table *tables.Verified, column Column) (beam.PCollection, error) {
	none := beam.PCollection{}
	if err := column.validate(table); err != nil {
		return none, err
	}
	if err := checkField(rows.Type().Type(), column.Name); err != nil {
		return none, err
	}
	n, err := newNoise(table)
	if err != nil {
		return none, err
	}
	s = s.Scope("noisebeam.AddNoise")
	noisy := beam.ParDo(s, &addNoiseFn{Noise: n, Column: column}, rows)
	return beam.Reshuffle(s, noisy), nil
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

// addNoiseFn is the DoFn of AddNoise.
type addNoiseFn struct {
	Noise  noise
	Column Column
}

// Setup verifies the table.
func (f *addNoiseFn) Setup() error { return f.Noise.setup() }

// ProcessElement replaces a value.
func (f *addNoiseFn) ProcessElement(row beam.T) (beam.T, error) {
	if f.Column.Name == "" {
		return f.noisy(row.(float64))
	}
	changed := reflect.New(reflect.TypeOf(row)).Elem()
	changed.Set(reflect.ValueOf(row))
	field := changed.FieldByName(f.Column.Name)
	y, err := f.noisy(field.Float())
	if err != nil {
		return nil, err
	}
	field.SetFloat(y)
	return changed.Interface(), nil
}

func (f *addNoiseFn) noisy(x float64) (float64, error) {
	if math.IsNaN(x) {
		return 0, check.Errorf("noisebeam", dp.ErrInvalid, "column %s: a value is not a number; leave such rows out", check.Quoted(f.Column.Name))
	}
	y, err := f.Noise.s.AddNoise(min(max(x, f.Column.Lower), f.Column.Upper))
	if errors.Is(err, dp.ErrInvalid) { // tells of the value, if little
		err = check.Errorf("noisebeam", dp.ErrInvalid, "column %s: no noise could be added to a value: want what the table is for, %s queries",
			check.Quoted(f.Column.Name), f.Noise.s.Table().Query())
	}
	return y, err
}
