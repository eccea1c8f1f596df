// SPDX-License-Identifier: Apache-2.0

package release_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/release"
	"github.com/noisewright/noisewright/release/ledger"
)

// A count of rows: the plan looks at no data.
func Example() {
	ctx := context.Background()
	file := strings.NewReader("id,age\n1,34\n2,71\n3,45\n4,68\n")

	query := release.Query{
		Kind: release.Count, Where: "age >= 65",
		Epsilon: 0.5, Neighbors: dp.AddRemove,
	}
	source, err := release.Tables{Design: lp.Designer(lp.Options{NewSolver: highs.New})}.Source()
	if err != nil {
		log.Fatal(err)
	}
	plan, err := release.NewPlan(ctx, query, source)
	if err != nil {
		log.Fatal(err)
	}
	rows, err := release.NewCSV(file, ',')
	if err != nil {
		log.Fatal(err)
	}
	defer rows.Close()
	data, err := release.Read(rows, query)
	if err != nil {
		log.Fatal(err)
	}
	answers, err := plan.Answer(data)
	if err != nil {
		log.Fatal(err)
	}
	a := answers[0]
	fmt.Printf("%s, mean error %.2f\n", plan.Mechanism(), plan.MeanError())
	fmt.Printf("the interval is %v wide\n", a.Upper-a.Lower)
	// Output:
	// integer noise, mean error 1.92
	// the interval is 12 wide
}

// A ledger is charged before the answer exists, and gives an equal query about the same data
// the same answer again at no cost.
func ExampleRelease() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	path := filepath.Join(dir, "city.ledger")
	if err := ledger.Create(ctx, path, account.Terms{Epsilon: 1, Neighbors: dp.AddRemove, Unit: dp.Row}); err != nil {
		log.Fatal(err)
	}
	book, err := ledger.Open(ctx, path)
	if err != nil {
		log.Fatal(err)
	}
	defer book.Close()

	ages := []int{34, 71, 45, 68}
	query := release.Query{Kind: release.Quantile, Column: "value", Upper: 100, Probability: 0.5, Epsilon: 0.5}
	first, err := release.Release(ctx, book, ages, query, nil) // quantiles draw from no table
	if err != nil {
		log.Fatal(err)
	}
	again, err := release.Release(ctx, book, ages, query, nil)
	if err != nil {
		log.Fatal(err)
	}
	left, err := book.Left(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Ledger.Replayed, again.Answers[0] == first.Answers[0])
	fmt.Printf("release %d, epsilon %.3f left\n", again.Ledger.Release, left)
	// Output:
	// true true
	// release 1, epsilon 0.500 left
}
