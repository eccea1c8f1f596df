// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// testKernel has unequal cells and rows with weights of 0 at the start, in the
// middle and at the end. It is not private.
func testKernel(tb testing.TB) *kernels.Kernel {
	tb.Helper()
	const q = 1 << 62
	k, err := kernels.New(tb.Context(), kernels.Spec{
		Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1},
		Queries: kernels.Queries{Lower: -1, Upper: 2},
		Loss:    loss.L1,
		Edges:   []float64{-1, -0.5, 0, 1, 2},
		Nodes:   []float64{-1, -0.3, 0.1, 2},
		Rows: [][]uint64{
			{2 * q, q, 0, q},
			{0, q / 2, 3*q + q/2, 0},
			{q, q, q, q},
			{0, 0, q + 12345, 3*q - 12345},
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// TestKernelChiSquare compares the answers with the exact law of the certificate
// inside the cells and at their edges: 10 tests, each with a false-alarm rate
// of 1e-9, and seeds that do not change.
func TestKernelChiSquare(t *testing.T) {
	k := testKernel(t)
	const draws = 1 << 18
	for n, x := range []float64{-1, -0.9, -0.5, -0.3, math.Nextafter(0, -1), 0, 0.1, 1, 1.9, 2} {
		s := seeded(k, byte(n))
		i, _ := k.CellOf(x)
		c := chiSquare{total: draws}
		class := make([]int, k.Cells())
		for j := range class {
			p := float64(k.Weight(i, j)) * 0x1p-64
			class[j] = -1
			if p > 0 {
				class[j] = len(c.p)
				c.p = append(c.p, p)
			}
		}
		c.counts = make([]int, len(c.p))
		for range draws {
			j, err := s.index(x)
			if err != nil {
				t.Fatal(err)
			}
			if class[j] < 0 {
				t.Fatalf("x = %g: output %d has weight 0", x, j)
			}
			c.counts[class[j]]++
		}
		if stat, threshold, alarm := c.alarm(); alarm {
			t.Errorf("x = %g: χ² = %.1f, want at most %.1f; counts %v of %v", x, stat, threshold, c.counts, c.p)
		}
	}
}

// TestKernelExhaustive: at both ends of every run of words the answer is the node
// that owns it, and the runs are as long as the weights.
func TestKernelExhaustive(t *testing.T) {
	k := testKernel(t)
	laws := newRowLaws(k)
	for i := range k.Cells() {
		var start uint64
		for j := range k.Cells() {
			w := k.Weight(i, j)
			if w == 0 {
				continue
			}
			for _, u := range []uint64{start, start + w/2, start + (w - 1)} {
				if got := laws[i].draw(u); got != j {
					t.Errorf("cell %d, word %d: node %d, want %d", i, u, got, j)
				}
			}
			start += w
		}
		if start != 0 {
			t.Errorf("cell %d: %d words have no owner", i, -start)
		}
	}
}

// TestKernelEdges: a cell holds its lower edge and not its upper one; the last one
// holds both.
func TestKernelEdges(t *testing.T) {
	k := testKernel(t)
	for x, want := range map[float64]int{-1: 0, math.Nextafter(-0.5, -1): 0, -0.5: 1, 0: 2, math.Nextafter(1, 0): 2, 1: 3, 2: 3} {
		if i, ok := k.CellOf(x); !ok || i != want {
			t.Errorf("CellOf(%g) = %d, %v, want %d", x, i, ok, want)
		}
	}
}

func TestKernelReleaseRefuses(t *testing.T) {
	k := testKernel(t)
	s := seeded(k, 1)
	for _, x := range []float64{-1.25, 2.0000001, math.NaN(), math.Inf(1), math.Inf(-1)} {
		y, err := s.number(x)
		if !errors.Is(err, dp.ErrInvalid) || y != 0 {
			t.Errorf("Release(%g) = %g, %v", x, y, err)
		} else if strings.Contains(err.Error(), fmt.Sprint(x)) {
			t.Errorf("the error quotes the query value: %v", err)
		}
	}
	broken := answersOf(k, &readerGenerator{r: strings.NewReader("short")})
	if y, err := broken.number(0); !errors.Is(err, ErrEntropy) || y != 0 {
		t.Errorf("without entropy: %g, %v", y, err)
	}
}

// TestNewKernel: without a proof there is nothing to draw from.
func TestNewKernel(t *testing.T) {
	if v, err := testKernel(t).Verify(); v != nil || !errors.Is(err, proof.ErrNotPrivate) {
		t.Errorf("a kernel that is not private: %v, %v", v, err)
	}
	const q = 1 << 62
	k, err := kernels.New(t.Context(), kernels.Spec{
		Privacy: dp.Privacy{Epsilon: 1.1, Sensitivity: 1}, Queries: kernels.Queries{Lower: 0, Upper: 2}, Loss: loss.L1,
		Edges: []float64{0, 1, 2}, Nodes: []float64{0, 1}, Rows: [][]uint64{{3 * q, q}, {q, 3 * q}},
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := k.Verify()
	if err != nil {
		t.Fatal(err)
	}
	if s, err := New(v, Options{}); err != nil || *s.Mechanism().(*kernels.Kernel) != *k {
		t.Errorf("a private kernel: %v", err)
	}
	for _, none := range []*kernels.Verified{nil, {}} {
		_, err1 := New(none, Options{})
		_, err2 := New(none, Options{Entropy: Deterministic([32]byte{})})
		if !errors.Is(err1, dp.ErrInvalid) || !errors.Is(err2, dp.ErrInvalid) {
			t.Errorf("no kernel: %v and %v, want ErrInvalid", err1, err2)
		}
	}
}

// TestKernelForks: forks of a deterministic sampler repeat, and differ.
func TestKernelForks(t *testing.T) {
	k := testKernel(t)
	draws := func(s Sampler) string {
		var b strings.Builder
		for range 100 {
			y, err := numberOf(s, 0.7)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(&b, y, " ")
		}
		return b.String()
	}
	fork := func() (string, string) {
		s := seeded(k, 7)
		a, err := s.Fork()
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Fork()
		if err != nil {
			t.Fatal(err)
		}
		return draws(a), draws(b)
	}
	a1, b1 := fork()
	a2, b2 := fork()
	if a1 != a2 || b1 != b2 || a1 == b1 {
		t.Error("forks do not repeat, or do not differ")
	}
}

// TestKernelWipes: used words are erased.
func TestKernelWipes(t *testing.T) {
	s := seeded(testKernel(t), 9)
	for range 3000 {
		if _, err := s.number(0.5); err != nil {
			t.Fatal(err)
		}
		for i, w := range s.reader.words[:s.reader.pos] {
			if w != 0 {
				t.Fatalf("used word %d is still there", i)
			}
		}
	}
}

func BenchmarkKernelRelease(b *testing.B) {
	s := seeded(testKernel(b), 1)
	for b.Loop() {
		if _, err := s.number(0.7); err != nil {
			b.Fatal(err)
		}
	}
}
