// SPDX-License-Identifier: Apache-2.0

package account

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// golden is a line of testdata/dp_accounting.json: what Google's dp_accounting
// 0.6.0 finds, rounding losses down and up. testdata/golden.py makes it.
type golden struct {
	Mechanism string // several, once each, with spaces
	Times     int
	Epsilon   float64
	Delta     [2]float64
	Target    float64 // if it is there, the delta that epsilon is an upper bound for
}

func checkGolden(t *testing.T, data []byte) {
	t.Helper()
	var all []golden
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 {
		t.Fatalf("%d values, want at least 40", len(all))
	}
	known := map[string]*PrivacyLossDistribution{}
	for _, g := range all {
		var releases []Release
		for name := range strings.FieldsSeq(g.Mechanism) {
			if known[name] == nil {
				if strings.HasPrefix(name, "table-") {
					known[name] = mustTable(t, readTable(t, name))
				} else {
					known[name] = must(t)(parse(name))
				}
			}
			releases = append(releases, Release{known[name], g.Times})
		}
		c := compose(t, releases...)
		if g.Target > 0 {
			// Both are upper bounds; either may be the lower one.
			e, err := c.Epsilon(g.Target)
			if err != nil || g.Epsilon < e.Lower || g.Epsilon > e.Upper*(1+1e-4) || e.Upper-e.Lower > 0.01*e.Upper {
				t.Errorf("%d times %s at delta %g: %v, %v, dp_accounting %v: not between, or not within 1 %%", g.Times, g.Mechanism, g.Target, e, err, g.Epsilon)
			}
			continue
		}
		b := delta(t, c, g.Epsilon)
		what := fmt.Sprintf("%d times %s at %g: %v, dp_accounting %v", g.Times, g.Mechanism, g.Epsilon, b, g.Delta)
		// Its sums are of float64s that cut 1e-15 off, without a bound.
		const wrong = 1e-13
		if b.Upper < g.Delta[0]*(1-1e-9)-wrong || b.Lower > g.Delta[1]*(1+1e-9)+wrong {
			t.Errorf("%s: apart", what)
		}
		if g.Delta[1] > 1e-12 && b.Upper > 1.05*g.Delta[1] {
			t.Errorf("%s: much above", what)
		}
	}
}

func TestDPAccounting(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	data, err := os.ReadFile("testdata/dp_accounting.json")
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, data)
}

// TestDPAccountingScript runs the script that made the golden file, with $PYTHON
// or python3.
func TestDPAccountingScript(t *testing.T) {
	python := os.Getenv("PYTHON")
	if python == "" {
		python = "python3"
	}
	if testing.Short() {
		t.Skip("skipped with -short: the script takes some 10 s")
	}
	if err := exec.Command(python, "-c", "import dp_accounting.pld").Run(); err != nil {
		t.Skipf("skipped: %s cannot import dp_accounting (set PYTHON to one that can)", python)
	}
	command := exec.Command(python, "testdata/golden.py")
	data, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, data)
}
