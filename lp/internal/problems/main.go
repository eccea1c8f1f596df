// SPDX-License-Identifier: Apache-2.0

// Command problems designs noise for random problems, for those of a file or for those of the published tables, and prints
// which miss the gap, by loss and epsilon. Problems depend on the seed and their number alone.
package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	program = flag.String("program", "bin/noisewright", "the program that designs")
	count   = flag.Int("n", 300, "how many problems")
	seed    = flag.Uint64("seed", 1, "the number that says which")
	file    = flag.String("file", "", "a JSON file of problems, a list of {\"id\", \"args\"}, in place of random ones")
	grid    = flag.String("grid", "", "epsilons, separated by commas, for l1 and l2 with each published delta, in place of random problems; published: those of the published tables")
	only    = flag.String("only", "", "numbers of problems, separated by commas; empty: all")
	gap     = flag.Float64("gap", 1e-3, "the relative gap to reach")
	limit   = flag.Duration("time-limit", 5*time.Second, "of each design")
	cpu     = flag.Bool("cpu", false, "design without the program, the limit in CPU seconds, as on a machine that does other work")
	all     = flag.Bool("all", false, "print every problem, not only those that miss")
	record  = flag.String("o", "", "a CSV file for all results")
	from    = flag.String("from", "", "CSV files of results, separated by commas, in place of designs")
	files   = flag.String("tables", "", "a directory for the table files, each named by the number of its problem")
	picture = flag.String("map", "", "an SVG file for the map of all results over epsilon and the losses")
	most    = flag.Int("misses", math.MaxInt, "how many may miss the gap")
)

func main() {
	flag.Parse()
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "problems:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	problems, err := chosen()
	if err != nil {
		return err
	}
	results, err := recorded(*from)
	if err != nil {
		return err
	}
	if *from != "" {
		problems = nil
	}
	for _, r := range results {
		if *all || r.missed() {
			fmt.Fprintln(out, r)
		}
	}
	var failed error // what ends without a design, which is no miss: the others are designed first
	for _, p := range problems {
		with := design
		if *cpu {
			with = designByCPU
		}
		r, err := with(p)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("problem %d, design %s: %w", p.ID, strings.Join(p.Args, " "), err))
			continue
		}
		if results = append(results, r); *all || r.missed() {
			fmt.Fprintln(out, r)
		}
	}
	fmt.Fprint(out, summary(results))
	if starts, err := starting(); err == nil {
		fmt.Fprintf(out, "to start the program takes some %.1f of these CPU s\n", starts*float64(len(results)))
	}
	title := fmt.Sprintf("%d random problems, gap %g %%, %s each", len(results), 100**gap, *limit)
	for path, text := range map[string]string{*record: table(results), *picture: drawn(results, title)} {
		if path == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // figures for all
			return err
		}
	}
	if missed := len(slices.DeleteFunc(slices.Clone(results), func(r result) bool { return !r.missed() })); missed > *most {
		return errors.Join(failed, fmt.Errorf("%d of %d problems miss the gap, at most %d may", missed, len(results), *most))
	}
	return failed
}

// chosen returns the problems that the flags ask for.
func chosen() ([]problem, error) {
	problems := random(*seed, *count)
	if *file != "" {
		data, err := os.ReadFile(*file)
		if err != nil {
			return nil, err
		}
		problems = nil
		if err := json.Unmarshal(data, &problems); err != nil {
			return nil, fmt.Errorf("%s: %w", *file, err)
		}
	}
	if *grid != "" {
		problems = published(*grid)
	}
	if *only == "" {
		return problems, nil
	}
	wanted := make(map[int]bool)
	for _, s := range strings.Split(*only, ",") {
		id, err := strconv.Atoi(s)
		if err != nil {
			return nil, fmt.Errorf("-only %s: want numbers of problems, separated by commas", *only)
		}
		wanted[id] = true
	}
	return slices.DeleteFunc(problems, func(p problem) bool { return !wanted[p.ID] }), nil
}

// result is how a design ended.
type result struct {
	problem `json:"-"`
	Gap     *float64 `json:"gap"` // nil: no bound above 0
	Loss    float64  `json:"expected_loss"`
	Bound   float64  `json:"lower_bound"`
	Wall    float64  `json:"seconds"`
	CPU     float64  `json:"-"` // seconds
}

func design(p problem) (r result, err error) {
	args := append([]string{"design", "--json", "--gap", fmt.Sprint(*gap), "--time-limit", limit.String()}, p.Args...)
	if *files != "" {
		args = append(args, "-o", filepath.Join(*files, fmt.Sprintf("%d.json", p.ID)))
	}
	cmd := exec.Command(*program, args...) //nolint:gosec // the program that the flag names
	said := new(strings.Builder)
	cmd.Stderr = said
	answer, err := cmd.Output()
	var exit *exec.ExitError
	const stopped = 4 // the exit code of a design that a limit ended
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == stopped) {
		return r, fmt.Errorf("%w: %s", err, said)
	}
	r.problem = p
	r.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return r, json.Unmarshal(answer, &r)
}

// starting returns the CPU seconds that the program takes to start, of several runs.
func starting() (seconds float64, err error) {
	const runs = 10
	for range runs {
		cmd := exec.Command(*program, "version") //nolint:gosec // the program that the flag names
		if err := cmd.Run(); err != nil {
			return 0, err
		}
		seconds += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds() / runs
	}
	return seconds, nil
}

func (r result) gap() float64 {
	if r.Gap == nil {
		return math.Inf(1)
	}
	return *r.Gap
}

func (r result) missed() bool { return r.gap() > *gap }

func (r result) String() string {
	return fmt.Sprintf("%4d  gap %9.4g %%  %6.2f CPU s  %s", r.ID, 100*r.gap(), r.CPU, strings.Join(r.Args, " "))
}

func (p problem) option(name string) string {
	if i := slices.Index(p.Args, "--"+name); i >= 0 && i+1 < len(p.Args) {
		return p.Args[i+1]
	}
	return ""
}

func (p problem) loss() string {
	family, _, _ := strings.Cut(p.option("loss"), ":")
	return family
}

// bands are the upper ends of the ranges of epsilon that results are counted by.
var bands = []float64{0.2, 1, 2, 5, 10, math.Inf(1)}

func (p problem) band() int {
	epsilon, _ := strconv.ParseFloat(p.option("epsilon"), 64)
	return slices.IndexFunc(bands, func(end float64) bool { return epsilon < end })
}

// summary counts, by loss and epsilon, the problems that reach the gap among all, and the CPU seconds.
func summary(results []result) string {
	type cell struct {
		reached, all int
		cpu          float64
	}
	cells := make(map[string][]cell)
	var losses []string
	total, worst := cell{}, 0.0
	for _, r := range results {
		for _, name := range []string{r.loss(), "all"} {
			if cells[name] == nil {
				cells[name] = make([]cell, len(bands))
				losses = append(losses, name)
			}
			c := &cells[name][r.band()]
			c.all++
			c.cpu += r.CPU
			if !r.missed() {
				c.reached++
			}
		}
		total.all++
		total.cpu += r.CPU
		if !r.missed() {
			total.reached++
		}
		worst = max(worst, r.gap())
	}
	slices.SortFunc(losses, func(a, b string) int {
		switch {
		case a == "all":
			return 1
		case b == "all":
			return -1
		}
		return cmp.Compare(a, b)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s", "epsilon <")
	for _, end := range bands {
		fmt.Fprintf(&b, "%20g", end)
	}
	for _, name := range losses {
		fmt.Fprintf(&b, "\n%-12s", name)
		for _, c := range cells[name] {
			text := "-"
			if c.all > 0 {
				text = fmt.Sprintf("%d of %d, %.1f s", c.reached, c.all, c.cpu)
			}
			fmt.Fprintf(&b, "%20s", text)
		}
	}
	fmt.Fprintf(&b, "\n%d of %d problems reach a gap of %g %% in %s, in %.1f CPU s; the largest gap is %.4g %%\n", total.reached, total.all, 100**gap, limit, total.cpu, 100*worst)
	return b.String()
}

func table(results []result) string {
	var b strings.Builder
	b.WriteString("id,loss,epsilon,delta,gap,expected_loss,lower_bound,cpu_s,wall_s\n")
	for _, r := range results {
		fmt.Fprintf(&b, "%d,%q,%s,%s,%g,%g,%g,%.3f,%.3f\n", r.ID, r.option("loss"), r.option("epsilon"), r.option("delta"), r.gap(), r.Loss, r.Bound, r.CPU, r.Wall)
	}
	return b.String()
}

// recorded reads what table wrote, of several files one after the other.
func recorded(paths string) (results []result, err error) {
	for _, path := range strings.FieldsFunc(paths, func(r rune) bool { return r == ',' }) {
		data, err := os.ReadFile(path) //nolint:gosec // a record that the flag names
		if err != nil {
			return nil, err
		}
		rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, row := range rows[min(1, len(rows)):] {
			var r result
			var n [6]float64
			for i, at := range []int{0, 4, 5, 6, 7, 8} {
				if n[i], err = strconv.ParseFloat(row[at], 64); err != nil {
					return nil, fmt.Errorf("%s: %w", path, err)
				}
			}
			r.ID, r.Args = int(n[0]), []string{"--epsilon", row[2], "--delta", row[3], "--loss", row[1]}
			if r.Loss, r.Bound, r.CPU, r.Wall = n[2], n[3], n[4], n[5]; !math.IsInf(n[1], 1) {
				r.Gap = &n[1]
			}
			results = append(results, r)
		}
	}
	return results, nil
}
