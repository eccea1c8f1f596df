// SPDX-License-Identifier: Apache-2.0

package frequency

import (
	"math"
	"slices"
)

// Share is a published mechanism for the shares of k categories, by the probabilities P
// and Q that an answer counts for the own category, and for another one. The unbiased estimate of a share
// from n answers, of which c count for it, is (c/n − Q)/(P − Q).
type Share struct {
	Name, Source string
	P, Q         float64
	// Range is how many values hashes have, or elements the field of a geometry; 0 for others.
	Range int
}

// Variances are the sum of those of all shares and the largest of one, times the number of people, for
// any data. If counts of two categories depend on each other, that does not change the sum.
func (b Share) Variances(k int64) (total, largest float64) {
	apart := (b.P - b.Q) * (b.P - b.Q)
	in, out := b.P*(1-b.P)/apart, b.Q*(1-b.Q)/apart
	return in + float64(k-1)*out, max(in, out)
}

// Shares are the published mechanisms, with the parameters of least total variance.
func Shares(k int64, epsilon float64) []Share {
	e, n := math.Exp(epsilon), float64(k)
	half := math.Exp(epsilon / 2)
	list := []Share{
		{"randomized-response", "Warner 1965; Kairouz, Bonawitz & Ramage 2016", e / (e + n - 1), 1 / (e + n - 1), 0},
		{"optimized-unary", "Wang et al. 2017", 0.5, 1 / (e + 1), 0},
		{"rappor", "Erlingsson, Pihur & Korolova 2014, of one answer", half / (half + 1), 1 / (half + 1), 0},
		{"hadamard-response", "Acharya, Sun & Zhang 2019, of one bit", e / (e + 1), 0.5, 0},
	}
	best := func(name, source string, options []Share) Share {
		total := func(b Share) float64 { v, _ := b.Variances(k); return v }
		b := slices.MinFunc(options, func(a, b Share) int {
			if total(a) < total(b) {
				return -1
			}
			return 1
		})
		b.Name, b.Source = name, source
		return b
	}
	var hashes, spaces []Share
	for g := 2.0; g <= math.Min(math.Ceil(e)+4, 1<<12); g++ { // to g values
		hashes = append(hashes, Share{P: e / (e + g - 1), Q: 1 / g, Range: int(g)})
	}
	for q := 2.0; q <= math.Min(2*e+8, 1<<12); q++ { // subspaces of the least space over q elements with k points
		if !primePower(int(q)) {
			continue
		}
		size := 2.0
		for (math.Pow(q, size)-1)/(q-1) < n {
			size++
		}
		points, set, both := (math.Pow(q, size)-1)/(q-1), (math.Pow(q, size-1)-1)/(q-1), (math.Pow(q, size-2)-1)/(q-1)
		whole := set*e + points - set
		spaces = append(spaces, Share{P: set * e / whole, Q: (both*e + set - both) / whole, Range: int(q)})
	}
	return append(list, best("local-hashing", "Wang et al. 2017, with the best range", hashes), best("projective-geometry", "Feldman, Nelson, Nguyen & Talwar 2022, over the best field", spaces))
}

func primePower(q int) bool {
	p := 2
	for p*p <= q && q%p != 0 {
		p++
	}
	if q%p != 0 {
		p = q
	}
	for q%p == 0 {
		q /= p
	}
	return q == 1
}
