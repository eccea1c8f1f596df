package cli

import (
	"fmt"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/shell"
)

// samplingRate is the rule of --rate.
var samplingRate = shell.Rule{Want: "a probability above 0, at most 1", OK: func(v float64) bool { return v > 0 && v <= 1 }}

// subsampledReport is what calibrate --rate --json prints.
type subsampledReport struct {
	Schema       int     `json:"schema"`
	Releases     int     `json:"releases"`
	Rate         float64 `json:"rate"`
	Epsilon      float64 `json:"epsilon"`
	Delta        float64 `json:"delta"`
	EpsilonUpper float64 `json:"epsilon_upper"`
	EpsilonLower float64 `json:"epsilon_lower"`
	Sigma        float64 `json:"sigma"`
}

// runSubsampled finds the noise of releases about random samples.
func (o *calibrateOptions) runSubsampled() error {
	o.Progress().Watch("composing")
	t := o.target
	sigma, bounds, err := account.SubsampledMultiplier(o.rate, t.Releases, t.Epsilon, t.Delta)
	if err != nil {
		return shell.BadInput("noisewright calibrate --help", err)
	}
	return o.Print(subsampledReport{
		Schema: shell.Schema, Releases: t.Releases, Rate: o.rate, Epsilon: t.Epsilon, Delta: t.Delta,
		EpsilonUpper: bounds.Upper, EpsilonLower: bounds.Lower, Sigma: sigma,
	}, []shell.Row{
		{"releases", fmt.Sprintf("%d, each about a sample to which a person belongs with probability %v", t.Releases, o.rate)},
		{"total", fmt.Sprintf("epsilon %v, delta %v, if a person is added or removed", t.Epsilon, t.Delta)},
		{"sigma", fmt.Sprintf("%v, the standard deviation of Gaussian noise over the norm", sigma)},
		{"composed", fmt.Sprintf("epsilon %s (at least %s at this delta)", shell.DigitsUp(bounds.Upper), shell.DigitsDown(bounds.Lower))},
	})
}
