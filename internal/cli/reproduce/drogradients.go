package reproduce

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/internal/csvfile"
)

// examples are rows of numbers with a label of 1 or −1 each.
type examples struct {
	rows   [][]float64 // the first number is 1, the intercept
	labels []float64
}

// readExamples reads a CSV file of features with the label, of two values, in the last
// column. Columns of numbers are centered and divided by their largest magnitude, a missing
// one, "?" or empty, counts as the mean; others, and those named as categories, become a
// column for every value but the first; columns that are the same in every row are left out.
func readExamples(s *shell.Streams, file, exclude, categories string) (*examples, error) {
	header, columns, err := readColumns(s, file)
	if err != nil {
		return nil, err
	}
	last := len(columns) - 1
	values := distinct(columns[last])
	rows := len(columns[last])
	if len(values) != 2 || rows < 10 {
		return nil, shell.BadFile(file, fmt.Errorf("%d rows with %d values in the last column, want at least 10 and two labels", rows, len(values)))
	}
	e := &examples{rows: make([][]float64, rows), labels: make([]float64, rows)}
	for i, v := range columns[last] {
		e.rows[i] = []float64{1}
		e.labels[i] = float64(2*slices.Index(values, v) - 1)
	}
	for c, column := range columns[:last] {
		if csvfile.Matches(strings.Split(exclude, ","), header[c]) {
			continue
		}
		numbers, ok := parsed(column)
		if ok && !csvfile.Matches(strings.Split(categories, ","), header[c]) {
			e.add(numbers)
			continue
		}
		for _, v := range distinct(column)[1:] {
			indicator := make([]float64, len(column))
			for i, text := range column {
				if text == v {
					indicator[i] = 1
				}
			}
			e.add(indicator)
		}
	}
	return e, nil
}

// distinct returns the values in ascending order.
func distinct(column []string) []string {
	values := slices.Clone(column)
	slices.Sort(values)
	return slices.Compact(values)
}

// parsed returns numbers, missing ones as the mean, or ok = false if there are others.
func parsed(column []string) (numbers []float64, ok bool) {
	sum, count := 0.0, 0.0
	for _, text := range column {
		v, err := strconv.ParseFloat(text, 64)
		switch {
		case text == "" || text == "?":
			v = math.NaN()
		case err != nil || !(math.Abs(v) <= 1e100):
			return nil, false
		default:
			sum, count = sum+v, count+1
		}
		numbers = append(numbers, v)
	}
	for i, v := range numbers {
		if math.IsNaN(v) {
			numbers[i] = sum / count
		}
	}
	return numbers, count > 0
}

// add appends a column, centered and scaled, if it is not constant.
func (e *examples) add(column []float64) {
	mean := 0.0
	for _, v := range column {
		mean += v / float64(len(column))
	}
	most := 0.0
	for _, v := range column {
		most = max(most, math.Abs(v-mean))
	}
	if slices.Max(column) == slices.Min(column) {
		return
	}
	for i, v := range column {
		e.rows[i] = append(e.rows[i], (v-mean)/most)
	}
}

// training returns four fifths of the examples, at random.
func (e *examples) training(r *rand.Rand) *examples {
	var t examples
	for _, i := range r.Perm(len(e.rows))[len(e.rows)/5:] {
		t.rows, t.labels = append(t.rows, e.rows[i]), append(t.labels, e.labels[i])
	}
	return &t
}

// descend runs proximal coordinate descent for logistic regression, without noise, and
// passes every component of the sum of gradients that it asks for to each. All of them
// are within the number of examples, and one example less changes them by 1 at most: 2 if
// it is replaced.
//
// Source: Selvi, Liu & Wiesemann (2025), Section 5.3, with the parameters of the
// authors' program.
func (e *examples) descend(r *rand.Rand, each func(gradient float64)) {
	const rounds, penalty = 100, 1e-8
	d, n := len(e.rows[0]), float64(len(e.rows))
	steps := (d + 3) / 4
	mean := make([]float64, d)
	for j := range mean {
		mean[j] = 2*r.Float64() - 1
	}
	products := make([]float64, len(e.rows))
	for range rounds {
		weights, sum := slices.Clone(mean), make([]float64, d)
		for i, row := range e.rows {
			products[i] = 0
			for j, w := range weights {
				products[i] += w * row[j]
			}
		}
		for _, j := range r.Perm(d)[:steps] {
			gradient := 0.0
			for i, row := range e.rows {
				gradient -= e.labels[i] * row[j] / (1 + math.Exp(e.labels[i]*products[i]))
			}
			each(gradient)
			moved := weights[j] - gradient/n
			moved = math.Copysign(max(0, math.Abs(moved)-penalty), moved)
			for i, row := range e.rows {
				products[i] += (moved - weights[j]) * row[j]
			}
			weights[j] = moved
			for k, w := range weights {
				sum[k] += w
			}
		}
		for k := range mean {
			mean[k] = sum[k] / float64(steps)
		}
	}
}
