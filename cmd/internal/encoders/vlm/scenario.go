package vlm

import (
	"fmt"

	"github.com/noisewright/noisewright/internal/check"
)

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

// Private returns the parts that have to be trained privately where the people of the
// training data trust only who trained the network (the question of the paper's appendix D).
// One rule gives them all: a part is trained privately if somebody else sees it, or what it
// computes. Noise on encodings does not help: it protects who is encoded, and the network
// is the same in each of them.
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
