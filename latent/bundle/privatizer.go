// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
)

// Encode returns the clipped encoding of x, n features, as Z numbers, in dst if it
// has the capacity. For joint noise they are multiples of the grid's step. It is WITHOUT NOISE
// AND UNSAFE FOR RELEASE: for tests, moments and evaluation. The error wraps ErrInvalid if x has
// another length or an entry that is not a finite number; the result is then nil.
func (b *Bundle) Encode(dst, x []float64) ([]float64, error) {
	if err := b.check(x); err != nil {
		return nil, err
	}
	dst = resize(dst, b.Coordinates())
	b.encode(dst, x, make([]float64, b.encodeWork()))
	return dst, nil
}

// check refuses features without saying what they are.
func (b *Bundle) check(x []float64) error {
	if len(x) != b.Features() {
		return check.Errorf("bundle", dp.ErrInvalid, "features = %d numbers, want %d", len(x), b.Features())
	}
	for j, v := range x {
		if !check.Finite(v) {
			return check.Errorf("bundle", dp.ErrInvalid, "features[%d] (%.60q) is not a finite number, want one", j, b.spec.Features[j])
		}
	}
	return nil
}

// encodeWork returns how many numbers encode works with.
func (b *Bundle) encodeWork() int {
	return b.Features() + workFor(b.spec.Layers) + b.spec.scores()
}

// encode sets u to the clipped encoding of x. It overwrites work, encodeWork numbers.
func (b *Bundle) encode(u, x, work []float64) {
	s := &b.spec
	centered := work[:len(x)]
	for j, v := range x {
		v = clamp(v, limits.Magnitude)
		if s.FeatureLower != nil {
			v = min(max(v, s.FeatureLower[j]), s.FeatureUpper[j])
		}
		centered[j] = v - s.Mean[j]
	}
	h := forward(s.Layers, centered, work[len(x):])
	if s.Category != nil {
		scores := work[len(work)-s.scores():]
		affine(scores, s.Encoder, h, s.Offset)
		u[0] = float64(s.Category.Cell(scores))
		return
	}
	affine(u, s.Encoder, h, s.Offset)
	b.body.clip(u)
}

// affine sets dst to m·x + offset. No product is fused with a sum: all machines encode alike.
func affine(dst []float64, m Matrix, x, offset []float64) {
	for i := range dst {
		sum := 0.0
		for j, w := range m.Row(i) {
			sum += float64(w * x[j])
		}
		dst[i] = sum + offset[i]
	}
}

// Decode returns what is decoded from Z released numbers u, k numbers named by Outputs, in dst
// if it has the capacity; dst and u must not overlap: DecoderOffset + Decoder·h, h what the Head
// makes of u, or what the Lookup has, and of classes the softmax. It is a function of what was
// released and costs no privacy. The error wraps ErrInvalid if u has another length.
func (b *Bundle) Decode(dst, u []float64) ([]float64, error) {
	if len(u) != b.Coordinates() {
		return nil, check.Errorf("bundle", dp.ErrInvalid, "released = %d numbers, want %d", len(u), b.Coordinates())
	}
	s := &b.spec
	dst = resize(dst, len(s.outputs()))
	switch {
	case s.Category != nil:
		if err := s.Category.checkAnswer(u); err != nil {
			return nil, err
		}
		for l, d := range s.DecoderOffset {
			dst[l] = s.Decoder.Row(l)[int(u[0])] + d
		}
	case s.Lookup != nil:
		s.Lookup.decode(dst, u, s.DecoderOffset)
	default:
		affine(dst, s.Decoder, forward(s.Head, u, make([]float64, workFor(s.Head))), s.DecoderOffset)
	}
	if s.Output == Classes {
		softmax(dst)
	}
	return dst, nil
}

func resize(dst []float64, n int) []float64 {
	if cap(dst) < n {
		return make([]float64, n)
	}
	return dst[:n]
}

// Privatizer releases private encodings. It is not safe for concurrent use; give each
// goroutine its own by Fork. It must not be copied: a copy would draw the same noise.
//
// Guarantee (docs/proofs/latent-privacy.md): if the words of the generator are independent and
// uniform, then Privatize keeps the bundle's promise over all x that it accepts.
type Privatizer struct {
	_      noCopy
	proof  *Verified
	laws   []sampler.Sampler  // of the tables or randomizers
	of     []int              // which of them each coordinate has
	vector *sampler.Spherical // for the composition norm, in place of these
	noise  []int64            // scratch for it
	balls  bool               // the law is one of vectors
	labels *categoryLabels    // of the kind Decision
	work   []float64          // scratch
}

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// NewPrivatizer returns a Privatizer of the bundle, proved to keep its promise. The options are
// those of every table's sampler; the compositions norm and ball have no constant time.
//
// The error wraps ErrInvalid if there is no proof or no constant time, and sampler.ErrEntropy if
// the generator cannot be seeded.
func (v *Verified) NewPrivatizer(o sampler.Options) (*Privatizer, error) {
	return newPrivatizer(v, func(int) sampler.Options { return o })
}

// NewDeterministicPrivatizer returns a Privatizer with noise by the seed and the order of calls.
//
// NEVER USE IT FOR A RELEASE: WHO KNOWS OR GUESSES THE SEED TAKES THE NOISE OFF AGAIN. It is
// for tests and studies, and refuses Options.Entropy with an error that wraps ErrInvalid.
// Table k = 0, 1, … is seeded with the SHA-256 of seed ‖ k, k as 8 little-endian bytes; the
// noise of the compositions norm and ball with that of k = 0.
func (v *Verified) NewDeterministicPrivatizer(seed [32]byte, o sampler.Options) (*Privatizer, error) {
	if o.Entropy != nil {
		return nil, check.Field("bundle", "entropy", "a reader", "none for a deterministic privatizer")
	}
	return newPrivatizer(v, func(k int) sampler.Options {
		own := o
		own.Entropy = sampler.Deterministic(sha256.Sum256(binary.LittleEndian.AppendUint64(seed[:len(seed):len(seed)], uint64(k))))
		return own
	})
}

// newPrivatizer makes one whose noise k, or joint noise as number 0, is drawn by these options.
func newPrivatizer(v *Verified, options func(k int) sampler.Options) (*Privatizer, error) {
	if v != nil && v.bundle != nil && v.bundle.spec.Ball != nil && options(0).ConstantTime {
		return nil, check.Field("bundle", "constant time", true, "false for noise of a vector, the time of which depends on what is drawn")
	}
	return privatizerOf(v,
		func(k int) (sampler.Sampler, error) { return sampler.New(v.laws[k], options(k)) },
		func(scale float64) (*sampler.Spherical, error) {
			return sampler.NewSpherical(v.bundle.Coordinates(), scale, options(0))
		})
}

// privatizerOf makes samplers of tables or randomizers, or that of vectors of a scale in steps.
func privatizerOf(v *Verified, law func(k int) (sampler.Sampler, error), vector func(scale float64) (*sampler.Spherical, error)) (*Privatizer, error) {
	if v == nil || v.bundle == nil {
		return nil, check.Field("bundle", "proof", "none", "that of Verify")
	}
	p := &Privatizer{proof: v, work: make([]float64, v.bundle.encodeWork()), balls: v.bundle.spec.Ball != nil}
	_, p.of, _ = v.bundle.spec.laws()
	for k := range v.laws {
		s, err := law(k)
		if err != nil {
			return nil, check.Errorf("bundle", nil, "noise %d: %w", k, err)
		}
		p.laws = append(p.laws, s)
	}
	if s := &v.bundle.spec; s.Category != nil {
		p.labels = newCategoryLabels(s.Randomizers[0])
	} else if s.Composition == jointNorm {
		var err error
		if p.vector, err = vector(s.Tau / v.bundle.body.step); err != nil { // exact: a power of two
			return nil, check.Errorf("bundle", nil, "%w", err)
		}
		p.noise = make([]int64, len(s.Axes))
	}
	return p, nil
}

// Fork returns a Privatizer of the same bundle for another goroutine, see sampler.Noise.Fork. It is
// a use of p, not to be concurrent with others. The error wraps sampler.ErrEntropy.
func (p *Privatizer) Fork() (*Privatizer, error) {
	return privatizerOf(p.proof, func(k int) (sampler.Sampler, error) { return p.laws[k].Fork() },
		func(float64) (*sampler.Spherical, error) { return p.vector.Fork() })
}

// Bundle returns the bundle.
func (p *Privatizer) Bundle() *Bundle { return p.proof.Bundle() }

// Privatize returns the private encoding of x, n features, as Z numbers, in dst if it has the
// capacity; dst and x must not overlap. Each call spends the whole promise on x: privacy loss
// accumulates over calls about the same person.
//
// The error wraps ErrInvalid if x has another length or an entry that is not a finite
// number, which is decided before anything is drawn and says of x only that. It wraps
// sampler.ErrEntropy if there is no randomness and, for noise with a tail and that of the
// composition norm, sampler.ErrOverflow. The result is then nil and nothing is left in dst.
func (p *Privatizer) Privatize(dst, x []float64) ([]float64, error) {
	b := p.proof.bundle
	if err := b.check(x); err != nil {
		return nil, err
	}
	dst = resize(dst, b.Coordinates())
	b.encode(dst, x, p.work)
	clear(p.work)
	if err := p.release(dst); err != nil {
		clear(dst)
		return nil, check.Errorf("bundle", nil, "%w", err)
	}
	return dst, nil
}

// release replaces the encoding u by a draw.
func (p *Privatizer) release(u []float64) error {
	if p.labels != nil {
		answer, err := p.laws[0].Release(p.labels.cells[int(u[0])])
		if err == nil {
			u[0] = p.labels.answers[answer]
		}
		return err
	}
	if p.balls {
		y, err := p.laws[0].Release(proof.Row(u))
		if row, ok := y.(proof.Row); ok {
			copy(u, row)
		}
		return err
	}
	if p.vector == nil {
		for i, k := range p.of {
			var err error
			if u[i], err = p.laws[k].ReleaseNumber(u[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := p.vector.Fill(p.noise); err != nil {
		return err
	}
	step := p.proof.bundle.body.step
	for i, n := range p.noise {
		// Integers of at most 2^40 and 2^52 steps: exact.
		u[i] = float64(int64(u[i]/step)+n) * step
	}
	clear(p.noise)
	return nil
}
