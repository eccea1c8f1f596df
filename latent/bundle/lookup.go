// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"sort"
)

// Lookup decodes what is released of each coordinate by the bin it lies in:
//
//	x̂ = DecoderOffset + Σ_i Values_(i, bin of u_i),
//
// which can be the mean of the features given u_i, where an affine map of u_i cannot.
type Lookup struct {
	// Edges, Z×B, has the ends of the B+1 bins of each coordinate, not descending: a
	// number is in bin b if b edges are at most it.
	Edges Matrix
	// Values, Z·(B+1)×k, has a row for each bin, those of a coordinate together.
	Values Matrix
}

// bin returns the row of Values of a number u released of coordinate i.
func (l *Lookup) bin(i int, u float64) int {
	edges := l.Edges.Row(i)
	return i*(len(edges)+1) + sort.Search(len(edges), func(b int) bool { return edges[b] > u })
}

func (l *Lookup) decode(dst, u, offset []float64) {
	copy(dst, offset)
	for i, v := range u {
		for j, x := range l.Values.Row(l.bin(i, v)) {
			dst[j] += x
		}
	}
}

// validateLookup checks a lookup, beside which there is no Decoder.
func (s *Spec) validateLookup(c checker, k, z int) {
	c.Want(s.Decoder.Rows == 0 && s.Decoder.Cols == 0 && len(s.Decoder.Data) == 0, "decoder", fmt.Sprintf("%d×%d", s.Decoder.Rows, s.Decoder.Cols), "none beside a lookup")
	l := s.Lookup
	bins := max(l.Edges.Cols, 1) // at least one edge
	c.matrix("lookup_edges", l.Edges, z, bins)
	c.matrix("lookup_values", l.Values, z*(min(bins, maxEntries)+1), k)
	if len(l.Edges.Data) != l.Edges.Rows*l.Edges.Cols {
		return // reported
	}
	for i := range l.Edges.Rows {
		row := l.Edges.Row(i)
		for b := 1; b < len(row); b++ {
			if !(row[b-1] <= row[b]) {
				c.Badf(fmt.Sprintf("lookup_edges[%d][%d]", i, b), row[b], "at least the edge before, %g", row[b-1])
				return
			}
		}
	}
}
