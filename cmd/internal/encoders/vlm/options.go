package vlm

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
)

// Sentinel errors, checked with errors.Is.
var (
	// ErrDiverged marks a training that ended in numbers that are not finite.
	ErrDiverged = errors.New("training diverged")
	// ErrCollapsed marks an encoder that says the same of everybody: the training found that
	// ignoring the encoding costs less than sending it through the noise (posterior collapse).
	ErrCollapsed = errors.New("posterior collapse")
)

// Options say how a network is trained. A zero value means what is in brackets.
type Options struct {
	// Coordinates is how many numbers an encoding has [8].
	Coordinates int
	// Radius is that of the l1 ball which encodings are clipped to, l [5].
	Radius float64
	// TrainingEpsilon is for the noise of the training, which has the scale 2·Radius/ε. It
	// need not be the ε of a release: much noise in training makes robust encodings,
	// little makes precise ones. [0: the scale is learned, for each coordinate.]
	TrainingEpsilon float64
	// Encoder are the widths of its hidden layers, with ReLU [400-150-50]. The decoder has the
	// same from the end.
	Encoder []int
	// Standardize divides features by their standard deviations, after subtracting their
	// means. The encoder of a bundle does so too.
	Standardize bool
	Rate        float64 // of Adam [0.0005]
	Batch       int     // people in a step [64]
	Epochs      int     // [20]
	// Central, if it is not nil, protects the people of the training data.
	Central *Central
	// Run has the seed, the checkpoint and the progress.
	Run encoders.Run
}

func (o Options) filled() Options {
	o.Coordinates = cmp.Or(o.Coordinates, 8)
	o.Radius = cmp.Or(o.Radius, 5)
	if o.Encoder == nil {
		o.Encoder = []int{400, 150, 50}
	}
	o.Rate = cmp.Or(o.Rate, 5e-4)
	o.Batch = cmp.Or(o.Batch, 64)
	o.Epochs = cmp.Or(o.Epochs, 20)
	return o
}

// maxWidth bounds the widths of layers, and so what options can make a program allocate.
const maxWidth = 1 << 14

func (o Options) check(x encoder.Matrix) error {
	bad := check.In("vlm")
	bad.Want(o.Coordinates >= 1 && o.Coordinates <= maxWidth, "coordinates", o.Coordinates, "1 to %d", maxWidth)
	positive := func(name string, v float64) {
		bad.Want(check.Positive(v), name, v, "a finite number above 0")
	}
	positive("radius", o.Radius)
	positive("rate", o.Rate)
	if o.TrainingEpsilon != 0 {
		positive("epsilon of the training", o.TrainingEpsilon)
	}
	for _, w := range o.Encoder {
		bad.Want(w >= 1 && w <= maxWidth, "width of a layer", w, "1 to %d", maxWidth)
	}
	bad.Want(o.Batch >= 1 && o.Epochs >= 1, "batch and epochs", fmt.Sprintf("%d and %d", o.Batch, o.Epochs), "at least 1")
	bad.Want(x.Rows >= 2 && x.Cols >= 1, "data", fmt.Sprintf("%d people with %d features", x.Rows, x.Cols), "at least 2 people and a feature")
	bad.Want(check.Finite(x.Data...), "data", "NaN or infinite", "finite numbers")
	if o.Central != nil {
		bad.Add(o.Central.check(o))
	}
	return bad.Err()
}
