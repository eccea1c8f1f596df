package cli

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/local"
)

// sharesReport is what interval --column --json prints of categories.
type sharesReport struct {
	Schema  int             `json:"schema"`
	Answers int             `json:"answers"`
	Level   float64         `json:"level"`
	Shares  []categoryShare `json:"shares"`
}

// categoryShare is about one category: how often it was answered, if it is an answer, and
// an unbiased estimate of its share of the values with an interval.
type categoryShare struct {
	Category string  `json:"category"`
	Answers  int     `json:"answers"`
	Share    float64 `json:"share"`
	Lower    float64 `json:"lower"`
	Upper    float64 `json:"upper"`
}

// shareInterval prints, for a column of answers of a local randomizer of categories, the
// shares of the categories among the values that they answer.
func (o *intervalOptions) shareInterval(s *local.Spec) error {
	counts, n := make([]int, len(s.AnswerLabels)), 0
	at := make(map[string]int, len(s.AnswerLabels))
	for i, label := range s.AnswerLabels {
		at[label] = i
	}
	err := o.eachAnswer(func(answer string) error {
		i, ok := at[answer]
		if !ok {
			return fmt.Errorf("is none of the randomizer's %d answers, want a column as privatize writes it", len(s.AnswerLabels))
		}
		counts[i]++
		n++
		return nil
	})
	if err != nil {
		return err
	}
	inverse, ok := newShareInverse(s)
	if !ok {
		return shell.BadInput("", fmt.Errorf("the answers of the randomizer do not tell all %d categories apart, want one whose rows are far from linearly dependent", len(s.Values.Labels)))
	}
	report := sharesReport{Schema: shell.Schema, Answers: n, Level: o.level}
	rows := []shell.Row{
		{"answers", fmt.Sprintf("%d, of %d categories", n, len(s.Values.Labels))},
		{"shares", fmt.Sprintf("of the values, all in their intervals with a probability of at least %v", o.level)},
	}
	for i, label := range s.Values.Labels {
		share := inverse.share(i, counts, n, o.level)
		share.Category = label
		if j, ok := at[label]; ok {
			share.Answers = counts[j]
		}
		report.Shares = append(report.Shares, share)
		rows = append(rows, shell.Row{check.Quoted(label), fmt.Sprintf("%.6g, from %s to %s", share.Share, shell.DigitsDown(share.Lower), shell.DigitsUp(share.Upper))})
	}
	return o.Print(report, rows)
}

// shareInverse estimates shares from answers: a person who answers y counts weight[i][y] for
// category i. It is unbiased but for what bias bounds.
type shareInverse struct {
	weight [][]float64
	bias   []float64
	// square[i][k] and most[i] bound the variance of what a person of category k counts for
	// i, and how far it is from its mean.
	square [][]float64
	most   []float64
}

// newShareInverse inverts the law of the answers: of all weights B with B·Mᵀ = 1, M_ky the
// probability of y for category k, those of weighted least squares, whose variance is the
// least for values of equal shares. ok is false if there are none.
//
// Nothing rests on how well it is inverted. What B·Mᵀ is off by is computed, with a bound on
// the rounding of that, (m+4)·2^-53·Σ|M·B| for m answers.
func newShareInverse(s *local.Spec) (v shareInverse, ok bool) {
	k, m := len(s.Rows), len(s.AnswerLabels)
	law, scaled := mat.NewDense(k, m, nil), mat.NewDense(k, m, nil)
	for y := range m {
		mean := 0.0
		for i, row := range s.Rows {
			law.Set(i, y, float64(row[y])*0x1p-64)
			mean += law.At(i, y) / float64(k)
		}
		for i := range k {
			if mean > 0 {
				scaled.Set(i, y, law.At(i, y)/mean)
			}
		}
	}
	var gram, weights mat.Dense
	gram.Mul(scaled, law.T())
	if err := weights.Solve(&gram, scaled); err != nil { // singular, or nearly so
		return v, false
	}
	for i := range k {
		b := weights.RawRowView(i)
		bias, squares := 0.0, make([]float64, k)
		for c := range k {
			sum, size, square := 0.0, 0.0, 0.0
			for y, p := range law.RawRowView(c) {
				sum += p * b[y]
				size += p * math.Abs(b[y])
				square += p * b[y] * b[y]
			}
			rounding := float64(m+4) * 0x1p-53 * size
			want := 0.0
			if c == i {
				want = 1
			}
			bias = math.Max(bias, math.Abs(sum-want)+rounding)
			squares[c] = math.Max(0, square-sum*sum) + float64(m+4)*0x1p-50*square
		}
		v.weight, v.bias, v.square = append(v.weight, b), append(v.bias, bias), append(v.square, squares)
		v.most = append(v.most, slices.Max(b)-slices.Min(b))
		if !(bias < 1e-6) {
			return v, false
		}
	}
	return v, true
}

// share estimates the share of category i, with an interval that holds it, together with
// those of all others, but for a probability of 1 − level.
//
// The answers are independent given the values, so by Bernstein's inequality the estimate is
// off by at most √(2v·t/n) + 2·most·t/(3n), v the mean variance of a person and t =
// log(2k/(1−level)). v is at most the largest; and as it depends on the share, the interval
// found with that bounds it better, in the same event.
func (v shareInverse) share(i int, counts []int, n int, level float64) categoryShare {
	sum, size := 0.0, 0.0
	for y, c := range counts {
		sum += float64(c) * v.weight[i][y]
		size += float64(c) * math.Abs(v.weight[i][y])
	}
	people := float64(n)
	out := categoryShare{Share: sum / people, Upper: 1}
	t := math.Log(2*float64(len(v.weight))/(1-level)) * (1 + 1e-9)
	others := 0.0
	for c, square := range v.square[i] {
		if c != i {
			others = math.Max(others, square)
		}
	}
	for range 8 {
		own := out.Upper
		if v.square[i][i] < others {
			own = out.Lower
		}
		variance := own*v.square[i][i] + (1-own)*others
		half := (math.Sqrt(2*variance*t/people)+2*v.most[i]*t/(3*people))*(1+1e-9) + v.bias[i] + float64(len(counts)+8)*0x1p-52*size/people
		out.Lower, out.Upper = math.Max(out.Lower, out.Share-half), math.Min(out.Upper, out.Share+half)
		if out.Lower > out.Upper { // an event of a probability of at most 1 − level
			out.Lower, out.Upper = 0, 1
			break
		}
	}
	return out
}
