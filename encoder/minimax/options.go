package minimax

import (
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

// Method is how a filter is found.
type Method string

// The methods. All but Minimax are what the paper compares with, or its closed form.
const (
	// Minimax is the filter of the least Φ that an alternation finds (Algorithm 1).
	Minimax Method = "minimax"
	// ClosedForm is the best filter if all tasks are least squares, (4.1).
	ClosedForm Method = "closed-form"
	// LDS is Privacy LDS, a discriminant subspace (62), and where Minimax begins.
	LDS Method = "lds"
	// PPLS is private partial least squares.
	PPLS Method = "ppls"
	// PCA are the principal components of features that are not centered.
	PCA Method = "pca"
	// Random is a random subspace.
	Random Method = "random"
	// Masked multiplies each feature by a number of Options.Mask, as DDD does.
	Masked Method = "mask"
)

// Methods are all methods.
var Methods = []Method{Minimax, ClosedForm, LDS, PPLS, PCA, Random, Masked}

// Options say how a filter is learned. Zero values mean what is in brackets.
type Options struct {
	encoder.Run // the seed, checkpoints and progress
	Method      Method
	Coordinates int       // numbers that the filter lets through; the features for Masked
	Mask        []float64 // for Masked: a factor for each feature
	// Hidden are the widths of layers of sigmoids before the output, which then is one of
	// sigmoids too; nil is a linear filter. Only for Minimax.
	Hidden []int
	// Standardize gives features the mean 0 and the variance 1 before anything else.
	Standardize bool
	Rho         float64 // ρ, what target losses count against private ones [10]
	// Ridge λ adds λ/2·‖w‖² to each loss, w being the parameters of a classifier, and to Φ,
	// w being those of the filter [1e-6].
	Ridge float64
	// NoIntercept takes the bias from classifiers: the paper's have none.
	NoIntercept     bool
	InnerIterations int // of classifiers at each step, from where they were [50]
	Steps           int // of the filter, for each start [60]
	Starts          int // the filter of the least Φ of all is kept [1]
	// Noise is what is added to the output; the zero value is nothing, and no promise.
	Noise NoiseOptions
}

// NoiseOptions say what is added to a filter's output.
type NoiseOptions struct {
	Kind    bundle.Kind    // "" and bundle.None are no noise
	Promise bundle.Promise // of a release
	// Domain is the body that outputs are clipped to: "" means what suits the noise. Clip is
	// the share of the training data within it [1: all]. The promise depends on neither.
	Domain bundle.Domain
	Clip   float64
	// AroundZero leaves the mean where it is, as the paper does, which wastes a part of the
	// body. Otherwise the mean of the training data becomes the center of the body.
	AroundZero bool
	Design     encoder.Design // of tables; see encoder.NewNoise
}

func (o *Options) fill() {
	or := func(v *float64, otherwise float64) {
		if *v == 0 {
			*v = otherwise
		}
	}
	count := func(v *int, otherwise int) {
		if *v == 0 {
			*v = otherwise
		}
	}
	if o.Method == "" {
		o.Method = Minimax
	}
	if o.Method == Masked {
		count(&o.Coordinates, len(o.Mask))
	}
	or(&o.Rho, 10)
	or(&o.Ridge, 1e-6)
	count(&o.InnerIterations, 50)
	count(&o.Steps, 60)
	count(&o.Starts, 1)
	o.Noise.fill()
}

func (o *NoiseOptions) fill() {
	if o.Kind == "" {
		o.Kind = bundle.None
	}
	if o.Clip == 0 {
		o.Clip = 1
	}
	if o.Domain != "" {
		return
	}
	switch o.Kind {
	case bundle.Spherical, bundle.Gaussian:
		o.Domain = bundle.Ball
	case bundle.Laplace:
		o.Domain = bundle.L1Ball
	default:
		o.Domain = bundle.Box
	}
}

// Limits of options: what takes hours is likely a mistake.
const (
	maxSteps = 100_000
	maxWidth = 1 << 12
)

// validate checks filled options for so many features.
func (o *Options) validate(d *Data) error {
	c := check.In("minimax")
	features := d.X.Cols
	if !slices.Contains(Methods, o.Method) {
		c.Badf("method", fmt.Sprintf("%.40q", string(o.Method)), "one of %v", Methods)
	}
	most := min(features, maxWidth)
	if o.Hidden != nil {
		most = maxWidth
	}
	if o.Coordinates < 1 || o.Coordinates > most {
		c.Badf("coordinates", o.Coordinates, "1 to %d", most)
	}
	if o.Method == Masked && (len(o.Mask) != features || o.Coordinates != features || !check.Finite(o.Mask...)) {
		c.Badf("mask", fmt.Sprintf("%d numbers for %d coordinates", len(o.Mask), o.Coordinates), "%d finite numbers, one for each feature, and as many coordinates", features)
	}
	if len(o.Hidden) > 0 && o.Method != Minimax {
		c.Badf("hidden", o.Hidden, "none for the method %s", o.Method)
	}
	for _, w := range o.Hidden {
		if w < 1 || w > maxWidth {
			c.Badf("hidden", w, "widths from 1 to %d", maxWidth)
		}
	}
	if !(o.Rho > 0 && o.Rho <= maxWeight) {
		c.Badf("rho", o.Rho, "above 0 and at most %g", float64(maxWeight))
	}
	if !(o.Ridge > 0 && o.Ridge <= 1) {
		c.Bad("ridge", o.Ridge, "above 0 and at most 1")
	}
	for _, v := range []struct {
		name  string
		value int
	}{{"inner iterations", o.InnerIterations}, {"steps", o.Steps}, {"starts", o.Starts}} {
		if v.value < 1 || v.value > maxSteps {
			c.Badf(v.name, v.value, "1 to %d", maxSteps)
		}
	}
	if len(d.Private) == 0 && slices.Contains([]Method{Minimax, ClosedForm, LDS, PPLS}, o.Method) {
		c.Badf("private tasks", "none", "at least 1 for the method %s", o.Method)
	}
	c.Add(o.Noise.validate())
	return c.Err()
}

// validate checks what encoder.NewNoise does not.
func (o *NoiseOptions) validate() error {
	if !(o.Clip > 0 && o.Clip <= 1) || math.IsNaN(o.Clip) {
		return check.Field("minimax", "clip", o.Clip, "above 0 and at most 1, a share of the training data")
	}
	return nil
}
