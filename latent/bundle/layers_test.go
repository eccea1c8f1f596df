// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/limits"
)

// layered has two layers on the device, one on the server, and three classes.
func layered(t testing.TB) Spec {
	s := jointLaplace(t, L1Ball, 2, -6, 0.5, 0.5)
	s.Layers = []Layer{
		{Matrix{3, 2, []float64{1, -0.5, 0.25, 2, -1, 1}}, []float64{0.1, -0.2, 0.3}, "sigmoid"},
		{Matrix{4, 3, []float64{1, 2, -3, 0.5, 0.5, 0.5, -1, 0, 1, 2, -2, 0}}, []float64{0, 0.1, 0.2, -0.3}, "tanh"},
	}
	s.Encoder = Matrix{2, 4, []float64{0.5, -0.5, 1, 0.25, 0.125, 1, -1, 0.5}}
	s.Offset = []float64{0.01, -0.02}
	s.Head = []Layer{{Matrix{3, 2, []float64{1, 1, -1, 1, 2, 0}}, []float64{0, 0.5, -0.25}, "relu"}}
	s.Decoder, s.DecoderOffset = Matrix{3, 3, []float64{1, 0, -1, 0, 2, 1, -1, -1, 0.5}}, []float64{0.1, 0.2, 0.3}
	s.Output, s.Outputs = Classes, []string{"low", "middle", "high"}
	return s
}

// by computes a layer from its definition, in another order of operations.
func (l Layer) by(h []float64) []float64 {
	out := slices.Clone(l.Bias)
	for j := len(h) - 1; j >= 0; j-- {
		for i := range out {
			out[i] += l.Weights.Data[i*l.Weights.Cols+j] * h[j]
		}
	}
	for i, x := range out {
		out[i] = map[string]float64{
			"identity": x, "sigmoid": 0.5 + 0.5*math.Tanh(x/2), "relu": math.Max(x, 0), "tanh": 1 - 2/(1+math.Exp(2*x)),
		}[l.Activation]
	}
	return out
}

func TestLayers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	s := layered(t)
	b := must(New(s))
	must(b.Verify(nil))
	step := b.body.step
	if !slices.Equal(b.Outputs(), s.Outputs) || must(New(perCoordinate(t))).Outputs()[1] != "weight" {
		t.Errorf("outputs %v", b.Outputs())
	}
	for range 500 {
		x := []float64{1 + rng.NormFloat64(), 2 + rng.NormFloat64()}
		h := []float64{x[0] - 1, x[1] - 2}
		for _, l := range s.Layers {
			h = l.by(h)
		}
		want := Layer{s.Encoder, s.Offset, "identity"}.by(h)
		s.Domain.Clip(want, s.Axes)
		u := must(b.Encode(nil, x))
		for i := range u {
			if math.Abs(u[i]-want[i]) > step+1e-12 {
				t.Fatalf("%v is encoded to %v, want %v", x, u, want)
			}
		}
		h = Layer{s.Decoder, s.DecoderOffset, "identity"}.by(s.Head[0].by(u))
		total := math.Exp(h[0]) + math.Exp(h[1]) + math.Exp(h[2])
		for k, p := range must(b.Decode(nil, u)) {
			if math.Abs(p-math.Exp(h[k])/total) > 1e-14 {
				t.Fatalf("%v is decoded to %g for class %d, want %g", u, p, k, math.Exp(h[k])/total)
			}
		}
	}
	// Values are what classes are the softmax of, and the features may have a head too.
	s.Output = Values
	values := must(must(New(s)).Decode(nil, []float64{0.25, -0.125}))
	softmax(values)
	if classes := must(b.Decode(nil, []float64{0.25, -0.125})); !slices.Equal(values, classes) {
		t.Errorf("classes %v, want %v", classes, values)
	}
	s.Output, s.Outputs = Features, nil
	s.Decoder, s.DecoderOffset = Matrix{2, 3, []float64{1, 2, 3, 4, 5, 6}}, []float64{0.5, -0.5}
	// The head makes 0.125, 0.125 and 0.25.
	if got := must(must(New(s)).Decode(nil, []float64{0.25, -0.125})); !slices.Equal(got, []float64{1.625, 2.125}) {
		t.Errorf("decoded %v", got)
	}
}

// TestActivations holds them against their definitions where these are known exactly.
func TestActivations(t *testing.T) {
	for _, c := range []struct {
		a       string
		x, want float64
	}{
		{"sigmoid", 0, 0.5},
		{"sigmoid", 1e300, 1},
		{"sigmoid", -1e300, 0},
		{"sigmoid", 750, 1},
		{"sigmoid", -750, 0},
		{"tanh", 1e300, 1},
		{"tanh", -1e300, -1},
		{"tanh", 0, 0},
		{"relu", -1e300, 0},
		{"relu", 3, 3},
		{"identity", -7, -7},
	} {
		if got := activations[c.a](c.x); got != c.want {
			t.Errorf("%s of %g = %g, want %g", c.a, c.x, got, c.want)
		}
	}
	for x := -30.0; x <= 30; x += 0.37 {
		if sum := activations["sigmoid"](x) + activations["sigmoid"](-x); math.Abs(sum-1) > 1e-15 {
			t.Errorf("the sigmoids of ±%g have the sum %g", x, sum)
		}
	}
	for _, c := range [][2][]float64{
		{{0, 0}, {0.5, 0.5}},
		{{1e300, 1e300, -1e300}, {0.5, 0.5, 0}},
		{{math.Inf(1), 3, math.Inf(-1)}, {1, 0, 0}},
		{{-800, -800 - math.Log(3)}, {0.75, 0.25}},
	} {
		softmax(c[0])
		for i, p := range c[0] {
			if math.Abs(p-c[1][i]) > 1e-15*800 {
				t.Errorf("softmax %v, want %v", c[0], c[1])
			}
		}
	}
}

// TestLayersStayFinite: the largest weights, in as many layers as there may be, and
// encodings are in the body all the same.
func TestLayersStayFinite(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(6, 2))
	for trial := range 300 {
		s := layered(t)
		s.Composition, s.Noise, s.Tables, s.TableOf, s.Promise = noComposition, None, nil, nil, noPromise
		if trial%2 == 0 {
			s = layered(t)
		}
		s.Layers = nil
		for range maxLayers {
			l := Layer{Matrix{2, 2, make([]float64, 4)}, make([]float64, 2), []string{"identity", "sigmoid", "relu", "tanh"}[rng.IntN(4)]}
			for _, v := range [][]float64{l.Weights.Data, l.Bias} {
				for i := range v {
					v[i] = []float64{limits.Magnitude, -limits.Magnitude, 0, 1, 5e-324}[rng.IntN(5)]
				}
			}
			s.Layers = append(s.Layers, l)
		}
		s.Encoder = Matrix{2, 2, []float64{limits.Magnitude, -limits.Magnitude, limits.Magnitude, 1e-300}}
		b := must(New(s))
		for _, x := range [][]float64{{math.MaxFloat64, -math.MaxFloat64}, {1, 2}, {5e-324, 0}} {
			work := make([]float64, b.encodeWork())
			u := make([]float64, 2)
			b.encode(u, x, work)
			for _, h := range slices.Concat(work, u) {
				if !(math.Abs(h) <= 2*limits.Magnitude) {
					t.Fatalf("%v is encoded by way of %v", x, work)
				}
			}
			sum := math.Abs(u[0])/s.Axes[0] + math.Abs(u[1])/s.Axes[1]
			if !(sum <= 1+1e-15) {
				t.Fatalf("%v is encoded to %v, outside of %v", x, u, s.Axes)
			}
		}
	}
}

func TestLayersAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *Spec)
		says   string
	}{
		"too many":             {func(s *Spec) { s.Layers = make([]Layer, maxLayers+1) }, "layers = 17 layers, want at most 16"},
		"an empty one":         {func(s *Spec) { s.Layers[0] = Layer{} }, "layers[0].weights"},
		"too wide":             {func(s *Spec) { s.Head[0].Weights.Rows = maxFeatures + 1 }, "head[0].weights = 65537 rows, want 1 to 65536"},
		"inputs of another":    {func(s *Spec) { s.Layers[1].Weights.Cols = 2 }, "layers[1].weights = 4×2"},
		"entries missing":      {func(s *Spec) { s.Layers[1].Weights.Data = nil }, "layers[1].weights = 4×3 with 0 entries"},
		"a bias of another":    {func(s *Spec) { s.Layers[1].Bias = s.Layers[0].Bias }, "layers[1].bias = 3 numbers, want 4"},
		"a NaN":                {func(s *Spec) { s.Layers[1].Weights.Data[3] = math.NaN() }, "layers[1].weights[3] = NaN"},
		"a large bias":         {func(s *Spec) { s.Head[0].Bias[1] = 1e91 }, "head[0].bias[1] = 1e+91"},
		"an activation":        {func(s *Spec) { s.Head[0].Activation = "softplus" }, `head[0].activation = "softplus", want one of [identity sigmoid relu tanh]`},
		"no activation":        {func(s *Spec) { s.Layers[0].Activation = "" }, "layers[0].activation"},
		"an encoder of others": {func(s *Spec) { s.Encoder = Matrix{2, 2, make([]float64, 4)} }, "encoder = 2×2 with 4 entries, want 2×4"},
		"a decoder of others":  {func(s *Spec) { s.Decoder = Matrix{3, 2, make([]float64, 6)} }, "decoder = 3×2 with 6 entries, want 3×3"},
		"an offset of others":  {func(s *Spec) { s.DecoderOffset = make([]float64, 2) }, "decoder_offset = 2 numbers, want 3"},
		"bounds":               {func(s *Spec) { s.Domain, s.FeatureLower, s.FeatureUpper = Bounds, []float64{0, 0}, []float64{1, 1} }, "layers = 2 layers, want none for the domain bounds"},
		"a lookup and a head":  {func(s *Spec) { s.Decoder, s.Lookup = Matrix{}, looked(t).Lookup }, "head = 1 layers, want none beside a lookup"},
		"one class":            {func(s *Spec) { s.Outputs = s.Outputs[:1] }, "outputs = 1 names, want 2 to 65536 for the output classes"},
		"no values":            {func(s *Spec) { s.Output, s.Outputs = Values, nil }, "outputs = 0 names, want 1 to"},
		"a name twice":         {func(s *Spec) { s.Outputs[2] = "low" }, `outputs[2] = "low", want a name of its own`},
		"names of features":    {func(s *Spec) { s.Output = Features }, "outputs = 3 names, want none"},
		"another output":       {func(s *Spec) { s.Output = "logits" }, `output = "logits", want features, values or classes`},
		"its name in files":    {func(s *Spec) { s.Output, s.Outputs = outputFeatures, nil }, `output = "features"`},
		"a task":               {func(s *Spec) { s.Task = Matrix{1, 2, []float64{1, 2}} }, "task = 1×2, want none, unless the output is the features"},
		"too much together": {func(s *Spec) {
			wide := Layer{Matrix{1 << 12, 1 << 12, make([]float64, maxEntries)}, make([]float64, 1<<12), "relu"}
			s.Layers = []Layer{{Matrix{1 << 12, 2, make([]float64, 1<<13)}, make([]float64, 1<<12), "relu"}, wide}
		}, "layers and head = 16785414 entries of weights, want at most 16777216 together"},
	} {
		s := layered(t)
		c.change(&s)
		if b, err := New(s); b != nil || !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want ErrInvalid about %s", name, err, c.says)
		}
	}
	// A lookup may name classes.
	s := looked(t)
	s.Output, s.Outputs = Classes, []string{"no", "yes"}
	p := must(must(New(s)).Decode(nil, []float64{-0.3, -0.3}))
	if want := 1 / (1 + math.Exp((2+2+20)-(1+1+10))); math.Abs(p[0]-want) > 1e-18 || p[0]+p[1] != 1 {
		t.Errorf("classes of a lookup: %v, want %g", p, want)
	}
}

// TestLayersAreOwn: a bundle shares nothing with the Spec that it is made of.
func TestLayersAreOwn(t *testing.T) {
	s := layered(t)
	b := must(New(s))
	for _, s := range []Spec{s, b.Spec()} {
		s.Layers[0].Weights.Data[0], s.Layers[1].Bias[0], s.Head[0].Weights.Data[0], s.Outputs[0] = 9, 9, 9, "x"
	}
	b.Outputs()[0] = "y"
	c := b.Spec()
	if c.Layers[0].Weights.Data[0] != 1 || c.Layers[1].Bias[0] != 0 || c.Head[0].Weights.Data[0] != 1 || c.Outputs[0] != "low" {
		t.Errorf("a bundle changed from outside: %+v", c)
	}
}
