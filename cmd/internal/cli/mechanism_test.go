// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

func TestParseMechanism(t *testing.T) {
	must := func(m *account.PrivacyLossDistribution, err error) *account.PrivacyLossDistribution {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for text, want := range map[string]*account.PrivacyLossDistribution{
		"laplace:epsilon=0.5":                        must(account.Laplace(0.5)),
		"discrete-laplace:epsilon=1":                 must(account.DiscreteLaplace(1, 1)),
		"discrete-laplace:sensitivity=3,epsilon=1":   must(account.DiscreteLaplace(1, 3)),
		"staircase:epsilon=1":                        must(account.Staircase(1, loss.L1)),
		"staircase:epsilon=1,loss=l2":                must(account.Staircase(1, loss.L2)),
		"gaussian:sigma=2e1":                         must(account.Gaussian(20)),
		"gaussian:epsilon=1,delta=1e-6":              must(account.AnalyticGaussian(1, 1e-6)),
		"discrete-gaussian:sigma=2.5,sensitivity=2":  must(account.DiscreteGaussian(2.5, 2)),
		"subsampled-gaussian:sigma=1,rate=0.1":       must(account.SubsampledGaussian(1, 0.1)),
		"randomized-response:epsilon=2,categories=7": must(account.RandomizedResponse(2, 7)),
		"dp:epsilon=1,delta=1e-9":                    must(account.Approximate(1, 1e-9)),
	} {
		m, err := parseMechanism(text)
		if err != nil || !isMechanism(text) {
			t.Errorf("parseMechanism(%q): %v, isMechanism = %v", text, err, isMechanism(text))
			continue
		}
		for _, epsilon := range []float64{0, 0.3} {
			if got, want := singleDelta(t, m, epsilon), singleDelta(t, want, epsilon); got != want {
				t.Errorf("parseMechanism(%q) has delta = %v at epsilon = %g, want %v", text, got, epsilon, want)
			}
		}
	}
	for _, k := range mechanismKinds() {
		if !isMechanism(k.form) || k.note == "" {
			t.Errorf("usage of %s: %q, %q", k.name(), k.form, k.note)
		}
	}
}

func TestParseMechanismErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "with a name of laplace",
		"table.json":                  "with a name of laplace",
		"laplac:epsilon=1":            "release = laplac:epsilon=1, want a table or kernel file, or NAME:KEY=VALUE,… with a name of laplace",
		"laplace":                     "want laplace:epsilon=E",
		"laplace:":                    "want laplace:epsilon=E",
		"laplace:epsilon":             "want laplace:epsilon=E",
		"laplace:epsilon=1,epsilon=1": "want laplace:epsilon=E",
		"laplace:sigma=1":             "want laplace:epsilon=E",
		"laplace:epsilon=x":           "want a number",
		"laplace:epsilon=0":           "want 0 < epsilon <= 100",
		"laplace:epsilon=NaN":         "want 0 < epsilon <= 100",
		"laplace:epsilon=Inf":         "want 0 < epsilon <= 100",
		"gaussian:sigma=1,delta=0.1":  "want sigma alone",
		"gaussian:epsilon=1":          "want gaussian:sigma=S or gaussian:epsilon=E,delta=D",
		"gaussian:sigma=0.01":         "want from 0.05",
		"discrete-gaussian:sigma=-1":  "want 0 < sigma",
		"discrete-laplace:epsilon=1,sensitivity=0.5": "want an integer",
		"discrete-laplace:epsilon=1,sensitivity=0":   "want an integer from 1",
		"randomized-response:epsilon=1,categories=1": "want 2 to 2^30",
		"staircase:epsilon=1,loss=l9":                "l9",
		"dp:epsilon=0,delta=0":                       "epsilon = 0",
		"dp:epsilon=1,delta=1":                       "at least 0 and below 1",
	} {
		if m, err := parseMechanism(text); m != nil || !errors.Is(err, dp.ErrInvalid) && !strings.Contains(text, "loss=") || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseMechanism(%q) = %v, %v, want an error with %q", text, m, err, want)
		}
	}
}

func FuzzParseMechanism(f *testing.F) {
	for _, k := range mechanismKinds() {
		f.Add(k.form)
	}
	f.Add("laplace:epsilon=1")
	f.Add("staircase:epsilon=0.1,loss=l2")
	f.Add("discrete-laplace:epsilon=1,sensitivity=2")
	f.Add("gaussian:epsilon=1,delta=1e-9")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseMechanism(text)
		if (m == nil) == (err == nil) {
			t.Fatalf("parseMechanism(%q) = %v, %v", text, m, err)
		}
		if err != nil {
			return
		}
		if !isMechanism(text) {
			t.Errorf("parseMechanism takes %q, isMechanism does not", text)
		}
		if b := singleDelta(t, m, 0.5); !(b.Upper >= 0 && b.Upper <= 1) || b.Lower > b.Upper {
			t.Errorf("parseMechanism(%q): delta at 0.5 in %v", text, b)
		}
	})
}

func singleDelta(t *testing.T, m *account.PrivacyLossDistribution, epsilon float64) account.Bounds {
	t.Helper()
	c, err := account.Compose([]account.Release{{PLD: m, Times: 1}}, account.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Delta(epsilon)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
