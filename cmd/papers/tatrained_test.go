// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/taskaware"
)

// smallPeople writes people with a price, and with a diagnosis, that follow from two of three
// features.
func smallPeople(t *testing.T) (houses, cancer string) {
	t.Helper()
	r := encoders.Rand(1, "people", 0)
	prices, diagnoses := "No,a,b,c,Y house price of unit area\n", "id,diagnosis,a,b,c\n"
	for i := range 80 {
		a, b, c := r.Float64(), r.Float64(), r.Float64()
		diagnosis := "B"
		if a+b > 1 {
			diagnosis = "M"
		}
		prices += fmt.Sprintf("%d,%.3f,%.3f,%.3f,%.3f\n", i, a, b, c, 10+30*a+20*b)
		diagnoses += fmt.Sprintf("%d,%s,%.3f,%.3f,%.3f\n", i, diagnosis, a, b, c)
	}
	folder := t.TempDir()
	houses, cancer = filepath.Join(folder, "houses.csv"), filepath.Join(folder, "cancer.csv")
	for name, text := range map[string]string{houses: prices, cancer: diagnoses} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return houses, cancer
}

func TestRunTATrained(t *testing.T) {
	houses, cancer := smallPeople(t)
	for _, v := range taFigures {
		t.Run(v.name, func(t *testing.T) {
			c, out := options(t)
			o := &taTrainedOptions{Common: c, figure: v, protocol: allProtocols, runs: 2, epochs: 2, steps: 30, cache: "-", design: designOptions(1)}
			o.design.TimeLimit = time.Second
			if v.name == taFigure8.name {
				o.digits = smallImages(t)
				o.runs, o.epochs = 1, 1
			} else {
				o.realEstate, o.wdbc = houses, cancer
			}
			o.epsilons = []float64{10}
			switch v.name {
			case taFigure5.name:
				o.protocol = protocolPromised // the others have the rest
			case taFigure7.name:
				o.protocol = protocolFormula
			}
			if err := o.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			report := object(t, out)
			points, _ := report["points"].([]any)
			gains, _ := report["improvements"].([]any)
			want := map[string][2]int{taFigure5.name: {6, 4}, taFigure6.name: {14, 12}, taFigure7.name: {6, 4}, taFigure8.name: {5, 3}}[v.name]
			if len(points) != want[0] || len(gains) != want[1] || len(records(t, c, v.name+".csv")) != want[0]+1 {
				t.Errorf("%d points and %d improvements, want %v", len(points), len(gains), want)
			}
			for _, p := range points {
				if loss, _ := p.(map[string]any)["mean_loss"].(float64); !(loss > 0) {
					t.Errorf("point %v", p)
				}
			}
			// What was drawn has a panel for each data set and protocol.
			svg, err := os.ReadFile(filepath.Join(c.Output, v.name+".svg"))
			if err != nil || strings.Contains(string(svg), "no guarantee") == (o.protocol == protocolPromised) {
				t.Errorf("figure of %d bytes, %v", len(svg), err)
			}
		})
	}
}

// TestTADataSets has the sizes of the data sets, where they are at hand, and what a clipped
// encoder reaches on one of them in a short run.
func TestTADataSets(t *testing.T) {
	folder := sharedData(t)
	withSolver(t)
	c, _ := options(t)
	o := &taTrainedOptions{
		Common: c, figure: taFigure5, protocol: protocolPromised, runs: 1, steps: 150, cache: "-", design: designOptions(1),
		realEstate: filepath.Join(folder, "realestate", "valuation.csv"), wdbc: filepath.Join(folder, "wdbc", "wdbc.csv"), epsilons: []float64{10},
	}
	for _, want := range []struct {
		s           taSetting
		train, test int
		features    int
	}{{realEstateSetting, 289, 125, 6}, {breastCancerSetting, 398, 171, 30}} {
		p, err := o.read(&want.s)
		if err != nil {
			t.Fatal(err)
		}
		train, test := p.split(0)
		if train.X.Rows != want.train || test.X.Rows != want.test || train.X.Cols != want.features {
			t.Errorf("%s: %d and %d people with %d features", want.s.data, train.X.Rows, test.X.Rows, train.X.Cols)
		}
	}
	o.wdbc = "" // too long for a test
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	// More than a full run has, README.md, and less than any benchmark.
	if p := o.study.find(realEstate, protocolPromised, taskaware.Aware, 3, 10); p == nil || !(p.Mean <= 0.0070) {
		t.Errorf("%+v, want a loss of at most 0.0070", p)
	}
}

// sharedData returns the folder of the data sets that the tests may read, or skips.
func sharedData(t *testing.T) string {
	t.Helper()
	folder := filepath.Join("..", "..", "..", "shared", "data")
	for _, set := range []string{"realestate", "wdbc"} {
		if _, err := os.Stat(filepath.Join(folder, set)); err != nil {
			t.Skipf("data set %s not found in ../shared/data beside the repository", set)
		}
	}
	return folder
}

func TestMeanAndDeviation(t *testing.T) {
	if m, d := meanAndDeviation([]float64{1, 2, 6}); math.Abs(m-3) > 1e-15 || math.Abs(d-math.Sqrt(7)) > 1e-15 {
		t.Errorf("%g, %g", m, d)
	}
	if m, d := meanAndDeviation([]float64{4}); m != 4 || d != 0 {
		t.Errorf("%g, %g", m, d)
	}
}

// TestLineOf: points are by 1/ε, and each has its own bar.
func TestLineOf(t *testing.T) {
	study := taStudy{}
	for i, epsilon := range []float64{1, 5, 2} {
		for run := range 2 {
			study.add(realEstate, protocolPromised, taskaware.Aware, 3, epsilon, taOutcome{Evaluation: taskaware.Evaluation{Loss: epsilon + float64(run*i)}, noise: "laplace", sent: 1 + run})
		}
	}
	line := lineOf(study.points, "task-aware, noise and z chosen")
	points, bars := line.points, line.bars
	if got := study.points[0].Sent.String(); got != "1 or 2" {
		t.Errorf("numbers sent %s, want those that were chosen", got)
	}
	want := []struct{ x, y, bar float64 }{{0.2, 5.5, math.Sqrt(0.5)}, {0.5, 3, math.Sqrt2}, {1, 1, 0}}
	if len(points) != len(want) || len(bars) != len(want) {
		t.Fatalf("%d points and %d bars, want %d", len(points), len(bars), len(want))
	}
	for k, w := range want {
		if points[k].X != w.x || points[k].Y != w.y || math.Abs(bars[k].Low-w.bar) > 1e-12 || math.Abs(bars[k].High-w.bar) > 1e-12 {
			t.Errorf("point %d is %v with the bar %v, want %v", k, points[k], bars[k], w)
		}
	}
}
