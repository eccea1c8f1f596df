package release_test

import (
	"context"
	"fmt"
	"log"
	"math/big"
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
	source, err := release.Tables(release.TablesOptions{Design: lp.Designer(lp.Options{NewSolver: highs.New})})
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

// A ledger is charged before the answer exists, and gives an equal query the same answer
// again at no cost.
func ExamplePlan_Costs() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	path := filepath.Join(dir, "city.ledger")
	if err := ledger.Create(ctx, path, ledger.Terms{Epsilon: 1, Neighbors: dp.AddRemove, Unit: dp.Row}); err != nil {
		log.Fatal(err)
	}
	book, err := ledger.Open(ctx, path)
	if err != nil {
		log.Fatal(err)
	}
	defer book.Close()

	query := release.Query{Kind: release.Value, Name: "patients", Sensitivity: 1, Integer: true, Epsilon: 0.5, Neighbors: dp.AddRemove}
	source, err := release.Tables(release.TablesOptions{Design: lp.Designer(lp.Options{NewSolver: highs.New})})
	if err != nil {
		log.Fatal(err)
	}
	plan, err := release.NewPlan(ctx, query, source)
	if err != nil {
		log.Fatal(err)
	}
	data, err := release.DataOf(big.NewRat(1234, 1), query)
	if err != nil {
		log.Fatal(err)
	}
	digest := strings.Repeat("0", 64) // the SHA-256 of the data, or of something new for each release
	record, err := book.Release(ctx, account.Charge{
		Text: query.Text(), Data: digest, Summary: "patients",
		Neighbors: query.Neighbors, Unit: query.Unit(), Costs: plan.Costs(),
	}, func(context.Context) ([]byte, error) {
		answers, err := plan.Answer(data)
		return fmt.Append(nil, answers), err
	})
	if err != nil {
		log.Fatal(err)
	}
	left, err := book.Left(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("release %d, epsilon %.3f left\n", record.ID, left)
	// Output: release 1, epsilon 0.500 left
}
