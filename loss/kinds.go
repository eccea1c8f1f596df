// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"fmt"
	"math/big"

	"github.com/noisewright/noisewright/internal/exact"
)

// kinds is the registry: one entry per kind of loss, in display order.
var kinds = []Kind{
	{
		Name:    "l1",
		Syntax:  "l1",
		Meaning: "the absolute error |x|",
		Unit:    "mean absolute error in query units",
		build:   func(string, []float64) Loss { return L1 },
	},
	{
		Name:    "l2",
		Syntax:  "l2",
		Meaning: "the squared error x²",
		Unit:    "mean squared error in query units squared",
		build:   func(string, []float64) Loss { return L2 },
	},
	{
		Name:    "lp",
		Syntax:  "lp:P",
		Meaning: fmt.Sprintf("|x|^P; 1 <= P <= %d", maxPower),
		Unit:    "mean of |error|^P in query units to the power P",
		fields:  []string{"P"},
		rule:    fmt.Sprintf("a number from 1 to %d", maxPower),
		holds:   func(p float64) bool { return p >= 1 && p <= maxPower },
		build:   func(name string, v []float64) Loss { return newPower(name, v[0]) },
	},
	{
		// Koenker & Bassett (1978). Of all shifts of a noise, the one with the least expected loss
		// has its TAU-quantile at 0: P(X < 0) <= TAU <= P(X <= 0). A released value is then at most
		// the true one with probability TAU; TAU = 0.9 punishes overestimates.
		Name:    "pinball",
		Syntax:  "pinball:TAU",
		Meaning: "TAU·x for x >= 0, (1-TAU)·|x| for x < 0; 0 < TAU < 1: noise at most 0 with probability TAU",
		Unit:    "mean pinball loss at TAU in query units",
		fields:  []string{"TAU"},
		rule:    "a number with 0 < TAU < 1",
		holds:   func(tau float64) bool { return tau >= minNumber && tau < 1 },
		build: func(name string, v []float64) Loss {
			tau := exact.Rational(v[0])
			return twoSlopes(name, new(big.Rat).Sub(big.NewRat(1, 1), tau), tau)
		},
	},
	{
		Name:    "asymmetric",
		Syntax:  "asymmetric:LEFT,RIGHT",
		Meaning: "LEFT·|x| for x < 0, RIGHT·x for x > 0; both > 0",
		Unit:    "mean absolute error weighted LEFT below and RIGHT above, in query units",
		fields:  []string{"LEFT", "RIGHT"},
		build: func(name string, v []float64) Loss {
			return twoSlopes(name, exact.Rational(v[0]), exact.Rational(v[1]))
		},
	},
	{
		// Huber (1964): beyond T it goes on with the slope it has there.
		Name:    "huber",
		Syntax:  "huber:T",
		Meaning: "x²/2 for |x| <= T, T·|x| - T²/2 beyond; T > 0 in query units",
		Unit:    "mean Huber loss with threshold T in query units squared",
		fields:  []string{"T"},
		build: func(name string, v []float64) Loss {
			t := exact.Rational(v[0])
			c0 := new(big.Rat).Mul(t, t)
			c0.Mul(c0, half).Neg(c0)
			return around(name, v[0], Quadratic{C0: c0, C1: t}, Quadratic{C2: half})
		},
	},
	{
		Name:    "deadzone",
		Syntax:  "deadzone:T",
		Meaning: "max(0, |x| - T): errors up to T are free; T > 0 in query units",
		Unit:    "mean absolute error beyond T in query units",
		fields:  []string{"T"},
		build: func(name string, v []float64) Loss {
			return around(name, v[0], Quadratic{C0: exact.Rational(-v[0]), C1: big.NewRat(1, 1)}, Quadratic{})
		},
	},
	{
		Name:    "exceed",
		Syntax:  "exceed:T",
		Meaning: "1 for |x| > T, else 0; T > 0 in query units",
		Unit:    "probability of an error above T query units",
		fields:  []string{"T"},
		build: func(name string, v []float64) Loss {
			return around(name, v[0], Quadratic{C0: big.NewRat(1, 1)}, Quadratic{})
		},
	},
	{
		Name:    "pwl",
		Syntax:  "pwl:SEGMENTS",
		Meaning: "piecewise linear: SEGMENTS are -inf,SLOPE;KNOT,SLOPE[,JUMP];… with the slope right of each knot and the jump at it",
		Unit:    "mean piecewise linear loss, in the unit that the slopes give",
		fields:  []string{"SEGMENTS"},
		parse:   parsePWL,
	},
}

// twoSlopes is left·|x| for x < 0 and right·x for x > 0.
func twoSlopes(name string, left, right *big.Rat) *piecewise {
	return newPiecewise(name, []float64{0}, []Quadratic{{C1: new(big.Rat).Neg(left)}, {C1: right}}, nil)
}

// around is a symmetric loss: outer(|x|) for |x| > t and inner(x) within.
func around(name string, t float64, outer, inner Quadratic) *piecewise {
	outer = outer.filled()
	return newPiecewise(name, []float64{-t, t}, []Quadratic{outer.mirrored(), inner, outer}, nil)
}
