// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
)

// A profile has its delta at so many epsilons up to where it promises what people promise, and at some beyond.
const profilePoints, profileBeyond = 301, 75

// A profile is what is proved of a release: its delta at each of some epsilons, and so at least that at larger ones.
type profile struct {
	name     string
	epsilons []float64
	deltas   []account.Bounds
}

// profiles draws the privacy profiles of releases over each other, or their trade-off functions, and
// writes them as CSV.
func (o *plotOptions) profiles(ctx context.Context) error {
	if len(o.files) > len(figure.Palette) {
		return shell.BadInput("", fmt.Errorf("%d releases, want at most %d in one figure", len(o.files), len(figure.Palette)))
	}
	numbers, err := o.Reserve(o.csv, o.files...)
	if err != nil {
		return err
	}
	defer numbers.Discard()
	all, err := o.proved(ctx)
	if err != nil {
		return err
	}
	draw, list := drawDeltas, listDeltas
	if o.tradeOff {
		draw, list = drawTradeOffs, listTradeOffs
	}
	if err := numbers.Put(func(w io.Writer) error { return list(csv.NewWriter(w), all) }); err != nil {
		return err
	}
	return o.WriteFile(o.Output, func(w io.Writer) error {
		p, err := draw(all)
		if err != nil {
			return err
		}
		return figure.Write(p, w, o.format, vg.Length(o.width)*vg.Centimeter, vg.Length(o.height)*vg.Centimeter)
	}, o.files...)
}

// proved returns the profile of each release, made so many times.
func (o *plotOptions) proved(ctx context.Context) ([]profile, error) {
	all := make([]profile, len(o.files))
	composed, ends := make([]*account.Composition, len(all)), make([]float64, len(all))
	for i, arg := range o.files {
		m, err := readMechanism(ctx, o.Streams, arg)
		if err != nil {
			return nil, err
		}
		if composed[i], err = account.Compose([]account.Release{{PLD: m, Times: o.times[i]}}, account.Options{}); err != nil {
			return nil, shell.BadInput("", err)
		}
		if ends[i], err = endOf(composed[i]); err != nil {
			return nil, err
		}
		all[i].name = shell.InputName(arg)
		if n := o.times[i]; n > 1 {
			all[i].name = fmt.Sprintf("%d of %s", n, all[i].name)
		}
	}
	most := 1.25 * max(slices.Max(ends), 0x1p-10)
	for i := range all {
		p := &all[i]
		p.epsilons = floats.Span(make([]float64, profilePoints), 0, ends[i])
		p.epsilons = append(p.epsilons, floats.Span(make([]float64, profileBeyond+1), ends[i], most)[1:]...)
		for _, e := range p.epsilons {
			d, err := composed[i].Delta(e)
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return nil, err
			}
			p.deltas = append(p.deltas, d)
		}
	}
	return all, nil
}

// endOf is the epsilon at a delta of 1e-9, or, of what has none, at the first power of ten that has one.
func endOf(c *account.Composition) (float64, error) {
	for delta := 1e-9; delta < 1; delta *= 10 {
		e, err := c.Epsilon(delta)
		switch {
		case err == nil:
			return e.Upper, nil
		case !errors.Is(err, account.ErrDeltaTooSmall):
			return 0, err
		}
	}
	return 0, nil
}

// drawDeltas draws steps: what is proved at an epsilon holds up to the next one, and a line between them would not.
func drawDeltas(all []profile) (*plot.Plot, error) {
	var curves []figure.Curve
	for i, p := range all {
		var points plotter.XYs
		for j, d := range p.deltas {
			if d.Upper <= 0 {
				break
			}
			points = append(points, plotter.XY{X: p.epsilons[j], Y: math.Log10(d.Upper)})
			if j+1 < len(p.deltas) {
				points = append(points, plotter.XY{X: p.epsilons[j+1], Y: math.Log10(d.Upper)})
			}
		}
		if len(points) > 1 {
			curves = append(curves, figure.Curve{Name: p.name, Points: points, Style: figure.Solid(figure.Palette[i], 2)})
		}
	}
	f := figure.New()
	f.X.Label.Text, f.Y.Label.Text = "epsilon", "delta, at most"
	f.Y.Tick.Marker = plot.TickerFunc(figure.DecadeTicks)
	f.Legend.Top, f.Legend.Left, f.Legend.XOffs, f.Legend.YOffs = false, true, -f.Legend.XOffs, -f.Legend.YOffs
	return f, figure.Add(f, curves)
}

func listDeltas(w *csv.Writer, all []profile) error {
	lines := [][]string{{"release", "epsilon", "delta", "delta_lower"}}
	for _, p := range all {
		for j, d := range p.deltas {
			lines = append(lines, []string{p.name, fmt.Sprint(p.epsilons[j]), fmt.Sprint(d.Upper), fmt.Sprint(d.Lower)})
		}
	}
	return w.WriteAll(lines)
}

// A support is a line that no test's errors are below: least at a type I error of 0, from where it is the largest one.
type support struct{ least, slope, from float64 }

// tradeOff returns the least type II error for type I errors from 0 to 1, of all tests whether a person is there, as
// far as the profile proves it: the largest of the lines 1 - delta - e^epsilon alpha and
// e^-epsilon (1 - delta - alpha) (Dong, Roth & Su 2022, Proposition 2.12), at its corners.
func (p profile) tradeOff() (corners plotter.XYs) {
	lines := []support{{}}
	for j, d := range p.deltas {
		odds := math.Exp(p.epsilons[j])
		lines = append(lines, support{least: 1 - d.Upper, slope: -odds}, support{least: (1 - d.Upper) / odds, slope: -1 / odds})
	}
	slices.SortFunc(lines, func(a, b support) int { return cmp.Or(cmp.Compare(a.slope, b.slope), cmp.Compare(b.least, a.least)) })
	var largest []support // from left to right
	for _, l := range lines {
		if n := len(largest); n > 0 && largest[n-1].slope == l.slope { // and not below
			continue
		}
		for l.from = math.Inf(-1); len(largest) > 0; largest = largest[:len(largest)-1] {
			last := largest[len(largest)-1]
			if x := (last.least - l.least) / (l.slope - last.slope); x > last.from {
				l.from = x
				break
			}
		}
		largest = append(largest, l)
	}
	at := func(l support, alpha float64) {
		corners = append(corners, plotter.XY{X: alpha, Y: max(0, l.least+l.slope*alpha-1e-12)}) // rounding
	}
	for i, l := range largest {
		end := math.Inf(1)
		if i+1 < len(largest) {
			end = largest[i+1].from
		}
		if from := max(l.from, 0); from < min(end, 1) {
			at(l, from)
		}
		if end >= 1 {
			at(l, 1)
			break
		}
	}
	return corners
}

func drawTradeOffs(all []profile) (*plot.Plot, error) {
	gray := color.NRGBA{R: 0x80, G: 0x80, B: 0x80, A: 0xff}
	curves := []figure.Curve{{Name: "no test is better than chance", Points: plotter.XYs{{X: 0, Y: 1}, {X: 1, Y: 0}}, Style: figure.Dashed(gray, 1)}}
	for i, p := range all {
		curves = append(curves, figure.Curve{Name: p.name, Points: p.tradeOff(), Style: figure.Solid(figure.Palette[i], 2)})
	}
	f := figure.New()
	f.X.Label.Text, f.Y.Label.Text = "type I error of a test", "type II error, at least"
	return f, figure.Add(f, curves)
}

func listTradeOffs(w *csv.Writer, all []profile) error {
	lines := [][]string{{"release", "type_1_error", "type_2_error_lower"}}
	for _, p := range all {
		for _, at := range p.tradeOff() {
			lines = append(lines, []string{p.name, fmt.Sprint(at.X), fmt.Sprint(at.Y)})
		}
	}
	return w.WriteAll(lines)
}
