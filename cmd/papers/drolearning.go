package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/cmd/papers/drolearn"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/tables"
)

// droLearning is a table of Selvi, Liu & Wiesemann (2025) about a learner with noise.
type droLearning struct {
	name, table, short, about string
	most                      func(r drolearn.Recipe) int // draws in a split; 0: not in the table
	prepare                   func(r drolearn.Recipe, t drolearn.Table) (*drolearn.Set, drolearn.Learner, error)
	// budgets are those of one release, of which each has its noises.
	budgets func(l drolearn.Learner) []dp.Privacy
}

// Of one release in the paper.
const droReleaseEpsilon, droReleaseDelta = 1, 0.1

var droLearnings = []droLearning{
	{
		name: "dro-table2", table: "table2", short: "naive Bayes with noise on every statistic",
		about: `Learn naive Bayes with noise on every count, mean and standard deviation, each with
epsilon 1 and delta 0.1 of its own.`,
		most: func(drolearn.Recipe) int { return math.MaxInt },
		prepare: func(r drolearn.Recipe, t drolearn.Table) (*drolearn.Set, drolearn.Learner, error) {
			s, err := r.Bayes(t)
			if err != nil {
				return nil, nil, err
			}
			return s, drolearn.NewBayes(s), nil
		},
		budgets: func(drolearn.Learner) []dp.Privacy { return []dp.Privacy{droBudget(1, 1)} },
	},
	{
		name: "dro-table3", table: "table3", short: "coordinate descent with noise on every gradient",
		about: `Learn logistic regression by proximal coordinate descent with noise on every gradient.
The published numbers are explained by epsilon 1/d and delta 0.1/d a step in d
dimensions, so that is what most rows have. In two more a step has epsilon 1 and delta
0.1: those of designed noise, and of noise that depends on the gradient, by 42 cells.`,
		most: func(r drolearn.Recipe) int { return r.Draws },
		prepare: func(r drolearn.Recipe, t drolearn.Table) (*drolearn.Set, drolearn.Learner, error) {
			s, err := r.Descent(t)
			if err != nil {
				return nil, nil, err
			}
			return s, drolearn.NewDescent(s), nil
		},
		budgets: func(l drolearn.Learner) []dp.Privacy {
			d := float64(l.(*drolearn.Descent).Dimensions())
			return []dp.Privacy{droBudget(d, drolearn.GradientSensitivity), droBudget(1, drolearn.GradientSensitivity)}
		},
	},
}

// droBudget is that of one release of so many.
func droBudget(parts, sensitivity float64) dp.Privacy {
	return dp.Privacy{Epsilon: droReleaseEpsilon / parts, Delta: droReleaseDelta / parts, Sensitivity: sensitivity}
}

// droLearningOptions are those of NAME for such a table.
type droLearningOptions struct {
	shell.Common
	table         droLearning
	data, sets    string
	splits, draws int
	full          bool
	design        lp.Options
	line          *shell.Progress
	kernel        *drolearn.Noise // made once
}

// The numbers of the paper.
const droSplits, droDraws = 100, 1000

func newDROLearningCommand(s *shell.Streams, t droLearning) *cobra.Command {
	o := &droLearningOptions{Common: shell.Common{Streams: s}, table: t, splits: 10, draws: 20, design: designOptions(0.001)}
	cmd := command(&o.Common, t.name, "--data uci", "Table "+strings.TrimPrefix(t.table, "table")+" of Selvi, Liu & Wiesemann (2025): "+t.short, t.about+`

THE RESULT IS NOT PRIVATE to any useful degree: the budget is that of one release, and
a person enters many. What they compose to is printed. To learn privately use
noisewright learn.

The noises are Gaussian, analytic Gaussian, truncated Laplace and designed; a paired t
test over the splits says which differ. The data sets are public ones, mostly of the UCI
Machine Learning Repository, in a folder or in folders in it, as
`+droFiles(t)+`.
A set that is not there is left out. cmd/papers/README.md says which columns they have.

Written are `+t.name+`.csv, with the published numbers beside ours, and `+t.name+`.svg.
The runs are the same every time.`, o.run, func(f *shell.Flags) {
		droDataFlag(f, &o.data, t.name)
		f.String(&o.sets, "sets", "names of the data sets, separated by commas (default all)")
		f.Bool(&o.full, "full", "100 splits and 1000 draws of noise in each, or fewer where they take long (minutes)")
		f.Integer(&o.splits, "splits", "", 2, 10_000, "random splits of a set, without --full")
		f.Integer(&o.draws, "draws", "", 1, 100_000, "draws of noise in a split, without --full")
	})
	cmd.Example += "\n  papers " + t.name + " --data uci --sets ecoli --full --json"
	return cmd
}

// droDataFlag adds the folder of the data sets.
func droDataFlag(f *shell.Flags, p *string, name string) {
	f.Directory(p, "data", "folder of the data sets, CSV files with a header, perhaps compressed with gzip")
	f.Require(p, "data", "a folder of data sets; papers "+name+" --help says which")
}

// droFiles lists the files of the data sets of a table.
func droFiles(t droLearning) string {
	text, line := "", 0
	for _, r := range drolearn.Recipes {
		if t.most(r) == 0 {
			continue
		}
		if line+len(r.File) > 80 {
			text, line = text+",\n", 0
		} else if text != "" {
			text, line = text+", ", line+2
		}
		text, line = text+r.File, line+len(r.File)
	}
	return text
}

// recipes are those asked for.
func (o *droLearningOptions) recipes() ([]drolearn.Recipe, error) {
	var all, names []string
	var chosen []drolearn.Recipe
	if o.sets != "" {
		names = strings.Split(o.sets, ",")
	}
	for _, r := range drolearn.Recipes {
		if o.table.most(r) == 0 {
			continue
		}
		all = append(all, r.Name)
		if names == nil || slices.Contains(names, r.Name) {
			chosen = append(chosen, r)
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, shell.BadInput("", shell.About("sets", name, shell.Want("names among "+strings.Join(all, ", "))))
		}
	}
	return chosen, nil
}

func (o *droLearningOptions) run(ctx context.Context) error {
	if err := needSolver(); err != nil {
		return err
	}
	recipes, err := o.recipes()
	if err != nil {
		return err
	}
	if o.full {
		o.splits, o.draws = droSplits, droDraws
	}
	begin := time.Now()
	report := droLearningReport{Splits: o.splits, Skipped: []string{}}
	files, err := produce(&o.Common, func(line *shell.Progress) error {
		o.line = line
		var missing []error
		for _, r := range recipes {
			set, err := o.learn(ctx, r)
			switch {
			case errors.Is(err, errNoFile):
				missing = append(missing, err)
				report.Skipped = append(report.Skipped, r.Name)
			case err != nil:
				return err
			default:
				report.Sets = append(report.Sets, *set)
			}
		}
		line.Clear()
		if len(report.Sets) == 0 {
			return shell.BadInput("", shell.About("data", o.data, shell.Want("a folder with at least one of the data sets")))
		}
		for _, err := range missing {
			o.Warn("%s", shell.Sentence(err))
		}
		report.average()
		return nil
	}, output{o.table.name, func() [][]string { return report.records() }, func(w io.Writer) error { return report.draw(w) }})
	if err != nil {
		return err
	}
	report.Seconds = math.Round(time.Since(begin).Seconds())
	return o.PrintText(document(o.table.name, report, files), func(b *strings.Builder) { report.write(b, files) })
}

// errNoFile marks a data set that the folder does not have.
var errNoFile = errors.New("is left out")

// readDROSet reads a data set from a folder, or from a folder in it.
func readDROSet(s *shell.Streams, folder string, r drolearn.Recipe) (t drolearn.Table, file string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return t, "", shell.BadInput("", fmt.Errorf("data %s: %w", folder, shell.FileCause(err)))
	}
	places := []string{folder}
	for _, e := range entries {
		if e.IsDir() {
			places = append(places, filepath.Join(folder, e.Name()))
		}
	}
	for _, place := range places {
		for _, name := range []string{r.File, r.File + ".gz"} {
			file = filepath.Join(place, name)
			if _, err := os.Stat(file); err == nil {
				t.Header, t.Columns, err = readColumns(s, file)
				return t, file, err
			}
		}
	}
	return t, "", fmt.Errorf("%s, which %s does not have, %w", r.File, folder, errNoFile)
}

// learn computes the rows of one data set.
func (o *droLearningOptions) learn(ctx context.Context, r drolearn.Recipe) (*droLearningSet, error) {
	text, file, err := readDROSet(o.Streams, o.data, r)
	if err != nil {
		return nil, err
	}
	set, learner, err := o.table.prepare(r, text)
	if err != nil {
		return nil, shell.BadFile(file, err)
	}
	out := &droLearningSet{
		Set: r.Name, Rows: set.Rows, Classes: set.Classes, Numbers: len(set.Numbers), Categories: len(set.Categories),
		Releases: learner.Releases(), Draws: min(o.draws, o.table.most(r)),
	}
	noises := []drolearn.Noise{drolearn.None}
	for k, budget := range o.table.budgets(learner) {
		more, composed, err := o.noises(ctx, budget, learner.Releases(), k == 0)
		if err != nil {
			return nil, err
		}
		noises, out.Budgets = append(noises, more...), append(out.Budgets, composed)
	}
	errs, err := drolearn.Run(ctx, set, learner, noises, drolearn.Options{
		Splits: o.splits, Draws: out.Draws,
		Progress: func(done int) { o.line.Count("learning "+r.Name, done, o.splits) },
	})
	if err != nil {
		return nil, err
	}
	return out, out.fill(o.table.table, errs)
}

// noises are those with a budget for each release, and what the designed ones compose to.
// Beside the second budget of a table there are those only that can be told apart there.
func (o *droLearningOptions) noises(ctx context.Context, p dp.Privacy, releases int, all bool) ([]drolearn.Noise, droComposed, error) {
	r, _, err := shell.Design(ctx, dp.Problem{Privacy: p, Loss: loss.L1}, o.design)
	if err != nil {
		return nil, droComposed{}, err
	}
	composed, err := composeDesigned(r.Table, releases)
	if err != nil {
		return nil, composed, err
	}
	designed, err := drolearn.Designed(r.Table.Mechanism())
	if err != nil {
		return nil, composed, err
	}
	if all {
		list, err := drolearn.Classical(p.Epsilon, p.Delta)
		return append(list, designed), composed, err
	}
	if o.kernel == nil {
		kernel, err := o.dataDependent(ctx, p)
		if err != nil {
			return nil, composed, err
		}
		o.kernel = &kernel
	}
	designed.Name, o.kernel.Name = designedAtOne, dependentAtOne
	return []drolearn.Noise{designed, *o.kernel}, composed, nil
}

// dataDependent is noise that depends on the gradient as the authors' program has it: by 42
// cells, of width 1/2 up to ±10 and without an end beyond, and with a loss that grows a
// thousand times faster beyond some point, here two sensitivities. The expected |x| of no cell
// is above 1.42, a cap that the program states and leaves out. (The program's loss grows where
// noise turns the sign of the gradient, so it depends on the cell, which ours may not.) 3 bins
// per sensitivity take a second; with 4 the loss is 7 % smaller.
func (o *droLearningOptions) dataDependent(ctx context.Context, p dp.Privacy) (drolearn.Noise, error) {
	l, err := loss.Parse("pwl:-inf,-1000;-4,-1;0,1;4,1000")
	if err != nil {
		return drolearn.Noise{}, err
	}
	edges := []float64{math.Inf(-1)}
	for i := -20; i <= 20; i++ {
		edges = append(edges, float64(i)/2)
	}
	design := o.design
	design.Progress = o.line.Additive(design.TimeLimit)
	r, _, err := shell.DesignAdditive(ctx, lp.CellsProblem{
		Privacy: p, Loss: l, Edges: append(edges, math.Inf(1)), Bins: 3, InstanceCap: 1.42, CapLoss: loss.L1,
	}, design)
	if err != nil {
		return drolearn.Noise{}, err
	}
	return drolearn.DataDependent(r.Kernel.Mechanism()), nil
}

// droTotalEpsilon is where the composition of a person's releases is looked at.
const droTotalEpsilon = 10

// composeDesigned says what so many releases of a table amount to.
func composeDesigned(v *tables.Verified, releases int) (droComposed, error) {
	p := v.Mechanism().Privacy()
	out := droComposed{Epsilon: p.Epsilon, Delta: p.Delta, Releases: releases, TotalEpsilon: droTotalEpsilon}
	pld, err := account.LossOf(v.Mechanism())
	if err != nil {
		return out, err
	}
	c, err := account.Compose([]account.Release{{PLD: pld, Times: releases}}, account.Options{})
	if err != nil {
		return out, err
	}
	b, err := c.Delta(droTotalEpsilon)
	out.TotalDeltaLower, out.TotalDeltaUpper = b.Lower, b.Upper
	return out, err
}
