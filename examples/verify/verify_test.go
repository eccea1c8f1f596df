// Package verify_test holds the example table of docs/table-format.md, and the
// second implementation beside this file, against package tables.
package verify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/tables"
)

const script = "verify.py"

func TestExampleTable(t *testing.T) {
	text := read(t, "../../docs/example-table.json")
	table, err := tables.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Verify(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Encode(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), text) {
		t.Error("the example table is not written as Encode writes it")
	}

	agrees(t, text, table.Certify())
}

// agrees wants the script to find the numbers of the certificates of tables, and no fault.
func agrees(t *testing.T, text []byte, certificate tables.Certificate) {
	t.Helper()
	agree(t, [][]byte{text}, []tables.Certificate{certificate})
}

func agree(t *testing.T, texts [][]byte, certificates []tables.Certificate) {
	t.Helper()
	got, code := python(t, texts...)
	found := reports(got)
	if code != 0 || len(found) != len(texts) {
		t.Fatalf("exit code %d, %d reports on %d tables:\n%s", code, len(found), len(texts), got)
	}
	for i, c := range certificates {
		delta, _ := c.DeltaUpper.Float64()
		loss, _ := c.ExpectedLoss.Float64()
		bound, _ := c.LowerBound.Float64()
		want := fmt.Sprintf("%.12g  expected loss %.12g  lower bound %.12g\n", delta, loss, bound)
		if !strings.HasPrefix(found[i], want) || strings.Contains(found[i], "FALSE") {
			t.Errorf("printed\ndelta %s\nwant\ndelta %s\nof %.600s", found[i], want, texts[i])
		}
	}
}

// reports splits what the script prints into what it says of every table, each
// without the word delta that it starts with.
func reports(out string) []string { return strings.Split("\n"+out, "\ndelta ")[1:] }

// TestLosses holds the expected loss of noise on moved grids, for every kind of
// loss and query, against package tables.
func TestLosses(t *testing.T) {
	grids := map[dp.Query]tables.Grid{
		dp.RealQuery:    {GranularityExponent: -6, PointsPerCell: 33, Offset: -70, CellsPerSensitivity: 2, FirstCell: -2},
		dp.IntegerQuery: {PointsPerCell: 1, Offset: 1, CellsPerSensitivity: 1, FirstCell: -2},
		dp.LatticeQuery: {Unit: 0.7, PointsPerCell: 3, Offset: 2, CellsPerSensitivity: 1, FirstCell: -3},
	}
	var texts [][]byte
	var certificates []tables.Certificate
	for _, name := range []string{
		"l1", "l2", "pinball:0.3", "asymmetric:2,0.5", "huber:0.6", "deadzone:0.4", "exceed:0.703125", "exceed:1", "lp:2:0.1", "lp:1",
		"lp:1.5", "lp:3", "lp:2.7:0.1", "lp:64:1e-30", "lp:4.7:0.1 + exceed:1 + pinball:0.3 + lp:1.5",
		"pwl:-inf,-1;-1,-3,2;0.5,0,-1;2,4", "l1:0.7 + exceed:1:0.3", "exceed:1 + huber:1:2 + pinball:0.9 + l2:0.25 + pwl:-inf,-1;1,1,-0.5",
	} {
		loss, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		for query, grid := range grids {
			table, err := tables.New(tables.Spec{
				Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Query: query, Loss: loss}, Grid: grid,
				Weights: []uint64{1 << 61, 1 << 62, 3 << 61, 1 << 61, 1 << 60}, Atom: 1 << 60,
			})
			if err != nil {
				t.Fatal(err)
			}
			texts, certificates = append(texts, encode(t, table)), append(certificates, table.Certify())
		}
	}
	agree(t, texts, certificates)
}

// TestFewRuns holds tables of few runs of equal weights, of which few shifts are tried: a
// staircase of a large epsilon, which is its mirror image, and one that is not and is shorter
// than its sensitivity.
func TestFewRuns(t *testing.T) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 12, Delta: 1e-6, Sensitivity: 1}, Loss: loss.L1}
	r, err := lp.Design(context.Background(), p, lp.Options{Gap: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	designed := r.Table.Mechanism()
	if designed.Cells() < 1000 {
		t.Fatalf("%d cells, want a table that takes long cell by cell", designed.Cells())
	}
	weights := slices.Concat(slices.Repeat([]uint64{1 << 50}, 100), slices.Repeat([]uint64{1 << 54}, 900), slices.Repeat([]uint64{1 << 48}, 400))
	left := uint64(0)
	for _, w := range weights {
		left -= w
	}
	p.Epsilon, p.Delta = 1, 0.999999
	short, err := tables.New(tables.Spec{
		Problem: p, Weights: weights, Atom: left,
		Grid: tables.Grid{GranularityExponent: -10, PointsPerCell: 1, CellsPerSensitivity: 1500, FirstCell: -600},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Sensitivity = 0.5
	asymmetric, err := tables.New(tables.Spec{
		Problem: p, Weights: weights, Atom: left,
		Grid: tables.Grid{GranularityExponent: -10, PointsPerCell: 1, CellsPerSensitivity: 512, FirstCell: -600},
	})
	if err != nil {
		t.Fatal(err)
	}
	agree(t, [][]byte{encode(t, designed), encode(t, asymmetric)}, []tables.Certificate{designed.Certify(), asymmetric.Certify()})
	got, _ := python(t, encode(t, short))
	if delta, _ := short.Certify().DeltaUpper.Float64(); !strings.HasPrefix(got, fmt.Sprintf("delta %.12g ", delta)) {
		t.Errorf("shorter than the sensitivity: printed %s, want delta %.12g", got, delta)
	}
}

// TestDesigns holds designs of every kind against the script, which computes
// their lower bounds by itself, and then falsifies what they say of their noise.
func TestDesigns(t *testing.T) {
	if highs.Version() == "" {
		t.Skip("built without the LP solver")
	}
	for _, c := range []struct {
		loss        string
		query       dp.Query
		step        float64
		constraints dp.Constraints
		falsify     [2]string // a text of the file and another for it
		says        string
	}{
		{loss: "l1:0.7 + exceed:2:0.3"},
		{loss: "exceed:1"},
		{loss: "lp:1.5"},
		{loss: "lp:4.5 + exceed:2", constraints: dp.Constraints{Monotone: true}, falsify: [2]string{`"first_cell":-`, `"first_cell":-1`}, says: "constraints.monotone"},
		{loss: "lp:3", query: dp.IntegerQuery},
		{loss: "lp:1.2 + asymmetric:1,2:0.5", query: dp.LatticeQuery, step: 0.3},
		{loss: "asymmetric:1,2", constraints: dp.Constraints{Unbiased: true}, falsify: [2]string{`"first_cell":-`, `"first_cell":-1`}, says: "constraints.unbiased"},
		{loss: "huber:1", constraints: dp.Constraints{Symmetric: true, Monotone: true}, falsify: [2]string{`"first_cell":-`, `"first_cell":-1`}, says: "constraints.symmetric"},
		{loss: "l2", constraints: dp.Constraints{Support: &dp.Interval{Lower: 0, Upper: math.Inf(1)}}, falsify: [2]string{`"lower":0`, `"upper":3`}, says: "constraints.upper"},
		{loss: "pinball:0.7", constraints: dp.Constraints{Monotone: true, Support: &dp.Interval{Lower: -3, Upper: 8}}, falsify: [2]string{`"lower":-3`, `"lower":-0.5`}, says: "constraints.lower"},
		{loss: "l1", constraints: dp.Constraints{MaxVariance: 1.3}, falsify: [2]string{`"max_variance":1.3`, `"max_variance":1`}, says: "constraints.max_variance"},
		{loss: "l1", constraints: dp.Constraints{Quantiles: []dp.Quantile{{Probability: 0.9, Magnitude: 2}}}, falsify: [2]string{`"magnitude":2`, `"magnitude":1`}, says: "constraints.quantiles"},
		{loss: "l1", constraints: dp.Constraints{MaxDistinguishing: 0.02}, falsify: [2]string{`"max_distinguishing":0.02`, `"max_distinguishing":1e-30`}, says: "constraints.max_distinguishing"},
		{loss: "l1", query: dp.IntegerQuery, constraints: dp.Constraints{Monotone: true}},
		{loss: "asymmetric:3,1", query: dp.IntegerQuery, constraints: dp.Constraints{Symmetric: true}},
		{loss: "l2", query: dp.LatticeQuery, step: 0.3, constraints: dp.Constraints{Unbiased: true}},
	} {
		loss, err := loss.Parse(c.loss)
		if err != nil {
			t.Fatal(err)
		}
		p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.05, Sensitivity: 1}, Loss: loss, Query: c.query, Step: c.step, Constraints: c.constraints}
		r, err := lp.Design(context.Background(), p, lp.Options{NewSolver: highs.New, Gap: 0.05, TimeLimit: 20 * time.Second})
		if r == nil { // what a limit stopped short of the gap is as good a table here
			t.Errorf("%s, %s, %+v: %v", c.loss, c.query, c.constraints, err)
			continue
		}
		text := encode(t, r.Table.Mechanism())
		agrees(t, text, r.Table.Certificate())
		judgeForgeries(t, text, 5)
		if c.says == "" {
			continue
		}
		if !bytes.Contains(text, []byte(c.falsify[0])) {
			t.Fatalf("no %s in the table of %s", c.falsify[0], c.loss)
		}
		falsified(t, bytes.Replace(text, []byte(c.falsify[0]), []byte(c.falsify[1]), 1), c.says)
	}
}

// falsified wants both implementations to object to a table.
func falsified(t *testing.T, text []byte, says string) {
	t.Helper()
	table, err := tables.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Verify(); err == nil {
		t.Errorf("Verify accepts a false claim: %s", says)
	}
	if got, code := python(t, text); code != 3 || !strings.Contains(got, "FALSE: "+says) {
		t.Errorf("exit code %d, printed\n%swant FALSE: %s", code, got, says)
	}
}

// TestRefuses has losses that there are not.
func TestRefuses(t *testing.T) {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is missing")
	}
	text := read(t, "../../docs/example-table.json")
	for name, want := range map[string]string{
		"l3:2": "unknown loss l3:2\n",

		"huber": "unknown loss huber, want KIND:PARAMETERS or KIND:PARAMETERS:WEIGHT\n",
	} {
		changed := bytes.Replace(text, []byte(`"name":"l1"`), []byte(`"name":"`+name+`"`), 1)
		path := filepath.Join(t.TempDir(), "table.json")
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(interpreter, script, path).CombinedOutput()
		if err == nil || string(out) != want {
			t.Errorf("%s: %v, printed %q, want %q", name, err, out, want)
		}
	}
}

// TestExactDelta has tables whose delta at epsilon is above the one they promise by less than a
// float64 tells apart.
func TestExactDelta(t *testing.T) {
	var texts [][]byte
	for i := range uint64(12) {
		weights := []uint64{1<<60 + 1234567*i, 1<<62 + 7654321*i*i, 1 << 61, 0}
		weights[3] = -weights[0] - weights[1] - weights[2]
		spec := tables.Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 0.1 + 0.01*float64(i), Delta: 0.999, Sensitivity: 1}, Loss: loss.L1},
			Weights: weights, Grid: tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: -2},
		}
		table, err := tables.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		upper := table.Certify().DeltaUpper
		spec.Delta, _ = upper.Float64()
		if new(big.Rat).SetFloat64(spec.Delta).Cmp(upper) >= 0 {
			spec.Delta = math.Nextafter(spec.Delta, 0)
		}
		if table, err = tables.New(spec); err != nil {
			t.Fatal(err)
		}
		if _, err := table.Verify(); err == nil {
			t.Fatalf("delta = %v is accepted, want more", spec.Delta)
		}
		texts = append(texts, encode(t, table))
	}
	got, _ := python(t, texts...)
	for i, r := range reports(got) {
		if !strings.Contains(r, "FALSE: certified delta <= delta") || strings.Contains(r, "FALSE: certificate.delta") {
			t.Errorf("table %d: printed\n%s", i, r)
		}
	}
	if n := len(reports(got)); n != len(texts) {
		t.Errorf("%d reports on %d tables", n, len(texts))
	}
}

func encode(t *testing.T, table *tables.Table) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := table.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestFalseClaims falsifies one number at a time; both implementations object.
func TestFalseClaims(t *testing.T) {
	text := string(read(t, "../../docs/example-table.json"))
	for _, c := range []struct{ old, with, says string }{
		{`"delta":0.1,`, `"delta":0.09,`, "certified delta"},
		{`"epsilon":1,`, `"epsilon":0.5,`, "certified delta"},
		{`"sensitivity":1}`, `"sensitivity":1.1}`, "cells cover"},
		{`"delta":"0.0998`, `"delta":"0.0988`, "certificate.delta"},
		{`"expected_loss":"0.718`, `"expected_loss":"0.717`, "certificate.expected_loss"},
		{`"lower_bound":"0.682`, `"lower_bound":"0.683`, "certificate.lower_bound"},
	} {
		if !strings.Contains(text, c.old) {
			t.Fatalf("the example has no %s", c.old)
		}
		changed := []byte(strings.Replace(text, c.old, c.with, 1))
		falsified(t, changed, c.says)
	}
}

// python runs the script on table files.
func python(t *testing.T, tables ...[]byte) (output string, code int) {
	t.Helper()
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is missing")
	}
	read(t, script) // for the test cache, which does not see what Python reads
	arguments, dir := []string{script}, t.TempDir()
	for i, table := range tables {
		path := filepath.Join(dir, fmt.Sprintf("%03d.json", i))
		if err := os.WriteFile(path, table, 0o600); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, path)
	}
	out, err := exec.Command(interpreter, arguments...).Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		if len(exit.Stderr) > 0 {
			t.Errorf("%s: %s", script, exit.Stderr)
		}
	case err != nil:
		t.Fatal(err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return string(out), code
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTails holds tables with a tail, real and integer, against package tables, and
// wants the script to find a ratio too small.
func TestTails(t *testing.T) {
	for _, p := range []dp.Problem{
		{Privacy: dp.Privacy{Epsilon: 1, Sensitivity: 1}, Loss: loss.L1, Constraints: dp.Constraints{Symmetric: true, Monotone: true, Unbiased: true, MaxVariance: 3}},
		{Privacy: dp.Privacy{Epsilon: 0.5, Sensitivity: 3}, Loss: loss.L2, Query: dp.IntegerQuery},
		{Privacy: dp.Privacy{Epsilon: 1, Sensitivity: 1}, Loss: parse(t, "lp:1.5 + l2:0.5")},
		{Privacy: dp.Privacy{Epsilon: 0.3, Sensitivity: 2}, Loss: parse(t, "lp:3.5"), Query: dp.IntegerQuery},
		{Privacy: dp.Privacy{Epsilon: 2, Sensitivity: 2}, Loss: parse(t, "huber:3 + exceed:4"), Query: dp.IntegerQuery, Constraints: dp.Constraints{MaxDistinguishing: 0.1}},
	} {
		r, err := lp.Design(context.Background(), p, lp.Options{NewSolver: highs.New})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := r.Table.Mechanism().Encode(&b); err != nil {
			t.Fatal(err)
		}
		agrees(t, b.Bytes(), r.Table.Certificate())
		judgeForgeries(t, b.Bytes(), 6)
		ratio := r.Table.Mechanism().TailRatio()
		short := strings.Replace(b.String(), fmt.Sprintf(`"tail_ratio":"%d"`, ratio), fmt.Sprintf(`"tail_ratio":"%d"`, ratio-1), 1)
		if got, code := python(t, []byte(short)); code != 3 || !strings.Contains(got, "FALSE: certified delta <= delta") {
			t.Errorf("ratio one less: exit code %d, printed\n%s", code, got)
		}
	}
}

func parse(t *testing.T, name string) loss.Loss {
	t.Helper()
	loss, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return loss
}

// TestPage: what docs/table-format.md shows of the example table is in it, with "…" for
// what it leaves out.
func TestPage(t *testing.T) {
	_, shown, _ := strings.Cut(string(read(t, "../../docs/table-format.md")), "```\n{")
	shown, _, found := strings.Cut("{"+shown, "```")
	if !found {
		t.Fatal("no table on the page")
	}
	var excerpt, whole any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(shown, ", …", "")), &excerpt); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(read(t, "../../docs/example-table.json"), &whole); err != nil {
		t.Fatal(err)
	}
	var compare func(where string, a, b any)
	compare = func(where string, a, b any) {
		switch a := a.(type) {
		case map[string]any:
			b, _ := b.(map[string]any)
			if len(a) != len(b) {
				t.Errorf("%s: %d fields on the page, %d in the file", where, len(a), len(b))
			}
			for name, v := range a {
				compare(where+"."+name, v, b[name])
			}
		case []any:
			b, _ := b.([]any)
			if len(a) > len(b) {
				t.Fatalf("%s: %d elements on the page, %d in the file", where, len(a), len(b))
			}
			for i, v := range a {
				compare(fmt.Sprintf("%s[%d]", where, i), v, b[i])
			}
		default:
			if a != b {
				t.Errorf("%s = %v on the page, %v in the file", where, a, b)
			}
		}
	}
	compare("table", excerpt, whole)
}
