// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

func TestMain(m *testing.M) { ptest.MainWithDefault(m, "prism") }

// collected is what pipelines of tests returned: Prism's workers are in this process.
var collected = struct {
	sync.Mutex
	lines map[string][]string
}{lines: map[string][]string{}}

type collectFn struct{ Name string }

func (f *collectFn) ProcessElement(x beam.X) {
	collected.Lock()
	defer collected.Unlock()
	collected.lines[f.Name] = append(collected.lines[f.Name], fmt.Sprint(x))
}

type numberFn struct{}

func (f *numberFn) ProcessElement(partition string, y float64) string {
	return partition + " " + number(y)
}

type quantileFn struct{}

func (f *quantileFn) ProcessElement(partition string, q Quantile) string {
	return fmt.Sprint(partition, " ", q.Probability, " ", q.Value)
}

func init() {
	beam.RegisterDoFn(reflect.TypeFor[collectFn]())
	beam.RegisterDoFn(reflect.TypeFor[numberFn]())
	beam.RegisterDoFn(reflect.TypeFor[quantileFn]())
}

// collect keeps the elements under the name of the test and another one.
func collect(t *testing.T, s beam.Scope, name string, col beam.PCollection) {
	beam.ParDo0(s, &collectFn{t.Name() + name}, col)
}

// forget drops what was collected.
func forget(t *testing.T, name string) {
	collected.Lock()
	defer collected.Unlock()
	delete(collected.lines, t.Name()+name)
}

func collectedOf(t *testing.T, name string) []string {
	collected.Lock()
	defer collected.Unlock()
	return collected.lines[t.Name()+name]
}

// quiet is integer noise that is 0, but with a probability below 1e-15: other points, as far
// out as the sensitivity, have 2^-64 each.
func quiet(t *testing.T, sensitivity int) *tables.Verified {
	t.Helper()
	weights := slices.Repeat([]uint64{1}, 2*sensitivity+1)
	weights[sensitivity] = -uint64(2 * sensitivity) // 2^64 less the others
	table, err := tables.New(tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 50, Delta: 1e-12, Sensitivity: float64(sensitivity)}, Query: dp.IntegerQuery, Loss: loss.L1},
		Grid:    tables.Grid{PointsPerCell: 1, CellsPerSensitivity: sensitivity, FirstCell: -sensitivity},
		Weights: weights,
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := table.Verify()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// loud is integer noise with delta, of a few points.
func loud(t *testing.T, epsilon, delta float64) *tables.Verified {
	t.Helper()
	v, err := shapes.TruncatedLaplace(dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L1}, tables.Grid{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func newBudget(t *testing.T, epsilon, delta float64) *Budget {
	t.Helper()
	b, err := NewBudget(epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wantSentence fails unless the error has all of the parts.
func wantSentence(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q, want it to say %q", err, p)
		}
	}
}

// wide is real noise for a sensitivity.
func wide(t *testing.T, sensitivity float64) *tables.Verified {
	t.Helper()
	v, err := shapes.Laplace(dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Sensitivity: sensitivity}, Loss: loss.L1}, tables.Grid{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}
