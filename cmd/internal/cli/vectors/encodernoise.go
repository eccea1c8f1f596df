// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/decision"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
)

func (o *trainOptions) noiseFlags(f *shell.Flags) {
	// Whether epsilon is needed is known once the noise is.
	f.OptionalNumber(&o.promise.Epsilon, "epsilon", shell.AtMost("a number", 100), "epsilon of a person's release, without unit: above 0, at most 100")
	f.OptionalNumber(&o.promise.Delta, "delta", deltaOfPerson, "delta of a person's release, a probability: 0, or from 1e-10 to 0.5")
	decisions := ""
	if o.decide != nil {
		decisions = "category or levels (a decision on the device, of classes), "
	}
	noiseFlag(f, &o.noise, &o.file, "noise: designed, staircase, local or local-unbiased (per coordinate), laplace, gaussian, spherical or ball (joint, the last of 2 to 8 numbers), "+decisions+"none (a filter, which promises nothing), or auto (the one of least loss on people held out)", o.trainKinds())
	f.Word(&o.domain, "domain", "word", "body that encodings are clipped to: box, l1-ball, ball, or auto (what suits the noise)", shell.NoiseAuto, string(bundle.Box), string(bundle.L1Ball), string(bundle.Ball))
	radius := f.OptionalNumber(&o.radius, "radius", shell.Rule{Want: "a number from 1e-6 to 1e6", OK: func(v float64) bool { return v >= 1e-6 && v <= 1e6 }},
		fmt.Sprintf("radius of the body, in units of the encoding: %g, with noise of a file what that is for", o.radius))
	counts := shell.NoiseAuto
	if len(o.coordinates) == 1 {
		counts = strconv.Itoa(o.coordinates[0])
	}
	f.Func("coordinates", "counts", counts, "numbers that a person sends: one count, several to choose the best of, or auto, which is 1,2,3", func(text string) error {
		o.counted = text != shell.NoiseAuto
		if text == shell.NoiseAuto {
			text = "1,2,3"
		}
		o.coordinates = nil
		for part := range strings.SplitSeq(text, ",") {
			v, ok := shell.ParseCount(part)
			if !ok || v < 1 || v > limits.Coordinates {
				return shell.Want(fmt.Sprintf("auto, or integers from 1 to %d, separated by commas", limits.Coordinates))
			}
			o.coordinates = append(o.coordinates, v)
		}
		slices.Sort(o.coordinates)
		o.coordinates = slices.Compact(o.coordinates)
		return nil
	})
	f.Check(func() error {
		switch {
		case o.noise == string(bundle.None) && (o.promise.Epsilon != 0 || o.promise.Delta != 0):
			return errors.New("epsilon or delta with noise = none, want neither: a filter promises nothing")
		case o.noise != string(bundle.None) && o.promise.Epsilon == 0:
			return errors.New("epsilon is missing, want a number above 0, at most 100")
		case o.noise == noise.Gaussian && o.promise.Delta == 0:
			return errors.New("noise = gaussian and delta = 0, want a delta above 0: Gaussian noise is never private without")
		case o.noise == string(bundle.Balls) && o.promise.Delta == 0:
			return errors.New("noise = ball and delta = 0, want a delta above 0: balls have an end")
		}
		if o.noise == string(bundle.Balls) {
			if err := o.ballCoordinates(); err != nil {
				return err
			}
		}
		o.fitted = !radius.Given
		return nil
	})
}

// ballCoordinates holds the numbers that a person sends against those that there are balls of, which auto is left with.
func (o *trainOptions) ballCoordinates() error {
	few := func(z int) bool { return z < limits.BallMinDimension || z > limits.BallMaxDimension }
	if !o.counted {
		o.coordinates = slices.DeleteFunc(slices.Clone(o.coordinates), few)
	}
	if i := slices.IndexFunc(o.coordinates, few); i >= 0 {
		return fmt.Errorf("coordinates = %d and noise = ball, want %d to %d coordinates", o.coordinates[i], limits.BallMinDimension, limits.BallMaxDimension)
	}
	return nil
}

// readNoise reads the noise of a file, and proves it.
func readNoise(ctx context.Context, s *shell.Streams, file string) (proof.Mechanism, error) {
	made, err := s.ReadAny(file)
	if err == nil {
		_, err = shell.Prove(ctx, file, made)
	}
	return made, err
}

// ownNumbers is noise for numbers.
func ownNumbers(file string, made proof.Mechanism) (*latent.Own, error) {
	own, err := latent.NewOwn(made)
	if err != nil {
		return nil, shell.BadFile(file, err)
	}
	return own, nil
}

// own reads the noise of a file, and holds the promise against it before the training.
func (o *trainOptions) own(ctx context.Context) error {
	if o.file == "" {
		return nil
	}
	made, err := readNoise(ctx, o.Streams, o.file)
	if err != nil {
		return err
	}
	if r, ok := made.(*local.Randomizer); ok && made.Inputs().Kind == proof.Categories {
		return o.ownCategory(r)
	}
	if o.given, err = ownNumbers(o.file, made); err != nil {
		return err
	}
	if o.fitted {
		o.radius = o.given.Radius
	}
	o.noise = string(o.given.Kind)
	for _, c := range o.choices() {
		t := &task{choice: c, radius: o.radius}
		if _, err := encoder.Given(o.given, t.body(), o.promise); err != nil {
			return shell.BadFile(o.file, err)
		}
	}
	return nil
}

// ownCategory is own for a randomizer of categories, which answers decisions on the device.
func (o *trainOptions) ownCategory(r *local.Randomizer) error {
	switch p := r.Privacy(); {
	case o.decide == nil:
		return shell.BadFile(o.file, errors.New("noise = a local randomizer of categories where nothing is decided on the device, want noise of numbers"))
	case p.Epsilon > o.promise.Epsilon || p.Delta > 0:
		return shell.BadFile(o.file, fmt.Errorf("noise of epsilon %v and delta %v, want at most the promise of epsilon %v, and a delta of 0 for a decision", p.Epsilon, p.Delta, o.promise.Epsilon))
	case o.fitted && o.domain == shell.NoiseAuto && !o.cmd.Flags().Changed("coordinates"):
		o.noise, o.decide.given = decision.Given, r
		return nil
	}
	return shell.BadFile(o.file, errors.New("noise = a local randomizer of categories with domain, radius or coordinates, want none of these: a decision is one answer"))
}

// noiseFlag adds --noise: one of the words, or a file.
func noiseFlag(f *shell.Flags, word, file *string, usage string, words []string) {
	more := ""
	if slices.Contains(words, decision.Category) {
		more = ", or of a local randomizer of categories, for a decision"
	}
	var flag *shell.Flag
	flag = f.Func("noise", "word or FILE", *word, usage+", or the file of a table, a kernel or a local randomizer of numbers, the same for each coordinate"+more, func(text string) error {
		if flag.Again {
			return errors.New("noise is given twice, want one, or auto, which compares all that fit")
		}
		*word, *file = text, ""
		if slices.Contains(words, text) {
			return nil
		}
		if _, err := os.Stat(text); err != nil {
			return shell.Want(strings.Join(words, " or ") + ", or a file")
		}
		*file = text
		return nil
	})
	f.CompleteOrFile("noise", words...)
}

func (o *trainOptions) choices() []encoders.Choice {
	choices := encoders.Choices(o.coordinates, o.promise)
	if decision.OnDevice(o.noise) {
		return nil
	}
	if o.noise != shell.NoiseAuto {
		choices = nil
		for _, z := range o.coordinates {
			kind := bundle.Kind(o.noise)
			choices = append(choices, encoders.Choice{Coordinates: z, Noise: kind, Domain: encoder.BestDomain(kind)})
		}
	}
	for i := range choices {
		if o.domain != shell.NoiseAuto {
			choices[i].Domain = bundle.Domain(o.domain)
		}
	}
	return choices
}
