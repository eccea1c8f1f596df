package taskaware

import (
	"cmp"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

// Options say how an encoder is trained. The zero value of a field means the number in
// brackets.
type Options struct {
	Approach Approach // [Aware]
	// Hidden are the widths of the encoder's hidden layers, sigmoids; nil means a linear
	// encoder.
	Hidden []int
	// Head are the widths of the hidden layers of the head or the decoder, ReLUs; nil means
	// one, twice as wide as there are features but no wider than 64.
	Head []int
	// Task is a frozen network, such as TrainTask makes, that reads features, in their own
	// units, and answers the task; the server then decodes features for it. nil means that the
	// server's head answers.
	Task []bundle.Layer
	// Steps of Adam on the full data in each restart [400]; the privacy-agnostic approach
	// takes as many before, without noise.
	Steps int
	// Restarts from other random networks [3]; the one with the least loss on the fifth of the
	// people held out is kept, at the step where it was least.
	Restarts int
	Draws    int // of noise for each person in a step [2]
	Seed     uint64
}

func (o Options) fill(features int) Options {
	o.Steps = cmp.Or(o.Steps, 400)
	o.Restarts = cmp.Or(o.Restarts, 3)
	o.Draws = cmp.Or(o.Draws, 2)
	o.Approach = cmp.Or(o.Approach, Aware)
	if o.Head == nil {
		o.Head = []int{min(2*features, 64)}
	}
	return o
}

func (o *Options) validate() error {
	c := check.In("taskaware")
	validateApproach(c, o.Approach)
	hidden(c, "hidden", o.Hidden)
	hidden(c, "head", o.Head)
	positive(c, "steps", o.Steps)
	positive(c, "restarts", o.Restarts)
	positive(c, "draws", o.Draws)
	return c.Err()
}

func validateApproach(c *check.List, a Approach) {
	c.Want(a == Aware || a == Agnostic || a == PrivacyAgnostic, "approach", check.Quoted(string(a)), "task-aware, task-agnostic or privacy-agnostic")
}

// positive reports a number of steps, restarts or the like that is not one.
func positive(c *check.List, field string, v int) {
	c.Want(v >= 1, field, v, "at least 1")
}

// hidden reports widths of hidden layers that are none.
func hidden(c *check.List, field string, widths []int) {
	for _, w := range widths {
		c.Want(w >= 1 && w <= maxWidth, field, w, "widths from 1 to %d", maxWidth)
	}
}

// maxWidth bounds the layers, so that none has more entries than a bundle may.
const maxWidth = 1 << 12
