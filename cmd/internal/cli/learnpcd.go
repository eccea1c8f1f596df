package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/learn"
)

func newLearnPCDCommand(s *shell.Streams) *cobra.Command {
	o := newLearnOptions(s)
	var own learn.LogisticOptions
	f := o.flags(&cobra.Command{
		Use:   "pcd --data FILE --schema FILE --epsilon E --delta D -o MODEL",
		Short: "Learn logistic regression by proximal coordinate descent",
		Long: `Learn logistic regression of two classes with an l1 penalty, by proximal coordinate
descent: steps on the intercept or on a feature, each along a gradient with noise.

` + learnHelp + `

Released are the number of records and the gradients of every step: by default 201 of
seven features. For so many the noise of least variance has the shape of Gaussian noise;
designed noise has no place here. What gradients are divided by is the released number.

A step goes --step-size along the mean gradient, and less where noise would move a
coefficient by more than 0.2. With thousands of records --rounds 300 --step-size 8 fits
better.

Source: Selvi, Liu and Wiesemann (2025), Differential Privacy via Distributionally
Robust Optimization, section 5.3; Mangold, Bellet, Salmon and Tommasi (2022),
Differentially private coordinate descent for composite empirical risk minimization.`,
		Example: "  noisewright learn pcd --data train.csv --schema schema.json --epsilon 1 --delta 1e-6 --test test.csv -o model.json",
	})
	own.Rounds, own.StepSize, own.Lambda = 100, 4, 1e-8
	f.Integer(&own.Rounds, "rounds", "", 1, learn.MaxRounds, "rounds of steps; coefficients are averaged over the second half of them")
	f.Func("per-round", "count", "", "steps in a round (default a quarter of the features, the intercept counted as one)", func(text string) error {
		n, ok := shell.ParseCount(text)
		if !ok || n < 1 || n > learn.MaxRounds {
			return shell.Want(fmt.Sprintf("an integer from 1 to %d", learn.MaxRounds))
		}
		own.PerRound = n
		return nil
	})
	f.Number(&own.StepSize, "step-size", shell.Rule{
		Want: fmt.Sprintf("a number above 0, at most %d", learn.MaxStepSize), OK: func(v float64) bool { return v > 0 && v <= learn.MaxStepSize },
	}, fmt.Sprintf("largest step along the mean gradient, without unit: above 0, at most %d", learn.MaxStepSize))
	f.Number(&own.Lambda, "lambda", shell.Rule{
		Want: "a number above 0, at most 1", OK: func(v float64) bool { return v > 0 && v <= 1 },
	}, "weight of the sum of the coefficients' magnitudes beside the mean loss: above 0, at most 1")
	return f.Run(func(ctx context.Context) error {
		return o.run(ctx, learner{
			kind:       "logistic",
			parameters: fmt.Sprintf("rounds %d, per round %d, step size %v, lambda %v", own.Rounds, own.PerRound, own.StepSize, own.Lambda),
			plan:       func(s *learn.Schema) (int, error) { return own.Releases(s) },
			fit: func(ctx context.Context, d *learn.Data, r *learn.Releaser) (learn.Classifier, error) {
				return learn.FitLogistic(ctx, d, r, own)
			},
		})
	})
}
