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
	few         int // without
	// epsilons are those of each protocol, and quick those without --full.
	epsilons, quick map[string][]float64
	batch           int
	inner           int
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
		epochs: 2000, few: 40, epsilons: allOf([]float64{1, 1.5, 3, 5, 10, 30}), quick: quickOf(10, 3, 5, 10, 30),
	}
	breastCancerSetting = taSetting{
		data: breastCancer, hidden: true, decay: 0.001, task: taskaware.TaskOptions{Hidden: []int{45}, ReLU: true, Steps: 4000}, coordinates: []int{3},
		epochs: 1000, few: 40, quick: quickOf(20, 5, 10, 20, 50), splits: true, epsilons: map[string][]float64{
			protocolPublished: {20}, protocolFormula: {5, 7, 10, 20, 35, 50, 100}, protocolPromised: {2, 5, 10, 20, 50},
		},
	}
)

// allOf has the same epsilons for each protocol.
func allOf(epsilons []float64) map[string][]float64 {
	return map[string][]float64{protocolPublished: epsilons, protocolFormula: epsilons, protocolPromised: epsilons}
}

// quickOf has these epsilons under a schedule, and one as promised.
func quickOf(promised float64, scheduled ...float64) map[string][]float64 {
	out := allOf(scheduled)
	out[protocolPromised] = []float64{promised}
	return out
}

type taFigure struct {
	name, short string
	said        said
	protocols   []string
	quick       []string // protocols of a quick run; nil: all
	settings    func() []taSetting
	published   map[string]string // by data set
	// better are the largest shares by which the paper's task-aware encoders are better, by data set and
	// other approach; where there are none, they are at least not worse.
	better map[string]map[taskaware.Approach]float64
	reason string // why ours are against that, if it is known
}

type taTrainedOptions struct {
	shell.Common
	figure                   taFigure
	realEstate, wdbc, digits string // files, and a folder
	full                     bool
	runs, epochs, steps      int
	seed                     uint64
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
	o := &taTrainedOptions{Common: shell.Common{Streams: s}, figure: v, protocol: usualProtocols, design: designOptions(0.005)}
	o.design.TimeLimit = 20 * time.Second
	digits := v.name == taFigure8.name
	example := "--wdbc wdbc.csv --real-estate valuation.csv"
	if digits {
		example = "--mnist mnist"
	}
	return paperCommand(&o.Common, v.name, example, v.short, v.said, `Protocols:

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
few epochs: far from converged. Only --full is comparable with the paper.`, o.run, func(f *shell.Flags) {
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
		count(f, &o.epochs, "epochs", fmt.Sprintf("epochs of the schedule (default: %d; see --full)", v.settings()[0].few))
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
		f.Word(&o.protocol, "protocol", "word", v.protocolUsage(), usualProtocols, allProtocols, protocolPublished, protocolFormula, protocolPromised)
		f.Directory(&o.cache, "cache", cacheUsage)
		seedFlag(f, &o.seed)
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

// allProtocols is --protocol for all of a figure, usualProtocols for those of a quick run, or all with --full.
const allProtocols, usualProtocols = "all", "usual"

func (v taFigure) protocolUsage() string {
	usage := "one protocol, or all: " + strings.Join(v.protocols, ", ")
	if v.quick != nil {
		return usage + "; usual: " + strings.Join(v.quick, ", ") + ", and all with --full"
	}
	return usage + "; usual: all"
}

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
	says := o.figure.said
	says.form, says.against = o.form(settings), o.against(body.Improvements)
	for _, data := range []string{realEstate, breastCancer, handwritten} {
		if text, ok := o.figure.published[data]; ok && slices.ContainsFunc(settings, func(s taSetting) bool { return s.data == data }) {
			says.published = append(says.published, data+": "+text)
		}
	}
	return says.print(&o.Common, o.figure.name, body, body.rows(), files)
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
			s.epsilons = s.quick
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
	switch {
	case o.protocol == usualProtocols && !o.full && o.figure.quick != nil:
		return o.figure.quick
	case o.protocol == usualProtocols || o.protocol == allProtocols:
		return o.figure.protocols
	}
	return which(o.figure.protocols, func(p string) bool { return o.protocol == p })
}

// form says how large the run is.
func (o *taTrainedOptions) form(settings []taSetting) string {
	sizes := []string{"protocols: " + strings.Join(o.protocols(), ", ")}
	for _, s := range settings {
		var parts []string
		for _, p := range o.protocols() {
			if n := len(s.epsilons[p]); !o.full && len(o.epsilons) == 0 {
				text := fmt.Sprintf("%s: %d epsilons", p, n)
				if all := len(o.all(s.data, p)); n <= all {
					text = fmt.Sprintf("%s: %d of %d epsilons", p, n, all)
				}
				parts = append(parts, text)
			}
			if p != protocolPromised {
				parts = append(parts, fmt.Sprintf("%s: %d of %d epochs", p, s.epochsOf(o), s.paperEpochs()))
			}
		}
		if parts != nil {
			sizes = append(sizes, s.data+" ("+strings.Join(parts, ", ")+")")
		}
	}
	sizes = append(sizes, fmt.Sprintf("%d runs, the paper's are of one", o.runs), fmt.Sprintf("seed %d", o.seed))
	if !o.full {
		sizes = append(sizes, "not converged")
	}
	return formOf(o.full, sizes...)
}

// all are the epsilons of a full run.
func (o *taTrainedOptions) all(data, protocol string) []float64 {
	for _, s := range o.figure.settings() {
		if s.data == data {
			return s.epsilons[protocol]
		}
	}
	return nil
}

// paperEpochs are those of the paper's program.
func (s *taSetting) paperEpochs() int {
	if s.data == handwritten {
		return 60
	}
	return 2000
}

// against says where task-aware is not better than another approach by the paper's encoders.
func (o *taTrainedOptions) against(all []taGain) (texts []string) {
	for _, g := range all {
		if g.Share > -0.005 || g.Protocol == protocolPromised {
			continue
		}
		text := fmt.Sprintf("%s, %s, epsilon %g, z = %s: task-aware is %.1f %% worse than %s", g.Data, g.Protocol, g.Epsilon, g.Sent, -100*g.Share, g.Than)
		if share, ok := o.figure.better[g.Data][g.Than]; ok {
			text += fmt.Sprintf(", where the paper has it up to %.1f %% better", share)
		} else {
			text += ", where the paper has task-aware encoders better"
		}
		if o.figure.reason != "" {
			text += ": " + o.figure.reason
		}
		texts = append(texts, text)
	}
	return texts
}

func (o *taTrainedOptions) evaluate(ctx context.Context, s *taSetting) error {
	all, err := o.read(s)
	if err != nil {
		return err
	}
	for _, protocol := range o.protocols() {
		for run := range o.runs {
			order := uint64(0)
			if protocol == protocolPromised && s.splits {
				order = runSeed(o.seed, run)
			}
			e := &taRun{o: o, setting: s, protocol: protocol, seed: runSeed(o.seed, run)}
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
	sent    int // numbers
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
		p := e.o.study.add(e.setting.data, e.protocol, a, z, epsilon, outcomes[i])
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
	sent := z
	if a == taskaware.Agnostic {
		sent = e.train.X.Cols
	}
	return taOutcome{v, string(noise.Laplace), sent, r.Redrawn}, err
}

func (e *taRun) epochs() int { return e.setting.epochsOf(e.o) }

func (s *taSetting) epochsOf(o *taTrainedOptions) int {
	switch {
	case o.epochs > 0:
		return o.epochs
	case o.full:
		return s.epochs
	default:
		return s.few
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
	return taOutcome{v, best.String(), best.Coordinates, 0}, err
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
