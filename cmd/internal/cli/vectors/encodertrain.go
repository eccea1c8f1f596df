// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/decision"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
)

type trainOptions struct {
	shell.Common
	people      peopleOptions
	data        string
	promise     bundle.Promise
	noise       string // a kind, or auto
	file        string // of noise of one's own; "": none
	given       *latent.Own
	fitted      bool   // the radius is to follow from it
	domain      string // a body, or auto
	radius      float64
	coordinates []int
	counted     bool // they are given, and not auto
	features    bool // as many coordinates as there are features, unless they are given
	seed        int
	checkpoint  string
	resume      bool
	every       time.Duration
	cache       string
	design      lp.Options
	force       bool
	decide      *decideOptions // of systems that may answer with a category; nil

	cmd *cobra.Command
}

// A task is one training of a system: what it is to train on, and for what.
type task struct {
	data    *encoders.Data
	choice  encoders.Choice
	radius  float64
	promise bundle.Promise
	design  encoder.Design
	given   *latent.Own // noise of one's own; nil
	run     encoders.Run
}

func (t *task) body() encoder.Body {
	return encoder.Body{Domain: t.choice.Domain, Radius: t.radius, Coordinates: t.choice.Coordinates}
}

// noise makes the noise of the choice for the body. The run knows it from then on.
func (t *task) noise(ctx context.Context) (encoder.Noise, error) {
	var n encoder.Noise
	var err error
	if t.given != nil {
		n, err = encoder.Given(t.given, t.body(), t.promise)
	} else {
		n, err = encoder.NewNoise(ctx, t.choice.Noise, t.body(), t.promise, t.design)
	}
	if err != nil {
		return nil, err
	}
	var s bundle.Spec
	n.Install(&s)
	digest := sha256.New()
	for _, table := range s.Tables {
		if err := table.Encode(digest); err != nil {
			return nil, err
		}
	}
	for _, r := range s.Randomizers {
		if err := r.Encode(digest); err != nil {
			return nil, err
		}
	}
	if s.Ball != nil {
		if err := s.Ball.Encode(digest); err != nil {
			return nil, err
		}
	}
	t.run.Options += fmt.Sprintf("noise %x, tau %v\n", digest.Sum(nil), s.Tau)
	return n, nil
}

// again is the run of a second training, with a checkpoint of its own.
func (t *task) again() encoders.Run {
	run := t.run
	if run.Directory != "" {
		run.Directory += again
	}
	return run
}

type trained struct {
	measure             string  // what the loss is
	loss, standardError float64 // on people held out, with fresh noise: trials are compared by it
	unmeasured          bool    // there is no loss, and the only choice
	rows                []shell.Row
	targets             []shell.Object // of several targets, what each loses
	details             any            // a JSON object, or nil
	bundle              func() (*bundle.Bundle, error)
}

// add adds what one of several targets loses; of one target it is the loss.
func (t *trained) add(d *encoders.Data, k int, measure string, loss, standardError float64) {
	if len(d.More) == 0 {
		t.measure, t.loss, t.standardError = measure, loss, standardError
		return
	}
	weight, c := d.Weight(k), d.Columns()[k]
	t.measure = measureSum
	t.loss += weight * loss
	t.standardError += weight * standardError // at most, however they depend on each other
	t.rows = append(t.rows, shell.Row{"target " + c.Name, fmt.Sprintf("%s %.5g, which counts %g times", measure, loss, weight)})
	t.targets = append(t.targets, shell.Object{"target", c.Name, "weight", weight, "measure", measure, "loss", loss})
}

// measureSum is the measure of several targets.
const measureSum = "sum of losses"

type trainer func(ctx context.Context, t *task) (*trained, error)

func newTrainOptions(s *shell.Streams) *trainOptions {
	o := &trainOptions{
		Common: shell.Common{Streams: s}, noise: shell.NoiseAuto, domain: shell.NoiseAuto, radius: 1, seed: 1,
		coordinates: []int{1, 2, 3}, every: 30 * time.Second, design: shell.DesignOptions(),
	}
	o.design.Gap, o.design.TimeLimit = 0.005, 20*time.Second
	return o
}

var deltaOfPerson = shell.Rule{Want: "0, or a number from 1e-10 to 0.5", OK: func(v float64) bool { return v == 0 || v >= 1e-10 && v <= 0.5 }}

// The kinds of noise of --noise.
var trainNoises = []string{shell.NoiseAuto, shell.NoiseDesigned, string(noise.Staircase), string(noise.Laplace), noise.Gaussian, string(bundle.Spherical), string(bundle.Balls), string(bundle.Local), string(bundle.LocalUnbiased), string(bundle.None)}

// trainKinds are those and the kinds of decisions.
func (o *trainOptions) trainKinds() []string {
	if o.decide == nil {
		return trainNoises
	}
	return append(slices.Clone(trainNoises), decision.Category, decision.Levels)
}

// flags adds the flags of all systems; the target may be left out where it is not required.
func (o *trainOptions) flags(cmd *cobra.Command, target bool) *shell.Flags {
	o.cmd = cmd
	f := shell.NewFlags(cmd)
	f.RequiredFile(&o.data, "data", "a CSV file", "CSV file of training data with a header, a row per person, perhaps compressed with gzip or zstd, - for standard input; it is not protected", shell.CSVFiles...)
	if target {
		o.targetFlags(f)
	} else {
		f.String(&o.people.target, "target", "column of what the server is to know: numbers, or classes")
	}
	o.people.flags(f)
	o.noiseFlags(f)
	f.Func("seed", "integer", strconv.Itoa(o.seed), "all random numbers of the training follow from it, on processors of one architecture", func(text string) error {
		v, err := strconv.Atoi(text)
		if err != nil || v < 0 {
			return shell.Want("an integer of at least 0")
		}
		o.seed = v
		return nil
	})
	f.Directory(&o.checkpoint, "checkpoint", "directory that keeps how far the training is, until the bundle is written (default: that of the bundle and .checkpoint)")
	f.Bool(&o.resume, "resume", "go on from the checkpoint of a run that was interrupted; the bundle is that of an unbroken run")
	f.Duration(&o.every, "checkpoint-every", "time between two checkpoints")
	f.Directory(&o.cache, "cache", "directory of designed tables, used again later (default: that of the user, - for none)")
	f.Output(&o.Common, "directory to write the bundle to")
	f.Require(&o.Output, "output", "-o BUNDLE, the directory to write")
	f.Bool(&o.force, "force", "replace the bundle that is there, and nothing but a bundle")
	f.Summary(&o.Common, "output")
	return f
}

// targetFlags adds those of one or several targets.
func (o *trainOptions) targetFlags(f *shell.Flags) {
	f.Texts("target", "column", "column of what the server is to know: numbers, or classes; repeat it for several, whose losses are added", func(columns []string) error {
		if len(columns) == 0 || columns[0] == "" {
			return shell.About("target", "", shell.Want("the name of a column"))
		}
		o.people.target, o.people.also = columns[0], columns[1:]
		return nil
	})
	f.Func("target-weights", "numbers", "", "what the losses of several targets count, in their order, separated by commas: cross entropies in nats, and squared errors in variances of the target (default 1 each)", func(text string) error {
		for word := range strings.SplitSeq(text, ",") {
			w, err := shell.ParseNumber(strings.TrimSpace(word), shell.AtMost("a number", maxTargetWeight))
			if err != nil {
				o.people.weights = nil // and not too few
				return shell.About("target-weights", word, err)
			}
			o.people.weights = append(o.people.weights, w)
		}
		return nil
	})
	f.Check(func() error {
		targets := o.people.targets()
		for i, name := range targets {
			if slices.Contains(targets[:i], name) {
				return fmt.Errorf("target = %s is given twice, want different columns", check.Quoted(name))
			}
		}
		if n := len(o.people.weights); n > 0 && n != len(targets) {
			return fmt.Errorf("target-weights has %s, want %d, one for each target", shell.Counted(n, "number"), len(targets))
		}
		return nil
	})
}

const maxTargetWeight = 1e6

// train keeps the choice of the least loss on people held out, and writes its bundle.
func (o *trainOptions) train(ctx context.Context, train trainer) error {
	if err := checkBundleOutput(o.Output, o.force); err != nil {
		return err
	}
	run, err := o.run()
	if err != nil {
		return err
	}
	d, err := o.people.read(o.Streams, o.data, nil)
	if err != nil {
		return err
	}
	if err := d.Validate(); err != nil {
		return shell.BadFile(o.data, err)
	}
	if o.features && !o.cmd.Flags().Changed("coordinates") {
		o.coordinates = []int{d.X.Cols}
	}
	if err := o.own(ctx); err != nil {
		return err
	}
	design, err := o.designer()
	if err != nil {
		return err
	}
	run.Options = o.digest(d)
	choices, results := o.choices(), map[encoders.Choice]*trained{}
	line := o.Progress()
	decided, err := o.decisions(ctx, d)
	if err != nil {
		return shell.LatentFailure(err)
	}
	if len(choices) == 0 {
		return o.finish(ctx, decided, nil, nil)
	}
	trials, err := encoders.Search(ctx, choices, func(ctx context.Context, c encoders.Choice) (loss, standardError float64, err error) {
		t := &task{data: d, choice: c, radius: o.radius, promise: o.promise, design: design, given: o.given, run: run.Below(c.String())}
		done := len(results)
		t.run.Progress = func(step, steps int, loss float64) {
			share := (float64(done) + float64(step)/float64(steps)) / float64(len(choices))
			what := fmt.Sprintf("step %d of %d", step, steps)
			if check.Finite(loss) {
				what += fmt.Sprintf(", loss %.4g", loss)
			}
			line.Share("training "+sent(c), share, what)
		}
		r, err := train(ctx, t)
		if err != nil {
			return 0, 0, err
		}
		results[c] = r
		return r.loss, r.standardError, nil
	})
	if err != nil {
		if ctx.Err() != nil {
			if _, none := os.Stat(run.Directory); none == nil { // a private training has none
				o.Say("hint", fmt.Sprintf("--resume goes on from the checkpoint %s", run.Directory))
			}
		} else if !errors.Is(err, encoders.ErrCheckpoint) { // going on would fail again
			err = errors.Join(err, forget(run, choices))
		}
		return shell.LatentFailure(err)
	}
	if decided != nil {
		decided.again = func(ctx context.Context, rows []int) (*bundle.Bundle, error) {
			r, err := train(ctx, &task{data: d.Pick(rows), choice: trials[0].Choice, radius: o.radius, promise: o.promise, design: design, given: o.given, run: encoders.Run{Seed: run.Seed}})
			if err != nil {
				return nil, err
			}
			return r.bundle()
		}
	}
	err = o.finish(ctx, decided, results[trials[0].Choice], trials)
	if ctx.Err() == nil {
		err = errors.Join(err, forget(run, choices))
	}
	return err
}

// finish writes the best bundle, and tells.
func (o *trainOptions) finish(ctx context.Context, d *decided, best *trained, trials []encoders.Trial) error {
	b, err := d.choose(ctx, best)
	if err == nil {
		err = o.write(ctx, b)
	}
	if err != nil {
		return shell.LatentFailure(err)
	}
	return o.report(d, b, best, trials)
}

// again ends the name of the checkpoint of a second training.
const again = "-again"

// forget removes the checkpoints of all choices, and their directory if nothing else is in it.
func forget(run encoders.Run, choices []encoders.Choice) error {
	var errs []error
	for _, c := range choices {
		for _, name := range []string{c.String(), c.String() + again} {
			below := run.Below(name)
			errs = append(errs, below.Remove())
		}
	}
	_ = os.Remove(run.Directory)
	return errors.Join(errs...)
}

func (o *trainOptions) run() (encoders.Run, error) {
	dir := cmp.Or(o.checkpoint, filepath.Clean(o.Output)+".checkpoint")
	entries, err := os.ReadDir(dir)
	if len(entries) > 0 && !o.resume {
		return encoders.Run{}, shell.BadInput("--resume goes on from it; remove it to begin anew", fmt.Errorf("checkpoint %s is there already", dir))
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return encoders.Run{}, shell.BadInput("", fmt.Errorf("checkpoint %s: %w", dir, shell.FileCause(err)))
	}
	if o.resume && len(entries) == 0 {
		o.Warn("there is no checkpoint %s: the training begins anew", dir)
	}
	return encoders.Run{Seed: uint64(o.seed), Directory: dir, Every: o.every}, nil //nolint:gosec // at least 0
}

// designer makes designed tables, from the cache if they are there; nil if there are none to make.
func (o *trainOptions) designer() (encoder.Design, error) {
	if o.given != nil || o.noise != shell.NoiseAuto && o.noise != shell.NoiseDesigned {
		return nil, nil
	}
	store, err := shell.NewStore(o.Streams, o.cache, o.design)
	if err != nil {
		return nil, err
	}
	return store.Get, nil
}

// operational are the flags that the result does not depend on; of files the contents count.
var operational = []string{"data", "delimiter", "output", "force", "json", "quiet", "checkpoint", "checkpoint-every", "resume", "cache"}

// digest tells all that the result depends on.
func (o *trainOptions) digest(d *encoders.Data) string {
	digest := sha256.New()
	fmt.Fprintln(digest, d.Features)
	for _, v := range d.X.Data {
		writeNumber(digest, v)
	}
	for _, c := range slices.Concat(d.Columns(), d.Private) {
		fmt.Fprintln(digest, c.Name, c.Classes, c.Labels)
		for _, v := range c.Values {
			writeNumber(digest, v)
		}
	}
	text := fmt.Sprintf("%s\ndata %x\n", o.cmd.Root().Version, digest.Sum(nil))
	o.cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(operational, flag.Name) {
			text += fmt.Sprintf("%s %s\n", flag.Name, flag.Value)
		}
	})
	return text
}

func writeNumber(h hash.Hash, v float64) { fmt.Fprintf(h, "%x\n", math.Float64bits(v)) }

func (o *trainOptions) write(ctx context.Context, b *bundle.Bundle) (err error) {
	if b.Spec().Noise != bundle.None {
		_, err = latent.Verify(ctx, b, proof.Options{})
	}
	if err == nil {
		err = b.Write(o.Output, o.force)
	}
	return shell.LatentFailure(err)
}

// kept marks the bundle that is written.
const kept = " <- bundle"

func sent(c encoders.Choice) string {
	return fmt.Sprintf("%s, %s in the %s", shell.Counted(c.Coordinates, "number"), c.Noise, c.Domain)
}

func squaredOr(c encoders.Column, ofClasses string) string {
	if c.Classes == nil {
		return encoders.MeasureSquared
	}
	return ofClasses
}

func (o *trainOptions) report(d *decided, b *bundle.Bundle, best *trained, trials []encoders.Trial) error {
	var promise any // null: none
	promised, verified := "NONE: a filter adds no noise", ", NOT PRIVATE"
	if b.Spec().Noise != bundle.None {
		promise = b.Promise()
		promised, verified = fmt.Sprintf("epsilon %v, delta %v for each person", b.Promise().Epsilon, b.Promise().Delta), ", verified"
	}
	rows := []shell.Row{{"promise", promised}}
	tried, lines := d.tried()
	rows = append(rows, lines...)
	if best == nil {
		best = &trained{measure: d.measure}
	}
	for i, t := range trials {
		var loss, standardError *float64 // null: not measured, or it failed
		text, failed := "not measured", shell.Object(nil)
		switch {
		case best.unmeasured:
		case t.Err != nil:
			failed = shell.ErrorPart(t.Err)
			text = "failed: " + shell.Sentence(t.Err)
		default:
			loss, standardError = shell.Finite(t.Loss), shell.Finite(t.StandardError)
			text = fmt.Sprintf("%s %.5g ± %.2g on people held out", best.measure, t.Loss, t.StandardError)
		}
		if i == 0 && !d.taken() {
			text += kept
		}
		tried = append(tried, shell.Object{"coordinates", t.Coordinates, "noise", t.Noise, "domain", t.Domain, "loss", loss, "standard_error", standardError, failed})
		rows = append(rows, shell.Row{sent(t.Choice), text})
	}
	first := 0
	if d != nil && !d.taken() {
		first = len(tried) - len(trials)
	}
	chosen, why := d.why()
	of := tried[first]
	return o.Print(shell.Object{
		"system", o.cmd.Name(), "promise", promise, of[:6], shell.If(!best.unmeasured, "measure", best.measure), of[6:], chosen,
		shell.If(best.targets != nil, "targets", best.targets),
		"trials", tried, shell.If(best.details != nil, "details", best.details),
	}, slices.Concat(rows, why, best.rows, []shell.Row{{"bundle", o.Output + verified}}))
}

// NewEncoderCommand returns the commands of encoders that are trained.
func NewEncoderCommand(s *shell.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "encoder COMMAND",
		Short: "Train private encoders of feature vectors",
		Long: `Train encoders that need not be linear, with the noise in the loop, and ship them as
latent designs are: a bundle that encodes on the device, clips, adds noise of a proven
table or answers by a proven randomizer, and decodes or classifies on the server.

The privacy of a trained encoder never depends on its training: its output is clipped
to a body at every call, and the noise is for the body. Without noise an encoder is a
filter, and the privacy of a filter is privacy against the attackers that were tried,
and no more: evaluate --attack tries some that it was not trained against. Only added
noise is a guarantee.`,
		Example: `  noisewright encoder train task-aware --data train.csv --target diagnosis --epsilon 5 --delta 1e-6 -o bundle
  noisewright encoder privatize --bundle bundle in.csv -o private.csv
  noisewright encoder decode --bundle bundle private.csv -o decoded.csv
  noisewright encoder evaluate --bundle bundle --data test.csv --target diagnosis`,
	}
	return shell.Group(cmd, "command",
		newEncoderTrainCommand(s),
		ofEncoders(newLatentVerifyCommand(s)),
		ofEncoders(newLatentPrivatizeCommand(s)),
		ofEncoders(newLatentDecodeCommand(s)),
		newEncoderEvaluateCommand(s),
	)
}

func newEncoderTrainCommand(s *shell.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "train SYSTEM",
		Short: "Train an encoder",
		Long: `Train an encoder by one of the published systems, and write its bundle.

The training data is not protected: only people encoded later are. Networks, means and
clipping radii are learned from it and published in the bundle.`,
		Example: "  noisewright encoder train task-aware --data train.csv --target diagnosis --epsilon 5 --delta 1e-6 -o bundle",
	}
	return shell.Group(cmd, "system",
		newTrainTaskAwareCommand(s),
		newTrainVLMCommand(s),
		newTrainMinimaxCommand(s),
	)
}

// ofEncoders returns a command of bundles as one of the group encoder.
func ofEncoders(cmd *cobra.Command) *cobra.Command {
	for _, text := range []*string{&cmd.Long, &cmd.Example} {
		*text = strings.NewReplacer("noisewright latent ", "noisewright encoder ", "latent\nprivatize", "encoder\nprivatize", "latent privatize", "encoder privatize").Replace(*text)
	}
	return cmd
}
