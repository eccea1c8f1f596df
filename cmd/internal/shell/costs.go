// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
)

// Costs are losses of answers that somebody gave, by category.
type Costs struct {
	Values, Answers []string
	Losses          [][]float64 // by value and answer
}

// Costs adds --costs.
func (f *Flags) Costs(c *Costs) {
	f.Func("costs", "FILE", "", "for categories in place of a range and a loss: a CSV file of the loss of every answer for every category, with a header of the answers, and a row for each category that begins with it", func(text string) error {
		return ReadCosts(c, text)
	})
	f.CompleteOrFile("costs")
}

// Problem is that of a local randomizer: of the costs if there are any, else of numbers.
func (c *Costs) Problem(privacy dp.Privacy, o Local, l loss.Loss, integer bool, q kernels.Queries) lp.LocalProblem {
	p := lp.LocalProblem{
		Epsilon: privacy.Epsilon, Delta: privacy.Delta, Objective: o.Objective, Demands: o.Demands, MaxAnswers: o.MaxAnswers,
	}
	if c.Values != nil {
		p.Values = local.Values{Kind: local.Category, Labels: c.Values}
		p.Costs, p.AnswerLabels = c.Losses, c.Answers
		return p
	}
	p.Loss, p.Values = l, o.Values(integer, q)
	return p
}

// ReadCosts reads a file of costs.
func ReadCosts(c *Costs, path string) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("costs = %s: %s", check.Quoted(path), fmt.Sprintf(format, args...))
	}
	file, err := os.Open(path) //nolint:gosec // the file that the user names
	if err != nil {
		return bad("%v", FileCause(err))
	}
	defer file.Close() //nolint:errcheck // only read
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return bad("not a CSV file whose rows have equally many fields: %v", err)
	}
	if len(rows) < 3 || len(rows[0]) < 3 {
		return bad("want a header and a row for each of two categories or more, each with a name and a number for every answer")
	}
	c.Answers = rows[0][1:]
	for j, answer := range c.Answers {
		if slices.Contains(c.Answers[:j], answer) {
			return bad("the answer %s is there twice", check.Quoted(answer))
		}
	}
	for _, row := range rows[1:] {
		if slices.Contains(c.Values, row[0]) {
			return bad("the category %s is there twice", check.Quoted(row[0]))
		}
		c.Values = append(c.Values, row[0])
		losses := make([]float64, len(row)-1)
		for j, text := range row[1:] {
			v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil || !(v >= 0) || !check.Finite(v) {
				return bad("the loss of the answer %s for %s is %s, want a finite number of at least 0", check.Quoted(c.Answers[j]), check.Quoted(row[0]), cmp.Or(check.Quoted(text), "missing"))
			}
			losses[j] = v
		}
		c.Losses = append(c.Losses, losses)
	}
	return nil
}
