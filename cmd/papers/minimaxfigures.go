package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/attack"
	"github.com/noisewright/noisewright/cmd/internal/encoders/minimax"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/lp"
)

// minimaxFigure is a figure of the paper on minimax filters.
type minimaxFigure struct {
	name, short, about string
	faces              bool // the data: faces, or activities
	published          []string
	noisy              bool  // with noise; otherwise over the number of coordinates
	coordinates        []int // a quick run has the first
}

const (
	facesHelp = `The data is a CSV file with the columns split (train or test), expression, gender and
pixels: the GENKI images in the form of the authors' program. The target is the
expression, the private class the gender.`
	activitiesHelp = `The data is WISDM v1.1, transformed (Kwapisz, Weiss and Moore, 2010), a CSV file with
the columns user, class and features. IT STANDS IN for the motion data of the paper,
whose numbers it cannot match. The target is the activity, the private class the
person, of 15 chosen at random in each run; half of each one's rows are learned from.`
)

var minimaxFigures = []minimaxFigure{
	{
		name: "minimax-figure4", faces: true, coordinates: []int{10, 20, 50, 100},
		short: "Figure 4 of Hamm (2017): filters of faces, expression against gender",
		about: "Learn filters of 10, 20, 50 and 100 coordinates, and guess from what they let through.",
		published: []string{
			"raw features .90 target, .90 private; private of the minimax filter \"almost chance (0.5)\"; the figure has no printed numbers",
			"authors' program, 10 coordinates, target/private: random .705/.705, pca .840/.665, ppls .850/.685, minimax .825/.520, minimax network .875/.655",
		},
	},
	{
		name: "minimax-figure6", coordinates: []int{10, 20},
		short: "Figure 6 of Hamm (2017) on other data: activity against person",
		about: "Learn filters of 10 and 20 coordinates, and guess from what they let through.",
		published: []string{
			"on the paper's data, not these: raw features .97 target, .70 private, chance .167 and .067; private of the minimax filter near .07",
		},
	},
	{
		name: "minimax-figure7", faces: true, noisy: true, coordinates: []int{20},
		short: "Figure 7 of Hamm (2017): filters of faces with noise",
		about: noisyAbout,
		published: []string{
			"no printed numbers: noise after the filter (pre) better than before (post), the minimax filter best, its private accuracy at chance",
		},
	},
	{
		name: "minimax-figure8", noisy: true, coordinates: []int{10},
		short: "Figure 8 of Hamm (2017) on other data: filters of activities with noise",
		about: noisyAbout,
		published: []string{
			"no printed numbers, and other data: noise after the filter (pre) better than before (post)",
		},
	},
}

const noisyAbout = `Add noise of the density exp(-epsilon |x|/2) to vectors in the unit ball (eq. 80): to
what a filter lets through (pre) or to the features (post). Outputs are bounded as in
the paper, by the largest norm of the training data, by the tangent of the norm, or all
to norm 1, and as this project does: around their mean, by a quantile of their norms.
Beside that, filters of one and two coordinates with designed, Laplace and spherical
noise: few coordinates are what noise of a useful epsilon leaves something of.`

// minimaxOptions are those of a figure.
type minimaxOptions struct {
	shell.Common
	figure minimaxFigure
	data   string
	mask   string // CSV file of DDD, or ""
	full   bool
	runs   int
	design lp.Options

	line  *shell.Progress
	study minimaxStudy
}

func newMinimaxFigureCommand(s *shell.Streams, v minimaxFigure) *cobra.Command {
	o := &minimaxOptions{Common: shell.Common{Streams: s}, figure: v, runs: 1, design: designOptions(0.01)}
	help, file := activitiesHelp, "wisdm_transformed.csv.gz"
	if v.faces {
		help, file = facesHelp, "genki.csv.gz"
	}
	return command(&o.Common, v.name, "--data "+file, v.short, v.about+`

A filter hides the private class from the attacker of its training, which is linear. So
the private class is also guessed by attackers that it was not trained against. Only
noise is a guarantee.

`+help+`

The paper is Hamm, "Minimax Filter: Learning to Preserve Privacy from Inference Attacks"
(JMLR 18, 2017). Written are `+v.name+`.csv, the mean and the standard deviation over
the runs, and `+v.name+`.svg. A quick run is the first part of the full one.`, o.run, func(f *shell.Flags) {
		f.File(&o.data, "data", "CSV file of the data, perhaps compressed with gzip", "csv", "gz")
		f.Require(&o.data, "data", "a CSV file; papers "+v.name+" --help says which")
		if v.faces && !v.noisy {
			f.File(&o.mask, "mask", "CSV file of a column theta, a factor for each pixel: the filter DDD of the authors' program", "csv", "gz")
		}
		f.Bool(&o.full, "full", "all numbers of coordinates, all epsilons, all attackers (minutes)")
		f.Integer(&o.runs, "runs", "", 1, 100, "runs, each with its own start, split and noise; with --full at least 5, or 10 of noise")
	})
}

func (o *minimaxOptions) run(ctx context.Context) error {
	target, private, split, about := "class", "user", "", "WISDM, in the place of the motion data of the paper"
	if o.figure.faces {
		target, private, split, about = "expression", "gender", "split", "GENKI"
	}
	data, err := readMinimax(o.Streams, o.data, target, private, split)
	if err != nil {
		return err
	}
	do, panels := o.dimensions, dimensionPanels()
	if o.figure.noisy {
		do, panels = o.noisy, noisyPanels()
	}
	files, err := produce(&o.Common, func(line *shell.Progress) error {
		o.line = line
		return shell.LatentFailure(do(ctx, data))
	}, output{o.figure.name, o.study.records, func(w io.Writer) error { return o.study.draw(w, panels) }})
	if err != nil {
		return err
	}
	body := struct {
		Data      string          `json:"data"`
		Published []string        `json:"published"`
		Points    []*minimaxPoint `json:"points"`
	}{about, o.figure.published, o.study.points}
	rows := slices.Concat([]shell.Row{{"data", about}}, o.study.rows(), publishedRows(o.figure.published))
	return report(&o.Common, o.figure.name, body, rows, files)
}

// count is the number of runs.
func (o *minimaxOptions) count(full int) int {
	if o.full {
		return max(full, o.runs)
	}
	return o.runs
}

// parts returns the people to learn from and to test in a run.
func (o *minimaxOptions) parts(d *minimaxData, run int) (train, test minimax.Data, err error) {
	if o.figure.faces {
		return d.given()
	}
	const people = 15
	train, test, err = d.halved(people, encoders.Rand(uint64(run), "people", 0)) //nolint:gosec // not negative
	if err == nil {
		standardize(train.X, test.X)
	}
	return train, test, err
}

// minimaxFilters are the filters of the figures without noise.
var minimaxFilters = []struct {
	name   string
	method minimax.Method
	hidden []int
	random bool // learned anew in each run of the same data
}{
	{"minimax", minimax.Minimax, nil, true},
	{"minimax network", minimax.Minimax, []int{20}, false}, // takes long
	{"closed form", minimax.ClosedForm, nil, false},
	{"privacy lds", minimax.LDS, nil, false},
	{"ppls", minimax.PPLS, nil, false},
	{"pca", minimax.PCA, nil, false},
	{"random", minimax.Random, nil, true},
}

// options are those of a training on the data of the figure.
func (o *minimaxOptions) options(method minimax.Method, coordinates, run int) minimax.Options {
	out := minimax.Options{Method: method, Coordinates: coordinates}
	out.Seed = uint64(run) //nolint:gosec // not negative
	if o.figure.faces {
		out.Rho, out.NoIntercept = 10, true // as the paper
	} else {
		out.Rho = 1
		if o.full {
			// The best of three starts: with 15 classes to hide an alternation may end at a
			// filter that hides few.
			out.Starts = 3
		}
	}
	return out
}

// dimensions is a figure over the number of coordinates.
func (o *minimaxOptions) dimensions(ctx context.Context, d *minimaxData) error {
	coordinates := o.figure.coordinates
	if !o.full {
		coordinates = coordinates[:1]
	}
	runs := o.count(5)
	for run := range runs {
		train, test, err := o.parts(d, run)
		if err != nil {
			return err
		}
		private := attack.Attackers()
		if run > 0 { // the one of kernels takes as long as all else
			private = slices.DeleteFunc(private, func(a attack.Attacker) bool { return a == attack.RBF })
		}
		for _, z := range coordinates {
			z = min(z, train.X.Cols)
			for i, f := range minimaxFilters {
				if run > 0 && o.figure.faces && !f.random {
					continue
				}
				o.line.Count(fmt.Sprintf("run %d of %d, %d coordinates, filters", run+1, runs, z), i, len(minimaxFilters))
				options := o.options(f.method, z, run)
				if options.Hidden = f.hidden; f.hidden != nil {
					options.Starts = 1
				}
				r, err := minimax.Train(ctx, train, options)
				if err != nil {
					return err
				}
				codes := minimaxCodes{train, test, r.Encode(train.X), r.Encode(test.X)}
				if err := o.study.score(ctx, minimaxPlace{Part: "coordinates", Filter: f.name, Coordinates: z}, codes, []attack.Attacker{attack.Plain, attack.Linear}, private, run); err != nil {
					return err
				}
			}
		}
		if run == 0 || !o.figure.faces {
			if err := o.features(ctx, train, test); err != nil {
				return err
			}
		}
	}
	return nil
}

// features scores what is told from all features, as they are and behind a mask.
func (o *minimaxOptions) features(ctx context.Context, train, test minimax.Data) error {
	p := minimaxPlace{Part: "features", Filter: "none", Coordinates: train.X.Cols}
	linear := []attack.Attacker{attack.Plain, attack.Linear}
	if err := o.study.score(ctx, p, minimaxCodes{train, test, train.X, test.X}, linear, linear, 0); err != nil || o.mask == "" {
		return err
	}
	theta, err := o.ReadNamed(o.mask, csvfile.Options{}, []string{"theta"})
	if err != nil {
		return err
	}
	r, err := minimax.Train(ctx, train, minimax.Options{Method: minimax.Masked, Mask: theta.Data, Coordinates: train.X.Cols})
	if err != nil {
		return err
	}
	p.Filter = "ddd mask"
	return o.study.score(ctx, p, minimaxCodes{train, test, r.Encode(train.X), r.Encode(test.X)}, linear, append(linear, attack.MLP), 0)
}

// dimensionPanels are those of a figure over the number of coordinates.
func dimensionPanels() (out []minimaxPanel) {
	for _, p := range []struct {
		title, role string
		attacker    attack.Attacker
	}{
		{"target, linear classifier", roleTarget, attack.Linear},
		{"private, linear attacker of the paper", rolePrivate, attack.Plain},
		{"private, linear attacker", rolePrivate, attack.Linear},
		{"private, network as attacker", rolePrivate, attack.MLP},
		{"private, kernel attacker", rolePrivate, attack.RBF},
	} {
		out = append(out, minimaxPanel{
			title: p.title, part: "coordinates", role: p.role, attacker: p.attacker,
			x: "coordinates", at: func(p *minimaxPoint) float64 { return float64(p.Coordinates) },
		})
	}
	return out
}
