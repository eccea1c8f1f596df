// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// Term is a loss with a weight: one term of a sum.
type Term struct {
	Loss Loss
	// Weight is > 0 and meant exactly.
	Weight float64
}

// Sum returns the weighted sum of 1 to 32 losses. Those that are piecewise quadratic are added to
// one piecewise quadratic loss, which has tighter lower nodes than the sum of theirs. A term that
// is itself weighted or a sum must have weight 1, for the product of two weights may not be a
// float64. Errors wrap dp.ErrInvalid.
func Sum(terms ...Term) (Loss, error) {
	if len(terms) == 0 || len(terms) > maxTerms {
		return nil, badField("sum", "number of terms", fmt.Sprint(len(terms)), fmt.Sprintf("1 to %d", maxTerms))
	}
	var losses []Loss
	var names []string
	for _, t := range terms {
		if t.Loss == nil {
			return nil, check.Field("loss", "loss", "<nil>", "a loss such as L1 or L2")
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

func scale(t Term) (Loss, error) {
	if err := checkPositive(t.Loss.Name(), "weight", t.Weight); err != nil {
		return nil, err
	}
	if _, weight := Of(t.Loss).Unweighted(); weight != 1 || strings.Contains(t.Loss.Name(), termSeparator) {
		return nil, badField(abbreviated(t.Loss.Name()), "weight", formatNumber(t.Weight), "1 for a loss that is weighted already or a sum")
	}
	return part{t.Loss, t.Weight, 1}.alone(), nil
}

// Unweighted returns the loss without the weight that it may have, and that weight.
func (v View) Unweighted() (plain Loss, weight float64) {
	if c, ok := v.loss.(*combination); ok && len(c.parts) == 1 {
		return c.parts[0].loss, c.parts[0].factor
	}
	return v.loss, 1
}

// bare returns a loss without weights and mirror images, which its tails have in common with
// it; see View.TailParts for sums.
func bare(l Loss) Loss {
	for {
		c, ok := l.(*combination)
		if !ok || len(c.parts) > 1 {
			return l
		}
		l = c.parts[0].loss
	}
}

// piecewiser is a loss that is piecewise quadratic.
type piecewiser interface{ asPiecewise() *piecewise }

func (l *piecewise) asPiecewise() *piecewise { return l }

// add returns the sum of the losses under the given name.
func add(name string, losses []Loss) (Loss, error) {
	var exactly []weighted
	var others []part
	knots, symmetric := 0, true
	var collect func(p part)
	collect = func(p part) {
		switch l := p.loss.(type) {
		case piecewiser:
			q := l.asPiecewise()
			if p.side < 0 {
				q = q.mirror("")
			}
			knots += len(q.knots)
			exactly = append(exactly, weighted{q, exact.Rational(p.factor)})
		case *combination:
			for _, inner := range l.parts { // a factor of 1 or 1/2 at least on one level
				collect(part{inner.loss, p.factor * inner.factor, p.side * inner.side})
			}
		default:
			others = append(others, p)
		}
	}
	for _, l := range losses {
		collect(part{l, 1, 1})
		symmetric = symmetric && l.Symmetric()
	}
	if knots > maxKnots {
		return nil, badField("sum", "number of knots", fmt.Sprint(knots), fmt.Sprintf("at most %d", maxKnots))
	}
	if len(exactly) > 0 {
		p := sumPiecewise(name, exactly)
		if len(others) == 0 {
			return p, nil
		}
		others = append(others, part{p, 1, 1})
	}
	return &combination{name, others, symmetric}, nil
}

// Symmetrized returns (c(x) + c(-x))/2, which is the loss itself if it is symmetric. Its expectation is
// that of the loss under noise made symmetric. Its name is for messages; [Parse] does not know it.
func (v View) Symmetrized() Loss {
	if v.loss.Symmetric() {
		return v.loss
	}
	name := "symmetrized " + v.loss.Name()
	if p, ok := v.loss.(*piecewise); ok {
		return sumPiecewise(name, []weighted{{p, half}, {p.mirror(""), half}})
	}
	if plain, weight := v.Unweighted(); weight != 1 {
		return part{Of(plain).Symmetrized(), weight, 1}.alone()
	}
	return &combination{name, []part{{v.loss, 0.5, 1}, {v.loss, 0.5, -1}}, true}
}

// combination is Σ factor·c(side·x) over its parts: a weighted loss, a sum that is not
// all piecewise quadratic, a loss made symmetric. Every bound of it is the sum of the
// parts' bounds: they all have one direction.
type combination struct {
	name  string
	parts []part
	// symmetric says no to a sum of parts symmetric only together, which costs time, not truth.
	symmetric bool
}

type part struct {
	loss   Loss
	factor float64 // > 0, meant exactly
	side   int64   // 1 or -1
}

// alone returns a part as a loss of its own.
func (p part) alone() Loss {
	if p.factor == 1 && p.side == 1 {
		return p.loss
	}
	return &combination{p.loss.Name() + ":" + formatNumber(p.factor), []part{p}, p.loss.Symmetric()}
}

// turned returns side·x.
func (p part) turned(x *big.Rat) *big.Rat {
	if p.side < 0 {
		return new(big.Rat).Neg(x)
	}
	return x
}

// sum adds up a bound of the parts, a new number for each.
func (l *combination) sum(bound func(p part) *big.Rat) *big.Rat {
	var sum *big.Rat
	for _, p := range l.parts {
		b := bound(p)
		if p.factor != 1 {
			b.Mul(b, exact.Rational(p.factor))
		}
		if sum == nil {
			sum = b
		} else {
			sum.Add(sum, b)
		}
	}
	return sum
}

// known is sum for a bound that some losses do not have; it is then not ok.
func (l *combination) known(bound func(p part) (*big.Rat, bool)) (sum *big.Rat, ok bool) {
	ok = true
	sum = l.sum(func(p part) *big.Rat {
		b, known := bound(p)
		if ok = ok && known; !known {
			return new(big.Rat)
		}
		return b
	})
	return sum, ok
}

func (l *combination) Name() string    { return l.name }
func (l *combination) Symmetric() bool { return l.symmetric }
func (l *combination) Unimodal() bool {
	return !slices.ContainsFunc(l.parts, func(p part) bool { return !Of(p.loss).Unimodal() })
}

func (l *combination) At(x float64) float64 {
	return l.estimate(func(p part) float64 { return p.loss.At(float64(p.side) * x) })
}

func (l *combination) CellMean(center, width float64) float64 {
	return l.estimate(func(p part) float64 { return p.loss.CellMean(float64(p.side)*center, width) })
}

func (l *combination) estimate(of func(p part) float64) float64 {
	sum := 0.0
	for _, p := range l.parts {
		sum += float64(p.factor * of(p))
	}
	return sum
}

func (l *combination) Kinks() []float64 {
	var all []float64
	for _, p := range l.parts {
		for _, x := range Of(p.loss).Kinks() {
			all = append(all, float64(p.side)*x)
		}
	}
	return all
}

func (l *combination) AtDown(x *big.Rat) *big.Rat {
	return l.sum(func(p part) *big.Rat { return p.loss.AtDown(p.turned(x)) })
}

func (l *combination) GridMeanUp(first, count int64, step *big.Rat) *big.Rat {
	return l.sum(func(p part) *big.Rat {
		from := first
		if p.side < 0 {
			from = -(first + count - 1)
		}
		return p.loss.GridMeanUp(from, count, step)
	})
}

func (l *combination) RampMeanUp(from, to *big.Rat) *big.Rat {
	return l.sum(func(p part) *big.Rat { return p.loss.RampMeanUp(p.turned(from), p.turned(to)) })
}

func (l *combination) LowerNode(j int64, step *big.Rat) *big.Rat {
	return l.sum(func(p part) *big.Rat { return p.loss.LowerNode(p.side*j, step) })
}

// Growth implements Loss: the increments of a sum are the sums of increments.
func (l *combination) Growth(j int64, step *big.Rat) *big.Rat {
	return l.sum(func(p part) *big.Rat { return p.loss.Growth(p.side*j, step) })
}
