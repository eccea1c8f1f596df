package encoder

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"time"
)

// Rand returns the random numbers of one purpose at one step of a training. They depend on
// the three alone, so that a training that was interrupted draws what it would have drawn.
func Rand(seed uint64, purpose string, step int) *rand.Rand {
	text := binary.LittleEndian.AppendUint64(nil, seed)
	text = binary.LittleEndian.AppendUint64(text, uint64(step)) //nolint:gosec // any bits
	hash := sha256.Sum256(append(text, purpose...))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(hash[:8]), binary.LittleEndian.Uint64(hash[8:16])))
}

// Run says how a training goes on, whatever is trained. The zero value has no checkpoints
// and is silent.
type Run struct {
	Seed uint64
	// Directory has the checkpoint: where there is one, the training goes on from it. ""
	// means none.
	Directory string
	// Every is the time between checkpoints; 0 means 30 seconds. There is one at the end of
	// the context too.
	Every time.Duration
	// Options is the digest of what else the result depends on: a checkpoint of other
	// options is refused.
	Options string
	// Progress is called after steps, with the loss of the last one; it may be nil.
	Progress func(step, steps int, loss float64)
}

// Training is what a Run runs. All that changes from step to step is in its State.
type Training interface {
	// Step does one step, 0, 1, …, and returns its loss. What it draws comes from Rand.
	Step(step int) (loss float64, err error)
	// State returns the numbers that the steps to come depend on, and the result. They are
	// read before the next step.
	State() map[string][]float64
	// Restore sets them to those of a checkpoint.
	Restore(state map[string][]float64) error
}

// Train does the steps, from the last checkpoint if there is one. The result is the same bit
// for bit, on one type of machine, however often it was interrupted.
func (r *Run) Train(ctx context.Context, t Training, steps int) error { panic("not yet") }
