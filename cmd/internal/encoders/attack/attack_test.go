// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/noisewright/noisewright/cmd/internal/encoders/attack"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
)

func matrix(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
}

// people draws encodings that are uniform on [-1, 1]³, moved and scaled, and the class of
// each by the first two numbers.
func people(seed uint64, n int, class func(a, b float64) int) attack.People {
	r := rand.New(rand.NewPCG(seed, 3))
	d := attack.People{X: matrix(n, 3), Target: dense.Target{Labels: make([]int, n)}}
	for i := range n {
		a, b, c := 2*r.Float64()-1, 2*r.Float64()-1, 2*r.Float64()-1
		copy(d.X.Data[3*i:], []float64{10 * a, 3 + b, c / 100})
		d.Labels[i] = class(a, b)
	}
	return d
}

func numbers(x, y blas64.General) attack.People {
	return attack.People{X: x, Target: dense.Target{Values: y}}
}

func accuracy(t *testing.T, a attack.Attacker, train, test attack.People, classes int) attack.Score {
	t.Helper()
	train.Classes = classes
	s, err := attack.Guess(t.Context(), a, train, test, 1)
	if err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	return s
}

// Classes that no line separates are found by those attackers that are not linear. This
// is why one attacker at chance says little.
func TestHiddenClasses(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	sign := func(a, b float64) int {
		if a*b > 0 {
			return 1
		}
		return 0
	}
	train, test := people(1, 600, sign), people(2, 400, sign)
	// The standard error at chance is 0.025.
	for _, a := range []attack.Attacker{attack.Plain, attack.Linear} {
		if s := accuracy(t, a, train, test, 2); s.Value > 0.62 {
			t.Errorf("%s finds %g, want about 0.5", a, s.Value)
		}
	}
	for _, a := range []attack.Attacker{attack.MLP, attack.RBF} {
		s := accuracy(t, a, train, test, 2)
		if s.Value < 0.9 {
			t.Errorf("%s finds %g, want at least 0.9", a, s.Value)
		}
		if want := math.Sqrt(s.Value * (1 - s.Value) / 400); math.Abs(s.StandardError-want) > 1e-15 {
			t.Errorf("%s: standard error %g, want %g", a, s.StandardError, want)
		}
	}
}

// Classes that a line separates are found by all, Plain only if the line goes through 0.
func TestSeparatedClasses(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	thirds := func(_, b float64) int {
		switch {
		case b < -0.5:
			return 0
		case b < 0.6:
			return 1
		}
		return 2
	}
	train, test := people(3, 600, thirds), people(4, 400, thirds)
	frequent := 0.0
	for _, l := range test.Labels {
		if l == 1 {
			frequent++
		}
	}
	for _, a := range attack.Attackers() {
		s := accuracy(t, a, train, test, 3)
		if s.Chance != frequent/400 {
			t.Errorf("%s: chance %g, want %g, the share of the most frequent class", a, s.Chance, frequent/400)
		}
		if least := 0.93; a != attack.Plain && s.Value < least {
			t.Errorf("%s finds %g, want at least %g", a, s.Value, least)
		}
	}
}

// What has nothing to do with the encoding is not found.
func TestChance(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	coin := func(_, _ float64) int { return r.IntN(2) }
	train, test := people(5, 300, coin), people(6, 1000, coin)
	for _, a := range attack.Attackers() {
		// Six standard errors.
		if s := accuracy(t, a, train, test, 2); math.Abs(s.Value-0.5) > 0.095 {
			t.Errorf("%s finds %g of coins, want about 0.5", a, s.Value)
		}
	}
}

func TestRelativeError(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	draw := func(seed uint64, n int, f func(x float64) float64) (x, y blas64.General) {
		r := rand.New(rand.NewPCG(seed, 4))
		x, y = matrix(n, 2), matrix(n, 2)
		for i := range n {
			v := 2*r.Float64() - 1
			x.Data[2*i], x.Data[2*i+1] = v, r.Float64()
			y.Data[2*i], y.Data[2*i+1] = 100+30*f(v), f(v)
		}
		return x, y
	}
	for name, c := range map[string]struct {
		f    func(float64) float64
		most map[attack.Attacker]float64
		hard []attack.Attacker
	}{
		"line":   {func(x float64) float64 { return x }, map[attack.Attacker]float64{attack.Plain: 1e-6, attack.Linear: 1e-6, attack.MLP: 0.02, attack.RBF: 0.01}, nil},
		"square": {func(x float64) float64 { return x * x }, map[attack.Attacker]float64{attack.MLP: 0.05, attack.RBF: 0.01}, []attack.Attacker{attack.Plain, attack.Linear}},
	} {
		x, y := draw(1, 400, c.f)
		testX, testY := draw(2, 300, c.f)
		score := func(a attack.Attacker) attack.Score {
			s, err := attack.Guess(t.Context(), a, numbers(x, y), numbers(testX, testY), 1)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, a, err)
			}
			if s.Chance != 1 || !(s.StandardError >= 0 && s.StandardError < 0.1) {
				t.Errorf("%s, %s: chance %g and standard error %g, want 1 and a small one", name, a, s.Chance, s.StandardError)
			}
			return s
		}
		for a, most := range c.most {
			if s := score(a); s.Value > most {
				t.Errorf("%s: relative error of %s = %g, want at most %g", name, a, s.Value, most)
			}
		}
		for _, a := range c.hard {
			if s := score(a); math.Abs(s.Value-1) > 0.1 {
				t.Errorf("%s: relative error of %s = %g, want about 1", name, a, s.Value)
			}
		}
	}
}

func TestSeed(t *testing.T) {
	coin := func(a, b float64) int { return int(math.Float64bits(a+b) & 1) }
	train, test := people(7, 200, coin), people(8, 500, coin)
	differs := false
	for _, a := range attack.Attackers() {
		first, again := accuracy(t, a, train, test, 2), accuracy(t, a, train, test, 2)
		if first != again {
			t.Errorf("%s: %v and %v with one seed", a, first, again)
		}
		train.Classes = 2
		other, err := attack.Guess(t.Context(), a, train, test, 2)
		if err != nil {
			t.Fatal(err)
		}
		differs = differs || other != first
	}
	if !differs {
		t.Error("the seed changes nothing")
	}
}

func TestBadInput(t *testing.T) {
	good := people(1, 30, func(_, b float64) int { return int(b + 1) })
	with := func(change func(d *attack.People)) attack.People {
		d := people(1, 30, func(_, b float64) int { return int(b + 1) })
		change(&d)
		return d
	}
	y := matrix(30, 1)
	for i := range y.Data {
		y.Data[i] = float64(i)
	}
	ctx := t.Context()
	classify := func(a attack.Attacker, train, test attack.People, classes int) func() error {
		train.Classes = classes
		return func() error { _, err := attack.Guess(ctx, a, train, test, 1); return err }
	}
	for want, f := range map[string]func() error{
		"attacker":             classify("oracle", good, good, 2),
		"classes":              classify(attack.RBF, good, good, 1),
		"labels to learn[3]":   classify(attack.MLP, with(func(d *attack.People) { d.Labels[3] = 2 }), good, 2),
		"labels to guess[4]":   classify(attack.MLP, good, with(func(d *attack.People) { d.Labels[4] = -1 }), 2),
		"labels to guess = 29": classify(attack.Linear, good, with(func(d *attack.People) { d.Labels = d.Labels[1:] }), 2),
		"encodings = NaN":      classify(attack.Plain, with(func(d *attack.People) { d.X.Data[5] = math.Inf(1) }), good, 2),
		"encodings = 3 and 2":  classify(attack.Plain, good, with(func(d *attack.People) { d.X = matrix(30, 2) }), 2),
		"people to learn from": classify(attack.Plain, with(func(d *attack.People) { d.X, d.Labels = matrix(9, 3), d.Labels[:9] }), good, 2),
		"people to guess":      classify(attack.Plain, good, attack.People{X: matrix(0, 3)}, 2),
		"numbers to learn": func() error {
			_, err := attack.Guess(ctx, attack.Linear, numbers(good.X, matrix(29, 1)), numbers(good.X, y), 1)
			return err
		},
		"numbers to guess = all the mean": func() error {
			_, err := attack.Guess(ctx, attack.Linear, numbers(good.X, matrix(30, 1)), numbers(good.X, matrix(30, 1)), 1)
			return err
		},
	} {
		if err := f(); !errors.Is(err, check.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want ErrInvalid about %s", err, want)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for _, a := range attack.Attackers() {
		good.Classes = 2
		if _, err := attack.Guess(ended, a, good, good, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want the context's", a, err)
		}
	}
}
