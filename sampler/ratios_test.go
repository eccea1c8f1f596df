// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// BenchmarkRatios measures the goals themselves, so that they can be read on a
// busy machine: the contestants take turns in bursts of some ten microseconds,
// and each counts with its fastest burst.
func BenchmarkRatios(b *testing.B) {
	for _, cells := range benchCells {
		b.Run(fmt.Sprintf("cells=%d", cells), func(b *testing.B) {
			s := benchSampler(b, cells, false)
			g, err := newEraser("AES-256-CTR", aes256, crand.Reader)
			if err != nil {
				b.Fatal(err)
			}
			l := distuv.Laplace{Mu: 0, Scale: 1, Src: rand.NewChaCha8([32]byte{1})}
			var block [blockBytes]byte
			dst := make([]float64, 4*batch)
			var words, fill, sample, noisy, peer burst
			for b.Loop() {
				words.time(8*blockBytes/drawBytes, func() {
					for range 8 {
						_ = g.read(&block)
					}
				})
				fill.time(len(dst), func() { _ = s.Fill(dst) })
				sample.time(len(dst), func() {
					for i := range dst {
						dst[i], _ = s.Sample()
					}
				})
				noisy.time(len(dst), func() {
					for i := range dst {
						dst[i], _ = s.AddNoise(float64(i))
					}
				})
				peer.time(batch, func() {
					for i := range dst[:batch] {
						dst[i] = l.Rand()
					}
				})
			}
			b.ReportMetric(words.best, "ns/B16")
			b.ReportMetric(fill.best, "ns/fill")
			b.ReportMetric(sample.best, "ns/sample")
			b.ReportMetric(noisy.best, "ns/addnoise")
			b.ReportMetric(peer.best, "ns/gonum")
			b.ReportMetric(fill.best/words.best, "fill/B16")
			b.ReportMetric(sample.best/words.best, "sample/B16")
			b.ReportMetric(noisy.best/words.best, "addnoise/B16")
			b.ReportMetric(peer.best/fill.best, "gonum/fill")
		})
	}
	// Constant time, by each method, beside the fast mode.
	for _, cells := range []int{101, 2001, 10001} {
		for mode, prepare := range modes() {
			b.Run(fmt.Sprintf("modes/cells=%d/mode=%s", cells, mode), func(b *testing.B) {
				constantTime := mode != "fast"
				s, fast := benchSampler(b, cells, constantTime), benchSampler(b, cells, false)
				prepare(s)
				g := benchGenerator(b, constantTime)
				var block [blockBytes]byte
				dst := make([]float64, 4*batch) // of more than one key
				var words, fill, other burst
				for b.Loop() {
					words.time(8*blockBytes/drawBytes, func() {
						for range 8 {
							_ = g.read(&block)
						}
					})
					fill.time(len(dst), func() { _ = s.Fill(dst) })
					other.time(len(dst), func() { _ = fast.Fill(dst) })
				}
				b.ReportMetric(words.best, "ns/B16")
				b.ReportMetric(fill.best, "ns/fill")
				b.ReportMetric(fill.best/other.best, "fill/fast")
			})
		}
	}
	b.Run("goroutines", func(b *testing.B) {
		root := benchSampler(b, 2001, false)
		other, err := root.Fork()
		if err != nil {
			b.Fatal(err)
		}
		const draws = 1 << 18 // a millisecond, long beside waking a thread
		work := func(s *Noise) func() {
			dst := make([]float64, 4*batch)
			return func() {
				for range draws / len(dst) {
					_ = s.Fill(dst)
				}
			}
		}
		sums := make([]float64, 2)
		control := func(i int) func() { return func() { sums[i] += arithmetic(draws) } }
		one, two := work(root), work(other)
		var alone, both, controlAlone, controlBoth burst
		for b.Loop() {
			alone.time(draws, one)
			both.time(2*draws, func() { inParallel(one, two) })
			// What the machine gives to two goroutines that share nothing.
			controlAlone.time(draws, control(0))
			controlBoth.time(2*draws, func() { inParallel(control(0), control(1)) })
		}
		b.ReportMetric(alone.best/both.best, "speedup")
		b.ReportMetric(controlAlone.best/controlBoth.best, "possible")
	})
}

func inParallel(f, g func()) {
	var wg sync.WaitGroup
	wg.Go(g)
	f()
	wg.Wait()
}

// arithmetic is n steps of work without memory.
func arithmetic(n int) float64 {
	x := 1.0
	for range n {
		x = x*0.5 + 1
	}
	return x
}

// burst keeps the least time per draw, in ns.
type burst struct{ best float64 }

func (t *burst) time(draws int, run func()) {
	start := time.Now()
	run()
	ns := float64(time.Since(start).Nanoseconds()) / float64(draws)
	if t.best == 0 || ns < t.best {
		t.best = ns
	}
}
