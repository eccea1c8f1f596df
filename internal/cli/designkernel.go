package cli

import (
	"bufio"
	"context"
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
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/tables"
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

func newDesignKernelCommand(a *app) *cobra.Command {
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
		Args: noArguments,
	}
	ends := newText(cmd, "range", "A,B", "", "least and largest value of the query, in its units, separated by a comma")
	problemFlags := newKernelProblemFlags(cmd, wantDelta)
	weight := newText(cmd, "weight", "uniform|FILE", "uniform", "law of the query values over which losses are averaged: uniform, or a CSV file of a piecewise constant density with the columns from,weight")
	nodes := newText(cmd, "nodes", "N|FILE", "", "number of nodes, the answers, each with a cell of query values; or a file with one node per line, each with the cell of the values nearest to it (default as many as the gap needs)")
	gap := newText(cmd, "gap", "number", "0.01", "relative certified gap to reach, (expected loss - lower bound)/lower bound, without unit")
	limit := newText(cmd, "time-limit", "duration", "60s", "wall time after which the best proven kernel is taken, with its unit: 500ms, 60s, 5m")
	instanceCap := newText(cmd, "instance-cap", "O|auto", "", "largest expected loss of any query value, in units of the loss (default none)")
	cmd.Flags().StringVarP(&out, "output", "o", "", "kernel file to write, - for standard output (default none)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object instead of the summary")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress and no summary")
	_ = cmd.MarkFlagFilename("output", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var f fields
		p := problemFlags.read(&f, false)
		k := lp.KernelProblem{Privacy: dp.Privacy{Epsilon: p.Epsilon, Delta: p.Delta, Sensitivity: p.Sensitivity}, Loss: p.Loss}
		k.Queries.Lower, k.Queries.Upper = readRange(&f, ends)
		k.Queries.Weight = readWeight(&f, weight, k.Queries)
		k.Nodes, k.Cells = readNodes(&f, nodes, k.Queries)
		automatic := instanceCap.value == "auto"
		if instanceCap.set && !automatic {
			k.InstanceCap = f.number("instance-cap", instanceCap, "auto, or a number above 0 in units of the loss", func(v float64) bool { return v > 0 })
		}
		o := lp.Options{NewSolver: highs.New}
		o.Gap = f.number("gap", gap, fmt.Sprintf("a number from %g to %d, without unit", lp.MinGap, lp.MaxGap), func(v float64) bool {
			return v >= lp.MinGap && v <= lp.MaxGap
		})
		o.TimeLimit = f.duration("time-limit", limit)
		if asJSON && out == "-" {
			f.add("output = - and --json, want only one of them on standard output")
		}
		if err := f.err(cmd); err != nil {
			return err
		}
		var w *output
		if out != "" { // before the work, which would be lost
			var err error
			if w, err = a.create(out); err != nil {
				return err
			}
			defer w.discard()
		}
		var independent *lp.Result
		if automatic {
			var err error
			if independent, _, err = design(cmd.Context(), p, lp.Options{NewSolver: highs.New, TimeLimit: o.TimeLimit}); err != nil {
				return err
			}
			o := floatUp(independent.Certificate.ExpectedLoss)
			if o == nil {
				return badInput("", errors.New("instance-cap = auto: the data independent optimum is too large for a float64"))
			}
			k.InstanceCap = *o
		}
		if !quiet {
			line := a.newProgress()
			defer line.clear()
			o.Progress = line.showKernel
		}
		r, short, err := designKernel(cmd.Context(), k, o)
		if err != nil {
			return err
		}
		if w != nil {
			if err := r.Kernel.Encode(w); err != nil {
				return err
			}
			if err := w.commit(); err != nil {
				return err
			}
		}
		switch {
		case asJSON:
			err = printJSON(a.stdout, newKernelReport(r, independent))
		case !quiet && out != "-":
			err = printRows(a.stdout, designKernelRows(r, independent, out))
		}
		if err != nil {
			return err
		}
		return short
	}
	return cmd
}

// designKernel runs a design. A limit that left a proven kernel is not an error.
func designKernel(ctx context.Context, p lp.KernelProblem, o lp.Options) (r *lp.KernelResult, limit, err error) {
	const help = "noisewright design-kernel --help"
	r, err = lp.DesignKernel(ctx, p, o)
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err == nil:
		return r, nil, nil
	case errors.Is(err, highs.ErrUnavailable):
		return nil, nil, &failure{code: exitFailure, err: highs.ErrUnavailable, hint: "verify, sample, privatize and plot work without it"}
	case errors.Is(err, dp.ErrInvalid):
		return nil, nil, badInput(help, err)
	case errors.Is(err, lp.ErrInfeasible):
		return nil, nil, badInput("a larger --instance-cap, more nodes (--nodes), or more time (--time-limit)", err)
	case errors.Is(err, lp.ErrLimit) && r != nil:
		reached := "a gap of " + percent(r.Gap)
		if math.IsInf(r.Gap, 0) {
			reached = "no lower bound"
		}
		text := fmt.Sprintf("stopped with %s, a gap of %s was requested; the kernel is proven and usable", reached, percent(o.Gap))
		hint := "more time (--time-limit) or a larger gap (--gap)"
		if p.Nodes != nil || p.Cells > 0 {
			hint = "more nodes (--nodes) or a larger gap (--gap)"
		}
		return r, &failure{code: exitLimit, err: errors.New(text), hint: hint}, nil
	default:
		return nil, nil, err
	}
}

// readRange reads A,B.
func readRange(f *fields, t *text) (lower, upper float64) {
	const want = "two finite numbers, the lower one first, separated by a comma, such as 0,100"
	a, b, ok := strings.Cut(t.value, ",")
	lower, errLower := strconv.ParseFloat(strings.TrimSpace(a), 64)
	upper, errUpper := strconv.ParseFloat(strings.TrimSpace(b), 64)
	if !ok || errLower != nil || errUpper != nil || (tables.Queries{Lower: lower, Upper: upper}).Validate() != nil {
		f.bad("range", t, want)
		return math.NaN(), math.NaN()
	}
	return lower, upper
}

// readWeight reads "uniform" or a CSV file with the columns from and weight.
func readWeight(f *fields, t *text, q tables.Queries) []tables.WeightPiece {
	if t.value == "uniform" {
		return nil
	}
	const want = "uniform, or a CSV file with the header from,weight"
	if t.value == "" {
		f.bad("weight", t, want)
		return nil
	}
	file, err := os.Open(t.value)
	if err != nil {
		f.add("weight = %s: %w, want %s", shown(t.value), inputCause(err), want)
		return nil
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil || len(records) < 2 || len(records[0]) != 2 || records[0][0] != "from" || records[0][1] != "weight" {
		f.add("weight = %s: not such a file, want the header from,weight and a row per piece", shown(t.value))
		return nil
	}
	for i, r := range records[1:] {
		from, errFrom := strconv.ParseFloat(strings.TrimSpace(r[0]), 64)
		w, errWeight := strconv.ParseFloat(strings.TrimSpace(r[1]), 64)
		if errFrom != nil || errWeight != nil {
			f.add("weight = %s: row %d = %s,%s, want two numbers", shown(t.value), i+1, shown(r[0]), shown(r[1]))
			return nil
		}
		q.Weight = append(q.Weight, tables.WeightPiece{From: from, Weight: w})
	}
	if !math.IsNaN(q.Lower) { // else the range is to blame
		if err := q.Validate(); err != nil {
			f.add("weight = %s: %s", shown(t.value), sentence(err))
		}
	}
	return q.Weight
}

// readNodes reads a number of nodes or a file with one node per line.
func readNodes(f *fields, t *text, q tables.Queries) (nodes []float64, cells int) {
	if !t.set {
		return nil, 0
	}
	want := fmt.Sprintf("an integer from 1 to %d, or a file with one node per line", tables.MaxKernelCells)
	if n, err := strconv.Atoi(t.value); err == nil || t.value == "" {
		if n < 1 || n > tables.MaxKernelCells {
			f.bad("nodes", t, want)
		}
		return nil, n
	}
	file, err := os.Open(t.value)
	if err != nil {
		f.add("nodes = %s: %w, want %s", shown(t.value), inputCause(err), want)
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
			f.add("nodes = %s: node %d = %s, want a number", shown(t.value), len(nodes)+1, shown(line))
			return nil, 0
		}
		if nodes = append(nodes, x); len(nodes) > tables.MaxKernelCells {
			break
		}
	}
	ascending := true
	for i := 1; i < len(nodes); i++ {
		ascending = ascending && nodes[i] > nodes[i-1]
	}
	if n := len(nodes); n < 1 || n > tables.MaxKernelCells || !ascending || !(nodes[0] >= q.Lower && nodes[n-1] <= q.Upper) && !math.IsNaN(q.Lower) {
		f.add("nodes = %s: not such nodes, want 1 to %d ascending numbers in the range", shown(t.value), tables.MaxKernelCells)
	}
	return nodes, 0
}

func newKernelReport(r *lp.KernelResult, independent *lp.Result) kernelReport {
	k := r.Kernel
	privacy, q, claims := k.Privacy(), k.Queries(), r.Certificate.Claims()
	status := "optimal"
	if !r.Optimal {
		status = "limit"
	}
	report := kernelReport{
		Schema:  schema,
		Epsilon: privacy.Epsilon, Delta: privacy.Delta, Sensitivity: privacy.Sensitivity,
		Loss:           k.Loss().Name(),
		Range:          [2]float64{q.Lower, q.Upper},
		ExpectedLoss:   json.Number(claims.ExpectedLoss),
		MaxLoss:        json.Number(claims.MaxLoss),
		LowerBound:     json.Number(claims.LowerBound),
		Gap:            finite(r.Gap),
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
		report.DataIndependent = json.Number(independent.Certificate.Claims().ExpectedLoss)
	}
	return report
}

func designKernelRows(r *lp.KernelResult, independent *lp.Result, out string) []row {
	rows := kernelRows(r.Kernel, r.Certificate)
	rows = append(rows, row{"effort", fmt.Sprintf("%d rounds, %s", r.Rounds, r.Elapsed.Round(time.Millisecond))})
	if independent != nil {
		rows = append(rows, row{"data independent", independent.Certificate.Claims().ExpectedLoss})
	}
	if out != "" {
		rows = append(rows, row{"kernel", out})
	}
	return rows
}

// kernelRows summarises a kernel and what is proved about it.
func kernelRows(k *tables.Kernel, c tables.KernelCertificate) []row {
	p, q, claims := k.Privacy(), k.Queries(), c.Claims()
	weight := "uniform weight"
	if len(q.Weight) > 0 {
		weight = fmt.Sprintf("weight in %d pieces", len(q.Weight))
	}
	rows := []row{
		{"epsilon", fmt.Sprint(p.Epsilon)},
		{"delta", fmt.Sprintf("%v promised, %s certified (worst between the query values %.6g and %.6g)", p.Delta, claims.Delta, k.Node(c.Worst[0]), k.Node(c.Worst[1]))},
		{"sensitivity", fmt.Sprint(p.Sensitivity)},
		{"range", fmt.Sprintf("%v to %v, %s", q.Lower, q.Upper, weight)},
		{"loss", lossUnit(k.Loss())},
		{"expected loss", claims.ExpectedLoss},
		{"largest loss", fmt.Sprintf("%s (near the query value %.6g)", claims.MaxLoss, c.MaxLossAt)},
	}
	if o := k.InstanceCap(); o > 0 {
		rows = append(rows, row{"instance cap", fmt.Sprint(o)})
	}
	gap := math.Inf(1)
	if g, ok := c.Gap(); ok {
		gap = g
	}
	return append(rows,
		row{"lower bound", claims.LowerBound},
		row{"gap", percent(gap)},
		row{"nodes", fmt.Sprint(k.Cells())},
	)
}
