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
	"sync"
	"sync/atomic"

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
	name, short       string
	said              said
	faces, activities []int // numbers of coordinates; a quick run has the first two
}

var gridFigures = []gridFigure{
	{
		"minimax-figure7", "Figure 7 of Hamm (2017): four noisy filters over 1/epsilon, for each data set",
		gridSaid(`Accuracy of the target (above) and of the private class (below) by classifiers that learn from and are tested on
noisy vectors, for each data set, four noisy filters and 1/epsilon = 0, 0.001, 0.01, 0.1, 1 and 10`),
		[]int{20},
		[]int{10},
	},
	{
		"minimax-figure8", "Figure 8 of Hamm (2017): the grid of Figure 7 for each data set and number of coordinates",
		gridSaid("The accuracies of Figure 7 for each data set and each number of coordinates"),
		[]int{10, 20, 50, 100},
		[]int{10, 20},
	},
}

func gridSaid(caption string) said {
	return said{
		caption: caption,
		differs: `ENTERFACE is not public, so its column is missing; WISDM stands in for HAR; the split of the faces is
that of the authors' file`,
		published: []string{"no printed numbers: noise after the filter (pre) better than before (post), the minimax filter best, its private accuracy at chance"},
	}
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
	all   int // draws
	left  atomic.Int64
	study minimaxStudy
}

func newMinimaxGridCommand(s *shell.Streams, v gridFigure) *cobra.Command {
	o := &gridOptions{Common: shell.Common{Streams: s}, figure: v, runs: 2}
	return paperCommand(&o.Common, v.name, "--faces genki.csv.gz --activities wisdm_transformed.csv.gz", v.short, v.said, `The filters are pca and the minimax filter, each with noise of what the filter lets
through (pre) or of the features, which are filtered on the server (post). Vectors are
in the unit ball, divided by the largest norm of the training data and clipped, and the
noise has the density exp(-epsilon |x|/2) (eq. 80). This is a study: the noise is drawn
in floating point, and an epsilon above 10 is no privacy to speak of.

--faces: `+facesHelp+`

--activities: `+activitiesHelp+`

Written are `+v.name+`.csv, the mean and the standard deviation over the runs, and
`+v.name+`.svg. What a run that was stopped had finished is kept in
`+v.name+`.unfinished-…, and the same command goes on from there.`, o.run, func(f *shell.Flags) {
		f.File(&o.faces, "faces", "CSV file of faces, perhaps compressed with gzip", "csv", "gz")
		f.File(&o.activities, "activities", "CSV file of activities, perhaps compressed with gzip", "csv", "gz")
		f.Check(func() error {
			if o.faces == "" && o.activities == "" {
				return errors.New("faces and activities are missing, want a CSV file of at least one")
			}
			return nil
		})
		f.Bool(&o.full, "full", "all numbers of coordinates and 10 draws (6 minutes of a core)")
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
	given := slices.DeleteFunc([]string{o.faces, o.activities}, func(file string) bool { return file == "" })
	kept, err := newUnfinished(&o.Common, o.figure.name, given, o.full, o.seed)
	if err != nil {
		return err
	}
	files, err := produce(&o.Common, func(line *shell.Progress) error {
		o.line = line
		var pieces []piece[[]scored]
		for _, s := range sets {
			for _, z := range s.coordinates {
				pieces = append(pieces, o.grid(s.data, s.faces, z)...)
			}
		}
		o.left.Store(int64(len(missing(kept, pieces))))
		o.all = len(pieces)
		if err := work(ctx, kept, pieces); err != nil {
			return shell.LatentFailure(err)
		}
		return nil
	}, output{o.figure.name, o.study.records, o.draw})
	if err = kept.ended(&o.Common, err); err != nil {
		return err
	}
	says := o.figure.said
	says.form, says.against = o.form(), o.against()
	return says.print(&o.Common, o.figure.name, shell.Object{"points", o.study.points}, o.study.rows(), files)
}

// form says how large the run is.
func (o *gridOptions) form() string {
	var sizes []string
	for _, s := range []struct {
		file, name string
		all        []int
	}{{o.faces, "GENKI", o.figure.faces}, {o.activities, "WISDM", o.figure.activities}} {
		chosen := s.all
		if !o.full {
			chosen = chosen[:min(2, len(chosen))]
		}
		switch {
		case s.file == "":
			sizes = append(sizes, "no "+s.name)
		case len(chosen) < len(s.all):
			sizes = append(sizes, fmt.Sprintf("%s with d = %s of %s", s.name, commas(chosen), commas(s.all)))
		default:
			sizes = append(sizes, fmt.Sprintf("%s with d = %s", s.name, commas(chosen)))
		}
	}
	return formOf(o.full, append(sizes, fmt.Sprintf("%d of 10 draws", o.runs), fmt.Sprintf("seed %d", o.seed))...)
}

// against says where the order of filters is not that of the paper, by more than what few draws and people explain.
func (o *gridOptions) against() (texts []string) {
	const far = 0.03
	for _, place := range o.study.points {
		if place.Filter != "minimax-pre" || place.Role != roleTarget {
			continue
		}
		same := which(o.study.points, func(p *minimaxPoint) bool {
			return p.Part == place.Part && noiseless(p.Epsilon) == noiseless(place.Epsilon)
		})
		where := place.Part + ", 1/epsilon = 0"
		if place.Epsilon != nil {
			where = fmt.Sprintf("%s, 1/epsilon = %g", place.Part, 1 / *place.Epsilon)
		}
		for _, p := range same {
			switch {
			case p.Role == roleTarget && p.Mean > max(place.Mean, p.Chance)+far:
				texts = append(texts, fmt.Sprintf("%s: target %.3f by %s, above the %.3f of minimax-pre, where the paper has the minimax filter best", where, p.Mean, p.Filter, place.Mean))
			case p.Role == rolePrivate && p.Filter == "minimax-pre" && p.Mean > p.Chance+2*far:
				texts = append(texts, fmt.Sprintf("%s: private %.3f by minimax-pre, where the paper has it at chance, %.3f here", where, p.Mean, p.Chance))
			}
		}
	}
	return texts
}

// noisyFilter is a filter with noise before or after it.
type noisyFilter struct {
	name   string
	encode func(encoder.Matrix) encoder.Matrix // into the unit ball
	after  func(encoder.Matrix) encoder.Matrix // what the server does with it
}

// splitFilters are the filters of a split.
type splitFilters struct {
	train, test minimax.Data
	filters     []noisyFilter
}

// grid has the column of a data set and a number of coordinates: a piece of work for each run.
func (o *gridOptions) grid(d *minimaxData, faces bool, coordinates int) (pieces []piece[[]scored]) {
	name := map[bool]string{true: "GENKI", false: "WISDM"}[faces]
	part := fmt.Sprintf("%s, d = %d", name, coordinates)
	var lock sync.Mutex
	var first *splitFilters // the split of faces is given, and so are their filters
	filters := func(ctx context.Context, run int) (*splitFilters, error) {
		if !faces {
			return o.filters(ctx, d, faces, coordinates, run)
		}
		lock.Lock()
		defer lock.Unlock()
		if first == nil {
			made, err := o.filters(ctx, d, faces, coordinates, 0)
			if err != nil {
				return nil, err
			}
			first = made
		}
		return first, nil
	}
	for run := range o.runs {
		pieces = append(pieces, piece[[]scored]{
			fmt.Sprintf("%s, run %d", part, run),
			func(ctx context.Context) ([]scored, error) {
				o.say(part + ", filters")
				f, err := filters(ctx, run)
				if err != nil {
					return nil, err
				}
				points, err := o.draws(ctx, f, minimaxPlace{Part: part, Coordinates: coordinates}, run)
				o.left.Add(-1)
				return points, err
			},
			o.study.addAll,
		})
	}
	return pieces
}

// say shows how many draws are done.
func (o *gridOptions) say(doing string) {
	o.line.Count(doing+"; draws done", o.all-int(o.left.Load()), o.all)
}

// filters trains the filters of a run.
func (o *gridOptions) filters(ctx context.Context, d *minimaxData, faces bool, coordinates, run int) (*splitFilters, error) {
	train, test, err := d.split(runSeed(o.seed, run))
	if err != nil {
		return nil, err
	}
	out := &splitFilters{train: train, test: test}
	for _, method := range []minimax.Method{minimax.PCA, minimax.Minimax} {
		r, err := minimax.Train(ctx, train, filterOptions(faces, o.full, method, min(coordinates, train.X.Cols), runSeed(o.seed, run)))
		if err != nil {
			return nil, err
		}
		whole, err := minimax.Train(ctx, train, minimax.Options{Method: minimax.Masked, Mask: slices.Repeat([]float64{1}, train.X.Cols)})
		if err != nil {
			return nil, err
		}
		pre, err := unitBall(ctx, r)
		if err != nil {
			return nil, err
		}
		post, err := unitBall(ctx, whole)
		if err != nil {
			return nil, err
		}
		same := func(x encoder.Matrix) encoder.Matrix { return x }
		out.filters = append(out.filters, noisyFilter{string(method) + "-pre", pre, same}, noisyFilter{string(method) + "-post", post, r.Encode})
	}
	return out, nil
}

// draws has the points of a run.
func (o *gridOptions) draws(ctx context.Context, s *splitFilters, place minimaxPlace, run int) (points []scored, err error) {
	for i, epsilon := range gridEpsilons {
		if place.Epsilon = nil; epsilon > 0 {
			place.Epsilon = &gridEpsilons[i]
		}
		o.say(fmt.Sprintf("%s, 1/ε %d of %d", place.Part, i+1, len(gridEpsilons)))
		for _, f := range s.filters {
			place.Filter = f.name
			random := encoders.Rand(runSeed(o.seed, run), fmt.Sprintf("noise of %s at %g", f.name, epsilon), place.Coordinates)
			codes := minimaxCodes{train: s.train, test: s.test}
			for _, part := range []struct {
				from encoder.Matrix
				to   *encoder.Matrix
			}{{s.train.X, &codes.trainCode}, {s.test.X, &codes.testCode}} {
				u := f.encode(part.from)
				addSpherical(u, epsilon, random)
				*part.to = f.after(u)
			}
			linear := []attack.Attacker{attack.Linear}
			made, err := o.study.guess(ctx, place, codes, linear, linear, run)
			if err != nil {
				return nil, err
			}
			points = append(points, made...)
		}
	}
	return points, nil
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
			p.Y.Min, p.Y.Max = 0, 1
			rows[i] = append(rows[i], p)
		}
	}
	return writeRows(w, rows, vg.Length(max(len(columns), 1))*9*vg.Centimeter, 16*vg.Centimeter)
}
