// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/tables"
)

// Options chooses how to draw. The zero value is fast and has its own cryptographic generator.
type Options struct {
	// ConstantTime makes the time of a draw, and the memory it touches, independent of the value
	// drawn, by reading the whole table for every draw. At 2,000 cells that costs 1.7 times as much
	// as without where the processor has AVX-512, 6 times with AVX2, some 90 times elsewhere. Draws
	// are made 256 at a time, so the first of them takes 256 times as long. They are the same
	// either way, from the same words, unless the table has a tail. A tail takes 44/epsilon words,
	// of 1 to 8 ns, more for every draw.
	ConstantTime bool
	// Entropy, if not nil, replaces the generator: every random bit is read from it, 8192 bytes at
	// a time, as little-endian words. It must be uniform, unpredictable and never repeated. Forks
	// read from it too, so it must be safe for concurrent use if they are used concurrently.
	// Deterministic is one for tests.
	//
	// nil means a generator with fast key erasure seeded, and refreshed at times, from crypto/rand:
	// ChaCha8 with ConstantTime, as it takes constant time on every processor, and where the processor has AVX-512; else
	// AES-256-CTR.
	Entropy io.Reader
}

// Noise draws noise from one table. A Noise is not safe for concurrent use; give each goroutine its
// own by Fork, which shares the table. It must not be copied: a copy would draw the same noise.
//
// Guarantee (docs/proofs/sampling.md): if the words of the generator are independent and uniform,
// draws are independent and follow the integer weights of the table exactly: the point n of cell j
// has probability Weight/(2^64·PointsPerCell), the point 0 the atom's probability beside. A tail is
// drawn without truncation; see tables.Spec.
//
// The sequence of draws is a function of the words alone. It does not depend on the mode, nor on
// how the calls Sample, SampleInt, Fill, FillInt and AddNoise are mixed; but rounding to a lattice
// takes words of its own, and with a tail the modes take different numbers of words.
type Noise struct {
	_ noCopy
	*law
	table *tables.Table
	step  float64 // exact
	back  float64 // 1/step, exact unless the query is a lattice's
	limit int64   // largest |n_x| whose sum with any noise is a float64

	// Draws made but not returned. One call makes a chunk of them, so that the calls that return
	// one draw cost little more than Fill. There are none for a tail, whose draws may be too large.
	ready [chunk]int64
	left  uint // ready[:chunk-left] are returned, and zero; 0 in a Noise not made by New, which panics

	gen   generator
	pos   int // words[:pos] are used
	wiped int // words[:wiped] are zero
	words [chunk*drawBytes + blockBytes]byte
}

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// NewNoise returns a Noise of a table that was proved to keep its promise; there is no other
// way to one that is fit for release.
//
// The error wraps dp.ErrInvalid if there is no table, and ErrEntropy if none can be seeded.
func NewNoise(v *tables.Verified, o Options) (*Noise, error) {
	t, err := tableOf(v)
	if err != nil {
		return nil, err
	}
	g, err := o.generator()
	if err != nil {
		return nil, err
	}
	return newNoise(t, newLaw(t, o.ConstantTime), g), nil
}

// tableOf returns the table of a proof. That the type cannot be made elsewhere keeps other
// tables out; its zero value holds none.
func tableOf(v *tables.Verified) (*tables.Table, error) {
	t := v.Mechanism()
	if t == nil {
		return nil, check.Field("sampler", "table", "none", "one that tables.Table.Verify has proved")
	}
	return t, nil
}

// generator returns the source of randomness the options ask for.
func (o Options) generator() (generator, error) {
	switch r := o.Entropy.(type) {
	case nil:
		return newGenerator(o.ConstantTime)
	case *fixedGenerator:
		return newFixedGenerator(r.seed), nil
	default:
		return &readerGenerator{r: r}, nil
	}
}

func newNoise(t *tables.Table, l *law, g generator) *Noise {
	step, _ := t.Grid().Step().Float64() // exact: a unit or a power of two
	s := &Noise{
		law:   l,
		table: t,
		step:  step,
		back:  1 / step,
		limit: exact.MaxInteger - t.Reach(),
		gen:   g,
	}
	s.pos, s.wiped = len(s.words), len(s.words)
	return s
}

// Fork returns a Noise of the same table and mode for another goroutine. It shares immutable tables
// and has its own generator, freshly seeded from crypto/rand; or it reads the same Options.Entropy;
// or, if s is deterministic, it is too (see Deterministic). The error wraps ErrEntropy.
//
// Fork is a use of s, not to be concurrent with others.
func (s *Noise) Fork() (*Noise, error) {
	g, err := s.gen.fork()
	if err != nil {
		return nil, err
	}
	return newNoise(s.table, s.law, g), nil
}

// Table returns the table drawn from.
func (s *Noise) Table() *tables.Table {
	t := *s.table // what is assigned to it does not matter here
	return &t
}

// ConstantTime reports whether draws take constant time.
func (s *Noise) ConstantTime() bool { return s.fixed() }

// Generator describes the source of randomness, for logs.
func (s *Noise) Generator() string { return s.gen.name() }

// Step returns the distance of neighboring grid points, in the query's units: the granularity
// 2^GranularityExponent, 1 for an integer query, or the unit of a lattice.
func (s *Noise) Step() float64 { return s.step }

// SampleInt returns one draw as a grid point n; the noise is n·Step.
// The error wraps ErrEntropy or, for a tail, ErrOverflow, and the draw is then 0.
func (s *Noise) SampleInt() (int64, error) {
	if s.left != 0 {
		i := uint8(-s.left) // chunk - left, of a chunk of 256
		n := s.ready[i]
		s.ready[i] = 0
		s.left--
		return n, nil
	}
	n, err := s.sample()
	if n > exact.MaxInteger || n < -exact.MaxInteger {
		return 0, overflowError()
	}
	return n, err
}

// sample is SampleInt for draws of any size; see tail.
func (s *Noise) sample() (int64, error) {
	if s.tail.ratio != 0 {
		n, err := s.one()
		s.wipe()
		return n, err
	}
	if s.left == 0 {
		if err := s.refill(); err != nil {
			return 0, err
		}
	}
	i := chunk - s.left
	n := s.ready[i%chunk]
	s.ready[i%chunk] = 0
	s.left--
	return n, nil
}

// Sample is a draw of the noise, in the query's units, exactly. The errors are those of SampleInt.
func (s *Noise) Sample() (float64, error) {
	n, err := s.SampleInt()
	return float64(n) * s.step, err
}

// Fill fills dst with independent draws of the noise, in the query's units, exactly. The error
// wraps ErrEntropy or, for a tail, ErrOverflow, and dst is then zero.
func (s *Noise) Fill(dst []float64) error { return fill(s, dst, s.step) }

// FillInt is Fill for grid points n; the noise is n·Step.
func (s *Noise) FillInt(dst []int64) error { return fill(s, dst, 1) }

// AddNoise returns x, rounded to the grid, plus a draw. With g the Step and n the draw:
//
//   - for a real query (⌊x/g + 1/2⌋ + n)·g, halves being rounded up, exactly;
//   - for an integer query x + n, exactly; x has to be an integer;
//   - for a lattice query (⌊x/g + u⌋ + n)·g with u uniform on [0, 1), exactly up
//     to the final product, which is rounded to the nearest float64. The rounding
//     of x is unbiased: ⌊x/g + u⌋·g is x on average. AddNoiseSteps returns the
//     integer.
//
// Guarantee (docs/proofs/rounding.md, lattice.md): over all x it accepts, the
// result is (epsilon, delta)-differentially private as the table promises, if
// neighboring values of x, as float64s, differ by at most its sensitivity.
//
// The error wraps dp.ErrInvalid if x is NaN, or not an integer where it has to be, or so large that
// the sum might not be a float64, which is when the magnitude of the rounded x, in steps, and Reach
// sum to more than 2^53. That is decided before anything is drawn, from x and the table alone; the
// caller who cannot exclude it has to clamp x, because an error, although it does not quote x, says
// that x was too large. The error wraps ErrEntropy if there is no randomness, and ErrOverflow if
// the noise of a tail makes the sum too large. The result is then 0.
func (s *Noise) AddNoise(x float64) (float64, error) {
	n, err := s.AddNoiseSteps(x)
	return float64(n) * s.step, err
}

// AddNoiseSteps is AddNoise for callers that send or store few bits: it returns
// the integer of which AddNoise returns the multiple of Step.
func (s *Noise) AddNoiseSteps(x float64) (int64, error) {
	var nx int64
	ok := true
	switch s.table.Query() {
	case dp.LatticeQuery:
		var err error
		nx, ok, err = s.roundAtRandom(x)
		s.wipe()
		if err != nil {
			return 0, err
		}
	case dp.IntegerQuery:
		if x != math.Trunc(x) {
			return 0, check.Errorf("sampler", dp.ErrInvalid, "x is not an integer, want one for an integer query")
		}
		fallthrough
	default:
		nx, ok = exact.RoundToGrid(x, s.back, s.limit)
	}
	if !ok {
		return 0, s.rangeError()
	}
	return s.add(nx)
}

// AddNoiseInt returns x plus one draw of the noise of an integer query's table. The errors are
// those of AddNoise; it wraps dp.ErrInvalid too if the table is for another kind of query.
func (s *Noise) AddNoiseInt(x int64) (int64, error) {
	if q := s.table.Query(); q != dp.IntegerQuery {
		return 0, check.Errorf("sampler", dp.ErrInvalid, "table = one for a query of kind %s, want one for an integer query", q)
	}
	if x < -s.limit || x > s.limit {
		return 0, s.rangeError()
	}
	return s.add(x)
}

// add returns nx plus a draw.
func (s *Noise) add(nx int64) (int64, error) {
	var n int64
	if s.left != 0 { // as in SampleInt; a call takes as long as all of this
		i := uint8(-s.left)
		n = s.ready[i]
		s.ready[i] = 0
		s.left--
	} else {
		var err error
		if n, err = s.sample(); err != nil {
			return 0, err
		}
	}
	if n += nx; n > exact.MaxInteger || n < -exact.MaxInteger {
		return 0, overflowError()
	}
	return n, nil
}

func overflowError() error {
	return check.Errorf("sampler", ErrOverflow, "result = beyond 2^53 steps, want fewer")
}

// rangeError does not say what x is: it is the private value itself, and errors end up in logs.
func (s *Noise) rangeError() error {
	return check.Errorf("sampler", dp.ErrInvalid, "x is not a number or too large, want a magnitude of at most %g (%d steps of %g)", float64(s.limit)*s.step, s.limit, s.step)
}

// refill makes the next chunk of ready draws. On error there are none.
func (s *Noise) refill() error {
	err := fillChunk(s, &s.ready, 1)
	s.wipe()
	if err == nil {
		s.left = chunk
	}
	return err
}

// fill writes draws times scale to dst: those that are ready first, so that
// draws are returned in the order in which they are made.
func fill[T number](s *Noise, dst []T, scale T) error {
	if s.tail.ratio != 0 { // every draw may overflow
		for i := range dst {
			n, err := s.SampleInt()
			if err != nil {
				clear(dst)
				return err
			}
			dst[i] = T(n) * scale
		}
		return nil
	}
	todo := pop(s, dst, scale)
	for len(todo) >= chunk {
		if err := fillChunk(s, (*[chunk]T)(todo), scale); err != nil {
			s.wipe()
			clear(dst)
			return err
		}
		todo = todo[chunk:]
	}
	s.wipe()
	if len(todo) > 0 {
		if err := s.refill(); err != nil {
			clear(dst)
			return err
		}
		pop(s, todo, scale)
	}
	return nil
}

// pop moves ready draws, times scale, to dst and returns what is left of dst.
func pop[T number](s *Noise, dst []T, scale T) []T {
	ready := s.ready[chunk-s.left:]
	ready = ready[:min(len(ready), len(dst))]
	for i, n := range ready {
		dst[i] = T(n) * scale
	}
	clear(ready)
	s.left -= uint(len(ready))
	return dst[len(ready):]
}

// fillChunk makes a chunk of draws, times scale. On error dst is zero.
func fillChunk[T number](s *Noise, dst *[chunk]T, scale T) error {
	if len(s.words)-s.pos < chunk*drawBytes {
		if err := s.replenish(); err != nil {
			clear(dst[:])
			return err
		}
	}
	w := (*[chunk * drawBytes]byte)(s.words[s.pos:])
	var n int
	if s.fixed() {
		n = drawFixed(s.law, dst, w, scale)
	} else {
		n = draw(s.law, dst, w, scale)
	}
	s.pos += n * drawBytes
	for ; n < chunk; n++ {
		p, err := s.one()
		if err != nil {
			clear(dst[:])
			return err
		}
		dst[n] = T(p) * scale
	}
	return nil
}

// one makes one draw word by word. The number of words it takes depends only on
// those it discards, which have no part in the draw.
func (s *Noise) one() (int64, error) {
	u, err := s.word()
	if err != nil {
		return 0, err
	}
	for {
		v, err := s.word()
		if err != nil {
			return 0, err
		}
		offset, ok := s.position(v)
		if !ok {
			continue
		}
		var k uint64
		if s.fixed() {
			k = s.scan(u)
		} else {
			k = s.entry(u)
		}
		return s.extend(s.point(k, offset), k)
	}
}

func (s *Noise) word() (uint64, error) {
	if s.pos == len(s.words) {
		if err := s.replenish(); err != nil {
			return 0, err
		}
	}
	w := binary.LittleEndian.Uint64(s.words[s.pos:])
	s.pos += wordBytes
	return w, nil
}

// replenish reads a block behind the words that are left, fewer than a chunk
// takes. On error no words are left, and the next call tries again.
func (s *Noise) replenish() error {
	left := s.words[s.pos:]
	s.pos = chunk*drawBytes - len(left)
	copy(s.words[s.pos:], left)
	err := s.gen.read((*[blockBytes]byte)(s.words[chunk*drawBytes:]))
	if err != nil {
		s.pos = len(s.words)
	}
	clear(s.words[:s.pos])
	s.wiped = s.pos
	return err
}

// wipe erases the used words.
func (s *Noise) wipe() {
	clear(s.words[s.wiped:s.pos])
	s.wiped = s.pos
}
