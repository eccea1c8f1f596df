// SPDX-License-Identifier: Apache-2.0

package loss

import "math/big"

// Loss is the cost c(x) >= 0 of noise x, in the units the loss defines (the query's for l1, squared
// for l2). At and CellMean steer a search and need not be exact; every certificate rests on those
// on big.Rat. Their names say which way they are rounded; they are exact for all kinds but lp:P.
//
// A user's own loss implements this interface; piecewise quadratic ones get all
// of it from [NewPiecewise]. It may have some of these methods beside it, whose
// meaning is that of the methods of a [View]:
//
//	Kinks() []float64
//	Unimodal() bool
//	PolynomialBeyond() (from *big.Rat, degree int, ok bool)
//	PowerBound() (power float64, ok bool)
//
// Implementations are immutable and safe for concurrent use. Rationals returned are the caller's.
type Loss interface {
	// Name is the loss as in flags and files: "l1" or "huber:2". Parse of it gives the loss back.
	Name() string
	// At returns c(x).
	At(x float64) float64
	// CellMean returns the average of c over [center-width/2, center+width/2]; width > 0.
	CellMean(center, width float64) float64
	// Symmetric reports whether c(x) = c(-x).
	Symmetric() bool

	// AtDown returns a lower bound on c(x).
	AtDown(x *big.Rat) *big.Rat
	// GridMeanUp returns an upper bound on the average of c(n·step) over the
	// integers n = first, …, first+count-1; count >= 1 and step > 0.
	GridMeanUp(first, count int64, step *big.Rat) *big.Rat
	// RampMeanUp returns an upper bound on the average of c over the points from one end of an
	// interval to the other, with the weight falling linearly to 0: 2∫ c(from + (to-from)·t)·(1-t)
	// dt over 0 <= t <= 1. The ends may be in either order or equal.
	RampMeanUp(from, to *big.Rat) *big.Rat
	// LowerNode returns the value l_j at node j·step of a function that is linear between
	// neighboring nodes and nowhere above c; step > 0. It may be negative.
	LowerNode(j int64, step *big.Rat) *big.Rat
	// Growth bounds from below, for all cells from j outwards, how much the loss grows per cell:
	// l_{i+1} - l_i and AtDown((i+1)·step) - AtDown(i·step) for all i >= j if j > 0, l_{i-1} - l_i
	// and AtDown((i-1)·step) - AtDown(i·step) for all i <= j if j < 0. It does not decrease away
	// from 0. j is not 0.
	Growth(j int64, step *big.Rat) *big.Rat
}

// View is a loss with what can be asked of any, beside the methods that all have: of a loss of this
// package what it is known to be, of another one what it says by methods of the same names.
type View struct{ loss Loss }

// Of returns the view of a loss.
func Of(l Loss) View { return View{l} }

// Kinks returns the points x at which c or its derivative jumps, 0 excepted, in query units and in
// any order, as far as the loss says so. Numerical integrals of an expected loss break there.
func (v View) Kinks() []float64 {
	if k, ok := v.loss.(interface{ Kinks() []float64 }); ok {
		return k.Kinks()
	}
	return nil
}

// Unimodal says whether the loss is known as unimodal with its minimum at 0: on either side it does
// not decrease away from 0. If it is symmetric too, the staircase mechanism is optimal for δ = 0.
func (v View) Unimodal() bool {
	u, ok := v.loss.(interface{ Unimodal() bool })
	return ok && u.Unimodal()
}

// PolynomialBeyond returns from >= 0 and a degree such that c is one polynomial of at
// most this degree for x > from and one for x < -from, and GridMeanUp is exact on
// either; ok is false if none are known. Then the expectation of the loss under noise
// with a geometric tail, whose cells repeat for ever with ever less weight, is known.
func (v View) PolynomialBeyond() (from *big.Rat, degree int, ok bool) {
	if p, is := bare(v.loss).(interface {
		PolynomialBeyond() (from *big.Rat, degree int, ok bool)
	}); is {
		return p.PolynomialBeyond()
	}
	return nil, 0, false
}

// PowerBound returns a power from 0 to 64 such that, on either side of 0, c is convex and does not
// decrease away from 0, and c(x)/|x|^power does not increase; ok is false if none is known. Then
// the expectation of the loss under noise with a geometric tail can be bounded.
func (v View) PowerBound() (power float64, ok bool) {
	if p, is := bare(v.loss).(interface {
		PowerBound() (power float64, ok bool)
	}); is {
		return p.PowerBound()
	}
	return 0, false
}
