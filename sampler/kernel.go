package sampler

import (
	"encoding/binary"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/kernels"
)

// KernelSampler answers queries through a kernel: noise that depends on the query
// value. It is not safe for concurrent use; give each goroutine its own by Fork,
// which shares the kernel. It must not be copied.
//
// Guarantee (docs/proofs/kernel-privacy.md): if the words of the generator are
// independent and uniform, the answers are independent, and an answer to x is node
// j with probability exactly Weight(i,j)/2^64, i the cell of x.
//
// Which row of the kernel is read depends on x; the time to draw from it does not
// depend on the answer. So an observer who shares the processor's caches, or times
// very precisely, must be assumed to learn the cell of x.
type KernelSampler struct {
	_      noCopy
	kernel *kernels.Kernel
	laws   []rowLaw
	reader wordReader
}

// NewKernel returns a KernelSampler of a kernel that kernels.Kernel.Verify has proved
// to keep its promise. Options.Entropy is as for New; ConstantTime only chooses the
// generator. The error wraps dp.ErrInvalid if there is no kernel, and ErrEntropy if the
// generator cannot be seeded.
func NewKernel(v *kernels.Verified, o Options) (*KernelSampler, error) {
	k, err := kernelOf(v)
	if err != nil {
		return nil, err
	}
	g, err := o.generator()
	if err != nil {
		return nil, err
	}
	return newKernelSampler(k, newRowLaws(k), g), nil
}

// NewKernelDeterministic returns a KernelSampler whose answers are a function of
// the seed and the queries.
//
// NEVER USE IT FOR A RELEASE. It is for tests and studies. The words are those of
// NewDeterministic.
func NewKernelDeterministic(v *kernels.Verified, seed [32]byte) (*KernelSampler, error) {
	k, err := kernelOf(v)
	if err != nil {
		return nil, err
	}
	return newKernelSampler(k, newRowLaws(k), newFixedGenerator(seed)), nil
}

// kernelOf is tableOf for a kernel.
func kernelOf(v *kernels.Verified) (*kernels.Kernel, error) {
	if v == nil || v.Kernel() == nil {
		return nil, check.Field("sampler", "kernel", "none", "one that kernels.Kernel.Verify has proved")
	}
	return v.Kernel(), nil
}

func newKernelSampler(k *kernels.Kernel, laws []rowLaw, g generator) *KernelSampler {
	return &KernelSampler{kernel: k, laws: laws, reader: wordReader{gen: g, pos: blockBytes}}
}

// Fork returns a KernelSampler of the same kernel for another goroutine, with a
// generator as Sampler.Fork gives it. It is a use of s, not to be concurrent with
// others. The error wraps ErrEntropy.
func (s *KernelSampler) Fork() (*KernelSampler, error) {
	g, err := s.reader.gen.fork()
	if err != nil {
		return nil, err
	}
	return newKernelSampler(s.kernel, s.laws, g), nil
}

// Kernel returns the kernel drawn from.
func (s *KernelSampler) Kernel() *kernels.Kernel {
	k := *s.kernel
	return &k
}

// Generator describes the source of randomness, for logs.
func (s *KernelSampler) Generator() string { return s.reader.gen.name() }

// Release returns a private answer to a query of value x: one of the kernel's
// nodes, in query units.
//
// x has to be in the kernel's range; clip it first. The error wraps dp.ErrInvalid if
// it is not, or NaN, which is decided before anything is drawn and says of x only
// that; and ErrEntropy if there is no randomness. The result is then 0.
func (s *KernelSampler) Release(x float64) (float64, error) {
	j, err := s.ReleaseNode(x)
	if err != nil {
		return 0, err
	}
	return s.kernel.Node(j), nil
}

// ReleaseNode is Release, the answer given as the index of the node.
func (s *KernelSampler) ReleaseNode(x float64) (int, error) {
	i, ok := s.kernel.CellOf(x)
	if !ok {
		q := s.kernel.Queries()
		return 0, check.Errorf("sampler", dp.ErrInvalid, "the query value is not a number in the kernel's range, want %g to %g", q.Lower, q.Upper)
	}
	u, err := s.reader.word()
	if err != nil {
		return 0, err
	}
	return s.laws[i].draw(u), nil
}

// rowLaw is one row of a kernel or randomizer made ready for drawing: as law, without
// cells of weight 0 at the start, and without a guide.
type rowLaw struct {
	law
	from int // output of entry 0
}

func newRowLaws(k *kernels.Kernel) []rowLaw {
	laws := make([]rowLaw, k.Cells())
	weights := make([]uint64, k.Cells())
	for i := range laws {
		for j := range weights {
			weights[j] = k.Weight(i, j)
		}
		laws[i] = newRowLaw(weights)
	}
	return laws
}

func newRowLaw(weights []uint64) rowLaw {
	var l rowLaw
	for weights[l.from] == 0 {
		l.from++
	}
	var end uint64
	for _, w := range weights[l.from:] {
		end += w
		l.last = append(l.last, end-1)
	}
	if end != 0 {
		panic("sampler: weights of a row do not sum to 2^64") // New made sure
	}
	return l
}

// draw returns the output that owns the word u. It reads the whole row.
func (l *rowLaw) draw(u uint64) int {
	return l.from + int(l.scan(u))
}

// wordReader hands out the words of a generator and erases them.
type wordReader struct {
	gen   generator
	words [blockBytes]byte
	pos   int // words[:pos] are used, and zero
}

func (r *wordReader) word() (uint64, error) {
	if r.pos == len(r.words) {
		if err := r.gen.read(&r.words); err != nil {
			clear(r.words[:])
			return 0, err
		}
		r.pos = 0
	}
	next := r.words[r.pos : r.pos+wordBytes]
	r.pos += wordBytes
	w := binary.LittleEndian.Uint64(next)
	clear(next)
	return w, nil
}
