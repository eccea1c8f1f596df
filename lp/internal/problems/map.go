// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Layout of the map in pixels.
const (
	mapWidth, mapLeft, mapTop = 860.0, 110.0, 60.0
	rowHeight                 = 44.0
	leastEpsilon, mostEpsilon = 0.05, 20.0
)

// shade is the color of dots with a gap up to so much.
type shade struct {
	most  float64
	color string
}

var shades = []shade{{1e-4, "#1a7a3c"}, {1e-3, "#7bbf6a"}, {1e-2, "#e8912d"}, {math.Inf(1), "#b3202c"}}

// drawn returns the map of results over epsilon and the losses as SVG: a dot for each, its color the gap
// and its area the CPU seconds.
func drawn(results []result, title string) string {
	var b strings.Builder
	height := mapTop + rowHeight*float64(len(families)) + 70
	across := func(epsilon float64) float64 {
		return mapLeft + (mapWidth-mapLeft-20)*math.Log(epsilon/leastEpsilon)/math.Log(mostEpsilon/leastEpsilon)
	}
	text := func(x, y float64, anchor, s string) {
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, html.EscapeString(s))
	}
	dot := func(x, y, seconds float64, color string) {
		fmt.Fprintf(&b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.2f\" fill=\"%s\" fill-opacity=\"0.8\"/>\n", x, y, 2+3*math.Sqrt(seconds), color)
	}
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n", mapWidth, height)
	fmt.Fprintf(&b, "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n")
	text(mapWidth/2, 20, "middle", title)
	bottom := mapTop + rowHeight*float64(len(families))
	for _, epsilon := range []float64{0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20} {
		x := across(epsilon)
		fmt.Fprintf(&b, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#ddd\"/>\n", x, mapTop-10, bottom)
		text(x, bottom+16, "middle", fmt.Sprint(epsilon))
	}
	text(mapWidth/2, bottom+34, "middle", "ε")
	for i, name := range families {
		text(mapLeft-20, mapTop+rowHeight*(float64(i)+0.5)+4, "end", name)
	}
	// The slow ones first, so that none hides another.
	for _, r := range slices.SortedFunc(slices.Values(results), func(a, b result) int { return cmp.Compare(b.CPU, a.CPU) }) {
		epsilon, _ := strconv.ParseFloat(r.option("epsilon"), 64)
		row := float64(slices.Index(families, r.loss())) + 0.2 + 0.6*math.Mod(float64(r.ID)*math.Phi, 1)
		color := slices.IndexFunc(shades, func(s shade) bool { return r.gap() <= s.most })
		dot(across(epsilon), mapTop+rowHeight*row, r.CPU, shades[color].color)
	}
	for i, s := range shades {
		label := fmt.Sprintf("gap ≤ %g %%", 100*s.most)
		if math.IsInf(s.most, 1) {
			label = "larger"
		}
		x := mapLeft + 110*float64(i)
		dot(x, bottom+52, 0.1, s.color)
		text(x+10, bottom+56, "start", label)
	}
	for i, seconds := range []float64{0.1, 1, 4} {
		x := mapLeft + 480 + 90*float64(i)
		dot(x, bottom+52, seconds, "#888")
		text(x+12, bottom+56, "start", fmt.Sprintf("%g CPU s", seconds))
	}
	return b.String() + "</svg>\n"
}
