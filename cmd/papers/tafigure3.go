// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/taskspace"
)

// taSettings are the values λ of figure 3, where the prices of the coordinates are 4, λ, λ, λ.
var taSettings = []float64{0, 1, 2}

type taPoint struct {
	Setting         float64 `json:"setting"`
	ROverEpsilon    float64 `json:"r_over_epsilon"`
	TaskAware       float64 `json:"task_aware"`
	Z               int     `json:"z"`
	TaskAgnostic    float64 `json:"task_agnostic"`
	PrivacyAgnostic float64 `json:"privacy_agnostic"`
}

// taFigure3 evaluates the closed forms at r/ε = 0.02, 0.04, …, 1, with L = I and
// s = 8r²/ε². Noise on the n = 4 features themselves is for a sensitivity of 2r√n and has
// the loss ns/(1 + ns)·Σλ_i (54); the first z coordinates with equal scales, the best
// encoder without noise, leave zs/(1 + zs)·Σ_{i≤z} λ_i + Σ_{i>z} λ_i (55).
func taFigure3(setting float64) ([]taPoint, error) {
	lambda := []float64{4, setting, setting, setting}
	first, rest := 4+setting, 2*setting // two coordinates, and the others
	var points []taPoint
	for i := 1; i <= 50; i++ {
		// With ε = 50 and r = i the ratio i/50 is as exact as can be.
		aware, err := taskspace.Waterfill(lambda, float64(i), 50)
		if err != nil {
			return nil, err
		}
		ratio := float64(i) / 50
		s := 8 * ratio * ratio
		points = append(points, taPoint{
			setting, ratio, aware.Loss, aware.Z, 4 * s / (1 + 4*s) * (first + rest), 2*s/(1+2*s)*first + rest,
		})
	}
	return points, nil
}

type taFigure3Options struct{ shell.Common }

func newTAFigure3Command(s *shell.Streams) *cobra.Command {
	o := &taFigure3Options{Common: shell.Common{Streams: s}}
	return paperCommand(&o.Common, "ta-figure3", "", "Figure 3 of Cheng, Tang & Chinchali (2022): three encoders in closed form", taFigure3Said,
		`It is a figure of Cheng, Tang & Chinchali, "Task-aware privacy preservation for
multi-dimensional data" (2022), computed from its closed forms. The prices are the
settings. Written are ta-figure3.csv, with z the number of coordinates of the
task-aware encoder, and ta-figure3.svg. Nothing is random.`, o.run, func(*shell.Flags) {})
}

var taFigure3Said = said{
	caption: `The task loss of the task-aware, the task-agnostic and the privacy-agnostic encoder (the latter with 2 coordinates) of 4 features
with unit covariance in a ball of radius r against r/epsilon, for prices 4, lambda, lambda, lambda of the coordinates, lambda = 0, 1 and 2`,
	differs:   "nothing that its text says: the closed forms are computed as they are",
	published: []string{"no numbers"},
}

func (o *taFigure3Options) run(context.Context) error {
	var all []taPoint
	records := [][]string{{"setting", "r_over_epsilon", "task_aware", "z", "task_agnostic", "privacy_agnostic"}}
	var rows []shell.Row
	var plots []*plot.Plot
	for _, setting := range taSettings {
		points, err := taFigure3(setting)
		if err != nil {
			return err
		}
		all = append(all, points...)
		for _, t := range points {
			records = append(records, record(setting, t.ROverEpsilon, rounded(t.TaskAware, 10), t.Z, rounded(t.TaskAgnostic, 10), rounded(t.PrivacyAgnostic, 10)))
		}
		p, err := taFigure3Plot(setting, points)
		if err != nil {
			return err
		}
		plots = append(plots, p)
		t := points[24]
		rows = append(rows, shell.Row{
			fmt.Sprintf("lambda %g", setting),
			fmt.Sprintf("r/epsilon = 0.5: task-aware %.4f (z = %d), task-agnostic %.4f, privacy-agnostic %.4f", t.TaskAware, t.Z, t.TaskAgnostic, t.PrivacyAgnostic),
		})
	}
	plots[0].Y.Label.Text = "task loss"
	files, err := produce(&o.Common, func(*shell.Progress) error { return nil }, output{"ta-figure3", func() [][]string { return records }, func(w io.Writer) error {
		return writeRow(w, plots, 30*vg.Centimeter, 11*vg.Centimeter)
	}})
	if err != nil {
		return err
	}
	return taFigure3Said.print(&o.Common, "ta-figure3", shell.Object{"points", all}, rows, files)
}

func taFigure3Plot(setting float64, points []taPoint) (*plot.Plot, error) {
	p, err := newPlot(fmt.Sprintf("λ = 4, %[1]g, %[1]g, %[1]g", setting), "r/ε", "", taCurves(func(approach string) (line plotter.XYs) {
		for _, t := range points {
			loss := map[string]float64{"task-aware": t.TaskAware, "task-agnostic": t.TaskAgnostic, "privacy-agnostic": t.PrivacyAgnostic}[approach]
			line = append(line, plotter.XY{X: t.ROverEpsilon, Y: loss})
		}
		return line
	}))
	if err != nil {
		return nil, err
	}
	p.X.Min, p.Y.Min, p.Y.Max = 0, 0, 4+3*setting
	return p, nil
}
