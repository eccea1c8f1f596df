// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"bufio"
	"fmt"
	"io"

	"github.com/noisewright/noisewright/internal/check"
)

// WriteCSV writes the law of the noise as rows in the order in which draws look for their entry: the
// cells ascending, then the atom if it has weight. The edges of a cell are half a step outside its
// first and last point, in query units, so that neighbors share one; those of the atom are 0. A
// mass and the sum of the masses so far are the nearest float64s, and the weight is the mass times
// 2^64, exactly. A cell of a tail stands for all its repetitions: tail_step is how far further out
// the next one is, and tail_ratio, the nearest float64, how many times as likely; both are 0 elsewhere.
//
// Errors are those of w.
func (t *Table) WriteCSV(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "lower_edge,upper_edge,mass,cumulative,weight,tail_step,tail_ratio")
	g := t.Grid()
	step, _ := g.Step().Float64()
	sum, all := uint64(0), false // modulo 2^64, the sum of all weights
	row := func(lower, upper float64, weight uint64, move, ratio float64) {
		sum += weight
		all = all || weight > 0 && sum == 0
		cumulative := float64(sum) * 0x1p-64
		if all {
			cumulative = 1
		}
		fmt.Fprintf(b, "%v,%v,%v,%v,%d,%v,%v\n", lower, upper, float64(weight)*0x1p-64, cumulative, weight, move, ratio)
	}
	for i := range t.Cells() {
		move, ratio := 0., 0.
		if side, ok := t.Block(i); ok {
			move, ratio = float64(int64(side)*g.period())*step, float64(t.TailRatio())*0x1p-64
		}
		// Twice a point is below 2^53, so but for the unit of a lattice the edges are exact.
		row(float64(2*g.FirstPoint(i)-1)*(step/2), float64(2*g.FirstPoint(i+1)-1)*(step/2), t.Weight(i), move, ratio)
	}
	if a := t.Atom(); a > 0 {
		row(0, 0, a, 0, 0)
	}
	if err := b.Flush(); err != nil {
		return check.Errorf("tables", nil, "CSV: %w", err)
	}
	return nil
}
