// Package bundle_test holds the reader beside this file, in Python and numpy,
// against package bundle.
package bundle_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

const script = "read_bundle.py"

// interpreter returns a Python with numpy: $PYTHON or python3.
func interpreter(t *testing.T) string {
	t.Helper()
	name := os.Getenv("PYTHON")
	if name == "" {
		name = "python3"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is missing (set PYTHON to another one)", name)
	}
	if err := exec.Command(path, "-c", "import numpy").Run(); err != nil {
		t.Skipf("%s has no numpy (set PYTHON to one that has)", path)
	}
	return path
}

func TestReader(t *testing.T) {
	python := interpreter(t)
	if _, err := os.ReadFile(script); err != nil { // for the test cache, which does not see what Python reads
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for _, lookup := range []bool{false, true} {
		testRandomizers(t, python, rng, lookup)
	}
	for _, output := range []bundle.Output{bundle.Features, bundle.Values, bundle.Classes} {
		for _, filter := range []bool{false, true} {
			testLayers(t, python, rng, output, filter)
		}
	}
	for _, domain := range []bundle.Domain{bundle.Ball, bundle.L1Ball, bundle.Box, bundle.Bounds} {
		for _, composition := range []bundle.Composition{bundle.Basic, bundle.L1, bundle.L2, bundle.Norm} {
			b := example(t, rng, domain, composition, 0.2, 0.1, 0.15)
			dir := filepath.Join(t.TempDir(), "b")
			if err := b.Write(dir, false); err != nil {
				t.Fatal(err)
			}
			inputs := people(rng, b.Features())
			got := run(t, python, dir, inputs)
			step := math.Ldexp(1, math.Ilogb(b.Spec().Tau)-32)
			if t := b.Table(0); t != nil {
				step, _ = t.Grid().Step().Float64()
			}
			for i, x := range inputs {
				u, err := b.Encode(nil, x)
				if err != nil {
					t.Fatal(err)
				}
				// Where a sum is rounded another way, a grid may be too.
				tolerance := 1e-12
				if composition != bundle.Basic {
					tolerance = 1.01 * step
				}
				near(t, got.Encoded[i], u, tolerance)
				y, err := b.Decode(nil, got.Encoded[i])
				if err != nil {
					t.Fatal(err)
				}
				near(t, got.Decoded[i], y, 1e-10)
			}
			if exact(got.Encoded, inputs, b) < 190 {
				t.Errorf("%s, %s: few encodings agree to the last digits", domain, composition)
			}
		}
	}
}

// people returns features of all sizes.
func people(rng *rand.Rand, n int) (inputs [][]float64) {
	for range 200 {
		x := make([]float64, n)
		size := math.Exp(2 * rng.NormFloat64())
		for j := range x {
			x[j] = size * rng.NormFloat64()
		}
		inputs = append(inputs, x)
	}
	return inputs
}

// output is what the reader prints.
type output struct {
	Encoded, Decoded [][]float64
	Probabilities    [][][]float64
	Outputs          []string
}

func run(t *testing.T, python, dir string, inputs [][]float64) (got output) {
	t.Helper()
	text, err := json.Marshal(inputs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, script, dir)
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// testRandomizers compares what is answered with which probability, and what is decoded,
// for a bundle of version 2.
func testRandomizers(t *testing.T, python string, rng *rand.Rand, lookup bool) {
	t.Helper()
	s := example(t, rng, bundle.Box, bundle.Basic, 0.2, 0.1, 0.15).Spec()
	s.Noise, s.Tables, s.TableOf, s.RandomizerOf = bundle.Local, nil, nil, []int{1, 0, 1}
	for k, epsilon := range []float64{1, 2} {
		m, err := local.New(local.Spec{
			Epsilon: epsilon, Values: local.Values{Kind: local.Real, Lower: -0.25, Upper: 0.25}, Objective: local.Mean, Loss: loss.L2,
			Nodes: []float64{-0.25, 0.05, 0.25}, Answers: []float64{-0.4, 0.3},
			Rows: [][]uint64{{1 << 63, 1 << 63}, {1<<63 + 1<<60, 1<<63 - 1<<60}, {1<<63 + 1<<uint(k), 1<<63 - 1<<uint(k)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Randomizers = append(s.Randomizers, m)
	}
	if lookup {
		values := make([]float64, 9*5)
		for i := range values {
			values[i] = rng.NormFloat64()
		}
		s.Decoder = bundle.Matrix{}
		s.Lookup = &bundle.Lookup{
			Edges:  bundle.Matrix{Rows: 3, Cols: 2, Data: []float64{-0.1, 0.1, -0.05, 1e90, 0, 0}},
			Values: bundle.Matrix{Rows: 9, Cols: 5, Data: values},
		}
	}
	b, err := bundle.New(s)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "b")
	if err := b.Write(dir, false); err != nil {
		t.Fatal(err)
	}
	inputs := people(rng, b.Features())
	got := run(t, python, dir, inputs)
	if n := exact(got.Encoded, inputs, b); n < 190 {
		t.Errorf("lookup %t: %d encodings agree to the last digits", lookup, n)
	}
	for i := range inputs {
		for k, u := range got.Encoded[i] {
			near(t, got.Probabilities[i][k], b.Randomizer(k).PMFAt(u), 1e-12)
		}
		y, err := b.Decode(nil, got.Encoded[i])
		if err != nil {
			t.Fatal(err)
		}
		near(t, got.Decoded[i], y, 1e-10)
	}
}

// testLayers compares encodings behind layers, in an l1 ball of one axis, and what a head makes
// of them.
func testLayers(t *testing.T, python string, rng *rand.Rand, output bundle.Output, filter bool) {
	t.Helper()
	const n, z, wide = 5, 3, 4
	s := example(t, rng, bundle.L1Ball, bundle.L1, 0.2, 0.2, 0.2).Spec()
	layer := func(out, in int, a bundle.Activation) bundle.Layer {
		return bundle.Layer{Weights: bundle.Matrix{Rows: out, Cols: in, Data: random(rng, out*in)}, Bias: random(rng, out), Activation: a}
	}
	s.Layers = []bundle.Layer{layer(6, n, bundle.Sigmoid), layer(wide, 6, bundle.Identity), layer(wide, wide, bundle.Tanh)}
	s.Encoder = bundle.Matrix{Rows: z, Cols: wide, Data: random(rng, z*wide)}
	s.Head = []bundle.Layer{layer(7, z, bundle.ReLU), layer(wide, 7, bundle.Sigmoid)}
	if s.Output = output; output != bundle.Features {
		s.Outputs, s.Task = []string{"low", "middle", "high"}, bundle.Matrix{}
	}
	k := len(s.Features)
	if s.Outputs != nil {
		k = len(s.Outputs)
	}
	s.Decoder, s.DecoderOffset = bundle.Matrix{Rows: k, Cols: wide, Data: random(rng, k*wide)}, random(rng, k)
	if filter {
		s.Noise, s.Composition, s.Tables, s.TableOf, s.Promise = bundle.None, bundle.NoComposition, nil, nil, bundle.Promise{Epsilon: math.Inf(1)}
	}
	b, err := bundle.New(s)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "b")
	if err := b.Write(dir, false); err != nil {
		t.Fatal(err)
	}
	inputs := people(rng, n)
	got := run(t, python, dir, inputs)
	if count := exact(got.Encoded, inputs, b); count < 190 {
		t.Errorf("output %q, filter %t: %d encodings agree to the last digits", output, filter, count)
	}
	if !slices.Equal(got.Outputs, b.Outputs()) {
		t.Errorf("outputs %q, want %q", got.Outputs, b.Outputs())
	}
	for i := range inputs {
		y, err := b.Decode(nil, got.Encoded[i])
		if err != nil {
			t.Fatal(err)
		}
		near(t, got.Decoded[i], y, 1e-12)
	}
	if output == bundle.Classes {
		testForged(t, python, dir)
	}
}

// testForged changes words of a bundle that the reader would misunderstand.
func testForged(t *testing.T, python, dir string) {
	t.Helper()
	path := filepath.Join(dir, "bundle.json")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	forgeries := [][2]string{{`"relu"`, `"softplus"`}, {`"l1-ball"`, `"l3-ball"`}, {`"classes"`, `"logits"`}, {`"width": 7`, `"width": 6`}}
	if bytes.Contains(good, []byte(`"privacy": null`)) {
		forgeries = [][2]string{{`"privacy": null`, `"privacy": {"epsilon": 1, "delta": 0}`}, {`"kind": "none"`, `"kind": "laplace"`}, {`"version": 2`, `"version": 3`}}
	}
	for _, c := range forgeries {
		bad := bytes.Replace(good, []byte(c[0]), []byte(c[1]), 1)
		if bytes.Equal(bad, good) {
			t.Fatalf("no %s in %s", c[0], good)
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(python, script, dir)
		cmd.Stdin = bytes.NewReader([]byte("[]"))
		if out, err := cmd.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("ValueError")) {
			t.Errorf("%s in place of %s: %v, %s", c[1], c[0], err, out)
		}
		if b, err := bundle.Read(dir); err == nil {
			t.Errorf("%s in place of %s is read: %+v", c[1], c[0], b.Promise())
		}
	}
}

func random(rng *rand.Rand, count int) []float64 {
	v := make([]float64, count)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// exact counts the encodings that agree but for rounding.
func exact(got, inputs [][]float64, b *bundle.Bundle) (count int) {
	for i, x := range inputs {
		u, err := b.Encode(nil, x)
		if err != nil {
			return 0
		}
		far := 0.0
		for k := range u {
			far = math.Max(far, math.Abs(u[k]-got[i][k]))
		}
		if far < 1e-12 {
			count++
		}
	}
	return count
}

func near(t *testing.T, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d numbers, want %d", len(got), len(want))
	}
	for k := range want {
		if !(math.Abs(got[k]-want[k]) <= tolerance) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

// example returns a bundle of 5 random features and 3 coordinates with the given axes.
func example(t *testing.T, rng *rand.Rand, domain bundle.Domain, composition bundle.Composition, axes ...float64) *bundle.Bundle {
	t.Helper()
	const n, z = 5, 3
	s := bundle.Spec{
		Features: []string{"a", "b", "c", "d", "e"}, Mean: random(rng, n),
		Encoder: bundle.Matrix{Rows: z, Cols: n, Data: random(rng, z*n)}, Offset: random(rng, z),
		Axes: axes, Domain: domain, ClipOrigin: "made up",
		Composition: composition, TableOf: make([]int, z),
		Decoder: bundle.Matrix{Rows: n, Cols: z, Data: random(rng, n*z)}, DecoderOffset: random(rng, n),
		Task: bundle.Matrix{Rows: 2, Cols: n, Data: random(rng, 2*n)}, Promise: bundle.Promise{Epsilon: 1, Delta: 1e-4},
	}
	if domain == bundle.Bounds {
		s.FeatureLower, s.FeatureUpper = []float64{-1, -1, -1, -1, -1}, []float64{1, 1, 1, 1, 2}
	}
	var table *tables.Table
	var err error
	switch composition {
	case bundle.L1:
		s.Noise = bundle.Laplace
		table, err = bundle.LaplaceTable(1, domain, s.Axes)
	case bundle.L2:
		s.Noise = bundle.Gaussian
		table, s.Tau, err = bundle.GaussianTable(1, 1e-4, domain, s.Axes)
	case bundle.Norm:
		s.Noise, s.TableOf = bundle.Spherical, nil
		s.Tau, err = bundle.SphericalScale(1, domain, s.Axes)
	default: // noise has no part in this; any table will do
		s.Noise = bundle.Designed
		table, err = tables.New(tables.Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Loss: loss.L2},
			Grid:    tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 1},
			Weights: []uint64{1 << 63}, Atom: 1 << 63,
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	if table != nil {
		s.Tables = []*tables.Table{table}
	}
	b, err := bundle.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
