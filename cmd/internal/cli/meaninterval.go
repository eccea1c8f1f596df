package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/local"
)

// meanReport is what interval --column --json prints.
type meanReport struct {
	Schema  int     `json:"schema"`
	Answers int     `json:"answers"`
	Mean    float64 `json:"mean"`
	Level   float64 `json:"level"`
	Lower   float64 `json:"lower"`
	Upper   float64 `json:"upper"`
}

// meanInterval prints the mean of a column of answers of a local randomizer, and an
// interval for the mean of the values that they answer.
func (o *intervalOptions) meanInterval(ctx context.Context) error {
	v, err := o.randomizer(ctx)
	if err != nil {
		return err
	}
	s := v.Mechanism().Spec()
	if s.Values.Kind == local.Category {
		return o.shareInterval(&s)
	}
	if v.Certificate().Bias.Sign() != 0 {
		return shell.BadInput("noisewright design-kernel --local --unbiased", fmt.Errorf("%s has biased answers, want unbiased ones for a mean", shell.InputName(o.table)))
	}
	n, mean, err := o.columnMean(&s)
	if err != nil {
		return err
	}
	half := meanError(&s, n, o.level) + 0x1p-50*math.Abs(mean) // which was rounded, as the ends are
	report := meanReport{Schema: shell.Schema, Answers: n, Mean: mean, Level: o.level, Lower: max(mean-half, s.Values.Lower), Upper: min(mean+half, s.Values.Upper)}
	if report.Lower > report.Upper { // an event of a probability of at most 1 - level
		report.Lower, report.Upper = s.Values.Lower, s.Values.Upper
	}
	return o.Print(report, []shell.Row{
		{"mean of answers", fmt.Sprintf("%v, of %d", mean, n)},
		{"mean of values", fmt.Sprintf("%v to %v, with a probability of at least %v", report.Lower, report.Upper, o.level)},
	})
}

// randomizer returns what the answers of the column were drawn from, verified.
func (o *intervalOptions) randomizer(ctx context.Context) (*local.Verified, error) {
	if o.response != nil {
		return o.response.verified()
	}
	return shell.ReadAs[local.Randomizer, local.Certificate, *local.Randomizer](ctx, o.Streams, o.table, "a local randomizer with --column")
}

// columnMean returns how many answers a column has, and their mean.
func (o *intervalOptions) columnMean(s *local.Spec) (n int, mean float64, err error) {
	var sum exact.Sum
	err = o.eachAnswer(func(answer string) error {
		y, err := parseCell(answer)
		// What is between answers was moved, as by --clamp, which makes a bias.
		if _, found := slices.BinarySearch(s.Answers, y); err != nil || !found {
			return fmt.Errorf("is none of the randomizer's %d answers, want a column as privatize writes it", len(s.Answers))
		}
		sum.Add(y)
		n++
		return nil
	})
	return n, sum.Value() / float64(max(n, 1)), err
}

// eachAnswer calls a function with every cell of the column. There is at least one.
func (o *intervalOptions) eachAnswer(do func(answer string) error) error {
	in, err := o.OpenCSV(o.value, o.csv)
	if err != nil {
		return err
	}
	defer in.Close()
	bad := func(err error) error { return shell.BadFile(o.value, shell.FileCause(err)) }
	header, err := in.Header()
	if err != nil {
		return bad(err)
	}
	at, err := in.Find(header, o.column)
	if err != nil {
		return bad(err)
	}
	for {
		if err := in.Row(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return bad(err)
		}
		if err := do(strings.TrimSpace(in.Content(at))); err != nil {
			return bad(fmt.Errorf("row %d (line %d): %s %w", in.Rows, in.Line, check.Quoted(o.column), err))
		}
	}
	if in.Rows == 0 {
		return bad(errors.New("no rows"))
	}
	return nil
}

// meanError bounds how far the mean of n answers is from the mean of their values, but for
// a probability of 1 − level: of independent errors of mean 0, variance at most v and
// magnitude at most m, by Bernstein's inequality, √(2v·t/n) + 2m·t/(3n) with t =
// log(2/(1 − level)), and a billionth for the rounding of the numbers.
func meanError(s *local.Spec, n int, level float64) float64 {
	v, m := spread(s)
	t := math.Log(2 / (1 - level))
	return (math.Sqrt(2*v*t/float64(n))+2*m*t/(3*float64(n)))*(1+1e-9) + 1e-12*m
}

// spread bounds the variance and the magnitude of the error of an unbiased answer. Between
// nodes, rounding adds at most a quarter of the squared distance to the variance of one of
// them.
func spread(s *local.Spec) (variance, most float64) {
	worst := new(big.Rat)
	for i, x := range s.Nodes {
		at, sum := exact.Rational(x), new(big.Rat)
		for j, w := range s.Rows[i] {
			d := exact.Rational(s.Answers[j])
			d.Sub(d, at)
			d.Mul(d, d)
			sum.Add(sum, d.Mul(d, new(big.Rat).SetInt(new(big.Int).SetUint64(w))))
		}
		if sum.Cmp(worst) > 0 {
			worst = sum
		}
	}
	var apart float64
	if s.Values.Kind == local.Real {
		for i := 1; i < len(s.Nodes); i++ {
			apart = max(apart, s.Nodes[i]-s.Nodes[i-1])
		}
	}
	variance = exact.FloatUp(worst.Mul(worst, exact.PowerOfTwo(-64))) + apart*apart/4
	return variance, max(s.Values.Upper-s.Answers[0], s.Answers[len(s.Answers)-1]-s.Values.Lower)
}
