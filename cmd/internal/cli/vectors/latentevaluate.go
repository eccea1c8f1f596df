// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/sampler"
)

type latentEvaluateOptions struct {
	shell.Common
	csv    csvfile.Options
	bundle string
	data   string // CSV file
	draws  int
}

func newLatentEvaluateCommand(s *shell.Streams) *cobra.Command {
	o := &latentEvaluateOptions{Common: shell.Common{Streams: s}, draws: 100}
	f := shell.NewFlags(&cobra.Command{
		Use:   "evaluate --bundle BUNDLE --data FILE",
		Short: "Measure the task loss of a bundle on data",
		Long: fmt.Sprintf(`Privatize and decode every row of a CSV file many times, and compare the mean task
loss measured with the one predicted: what encoding, clipping and decoding lose on
these rows, and the noise, whose variance is exact. The interval of the measured
loss has a confidence of %g %%. The exit code is 3 if the two differ by more than
chance does once in %g runs.

Losses of people's true features are printed: they are for who may see these.`, 100*evaluateConfidence, 1/noChance),
		Example: "  noisewright latent evaluate --bundle bundle --data test.csv --draws 200",
	})
	f.Integer(&o.draws, "draws", "", 2, 1e6, "how often every row is privatized, from 2 to 1000000")
	f.Delimiter(&o.csv)
	f.RequiredFile(&o.data, "data", "a CSV file", "CSV file of features, with a header, perhaps compressed with gzip or zstd, - for standard input", shell.CSVFiles...)
	f.Directory(&o.bundle, "bundle", "directory of the bundle")
	f.Require(&o.bundle, "bundle", wantBundle)
	f.Verdict(&o.Common, "no progress and no summary")
	return f.Run(o.run)
}

// The confidence of the interval printed, and how rare a difference is that is no chance.
const (
	evaluateConfidence = 0.999
	noChance           = 1e-8
)

// standardErrors is how many standard errors a mean of so many draws differs from the truth by with
// the given probability, either way: Student's law, as the errors are estimated from the draws too.
func standardErrors(draws int, probability float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: float64(draws - 1)}.Quantile(1 - probability/2)
}

func (o *latentEvaluateOptions) run(ctx context.Context) error {
	o.Progress().Watch("verifying")
	b, err := readBundle(o.bundle)
	if err != nil {
		return err
	}
	if err := checkEvaluable(o.bundle, b.Spec()); err != nil {
		return err
	}
	in, err := openRows(o.Streams, o.data, o.csv, featureNames(b), "")
	if err != nil {
		return err
	}
	defer in.Close()
	p, err := openPrivatizer(ctx, o.bundle, b, sampler.Options{})
	if err != nil {
		return err
	}
	people, err := in.ReadAll(featureNames(b))
	if err != nil {
		return shell.BadFile(o.data, err)
	}
	o.Progress().Watch(fmt.Sprintf("measuring %d draws of %d rows", o.draws, people.Rows))
	e, err := latent.Evaluate(ctx, p, matrix(people), o.draws)
	if err != nil {
		return shell.LatentFailure(err)
	}
	if math.IsInf(e.Predicted.Total, 0) || math.IsNaN(e.Measured) || math.IsInf(e.Measured, 0) {
		return shell.BadFile(o.data, errors.New("the squares of its numbers overflow, want features of the size of the training data's"))
	}
	agrees, err := o.print(b.Spec().Predicted, e)
	if low, high := e.Interval(standardErrors(e.Draws, noChance)); err == nil && !agrees && !(low <= e.Predicted.Total && e.Predicted.Total <= high) {
		err = shell.Negative("", fmt.Errorf("the measured loss %.6g differs from the predicted %.6g by more than chance", e.Measured, e.Predicted.Total))
	}
	return err
}

func checkEvaluable(dir string, s bundle.Spec) error {
	what := ""
	switch {
	case s.Output != bundle.Features:
		what = fmt.Sprintf("decodes to %s", s.Output)
	case len(s.Head) > 0:
		what = "decodes by a head"
	case s.Noise == bundle.None:
		what = "adds no noise"
	default:
		return nil
	}
	return shell.BadInput("", fmt.Errorf("bundle %s %s, want one that decodes noise to features without a head; noisewright encoder evaluate measures it", dir, what))
}

// print prints what was measured, and reports whether the interval holds the prediction.
func (o *latentEvaluateOptions) print(atDesign bundle.Predicted, e *latent.Evaluation) (agrees bool, err error) {
	low, high := e.Interval(standardErrors(e.Draws, 1-evaluateConfidence))
	p := e.Predicted
	// A loss without noise is measured exactly, but for rounding.
	slack := 1e-9 * math.Abs(p.Total)
	verdict := "does not hold the prediction"
	if agrees = low-slack <= p.Total && p.Total <= high+slack; agrees {
		verdict = "agrees with the prediction"
	}
	design := fmt.Sprintf("%.6g on the training data", atDesign.TrainingLoss)
	if atDesign.UnclippedLoss > 0 {
		design += fmt.Sprintf("; %.6g without clipping", atDesign.UnclippedLoss)
	}
	return agrees, o.Print(shell.Object{
		"rows", e.Rows, "draws", e.Draws, "predicted", p.Total, "predicted_signal", p.Signal, "predicted_noise", p.Noise,
		"measured", e.Measured, "measured_low", low, "measured_high", high, "confidence", evaluateConfidence, "agrees", agrees,
		"baseline_loss", e.BaselineLoss, "training_loss", atDesign.TrainingLoss, "unclipped_loss", atDesign.UnclippedLoss,
		"measured_outputs", e.MeasuredOutput, "predicted_outputs", p.Output,
	}, []shell.Row{
		{"rows", fmt.Sprintf("%d, %d draws each", e.Rows, e.Draws)},
		{"predicted loss", fmt.Sprintf("%.6g (%.6g without noise, %.6g by noise)", p.Total, p.Signal, p.Noise)},
		{"measured loss", fmt.Sprintf("%.6g, between %.6g and %.6g with %g %% confidence: %s", e.Measured, low, high, 100*evaluateConfidence, verdict)},
		{"baseline", fmt.Sprintf("%.6g without any release, %s above the measured loss", e.BaselineLoss, shell.Percent(e.BaselineLoss/e.Measured-1))},
		{"at the design", design},
	})
}
