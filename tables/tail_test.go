// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// twoSided is two-sided geometric noise on the integers, exactly private at
// epsilon: the ratio is the least that is.
func twoSided(tb testing.TB, epsilon float64) Spec {
	tb.Helper()
	ratio := leastRatio(epsilon)
	rho := float64(ratio) * 0x1p-64
	side := uint64(rho / (1 + rho) * 0x1p64)
	side += side>>40 + 1 // on the safe side of the middle
	return Spec{
		Problem:   dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L1},
		Grid:      Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: -1},
		Weights:   []uint64{side, -(2 * side), side},
		TailRatio: ratio,
	}
}

// leastRatio returns the least R with R·E >= 2^64, E the bound below e^epsilon.
func leastRatio(epsilon float64) uint64 {
	e := exact.ExpDown(epsilon, exact.RatioBits)
	r := new(big.Int).Lsh(big.NewInt(1), 64+exact.RatioBits)
	r.Add(r, e).Sub(r, big.NewInt(1)).Div(r, e)
	return r.Uint64()
}

func mustTable(tb testing.TB, s Spec) *Table {
	tb.Helper()
	t, err := New(s)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// randomTail is a table with a tail and any weights, some of them 0.
func randomTail(rng *rand.Rand) Spec {
	k := 1 + rng.IntN(4)
	left, right := k+rng.IntN(3), k+rng.IntN(3)
	s := Spec{
		Problem:   dp.Problem{Privacy: dp.Privacy{Epsilon: rng.Float64() * 2, Delta: 0.9, Sensitivity: 1}, Loss: loss.L1},
		Grid:      Grid{GranularityExponent: 1 - rng.IntN(3), PointsPerCell: 1 + 2*rng.Int64N(3), CellsPerSensitivity: k, FirstCell: -left},
		Weights:   make([]uint64, left+1+right),
		TailRatio: rng.Uint64(),
	}
	names := []string{"l1", "l2", "huber:3", "exceed:4", "pinball:0.3", "deadzone:2.5 + l2:2"}
	s.Loss, _ = loss.Parse(names[rng.IntN(len(names))])
	rest := ^uint64(0)
	for i := range s.Weights {
		if rng.IntN(8) > 0 {
			s.Weights[i] = rng.Uint64N(rest / 4)
		}
		rest -= s.Weights[i]
	}
	if rng.IntN(3) == 0 {
		s.Atom = rest / 8
		rest -= s.Atom
	}
	s.Weights[left] += rest + 1
	return s
}

// unrolled returns the probabilities of the cells -reach … reach, as rationals.
func unrolled(s Spec, reach int) map[int]*big.Rat {
	p := make(map[int]*big.Rat)
	n, k, first := len(s.Weights), s.Grid.CellsPerSensitivity, s.Grid.FirstCell
	rho := new(big.Rat).SetFrac(new(big.Int).SetUint64(s.TailRatio), new(big.Int).Lsh(big.NewInt(1), 64))
	for i, w := range s.Weights {
		q := new(big.Rat).SetFrac(new(big.Int).SetUint64(w), new(big.Int).Lsh(big.NewInt(1), 64))
		step := 0
		if i < k {
			step = -k
		} else if i >= n-k {
			step = k
		}
		if step == 0 {
			p[first+i] = q
			continue
		}
		q.Mul(q, new(big.Rat).Sub(big.NewRat(1, 1), rho))
		for j := first + i; j >= -reach && j <= reach; j += step {
			p[j] = new(big.Rat).Set(q)
			q.Mul(q, rho)
		}
	}
	return p
}

// TestTailAgainstUnrolled compares delta, loss and mean with sums over many
// periods: what lies beyond is bounded by the probability left.
func TestTailAgainstUnrolled(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(31, 32))
	for range 100 {
		s := randomTail(rng)
		s.TailRatio >>= 2 // at most a quarter, so that 30 periods are nearly all
		tab := mustTable(t, s)
		c := tab.Certify()
		k := s.Grid.CellsPerSensitivity
		reach := 30*k + 10
		p := unrolled(s, reach)
		// In integers, as all masses are multiples of 2^-precision: rationals take longer.
		precision := uint(64 * (reach/k + 3))
		mass := make([]*big.Int, 2*reach+1)
		for i := range mass {
			mass[i] = new(big.Int)
			if v, ok := p[i-reach]; ok {
				scaled := new(big.Rat).Mul(v, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), precision)))
				if !scaled.IsInt() {
					t.Fatalf("the mass %v is no multiple of 2^-%d", v, precision)
				}
				mass[i].Set(scaled.Num())
			}
		}
		e := exact.ExpDown(s.Privacy.Epsilon, exact.RatioBits)
		most, d, less := new(big.Int), new(big.Int), new(big.Int)
		for shift := -k; shift <= k; shift++ {
			if shift == 0 {
				continue
			}
			sum := new(big.Int).Lsh(new(big.Int).SetUint64(s.Atom), precision-64+exact.RatioBits)
			for j := -reach + k; j <= reach-k; j++ {
				d.Sub(d.Lsh(mass[j+reach], exact.RatioBits), less.Mul(e, mass[j-shift+reach]))
				if d.Sign() > 0 {
					sum.Add(sum, d)
				}
			}
			if sum.Cmp(most) > 0 {
				most = sum
			}
		}
		worst := new(big.Rat).SetFrac(most, new(big.Int).Lsh(big.NewInt(1), precision+exact.RatioBits))
		within := func(what string, got, want *big.Rat, most float64) {
			t.Helper()
			d, _ := new(big.Rat).Sub(got, want).Float64()
			if !(d >= 0 && d <= most) {
				t.Fatalf("%s = %s, summed %s: differs by %g, want 0 to %g (%+v)", what, got.FloatString(20), want.FloatString(20), d, most, s)
			}
		}
		within("delta", c.DeltaUpper, worst, 0x1p-50)
		step := s.Grid.Step()
		loss, mean := new(big.Rat), new(big.Rat)
		for j, q := range p {
			first := int64(j)*s.Grid.PointsPerCell - (s.Grid.PointsPerCell-1)/2
			loss.Add(loss, new(big.Rat).Mul(q, s.Loss.GridMeanUp(first, s.Grid.PointsPerCell, step)))
			mean.Add(mean, new(big.Rat).Mul(q, new(big.Rat).SetInt64(int64(j)*s.Grid.PointsPerCell)))
		}
		within("loss", c.ExpectedLoss, loss, 1e-9)
		got := s.twiceMean()
		got.Quo(got, exact.PowerOfTwo(65))
		if d, _ := new(big.Rat).Sub(got, mean).Float64(); math.Abs(d) > 1e-9 {
			t.Fatalf("mean = %s, summed %s", got.FloatString(15), mean.FloatString(15))
		}
	}
}

// farLoss is |x| that says of itself to be a polynomial only from 12.5 on.
type farLoss struct{ loss.Loss }

func (farLoss) Name() string                            { return "far" }
func (farLoss) PolynomialBeyond() (*big.Rat, int, bool) { return big.NewRat(25, 2), 2, true }

// TestTailLossTermwise checks that summing a tail's first cells one by one
// changes nothing but the last digits, upwards.
func TestTailLossTermwise(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for range 50 {
		s := randomTail(rng)
		plain := s.expected(loss.L1, nil)
		termwise := s.expected(farLoss{loss.L1}, nil)
		d, _ := new(big.Rat).Sub(termwise, plain).Float64()
		if !(d >= 0 && d < 1e-30) {
			t.Fatalf("summed termwise the loss differs by %g", d)
		}
	}
}

// TestGeometric: one cell per sensitivity and a tail are geometric noise, of loss
// 2b/(1-b²) and 2b/(1-b)², which is optimal for integers.
func TestGeometric(t *testing.T) {
	for _, epsilon := range []float64{0.01, 0.1, 1, 5, 20} {
		s := twoSided(t, epsilon)
		b := math.Exp(-epsilon)
		for _, c := range []struct {
			loss loss.Loss
			want float64
		}{{loss.L1, 2 * b / -math.Expm1(-2*epsilon)}, {loss.L2, 2 * b / math.Pow(math.Expm1(-epsilon), 2)}} {
			s.Loss = c.loss
			tab := mustTable(t, s)
			if _, err := tab.Verify(); err != nil {
				t.Fatal(err)
			}
			cert := tab.Certify()
			if cert.DeltaUpper.Sign() != 0 || tab.spec.Claims.Delta != "0" {
				t.Errorf("epsilon = %g: delta = %s, want 0", epsilon, tab.spec.Claims.Delta)
			}
			if got, _ := cert.ExpectedLoss.Float64(); math.Abs(got-c.want) > 1e-9*c.want {
				t.Errorf("epsilon = %g: expected %s = %.12g, want %.12g", epsilon, c.loss.Name(), got, c.want)
			}
		}
	}
}

// TestTailTampering changes one thing of a private table at a time.
func TestTailTampering(t *testing.T) {
	good := twoSided(t, 0.5)
	good.Constraints = dp.Constraints{Symmetric: true, Monotone: true, Unbiased: true, MaxVariance: 10}
	if _, err := mustTable(t, good).Verify(); err != nil {
		t.Fatal(err)
	}
	claims := mustTable(t, good).spec.Claims
	for name, c := range map[string]struct {
		change func(*Spec)
		want   error
	}{
		"ratio one less":       {func(s *Spec) { s.TailRatio-- }, proof.ErrNotPrivate},
		"ratio 1":              {func(s *Spec) { s.TailRatio = 1 }, proof.ErrFalseClaim},
		"ratio largest":        {func(s *Spec) { s.TailRatio = math.MaxUint64 }, dp.ErrInvalid},
		"ratio larger":         {func(s *Spec) { s.TailRatio += 1 << 54; s.Claims = claims }, proof.ErrNotPrivate},
		"no tail":              {func(s *Spec) { s.TailRatio = 0 }, proof.ErrFalseClaim},
		"middle too heavy":     {func(s *Spec) { s.Weights = []uint64{s.Weights[0] - 1<<40, s.Weights[1] + 1<<41, s.Weights[2] - 1<<40} }, proof.ErrNotPrivate},
		"one side heavier":     {func(s *Spec) { s.Weights = []uint64{s.Weights[0] + 1, s.Weights[1] - 1, s.Weights[2]} }, proof.ErrFalseClaim},
		"atom":                 {func(s *Spec) { s.Atom = 1; s.Weights = []uint64{s.Weights[0], s.Weights[1] - 1, s.Weights[2]} }, proof.ErrNotPrivate},
		"two cells per shift":  {func(s *Spec) { s.Privacy.Sensitivity = 2 }, proof.ErrNotPrivate},
		"epsilon":              {func(s *Spec) { s.Privacy.Epsilon -= 1e-12 }, proof.ErrNotPrivate},
		"loss":                 {func(s *Spec) { s.Claims = claims; s.Claims.ExpectedLoss = "1.9" }, proof.ErrFalseClaim},
		"bound":                {func(s *Spec) { s.Claims = claims; s.Claims.LowerBound = "0.1" }, proof.ErrFalseClaim},
		"variance":             {func(s *Spec) { s.Constraints.MaxVariance = 7 }, proof.ErrFalseClaim},
		"support":              {func(s *Spec) { s.Constraints.Support = &dp.Interval{Lower: -1e9, Upper: math.Inf(1)} }, proof.ErrFalseClaim},
		"middle moved":         {func(s *Spec) { s.Grid.FirstCell = 0 }, dp.ErrInvalid},
		"middle moved by more": {func(s *Spec) { s.Grid.Offset = 5 }, dp.ErrInvalid},
		"sum":                  {func(s *Spec) { s.Weights = []uint64{s.Weights[0], s.Weights[1] - 1, s.Weights[2]} }, dp.ErrInvalid},
		"unknown loss":         {func(s *Spec) { s.Loss = struct{ loss.Loss }{loss.L1} }, dp.ErrInvalid},
		"too few cells":        {func(s *Spec) { s.Grid.CellsPerSensitivity = 2 }, dp.ErrInvalid},
	} {
		s := good
		c.change(&s)
		tab, err := New(s)
		if err == nil {
			_, err = tab.Verify()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestTailMonotone looks at the seams of a tail.
func TestTailMonotone(t *testing.T) {
	const q = 1 << 61
	for name, c := range map[string]struct {
		weights  []uint64
		ratio    uint64
		monotone bool
	}{
		"falls":                {[]uint64{q / 2, q, 5 * q, q, q / 2}, 1 << 62, true},
		"rises into the block": {[]uint64{3 * q, q / 2, q, q / 2, 3 * q}, 1 << 62, false},
		"rises in the block":   {[]uint64{q, q / 2, 5 * q, q / 2, q}, 1 << 62, false},
		"rises at the period":  {[]uint64{q / 2, q, 5 * q, q, q / 2}, 3 << 62, false},
		"at the left period":   {[]uint64{q / 2, q, 5 * q, 3 * q / 4, 3 * q / 4}, 3 << 62, false},
	} {
		s := Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 3, Delta: 0.99, Sensitivity: 1}, Loss: loss.L1, Constraints: dp.Constraints{Monotone: true}},
			Grid:    Grid{PointsPerCell: 1, CellsPerSensitivity: 2, FirstCell: -2},
			Weights: c.weights, TailRatio: c.ratio,
		}
		_, err := mustTable(t, s).Verify()
		if got := !errors.Is(err, proof.ErrFalseClaim); got != c.monotone {
			t.Errorf("%s: monotone = %v (%v), want %v", name, got, err, c.monotone)
		}
	}
}

// TestTailDistinguishing: a tail without gaps leaves the atom alone to give
// itself away, and gaps add what lies beside them.
func TestTailDistinguishing(t *testing.T) {
	s := twoSided(t, 1)
	s.Privacy.Delta = 0.5
	if d := s.distinguishing(nil); d.Sign() != 0 {
		t.Errorf("distinguishing = %s, want 0", d)
	}
	s.Atom, s.Weights[1] = 1<<60, s.Weights[1]-1<<60
	if d := s.distinguishing(nil); d.Cmp(big.NewRat(1, 16)) != 0 {
		t.Errorf("with an atom: distinguishing = %s, want 1/16", d)
	}
	// Even points only, K = 2: a shift by 1 moves everything to odd points.
	s = Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 2}, Loss: loss.L1},
		Grid:    Grid{PointsPerCell: 1, CellsPerSensitivity: 2, FirstCell: -2},
		Weights: []uint64{1 << 62, 0, 1 << 63, 0, 1 << 62}, TailRatio: 1 << 63,
	}
	if d := s.distinguishing(nil); d.Cmp(big.NewRat(1, 1)) != 0 {
		t.Errorf("even points: distinguishing = %s, want 1", d)
	}
}

func TestTailCodec(t *testing.T) {
	tab := mustTable(t, twoSided(t, 0.75))
	var buf bytes.Buffer
	if err := tab.Encode(&buf); err != nil {
		t.Fatal(err)
	}
	text := buf.String()
	field := fmt.Sprintf(`"tail_ratio":"%d",`, tab.TailRatio())
	if !strings.Contains(text, field) {
		t.Fatalf("no %s in %s", field, text)
	}
	back, err := Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if back.TailRatio() != tab.TailRatio() {
		t.Errorf("read back: tail ratio = %d, want %d", back.TailRatio(), tab.TailRatio())
	}
	if _, err := back.Verify(); err != nil {
		t.Errorf("read back: %v", err)
	}
	for name, bad := range map[string]string{
		"zero":     `"tail_ratio":"0",`,
		"number":   `"tail_ratio":1,`,
		"negative": `"tail_ratio":"-1",`,
		"too much": `"tail_ratio":"18446744073709551616",`,
		"sign":     `"tail_ratio":"+7",`,
		"twice":    field + field,
		"null":     `"tail_ratio":null,`,
	} {
		if _, err := Decode(strings.NewReader(strings.Replace(text, field, bad, 1))); !errors.Is(err, proof.ErrFormat) {
			t.Errorf("%s: %v, want proof.ErrFormat", name, err)
		}
	}
	// Left out, the table is well-formed and not private.
	cut, err := Decode(strings.NewReader(strings.Replace(text, field, "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cut.Verify(); !errors.Is(err, proof.ErrNotPrivate) {
		t.Errorf("without its tail: %v, want proof.ErrNotPrivate", err)
	}
}
