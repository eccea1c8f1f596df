// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/attack"
	"github.com/noisewright/noisewright/cmd/internal/encoders/minimax"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/latent/bundle"
)

// gridFigure is a grid of noisy filters: a column for each data set and number of coordinates, a
// row for the target and one for the private class, a line for each filter, over 1/ε.
type gridFigure struct {
	name, short, caption string
	faces, activities    []int // numbers of coordinates; a quick run has the first two
}

var gridFigures = []gridFigure{
	{
		"minimax-figure7", "Figure 7 of Hamm (2017): four noisy filters over 1/epsilon, for each data set",
		`Accuracy of the target (above) and of the private class (below) by classifiers that learn from and are tested on
noisy vectors, for each data set, four noisy filters and 1/epsilon = 0, 0.001, 0.01, 0.1, 1 and 10`,
		[]int{20},
		[]int{10},
	},
	{
		"minimax-figure8", "Figure 8 of Hamm (2017): the grid of Figure 7 for each data set and number of coordinates",
		`The accuracies of Figure 7 for each data set and each number of coordinates`,
		[]int{10, 20, 50, 100},
		[]int{10, 20},
	},
}

// gridEpsilons are those of the figures' axis; 0 stands for none, as 1/ε is 0.
var gridEpsilons = []float64{0, 1000, 100, 10, 1, 0.1}

type gridOptions struct {
	shell.Common
	figure            gridFigure
	faces, activities string // CSV files
	full              bool
	runs              int
	seed              uint64

	line  *shell.Progress
	study minimaxStudy
}

func newMinimaxGridCommand(s *shell.Streams, v gridFigure) *cobra.Command {
	o := &gridOptions{Common: shell.Common{Streams: s}, figure: v, runs: 2}
	return command(&o.Common, v.name, "--faces genki.csv.gz --activities wisdm_transformed.csv.gz", v.short, v.caption+`.

The filters are pca and the minimax filter, each with noise of what the filter lets
through (pre) or of the features, which are filtered on the server (post). Vectors are
in the unit ball, divided by the largest norm of the training data and clipped, and the
noise has the density exp(-epsilon |x|/2) (eq. 80). This is a study: the noise is drawn
in floating point, and an epsilon above 10 is no privacy to speak of.

--faces: `+facesHelp+`

--activities: `+activitiesHelp+`

What differs from the paper: ENTERFACE is not public, so its column is missing; WISDM
stands in for HAR; the split of the faces is that of the authors' file; and draws are
`+"2 in a quick run and 10 with --full"+`. Written are `+v.name+`.csv, the mean and the
standard deviation over the runs, and `+v.name+`.svg.`, o.run, func(f *shell.Flags) {
		f.File(&o.faces, "faces", "CSV file of faces, perhaps compressed with gzip", "csv", "gz")
		f.File(&o.activities, "activities", "CSV file of activities, perhaps compressed with gzip", "csv", "gz")
		f.Check(func() error {
			if o.faces == "" && o.activities == "" {
				return errors.New("faces and activities are missing, want a CSV file of at least one")
			}
			return nil
		})
		f.Bool(&o.full, "full", "all numbers of coordinates and 10 draws (minutes)")
		f.Integer(&o.runs, "runs", "", 1, 100, "draws of the noise, of activities also of the people; with --full at least 10")
		seedFlag(f, &o.seed)
	})
}

func (o *gridOptions) run(ctx context.Context) error {
	type set struct {
		data        *minimaxData
		faces       bool
		coordinates []int
	}
	var sets []set
	for _, s := range []struct {
		file        string
		faces       bool
		coordinates []int
	}{{o.faces, true, o.figure.faces}, {o.activities, false, o.figure.activities}} {
		if s.file == "" {
			continue
		}
		data, err := readMinimax(o.Streams, s.file, s.faces)
		if err != nil {
			return err
		}
		if !o.full {
			s.coordinates = s.coordinates[:min(2, len(s.coordinates))]
		}
		sets = append(sets, set{data, s.faces, s.coordinates})
	}
	if o.full {
		o.runs = max(o.runs, 10)
	}
	o.study.seed = o.seed
	files, err := produce(&o.Common, func(line *shell.Progress) error {
		o.line = line
		for _, s := range sets {
			for _, z := range s.coordinates {
				if err := o.grid(ctx, s.data, s.faces, z); err != nil {
					return shell.LatentFailure(err)
				}
			}
		}
		return nil
	}, output{o.figure.name, o.study.records, o.draw})
	if err != nil {
		return err
	}
	const published = "no printed numbers: noise after the filter (pre) better than before (post), the minimax filter best, its private accuracy at chance"
	body := shell.Object{"caption", o.figure.caption, "published", []string{published}, "points", o.study.points}
	rows := slices.Concat([]shell.Row{{"caption", o.figure.caption}}, o.study.rows(), publishedRows([]string{published}))
	return report(&o.Common, o.figure.name, body, rows, files)
}

// grid fills the column of a data set and a number of coordinates.
func (o *gridOptions) grid(ctx context.Context, d *minimaxData, faces bool, coordinates int) error {
	name := map[bool]string{true: "GENKI", false: "WISDM"}[faces]
	var train, test minimax.Data
	type noisy struct {
		filter string
		encode func(encoder.Matrix) encoder.Matrix // into the unit ball
		after  func(encoder.Matrix) encoder.Matrix // what the server does with it
	}
	var filters []noisy
	for run := range o.runs {
		if run == 0 || !faces { // the split of faces is given, and so are their filters
			var err error
			if train, test, err = d.split(runSeed(o.seed, run)); err != nil {
				return err
			}
			filters = nil
			for _, method := range []minimax.Method{minimax.PCA, minimax.Minimax} {
				o.line.Count(fmt.Sprintf("%s, %d coordinates, filter %s, draws", name, coordinates, method), run, o.runs)
				options := filterOptions(faces, o.full, method, min(coordinates, train.X.Cols), runSeed(o.seed, run))
				r, err := minimax.Train(ctx, train, options)
				if err != nil {
					return err
				}
				whole, err := minimax.Train(ctx, train, minimax.Options{Method: minimax.Masked, Mask: slices.Repeat([]float64{1}, train.X.Cols)})
				if err != nil {
					return err
				}
				pre, err := unitBall(ctx, r)
				if err != nil {
					return err
				}
				post, err := unitBall(ctx, whole)
				if err != nil {
					return err
				}
				same := func(x encoder.Matrix) encoder.Matrix { return x }
				filters = append(filters, noisy{string(method) + "-pre", pre, same}, noisy{string(method) + "-post", post, r.Encode})
			}
		}
		for i, epsilon := range gridEpsilons {
			o.line.Count(fmt.Sprintf("%s, %d coordinates, draw %d of %d, epsilons", name, coordinates, run+1, o.runs), i, len(gridEpsilons))
			for _, f := range filters {
				place := minimaxPlace{Part: fmt.Sprintf("%s, d = %d", name, coordinates), Filter: f.filter, Coordinates: coordinates}
				if epsilon > 0 {
					place.Epsilon = &gridEpsilons[i]
				}
				random := encoders.Rand(runSeed(o.seed, run), fmt.Sprintf("noise of %s at %g", f.filter, epsilon), coordinates)
				codes := minimaxCodes{train: train, test: test}
				for _, part := range []struct {
					from encoder.Matrix
					to   *encoder.Matrix
				}{{train.X, &codes.trainCode}, {test.X, &codes.testCode}} {
					u := f.encode(part.from)
					addSpherical(u, epsilon, random)
					*part.to = f.after(u)
				}
				linear := []attack.Attacker{attack.Linear}
				if err := o.study.score(ctx, place, codes, linear, linear, run); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// unitBall is what a filter lets through, divided by the largest norm of the training data and clipped.
func unitBall(ctx context.Context, r *minimax.Result) (func(encoder.Matrix) encoder.Matrix, error) {
	n, err := r.AddNoise(ctx, minimax.NoiseOptions{Kind: bundle.Spherical, Promise: bundle.Promise{Epsilon: 1}, AroundZero: true})
	if err != nil {
		return nil, err
	}
	return n.Encode, nil
}

// addSpherical adds noise of the density exp(-epsilon |x|/2) to each row, none if epsilon is 0.
func addSpherical(u encoder.Matrix, epsilon float64, r *rand.Rand) {
	if epsilon == 0 {
		return
	}
	x := make([]float64, u.Cols)
	for i := range u.Rows {
		radius, norm := 0.0, 0.0
		for j := range x {
			radius += r.ExpFloat64() * 2 / epsilon
			x[j] = r.NormFloat64()
			norm = math.Hypot(norm, x[j])
		}
		for j := range x {
			u.Data[i*u.Stride+j] += radius * x[j] / norm
		}
	}
}

func (o *gridOptions) draw(w io.Writer) error {
	rows := make([][]*plot.Plot, 2)
	columns := grouped(o.study.points, func(p *minimaxPoint) string { return p.Part })
	ticks := plot.ConstantTicks{}
	for i, e := range slices.Backward(gridEpsilons) {
		label := "0"
		if e > 0 {
			label = fmt.Sprintf("%g", 1/e)
		}
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: label})
	}
	for i, role := range []string{roleTarget, rolePrivate} {
		for k, column := range columns {
			var lines []series
			for n, filter := range grouped(which(column.points, func(p *minimaxPoint) bool { return p.Role == role }), func(p *minimaxPoint) string { return p.Filter }) {
				line := series{name: filter.word, style: minimaxStyle(n)}
				for _, p := range filter.points {
					at := 0
					if p.Epsilon != nil {
						at = slices.Index(gridEpsilons, *p.Epsilon)
					}
					line.add(float64(at), p.Mean, p.Deviation)
				}
				lines = append(lines, line)
			}
			p, err := newPlot(column.word, "1/ε", "", lines)
			if err != nil {
				return err
			}
			if k == 0 {
				p.Y.Label.Text = role + ", accuracy"
			}
			if i > 0 || k > 0 {
				p.Legend = plot.NewLegend() // that of the first panel is enough
			}
			p.X.Tick.Marker, p.Y.Tick.Marker = ticks, shareTicks
			p.Y.Min, p.Y.Max = 0, 1.25
			rows[i] = append(rows[i], p)
		}
	}
	return writeRows(w, rows, vg.Length(max(len(columns), 1))*9*vg.Centimeter, 16*vg.Centimeter)
}
