package loss

import "math/big"

// L2 is the squared error x², in the query's units squared.
var L2 Loss = l2{}

type l2 struct{}

func (l2) Name() string         { return "l2" }
func (l2) Symmetric() bool      { return true }
func (l2) Unimodal() bool       { return true }
func (l2) At(x float64) float64 { return x * x }

func (l2) CellMean(center, width float64) float64 { return center*center + width*width/12 }

func (l2) AtDown(x *big.Rat) *big.Rat { return new(big.Rat).Mul(x, x) }

func (l2) GridMeanUp(first, count int64, step *big.Rat) *big.Rat {
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
func (l2) RampMeanUp(from, to *big.Rat) *big.Rat {
	d := new(big.Rat).Sub(to, from)
	mean := new(big.Rat).Mul(d, big.NewRat(1, 6))
	mean.Add(mean, new(big.Rat).Mul(from, big.NewRat(2, 3))).Mul(mean, d)
	return mean.Add(mean, d.Mul(from, from))
}

// LowerNode implements Loss: the chord of x² over one step exceeds it by
// step²/4 at most, so x² - step²/4 at the nodes stays below.
func (l2) LowerNode(j int64, step *big.Rat) *big.Rat {
	l := new(big.Rat).SetInt64(j)
	l.Mul(l, l).Sub(l, big.NewRat(1, 4))
	return l.Mul(l, step).Mul(l, step)
}

// Growth implements Loss: (|j|+1)² - j² steps squared.
func (l2) Growth(j int64, step *big.Rat) *big.Rat {
	if j < 0 {
		j = -j
	}
	g := new(big.Rat).SetInt(new(big.Int).Add(big.NewInt(j), big.NewInt(j+1)))
	return g.Mul(g, step).Mul(g, step)
}

func (l2) PolynomialBeyond() (from *big.Rat, degree int, ok bool) { return new(big.Rat), 2, true }

func (l2) asPiecewise() *piecewise { return square("l2") }

// square is x².
func square(name string) *piecewise {
	return newPiecewise(name, nil, []Quadratic{{C2: big.NewRat(1, 1)}}, nil)
}
