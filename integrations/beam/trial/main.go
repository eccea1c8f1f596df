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
	"os"
	"path/filepath"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
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
