// SPDX-License-Identifier: Apache-2.0

package dpsgd

import (
	"crypto/rand"
	"errors"
	"math"
	mathrand "math/rand/v2"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/sampler"
)

// Options say what is trained, and what it may cost.
type Options struct {
	People     int // in the data
	Batch      int // people in a sample, on average: from 1 to People
	Steps      int // that may be made
	Parameters int // of all gradients together
	// Clip is the l2 norm that the gradients of a person, all together, keep to.
	Clip float64
	// Epsilon and Delta are of all steps together.
	Epsilon, Delta float64
	// Random, if not nil, is for studies that have to be the same again: samples and noise
	// come from it, in floating point, and there is NO GUARANTEE.
	Random *mathrand.Rand
}

// Noise draws samples and makes sums of gradients private. It is not safe for concurrent use.
//
// Guarantee (docs/proofs/dpsgd.md): what the Releases return, together, is (Bounds.Upper,
// Options.Delta)-private for data that differ by one person who is added or removed, if the
// gradients of every person in a sample were added up in float64s after they were clipped to
// Options.Clip, and nobody else's. The options count as public, the number of people among
// them. There is none with Options.Random.
type Noise struct {
	options    Options
	multiplier float64
	bounds     account.Bounds
	threshold  uint64  // rate·2^64, 0 for a rate of 1
	step       float64 // of the grid, a power of 2
	deviation  float64 // of the noise, in steps

	choices *mathrand.ChaCha8
	normal  *sampler.Gaussian
	left    int  // steps
	sampled bool // since the last release
	buffer  []int64
}

// ErrSpent is of a step more than was planned.
var ErrSpent = errors.New("all steps of the plan are made")

const (
	// gridBits says how many steps of the grid the deviation of the noise is, at least.
	gridBits = 30
	// roundoff of float64.
	roundoff = 0x1p-53
)

// New finds the noise for the options, about ten compositions of account. The error wraps
// check.ErrInvalid for options out of their range, or if there is no such noise.
func New(o Options) (*Noise, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	n := &Noise{options: o, left: o.Steps}
	// A multiple of 2^-64, for samples are drawn with exactly this rate.
	scaled := math.Ceil(math.Ldexp(float64(o.Batch)/float64(o.People), 64))
	rate := math.Ldexp(scaled, -64)
	if rate < 1 {
		n.threshold = uint64(scaled)
	}
	var err error
	if n.multiplier, n.bounds, err = account.SubsampledMultiplier(rate, o.Steps, o.Epsilon, o.Delta); err != nil {
		return nil, err
	}
	n.grid()
	if !(float64(o.People)*o.Clip < 0x1p52*n.step) {
		return nil, check.Field("dpsgd", "people", o.People, "fewer: their sums do not fit the grid of the noise")
	}
	if o.Random != nil {
		return n, nil
	}
	var seed [32]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return nil, check.Errorf("dpsgd", nil, "no entropy: %w", err)
	}
	n.choices = mathrand.NewChaCha8(seed)
	n.normal, err = sampler.NewGaussian(n.deviation, sampler.Options{})
	return n, err
}

// grid chooses the step, and the deviation for the sensitivity: the clip, what sums of
// float64s may be off by, and what rounding both to the grid adds.
func (n *Noise) grid() {
	o := n.options
	n.step = math.Ldexp(1, int(math.Floor(math.Log2(n.multiplier*o.Clip)))-gridBits)
	m := float64(o.People) + 16
	sensitivity := o.Clip*(1+2*m*m*roundoff*(1+0x1p-10)) + n.step*math.Sqrt(float64(o.Parameters))
	n.deviation = n.multiplier * sensitivity / n.step * (1 + 0x1p-40)
}

func (o Options) check() error {
	bad := check.In("dpsgd")
	bad.Want(o.People >= 1 && o.People <= 1<<24, "people", o.People, "from 1 to 2^24")
	bad.Want(o.Batch >= 1 && o.Batch <= o.People, "batch", o.Batch, "from 1 to the number of people")
	bad.Want(o.Steps >= 1 && o.Steps <= limits.TableReleases, "steps", o.Steps, "from 1 to %d", limits.TableReleases)
	bad.Want(o.Parameters >= 1 && o.Parameters <= 1<<30, "parameters", o.Parameters, "from 1 to 2^30")
	bad.Want(o.Clip >= 1e-100 && o.Clip <= 1e100, "clip", o.Clip, "a norm from 1e-100 to 1e100")
	bad.Want(check.Positive(o.Epsilon), "epsilon", o.Epsilon, "a finite number above 0")
	bad.Want(o.Delta > 0 && o.Delta < 1, "delta", o.Delta, "a number above 0 and below 1")
	return bad.Err()
}

// Bounds bracket the epsilon of all steps together, at the delta asked for.
func (n *Noise) Bounds() account.Bounds { return n.bounds }

// Deviation returns the standard deviation of the noise on a sum, in the units of the clip.
func (n *Noise) Deviation() float64 { return n.deviation * n.step }

// Sample returns who is in the sample of the next step, ascending: each person by themselves with
// the probability Batch/People. It may be nobody. The error wraps ErrSpent after the last step.
func (n *Noise) Sample() ([]int, error) {
	if n.left == 0 || n.sampled {
		return nil, check.Errorf("dpsgd", ErrSpent, "steps = %d are planned and made, or one is not released yet, want no more", n.options.Steps)
	}
	n.left, n.sampled = n.left-1, true
	var sample []int
	for i := range n.options.People {
		if n.threshold == 0 || n.word() < n.threshold {
			sample = append(sample, i)
		}
	}
	return sample, nil
}

func (n *Noise) word() uint64 {
	if n.options.Random != nil {
		return n.options.Random.Uint64()
	}
	return n.choices.Uint64()
}

// Release replaces sums of the clipped gradients of the sample, Parameters numbers in all, by
// private ones, divided by Batch: estimates of the mean gradient without bias, but for the
// clipping. A sum that is not finite counts as 0. The error wraps ErrSpent unless there is a
// sample that nothing was released of; and sampler.ErrEntropy, sampler.ErrOverflow if there is no noise. The
// gradients are then 0.
func (n *Noise) Release(gradients ...[]float64) error {
	size := 0
	for _, g := range gradients {
		size += len(g)
	}
	err := n.release(size, gradients)
	if err != nil {
		for _, g := range gradients {
			clear(g)
		}
	}
	return err
}

func (n *Noise) release(size int, gradients [][]float64) error {
	if size != n.options.Parameters {
		return check.Field("dpsgd", "gradients", size, "as many numbers as there are parameters")
	}
	if !n.sampled {
		return check.Errorf("dpsgd", ErrSpent, "the sample is released already, want another one first")
	}
	n.sampled = false
	batch := float64(n.options.Batch)
	for _, g := range gradients {
		if n.options.Random != nil {
			for i := range g {
				g[i] = (g[i] + n.Deviation()*n.options.Random.NormFloat64()) / batch
			}
			continue
		}
		if cap(n.buffer) < len(g) {
			n.buffer = make([]int64, len(g))
		}
		noise := n.buffer[:len(g)]
		if err := n.normal.Fill(noise); err != nil {
			return err
		}
		for i, x := range g {
			g[i] = float64(n.steps(x)+noise[i]) * n.step / batch
		}
	}
	clear(n.buffer)
	return nil
}

// steps rounds a sum to the grid: x/step is exact, and below 2^52 for what was clipped. For
// others it is cut off there, which makes them no further apart.
func (n *Noise) steps(x float64) int64 {
	k := math.Round(x / n.step)
	if math.IsNaN(k) {
		return 0
	}
	return int64(math.Max(-0x1p52, math.Min(k, 0x1p52)))
}
