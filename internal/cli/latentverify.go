package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
)

type latentVerifyOptions struct {
	shell.Common
	bundle string
}

func newLatentVerifyCommand(s *shell.Streams) *cobra.Command {
	o := &latentVerifyOptions{Common: shell.Common{Streams: s}}
	cmd := &cobra.Command{
		Use:   "verify BUNDLE",
		Short: "Prove the promise of a bundle",
		Long: `Prove, in exact or outward-rounded arithmetic and from nothing but the encoder, the
clipping and the tables of a bundle, that a release keeps its (epsilon, delta) for
every input. The exit code is 0 if it does, 3 if that is not proved and 2 if the
bundle is malformed.`,
		Example: "  noisewright latent verify bundle",
	}
	f := shell.NewFlags(cmd)
	f.Argument(&o.bundle, "BUNDLE")
	f.Summary(&o.Common)
	f.Run(o.run)
	return cmd
}

// bundleVerdict is what latent verify --json prints.
type bundleVerdict struct {
	Schema       int      `json:"schema"`
	Valid        bool     `json:"valid"`
	Epsilon      float64  `json:"epsilon"`
	Delta        float64  `json:"delta"`
	EpsilonUpper *float64 `json:"epsilon_upper"`
	DeltaUpper   *float64 `json:"delta_upper"`
	Noise        string   `json:"noise"`
	Composition  string   `json:"composition"`
	Domain       string   `json:"domain"`
	Features     int      `json:"features"`
	Coordinates  int      `json:"coordinates"`
}

func (o *latentVerifyOptions) run(context.Context) error {
	o.Progress().Watch("verifying")
	b, err := readBundle(o.bundle)
	if err != nil {
		return err
	}
	v, err := latent.Verify(b)
	if err != nil {
		return shell.LatentFailure(fmt.Errorf("%s: %w", o.bundle, err))
	}
	s := b.Spec()
	report := bundleVerdict{
		Schema: shell.Schema, Valid: true, Epsilon: s.Promise.Epsilon, Delta: s.Promise.Delta,
		EpsilonUpper: shell.FloatUp(v.EpsilonUpper()), DeltaUpper: shell.FloatUp(v.DeltaUpper()),
		Noise: string(s.Noise), Composition: string(s.Composition), Domain: string(s.Domain),
		Features: b.Features(), Coordinates: b.Coordinates(),
	}
	return o.Print(report, []shell.Row{
		{"verdict", "valid: the promise is proved"},
		{"epsilon", fmt.Sprintf("%v promised, %v proved", report.Epsilon, *report.EpsilonUpper)},
		{"delta", fmt.Sprintf("%v promised, %v proved", report.Delta, *report.DeltaUpper)},
		{"noise", fmt.Sprintf("%s, composition %s", s.Noise, s.Composition)},
		{"domain", fmt.Sprintf("%s: %s", s.Domain, s.ClipOrigin)},
		{"encoder", fmt.Sprintf("%s to %s", counted(b.Features(), "feature"), counted(b.Coordinates(), "number"))},
	})
}

// readBundle reads a bundle.
func readBundle(dir string) (*bundle.Bundle, error) {
	b, err := bundle.Read(dir)
	if err == nil {
		return b, nil
	}
	var f *shell.Failure
	if errors.As(shell.LatentFailure(err), &f) {
		return nil, f
	}
	return nil, shell.BadInput("", fmt.Errorf("bundle %s: %w", dir, shell.FileCause(err)))
}

// counted writes a number of things.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
