package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/sampler"
)

// readBundle reads a bundle.
func readBundle(dir string) (*bundle.Bundle, error) {
	b, err := bundle.Read(dir)
	if err == nil {
		return b, nil
	}
	var f *shell.Failure
	if errors.As(shell.LatentFailure(err), &f) {
		return nil, f
	}
	return nil, shell.BadInput("", fmt.Errorf("bundle %s: %w", dir, shell.FileCause(err)))
}

// soundBundle reads a bundle and verifies it.
func soundBundle(dir string) (*bundle.Bundle, *bundle.Verified, error) {
	b, err := readBundle(dir)
	if err != nil {
		return nil, nil, err
	}
	v, err := latent.Verify(b)
	if err != nil {
		return nil, nil, shell.LatentFailure(fmt.Errorf("%s: %w", dir, err))
	}
	return b, v, nil
}

// bundleVerdict is what latent verify --json prints.
type bundleVerdict struct {
	Schema       int      `json:"schema"`
	Valid        bool     `json:"valid"`
	Epsilon      float64  `json:"epsilon"`
	Delta        float64  `json:"delta"`
	EpsilonUpper *float64 `json:"epsilon_proved"`
	DeltaUpper   *float64 `json:"delta_proved"`
	Noise        string   `json:"noise"`
	Composition  string   `json:"composition"`
	Domain       string   `json:"domain"`
	Features     int      `json:"features"`
	Coordinates  int      `json:"coordinates"`
}

func newLatentVerifyCommand(a *shell.Streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify BUNDLE",
		Short: "Prove the promise of a bundle",
		Long: `Prove, in exact or outward-rounded arithmetic and from nothing but the encoder, the
clipping and the tables of a bundle, that a release keeps its (epsilon, delta) for
every input. The exit code is 0 if it does, 3 if that is not proved and 2 if the
bundle is malformed.`,
		Example: "  noisewright latent verify bundle",
		Args:    shell.OneArgument("BUNDLE"),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		b, v, err := soundBundle(args[0])
		if err != nil {
			return err
		}
		s := b.Spec()
		if asJSON {
			return shell.PrintJSON(a.Out, bundleVerdict{
				Schema: shell.Schema, Valid: true, Epsilon: s.Promise.Epsilon, Delta: s.Promise.Delta,
				EpsilonUpper: shell.FloatUp(v.EpsilonUpper()), DeltaUpper: shell.FloatUp(v.DeltaUpper()),
				Noise: string(s.Noise), Composition: string(s.Composition), Domain: string(s.Domain),
				Features: b.Features(), Coordinates: b.Coordinates(),
			})
		}
		return shell.PrintRows(a.Out, []shell.Row{
			{"verdict", "valid: the promise is proved"},
			{"epsilon", fmt.Sprintf("%v promised, %v proved", s.Promise.Epsilon, exact.FloatUp(v.EpsilonUpper()))},
			{"delta", fmt.Sprintf("%v promised, %v proved", s.Promise.Delta, exact.FloatUp(v.DeltaUpper()))},
			{"noise", fmt.Sprintf("%s, composition %s", s.Noise, s.Composition)},
			{"domain", fmt.Sprintf("%s: %s", s.Domain, s.ClipOrigin)},
			{"encoder", fmt.Sprintf("%s to %s", counted(b.Features(), "feature"), counted(b.Coordinates(), "number"))},
		})
	}
	return cmd
}

// bundleFlags name a bundle, an output and the columns kept beside it.
type bundleFlags struct {
	bundle, out, keep string
}

func newBundleFlags(cmd *cobra.Command, output string) *bundleFlags {
	b := &bundleFlags{}
	cmd.Flags().StringVar(&b.bundle, "bundle", "", "directory of the bundle")
	cmd.Flags().StringVarP(&b.out, "output", "o", "", output+", - for standard output (default standard output)")
	cmd.Flags().StringVar(&b.keep, "keep", "", "names of columns to copy as they are, separated by commas, with * and ?; they are NOT private")
	_ = cmd.MarkFlagDirname("bundle")
	_ = cmd.MarkFlagFilename("output", "csv")
	return b
}

func newLatentPrivatizeCommand(a *shell.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "privatize --bundle BUNDLE FILE [-o FILE]",
		Short: "Encode feature vectors and add noise",
		Long: `Verify a bundle, encode the features of every row of a CSV file, clip, add noise,
and write the private numbers u1, u2, …: what leaves a device. Each run spends the
whole promise of the bundle on every person again.

Other columns are left out, except those of --keep, which are copied without
protection. The file is read with a header, perhaps compressed with gzip.`,
		Example: "  noisewright latent privatize --bundle bundle in.csv -o private.csv",
		Args:    shell.OneArgument("FILE"),
	}
	flags := newBundleFlags(cmd, "CSV file to write")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		b, in, err := bundleInput(a, cmd, flags, args[0], featureNames)
		if err != nil {
			return err
		}
		defer in.done()
		v, err := latent.Verify(b)
		if err != nil {
			return shell.LatentFailure(fmt.Errorf("%s: %w", flags.bundle, err))
		}
		p, err := bundle.NewPrivatizer(v, sampler.Options{})
		if err != nil {
			return err
		}
		return mapRows(a, cmd, flags, in, featureNames(b), unitNames(b), p.Privatize)
	}
	return cmd
}

func newLatentDecodeCommand(a *shell.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decode --bundle BUNDLE FILE [-o FILE]",
		Short: "Reconstruct features from private numbers",
		Long: `Reconstruct the features of every row from the private numbers that latent
privatize wrote. Decoding costs no privacy.`,
		Example: "  noisewright latent decode --bundle bundle private.csv -o decoded.csv",
		Args:    shell.OneArgument("FILE"),
	}
	flags := newBundleFlags(cmd, "CSV file to write")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		b, in, err := bundleInput(a, cmd, flags, args[0], unitNames)
		if err != nil {
			return err
		}
		defer in.done()
		return mapRows(a, cmd, flags, in, unitNames(b), featureNames(b), b.Decode)
	}
	return cmd
}

// unitNames are the columns of the private numbers.
func unitNames(b *bundle.Bundle) []string {
	names := make([]string, b.Coordinates())
	for i := range names {
		names[i] = fmt.Sprintf("u%d", i+1)
	}
	return names
}

// featureNames are the columns of the features.
func featureNames(b *bundle.Bundle) []string { return b.Spec().Features }

// bundleRows is a CSV file read for a bundle.
type bundleRows struct {
	*csvfile.Columns
	file string
	done func()
}

// bundleInput reads a bundle and opens a CSV file with all of the columns it wants.
// The caller calls done.
func bundleInput(a *shell.Streams, cmd *cobra.Command, flags *bundleFlags, file string, want func(*bundle.Bundle) []string) (*bundle.Bundle, *bundleRows, error) {
	var f shell.Fields
	f.Required("bundle", flags.bundle, "a directory made by latent design")
	if err := f.Err(cmd); err != nil {
		return nil, nil, err
	}
	b, err := readBundle(flags.bundle)
	if err != nil {
		return nil, nil, err
	}
	columns := want(b)
	keep := strings.Split(flags.keep, ",")
	c, done, err := a.OpenColumns(file,
		func(name string) bool { return slices.Contains(columns, name) },
		func(name string) bool { return flags.keep != "" && csvfile.Matches(keep, name) })
	if err != nil {
		return nil, nil, err
	}
	in := &bundleRows{c, file, done}
	for _, column := range columns {
		if !slices.Contains(in.Names, column) {
			in.done()
			return nil, nil, shell.BadFile(file, fmt.Errorf("column %s of the bundle is missing", check.Quoted(column)))
		}
	}
	for _, k := range keep {
		if flags.keep != "" && !slices.ContainsFunc(in.Kept, func(name string) bool { return csvfile.Matches([]string{k}, name) }) {
			in.done()
			return nil, nil, shell.BadInput("", fmt.Errorf("keep = %s, want the name of a column of %s that the bundle does not read", check.Quoted(k), shell.InputName(file)))
		}
	}
	return b, in, nil
}

// mapRows writes a CSV file with a row for each of the input's, row by row; it appears
// whole or not at all.
func mapRows(a *shell.Streams, cmd *cobra.Command, flags *bundleFlags, in *bundleRows, from, to []string, value func(dst, x []float64) ([]float64, error)) error {
	file, err := a.Create(flags.out, in.file)
	if err != nil {
		return err
	}
	defer file.Discard()
	out := csv.NewWriter(file)
	record := append(slices.Clone(in.Kept), to...)
	if err := out.Write(record); err != nil {
		return err
	}
	row := in.Ordered(from)
	var values []float64
	for {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		if err := in.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return shell.BadFile(in.file, err)
		}
		if values, err = value(values[:0], row()); err != nil {
			return fmt.Errorf("%s: row %d: %w", shell.InputName(in.file), in.Rows, err)
		}
		record = append(record[:0], in.Texts...)
		for _, v := range values {
			record = append(record, strconv.FormatFloat(v, 'g', -1, 64))
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return err
	}
	return file.Commit()
}

// evaluateReport is what latent evaluate --json prints.
type evaluateReport struct {
	Schema          int       `json:"schema"`
	Rows            int       `json:"rows"`
	Draws           int       `json:"draws"`
	Predicted       float64   `json:"predicted"`
	PredictedSignal float64   `json:"predicted_signal"`
	PredictedNoise  float64   `json:"predicted_noise"`
	Measured        float64   `json:"measured"`
	Low             float64   `json:"measured_low"`
	High            float64   `json:"measured_high"`
	Confidence      float64   `json:"confidence"`
	Agrees          bool      `json:"agrees"`
	Nothing         float64   `json:"loss_of_nothing"`
	TrainingLoss    float64   `json:"training_loss"`
	TheoryLoss      float64   `json:"theory_loss"`
	Outputs         []float64 `json:"measured_outputs"`
	PredictedOut    []float64 `json:"predicted_outputs"`
}

// The confidence of the interval that evaluate prints, and how rare a difference is
// that is no chance.
const (
	evaluateConfidence = 0.999
	noChance           = 1e-8
)

// standardErrors returns how many standard errors a mean of so many draws differs
// from the truth by with the given probability, either way: Student's law, as the
// errors are estimated from the draws too.
func standardErrors(draws int, probability float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: float64(draws - 1)}.Quantile(1 - probability/2)
}

func newLatentEvaluateCommand(a *shell.Streams) *cobra.Command {
	var (
		dir, data string
		asJSON    bool
	)
	cmd := &cobra.Command{
		Use:   "evaluate --bundle BUNDLE --data FILE",
		Short: "Measure the task loss of a bundle on data",
		Long: fmt.Sprintf(`Privatise and decode every row of a CSV file many times, and compare the mean task
loss measured with the one predicted: what encoding, clipping and decoding lose on
these rows, and the noise, whose variance is exact. The interval of the measured
loss has a confidence of %g %%. The exit code is 3 if the two differ by more than
chance does once in %g runs.

Losses of people's true features are printed: they are for who may see these.`, 100*evaluateConfidence, 1/noChance),
		Example: "  noisewright latent evaluate --bundle bundle --data test.csv --draws 200",
		Args:    shell.NoArguments,
	}
	cmd.Flags().StringVar(&dir, "bundle", "", "directory of the bundle")
	cmd.Flags().StringVar(&data, "data", "", "CSV file of features, with a header, perhaps compressed with gzip, - for standard input")
	draws := shell.NewText(cmd, "draws", "count", "100", "how often every row is privatised, from 2 to 1000000")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	_ = cmd.MarkFlagDirname("bundle")
	_ = cmd.MarkFlagFilename("data", "csv", "gz")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var f shell.Fields
		n := f.Integer("draws", draws, "an integer from 2 to 1000000", 2, 1e6)
		f.Required("data", data, "a CSV file")
		if err := f.Err(cmd); err != nil {
			return err
		}
		b, in, err := bundleInput(a, cmd, &bundleFlags{bundle: dir}, data, featureNames)
		if err != nil {
			return err
		}
		defer in.done()
		v, err := latent.Verify(b)
		if err != nil {
			return shell.LatentFailure(fmt.Errorf("%s: %w", dir, err))
		}
		p, err := bundle.NewPrivatizer(v, sampler.Options{})
		if err != nil {
			return err
		}
		people, err := in.ReadAll(featureNames(b))
		if err != nil {
			return shell.BadFile(data, err)
		}
		e, err := latent.Evaluate(cmd.Context(), p, matrix(people), int(n))
		if err != nil {
			return shell.LatentFailure(err)
		}
		if math.IsInf(e.Predicted.Total, 0) || !check.Finite(e.Measured) {
			return shell.BadInput("", fmt.Errorf("%s: the squares of its numbers overflow, want features of the size of the training data's", shell.InputName(data)))
		}
		r := newEvaluateReport(b, e)
		if asJSON {
			err = shell.PrintJSON(a.Out, r)
		} else {
			err = shell.PrintRows(a.Out, evaluateRows(r))
		}
		if low, high := e.Interval(standardErrors(e.Draws, noChance)); err == nil && !r.Agrees && !(low <= r.Predicted && r.Predicted <= high) {
			err = shell.Negative("", fmt.Errorf("the measured loss %.6g differs from the predicted %.6g by more than chance", r.Measured, r.Predicted))
		}
		return err
	}
	return cmd
}

func newEvaluateReport(b *bundle.Bundle, e *latent.Evaluation) evaluateReport {
	low, high := e.Interval(standardErrors(e.Draws, 1-evaluateConfidence))
	// A loss without noise is measured exactly, but for rounding.
	slack := 1e-9 * math.Abs(e.Predicted.Total)
	s := b.Spec()
	return evaluateReport{
		Schema: shell.Schema, Rows: e.Rows, Draws: e.Draws,
		Predicted: e.Predicted.Total, PredictedSignal: e.Predicted.Signal, PredictedNoise: e.Predicted.Noise,
		Measured: e.Measured, Low: low, High: high, Confidence: evaluateConfidence,
		Agrees:  low-slack <= e.Predicted.Total && e.Predicted.Total <= high+slack,
		Nothing: e.BaselineLoss, TrainingLoss: s.Predicted.TrainingLoss, TheoryLoss: s.Predicted.UnclippedLoss,
		Outputs: e.MeasuredOutput, PredictedOut: e.Predicted.Output,
	}
}

func evaluateRows(r evaluateReport) []shell.Row {
	verdict := "agrees with the prediction"
	if !r.Agrees {
		verdict = "does not hold the prediction"
	}
	return []shell.Row{
		{"rows", fmt.Sprintf("%d, %d draws each", r.Rows, r.Draws)},
		{"predicted loss", fmt.Sprintf("%.6g (%.6g without noise, %.6g by noise)", r.Predicted, r.PredictedSignal, r.PredictedNoise)},
		{"measured loss", fmt.Sprintf("%.6g, between %.6g and %.6g with %g %% confidence: %s", r.Measured, r.Low, r.High, 100*r.Confidence, verdict)},
		{"release nothing", fmt.Sprintf("%.6g, %s above the measured loss", r.Nothing, shell.Percent(r.Nothing/r.Measured-1))},
		{"at the design", fmt.Sprintf("%.6g on the training data; %.6g in theory, without clipping", r.TrainingLoss, r.TheoryLoss)},
	}
}

// counted writes a number of things.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
