package account

import (
	"errors"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

func TestParse(t *testing.T) {
	for _, x := range []struct{ text, name string }{
		{"laplace:epsilon=0.5", "laplace:epsilon=0.5"},
		{"discrete-laplace:epsilon=1", "discrete-laplace:epsilon=1,sensitivity=1"},
		{"discrete-laplace:sensitivity=3,epsilon=1", "discrete-laplace:epsilon=1,sensitivity=3"},
		{"staircase:epsilon=1", "staircase:epsilon=1,loss=l1"},
		{"staircase:epsilon=1,loss=l2", "staircase:epsilon=1,loss=l2"},
		{"gaussian:sigma=2e1", "gaussian:sigma=20"},
		{"discrete-gaussian:sigma=2.5,sensitivity=2", "discrete-gaussian:sigma=2.5,sensitivity=2"},
		{"randomized-response:epsilon=2,categories=7", "randomized-response:epsilon=2,categories=7"},
		{"dp:epsilon=1,delta=1e-9", "dp:epsilon=1,delta=1e-09"},
	} {
		m, err := Parse(x.text)
		if err != nil || m.Name() != x.name {
			t.Errorf("Parse(%q) = %v, %v, want %s", x.text, m, err, x.name)
			continue
		}
		if !IsMechanism(x.text) {
			t.Errorf("IsMechanism(%q) = false", x.text)
		}
		if again, err := Parse(m.Name()); err != nil || again.Name() != x.name {
			t.Errorf("Parse(%q), the name of a mechanism: %v", m.Name(), err)
		}
	}
	m, err := Parse("gaussian:epsilon=1,delta=1e-6")
	if err != nil || !strings.HasPrefix(m.Name(), "gaussian:sigma=") || m.law.deltaUpper(1) > 1e-6 || m.law.deltaUpper(1-1e-6) < 1e-6 {
		t.Errorf("the analytic Gaussian: %v, %v", m, err)
	}
	for _, u := range Usages() {
		if !IsMechanism(u.Form) || u.Note == "" {
			t.Errorf("usage %v", u)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "with a name of laplace",
		"table.json":                  "with a name of laplace",
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
		"gaussian:epsilon=1":          "delta = missing",
		"gaussian:sigma=0.01":         "want from 0.05",
		"discrete-gaussian:sigma=-1":  "want 0 < sigma",
		"discrete-laplace:epsilon=1,sensitivity=0.5": "want an integer",
		"discrete-laplace:epsilon=1,sensitivity=0":   "want an integer from 1",
		"randomized-response:epsilon=1,categories=1": "want 2 to 2^30",
		"staircase:epsilon=1,loss=l9":                "l9",
		"dp:epsilon=0,delta=0":                       "epsilon = 0",
		"dp:epsilon=1,delta=1":                       "want 0 <= delta < 1",
	} {
		if m, err := Parse(text); m != nil || !errors.Is(err, dp.ErrInvalid) && !strings.Contains(text, "loss=") || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, %v, want an error with %q", text, m, err, want)
		}
	}
}

func TestComposeErrors(t *testing.T) {
	m, err := Laplace(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		releases []Release
		width    float64
	}{
		{nil, 0},
		{[]Release{{nil, 1}}, 0},
		{[]Release{{m, 0}}, 0},
		{[]Release{{m, -1}}, 0},
		{[]Release{{m, MaxReleases}, {m, 1}}, 0},
		{[]Release{{m, 1}}, 0.6},
		{[]Release{{m, 1}}, -1},
	} {
		if c, err := Compose(x.releases, Options{Width: x.width}); c != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("Compose(%v, %g) = %v, %v, want ErrInvalid", x.releases, x.width, c, err)
		}
	}
	c := compose(t, Release{m, 2})
	for _, x := range []float64{-1, 1, 2} {
		if _, err := c.Epsilon(x); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("Epsilon(%g): %v", x, err)
		}
	}
	if _, err := c.Delta(-1); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("Delta(-1): %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, u := range Usages() {
		f.Add(u.Form)
	}
	f.Add("laplace:epsilon=1")
	f.Add("staircase:epsilon=0.1,loss=l2")
	f.Add("discrete-laplace:epsilon=1,sensitivity=2")
	f.Add("gaussian:epsilon=1,delta=1e-9")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse(text)
		if (m == nil) == (err == nil) {
			t.Fatalf("Parse(%q) = %v, %v", text, m, err)
		}
		if err != nil {
			return
		}
		if !IsMechanism(text) {
			t.Errorf("Parse takes %q, IsMechanism does not", text)
		}
		if b := m.law.deltaUpper(0.5); !(b >= 0 && b <= 1) || m.law.deltaLower(0.5) > b {
			t.Errorf("Parse(%q): delta at 0.5 from %g to %g", text, m.law.deltaLower(0.5), b)
		}
	})
}
