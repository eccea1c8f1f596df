// SPDX-License-Identifier: Apache-2.0

package formfile

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/check"
)

// TestValidateRows: a row has as many weights as there are answers and they sum to 2^64
// exactly; the first that does not is named, and no other.
func TestValidateRows(t *testing.T) {
	half := uint64(1) << 63
	for _, c := range []struct {
		rows [][]uint64
		want string // "": valid
	}{
		{nil, ""},
		{[][]uint64{{half, half}, {half + 1, half - 1}, {math.MaxUint64, 1}}, ""},
		{[][]uint64{{half, half}, {half, half - 1}}, "rows[1] = a sum of 18446744073709551615"},
		{[][]uint64{{half, half}, {half, half + 1}}, "rows[1] = a sum of 18446744073709551617"},
		{[][]uint64{{0, 0}}, "rows[0] = a sum of 0"},
		{[][]uint64{{math.MaxUint64, math.MaxUint64}}, "rows[0] = a sum of 36893488147419103230"},
		{[][]uint64{{half, half}, {half, half, 0}, {1, 1}}, "rows[1] = 3 weights, want 2, one per node"},
		{[][]uint64{{}}, "rows[0] = 0 weights"},
	} {
		errs := check.In("pkg")
		ValidateRows(c.rows, 2, "one per node", errs)
		err := errs.Err()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v: %v", c.rows, err)
		case c.want != "" && (!errors.Is(err, check.ErrInvalid) || len(check.Sentences(err)) != 1 || !strings.HasPrefix(check.Sentences(err)[0], c.want)):
			t.Errorf("%v: %v, want %q", c.rows, err, c.want)
		}
	}
}
