package loss

import (
	"math/big"
	"strings"

	"github.com/noisewright/noisewright/internal/exact"
)

// Scaled is a loss times a weight, written "name:weight". It is made by [Sum] of
// a single term. It is immutable and safe for concurrent use.
type Scaled struct {
	loss   Loss
	factor float64
	weight *big.Rat // the same, exactly
}

func scale(t Term) (Loss, error) {
	if err := checkPositive(t.Loss.Name(), "weight", t.Weight); err != nil {
		return nil, err
	}
	if _, ok := t.Loss.(*Scaled); ok || strings.Contains(t.Loss.Name(), termSeparator) {
		return nil, badField(abbreviated(t.Loss.Name()), "weight", formatNumber(t.Weight), "1 for a loss that is weighted already or a sum")
	}
	return &Scaled{t.Loss, t.Weight, exact.Rational(t.Weight)}, nil
}

// Name implements Loss.
func (l *Scaled) Name() string { return l.loss.Name() + ":" + formatNumber(l.factor) }

// Unweighted returns the loss without the weight that it may have, and that
// weight.
func Unweighted(l Loss) (plain Loss, weight float64) {
	if s, ok := l.(*Scaled); ok {
		return s.loss, s.factor
	}
	return l, 1
}

// At implements Loss.
func (l *Scaled) At(x float64) float64 { return l.factor * l.loss.At(x) }

// CellMean implements Loss.
func (l *Scaled) CellMean(center, width float64) float64 {
	return l.factor * l.loss.CellMean(center, width)
}

// Symmetric implements Loss.
func (l *Scaled) Symmetric() bool { return l.loss.Symmetric() }

// Increasing reports whether the loss is known not to decrease away from 0.
func (l *Scaled) Increasing() bool { return Increasing(l.loss) }

// Kinks implements Kinked.
func (l *Scaled) Kinks() []float64 { return Kinks(l.loss) }

// AtDown implements Loss.
func (l *Scaled) AtDown(x *big.Rat) *big.Rat { return l.times(l.loss.AtDown(x)) }

// GridMeanUp implements Loss.
func (l *Scaled) GridMeanUp(first, count int64, step *big.Rat) *big.Rat {
	return l.times(l.loss.GridMeanUp(first, count, step))
}

// RampMeanUp implements Loss.
func (l *Scaled) RampMeanUp(from, to *big.Rat) *big.Rat { return l.times(l.loss.RampMeanUp(from, to)) }

// LowerNode implements Loss.
func (l *Scaled) LowerNode(j int64, step *big.Rat) *big.Rat {
	return l.times(l.loss.LowerNode(j, step))
}

// Growth implements Loss.
func (l *Scaled) Growth(j int64, step *big.Rat) *big.Rat { return l.times(l.loss.Growth(j, step)) }

func (l *Scaled) times(v *big.Rat) *big.Rat { return v.Mul(v, l.weight) }
