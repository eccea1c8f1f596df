package loss

import "github.com/noisewright/noisewright/internal/exact"

var asymmetricKind = Kind{
	Name:    "asymmetric",
	Syntax:  "asymmetric:LEFT,RIGHT",
	Meaning: "LEFT·|x| for x < 0, RIGHT·x for x > 0; both > 0",
	Unit:    "mean absolute error weighted LEFT below and RIGHT above, in query units",
	fields:  []string{"LEFT", "RIGHT"},
	parse: func(v []string) (Loss, error) {
		left, err := positive("asymmetric", "LEFT", v[0])
		if err != nil {
			return nil, err
		}
		right, err := positive("asymmetric", "RIGHT", v[1])
		if err != nil {
			return nil, err
		}
		return wrap(NewAsymmetric(left, right))
	},
}

// NewAsymmetric returns the loss left·|x| for x < 0 and right·x for x > 0.
func NewAsymmetric(left, right float64) (*Piecewise, error) {
	if err := checkPositive("asymmetric", "LEFT", left); err != nil {
		return nil, err
	}
	if err := checkPositive("asymmetric", "RIGHT", right); err != nil {
		return nil, err
	}
	return twoSlopes("asymmetric:"+formatNumber(left)+","+formatNumber(right), exact.Rational(left), exact.Rational(right)), nil
}
