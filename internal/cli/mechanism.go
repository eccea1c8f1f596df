package cli

import (
	"cmp"
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
	make             func(*arguments) (*account.PrivacyLossDistribution, error)
}

// arguments are the values of key=value pairs.
type arguments struct {
	values map[string]string
	err    error // the first that is missing or no number
}

// number reads a number that has to be there.
func (a *arguments) number(key string) float64 {
	text, ok := a.values[key]
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case a.err != nil:
	case !ok:
		a.err = check.Errorf("cli", dp.ErrInvalid, "%s = missing, want %s=NUMBER", key, key)
	case err != nil:
		a.err = check.Errorf("cli", dp.ErrInvalid, "%s = %q, want a number", key, text)
	}
	return x
}

// integer reads an integer that may be absent.
func (a *arguments) integer(key string, absent int) int {
	text, ok := a.values[key]
	if !ok {
		return absent
	}
	n, err := strconv.Atoi(text)
	if err != nil && a.err == nil {
		a.err = check.Errorf("cli", dp.ErrInvalid, "%s = %q, want an integer", key, text)
	}
	return n
}

func mechanismKinds() []mechanismKind {
	type mechanism = account.PrivacyLossDistribution
	return []mechanismKind{
		{
			"laplace", "laplace:epsilon=E", "Laplace noise of scale sensitivity/E",
			[]string{"epsilon"},
			func(a *arguments) (*mechanism, error) { return account.Laplace(a.number("epsilon")) },
		},
		{
			"discrete-laplace", "discrete-laplace:epsilon=E[,sensitivity=N]", "its law on the integers, for an integer sensitivity (1 if absent)",
			[]string{"epsilon", "sensitivity"},
			func(a *arguments) (*mechanism, error) {
				return account.DiscreteLaplace(a.number("epsilon"), a.integer("sensitivity", 1))
			},
		},
		{
			"staircase", "staircase:epsilon=E[,loss=l1|l2]", "the staircase mechanism tuned to the loss (l1 if absent)",
			[]string{"epsilon", "loss"},
			func(a *arguments) (*mechanism, error) {
				tuned, err := loss.Parse(cmp.Or(a.values["loss"], "l1"))
				if err != nil {
					return nil, check.Errorf("cli", dp.ErrInvalid, "%w", err)
				}
				return account.Staircase(a.number("epsilon"), tuned)
			},
		},
		{
			"gaussian", "gaussian:sigma=S or gaussian:epsilon=E,delta=D", "S is the standard deviation over the sensitivity; with E and D the analytic Gaussian",
			[]string{"sigma", "epsilon", "delta"},
			func(a *arguments) (*mechanism, error) {
				if _, ok := a.values["sigma"]; !ok {
					return account.AnalyticGaussian(a.number("epsilon"), a.number("delta"))
				}
				if len(a.values) > 1 {
					return nil, check.Errorf("cli", dp.ErrInvalid, "sigma and epsilon or delta, want sigma alone or both others")
				}
				return account.Gaussian(a.number("sigma"))
			},
		},
		{
			"discrete-gaussian", "discrete-gaussian:sigma=S[,sensitivity=N]", "on the integers, S and N (1 if absent) in steps",
			[]string{"sigma", "sensitivity"},
			func(a *arguments) (*mechanism, error) {
				return account.DiscreteGaussian(a.number("sigma"), a.integer("sensitivity", 1))
			},
		},
		{
			"randomized-response", "randomized-response:epsilon=E[,categories=K]", "one of K categories (2 if absent)",
			[]string{"epsilon", "categories"},
			func(a *arguments) (*mechanism, error) {
				return account.RandomizedResponse(a.number("epsilon"), a.integer("categories", 2))
			},
		},
		{
			"dp", "dp:epsilon=E,delta=D", "any mechanism of which only this is known",
			[]string{"epsilon", "delta"},
			func(a *arguments) (*mechanism, error) {
				return account.Approximate(a.number("epsilon"), a.number("delta"))
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
	a := &arguments{values: map[string]string{}}
	for pair := range strings.SplitSeq(rest, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if _, twice := a.values[key]; !ok || value == "" || twice || !slices.Contains(k.keys, key) {
			return nil, check.Errorf("cli", dp.ErrInvalid, "mechanism = %q, want %s", text, k.form)
		}
		a.values[key] = value
	}
	m, err := k.make(a)
	if a.err != nil {
		err = a.err // that of make is about what was not read
	}
	if err != nil {
		return nil, fmt.Errorf("mechanism %q: %w", text, err)
	}
	return m, nil
}
