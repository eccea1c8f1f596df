package loss

import "math/big"

var exceedKind = Kind{
	Name:    "exceed",
	Syntax:  "exceed:T",
	Meaning: "1 for |x| > T, else 0; T > 0 in query units",
	Unit:    "probability of an error above T query units",
	fields:  []string{"T"},
	parse: func(v []string) (Loss, error) {
		t, err := positive("exceed", "T", v[0])
		if err != nil {
			return nil, err
		}
		return wrap(NewExceed(t))
	},
}

// NewExceed returns the loss that is 1 for |x| > threshold, else 0: its
// expectation is the probability of a large error.
func NewExceed(threshold float64) (*Piecewise, error) {
	if err := checkPositive("exceed", "T", threshold); err != nil {
		return nil, err
	}
	one := big.NewRat(1, 1)
	return newPiecewise("exceed:"+formatNumber(threshold), []float64{-threshold, threshold}, []Quadratic{
		{C0: one}, {}, {C0: one},
	}, nil), nil
}
