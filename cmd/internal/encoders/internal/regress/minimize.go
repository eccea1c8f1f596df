package regress

import (
	"errors"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"github.com/noisewright/noisewright/internal/check"
)

const (
	// stored is how many steps L-BFGS remembers.
	stored = 20
	// flat is the largest entry of a gradient that counts as 0.
	flat = 1e-7
)

// Minimize moves x downhill by at most the given number of L-BFGS iterations. f returns
// the function value at x and stores the gradient. The final value is returned, and
// whether no entry of the gradient is above 1e-7 there; the limit, or a line search that
// finds nothing lower, ends the search without an error.
//
// The error wraps check.ErrInvalid if the function or its gradient is not finite at the
// start.
func Minimize(x []float64, iterations int, f func(x, gradient []float64) float64) (value float64, converged bool, err error) {
	// gonum asks for value and gradient apart.
	p := pair{f: f, gradient: make([]float64, len(x))}
	problem := optimize.Problem{
		Func: func(x []float64) float64 { p.at(x); return p.value },
		Grad: func(gradient, x []float64) { p.at(x); copy(gradient, p.gradient) },
	}
	for {
		settings := &optimize.Settings{
			GradientThreshold: flat,
			Converger:         optimize.NeverTerminate{},
			// The start counts as one.
			MajorIterations: iterations + 1,
		}
		r, err := optimize.Minimize(problem, x, settings, &optimize.LBFGS{Store: stored, GradStopThreshold: flat})
		var badValue optimize.ErrFunc
		var badGradient optimize.ErrGrad
		if errors.As(err, &badValue) || errors.As(err, &badGradient) {
			return 0, false, check.Errorf("regress", check.ErrInvalid, "the loss or its gradient is not finite at the start, want smaller inputs")
		}
		moved := r.MajorIterations - 1
		iterations -= moved
		copy(x, r.X)
		if err == nil {
			return r.F, r.Status == optimize.GradientThreshold, nil
		}
		// The line search failed: what is remembered misleads it, so that a new
		// search goes on, or x is as low as rounding lets it be.
		if moved == 0 || iterations <= 0 {
			return r.F, false, nil
		}
	}
}

// pair is a function value and the gradient at the place that was asked for last.
type pair struct {
	f        func(x, gradient []float64) float64
	x        []float64
	value    float64
	gradient []float64
}

func (p *pair) at(x []float64) {
	if slices.Equal(p.x, x) { // and not nil, as x is not empty
		return
	}
	p.x = append(p.x[:0], x...)
	p.value = p.f(x, p.gradient)
}
