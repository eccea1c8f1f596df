// SPDX-License-Identifier: Apache-2.0

package portrait

import (
	"context"
	"errors"
	"os"
	"regexp"
	"testing"

	"github.com/noisewright/noisewright/proof"
)

// TestFalseTotal shows a table with the total that it keeps, and refuses it with a smaller one.
func TestFalseTotal(t *testing.T) {
	text, err := os.ReadFile("../../../python/tests/data/files/lattice-total.json")
	if err != nil {
		t.Fatal(err)
	}
	claim := regexp.MustCompile(`("total":\s*\{"releases":\s*\d+,\s*"epsilon":\s*)[0-9.]+`)
	if !claim.Match(text) {
		t.Fatal("the file claims no total")
	}
	for _, c := range []struct {
		text []byte
		want error
	}{{text, nil}, {claim.ReplaceAll(text, []byte("${1}0.0625")), proof.ErrFalseClaim}} {
		v, err := Verify(context.Background(), c.text)
		if err != nil {
			t.Fatal(err)
		}
		p := New(v)
		p.NameTheorems(proof.Of(v))
		if last := p.Facts[len(p.Facts)-1]; last != [2]string{"theorem", "total: not machine-checked: composition is not covered"} {
			t.Errorf("the last fact is %q, want that no theorem is about the total", last)
		}
		facts := len(p.Facts)
		if err := p.ProveTotal(v); !errors.Is(err, c.want) || (err == nil) != (len(p.Facts) > facts) {
			t.Errorf("%v with the facts %v, want %v", err, p.Facts, c.want)
		}
	}
}
