// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
)

// cells returns how many numbers the input has.
func (p *Plan) cells() int {
	if p.spec.Workload.Kind != Marginals {
		return p.spec.Workload.Cells
	}
	n := 0
	for _, b := range p.bases {
		n += p.spec.Workload.size(b)
	}
	return n
}

// Bases returns the sets of attributes of which the tables are the input for Marginals, in this order:
// those that are measured and are in no other one. In a table the last attribute changes first.
func (p *Plan) Bases() [][]int { return formfile.Clone(p.bases) }

// Draw implements proof.Drawer: the answers to all queries about a proof.Row of whole numbers, those of Decode.
func (p *Plan) Draw(input proof.Value, word func() (uint64, error)) (proof.Value, error) {
	row, ok := input.(proof.Row)
	bad := func() (proof.Value, error) {
		return nil, check.Errorf("", dp.ErrInvalid, "the value is not %s, all whole", p.Inputs())
	}
	if !ok || !p.Inputs().Contains(row) {
		return bad()
	}
	cells := make([]int64, len(row))
	for i, x := range row {
		if x != math.Trunc(x) {
			return bad()
		}
		cells[i] = int64(x)
	}
	y, err := p.Measure(cells, word)
	if err != nil {
		return nil, err
	}
	out := make(proof.Row, 0, p.spec.Workload.Queries())
	err = p.Decode(y, func(answer float64) error {
		out = append(out, answer)
		return nil
	})
	return out, err
}

// Measure returns the sums of cells that the plan measures, with noise: all that a release of it tells.
//
// Guarantee (docs/proofs/plan.md): if the words are independent and uniform, the noise has exactly the
// laws that are proved, rounded normal noise included. The time of a draw depends on what is drawn.
//
// The error wraps dp.ErrInvalid for cells that are not of the Inputs, sampler.ErrOverflow for noise that
// is too large, or is that of a word.
func (p *Plan) Measure(cells []int64, word func() (uint64, error)) ([]int64, error) {
	if len(cells) != p.cells() || slices.ContainsFunc(cells, func(x int64) bool { return x < -p.limit || x > p.limit }) {
		return nil, check.Errorf("plan", dp.ErrInvalid, "the cells are not %s", p.Inputs())
	}
	var y []int64
	for i := range p.spec.Measurements {
		m := &p.spec.Measurements[i]
		before := len(y)
		y = p.exactly(y, m, cells)
		if err := p.noise(y[before:], m, word); err != nil {
			clear(y)
			return nil, err
		}
	}
	return y, nil
}

// exactly appends what a measurement measures.
func (p *Plan) exactly(y []int64, m *Measurement, cells []int64) []int64 {
	w := &p.spec.Workload
	switch {
	case m.Kind == Residuals:
		for _, set := range m.Sets {
			y = append(y, residuals(w, p.tableOf(cells, set), set)...)
		}
	case m.Attributes != nil:
		y = append(y, p.tableOf(cells, *m.Attributes)...)
	case m.Kind == Partition:
		for block := range slices.Chunk(cells, m.Block) {
			sum := int64(0)
			for _, x := range block {
				sum += x
			}
			y = append(y, sum)
		}
	default:
		for _, row := range m.Rows {
			sum := int64(0)
			for j, a := range row {
				sum += a * cells[j]
			}
			y = append(y, sum)
		}
	}
	return y
}

// countLimit returns what bounds a cell, so that no sum of 2^60 or more is measured.
func (s *Spec) countLimit() int64 {
	largest := 1.0 // sum of the numbers of a row, in magnitude
	for i := range s.Measurements {
		m := &s.Measurements[i]
		for _, row := range m.Rows {
			sum := 0.0
			for _, a := range row {
				sum += math.Abs(float64(a))
			}
			largest = max(largest, sum)
		}
	}
	if s.Workload.Kind != Marginals {
		return int64(min(maxCount, 0x1p60/max(largest, float64(s.Workload.Cells))))
	}
	for _, set := range s.bases() { // a row of residuals has at most 2(n−1) along an axis, summed over all others
		sum := 1.0
		for _, n := range s.Workload.sizes(set) {
			sum *= 2 * float64(n)
		}
		largest = max(largest, sum)
	}
	return int64(min(maxCount, 0x1p60/largest))
}

// tableOf returns the table of a set, from the first of the input that has its attributes.
func (p *Plan) tableOf(cells []int64, set []int) []int64 {
	w := &p.spec.Workload
	for _, b := range p.bases {
		n := w.size(b)
		if contains(b, set) {
			return sumOut(w, cells[:n], b, set)
		}
		cells = cells[n:]
	}
	panic("plan: a measured set is in no base")
}

// noise adds that of a measurement.
func (p *Plan) noise(y []int64, m *Measurement, word func() (uint64, error)) error {
	add := func(i int, n int64, err error) error {
		if err == nil {
			y[i] += n
		}
		return err
	}
	switch m.Kind {
	case L2:
		for i := range y {
			n, err := sampler.DrawGaussian(m.Deviation, word)
			if err := add(i, n, err); err != nil {
				return err
			}
		}
	case Residuals:
		i := 0
		for k, set := range m.Sets {
			if err := p.spec.Workload.deviations(set, m.Deviations[k], func(deviation float64) error {
				n, err := sampler.DrawGaussian(deviation, word)
				i++
				return add(i-1, n, err)
			}); err != nil {
				return err
			}
		}
	default:
		d := newDrawer(m.Noise)
		for i := range y {
			n, err := d.draw(word)
			if err := add(i, n, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// Measurements returns how many numbers Measure returns.
func (p *Plan) Measurements() (n int) {
	s := &p.spec
	for i := range s.Measurements {
		switch m := &s.Measurements[i]; m.Kind {
		case Partition:
			n += s.blocks(m)
		case Residuals:
			for _, set := range m.Sets {
				n += residualCount(&s.Workload, set)
			}
		default:
			n += len(m.Rows)
		}
	}
	return n
}

func residualCount(w *Workload, set []int) int {
	n := 1
	for _, size := range w.sizes(set) {
		n *= size - 1
	}
	return n
}

// Decode computes the answers to all queries from what Measure returned, in their order: tables of
// Marginals one after another. It is in float64, a few parts in 10^12 from the answers of which the
// variances are proved. The error is that of answer, which ends it, or wraps dp.ErrInvalid.
func (p *Plan) Decode(y []int64, answer func(x float64) error) error {
	if n := p.Measurements(); len(y) != n {
		return check.Field("plan", "measured", len(y), "as many numbers as the plan measures")
	}
	if p.spec.whole() != nil { // then it is a whole number
		exactly := answer
		answer = func(x float64) error { return exactly(math.Round(x) + 0) }
	}
	if p.spec.Workload.Kind == Marginals {
		return p.decodeMarginals(y, answer)
	}
	return p.decodeDense(y, answer)
}

func (p *Plan) decodeDense(y []int64, answer func(x float64) error) (err error) {
	s := &p.spec
	n := s.Workload.Cells
	right := make([]float64, n) // Aᵀ·Ω·y
	var grams [][][]int64
	for i := range s.Measurements {
		m := &s.Measurements[i]
		g, _ := s.gram(m) // it was certified
		grams = append(grams, g)
		weight := float64(m.Weight)
		if m.Kind == Partition {
			for j := range right {
				right[j] += weight * float64(y[j/m.Block])
			}
			y = y[s.blocks(m):]
			continue
		}
		for k, row := range m.Rows {
			for j, a := range row {
				right[j] += weight * float64(a) * float64(y[k])
			}
		}
		y = y[len(m.Rows):]
	}
	matrix, err := s.matrix(grams)
	if err != nil {
		return err
	}
	inverse, ok := approximate(matrix, s.pieces())
	if !ok {
		return errRank()
	}
	x := make([]float64, n)
	for range 2 { // once more for what is left
		rest := slices.Clone(right)
		for i, row := range matrix {
			for j, a := range row {
				rest[i] -= float64(a) * x[j]
			}
		}
		for i, row := range inverse {
			for j, a := range row {
				x[i] += a * rest[j]
			}
		}
	}
	if s.Workload.Kind == Matrix {
		for _, row := range s.Workload.Rows {
			sum := 0.0
			for j, a := range row {
				sum += float64(a) * x[j]
			}
			if err := answer(sum); err != nil {
				return err
			}
		}
		return nil
	}
	sums := make([]float64, n+1)
	for i := range x {
		sums[i+1] = sums[i] + x[i]
	}
	s.Workload.intervals(func(_, a, b int) {
		if err == nil {
			err = answer(sums[b] - sums[a])
		}
	})
	return err
}

func (p *Plan) decodeMarginals(y []int64, answer func(x float64) error) error {
	w, components := &p.spec.Workload, map[string][]float64{}
	for _, set := range w.Sets {
		table := make([]float64, w.size(set))
		Subsets(set, func(b []int) {
			c := components[key(b)]
			if c == nil {
				c = p.estimate(y, b)
				components[key(b)] = c
			}
			spread(w, table, c, set, b)
		})
		for _, x := range table {
			if err := answer(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// estimate returns that of a component.
func (p *Plan) estimate(y []int64, b []int) []float64 {
	w := &p.spec.Workload
	floats := func(list []int64) []float64 {
		out := make([]float64, len(list))
		for i, x := range list {
			out[i] = float64(x)
		}
		return out
	}
	if m := &p.spec.Measurements[0]; m.Kind == Residuals {
		for _, set := range m.Sets {
			n := residualCount(w, set)
			if slices.Equal(set, b) {
				return fromResiduals(w, floats(y[:n]), set)
			}
			y = y[n:]
		}
	}
	_, shares := p.component(b)
	sum := make([]float64, w.size(b))
	for i := range p.spec.Measurements {
		a := *p.spec.Measurements[i].Attributes
		n := w.size(a)
		if shares[i] > 0 {
			for j, x := range sumOut(w, floats(y[:n]), a, b) {
				sum[j] += shares[i] * x
			}
		}
		y = y[n:]
	}
	return centered(w, sum, b)
}
