// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/subset"
)

// Local is what the flags of a local randomizer alone say.
type Local struct {
	On         bool // --local
	Objective  local.Objective
	Demands    local.Demands
	MaxAnswers int // 0: any number
	// Shares says that the command takes --categories, for shares of these; the Objective is then
	// one of package subset.
	Shares bool
}

const maxAnswers = 1 << 16

// What --query and --unbiased are to a local randomizer.
const (
	QueryOfLocal    = "values; integers are answered as they are, real ones between nodes after rounding at random"
	UnbiasedOfLocal = "answers whose mean is the value, exactly"
)

// Local adds the flags of local randomizers, what is made small and which answers are allowed,
// and more of the command's own. A command for nothing else has o.On set. In others they go with
// --local, and the help shows none of them: it is an alias of a command of noisewright local.
func (f *Flags) Local(o *Local, more func()) {
	o.Objective = local.Mean
	rest := func() {
		d := &o.Demands
		f.Func("answers", "A,B", "", "keep the answers from A to B, in units of the values (default anywhere)", func(text string) (err error) {
			d.Lower, d.Upper, err = parseRange(text)
			return err
		})
		f.OptionalNumber(&d.Step, "answer-step", Rule{"a number above 0, in units of the values", Positive}, "answers that are multiples of this number, in units of the values, from the lower end of --answers on if that is given")
		f.OptionalInteger(&o.MaxAnswers, "max-answers", 2, maxAnswers, "largest number of different answers (default any)")
		more()
	}
	add := func() {
		const usage = "expected loss to make small: averaged over the values, or of the worst one"
		if !o.Shares {
			f.Word((*string)(&o.Objective), "objective", "mean|worst", usage, string(local.Mean), string(local.Worst))
			rest()
			return
		}
		f.Func("objective", "mean|worst|total|largest", "", usage+" (default mean); with --categories the variance of shares, total (default) or the largest", o.readObjective(f))
		f.Complete("objective", string(local.Mean), string(local.Worst), string(subset.Total), string(subset.Largest))
		f.UnlessShares(o, rest)
	}
	if f.local = o.On; f.local {
		add()
		return
	}
	f.Bool(&o.On, "local", "")
	_ = f.cmd.Flags().MarkHidden("local")
	for _, name := range f.added(func() { f.With("local", add) }) {
		_ = f.cmd.Flags().MarkHidden(name)
	}
}

// readObjective reads one of the words of what is designed.
func (o *Local) readObjective(f *Flags) func(text string) error {
	return func(text string) error {
		one, other, with := string(local.Mean), string(local.Worst), ""
		if f.cmd.Flags().Changed("categories") {
			one, other, with = string(subset.Total), string(subset.Largest), " with --categories"
		}
		if text != one && text != other {
			return Want(fmt.Sprintf("%s or %s%s", one, other, with))
		}
		o.Objective = local.Objective(text)
		return nil
	}
}

// ObjectiveOfShares is the objective with --categories.
func (o *Local) ObjectiveOfShares() subset.Objective {
	if o.Objective == local.Mean { // as it is if none is given
		return subset.Total
	}
	return subset.Objective(o.Objective)
}

// UnlessShares adds flags that go with no --categories, if the command takes these.
func (f *Flags) UnlessShares(o *Local, add func()) {
	if o.Shares {
		f.when("categories", false, "%s and %s are given, want only one of them: shares of categories take epsilon alone, and keep a delta of 0", add)
	} else {
		add()
	}
}

// Values are those of a local randomizer, integers or real, with the law that --weight
// gives: integers share the weight of the piece that they are in.
func (o *Local) Values(integer bool, q kernels.Queries) local.Values {
	v := local.Values{Kind: local.Real, Lower: q.Lower, Upper: q.Upper}
	v.Weight = append(v.Weight, q.Weight...)
	if !integer {
		return v
	}
	v.Kind = local.Integer
	pieces := v.Weight
	if v.Weight = nil; pieces == nil || v.Validate() != nil {
		return v // which says what is wrong
	}
	v.Shares = make([]float64, v.Count())
	piece := 0
	for i := range v.Shares {
		for x := v.Lower + float64(i); piece+1 < len(pieces) && pieces[piece+1].From <= x; {
			piece++
		}
		v.Shares[i] = pieces[piece].Weight
	}
	return v
}

// Range adds the least and the largest value, which are NaN where they are bad.
func (f *Flags) Range(lower, upper *float64, usage string) {
	f.RequiredFunc("range", "A,B", usage, func(text string) (err error) {
		*lower, *upper, err = parseRange(text)
		return err
	})
}

// parseRange reads two finite numbers in ascending order, or returns NaNs and a Want.
func parseRange(text string) (lower, upper float64, err error) {
	lower, upper, err = ParsePair(text)
	if err != nil || (kernels.Queries{Lower: lower, Upper: upper}).Validate() != nil {
		return math.NaN(), math.NaN(), Want("two finite numbers, the lower one first, separated by a comma, such as 0,100")
	}
	return lower, upper, nil
}

// Weight adds the law of the values. Their range is read before.
func (f *Flags) Weight(q *kernels.Queries) {
	f.Func("weight", "uniform|FILE", "uniform", "law of the values over which losses are averaged: uniform, or a CSV file of a piecewise constant density with the columns from,weight", func(text string) error {
		return ReadWeight(q, text)
	})
	f.CompleteOrFile("weight", "uniform")
}

// ReadWeight reads "uniform" or a CSV file with the columns from and weight.
func ReadWeight(q *kernels.Queries, text string) error {
	const want = Want("uniform, or a CSV file with the header from,weight")
	switch text {
	case "uniform":
		return nil
	case "":
		return want
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("weight = %s: %s", check.Quoted(text), fmt.Sprintf(format, args...))
	}
	file, err := os.Open(text)
	if err != nil {
		return bad("%v, %v", FileCause(err), want)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil || len(records) < 2 || !slices.Equal(records[0], []string{"from", "weight"}) {
		return bad("not such a file, want the header from,weight and a row per piece")
	}
	q.Weight = nil
	for i, r := range records[1:] {
		from, w, err := ParsePair(strings.Join(r, ","))
		if err != nil {
			return bad("row %d = %s,%s, want two numbers", i+1, check.Quoted(r[0]), check.Quoted(r[1]))
		}
		q.Weight = append(q.Weight, proof.Piece{From: from, Weight: w})
	}
	if !math.IsNaN(q.Lower) { // else the range is to blame
		if err := q.Validate(); err != nil {
			return bad("%s", Sentence(err))
		}
	}
	return nil
}
