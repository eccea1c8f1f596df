package cli

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
)

// kernelReport is what design-kernel --json prints: the keys of design, and what
// a kernel has beside.
type kernelReport struct {
	Schema          int         `json:"schema"`
	Epsilon         float64     `json:"epsilon"`
	Delta           float64     `json:"delta"`
	Sensitivity     float64     `json:"sensitivity"`
	Loss            string      `json:"loss"`
	Range           [2]float64  `json:"range"`
	InstanceCap     *float64    `json:"instance_cap"`
	DataIndependent json.Number `json:"data_independent,omitempty"`
	ExpectedLoss    json.Number `json:"expected_loss"`
	MaxLoss         json.Number `json:"max_loss"`
	LowerBound      json.Number `json:"lower_bound"`
	Gap             *float64    `json:"gap"`
	DeltaCertified  string      `json:"delta_certified"`
	Nodes           int         `json:"nodes"`
	Rounds          int         `json:"rounds"`
	Seconds         float64     `json:"seconds"`
	Status          string      `json:"status"`
}

func newDesignKernelCommand(a *shell.Streams) *cobra.Command {
	var (
		out           string
		asJSON, quiet bool
	)
	cmd := &cobra.Command{
		Use:   "design-kernel --range A,B --epsilon E --delta D --sensitivity S --loss LOSS [-o KERNEL]",
		Short: "Design noise that depends on the query value",
		Long: `Where the values of a query lie in a known range, noise may depend on the value:
near the ends, and where values are rare, other noise is better. Find the kernel,
one law of answers per cell of the range, of least expected loss, averaged over
the query values, that makes the query (epsilon, delta)-differentially private,
and write it together with the proof.

The lower bound is about every mechanism for this range, whatever its outputs. If
a limit is hit first, the best proven kernel is written, and the exit code is 4.
Every number printed was recomputed in exact arithmetic: the lower bound is rounded
down, all others up.

With --instance-cap no query value has a larger expected loss than that; the word
auto stands for the least expected loss of noise that does not depend on the
value. The bound is then about the mechanisms that keep the cap.`,
		Example: `  noisewright design-kernel --range 0,4 --epsilon 1 --delta 0.2 --sensitivity 2 --loss l1 -o kernel.json
  noisewright design-kernel --range 0,4 --epsilon 0.2 --delta 0.05 --sensitivity 2 --loss l1 --nodes 16 --instance-cap auto --json`,
		Args: shell.NoArguments,
	}
	ends := shell.NewText(cmd, "range", "A,B", "", "least and largest value of the query, in its units, separated by a comma")
	problemFlags := shell.NewKernelProblemFlags(cmd, shell.WantDelta)
	weight := shell.NewText(cmd, "weight", "uniform|FILE", "uniform", "law of the query values over which losses are averaged: uniform, or a CSV file of a piecewise constant density with the columns from,weight")
	nodes := shell.NewText(cmd, "nodes", "N|FILE", "", "number of nodes, the answers, each with a cell of query values; or a file with one node per line, each with the cell of the values nearest to it (default as many as the gap needs)")
	gap := shell.NewText(cmd, "gap", "number", "0.01", "relative certified gap to reach, (expected loss - lower bound)/lower bound, without unit")
	limit := shell.NewText(cmd, "time-limit", "duration", "60s", "wall time after which the best proven kernel is taken, with its unit: 500ms, 60s, 5m")
	instanceCap := shell.NewText(cmd, "instance-cap", "O|auto", "", "largest expected loss of any query value, in units of the loss (default none)")
	cmd.Flags().StringVarP(&out, "output", "o", "", "kernel file to write, - for standard output (default none)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object instead of the summary")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress and no summary")
	_ = cmd.MarkFlagFilename("output", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var f shell.Fields
		p := problemFlags.Read(&f, false)
		k := lp.KernelProblem{Privacy: dp.Privacy{Epsilon: p.Epsilon, Delta: p.Delta, Sensitivity: p.Sensitivity}, Loss: p.Loss}
		k.Queries.Lower, k.Queries.Upper = readRange(&f, ends)
		k.Queries.Weight = readWeight(&f, weight, k.Queries)
		k.Nodes, k.Cells = readNodes(&f, nodes, k.Queries)
		automatic := instanceCap.Value == "auto"
		if instanceCap.Given && !automatic {
			k.InstanceCap = f.Number("instance-cap", instanceCap, "auto, or a number above 0 in units of the loss", func(v float64) bool { return v > 0 })
		}
		o := lp.Options{NewSolver: highs.New}
		o.Gap = f.Number("gap", gap, fmt.Sprintf("a number from %g to %d, without unit", lp.MinGap, lp.MaxGap), func(v float64) bool {
			return v >= lp.MinGap && v <= lp.MaxGap
		})
		o.TimeLimit = f.Duration("time-limit", limit)
		if asJSON && out == "-" {
			f.Add("output = - and --json, want only one of them on standard output")
		}
		if err := f.Err(cmd); err != nil {
			return err
		}
		var w *shell.Output
		if out != "" { // before the work, which would be lost
			var err error
			if w, err = a.Create(out); err != nil {
				return err
			}
			defer w.Discard()
		}
		var independent *lp.Result
		if automatic {
			var err error
			if independent, _, err = shell.Design(cmd.Context(), p, lp.Options{NewSolver: highs.New, TimeLimit: o.TimeLimit}); err != nil {
				return err
			}
			o := shell.FloatUp(independent.Table.Certificate().ExpectedLoss)
			if o == nil {
				return shell.BadInput("", errors.New("instance-cap = auto: the data independent optimum is too large for a float64"))
			}
			k.InstanceCap = *o
		}
		if !quiet {
			line := a.NewProgress()
			defer line.Clear()
			o.Progress = line.ShowKernel
		}
		r, short, err := shell.DesignKernel(cmd.Context(), k, o)
		if err != nil {
			return err
		}
		if w != nil {
			if err := r.Kernel.Kernel().Encode(w); err != nil {
				return err
			}
			if err := w.Commit(); err != nil {
				return err
			}
		}
		switch {
		case asJSON:
			err = shell.PrintJSON(a.Out, newKernelReport(r, independent))
		case !quiet && out != "-":
			err = shell.PrintRows(a.Out, designKernelRows(r, independent, out))
		}
		if err != nil {
			return err
		}
		return short
	}
	return cmd
}

// readRange reads A,B.
func readRange(f *shell.Fields, t *shell.Text) (lower, upper float64) {
	const want = "two finite numbers, the lower one first, separated by a comma, such as 0,100"
	a, b, ok := strings.Cut(t.Value, ",")
	lower, errLower := strconv.ParseFloat(strings.TrimSpace(a), 64)
	upper, errUpper := strconv.ParseFloat(strings.TrimSpace(b), 64)
	if !ok || errLower != nil || errUpper != nil || (kernels.Queries{Lower: lower, Upper: upper}).Validate() != nil {
		f.Bad("range", t, want)
		return math.NaN(), math.NaN()
	}
	return lower, upper
}

// readWeight reads "uniform" or a CSV file with the columns from and weight.
func readWeight(f *shell.Fields, t *shell.Text, q kernels.Queries) []kernels.WeightPiece {
	if t.Value == "uniform" {
		return nil
	}
	const want = "uniform, or a CSV file with the header from,weight"
	if t.Value == "" {
		f.Bad("weight", t, want)
		return nil
	}
	file, err := os.Open(t.Value)
	if err != nil {
		f.Add("weight = %s: %w, want %s", check.Quoted(t.Value), shell.FileCause(err), want)
		return nil
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil || len(records) < 2 || len(records[0]) != 2 || records[0][0] != "from" || records[0][1] != "weight" {
		f.Add("weight = %s: not such a file, want the header from,weight and a row per piece", check.Quoted(t.Value))
		return nil
	}
	for i, r := range records[1:] {
		from, errFrom := strconv.ParseFloat(strings.TrimSpace(r[0]), 64)
		w, errWeight := strconv.ParseFloat(strings.TrimSpace(r[1]), 64)
		if errFrom != nil || errWeight != nil {
			f.Add("weight = %s: row %d = %s,%s, want two numbers", check.Quoted(t.Value), i+1, check.Quoted(r[0]), check.Quoted(r[1]))
			return nil
		}
		q.Weight = append(q.Weight, kernels.WeightPiece{From: from, Weight: w})
	}
	if !math.IsNaN(q.Lower) { // else the range is to blame
		if err := q.Validate(); err != nil {
			f.Add("weight = %s: %s", check.Quoted(t.Value), shell.Sentence(err))
		}
	}
	return q.Weight
}

// readNodes reads a number of nodes or a file with one node per line.
func readNodes(f *shell.Fields, t *shell.Text, q kernels.Queries) (nodes []float64, cells int) {
	if !t.Given {
		return nil, 0
	}
	want := fmt.Sprintf("an integer from 1 to %d, or a file with one node per line", kernels.MaxCells)
	if n, err := strconv.Atoi(t.Value); err == nil || t.Value == "" {
		if n < 1 || n > kernels.MaxCells {
			f.Bad("nodes", t, want)
		}
		return nil, n
	}
	file, err := os.Open(t.Value)
	if err != nil {
		f.Add("nodes = %s: %w, want %s", check.Quoted(t.Value), shell.FileCause(err), want)
		return nil, 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		x, err := strconv.ParseFloat(line, 64)
		if err != nil {
			f.Add("nodes = %s: node %d = %s, want a number", check.Quoted(t.Value), len(nodes)+1, check.Quoted(line))
			return nil, 0
		}
		if nodes = append(nodes, x); len(nodes) > kernels.MaxCells {
			break
		}
	}
	ascending := true
	for i := 1; i < len(nodes); i++ {
		ascending = ascending && nodes[i] > nodes[i-1]
	}
	if n := len(nodes); n < 1 || n > kernels.MaxCells || !ascending || !(nodes[0] >= q.Lower && nodes[n-1] <= q.Upper) && !math.IsNaN(q.Lower) {
		f.Add("nodes = %s: not such nodes, want 1 to %d ascending numbers in the range", check.Quoted(t.Value), kernels.MaxCells)
	}
	return nodes, 0
}

func newKernelReport(r *lp.KernelResult, independent *lp.Result) kernelReport {
	k := r.Kernel.Kernel()
	privacy, q, claims := k.Privacy(), k.Queries(), r.Kernel.Certificate().Claims()
	status := "optimal"
	if !r.Optimal {
		status = "limit"
	}
	report := kernelReport{
		Schema:  shell.Schema,
		Epsilon: privacy.Epsilon, Delta: privacy.Delta, Sensitivity: privacy.Sensitivity,
		Loss:           k.Loss().Name(),
		Range:          [2]float64{q.Lower, q.Upper},
		ExpectedLoss:   json.Number(claims.ExpectedLoss),
		MaxLoss:        json.Number(claims.MaxLoss),
		LowerBound:     json.Number(claims.LowerBound),
		Gap:            shell.Finite(r.Gap),
		DeltaCertified: claims.Delta,
		Nodes:          k.Cells(),
		Rounds:         r.Rounds,
		Seconds:        math.Round(r.Elapsed.Seconds()*1000) / 1000,
		Status:         status,
	}
	if c := k.InstanceCap(); c > 0 {
		report.InstanceCap = &c
	}
	if independent != nil {
		report.DataIndependent = json.Number(independent.Table.Certificate().Claims().ExpectedLoss)
	}
	return report
}

func designKernelRows(r *lp.KernelResult, independent *lp.Result, out string) []shell.Row {
	rows := kernelRows(r.Kernel.Kernel(), r.Kernel.Certificate())
	rows = append(rows, shell.Row{"effort", fmt.Sprintf("%d rounds, %s", r.Rounds, r.Elapsed.Round(time.Millisecond))})
	if independent != nil {
		rows = append(rows, shell.Row{"data independent", independent.Table.Certificate().Claims().ExpectedLoss})
	}
	if out != "" {
		rows = append(rows, shell.Row{"kernel", out})
	}
	return rows
}

// kernelRows summarises a kernel and what is proved about it.
func kernelRows(k *kernels.Kernel, c kernels.Certificate) []shell.Row {
	p, q, claims := k.Privacy(), k.Queries(), c.Claims()
	weight := "uniform weight"
	if len(q.Weight) > 0 {
		weight = fmt.Sprintf("weight in %d pieces", len(q.Weight))
	}
	rows := []shell.Row{
		{"epsilon", fmt.Sprint(p.Epsilon)},
		{"delta", fmt.Sprintf("%v promised, %s certified (worst between the query values %.6g and %.6g)", p.Delta, claims.Delta, k.Node(c.Worst[0]), k.Node(c.Worst[1]))},
		{"sensitivity", fmt.Sprint(p.Sensitivity)},
		{"range", fmt.Sprintf("%v to %v, %s", q.Lower, q.Upper, weight)},
		{"loss", shell.LossUnit(k.Loss())},
		{"expected loss", claims.ExpectedLoss},
		{"largest loss", fmt.Sprintf("%s (near the query value %.6g)", claims.MaxLoss, c.MaxLossAt)},
	}
	if o := k.InstanceCap(); o > 0 {
		rows = append(rows, shell.Row{"instance cap", fmt.Sprint(o)})
	}
	gap := math.Inf(1)
	if g, ok := c.Gap(); ok {
		gap = g
	}
	return append(rows,
		shell.Row{"lower bound", claims.LowerBound},
		shell.Row{"gap", shell.Percent(gap)},
		shell.Row{"nodes", fmt.Sprint(k.Cells())},
	)
}
