// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/attack"
	"github.com/noisewright/noisewright/cmd/internal/encoders/decision"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/sampler"
)

type encoderEvaluateOptions struct {
	shell.Common
	people      peopleOptions
	bundle      string
	data, train string // CSV files
	attackers   []attack.Attacker
	draws, seed int
}

func newEncoderEvaluateCommand(s *shell.Streams) *cobra.Command {
	o := &encoderEvaluateOptions{Common: shell.Common{Streams: s}, draws: 100, seed: 1}
	var words []string
	for _, a := range attack.Attackers() {
		words = append(words, string(a))
	}
	f := shell.NewFlags(&cobra.Command{
		Use:   "evaluate --bundle BUNDLE --data FILE [--target COLUMN] [--private COLUMN … --attack WORDS --train FILE]",
		Short: "Measure the loss of a bundle, and what attackers find out",
		Long: fmt.Sprintf(`Release the features of every row of a CSV file many times with the bundle's own sampler,
decode, and compare with what is true: classes by the share of wrong ones and the cross
entropy, values and features by the squared error. The intervals have a confidence of
%g %%, over rows like these and the noise.

--attack lets attackers learn the private columns from releases of the rows of --train,
and guess those of the other rows: linear (a softmax regression), mlp (a network with a
hidden layer), rbf (random Fourier features), plain (linear, as in the minimax paper).
Printed are the share guessed right and that of guessing what is most frequent (for
numbers, the squared error relative to that of guessing the mean, and 1). The bundle was
not trained against them. What no attacker here finds another one may: the privacy of a
filter is privacy against the attackers that were tried, and only added noise is a
guarantee.

Beside a bundle that decodes to classes, with --train, is what logistic regression on
the device with randomized response on its class would reach at the same epsilon,
trained on those people: whatever does worse is not worth sending. Of a category that
is released nothing is drawn: the expectation over its answers is exact.

The noise is drawn from --seed, so that nothing here may be released.`, 100*evaluateConfidence),
		Example: `  noisewright encoder evaluate --bundle bundle --data test.csv --target diagnosis
  noisewright encoder evaluate --bundle bundle --data test.csv --target smile --private gender --attack linear,mlp,rbf --train train.csv`,
	})
	f.Directory(&o.bundle, "bundle", "directory of the bundle")
	f.Require(&o.bundle, "bundle", wantBundle)
	f.RequiredFile(&o.data, "data", "a CSV file", "CSV file of features and what is to be known, with a header, perhaps compressed with gzip or zstd, - for standard input", shell.CSVFiles...)
	f.String(&o.people.target, "target", "column of the truth, for bundles that decode to classes or values; attackers do without")
	f.TextList(&o.people.private, "private", "column", "column that attackers are to guess; may be given several times")
	f.Func("attack", "words", "", "attackers, separated by commas: "+strings.Join(words, ", "), func(text string) error {
		for word := range strings.SplitSeq(text, ",") {
			if !slices.Contains(words, word) {
				return shell.Want("words of " + strings.Join(words, ", ") + ", separated by commas")
			}
			o.attackers = append(o.attackers, attack.Attacker(word))
		}
		return nil
	})
	f.File(&o.train, "train", "CSV file of the people that attackers and logistic regression learn from", shell.CSVFiles...)
	o.people.classFlag(f)
	f.Delimiter(&o.people.csv)
	f.Integer(&o.draws, "draws", "", 1, 1e6, "how often every row is released, from 1 to 1000000")
	f.Integer(&o.seed, "seed", "", 1, math.MaxInt32, "of the noise and of the attackers, from 1 to 2147483647")
	f.Check(o.check)
	f.Verdict(&o.Common, "no progress and no summary")
	return f.Run(o.run)
}

func (o *encoderEvaluateOptions) check() error {
	given := len(o.attackers) > 0
	return errors.Join(
		shell.Refuse(given != (len(o.people.private) > 0) || given && o.train == "", "attack, private or train is missing, want all three of them or none"),
		shell.Refuse(!given && o.train != "" && o.people.target == "", "train without attack and target, want either of them"),
		shell.Refuse(o.data == "-" && o.train == "-", "data = - and train = -, want only one of them from standard input"),
	)
}

// open verifies the bundle, but for a filter, and makes its sampler.
func (o *encoderEvaluateOptions) open(ctx context.Context, b *bundle.Bundle) (encoders.Release, error) {
	if b.Spec().Noise == bundle.None {
		o.Warn("%s is a filter: it adds no noise and promises nothing", o.bundle)
		return b.Filter, nil
	}
	v, err := verifiedBundle(ctx, "encoder", o.bundle, b)
	if err != nil {
		return nil, err
	}
	seed := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte("evaluate"), uint64(o.seed))) //nolint:gosec // at least 1
	p, err := v.NewDeterministicPrivatizer(seed, sampler.Options{})
	if err != nil {
		return nil, shell.LatentFailure(err)
	}
	return p.Privatize, nil
}

func (o *encoderEvaluateOptions) run(ctx context.Context) error {
	o.Progress().Watch("verifying")
	b, err := readBundle(o.bundle)
	if err != nil {
		return err
	}
	release, err := o.open(ctx, b)
	if err != nil {
		return err
	}
	measured := o.people.target != "" || b.Spec().Output == bundle.Features
	if !measured && len(o.attackers) == 0 {
		return shell.BadInput("", fmt.Errorf("target is missing, want the column of what the bundle decodes to, %s", b.Spec().Output))
	}
	test, err := o.read(b, o.data)
	if err != nil {
		return err
	}
	rows := []shell.Row{{"rows", fmt.Sprintf("%d, %s each", test.X.Rows, shell.Counted(o.draws, "draw"))}}
	measures, attacks := []shell.Object{}, []shell.Object{}
	if measured {
		if measures, err = o.measure(ctx, b, release, test, &rows); err != nil {
			return err
		}
	}
	if len(o.attackers) > 0 {
		if attacks, err = o.attacks(ctx, b, release, test, &rows); err != nil {
			return err
		}
	}
	var baseline any // null: none
	if measured && b.Spec().Output == bundle.Classes {
		if baseline, err = o.baseline(ctx, b, test, &rows); err != nil {
			return err
		}
	}
	return o.Print(shell.Object{
		"rows", test.X.Rows, "draws", o.draws, "output", cmp.Or(b.Spec().Output, "features"), "confidence", evaluateConfidence,
		"measures", measures, "baseline", baseline, "attacks", attacks,
	}, rows)
}

// baseline measures logistic regression with randomized response, or without noise for a filter.
func (o *encoderEvaluateOptions) baseline(ctx context.Context, b *bundle.Bundle, test *encoders.Data, rows *[]shell.Row) (any, error) {
	if o.train == "" {
		*rows = append(*rows, shell.Row{"beside it", "--train FILE shows logistic regression with randomized response"})
		return nil, nil
	}
	train, err := o.read(b, o.train)
	if err != nil {
		return nil, err
	}
	p, err := decision.Prepare(ctx, train, decision.Options{Seed: uint64(o.seed), Plain: true}) //nolint:gosec // at least 1
	if err != nil {
		return nil, shell.BadFile(o.train, err)
	}
	other, name := (*bundle.Bundle)(nil), decision.Logistic+", without noise"
	if epsilon := b.Promise().Epsilon; b.Spec().Noise == bundle.None {
		other, err = p.Filter()
	} else {
		name = fmt.Sprintf("%s, epsilon %v", p.Baseline(), epsilon)
		other, err = p.Bundle(ctx, p.Baseline(), epsilon)
	}
	if err != nil {
		return nil, shell.LatentFailure(err)
	}
	measures, err := encoders.Evaluate(ctx, other, other.Filter, test, 1, nil)
	if err != nil {
		return nil, shell.LatentFailure(fmt.Errorf("%s: %w", shell.InputName(o.data), err))
	}
	var list []shell.Object
	text := ""
	for _, m := range measures {
		list = append(list, shell.Object{"name", m.Name, "value", m.Mean})
		text += fmt.Sprintf(", %s %.5g", m.Name, m.Mean)
	}
	*rows = append(*rows, shell.Row{"beside it", name + text})
	return shell.Object{"name", name, "measures", list}, nil
}

// measure has an interval for each measure, by Student's law for so many rows; none is below 0.
func (o *encoderEvaluateOptions) measure(ctx context.Context, b *bundle.Bundle, release encoders.Release, test *encoders.Data, rows *[]shell.Row) ([]shell.Object, error) {
	line := o.Progress()
	measures, err := encoders.Evaluate(ctx, b, release, test, o.draws, func(draw int) { line.Count("measuring", draw, o.draws) })
	if err != nil {
		return nil, shell.LatentFailure(fmt.Errorf("%s: %w", shell.InputName(o.data), err))
	}
	list := []shell.Object{}
	for _, m := range measures {
		wide := 0.0
		if n := test.X.Rows; n > 1 {
			wide = m.StandardError * standardErrors(n, 1-evaluateConfidence)
		}
		low, high := max(0, m.Mean-wide), m.Mean+wide
		list = append(list, shell.Object{"name", m.Name, "value", m.Mean, "low", low, "high", high})
		*rows = append(*rows, shell.Row{m.Name, fmt.Sprintf("%.5g, between %.5g and %.5g with %g %% confidence", m.Mean, low, high, 100*evaluateConfidence)})
	}
	return list, nil
}

func (o *encoderEvaluateOptions) read(b *bundle.Bundle, file string) (*encoders.Data, error) {
	own := o.people
	names := featureNames(b)
	for _, name := range append([]string{own.target}, own.private...) {
		if name != "" && slices.Contains(names, name) {
			return nil, shell.BadInput("", fmt.Errorf("column %s is a feature of the bundle, want others for target and private", check.Quoted(name)))
		}
	}
	if b.Spec().Output == bundle.Classes { // numbers too
		own.classes = strings.Trim(own.classes+","+own.target, ",")
	}
	return own.read(o.Streams, file, names)
}

func (o *encoderEvaluateOptions) attacks(ctx context.Context, b *bundle.Bundle, release encoders.Release, test *encoders.Data, rows *[]shell.Row) ([]shell.Object, error) {
	train, err := o.read(b, o.train)
	if err != nil {
		return nil, err
	}
	known, err := encoders.ReleaseAll(b, release, train)
	if err != nil {
		return nil, shell.LatentFailure(fmt.Errorf("%s: %w", shell.InputName(o.train), err))
	}
	released, err := encoders.ReleaseAll(b, release, test)
	if err != nil {
		return nil, shell.LatentFailure(fmt.Errorf("%s: %w", shell.InputName(o.data), err))
	}
	line, all := o.Progress(), []shell.Object{}
	for k := range test.Private {
		for _, a := range o.attackers {
			score, err := o.guess(ctx, a, known, released, &train.Private[k], &test.Private[k])
			if err != nil {
				return nil, shell.LatentFailure(fmt.Errorf("attack %s on %s: %w", a, check.Quoted(test.Private[k].Name), err))
			}
			name, classes := test.Private[k].Name, test.Private[k].Classes != nil // an accuracy, else a relative squared error
			all = append(all, shell.Object{"private", name, "attacker", a, "classes", classes, "value", score.Value, "standard_error", score.StandardError, "chance", score.Chance})
			text := fmt.Sprintf("%.4g ± %.2g of the people guessed right, %.4g by chance", score.Value, score.StandardError, score.Chance)
			if !classes {
				text = fmt.Sprintf("squared error %.4g ± %.2g of that of the mean", score.Value, score.StandardError)
			}
			*rows = append(*rows, shell.Row{fmt.Sprintf("%s guesses %s", a, name), text})
			line.Count("attacking", len(all), len(test.Private)*len(o.attackers))
		}
	}
	return all, nil
}

func (o *encoderEvaluateOptions) guess(ctx context.Context, a attack.Attacker, known, released encoder.Matrix, learn, test *encoders.Column) (attack.Score, error) {
	if (learn.Classes == nil) != (test.Classes == nil) {
		return attack.Score{}, check.Field("", "column", "numbers in one file and classes in the other", "the same in both, or --classes")
	}
	target := test.Target()
	target.Labels = slices.Clone(target.Labels)
	for i, l := range target.Labels {
		if target.Labels[i] = slices.Index(learn.Classes, test.Classes[l]); target.Labels[i] < 0 {
			return attack.Score{}, check.Field("", "class", check.Quoted(test.Classes[l]), "a class that is in the file to learn from too")
		}
	}
	return attack.Guess(ctx, a, attack.People{X: known, Target: learn.Target()}, attack.People{X: released, Target: target}, uint64(o.seed)) //nolint:gosec // at least 1
}
