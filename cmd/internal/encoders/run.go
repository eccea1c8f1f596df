// SPDX-License-Identifier: Apache-2.0

package encoders

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/checkpoint"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
)

// Rand returns the random numbers of one purpose at one step of a training. They depend on
// the three alone, so that a training that was interrupted draws what it would have drawn.
func Rand(seed uint64, purpose string, step int) *rand.Rand {
	text := binary.LittleEndian.AppendUint64(nil, seed)
	text = binary.LittleEndian.AppendUint64(text, uint64(step)) //nolint:gosec // any bits
	hash := sha256.Sum256(append(text, purpose...))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(hash[:8]), binary.LittleEndian.Uint64(hash[8:16]))) //nolint:gosec // for training, no release
}

// Run says how any training goes on. The zero value has no checkpoint and is silent.
type Run struct {
	Seed uint64
	// Directory has the checkpoint: if there is one, the training goes on from it. "" means none.
	Directory string
	// Every is the time between checkpoints; 0 means 30 seconds. There is one at the last
	// step too, and when the context ends.
	Every time.Duration
	// Options tells what else the result depends on: a checkpoint with others is refused.
	Options string
	// Progress is called after each step, with its loss, NaN if not to be shown; it may be nil.
	Progress func(step, steps int, loss float64)
}

// Training is what a Run runs. All that changes from step to step is in its State.
type Training interface {
	// Step does one step, 0, 1, …, and returns its loss. What it draws comes from Rand.
	Step(step int) (loss float64, err error)
	// State returns the numbers that the steps to come, and the result, depend on, by names
	// of lower-case letters, digits, _ and -. None is NaN. They are read before the next step.
	State() map[string][]float64
	// Restore sets them to those of a checkpoint, which it may keep. None is empty.
	Restore(state map[string][]float64) error
}

// ErrCheckpoint marks a checkpoint that cannot be read or written, or is of another run.
var ErrCheckpoint = errors.New("no use of the checkpoint")

// every is Run.Every if that is 0.
const every = 30 * time.Second

// state is what a checkpoint has beside the numbers.
type state struct {
	Step    int    `json:"step"` // the next one
	Steps   int    `json:"steps"`
	Options string `json:"options"` // their digest
}

// Train does the steps, from the checkpoint if there is one. The result is the same bit for
// bit, on processors of one architecture, however often it was interrupted.
//
// Errors are those of the context, of the checkpoint (wrapping ErrCheckpoint, and dp.ErrInvalid
// if it is of another run), and of Step; a loss that is not finite is one.
// After an error of the context the checkpoint has all steps that were done.
func (r *Run) Train(ctx context.Context, t Training, steps int) error {
	step, err := r.resume(t, steps)
	if err != nil {
		return err
	}
	saved, last := step, time.Now()
	save := func(step int) error {
		if r.Directory == "" || step == saved {
			return nil
		}
		saved, last = step, time.Now()
		return r.save(t, step, steps)
	}
	pause := r.Every
	if pause <= 0 {
		pause = every
	}
	for ; step < steps; step++ {
		if err := ctx.Err(); err != nil {
			return errors.Join(check.Errorf("encoder", nil, "stopped after step %d of %d: %w", step, steps, err), save(step))
		}
		loss, err := t.Step(step)
		if err != nil {
			return err
		}
		if !check.Finite(loss) {
			return check.Errorf("encoder", nil, "the loss of step %d of %d is %v, want a finite number: a smaller rate, or features of one scale, may help", step+1, steps, loss)
		}
		if r.Progress != nil {
			r.Progress(step+1, steps, loss)
		}
		if time.Since(last) >= pause {
			if err := save(step + 1); err != nil {
				return err
			}
		}
	}
	return save(steps)
}

// Below is the run with the directory of that name below, for one of several trainings.
func (r *Run) Below(name string) Run {
	below := *r
	if r.Directory != "" {
		below.Directory = filepath.Join(r.Directory, name)
	}
	return below
}

// Remove removes the checkpoint, and nothing else.
func (r *Run) Remove() error {
	if r.Directory == "" {
		return nil
	}
	if err := checkpoint.CheckWrite(r.Directory); err != nil {
		return check.Errorf("encoder", nil, "%w", err)
	}
	if err := os.RemoveAll(r.Directory); err != nil {
		return check.Errorf("encoder", nil, "%w", err)
	}
	return nil
}

func (r *Run) digest() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(r.Options))) }

// resume restores the checkpoint, and returns the step to go on with.
func (r *Run) resume(t Training, steps int) (int, error) {
	if r.Directory == "" {
		return 0, nil
	}
	if err := os.MkdirAll(filepath.Dir(r.Directory), 0o777); err != nil { //nolint:gosec // as any directory
		return 0, check.Errorf("encoder", ErrCheckpoint, "checkpoint: %w", err)
	}
	var s state
	numbers, err := checkpoint.Read(r.Directory, &s)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case errors.Is(err, checkpoint.ErrFormat):
		err = check.Errorf("", dp.ErrInvalid, "%w", err)
	case err == nil && (s.Options != r.digest() || s.Steps != steps || s.Step < 0 || s.Step > steps):
		err = check.Errorf("", dp.ErrInvalid, "it is of other data, other options or another version, want the same ones, or another directory")
	}
	if err == nil {
		err = t.Restore(numbers)
	}
	if err != nil {
		return 0, check.Errorf("encoder", ErrCheckpoint, "checkpoint %s: %w", r.Directory, err)
	}
	return s.Step, nil
}

func (r *Run) save(t Training, step, steps int) error {
	if err := checkpoint.Write(r.Directory, state{Step: step, Steps: steps, Options: r.digest()}, t.State()); err != nil {
		return check.Errorf("encoder", ErrCheckpoint, "checkpoint %s: %w", r.Directory, err)
	}
	return nil
}
