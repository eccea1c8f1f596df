package reproduce

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
)

// droOptimumOptions are those of reproduce dro-optimum.
type droOptimumOptions struct {
	shell.Common
	grid   droGrid
	design lp.Options
}

func newDROOptimumCommand(s *shell.Streams) *cobra.Command {
	o := &droOptimumOptions{Common: shell.Common{Streams: s}, design: shell.DesignOptions()}
	cmd := &cobra.Command{
		Use:   "dro-optimum",
		Short: "What the optimum of Tables 1, 4 and 5 of Selvi, Liu & Wiesemann (2025) is: a hypothesis",
		Long: `Test what the published optimum O of Tables 1, 4 and 5 of Selvi, Liu & Wiesemann,
"Differential Privacy via Distributionally Robust Optimization" (2025), is: solve the
two linear programs on equal cells that bracket it in the paper, and count in each
table the published numbers that follow from O, to 0.01 points, where O is

  certified   the midpoint of the certified bounds of a design
  upper       the optimum of the upper program
  midpoint    the midpoint between it and that of the lower program
  hypothesis  the optimum of the upper program less a quarter of a cell

The cells reach from -L to L, where L is the support of truncated Laplace noise,
rounded up; in a sensitivity there are 50 if L is at most 4, 20 up to 9, 10 up to 26
and 4 above: numbers read off the published ones.

Written are dro-optimum.csv and, in the folder tables, the designed tables, as by
reproduce dro-table1. The two programs are solved in floating-point arithmetic.`,
		Example: "  noisewright reproduce dro-optimum -o results",
	}
	f := shell.NewFlags(cmd)
	o.grid.flags(f)
	f.Effort(&o.design, " of one design")
	f.Folder(&o.Common)
	f.Summary(&o.Common)
	f.Run(o.run)
	return cmd
}

// The readings of O, in the order of the summary.
var droReadings = []string{"certified", "upper", "midpoint", "hypothesis"}

// droOptimum is an entry of the tables and what its O may be.
type droOptimum struct {
	support, k   int     // of the programs
	upper, lower float64 // their optima
	cells        [3]droCell
	reading      [4]float64 // O, in the order of droReadings
}

// cellsPerSensitivity is the k of the programs for a support.
func cellsPerSensitivity(support int) int {
	switch {
	case support <= 4:
		return 50
	case support <= 9:
		return 20
	case support <= 26:
		return 10
	}
	return 4
}

// solve solves both programs.
func (d *droOptimum) solve(ctx context.Context) error {
	p := d.cells[0].Privacy
	d.support = int(math.Ceil(noise.TruncatedLaplaceBound(p)))
	d.k = cellsPerSensitivity(d.support)
	g := gridProgram{Privacy: p, k: d.k, n: d.support * d.k}
	var err error
	if d.upper, err = g.solve(ctx); err != nil {
		return err
	}
	g.lower = true
	if d.lower, err = g.solve(ctx); err != nil {
		return err
	}
	d.reading = [4]float64{d.cells[0].optimum, d.upper, (d.upper + d.lower) / 2, d.upper - 0.25/float64(d.k)}
	return nil
}

// agrees reports whether a published number of a table follows from a reading of O.
func (d *droOptimum) agrees(table, reading int) bool {
	c := d.cells[table]
	c.measure(droTables[table].part, d.reading[reading])
	const rounding = 1e-9 // of the difference of two numbers with two digits
	return math.Abs(c.difference()) <= 0.01+rounding
}

func (o *droOptimumOptions) run(ctx context.Context) error {
	if err := needSolver(); err != nil {
		return err
	}
	store, err := newDesignStore(o.Streams, filepath.Join(o.Output, "tables"))
	if err != nil {
		return err
	}
	name := filepath.Join(o.Output, "dro-optimum.csv")
	file, err := o.Create(name)
	if err != nil {
		return err
	}
	defer file.Discard()
	line := o.Progress()
	defer line.Clear()
	designs, err := store.designAll(ctx, o.grid.problems(loss.L1{}), o.design, line)
	if err != nil {
		return err
	}
	entries := make([]droOptimum, len(designs))
	for t := range entries[0].cells {
		cells, err := droTables[t].cells(designs, o.design.Gap)
		if err != nil {
			return err
		}
		for i, c := range cells {
			entries[i].cells[t] = c
		}
	}
	programs := o.Progress()
	defer programs.Clear()
	if err := solveAll(ctx, entries, programs); err != nil {
		return err
	}
	programs.Clear()
	if err := writeDROOptima(file, entries); err != nil {
		return err
	}
	if err := file.Commit(); err != nil {
		return err
	}
	report := newDROOptimumReport(entries, name, store.dir)
	return o.Print(report, report.rows())
}

// solveAll solves the programs of all entries on all cores.
func solveAll(ctx context.Context, entries []droOptimum, line *shell.Progress) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	todo, done := make(chan *droOptimum), make(chan error)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(entries)) {
		workers.Go(func() {
			for e := range todo {
				done <- e.solve(ctx)
			}
		})
	}
	go func() {
		for i := range entries {
			todo <- &entries[i]
		}
		close(todo)
		workers.Wait()
		close(done)
	}()
	var first error
	count := 0
	for err := range done {
		if err != nil && first == nil {
			first = err
			cancel() // the others end soon
		}
		count++
		line.Count("solving", count, len(entries))
	}
	return first
}

func writeDROOptima(w io.Writer, entries []droOptimum) error {
	c := csv.NewWriter(w)
	header := []string{"epsilon", "delta", "support", "cells_per_sensitivity", "certified_optimum", "upper_program", "lower_program"}
	for _, t := range droTables[:3] {
		header = append(header, t.column+"_published", t.column+"_hypothesis")
	}
	err := c.Write(header)
	for _, e := range entries {
		record := []string{
			fmt.Sprint(e.cells[0].Epsilon), fmt.Sprint(e.cells[0].Delta), fmt.Sprint(e.support), fmt.Sprint(e.k),
			fmt.Sprintf("%.8g", e.cells[0].optimum), fmt.Sprintf("%.8g", e.upper), fmt.Sprintf("%.8g", e.lower),
		}
		for t, cell := range e.cells {
			published := ""
			if !math.IsNaN(cell.published) {
				published = fmt.Sprintf("%.2f", cell.published)
			}
			cell.measure(droTables[t].part, e.reading[3])
			record = append(record, published, fmt.Sprintf("%.4f", cell.value))
		}
		err = errors.Join(err, c.Write(record))
	}
	c.Flush()
	return errors.Join(err, c.Error())
}

// droOptimumReport is what is printed as JSON.
type droOptimumReport struct {
	Schema   int                 `json:"schema"`
	Name     string              `json:"name"`
	Cells    int                 `json:"cells"`
	Readings []droOptimumReading `json:"readings"`
	CSV      string              `json:"csv"`
	Tables   string              `json:"tables"`
}

// droOptimumReading counts the published numbers that follow from a reading of O.
type droOptimumReading struct {
	Optimum string `json:"optimum"`
	Table1  int    `json:"table1"`
	Table4  int    `json:"table4"`
	Table5  int    `json:"table5"`
}

func newDROOptimumReport(entries []droOptimum, file, dir string) droOptimumReport {
	r := droOptimumReport{Schema: shell.Schema, Name: "dro-optimum", Cells: len(entries), CSV: file, Tables: dir}
	for i, name := range droReadings {
		var counts [3]int
		for t := range counts {
			for j := range entries {
				if entries[j].agrees(t, i) {
					counts[t]++
				}
			}
		}
		r.Readings = append(r.Readings, droOptimumReading{name, counts[0], counts[1], counts[2]})
	}
	return r
}

func (r droOptimumReport) rows() []shell.Row {
	rows := []shell.Row{{"numbers", fmt.Sprintf("%d of each table; those that follow from O to 0.01 points:", r.Cells)}}
	for _, n := range r.Readings {
		rows = append(rows, shell.Row{n.Optimum, fmt.Sprintf("%d of Table 1, %d of Table 4, %d of Table 5", n.Table1, n.Table4, n.Table5)})
	}
	return append(rows, shell.Row{"files", r.CSV}, shell.Row{"designed tables", r.Tables})
}
