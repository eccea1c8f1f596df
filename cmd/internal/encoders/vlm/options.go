// SPDX-License-Identifier: Apache-2.0

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
	// Encoder are the widths of its hidden layers, ReLU [400-150-50]; backwards, the decoder's.
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

// Scenario says who runs the network.
type Scenario string

// The scenarios of the paper.
const (
	// Collection: who trained the network asks people, who encode on their devices, and
	// trains a classifier on what they send.
	Collection Scenario = "collection"
	// NovelClass is the same where the people who are asked are of a class that the training
	// data has not. What they send is private; that they are of the class is known.
	NovelClass Scenario = "novel-class"
	// Joining: who trained the network encodes features that it holds, and hands them to
	// somebody who joins them to others of the same people.
	Joining Scenario = "joining"
)

// Level is what is made of a release.
type Level string

// The levels.
const (
	// Latent is the encodings with noise themselves.
	Latent Level = "latent"
	// Features is what the decoder makes of them.
	Features Level = "features"
	// Classes is what a classifier of the encodings makes of them.
	Classes Level = "classes"
)

// Parts are parts of a network.
type Parts struct{ Encoder, Decoder bool }

// String names the parts.
func (p Parts) String() string {
	switch p {
	case Parts{true, true}:
		return "encoder and decoder"
	case Parts{Encoder: true}:
		return "encoder"
	case Parts{Decoder: true}:
		return "decoder"
	}
	return "nothing"
}

// Private returns the parts that have to be trained privately where the people of the training data
// trust only who trained the network (the question of the paper's appendix D). One rule gives them
// all: a part is trained privately if somebody else sees it, or what it computes. Noise on
// encodings does not help: it protects who is encoded, and the network is the same in each of them.
//
// In Collection and NovelClass the encoder is on the devices of those who are asked. The decoder
// stays with who trained it, so it must not be in their bundle. In Joining the network stays, but
// what it computes is handed out: the encodings, or the features that the decoder makes of them.
func (s Scenario) Private(l Level) (Parts, error) {
	if err := l.check(); err != nil {
		return Parts{}, err
	}
	switch s {
	case Collection, NovelClass:
		return Parts{Encoder: true}, nil
	case Joining:
		return Parts{Encoder: true, Decoder: l == Features}, nil
	}
	return Parts{}, check.Field("vlm", "scenario", fmt.Sprintf("%.40q", string(s)), "collection, novel-class or joining")
}

func (l Level) check() error {
	if l != Latent && l != Features && l != Classes {
		return check.Field("vlm", "level", fmt.Sprintf("%.40q", string(l)), "latent, features or classes")
	}
	return nil
}
