// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	crand "crypto/rand"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The goals of the sampler are ratios within one run of
//
//	go test -run '^$' -bench . ./sampler
//
// of the metric ns/draw: to Words, which only makes the 16 bytes that a draw
// takes, and to the peers. One op is a batch of draws.

// batch is large enough that starting and stopping cost nothing, and small
// enough for the first level cache.
const batch = 1024

// benchCells are the table sizes measured in fast mode.
var benchCells = []int{101, 2001, 10001}

// benchGenerator returns the generator of a mode.
func benchGenerator(b *testing.B, constantTime bool) generator {
	b.Helper()
	g, err := newGenerator(constantTime)
	if err != nil {
		b.Fatal(err)
	}
	return g
}

func benchSampler(b *testing.B, cells int, constantTime bool) *Noise {
	b.Helper()
	t := laplaceTable(b, cells, 50, 0)
	return newNoise(t, newLaw(t, constantTime), benchGenerator(b, constantTime))
}

// perDraw reports the time per draw when each op was n draws.
func perDraw(b *testing.B, n int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/draw")
}

// eachCase runs a benchmark for all sizes in fast mode, and for small ones in
// constant time.
func eachCase(b *testing.B, run func(b *testing.B, s *Noise)) {
	b.Helper()
	for _, cells := range benchCells {
		b.Run(fmt.Sprintf("mode=fast/cells=%d", cells), func(b *testing.B) {
			run(b, benchSampler(b, cells, false))
		})
	}
	for _, cells := range []int{101, 257, 2001} {
		b.Run(fmt.Sprintf("mode=constant/cells=%d", cells), func(b *testing.B) {
			run(b, benchSampler(b, cells, true))
		})
	}
}

func BenchmarkWords(b *testing.B) {
	for _, mode := range []string{"fast", "constant"} {
		b.Run("mode="+mode, func(b *testing.B) {
			b.ReportAllocs()
			g := benchGenerator(b, mode == "constant")
			var block [blockBytes]byte
			for b.Loop() {
				if err := g.read(&block); err != nil {
					b.Fatal(err)
				}
			}
			perDraw(b, blockBytes/drawBytes)
		})
	}
}

func BenchmarkFill(b *testing.B) {
	eachCase(b, func(b *testing.B, s *Noise) {
		b.ReportAllocs()
		dst := make([]float64, batch)
		for b.Loop() {
			if err := s.Fill(dst); err != nil {
				b.Fatal(err)
			}
		}
		perDraw(b, batch)
	})
}

func BenchmarkSample(b *testing.B) {
	eachCase(b, func(b *testing.B, s *Noise) {
		b.ReportAllocs()
		for b.Loop() {
			for range batch {
				if _, err := s.Sample(); err != nil {
					b.Fatal(err)
				}
			}
		}
		perDraw(b, batch)
	})
}

func BenchmarkAddNoise(b *testing.B) {
	eachCase(b, func(b *testing.B, s *Noise) {
		b.ReportAllocs()
		x := 0.3
		for b.Loop() {
			for range batch {
				if _, err := s.AddNoise(x); err != nil {
					b.Fatal(err)
				}
				x += 0.7
			}
		}
		perDraw(b, batch)
	})
}

// BenchmarkGoroutines fills on one and on two goroutines, each with its own
// fork; ns/draw is wall-clock time over all draws. On two free cores two take
// at most 1/1.8 of the time of one.
func BenchmarkGoroutines(b *testing.B) {
	for _, n := range []int{1, 2} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			root := benchSampler(b, 2001, false)
			forks := make([]*Noise, n)
			for i := range forks {
				var err error
				if forks[i], err = root.Fork(); err != nil {
					b.Fatal(err)
				}
			}
			const rounds = 256
			for b.Loop() {
				var wg sync.WaitGroup
				for _, s := range forks {
					wg.Go(func() {
						dst := make([]float64, batch)
						for range rounds {
							if err := s.Fill(dst); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
			}
			perDraw(b, batch*rounds*n)
		})
	}
}

// BenchmarkPeers draws Laplace noise the two usual ways: gonum's with ChaCha8,
// and the logarithm of one read of crypto/rand per draw. Neither is on a grid,
// and neither is private in floating point (Mironov 2012).
func BenchmarkPeers(b *testing.B) {
	b.Run("gonum-laplace-chacha8", func(b *testing.B) {
		b.ReportAllocs()
		l := distuv.Laplace{Mu: 0, Scale: 1, Src: rand.NewChaCha8([32]byte{1})}
		for b.Loop() {
			for range batch {
				_ = l.Rand()
			}
		}
		perDraw(b, batch)
	})
	b.Run("laplace-crypto-rand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for range batch {
				_ = cryptoLaplace()
			}
		}
		perDraw(b, batch)
	})
}

func cryptoLaplace() float64 {
	var word [8]byte
	_, _ = crand.Read(word[:]) // documented never to fail
	w := binary.LittleEndian.Uint64(word[:])
	x := -math.Log(float64(w>>11+1) * 0x1p-53)
	if w&1 == 0 {
		return -x
	}
	return x
}
