package noise

import (
	"fmt"
	"math"
	"math/big"
	"sort"
	"strings"
)

// Loss is the cost c(x) >= 0 of noise x, in the units the loss defines (the
// query's for l1, squared for l2). At and CellMean steer a search and need not
// be exact; the methods on big.Rat are what every certificate rests on. Their
// names say which way they are rounded; they are exact where c takes rational
// values at rational points.
//
// A user's own loss implements this interface; piecewise polynomial ones get
// most of it from [Piecewise].
//
// Implementations are immutable and safe for concurrent use. The rationals they
// return are the caller's.
type Loss interface {
	// Name is the loss as written in flags and files, e.g. "l1" or "huber:2".
	// ParseLoss of it gives the loss back.
	Name() string
	// At returns c(x).
	At(x float64) float64
	// CellMean returns the average of c over [center-width/2, center+width/2];
	// width > 0.
	CellMean(center, width float64) float64
	// Symmetric reports whether c(x) = c(-x).
	Symmetric() bool

	// AtDown returns a lower bound on c(x).
	AtDown(x *big.Rat) *big.Rat
	// GridMeanUp returns an upper bound on the average of c(n·step) over the
	// integers n = first, …, first+count-1; count >= 1 and step > 0.
	GridMeanUp(first, count int64, step *big.Rat) *big.Rat
	// RampMeanUp returns an upper bound on the average of c over the points
	// from one end of an interval to the other, with the weight falling
	// linearly to 0: 2∫ c(from + (to-from)·t)·(1-t) dt over 0 <= t <= 1. The
	// ends may be in either order or equal.
	RampMeanUp(from, to *big.Rat) *big.Rat
	// LowerNode returns the value l_j at node j·step of a function that is
	// linear between neighbouring nodes and nowhere above c; step > 0. It may
	// be negative.
	LowerNode(j int64, step *big.Rat) *big.Rat
	// Growth bounds from below, for all cells from j outwards, how much the
	// loss grows per cell: l_{i+1} - l_i and AtDown((i+1)·step) -
	// AtDown(i·step) for all i >= j if j > 0, l_{i-1} - l_i and
	// AtDown((i-1)·step) - AtDown(i·step) for all i <= j if j < 0. It does not
	// decrease away from 0. j is not 0.
	Growth(j int64, step *big.Rat) *big.Rat
}

// losses is the registry: one entry per loss that can be named in a flag or a
// file.
var losses = map[string]Loss{
	"l1": L1{},
	"l2": L2{},
}

// ParseLoss returns the loss with the given name.
func ParseLoss(name string) (Loss, error) {
	if l, ok := losses[name]; ok {
		return l, nil
	}
	return nil, fmt.Errorf("noise: loss = %q, want one of %s: %w", name, strings.Join(LossNames(), ", "), ErrInvalid)
}

// LossNames lists the names ParseLoss accepts, sorted.
func LossNames() []string {
	names := make([]string, 0, len(losses))
	for n := range losses {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// L1 is the absolute error |x|, in the query's units.
type L1 struct{}

// Name implements Loss.
func (L1) Name() string { return "l1" }

// At implements Loss.
func (L1) At(x float64) float64 { return math.Abs(x) }

// CellMean implements Loss.
func (L1) CellMean(center, width float64) float64 {
	c, h := math.Abs(center), width/2
	if c >= h {
		return c
	}
	// Two triangles: ((h+c)^2 + (h-c)^2) / 2 over the width 2h.
	return (h*h + c*c) / (2 * h)
}

// AtDown implements Loss.
func (L1) AtDown(x *big.Rat) *big.Rat { return new(big.Rat).Abs(x) }

// GridMeanUp implements Loss.
func (L1) GridMeanUp(first, count int64, step *big.Rat) *big.Rat {
	last := first + count - 1
	sum := new(big.Int)
	switch {
	case first >= 0:
		sum.Sub(triangle(last), triangle(first-1))
	case last <= 0:
		sum.Sub(triangle(-first), triangle(-last-1))
	default:
		sum.Add(triangle(-first), triangle(last))
	}
	mean := new(big.Rat).SetFrac(sum, big.NewInt(count))
	return mean.Mul(mean, step)
}

// RampMeanUp implements Loss: with d = to-from and s the sign of from it is
// s·(from + d/3), less 2sd(1-t)³/3 if the sign changes at t = -from/d.
func (L1) RampMeanUp(from, to *big.Rat) *big.Rat {
	d := new(big.Rat).Sub(to, from)
	mean := new(big.Rat).Mul(d, big.NewRat(1, 3))
	mean.Add(mean, from)
	if from.Sign()*to.Sign() < 0 {
		left := new(big.Rat).Quo(to, d) // 1-t
		left.Mul(left, new(big.Rat).Mul(left, left))
		left.Mul(left, d).Mul(left, big.NewRat(2, 3))
		mean.Sub(mean, left)
	}
	return mean.Abs(mean)
}

// LowerNode implements Loss: |x| is linear between nodes, so it is its own
// interpolant.
func (L1) LowerNode(j int64, step *big.Rat) *big.Rat {
	l := new(big.Rat).SetInt64(j)
	return l.Abs(l).Mul(l, step)
}

// Growth implements Loss.
func (L1) Growth(_ int64, step *big.Rat) *big.Rat { return new(big.Rat).Set(step) }

// Symmetric implements Loss.
func (L1) Symmetric() bool { return true }

// L2 is the squared error x², in the query's units squared.
type L2 struct{}

// Name implements Loss.
func (L2) Name() string { return "l2" }

// At implements Loss.
func (L2) At(x float64) float64 { return x * x }

// CellMean implements Loss.
func (L2) CellMean(center, width float64) float64 {
	return center*center + width*width/12
}

// AtDown implements Loss.
func (L2) AtDown(x *big.Rat) *big.Rat { return new(big.Rat).Mul(x, x) }

// GridMeanUp implements Loss.
func (L2) GridMeanUp(first, count int64, step *big.Rat) *big.Rat {
	// The mean of n² is m² + (count²-1)/12, m = first + (count-1)/2.
	c := big.NewInt(count)
	twice := big.NewInt(first)
	twice.Lsh(twice, 1).Add(twice, c).Sub(twice, big.NewInt(1)) // 2m
	num := new(big.Int).Mul(twice, twice)
	num.Mul(num, big.NewInt(3))
	num.Add(num, c.Mul(c, c)).Sub(num, big.NewInt(1))
	mean := new(big.Rat).SetFrac(num, big.NewInt(12))
	return mean.Mul(mean, step).Mul(mean, step)
}

// RampMeanUp implements Loss: with d = to-from it is from² + 2·from·d/3 + d²/6.
func (L2) RampMeanUp(from, to *big.Rat) *big.Rat {
	d := new(big.Rat).Sub(to, from)
	mean := new(big.Rat).Mul(d, big.NewRat(1, 6))
	mean.Add(mean, new(big.Rat).Mul(from, big.NewRat(2, 3))).Mul(mean, d)
	return mean.Add(mean, d.Mul(from, from))
}

// LowerNode implements Loss: the chord of x² over one step exceeds it by
// step²/4 at most, so x² - step²/4 at the nodes stays below.
func (L2) LowerNode(j int64, step *big.Rat) *big.Rat {
	l := new(big.Rat).SetInt64(j)
	l.Mul(l, l).Sub(l, big.NewRat(1, 4))
	return l.Mul(l, step).Mul(l, step)
}

// Growth implements Loss: (|j|+1)² - j² steps squared.
func (L2) Growth(j int64, step *big.Rat) *big.Rat {
	if j < 0 {
		j = -j
	}
	g := new(big.Rat).SetInt(new(big.Int).Add(big.NewInt(j), big.NewInt(j+1)))
	return g.Mul(g, step).Mul(g, step)
}

// Symmetric implements Loss.
func (L2) Symmetric() bool { return true }

// triangle returns 0+1+…+n, which is 0 for n = -1.
func triangle(n int64) *big.Int {
	t := big.NewInt(n)
	t.Mul(t, new(big.Int).Add(t, big.NewInt(1)))
	return t.Rsh(t, 1)
}
