// SPDX-License-Identifier: Apache-2.0

package account

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand"
	"testing"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
)

// randomRow returns weights that sum to 2^64, some of them 0.
func randomRow(r *rand.Rand, n int) []uint64 {
	row := make([]uint64, n)
	left := ^uint64(0) // and 1 more
	for j := range n - 1 {
		if r.Intn(5) > 0 {
			row[j] = uint64(float64(left) * r.Float64())
		}
		left -= row[j]
	}
	row[n-1] = left
	if row[0] == ^uint64(0) { // no weight is 2^64
		row[0]--
		row[n-1]++
	}
	row[0]++
	r.Shuffle(n, func(i, j int) { row[i], row[j] = row[j], row[i] })
	return row
}

// kernelOf makes a kernel on the integers from 0 to n whose inputs are the cells [k, k+1).
func kernelOf(t testing.TB, rows [][]uint64, epsilon, sensitivity float64) *kernels.Kernel {
	t.Helper()
	s := kernels.Spec{
		Privacy: dp.Privacy{Epsilon: epsilon, Delta: 0.5, Sensitivity: sensitivity}, Loss: loss.L1,
		Queries: kernels.Queries{Lower: 0, Upper: float64(len(rows))}, Edges: []float64{0}, Rows: rows,
	}
	for k := range rows {
		s.Edges, s.Nodes = append(s.Edges, float64(k+1)), append(s.Nodes, float64(k)+0.5)
	}
	k, err := kernels.New(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// lawPair is the pair of laws of the answers to two inputs, in units of 2^-64.
type lawPair struct{ p, q []*big.Int }

// lawPairs lists those of all inputs of the kernel that are neighbors, from the
// definition: cells k < m hold values closer than the sensitivity if m − k − 1 is less.
func lawPairs(rows [][]uint64, sensitivity float64) []lawPair {
	laws := make([][]*big.Int, len(rows))
	for k, row := range rows {
		for _, w := range row {
			laws[k] = append(laws[k], new(big.Int).SetUint64(w))
		}
	}
	var out []lawPair
	for k := range rows {
		for m := range rows {
			if math.Abs(float64(k-m))-1 < sensitivity {
				out = append(out, lawPair{laws[k], laws[m]})
			}
		}
	}
	return out
}

// worst returns, exactly, the δ at e^ε = num/den of releases whose neighbors an adversary
// chooses one by one, knowing the answers so far: the best of all pairs, and for each answer
// the best of what may follow. At the end it is (p − e^ε·q)₊ of what has been seen, here in
// units of 1/den and 2^-64 for each release.
func worst(releases [][]lawPair, p, q, num, den *big.Int) *big.Int {
	if len(releases) == 0 {
		d := new(big.Int).Mul(p, den)
		if d.Sub(d, new(big.Int).Mul(q, num)).Sign() < 0 {
			d.SetInt64(0)
		}
		return d
	}
	best := new(big.Int)
	for _, pair := range releases[0] {
		sum := new(big.Int)
		for j, w := range pair.p {
			if w.Sign() > 0 {
				sum.Add(sum, worst(releases[1:], new(big.Int).Mul(p, w), new(big.Int).Mul(q, pair.q[j]), num, den))
			}
		}
		if sum.Cmp(best) > 0 {
			best = sum
		}
	}
	return best
}

// worstSequence is worst at an ε, as a probability.
func worstSequence(releases [][]lawPair, epsilon float64) float64 {
	alpha, one := exact.Rational(math.Exp(epsilon)), big.NewInt(1)
	d := new(big.Rat).SetInt(worst(releases, one, one, alpha.Num(), alpha.Denom()))
	d.Quo(d, new(big.Rat).SetInt(alpha.Denom()))
	f, _ := d.Mul(d, exact.PowerOfTwo(-64*len(releases))).Float64()
	return f
}

// fixedSequence is worstSequence of neighbors that are chosen beforehand, once for all
// releases: what a lower bound is about.
func fixedSequence(releases [][]lawPair, epsilon float64) (best float64) {
	for i := range releases[0] {
		var same [][]lawPair
		for _, pairs := range releases {
			same = append(same, pairs[i:i+1])
		}
		best = math.Max(best, worstSequence(same, epsilon))
	}
	return best
}

// TestKernelsAgainstAdversaries holds the bounds against the best adversary in exact
// arithmetic, for one to three releases of random kernels.
func TestKernelsAgainstAdversaries(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewSource(1))
	for trial := range 60 {
		times := 1 + trial%3
		n := 2 + r.Intn(3)
		if times == 3 {
			n = 2 + r.Intn(2)
		}
		rows := make([][]uint64, n)
		for k := range rows {
			rows[k] = randomRow(r, n)
			if k >= n/2 && trial%4 == 0 { // its own mirror image
				rows[k] = reversed(rows[n-1-k])
			}
		}
		if trial%4 == 0 && n%2 == 1 {
			rows[n/2] = make([]uint64, n)
			rows[n/2][0], rows[n/2][n-1] = 1<<63, 1<<63
		}
		sensitivity := 0.5 + float64(r.Intn(3))
		m, err := LossOf(kernelOf(t, rows, 0.1+2*r.Float64(), sensitivity))
		if err != nil {
			t.Fatal(err)
		}
		c := compose(t, Release{m, times})
		var sequence [][]lawPair
		for range times {
			sequence = append(sequence, lawPairs(rows, sensitivity))
		}
		for _, epsilon := range []float64{0, 0.4, 1, 3} {
			most := worstSequence(sequence, epsilon)
			what := fmt.Sprintf("trial %d, %d releases, %d cells, sensitivity %g, epsilon %g", trial, times, n, sensitivity, epsilon)
			b := delta(t, c, epsilon)
			brackets(t, what, b, most)
			if least := fixedSequence(sequence, epsilon); b.Lower > least*(1+1e-12) {
				t.Errorf("%s: at least %g, but the best pair costs %g", what, b.Lower, least)
			}
			if times == 1 && most > 0 && (b.Upper > most*(1+1e-9) || b.Lower < most*(1-1e-9)) {
				t.Errorf("%s: %+v, want %g", what, b, most)
			}
		}
	}
}

// TestKernelOfUnequalCells: laws that mirror each other do not make the profile that of half
// of the pairs if the cells, and so the neighbors, are no mirror images of each other. Here
// the loss of 2 is that of cell 2 against cell 0, whose images 1 and 3 are not neighbors.
func TestKernelOfUnequalCells(t *testing.T) {
	row := func(a, b, d float64) []uint64 { // what is left is at the third answer
		w := []uint64{uint64(a * 0x1p64), uint64(b * 0x1p64), 0, uint64(d * 0x1p64)}
		w[2] = -w[0] - w[1] - w[3]
		return w
	}
	first, second := row(0.27, 0.3465, 0.037), row(0.27, 0.315, 0.1)
	rows := [][]uint64{first, second, reversed(second), reversed(first)}
	for _, edges := range [][]float64{{0, 1, 2, 12, 13}, {0, 1, 11, 12, 13}} {
		k, err := kernels.New(t.Context(), kernels.Spec{
			Privacy: dp.Privacy{Epsilon: 2, Sensitivity: 1.5}, Loss: loss.L1,
			Queries: kernels.Queries{Upper: 13}, Edges: edges, Nodes: []float64{0.5, 1.5, 7, 12.5}, Rows: rows,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Verify(); err != nil {
			t.Fatal(err)
		}
		m, err := LossOf(k)
		if err != nil {
			t.Fatal(err)
		}
		laws := lawPairs(rows, 10) // all, in order
		for _, epsilon := range []float64{0.5, 1, 1.5} {
			most := worstSequence([][]lawPair{{laws[2*4+0]}}, epsilon)
			if edges[2] == 11 {
				most = worstSequence([][]lawPair{{laws[1*4+3]}}, epsilon)
			}
			if most = math.Max(most, worstSequence([][]lawPair{{laws[0*4+1], laws[1*4+0], laws[1*4+2]}}, epsilon)); most == 0 {
				t.Fatal("no loss")
			}
			brackets(t, fmt.Sprintf("edges %v, epsilon %g", edges, epsilon), delta(t, compose(t, Release{m, 1}), epsilon), most)
		}
	}
}

// randomizerOf makes a randomizer of values from 0 to 1 with equally spaced nodes.
func randomizerOf(t testing.TB, rows [][]uint64, epsilon, delta float64) *local.Randomizer {
	t.Helper()
	s := local.Spec{
		Epsilon: epsilon, Delta: delta, Values: local.Values{Kind: local.Real, Upper: 1},
		Objective: local.Mean, Loss: loss.L2, Rows: rows,
	}
	for i := range rows {
		s.Nodes = append(s.Nodes, float64(i)/float64(len(rows)-1))
	}
	for j := range rows[0] {
		s.Answers = append(s.Answers, float64(j))
	}
	r, err := local.New(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRandomizersAgainstAdversaries is the same for randomizers, whose values are all
// neighbors; values between nodes cost no more.
func TestRandomizersAgainstAdversaries(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewSource(4))
	for trial := range 40 {
		times, n, answers := 1+trial%3, 2+trial%2, 2+r.Intn(3)
		rows := make([][]uint64, n)
		for i := range rows {
			rows[i] = randomRow(r, answers)
		}
		m, err := LossOf(randomizerOf(t, rows, 1, 0.5))
		if err != nil {
			t.Fatal(err)
		}
		c := compose(t, Release{m, times})
		nodes := lawPairs(rows, math.Inf(1))
		// Two values between neighboring nodes, in units of 2^-64.
		between := func(i int) []uint64 {
			law, share := make([]uint64, answers), uint64(r.Intn(1<<10))
			for j := range law {
				law[j] = rows[i][j]/1024*share + rows[i+1][j]/1024*(1024-share) // a little less than 1 in all
			}
			return law
		}
		mixed := lawPairs([][]uint64{between(0), between(n - 2)}, math.Inf(1))
		for _, epsilon := range []float64{0, 0.5, 2} {
			var at, off [][]lawPair
			for range times {
				at, off = append(at, nodes), append(off, mixed)
			}
			what := fmt.Sprintf("trial %d, %d releases, epsilon %g", trial, times, epsilon)
			b := delta(t, c, epsilon)
			brackets(t, what, b, worstSequence(at, epsilon))
			if d := worstSequence(off, epsilon); d > b.Upper*(1+1e-12)+1e-15 {
				t.Errorf("%s: values between nodes cost %g, above %g", what, d, b.Upper)
			}
		}
	}
	if _, err := LossOf(nil); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("no randomizer: %v, want it to wrap dp.ErrInvalid", err)
	}
}

// additivePairs lists, from the definition, the laws of the answers to all whole values
// of the range that are neighbors, in units of 2^-64 over the points of a bin.
func additivePairs(s cells.Spec) []lawPair {
	size, lower, upper := int(s.Grid.PointsPerBin), int(s.Edges[0]), int(s.Edges[len(s.Edges)-1])
	answer := func(x int) map[int]*big.Int {
		cell := 0
		for cell+2 < len(s.Edges) && float64(x) >= s.Edges[cell+1] {
			cell++
		}
		law := map[int]*big.Int{}
		for j, w := range s.Rows[cell] {
			for i := range size {
				law[x+(s.Grid.FirstBin+j)*size-size/2+i] = new(big.Int).SetUint64(w)
			}
		}
		return law
	}
	var out []lawPair
	for x := lower; x <= upper; x++ {
		for y := lower; y <= upper; y++ {
			if math.Abs(float64(x-y)) > s.Privacy.Sensitivity {
				continue
			}
			var pair lawPair
			q := answer(y)
			for n, w := range answer(x) {
				other := q[n]
				if other == nil {
					other = new(big.Int)
				}
				pair.p, pair.q = append(pair.p, w), append(pair.q, other)
			}
			out = append(out, pair)
		}
	}
	return out
}

// TestAdditiveAgainstAdversaries is the same for additive kernels, whose answers to two
// values are also apart by the difference of the values.
func TestAdditiveAgainstAdversaries(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	for trial := range 24 {
		bins, size := 2+r.Intn(2), int64(1+2*(trial%2))
		s := cells.Spec{
			Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: float64(size * int64(1+r.Intn(2)))}, Loss: loss.L1,
			Grid:  cells.Grid{PointsPerBin: size, FirstBin: -1},
			Edges: []float64{0, 2, 3}, Weight: []float64{1, 1}, Rows: [][]uint64{randomRow(r, bins), randomRow(r, bins)},
		}
		k, err := cells.New(s)
		if err != nil {
			t.Fatal(err)
		}
		m, err := LossOf(k)
		if err != nil {
			t.Fatal(err)
		}
		times := 1 + trial%2
		c := compose(t, Release{m, times})
		var sequence [][]lawPair
		for range times {
			sequence = append(sequence, additivePairs(s))
		}
		for _, epsilon := range []float64{0, 0.7, 2} {
			// Each law is over size points with the weight of a bin each.
			want := worstSequence(sequence, epsilon) / math.Pow(float64(size), float64(times))
			b := delta(t, c, epsilon)
			brackets(t, fmt.Sprintf("trial %d, %d releases, epsilon %g", trial, times, epsilon), b, want)
			if size == 1 && times == 1 && (b.Upper > want*(1+1e-9)+1e-15 || b.Lower < want*(1-1e-9)) {
				t.Errorf("trial %d, epsilon %g: %+v, want %g", trial, epsilon, b, want)
			}
		}
	}
	if _, err := LossOf(nil); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("no kernel: %v, want it to wrap dp.ErrInvalid", err)
	}
}

// TestKernelsExactly has two inputs whose laws are mirror images, so that there is one pair
// of neighbors but for the order of answers, and the bounds are close to what it costs.
func TestKernelsExactly(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for trial := range 30 {
		row := randomRow(r, 2)
		rows := [][]uint64{row, reversed(row)}
		m, err := LossOf(kernelOf(t, rows, 1, 1))
		if err != nil {
			t.Fatal(err)
		}
		times := 2 + trial%4
		c := compose(t, Release{m, times})
		var sequence [][]lawPair
		for range times {
			sequence = append(sequence, lawPairs(rows, 1)[1:2])
		}
		for _, epsilon := range []float64{0, 0.5, 2} {
			want := worstSequence(sequence, epsilon)
			what := fmt.Sprintf("trial %d, %d releases, epsilon %g", trial, times, epsilon)
			b := delta(t, c, epsilon)
			brackets(t, what, b, want)
			// The bounds are to be as wide as an epsilon known to 1 %.
			after := worstSequence(sequence, 1.015*epsilon+0.01)
			if b.Upper > 1.03*want+1e-9 || b.Lower < 0.97*after-1e-9 {
				t.Errorf("%s: %+v, want close to %g", what, b, want)
			}
		}
	}
}

// TestChords compares the profile on a thinned grid with that on the grid.
func TestChords(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for trial := range 20 {
		rows := [][]uint64{randomRow(r, 4), randomRow(r, 4), randomRow(r, 4), randomRow(r, 4)}
		m, err := LossOf(kernelOf(t, rows, 1, 4))
		if err != nil {
			t.Fatal(err)
		}
		l := m.pair.(*laws)
		g := grid{step: 0.01 * (1 + r.Float64()), first: -150 - r.Intn(10), last: 200 + r.Intn(10)}
		fine := l.upper(g)
		for _, every := range []int{2, 7} {
			for i, h := range chords(g, every, l.envelope) {
				// A chord of so many steps is above a convex function of slopes from -1 to 0 by
				// less than its length in α.
				most := fine[i] + math.Exp(g.at(g.first+i))*math.Expm1(float64(every)*g.step)
				if h < fine[i]*(1-1e-12) || h > most {
					t.Fatalf("trial %d: the height %d of every %d is %g, want from %g to %g", trial, i, every, h, fine[i], most)
				}
			}
		}
	}
}

func TestKernelErrors(t *testing.T) {
	if _, err := LossOf(nil); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("no kernel: %v, want it to wrap dp.ErrInvalid", err)
	}
	if _, err := LossOf(&kernels.Kernel{}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("an empty kernel: %v, want it to wrap dp.ErrInvalid", err)
	}
}

// TestLowerBoundsNearTheLargestLoss: with a δ that is far below the probability of the
// largest loss, the lower bound is near the largest loss too, not 0.
func TestLowerBoundsNearTheLargestLoss(t *testing.T) {
	v, err := threeWay(t.Context(), 2, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	pld, err := LossOf(v.Mechanism())
	if err != nil {
		t.Fatal(err)
	}
	for _, delta := range []float64{1e-3, 1e-6, 1e-12} {
		b, err := compose(t, Release{pld, 3}).Epsilon(delta)
		if err != nil || !(b.Lower > 0.97*b.Upper) || b.Upper > 6+1e-9 {
			t.Errorf("delta %g: %v, %v, want nearly 6", delta, b, err)
		}
	}
}
