package loss

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/exact"
)

var huberKind = Kind{
	Name:    "huber",
	Syntax:  "huber:T",
	Meaning: "x²/2 for |x| <= T, T·|x| - T²/2 beyond; T > 0 in query units",
	Unit:    "mean Huber loss with threshold T in query units squared",
	fields:  []string{"T"},
	parse: func(v []string) (Loss, error) {
		t, err := positive("huber", "T", v[0])
		if err != nil {
			return nil, err
		}
		return wrap(NewHuber(t))
	},
}

// NewHuber returns the loss of Huber (1964): x²/2 for |x| <= threshold, then
// going on with the slope it has there.
func NewHuber(threshold float64) (*Piecewise, error) {
	if err := checkPositive("huber", "T", threshold); err != nil {
		return nil, err
	}
	t := exact.Rational(threshold)
	c0 := new(big.Rat).Mul(t, t)
	c0.Mul(c0, half).Neg(c0)
	return newPiecewise("huber:"+formatNumber(threshold), []float64{-threshold, threshold}, []Quadratic{
		{C0: c0, C1: new(big.Rat).Neg(t)}, {C2: half}, {C0: c0, C1: t},
	}, nil), nil
}
