package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/tables"
)

func newLatentCommand(a *shell.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "latent COMMAND",
		Short: "Privatise feature vectors for a task",
		Long: `Design, prove and use private encoders of feature vectors: which directions to
send, with how much noise of which shape on each, and how to decode them, so that
a task that reads the vectors loses least. Each person's release is private by
itself (local differential privacy), for every input.

The design is a bundle, a directory that the devices and the server share.`,
		Example: `  noisewright latent design --data train.csv --task task.csv --epsilon 5 --delta 1e-5 --domain box --clip 0.99 -o bundle
  noisewright latent privatize --bundle bundle in.csv -o private.csv
  noisewright latent decode --bundle bundle private.csv -o decoded.csv
  noisewright latent evaluate --bundle bundle --data test.csv`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return shell.BadInput(cmd.CommandPath()+" --help", errors.New("command is missing, want design, verify, privatize, decode or evaluate"))
		},
	}
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("command = %s, want design, verify, privatize, decode or evaluate", check.Quoted(args[0]))
		}
		return nil
	}
	cmd.AddCommand(
		newLatentDesignCommand(a),
		newLatentVerifyCommand(a),
		newLatentPrivatizeCommand(a),
		newLatentDecodeCommand(a),
		newLatentEvaluateCommand(a),
	)
	return cmd
}

// latentFlags state a latent design problem.
type latentFlags struct {
	data, mean, covariance    string
	columns, exclude          string
	task, weights, boundsFlag string
	cache                     string
	epsilon, delta, domain    *shell.Text
	clip, radius, ridge       *shell.Text
	noise                     *shell.Text
}

func newLatentFlags(cmd *cobra.Command) *latentFlags {
	l := &latentFlags{}
	flags := cmd.Flags()
	flags.StringVar(&l.data, "data", "", "CSV file of training data with a header, a row per person, perhaps compressed with gzip, - for standard input; public: only people encoded later are protected")
	flags.StringVar(&l.mean, "mean", "", "in place of --data: CSV file with a header of features and one row, their means")
	flags.StringVar(&l.covariance, "covariance", "", "in place of --data: CSV file with a header of features and a row for each, their covariances, in the order of the mean")
	flags.StringVar(&l.columns, "columns", "*", "names of the feature columns, separated by commas, with * and ? for any letters; by default all but those of text")
	flags.StringVar(&l.exclude, "exclude", "", "names of columns that are no features, as for --columns")
	flags.StringVar(&l.task, "task", "", "CSV file of the task matrix K: a row for each number the task reads, under a header of features, or without one in their order (default: the features themselves)")
	flags.StringVar(&l.weights, "weights", "", "in place of --task, what each feature is multiplied by: NAME=W, separated by commas, with * and ? in names; 1 if absent")
	l.epsilon = shell.NewText(cmd, "epsilon", "number", "", "epsilon of a person's release, without unit: above 0, at most 100")
	l.delta = shell.NewText(cmd, "delta", "number", "0", "delta of a person's release, a probability: 0, or from 1e-10 to 0.5")
	l.domain = shell.NewText(cmd, "domain", "word", "box", "what is clipped: box (each task coordinate), ball (their norm) or bounds (each feature, to --bounds)")
	l.clip = shell.NewText(cmd, "clip", "share", "0.99", "for ball and box: share of the training data that clipping leaves alone, above 0, at most 1; or auto, the best one")
	l.radius = shell.NewText(cmd, "radius", "number", "", "in place of --clip: radius of the ball, or half the side of the box, in standard deviations")
	flags.StringVar(&l.boundsFlag, "bounds", "", "for bounds: LO,HI for all features, or a CSV file with a header of features and two rows, the lower and the upper bounds; public")
	l.ridge = shell.NewText(cmd, "ridge", "number", "0", "share of the mean variance that is added to every feature's, for a covariance that is singular: 1e-6")
	l.noise = shell.NewText(cmd, "noise", "word", "auto", "noise of the bundle: auto (the least loss), designed, laplace or gaussian")
	flags.StringVar(&l.cache, "cache", "", "directory of designed tables, used again in later designs (default: that of the user, - for none)")
	for _, name := range []string{"data", "mean", "covariance", "task"} {
		_ = cmd.MarkFlagFilename(name, "csv", "gz")
	}
	_ = cmd.MarkFlagDirname("cache")
	return l
}

// latentProblem is a problem and what else its flags say.
type latentProblem struct {
	latent.Problem
	autoClip bool
	noise    string
}

// kind is that of the noise, "" for any.
func (p *latentProblem) kind() bundle.Kind {
	if p.noise == "auto" {
		return ""
	}
	return bundle.Kind(p.noise)
}

// read reads the flags, and then the files.
func (l *latentFlags) read(a *shell.Streams, cmd *cobra.Command, f *shell.Fields) (*latentProblem, error) {
	p := &latentProblem{}
	p.Epsilon = f.Number("epsilon", l.epsilon, fmt.Sprintf("a number above 0, at most %d", tables.MaxEpsilon), func(v float64) bool { return v > 0 && v <= tables.MaxEpsilon })
	p.Delta = f.Number("delta", l.delta, "0, or a number from 1e-10 to 0.5", func(v float64) bool { return v == 0 || v >= 1e-10 && v <= 0.5 })
	switch f.Choice("domain", l.domain, "box", "ball", "bounds") {
	case "box":
		p.Domain = bundle.Box
	case "ball":
		p.Domain = bundle.Ball
	case "bounds":
		p.Domain = bundle.Bounds
	}
	switch {
	case l.radius.Given:
		p.Radius = f.Number("radius", l.radius, "a number above 0, in standard deviations", func(v float64) bool { return v > 0 })
		if l.clip.Given {
			f.Add("radius = %s and clip = %s, want only one of them", check.Quoted(l.radius.Value), check.Quoted(l.clip.Value))
		}
	case l.clip.Value == "auto":
		p.autoClip = true
	default:
		p.Clip = f.Number("clip", l.clip, "a share above 0, at most 1, or auto", func(v float64) bool { return v > 0 && v <= 1 })
	}
	p.Ridge = f.Number("ridge", l.ridge, "a number from 0 to 1", func(v float64) bool { return v >= 0 && v <= 1 })
	p.noise = f.Choice("noise", l.noise, "auto", "designed", "laplace", "gaussian")
	if p.noise == "gaussian" && p.Delta == 0 {
		f.Add("noise = gaussian and delta = 0, want a delta above 0: Gaussian noise is never private without")
	}
	moments := l.mean != "" || l.covariance != ""
	switch {
	case moments && l.data != "":
		f.Add("data and mean or covariance, want the data alone or the two others")
	case moments && (l.mean == "" || l.covariance == ""):
		f.Add("mean or covariance is missing, want both, or --data")
	case !moments && l.data == "":
		f.Add("data is missing, want a CSV file, or --mean and --covariance")
	case moments && p.Domain != bundle.Bounds && !l.radius.Given:
		f.Add("radius is missing, want a number above 0: without data there is no quantile to clip at")
	}
	if l.task != "" && l.weights != "" {
		f.Add("task and weights, want only one of them")
	}
	if p.Domain == bundle.Bounds && l.boundsFlag == "" {
		f.Add("bounds are missing, want LO,HI or a CSV file")
	}
	if p.Domain != bundle.Bounds && l.boundsFlag != "" {
		f.Add("bounds = %s and domain = %s, want bounds only with --domain bounds", check.Quoted(l.boundsFlag), l.domain.Value)
	}
	if err := f.Err(cmd); err != nil {
		return nil, err
	}
	return p, l.readFiles(a, p, moments)
}

// readFiles reads the data or the moments, the task and the bounds.
func (l *latentFlags) readFiles(a *shell.Streams, p *latentProblem, moments bool) error {
	columns, exclude := strings.Split(l.columns, ","), strings.Split(l.exclude, ",")
	choose := func(name string) bool { return csvfile.Matches(columns, name) && !csvfile.Matches(exclude, name) }
	if moments {
		mean, err := a.ReadFrame(l.mean, choose, false)
		if err != nil {
			return err
		}
		if mean.Rows != 1 {
			return shell.BadInput("", fmt.Errorf("%s: %d rows, want one, the means", shell.InputName(l.mean), mean.Rows))
		}
		p.Features = mean.Names
		covariance, err := a.ReadNamed(l.covariance, p.Features)
		if err != nil {
			return err
		}
		p.Mean, p.Covariance = mean.Data, matrix(covariance)
	} else {
		data, err := a.ReadFrame(l.data, choose, l.columns == "*")
		var f *shell.Failure
		if errors.As(err, &f) {
			f.Hint = "--columns and --exclude choose the columns that are read"
		}
		if err != nil {
			return err
		}
		p.Features, p.Data = data.Names, matrix(data)
		if column, constant := data.Constant(); constant && p.Ridge == 0 {
			return shell.BadInput("", fmt.Errorf("%s: column %s is the same in every row, want it left out with --exclude, or --ridge 1e-6", shell.InputName(l.data), check.Quoted(column)))
		}
	}
	var err error
	switch {
	case l.task != "":
		task, err := a.ReadNamed(l.task, p.Features)
		if err != nil {
			return err
		}
		p.Task = matrix(task)
	case l.weights != "":
		if p.Task, err = readWeights(l.weights, p.Features); err != nil {
			return err
		}
	}
	if l.boundsFlag != "" {
		return l.readBounds(a, p)
	}
	return nil
}

// readWeights returns the diagonal task of NAME=W,….
func readWeights(text string, features []string) (*mat.Dense, error) {
	diagonal := slices.Repeat([]float64{1}, len(features))
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		w, err := strconv.ParseFloat(value, 64)
		if err != nil || !check.Finite(w) {
			return nil, shell.BadInput("", fmt.Errorf("weights = %s, want NAME=W with a finite number W", check.Quoted(pair)))
		}
		found := false
		for i, f := range features {
			if csvfile.Matches([]string{name}, f) {
				diagonal[i] = w
				found = true
			}
		}
		if !found {
			return nil, shell.BadInput("", fmt.Errorf("weights = %s, want the name of a feature", check.Quoted(pair)))
		}
	}
	return mat.DenseCopyOf(mat.NewDiagDense(len(diagonal), diagonal)), nil
}

// readBounds reads the bounds of the features.
func (l *latentFlags) readBounds(a *shell.Streams, p *latentProblem) error {
	n := len(p.Features)
	if lo, hi, ok := strings.Cut(l.boundsFlag, ","); ok {
		low, err1 := strconv.ParseFloat(lo, 64)
		high, err2 := strconv.ParseFloat(hi, 64)
		if err := errors.Join(err1, err2); err != nil || !(low < high) {
			return shell.BadInput("", fmt.Errorf("bounds = %s, want LO,HI with LO below HI, or a CSV file", check.Quoted(l.boundsFlag)))
		}
		p.Low, p.High = slices.Repeat([]float64{low}, n), slices.Repeat([]float64{high}, n)
		return nil
	}
	f, err := a.ReadNamed(l.boundsFlag, p.Features)
	if err != nil {
		return err
	}
	if f.Rows != 2 {
		return shell.BadInput("", fmt.Errorf("%s: %d rows, want two, the lower and the upper bounds", shell.InputName(l.boundsFlag), f.Rows))
	}
	p.Low, p.High = f.Data[:n], f.Data[n:]
	return nil
}

// matrix is a frame as a matrix, a row for each of its own.
func matrix(f *csvfile.Frame) *mat.Dense { return mat.NewDense(f.Rows, len(f.Names), f.Data) }

// latentReport is what latent design --json prints.
type latentReport struct {
	Schema     int               `json:"schema"`
	Epsilon    float64           `json:"epsilon"`
	Delta      float64           `json:"delta"`
	Domain     string            `json:"domain"`
	Clip       *float64          `json:"clip"`
	Features   int               `json:"features"`
	Nothing    float64           `json:"loss_of_nothing"`
	Bundle     *latentCandidate  `json:"bundle"`
	Candidates []latentCandidate `json:"candidates"`
	Bounds     *latentBounds     `json:"loss_bounds"`
}

type latentCandidate struct {
	Noise       string    `json:"noise"`
	Encoder     string    `json:"encoder"`
	Composition string    `json:"composition"`
	Coordinates int       `json:"coordinates"`
	Loss        float64   `json:"loss"`
	Theory      float64   `json:"loss_unclipped"`
	Epsilons    []float64 `json:"epsilons,omitempty"`
	Deltas      []float64 `json:"deltas,omitempty"`
	Bundled     bool      `json:"bundled"`
}

// latentBounds bound the least loss of any linear encoder with Laplace noise.
type latentBounds struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// newLatentCandidate reports a candidate; best is that of the bundle.
func newLatentCandidate(c, best *latent.Candidate) latentCandidate {
	return latentCandidate{
		Noise: string(c.Noise), Encoder: c.Encoder, Composition: string(c.Composition), Coordinates: c.Z,
		Loss: c.Loss, Theory: c.UnclippedLoss, Epsilons: c.Epsilon, Deltas: c.Delta, Bundled: c == best,
	}
}

func newLatentDesignCommand(a *shell.Streams) *cobra.Command {
	var (
		out                      string
		asJSON, quiet, overwrite bool
	)
	cmd := &cobra.Command{
		Use:   "design --data FILE --epsilon E [--delta D] [-o BUNDLE]",
		Short: "Design a private encoder for a task",
		Long: `Find the encoder, the noise and the decoder with the least loss of a task, the
mean of ||K(x - decoded x)||^2 over people, that make the release of a person's
features x (epsilon, delta)-differentially private, whatever x is.

Compared are Laplace noise for the l1 distance, Gaussian noise for the l2 distance,
and noise per coordinate (designed, truncated Laplace, staircase) with the best
split of the budget, each with the task-aware encoder and, for Laplace and Gaussian
noise, with the benchmarks of the literature: sending the features (task-agnostic)
or the first coordinates alike (privacy-agnostic). Every loss is that on the
training data with clipping and the best decoder. Which noise wins depends on the
domain: in a ball of many coordinates Laplace and Gaussian noise profit from the
sphere, with clipping per coordinate and few coordinates designed noise does.

The guarantee rests on clipping to the domain, not on the data. The training data
itself is not protected: means, directions and clipping radii are learned from it
and published in the bundle.

` + hardTruncation + `

-o writes the bundle: the encoder, the clipping, verified tables, the decoder and
the task, as JSON, NumPy arrays and tables (docs/bundle-format.md).`,
		Example: `  noisewright latent design --data train.csv --weights 'h0[89]=2,h1?=2' --exclude date --epsilon 5 --delta 1e-5 --clip 0.99 -o bundle
  noisewright latent design --data train.csv --task task.csv --epsilon 2 --domain ball --clip auto --json
  noisewright latent design --mean mean.csv --covariance covariance.csv --epsilon 5 --delta 1e-5 --radius 3`,
		Args: shell.NoArguments,
	}
	l := newLatentFlags(cmd)
	effort := shell.NewEffortFlags(cmd)
	effort.Gap.Value, cmd.Flags().Lookup("gap").DefValue = "0.005", "0.005"
	cmd.Flags().Lookup("gap").Usage = "relative certified gap of each table, without unit"
	cmd.Flags().Lookup("time-limit").Usage = "wall time of one table after which its best proven design is taken, with its unit: 500ms, 60s, 5m"
	effort.TimeLimit.Value, cmd.Flags().Lookup("time-limit").DefValue = "20s", "20s"
	cmd.Flags().StringVarP(&out, "output", "o", "", "directory to write the bundle to (default none)")
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "replace a bundle that is there")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object instead of the summary")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress and no summary")
	_ = cmd.MarkFlagDirname("output")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var f shell.Fields
		o := effort.Read(&f)
		p, err := l.read(a, cmd, &f)
		if err != nil {
			return err
		}
		if out != "" {
			if err := checkBundleOutput(out, overwrite); err != nil {
				return err
			}
		}
		line := a.NewProgress()
		if quiet {
			line = &shell.Progress{}
		}
		defer line.Clear()
		o.Progress = line.Show
		r, err := l.design(cmd.Context(), a, p, o)
		if err != nil {
			return shell.LatentFailure(err)
		}
		best := r.Best(p.kind())
		if best == nil {
			return shell.BadInput(cmd.CommandPath()+" --help", fmt.Errorf("noise = %s: no encoder is better than releasing nothing", p.noise))
		}
		var b *bundle.Bundle
		if out != "" {
			if b, err = r.Bundle(best); err != nil {
				return shell.LatentFailure(err)
			}
			if err := b.Write(out, overwrite); err != nil {
				return shell.LatentFailure(err)
			}
		}
		line.Clear()
		switch {
		case asJSON:
			return shell.PrintJSON(a.Out, newLatentReport(p, r, best))
		case quiet:
			return nil
		}
		return shell.PrintRows(a.Out, latentRows(p, r, best, b, out))
	}
	return cmd
}

// checkBundleOutput finds out before the design takes its time whether a bundle can
// be written.
func checkBundleOutput(out string, overwrite bool) error {
	if out == "-" {
		return shell.BadInput("", errors.New("output = -, want a directory: a bundle is several files"))
	}
	if _, err := os.Lstat(out); err == nil && !overwrite {
		return shell.BadInput("--overwrite replaces a bundle", fmt.Errorf("output %s is there already", out))
	}
	if _, err := os.Stat(filepath.Dir(filepath.Clean(out))); err != nil {
		return shell.BadInput("", fmt.Errorf("output %s: %w", out, shell.FileCause(err)))
	}
	if err := bundle.CheckWrite(out, overwrite); err != nil {
		return shell.LatentFailure(err)
	}
	return nil
}

// design chooses the clip share by the noises that take no time, and designs.
func (l *latentFlags) design(ctx context.Context, a *shell.Streams, p *latentProblem, o lp.Options) (*latent.Result, error) {
	var curve *latent.Curve
	if highs.Version() == "" {
		if p.noise == "designed" {
			return nil, &shell.Failure{Code: shell.ExitFailure, Err: highs.ErrUnavailable}
		}
		a.Warn("%s; designed noise is left out", highs.ErrUnavailable.Error())
	} else if p.noise == "auto" || p.noise == "designed" {
		var err error
		if curve, err = shell.NewCurve(a, l.cache, o); err != nil {
			return nil, err
		}
	}
	if p.autoClip && p.Domain != bundle.Bounds {
		var err error
		if p.Clip, err = latent.BestClip(ctx, p.Problem, p.kind()); err != nil {
			return nil, err
		}
	}
	return latent.Design(ctx, p.Problem, latent.Options{Curve: curve})
}

func newLatentReport(p *latentProblem, r *latent.Result, best *latent.Candidate) latentReport {
	chosen := newLatentCandidate(best, best)
	out := latentReport{
		Schema: shell.Schema, Epsilon: p.Epsilon, Delta: p.Delta, Domain: string(p.Domain), Features: len(p.Features), Nothing: r.BaselineLoss, Bundle: &chosen,
	}
	if p.Domain != bundle.Bounds && p.Radius == 0 {
		out.Clip = shell.Finite(p.Clip)
	}
	for _, c := range r.Candidates {
		out.Candidates = append(out.Candidates, newLatentCandidate(c, best))
	}
	out.Bounds = newLatentBounds(r)
	return out
}

// newLatentBounds bounds the least loss with Laplace noise in a box.
func newLatentBounds(r *latent.Result) *latentBounds {
	lower, upper, ok := r.LaplaceBounds()
	if !ok {
		return nil
	}
	return &latentBounds{lower, upper}
}

func latentRows(p *latentProblem, r *latent.Result, best *latent.Candidate, b *bundle.Bundle, out string) []shell.Row {
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
	rows = append(rows, shell.Row{"domain", domain}, shell.Row{"release nothing", fmt.Sprintf("loss %.6g", r.BaselineLoss)})
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
		rows = append(rows, shell.Row{string(c.Noise), fmt.Sprintf("loss %.6g, %s of nothing's, %s, %s%s%s", c.Loss, shell.Percent(c.Loss/r.BaselineLoss), c.Encoder, counted(c.Z, "coordinate"), note, mark)})
	}
	if l := newLatentBounds(r); l != nil {
		rows = append(rows, shell.Row{"laplace bounds", fmt.Sprintf("the least loss with Laplace noise, without clipping, is between %.6g and %.6g", l.Lower, l.Upper)})
	}
	if b != nil {
		rows = append(rows, shell.Row{"bundle", fmt.Sprintf("%s (%s noise, verified)", out, best.Noise)})
	}
	return rows
}
