// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/learn"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/release"
	"github.com/noisewright/noisewright/tables"
)

// NewLearnCommand returns the commands of classifiers.
func NewLearnCommand(s *shell.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "learn COMMAND",
		Short: "Learn a private classifier of the records of a file",
		Long: `Learn a classifier so that its file is (epsilon, delta)-differentially private for the
records it was learned from: all of what it takes from them, together. This is the
central model: you hold the records, and publish the model.

A schema says what is public: the classes, the categories and the bounds of the
features. They must not be chosen in view of the records. Predictions come from the
model alone and cost nothing.`,
		Example: `  noisewright learn schema --data public.csv --target income -o schema.json
  noisewright learn nb --data train.csv --schema schema.json --epsilon 1 --delta 1e-6 -o model.json
  noisewright learn predict --model model.json --data new.csv -o predictions.csv`,
	}
	return shell.Group(cmd, "command", newLearnSchemaCommand(s), newLearnNBCommand(s), newLearnPCDCommand(s), newLearnPredictCommand(s))
}

type learnOptions struct {
	shell.Common
	data, schema, test string // files
	target             string
	csv                dialect
	kind               string // of the noise
	budget             learn.Budget
	ledger             string // file
	cache              string // directory
	strict             bool   // tell of records that are left out
	sameData           bool
	design             lp.Options
}

const noiseNone = "none"

type learner struct {
	kind string
	// parameters are all that the fit depends on but the data, the schema and the budget.
	parameters string
	// plan refuses schemas that it is not for, and returns how many releases it makes.
	plan func(*learn.Schema) (releases int, err error)
	fit  func(context.Context, *learn.Data, *learn.Releaser) (*learn.Model, error)
}

func newLearnNBCommand(s *shell.Streams) *cobra.Command {
	o := newLearnOptions(s)
	f := o.flags(&cobra.Command{
		Use:   "nb --data FILE --schema FILE --epsilon E --delta D -o MODEL",
		Short: "Learn naive Bayes",
		Long: `Learn naive Bayes: how frequent the classes are, how frequent the categories of each
categorical feature are in a class, and mean and variance of each numeric one.

` + learnHelp + `

Released are one histogram for the classes and one for each categorical feature, and
of each numeric feature the sums by class of its values and of their squares.

Source: Vaidya, Shafiq, Basu & Hong (2013), Differentially private naive Bayes
classification.`,
		Example: "  noisewright learn nb --data train.csv --schema schema.json --epsilon 1 --delta 1e-6 --test test.csv -o model.json",
	})
	return f.Run(func(ctx context.Context) error {
		return o.run(ctx, learner{
			kind: "naive-bayes",
			plan: func(s *learn.Schema) (int, error) { return s.NaiveBayesReleases(), nil },
			fit: func(_ context.Context, d *learn.Data, r *learn.Releaser) (*learn.Model, error) {
				return d.FitNaiveBayes(r)
			},
		})
	})
}

const learnHelp = `Every release has fresh noise, and a record changes one number of each by at most 1. The
noise is for so many releases of the total, by exact composition; what is proved of it
is in the model. Numbers beyond the bounds of the schema are moved to these. A record that
is malformed, lacks a number or has a category that is not in the schema is left out,
and nothing tells so; with --strict-not-private it is an error, after the charge.`

func newLearnOptions(s *shell.Streams) *learnOptions {
	return &learnOptions{
		Common: shell.Common{Streams: s}, kind: shell.NoiseAuto, budget: learn.Budget{Neighbors: dp.AddRemove}, design: shell.DesignOptions(),
	}
}

func (o *learnOptions) flags(cmd *cobra.Command) *shell.Flags {
	f := shell.NewFlags(cmd)
	f.RequiredFile(&o.data, "data", "a CSV file", "CSV file of the records to learn from, with a header, - for standard input; perhaps compressed with gzip or zstd", shell.CSVFiles...)
	f.RequiredFile(&o.schema, "schema", "a file such as learn schema drafts", "schema file: what is public about records (see learn schema)", "json")
	f.String(&o.target, "target", "column of the class, as in the schema; only to be sure")
	o.csv.flags(f, asLedger)
	f.Bool(&o.strict, "strict-not-private", strictUsage)
	epsilon := f.OptionalNumber(&o.budget.Epsilon, "epsilon", shell.AtMost("a number", limits.LearnEpsilon), fmt.Sprintf("epsilon of the model, all releases together, without unit: above 0, at most %d", limits.LearnEpsilon))
	delta := f.OptionalNumber(&o.budget.Delta, "delta", shell.Delta, "delta of the model, all releases together, a probability: "+shell.Delta.Want)
	f.Prudent(&o.Common, &o.budget.Epsilon, &o.budget.Delta)
	f.Word(&o.budget.Neighbors, "neighbors", "word", "what is hidden: add-remove (that a record is there) or replace (what it is), which costs twice as much", dp.AddRemove, dp.Replace)
	f.Word(&o.kind, "noise", "word", "noise: auto (of the least variance), designed, gaussian, laplace, or none (for comparison: the model is NOT PRIVATE)", shell.NoiseAuto, shell.NoiseDesigned, noise.Gaussian, "laplace", noiseNone)
	f.Check(func() error {
		private := o.kind != noiseNone
		switch {
		case private && !(epsilon.Given && delta.Given):
			return errors.New("epsilon or delta is missing, want both")
		case !private && (epsilon.Given || delta.Given || o.ledger != ""):
			return errors.New("epsilon, delta or ledger with noise = none, want none of them: there is no guarantee")
		case o.kind == noise.Gaussian && o.budget.Delta == 0:
			return errors.New("noise = gaussian and delta = 0, want a delta above 0: Gaussian noise is never private without")
		}
		return nil
	})
	f.File(&o.test, "test", "CSV file of other records with their classes, to count errors on; these are not protected", shell.CSVFiles...)
	f.Check(func() error { return oneStandard(o.data, o.schema, o.test) })
	f.File(&o.ledger, "ledger", "ledger to charge, made by ledger create (default none: nothing adds up your releases)", "ledger")
	f.Bool(&o.sameData, "same-data", sameDataUsage)
	f.Directory(&o.cache, "cache", "directory of noise found, used again later (default: that of the user, - for none)")
	f.Duration(&o.design.TimeLimit, "time-limit", "wall time to look for noise = auto, with its unit: 500ms, 60s, 5m; then it is of a shape from Laplace to Gaussian")
	f.Output(&o.Common, "model file to write", "json")
	f.Require(&o.Output, "output", "-o MODEL, the file to write")
	f.Summary(&o.Common, "output")
	return f
}

func oneStandard(files ...string) error {
	standard := slices.DeleteFunc(files, func(file string) bool { return file != "-" })
	if len(standard) > 1 {
		return fmt.Errorf("%d inputs are -, want only one of them from standard input", len(standard))
	}
	return nil
}

func (o *learnOptions) run(ctx context.Context, l learner) error {
	w, err := o.Reserve(o.Output, o.data, o.schema, o.test, o.ledger)
	if err != nil {
		return err
	}
	defer w.Discard()
	schema, err := o.readSchema()
	if err != nil {
		return err
	}
	releases, err := l.plan(schema)
	if err != nil {
		return shell.BadFile(o.schema, err)
	}
	var book *namedLedger
	if o.ledger != "" {
		if book, err = openFor(ctx, o.ledger, o.budget.Neighbors, dp.Row, &o.csv, func(account.Terms) string { return "" }); err != nil {
			return err
		}
		defer book.Close()
	}
	// What may fail does before anything is spent.
	test, err := o.readTest(ctx, schema)
	if err != nil {
		return err
	}
	var data *learn.Data
	digest, err := readRows(ctx, &o.Common, o.data, o.csv.Options, func(rows *release.CSV) (err error) {
		data, err = schema.Read(rows)
		return err
	})
	if err == nil && o.sameData && book != nil {
		err = book.knows(ctx, digest)
	}
	if err != nil {
		return err
	}
	text, charged, err := o.learn(ctx, l, releases, book, data, digest)
	if err != nil {
		return err
	}
	report, rows, err := o.report(l, text, test, charged)
	if err != nil {
		return err
	}
	return o.Finish(w, func(w io.Writer) error { _, err := w.Write(text); return err }, report, rows, nil)
}

func (o *learnOptions) readSchema() (*learn.Schema, error) {
	in, err := o.Open(o.schema)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	s, err := learn.ReadSchema(in)
	if err != nil {
		return nil, shell.BadFile(o.schema, err)
	}
	if s.Draft {
		return nil, shell.BadInput(`replace bounds and categories by what is known without the records, then remove "draft" from the file`,
			fmt.Errorf("%s: draft = true, want a schema that somebody has made public: what a draft took from records is not protected", shell.InputName(o.schema)))
	}
	if o.target != "" && o.target != s.Target {
		return nil, shell.BadInput("", fmt.Errorf("target = %s, want %s as in %s", check.Quoted(o.target), check.Quoted(s.Target), shell.InputName(o.schema)))
	}
	return s, nil
}

func (o *learnOptions) readTest(ctx context.Context, s *learn.Schema) (*learn.Data, error) {
	if o.test == "" {
		return nil, nil
	}
	var d *learn.Data
	_, err := readRows(ctx, &o.Common, o.test, o.csv.Options, func(rows *release.CSV) (err error) {
		d, err = s.Read(rows)
		switch {
		case err != nil:
			return err
		case d.Misfit() != nil: // these are not protected
			return d.Misfit()
		case d.Len() == 0:
			return errors.New("no records, want one at least to count errors on")
		}
		return nil
	})
	return d, err
}

// learn returns the file of the model, that of an equal call in the ledger or a new one.
func (o *learnOptions) learn(ctx context.Context, l learner, releases int, book *namedLedger, data *learn.Data, digest string) ([]byte, *release.Entry, error) {
	charge := account.Charge{Data: digest, Neighbors: o.budget.Neighbors, Unit: dp.Row, Summary: "learn " + l.kind}
	var keeper account.Ledger
	if book != nil {
		keeper = book
		var err error
		if charge.Text, err = o.ledgerText(l, data.Schema()); err != nil {
			return nil, nil, err
		}
	}
	r, err := charge.Once(ctx, keeper, func(before []account.Cost) ([]account.Cost, func(context.Context) ([]byte, error), error) {
		noise, err := o.noise(ctx, releases, before)
		if err != nil {
			return nil, nil, shell.Invalid("noisewright learn --help", err)
		}
		switch {
		case book != nil:
		case o.kind == noiseNone:
			o.Warn("the model is NOT PRIVATE: there is no noise")
		default:
			o.Warn("no ledger: nothing adds up what your releases about these people cost together (see ledger create)")
		}
		return noise.Costs(), func(ctx context.Context) ([]byte, error) { return o.draw(ctx, l, data, noise) }, nil
	})
	if err != nil {
		return nil, nil, shell.Invalid("noisewright learn --help", err)
	}
	if book == nil {
		return r.Answer, nil, nil
	}
	return r.Answer, &release.Entry{Release: r.ID, Charged: r.Charged, Replayed: r.Replayed}, nil
}

// ledgerText identifies what is learned: equal calls are one release.
func (o *learnOptions) ledgerText(l learner, s *learn.Schema) (string, error) {
	var schema strings.Builder
	if err := s.Encode(&schema); err != nil {
		return "", err
	}
	text, err := json.Marshal(struct {
		Learn     string  `json:"learn"`
		With      string  `json:"with,omitempty"`
		Epsilon   float64 `json:"epsilon"`
		Delta     float64 `json:"delta"`
		Neighbors string  `json:"neighbors"`
		Noise     string  `json:"noise"`
		Schema    string  `json:"schema_sha256"`
	}{l.kind, l.parameters, o.budget.Epsilon, o.budget.Delta, o.budget.Neighbors, o.kind, fmt.Sprintf("%x", sha256.Sum256([]byte(schema.String())))})
	return string(text), err
}

// noise finds the noise; what was charged before a crash is the noise to use.
func (o *learnOptions) noise(ctx context.Context, releases int, before []account.Cost) (*learn.Noise, error) {
	source, err := tableSource(&o.Common, "cache", o.cache, o.design)
	if err != nil {
		return nil, err
	}
	kind := o.kind
	if len(before) > 0 && before[0].Table != nil {
		kind, source = shell.NoiseAuto, func(context.Context, dp.Problem, int) (*tables.Verified, error) { return before[0].Table, nil }
	}
	total := dp.Budget{Epsilon: o.budget.Epsilon, Delta: o.budget.Delta}
	return learn.NewNoise(ctx, kind, o.budget, releases, learn.Options{Source: source, Design: shell.DesignerOf(releases, total, o.design), TimeLimit: o.design.TimeLimit})
}

func (o *learnOptions) draw(ctx context.Context, l learner, data *learn.Data, noise *learn.Noise) ([]byte, error) {
	if err := data.Misfit(); o.strict && err != nil {
		return nil, shell.BadFile(o.data, err)
	}
	r, err := noise.Releaser()
	if err != nil {
		return nil, err
	}
	m, err := l.fit(ctx, data, r)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = m.Encode(&b)
	return b.Bytes(), err
}

// report says what was learned: of the model's file alone, of the test file, and of the ledger.
func (o *learnOptions) report(l learner, text []byte, test *learn.Data, charged *release.Entry) (shell.Object, []shell.Row, error) {
	m, err := learn.ReadModel(bytes.NewReader(text))
	if err != nil {
		return nil, nil, shell.BadFile(o.ledger, fmt.Errorf("the answer is no model: %w", err))
	}
	notProtected := []string{
		"the schema: columns, classes, categories and bounds are public and must not be chosen in view of the records",
		"a person with several records: each is hidden by itself",
		"the header of the records, and how long it took",
	}
	if o.strict {
		notProtected = append(notProtected, "ERRORS: with strict-not-private, whether a record was refused, and which, is exact")
	}
	if m.Guarantee == nil {
		notProtected = []string{"anything: there is no noise"}
	}
	rows := append([]shell.Row{{"model", fmt.Sprintf("%s (%s)", o.Output, l.kind)}}, guaranteeRows(m.Guarantee)...)
	var errorsFound *learn.Errors // null without a test file
	if test != nil {
		e, err := m.Evaluate(test)
		if err != nil {
			return nil, nil, err
		}
		errorsFound, rows = &e, append(rows, errorRow(e))
		notProtected = append(notProtected, "the records of the test file: errors are exact")
	}
	rows = append(append(rows, ledgerRow(charged)), notProtectedRows(notProtected)...)
	return shell.Object{
		"kind", l.kind, "guarantee", m.Guarantee, "test", errorsFound, "not_protected", notProtected, shell.If(charged != nil, "ledger", charged),
	}, rows, nil
}

func guaranteeRows(g *learn.Guarantee) []shell.Row {
	if g == nil {
		return []shell.Row{{"guarantee", "NONE: there is no noise"}}
	}
	hidden := "that a record is there or not"
	if g.Neighbors == dp.Replace {
		hidden = "what a record is"
	}
	return []shell.Row{
		{"guarantee", fmt.Sprintf("epsilon %s, delta %v, for %d releases together", shell.DigitsUp(g.Epsilon), g.Delta, g.Releases)},
		{"hides", hidden},
		{"noise", fmt.Sprintf("%s, of standard deviation %s where a record counts 1", g.Noise, shell.DigitsUp(g.Deviation))},
	}
}

// errorRow says how many errors there are, with an interval, rounded outwards.
func errorRow(e learn.Errors) shell.Row {
	return shell.Row{"errors", fmt.Sprintf("%d of %d: %s; of records like these %.2f to %.2f %%, with a probability of at least %v",
		e.Wrong, e.Rows, shell.Percent(e.Rate), math.Floor(1e4*e.Lower)/100, math.Ceil(1e4*e.Upper)/100, e.Level)}
}

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
	rounds, longest := own.Limits()
	f.Integer(&own.Rounds, "rounds", "", 1, rounds, "rounds of steps; coefficients are averaged over the second half of them")
	f.OptionalInteger(&own.PerRound, "per-round", 1, rounds, "steps in a round (default a quarter of the features, the intercept counted as one)")
	f.Number(&own.StepSize, "step-size", shell.AtMost("a number", longest), fmt.Sprintf("largest step along the mean gradient, without unit: above 0, at most %g", longest))
	f.Number(&own.Lambda, "lambda", shell.AtMost("a number", 1), "weight of the sum of the coefficients' magnitudes beside the mean loss: above 0, at most 1")
	return f.Run(func(ctx context.Context) error {
		return o.run(ctx, learner{
			kind:       "logistic",
			parameters: fmt.Sprintf("rounds %d, per round %d, step size %v, lambda %v", own.Rounds, own.PerRound, own.StepSize, own.Lambda),
			plan:       own.Releases,
			fit:        own.Fit,
		})
	})
}
