// SPDX-License-Identifier: Apache-2.0

package taskaware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

// Approach is what an encoder is trained for.
type Approach string

// The approaches of the paper.
const (
	// Aware trains encoder and reader together, with the noise: the paper's proposal.
	Aware Approach = "task-aware"
	// Agnostic sends the features themselves, scaled, and trains the reader with the noise.
	Agnostic Approach = "task-agnostic"
	// PrivacyAgnostic trains the encoder without noise, then the reader with it.
	PrivacyAgnostic Approach = "privacy-agnostic"
)

// Schedule is Algorithm 1 of the paper with what its authors' program does: AMSGrad of rate
// 0.001 on the full data; in an epoch one draw of Laplace noise of scale Shrink·Δ/Epsilon
// for each person, without noise in the first, and Inner times a step of the encoder and then
// one of the decoder; after it Δ, the largest ℓ1 distance of two people's encodings, is
// measured anew. Weight decay is the task-aware encoder's alone. The task network is frozen
// and the loss is that of its answers against the true target. The privacy-agnostic encoder
// is trained for Epochs steps without noise, and its decoder's AMSGrad goes on from them.
//
// Δ is that of the sample: what is sent is private for nobody else, and there is NO GUARANTEE.
type Schedule struct {
	Epsilon     float64
	Approach    Approach
	Coordinates int  // of the encoding; the task-agnostic one has those of the features
	Hidden      bool // encoder and decoder have a hidden layer of sigmoids, one per feature
	Epochs      int  // 0 means 2000
	Inner       int  // 0 means 15
	// Batch is how many people a step is about: the paper's images are taken in batches, with Inner
	// steps, noise in the first epoch too, and a Δ of its own for each. 0 means all of them. The Δ
	// of the result is the mean of those of batches, which is even less of a sensitivity.
	Batch  int
	Decay  float64 // of the task-aware encoder
	Shrink float64 // of the noise; 0 means 1. The authors' program has 1/√2
	Seed   uint64
}

// Scheduled is what a Schedule trained.
type Scheduled struct {
	// Sensitivity is Δ, measured on the sample.
	Sensitivity float64
	// Scale is that of the Laplace noise in each coordinate.
	Scale float64
	// Redrawn is how many trainings before this one ended with the same answers for everybody,
	// and began anew from other random networks.
	Redrawn int

	features []string
	like     encoders.Column // the target of the training
	encoder  *dense.Network  // nil: the features themselves
	reader   reader
}

// scheduleStarts is how often a schedule begins anew after a decoder that died.
const scheduleStarts = 5

// Train runs the schedule for a task network, see TrainTask. Features are read as they are.
// The same answers for everybody after an epoch make it begin anew. A run with a Directory
// leaves a checkpoint if the context ends.
//
// Errors wrap [dp.ErrInvalid] for bad data or options, and ErrDead if every start ended so;
// others are those of encoders.Run.Train.
func (s Schedule) Train(ctx context.Context, d *encoders.Data, task []bundle.Layer, run encoders.Run) (*Scheduled, error) {
	if err := s.validate(d); err != nil {
		return nil, err
	}
	t := d.Target.Target()
	frozen, err := network(task, d.X.Cols, t.Outputs())
	if err != nil {
		return nil, err
	}
	run.Seed = s.Seed
	for start := range scheduleStarts {
		r := newScheduleRun(s, d, t, frozen, start)
		if start > 0 {
			run.Directory = "" // the checkpoint is of the first start, and tells that it died
		}
		err := run.Train(ctx, r, r.quietSteps()+s.Epochs)
		if errors.Is(err, errConstant) {
			continue
		}
		if err != nil {
			return nil, err
		}
		r.out.Redrawn = start
		r.out.Scale = s.Shrink * r.out.Sensitivity / s.Epsilon
		r.use(nil)
		if !constant(r.out.reader.answer(r.code())) {
			return r.out, nil
		}
	}
	return nil, check.Errorf("taskaware", ErrDead, "the answers of the task network are the same for everybody after each of %d starts: its ReLUs died, or the weight decay left nothing of the encoding", scheduleStarts)
}

// errConstant ends a start whose answers have become the same for everybody.
var errConstant = errors.New("the answers are the same for everybody after an epoch")

func (s *Schedule) validate(d *encoders.Data) error {
	if err := validate(d); err != nil {
		return err
	}
	c := check.In("taskaware")
	s.Epochs, s.Inner, s.Shrink = cmp.Or(s.Epochs, 2000), cmp.Or(s.Inner, 15), cmp.Or(s.Shrink, 1)
	if s.Approach == Agnostic {
		s.Coordinates = d.X.Cols
	}
	positive(c, "epochs", s.Epochs)
	positive(c, "inner", s.Inner)
	c.Want(s.Batch >= 0, "batch", s.Batch, "at least 0")
	c.Want(s.Coordinates >= 1 && s.Coordinates <= maxWidth, "coordinates", s.Coordinates, "1 to %d", maxWidth)
	c.Want(check.Positive(s.Epsilon), "epsilon", s.Epsilon, "a number above 0")
	c.Want(s.Decay >= 0 && s.Shrink > 0, "decay, shrink", fmt.Sprintf("%g, %g", s.Decay, s.Shrink), "a decay of at least 0, a shrink above 0")
	validateApproach(c, s.Approach)
	return c.Err()
}

// scheduleRun is a schedule while it runs: an encoders.Training.
type scheduleRun struct {
	Schedule
	start  int // attempt
	x      dense.Matrix
	target dense.Target

	encoder, decoder *dense.Learner // the encoder is nil for the task-agnostic approach
	pass             dense.Pass
	fixed            bool         // the encoder does not change any more
	encoded          dense.Matrix // of everybody, once it is fixed
	now              portion
	out              *Scheduled
}

// portion is the people that a step is about.
type portion struct {
	read         dense.Matrix // features, or encodings if the encoder is fixed
	noise, noisy dense.Matrix
	target       dense.Target
}

func newScheduleRun(s Schedule, d *encoders.Data, t dense.Target, task *dense.Network, start int) *scheduleRun {
	r := &scheduleRun{Schedule: s, x: d.X, target: t, start: start}
	n, z := r.x.Cols, r.Coordinates
	var widths []int
	if r.Hidden {
		widths = []int{n}
	}
	r.decoder = dense.NewLearner(dense.MLP(z, widths, dense.Sigmoid, n), r.adam(0))
	r.out = &Scheduled{features: slices.Clone(d.Features), like: d.Target, reader: reader{net: r.decoder.Network, task: task}}
	if r.Approach != Agnostic {
		if s.Approach != Aware {
			r.Decay = 0
		}
		r.encoder = dense.NewLearner(dense.MLP(n, widths, dense.Sigmoid, z), r.adam(r.Decay))
		r.out.encoder = r.encoder.Network
		r.pass.NoInput = true
	}
	r.use(nil)
	// What a random decoder makes of encodings may be where the ReLUs of the task are 0.
	for draw := range initialDraws {
		r.decoder.Init(r.rand("decoder", draw))
		if r.encoder != nil {
			r.encoder.Init(r.rand("encoder", draw))
		}
		if !constant(r.out.reader.answer(r.code())) {
			break
		}
	}
	return r
}

// initialDraws is how many random networks are tried to begin with.
const initialDraws = 100

func (*scheduleRun) adam(decay float64) dense.Adam {
	return dense.Adam{AMSGrad: true, WeightDecay: decay}
}

func (r *scheduleRun) rand(purpose string, step int) *rand.Rand {
	return encoders.Rand(r.Seed, fmt.Sprintf("schedule %s %d", purpose, r.start), step)
}

// quietSteps is how many steps without noise there are before the epochs.
func (r *scheduleRun) quietSteps() int {
	if r.Approach == PrivacyAgnostic {
		return r.Epochs
	}
	return 0
}

// use turns to some people, nil for everybody, without noise.
func (r *scheduleRun) use(people []int) {
	read := r.x
	if r.fixed {
		read = r.encoded
	}
	t := r.target
	if people != nil {
		read, t = dense.Pick(read, people), r.target.Pick(people)
	}
	r.now = portion{read, dense.NewMatrix(read.Rows, r.Coordinates), dense.NewMatrix(read.Rows, r.Coordinates), t}
}

// batches are the people of an epoch, nil for everybody.
func (r *scheduleRun) batches(epoch int) [][]int {
	if r.Batch == 0 || r.Batch >= r.x.Rows {
		return [][]int{nil}
	}
	return batches(r.rand("batches", epoch), r.x.Rows, r.Batch)
}

// Step implements encoders.Training: a step without noise, or an epoch with one draw of
// noise, after which the sensitivity is measured.
func (r *scheduleRun) Step(step int) (loss float64, err error) {
	epoch := step - r.quietSteps()
	if epoch < 0 {
		return r.quietStep(step)
	}
	if r.Approach != Aware && !r.fixed {
		r.freeze()
	}
	noise := r.rand("noise", epoch)
	for _, people := range r.batches(epoch) {
		r.use(people)
		sensitivity := r.out.Sensitivity
		if people != nil {
			sensitivity = LargestDistance(r.code())
		}
		if epoch > 0 || people != nil {
			laplace(r.now.noise.Data, r.Shrink*sensitivity/r.Epsilon, noise)
		}
		for range r.Inner {
			if loss, err = r.inner(); err != nil {
				return loss, err
			}
		}
	}
	if constant(r.out.reader.answers) {
		return loss, errConstant
	}
	if !r.fixed {
		r.measure()
	}
	return loss, nil
}

// measure finds the sensitivity: of everybody, or the mean of those of batches.
func (r *scheduleRun) measure() {
	batches := r.batches(0)
	r.out.Sensitivity = 0
	for _, people := range batches {
		r.use(people)
		r.out.Sensitivity += LargestDistance(r.code()) / float64(len(batches))
	}
	r.use(nil)
}

// quietStep goes over everybody once, without noise.
func (r *scheduleRun) quietStep(step int) (loss float64, err error) {
	for _, people := range r.batches(step) {
		if people != nil {
			r.use(people)
		}
		if loss, err = r.inner(); err != nil {
			return loss, err
		}
	}
	return loss, nil
}

func (r *scheduleRun) freeze() {
	r.use(nil)
	r.encoded = r.x
	if r.encoder != nil {
		r.encoded = r.code()
		r.encoded.Data = slices.Clone(r.encoded.Data)
	}
	r.fixed = true
	r.measure()
}

func (r *scheduleRun) State() map[string][]float64 {
	state := map[string][]float64{"sensitivity": {r.out.Sensitivity}}
	r.decoder.Save(state, "decoder")
	if r.encoder != nil {
		r.encoder.Save(state, "encoder")
	}
	return state
}

func (r *scheduleRun) Restore(state map[string][]float64) error {
	if len(state["sensitivity"]) != 1 {
		return dense.OtherTraining(len(state["sensitivity"]), 1)
	}
	r.out.Sensitivity = state["sensitivity"][0]
	if r.encoder != nil {
		if err := r.encoder.Restore(state, "encoder"); err != nil {
			return err
		}
	}
	return r.decoder.Restore(state, "decoder")
}

// inner is a step of the encoder, unless it is fixed, and one of the decoder.
func (r *scheduleRun) inner() (loss float64, err error) {
	if !r.fixed {
		if loss = r.loss(); !check.Finite(loss) {
			return loss, notFinite("schedule", loss)
		}
		r.encoder.Backward(&r.pass, r.out.reader.backward(nil), r.encoder.Grad)
		r.encoder.Descend()
	}
	if loss = r.loss(); !check.Finite(loss) {
		return loss, notFinite("schedule", loss)
	}
	r.out.reader.backward(r.decoder.Grad)
	r.decoder.Descend()
	return loss, nil
}

func (r *scheduleRun) code() dense.Matrix {
	if r.encoder == nil || r.fixed {
		return r.now.read
	}
	return r.encoder.Forward(&r.pass, r.now.read)
}

// loss is that with the noise of the epoch.
func (r *scheduleRun) loss() float64 {
	for i, v := range r.code().Data {
		r.now.noisy.Data[i] = v + r.now.noise.Data[i]
	}
	return r.out.reader.loss(r.now.noisy, &r.now.target)
}

// LargestDistance is the largest ℓ1 distance of two rows, the authors' sensitivity.
func LargestDistance(u dense.Matrix) float64 {
	largest := 0.0
	for i := range u.Rows {
		a := dense.Row(u, i)
		for j := range i {
			d := 0.0
			for k, v := range dense.Row(u, j) {
				d += math.Abs(v - a[k])
			}
			largest = max(largest, d)
		}
	}
	return largest
}

// laplace draws noise. ExpFloat64 is finite, unlike the logarithm of a number that may be 0.
func laplace(dst []float64, scale float64, r *rand.Rand) {
	for i := range dst {
		v := scale * r.ExpFloat64()
		if r.Uint64()&1 == 0 {
			v = -v
		}
		dst[i] = v
	}
}
