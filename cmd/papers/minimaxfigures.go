// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/attack"
	"github.com/noisewright/noisewright/cmd/internal/encoders/minimax"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
)

type minimaxFigure struct {
	name, short string
	said        said
	faces       bool  // the data: faces, or activities
	noisy       bool  // with noise; otherwise over the number of coordinates
	coordinates []int // of filters; networks, as filters and attackers, have the first alone in a quick run
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
		said: said{
			caption: `Accuracy of the expression against that of the gender, told from what each filter of 10, 20, 50 or 100
coordinates lets through, a point for each; beside them all features as they are, and behind the mask of DDD`,
			differs: `the split is that of the authors' file, with 200 faces to test, where the paper says 100; the alternation has 60
steps, the authors' program 10; attackers that the paper has not are a linear one that standardizes, a network (mlp) and random features
of a Gaussian kernel (rbf)`,
			published: []string{
				"raw features .90 target, .90 private; private of the minimax filter \"almost chance (0.5)\", DDD close to it; the figure has no printed numbers",
				"authors' program, 10 coordinates, target/private: random .705/.705, pca .840/.665, ppls .850/.685, minimax .825/.520, minimax network .875/.655",
			},
		},
	},
	{
		name: "minimax-figure6", coordinates: []int{10, 20},
		short: "Figure 6 of Hamm (2017) on other data: activity against person",
		said: said{
			caption: `Accuracy of the activity against that of the person, told from what each filter of 10 or 20 coordinates
lets through, a point for each, and from all features`,
			differs: "WISDM stands in for the motion data of the paper (HAR), so no number can be compared; attackers that the paper has not are a linear one that standardizes, a network (mlp) and random features of a Gaussian kernel (rbf)",
			published: []string{
				"on the paper's data, not these: raw features .97 target, .70 private, chance .167 and .067; private of the minimax filter near .07",
			},
		},
	},
	{
		name: "minimax-noise-faces", faces: true, noisy: true, coordinates: []int{20},
		short: "Ours, beside Figure 7 of Hamm (2017): filters of faces with noise, bounded in other ways and of few coordinates",
		said:  noisySaid,
	},
	{
		name: "minimax-noise-activities", noisy: true, coordinates: []int{10},
		short: "Ours, beside Figure 8 of Hamm (2017): filters of activities with noise, bounded in other ways and of few coordinates",
		said:  noisySaid,
	},
}

var noisySaid = said{
	caption: `Filters with noise of the density exp(-epsilon |x|/2) added to vectors in the unit ball (eq. 80): to what a filter
lets through (pre) or to the features (post). Outputs are bounded as in the paper, by the largest norm of the training data, by the
tangent of the norm, or all to norm 1, and as this project does: around their mean, by a quantile of their norms. Beside that, filters
of one and two coordinates with designed, Laplace and spherical noise: few coordinates are what noise of a useful epsilon leaves
something of`,
	differs: "the paper has no such figure",
}

type minimaxOptions struct {
	shell.Common
	figure minimaxFigure
	data   string
	mask   string // CSV file of DDD, or ""
	full   bool
	runs   int
	seed   uint64
	design lp.Options

	line  *shell.Progress
	study minimaxStudy
}

func newMinimaxFigureCommand(s *shell.Streams, v minimaxFigure) *cobra.Command {
	o := &minimaxOptions{Common: shell.Common{Streams: s}, figure: v, runs: 1, design: designOptions(0.01)}
	help, example := activitiesHelp, "--data wisdm_transformed.csv.gz"
	if v.faces {
		help, example = facesHelp, "--data genki.csv.gz"
	}
	if v.masked() {
		example += " --mask genki_ddd_mask.csv"
	}
	return paperCommand(&o.Common, v.name, example, v.short, v.said, `A filter hides the private class from the attacker of its training, which is linear. So
the private class is also guessed by attackers that it was not trained against, in a
panel of their own. Only noise is a guarantee.

`+help+`

The paper is Hamm, "Minimax Filter: Learning to Preserve Privacy from Inference Attacks"
(JMLR 18, 2017). Written are `+v.name+`.csv, the mean and the standard deviation over
the runs, and `+v.name+`.svg. A quick run is a part of the full one.`, o.run, func(f *shell.Flags) {
		f.File(&o.data, "data", "CSV file of the data, perhaps compressed with gzip", "csv", "gz")
		f.Require(&o.data, "data", "a CSV file; papers "+v.name+" --help says which")
		if v.masked() {
			f.File(&o.mask, "mask", "CSV file of a column theta, a factor for each pixel: the filter DDD of the authors' program", "csv", "gz")
		}
		f.Bool(&o.full, "full", "all epsilons, networks with all numbers of coordinates (minutes)")
		f.Integer(&o.runs, "runs", "", 1, 100, "runs, each with its own start, split and noise; with --full at least 5, or 10 of noise")
		seedFlag(f, &o.seed)
	})
}

// masked says that the figure has the mask of DDD.
func (v minimaxFigure) masked() bool { return v.faces && !v.noisy }

func (o *minimaxOptions) run(ctx context.Context) error {
	about := aboutPeople[o.figure.faces]
	data, err := readMinimax(o.Streams, o.data, o.figure.faces)
	if err != nil {
		return err
	}
	do, draw := o.dimensions, o.study.drawAgainst
	if o.figure.noisy {
		do, draw = o.noisy, func(w io.Writer) error { return o.study.draw(w, noisyPanels()) }
	}
	o.study.seed = o.seed
	files, err := produce(&o.Common, func(line *shell.Progress) error {
		o.line = line
		return shell.LatentFailure(do(ctx, data))
	}, output{o.figure.name, o.study.records, draw})
	if err != nil {
		return err
	}
	says := o.figure.said
	says.form, says.against = o.form(), o.against()
	rows := append([]shell.Row{{"data", about}}, o.study.rows()...)
	if o.figure.masked() && o.mask == "" {
		rows = append(rows, shell.Row{"ddd mask", "not drawn: no --mask"})
	}
	return says.print(&o.Common, o.figure.name, shell.Object{"data", about, "points", o.study.points}, rows, files)
}

// form says how large the run is.
func (o *minimaxOptions) form() string {
	seed := fmt.Sprintf("seed %d", o.seed)
	if o.figure.noisy {
		return formOf(o.full, fmt.Sprintf("d = %s", commas(o.figure.coordinates)), fmt.Sprintf("%d of 10 runs of the noise", o.count(10)), seed)
	}
	sizes := []string{fmt.Sprintf("d = %s", commas(o.figure.coordinates)), fmt.Sprintf("%d of 5 runs", o.count(5)), seed}
	if !o.full {
		sizes = append(sizes, fmt.Sprintf("networks, as filters and attackers, and rbf at d = %d alone", o.figure.coordinates[0]))
	}
	return formOf(o.full, append(sizes, "all features are guessed by plain and linear attackers alone")...)
}

// against says where the points are against the paper.
func (o *minimaxOptions) against() (texts []string) {
	if o.figure.noisy {
		return nil
	}
	value := func(filter, role string, a attack.Attacker) (float64, float64) {
		i := slices.IndexFunc(o.study.points, func(p *minimaxPoint) bool { return p.Filter == filter && p.Role == role && p.Attacker == a })
		if i < 0 {
			return math.NaN(), math.NaN()
		}
		return o.study.points[i].Mean, o.study.points[i].Chance
	}
	const near = 0.03
	minimaxLinear, chance := value("minimax", rolePrivate, attack.Linear)
	if minimaxLinear > chance+2*near {
		texts = append(texts, fmt.Sprintf("private of the minimax filter %.3f by a linear attacker, where the paper has it almost at chance, %.3f here", minimaxLinear, chance))
	}
	if !o.figure.faces {
		return texts
	}
	target, _ := value(noFilter, roleTarget, attack.Plain)
	private, _ := value(noFilter, rolePrivate, attack.Plain)
	if math.Abs(target-0.9) > near || math.Abs(private-0.9) > near {
		texts = append(texts, fmt.Sprintf("raw features %.3f target, %.3f private, where the paper has .90 of both", target, private))
	}
	masked, _ := value(maskFilter, rolePrivate, attack.Linear)
	if network, _ := value(maskFilter, rolePrivate, attack.MLP); masked > minimaxLinear+2*near || network > minimaxLinear+2*near {
		texts = append(texts, fmt.Sprintf("private of DDD %.3f by a linear attacker that standardizes and %.3f by a network, where the paper has DDD close to the minimax filter, here %.3f", masked, network, minimaxLinear))
	}
	return texts
}

func (o *minimaxOptions) count(full int) int {
	if o.full {
		return max(full, o.runs)
	}
	return o.runs
}

// split returns the people to learn from and to test in a run.
func (d *minimaxData) split(seed uint64) (train, test minimax.Data, err error) {
	if d.parts != nil {
		return d.given()
	}
	const people = 15
	train, test, err = d.halved(people, encoders.Rand(seed, "people", 0))
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

func (o *minimaxOptions) options(method minimax.Method, coordinates, run int) minimax.Options {
	return filterOptions(o.figure.faces, o.full, method, coordinates, runSeed(o.seed, run))
}

func filterOptions(faces, full bool, method minimax.Method, coordinates int, seed uint64) minimax.Options {
	out := minimax.Options{Method: method, Coordinates: coordinates}
	out.Seed = seed
	if faces {
		out.Rho, out.NoIntercept = 10, true // as the paper
	} else {
		out.Rho = 1
		if full {
			// Of three starts: with 15 classes an alternation may end at a filter that hides few.
			out.Starts = 3
		}
	}
	return out
}

func (o *minimaxOptions) dimensions(ctx context.Context, d *minimaxData) error {
	runs := o.count(5)
	for run := range runs {
		train, test, err := d.split(runSeed(o.seed, run))
		if err != nil {
			return err
		}
		for k, z := range o.figure.coordinates {
			z = min(z, train.X.Cols)
			private := attack.Attackers()
			if few := !o.full && k > 0; few || run > 0 { // the one of kernels takes as long as all else
				private = slices.DeleteFunc(private, func(a attack.Attacker) bool { return a == attack.RBF || few && a == attack.MLP })
			}
			for i, f := range minimaxFilters {
				if run > 0 && o.figure.faces && !f.random || !o.full && k > 0 && f.hidden != nil {
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
				if err := o.study.score(ctx, minimaxPlace{Part: partCoordinates, Filter: f.name, Coordinates: z}, codes, []attack.Attacker{attack.Plain, attack.Linear}, private, run); err != nil {
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

// partCoordinates is the part of filters, and not of all features.
const partCoordinates = "coordinates"

// Filters of all features.
const noFilter, maskFilter = "none", "ddd mask"

// features scores what is told from all features, as they are and behind a mask.
func (o *minimaxOptions) features(ctx context.Context, train, test minimax.Data) error {
	p := minimaxPlace{Part: "features", Filter: noFilter, Coordinates: train.X.Cols}
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
	p.Filter = maskFilter
	return o.study.score(ctx, p, minimaxCodes{train, test, r.Encode(train.X), r.Encode(test.X)}, linear, append(linear, attack.MLP), 0)
}

// The parts of a figure with noise.
const (
	partVectors = "vectors"         // noise of vectors, as in the paper
	partFew     = "few coordinates" // noise of a useful ε
)

// The ε of the two parts. The paper's begin at 1000, of which there is no promise here.
var (
	vectorEpsilons = []float64{100, 30, 10}
	fewEpsilons    = []float64{1, 2, 3, 5, 10}
)

const fewDelta = 1e-6

// The shares of the training data that are within the body around the mean: of the norms
// of many coordinates, and of each of few.
const (
	manyClip = 0.9
	fewClip  = 0.5
)

// fewSteps are those of a training of few coordinates: they cost little, and all counts.
const fewSteps = 200

// bounding is one of the paper's ways to get outputs into the unit ball, of which the first is
// the body's: divided by the largest norm, and clipped.
type bounding struct {
	name  string
	scale func(norm, typical float64) float64 // of a vector of that norm; nil: nothing
}

var boundings = []bounding{
	{"", nil},
	{", tangent of norm", func(norm, typical float64) float64 { return math.Tanh(norm/typical) / norm }},
	{", norm 1", func(norm, _ float64) float64 { return 1 / norm }},
}

func (o *minimaxOptions) noisy(ctx context.Context, d *minimaxData) error {
	train, test, err := d.split(runSeed(o.seed, 0))
	if err != nil {
		return err
	}
	if err := o.vectors(ctx, train, test); err != nil {
		return err
	}
	return o.few(ctx, train, test)
}

// vectors adds noise to vectors of the paper's filters.
func (o *minimaxOptions) vectors(ctx context.Context, train, test minimax.Data) error {
	epsilons := vectorEpsilons
	if !o.full {
		epsilons = []float64{100}
	}
	z := min(o.figure.coordinates[0], train.X.Cols)
	for _, method := range []minimax.Method{minimax.Minimax, minimax.PCA} {
		r, err := minimax.Train(ctx, train, o.options(method, z, 0))
		if err != nil {
			return err
		}
		codes := minimaxCodes{train, test, r.Encode(train.X), r.Encode(test.X)}
		if err := o.guess(ctx, minimaxPlace{Part: "no noise", Filter: string(method), Coordinates: z}, codes, 0); err != nil {
			return err
		}
		for i, epsilon := range epsilons {
			o.line.Count(fmt.Sprintf("noise for the filter %s, epsilons", method), i, len(epsilons))
			p := minimaxPlace{Part: partVectors, Coordinates: z, Epsilon: &epsilons[i]}
			if err := o.before(ctx, p, method, train, test, r, epsilon); err != nil {
				return err
			}
			if err := o.after(ctx, p, method, train, test, r, epsilon); err != nil {
				return err
			}
		}
	}
	return nil
}

// before adds noise to the features, and filters them on the server.
func (o *minimaxOptions) before(ctx context.Context, p minimaxPlace, method minimax.Method, train, test minimax.Data, r *minimax.Result, epsilon float64) error {
	whole, err := minimax.Train(ctx, train, minimax.Options{Method: minimax.Masked, Mask: slices.Repeat([]float64{1}, train.X.Cols)})
	if err != nil {
		return err
	}
	n, err := whole.AddNoise(ctx, minimax.NoiseOptions{Kind: bundle.Spherical, Promise: bundle.Promise{Epsilon: epsilon}, AroundZero: true})
	if err != nil {
		return err
	}
	p.Filter = string(method) + " post"
	return o.guesses(ctx, p, "noise of features", train, test, func(x encoder.Matrix, random *rand.Rand) encoder.Matrix {
		return r.Encode(n.Release(x, random))
	})
}

// after filters the features and adds noise, with each way of bounding.
func (o *minimaxOptions) after(ctx context.Context, p minimaxPlace, method minimax.Method, train, test minimax.Data, r *minimax.Result, epsilon float64) error {
	noise := minimax.NoiseOptions{Kind: bundle.Spherical, Promise: bundle.Promise{Epsilon: epsilon}}
	centered := noise
	centered.Clip = manyClip
	noise.AroundZero = true
	for _, v := range []struct {
		noise minimax.NoiseOptions
		bounding
	}{{noise, boundings[0]}, {noise, boundings[1]}, {noise, boundings[2]}, {centered, bounding{name: ", around the mean"}}} {
		if v.scale != nil && (method != minimax.Minimax || !o.full) {
			continue
		}
		n, err := r.AddNoise(ctx, v.noise)
		if err != nil {
			return err
		}
		p.Filter = string(method) + " pre" + v.name
		if err := o.guesses(ctx, p, "noise of codes", train, test, func(x encoder.Matrix, random *rand.Rand) encoder.Matrix {
			u := n.Encode(x)
			if v.scale != nil {
				v.apply(u)
			}
			n.Noise.Release(u.Data, u.Data, random)
			return u
		}); err != nil {
			return err
		}
	}
	return nil
}

// apply scales rows within the unit ball, in place. What is typical is public: half the radius.
func (b bounding) apply(u encoder.Matrix) {
	const typical = 0.5
	for i := range u.Rows {
		row := u.Data[i*u.Stride:][:u.Cols]
		norm := 0.0
		for _, v := range row {
			norm = math.Hypot(norm, v)
		}
		if norm == 0 {
			continue
		}
		s := b.scale(norm, typical)
		for j := range row {
			row[j] *= s
		}
	}
}

// guess scores a run: by linear attackers, and in the first run by a network too.
func (o *minimaxOptions) guess(ctx context.Context, p minimaxPlace, c minimaxCodes, run int) error {
	private := []attack.Attacker{attack.Linear}
	if run == 0 {
		private = append(private, attack.MLP)
	}
	return o.study.score(ctx, p, c, private[:1], private, run)
}

// guesses scores runs of noise, which release draws.
func (o *minimaxOptions) guesses(ctx context.Context, p minimaxPlace, purpose string, train, test minimax.Data, release func(encoder.Matrix, *rand.Rand) encoder.Matrix) error {
	for run := range o.count(10) {
		random := encoders.Rand(runSeed(o.seed, run), purpose, 0)
		a := release(train.X, random)
		if err := o.guess(ctx, p, minimaxCodes{train, test, a, release(test.X, random)}, run); err != nil {
			return err
		}
	}
	return nil
}

// few adds noise of a useful ε to few coordinates.
func (o *minimaxOptions) few(ctx context.Context, train, test minimax.Data) error {
	epsilons := fewEpsilons
	if !o.full {
		epsilons = []float64{5, 10}
	}
	for _, z := range []int{1, 2} {
		options := o.options(minimax.Minimax, z, 0)
		if o.full || o.figure.faces {
			options.Steps = fewSteps
		}
		r, err := minimax.Train(ctx, train, options)
		if err != nil {
			return err
		}
		for _, kind := range []bundle.Kind{bundle.Designed, noise.Laplace, bundle.Spherical} {
			for i, epsilon := range epsilons {
				o.line.Count(fmt.Sprintf("%d coordinates with %s noise, epsilons", z, kind), i, len(epsilons))
				p := minimaxPlace{Part: partFew, Filter: fmt.Sprintf("%s, d = %d", kind, z), Coordinates: z, Epsilon: &epsilons[i]}
				if err := o.draws(ctx, p, kind, epsilon, train, test, r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (o *minimaxOptions) draws(ctx context.Context, p minimaxPlace, kind bundle.Kind, epsilon float64, train, test minimax.Data, r *minimax.Result) error {
	promise := bundle.Promise{Epsilon: epsilon}
	if kind == bundle.Designed {
		promise.Delta = fewDelta
	}
	noise := minimax.NoiseOptions{Kind: kind, Promise: promise, Clip: fewClip, Domain: bundle.Box, Design: shell.Designs(o.design)}
	if kind != bundle.Designed {
		noise.Domain = "" // what suits it
	}
	n, err := r.AddNoise(ctx, noise)
	if err != nil {
		return err
	}
	return o.guesses(ctx, p, "noise of few", train, test, n.Release)
}

func noisyPanels() []minimaxPanel {
	inverse, ratios := func(p *minimaxPoint) float64 { return math.Log10(1 / noiseless(p.Epsilon)) }, plot.TickerFunc(ratioTicks)
	return []minimaxPanel{
		{"target, linear classifier", partVectors, roleTarget, attack.Linear, "1/ε", inverse, ratios},
		{"private, linear attacker", partVectors, rolePrivate, attack.Linear, "1/ε", inverse, ratios},
		{"private, network as attacker", partVectors, rolePrivate, attack.MLP, "1/ε", inverse, ratios},
		{"few coordinates: target", partFew, roleTarget, attack.Linear, "ε", func(p *minimaxPoint) float64 { return noiseless(p.Epsilon) }, nil},
	}
}
