package main

import (
	"math"
	"math/rand/v2"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/vlm"
	"github.com/noisewright/noisewright/encoder"
)

// column is what is known in public of a feature.
type column struct {
	name         string
	lower, upper float64 // the range of a number
	categories   int     // how many values 0, 1, … a feature has that is none; 0 for a number
}

// columns are features: numbers, and categories as their indices.
type columns []column

// noisyRanges is direct noise on numbers, of which the least and the largest value of each
// column are the range, as the paper takes them from the people who trained the network.
func noisyRanges(x encoder.Matrix, epsilon float64, seed uint64) encoder.Matrix {
	c := make(columns, x.Cols)
	for j := range c {
		c[j] = column{lower: math.Inf(1), upper: math.Inf(-1)}
		for i := range x.Rows {
			v := x.Data[i*x.Stride+j]
			c[j].lower, c[j].upper = min(c[j].lower, v), max(c[j].upper, v)
		}
	}
	return c.noisy(x, epsilon, encoders.Rand(seed, "direct noise", 0))
}

// noisy is what the paper calls direct noising: the n columns get ε/n each, numbers as Laplace
// noise of scale n·(upper-lower)/ε after clipping to their range, and are clipped again,
// categories as randomized response.
func (c columns) noisy(x encoder.Matrix, epsilon float64, r *rand.Rand) encoder.Matrix {
	out := matrix(x.Rows, x.Cols)
	share := epsilon / float64(len(c))
	for i := range x.Rows {
		for j, f := range c {
			v, to := x.Data[i*x.Stride+j], &out.Data[i*x.Cols+j]
			if f.categories > 0 {
				*to = float64(vlm.Flip([]int{int(v)}, f.categories, vlm.FlipProbability(f.categories, share), r)[0])
				continue
			}
			v = min(max(v, f.lower), f.upper) + vlm.Laplace(r)*(f.upper-f.lower)/share
			*to = min(max(v, f.lower), f.upper)
		}
	}
	return out
}

// oneHot returns the numbers mapped from their range to -1 … 1 and each category as a column
// of 0 and 1.
func (c columns) oneHot(x encoder.Matrix) encoder.Matrix {
	width := 0
	for _, f := range c {
		width += max(1, f.categories)
	}
	out := matrix(x.Rows, width)
	for i := range x.Rows {
		at := i * width
		for j, f := range c {
			v := x.Data[i*x.Stride+j]
			switch {
			case f.categories > 0:
				out.Data[at+int(v)] = 1
			case f.upper > f.lower:
				out.Data[at] = 2*(v-f.lower)/(f.upper-f.lower) - 1
			}
			at += max(1, f.categories)
		}
	}
	return out
}

// privateAccuracy estimates the share of people that a classifier is right about from
// answers that each of them randomizes: yes or no, turned round with probability p =
// 1/(e^ε + 1) (equation 9, after Warner 1965). With the share A~ of those who answer yes it
// is (A~ - p)/(1 - 2p), which is unbiased and may lie outside of 0 to 1.
//
// Each person spends epsilon for each classifier asked about.
func privateAccuracy(right []bool, epsilon float64, r *rand.Rand) float64 {
	p := vlm.FlipProbability(2, epsilon)
	answers := make([]bool, len(right))
	for i, a := range right {
		answers[i] = (r.Float64() < p) != a
	}
	return (share(answers) - p) / (1 - 2*p)
}

// share is that of true.
func share(all []bool) float64 {
	n := 0.0
	for _, yes := range all {
		if yes {
			n++
		}
	}
	return n / float64(len(all))
}

// accuracyBound returns the largest accuracy with which anybody can tell apart classes that
// are equally frequent from encodings in an l1 ball with Laplace noise of scale 2l/ε on each
// coordinate, as a number between 1/classes and 1. The classes are even in number, at most 64,
// so that the alternating sum has rounding errors below 1e-6, and the coordinates at least half
// as many.
//
// The best that an encoder can do is to send the classes to ±l·e_j, the corners of the ball.
// Which corner is nearest is then told by the coordinate of the largest size, and is right if
// that of the true class ends up positive and above the sizes of the K/2 - 1 others, which are
// exponential of scale b = 2l/ε; beyond the K/2 corners, coordinates add nothing. With
// s = ε/2 = l/b the coordinate is s + X, X Laplace of scale 1, and
//
//	A = E[(1 - e^-(s+X))^(K/2-1); s + X > 0].
//
// The binomial expansion and three integrals of exponentials give the closed form here, the
// paper's equation (10) without its misprints.
func accuracyBound(epsilon float64, classes int) float64 {
	n := classes/2 - 1
	s := epsilon / 2
	// E[e^{-j(s+X)}; s+X > 0] has e^{-js}/(1-j²) - e^{-s}/(2(1-j)) but for j = 1, where the
	// integral up to 0 and that above are s·e^{-s}/2 + e^{-s}/4.
	sum, binomial := 0.0, 1.0
	for j := range n + 1 {
		term := math.Exp(-s) * (s/2 + 0.25)
		if j != 1 {
			k := float64(j)
			term = math.Exp(-k*s)/(1-k*k) - math.Exp(-s)/(2*(1-k))
		}
		if j%2 != 0 {
			term = -term
		}
		sum += binomial * term
		binomial *= float64(n-j) / float64(j+1)
	}
	return sum
}
