package loss

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
)

// Term is a loss with a weight: one term of a sum.
type Term struct {
	Loss Loss
	// Weight is > 0 and meant exactly.
	Weight float64
}

// piecewiser is a loss that is piecewise quadratic.
type piecewiser interface{ piecewise() *Piecewise }

func (l *Piecewise) piecewise() *Piecewise { return l }

func checkLoss(l Loss) error {
	if l == nil {
		return check.Field("loss", "loss", "<nil>", "a loss such as L1 or L2")
	}
	return nil
}

// Sum returns the weighted sum of 1 to 32 losses. Those that are piecewise
// quadratic are added to one [Piecewise], which has tighter lower nodes than the
// sum of theirs. A term that is itself weighted or a sum must have weight 1, for
// the product of two weights may not be a float64. Errors wrap [ErrInvalid].
func Sum(terms ...Term) (Loss, error) {
	if len(terms) == 0 || len(terms) > maxTerms {
		return nil, badField("sum", "number of terms", fmt.Sprint(len(terms)), fmt.Sprintf("1 to %d", maxTerms))
	}
	var losses []Loss
	var names []string
	for _, t := range terms {
		if err := checkLoss(t.Loss); err != nil {
			return nil, err
		}
		l := t.Loss
		if t.Weight != 1 {
			var err error
			if l, err = scale(t); err != nil {
				return nil, err
			}
		}
		losses, names = append(losses, l), append(names, l.Name())
	}
	if len(losses) == 1 {
		return losses[0], nil
	}
	return add(strings.Join(names, termSeparator), losses)
}

// add returns the sum of the losses under the given name.
func add(name string, losses []Loss) (Loss, error) {
	var exact []weighted
	var others []Loss
	knots := 0
	var collect func(l Loss, weight *big.Rat)
	collect = func(l Loss, weight *big.Rat) {
		switch l := l.(type) {
		case piecewiser:
			p := l.piecewise()
			knots += len(p.knots)
			exact = append(exact, weighted{p, weight})
		case *total:
			for _, part := range l.parts {
				collect(part, weight)
			}
		case *Scaled:
			if p, ok := l.loss.(piecewiser); ok {
				collect(p.piecewise(), new(big.Rat).Mul(weight, l.weight))
				return
			}
			others = append(others, l)
		default:
			others = append(others, l)
		}
	}
	for _, l := range losses {
		collect(l, big.NewRat(1, 1))
	}
	if knots > maxKnots {
		return nil, badField("sum", "number of knots", fmt.Sprint(knots), fmt.Sprintf("at most %d", maxKnots))
	}
	if len(exact) == 0 {
		return &total{name, others}, nil
	}
	p := sumPiecewise(name, exact)
	if len(others) == 0 {
		return p, nil
	}
	return &total{name, append(others, p)}, nil
}

// total is a sum of losses that are not all piecewise quadratic. Every bound of a
// sum is the sum of the bounds: they all have one direction.
type total struct {
	name  string
	parts []Loss
}

// Name implements Loss.
func (l *total) Name() string { return l.name }

// At implements Loss.
func (l *total) At(x float64) float64 {
	sum := 0.0
	for _, p := range l.parts {
		sum += p.At(x)
	}
	return sum
}

// CellMean implements Loss.
func (l *total) CellMean(center, width float64) float64 {
	sum := 0.0
	for _, p := range l.parts {
		sum += p.CellMean(center, width)
	}
	return sum
}

// Symmetric implements Loss. It says no to a sum whose parts are symmetric only
// together, which costs time, not truth.
func (l *total) Symmetric() bool { return l.all(Loss.Symmetric) }

// Increasing reports whether every part is known not to decrease away from 0.
func (l *total) Increasing() bool { return l.all(Increasing) }

func (l *total) all(is func(Loss) bool) bool {
	for _, p := range l.parts {
		if !is(p) {
			return false
		}
	}
	return true
}

// Kinks implements Kinked.
func (l *total) Kinks() []float64 {
	var all []float64
	for _, p := range l.parts {
		all = append(all, Kinks(p)...)
	}
	return all
}

// AtDown implements Loss.
func (l *total) AtDown(x *big.Rat) *big.Rat {
	return l.sum(func(p Loss) *big.Rat { return p.AtDown(x) })
}

// GridMeanUp implements Loss.
func (l *total) GridMeanUp(first, count int64, step *big.Rat) *big.Rat {
	return l.sum(func(p Loss) *big.Rat { return p.GridMeanUp(first, count, step) })
}

// RampMeanUp implements Loss.
func (l *total) RampMeanUp(from, to *big.Rat) *big.Rat {
	return l.sum(func(p Loss) *big.Rat { return p.RampMeanUp(from, to) })
}

// LowerNode implements Loss.
func (l *total) LowerNode(j int64, step *big.Rat) *big.Rat {
	return l.sum(func(p Loss) *big.Rat { return p.LowerNode(j, step) })
}

// Growth implements Loss.
func (l *total) Growth(j int64, step *big.Rat) *big.Rat {
	return l.sum(func(p Loss) *big.Rat { return p.Growth(j, step) })
}

func (l *total) sum(part func(Loss) *big.Rat) *big.Rat {
	sum := new(big.Rat)
	for _, p := range l.parts {
		sum.Add(sum, part(p))
	}
	return sum
}

// kinksOf returns the kinks that a loss declares.
func Kinks(l Loss) []float64 {
	if k, ok := l.(Kinked); ok {
		return k.Kinks()
	}
	return nil
}
