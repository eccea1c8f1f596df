package cli

import (
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
	// Of a lattice: its step is the decimal mantissa·10^exponent.
	mantissa *big.Int
	exponent int
}

func newPrinter(t *tables.Table) *printer {
	p := &printer{query: t.Query()}
	p.step, _ = t.Grid().Step().Float64() // exact
	if p.query == dp.LatticeQuery {
		p.mantissa, p.exponent = shortest(p.step)
	}
	return p
}

// shortest returns the shortest decimal mantissa·10^exponent that reads back as
// x > 0.
func shortest(x float64) (mantissa *big.Int, exponent int) {
	digits, power, _ := strings.Cut(strconv.FormatFloat(x, 'e', -1, 64), "e")
	whole, part, _ := strings.Cut(digits, ".")
	exponent, _ = strconv.Atoi(power)
	mantissa, _ = new(big.Int).SetString(whole+part, 10)
	return mantissa, exponent - len(part)
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

// multiple appends n·mantissa·10^exponent.
func (p *printer) multiple(dst []byte, n int64) []byte {
	product := big.NewInt(n)
	if product.Mul(product, p.mantissa).Sign() < 0 {
		dst = append(dst, '-')
		product.Neg(product)
	}
	digits := product.String()
	if n == 0 || p.exponent >= 0 {
		dst = append(dst, digits...)
		for i := 0; i < p.exponent && n != 0; i++ {
			dst = append(dst, '0')
		}
		return dst
	}
	if short := 1 - p.exponent - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	point := len(digits) + p.exponent
	dst = append(dst, digits[:point]...)
	if part := strings.TrimRight(digits[point:], "0"); part != "" {
		dst = append(append(dst, '.'), part...)
	}
	return dst
}
