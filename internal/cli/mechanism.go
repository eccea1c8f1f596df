package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
)

// mechanismKind is a classical mechanism as a release on the command line,
// NAME:KEY=VALUE,….
type mechanismKind struct {
	name, form, note string
	keys             []string
	make             func(arguments) (*account.PrivacyLossDistribution, error)
}

// arguments are the values of key=value pairs.
type arguments map[string]string

func (a arguments) float(key string) (float64, error) {
	text, ok := a[key]
	if !ok {
		return 0, check.Errorf("cli", dp.ErrInvalid, "%s = missing, want %s=NUMBER", key, key)
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, check.Errorf("cli", dp.ErrInvalid, "%s = %q, want a number", key, text)
	}
	return x, nil
}

func (a arguments) int(key string, missing int) (int, error) {
	text, ok := a[key]
	if !ok {
		return missing, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, check.Errorf("cli", dp.ErrInvalid, "%s = %q, want an integer", key, text)
	}
	return n, nil
}

// oneFloat makes a mechanism of one number.
func oneFloat(key string, create func(float64) (*account.PrivacyLossDistribution, error)) func(arguments) (*account.PrivacyLossDistribution, error) {
	return func(a arguments) (*account.PrivacyLossDistribution, error) {
		x, err := a.float(key)
		if err != nil {
			return nil, err
		}
		return create(x)
	}
}

// floatAndSteps makes a mechanism of a number and an integer.
func floatAndSteps(key, steps string, missing int, create func(float64, int) (*account.PrivacyLossDistribution, error)) func(arguments) (*account.PrivacyLossDistribution, error) {
	return func(a arguments) (*account.PrivacyLossDistribution, error) {
		x, err := a.float(key)
		if err != nil {
			return nil, err
		}
		n, err := a.int(steps, missing)
		if err != nil {
			return nil, err
		}
		return create(x, n)
	}
}

// epsilonAndDelta makes a mechanism of its own promise.
func epsilonAndDelta(a arguments, create func(epsilon, delta float64) (*account.PrivacyLossDistribution, error)) (*account.PrivacyLossDistribution, error) {
	epsilon, err := a.float("epsilon")
	if err != nil {
		return nil, err
	}
	delta, err := a.float("delta")
	if err != nil {
		return nil, err
	}
	return create(epsilon, delta)
}

func mechanismKinds() []mechanismKind {
	return []mechanismKind{
		{
			"laplace", "laplace:epsilon=E", "Laplace noise of scale sensitivity/E",
			[]string{"epsilon"},
			oneFloat("epsilon", account.Laplace),
		},
		{
			"discrete-laplace", "discrete-laplace:epsilon=E[,sensitivity=N]", "its law on the integers, for an integer sensitivity (1 if absent)",
			[]string{"epsilon", "sensitivity"},
			floatAndSteps("epsilon", "sensitivity", 1, account.DiscreteLaplace),
		},
		{
			"staircase", "staircase:epsilon=E[,loss=l1|l2]", "the staircase mechanism tuned to the loss (l1 if absent)",
			[]string{"epsilon", "loss"},
			parseStaircase,
		},
		{
			"gaussian", "gaussian:sigma=S or gaussian:epsilon=E,delta=D", "S is the standard deviation over the sensitivity; with E and D the analytic Gaussian",
			[]string{"sigma", "epsilon", "delta"},
			parseGaussian,
		},
		{
			"discrete-gaussian", "discrete-gaussian:sigma=S[,sensitivity=N]", "on the integers, S and N (1 if absent) in steps",
			[]string{"sigma", "sensitivity"},
			floatAndSteps("sigma", "sensitivity", 1, account.DiscreteGaussian),
		},
		{
			"randomized-response", "randomized-response:epsilon=E[,categories=K]", "one of K categories (2 if absent)",
			[]string{"epsilon", "categories"},
			floatAndSteps("epsilon", "categories", 2, account.RandomizedResponse),
		},
		{
			"dp", "dp:epsilon=E,delta=D", "any mechanism of which only this is known",
			[]string{"epsilon", "delta"},
			func(a arguments) (*account.PrivacyLossDistribution, error) {
				return epsilonAndDelta(a, account.Approximate)
			},
		},
	}
}

// isMechanism reports whether parseMechanism takes the text for a mechanism:
// whether it starts with the name of one and a colon.
func isMechanism(text string) bool {
	name, _, ok := strings.Cut(text, ":")
	return ok && slices.ContainsFunc(mechanismKinds(), func(k mechanismKind) bool { return k.name == name })
}

// parseMechanism reads a mechanism. The errors wrap dp.ErrInvalid.
func parseMechanism(text string) (*account.PrivacyLossDistribution, error) {
	name, rest, _ := strings.Cut(text, ":")
	i := slices.IndexFunc(mechanismKinds(), func(k mechanismKind) bool { return k.name == name })
	if i < 0 {
		var forms []string
		for _, k := range mechanismKinds() {
			forms = append(forms, k.name)
		}
		return nil, check.Errorf("cli", dp.ErrInvalid, "mechanism = %q, want NAME:KEY=VALUE,… with a name of %s", text, strings.Join(forms, ", "))
	}
	k := mechanismKinds()[i]
	a := arguments{}
	for pair := range strings.SplitSeq(rest, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if _, twice := a[key]; !ok || twice || !slices.Contains(k.keys, key) {
			return nil, check.Errorf("cli", dp.ErrInvalid, "mechanism = %q, want %s", text, k.form)
		}
		a[key] = value
	}
	m, err := k.make(a)
	if err != nil {
		return nil, fmt.Errorf("mechanism %q: %w", text, err)
	}
	return m, nil
}

func parseStaircase(a arguments) (*account.PrivacyLossDistribution, error) {
	epsilon, err := a.float("epsilon")
	if err != nil {
		return nil, err
	}
	name, ok := a["loss"]
	if !ok {
		name = "l1"
	}
	loss, err := loss.Parse(name)
	if err != nil {
		return nil, check.Errorf("cli", dp.ErrInvalid, "%w", err)
	}
	return account.Staircase(epsilon, loss)
}

func parseGaussian(a arguments) (*account.PrivacyLossDistribution, error) {
	if _, ok := a["sigma"]; !ok {
		return epsilonAndDelta(a, account.AnalyticGaussian)
	}
	if len(a) > 1 {
		return nil, check.Errorf("cli", dp.ErrInvalid, "sigma and epsilon or delta, want sigma alone or both others")
	}
	return oneFloat("sigma", account.Gaussian)(a)
}
