package selection

import (
	"math"
	"math/big"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// Grid is a set of candidates: so many values from lower to upper, evenly spaced.
type Grid struct {
	lower, upper float64
	last         float64 // index of upper
}

// NewGrid returns a grid of 2 to 2^24 candidates from lower to upper, both finite and
// lower < upper. The error wraps dp.ErrInvalid.
func NewGrid(lower, upper float64, candidates int) (Grid, error) {
	errs := check.In("selection")
	ascend := check.Finite(lower, upper) && lower < upper
	errs.Want(ascend, "upper", upper, "a finite number above the lower bound, which is finite too")
	errs.Want(!ascend || upper/2-lower/2 > 0, "upper", upper, "a bound further from the lower one")
	errs.Want(candidates >= 2 && candidates <= maxCandidates, "candidates", candidates, "a number from 2 to %d", maxCandidates)
	return Grid{lower, upper, float64(candidates - 1)}, errs.Err()
}

// Index returns the index of the candidate next to x, which is not NaN: the first one
// for x below lower, the last one for x above upper. It does not decrease in x.
func (g Grid) Index(x float64) int {
	x = min(max(x, g.lower), g.upper)
	// In halves, as upper-lower may be infinite.
	return int(math.Round((x/2 - g.lower/2) / (g.upper/2 - g.lower/2) * g.last))
}

// Value returns the candidate of an index, to a rounding of the float64.
func (g Grid) Value(i int) float64 {
	lower, upper := exact.Rational(g.lower), exact.Rational(g.upper)
	x := upper.Sub(upper, lower)
	x.Mul(x, big.NewRat(int64(i), int64(g.last)))
	v, _ := x.Add(x, lower).Float64()
	return v
}
