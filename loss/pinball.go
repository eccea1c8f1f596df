package loss

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/exact"
)

var pinballKind = Kind{
	Name:    "pinball",
	Syntax:  "pinball:TAU",
	Meaning: "TAU·x for x >= 0, (1-TAU)·|x| for x < 0; 0 < TAU < 1: noise at most 0 with probability TAU",
	Unit:    "mean pinball loss at TAU in query units",
	fields:  []string{"TAU"},
	parse: func(v []string) (Loss, error) {
		tau, err := number("pinball", "TAU", v[0])
		if err != nil {
			return nil, err
		}
		return wrap(NewPinball(tau))
	},
}

// NewPinball returns the pinball (quantile) loss, tau·x for x >= 0 and
// (tau-1)·x for x < 0, 0 < tau < 1 (Koenker & Bassett 1978).
//
// Of all shifts of a noise, the one with the least expected loss has its
// tau-quantile at 0: P(X < 0) <= tau <= P(X <= 0). A released value is then at
// most the true one with probability tau; tau = 0.9 punishes overestimates.
func NewPinball(tau float64) (*Piecewise, error) {
	if !(tau >= minNumber && tau < 1) {
		return nil, badField("pinball", "TAU", formatNumber(tau), "a number with 0 < TAU < 1")
	}
	t := exact.Rational(tau)
	return twoSlopes("pinball:"+formatNumber(tau), new(big.Rat).Sub(big.NewRat(1, 1), t), t), nil
}
