// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"github.com/noisewright/noisewright/cmd/internal/figure"
)

// TestWritePanels: rows are as long as each other, and three long at most.
func TestWritePanels(t *testing.T) {
	for n, want := range map[int]string{1: `width="100pt" height="50pt"`, 3: `width="300pt" height="50pt"`, 4: `width="200pt" height="100pt"`, 6: `width="300pt" height="100pt"`, 7: `width="300pt" height="150pt"`} {
		plots := make([]*plot.Plot, n)
		for i := range plots {
			plots[i] = figure.New()
			plots[i].Title.Text = fmt.Sprintf("panel %d", i)
		}
		var b bytes.Buffer
		if err := writePanels(&b, plots, 100, 50); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{want, fmt.Sprintf("panel %d", n-1)} {
			if !strings.Contains(b.String(), text) {
				t.Errorf("%d panels: no %s in %.200s", n, text, b.String())
			}
		}
	}
}
