// SPDX-License-Identifier: Apache-2.0

package noisebeam_test

import (
	"context"
	"fmt"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	noisebeam "github.com/noisewright/noisewright/integrations/beam"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/plan"
	"github.com/noisewright/noisewright/release"
	"github.com/noisewright/noisewright/subset"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// Spending of customers by shop: a customer counts in at most 3 shops, with 5 purchases of
// up to 200 in each.
func Example() {
	budget, err := noisebeam.NewBudget(2, 1e-6)
	if err != nil {
		panic(err)
	}
	bounds := noisebeam.Bounds{Partitions: 3, Values: 5, Lower: 0, Upper: 200}
	rule, err := noisebeam.NewSelection(0.5, 5e-7, bounds.Partitions)
	if err != nil {
		panic(err)
	}
	// Noise for 3 shops together; noisewright.Calibrate designs it, with less of it.
	sums, err := account.Calibrate(context.Background(), account.Target{
		Problem:  dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 5e-7, Sensitivity: 5 * 200}, Loss: loss.L1},
		Releases: bounds.Partitions,
	}, nil, account.CalibrateOptions{})
	if err != nil {
		panic(err)
	}

	p, s := beam.NewPipelineWithRoot()
	rows, err := noisebeam.ReadRows(s, noisebeam.Files{Pattern: "purchases-*.csv"}, "customer", "shop", "price")
	if err != nil {
		panic(err)
	}
	people, err := noisebeam.Bound(s, rows, bounds, budget)
	if err != nil {
		panic(err)
	}
	shops, err := people.Select(s, rule)
	if err != nil {
		panic(err)
	}
	spending, err := shops.Sum(s, sums.Table)
	if err != nil {
		panic(err)
	}
	lines := beam.ParDo(s, func(shop string, sum float64) string { return fmt.Sprintf("%s,%.2f", shop, sum) }, spending)
	textio.Write(s, "spending.csv", lines)
	// beamx.Run(ctx, p) of Beam runs it, on the engine that --runner names.
	_ = p

	_, err = shops.Quantiles(s, noisebeam.QuantileOptions{Probabilities: []float64{0.5}, Epsilon: 1})
	fmt.Println(err)
	// Output:
	// account: this release would exceed the budget of epsilon 2, delta 1e-06: spent are 1.4616, and with it 4.44916 would be
}

// The shares of pages among people who answered on their devices.
func ExampleShares() {
	selection, err := subset.Design(subset.Spec{Epsilon: 1, Count: 200})
	if err != nil {
		panic(err)
	}
	p, s := beam.NewPipelineWithRoot()
	answers := beam.CreateList(s, []noisebeam.Answer{{Person: "ann", Text: "17"}, {Person: "bob", Text: "210"}})
	shares, err := noisebeam.Shares(s, answers, selection, noisebeam.ShareOptions{Level: 0.95, Seed: "pages in May"})
	if err != nil {
		panic(err)
	}
	_, _ = p, shares // to be written somewhere, and run
}

// Running totals of sign-ups by month, each person in one month: one plan, charged and drawn once.
func ExampleWorkload() {
	// As "noisewright plan design --workload prefix:3 --epsilon 1 --delta 0" makes it, and plan.Decode reads it.
	noise, err := plan.Geometric(1)
	if err != nil {
		panic(err)
	}
	totals, err := plan.New(plan.Spec{
		Budget: dp.Budget{Epsilon: 1}, Neighbors: dp.AddRemove, MaxPerPerson: 1,
		Workload:     plan.Workload{Kind: plan.Prefix, Cells: 3},
		Measurements: []plan.Measurement{{Kind: plan.Partition, Block: 1, Weight: 1, Noise: &noise}},
	})
	if err != nil {
		panic(err)
	}
	proved, err := totals.Verify()
	if err != nil {
		panic(err)
	}
	budget, err := noisebeam.NewBudget(1.5, 0)
	if err != nil {
		panic(err)
	}

	p, s := beam.NewPipelineWithRoot()
	entries, err := noisebeam.ReadEntries(s, noisebeam.Files{Pattern: "people-*.csv"}, "id", "month")
	if err != nil {
		panic(err)
	}
	options := noisebeam.WorkloadOptions{Cells: []release.Cells{{Column: "month", Keys: []string{"jan", "feb", "mar"}}}, Level: 0.95}
	answers, err := noisebeam.Workload(s, entries, proved, options, budget)
	if err != nil {
		panic(err)
	}
	lines := beam.ParDo(s, func(a release.WorkloadAnswer) string {
		return fmt.Sprintf("%s,%.0f,%.0f,%.0f", a.Of[0], a.Value, a.LowerOfAll, a.UpperOfAll)
	}, answers)
	textio.Write(s, "totals.csv", lines)
	// beamx.Run(ctx, p) of Beam runs it, on the engine that --runner names.
	_ = p

	_, err = noisebeam.Workload(s, entries, proved, options, budget)
	fmt.Println(err)
	// Output:
	// account: this release would exceed the budget of epsilon 1.5, delta 0: spent are 1, and with it 2 would be
}

// Tables of three columns, by a plan of "noisewright plan design --workload marginals:sex=2,city=5,work=3:2".
func ExampleWorkload_tables() {
	f, err := os.Open("tables.json")
	if err != nil {
		panic(err)
	}
	defer f.Close() //nolint:errcheck // nothing is written
	p, err := plan.Decode(f)
	if err != nil {
		panic(err)
	}
	tables, err := p.Verify()
	if err != nil {
		panic(err)
	}
	budget, err := noisebeam.NewBudget(2, 1e-5)
	if err != nil {
		panic(err)
	}
	pipeline, s := beam.NewPipelineWithRoot()
	entries, err := noisebeam.ReadEntries(s, noisebeam.Files{Pattern: "people-*.csv"}, "id", "sex", "city", "work")
	if err != nil {
		panic(err)
	}
	answers, err := noisebeam.Workload(s, entries, tables, noisebeam.WorkloadOptions{
		Cells: []release.Cells{
			{Column: "sex", Keys: []string{"F", "M"}},
			{Column: "city", Keys: []string{"Jena", "Ulm", "Bonn", "Kiel", "Hof"}},
			{Column: "work", Keys: []string{"private", "public", "none"}},
		},
		Level: 0.95,
	}, budget)
	if err != nil {
		panic(err)
	}
	_, _ = pipeline, answers // to be written somewhere, and run
}

// Running totals of twelve months, by a plan of "noisewright plan design --workload prefix:12".
func ExampleWorkload_months() {
	f, err := os.Open("months.json")
	if err != nil {
		panic(err)
	}
	defer f.Close() //nolint:errcheck // nothing is written
	p, err := plan.Decode(f)
	if err != nil {
		panic(err)
	}
	months, err := p.Verify() // refuses what it cannot prove
	if err != nil {
		panic(err)
	}
	budget, err := noisebeam.NewBudget(2, 1e-5)
	if err != nil {
		panic(err)
	}
	pipeline, s := beam.NewPipelineWithRoot()
	entries, err := noisebeam.ReadEntries(s, noisebeam.Files{Pattern: "people-*.csv"}, "id", "month")
	if err != nil {
		panic(err)
	}
	answers, err := noisebeam.Workload(s, entries, months, noisebeam.WorkloadOptions{
		Cells: []release.Cells{{Column: "month", Keys: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}}},
		Level: 0.95,
	}, budget)
	if err != nil {
		panic(err)
	}
	_, _ = pipeline, answers // to be written somewhere, and run
}

// The variance of how long each page is read, on how many pages somebody was, the three that most people were on, and, where nobody
// knows how long they are read, means.
func ExamplePeople_Distinct() {
	// Laplace noise; noisewright.Design makes less of it.
	noise := func(epsilon, sensitivity float64) *tables.Verified {
		v, err := shapes.Laplace(dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Sensitivity: sensitivity}, Loss: loss.L1}, tables.Grid{})
		if err != nil {
			panic(err)
		}
		return v
	}
	budget, err := noisebeam.NewBudget(8, 0)
	if err != nil {
		panic(err)
	}
	pipeline, s := beam.NewPipelineWithRoot()
	visits, err := noisebeam.ReadRows(s, noisebeam.Files{Pattern: "visits-*.csv"}, "id", "page", "minutes")
	if err != nil {
		panic(err)
	}
	bounds := noisebeam.Bounds{Partitions: 4, Values: 2, Lower: 0, Upper: 60}
	people, err := noisebeam.Bound(s, visits, bounds, budget)
	if err != nil {
		panic(err)
	}
	pages, err := people.Public(s, []string{"home", "news", "shop", "help", "jobs"})
	if err != nil {
		panic(err)
	}
	variances, err := pages.Variance(s, noise(0.2, 2*30), noise(0.2, 2*30*30/2), noise(0.2, 2))
	if err != nil {
		panic(err)
	}
	number, err := people.Distinct(s, noise(0.2, 4))
	if err != nil {
		panic(err)
	}
	top, err := pages.Top(s, 3, 0.5)
	if err != nil {
		panic(err)
	}

	people, err = noisebeam.Bound(s, visits, noisebeam.Bounds{Partitions: 1, Values: 2, Private: 0.2}, budget)
	if err != nil {
		panic(err)
	}
	pages, err = people.Public(s, []string{"home", "news", "shop", "help", "jobs"})
	if err != nil {
		panic(err)
	}
	means, err := pages.Mean(s, noise(0.4, 2), noise(0.4, 2))
	if err != nil {
		panic(err)
	}
	_, _, _, _, _ = pipeline, variances, number, top, means // to be written somewhere, and run

	total, _ := budget.Sums()
	fmt.Println(total.FloatString(2))
	// Output:
	// 4.10
}

// March of a plan of "noisewright plan design --workload prefix:12 --series", with what was measured of January and February.
func ExamplePeriod() {
	f, err := os.Open("monthly.json")
	if err != nil {
		panic(err)
	}
	defer f.Close() //nolint:errcheck // nothing is written
	p, err := plan.Decode(f)
	if err != nil {
		panic(err)
	}
	months, err := p.Verify() // refuses what it cannot prove
	if err != nil {
		panic(err)
	}
	budget, err := noisebeam.NewBudget(1, 1e-6)
	if err != nil {
		panic(err)
	}
	pipeline, s := beam.NewPipelineWithRoot()
	entries, err := noisebeam.ReadEntries(s, noisebeam.Files{Pattern: "people-*.csv"}, "id", "month")
	if err != nil {
		panic(err)
	}
	measured, totals, err := noisebeam.Period(s, entries, months, noisebeam.PeriodOptions{
		WorkloadOptions: noisebeam.WorkloadOptions{
			Cells: []release.Cells{{Column: "month", Keys: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}}},
			Level: 0.95,
		},
		Period: "mar",
		Before: []int64{417, 402},
	}, budget)
	if err != nil {
		panic(err)
	}
	_, _, _ = pipeline, measured, totals // to be written somewhere, and run
}
