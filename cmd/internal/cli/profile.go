// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
)

// profilePoints is the number of epsilons of a privacy profile, and of errors of a trade-off function.
const profilePoints = 101

// A profile is what is proved of a release: its delta at each epsilon.
type profile struct {
	name   string
	deltas []account.Bounds
}

// profiles draws the privacy profiles of releases over each other, or their trade-off functions, and
// writes them as CSV.
func (o *plotOptions) profiles(ctx context.Context) error {
	if len(o.files) > len(figure.Palette) {
		return shell.BadInput("", fmt.Errorf("%d releases, want at most %d in one figure", len(o.files), len(figure.Palette)))
	}
	composed, epsilons, err := o.composed(ctx)
	if err != nil {
		return err
	}
	numbers, err := o.Reserve(o.csv, o.files...)
	if err != nil {
		return err
	}
	defer numbers.Discard()
	var all []profile
	for i, c := range composed {
		p := profile{name: shell.InputName(o.files[i])}
		if n := o.times[i]; n > 1 {
			p.name = fmt.Sprintf("%d of %s", n, p.name)
		}
		for _, e := range epsilons {
			d, err := c.Delta(e)
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
			p.deltas = append(p.deltas, d)
		}
		all = append(all, p)
	}
	draw, list := drawDeltas, listDeltas
	if o.tradeOff {
		draw, list = drawTradeOffs, listTradeOffs
	}
	if err := numbers.Put(func(w io.Writer) error { return list(csv.NewWriter(w), epsilons, all) }); err != nil {
		return err
	}
	return o.WriteFile(o.Output, func(w io.Writer) error {
		p, err := draw(epsilons, all)
		if err != nil {
			return err
		}
		return figure.Write(p, w, o.format, vg.Length(o.width)*vg.Centimeter, vg.Length(o.height)*vg.Centimeter)
	}, o.files...)
}

// composed returns each release, made so many times, and the epsilons from 0 to where they promise
// what people promise.
func (o *plotOptions) composed(ctx context.Context) (all []*account.Composition, epsilons []float64, err error) {
	var most float64
	for i, arg := range o.files {
		m, err := readMechanism(ctx, o.Streams, arg)
		if err != nil {
			return nil, nil, err
		}
		c, err := account.Compose([]account.Release{{PLD: m, Times: o.times[i]}}, account.Options{})
		if err != nil {
			return nil, nil, shell.BadInput("", err)
		}
		for delta := 1e-9; ; delta *= 10 {
			e, err := c.Epsilon(min(delta, 0.99))
			if err != nil && !errors.Is(err, account.ErrDeltaTooSmall) {
				return nil, nil, err
			}
			if err == nil {
				most = max(most, e.Upper)
			}
			if err == nil || delta >= 1 {
				break
			}
		}
		all = append(all, c)
	}
	most = 1.25 * max(most, 0x1p-10)
	for i := range profilePoints {
		epsilons = append(epsilons, most*float64(i)/(profilePoints-1))
	}
	return all, epsilons, nil
}

func drawDeltas(epsilons []float64, all []profile) (*plot.Plot, error) {
	var curves []figure.Curve
	for i, p := range all {
		var points plotter.XYs
		for j, d := range p.deltas {
			if d.Upper > 0 {
				points = append(points, plotter.XY{X: epsilons[j], Y: math.Log10(d.Upper)})
			}
		}
		if len(points) > 1 {
			curves = append(curves, figure.Curve{Name: p.name, Points: points, Style: figure.Solid(figure.Palette[i], 2)})
		}
	}
	f := figure.New()
	f.X.Label.Text, f.Y.Label.Text = "epsilon", "delta, proved"
	f.Y.Tick.Marker = plot.TickerFunc(figure.DecadeTicks)
	return f, figure.Add(f, curves)
}

func listDeltas(w *csv.Writer, epsilons []float64, all []profile) error {
	lines := [][]string{{"release", "epsilon", "delta", "delta_lower"}}
	for _, p := range all {
		for j, d := range p.deltas {
			lines = append(lines, []string{p.name, fmt.Sprint(epsilons[j]), fmt.Sprint(d.Upper), fmt.Sprint(d.Lower)})
		}
	}
	return w.WriteAll(lines)
}

// tradeOff returns the least type II error, for each type I error from 0 to 1, of all tests whether a
// person is there, as far as the profile proves it: the largest of the lines
// 1 - delta - e^epsilon alpha and e^-epsilon (1 - delta - alpha) (Dong, Roth & Su 2022, Proposition 2.12).
func (p profile) tradeOff(epsilons []float64) (points plotter.XYs) {
	for i := range profilePoints {
		alpha, least := float64(i)/(profilePoints-1), 0.0
		for j, d := range p.deltas {
			odds := math.Exp(epsilons[j])
			least = max(least, 1-d.Upper-odds*alpha, (1-d.Upper-alpha)/odds)
		}
		points = append(points, plotter.XY{X: alpha, Y: max(0, least-1e-12)}) // rounding
	}
	return points
}

func drawTradeOffs(epsilons []float64, all []profile) (*plot.Plot, error) {
	curves := []figure.Curve{{Name: "no test is better than chance", Points: plotter.XYs{{X: 0, Y: 1}, {X: 1, Y: 0}}, Style: figure.Dashed(figure.Green, 1)}}
	for i, p := range all {
		curves = append(curves, figure.Curve{Name: p.name, Points: p.tradeOff(epsilons), Style: figure.Solid(figure.Palette[i], 2)})
	}
	f := figure.New()
	f.X.Label.Text, f.Y.Label.Text = "type I error of a test", "type II error, at least"
	return f, figure.Add(f, curves)
}

func listTradeOffs(w *csv.Writer, epsilons []float64, all []profile) error {
	lines := [][]string{{"release", "type_1_error", "type_2_error_lower"}}
	for _, p := range all {
		for _, at := range p.tradeOff(epsilons) {
			lines = append(lines, []string{p.name, fmt.Sprint(at.X), fmt.Sprint(at.Y)})
		}
	}
	return w.WriteAll(lines)
}
