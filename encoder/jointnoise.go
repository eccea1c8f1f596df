package encoder

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
)

// joint is noise by the distance of two points of the body.
type joint struct {
	base
	spec  bundle.Spec // its part about the noise
	scale float64     // of the law: of Laplace and spherical noise, or the standard deviation
}

func newJoint(b base) (Noise, error) {
	j := &joint{base: b}
	b.install(&j.spec, "")
	if err := j.spec.Calibrate(); err != nil {
		return nil, check.Errorf("encoder", nil, "%w", err)
	}
	j.scale = j.spec.Tau
	if b.kind == noise.Laplace {
		// A step of the grid costs the table's own epsilon.
		t := j.spec.Tables[0]
		step, _ := t.Grid().Step().Float64() // exact: a power of two
		j.scale = step / t.Privacy().Epsilon
	}
	return j, nil
}

func (j *joint) Install(s *bundle.Spec) {
	j.install(s, j.spec.Composition)
	s.Tau, s.Tables, s.TableOf = j.spec.Tau, slices.Clone(j.spec.Tables), slices.Clone(j.spec.TableOf)
}

func (j *joint) Release(dst, u []float64, r *rand.Rand) {
	z := j.body.Coordinates
	for k := 0; k < len(u); k += z {
		j.row(dst[k:k+z], u[k:k+z], r)
	}
}

func (j *joint) row(dst, u []float64, r *rand.Rand) {
	switch j.kind {
	case noise.Laplace:
		for i, x := range u {
			dst[i] = x + math.Copysign(j.scale*exponential(r), r.Float64()-0.5)
		}
	case noise.Gaussian:
		for i, x := range u {
			dst[i] = x + j.scale*r.NormFloat64()
		}
	default:
		// The density exp(-‖x‖/τ) has the norm of a Gamma law of shape Z and scale τ, and
		// any direction alike.
		noise, squares, norm := make([]float64, len(u)), 0.0, 0.0
		for i := range noise {
			noise[i] = r.NormFloat64()
			squares += noise[i] * noise[i]
			norm += exponential(r)
		}
		norm *= j.scale / math.Sqrt(squares)
		for i, x := range u {
			dst[i] = x + norm*noise[i]
		}
	}
}

// exponential draws from the exponential law of mean 1. It is finite: rand.ExpFloat64 takes
// the logarithm of a number that may be 0.
func exponential(r *rand.Rand) float64 { return -math.Log(1 - r.Float64()) }
