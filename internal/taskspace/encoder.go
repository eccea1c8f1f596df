package taskspace

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

// A LinearEncoder maps n features to Z unit coordinates,
//
//	u = W(x − μ) + offset,
//
// and clips them to a body. Its fields are checked by the methods that use them;
// it must not be modified while one runs.
type Encoder struct {
	Rows   *mat.Dense // W, Z×n
	Mean   []float64  // μ, n
	Offset []float64  // Z; nil is zero
	// Low and High are public bounds that the features are clipped to first, n
	// each; nil for none.
	Low, High []float64
	// Axes are the semi-axes of the body of the domain, to which u is clipped, Z
	// of them; nil for no clipping.
	Axes   []float64
	Domain bundle.Domain
}

// Encode returns the clipped unit coordinates (N×Z) of the rows of data (N×n).
// Errors wrap ErrInvalid: sizes that differ, numbers that are not finite.
func (e *Encoder) Encode(data mat.Matrix) (*mat.Dense, error) {
	rows, err := e.check(data)
	if err != nil {
		return nil, err
	}
	z, _ := e.Rows.Dims()
	u := mat.NewDense(rows, z, nil)
	start := 0
	for block := range blocks(data) {
		count, _ := block.Dims()
		e.encode(u.Slice(start, start+count, 0, z).(*mat.Dense), block)
		start += count
	}
	return u, nil
}

// encode stores the unit coordinates of the rows of block in u. It overwrites
// the block.
func (e *Encoder) encode(u, block *mat.Dense) {
	rows, _ := block.Dims()
	if e.Low != nil {
		for i := range rows {
			row := block.RawRowView(i)
			for j, v := range row {
				row[j] = min(max(v, e.Low[j]), e.High[j])
			}
		}
	}
	subtractRow(block, e.Mean)
	u.Mul(block, e.Rows.T())
	for i := range rows {
		row := u.RawRowView(i)
		for k, v := range e.Offset {
			row[k] += v
		}
		e.Domain.Clip(row, e.Axes)
	}
}

// check refuses fields whose sizes do not fit and, unless it is nil, data that
// does not. It returns the number of rows of the data.
func (e *Encoder) check(data mat.Matrix) (rows int, err error) {
	if e.Rows == nil {
		return 0, check.Errorf("latent", check.ErrInvalid, "the encoder has no rows")
	}
	z, n := e.Rows.Dims()
	for _, field := range []struct {
		name     string
		values   []float64
		optional bool
		want     int
	}{
		{"mean", e.Mean, false, n},
		{"offset", e.Offset, true, z},
		{"lower bounds", e.Low, true, n},
		{"upper bounds", e.High, true, n},
		{"semi-axes", e.Axes, true, z},
	} {
		if field.values == nil && field.optional {
			continue
		}
		if len(field.values) != field.want {
			return 0, check.Field("latent", "length of the encoder's "+field.name, len(field.values), fmt.Sprint(field.want))
		}
		if i := slices.IndexFunc(field.values, func(v float64) bool { return !check.Finite(v) }); i >= 0 {
			return 0, check.Field("latent", fmt.Sprintf("encoder's %s [%d]", field.name, i), field.values[i], "a finite number")
		}
	}
	for i, s := range e.Axes {
		if !(s > 0) {
			return 0, check.Field("latent", fmt.Sprintf("semi-axis %d", i), s, "above 0")
		}
	}
	if (e.Low == nil) != (e.High == nil) {
		return 0, check.Errorf("latent", check.ErrInvalid, "the encoder has only one of lower and upper bounds, want both or none")
	}
	for j := range e.Low {
		if !(e.Low[j] <= e.High[j]) {
			return 0, check.Field("latent", fmt.Sprintf("lower bound %d", j), e.Low[j], fmt.Sprintf("at most the upper one, %g", e.High[j]))
		}
	}
	for i := range z {
		for j, v := range e.Rows.RawRowView(i) {
			if !check.Finite(v) {
				return 0, check.Field("latent", fmt.Sprintf("encoder(%d,%d)", i, j), v, "a finite number")
			}
		}
	}
	if data == nil {
		return 0, nil
	}
	rows, cols, err := checkData(data)
	if err == nil && cols != n {
		err = check.Field("latent", "columns of the data", cols, fmt.Sprintf("%d, as the encoder has", n))
	}
	return rows, err
}

// pairs yields blocks of the features (as they are) and their unit coordinates.
// Both may be modified and are valid until the next ones.
func (e *Encoder) pairs(data mat.Matrix) func(yield func(x, u *mat.Dense) bool) {
	return func(yield func(x, u *mat.Dense) bool) {
		var x, u mat.Dense
		for block := range blocks(data) {
			x.CloneFrom(block)
			u.Reset()
			e.encode(&u, block)
			if !yield(&x, &u) {
				return
			}
		}
	}
}
