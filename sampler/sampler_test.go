// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/tables"
)

// script is entropy given in advance; it fails when it is used up.
type script struct {
	words []uint64
	bytes []byte
}

func newScript(words []uint64) *script {
	s := &script{words: words}
	for _, w := range words {
		s.bytes = binary.LittleEndian.AppendUint64(s.bytes, w)
	}
	return s
}

var errUsedUp = errors.New("script is used up")

func (s *script) Read(p []byte) (int, error) {
	if len(s.bytes) == 0 {
		return 0, errUsedUp
	}
	n := copy(p, s.bytes)
	s.bytes = s.bytes[n:]
	return n, nil
}

// hardWords are words chosen to meet every case: edges of the table, position
// words that are discarded, several in a row too, at every place in a block.
func hardWords(t *tables.Table, blocks int, rng *rand.Rand) []uint64 {
	l := newLaw(t, false)
	words := make([]uint64, blocks*blockWords)
	for i := range words {
		switch rng.IntN(40) {
		case 0:
			words[i] = 0 // as a position word discarded, unless S = 1
		case 1:
			words[i] = l.last[rng.IntN(len(l.last))] + rng.Uint64N(3) - 1
		case 2:
			words[i] = math.MaxUint64
		default:
			words[i] = rng.Uint64()
		}
	}
	return words
}

// TestDrawsFollowModel compares long sequences of draws with the rule restated
// in big integers, for words with many discarded among them, in both modes and
// with the calls mixed at random.
func TestDrawsFollowModel(t *testing.T) {
	for name, tab := range smallTables(t) {
		for mode, prepare := range modes() {
			t.Run(name+"/"+mode, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(5, 6))
				words := hardWords(tab, 12, rng)
				s := sampling(t, tab, Options{Entropy: newScript(words)})
				prepare(s)
				m := newModel(tab)
				left := words
				for drawn := 0; len(left) > 3*blockWords; {
					got := mixedDraws(t, s, rng)
					for i, n := range got {
						var want int64
						if want, left = m.draw(left); n != want {
							t.Fatalf("draw %d = %d, want %d", drawn+i, n, want)
						}
					}
					drawn += len(got)
				}
			})
		}
	}
}

// mixedDraws makes some draws by a randomly chosen call.
func mixedDraws(t *testing.T, s *Noise, rng *rand.Rand) []int64 {
	t.Helper()
	var got []int64
	var err error
	switch rng.IntN(5) {
	case 0:
		got = make([]int64, 1)
		got[0], err = s.SampleInt()
	case 1:
		got = make([]int64, rng.IntN(3*chunk))
		err = s.FillInt(got)
	case 2:
		x := make([]float64, rng.IntN(3*chunk))
		err = s.Fill(x)
		for _, x := range x {
			got = append(got, onGrid(t, s, x))
		}
	case 3:
		var x float64
		x, err = s.Sample()
		got = append(got, onGrid(t, s, x))
	case 4:
		var y float64
		y, err = s.AddNoise(3 * s.Step())
		got = append(got, onGrid(t, s, y)-3)
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// onGrid returns x/g, which must be an integer.
func onGrid(t *testing.T, s *Noise, x float64) int64 {
	t.Helper()
	n := x / s.Step()
	if n != math.Trunc(n) || math.Abs(n) > exact.MaxInteger {
		t.Fatalf("%g is not on the grid of step %g", x, s.Step())
	}
	return int64(n)
}

func TestModesDrawTheSame(t *testing.T) {
	for _, cells := range []int{3, 101, 999, 20001} {
		tab := laplaceTable(t, cells, 1, 0.01)
		want := make([]float64, 5000)
		fast := deterministic(t, tab, 1, Options{})
		constant := deterministic(t, tab, 1, Options{ConstantTime: true})
		if fast.ConstantTime() || !constant.ConstantTime() {
			t.Errorf("ConstantTime = %v and %v, want false and true", fast.ConstantTime(), constant.ConstantTime())
		}
		if err := fast.Fill(want); err != nil {
			t.Fatal(err)
		}
		for mode, prepare := range modes() {
			s := deterministic(t, tab, 1, Options{})
			prepare(s)
			got := make([]float64, len(want))
			if err := s.Fill(got); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d cells: the mode %s draws differently", cells, mode)
			}
		}
	}
}

func TestScales(t *testing.T) {
	for _, e := range []int{-900, -1, 0, 1, 900} {
		spec := laplaceSpec(t, 11, 1, 0)
		spec.Grid.GranularityExponent = e
		tab, err := tables.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		ints, floats := deterministic(t, tab, 2, Options{}), deterministic(t, tab, 2, Options{})
		for range 1000 {
			n, err := ints.SampleInt()
			x, err2 := floats.Sample()
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			if want := math.Ldexp(float64(n), e); x != want || math.Signbit(x) != (n < 0) {
				t.Fatalf("e=%d: Sample = %g, want %g", e, x, want)
			}
		}
	}
}

// TestNewInvalid: without a proof there is nothing to draw from.
func TestNewInvalid(t *testing.T) {
	for _, none := range []*tables.Verified{nil, {}} {
		_, err1 := NewNoise(none, Options{})
		_, err2 := NewNoise(none, Options{Entropy: Deterministic([32]byte{})})
		err3 := WriteExport(io.Discard, none, [32]byte{}, 1)
		for i, err := range []error{err1, err2, err3} {
			if !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("case %d: %v, want ErrInvalid", i+1, err)
			}
		}
	}
	tab := laplaceTable(t, 5, 1, 0)
	if s, err := NewNoise(verified(t, tab), Options{}); err != nil || *s.Table() != *tab {
		t.Errorf("New of a private table: %v", err)
	}
}

// TestEntropyFailure lets the reader fail at many places. Nothing is released:
// every value is 0, every slice cleared, and the next call tries again.
func TestEntropyFailure(t *testing.T) {
	tab := laplaceTable(t, 101, 5, 0)
	words := make([]uint64, 4*blockWords)
	for i := range words {
		words[i] = 1<<63 + uint64(i)*0x9e3779b97f4a7c15
	}
	for _, bytes := range []int{0, 1, 8191, 8192, 8193, 2*8192 - 1, 3*8192 + 5} {
		for _, constantTime := range []bool{false, true} {
			fresh := func() *Noise {
				src := newScript(words)
				src.bytes = src.bytes[:bytes]
				s := sampling(t, tab, Options{ConstantTime: constantTime, Entropy: src})
				return s
			}
			draws := bytes / blockBytes * blockWords / 2 // made before the failure

			s := fresh()
			dst := make([]float64, draws+1)
			ints := make([]int64, draws+1)
			for i := range dst {
				dst[i], ints[i] = 1, 1
			}
			if err := s.Fill(dst); !errors.Is(err, ErrEntropy) {
				t.Fatalf("%d bytes: Fill: %v, want ErrEntropy", bytes, err)
			}
			if err := fresh().FillInt(ints); !errors.Is(err, ErrEntropy) {
				t.Fatalf("%d bytes: FillInt: %v, want ErrEntropy", bytes, err)
			}
			for i := range dst {
				if dst[i] != 0 || ints[i] != 0 {
					t.Fatalf("%d bytes: after a failure dst[%d] = %g and %d, want 0", bytes, i, dst[i], ints[i])
				}
			}
			checkWiped(t, s)

			s = fresh()
			for i := range draws {
				if _, err := s.Sample(); err != nil {
					t.Fatalf("%d bytes: draw %d of %d: %v", bytes, i, draws, err)
				}
			}
			for range 3 {
				x, err := s.Sample()
				n, err2 := s.SampleInt()
				y, err3 := s.AddNoise(12345)
				if !errors.Is(err, ErrEntropy) || !errors.Is(err2, ErrEntropy) || !errors.Is(err3, ErrEntropy) {
					t.Fatalf("%d bytes: %v, %v, %v, want ErrEntropy", bytes, err, err2, err3)
				}
				if x != 0 || n != 0 || y != 0 {
					t.Fatalf("%d bytes: a failure released %g, %d, %g", bytes, x, n, y)
				}
			}
			s.gen.(*readerGenerator).r = newScript(words)
			if _, err := s.Sample(); err != nil {
				t.Fatalf("%d bytes: with entropy back: %v", bytes, err)
			}
		}
	}
}

// TestEntropyFailureInTheMiddle fails after a discarded word at the end of a
// block, where a draw goes on in the next.
func TestEntropyFailureInTheMiddle(t *testing.T) {
	tab := weightsTable(t, 3, 0, 0, 1<<63, 1<<63)
	words := make([]uint64, blockWords)
	for i := range words {
		words[i] = math.MaxUint64
	}
	words[blockWords-1] = 0 // discarded
	for _, constantTime := range []bool{false, true} {
		s := sampling(t, tab, Options{ConstantTime: constantTime, Entropy: newScript(words)})
		dst := make([]float64, blockWords/2)
		if err := s.Fill(dst); !errors.Is(err, ErrEntropy) || !errors.Is(err, errUsedUp) {
			t.Fatalf("Fill: %v, want ErrEntropy and the reader's error", err)
		}
		if slices.ContainsFunc(dst, func(x float64) bool { return x != 0 }) {
			t.Error("a failure left draws in dst")
		}
		checkWiped(t, s)
	}
}

// checkWiped checks that what is used is erased.
func checkWiped(t *testing.T, s *Noise) {
	t.Helper()
	for i, w := range s.words[:s.pos] {
		if w != 0 {
			t.Fatalf("used byte %d of %d is %#x, want it wiped", i, s.pos, w)
		}
	}
	for i, n := range s.ready[:chunk-s.left] {
		if n != 0 {
			t.Fatalf("returned draw %d is %d, want it wiped", i, n)
		}
	}
}

func TestUsedWordsAreWiped(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, tab := range smallTables(t) {
		s := sampling(t, tab, Options{Entropy: newScript(hardWords(tab, 40, rng))})
		for range 60 {
			mixedDraws(t, s, rng)
			checkWiped(t, s)
		}
	}
}

func TestForks(t *testing.T) {
	tab := laplaceTable(t, 1001, 50, 0)
	draws := func(s *Noise) []int64 {
		t.Helper()
		d := make([]int64, 64)
		if err := s.FillInt(d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	fork := func(s *Noise) *Noise {
		t.Helper()
		f, err := s.Fork()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	// Deterministic forks repeat, whatever was drawn before, and differ.
	a, b := deterministic(t, tab, 9, Options{ConstantTime: true}), deterministic(t, tab, 9, Options{})
	first := draws(b)
	a0, a1, b0, b1 := draws(fork(a)), draws(fork(a)), draws(fork(b)), draws(fork(b))
	if !slices.Equal(a0, b0) || !slices.Equal(a1, b1) {
		t.Error("deterministic forks do not repeat")
	}
	if slices.Equal(a0, a1) || slices.Equal(a0, first) || slices.Equal(a1, first) {
		t.Error("deterministic forks are not different")
	}
	if !fork(a).ConstantTime() {
		t.Error("a fork has another mode")
	}
	// Random ones differ: 64 draws of 2^20 equally likely points or more.
	s, err := NewNoise(verified(t, tab), Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := fork(s)
	if slices.Equal(draws(s), draws(f)) {
		t.Error("a fork repeats the draws of its origin")
	}
	if *f.Table() != *tab || f.Generator() != s.Generator() {
		t.Error("a fork has another table or generator")
	}
	// A reader is shared.
	src := newScript(slices.Repeat([]uint64{math.MaxUint64}, 2*blockWords))
	r := sampling(t, tab, Options{Entropy: src})
	draws(r)
	draws(fork(r))
	if len(src.bytes) != 0 {
		t.Errorf("the reader has %d bytes left, want it shared by the fork", len(src.bytes))
	}
	g := &eraser{stream: aes256, system: newScript(nil)}
	if _, err := newNoise(tab, newLaw(tab, false), g).Fork(); !errors.Is(err, ErrEntropy) {
		t.Errorf("a fork without entropy: %v, want ErrEntropy", err)
	}
}

// TestConcurrentForks is for the race detector.
func TestConcurrentForks(t *testing.T) {
	s, err := NewNoise(verified(t, laplaceTable(t, 101, 5, 0.001)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		f, err := s.Fork()
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			dst := make([]float64, 1000)
			for range 50 {
				if err := f.Fill(dst); err != nil {
					t.Error(err)
				}
				if _, err := f.AddNoise(1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestAllocations: a draw allocates nothing, but for the one in 2,048 that needs a
// new key: that allocates the cipher, which is two objects for AES and one for
// ChaCha8. The deterministic stream and the caller's entropy have no new keys.
func TestAllocations(t *testing.T) {
	tab := verified(t, laplaceTable(t, 101, 5, 0.001))
	const drawsPerKey = keyBlocks * blockBytes / drawBytes
	dst, ints := make([]float64, drawsPerKey), make([]int64, drawsPerKey)
	for name, c := range map[string]struct {
		o      Options
		make   func(*tables.Verified, Options) (*Noise, error)
		perKey float64
	}{
		"fast":          {Options{}, NewNoise, 2},
		"constant time": {Options{ConstantTime: true}, NewNoise, 1},
		"entropy":       {Options{Entropy: newSystem()}, NewNoise, 0},
		"deterministic": {Options{Entropy: Deterministic([32]byte{1})}, NewNoise, 0},
	} {
		s, err := c.make(tab, c.o)
		if err != nil {
			t.Fatal(err)
		}
		single := func() {
			x, err := s.Sample()
			n, err2 := s.SampleInt()
			_, err3 := s.AddNoise(x + float64(n))
			if err := errors.Join(err, err2, err3); err != nil {
				t.Error(err)
			}
		}
		// 303 draws, of one key.
		if n := testing.AllocsPerRun(100, single); n != 0 {
			t.Errorf("%s: %g allocations per draw, want 0", name, n)
		}
		// The draws of two keys.
		if n := testing.AllocsPerRun(20, func() {
			if err := errors.Join(s.Fill(dst), s.FillInt(ints)); err != nil {
				t.Error(err)
			}
		}); n > 2*c.perKey {
			t.Errorf("%s: %g allocations per two keys, want at most %g", name, n, 2*c.perKey)
		}
	}
}

// A sampler that was not made by New has no noise to add, and says so.
func TestZeroSamplerPanics(t *testing.T) {
	for name, draw := range map[string]func(*Noise){
		"SampleInt": func(s *Noise) { _, _ = s.SampleInt() },
		"Sample":    func(s *Noise) { _, _ = s.Sample() },
		"AddNoise":  func(s *Noise) { _, _ = s.AddNoise(1) },
		"Fill":      func(s *Noise) { _ = s.Fill(make([]float64, 3)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of a zero Sampler did not panic", name)
				}
			}()
			draw(new(Noise))
		}()
	}
}
