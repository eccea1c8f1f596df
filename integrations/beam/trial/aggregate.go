package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"reflect"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	noisebeam "github.com/noisewright/noisewright/integrations/beam"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// The privacy of the trial: of each kind of answer, for all partitions of a person.
const (
	epsilon = 1.0
	delta   = 1e-6
)

// noise returns the noise for the partitions of a person, of a shape between Laplace and
// Gaussian noise, which needs no solver.
func noise(query dp.Query, sensitivity float64) (*tables.Verified, error) {
	c, err := account.Calibrate(context.Background(), account.Target{
		Problem:  dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: sensitivity}, Query: query, Loss: loss.L2},
		Releases: rowsEach,
	}, nil, account.CalibrateOptions{Exponents: []float64{2}})
	if err != nil {
		return nil, err
	}
	return c.Table, nil
}

// tablesOf returns the noise of counts, of sums, and of sums for means.
func tablesOf() (list [3]*tables.Verified, err error) {
	for i, sensitivity := range []float64{1, largest, largest / 2.0} {
		if list[i], err = noise(dp.RealQuery, sensitivity); err != nil {
			return list, err
		}
	}
	return list, nil
}

// aggregate builds counts, sums and means of all partitions.
func (t trial) aggregate(s beam.Scope) error {
	list, err := tablesOf()
	if err != nil {
		return err
	}
	budget, err := noisebeam.NewBudget(5*epsilon, 5*delta)
	if err != nil {
		return err
	}
	people, err := noisebeam.Bound(s, t.generate(s), noisebeam.Bounds{Partitions: rowsEach, Values: 1, Lower: 0, Upper: largest}, budget)
	if err != nil {
		return err
	}
	groups, err := t.groups(s, people)
	if err != nil {
		return err
	}
	counts, err := groups.Count(s, list[0])
	if err != nil {
		return err
	}
	sums, err := groups.Sum(s, list[1])
	if err != nil {
		return err
	}
	means, err := groups.Mean(s, list[2], list[0])
	if err != nil {
		return err
	}
	spent, err := budget.Spent()
	if err != nil {
		return err
	}
	fmt.Printf("spent: epsilon %.6g at delta %g\n", spent, 5*delta)
	lines := beam.Flatten(s,
		beam.ParDo(s, &lineFn{"count"}, counts), beam.ParDo(s, &lineFn{"sum"}, sums), beam.ParDo(s, &lineFn{"mean"}, means))
	textio.Write(s, t.path("answers.csv"), lines)
	return nil
}

func (t trial) groups(s beam.Scope, people *noisebeam.People) (*noisebeam.Groups, error) {
	if t.mode == "select" {
		rule, err := noisebeam.NewSelection(epsilon, delta, rowsEach)
		if err != nil {
			return nil, err
		}
		return people.Select(s, rule)
	}
	keys := make([]string, partitions)
	for i := range keys {
		keys[i] = "p" + strconv.Itoa(i)
	}
	return people.Public(s, keys)
}

// lineFn writes an answer as a line.
type lineFn struct{ What string }

// ProcessElement joins the parts.
func (f *lineFn) ProcessElement(partition string, value float64) string {
	return f.What + "," + partition + "," + strconv.FormatFloat(value, 'g', -1, 64)
}

func init() {
	beam.RegisterDoFn(reflect.TypeFor[lineFn]())
}

// checkAnswers holds the answers against the exact ones.
func (t trial) checkAnswers() error {
	counts, sums := t.exact()
	list, err := tablesOf()
	if err != nil {
		return err
	}
	answers, err := readLines(t.path("answers.csv"))
	if err != nil {
		return err
	}
	variance := map[string]float64{}
	for i, what := range []string{"count", "sum"} {
		variance[what], _ = list[i].Mechanism().ExpectedLossOf(loss.L2).Float64()
	}
	total, n, worst := map[string]float64{}, map[string]int{}, 0.0
	for key, values := range answers {
		if len(values) != 1 {
			return fmt.Errorf("%w: %d answers about %s, want one", errLaw, len(values), key)
		}
		y := values[0]
		n[key.what]++
		switch key.what {
		case "count":
			total["count"] += y - counts[key.partition]
		case "sum":
			total["sum"] += y - sums[key.partition]
		case "mean":
			worst = max(worst, math.Abs(y-sums[key.partition]/counts[key.partition]))
		}
	}
	for what, v := range variance {
		fmt.Printf("%s: %d answers, error of all together %.4g, standard deviation promised %.4g\n", what, n[what], total[what], math.Sqrt(v*float64(n[what])))
		if n[what] != partitions || !normal(total[what], v*float64(partitions)) {
			err = errLaw
		}
	}
	fmt.Printf("mean: %d answers, largest error %.4g\n", n["mean"], worst)
	if n["mean"] != partitions {
		err = errLaw
	}
	return err
}

type answer struct{ what, partition string }

func readLines(name string) (map[answer][]float64, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	out := make(map[answer][]float64)
	for _, l := range lines {
		y, err := strconv.ParseFloat(l[2], 64)
		if err != nil {
			return nil, err
		}
		out[answer{l[0], l[1]}] = append(out[answer{l[0], l[1]}], y)
	}
	return out, nil
}
