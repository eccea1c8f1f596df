package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/noisewright/noisewright/dp"
	noisebeam "github.com/noisewright/noisewright/integrations/beam"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

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
	f, err := os.Open(t.path("out.csv"))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	r := csv.NewReader(f)
	if _, err := r.Read(); err != nil {
		return err
	}
	n, sum, squares := 0, 0.0, 0.0
	for ; ; n++ {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		i, err := strconv.Atoi(fields[0])
		if err != nil {
			return err
		}
		y, err := strconv.ParseFloat(fields[1], 64)
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
