// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/report"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/catalogue"
)

type catalogueOptions struct {
	shell.Common
	epsilon, delta float64 // NaN: any
	loss, query    string  // empty: any
	csv            string
}

func newCatalogueCommand(s *shell.Streams) *cobra.Command {
	o := &catalogueOptions{Common: shell.Common{Streams: s}, epsilon: math.NaN(), delta: math.NaN()}
	f := shell.NewFlags(&cobra.Command{
		Use:   "catalogue [--epsilon E] [--delta D] [--loss l1|l2] [--query integer|real] [-o TABLE] [--csv FILE]",
		Short: "Find noise that was designed before, for common parameters",
		Long: `List tables that come with this program, all of sensitivity 1, with their expected
losses and gaps. Each is proved again in exact arithmetic before it is listed. The flags
say which are meant. With -o or --csv they have to leave one, which is written as a
table file, or as the edges, masses and cumulative masses of its cells.

The CSV file has a row for each cell, in the order of draws: its edges in query units,
its mass, the sum of the masses so far, and its weight, which is the mass times 2^64,
exactly. The last row is the atom at 0, if there is one. The cells of a tail stand for
all their repetitions, each tail_step further out and tail_ratio times as likely.`,
		Example: `  noisewright catalogue --query integer --loss l1
  noisewright catalogue --query integer --loss l1 --epsilon 1 --delta 1e-6 -o count.json --csv count.csv`,
	})
	f.OptionalNumber(&o.epsilon, "epsilon", shell.Epsilon, "tables of this epsilon alone")
	f.OptionalNumber(&o.delta, "delta", shell.Delta, "tables of this delta alone")
	f.Word(&o.loss, "loss", "l1|l2", "tables of this loss alone", "l1", "l2")
	f.Word(&o.query, "query", "integer|real", "tables for queries with such values alone", string(dp.IntegerQuery), string(dp.RealQuery))
	f.File(&o.csv, "csv", "CSV file to write, - for standard output (default none)", "csv", "csv.gz")
	f.Output(&o.Common, "table file to write, - for standard output (default none)", "json")
	f.Check(func() error {
		return errors.Join(
			shell.Refuse(o.csv == "-" && (o.Output == "-" || o.JSON), "csv = - and another result, want only one of them on standard output"),
			shell.Refuse(o.csv != "" && o.csv != "-" && filepath.Clean(o.csv) == filepath.Clean(o.Output), "csv and output = %s, want two files", o.csv),
		)
	})
	f.Summary(&o.Common, "output", "csv")
	c := f.Run(o.run)
	c.AddCommand(newCatalogueDesignCommand(s))
	return c
}

func (o *catalogueOptions) run(ctx context.Context) error {
	found, err := o.found()
	if err != nil {
		return shell.BadInput("noisewright design makes a table for any parameters, noisewright catalogue design many", err)
	}
	if o.Output == "" && o.csv == "" {
		return o.list(ctx, found)
	}
	if len(found) > 1 {
		return shell.BadInput("noisewright catalogue --help", fmt.Errorf("%d tables are left, want one: epsilon, delta, loss and query say which", len(found)))
	}
	return o.write(ctx, found[0])
}

// found reads the tables that are meant, or says what there is.
func (o *catalogueOptions) found() (found []*tables.Table, err error) {
	for _, name := range catalogue.Names() {
		t, err := catalogue.Read(name)
		if err != nil {
			return nil, err
		}
		found = append(found, t)
	}
	among := func(name string, wanted float64, of func(dp.Privacy) float64) error {
		var there []float64
		for _, t := range found {
			there = append(there, of(t.Privacy()))
		}
		slices.Sort(there)
		there = slices.Compact(there)
		if !math.IsNaN(wanted) && !slices.Contains(there, wanted) {
			return fmt.Errorf("%s = %v, want one of the catalogue: %s", name, wanted, strings.Trim(strings.ReplaceAll(fmt.Sprint(there), " ", ", "), "[]"))
		}
		return nil
	}
	if err := errors.Join(
		among("epsilon", o.epsilon, func(p dp.Privacy) float64 { return p.Epsilon }),
		among("delta", o.delta, func(p dp.Privacy) float64 { return p.Delta }),
	); err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(t *tables.Table) bool {
		p := t.Problem()
		return !math.IsNaN(o.epsilon) && p.Epsilon != o.epsilon || !math.IsNaN(o.delta) && p.Delta != o.delta ||
			o.loss != "" && p.Loss.Name() != o.loss || o.query != "" && string(p.Query) != o.query
	})
	slices.SortFunc(found, func(a, b *tables.Table) int {
		p, q := a.Problem(), b.Problem()
		return cmp.Or(cmp.Compare(p.Query, q.Query), cmp.Compare(p.Loss.Name(), q.Loss.Name()), cmp.Compare(p.Epsilon, q.Epsilon), cmp.Compare(p.Delta, q.Delta))
	})
	return found, nil
}

func (o *catalogueOptions) list(ctx context.Context, found []*tables.Table) error {
	var list listing
	progress := o.Progress()
	for i, t := range found {
		progress.Count("proving tables", i, len(found))
		v, err := shell.Prove(ctx, catalogue.Name(t.Problem()), t)
		if err != nil {
			return err
		}
		list.add(v)
	}
	return list.print(&o.Common)
}

func (o *catalogueOptions) write(ctx context.Context, t *tables.Table) error {
	v, err := shell.Prove(ctx, catalogue.Name(t.Problem()), t)
	if err != nil {
		return err
	}
	w, err := o.Reserve(o.Output)
	if err != nil {
		return err
	}
	defer w.Discard()
	if o.csv != "" {
		if err := o.WriteCSV(o.csv, t.WriteCSV); err != nil {
			return err
		}
	}
	if err := w.Put(t.Encode); err != nil || o.csv == "-" {
		return err
	}
	a := about(report.Finding{Mechanism: t, Proven: v})
	return o.Print(shell.Object{a.Problem, a.Certified, a.Size}, append(a.Rows, shell.When(o.Output != "", "table", o.Output), shell.When(o.csv != "", "csv", o.csv)))
}

// listing is what is printed of several tables.
type listing struct {
	objects []shell.Object
	lines   [][]string
}

func (l *listing) add(v proof.Proven) {
	t, _ := proof.Of(v).(*tables.Table)
	a := about(report.Finding{Mechanism: t, Proven: v})
	name := catalogue.Name(t.Problem())
	l.objects = append(l.objects, shell.Object{"name", name, a.Problem, a.Certified, a.Size})
	l.lines = append(l.lines, []string{name, exact.DecimalUp(v.Bounds().Loss, 7), shell.Percent(shell.GapOf(v.Bounds())), fmt.Sprint(t.Cells())})
}

func (l *listing) print(c *shell.Common, rows ...shell.Row) error {
	return c.PrintText(shell.Object{"tables", l.objects}, func(b *strings.Builder) {
		shell.WriteColumns(b, append([][]string{{"table", "expected loss", "gap", "cells"}}, l.lines...), "<>>>")
		shell.WriteRows(b, rows)
	})
}

type familyOptions struct {
	shell.Common
	epsilons, deltas []float64
	problem          dp.Problem
	design           lp.Options
}

// maxFamily bounds the tables of a family, whose files are all reserved before the first design.
const maxFamily = 200

func newCatalogueDesignCommand(s *shell.Streams) *cobra.Command {
	o := &familyOptions{Common: shell.Common{Streams: s}, design: shell.DesignOptions()}
	f := shell.NewFlags(&cobra.Command{
		Use:   "design --epsilon E,E,… --delta D,D,… --sensitivity S --loss LOSS -o FOLDER",
		Short: "Design a table for each epsilon and delta of two lists",
		Long: `Design noise as noisewright design does, for every epsilon of a list with every delta of
another, and write a table of each into a folder, QUERY-LOSS-epsilon-E-delta-D.json. The
gap and the time limit are those of one design. Tables appear as they are proved; if one
stopped at a limit, the exit code is 4, and all are proven and usable all the same.`,
		Example: `  noisewright catalogue design --epsilon 0.1,0.5,1 --delta 0,1e-6 --sensitivity 1 --loss l1 --query integer -o counts`,
	})
	f.Numbers(&o.epsilons, "epsilon", "", shell.Epsilon, "privacy parameters epsilon, separated by commas")
	f.Numbers(&o.deltas, "delta", "", shell.Delta, "privacy parameters delta, separated by commas")
	f.Sensitivity(&o.problem.Sensitivity)
	f.Check(func() error {
		missing := func(name string, list []float64) error {
			if len(list) > 0 {
				return nil
			}
			return shell.About(name, "", shell.Want("numbers separated by commas"))
		}
		n := len(o.epsilons) * len(o.deltas)
		if n == 0 {
			return errors.Join(missing("epsilon", o.epsilons), missing("delta", o.deltas))
		}
		if n > maxFamily {
			return fmt.Errorf("epsilon and delta make %d tables, want at most %d", n, maxFamily)
		}
		// The weakest promise, of which there may be a warning.
		o.problem.Epsilon, o.problem.Delta = slices.Max(o.epsilons), slices.Max(o.deltas)
		return nil
	})
	f.Caution(&o.Common, &o.problem.Privacy)
	f.Loss(&o.problem.Loss)
	f.Query(&o.problem)
	f.Effort(&o.design, " of one design")
	f.Output(&o.Common, "folder to write to, made if it is missing")
	f.Require(&o.Output, "output", "a folder")
	f.Force(&o.Common)
	f.Summary(&o.Common, "output")
	return f.Run(o.run)
}

func (o *familyOptions) run(ctx context.Context) (err error) {
	if err := shell.MakeFolder(o.Output); err != nil {
		return err
	}
	var problems []dp.Problem
	var files []*shell.Output
	for _, epsilon := range o.epsilons {
		for _, delta := range o.deltas {
			p := o.problem
			p.Epsilon, p.Delta = epsilon, delta
			w, err := o.Create(filepath.Join(o.Output, catalogue.Name(p)+".json"))
			if err != nil {
				return err
			}
			defer w.Discard()
			problems, files = append(problems, p), append(files, w)
		}
	}
	var list listing
	var stopped error
	for i, p := range problems {
		o.design.Progress = o.Progress().Design(o.design.TimeLimit)
		r, limit, err := shell.Design(ctx, p, o.design)
		if err != nil {
			return fmt.Errorf("%s: %w", catalogue.Name(p), err)
		}
		if err := files[i].Put(r.Verified.Mechanism().Encode); err != nil {
			return err
		}
		list.add(r.Verified)
		if limit != nil && stopped == nil {
			stopped = fmt.Errorf("%s: %w", catalogue.Name(p), limit)
		}
	}
	return cmp.Or(list.print(&o.Common, shell.Row{"folder", o.Output}), stopped)
}
