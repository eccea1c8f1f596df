// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"bytes"
	"regexp"
	"strconv"
	"testing"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// TestAnchors: in SVG texts at the right of something end there, and those in the middle of something are anchored
// there, whatever the reader's font is. The text of a key ends left of the sample of its line.
func TestAnchors(t *testing.T) {
	const width = 400
	text := func(left bool, of string) (anchor string, x float64) {
		p := New()
		p.Title.Text, p.Legend.Left = "the title", left
		if err := Add(p, []Curve{{"the key", plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, Solid(Blue, 1)}}); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := WriteSVG(&b, width, 300, func(c draw.Canvas) { p.Draw(c) }); err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`<text (?:text-anchor="(\w+)" )?x="([-0-9.e]+)"[^>]*>` + of + `<`).FindStringSubmatch(b.String())
		if m == nil {
			t.Fatalf("no text %q in %s", of, b.String())
		}
		x, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		return m[1], x
	}
	sample := width + (New().Legend.XOffs - New().Legend.ThumbnailWidth) // where it begins, but for rounding
	if anchor, x := text(false, "the key"); anchor != "end" || x >= sample.Points() || x < (sample-vg.Points(5)).Points() {
		t.Errorf("key at the right: anchor %q at %g, want its end shortly before %v", anchor, x, sample)
	}
	if anchor, _ := text(true, "the key"); anchor != "" {
		t.Errorf("key at the left: anchor %q, want none", anchor)
	}
	if anchor, x := text(false, "the title"); anchor != "middle" || x < width/2 || x > width/2+40 {
		t.Errorf("title: anchor %q at %g, want its middle in that of the axis", anchor, x)
	}
	if anchor, _ := text(false, "0.4"); anchor == "" {
		t.Error("labels of ticks have no anchor")
	}
}

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
