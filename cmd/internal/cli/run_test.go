// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/scripttest"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// The runs of all commands without flags and without a process: options in, streams
// and files out.

// rowsOf returns what was printed, by the names of its rows.
func rowsOf(c scripttest.Captured) map[string]string {
	rows := map[string]string{}
	for line := range strings.Lines(c.Stdout.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "  ")
		rows[name] = strings.TrimSpace(value)
	}
	return rows
}

// small is a problem whose designs take no time.
func small() dp.Problem {
	return dp.Problem{
		Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Loss: loss.L1, Query: dp.RealQuery,
	}
}

// needSolver skips a test that designs.
func needSolver(t *testing.T) lp.Options {
	t.Helper()
	if highs.Version() == "" {
		t.Skip("built without the LP solver")
	}
	o := shell.DesignOptions()
	o.Gap = 0.1
	return o
}

// laplaceFile writes a sound table.
func laplaceFile(t *testing.T, query dp.Query) string {
	t.Helper()
	p := small()
	p.Query = query
	v, err := shapes.Laplace(p, tables.Grid{})
	if err != nil {
		t.Fatal(err)
	}
	return encoded(t, "table.json", v.Mechanism().Encode)
}

// kernelFile writes a kernel that answers every value alike.
func kernelFile(t *testing.T) string {
	t.Helper()
	k, err := kernels.New(t.Context(), kernels.Spec{
		Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Loss: loss.L1,
		Queries: kernels.Queries{Lower: 0, Upper: 2}, Edges: []float64{0, 1, 2}, Nodes: []float64{0.5, 1.5},
		Rows: [][]uint64{{1 << 63, 1 << 63}, {1 << 63, 1 << 63}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return encoded(t, "kernel.json", k.Encode)
}

func encoded(t *testing.T, name string, encode func(io.Writer) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(encode(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRunDesign(t *testing.T) {
	design := needSolver(t)
	c := scripttest.CaptureJSON()
	c.Output = filepath.Join(t.TempDir(), "t.json")
	o := &designOptions{Common: c.Common, problem: small(), design: design}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := c.Object(t, "step", "constraints", "lower_bound", "gap", "cells_per_sensitivity", "rounds", "seconds")
	if v["status"] != "optimal" || v["query"] != "real" || v["loss"] != "l1" {
		t.Errorf("report %v", v)
	}
	if _, err := o.ReadSound(t.Context(), c.Output); err != nil {
		t.Error(err)
	}
	// Quiet.
	c = scripttest.Capture("")
	c.Quiet = true
	if err := (&designOptions{Common: c.Common, problem: small(), design: design}).run(t.Context()); err != nil || c.Stdout.Len() > 0 {
		t.Errorf("%v, printed %q", err, c.Stdout)
	}
	// A limit leaves a table and says so.
	c = scripttest.Capture("")
	design.Gap, design.TimeLimit = lp.Limits.Gap.Min, time.Millisecond
	err := (&designOptions{Common: c.Common, problem: small(), design: design}).run(t.Context())
	var f *shell.Failure
	if !errors.As(err, &f) || f.Code != shell.ExitLimit || rowsOf(c)["expected loss"] == "" {
		t.Errorf("%v, printed %q", err, c.Stdout)
	}
}

func TestRunTrade(t *testing.T) {
	design := needSolver(t)
	c := scripttest.CaptureJSON()
	dir := t.TempDir()
	c.Output = filepath.Join(dir, "front.csv")
	o := &designOptions{
		Common: c.Common, problem: small(), design: design,
		trading: true, trade: [2]loss.Loss{loss.L1, loss.L2}, points: 3, plot: filepath.Join(dir, "front.svg"), format: "svg",
	}
	o.problem.Loss = nil
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := c.Object(t)
	points, _ := v["points"].([]any)
	if len(points) == 0 {
		t.Fatalf("report %v", v)
	}
	scripttest.WantKeys(t, points[0].(map[string]any), "weights", "expected", "delta_upper", "expected_loss", "lower_bound", "status")
	for _, path := range []string{c.Output, o.plot} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestRunDesignKernel(t *testing.T) {
	design := needSolver(t)
	design.Gap = 1
	c := scripttest.CaptureJSON()
	o := &designKernelOptions{
		Common: c.Common, autoCap: true, design: design,
		problem: lp.KernelProblem{
			Privacy: dp.Privacy{Epsilon: 1, Delta: 0.2, Sensitivity: 2}, Loss: loss.L1,
			Queries: kernels.Queries{Lower: 0, Upper: 4}, Cells: 4,
		},
	}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := c.Object(t, "range", "instance_cap", "data_independent", "delta_upper", "max_loss", "lower_bound", "gap", "status")
	if v["nodes"] != 4.0 {
		t.Errorf("report %v", v)
	}
}

func TestRunVerify(t *testing.T) {
	c := scripttest.CaptureJSON()
	if err := (&verifyOptions{c.Common, laplaceFile(t, dp.RealQuery), time.Minute}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := c.Object(t, "epsilon", "delta", "sensitivity", "loss", "query", "delta_upper", "expected_loss", "worst_shift", "tail_ratio")
	if v["valid"] != true {
		t.Errorf("report %v", v)
	}

	c = scripttest.CaptureJSON()
	if err := (&verifyOptions{c.Common, kernelFile(t), time.Minute}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Object(t, "range", "delta_upper", "max_loss", "worst_cells")

	// A false claim.
	text, err := os.ReadFile(laplaceFile(t, dp.RealQuery))
	if err != nil {
		t.Fatal(err)
	}
	path := scripttest.TextFile(t, "forged.json", strings.Replace(string(text), `"epsilon":1`, `"epsilon":0.5`, 1))
	c = scripttest.CaptureJSON()
	err = (&verifyOptions{c.Common, path, time.Minute}).run(t.Context())
	var f *shell.Failure
	if v := c.Object(t); !errors.As(err, &f) || f.Code != shell.ExitNegative || v["valid"] != false || v["error"] == "" {
		t.Errorf("%v, report %v", err, v)
	}
	// Quiet, only the exit code tells.
	c = scripttest.Capture("")
	c.Quiet = true
	if err := (&verifyOptions{c.Common, path, time.Minute}).run(t.Context()); !errors.As(err, &f) || c.Stdout.Len() > 0 {
		t.Errorf("%v, printed %q", err, c.Stdout)
	}
}

func TestRunCompare(t *testing.T) {
	design := needSolver(t)
	c := scripttest.CaptureJSON()
	if err := (&compareOptions{Common: c.Common, problem: small(), design: design}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mechanisms, _ := c.Object(t)["mechanisms"].([]any)
	if len(mechanisms) < 4 || mechanisms[0].(map[string]any)["name"] != "designed" {
		t.Errorf("mechanisms %v", mechanisms)
	}
	c = scripttest.Capture("")
	if err := (&compareOptions{Common: c.Common, problem: small(), design: design}).run(t.Context()); err != nil || !strings.Contains(c.Stdout.String(), "truncated-laplace") {
		t.Errorf("%v, printed %q", err, c.Stdout)
	}
}

func TestRunAccount(t *testing.T) {
	c := scripttest.CaptureJSON()
	o := &accountOptions{
		Common: c.Common, releases: []string{laplaceFile(t, dp.RealQuery), "gaussian:sigma=4"}, times: []int{3, 2},
		delta: 1e-5, epsilon: math.NaN(), plot: filepath.Join(t.TempDir(), "p.svg"), format: "svg",
	}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := c.Object(t)
	if e, ok := v["epsilon"].(float64); !ok || e < 2 || e > 8 || v["releases"] != 5.0 {
		t.Errorf("report %v", v)
	}
	if _, err := os.Stat(o.plot); err != nil {
		t.Error(err)
	}
}

func TestRunCalibrate(t *testing.T) {
	design := needSolver(t)
	c := scripttest.CaptureJSON()
	o := &calibrateOptions{Common: c.Common, target: account.Target{Problem: small(), Releases: 2}, design: design, noise: noise.Gaussian}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := c.Object(t)
	if e, ok := v["epsilon_upper"].(float64); !ok || e > 1 || v["noise"] != noise.Gaussian {
		t.Errorf("report %v", v)
	}
}

func TestRunSample(t *testing.T) {
	c := scripttest.Capture("")
	o := &sampleOptions{Common: c.Common, table: laplaceFile(t, dp.IntegerQuery), count: 5000, format: formatText}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(c.Stdout.String(), "\n"); n != o.count {
		t.Errorf("%d lines, want %d", n, o.count)
	}
	c = scripttest.Capture("")
	o = &sampleOptions{Common: c.Common, table: kernelFile(t), count: 10, format: formatText, value: "1"}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(c.Stdout.String()) {
		if line != "0.5\n" && line != "1.5\n" {
			t.Errorf("answer %q", line)
		}
	}
	if err := (&sampleOptions{Common: c.Common, table: kernelFile(t), count: 1, format: formatText, value: "3"}).run(t.Context()); err == nil {
		t.Error("a value beyond the range is answered")
	}
}

func TestRunPrivatize(t *testing.T) {
	in := scripttest.TextFile(t, "in.csv", "name,x\na,1\nb,0\n")
	c := scripttest.Capture("")
	o := &privatizeOptions{Common: c.Common, in: in, columns: []columnOptions{{name: "x", table: laplaceFile(t, dp.IntegerQuery), clip: &interval{0, 1}}}, report: true}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out := c.Stdout.String(); !strings.HasPrefix(out, "name,x\na,") || strings.Count(out, "\n") != 3 {
		t.Errorf("printed %q", out)
	}
	if !strings.Contains(c.Stderr.String(), "clipped: 0 of 2 values") {
		t.Errorf("standard error %q", c.Stderr)
	}
	c = scripttest.Capture("x\n1.2\n")
	o = &privatizeOptions{Common: c.Common, in: "-", columns: []columnOptions{{name: "x", table: kernelFile(t)}}}
	if err := o.run(t.Context()); err != nil || (c.Stdout.String() != "x\n0.5\n" && c.Stdout.String() != "x\n1.5\n") {
		t.Errorf("%v, printed %q", err, c.Stdout)
	}
}

// TestRunPrivatizeTotal has a kernel beside tables, which compose exactly.
func TestRunPrivatizeTotal(t *testing.T) {
	table, kernel := laplaceFile(t, dp.IntegerQuery), kernelFile(t)
	epsilon := small().Epsilon
	for _, test := range []struct {
		columns []columnOptions
		want    string
		most    float64 // in the place of what is wanted
	}{
		{[]columnOptions{{name: "x", table: table}}, fmt.Sprintf("total: epsilon %v, delta 0 for the column of a row", epsilon), 0},
		{[]columnOptions{{name: "x", table: table}, {name: "y", table: kernel}}, ", delta 0.1 for the 2 columns of a row together", epsilon + 1},
		{[]columnOptions{{name: "y", table: table}, {name: "x", table: table}}, fmt.Sprintf("total: epsilon %v, delta 0 for the 2 columns", 2*epsilon), 0},
	} {
		c := scripttest.Capture("x,y\n1,2\n")
		if err := (&privatizeOptions{Common: c.Common, in: "-", columns: test.columns, unclipped: true}).run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := c.Stderr.String(); !strings.Contains(got, test.want) {
			t.Errorf("standard error %q, want %q", got, test.want)
		} else if _, after, _ := strings.Cut(got, "total: epsilon "); test.most > 0 {
			number, _, _ := strings.Cut(after, ",")
			if e, err := strconv.ParseFloat(number, 64); err != nil || !(e > 0 && e <= test.most) {
				t.Errorf("standard error %q, want an epsilon of at most %v", got, test.most)
			}
		}
	}
}

func TestRunInterval(t *testing.T) {
	c := scripttest.CaptureJSON()
	o := &intervalOptions{Common: c.Common, table: laplaceFile(t, dp.IntegerQuery), number: 7, level: 0.9}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := c.Object(t); !(v["lower"].(float64) < 7) || !(v["upper"].(float64) > 7) {
		t.Errorf("report %v", v)
	}
}

func TestRunPlot(t *testing.T) {
	dir := t.TempDir()
	table, kernel := laplaceFile(t, dp.RealQuery), kernelFile(t)
	for name, o := range map[string]plotOptions{
		"table.svg":  {files: []string{table}, format: "svg"},
		"log.png":    {files: []string{table}, format: "png", log: true},
		"kernel.svg": {files: []string{kernel}, format: "svg"},
		"laws.svg":   {files: []string{kernel}, format: "svg", values: "0, 1.9"},
	} {
		o.Common = scripttest.Capture("").Common
		o.Output, o.width, o.height = filepath.Join(dir, name), 10, 8
		if err := o.run(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := os.Stat(o.Output); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if err := (&plotOptions{Common: scripttest.Capture("").Common, files: []string{kernel}, log: true}).run(t.Context()); err == nil {
		t.Error("a kernel has a logarithmic figure")
	}
}

func TestRunExport(t *testing.T) {
	c := scripttest.Capture("")
	o := &exportOptions{Common: c.Common, table: laplaceFile(t, dp.RealQuery), draws: 3}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var e struct{ Golden struct{ Draws []int64 } }
	if err := json.Unmarshal(c.Stdout.Bytes(), &e); err != nil || len(e.Golden.Draws) != 3 {
		t.Errorf("%v, %d draws", err, len(e.Golden.Draws))
	}
}

func TestRunVersion(t *testing.T) {
	c := scripttest.CaptureJSON()
	if err := printVersion(&c.Common); err != nil {
		t.Fatal(err)
	}
	c.Object(t, "version", "go")
}
