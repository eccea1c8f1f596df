// SPDX-License-Identifier: Apache-2.0

package dp

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestPrivacyValidate(t *testing.T) {
	for _, p := range []Privacy{
		{0, 0, 1},
		{20, 0.999, 1e-6},
		{math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxFloat64},
	} {
		if err := p.Validate(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for _, c := range []struct {
		p    Privacy
		want []string // one line each
	}{
		{Privacy{-1, 0.5, 1}, []string{"dp: epsilon = -1, want a finite number >= 0"}},
		{Privacy{math.Inf(1), 0.5, 1}, []string{"dp: epsilon = +Inf, want a finite number >= 0"}},
		{Privacy{math.NaN(), 0.5, 1}, []string{"dp: epsilon = NaN, want a finite number >= 0"}},
		{Privacy{1, 1, 1}, []string{"dp: delta = 1, want a probability, at least 0 and below 1"}},
		{Privacy{1, -1e-9, 1}, []string{"dp: delta = -1e-09, want a probability, at least 0 and below 1"}},
		{Privacy{1, math.NaN(), 1}, []string{"dp: delta = NaN, want a probability, at least 0 and below 1"}},
		{Privacy{1, 0.5, 0}, []string{"dp: sensitivity = 0, want a finite number > 0 (query units)"}},
		{Privacy{1, 0.5, -2}, []string{"dp: sensitivity = -2, want a finite number > 0 (query units)"}},
		{Privacy{1, 0.5, math.Inf(1)}, []string{"dp: sensitivity = +Inf, want a finite number > 0 (query units)"}},
		{Privacy{1, 0.5, math.NaN()}, []string{"dp: sensitivity = NaN, want a finite number > 0 (query units)"}},
		{Privacy{-1, 2, 0}, []string{
			"dp: epsilon = -1, want a finite number >= 0",
			"dp: delta = 2, want a probability, at least 0 and below 1",
			"dp: sensitivity = 0, want a finite number > 0 (query units)",
		}},
	} {
		err := c.p.Validate()
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: error %v does not wrap ErrInvalid", c.p, err)
			continue
		}
		want := strings.Join(c.want, "\n")
		if err.Error() != want {
			t.Errorf("%+v:\n got %q\nwant %q", c.p, err, want)
		}
	}
}
