// SPDX-License-Identifier: Apache-2.0

package portrait

import (
	"encoding/json"
	"testing"

	"github.com/noisewright/noisewright/subset"
)

// TestSubset: a page shows how likely a set has a category, in place of laws of too many answers.
func TestSubset(t *testing.T) {
	v, err := subset.Design(subset.Spec{Epsilon: 1, Count: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	p := New(v)
	if text, err := json.Marshal(p); err != nil || p.Kind != "subset" || p.Loss != "total variance" || p.Bound.Text == "" || p.Gap == "" {
		t.Errorf("%s, %v", text, err)
	}
	if l := p.Laws; len(l.Rows) == 0 || len(l.Rows) > maxLaws || l.Values[0] != "0" || len(l.Labels) != 2 || l.Rows[0][0] != 0.500000649 || l.Rows[0][1] != 0.499999351 {
		t.Errorf("laws %+v", l)
	}
}
