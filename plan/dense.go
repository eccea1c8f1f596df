// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
)

// Answers are those of weighted least squares: with the rows A of all measurements, their weights Ω
// and M = Aᵀ·Ω·A, a query w is answered by wᵀ·M⁻¹·Aᵀ·Ω·y, which is unbiased, with the variance
// wᵀ·M⁻¹·(Σ weight²·variance·gram)·M⁻¹·w <= max(weight·variance)·wᵀ·M⁻¹·w.

// wide is an integer of two words, in two's complement.
type wide struct {
	hi int64
	lo uint64
}

func (x *wide) addProduct(a, b int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	var carry uint64
	x.lo, carry = bits.Add64(x.lo, lo, 0)
	x.hi += int64(hi) - a>>63&b - b>>63&a + int64(carry)
}

func (x wide) plus(y wide, sign int64) wide { // sign: 1 or −1
	if sign < 0 {
		lo, borrow := bits.Sub64(x.lo, y.lo, 0)
		return wide{x.hi - y.hi - int64(borrow), lo}
	}
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	return wide{x.hi + y.hi + int64(carry), lo}
}

func (x wide) big() *big.Int {
	z := big.NewInt(x.hi)
	return z.Lsh(z, 64).Add(z, new(big.Int).SetUint64(x.lo))
}

// float is close to x.
func (x wide) float() float64 {
	if x.hi < 0 {
		x = wide{}.plus(x, -1)
		return -(float64(x.hi)*0x1p64 + float64(x.lo))
	}
	return float64(x.hi)*0x1p64 + float64(x.lo)
}

// inverse is an approximation Z·2^-places of M⁻¹, with a bound of its error.
type inverse struct {
	z      [][]int64
	places int
	slack  *big.Rat // bounds every entry of M⁻¹ − Z·2^-places
}

// errRank says that measurements do not determine the cells.
func errRank() error {
	return check.Field("plan", "measurements", "rows without full rank", "measurements that tell all cells apart")
}

// pieces returns where cells may be cut so that nothing is measured of both sides: from 0 on, with the number of cells.
func (s *Spec) pieces() []int {
	n, cuts := s.Workload.Cells, []int{0}
	for at := 1; at < n; at++ {
		if !slices.ContainsFunc(s.Measurements, func(m Measurement) bool { return m.Kind != Partition || at%m.Block != 0 }) {
			cuts = append(cuts, at)
		}
	}
	return append(cuts, n)
}

// piece returns the part of a matrix of cells from a to b−1.
func piece(m [][]int64, a, b int) [][]int64 {
	out := make([][]int64, b-a)
	for i := range out {
		out[i] = m[a+i][a:b]
	}
	return out
}

// invertPieces returns the inverse of a matrix that is 0 but for its pieces, which are inverted one by one.
func invertPieces(m [][]int64, cuts []int) (*inverse, error) {
	if len(cuts) == 2 {
		return invert(m)
	}
	all := &inverse{z: make([][]int64, len(m)), places: 120, slack: new(big.Rat)}
	var parts []*inverse
	for k, b := range cuts[1:] {
		v, err := invert(piece(m, cuts[k], b))
		if err != nil {
			return nil, err
		}
		parts = append(parts, v)
		all.places = min(all.places, v.places)
	}
	for k, v := range parts {
		for i, row := range v.z {
			whole := make([]int64, len(m))
			for j, z := range row {
				whole[cuts[k]+j] = z >> (v.places - all.places)
			}
			all.z[cuts[k]+i] = whole
		}
		slack := v.slack
		if v.places > all.places { // rounding to the places of all is off by up to one of them
			slack = new(big.Rat).Add(slack, exact.PowerOfTwo(-all.places))
		}
		if slack.Cmp(all.slack) > 0 {
			all.slack = slack
		}
	}
	return all, nil
}

// approximate returns about the inverse of a matrix, by its pieces.
func approximate(m [][]int64, cuts []int) (f [][]float64, ok bool) {
	f = make([][]float64, len(m))
	for k, b := range cuts[1:] {
		part, ok := choleskyInverse(piece(m, cuts[k], b))
		if !ok {
			return nil, false
		}
		for i, row := range part {
			f[cuts[k]+i] = make([]float64, len(m))
			copy(f[cuts[k]+i][cuts[k]:], row)
		}
	}
	return f, true
}

// invert returns the inverse of an integer matrix, of which it proves that it is one.
func invert(m [][]int64) (*inverse, error) {
	n := len(m)
	f, ok := choleskyInverse(m)
	if !ok {
		return nil, errRank()
	}
	most := 0.0
	for i := range f {
		for _, x := range f[i] {
			most = max(most, math.Abs(x))
		}
	}
	_, exponent := math.Frexp(most)
	v := &inverse{places: 61 - exponent}
	if !check.Finite(most) || v.places < 1 || v.places > 120 {
		return nil, errRank()
	}
	v.z = make([][]int64, n)
	for i := range v.z {
		v.z[i] = make([]int64, n)
		for j := range n {
			v.z[i][j] = int64(math.Round(math.Ldexp(f[i][j], v.places)))
		}
	}
	// One step of Newton's method, of which the residual is exact: Z + M⁻¹·(I − M·Z).
	r := v.residual(m)
	for i := range n {
		for j := range i + 1 {
			sum := 0.0
			for k := range n {
				sum += f[i][k] * r[k][j].float()
			}
			v.z[i][j] += int64(math.Round(sum))
			if v.z[i][j] > maxEntry || v.z[i][j] < -maxEntry { // far off, and too large for residual
				return nil, errRank()
			}
			v.z[j][i] = v.z[i][j]
		}
	}
	return v, v.bound(v.residual(m))
}

// maxEntry bounds the entries of an inverse: those of the first one are at most half of it.
const maxEntry = 1 << 62

// residual returns 2^places·I − M·Z, exactly: products of 2^53 and 2^62, 2^11 of them.
func (v *inverse) residual(m [][]int64) [][]wide {
	n := len(m)
	unit := wide{lo: 1 << (v.places % 64)}
	if v.places >= 64 {
		unit = wide{hi: 1 << (v.places - 64)}
	}
	r := make([][]wide, n)
	for i := range n {
		r[i] = make([]wide, n)
		row := m[i]
		for j := range n {
			var sum wide
			for k, z := range v.z[j] { // Z is symmetric
				sum.addProduct(row[k], z)
			}
			if i == j {
				sum = sum.plus(unit, -1)
			}
			r[i][j] = wide{}.plus(sum, -1)
		}
	}
	return r
}

// bound sets the slack from the residual R: M⁻¹ − Z = M⁻¹·R, and ‖M⁻¹‖ <= ‖Z‖/(1−‖R‖) in the norm
// of the largest sum of a row, if ‖R‖ < 1.
func (v *inverse) bound(r [][]wide) error {
	norm, entry, size := new(big.Int), new(big.Int), new(big.Int)
	for i := range r {
		sum, all := new(big.Int), new(big.Int)
		for j := range r {
			x := r[i][j].big()
			sum.Add(sum, x.Abs(x))
			if x.Cmp(entry) > 0 {
				entry.Set(x)
			}
			all.Add(all, big.NewInt(max(v.z[i][j], -v.z[i][j])))
		}
		norm, size = larger(norm, sum), larger(size, all)
	}
	unit := new(big.Int).Lsh(big.NewInt(1), uint(v.places))
	rest := new(big.Int).Sub(unit, new(big.Int).Lsh(norm, 1))
	if rest.Sign() <= 0 { // more than half
		return errRank()
	}
	// ‖M⁻¹‖ <= size/(unit − norm), and an entry of R is at most entry/unit.
	v.slack = new(big.Rat).SetFrac(size.Mul(size, entry), rest.Sub(unit, norm).Mul(rest, unit))
	return nil
}

func larger(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

// choleskyInverse returns about M⁻¹, or ok = false if M is not clearly positive definite.
func choleskyInverse(m [][]int64) (f [][]float64, ok bool) {
	n := len(m)
	l := make([][]float64, n) // M = L·Lᵀ, and then L⁻¹
	for i := range l {
		l[i] = make([]float64, n)
		for j := range i + 1 {
			sum := float64(m[i][j])
			for k := range j {
				sum -= l[i][k] * l[j][k]
			}
			switch {
			case j < i:
				l[i][j] = sum / l[j][j]
			case sum > 0x1p-45*float64(m[i][i]):
				l[i][i] = math.Sqrt(sum)
			default:
				return nil, false
			}
		}
	}
	inv := make([][]float64, n) // the columns of L⁻¹
	for j := range n {
		inv[j] = make([]float64, n)
		inv[j][j] = 1 / l[j][j]
		for i := j + 1; i < n; i++ {
			sum := 0.0
			for k := j; k < i; k++ {
				sum -= l[i][k] * inv[j][k]
			}
			inv[j][i] = sum / l[i][i]
		}
	}
	f = make([][]float64, n)
	for i := range f {
		f[i] = make([]float64, n)
		for j := range i + 1 {
			sum := 0.0
			for k := i; k < n; k++ {
				sum += inv[i][k] * inv[j][k]
			}
			f[i][j], f[j][i] = sum, sum
		}
	}
	return f, true
}

// matrix returns M, the sum of the measurements' inner products times their weights.
func (s *Spec) matrix(grams [][][]int64) (m [][]int64, err error) {
	most := new(big.Int)
	for i := range s.Measurements {
		largest := int64(0)
		for j := range grams[i] {
			largest = max(largest, grams[i][j][j])
		}
		most.Add(most, new(big.Int).Mul(big.NewInt(largest), big.NewInt(s.Measurements[i].Weight)))
	}
	if most.Cmp(big.NewInt(maxGram)) > 0 {
		return nil, check.Field("plan", "measurements", "weights times squares of rows above 2^52", "smaller numbers")
	}
	m = make([][]int64, s.Workload.Cells)
	for i := range m {
		m[i] = make([]int64, len(m))
		for k, g := range grams {
			for j, x := range g[i] {
				m[i][j] += s.Measurements[k].Weight * x
			}
		}
	}
	return m, nil
}

// certifyDense sets the variances, unless the workload is Marginals.
func (c *content) certifyDense(found *Certificate, grams [][][]int64) error {
	s := &c.spec
	m, err := s.matrix(grams)
	if err != nil {
		return err
	}
	v, err := invertPieces(m, s.pieces())
	if err != nil {
		return err
	}
	factor := new(big.Rat)
	for i := range s.Measurements {
		if f := new(big.Rat).SetInt64(s.Measurements[i].Weight); f.Mul(f, c.laws[i].variance).Cmp(factor) > 0 {
			factor = f
		}
	}
	unit := new(big.Int).Lsh(big.NewInt(1), uint(v.places))
	total := new(big.Rat)
	found.Variances = make([]*big.Rat, s.Workload.Queries())
	found.MaxSquaredError = new(big.Rat)
	v.quadratic(&s.Workload, func(q int, form *big.Int, norm int64) {
		x := new(big.Rat).SetFrac(form, unit)
		slack := new(big.Rat).SetInt64(norm)
		x.Add(x, slack.Mul(slack, slack).Mul(slack, v.slack)).Mul(x, factor)
		found.Variances[q] = x
		total.Add(total, x)
		if x.Cmp(found.MaxSquaredError) > 0 {
			found.MaxSquaredError = x
		}
	})
	found.MeanSquaredError = total.Quo(total, new(big.Rat).SetInt64(int64(len(found.Variances))))
	return nil
}

// quadratic calls a function with wᵀ·Z·w of each query w, and the ℓ1 norm of w.
func (v *inverse) quadratic(w *Workload, do func(q int, form *big.Int, norm int64)) {
	if w.Kind == Matrix {
		for q, row := range w.Rows {
			form, norm := new(big.Int), int64(0)
			for i, a := range row {
				var sum wide
				for j, b := range row {
					sum.addProduct(v.z[i][j], b)
				}
				form.Add(form, new(big.Int).Mul(big.NewInt(a), sum.big()))
				norm += max(a, -a)
			}
			do(q, form, norm)
		}
		return
	}
	// sums[i][j] adds the entries above i and before j.
	n := len(v.z)
	sums := make([][]wide, n+1)
	sums[0] = make([]wide, n+1)
	for i := range n {
		sums[i+1] = make([]wide, n+1)
		var row wide
		for j := range n {
			row.addProduct(v.z[i][j], 1)
			sums[i+1][j+1] = sums[i][j+1].plus(row, 1)
		}
	}
	w.intervals(func(q, a, b int) {
		form := sums[b][b].plus(sums[a][b], -1).plus(sums[b][a], -1).plus(sums[a][a], 1)
		do(q, form.big(), int64(b-a))
	})
}

// judge holds what is promised and claimed against the certificate.
func (c *content) judge(found Certificate, _ *proof.Meter) error {
	if found.err != nil {
		return found.err
	}
	s := &c.spec
	if delta := exact.Rational(s.Delta); found.DeltaUpper.Cmp(delta) > 0 {
		return check.Errorf("plan", proof.ErrNotPrivate, "delta = %g is promised but only %s is proved", s.Delta, exact.StateUp(found.DeltaUpper))
	}
	for i, text := range s.Variances {
		if v, err := exact.ParseDecimal(text); err != nil || v.Cmp(found.Variances[i]) < 0 {
			return check.Errorf("plan", proof.ErrFalseClaim, "certificate.variances[%d] = %s is stated but only %s is proved", i, check.Quoted(text), exact.StateUp(found.Variances[i]))
		}
	}
	return formfile.Check("plan", &s.Claims, found.DeltaUpper, found.MeanSquaredError, found.MaxSquaredError)
}
