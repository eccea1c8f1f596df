// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestScreenshots takes the pictures of docs/studio.md, if a folder for them is given.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("SCREENSHOTS")
	if folder == "" {
		t.Skip("SCREENSHOTS names no folder for the pictures of docs/studio.md")
	}
	address, _ := studio(t, program(t, "1"))
	ctx := chromium(t)
	shoot := func(name string, actions ...chromedp.Action) {
		var shot []byte
		do(t, ctx, append(actions, idle(), chromedp.CaptureScreenshot(&shot))...)
		if err := os.WriteFile(filepath.Join(folder, name+".png"), small(t, shot), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wide := chromedp.EmulateViewport(1360, 1010)
	shoot("studio-light", wide, scheme("light"), chromedp.Navigate(address), idle(), change("epsilon", "2"))
	shoot("studio-dark", scheme("dark"), chromedp.Click(`input[value=local]`), change("epsilon", "2"), change("delta", "0"), change("query", "integer"))
	shoot("studio-plan", scheme("light"), chromedp.Navigate(address+"plan.html"), planned())
	shoot("studio-narrow", chromedp.Navigate(address), idle(), chromedp.Click(`input[value=table]`), change("delta", "1e-6"), change("query", "real"), idle(), chromedp.EmulateViewport(360, 780), chromedp.Evaluate(`document.getElementById("results").scrollIntoView()`, nil))
}

// small is a picture in its 256 most frequent colors that the eye tells apart.
func small(t *testing.T, text []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	count, box := map[color.Color]int{}, from.Bounds()
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			count[from.At(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int { return cmp.Compare(count[b], count[a]) })
	var palette color.Palette
	for _, c := range colors {
		if len(palette) < 256 && (len(palette) == 0 || apart(c, palette[palette.Index(c)])) {
			palette = append(palette, c)
		}
	}
	to := image.NewPaletted(box, palette)
	index := map[color.Color]uint8{}
	for c := range count {
		index[c] = uint8(to.Palette.Index(c))
	}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			to.SetColorIndex(x, y, index[from.At(x, y)])
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// apart reports whether colors differ so that it is seen.
func apart(a, b color.Color) bool {
	const seen = 10 << 8 // of the three parts together
	r, g, bl, _ := a.RGBA()
	r2, g2, bl2, _ := b.RGBA()
	return math.Abs(float64(r)-float64(r2))+math.Abs(float64(g)-float64(g2))+math.Abs(float64(bl)-float64(bl2)) > seen
}
