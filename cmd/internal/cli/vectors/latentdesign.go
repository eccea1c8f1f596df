// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
)

type latentDesignOptions struct {
	shell.Common
	vectors  vectorOptions
	problem  latent.Problem // without what the files say
	autoClip bool           // choose the clip
	noise    string
	file     string // of noise of one's own; "": none
	// coordinates of the benchmark that sends the first ones alike; 0: the best number
	coordinates int
	decoder     string
	cache       string // directory of designed tables
	design      lp.Options
	force       bool
}

const defaultClip = 0.99

// The decoders.
const (
	decoderAffine = "affine"
	decoderLookup = "lookup"
)

// The ridge that is tried first, and the largest.
const (
	firstRidge = 1e-6
	maxRidge   = 1
)

func newLatentDesignCommand(s *shell.Streams) *cobra.Command {
	o := &latentDesignOptions{
		Common:  shell.Common{Streams: s},
		problem: latent.Problem{Domain: bundle.Box}, noise: shell.NoiseAuto, decoder: decoderAffine, design: shell.DesignOptions(),
	}
	o.design.Gap, o.design.TimeLimit = 0.005, 20*time.Second
	f := shell.NewFlags(&cobra.Command{
		Use:   "design --data FILE --epsilon E [--delta D] [-o BUNDLE]",
		Short: "Design a private encoder for a task",
		Long: `Find the encoder, the noise and the decoder with the smallest loss of a task, the
mean of ||K(x - decoded x)||^2 over people, that make the release of a person's
features x (epsilon, delta)-differentially private, whatever x is.

Compared are Laplace noise for the l1 distance, Gaussian and spherical noise for the
l2 distance (the latter with delta 0: its density falls with the norm), noise on balls
for it (ball: designed, for 2 to 8 coordinates and a delta above 0), noise per
coordinate (designed, truncated Laplace, staircase) and a local randomizer per
coordinate (local), the last two with the best split of the budget, each with the
task-aware encoder and, for the first three kinds, with the benchmarks of the literature:
sending the features (task-agnostic) or the first coordinates alike
(privacy-agnostic; --coordinates says how many). Every loss is that on the training
data with clipping and the best decoder. A local randomizer answers with one of a few
numbers that are likelier for values like those of the training data: it needs that
data, makes no use of delta, and nearly always wins. With --noise local-unbiased its
mean answer to each value is the value, with the least variance at the worst value,
which is a larger loss but favors no value; these randomizers are designed. Among
noise that is added it depends on the domain: in a ball of several coordinates
noise on balls profits from the sphere, of many Gaussian noise, with clipping per
coordinate and few coordinates designed noise does. Truncated Laplace and staircase
noise are listed for comparison and are in no bundle: the best noise of a bundle may
stand below one of them.

The guarantee rests on clipping to the domain, not on the data. The training data
itself is not protected: means, directions and clipping radii are learned from it
and published in the bundle.

` + shell.HardTruncation + `

-o writes the bundle: the encoder, the clipping, verified tables or randomizers, the
decoder and the task, as JSON, NumPy arrays and tables (docs/bundle-format.md).`,
		Example: `  noisewright latent design --data train.csv --weights 'h0[89]=2,h1?=2' --exclude date --epsilon 5 --delta 1e-5 --clip 0.99 -o bundle
  noisewright latent design --data train.csv --task task.csv --epsilon 2 --domain ball --clip auto --json
  noisewright latent design --mean mean.csv --covariance covariance.csv --epsilon 5 --delta 1e-5 --radius 3`,
	})
	f.Effort(&o.design, " of one table")
	f.Number(&o.problem.Epsilon, "epsilon", shell.AtMost("a number", check.MaxEpsilon), "epsilon of a person's release, without unit: above 0, at most 100")
	f.OptionalNumber(&o.problem.Delta, "delta", deltaOfPerson, "delta of a person's release, a probability: 0, or from 1e-10 to 0.5")
	o.domainFlags(f)
	p := &o.problem
	f.OptionalNumber(&p.Ridge, "ridge", shell.Rule{Want: "a number from 0 to 1", OK: func(v float64) bool { return v >= 0 && v <= maxRidge }},
		"share of the mean variance that is added to every feature's, for a covariance that is singular: 1e-6")
	noiseFlag(f, &o.noise, &o.file, "noise of the bundle: auto (the smallest loss), local (randomizers), local-unbiased, designed, laplace, gaussian, spherical or ball",
		[]string{shell.NoiseAuto, string(bundle.Local), string(bundle.LocalUnbiased), shell.NoiseDesigned, string(noise.Laplace), noise.Gaussian, string(bundle.Spherical), string(bundle.Balls)})
	f.Word(&o.decoder, "decoder", "word", "decoder of the bundle: affine, or lookup (a function of each released number, such as the mean of the features given it; only if it is better on training rows held out)", decoderAffine, decoderLookup)
	f.OptionalInteger(&o.coordinates, "coordinates", 1, math.MaxInt, "coordinates of the privacy-agnostic benchmark, from 1 to the number of features (default: the best number)")
	o.vectors.flags(f)
	f.Check(o.check)
	f.Directory(&o.cache, "cache", "directory of designed tables, used again in later designs (default: that of the user, - for none)")
	f.Output(&o.Common, "directory to write the bundle to (default none)")
	f.Bool(&o.force, "force", "replace the bundle that is there, and nothing but a bundle")
	f.Alias("force", "overwrite")
	f.Summary(&o.Common, "output")
	return f.Run(o.run)
}

func (o *latentDesignOptions) domainFlags(f *shell.Flags) {
	p := &o.problem
	domain := string(p.Domain)
	f.Word(&domain, "domain", "word", "what is clipped: box (each task coordinate), ball (their norm) or bounds (each feature, to --bounds)", string(bundle.Box), string(bundle.Ball), string(bundle.Bounds))
	clip := f.NumberOrAuto(&p.Clip, &o.autoClip, "clip", "share", fmt.Sprint(defaultClip), shell.Rule{Want: "a share above 0, at most 1, or auto", OK: func(v float64) bool { return v > 0 && v <= 1 }},
		"for ball and box: share of the training data that clipping leaves alone, above 0, at most 1; or auto, the best one")
	radius := f.OptionalNumber(&p.Radius, "radius", shell.Rule{Want: "a number above 0, in standard deviations", OK: shell.Positive}, "in place of --clip: radius of the ball, or half the side of the box, in standard deviations")
	f.Check(func() error {
		p.Domain = bundle.Domain(domain)
		if !radius.Given {
			return nil
		}
		p.Clip, o.autoClip = 0, false
		if clip.Given {
			return fmt.Errorf("radius = %s and clip = %s, want only one of them", check.Quoted(radius.Text), check.Quoted(clip.Text))
		}
		return nil
	})
}

func (o *latentDesignOptions) check() error {
	p, v := &o.problem, &o.vectors
	byLaw := o.noise == string(bundle.Local) || o.noise == string(bundle.LocalUnbiased)
	moments, bounded := v.moments(), p.Domain == bundle.Bounds
	return errors.Join(
		shell.Refuse(o.noise == noise.Gaussian && p.Delta == 0, "noise = gaussian and delta = 0, want a delta above 0: Gaussian noise is never private without"),
		shell.Refuse(o.noise == string(bundle.Balls) && p.Delta == 0, "noise = ball and delta = 0, want a delta above 0: balls have an end"),
		shell.Refuse(byLaw && moments, "noise = %s and no data, want --data: randomizers are chosen by its law", o.noise),
		shell.Refuse(o.decoder == decoderLookup && (moments || o.Output == ""), "decoder = lookup without data or output, want --data, which it is fitted on, and --output: it is a part of a bundle"),
		o.checkSource(),
		shell.Refuse(v.task != "" && v.weights != "", "task and weights, want only one of them"),
		shell.Refuse(bounded && v.bounds == "", "bounds are missing, want LO,HI or a CSV file"),
		shell.Refuse(!bounded && v.bounds != "", "bounds = %s and domain = %s, want bounds only with --domain bounds", check.Quoted(v.bounds), p.Domain),
	)
}

func (o *latentDesignOptions) checkSource() error {
	switch v, moments := &o.vectors, o.vectors.moments(); {
	case moments && v.data != "":
		return errors.New("data and mean or covariance, want the data alone or the two others")
	case moments && (v.mean == "" || v.covariance == ""):
		return errors.New("mean or covariance is missing, want both, or --data")
	case !moments && v.data == "":
		return errors.New("data is missing, want a CSV file, or --mean and --covariance")
	case moments && o.problem.Domain != bundle.Bounds && o.problem.Radius == 0:
		return errors.New("radius is missing, want a number above 0: without data there is no quantile to clip at")
	}
	return nil
}

func (o *latentDesignOptions) run(ctx context.Context) error {
	p := o.problem
	if err := o.vectors.read(o.Streams, &p); err != nil {
		return err
	}
	if o.Output != "" {
		if err := checkBundleOutput(o.Output, o.force); err != nil {
			return err
		}
	}
	if n := len(p.Features); o.noise == string(bundle.Balls) && n < limits.BallMinDimension {
		return shell.BadInput("", fmt.Errorf("noise = ball and %s, want %d features at least: it is noise of several numbers", shell.Counted(n, "feature"), limits.BallMinDimension))
	}
	line := o.Progress()
	r, err := o.result(ctx, &p, line)
	switch {
	case err != nil && strings.Contains(err.Error(), "use a ridge") && p.Ridge < maxRidge:
		return shell.BadInput(fmt.Sprintf("--ridge %g", max(firstRidge, min(10*p.Ridge, maxRidge))), err)
	case err != nil:
		return shell.LatentFailure(err)
	}
	best := r.Best(o.kind())
	if best == nil {
		return shell.BadInput(latentDesignHelp, fmt.Errorf("noise = %s: no encoder has a smaller loss than the baseline, without any release", o.noise))
	}
	rows, object := latentRows(&p, r, best), latentObject(&p, r, best)
	if o.Output != "" {
		b, err := r.Bundle(best)
		if err == nil && o.decoder == decoderLookup {
			b, err = o.lookup(r, b, &object, &rows)
		}
		if err == nil {
			err = b.Write(o.Output, o.force)
		}
		if err != nil {
			return shell.LatentFailure(err)
		}
		rows = append(rows, shell.Row{"bundle", fmt.Sprintf("%s (%s noise, verified)", o.Output, best.Noise)})
	}
	return o.Print(object, rows)
}

// lookup replaces the affine decoder where that is better on rows that neither was fitted on.
func (o *latentDesignOptions) lookup(r *latent.Result, b *bundle.Bundle, object *shell.Object, rows *[]shell.Row) (*bundle.Bundle, error) {
	found, affine, lookup, err := r.Lookup(b)
	if err != nil {
		return nil, err
	}
	loss := b.Spec().Predicted.TrainingLoss
	verdict := "no lookup: it is worse on rows held out"
	if lookup < affine {
		b, loss, verdict = found, found.Spec().Predicted.TrainingLoss, "a lookup"
	}
	*object = append(*object, "decoder", shell.Object{"lookup", b.Spec().Lookup != nil, "loss", loss, "held_out_affine", affine, "held_out_lookup", lookup})
	*rows = append(*rows, shell.Row{"decoder", fmt.Sprintf("%s; loss %.6g, %s of the baseline loss; on rows held out %.6g, affine %.6g",
		verdict, loss, shell.Percent(loss/r.BaselineLoss), lookup, affine)})
	return b, nil
}

func (o *latentDesignOptions) kind() bundle.Kind {
	if o.noise == shell.NoiseAuto {
		return ""
	}
	return bundle.Kind(o.noise)
}

// checkBundleOutput finds out before the work whether a bundle can be written.
func checkBundleOutput(out string, force bool) error {
	if out == "-" {
		return shell.BadInput("", errors.New("output = -, want a directory: a bundle is several files"))
	}
	if _, err := os.Stat(filepath.Dir(filepath.Clean(out))); err != nil {
		return shell.BadInput("", fmt.Errorf("output %s: %w", out, shell.FileCause(err)))
	}
	if err := bundle.CheckWrite(out, true); err != nil {
		return shell.LatentFailure(err)
	}
	if _, err := os.Lstat(out); err == nil && !force {
		return shell.BadInput("--force replaces it", fmt.Errorf("output %s is there already, and a bundle, want another folder", out))
	}
	return nil
}

// result chooses the clip, if it is to, and designs.
func (o *latentDesignOptions) result(ctx context.Context, p *latent.Problem, line *shell.Progress) (r *latent.Result, err error) {
	options := latent.Options{Coordinates: o.coordinates}
	if o.file != "" {
		made, err := readNoise(ctx, o.Streams, o.file)
		if err != nil {
			return nil, err
		}
		if options.Own, err = ownNumbers(o.file, made); err != nil {
			return nil, err
		}
		o.noise = string(options.Own.Kind)
	}
	o.design.Progress = line.Design(o.design.TimeLimit)
	if options.Own == nil && (o.noise == shell.NoiseAuto || o.noise == shell.NoiseDesigned) {
		if options.Store, err = shell.NewStore(o.Streams, o.cache, o.design); err != nil {
			return nil, err
		}
	}
	if options.Own == nil && (o.noise == shell.NoiseAuto || o.noise == string(bundle.Balls)) {
		options.Ball = o.balls()
	}
	if o.autoClip && p.Domain != bundle.Bounds {
		kind := o.kind()
		if options.Own != nil {
			kind = "" // whose loss is not in closed form
		}
		if p.Clip, err = p.BestClip(ctx, kind, options.Ball); err != nil {
			return nil, err
		}
	}
	if options.Own == nil && o.kind() == bundle.LocalUnbiased {
		options.Unbiased = o.unbiased
	}
	return latent.Design(ctx, *p, options)
}

// balls returns a designer that remembers what it made. Of noise that was not asked for by name it makes none
// where that cannot be done.
func (o *latentDesignOptions) balls() func(context.Context, ball.Problem) (*ball.Verified, error) {
	made := map[int]*ball.Verified{}
	return func(ctx context.Context, p ball.Problem) (*ball.Verified, error) {
		v, ok := made[p.Dimension]
		if ok {
			return v, nil
		}
		v, err := lp.DesignBall(ctx, p)
		if errors.Is(err, dp.ErrInvalid) && o.noise == shell.NoiseAuto {
			v, err = nil, nil
		}
		if err == nil {
			made[p.Dimension] = v
		}
		return v, err
	}
}

func (o *latentDesignOptions) unbiased(ctx context.Context, epsilon float64) (*local.Verified, error) {
	r, err := lp.DesignLocal(ctx, lp.LocalProblem{
		Epsilon: epsilon, Values: local.Values{Kind: local.Real, Lower: -1, Upper: 1}, Loss: loss.L2,
		Objective: local.Worst, Demands: local.Demands{Unbiased: true},
	}, o.design)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if r == nil {
		return nil, fmt.Errorf("no randomizer for epsilon = %g was found, perhaps for want of time, --time-limit: %w", epsilon, err)
	}
	return r.Verified, nil // within the gap, or the best there was time for
}

func candidateObject(c, best *latent.Candidate) shell.Object {
	return shell.Object{
		"noise", c.Noise, "encoder", c.Encoder, "composition", c.Composition, "coordinates", c.Z,
		"loss", c.Loss, "unclipped_loss", c.UnclippedLoss,
		shell.If(len(c.Epsilon) > 0, "epsilons", c.Epsilon), shell.If(len(c.Delta) > 0, "deltas", c.Delta), "bundled", c == best,
	}
}

func latentObject(p *latent.Problem, r *latent.Result, best *latent.Candidate) shell.Object {
	var clip *float64
	if p.Domain != bundle.Bounds && p.Radius == 0 {
		clip = shell.Finite(p.Clip)
	}
	var candidates []shell.Object
	for _, c := range r.Candidates {
		candidates = append(candidates, candidateObject(c, best))
	}
	var bounds any
	if lower, upper, ok := r.LaplaceBounds(); ok {
		bounds = shell.Object{"lower", lower, "upper", upper}
	}
	return shell.Object{
		"epsilon", p.Epsilon, "delta", p.Delta, "domain", p.Domain, "clip", clip, "features", len(p.Features), "baseline_loss", r.BaselineLoss,
		"bundle", candidateObject(best, best), "candidates", candidates, "loss_bounds", bounds,
	}
}

func latentRows(p *latent.Problem, r *latent.Result, best *latent.Candidate) []shell.Row {
	rows := []shell.Row{
		{"promise", fmt.Sprintf("epsilon %v, delta %v for each person", p.Epsilon, p.Delta)},
		{"features", fmt.Sprint(len(p.Features))},
	}
	domain := string(p.Domain)
	switch {
	case p.Domain == bundle.Bounds:
		domain += " of the features"
	case p.Radius > 0:
		domain += fmt.Sprintf(", radius %g", p.Radius)
	default:
		domain += fmt.Sprintf(", clip %g of the training data", p.Clip)
	}
	rows = append(rows, shell.Row{"domain", domain}, shell.Row{"baseline", fmt.Sprintf("loss %.6g, without any release", r.BaselineLoss)})
	for _, c := range r.Candidates {
		note := ""
		if len(c.Epsilon) > 0 {
			shares := make([]string, len(c.Epsilon))
			for i, e := range c.Epsilon {
				shares[i] = fmt.Sprintf("%.4g", e)
			}
			note = ", epsilons " + check.Shortened(strings.Join(shares, " "))
			if c.Composition == bundle.Exact {
				note += " composed exactly"
			}
		}
		mark := ""
		switch {
		case c == best:
			mark = " <- bundle"
		case !c.Bundled:
			mark = " (for comparison)"
		}
		rows = append(rows, shell.Row{string(c.Noise), fmt.Sprintf("loss %.6g, %s of the baseline loss, %s, %s%s%s", c.Loss, shell.Percent(c.Loss/r.BaselineLoss), c.Encoder, shell.Counted(c.Z, "coordinate"), note, mark)})
	}
	lower, upper, ok := r.LaplaceBounds()
	return append(rows, shell.When(ok, "laplace bounds", fmt.Sprintf("the smallest loss with Laplace noise, without clipping, is between %.6g and %.6g", lower, upper)))
}

// NewLatentCommand returns the commands of linear encoders.
func NewLatentCommand(s *shell.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "latent COMMAND",
		Short: "Privatize feature vectors for a task",
		Long: `Design, prove and use private encoders of feature vectors: which directions to
send, with how much noise of which shape on each, and how to decode them, so that
a task that reads the vectors has the smallest expected loss. Each person's release
is private by itself (local differential privacy), for every input.

The design is a bundle, a directory that the devices and the server share.`,
		Example: `  noisewright latent design --data train.csv --task task.csv --epsilon 5 --delta 1e-5 --domain box --clip 0.99 -o bundle
  noisewright latent privatize --bundle bundle in.csv -o private.csv
  noisewright latent decode --bundle bundle private.csv -o decoded.csv
  noisewright latent evaluate --bundle bundle --data test.csv`,
	}
	return shell.Group(cmd, "command",
		newLatentDesignCommand(s),
		newLatentVerifyCommand(s),
		newLatentPrivatizeCommand(s),
		newLatentDecodeCommand(s),
		newLatentEvaluateCommand(s),
	)
}

func matrix(f *csvfile.Frame) *mat.Dense { return mat.NewDense(f.Rows, len(f.Names), f.Data) }

// The files of vectors are CSV, perhaps compressed.
