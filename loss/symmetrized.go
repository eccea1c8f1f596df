package loss

import "math/big"

// Increasing reports whether the loss is known not to decrease away from 0 on
// either side. If it is symmetric too, the staircase mechanism is optimal for
// δ = 0. A loss says so by a method Increasing() bool; without it, it is not known.
func Increasing(l Loss) bool {
	i, ok := l.(interface{ Increasing() bool })
	return ok && i.Increasing()
}

// Symmetrized returns (c(x) + c(-x))/2, which is l itself if that is symmetric.
// Its expectation is that of l under noise made symmetric. Its name is for
// messages; ParseLoss does not know it.
func Symmetrized(l Loss) Loss {
	if l.Symmetric() {
		return l
	}
	name := "symmetrized " + l.Name()
	switch l := l.(type) {
	case *Piecewise:
		return sumPiecewise(name, []weighted{{l, half}, {l.mirror(""), half}})
	case *Scaled:
		return &Scaled{Symmetrized(l.loss), l.factor, l.weight}
	default:
		return &symmetrized{name, l}
	}
}

// symmetrized is (c(x) + c(-x))/2 for any loss: every bound is the mean of two.
type symmetrized struct {
	name string
	loss Loss
}

// Name implements Loss.
func (l *symmetrized) Name() string { return l.name }

// At implements Loss.
func (l *symmetrized) At(x float64) float64 { return (l.loss.At(x) + l.loss.At(-x)) / 2 }

// CellMean implements Loss.
func (l *symmetrized) CellMean(center, width float64) float64 {
	return (l.loss.CellMean(center, width) + l.loss.CellMean(-center, width)) / 2
}

// Symmetric implements Loss.
func (l *symmetrized) Symmetric() bool { return true }

// Increasing reports whether the loss is known not to decrease away from 0.
func (l *symmetrized) Increasing() bool { return Increasing(l.loss) }

// Kinks implements Kinked.
func (l *symmetrized) Kinks() []float64 {
	kinks := Kinks(l.loss)
	for _, x := range kinks {
		kinks = append(kinks, -x)
	}
	return kinks
}

// AtDown implements Loss.
func (l *symmetrized) AtDown(x *big.Rat) *big.Rat {
	return mean(l.loss.AtDown(x), l.loss.AtDown(new(big.Rat).Neg(x)))
}

// GridMeanUp implements Loss.
func (l *symmetrized) GridMeanUp(first, count int64, step *big.Rat) *big.Rat {
	return mean(l.loss.GridMeanUp(first, count, step), l.loss.GridMeanUp(-(first+count-1), count, step))
}

// RampMeanUp implements Loss.
func (l *symmetrized) RampMeanUp(from, to *big.Rat) *big.Rat {
	return mean(l.loss.RampMeanUp(from, to), l.loss.RampMeanUp(new(big.Rat).Neg(from), new(big.Rat).Neg(to)))
}

// LowerNode implements Loss.
func (l *symmetrized) LowerNode(j int64, step *big.Rat) *big.Rat {
	return mean(l.loss.LowerNode(j, step), l.loss.LowerNode(-j, step))
}

// Growth implements Loss: the increments of the mean are the means of those on
// the two sides.
func (l *symmetrized) Growth(j int64, step *big.Rat) *big.Rat {
	return mean(l.loss.Growth(j, step), l.loss.Growth(-j, step))
}

// mean returns (a+b)/2 in a.
func mean(a, b *big.Rat) *big.Rat {
	a.Add(a, b)
	return a.Mul(a, half)
}
