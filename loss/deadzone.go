package loss

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/exact"
)

var deadzoneKind = Kind{
	Name:    "deadzone",
	Syntax:  "deadzone:T",
	Meaning: "max(0, |x| - T): errors up to T are free; T > 0 in query units",
	Unit:    "mean absolute error beyond T in query units",
	fields:  []string{"T"},
	parse: func(v []string) (Loss, error) {
		t, err := positive("deadzone", "T", v[0])
		if err != nil {
			return nil, err
		}
		return wrap(NewDeadzone(t))
	},
}

// NewDeadzone returns the loss max(0, |x|-threshold).
func NewDeadzone(threshold float64) (*Piecewise, error) {
	if err := checkPositive("deadzone", "T", threshold); err != nil {
		return nil, err
	}
	c0 := exact.Rational(-threshold)
	return newPiecewise("deadzone:"+formatNumber(threshold), []float64{-threshold, threshold}, []Quadratic{
		{C0: c0, C1: big.NewRat(-1, 1)}, {}, {C0: c0, C1: big.NewRat(1, 1)},
	}, nil), nil
}
