// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The statistical tests draw from fixed seeds, so they pass or fail for good.
// Were the seeds fresh, each would fail by chance once in 10^9 runs. With
// statDraws draws and about 1,300 classes, the test of the cells sees a
// distribution whose probabilities are off by 1 % (root mean square, relative),
// which TestChiSquareSees checks.
const (
	falseAlarm = 1e-9
	statDraws  = 1 << 23
)

// chiSquare accumulates counts of classes with known probabilities.
type chiSquare struct {
	p      []float64
	counts []int
	total  int
}

// alarm returns the statistic and whether it is above the false-alarm threshold.
func (c *chiSquare) alarm() (stat, threshold float64, alarm bool) {
	df := float64(len(c.p) - 1)
	for i, p := range c.p {
		want := p * float64(c.total)
		d := float64(c.counts[i]) - want
		stat += d * d / want
	}
	threshold = distuv.ChiSquared{K: df}.Quantile(1 - falseAlarm)
	return stat, threshold, stat > threshold
}

// classes merges neighboring entries, in the order of the law, until each class
// has at least the probability least. It returns the class of each entry and the
// probability of each class.
func classes(l *law, least float64) (class []int, p []float64) {
	begin, sum := uint64(0), 0.0
	for _, last := range l.last {
		class = append(class, len(p))
		if last+1 != begin { // not a cell of weight 0
			sum += float64(last-begin)*0x1p-64 + 0x1p-64
			begin = last + 1
		}
		if sum >= least {
			p = append(p, sum)
			sum = 0
		}
	}
	if sum > 0 { // a light class at the end joins the one before
		for i, c := range class {
			class[i] = min(c, len(p)-1)
		}
		p[len(p)-1] += sum
	}
	return class, p
}

// cellOf returns the entry of a drawn point and its offset in the cell, for a
// table without an atom.
func cellOf(l *law, n int64) (entry, offset uint64) {
	at := uint64(n) - l.first
	return at / l.points, at % l.points
}

// statSamplers draw from the production generators with repeatable system
// entropy, and from the deterministic stream.
func statSamplers(tb testing.TB) map[string]*Noise {
	tb.Helper()
	if testing.Short() {
		tb.Skip("statistics take many draws")
	}
	tab := laplaceTable(tb, 2001, 150, 0)
	m := map[string]*Noise{"deterministic": deterministic(tb, tab, 21, Options{})}
	for name, c := range ciphers {
		g, err := newEraser(name, c.stream, newSystem())
		if err != nil {
			tb.Fatal(err)
		}
		m[name] = newNoise(tab, newLaw(tab, false), g)
	}
	return m
}

// eachDraw calls f with statDraws draws.
func eachDraw(tb testing.TB, s *Noise, f func(n int64)) {
	tb.Helper()
	dst := make([]int64, 4096)
	for range statDraws / len(dst) {
		if err := s.FillInt(dst); err != nil {
			tb.Fatal(err)
		}
		for _, n := range dst {
			f(n)
		}
	}
}

func TestCellsChiSquare(t *testing.T) {
	for name, s := range statSamplers(t) {
		t.Run(name, func(t *testing.T) {
			class, p := classes(s.law, 50.0/statDraws)
			c := chiSquare{p: p, counts: make([]int, len(p)), total: statDraws}
			eachDraw(t, s, func(n int64) {
				entry, _ := cellOf(s.law, n)
				c.counts[class[entry]]++
			})
			if stat, threshold, alarm := c.alarm(); alarm {
				t.Errorf("χ² = %.0f over %d classes, want at most %.0f", stat, len(p), threshold)
			}
		})
	}
}

// TestChiSquareSees is the test of the test: probabilities off by 1 % are seen.
func TestChiSquareSees(t *testing.T) {
	s := statSamplers(t)["deterministic"]
	class, p := classes(s.law, 50.0/statDraws)
	sum := 0.0
	for i := range p {
		p[i] *= 1 + 0.01*float64(i%2*2-1)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	c := chiSquare{p: p, counts: make([]int, len(p)), total: statDraws}
	eachDraw(t, s, func(n int64) {
		entry, _ := cellOf(s.law, n)
		c.counts[class[entry]]++
	})
	stat, threshold, alarm := c.alarm()
	if !alarm {
		t.Errorf("χ² = %.0f over %d classes, want more than %.0f", stat, len(p), threshold)
	}
	t.Logf("χ² = %.0f over %d classes, threshold %.0f", stat, len(p), threshold)
}

// TestOffsetsChiSquare tests cell and offset in it jointly: about 40 groups of
// cells by all offsets, as independent and the offsets uniform.
func TestOffsetsChiSquare(t *testing.T) {
	for name, s := range statSamplers(t) {
		t.Run(name, func(t *testing.T) {
			class, groups := classes(s.law, 1.0/40)
			size := int(s.points)
			c := chiSquare{counts: make([]int, len(groups)*size), total: statDraws}
			for _, p := range groups {
				for range size {
					c.p = append(c.p, p/float64(size))
				}
			}
			eachDraw(t, s, func(n int64) {
				entry, offset := cellOf(s.law, n)
				c.counts[class[entry]*size+int(offset)]++
			})
			if stat, threshold, alarm := c.alarm(); alarm {
				t.Errorf("χ² = %.0f over %d classes, want at most %.0f", stat, len(c.p), threshold)
			}
		})
	}
}

// TestPairsChiSquare tests that a draw is independent of the one before.
func TestPairsChiSquare(t *testing.T) {
	for name, s := range statSamplers(t) {
		t.Run(name, func(t *testing.T) {
			class, groups := classes(s.law, 1.0/40)
			c := chiSquare{counts: make([]int, len(groups)*len(groups)), total: statDraws / 2}
			for _, p := range groups {
				for _, q := range groups {
					c.p = append(c.p, p*q)
				}
			}
			before, odd := 0, false
			eachDraw(t, s, func(n int64) {
				entry, _ := cellOf(s.law, n)
				if odd {
					c.counts[before*len(groups)+class[entry]]++
				}
				before, odd = class[entry], !odd
			})
			if stat, threshold, alarm := c.alarm(); alarm {
				t.Errorf("χ² = %.0f over %d classes, want at most %.0f", stat, len(c.p), threshold)
			}
		})
	}
}

// TestAtomChiSquare tests the atom of a table against its neighborhood: the
// point 0 has the atom's weight and its share of the middle cell.
func TestAtomChiSquare(t *testing.T) {
	tab := laplaceTable(t, 101, 50, 0.05)
	s := deterministic(t, tab, 22, Options{})
	middle := float64(tab.Weight(50)) * 0x1p-64
	p0 := float64(tab.Atom())*0x1p-64 + middle/float64(s.points)
	near := middle * float64(s.points-1) / float64(s.points)
	c := chiSquare{p: []float64{p0, near, 1 - p0 - near}, counts: make([]int, 3), total: statDraws}
	half := tab.Grid().PointsPerCell / 2
	eachDraw(t, s, func(n int64) {
		switch {
		case n == 0:
			c.counts[0]++
		case -half <= n && n <= half:
			c.counts[1]++
		default:
			c.counts[2]++
		}
	})
	if stat, threshold, alarm := c.alarm(); alarm {
		t.Errorf("χ² = %.1f, want at most %.1f; counts %v of %v", stat, threshold, c.counts, c.p)
	}
}
