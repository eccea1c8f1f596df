package sampler

import (
	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// AdditiveSampler answers queries by noise that is added and whose law depends on the cell
// of the query value. It is not safe for concurrent use; give each goroutine its own by
// Fork, which shares the kernel. It must not be copied.
//
// Guarantee (docs/proofs/additive-kernels.md): if the words of the generator are
// independent and uniform, the answers are independent, and an answer to x is
// (⌊x/g + 1/2⌋ + n)·g exactly, with g the Step and n a point of bin j with probability
// exactly Weight(i,j)/(2^64·PointsPerBin), i the cell of ⌊x/g + 1/2⌋.
//
// Which law is read depends on x; the time to draw from it does not depend on the answer.
// So an observer who shares the processor's caches, or times very precisely, must be
// assumed to learn the cell of x.
type AdditiveSampler struct {
	_      noCopy
	kernel *cells.Kernel
	laws   []rowLaw
	reader wordReader
	step   float64 // a power of two
	limit  int64   // largest |n_x| whose sum with any noise is a float64
}

// NewAdditive returns an AdditiveSampler of a kernel that cells.Kernel.Verify has proved
// to keep its promise. Options.Entropy is as for New; ConstantTime only chooses the
// generator. The error wraps dp.ErrInvalid if there is no kernel, and ErrEntropy if the
// generator cannot be seeded.
func NewAdditive(v *cells.Verified, o Options) (*AdditiveSampler, error) {
	k, err := additiveOf(v)
	if err != nil {
		return nil, err
	}
	g, err := o.generator()
	if err != nil {
		return nil, err
	}
	return newAdditiveSampler(k, newAdditiveLaws(k), g), nil
}

// NewAdditiveDeterministic returns an AdditiveSampler whose answers are a function of the
// seed and the queries.
//
// NEVER USE IT FOR A RELEASE. It is for tests and studies. The words are those of
// NewDeterministic.
func NewAdditiveDeterministic(v *cells.Verified, seed [32]byte) (*AdditiveSampler, error) {
	k, err := additiveOf(v)
	if err != nil {
		return nil, err
	}
	return newAdditiveSampler(k, newAdditiveLaws(k), newFixedGenerator(seed)), nil
}

// additiveOf is tableOf for an additive kernel.
func additiveOf(v *cells.Verified) (*cells.Kernel, error) {
	if v == nil || v.Kernel() == nil {
		return nil, check.Field("sampler", "kernel", "none", "one that cells.Kernel.Verify has proved")
	}
	return v.Kernel(), nil
}

func newAdditiveSampler(k *cells.Kernel, laws []rowLaw, g generator) *AdditiveSampler {
	step, _ := k.Grid().Step().Float64() // exact
	return &AdditiveSampler{
		kernel: k, laws: laws, reader: wordReader{gen: g, pos: blockBytes},
		step: step, limit: exact.MaxInteger - k.Reach(),
	}
}

func newAdditiveLaws(k *cells.Kernel) []rowLaw {
	laws := make([]rowLaw, k.Cells())
	weights := make([]uint64, k.Bins())
	size := uint64(k.Grid().PointsPerBin)
	for i := range laws {
		for j := range weights {
			weights[j] = k.Weight(i, j)
		}
		laws[i] = newRowLaw(weights)
		laws[i].points, laws[i].reject = size, -size%size
	}
	return laws
}

// Fork returns an AdditiveSampler of the same kernel for another goroutine, with a
// generator as Sampler.Fork gives it. It is a use of s, not to be concurrent with others.
// The error wraps ErrEntropy.
func (s *AdditiveSampler) Fork() (*AdditiveSampler, error) {
	g, err := s.reader.gen.fork()
	if err != nil {
		return nil, err
	}
	return newAdditiveSampler(s.kernel, s.laws, g), nil
}

// Kernel returns the kernel drawn from.
func (s *AdditiveSampler) Kernel() *cells.Kernel {
	k := *s.kernel
	return &k
}

// Generator describes the source of randomness, for logs.
func (s *AdditiveSampler) Generator() string { return s.reader.gen.name() }

// Step returns the distance of neighboring grid points, in query units.
func (s *AdditiveSampler) Step() float64 { return s.step }

// Release returns a private answer to a query of value x, in query units.
//
// x has to be in a cell: where the kernel has a lowest or a highest value, clip x to it
// first. The error wraps dp.ErrInvalid if it is not, or NaN, or too large as for
// Sampler.AddNoise, which is decided before anything is drawn and says of x only that; and
// ErrEntropy if there is no randomness. The result is then 0.
func (s *AdditiveSampler) Release(x float64) (float64, error) {
	n, err := s.ReleaseSteps(x)
	return float64(n) * s.step, err
}

// ReleaseSteps is Release, the answer given as the integer of which that is the multiple
// of Step.
func (s *AdditiveSampler) ReleaseSteps(x float64) (int64, error) {
	n, ok := roundToGrid(x, 1/s.step, s.limit)
	if !ok {
		return 0, check.Errorf("sampler", dp.ErrInvalid, "x is not a number or too large, want a magnitude of at most %g (%d steps of %g)", float64(s.limit)*s.step, s.limit, s.step)
	}
	i, ok := s.kernel.CellOf(n)
	if !ok {
		return 0, check.Errorf("sampler", dp.ErrInvalid, "the query value is in no cell of the kernel, want %g to %g", s.kernel.Edge(0), s.kernel.Edge(s.kernel.Cells()))
	}
	point, err := s.draw(&s.laws[i])
	if err != nil {
		return 0, err
	}
	return n + point, nil
}

// draw returns a point of the noise: a word selects the bin, and another one, or the first
// that is not rejected, the point in it (law.position).
func (s *AdditiveSampler) draw(l *rowLaw) (int64, error) {
	u, err := s.reader.word()
	if err != nil {
		return 0, err
	}
	bin := l.draw(u)
	for {
		v, err := s.reader.word()
		if err != nil {
			return 0, err
		}
		if offset, ok := l.position(v); ok {
			return s.kernel.Grid().FirstPoint(bin) + int64(offset), nil
		}
	}
}
