// SPDX-License-Identifier: Apache-2.0

package interior

// run is terms in a row, of which both masses are in a row, in a vector that holds all
// masses twice, backwards and then forwards: term first+i gains at gain+i and loses at
// lose+i. Of a shift of noise on cells, folded or not, there are few runs and long ones, so
// that loops go over vectors without indices.
type run struct {
	first, count, gain, lose int

	ratio float64 // of every term
}

// variable returns the variable at a place of a vector of n masses that holds them twice.
func variable(place, n int) int {
	if place < n {
		return n - 1 - place
	}
	return place - n
}

// extend returns the runs with one more term.
func extend(runs []run, first int, t term, n int) []run {
	if len(runs) > 0 {
		last := &runs[len(runs)-1]
		g, gains := follows(last.gain, last.count, t.gain, n)
		l, loses := follows(last.lose, last.count, t.lose, n)
		if gains && loses && last.ratio == t.ratio {
			last.gain, last.lose = g, l
			last.count++
			return runs
		}
	}
	return append(runs, run{first, 1, n + t.gain, n + t.lose, t.ratio})
}

// follows returns the place from which a variable comes after so many: the only one of a run may as
// well be at its other place.
func follows(place, count, of, n int) (int, bool) {
	if place+count < 2*n && variable(place+count, n) == of {
		return place, true
	}
	if other := 2*n - 1 - place; count == 1 && other+1 < 2*n && variable(other+1, n) == of {
		return other, true
	}
	return place, false
}

func twice(to, x []float64) {
	n := len(x)
	copy(to[n:], x)
	for v, value := range x {
		to[n-1-v] = value
	}
}

// fold adds to x what both of its places hold.
func fold(x, from []float64) {
	n := len(x)
	backwards, forwards := from[:n], from[n:]
	for v := range x {
		x[v] += forwards[v] + backwards[n-1-v]
	}
}
