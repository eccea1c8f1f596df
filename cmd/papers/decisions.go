// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/decision"
	"github.com/noisewright/noisewright/cmd/internal/encoders/taskaware"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/lp"
)

const decisionsName = "decisions"

// decisionSet is a data set and how it is divided into people who train and people who test.
type decisionSet struct {
	name   string
	data   *encoders.Data
	splits [][2][]int
}

// decisionPoint are the means of a way to answer, over splits.
type decisionPoint struct {
	Data         string   `json:"data"`
	Epsilon      *float64 `json:"epsilon"` // null: without noise
	Way          string   `json:"way"`
	Splits       int      `json:"splits"`
	Errors       float64  `json:"error"`
	ErrorsSD     float64  `json:"error_deviation"` // over splits
	CrossEntropy float64  `json:"cross_entropy"`   // in nats
	CrossSD      float64  `json:"cross_entropy_deviation"`
	// Of the paired difference from the baseline, the mean and its standard error.
	MoreErrors   [2]float64     `json:"more_errors"`
	MoreCross    [2]float64     `json:"more_cross_entropy"`
	Chosen       map[string]int `json:"chosen,omitempty"`
	errors, ce   []float64
	withoutNoise bool
}

type decisionOptions struct {
	shell.Common
	wdbc, splits, genki, adult, mnist string
	epsilons                          []float64
	runs                              int
	network, numbers                  bool
	cache                             string
	design                            lp.Options
	tables                            encoder.Design
	points                            []*decisionPoint
}

// The ways of decisionPoint that are no kind of their own.
const (
	wayBaseline = "logistic regression, its class by randomized response"
	wayAuto     = "auto"
	wayPlain    = "logistic regression, without noise"
)

func newDecisionsCommand(s *shell.Streams) *cobra.Command {
	o := &decisionOptions{Common: shell.Common{Streams: s}, runs: 3, design: designOptions(0.005)}
	return command(&o.Common, decisionsName, "--wdbc wdbc.csv --splits wdbc-splits.csv", "Decisions on the device: errors and cross entropy of categories that people answer with",
		`Train classifiers that run on the device, of whose class or level of score a proven
randomizer tells, as encoder train task-aware --noise auto does, and compare with
logistic regression and randomized response on people who were not trained on: means
over the splits of errors and cross entropy (in nats), exact over the noise of categories,
their standard deviations, and differences from that baseline on the same splits with
their standard errors. Written is decisions.csv.

wdbc and adult are of the UCI Machine Learning Repository, GENKI as in package
MinimaxFilter, MNIST a folder of its four files. Of adult, rows without missing fields
are divided at random, 30,000 to train; of MNIST 48,000 of the 60,000 train and 12,000 make
the law of the cells; the test set is the published one.`, o.run, func(f *shell.Flags) {
			f.File(&o.wdbc, "wdbc", "CSV file \"Breast Cancer Wisconsin (Diagnostic)\", with a column diagnosis", "csv", "gz")
			f.File(&o.splits, "splits", "CSV file of its splits, with a column test_rows of numbers of rows, from 0 on, separated by blanks", "csv")
			f.File(&o.genki, "genki", "CSV file with the columns split, expression, gender and pixels", "csv", "gz")
			f.File(&o.adult, "adult", "CSV file with a column income", "csv", "gz")
			f.Directory(&o.mnist, "mnist", "folder of the files of MNIST")
			f.Numbers(&o.epsilons, "epsilon", "2,5,10,20", shell.PositiveEpsilon, "values of epsilon, separated by commas")
			f.Integer(&o.runs, "runs", "", 1, 1000, "random splits of adult and of the training set of MNIST")
			f.Bool(&o.network, "network", "try a trained network as a classifier too")
			f.Bool(&o.numbers, "numbers", "let auto try one number with designed noise and with a local randomizer too, of --steps as by default")
			f.Directory(&o.cache, "cache", "directory of designed tables, used again later (default: that of the user, - for none)")
			f.Check(func() error {
				if o.wdbc == "" && o.genki == "" && o.adult == "" && o.mnist == "" {
					return errors.New("wdbc, genki, adult and mnist are missing, want at least one of them")
				}
				if (o.wdbc == "") != (o.splits == "") {
					return errors.New("wdbc or splits is missing, want both or neither")
				}
				return nil
			})
		})
}

func (o *decisionOptions) run(ctx context.Context) error {
	if o.numbers {
		if err := needSolver(); err != nil {
			return err
		}
		store, err := shell.NewStore(o.Streams, o.cache, o.design)
		if err != nil {
			return err
		}
		o.tables = store.Get
	}
	files, err := produce(&o.Common, func(line *shell.Progress) error {
		for _, read := range []func() (*decisionSet, error){o.readWDBC, o.readGENKI, o.readAdult, o.readMNIST} {
			set, err := read()
			if err != nil {
				return err
			}
			for i := 0; set != nil && i < len(set.splits); i++ {
				line.Count(set.name, i, len(set.splits))
				if err := o.split(ctx, set, i); err != nil {
					return fmt.Errorf("%s, split %d: %w", set.name, i+1, err)
				}
			}
		}
		o.compare()
		return nil
	}, output{decisionsName, o.records, nil})
	if err != nil {
		return err
	}
	return o.PrintText(document(decisionsName, struct {
		Points []*decisionPoint `json:"points"`
	}{o.points}, files), func(b *strings.Builder) {
		o.write(b)
		fmt.Fprintf(b, "files: %s\n", strings.Join(files, ", "))
	})
}

// split trains and tests on one split.
func (o *decisionOptions) split(ctx context.Context, set *decisionSet, i int) error {
	train, test := set.data.Pick(set.splits[i][0]), set.data.Pick(set.splits[i][1])
	p, err := decision.Prepare(ctx, train, decision.Options{Seed: uint64(i), Plain: !o.network}) //nolint:gosec // small
	if err != nil {
		return err
	}
	filter, err := p.Filter()
	if err != nil {
		return err
	}
	if err := o.add(ctx, set.name, nil, wayPlain, filter, test, ""); err != nil {
		return err
	}
	for _, epsilon := range o.epsilons {
		for _, w := range p.Ways() {
			b, err := p.Bundle(ctx, w, epsilon)
			if err != nil {
				return err
			}
			if err := o.add(ctx, set.name, &epsilon, w.String(), b, test, ""); err != nil {
				return err
			}
		}
		numbers, judged, err := o.sendNumbers(ctx, p, train, epsilon, uint64(i)) //nolint:gosec // small
		if err != nil {
			return err
		}
		all, err := p.Search(ctx, epsilon)
		if err != nil {
			return err
		}
		for _, measure := range []string{encoders.MeasureCrossEntropy, encoders.MeasureError} {
			trials := decision.Rank(all, measure)
			b, chosen := numbers, "numbers"
			if beats := false; judged != nil {
				_, _, beats = judged.BeatsSurely(&trials[0].Expected, measure)
				if !beats {
					b = nil
				}
			}
			if b == nil {
				chosen = trials[0].String()
				if b, err = p.Bundle(ctx, trials[0].Way, epsilon); err != nil {
					return err
				}
			}
			if err := o.add(ctx, set.name, &epsilon, wayAuto+" by "+measure, b, test, chosen); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendNumbers trains encoders that send one number, and returns the better one, and what people lose by
// one that is trained without them; nil unless numbers are asked for.
func (o *decisionOptions) sendNumbers(ctx context.Context, p *decision.Prepared, d *encoders.Data, epsilon float64, seed uint64) (*bundle.Bundle, *decision.Expected, error) {
	if !o.numbers {
		return nil, nil, nil
	}
	var best *taskaware.Result
	var choice encoders.Choice
	for _, c := range encoders.Choices([]int{1}, bundle.Promise{Epsilon: epsilon, Delta: taDelta}) {
		r, err := o.sendNumber(ctx, d, c, epsilon, seed)
		if err != nil {
			return nil, nil, err
		}
		if best == nil || r.HeldOut.Loss < best.HeldOut.Loss {
			best, choice = r, c
		}
	}
	rest, held := p.Outer()
	again, err := o.sendNumber(ctx, d.Pick(rest), choice, epsilon, seed)
	if err != nil {
		return nil, nil, err
	}
	b, err := again.Bundle()
	if err != nil {
		return nil, nil, err
	}
	judged, err := p.Judge(ctx, b, held)
	if err != nil {
		return nil, nil, err
	}
	b, err = best.Bundle()
	return b, judged, err
}

// sendNumber trains an encoder of a choice.
func (o *decisionOptions) sendNumber(ctx context.Context, d *encoders.Data, c encoders.Choice, epsilon float64, seed uint64) (*taskaware.Result, error) {
	body := encoder.Body{Domain: c.Domain, Radius: 1, Coordinates: c.Coordinates}
	noise, err := encoder.NewNoise(ctx, c.Noise, body, bundle.Promise{Epsilon: epsilon, Delta: taDelta}, o.tables)
	if err != nil {
		return nil, err
	}
	own := taskaware.Options{Seed: seed}
	r, err := taskaware.Train(ctx, d, body, noise, own, encoders.Run{})
	if err != nil {
		return nil, err
	}
	return r.Refit(ctx, own, encoders.Run{})
}

// add measures a bundle on people who test.
func (o *decisionOptions) add(ctx context.Context, data string, epsilon *float64, way string, b *bundle.Bundle, test *encoders.Data, chosen string) error {
	release := encoders.Release(b.Filter)
	if epsilon != nil {
		var err error
		if release, err = drawing(b); err != nil {
			return err
		}
	}
	measures, err := encoders.Evaluate(ctx, b, release, test, 100, nil)
	if err != nil {
		return err
	}
	p := like(&o.points, decisionPoint{Data: data, Epsilon: epsilon, Way: way}, func(p *decisionPoint) bool {
		return p.Data == data && p.Way == way && (p.Epsilon == nil) == (epsilon == nil) && (epsilon == nil || *p.Epsilon == *epsilon)
	})
	p.errors, p.ce = append(p.errors, measures[0].Mean), append(p.ce, measures[1].Mean)
	p.Splits = len(p.errors)
	p.Errors, p.ErrorsSD = meanAndDeviation(p.errors)
	p.CrossEntropy, p.CrossSD = meanAndDeviation(p.ce)
	if chosen != "" {
		if p.Chosen == nil {
			p.Chosen = map[string]int{}
		}
		p.Chosen[chosen]++
	}
	return nil
}

// compare sets the differences from the baseline.
func (o *decisionOptions) compare() {
	for _, p := range o.points {
		for _, base := range o.points {
			if p.Epsilon != nil && base.Way == wayBaseline && base.Data == p.Data && *base.Epsilon == *p.Epsilon {
				p.MoreErrors, p.MoreCross = paired(p.errors, base.errors), paired(p.ce, base.ce)
			}
		}
	}
}

// paired returns the mean of the differences and its standard error.
func paired(a, b []float64) [2]float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	mean, deviation := meanAndDeviation(d)
	return [2]float64{mean, deviation / math.Sqrt(float64(len(d)))}
}

func (o *decisionOptions) records() [][]string {
	out := [][]string{{"data", "epsilon", "way", "splits", "error", "error_deviation", "cross_entropy", "cross_entropy_deviation", "more_errors", "standard_error", "more_cross_entropy", "standard_error"}}
	for _, p := range o.points {
		out = append(out, record(p.Data, epsilonText(p.Epsilon), p.Way, p.Splits, rounded(p.Errors, 5), rounded(p.ErrorsSD, 3), rounded(p.CrossEntropy, 5), rounded(p.CrossSD, 3),
			rounded(p.MoreErrors[0], 3), rounded(p.MoreErrors[1], 3), rounded(p.MoreCross[0], 3), rounded(p.MoreCross[1], 3)))
	}
	return out
}

func epsilonText(epsilon *float64) string {
	if epsilon == nil {
		return ""
	}
	return strconv.FormatFloat(*epsilon, 'g', -1, 64)
}

// write prints a table as Markdown: means and standard deviations over the splits.
func (o *decisionOptions) write(b *strings.Builder) {
	b.WriteString("| data | ε | way | errors, % | cross entropy, nats | more errors than the baseline, points | more cross entropy |\n|" + strings.Repeat(" --- |", 7) + "\n")
	for _, p := range o.points {
		fmt.Fprintf(b, "| %s | %s | %s | %.2f ± %.2f | %.4f ± %.4f |", p.Data, epsilonText(p.Epsilon), p.Way, 100*p.Errors, 100*p.ErrorsSD, p.CrossEntropy, p.CrossSD)
		if p.Epsilon == nil || p.Way == wayBaseline {
			b.WriteString(" | |\n")
			continue
		}
		fmt.Fprintf(b, " %+.2f ± %.2f | %+.4f ± %.4f |\n", 100*p.MoreErrors[0], 100*p.MoreErrors[1], p.MoreCross[0], p.MoreCross[1])
	}
	for _, p := range o.points {
		for _, way := range sortedKeys(p.Chosen) {
			fmt.Fprintf(b, "\n%s, epsilon %s: auto chose %s in %d of %d splits", p.Data, epsilonText(p.Epsilon), way, p.Chosen[way], p.Splits)
		}
	}
	b.WriteString("\n")
}
