package noise

import (
	"fmt"
	"math"
	"math/big"
	"sort"
	"strings"
)

// Loss is the cost c(x) >= 0 of noise x, in the units the loss defines (the
// query's for l1, squared for l2). Besides float64 values for steering a
// search, a Loss gives the two exact quantities every certificate rests on:
// averages over runs of grid points, and the nodes of a piecewise linear
// function below c.
//
// Implementations are immutable and safe for concurrent use.
type Loss interface {
	// Name is the loss as written in flags and files, e.g. "l1".
	Name() string
	// At returns c(x).
	At(x float64) float64
	// CellMean returns the average of c over [center-width/2, center+width/2];
	// width > 0.
	CellMean(center, width float64) float64
	// GridMean returns, exactly, the average of c(n·step) over the integers
	// n with |n - center| <= half; half >= 0 and step > 0.
	GridMean(center, half int64, step *big.Rat) *big.Rat
	// LowerNode returns, exactly, the value l_j at node j·step of a function
	// that is linear between neighbouring nodes, nowhere above c, and
	// nondecreasing in |j| for |j| >= 1; step > 0.
	LowerNode(j int64, step *big.Rat) *big.Rat
	// Symmetric reports whether c(x) = c(-x).
	Symmetric() bool
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

// GridMean implements Loss.
func (L1) GridMean(center, half int64, step *big.Rat) *big.Rat {
	if center < 0 {
		center = -center
	}
	mean := new(big.Rat)
	if center >= half {
		mean.SetInt64(center)
	} else {
		// Σ|n| over [c-h, c+h] with 0 <= c < h: two arithmetic sums.
		sum := new(big.Int).Add(triangle(half+center), triangle(half-center))
		mean.SetFrac(sum, points(half))
	}
	return mean.Mul(mean, step)
}

// LowerNode implements Loss: |x| is linear between nodes, so it is its own
// interpolant.
func (L1) LowerNode(j int64, step *big.Rat) *big.Rat {
	l := new(big.Rat).SetInt64(j)
	return l.Abs(l).Mul(l, step)
}

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

// GridMean implements Loss.
func (L2) GridMean(center, half int64, step *big.Rat) *big.Rat {
	// Mean of (c+i)² over |i| <= h is c² + h(h+1)/3.
	c, h := big.NewInt(center), big.NewInt(half)
	num := new(big.Int).Mul(c, c)
	num.Mul(num, big.NewInt(3))
	hh := new(big.Int).Add(h, big.NewInt(1))
	num.Add(num, hh.Mul(hh, h))
	mean := new(big.Rat).SetFrac(num, big.NewInt(3))
	return mean.Mul(mean, step).Mul(mean, step)
}

// LowerNode implements Loss: the chord of x² over one step exceeds it by
// step²/4 at most, so x² - step²/4 at the nodes stays below.
func (L2) LowerNode(j int64, step *big.Rat) *big.Rat {
	l := new(big.Rat).SetInt64(j)
	l.Mul(l, l).Sub(l, big.NewRat(1, 4))
	return l.Mul(l, step).Mul(l, step)
}

// Symmetric implements Loss.
func (L2) Symmetric() bool { return true }

// triangle returns 0+1+…+n.
func triangle(n int64) *big.Int {
	t := new(big.Int).Mul(big.NewInt(n), big.NewInt(n+1))
	return t.Rsh(t, 1)
}

// points returns the number of integers within half of a center.
func points(half int64) *big.Int {
	n := big.NewInt(half)
	return n.Lsh(n, 1).Add(n, big.NewInt(1))
}
