package csvfile

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

var errNotNumber = errors.New("is not a plain number, want one such as 12 or -0.5")

// Number reads a plain decimal number of a cell, blanks around it left out: the one rule of all
// that reads numbers of files. Its errors do not quote the cell, which is private.
func Number(s string) (float64, error) {
	s = strings.TrimSpace(s)
	// ParseFloat also reads hexadecimal, underscores, inf and nan.
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, errNotNumber
	}
	x, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrRange) || math.IsInf(x, 0) {
		return 0, errors.New("is too large for a float64, want a finite number")
	}
	if err != nil {
		return 0, errNotNumber
	}
	return x, nil
}
