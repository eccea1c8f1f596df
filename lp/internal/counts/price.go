// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"math/bits"
	"slices"

	"github.com/noisewright/noisewright/internal/limits"
)

// candidate is an answer that is worth more than its price by so much.
type candidate struct {
	set    set
	excess float64
}

// dearest returns answers that are worth more than their price, and the most that one found is: of all answers
// with two probabilities, or, if these are too many, of those that no flip of a category improves.
func (d *designer) dearest(s *state) (found []set, excess float64) {
	var list []candidate
	if d.k <= limits.CountProved {
		list = d.all(s)
	} else {
		list = d.climbed(s)
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		switch {
		case a.excess > b.excess:
			return -1
		case a.excess < b.excess:
			return 1
		}
		return 0
	})
	if len(list) == 0 {
		return nil, 0
	}
	for _, c := range list[:min(len(list), priced)] {
		found = append(found, c.set)
	}
	return found, list[0].excess
}

// all looks at every set, each of which differs from the one before by one category.
func (d *designer) all(s *state) (list []candidate) {
	inner := make([]float64, d.k) // m·1_S
	line, quad, paid, total := 0.0, 0.0, 0.0, 0.0
	for _, x := range d.prices {
		total += x
	}
	for code := uint64(1); code < 1<<d.k; code++ {
		j := bits.TrailingZeros64(code)
		gray := code ^ code>>1
		sign := 1.0
		if gray>>j&1 == 0 {
			sign = -1
		}
		row := s.gain.m.RawRowView(j)
		quad += sign*2*inner[j] + row[j]
		line += sign * s.gain.line[j]
		paid += sign * d.prices[j]
		for i, x := range row {
			inner[i] += sign * x
		}
		mean := 1 + d.c*float64(bits.OnesCount64(gray))/float64(d.k)
		worth := (s.gain.all + 2*d.c*line + d.c*d.c*quad) / (mean * mean)
		if e := worth - (total+d.c*paid)/mean; e > 0 {
			list = append(list, candidate{set{gray}, e})
		}
	}
	return list
}

// climbed starts at random sets and at the answers that are mixed, and flips the category that is the best as long
// as one is.
func (d *designer) climbed(s *state) (list []candidate) {
	seen := map[set]bool{}
	climb := func(from set) {
		now, inner := from, make([]float64, d.k)
		line, quad, paid, size := 0.0, 0.0, 0.0, float64(from.size())
		members := from.members(d.k)
		for _, i := range members {
			line += s.gain.line[i]
			paid += d.prices[i]
			row := s.gain.m.RawRowView(i)
			for j, x := range row {
				inner[j] += x
			}
		}
		for _, i := range members {
			quad += inner[i]
		}
		total := 0.0
		for _, x := range d.prices {
			total += x
		}
		worth := func(line, quad, paid, size float64) float64 {
			mean := 1 + d.c*size/float64(d.k)
			return (s.gain.all+2*d.c*line+d.c*d.c*quad)/(mean*mean) - (total+d.c*paid)/mean
		}
		value := worth(line, quad, paid, size)
		for {
			at, best := -1, value+1e-9*s.value
			for j := range d.k {
				sign := 1.0
				if now.has(j) {
					sign = -1
				}
				v := worth(line+sign*s.gain.line[j], quad+sign*2*inner[j]+s.gain.m.At(j, j), paid+sign*d.prices[j], size+sign)
				if v > best {
					at, best = j, v
				}
			}
			if at < 0 {
				break
			}
			sign := 1.0
			if now.has(at) {
				sign = -1
			}
			row := s.gain.m.RawRowView(at)
			line, quad, paid, size = line+sign*s.gain.line[at], quad+sign*2*inner[at]+row[at], paid+sign*d.prices[at], size+sign
			for j, x := range row {
				inner[j] += sign * x
			}
			now, value = now.flipped(at), best
		}
		if n := now.size(); value > 0 && n > 0 && n < d.k && !seen[now] {
			seen[now] = true
			list = append(list, candidate{now, value})
		}
	}
	for _, from := range d.sets[:min(len(d.sets), priced)] {
		climb(from)
	}
	for range priced {
		share, from := d.random.Float64(), set{}
		for j := range d.k {
			if d.random.Float64() < share {
				from = from.flipped(j)
			}
		}
		climb(from)
	}
	return list
}
