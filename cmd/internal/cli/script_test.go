package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/noisewright/noisewright/cmd/internal/cli"
	"github.com/noisewright/noisewright/cmd/internal/jsontest"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/tables"
)

// TestMain makes this test binary stand for the program as well: scripts and
// tests run it as "noisewright".
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"noisewright": func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			return os.MkdirAll(filepath.Join(e.WorkDir, "out"), 0o777)
		},
		Condition: func(name string) (bool, error) {
			if name == "solver" {
				return hasSolver(), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":    codeCommand,
			"table":   tableCommand,
			"replace": replaceCommand,
			"json":    jsonCommand,
			"size":    sizeCommand,
			"empty":   emptyCommand,
			"repeat":  repeatCommand,
			"hint":    hintCommand,
			"bytes":   bytesCommand,
			"bundle":  bundleCommand,
		},
	})
}

func hasSolver() bool { return highs.Version() != "" }

// code N PROGRAM ARG... runs a program and wants the exit code N.
func codeCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program [arg...]")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if want := args[0]; strconv.Itoa(code) != want {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}

// table FILE EPSILON DELTA SENSITIVITY [LOSS [integer|STEP]] writes a sound
// table, for integer queries or for a lattice with the step.
func tableCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: table file epsilon delta sensitivity [loss [integer|step]]")
	}
	var v [3]float64
	for i := range v {
		var err error
		v[i], err = strconv.ParseFloat(args[i+1], 64)
		ts.Check(err)
	}
	loss := "l1"
	if len(args) > 4 {
		loss = args[4]
	}
	query, step := dp.RealQuery, 1.0
	if len(args) > 5 {
		query = dp.IntegerQuery
		if args[5] != "integer" {
			var err error
			step, err = strconv.ParseFloat(args[5], 64)
			ts.Check(err)
			query = dp.LatticeQuery
		}
	}
	t, err := queryTable(v[0], v[1], v[2], loss, query, step)
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(t.Encode(f))
	ts.Check(f.Close())
}

// geometricTable returns a private table whose masses fall by e^-(ε/4) per cell
// and end where little enough is left: sound, and not optimal.
func geometricTable(epsilon, delta, sensitivity float64, loss string) (*tables.Table, error) {
	return queryTable(epsilon, delta, sensitivity, loss, dp.RealQuery, 1)
}

// queryTable is geometricTable for any kind of query; integers and lattices have
// one cell per step.
func queryTable(epsilon, delta, sensitivity float64, lossName string, query dp.Query, step float64) (*tables.Table, error) {
	k := 4
	exponent := math.Ilogb(sensitivity) - 20
	points := (int64(math.Ceil(math.Ldexp(sensitivity, -exponent))) + 3) / 4
	grid := tables.Grid{GranularityExponent: exponent, PointsPerCell: points + 1 - points%2}
	if query != dp.RealQuery {
		k = int(math.Ceil(sensitivity / step))
		grid = tables.Grid{PointsPerCell: 1}
		if query == dp.LatticeQuery {
			grid.Unit = step
		}
	}
	l, err := loss.Parse(lossName)
	if err != nil {
		return nil, err
	}
	fall := math.Exp(-epsilon * (1 - 1e-9) / float64(k))
	var pmf []float64
	half := 0
	for edge := 1.0; edge > 0.9*delta; {
		half += k
		pmf = make([]float64, 2*half+1)
		var sum float64
		for i := range pmf {
			pmf[i] = math.Pow(fall, math.Abs(float64(i-half)))
			sum += pmf[i]
		}
		edge = 0
		for i := range pmf {
			pmf[i] /= sum
			if i < k { // what a shift by the sensitivity moves beyond the end
				edge += pmf[i]
			}
		}
	}
	weights, atom, err := tables.Quantize(pmf, 0)
	if err != nil {
		return nil, err
	}
	grid.CellsPerSensitivity, grid.FirstCell = k, -half
	return tables.New(tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: sensitivity}, Query: query, Loss: l},
		Grid:    grid,
		Weights: weights, Atom: atom,
	})
}

// replace FILE REGEXP TEXT NEW rewrites a file with one change: the first match
// becomes the text. It fails if there is none.
func replaceCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: replace file regexp text new")
	}
	old := ts.ReadFile(args[0])
	at := regexp.MustCompile(args[1]).FindStringSubmatchIndex(old)
	if at == nil {
		ts.Fatalf("%s has no match of %s", args[0], args[1])
	}
	changed := old[:at[0]] + args[2] + old[at[1]:]
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(changed), 0o666))
}

// json FILE KEY... wants one JSON object on one line and nothing else in the
// file, with the given keys, dots leading into arrays and objects. KEY=VALUE
// also wants the value, and ! KEY that there is no such key.
func jsonCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: json file [key[=value]...]")
	}
	text := ts.ReadFile(args[0])
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		ts.Fatalf("want one line, got %q", text)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v map[string]any
	ts.Check(d.Decode(&v))
	if d.More() {
		ts.Fatalf("data after the object")
	}
	if _, exported := v["golden"]; !exported { // an export is a file, with a format of its own
		ts.Check(jsontest.Check([]byte(text)))
	}
	for _, arg := range args[1:] {
		path, want, compare := strings.Cut(arg, "=")
		var at any = v
		found := true
		for _, key := range strings.Split(path, ".") {
			switch node := at.(type) {
			case map[string]any:
				at, found = node[key]
			case []any:
				i, err := strconv.Atoi(key)
				if found = err == nil && i < len(node); found {
					at = node[i]
				}
			default:
				found = false
			}
			if !found {
				break
			}
		}
		if found == neg {
			ts.Fatalf("key %s is there: %v, in %s", path, found, text)
		}
		if compare && fmt.Sprint(at) != want {
			ts.Fatalf("key %s = %v, want %s", path, at, want)
		}
	}
}

// size FILE BYTES wants a file of that size.
func sizeCommand(ts *testscript.TestScript, neg bool, args []string) {
	if got := len(ts.ReadFile(args[0])); (strconv.Itoa(got) == args[1]) == neg {
		ts.Fatalf("%s has %d bytes", args[0], got)
	}
}

// empty DIR wants a directory without entries, hidden ones included.
func emptyCommand(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if (len(entries) == 0) == neg {
		ts.Fatalf("%s has %v", args[0], entries)
	}
}

// hint ARG... runs the command that the last one, which failed, gave as a hint, with
// more arguments, and wants it to succeed.
func hintCommand(ts *testscript.TestScript, neg bool, args []string) {
	m := regexp.MustCompile(`(?m)^hint: noisewright (\S.*)$`).FindStringSubmatch(ts.ReadFile("stderr"))
	if neg || m == nil {
		ts.Fatalf("no command is hinted at")
	}
	command, _, _ := strings.Cut(m[1], " makes a table")
	if err := ts.Exec("noisewright", append(strings.Fields(command), args...)...); err != nil {
		ts.Fatalf("the hint %q is refused: %v", command, err)
	}
}

// repeat TEXT N FILE writes a text N times.
func repeatCommand(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(strings.Repeat(args[0], n)), 0o666))
}

// bytes TEXT FILE writes a text with the escapes of Go, such as \r and \xff.
func bytesCommand(ts *testscript.TestScript, _ bool, args []string) {
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(args[0], `"`, `\"`) + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o666))
}
