// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	_ "time/tzdata" // --zone, where the system has none

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/plan"
	"github.com/noisewright/noisewright/release"
)

type releaseWorkloadOptions struct {
	shell.Common
	workload    release.Workload
	plan        string // file
	made        *plan.Plan
	data        string // file
	csv         dialect
	by          string
	every       string
	from, zone  string
	period      string // of a series
	ledger      string // file
	level       float64
	nonNegative bool
}

func newReleaseWorkloadCommand(s *shell.Streams) *cobra.Command {
	o := &releaseWorkloadOptions{Common: shell.Common{Streams: s}, level: 0.95}
	f := shell.NewFlags(&cobra.Command{
		Use:   "workload --plan PLAN",
		Short: "Publish all answers of a plan: series, ranges or tables",
		Long: `Publish the answers to all queries of a plan (noisewright plan design) about the rows
of a CSV file. They cost the plan's epsilon and delta once, all together.

--by and --keys, or --edges, say which cell of the plan a row is in: they are public, one
for each of the plan's cells and in their order. For marginals they are said of each
attribute: --keys sex=F,M --keys race=a,b,c. A row with another value is in no cell and
does not count, and nothing tells so.

A PERSON MAY BE IN AS MANY CELLS AS THE PLAN SAYS. By default a unit is a row, which is
in one. If persons have several rows, say --person: then a person counts once in each of
as many cells as the plan has room for, chosen at random.

Each answer comes with an interval that has the exact one with the probability --level,
and one of a set in which all exact ones are together with it. Answers agree with each
other, as sums with their parts: all are of one estimate. --non-negative raises those
below 0 to 0, which brings none farther from the truth, but is a bias, and sums no longer
agree with their parts.`,
		Example: `  noisewright plan design --workload prefix:3 --epsilon 1 --delta 1e-6 -o months.json
  noisewright release workload --plan months.json --data people.csv --by month --keys jan,feb,mar -o months.csv`,
	})
	o.flags(f)
	f.File(&o.ledger, "ledger", "ledger to charge, made by ledger create (default none: nothing adds up your releases)", "ledger")
	return o.command(f)
}

func newReleaseSeriesCommand(s *shell.Streams) *cobra.Command {
	o := &releaseWorkloadOptions{Common: shell.Common{Streams: s}, level: 0.95}
	f := shell.NewFlags(&cobra.Command{
		Use:   "series --plan PLAN --period PERIOD --ledger LEDGER",
		Short: "Publish a plan one period after another, charged once",
		Long: `Publish the answers of a plan to all queries about the periods up to --period, when it
is over. The ledger is charged for the whole plan with the first period, and for nothing
after it: each row, or person, is in few of the periods, as the plan says. Periods come in
their order.

The rows of a period are counted once, with noise that is drawn once. Whoever asks for
it again gets the same answer, and the data are not read: a row that arrives for a period
that is over does not count, and nothing tells so. With --strict-not-private it is refused
to go on if rows of earlier periods are not those that were counted: that is exact, not
private, and for who holds the data alone.

--data has the rows of this period, and may have all others. With --person a person counts
in the earliest of as many periods as the plan has room for: then it has to have all rows
up to now. ROWS THAT HAVE COUNTED MUST NOT MOVE TO ANOTHER PERIOD, and of a person not go:
what is said of privacy is wrong then.

The plan has to measure each period by itself: noisewright plan design --series. Periods
are named by --by and --keys, or follow from dates: --by day --every month --from 2026-01.`,
		Example: `  noisewright plan design --workload prefix:60 --series --epsilon 1 --delta 1e-6 -o years.json
  noisewright ledger create people.ledger --epsilon 1 --delta 1e-6
  noisewright release series --plan years.json --data people.csv --by joined --every month --from 2021-01 --period 2021-01 --ledger people.ledger`,
	})
	f.String(&o.period, "period", "the period that is over, such as 2026-03; those before it have to be released")
	f.Require(&o.period, "period", "the name of a period, such as 2026-03")
	o.flags(f)
	f.RequiredFile(&o.ledger, "ledger", "a ledger, made by noisewright ledger create", "ledger that is charged, and keeps the answers", "ledger")
	return o.command(f)
}

// flags adds those of all releases of plans but for the ledger.
func (o *releaseWorkloadOptions) flags(f *shell.Flags) {
	w := &o.workload
	f.RequiredFile(&o.plan, "plan", "a plan, made by noisewright plan design", "plan to release", "json")
	f.RequiredFile(&o.data, "data", "a CSV file", "CSV file with a header, - for standard input; perhaps compressed with gzip or zstd", "csv", "gz", "zst")
	o.csv.flags(f, asLedger)
	f.String(&o.by, "by", "column whose values are the cells; not of marginals, whose attributes are columns")
	f.Texts("keys", "[COLUMN=]A,B,C", "values of the cells, in the order of the plan; in quotes if with a comma", func(texts []string) error {
		return o.readCells("keys", texts, func(c *release.Cells, fields []string) error {
			c.Keys = fields
			return nil
		})
	})
	f.Texts("edges", "[COLUMN=]A,B,C", "in the place of keys: numbers between which the cells are, the last one inclusive", func(texts []string) error {
		return o.readCells("edges", texts, func(c *release.Cells, fields []string) error {
			for _, text := range fields {
				v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
				if err != nil {
					return shell.Want("ascending numbers, separated by commas")
				}
				c.Edges = append(c.Edges, v)
			}
			return nil
		})
	})
	f.Word(&o.every, "every", "period", "in the place of keys: the cells are periods of the dates in --by", "day", "week", "month", "quarter", "year")
	f.String(&o.from, "from", "with --every: the day on which the first period begins, such as 2026-01-01")
	f.String(&o.zone, "zone", "with --every: time zone of the calendar, and of times without an offset, such as Europe/Berlin (default UTC)")
	f.String(&w.Where, "where", `condition for a row to count, such as 'age >= 65 && city == "Ulm"'`)
	f.String(&w.Person, "person", "column that tells whose a row is, to protect persons in the place of rows")
	f.OptionalInteger(&w.MaxPerPerson, "max-per-person", 1, limits.PlanCells, "with --person: in how many cells a person counts, at most what the plan says (default that)")
	f.Bool(&w.StrictNotPrivate, "strict-not-private", strictUsage)
	f.Number(&o.level, "level", shell.Share, "probability of the intervals, at least")
	f.Bool(&o.nonNegative, "non-negative", "raise answers below 0 to 0: none is farther from the truth, but they are biased and sums do not agree")
}

// command adds the flags that every command has at its end.
func (o *releaseWorkloadOptions) command(f *shell.Flags) *cobra.Command {
	epsilon, delta := 0.0, 0.0
	f.Check(func() error {
		if o.plan == "" {
			return nil // reported
		}
		made, err := o.ReadAny(o.plan)
		if err != nil {
			return err
		}
		m, ok := made.(*plan.Plan)
		if !ok {
			return shell.BadInput("", fmt.Errorf("%s is %s, want a plan", shell.InputName(o.plan), made.Form().Noun))
		}
		epsilon, delta, o.made = m.Privacy().Epsilon, m.Spec().Delta, m
		return nil
	})
	f.Prudent(&o.Common, &epsilon, &delta)
	f.Check(func() error {
		if o.every == "" {
			return nil
		}
		if o.by == "" {
			return shell.About("every", o.every, shell.Want("--by COLUMN, the column of the dates"))
		}
		o.workload.Cells = append(o.workload.Cells, release.Cells{Column: o.by, Every: o.every, From: o.from, Zone: o.zone})
		return nil
	})
	f.Check(func() error { return oneStandard(o.plan, o.data) })
	f.Output(&o.Common, "file to write the answers to: CSV if its name ends in .csv, else JSON", "csv", "json")
	f.Summary(&o.Common, "output")
	return f.Run(o.run)
}

// readCells reads lists of values, of a column that is named before them, or of --by.
func (o *releaseWorkloadOptions) readCells(flag string, texts []string, set func(c *release.Cells, fields []string) error) error {
	for _, text := range texts {
		r := csv.NewReader(strings.NewReader(text))
		r.TrimLeadingSpace = true
		fields, err := r.Read()
		if err != nil {
			return shell.About(flag, text, shell.Want("values separated by commas"))
		}
		c := release.Cells{Column: o.by}
		if o.by == "" {
			named := false
			if c.Column, fields[0], named = strings.Cut(fields[0], "="); !named || c.Column == "" {
				return shell.About(flag, text, shell.Want("COLUMN= before the values, or --by COLUMN"))
			}
		}
		if err := set(&c, fields); err != nil {
			return err
		}
		o.workload.Cells = append(o.workload.Cells, c)
	}
	return nil
}

func (o *releaseWorkloadOptions) run(ctx context.Context) (err error) {
	w, err := o.Reserve(o.Output, o.plan, o.data, o.ledger)
	if err != nil {
		return err
	}
	defer w.Discard()
	o.Progress().Watch("verifying")
	if o.workload.Plan, err = shell.Sound(ctx, o.plan, o.made); err != nil {
		return err
	}
	s := o.made.Spec()
	var l account.Ledger
	unit := release.Query{Person: o.workload.Person}.Unit()
	if o.ledger != "" {
		book, err := openFor(ctx, o.ledger, s.Neighbors, unit, &o.csv, func(t account.Terms) string {
			if column, person := t.Person(); person {
				return "--person " + column
			}
			return ""
		})
		if err != nil {
			return err
		}
		defer book.Close()
		l = book
	}
	var m *release.Measured
	help := "noisewright release workload --help"
	if o.period != "" {
		help = "noisewright release series --help"
		m, err = o.workload.Period(ctx, l, o, o.period)
	} else {
		m, err = o.workload.Release(ctx, l, o)
	}
	if err != nil {
		return shell.Invalid(help, err)
	}
	if o.ledger == "" {
		o.Warn("no ledger: nothing adds up what your releases about these people cost together (see ledger create)")
	}
	var answers []release.WorkloadAnswer
	if err := m.Answers(o.level, o.nonNegative, func(a release.WorkloadAnswer) error {
		answers = append(answers, a)
		return nil
	}); err != nil {
		return shell.Invalid("", err)
	}
	object := o.object(m, &s, answers)
	write := func(w io.Writer) error { return shell.EncodeJSON(w, object) }
	if strings.HasSuffix(o.Output, ".csv") {
		write = func(w io.Writer) error { return o.writeCSV(w, m, answers) }
	}
	return o.Finish(w, write, object, o.rows(m, &s, answers), nil)
}

// ReadData reads the data for release.ReadData.
func (o *releaseWorkloadOptions) ReadData(ctx context.Context, q release.Query) (d *release.Data, digest string, err error) {
	digest, err = readRows(ctx, &o.Common, o.data, o.csv.Options, func(rows *release.CSV) (err error) {
		d, err = release.Read(rows, q)
		return err
	})
	return d, digest, err
}

func columnsOf(m *release.Measured) (names []string) {
	for _, c := range m.Cells {
		names = append(names, c.Column)
	}
	return names
}

func (o *releaseWorkloadOptions) object(m *release.Measured, s *plan.Spec, answers []release.WorkloadAnswer) shell.Object {
	object := shell.Object{
		"kind", m.Kind, "plan", m.PlanHash, "workload", s.Workload.Kind, "columns", columnsOf(m), "cells", m.Cells,
		"answers", answers, "level", o.level, "non_negative", o.nonNegative,
		"epsilon", s.Epsilon, "delta", s.Delta, "neighbors", s.Neighbors, "max_per_person", s.MaxPerPerson, "unit", m.Unit,
		"measured", m.Sums, "not_protected", m.NotProtected, "ledger", m.Ledger,
	}
	if m.Period != "" {
		object = append(object, "period", m.Period)
	}
	return object
}

func (o *releaseWorkloadOptions) writeCSV(w io.Writer, m *release.Measured, answers []release.WorkloadAnswer) error {
	out := csv.NewWriter(w)
	_ = out.Write(append(columnsOf(m), "value", "lower", "upper", "lower_of_all", "upper_of_all", "variance")) // Error has it
	for _, a := range answers {
		line := a.Of
		for _, x := range []float64{a.Value, a.Lower, a.Upper, a.LowerOfAll, a.UpperOfAll, a.Variance} {
			line = append(line, strconv.FormatFloat(x, 'g', -1, 64))
		}
		_ = out.Write(line)
	}
	out.Flush()
	return out.Error()
}

func (o *releaseWorkloadOptions) rows(m *release.Measured, s *plan.Spec, answers []release.WorkloadAnswer) []shell.Row {
	rows := []shell.Row{{"answers", fmt.Sprintf("%d, each with an interval that has the exact one with a probability of at least %v, and one of all together", len(answers), o.level)}}
	for _, a := range answers {
		value, lower, upper := rounded(release.Estimate{Value: a.Value, Lower: a.Lower, Upper: a.Upper})
		_, lowest, highest := rounded(release.Estimate{Value: a.Value, Lower: a.LowerOfAll, Upper: a.UpperOfAll})
		var name []string
		for _, label := range a.Of {
			if label != "" {
				name = append(name, label)
			}
		}
		rows = append(rows, shell.Row{"  " + cmp.Or(strings.Join(name, ", "), "all"), fmt.Sprintf("%s, %s to %s, all: %s to %s", value, lower, upper, lowest, highest)})
	}
	if n, ok := inAll(answers); ok && s.Workload.Kind == plan.Marginals && !o.nonNegative {
		value, _, _ := rounded(release.Estimate{Value: n, Lower: answers[0].Lower, Upper: answers[0].Upper})
		rows = append(rows, shell.Row{"in all cells", value + " by these answers: rows with other values are in none"})
	}
	if o.nonNegative {
		rows = append(rows, shell.Row{"non-negative", "answers below 0 are 0: none is farther from the truth, but they are biased, and sums do not agree with their parts"})
	}
	if m.Period != "" {
		rows = append(rows, shell.Row{"series", fmt.Sprintf("period %s, %d of %d; charged once for all", m.Period, len(m.Sums), o.made.Spec().Workload.Cells)})
	}
	about := (&releaseOptions{Common: o.Common}).rows(&release.Answer{
		Kind: release.Histogram, Epsilon: s.Epsilon, Delta: s.Delta, Neighbors: s.Neighbors, Unit: m.Unit,
		Mechanism: "plan " + m.PlanHash, NotProtected: m.NotProtected, Ledger: m.Ledger,
	})
	return append(rows, about...)
}

// inAll adds up the answers of the first table, of those over some of the columns.
func inAll(answers []release.WorkloadAnswer) (sum float64, ok bool) {
	table := func(a release.WorkloadAnswer) string {
		var there strings.Builder
		for _, label := range a.Of {
			fmt.Fprint(&there, label != "")
		}
		return there.String()
	}
	for _, a := range answers {
		if table(a) != table(answers[0]) {
			return sum, true
		}
		sum += a.Value
	}
	return sum, len(answers) > 0
}
