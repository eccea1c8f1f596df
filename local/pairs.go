package local

import (
	"math/big"
)

// pairShortfall is shortfall for delta > 0.
func (p *pricing) pairShortfall() (*big.Int, bool) {
	return nil, false
}

func (p *pricing) cells() {}

func (p *pricing) cellTangent(q *place, twice *big.Int) line { return line{} }
