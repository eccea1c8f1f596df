package taskspace

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// A Sensitivity is an upper bound on the largest distance between the images of
// two inputs.
type Sensitivity struct {
	Value float64 // rounded up: never below the true maximum
	Exact bool    // Value is the maximum up to rounding, not only a bound
}

const (
	// enumerationLimit bounds the work on sign patterns, in additions: 2^28 of
	// them take a fraction of a second. It reaches 24 coordinates of 24 features.
	enumerationLimit = 1 << 28
	// blockSide is how many rows are enumerated together when all are too many.
	blockSide = 12
	// unit is half the distance of 1 to the next float64; an operation has a
	// relative error of at most unit.
	unit = 0x1p-53
	// A matrix whose largest entry is outside this range is refused: within it no
	// square or sum of what matters over- or underflows, see the proof.
	smallestEntry, largestEntry = 0x1p-300, 0x1p300
)

// SensitivityL1 bounds max ‖W(x − x′)‖₁ over |x_j − x′_j| ≤ widths[j]: the ℓ1
// sensitivity of the linear map W (Z×n) on features between public bounds, whose
// widths are their differences (n, at least 0; see [FeatureWidths]).
//
// The maximum over x − x′ is attained at a corner, and equals that over signs,
//
//	max_{s ∈ ±1^Z} Σ_j |Σ_i s_i W_ij|·widths[j],
//
// so the shorter of Z and n is enumerated, exactly, when 2^(shorter−1) times the longer
// is at most 2^28. Beyond that the value is the least of several upper bounds: sums of
// the exact maxima of blocks of rows, and of the spectral and ℓ2 kind.
//
// The value has outward rounding: it is never below the true maximum for the
// given float64 entries and, if Exact, exceeds it by less than one part in 10⁹ (up
// to 10⁵ features).
// The argument is in docs/proofs/linear-sensitivity.md.
//
// Errors wrap ErrInvalid: sizes that differ, numbers that are not finite, and
// products W_ij·widths[j] the largest of which is outside 1e±90.
func SensitivityL1(w mat.Matrix, widths []float64) (Sensitivity, error) {
	b, err := scaleColumns(w, widths)
	if err != nil {
		return Sensitivity{}, err
	}
	rows, cols := b.Dims()
	if rows > cols { // max sᵀBd over signs s and d does not care which is which
		b = mat.DenseCopyOf(b.T())
		rows, cols = cols, rows
	}
	if enumerable(rows, cols) {
		return Sensitivity{Value: signMaximum(b, exact.SignMaximumL1), Exact: true}, nil
	}
	// Triangle inequality: the maximum is at most the sum of the blocks' maxima.
	blocksBound := 0.
	for start := 0; start < rows; start += blockSide {
		block := b.Slice(start, min(start+blockSide, rows), 0, cols).(*mat.Dense)
		blocksBound = up(blocksBound + signMaximum(block, exact.SignMaximumL1))
	}
	// |sᵀBd| ≤ ‖s‖₂‖B‖₂‖d‖₂ = √(Zn)‖B‖₂.
	spectral := up(up(math.Sqrt(float64(rows)*float64(cols))) * spectralBound(b))
	return Sensitivity{Value: min(blocksBound, spectral)}, nil
}

// SensitivityL2 bounds max ‖W(x − x′)‖₂ over |x_j − x′_j| ≤ widths[j], the ℓ2
// sensitivity of the linear map W (Z×n). All 2^(n−1) corners are enumerated when
// that times Z is at most 2^28; one row is a plain sum. Beyond that the value is
// the least of the ℓ2 norm of the rows' ranges, the sum of the columns' norms,
// and √n times a bound on the spectral norm.
//
// Rounding, arguments and errors as for [SensitivityL1].
func SensitivityL2(w mat.Matrix, widths []float64) (Sensitivity, error) {
	b, err := scaleColumns(w, widths)
	if err != nil {
		return Sensitivity{}, err
	}
	rows, cols := b.Dims()
	if rows == 1 {
		return Sensitivity{Value: signMaximum(b, exact.SignMaximumL1), Exact: true}, nil
	}
	corners := mat.DenseCopyOf(b.T())
	if enumerable(cols, rows) {
		return Sensitivity{Value: signMaximum(corners, exact.SignMaximumL2), Exact: true}, nil
	}
	byColumns := 0.
	for j := range cols {
		byColumns = up(byColumns + euclideanUp(corners.RawRowView(j)))
	}
	byRows := euclideanUp(rowRanges(b))
	spectral := up(up(math.Sqrt(float64(cols))) * spectralBound(b))
	return Sensitivity{Value: min(byColumns, byRows, spectral)}, nil
}

// CoordinateRanges returns for each row of W (Z×n) the range of (Wx)_i over
// features between bounds of the given widths, Σ_j |W_ij|·widths[j], rounded up.
// Arguments and errors as for [SensitivityL1].
func CoordinateRanges(w mat.Matrix, widths []float64) ([]float64, error) {
	b, err := scaleColumns(w, widths)
	if err != nil {
		return nil, err
	}
	return rowRanges(b), nil
}

// scaleColumns returns W·diag(widths), each entry with one rounding.
func scaleColumns(w mat.Matrix, widths []float64) (*mat.Dense, error) {
	rows, cols := w.Dims()
	if rows == 0 || cols == 0 || cols != len(widths) {
		return nil, check.Field("latent", "encoder", fmt.Sprintf("%d×%d matrix", rows, cols),
			fmt.Sprintf("at least one row and a column for each of the %d widths", len(widths)))
	}
	b := mat.NewDense(rows, cols, nil)
	largest := 0.
	for j, width := range widths {
		if !(width >= 0) || !check.Finite(width) {
			return nil, check.Field("latent", fmt.Sprintf("width %d", j), width, "a finite number of at least 0")
		}
		for i := range rows {
			entry := w.At(i, j)
			if !check.Finite(entry) {
				return nil, check.Field("latent", fmt.Sprintf("encoder(%d,%d)", i, j), entry, "a finite number")
			}
			v := entry * width
			if v == 0 && entry != 0 && width != 0 {
				v = math.SmallestNonzeroFloat64
			}
			largest = max(largest, math.Abs(v))
			b.Set(i, j, v)
		}
	}
	if largest != 0 && !(largest >= smallestEntry && largest <= largestEntry) {
		return nil, check.Field("latent", "largest product of an encoder entry and a width", largest,
			fmt.Sprintf("between %.1g and %.1g; rescale the features", smallestEntry, largestEntry))
	}
	return b, nil
}

func enumerable(signs, length int) bool {
	return signs <= 29 && length <= enumerationLimit>>(signs-1)
}

// signMaximum returns an upper bound, by rounding only, on the largest norm of
// Σ_i s_i·row_i over signs s. largest is exact.SignMaximumL1 or L2, which says what is
// added; an entry of b is one rounding off.
func signMaximum(b *mat.Dense, largest func(rows [][]float64) float64) float64 {
	count, columns := b.Dims()
	rows := make([][]float64, count)
	sums := make([]float64, columns)
	for i := range rows {
		rows[i] = b.RawRowView(i)
		for j, v := range rows[i] {
			sums[j] += math.Abs(v)
		}
	}
	all := largest([][]float64{sums})
	if all == 0 {
		return 0
	}
	return up(largest(rows) + 2*unit*float64(count+columns+8)*all)
}

// rowRanges returns Σ_j |b_ij|, rounded up.
func rowRanges(b *mat.Dense) []float64 {
	rows, cols := b.Dims()
	ranges := make([]float64, rows)
	for i := range rows {
		for _, v := range b.RawRowView(i) {
			ranges[i] += math.Abs(v)
		}
		if ranges[i] > 0 { // the second term is for products that underflow
			ranges[i] = up(ranges[i]*(1+2*unit*float64(cols+2)) + float64(cols)*math.SmallestNonzeroFloat64)
		}
	}
	return ranges
}

// euclideanUp returns an upper bound on the norm of the vector that v rounds.
func euclideanUp(v []float64) float64 {
	return up(exact.SignMaximumL2([][]float64{v}) * (1 + 2*unit*float64(len(v)+8)))
}

// spectralBound returns an upper bound on the largest singular value of b: with
// G = BBᵀ (or BᵀB, the smaller), ‖B‖₂ = ‖G^8‖₂^(1/16), and a symmetric matrix has a norm
// of at most its largest absolute row sum; the eighth power brings that to within
// k^(1/32) of the norm for side k. The rounding of a product of length k is at most
// k·unit times the product of absolute values, whose norm is at most ‖·‖_F².
func spectralBound(b *mat.Dense) float64 {
	rows, cols := b.Dims()
	_, exponent := math.Frexp(mat.Norm(b, math.Inf(1)))
	scaled := mat.NewDense(rows, cols, nil)
	scaled.Scale(math.Ldexp(1, -exponent), b) // row sums at most 1
	if mat.Norm(scaled, math.Inf(1)) == 0 {
		return 0
	}
	if rows > cols {
		scaled = mat.DenseCopyOf(scaled.T())
		rows, cols = cols, rows
	}
	var gram mat.SymDense
	gram.SymOuterK(1, scaled)
	slack := []float64{rounding(cols, scaled)}
	current := &gram
	for range 3 {
		slack = append(slack, rounding(rows, current))
		next := new(mat.SymDense)
		next.SymOuterK(1, current)
		current = next
	}
	bound := up(mat.Norm(current, math.Inf(1)) * (1 + 2*unit*float64(rows+2)))
	for i := len(slack) - 1; i >= 0; i-- {
		bound = up(math.Sqrt(up(bound + slack[i])))
	}
	return math.Ldexp(bound, exponent)
}

// rounding bounds the spectral norm of the rounding error of MMᵀ for products of
// the given length, including the rounding of M's own entries.
func rounding(length int, m mat.Matrix) float64 {
	frobenius := mat.Norm(m, 2)
	return 2 * unit * float64(length+8) * frobenius * frobenius
}

// up returns the next float64, which covers the rounding of one operation.
func up(v float64) float64 { return math.Nextafter(v, math.Inf(1)) }
