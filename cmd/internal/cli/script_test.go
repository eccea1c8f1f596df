// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/noisewright/noisewright/cmd/internal/cli"
	"github.com/noisewright/noisewright/cmd/internal/scripttest"
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
			root, err := filepath.Abs("../../..")
			e.Setenv("REPOSITORY", root)
			return errors.Join(err, os.MkdirAll(filepath.Join(e.WorkDir, "out"), 0o777))
		},
		Condition: func(name string) (bool, error) {
			if name == "solver" {
				return hasSolver(), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: scripttest.Commands(map[string]scripttest.Command{
			"table":  tableCommand,
			"hint":   hintCommand,
			"bytes":  bytesCommand,
			"bundle": bundleCommand,
		}),
	})
}

func hasSolver() bool { return highs.Version() != "" }

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

// bytes TEXT FILE writes a text with the escapes of Go, such as \r and \xff.
func bytesCommand(ts *testscript.TestScript, _ bool, args []string) {
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(args[0], `"`, `\"`) + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o666))
}
