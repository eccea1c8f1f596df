// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	noisebeam "github.com/noisewright/noisewright/integrations/beam"
	"github.com/noisewright/noisewright/integrations/beam/internal/fault"
)

// rare is the number of partitions that are released with a probability of about 1/2: another
// draw would release others.
const rare = 200

// rareFn makes the rows of these partitions, one of each person.
type rareFn struct{ People int }

func (f *rareFn) ProcessElement(partition int, emit func(noisebeam.Row)) {
	for i := range f.People {
		emit(noisebeam.Row{Person: fmt.Sprintf("r%d-%d", partition, i), Partition: "r" + strconv.Itoa(partition), Value: 1})
	}
}

// crashes runs pipelines in which something crashes once behind each step, and fails if anything
// was seen that is not in the result.
func (t trial) crashes(ctx context.Context) error {
	switch t.what {
	case "one", "three":
	case "rows":
		if err := t.writeInput(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("-what %q, want one, three or rows", t.what)
	}
	var before map[string]string
	for i := range t.times {
		own := t
		own.dir = filepath.Join(t.dir, fmt.Sprintf("%s-%d", t.what, i))
		if err := errors.Join(os.RemoveAll(own.dir), os.MkdirAll(own.dir, 0o700)); err != nil {
			return err
		}
		build, verify := own.statistics, own.checkStatistics
		if t.what == "rows" {
			build, verify = own.privatize(t.dir), own.checkRows
		}
		c := &fault.Crashes{Dir: own.dir, Kill: t.kill, Element: 1 + i*5%23, Watched: []string{"answers", "noisy", "shown"}}
		attempts, err := run(ctx, c, build)
		if err != nil {
			return err
		}
		values, err := own.checkSeen()
		if err != nil {
			return err
		}
		if err := verify(); err != nil {
			return err
		}
		same := 0
		for key, v := range values {
			if before[key] == v {
				same++
			}
		}
		fmt.Printf("crash, %s, pipeline %d: %d crashes in %d attempts, %d as in the pipeline before\n", t.what, i, c.Done(), attempts, same)
		if same > len(values)/2 {
			return fmt.Errorf("%w: two pipelines have the same noise", errLaw)
		}
		before = values
	}
	return nil
}

// run runs a pipeline until it ends. An engine that retries does in one attempt; on others
// the same pipeline is run again, which nobody may do with one that ended.
func run(ctx context.Context, c *fault.Crashes, build func(beam.Scope) error) (attempts int, err error) {
	fault.Behind = c.Behind
	defer func() { fault.Behind = nil }()
	p, s := beam.NewPipelineWithRoot()
	if err := build(s); err != nil {
		return 0, err
	}
	for {
		done := c.Done()
		attempts++
		if err = beamx.Run(ctx, p); err == nil {
			break
		}
		if c.Done() == done {
			return attempts, fmt.Errorf("attempt %d failed by itself: %w", attempts, err)
		}
	}
	if c.Done() != c.Steps() {
		return attempts, fmt.Errorf("%d steps of %d crashed", c.Done(), c.Steps())
	}
	return attempts, nil
}

// checkStatistics holds the answers against what was seen: all that was ever seen is in the result,
// and all partitions with enough people are.
func (t trial) checkStatistics() error {
	answers, err := lines(t.path("answers.csv"))
	if err != nil {
		return err
	}
	result := map[string]bool{}
	released := map[string]int{}
	for _, line := range answers {
		result[line] = true
		released[strings.Split(line, ",")[1][:1]]++
	}
	seen, err := lines(t.path("seen"))
	if err != nil {
		return err
	}
	lost, shown := 0, map[string]bool{}
	for _, line := range seen {
		if step, rest, _ := strings.Cut(line, " "); strings.HasPrefix(step, "shown") {
			if shown[rest] = true; !result[rest] {
				lost++
			}
		}
	}
	kinds := map[string]int{"one": 1, "three": 3}[t.what]
	fmt.Printf("crash: %d answers are shown and %d in the result, about %d of the %d rare partitions\n", len(shown), len(result), released["r"]/kinds, rare)
	switch {
	case lost > 0 || len(shown) != len(result):
		return fmt.Errorf("%w: %d answers were seen and %d are in the result, %d of the former not", errLaw, len(shown), len(result), lost)
	case released["p"] != kinds*partitions || released["r"] == 0 || released["r"] == kinds*rare:
		return fmt.Errorf("%w: released are %v", errLaw, released)
	}
	return nil
}

// checkSeen returns what was seen of each answer, and fails if that are two values.
func (t trial) checkSeen() (map[string]string, error) {
	seen, err := lines(t.path("seen"))
	if err != nil {
		return nil, err
	}
	values, two := map[string]string{}, map[string]bool{}
	for _, line := range seen {
		at := strings.LastIndexAny(line, " ,")
		key, value := line[:at], line[at+1:]
		if v, ok := values[key]; ok && v != value {
			two[key] = true
		}
		values[key] = value
	}
	if fmt.Printf("crash: %d values seen, of %d answers, %d of these with two\n", len(seen), len(values), len(two)); len(two) > 0 {
		return nil, fmt.Errorf("%w: a retry drew again", errLaw)
	}
	return values, nil
}
