// SPDX-License-Identifier: Apache-2.0

package drolearn

import (
	"errors"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

// Noise is a law of noise for numbers of any sensitivity, to which it is proportional. It is
// immutable and safe for concurrent use.
type Noise struct {
	Name string
	// unit returns the u-quantile of the noise of a value, both in units of the sensitivity.
	unit func(u, value float64) float64
}

// Add returns a value with noise. It takes one number from r whatever the law, so that one
// seed gives all laws the same quantiles, and the tests for their differences less to do.
func (n Noise) Add(r *rand.Rand, value, sensitivity float64) float64 {
	u := (float64(r.Uint64()>>11) + 0.5) / (1 << 53) // neither 0 nor 1
	return value + sensitivity*n.unit(u, value/sensitivity)
}

// None is no noise.
var None = Noise{"none", func(_, _ float64) float64 { return 0 }}

// Classical returns the noise that the paper compares with: Gaussian noise by the classical
// formula (Dwork & Roth 2014), analytic Gaussian noise (Balle & Wang 2018), truncated Laplace
// noise (Geng, Ding, Guo & Kumar 2020).
func Classical(epsilon, delta float64) ([]Noise, error) {
	classical := math.Sqrt(2*math.Log(1.25/delta)) / epsilon
	analytic, err := noise.GaussianSigma(dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1})
	if err != nil {
		return nil, err
	}
	normal := func(sigma float64) func(u, _ float64) float64 {
		return func(u, _ float64) float64 { return sigma * math.Sqrt2 * math.Erfinv(2*u-1) }
	}
	// The density is proportional to e^{−ε|x|} up to ln(1 + (e^ε − 1)/(2δ))/ε.
	cut := 1 / (1 + math.Expm1(epsilon)/(2*delta))
	truncated := func(u, _ float64) float64 {
		x := -math.Log(cut+2*min(u, 1-u)*(1-cut)) / epsilon
		return math.Copysign(x, u-0.5)
	}
	return []Noise{{"gaussian", normal(classical)}, {"analytic-gaussian", normal(analytic)}, {"truncated-laplace", truncated}}, nil
}

// Designed returns the noise of a table of any sensitivity.
func Designed(t *tables.Table) (Noise, error) {
	if t.TailRatio() != 0 {
		return Noise{}, errors.New("table with a tail, want noise that is bounded")
	}
	g := t.Grid()
	step, _ := g.Step().Float64()
	step /= t.Privacy().Sensitivity
	pmf, atom := t.PMF()
	edges := make([]float64, len(pmf)+1)
	for j := range edges {
		edges[j] = (float64(g.FirstPoint(j)) - 0.5) * step
	}
	law := newQuantiles(edges, pmf)
	below := (1 - atom) * law.below(0)
	return Noise{"designed", func(u, _ float64) float64 {
		switch {
		case u < below:
			return law.at(u / (1 - atom))
		case u < below+atom:
			return 0
		}
		return law.at((u - atom) / (1 - atom))
	}}, nil
}

// DataDependent returns the noise of an additive kernel, whose law depends on the value's cell.
func DataDependent(k *cells.Kernel) Noise {
	g, sensitivity := k.Grid(), k.Privacy().Sensitivity
	step, _ := g.Step().Float64()
	edges, masses := make([]float64, k.Bins()+1), make([]float64, k.Bins())
	for j := range edges {
		edges[j] = (float64(g.FirstPoint(j)) - 0.5) * step / sensitivity
	}
	// Inner edges, in units of the sensitivity; finding a cell by CellAt takes microseconds.
	var inner []float64
	for i := 1; i < k.Cells(); i++ {
		inner = append(inner, k.Edge(i)/sensitivity)
	}
	laws := make([]quantiles, k.Cells())
	for i := range laws {
		for j := range masses {
			masses[j] = float64(k.Weight(i, j))
		}
		laws[i] = newQuantiles(edges, masses)
	}
	return Noise{"data-dependent", func(u, value float64) float64 {
		i := sort.Search(len(inner), func(i int) bool { return value < inner[i] })
		return laws[i].at(u)
	}}
}

// quantiles are those of a piecewise constant density.
type quantiles struct {
	edges, cumulative []float64 // cumulative[j] is the probability below edges[j]
}

func newQuantiles(edges, masses []float64) quantiles {
	q := quantiles{edges: edges, cumulative: make([]float64, len(edges))}
	for j, m := range masses {
		q.cumulative[j+1] = q.cumulative[j] + m
	}
	total := q.cumulative[len(masses)]
	for j := range q.cumulative {
		q.cumulative[j] /= total
	}
	return q
}

// at returns the u-quantile, 0 <= u < 1.
func (q quantiles) at(u float64) float64 {
	j := sort.Search(len(q.edges)-2, func(j int) bool { return q.cumulative[j+1] > u })
	share := 0.5
	if m := q.cumulative[j+1] - q.cumulative[j]; m > 0 {
		share = (u - q.cumulative[j]) / m
	}
	return q.edges[j] + share*(q.edges[j+1]-q.edges[j])
}

// below returns the probability below x, which is between the outer edges.
func (q quantiles) below(x float64) float64 {
	j := sort.SearchFloat64s(q.edges, x)
	if j == 0 {
		return 0
	}
	share := (x - q.edges[j-1]) / (q.edges[j] - q.edges[j-1])
	return q.cumulative[j-1] + share*(q.cumulative[j]-q.cumulative[j-1])
}
