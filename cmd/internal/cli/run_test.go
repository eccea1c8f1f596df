// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
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
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// The runs of all commands without flags and without a process: options in, streams
// and files out.

// captured are options with streams that are kept.
type captured struct {
	shell.Common
	out, err *bytes.Buffer
}

func capture(stdin string) captured {
	c := captured{out: &bytes.Buffer{}, err: &bytes.Buffer{}}
	c.Common.Streams = &shell.Streams{In: strings.NewReader(stdin), Out: c.out, Err: c.err}
	return c
}

// asJSON are options for a JSON object.
func asJSON() captured {
	c := capture("")
	c.JSON = true
	return c
}

// object returns what was printed, with the schema that all objects have.
func (c captured) object(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	if err := errors.Join(scripttest.CheckJSON(c.out.Bytes()), json.Unmarshal(c.out.Bytes(), &v)); err != nil {
		t.Fatalf("%v in %q", err, c.out)
	}
	if v["schema"] != float64(shell.Schema) {
		t.Errorf("schema = %v, want %d", v["schema"], shell.Schema)
	}
	return v
}

// wantKeys wants an object to have keys.
func wantKeys(t *testing.T, v map[string]any, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if _, ok := v[k]; !ok {
			t.Errorf("key %q is missing in %v", k, v)
		}
	}
}

// lines returns what was printed, by the names of its rows.
func (c captured) rows() map[string]string {
	rows := map[string]string{}
	for line := range strings.Lines(c.out.String()) {
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
	k, err := kernels.New(kernels.Spec{
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

// textFile writes a text.
func textFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRunDesign(t *testing.T) {
	design := needSolver(t)
	c := asJSON()
	c.Output = filepath.Join(t.TempDir(), "t.json")
	o := &designOptions{Common: c.Common, problem: small(), design: design}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := c.object(t)
	wantKeys(t, v, "step", "constraints", "lower_bound", "gap", "cells_per_sensitivity", "rounds", "seconds")
	if v["status"] != "optimal" || v["query"] != "real" || v["loss"] != "l1" {
		t.Errorf("report %v", v)
	}
	if _, err := o.ReadSound(t.Context(), c.Output); err != nil {
		t.Error(err)
	}
	// Quiet.
	c = capture("")
	c.Quiet = true
	if err := (&designOptions{Common: c.Common, problem: small(), design: design}).run(t.Context()); err != nil || c.out.Len() > 0 {
		t.Errorf("%v, printed %q", err, c.out)
	}
	// A limit leaves a table and says so.
	c = capture("")
	design.Gap, design.TimeLimit = lp.MinGap, time.Millisecond
	err := (&designOptions{Common: c.Common, problem: small(), design: design}).run(t.Context())
	var f *shell.Failure
	if !errors.As(err, &f) || f.Code != shell.ExitLimit || c.rows()["expected loss"] == "" {
		t.Errorf("%v, printed %q", err, c.out)
	}
}

func TestRunTrade(t *testing.T) {
	design := needSolver(t)
	c := asJSON()
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
	v := c.object(t)
	points, _ := v["points"].([]any)
	if len(points) == 0 {
		t.Fatalf("report %v", v)
	}
	wantKeys(t, points[0].(map[string]any), "weights", "expected", "delta_upper", "expected_loss", "lower_bound", "status")
	for _, path := range []string{c.Output, o.plot} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestRunDesignKernel(t *testing.T) {
	design := needSolver(t)
	design.Gap = 1
	c := asJSON()
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
	v := c.object(t)
	wantKeys(t, v, "range", "instance_cap", "data_independent", "delta_upper", "max_loss", "lower_bound", "gap", "status")
	if v["nodes"] != 4.0 {
		t.Errorf("report %v", v)
	}
}

func TestRunVerify(t *testing.T) {
	c := asJSON()
	if err := (&verifyOptions{c.Common, laplaceFile(t, dp.RealQuery), time.Minute}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := c.object(t)
	wantKeys(t, v, "epsilon", "delta", "sensitivity", "loss", "query", "delta_upper", "expected_loss", "worst_shift", "tail_ratio")
	if v["valid"] != true {
		t.Errorf("report %v", v)
	}

	c = asJSON()
	if err := (&verifyOptions{c.Common, kernelFile(t), time.Minute}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, c.object(t), "range", "delta_upper", "max_loss", "worst_cells")

	// A false claim.
	text, err := os.ReadFile(laplaceFile(t, dp.RealQuery))
	if err != nil {
		t.Fatal(err)
	}
	path := textFile(t, "forged.json", strings.Replace(string(text), `"epsilon":1`, `"epsilon":0.5`, 1))
	c = asJSON()
	err = (&verifyOptions{c.Common, path, time.Minute}).run(t.Context())
	var f *shell.Failure
	if v := c.object(t); !errors.As(err, &f) || f.Code != shell.ExitNegative || v["valid"] != false || v["error"] == "" {
		t.Errorf("%v, report %v", err, v)
	}
	// Quiet, only the exit code tells.
	c = capture("")
	c.Quiet = true
	if err := (&verifyOptions{c.Common, path, time.Minute}).run(t.Context()); !errors.As(err, &f) || c.out.Len() > 0 {
		t.Errorf("%v, printed %q", err, c.out)
	}
}

func TestRunCompare(t *testing.T) {
	design := needSolver(t)
	c := asJSON()
	if err := (&compareOptions{Common: c.Common, problem: small(), design: design}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mechanisms, _ := c.object(t)["mechanisms"].([]any)
	if len(mechanisms) < 4 || mechanisms[0].(map[string]any)["name"] != "designed" {
		t.Errorf("mechanisms %v", mechanisms)
	}
	c = capture("")
	if err := (&compareOptions{Common: c.Common, problem: small(), design: design}).run(t.Context()); err != nil || !strings.Contains(c.out.String(), "truncated-laplace") {
		t.Errorf("%v, printed %q", err, c.out)
	}
}

func TestRunAccount(t *testing.T) {
	c := asJSON()
	o := &accountOptions{
		Common: c.Common, releases: []string{laplaceFile(t, dp.RealQuery), "gaussian:sigma=4"}, times: []int{3, 2},
		delta: 1e-5, epsilon: math.NaN(), plot: filepath.Join(t.TempDir(), "p.svg"), format: "svg",
	}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := c.object(t)
	if e, ok := v["epsilon"].(float64); !ok || e < 2 || e > 8 || v["releases"] != 5.0 {
		t.Errorf("report %v", v)
	}
	if _, err := os.Stat(o.plot); err != nil {
		t.Error(err)
	}
}

func TestRunCalibrate(t *testing.T) {
	design := needSolver(t)
	c := asJSON()
	o := &calibrateOptions{Common: c.Common, target: account.Target{Problem: small(), Releases: 2}, design: design, noise: noiseGaussian}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := c.object(t)
	if e, ok := v["epsilon_upper"].(float64); !ok || e > 1 || v["noise"] != noiseGaussian {
		t.Errorf("report %v", v)
	}
}

func TestRunSample(t *testing.T) {
	c := capture("")
	o := &sampleOptions{Common: c.Common, table: laplaceFile(t, dp.IntegerQuery), count: 5000, format: formatText}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(c.out.String(), "\n"); n != o.count {
		t.Errorf("%d lines, want %d", n, o.count)
	}
	c = capture("")
	o = &sampleOptions{Common: c.Common, table: kernelFile(t), count: 10, format: formatText, value: "1"}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(c.out.String()) {
		if line != "0.5\n" && line != "1.5\n" {
			t.Errorf("answer %q", line)
		}
	}
	if err := (&sampleOptions{Common: c.Common, table: kernelFile(t), count: 1, format: formatText, value: "3"}).run(t.Context()); err == nil {
		t.Error("a value beyond the range is answered")
	}
}

func TestRunPrivatize(t *testing.T) {
	in := textFile(t, "in.csv", "name,x\na,1\nb,0\n")
	c := capture("")
	o := &privatizeOptions{Common: c.Common, in: in, columns: []columnOptions{{name: "x", table: laplaceFile(t, dp.IntegerQuery), clip: &interval{0, 1}}}, report: true}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out := c.out.String(); !strings.HasPrefix(out, "name,x\na,") || strings.Count(out, "\n") != 3 {
		t.Errorf("printed %q", out)
	}
	if !strings.Contains(c.err.String(), "clipped: 0 of 2 values") {
		t.Errorf("standard error %q", c.err)
	}
	c = capture("x\n1.2\n")
	o = &privatizeOptions{Common: c.Common, in: "-", columns: []columnOptions{{name: "x", table: kernelFile(t)}}}
	if err := o.run(t.Context()); err != nil || (c.out.String() != "x\n0.5\n" && c.out.String() != "x\n1.5\n") {
		t.Errorf("%v, printed %q", err, c.out)
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
		c := capture("x,y\n1,2\n")
		if err := (&privatizeOptions{Common: c.Common, in: "-", columns: test.columns, unclipped: true}).run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := c.err.String(); !strings.Contains(got, test.want) {
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
	c := asJSON()
	o := &intervalOptions{Common: c.Common, table: laplaceFile(t, dp.IntegerQuery), number: 7, level: 0.9}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := c.object(t); !(v["lower"].(float64) < 7) || !(v["upper"].(float64) > 7) {
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
		o.Common = capture("").Common
		o.Output, o.width, o.height = filepath.Join(dir, name), 10, 8
		if err := o.run(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := os.Stat(o.Output); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if err := (&plotOptions{Common: capture("").Common, files: []string{kernel}, log: true}).run(t.Context()); err == nil {
		t.Error("a kernel has a logarithmic figure")
	}
}

func TestRunExport(t *testing.T) {
	c := capture("")
	o := &exportOptions{Common: c.Common, table: laplaceFile(t, dp.RealQuery), draws: 3}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var e struct{ Golden struct{ Draws []int64 } }
	if err := json.Unmarshal(c.out.Bytes(), &e); err != nil || len(e.Golden.Draws) != 3 {
		t.Errorf("%v, %d draws", err, len(e.Golden.Draws))
	}
}

func TestRunVersion(t *testing.T) {
	c := asJSON()
	if err := printVersion(&c.Common); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, c.object(t), "version", "go")
}

// TestRunLatent takes vectors through design, verify, privatize, decode and evaluate.
func TestRunLatent(t *testing.T) {
	var data strings.Builder
	data.WriteString("id,north,east\n")
	for i := range 40 {
		x := float64(i%8) - 3.5
		data.WriteString("p" + strings.Repeat("i", i) + "," + jsonFloat(2*x) + "," + jsonFloat(x*x) + "\n")
	}
	file := textFile(t, "train.csv", data.String())
	dir := filepath.Join(t.TempDir(), "bundle")

	c := asJSON()
	c.Output = dir
	design := &latentDesignOptions{
		Common: c.Common, vectors: vectorOptions{data: file, featureColumns: featureColumns{"*", "id"}},
		problem: latent.Problem{Promise: bundle.Promise{Epsilon: 8}, Domain: bundle.Box, Clip: 0.9},
		noise:   string(noise.Laplace), design: shell.DesignOptions(),
	}
	if err := design.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, c.object(t), "baseline_loss", "bundle", "candidates", "clip")

	c = asJSON()
	if err := (&latentVerifyOptions{Common: c.Common, bundle: dir, limit: time.Minute}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := c.object(t); v["valid"] != true || v["epsilon_upper"] != 8.0 || v["delta_upper"] != 0.0 {
		t.Errorf("report %v", v)
	}

	c = capture("")
	if err := (&rowsOptions{Common: c.Common, in: file, bundle: dir, keep: "id"}).run(t.Context(), privatizing); err != nil {
		t.Fatal(err)
	}
	private := c.out.String()
	if !strings.HasPrefix(private, "id,u1") || strings.Contains(private, "north") {
		t.Errorf("printed %q", private)
	}
	c = capture(private)
	if err := (&rowsOptions{Common: c.Common, in: "-", bundle: dir}).run(t.Context(), decoding); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(c.out.String(), "north,east\n") {
		t.Errorf("printed %q", c.out)
	}

	c = asJSON()
	if err := (&latentEvaluateOptions{Common: c.Common, bundle: dir, data: file, draws: 50}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, c.object(t), "baseline_loss", "unclipped_loss", "predicted", "measured_low", "agrees")
}

func jsonFloat(x float64) string {
	b, _ := json.Marshal(x)
	return string(b)
}
