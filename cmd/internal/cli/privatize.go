// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/internal/exact"
)

type privatizeOptions struct {
	shell.Common
	local        bool   // for local randomizers only
	in           string // the CSV file
	columns      []columnOptions
	csv          csvfile.Options
	missing      string // a word of --missing
	unclipped    bool
	report       bool
	constantTime bool
	people       people
	joint        *vector // of all columns; nil: each by itself
	degrees      bool
}

// The words of --missing.
const (
	missingRefuse = "refuse"
	missingKeep   = "keep"
)

func newPrivatizeCommand(s *shell.Streams) *cobra.Command {
	o := &privatizeOptions{Common: shell.Common{Streams: s}}
	return o.command(&cobra.Command{
		Use:   "privatize TABLE --column NAME [--lower A --upper B] IN.csv",
		Short: "Add noise to columns of a CSV file",
		Long: `Verify a table, and replace every number of a column of a CSV file by that
number plus a draw of the table's noise. The new number stands alone, without the
blanks and quotes around the old one, which may tell something about it.
Everything else keeps its bytes: the header, other columns, line ends. The file
may be larger than memory.

This is privacy for each row by itself (the local model): noise goes to every
value, before anybody adds them up. A count, a sum or a mean of many rows needs
far less noise, but somebody who sees them all: noisewright release.

Each value is made (epsilon, delta)-differentially private by itself if replacing
one person's value by another moves it by at most the table's sensitivity. Give
--lower and --upper to make sure of it: values outside are clipped, and
upper - lower may not exceed the sensitivity. Where it does so only by the
rounding of decimals to float64, as 1.1 - 0.1 exceeds 1, upper is lowered to the
largest float64 that fits. With --unclipped in their place you promise that
neighboring values, read as float64s, differ by at most the sensitivity. Other
columns are not protected, and every further run on the same data spends epsilon
and delta again.

For several columns repeat --column. Each takes TABLE and what --lower, --upper and
--clamp say, unless it has its own after its name:

  --column hours,table=hours.json,lower=0,upper=100 --column age,table=age.json

The total printed at the end is for the columns of a row together: of several,
composed as account does, at the sum of the deltas. Who has several rows is
protected by as many times less.

With a table for integer queries the column has integers, of at most 2^53, and
gets integers. With one that publishes in steps (design --step) values are rounded
to a multiple of the step at random, without bias, before the noise, and results
are multiples of the step. With a kernel file in place of a table each value is
clipped to the kernel's range and replaced by an answer of the kernel, noise that
depends on the value; with the file of a local randomizer by its answer, and a column
of categories has to have those of the randomizer.

Columns that make a point, such as a place, get less noise together: --columns x,y
takes a file of design-ball or design-plane, and each row has one draw for all of
them. Points are clipped to the disc of --center A,B and --radius R, or to the box of
--lower A,B and --upper C,D, which may be no wider in the norm of the noise than its
sensitivity. With --degrees the columns are a latitude and a longitude, and radius
and noise are in meters, on the plane that touches the Earth at the center.

A column of categories needs no file: --categories red,green,blue --epsilon 2 answers
each by randomized response, the category itself with probability
e^epsilon/(e^epsilon + k - 1) for k categories and each other one with the same rest.
This is the best there is where all errors count alike, and proved before anything is
drawn. The categories are those that you declare: those found in private data would
tell about it. noisewright interval --categories gives the shares back.

--clamp A,B moves results into a range, such as 0,inf for what cannot be negative.
It costs no privacy, as the data is not looked at again, but the results are then
biased: their mean is no longer that of the values.

An empty or non-numeric cell is an error, and nothing is written then. With
--missing keep a cell that is empty stays empty: that the value is missing is
published as it is, unprotected, even where it tells something about the person.

IN.csv is UTF-8 text with a header line, or - for standard input. It may be
compressed with gzip or zstd; what is written is if the name after -o ends in .gz
or .zst. Output to standard output waits in a temporary file for the end of the
input.`,
		Example: `  noisewright design --epsilon 1 --delta 1e-6 --sensitivity 100 --loss l1 -o table.json
  noisewright privatize table.json --column hours --lower 0 --upper 100 in.csv -o out.csv
  noisewright privatize --column color --categories red,green,blue --epsilon 2 in.csv -o out.csv
  noisewright privatize --delimiter ';' --column hours,table=table.json,lower=0,upper=100 \
    --column age,table=table.json,lower=10,upper=110 in.csv.gz -o out.csv.gz`,
	})
}

func (o *privatizeOptions) command(cmd *cobra.Command) *cobra.Command {
	o.missing = missingRefuse
	f := shell.NewFlags(cmd)
	o.columnFlags(f)
	f.Delimiter(&o.csv)
	f.Word(&o.missing, "missing", "word", "what is done with empty cells: refuse the file, or keep them empty, which publishes unprotected whose values are missing", missingRefuse, missingKeep)
	f.Bool(&o.unclipped, "unclipped", "no --lower and --upper: you promise that one person's values differ by at most the table's sensitivity, and nothing makes sure of it")
	f.Bool(&o.report, "report", "print to standard error how many values were clipped; that number is not private")
	f.Bool(&o.constantTime, "constant-time", "draw in a time that does not depend on the values drawn; slower, the more cells there are")
	f.Output(&o.Common, "file to write, - for standard output (default -)", "csv", "gz", "zst")
	f.Quiet(&o.Common, "no progress and no total")
	return f.Run(o.run)
}

func (o *privatizeOptions) run(ctx context.Context) error {
	o.Progress().Watch("verifying")
	p, err := o.privatizer(ctx)
	if err != nil {
		return err
	}
	total, err := o.total(p)
	if err != nil {
		return err
	}
	in, err := o.OpenCSV(o.in, o.csv)
	if err != nil {
		return err
	}
	defer in.Close()
	inputs := []string{o.in}
	for _, c := range o.columns {
		if c.response == nil {
			inputs = append(inputs, c.table)
		}
	}
	line := o.Progress()
	err = o.WriteCSV(o.Output, func(w io.Writer) error {
		return p.run(ctx, w, in.Reader, shell.Workers(), func(rows int) { line.Rows("adding noise", rows, in.Input) })
	}, inputs...)
	if err != nil {
		return err
	}
	if !o.Quiet {
		fmt.Fprintf(o.Err, "total: %s\n", total)
		if rest := p.asTheyWere(); len(rest) > 0 {
			fmt.Fprintf(o.Err, "not protected: the other columns, as they were: %s\n", strings.Join(rest, ", "))
		}
	}
	switch {
	case o.report:
		o.reportClipped(p)
	case !o.Quiet && o.joint != nil && o.joint.clip != nil:
		fmt.Fprintln(o.Err, "clipped: points outside, if there are any: how many is not private, and said with --report")
	}
	return nil
}

func (o *privatizeOptions) privatizer(ctx context.Context) (*privatizer, error) {
	p := &privatizer{file: o.in, keepMissing: o.missing == missingKeep, people: &o.people, joint: o.joint}
	if o.people.one && len(o.columns) < 2 {
		return nil, shell.BadInput("", errors.New("one is given, but only one column, want several of which one is answered"))
	}
	sources := map[string]*source{} // by key: a table is verified once
	clipped := false
	for _, c := range o.columns {
		from := sources[c.key()]
		if from == nil {
			var err error
			if from, err = o.open(ctx, c); err != nil {
				return nil, c.about(err)
			}
			sources[c.key()] = from
		}
		column, err := newColumn(c, from)
		if err != nil {
			return nil, c.about(err)
		}
		if o.joint != nil {
			if err := o.checkJoint(from, len(p.columns)); err != nil {
				return nil, err
			}
		} else if column.clip == nil && from.noise != nil {
			if !o.unclipped {
				return nil, c.about(shell.BadInput("noisewright privatize --help", fmt.Errorf("lower and upper are missing, want what values are clipped to, or --unclipped, a promise that one person's values differ by at most %v", from.Sensitivity)))
			}
			o.Warn("%swithout --lower and --upper, the result is private only if one person's values differ by at most %v", c.prefix(), from.Sensitivity)
		}
		if p.keepMissing {
			o.Warn("--missing keep publishes which values of %s are missing: that is not protected", check.Quoted(c.name))
		}
		if column.label == nil && o.people.column != "" {
			return nil, c.about(shell.BadInput("", errors.New("person, seed, secret and one are for categories, want none of them with numbers")))
		}
		clipped = clipped || column.clip != nil
		p.columns = append(p.columns, column)
	}
	if o.report && !clipped && (o.joint == nil || o.joint.clip == nil) {
		return nil, shell.BadInput("noisewright privatize --help", errors.New("report is given, but no values are clipped, want a column of numbers with a range"))
	}
	return p, nil
}

// total says what the columns of a row promise together, at the sum of their deltas.
func (o *privatizeOptions) total(p *privatizer) (string, error) {
	if len(p.columns) == 1 {
		of := p.columns[0].source
		return fmt.Sprintf("epsilon %s, delta %s for the column of a row", shell.DigitsUp(of.Epsilon), shell.DigitsUp(of.Delta)), nil
	}
	if o.joint != nil {
		of := p.columns[0].source
		return fmt.Sprintf("epsilon %s, delta %s for the %d columns of a row together", shell.DigitsUp(of.Epsilon), shell.DigitsUp(of.Delta), len(p.columns)), nil
	}
	o.Progress().Watch("composing")
	if o.people.one {
		largest := dp.Budget{}
		for _, c := range p.columns {
			largest.Epsilon, largest.Delta = max(largest.Epsilon, c.source.Epsilon), max(largest.Delta, c.source.Delta)
		}
		return fmt.Sprintf("epsilon %s, delta %s for the one column of a row that is answered", shell.DigitsUp(largest.Epsilon), shell.DigitsUp(largest.Delta)), nil
	}
	var releases []account.Release
	var epsilons, deltas []float64
	places := map[*source]int{}
	for _, c := range p.columns {
		if i, there := places[c.source]; there {
			releases[i].Times++
		} else {
			m, err := c.source.release()
			if err != nil {
				return "", err
			}
			places[c.source] = len(releases)
			releases = append(releases, account.Release{PLD: m, Times: 1})
		}
		epsilons = append(epsilons, c.source.Epsilon)
		deltas = append(deltas, c.source.Delta)
	}
	delta := sumUp(deltas)
	if delta >= 1 {
		return "", shell.BadInput("tables with smaller deltas", fmt.Errorf("delta = %g for the %d columns of a row together, want less than 1", delta, len(p.columns)))
	}
	c, err := account.Compose(releases, account.Options{})
	if err != nil {
		return "", shell.BadInput("", err)
	}
	// What was verified of each adds up, even where account has no sharper bound.
	epsilon := sumUp(epsilons)
	if r, err := newAccountReport(c, delta, math.NaN()); err == nil {
		epsilon = min(epsilon, r.Epsilon)
	} else if !errors.Is(err, account.ErrDeltaTooSmall) {
		return "", err
	}
	return fmt.Sprintf("epsilon %s, delta %s for the %d columns of a row together", shell.DigitsUp(epsilon), shell.DigitsUp(delta), len(p.columns)), nil
}

func sumUp(terms []float64) float64 {
	sum := exact.Rational(0)
	for _, t := range terms {
		sum.Add(sum, exact.Rational(t))
	}
	return exact.FloatUp(sum)
}

func (o *privatizeOptions) reportClipped(p *privatizer) {
	o.Warn("what follows tells something about the data and is not private")
	if o.joint != nil {
		fmt.Fprintf(o.Err, "clipped: %d of %d points\n", o.joint.clipped, o.joint.points)
		return
	}
	for _, c := range p.columns {
		of := ""
		if len(p.columns) > 1 {
			of = " of " + check.Quoted(c.name)
		}
		fmt.Fprintf(o.Err, "clipped: %d of %d values%s\n", c.clipped, c.values, of)
	}
}
