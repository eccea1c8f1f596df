// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
)

type latentVerifyOptions struct {
	shell.Common
	bundle string
	limit  time.Duration
	filter bool
}

func newLatentVerifyCommand(s *shell.Streams) *cobra.Command {
	o := &latentVerifyOptions{Common: shell.Common{Streams: s}}
	f := shell.NewFlags(&cobra.Command{
		Use:   "verify BUNDLE",
		Short: "Prove the promise of a bundle",
		Long: `Prove, in exact or outward-rounded arithmetic and from nothing but the encoder, the
clipping and the tables of a bundle, that a release keeps its (epsilon, delta) for
every input. The exit code is 0 if it does, 3 if that is not proved, 2 if the bundle is
malformed, and 4 if the check did not end within --time-limit: the bundle is then not
checked, which says nothing about it, and "valid" is null with --json.

A filter, which is a bundle that adds no noise, promises nothing: the exit code is 1,
or 0 with --filter, and "promise" is null with --json.`,
		Example: "  noisewright latent verify bundle",
	})
	f.Argument(&o.bundle, "BUNDLE")
	f.CheckLimit(&o.limit)
	f.Bool(&o.filter, "filter", "a bundle without noise and without a promise is expected, and no failure")
	f.Verdict(&o.Common, "no progress and no summary")
	return f.Run(o.run)
}

func (o *latentVerifyOptions) run(ctx context.Context) error {
	o.Progress().Watch("verifying")
	b, err := readBundle(o.bundle)
	if err != nil {
		return err
	}
	var v *bundle.Verified
	falsehood, stopped := shell.Within(ctx, o.bundle, o.limit, func(ctx context.Context) (err error) {
		v, err = latent.Verify(ctx, b, proof.Options{Work: math.MaxInt64})
		return err
	})
	if stopped != nil {
		return o.NotChecked(stopped)
	}
	promised := !errors.Is(falsehood, bundle.ErrNoPromise)
	if falsehood != nil && promised && !errors.Is(falsehood, proof.ErrNotPrivate) {
		return shell.LatentFailure(fmt.Errorf("%s: %w", o.bundle, falsehood))
	}
	err = o.print(b, v, falsehood)
	switch {
	case !promised && o.filter:
		return err
	case !promised:
		return &shell.Failure{Code: shell.ExitFailure, Err: fmt.Errorf("%s: %w", o.bundle, falsehood), Hint: "--filter where that is expected"}
	case falsehood != nil:
		return shell.Negative("", fmt.Errorf("%s: %w", o.bundle, falsehood))
	}
	return err
}

func (o *latentVerifyOptions) print(b *bundle.Bundle, v *bundle.Verified, falsehood error) error {
	s := b.Spec()
	content := shell.Object{
		"noise", s.Noise, "composition", s.Composition, "domain", s.Domain,
		"features", b.Features(), "coordinates", b.Coordinates(), shell.ErrorPart(falsehood),
	}
	if errors.Is(falsehood, bundle.ErrNoPromise) {
		none := shell.Object{"valid", false, "promise", nil, "epsilon", nil, "delta", nil, "epsilon_upper", nil, "delta_upper", nil, content}
		return o.Print(none, append([]shell.Row{{"verdict", "no promise: it adds no noise"}}, contentRows(b, s)...))
	}
	verdict, epsilon, delta := "INVALID: the promise is not proved", "", ""
	var epsilonUpper, deltaUpper *float64
	if falsehood == nil {
		verdict = "valid: the promise is proved"
		epsilonUpper, deltaUpper = shell.FloatUp(v.EpsilonUpper()), shell.FloatUp(v.DeltaUpper())
		epsilon, delta = fmt.Sprintf(", %v proved", *epsilonUpper), fmt.Sprintf(", %v proved", *deltaUpper)
	}
	return o.Print(shell.Object{
		"valid", falsehood == nil, "promise", s.Promise, "epsilon", s.Promise.Epsilon, "delta", s.Promise.Delta,
		"epsilon_upper", epsilonUpper, "delta_upper", deltaUpper, content,
	}, append([]shell.Row{
		{"verdict", verdict},
		{"epsilon", fmt.Sprintf("%v promised%s", s.Promise.Epsilon, epsilon)},
		{"delta", fmt.Sprintf("%v promised%s", s.Promise.Delta, delta)},
		{"noise", fmt.Sprintf("%s, composition %s", s.Noise, s.Composition)},
	}, contentRows(b, s)...))
}

func contentRows(b *bundle.Bundle, s bundle.Spec) []shell.Row {
	rows := []shell.Row{
		{"domain", fmt.Sprintf("%s: %s", s.Domain, s.ClipOrigin)},
		{"encoder", shell.Counted(b.Features(), "feature") + through(s.Layers) + " to " + shell.Counted(b.Coordinates(), "number")},
	}
	if s.Output != bundle.Features || len(s.Head) > 0 {
		outputs := fmt.Sprintf("%d %s", len(b.Outputs()), s.Output)
		if s.Output == bundle.Features {
			outputs = shell.Counted(b.Features(), "feature")
		}
		rows = append(rows, shell.Row{"decoder", shell.Counted(b.Coordinates(), "number") + through(s.Head) + " to " + outputs})
	}
	return rows
}

func through(layers []bundle.Layer) string {
	text := ""
	for i, l := range layers {
		if text += ", "; i == 0 {
			text = " through "
		}
		text += fmt.Sprintf("%d %s", len(l.Bias), l.Activation)
	}
	return text
}

func readBundle(dir string) (*bundle.Bundle, error) {
	if shell.IsTableFile(dir) {
		return nil, shell.BadInput("noisewright verify "+dir, fmt.Errorf("bundle %s is a file, want %s", dir, wantBundle))
	}
	b, err := bundle.Read(dir)
	if err != nil {
		err = shell.LatentFailure(fmt.Errorf("bundle %s: %w", dir, err))
	}
	if f := new(shell.Failure); err != nil && !errors.As(err, &f) {
		err = shell.BadInput("", err)
	}
	return b, err
}

// verifiedBundle verifies a bundle for a command of the group.
func verifiedBundle(ctx context.Context, group, dir string, b *bundle.Bundle) (*bundle.Verified, error) {
	v, err := latent.Verify(ctx, b, proof.Options{})
	if errors.Is(err, proof.ErrNotPrivate) {
		return nil, shell.Negative("noisewright "+group+" verify "+dir, fmt.Errorf("%s: %w", dir, err))
	} else if err != nil {
		return nil, shell.LatentFailure(fmt.Errorf("%s: %w", dir, err))
	}
	return v, nil
}

func openPrivatizer(ctx context.Context, dir string, b *bundle.Bundle, o sampler.Options) (*bundle.Privatizer, error) {
	v, err := verifiedBundle(ctx, "latent", dir, b)
	if err != nil {
		return nil, err
	}
	p, err := v.NewPrivatizer(o)
	return p, shell.LatentFailure(err)
}
