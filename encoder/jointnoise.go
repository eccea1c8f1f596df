package encoder

import (
	"math"
	"math/rand/v2"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/tables"
)

// joint is noise by the distance of two points of the body.
type joint struct {
	base
	table *tables.Table // nil for spherical noise
	tau   float64       // of a bundle
	scale float64       // of the law: of Laplace and spherical noise, or the standard deviation
}

func newJoint(b base) (Noise, error) {
	j := &joint{base: b}
	var err error
	switch p, axes := b.promise, b.body.axes(); b.kind {
	case bundle.Laplace:
		if j.table, err = bundle.LaplaceTable(p.Epsilon, b.body.Domain, axes); err == nil {
			// A step of the grid costs the table's own epsilon.
			step, _ := j.table.Grid().Step().Float64() // exact: a power of two
			j.scale = step / j.table.Privacy().Epsilon
		}
	case bundle.Gaussian:
		j.table, j.tau, err = bundle.GaussianTable(p.Epsilon, p.Delta, b.body.Domain, axes)
		j.scale = j.tau
	default:
		j.tau, err = bundle.SphericalScale(p.Epsilon, b.body.Domain, axes)
		j.scale = j.tau
	}
	if err != nil {
		return nil, check.Errorf("encoder", nil, "%w", err)
	}
	return j, nil
}

func (j *joint) Install(s *bundle.Spec) {
	composition := map[bundle.Kind]bundle.Composition{bundle.Laplace: bundle.L1, bundle.Gaussian: bundle.L2, bundle.Spherical: bundle.Norm}
	j.install(s, composition[j.kind])
	s.Tau = j.tau
	if j.table != nil {
		s.Tables, s.TableOf = []*tables.Table{j.table}, make([]int, j.body.Coordinates)
	}
}

func (j *joint) Release(dst, u []float64, r *rand.Rand) {
	z := j.body.Coordinates
	for k := 0; k < len(u); k += z {
		j.row(dst[k:k+z], u[k:k+z], r)
	}
}

func (j *joint) row(dst, u []float64, r *rand.Rand) {
	switch j.kind {
	case bundle.Laplace:
		for i, x := range u {
			dst[i] = x + math.Copysign(j.scale*exponential(r), r.Float64()-0.5)
		}
	case bundle.Gaussian:
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
