// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	noisebeam "github.com/noisewright/noisewright/integrations/beam"
	"github.com/noisewright/noisewright/integrations/beam/internal/fault"
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

// statistics builds counts, sums and means of all partitions, or with -what one counts alone. Rare
// partitions are among those to select from where something crashes.
func (t trial) statistics(s beam.Scope) error {
	list, err := tablesOf()
	if err != nil {
		return err
	}
	budget, err := noisebeam.NewBudget(5*epsilon, 5*delta)
	if err != nil {
		return err
	}
	rule, err := noisebeam.NewSelection(epsilon, delta, rowsEach)
	if err != nil {
		return err
	}
	rows := t.generate(s)
	if t.mode == "crash" {
		even := 1
		for rule.Probability(int64(even)).Cmp(big.NewRat(1, 2)) < 0 {
			even++
		}
		rows = beam.Flatten(s, rows, beam.ParDo(s, &rareFn{even}, numbers(s, rare)))
	}
	people, err := noisebeam.Bound(s, fault.After(s, "rows", rows), noisebeam.Bounds{Partitions: rowsEach, Values: 1, Lower: 0, Upper: largest}, budget)
	if err != nil {
		return err
	}
	var groups *noisebeam.Groups
	if t.mode == "aggregate" {
		groups, err = people.Public(s, keys())
	} else {
		groups, err = people.Select(s, rule)
	}
	if err != nil {
		return err
	}
	var shown []beam.PCollection
	for _, of := range []struct {
		what   string
		answer func() (beam.PCollection, error)
	}{
		{"count", func() (beam.PCollection, error) { return groups.Count(s, list[0]) }},
		{"sum", func() (beam.PCollection, error) { return groups.Sum(s, list[1]) }},
		{"mean", func() (beam.PCollection, error) { return groups.Mean(s, list[2], list[0]) }},
	} {
		if t.mode == "crash" && t.what == "one" && of.what != "count" {
			continue
		}
		answers, err := of.answer()
		if err != nil {
			return err
		}
		shown = append(shown, fault.After(s, "shown", beam.ParDo(s, &lineFn{of.what}, answers)))
	}
	if t.mode != "crash" {
		spent, err := budget.Spent()
		if err != nil {
			return err
		}
		fmt.Printf("spent: epsilon %.6g at delta %g\n", spent, 5*delta)
	}
	textio.Write(s, t.path("answers.csv"), beam.Flatten(s, shown...))
	return nil
}

func keys() []string {
	list := make([]string, partitions)
	for i := range list {
		list[i] = "p" + strconv.Itoa(i)
	}
	return list
}

type lineFn struct{ What string }

func (f *lineFn) ProcessElement(partition string, value float64) string {
	return f.What + "," + partition + "," + strconv.FormatFloat(value, 'g', -1, 64)
}

// checkAnswers holds the answers against the exact ones.
func (t trial) checkAnswers() error {
	counts, sums := t.exact()
	list, err := tablesOf()
	if err != nil {
		return err
	}
	answers, err := readAnswers(t.path("answers.csv"))
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

func readAnswers(name string) (map[answer][]float64, error) {
	all, err := lines(name)
	if err != nil {
		return nil, err
	}
	out := make(map[answer][]float64)
	for _, line := range all {
		fields := strings.Split(line, ",")
		y, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return nil, err
		}
		key := answer{fields[0], fields[1]}
		out[key] = append(out[key], y)
	}
	return out, nil
}

func rowNoise() (*tables.Verified, error) { return noise(dp.RealQuery, largest) }

// privatize adds noise to every row of the CSV files in a directory.
func (t trial) privatize(dir string) func(beam.Scope) error {
	return func(s beam.Scope) error {
		v, err := rowNoise()
		if err != nil {
			return err
		}
		return noisebeam.PrivatizeCSV(s, v, noisebeam.Column{Name: "value", Lower: 0, Upper: largest}, filepath.Join(dir, "in-*.csv"), t.path("out.csv"))
	}
}

// checkRows holds the sum of all noise against 0, and the sum of its squares against the
// variance that the table promises.
func (t trial) checkRows() error {
	v, err := rowNoise()
	if err != nil {
		return err
	}
	fourth, err := loss.New("lp", 4)
	if err != nil {
		return err
	}
	m2, _ := v.Mechanism().ExpectedLossOf(loss.L2).Float64()
	m4, _ := v.Mechanism().ExpectedLossOf(fourth).Float64()
	all, err := lines(t.path("out.csv"))
	if err != nil {
		return err
	}
	n, sum, squares := len(all)-1, 0.0, 0.0
	for _, line := range all[min(1, len(all)):] { // but for the header
		number, value, _ := strings.Cut(line, ",")
		i, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		y, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return err
		}
		x := y - row(i).Value
		sum, squares = sum+x, squares+x*x
	}
	rows := float64(n)
	fmt.Printf("rows: %d, sum of the noise %.5g of a standard deviation of %.5g, variance %.6g promised %.6g\n",
		n, sum, math.Sqrt(rows*m2), squares/rows, m2)
	if n != t.rows || !normal(sum, rows*m2) || !normal(squares-rows*m2, rows*(m4-m2*m2)) {
		return errLaw
	}
	return nil
}
