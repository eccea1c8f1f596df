// SPDX-License-Identifier: Apache-2.0

// Trial runs noisebeam on an engine over a million rows, and checks what comes out. It is
// what make beam-flink and make beam-spark run; the flags of Beam choose the engine.
//
//	trial -mode aggregate -dir DIR --runner=prism
//
// Exit code 3 says that results do not have the law they promise, at a false alarm rate of
// 1e-6, or that work that was repeated gave others.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	noisebeam "github.com/noisewright/noisewright/integrations/beam"
)

// errLaw marks results that are not distributed as promised.
var errLaw = errors.New("results do not have the law they promise")

type trial struct {
	mode  string
	dir   string
	rows  int
	what  string
	times int
	kill  bool
}

func main() {
	var t trial
	flag.StringVar(&t.mode, "mode", "aggregate", "aggregate, select, privatize or crash")
	flag.StringVar(&t.dir, "dir", "", "directory of input and output files")
	flag.IntVar(&t.rows, "rows", 1_000_000, "number of rows")
	flag.StringVar(&t.what, "what", "one", "with -mode crash: one statistic, three of them, or rows with noise")
	flag.IntVar(&t.times, "times", 3, "with -mode crash: number of pipelines, in each of which something crashes behind every step")
	flag.BoolVar(&t.kill, "kill", false, "with -mode crash: what crashes is the process of the worker, by SIGKILL, and not only the bundle")
	flag.Parse()
	beam.Init()
	err := t.run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "trial:", err)
	}
	switch {
	case errors.Is(err, errLaw):
		os.Exit(3)
	case err != nil:
		os.Exit(1)
	}
}

func (t trial) run(ctx context.Context) error {
	if t.dir == "" || t.rows < 1000 {
		return errors.New("want -dir, and -rows of at least 1000")
	}
	if t.mode == "crash" {
		return t.crashes(ctx)
	}
	for _, name := range []string{t.path("answers.csv"), t.path("out.csv")} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	build, verify := t.statistics, t.checkAnswers
	switch t.mode {
	case "aggregate", "select":
	case "privatize":
		build, verify = t.privatize(t.dir), t.checkRows
		if err := t.writeInput(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("mode %q, want aggregate, select, privatize or crash", t.mode)
	}
	p, s := beam.NewPipelineWithRoot()
	if err := build(s); err != nil {
		return err
	}
	began := time.Now()
	if err := beamx.Run(ctx, p); err != nil {
		return err
	}
	took := time.Since(began)
	fmt.Printf("%s: %d rows in %.1f s, %.0f rows per second\n", t.mode, t.rows, took.Seconds(), float64(t.rows)/took.Seconds())
	return verify()
}

func (t trial) path(name string) string { return filepath.Join(t.dir, name) }

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
