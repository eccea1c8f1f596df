// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
)

// smallImages writes images of 6×6 pixels, with a pattern of its own for each digit, as
// MNIST is written.
func smallImages(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for part, n := range map[string]int{"train": 1200, "t10k": 400} {
		r := encoders.Rand(uint64(n), "images", 0)
		pixels, labels := []byte{0, 0, 8, 3}, []byte{0, 0, 8, 1}
		for _, d := range []int{n, 6, 6} {
			pixels = binary.BigEndian.AppendUint32(pixels, uint32(d))
		}
		labels = binary.BigEndian.AppendUint32(labels, uint32(n))
		for range n {
			y := r.IntN(digits)
			labels = append(labels, byte(y))
			for j := range 36 {
				pixels = append(pixels, byte(min(max(127+110*math.Cos(float64((y+1)*(j+2)))+30*r.NormFloat64(), 0), 255)))
			}
		}
		for name, content := range map[string][]byte{"images-idx3": pixels, "labels-idx1": labels} {
			if err := os.WriteFile(filepath.Join(folder, part+"-"+name+"-ubyte"), content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return folder
}

// smallAdult writes people with the columns of adult, of whom the income depends on some.
func smallAdult(t *testing.T) string {
	t.Helper()
	r := encoders.Rand(1, "people", 0)
	var b strings.Builder
	b.WriteString("split,age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,capital-gain,capital-loss,hours-per-week,native-country,income\n")
	for i := range 1500 {
		rich := r.IntN(2) == 1
		pick := func(share float64, yes, no string) string {
			if (r.Float64() < share) == rich {
				return yes
			}
			return no
		}
		income := "<=50K"
		if rich {
			income = ">50K"
		}
		work := "Private"
		if i%50 == 0 {
			work = "?"
		}
		fields := []string{
			"train", pick(0.6, "50", "30"), work, "1", "x", pick(0.85, "14", "9"), pick(0.9, "Married", "Single"), pick(0.85, "Exec", "Service"),
			pick(0.9, "Husband", "Own-child"), pick(0.5, "A", "B"), pick(0.6, "Male", "Female"), pick(0.6, "5000", "0"), "0", strconv.Itoa(20 + r.IntN(40)), pick(0.5, "C", "D"), income,
		}
		if i%3 == 0 {
			fields[2] = "Self"
		}
		b.WriteString(strings.Join(fields, ",") + "\n")
	}
	file := filepath.Join(t.TempDir(), "adult.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// figureAccuracies runs a figure on small data and returns what it reports, by series and ε, the
// second data set with a + before the series; 0 is no privacy.
func figureAccuracies(t *testing.T, v vlmFigure, change func(*vlmOptions)) map[string]map[float64]float64 {
	t.Helper()
	c, out := options(t)
	o := &vlmOptions{Common: c, figure: v, runs: 1, people: 900, epochs: 40, epsilons: []float64{10, 4}, hidden: []int{48}, adultSteps: 400}
	change(o)
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := map[string]map[float64]float64{}
	points, _ := object(t, out)["points"].([]any)
	for _, p := range points {
		m, _ := p.(map[string]any)
		series, _ := m["series"].(string)
		if m["data"] == adultSeries && v.name != vlmFigure3.name {
			series = "+" + series
		}
		epsilon, _ := m["epsilon"].(float64)
		if found[series] == nil {
			found[series] = map[float64]float64{}
		}
		found[series][epsilon], _ = m["accuracy"].(float64)
	}
	if all := records(t, c, v.name+".csv"); len(all) != len(points)+1 {
		t.Errorf("%d records of %d points", len(all), len(points))
	}
	return found
}

// TestRunVLMFigures: on classes that are easy to tell apart, what the paper says holds: the
// network is far above direct noise, private accuracies are below the bound, a class that
// was not trained on is told apart, and joining helps.
func TestRunVLMFigures(t *testing.T) {
	folder, file := smallImages(t), smallAdult(t)
	clean := figureAccuracies(t, vlmFigure1, func(o *vlmOptions) { o.data, o.adult = folder, file })
	if len(clean) != 7 || clean["no noise"][0] < 0.8 || clean["latent"][10] < clean["direct noise"][10]+0.2 || clean["+no noise"][0] < 0.9 || clean["+latent"][10] < 0.8 {
		t.Errorf("figure 1: %v", clean)
	}
	private := figureAccuracies(t, vlmFigure4, func(o *vlmOptions) { o.data, o.epochs = folder, 25 })
	for epsilon, bound := range private["bound (10)"] {
		for series, a := range private {
			// 100 people: 3 standard errors, and 1e-12 for the bound itself.
			if a[epsilon] > bound+3*math.Sqrt(bound*(1-bound)/100)+1e-12 {
				t.Errorf("figure 4: %s has %g at ε = %g, above the bound %g", series, a[epsilon], epsilon, bound)
			}
		}
	}
	if len(private) != 3 || private["all of ε on the encoding"][10] < 0.2 {
		t.Errorf("figure 4: %v", private)
	}
	novel := figureAccuracies(t, vlmFigure2, func(o *vlmOptions) { o.data = folder })
	if novel["no noise"][0] < 0.8 || novel["latent"][10] < 0.6 || len(novel["features"]) != 3 {
		t.Errorf("figure 2: %v", novel)
	}
	central := figureAccuracies(t, vlmFigure7, func(o *vlmOptions) { o.data, o.epochs = folder, 25 })
	if len(central) != len(centralCases) || len(central["central ε = 1"]) != 2 || central["not protected"][10] < 0.2 {
		t.Errorf("figure 7: %v", central)
	}
	joined := figureAccuracies(t, vlmFigure3, func(o *vlmOptions) { o.data = file })
	if joined["joined"][10] < joined["clean features alone"][0]+0.02 || joined["all features clean"][0] < joined["joined"][10]-0.03 {
		t.Errorf("figure 3: %v", joined)
	}
}

// TestVLMBadData: files that are no data end the commands with the sentence of the file.
func TestVLMBadData(t *testing.T) {
	folder, file := smallImages(t), smallAdult(t)
	if err := os.Remove(filepath.Join(folder, "t10k-labels-idx1-ubyte")); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(t.TempDir(), "short.csv")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if err := os.WriteFile(short, []byte(strings.Join(lines[:20], "")), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		v          vlmFigure
		data, want string
	}{
		{vlmFigure1, folder, "t10k-labels-idx1-ubyte.gz: no such file"},
		{vlmFigure3, folder, "is a directory"},
		{vlmFigure3, short, "too few to divide"},
	} {
		common, _ := options(t)
		o := &vlmOptions{Common: common, figure: c.v, data: c.data, runs: 1, people: 10, epochs: 1, epsilons: []float64{1}}
		if err := o.run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s: %v, want an error with %q", c.v.name, c.data, err, c.want)
		}
		if _, err := os.Stat(filepath.Join(common.Output, c.v.name+".csv")); err == nil {
			t.Errorf("%s wrote a file", c.v.name)
		}
	}
}
