// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"math"
	"reflect"
	"testing"

	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
)

func TestLocalValues(t *testing.T) {
	weight := []proof.Piece{{From: 0, Weight: 3}, {From: 1.5, Weight: 0}, {From: 2, Weight: 1}}
	pieces := []proof.Piece{{From: 0, Weight: 3}, {From: 1.5, Weight: 0}, {From: 2, Weight: 1}}
	for name, c := range map[string]struct {
		integer bool
		queries kernels.Queries
		want    local.Values
	}{
		"real":             {false, kernels.Queries{Upper: 4}, local.Values{Kind: local.Real, Upper: 4}},
		"real, weight":     {false, kernels.Queries{Upper: 4, Weight: weight}, local.Values{Kind: local.Real, Upper: 4, Weight: pieces}},
		"integer":          {true, kernels.Queries{Upper: 4}, local.Values{Kind: local.Integer, Upper: 4}},
		"integer, weight":  {true, kernels.Queries{Upper: 4, Weight: weight}, local.Values{Kind: local.Integer, Upper: 4, Shares: []float64{3, 3, 1, 1, 1}}},
		"no integers":      {true, kernels.Queries{Upper: 4.5, Weight: weight}, local.Values{Kind: local.Integer, Upper: 4.5}},
		"too many of them": {true, kernels.Queries{Upper: 1e15, Weight: weight}, local.Values{Kind: local.Integer, Upper: 1e15}},
	} {
		if got := new(Local).Values(c.integer, c.queries); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	bad := new(Local).Values(true, kernels.Queries{Lower: math.NaN(), Upper: math.NaN(), Weight: weight})
	if bad.Shares != nil || bad.Validate() == nil {
		t.Errorf("a range of NaN becomes %+v", bad)
	}
}
