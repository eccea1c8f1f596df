// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
)

// smallImages writes images of 6×6 pixels, with a pattern of its own for each digit, half of it black, as
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
				pixels = append(pixels, byte(min(max(255*math.Cos(float64((y+1)*(j+2)))+30*r.NormFloat64(), 0), 255)))
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

// smallOptions makes all of a figure smaller.
func smallOptions(t *testing.T, v vlmFigure) (*vlmOptions, *bytes.Buffer) {
	t.Helper()
	c, out := options(t)
	return &vlmOptions{
		Common: c, figure: v, runs: 1, tableRuns: 1, collections: 1, people: 900, epochs: 40, centralEpochs: 2, epsilons: []float64{math.Inf(1), 10, 4}, protected: []float64{math.Inf(1), 5, 1}, hidden: []int{48}, tableSteps: 400,
	}, out
}

// figureAccuracies runs a figure on small data and returns what it reports, by panel, series and ε;
// 0 is no privacy.
func figureAccuracies(t *testing.T, name string, change func(*vlmOptions)) map[string]map[string]map[float64]float64 {
	t.Helper()
	v := vlmFigures[slices.IndexFunc(vlmFigures, func(v vlmFigure) bool { return v.name == name })]
	o, out := smallOptions(t, v)
	change(o)
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]map[float64]float64{}
	said := object(t, out)
	points, _ := said["points"].([]any)
	for _, p := range points {
		m, _ := p.(map[string]any)
		panel, _ := m["data"].(string)
		series, _ := m["series"].(string)
		epsilon, _ := m["epsilon"].(float64)
		if found[panel] == nil {
			found[panel] = map[string]map[float64]float64{}
		}
		if found[panel][series] == nil {
			found[panel][series] = map[float64]float64{}
		}
		found[panel][series][epsilon], _ = m["accuracy"].(float64)
	}
	if all := records(t, o.Common, v.name+".csv"); len(all) != len(points)+1 {
		t.Errorf("%d records of %d points", len(all), len(points))
	}
	if said["caption"] != flat(v.said.caption) {
		t.Errorf("%s prints the caption %q", v.name, said["caption"])
	}
	for panel, lines := range found {
		for _, by := range o.centrals() {
			if len(lines[by.name]) != len(o.epsilons) {
				t.Errorf("%s, %s: %d points of the line %s, want %d", v.name, panel, len(lines[by.name]), by.name, len(o.epsilons))
			}
		}
	}
	return found
}

// TestRunVLMFigures: on classes that are easy to tell apart, what the paper says holds: the
// network is far above direct noise, private accuracies are below the bound, a class that
// was not trained on is told apart, and joining helps. Every figure has a line for each central ε.
func TestRunVLMFigures(t *testing.T) {
	folder, file := smallImages(t), smallAdult(t)
	none := noCentral.name
	clean := figureAccuracies(t, "vlm-figure1", func(o *vlmOptions) { o.data, o.adult = folder, file })
	latent, features, tables := clean["MNIST, latent"], clean["MNIST, features"], clean["adult, latent"]
	if len(clean) != 4 || latent[none][0] < 0.8 || latent[none][10] < features["direct noise"][10]+0.2 || tables[none][0] < 0.9 || tables[none][10] < 0.8 {
		t.Errorf("figure 1: %v", clean)
	}
	for figure, panel := range map[string]string{"vlm-figure4": "MNIST, latent", "vlm-figure7": "MNIST, features"} {
		private := figureAccuracies(t, figure, func(o *vlmOptions) { o.data, o.epochs = folder, 25 })[panel]
		for epsilon, bound := range private["bound (10)"] {
			for series, a := range private {
				// 100 people: 3 standard errors, and 1e-12 for the bound itself.
				if a[epsilon] > bound+3*math.Sqrt(bound*(1-bound)/100)+1e-12 {
					t.Errorf("%s: %s has %g at ε = %g, above the bound %g", figure, series, a[epsilon], epsilon, bound)
				}
			}
		}
		if len(private) != 4 || len(private["bound (10)"]) != 2 || private[none][10] < 0.2 {
			t.Errorf("%s: %v", figure, private)
		}
	}
	novel := figureAccuracies(t, "vlm-figure2", func(o *vlmOptions) { o.data = folder })["MNIST, 9 against others, latent"]
	if novel[none][0] < 0.8 || novel[none][10] < 0.6 {
		t.Errorf("figure 2: %v", novel)
	}
	joined := figureAccuracies(t, "vlm-figure3", func(o *vlmOptions) { o.adult = file })["adult, latent"]
	if joined[none][10] < joined["clean features alone"][0]+0.02 || joined["all features clean"][0] < joined[none][10]-0.03 {
		t.Errorf("figure 3: %v", joined)
	}
}

// TestCollections: people who send several times draw other noise each time, and what is reported is the mean: of
// 100 people each, so a multiple of 1/300.
func TestCollections(t *testing.T) {
	v := vlmFigures[slices.IndexFunc(vlmFigures, func(v vlmFigure) bool { return v.name == "vlm-figure4" })]
	o, _ := smallOptions(t, v)
	o.data, o.epochs, o.collections, o.epsilons, o.protected = smallImages(t), 25, 3, []float64{4}, []float64{math.Inf(1)}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := o.study[0]
	if sum := 300 * p.Mean; len(p.collections) != 1 || len(p.collections[0]) != 3 || math.Abs(sum-math.Round(sum)) > 1e-9 || p.AboveChance == nil {
		t.Errorf("%+v of the collections %v", p, p.collections)
	}
	most := slices.Max(p.collections[0])
	if row := records(t, o.Common, "vlm-figure4.csv")[1]; most == slices.Min(p.collections[0]) || row[3] != fmt.Sprintf("%.4f", p.Mean) || row[7] == "" {
		t.Errorf("record %v of %v", row, p.collections)
	}
}

// TestPublishedOrder: the lines in the order of the paper are asked for, and say so.
func TestPublishedOrder(t *testing.T) {
	o := &vlmOptions{protected: []float64{math.Inf(1), 5, 1}}
	if len(o.centrals()) != 3 {
		t.Errorf("%d lines", len(o.centrals()))
	}
	o.order = true
	if all := o.centrals(); len(all) != 5 || !all[4].publishedOrder || !strings.Contains(all[4].name, "order of the paper") {
		t.Errorf("lines %v", all)
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
		name, data, want string
	}{
		{"vlm-figure1", folder, "t10k-labels-idx1-ubyte.gz: no such file"},
		{"vlm-figure3", folder, "is a directory"},
		{"vlm-figure3", short, "too few to divide"},
	} {
		v := vlmFigures[slices.IndexFunc(vlmFigures, func(v vlmFigure) bool { return v.name == c.name })]
		o, _ := smallOptions(t, v)
		o.data, o.adult = c.data, c.data
		if err := o.run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s: %v, want an error with %q", c.name, c.data, err, c.want)
		}
		if _, err := os.Stat(filepath.Join(o.Output, c.name+".csv")); err == nil {
			t.Errorf("%s wrote a file", c.name)
		}
	}
}
