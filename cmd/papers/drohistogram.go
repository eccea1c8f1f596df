// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/plotter"

	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/cmd/papers/drolearn"
)

type droHistogramOptions struct {
	shell.Common
	data, set string
	seed      uint64
}

const (
	droHistogramName = "dro-supplement-figure3"
	droHistogramSet  = "cylinder-bands" // of the paper
)

func newDROHistogramCommand(s *shell.Streams) *cobra.Command {
	o := &droHistogramOptions{Common: shell.Common{Streams: s}, set: droHistogramSet}
	return paperCommand(&o.Common, droHistogramName, "--data uci", "Figure 3 of the appendix of Selvi, Liu & Wiesemann, 4 in the authors' repository: the gradients that noise is added to",
		droHistogramSaid,
		fmt.Sprintf(`The paper's partition for data dependent noise is fine from -10 to 10, where most of them
are. Written are %s.csv and %[1]s.svg.

The set of the paper is "Cylinder Bands" of the UCI Machine Learning Repository
(https://archive.ics.uci.edu/dataset/32), bands.csv. Others are those of
papers dro-table3.`, droHistogramName), o.run, func(f *shell.Flags) {
			droDataFlag(f, &o.data, droHistogramName)
			f.Word(&o.set, "set", "name", "data set", descentSets()...)
			seedFlag(f, &o.seed)
		})
}

var droHistogramSaid = said{
	caption: `The histogram of the numbers that proximal coordinate descent adds noise to: components of the sum of
the gradients of logistic regression, through 100 rounds of 100 runs without noise on four fifths of the data`,
	differs: "one split, which the seed chooses, as is the order of coordinates; which columns are left out is inferred",
}

func descentSets() (names []string) {
	for _, r := range drolearn.Recipes {
		if r.Draws > 0 {
			names = append(names, r.Name)
		}
	}
	return names
}

// The histogram has bins of width 1 from −reach to reach.
const histogramReach = 50

func (o *droHistogramOptions) run(ctx context.Context) error {
	recipe := drolearn.Recipes[slices.IndexFunc(drolearn.Recipes, func(r drolearn.Recipe) bool { return r.Name == o.set })]
	text, file, err := readDROSet(o.Streams, o.data, recipe)
	if errors.Is(err, errNoFile) {
		return shell.BadInput("", shell.About("data", o.data, shell.Want("a folder with "+recipe.File)))
	}
	if err != nil {
		return err
	}
	set, err := recipe.Descent(text)
	if err != nil {
		return shell.BadFile(file, err)
	}
	set.Seed = o.seed
	var counts [2 * histogramReach]int
	total, within, beyond, rows := 0, 0, 0, 0
	descent := drolearn.NewDescent(set)
	records := [][]string{{"from", "to", "density"}}
	var points plotter.XYs
	files, err := produce(&o.Common, func(*shell.Progress) (err error) {
		rows, err = descent.Gradients(ctx, 100, func(gradient float64) {
			total++
			if math.Abs(gradient) <= 10 {
				within++
			}
			if bin := math.Floor(gradient) + histogramReach; bin >= 0 && bin < 2*histogramReach {
				counts[int(bin)]++
			} else {
				beyond++
			}
		})
		for i, n := range counts {
			from, density := float64(i-histogramReach), float64(n)/float64(total)
			points = append(points, plotter.XY{X: from, Y: density}, plotter.XY{X: from + 1, Y: density})
			records = append(records, record(from, from+1, rounded(density, 8)))
		}
		return err
	}, output{droHistogramName, func() [][]string { return records }, func(w io.Writer) error {
		p, err := newPlot("", "component of the sum of gradients", "density", []series{{name: "100 runs", points: points, style: figure.Solid(figure.Blue, 1.5)}})
		if err != nil {
			return err
		}
		p.Y.Min, p.Y.Max = 0, 1.05*p.Y.Max
		return writeFigure(p, w)
	}})
	if err != nil {
		return err
	}
	features, share, outside := descent.Dimensions()-1, float64(within)/float64(total), float64(beyond)/float64(total)
	says := droHistogramSaid
	says.form = fmt.Sprintf("%s, 100 runs of a split, seed %d, as in the paper", o.set, o.seed)
	if o.set == droHistogramSet {
		says.published = []string{"more than 80 % from -10 to 10"}
		if share <= 0.8 {
			says.against = []string{shell.Percent(share) + " from -10 to 10, where the paper has more than 80 %"}
		}
	}
	gradients := fmt.Sprintf("%d, %s of them from -10 to 10", total, shell.Percent(share))
	if beyond > 0 {
		gradients += fmt.Sprintf("; %s are beyond ±%d, and not drawn", shell.Percent(outside), histogramReach)
	}
	body := shell.Object{"set", o.set, "examples", rows, "features", features, "count", total, "within_10", share, "beyond_50", outside}
	return says.print(&o.Common, droHistogramName, body, []shell.Row{
		{"examples", fmt.Sprintf("%d of %d, %d features and the intercept", rows, set.Rows, features)},
		{"gradients", gradients},
	}, files)
}
