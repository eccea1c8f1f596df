// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/taskaware"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/noise"
)

// protocolPromised promises to everybody: encodings clipped to a body, with noise for it.
const protocolPromised = "promised"

// taDelta is the δ of protocolPromised.
const taDelta = 1e-6

// taSetting is how a data set is treated in a figure.
type taSetting struct {
	data        string // word
	hidden      bool   // encoders and decoders have a hidden layer
	decay       float64
	task        taskaware.TaskOptions
	coordinates []int
	epochs      int // of --full
	// epsilons are those of each protocol, and quick those of all without --full.
	epsilons map[string][]float64
	quick    []float64
	batch    int
	inner    int
	// approaches but for task-aware under the schedule; nil means both
	than []taskaware.Approach
	// coordinates that protocolPromised tries with Laplace noise; nil: 1 to 3, and noise in a box
	tried    []int
	restarts int // of protocolPromised; 0 means as usual
	// Runs differ in the split too, but for one: as promised, breast cancer.
	splits bool
}

// The data sets of the figures, as flags name them.
const (
	realEstate   = "real estate"
	breastCancer = "breast cancer"
	handwritten  = "MNIST"
)

var (
	realEstateSetting = taSetting{
		data: realEstate, decay: 0.2, task: taskaware.TaskOptions{Hidden: []int{9}, ReLU: true, Steps: 5000}, coordinates: []int{3},
		epochs: 2000, epsilons: allOf([]float64{1, 1.5, 3, 5, 10, 30}), quick: []float64{10},
	}
	breastCancerSetting = taSetting{
		data: breastCancer, hidden: true, decay: 0.001, task: taskaware.TaskOptions{Hidden: []int{45}, ReLU: true, Steps: 4000}, coordinates: []int{3},
		epochs: 1000, quick: []float64{20}, splits: true, epsilons: map[string][]float64{
			protocolPublished: {20}, protocolFormula: {5, 7, 10, 20, 35, 50, 100}, protocolPromised: {2, 5, 10, 20, 50},
		},
	}
)

// allOf has the same epsilons for each protocol.
func allOf(epsilons []float64) map[string][]float64 {
	return map[string][]float64{protocolPublished: epsilons, protocolFormula: epsilons, protocolPromised: epsilons}
}

type taFigure struct {
	name, short, about string
	protocols          []string
	settings           func() []taSetting
	published          map[string]string // by data set
}

type taTrainedOptions struct {
	shell.Common
	figure                   taFigure
	realEstate, wdbc, digits string // files, and a folder
	full                     bool
	runs, epochs, steps      int
	epsilons                 []float64
	protocol                 string
	cache                    string
	design                   lp.Options
	line                     *shell.Progress
	tables                   encoder.Design
	study                    taStudy
	done, total              int
}

func newTATrainedCommand(s *shell.Streams, v taFigure) *cobra.Command {
	o := &taTrainedOptions{Common: shell.Common{Streams: s}, figure: v, protocol: allProtocols, design: designOptions(0.005)}
	o.design.TimeLimit = 20 * time.Second
	digits := v.name == taFigure8.name
	example := "--wdbc wdbc.csv --real-estate valuation.csv"
	if digits {
		example = "--mnist mnist"
	}
	return command(&o.Common, v.name, example, v.short, v.about+`

Protocols:

  published  the schedule of the authors' program, with its noise: sqrt 2 too small,
             for the sensitivity that the sample shows; NO GUARANTEE
  formula    the same with the noise of the paper's formula, of scale D/epsilon;
             NO GUARANTEE either, as D is that of the sample
  promised   encodings clipped to a declared body, fresh noise at every step, the head
             trained with it, delta 1e-6: true for everybody. Task-aware is the best of
             several noises and numbers of coordinates on people held out; the other
             approaches are clipped too, with Laplace noise in the l1 ball.

The paper is Cheng, Tang and Chinchali, "Task-aware privacy preservation for
multi-dimensional data" (2022). Losses are means over test people and 200 draws of
their noise; bars and ± are standard deviations over runs. Written are `+v.name+`.csv
and `+v.name+`.svg. Quick runs have few epsilons and, in the first two protocols,
40 epochs (images 3): far from converged. Only --full is comparable with the paper.`, o.run, func(f *shell.Flags) {
		f.Effort(&o.design, " of one table")
		if digits {
			f.Directory(&o.digits, "mnist", mnistFolder)
			f.Require(&o.digits, "mnist", "a "+mnistFolder)
		} else {
			f.File(&o.realEstate, "real-estate", "CSV file \"Real estate valuation\" of the UCI Machine Learning Repository", "csv", "gz")
			f.File(&o.wdbc, "wdbc", "CSV file \"Breast Cancer Wisconsin (Diagnostic)\" of the same, with a column diagnosis", "csv", "gz")
			f.Check(func() error {
				if o.realEstate == "" && o.wdbc == "" {
					return errors.New("real-estate and wdbc are missing, want at least one of them, a CSV file of the UCI Machine Learning Repository")
				}
				return nil
			})
		}
		f.Bool(&o.full, "full", "all epsilons, 2000 epochs (breast cancer 1000, images 10), 3 runs")
		count(f, &o.runs, "runs", "runs, each with its own seed (default: 1, with --full 3)")
		count(f, &o.epochs, "epochs", "epochs of the schedule (default: 40, of images 3; see --full)")
		count(f, &o.steps, "steps", "steps of a restart in the protocol promised (default: 400)")
		f.Func("epsilon", "numbers", "", "only these epsilons, separated by commas", func(text string) error {
			o.epsilons = nil
			for part := range strings.SplitSeq(text, ",") {
				v, err := strconv.ParseFloat(part, 64)
				if err != nil || !(v > 0 && v <= 100) {
					return shell.Want("numbers above 0, at most 100, separated by commas")
				}
				o.epsilons = append(o.epsilons, v)
			}
			return nil
		})
		f.Word(&o.protocol, "protocol", "word", "one protocol, or all: published, formula, promised", allProtocols, protocolPublished, protocolFormula, protocolPromised)
		f.Directory(&o.cache, "cache", cacheUsage)
	})
}

func count(f *shell.Flags, p *int, name, usage string) {
	f.Func(name, "count", "", usage, func(text string) error {
		v, ok := shell.ParseCount(text)
		if !ok || v < 1 || v > 1e6 {
			return shell.Want("an integer from 1 to 1000000")
		}
		*p = v
		return nil
	})
}

// allProtocols is --protocol for all.
const allProtocols = "all"

func (o *taTrainedOptions) run(ctx context.Context) error {
	settings := o.settings()
	if highs.Version() != "" {
		store, err := shell.NewStore(o.Streams, o.cache, o.design)
		if err != nil {
			return err
		}
		o.tables = store.Get
	}
	files, err := produce(&o.Common, func(line *shell.Progress) error {
		o.line = line
		for _, s := range settings {
			if err := o.evaluate(ctx, &s); err != nil {
				return shell.LatentFailure(err)
			}
		}
		return nil
	}, output{o.figure.name, o.study.records, o.study.draw})
	if err != nil {
		return err
	}
	body := taTrainedReport{o.study.improvements(), o.study.points}
	return report(&o.Common, o.figure.name, body, body.rows(o.figure.published), files)
}

func (o *taTrainedOptions) settings() (out []taSetting) {
	if o.runs == 0 {
		o.runs = map[bool]int{true: 3, false: 1}[o.full]
	}
	for _, s := range o.figure.settings() {
		if map[string]string{realEstate: o.realEstate, breastCancer: o.wdbc, handwritten: o.digits}[s.data] == "" {
			continue
		}
		if !o.full {
			s.epsilons = allOf(s.quick)
		}
		if len(o.epsilons) > 0 {
			s.epsilons = allOf(o.epsilons)
		}
		if s.than == nil {
			s.than = []taskaware.Approach{taskaware.Agnostic, taskaware.PrivacyAgnostic}
		}
		out = append(out, s)
		for _, protocol := range o.protocols() {
			o.total += o.runs * len(s.epsilons[protocol]) * len(s.coordinates)
		}
	}
	return out
}

func (o *taTrainedOptions) protocols() []string {
	return which(o.figure.protocols, func(p string) bool { return o.protocol == allProtocols || o.protocol == p })
}

func (o *taTrainedOptions) evaluate(ctx context.Context, s *taSetting) error {
	all, err := o.read(s)
	if err != nil {
		return err
	}
	for _, protocol := range o.protocols() {
		for run := range o.runs {
			order := 0
			if protocol == protocolPromised && s.splits {
				order = run
			}
			e := &taRun{o: o, setting: s, protocol: protocol, seed: uint64(run)} //nolint:gosec // not negative
			e.train, e.test = all.split(order)
			for _, z := range s.coordinates {
				for _, epsilon := range s.epsilons[protocol] {
					o.line.Count("training encoders, "+s.data+", "+protocol, o.done, o.total)
					if err := e.approaches(ctx, z, epsilon); err != nil {
						return err
					}
					o.done++
				}
			}
		}
	}
	return nil
}

// taRun is one run of one protocol.
type taRun struct {
	o           *taTrainedOptions
	setting     *taSetting
	protocol    string
	seed        uint64
	train, test *encoders.Data
	task        []bundle.Layer
	died        int // task networks
	replaced    int // of them since the last point
}

type taOutcome struct {
	taskaware.Evaluation
	noise   string
	redrawn int
}

// approaches trains for each of the approaches, side by side: they are independent, and a
// training keeps one processor busy.
func (e *taRun) approaches(ctx context.Context, z int, epsilon float64) error {
	for {
		err := e.sideBySide(ctx, z, epsilon)
		if !errors.Is(err, taskaware.ErrDead) || e.died == taskNetworks {
			return err
		}
		e.died++
		e.replaced++
		e.task = nil
	}
}

// taskNetworks is how many other task networks a run tries in the place of one that dies.
const taskNetworks = 5

func (e *taRun) sideBySide(ctx context.Context, z int, epsilon float64) error {
	do, than := e.promised, []taskaware.Approach{taskaware.Agnostic, taskaware.PrivacyAgnostic}
	if e.protocol != protocolPromised {
		do, than = e.scheduled, e.setting.than
		if err := e.trainTask(ctx); err != nil {
			return err
		}
	}
	all := append([]taskaware.Approach{taskaware.Aware}, than...)
	if i := slices.Index(all, taskaware.Agnostic); i > 0 && z != e.setting.coordinates[0] {
		all = slices.Delete(all, i, i+1) // it sends all features whatever z is
	}
	outcomes, errs := make([]taOutcome, len(all)), make([]error, len(all))
	var wait sync.WaitGroup
	for i, a := range all {
		wait.Go(func() { outcomes[i], errs[i] = do(ctx, a, z, epsilon) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, a := range all {
		p := e.o.study.add(e.setting.data, e.protocol, a, z, epsilon, outcomes[i].Evaluation, outcomes[i].noise)
		p.Redrawn += outcomes[i].redrawn
		p.Replaced += e.replaced
	}
	e.replaced = 0
	return nil
}

func (e *taRun) trainTask(ctx context.Context) (err error) {
	if e.task == nil {
		options := e.setting.task
		options.Seed = e.seed + uint64(e.died)<<32 //nolint:gosec // a few
		e.task, err = taskaware.TrainTask(ctx, e.train, options)
	}
	return err
}

// taDraws is how often the noise of each test person is drawn.
const taDraws = 200

func (e *taRun) scheduled(ctx context.Context, a taskaware.Approach, z int, epsilon float64) (taOutcome, error) {
	s := taskaware.Schedule{
		Epsilon: epsilon, Approach: a, Coordinates: z, Hidden: e.setting.hidden, Decay: e.setting.decay,
		Batch: e.setting.batch, Inner: e.setting.inner, Seed: e.seed, Epochs: e.epochs(), Shrink: 1,
	}
	if e.protocol == protocolPublished {
		s.Shrink = math.Sqrt2 / 2
	}
	r, err := s.Train(ctx, e.train, e.task, encoders.Run{})
	if err != nil {
		return taOutcome{}, err
	}
	v, err := r.Evaluate(e.test, taDraws, e.seed)
	return taOutcome{v, string(noise.Laplace), r.Redrawn}, err
}

func (e *taRun) epochs() int {
	switch {
	case e.o.epochs > 0:
		return e.o.epochs
	case e.o.full:
		return e.setting.epochs
	case e.setting.batch > 0:
		return 3
	default:
		return 40
	}
}

func (e *taRun) promised(ctx context.Context, a taskaware.Approach, z int, epsilon float64) (taOutcome, error) {
	choices := []encoders.Choice{{Coordinates: z, Noise: noise.Laplace, Domain: bundle.L1Ball}}
	switch a {
	case taskaware.Agnostic:
		choices[0].Coordinates = e.train.X.Cols
	case taskaware.Aware:
		choices = e.choices(epsilon)
	case taskaware.PrivacyAgnostic: // as it is
	}
	results := map[encoders.Choice]*taskaware.Result{}
	trials, err := encoders.Search(ctx, choices, func(ctx context.Context, c encoders.Choice) (loss, standardError float64, err error) {
		body := encoder.Body{Domain: c.Domain, Radius: 1, Coordinates: c.Coordinates}
		noise, err := encoder.NewNoise(ctx, c.Noise, body, bundle.Promise{Epsilon: epsilon, Delta: taDelta}, e.o.tables)
		if err != nil {
			return 0, 0, err
		}
		options := taskaware.Options{Approach: a, Seed: e.seed, Steps: e.o.steps, Restarts: e.setting.restarts}
		if e.setting.hidden && a != taskaware.Agnostic {
			options.Hidden = []int{e.train.X.Cols}
		}
		r, err := taskaware.Train(ctx, e.train, body, noise, options, encoders.Run{})
		if err != nil {
			return 0, 0, err
		}
		results[c] = r
		return r.HeldOut.Loss, r.HeldOut.StandardError, nil
	})
	if err != nil {
		return taOutcome{}, err
	}
	best := trials[0].Choice
	v, err := results[best].Evaluate(e.test, taDraws, e.seed)
	return taOutcome{v, best.String(), 0}, err
}

// unbiasedLimit is the ε up to which unbiased local randomizers are tried: beyond it they add
// less than other errors, and their design is at the limit of float64.
const unbiasedLimit = 10

// choices are what is tried for a person's encoding. Figure 6, which compares numbers of
// coordinates, has those of each.
func (e *taRun) choices(epsilon float64) (out []encoders.Choice) {
	for _, z := range e.setting.tried {
		out = append(out, encoders.Choice{Coordinates: z, Noise: noise.Laplace, Domain: bundle.L1Ball})
	}
	if out != nil {
		return out
	}
	for z := 1; z <= 2; z++ {
		out = append(out, encoders.Choice{Coordinates: z, Noise: bundle.Designed, Domain: bundle.Box})
	}
	if epsilon <= unbiasedLimit {
		out = append(out, encoders.Choice{Coordinates: 1, Noise: bundle.LocalUnbiased, Domain: bundle.Box})
	}
	for z := 1; z <= 3; z++ {
		out = append(out, encoders.Choice{Coordinates: z, Noise: noise.Laplace, Domain: bundle.L1Ball})
	}
	return out
}

type taTrainedReport struct {
	Improvements []taGain        `json:"improvements"`
	Points       []*trainedPoint `json:"points"`
}

func (r taTrainedReport) rows(published map[string]string) (rows []shell.Row) {
	for _, p := range r.Points {
		if p.Protocol != protocolPromised {
			continue
		}
		text := fmt.Sprintf("epsilon %g: %s loss %.4g", p.Epsilon, p.Approach, p.Mean)
		if p.Runs > 1 {
			text += fmt.Sprintf(" ± %.2g", p.Deviation)
		}
		if p.Data != realEstate {
			text += fmt.Sprintf(", error %s", shell.Percent(p.Wrong))
		}
		rows = append(rows, shell.Row{p.Data + ", " + p.Protocol, text + ", " + strings.Join(p.Noise, " ")})
	}
	for _, p := range r.Points {
		if p.Redrawn+p.Replaced > 0 {
			rows = append(rows, shell.Row{p.Data + ", " + p.Protocol, fmt.Sprintf("epsilon %g, z = %d: answers were the same for everybody, and %s began anew: %d times, and with other task networks: %d", p.Epsilon, p.Coordinates, p.Approach, p.Redrawn, p.Replaced)})
		}
	}
	for _, g := range r.Improvements {
		share, than := g.Share, "better"
		if share < 0 {
			share, than = -share, "worse"
		}
		text := fmt.Sprintf("epsilon %g, z = %d: task-aware is %.1f %%", g.Epsilon, g.Coordinates, 100*share)
		if g.Runs > 1 {
			text += fmt.Sprintf(" ± %.1f", 100*g.Deviation)
		}
		rows = append(rows, shell.Row{g.Data + ", " + g.Protocol, text + fmt.Sprintf(" %s than %s, runs: %d", than, g.Than, g.Runs)})
	}
	for _, data := range []string{realEstate, breastCancer, handwritten} {
		if text, ok := published[data]; ok && slices.ContainsFunc(r.Points, func(p *trainedPoint) bool { return p.Data == data }) {
			rows = append(rows, shell.Row{"the paper", data + ": " + text})
		}
	}
	return rows
}

var taFigures = []taFigure{taFigure5, taFigure6, taFigure7, taFigure8}

var taFigure5 = taFigure{
	name:  "ta-figure5",
	short: "Figure 5 of Cheng, Tang & Chinchali (2022): house prices and breast cancer",
	about: `Train encoders for the price of houses and for the diagnosis of breast cancer, by three
approaches, and compare the losses of the task. Encoders send 3 numbers; that of the
houses is linear, that of the diagnosis has a hidden layer.`,
	protocols: []string{protocolPublished, protocolFormula, protocolPromised},
	settings:  func() []taSetting { return []taSetting{realEstateSetting, breastCancerSetting} },
	published: map[string]string{
		realEstate:   "at most 21.9 % better than task-agnostic and 13.5 % than privacy-agnostic, both at epsilon 5",
		breastCancer: "at most 73.0 % better than task-agnostic and 45.6 % than privacy-agnostic, both at epsilon 20",
	},
}

var taFigure6 = taFigure{
	name:  "ta-figure6",
	short: "Figure 6 of Cheng, Tang & Chinchali (2022): how many numbers to send",
	about: `Train encoders for the price of houses and for the diagnosis of breast cancer that send
1, 3 or 6 numbers, and 3, 15 or 30.`,
	protocols: []string{protocolFormula},
	settings: func() []taSetting {
		houses, cancer := realEstateSetting, breastCancerSetting
		houses.coordinates, cancer.coordinates = []int{1, 3, 6}, []int{3, 15, 30}
		return []taSetting{houses, cancer}
	},
	published: map[string]string{
		realEstate:   "the paper prints no numbers for this figure",
		breastCancer: "the paper prints no numbers for this figure",
	},
}

var taFigure7 = taFigure{
	name:  "ta-figure7",
	short: "Figure 7 of Cheng, Tang & Chinchali (2022): encoders that are not linear",
	about: `Train encoders with a hidden layer of sigmoids for the price of houses, in the place of
the linear ones of figure 5, and linear ones for the diagnosis of breast cancer, in the
place of those with a hidden layer.`,
	protocols: []string{protocolFormula, protocolPromised},
	settings: func() []taSetting {
		houses, cancer := realEstateSetting, breastCancerSetting
		houses.hidden, cancer.hidden = true, false
		// With the decay of the linear encoder nothing is left of one with sigmoids: it sends the
		// same for everybody.
		houses.decay = cancer.decay
		return []taSetting{houses, cancer}
	},
	published: map[string]string{realEstate: "the paper prints no numbers for this figure"},
}

var taFigure8 = taFigure{
	name:  "ta-figure8",
	short: "Figure 8 of Cheng, Tang & Chinchali (2022): handwritten digits",
	about: `Train linear encoders of 10 numbers for a linear classifier of handwritten digits: the
first 6000 images of MNIST to learn from, the first 1000 to test. Steps are about 64
images, 10 for each draw of noise, whose scale is that of the batch in training and the
mean of those in the test. The encoders of the protocol promised are linear too.`,
	protocols: []string{protocolFormula, protocolPromised},
	settings: func() []taSetting {
		return []taSetting{{
			data: handwritten, decay: 0.2, task: taskaware.TaskOptions{Batch: 64, Steps: 30 * (taTrainImages / 64)}, coordinates: []int{10},
			epochs: 10, epsilons: map[string][]float64{protocolFormula: {10, 20, 50}, protocolPromised: {20}}, quick: []float64{20}, batch: 64, inner: 10,
			than: []taskaware.Approach{taskaware.PrivacyAgnostic}, tried: []int{5, 10}, restarts: 1,
		}}
	},
	published: map[string]string{handwritten: "at most 23.8 % better than privacy-agnostic, at epsilon 20"},
}
