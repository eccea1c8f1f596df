// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
)

// Attacker is a way to learn an attribute from encodings.
type Attacker string

// The attackers. For classes they are softmax regressions of what is said here, with
// predictions by the likeliest class; for numbers, least squares of it.
const (
	// Plain is linear in the encoding as it is, without a constant (J. Hamm, Minimax
	// filter, 2017). For numbers it is Linear.
	Plain Attacker = "plain"
	// Linear is linear in the standardized encoding, with a constant.
	Linear Attacker = "linear"
	// MLP has one hidden layer, and stops where its loss on a tenth of the people is least.
	MLP Attacker = "mlp"
	// RBF is linear in random Fourier features of Gaussian kernels (A. Rahimi and
	// B. Recht, 2007), of the width and the ridge that do best on people held out.
	RBF Attacker = "rbf"
)

// Attackers returns all attackers, the weaker ones first.
func Attackers() []Attacker { return []Attacker{Plain, Linear, MLP, RBF} }

// People are encodings, one person in each row, and what is to be guessed of each.
type People struct {
	X blas64.General // Stride == Cols
	dense.Target
}

// Score is how well an attacker guesses people whom it has not seen.
type Score struct {
	// Value is the share of people whose class was guessed, or, for numbers, the sum of
	// squared errors over that of guessing the mean.
	Value float64
	// StandardError is that of Value over the choice of the people it was measured with.
	StandardError float64
	// Chance is the Value of who guesses what is most frequent among the people
	// learned from, or their mean, and knows nothing of the encoding.
	Chance float64
}

// Guess learns from train, and returns how well the attacker guesses the classes or the numbers of
// test. The same seed gives the same score on processors of one architecture.
//
// Errors wrap check.ErrInvalid (shapes that do not fit, labels outside their range, numbers that
// are not finite, fewer than 10 people to learn from, an unknown attacker), or are the context's.
func Guess(ctx context.Context, a Attacker, train, test People, seed uint64) (Score, error) {
	list := check.In("attack")
	checkPeople(list, a, train.X, test.X)
	list.Want(train.Classes != 1, "classes", train.Classes, "at least 2")
	checkTarget(list, "to learn", train, &train.Target)
	checkTarget(list, "to guess", test, &train.Target)
	if err := list.Err(); err != nil {
		return Score{}, err
	}
	guess, err := learn(ctx, a, train, random(seed))
	if err != nil {
		return Score{}, err
	}
	if train.Classes > 0 {
		return accuracy(train, test, guess(test.X)), nil
	}
	return relativeError(train, test, guess(test.X))
}

func accuracy(train, test People, guesses dense.Matrix) Score {
	counts := make([]int, train.Classes)
	for _, l := range train.Labels {
		counts[l]++
	}
	likeliest := slices.Index(counts, slices.Max(counts))
	hits, chance := 0.0, 0.0
	for i, l := range dense.Likeliest(guesses) {
		if l == test.Labels[i] {
			hits++
		}
		if likeliest == test.Labels[i] {
			chance++
		}
	}
	n := float64(test.X.Rows)
	p := hits / n
	return Score{p, math.Sqrt(p * (1 - p) / n), chance / n}
}

func relativeError(train, test People, guesses dense.Matrix) (Score, error) {
	means, y := dense.Means(train.Values), test.Values
	sum, spread := 0.0, 0.0
	errs, spreads := make([]float64, y.Rows), make([]float64, y.Rows)
	for i := range y.Rows {
		for j, mean := range means {
			v := y.Data[i*y.Stride+j]
			e, s := guesses.Data[i*guesses.Stride+j]-v, mean-v
			errs[i] += e * e
			spreads[i] += s * s
		}
		sum += errs[i]
		spread += spreads[i]
	}
	if spread == 0 {
		return Score{}, check.Field("attack", "numbers to guess", "all the mean", "numbers that vary")
	}
	// The standard error of a ratio of means, to first order.
	ratio, squares := sum/spread, 0.0
	for i, e := range errs {
		r := e - ratio*spreads[i]
		squares += r * r
	}
	return Score{ratio, math.Sqrt(squares) / spread, 1}, nil
}

func random(seed uint64) *rand.Rand {
	const purpose = 0x61747461636b              // "attack"
	return rand.New(rand.NewPCG(seed, purpose)) //nolint:gosec // a study, no release
}

// minPeople is from how many people an attacker learns at least: a tenth is held out.
const minPeople = 10

func checkPeople(list *check.List, a Attacker, train, test blas64.General) {
	list.Want(slices.Contains(Attackers(), a), "attacker", fmt.Sprintf("%.40q", string(a)), "one of %v", Attackers())
	list.Want(train.Rows >= minPeople, "people to learn from", train.Rows, "at least %d", minPeople)
	list.Want(test.Rows >= 1, "people to guess", test.Rows, "at least 1")
	list.Want(train.Cols >= 1 && test.Cols == train.Cols && train.Stride == train.Cols && test.Stride == test.Cols, "encodings", fmt.Sprintf("%d and %d numbers", train.Cols, test.Cols), "as many, at least 1, without gaps between rows")
	list.Want(check.Finite(train.Data...) && check.Finite(test.Data...), "encodings", "NaN or infinite", "finite numbers")
}

// checkTarget reports what is no target of people, of the kind that is learned.
func checkTarget(list *check.List, what string, p People, learned *dense.Target) {
	if learned.Classes == 0 {
		y, cols := p.Values, learned.Values.Cols
		list.Want(y.Rows == p.X.Rows && y.Cols >= 1 && y.Cols == cols && y.Stride == y.Cols, "numbers "+what, fmt.Sprintf("%d×%d", y.Rows, y.Cols), "%d×%d, at least a column", p.X.Rows, cols)
		list.Want(check.Finite(y.Data...), "numbers "+what, "NaN or infinite", "finite numbers")
		return
	}
	list.Want(len(p.Labels) == p.X.Rows, "labels "+what, len(p.Labels), "%d, one for each person", p.X.Rows)
	dense.CheckLabels(list, "labels "+what, p.Labels, learned.Classes)
}
