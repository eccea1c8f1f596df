package dense

import (
	"fmt"
	"math"
)

// Activation is the function that a layer applies to each of its numbers.
type Activation = string

// The activations: x, 1/(1+e^-x), max(x, 0) and tanh x.
const (
	Identity Activation = "identity"
	Sigmoid  Activation = "sigmoid"
	ReLU     Activation = "relu"
	Tanh     Activation = "tanh"
)

// apply replaces each number by its function value.
func apply(a Activation, x []float64) {
	switch a {
	case Identity:
	case Sigmoid:
		for i, v := range x {
			x[i] = 1 / (1 + math.Exp(-v))
		}
	case ReLU:
		for i, v := range x {
			x[i] = max(v, 0)
		}
	case Tanh:
		for i, v := range x {
			x[i] = math.Tanh(v)
		}
	default:
		panic(fmt.Sprintf("dense: activation %q", a))
	}
}

// back turns the gradient by the outputs y into that by the inputs. All derivatives
// are functions of y; that of ReLU at 0 counts as 0.
func back(a Activation, y, gradient []float64) {
	switch a {
	case Identity:
	case Sigmoid:
		for i, v := range y {
			gradient[i] *= v * (1 - v)
		}
	case ReLU:
		for i, v := range y {
			if v <= 0 {
				gradient[i] = 0
			}
		}
	case Tanh:
		for i, v := range y {
			gradient[i] *= 1 - v*v
		}
	default:
		panic(fmt.Sprintf("dense: activation %q", a))
	}
}
