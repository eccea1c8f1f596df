package cli

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
	f.RequiredFile(&o.data, "data", "a CSV file", "CSV file of features, with a header, perhaps compressed with gzip or zstd, - for standard input", vectorFiles...)
	f.Directory(&o.bundle, "bundle", "directory of the bundle")
	f.Require(&o.bundle, "bundle", wantBundle)
	f.Verdict(&o.Common, "no progress and no summary")
	return f.Run(o.run)
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
	BaselineLoss    float64   `json:"baseline_loss"`
	TrainingLoss    float64   `json:"training_loss"`
	UnclippedLoss   float64   `json:"unclipped_loss"`
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
	r := newEvaluateReport(b, e)
	err = o.Print(r, evaluateRows(r))
	if low, high := e.Interval(standardErrors(e.Draws, noChance)); err == nil && !r.Agrees && !(low <= r.Predicted && r.Predicted <= high) {
		err = shell.Negative("", fmt.Errorf("the measured loss %.6g differs from the predicted %.6g by more than chance", r.Measured, r.Predicted))
	}
	return err
}

// checkEvaluable refuses bundles whose task loss is not to be predicted.
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

func newEvaluateReport(b *bundle.Bundle, e *latent.Evaluation) evaluateReport {
	low, high := e.Interval(standardErrors(e.Draws, 1-evaluateConfidence))
	// A loss without noise is measured exactly, but for rounding.
	slack := 1e-9 * math.Abs(e.Predicted.Total)
	s := b.Spec()
	return evaluateReport{
		Schema: shell.Schema, Rows: e.Rows, Draws: e.Draws,
		Predicted: e.Predicted.Total, PredictedSignal: e.Predicted.Signal, PredictedNoise: e.Predicted.Noise,
		Measured: e.Measured, Low: low, High: high, Confidence: evaluateConfidence,
		Agrees:       low-slack <= e.Predicted.Total && e.Predicted.Total <= high+slack,
		BaselineLoss: e.BaselineLoss, TrainingLoss: s.Predicted.TrainingLoss, UnclippedLoss: s.Predicted.UnclippedLoss,
		Outputs: e.MeasuredOutput, PredictedOut: e.Predicted.Output,
	}
}

func evaluateRows(r evaluateReport) []shell.Row {
	verdict := "does not hold the prediction"
	if r.Agrees {
		verdict = "agrees with the prediction"
	}
	design := fmt.Sprintf("%.6g on the training data", r.TrainingLoss)
	if r.UnclippedLoss > 0 {
		design += fmt.Sprintf("; %.6g without clipping", r.UnclippedLoss)
	}
	return []shell.Row{
		{"rows", fmt.Sprintf("%d, %d draws each", r.Rows, r.Draws)},
		{"predicted loss", fmt.Sprintf("%.6g (%.6g without noise, %.6g by noise)", r.Predicted, r.PredictedSignal, r.PredictedNoise)},
		{"measured loss", fmt.Sprintf("%.6g, between %.6g and %.6g with %g %% confidence: %s", r.Measured, r.Low, r.High, 100*r.Confidence, verdict)},
		{"baseline", fmt.Sprintf("%.6g without any release, %s above the measured loss", r.BaselineLoss, shell.Percent(r.BaselineLoss/r.Measured-1))},
		{"at the design", design},
	}
}
