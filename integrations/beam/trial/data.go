package main

import (
	"fmt"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	noisebeam "github.com/noisewright/noisewright/integrations/beam"
)

// The data: row i is of person i/rowsEach, in partition (i·7) mod partitions, with the
// value (i·37) mod 101. So the exact answers are known: a person has two rows in
// different partitions, and the bounds of the trial leave nothing out.
const (
	partitions = 50
	rowsEach   = 2
	largest    = 100
	shards     = 64
)

func row(i int) noisebeam.Row {
	return noisebeam.Row{
		Person:    strconv.Itoa(i / rowsEach),
		Partition: "p" + strconv.Itoa(i*7%partitions),
		Value:     float64(i * 37 % (largest + 1)),
	}
}

// exact returns the number of rows and the sum of the values of each partition.
func (t trial) exact() (counts, sums map[string]float64) {
	counts, sums = make(map[string]float64), make(map[string]float64)
	for i := range t.rows {
		r := row(i)
		counts[r.Partition]++
		sums[r.Partition] += r.Value
	}
	return counts, sums
}

// generateFn makes every shards-th row.
type generateFn struct{ Rows int }

func (f *generateFn) ProcessElement(shard int, emit func(noisebeam.Row)) {
	for i := shard; i < f.Rows; i += shards {
		emit(row(i))
	}
}

func init() {
	beam.RegisterDoFn(reflect.TypeFor[generateFn]())
	beam.RegisterDoFn(reflect.TypeFor[rareFn]())
	beam.RegisterDoFn(reflect.TypeFor[lineFn]())
}

func (t trial) generate(s beam.Scope) beam.PCollection {
	return beam.ParDo(s, &generateFn{t.rows}, beam.Reshuffle(s, numbers(s, shards)))
}

func numbers(s beam.Scope, n int) beam.PCollection {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return beam.CreateList(s, list)
}

// writeInput writes the rows as a CSV file, in a few parts.
func (t trial) writeInput() error {
	const parts = 8
	for part := range parts {
		text := []byte("id,value\n")
		for i := part; i < t.rows; i += parts {
			text = fmt.Appendf(text, "%d,%g\n", i, row(i).Value)
		}
		if err := os.WriteFile(t.path(fmt.Sprintf("in-%d.csv", part)), text, 0o666); err != nil { //nolint:gosec // as any file
			return err
		}
	}
	return nil
}

// lines are those of a file.
func lines(name string) ([]string, error) {
	text, err := os.ReadFile(name)
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' }), err
}

// normal reports whether the sum of independent terms with mean 0 and this variance of all
// of them is plausible: below 4.9 standard deviations, which many small terms exceed with a
// probability of 1e-6.
func normal(sum, variance float64) bool { return math.Abs(sum) < 4.9*math.Sqrt(variance) }
