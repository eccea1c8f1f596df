package dense

import (
	"fmt"
	"math"
)

// Adam is the method of D. Kingma and J. Ba (2015), with the maximum of S. Reddi, S. Kale
// and S. Kumar (2018) if AMSGrad is set. The zero value of a field means the number
// in brackets, which is PyTorch's.
type Adam struct {
	Rate         float64 // [0.001]
	Beta1, Beta2 float64 // [0.9, 0.999]
	Epsilon      float64 // [1e-8]
	// WeightDecay times the parameters is added to the gradient.
	WeightDecay float64
	AMSGrad     bool

	state AdamState
}

// AdamState is what an Adam remembers between its steps. The slices are empty before the
// first one, MaxSquare also without AMSGrad.
type AdamState struct {
	Steps                   int
	Mean, Square, MaxSquare []float64 // as long as the parameters
}

// State returns the state, which shares memory with a.
func (a *Adam) State() AdamState { return a.state }

// SetState continues from a state, which a then owns.
func (a *Adam) SetState(s AdamState) { a.state = s }

// Step changes the parameters by one step against the gradient, which is left as it is.
// Their number is the same at each step.
func (a *Adam) Step(params, grad []float64) {
	or := func(v, otherwise float64) float64 {
		if v == 0 {
			return otherwise
		}
		return v
	}
	beta1, beta2, epsilon := or(a.Beta1, 0.9), or(a.Beta2, 0.999), or(a.Epsilon, 1e-8)
	s := &a.state
	if s.Steps == 0 {
		s.Mean, s.Square = make([]float64, len(params)), make([]float64, len(params))
		if a.AMSGrad {
			s.MaxSquare = make([]float64, len(params))
		}
	}
	if len(grad) != len(params) || len(s.Mean) != len(params) {
		panic(fmt.Sprintf("dense: gradient of %d numbers for %d parameters, which were %d", len(grad), len(params), len(s.Mean)))
	}
	s.Steps++
	// The running means begin at 0; these divisions make up for it.
	rate := or(a.Rate, 1e-3) / (1 - math.Pow(beta1, float64(s.Steps)))
	root := math.Sqrt(1 - math.Pow(beta2, float64(s.Steps)))
	for i, g := range grad {
		g += a.WeightDecay * params[i]
		s.Mean[i] += (1 - beta1) * (g - s.Mean[i])
		s.Square[i] += (1 - beta2) * (g*g - s.Square[i])
		square := s.Square[i]
		if a.AMSGrad {
			square = max(square, s.MaxSquare[i])
			s.MaxSquare[i] = square
		}
		params[i] -= rate * s.Mean[i] / (math.Sqrt(square)/root + epsilon)
	}
}
