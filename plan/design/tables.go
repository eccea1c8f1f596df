// SPDX-License-Identifier: Apache-2.0

package design

import (
	"context"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/plan"
)

// tables returns the candidates for marginals.
func (s *study) tables(cell plan.Law) (list []candidate) {
	w := &s.problem.Workload
	cells := make([]float64, len(w.Sets))
	for i, set := range w.Sets {
		cells[i] = product(w, set)
	}
	all := make([]int, len(w.Attributes))
	for i := range all {
		all[i] = i
	}
	if n := product(w, all); n <= limits.PlanQueries {
		c := candidate{make: func(context.Context) ([]plan.Measurement, error) {
			return []plan.Measurement{{Kind: plan.Partition, Attributes: &all, Weight: 1, Noise: &cell}}, nil
		}}
		sum, queries := 0.0, 0.0
		for _, k := range cells { // each of k is a sum of n/k cells
			sum += n
			queries += k
		}
		c.Name, c.MeanSquaredError = identity, varianceOf(cell)*sum/queries
		list = append(list, c)
	}
	list = append(list, s.byTable(cells))
	if s.problem.Delta > 0 {
		list = append(list, s.residuals(cells))
	}
	return list
}

func product(w *plan.Workload, set []int) float64 {
	n := 1.0
	for _, a := range set {
		n *= float64(w.Attributes[a].Size)
	}
	return n
}

// byTable measures the tables of the workload, with shares of epsilon in proportion to the cubic root of
// their cells: the best if each is answered from itself alone. The estimate is without what others tell.
func (s *study) byTable(cells []float64) candidate {
	sum, queries := 0.0, 0.0
	for _, n := range cells {
		sum += math.Cbrt(n)
		queries += n
	}
	epsilon := part(s.problem.Epsilon, s.touched) * (1 - 0x1p-40)
	c := candidate{Candidate: Candidate{Name: "the workload's tables"}}
	for _, n := range cells {
		c.MeanSquaredError += n / queries * geometricVariance(epsilon*math.Cbrt(n)/sum)
	}
	c.make = func(ctx context.Context) (out []plan.Measurement, err error) {
		for i, n := range cells {
			delta := s.problem.Delta / float64(len(cells)) * (1 - 0x1p-40)
			if s.problem.MaxPerPerson > 1 {
				delta = 0
			}
			l, err := s.law(ctx, s.problem.Epsilon*(1-0x1p-40)*math.Cbrt(n)/sum, delta, s.touched)
			if err != nil {
				return nil, err
			}
			out = append(out, plan.Measurement{Kind: plan.Partition, Attributes: &s.problem.Workload.Sets[i], Noise: &l})
		}
		weigh(out)
		return out, nil
	}
	return c
}

// residuals measures what each set of attributes has that its subsets have not. With the errors Σ v·σ² and
// the cost Σ p/σ² the best σ² are in proportion to √(p/v), and no Gaussian noise of another kind is better
// where neighbors differ in one cell.
func (s *study) residuals(cells []float64) candidate {
	w := &s.problem.Workload
	var sets [][]int
	at, v := map[string]int{}, []float64{}
	queries := 0.0
	for i, set := range w.Sets {
		queries += cells[i]
		plan.Subsets(set, func(b []int) {
			k, known := at[fmt.Sprint(b)]
			if !known {
				k = len(sets)
				at[fmt.Sprint(b)] = k
				sets, v = append(sets, b), append(v, 0)
			}
			rest := cells[i] / product(w, b)
			v[k] += cells[i] * alike(w, b) / (rest * rest)
		})
	}
	total, own, bound := 0.0, make([]float64, len(sets)), 0.0
	for k, b := range sets {
		own[k] = s.spec(nil).ResidualDistance(b)
		total += math.Sqrt(own[k] * v[k])
		bound += math.Sqrt(alike(w, b) * v[k])
	}
	unit, err := noise.GaussianSigma(dp.Privacy{Epsilon: s.problem.Epsilon, Delta: s.problem.Delta, Sensitivity: 1})
	c := candidate{Candidate: Candidate{
		Name: "gaussian", MeanSquaredError: unit * unit * total * total / queries, Bound: unit * unit * bound * bound / queries * (1 - 1e-9),
	}}
	c.make = func(context.Context) ([]plan.Measurement, error) {
		m := plan.Measurement{Kind: plan.Residuals, Sets: sets}
		for k := range sets {
			m.Deviations = append(m.Deviations, unit*math.Sqrt(total)*math.Sqrt(math.Sqrt(own[k]/v[k]))*(1+1e-9))
		}
		return []plan.Measurement{m}, err
	}
	return c
}

// alike is Π(1−1/n) over the attributes of a set.
func alike(w *plan.Workload, set []int) float64 {
	p := 1.0
	for _, a := range set {
		p *= 1 - 1/float64(w.Attributes[a].Size)
	}
	return p
}
