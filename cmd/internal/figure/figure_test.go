package figure

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct{ lo, hi float64 }{{0, 1}, {-2.3, 2.3}, {-0.1, 5}, {0, 5.12}, {-1e9, 1e9}, {0, 3e-7}, {-1200, 1200}} {
		ticks := roundTicks(c.lo, c.hi)
		if len(ticks) < 3 || len(ticks) > mostTicks+1 {
			t.Errorf("%g to %g: %d ticks", c.lo, c.hi, len(ticks))
		}
		for _, k := range ticks {
			if k.Value < c.lo || k.Value > c.hi || len(k.Label) > 7 || k.Label == "-0" {
				t.Errorf("%g to %g: tick %q at %g", c.lo, c.hi, k.Label, k.Value)
			}
		}
	}
	for _, c := range []struct{ lo, hi float64 }{{-2, 0.3}, {-15, 1}, {-40, 3.5}} {
		labels := 0
		for _, k := range DecadeTicks(c.lo, c.hi) {
			if k.Label != "" {
				labels++
			}
		}
		if labels < 2 || labels > mostTicks+1 {
			t.Errorf("decades %g to %g: %d labels", c.lo, c.hi, labels)
		}
	}
}

// TestWritePanels: rows are as long as each other, and three long at most.
func TestWritePanels(t *testing.T) {
	for n, want := range map[int]string{1: `width="100pt" height="50pt"`, 3: `width="300pt" height="50pt"`, 4: `width="200pt" height="100pt"`, 6: `width="300pt" height="100pt"`, 7: `width="300pt" height="150pt"`} {
		plots := make([]*plot.Plot, n)
		for i := range plots {
			plots[i] = New()
			plots[i].Title.Text = fmt.Sprintf("panel %d", i)
		}
		var b bytes.Buffer
		if err := WritePanels(&b, plots, 100, 50); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{want, fmt.Sprintf("panel %d", n-1)} {
			if !strings.Contains(b.String(), text) {
				t.Errorf("%d panels: no %s in %.200s", n, text, b.String())
			}
		}
	}
}
