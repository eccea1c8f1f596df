package cli

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/tables"
)

// printer writes grid points of a table as values in query units.
type printer struct {
	query dp.Query
	step  float64
	// Of a lattice: the shortest decimal of its step without its point, and the digits
	// after that.
	decimal *big.Int
	places  int
}

func newPrinter(t *tables.Table) *printer {
	step, _ := t.Grid().Step().Float64() // exact
	return printerOf(t.Query(), step)
}

func printerOf(q dp.Query, step float64) *printer {
	p := &printer{query: q, step: step}
	whole, part, _ := strings.Cut(strconv.FormatFloat(step, 'f', -1, 64), ".")
	p.decimal, _ = new(big.Int).SetString(whole+part, 10)
	p.places = len(part)
	return p
}

// append appends the value of point n to dst. For a real query it is the
// shortest decimal that reads back as the same float64. For a lattice it is the
// exact multiple of the step as its decimal is written, so that 3 steps of 0.1
// are 0.3.
func (p *printer) append(dst []byte, n int64) []byte {
	switch p.query {
	case dp.IntegerQuery:
		return strconv.AppendInt(dst, n, 10)
	case dp.LatticeQuery:
		return p.multiple(dst, n)
	default:
		return strconv.AppendFloat(dst, float64(n)*p.step, 'g', -1, 64)
	}
}

// multiple appends n times the decimal of the step.
func (p *printer) multiple(dst []byte, n int64) []byte {
	product := new(big.Int).Mul(big.NewInt(n), p.decimal)
	if product.Sign() < 0 {
		dst = append(dst, '-')
	}
	digits := fmt.Sprintf("%0*d", p.places+1, product.Abs(product))
	point := len(digits) - p.places
	dst = append(dst, digits[:point]...)
	if part := strings.TrimRight(digits[point:], "0"); part != "" {
		dst = append(append(dst, '.'), part...)
	}
	return dst
}
