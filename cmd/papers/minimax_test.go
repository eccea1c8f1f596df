// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/encoder"
)

// filterPeople writes a CSV file of people whose first two features tell the target and whose
// next two the private class.
func filterPeople(t *testing.T, faces bool) string {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString(map[bool]string{true: "split,expression,gender", false: "UNIQUE_ID,class,user"}[faces])
	const n = 6
	for j := range n {
		fmt.Fprintf(&b, ",p%d", j)
	}
	b.WriteString(",constant\n")
	for i := range 240 {
		target, private := i%2, i/2%3
		if faces {
			fmt.Fprintf(&b, "%s,%d,%d", map[bool]string{true: "test", false: "train"}[i >= 160], target, private/2)
		} else {
			fmt.Fprintf(&b, "%d,%c,%d", i, 'a'+target, private)
		}
		for j := range n {
			v := r.NormFloat64()
			if j < 2 {
				v += 3 * float64(target)
			} else if j < 4 {
				v += 3 * float64(private)
			}
			fmt.Fprintf(&b, ",%.3f", v)
		}
		b.WriteString(",7\n")
	}
	file := filepath.Join(t.TempDir(), "people.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRunMinimax runs the figures on people of whom the answers are known.
func TestRunMinimax(t *testing.T) {
	for _, f := range minimaxFigures {
		c, out := options(t)
		o := &minimaxOptions{Common: c, figure: f, data: filterPeople(t, f.faces), runs: 2, design: designOptions(0.5)}
		o.figure.coordinates = []int{3}
		if f.faces && !f.noisy {
			o.mask = filepath.Join(t.TempDir(), "mask.csv")
			if err := os.WriteFile(o.mask, []byte("theta\n1\n1\n0\n0\n1\n1\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.run(t.Context()); err != nil {
			t.Fatalf("%s: %v", f.name, err)
		}
		v := object(t, out)
		if v["name"] != f.name {
			t.Errorf("name %v, want %s", v["name"], f.name)
		}
		all := records(t, c, f.name+".csv")
		if points, _ := v["points"].([]any); len(points) != len(all)-1 || len(points) < 20 {
			t.Errorf("%s: %d points and %d records", f.name, len(points), len(all))
		}
		if f.noisy {
			continue
		}
		// The minimax filter hides from linear attackers what the features tell.
		accuracies := map[string]float64{}
		for _, p := range o.study.points {
			accuracies[strings.Join([]string{p.Filter, p.Role, string(p.Attacker)}, " ")] = p.Mean
			want := 2
			if p.Attacker == "rbf" || f.faces && !slices.Contains([]string{"minimax", "random"}, p.Filter) {
				want = 1
			}
			if p.Runs != want {
				t.Errorf("%s: %d runs of %s by %s, want %d", f.name, p.Runs, p.Filter, p.Attacker, want)
			}
		}
		for what, limits := range map[string][2]float64{
			"minimax target linear": {0.9, 1}, "none target linear": {0.95, 1}, "none private linear": {0.8, 1}, "minimax private linear": {0, 0.78},
			"ddd mask private linear": {0.4, 0.78},
		} {
			if a, ok := accuracies[what]; !ok && o.mask == "" {
				continue
			} else if !(a >= limits[0] && a <= limits[1]) {
				t.Errorf("%s: accuracy of %s = %g, want %v", f.name, what, a, limits)
			}
		}
	}
}

// TestRunMinimaxFull has all the noise, of whose epsilons a quick run has some.
func TestRunMinimaxFull(t *testing.T) {
	c, out := options(t)
	o := &minimaxOptions{Common: c, figure: minimaxFigures[2], data: filterPeople(t, true), full: true, design: designOptions(0.5)}
	o.figure.coordinates = []int{2}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	object(t, out)
	epsilons := map[float64]bool{}
	for _, p := range o.study.points {
		epsilons[noiseless(p.Epsilon)] = true
		if want := map[bool]int{true: 1, false: 10}[p.Epsilon == nil || p.Attacker == "mlp"]; p.Runs != want {
			t.Errorf("%d runs of %s by %s, want %d", p.Runs, p.Filter, p.Attacker, want)
		}
	}
	if len(epsilons) != 8 {
		t.Errorf("epsilons %v, want 1, 2, 3, 5, 10, 30, 100 and none", epsilons)
	}
}

// TestMinimaxGrid has each data set, number of coordinates, filter and epsilon of the figures once,
// and the same numbers for the same seed.
func TestMinimaxGrid(t *testing.T) {
	for _, f := range gridFigures {
		f.faces, f.activities = f.faces[:1], f.activities[:1]
		var first [][]string
		for _, seed := range []uint64{1, 1, 2} {
			c, out := options(t)
			o := &gridOptions{Common: c, figure: f, faces: filterPeople(t, true), activities: filterPeople(t, false), runs: 2, seed: seed}
			if err := o.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if v := object(t, out); v["caption"] != flat(f.said.caption) {
				t.Errorf("caption %v", v["caption"])
			}
			all := records(t, c, f.name+".csv")
			if want := 1 + 2*4*len(gridEpsilons)*2; len(all) != want {
				t.Errorf("%s: %d records, want %d", f.name, len(all), want)
			}
			if seed == 1 && first != nil && !slices.EqualFunc(first, all, slices.Equal) {
				t.Errorf("%s: other numbers for the same seed", f.name)
			}
			if seed == 2 && slices.EqualFunc(first, all, slices.Equal) {
				t.Errorf("%s: the same numbers for another seed", f.name)
			}
			first = all
			for _, p := range o.study.points {
				if p.Runs != 2 || p.Epsilon == nil && p.Role == roleTarget && p.Mean < 0.9 || p.Epsilon != nil && *p.Epsilon < 1 && p.Mean > 0.8 {
					t.Errorf("%s, %s: %d runs, accuracy %g at %v", p.Part, p.Filter, p.Runs, p.Mean, noiseless(p.Epsilon))
				}
			}
		}
	}
}

// TestSpherical compares the mean norm of noise with that of its law, d 2/ε. The sum of 4,000
// norms of 3 exponentials each is within five standard deviations but for one seed in a million.
func TestSpherical(t *testing.T) {
	const n, d, epsilon = 4000, 3, 0.5
	u := encoder.Matrix{Rows: n, Cols: d, Stride: d, Data: make([]float64, n*d)}
	addSpherical(u, epsilon, rand.New(rand.NewPCG(1, 2)))
	sum, first := 0.0, 0.0
	for i := range n {
		row := u.Data[i*u.Stride:][:d]
		sum += math.Hypot(math.Hypot(row[0], row[1]), row[2])
		first += row[0]
	}
	scale := 2 / epsilon
	if z := (sum/n - d*scale) / (scale * math.Sqrt(d) / math.Sqrt(n)); math.Abs(z) > 5 {
		t.Errorf("mean norm %g, want %g: %g standard deviations", sum/n, d*scale, z)
	}
	// The square of a coordinate has a third of that of the norm, which is d(d+1) scale².
	if z := first / n / (scale * math.Sqrt((d+1.0)/n)); math.Abs(z) > 5 {
		t.Errorf("mean coordinate %g: %g standard deviations", first/n, z)
	}
}

func TestMinimaxData(t *testing.T) {
	c, _ := options(t)
	d, err := readMinimax(c.Streams, filterPeople(t, true), true)
	if err != nil {
		t.Fatal(err)
	}
	train, test, err := d.given()
	if err != nil {
		t.Fatal(err)
	}
	if train.X.Rows != 160 || test.X.Rows != 80 || !slices.Equal(train.Features, []string{"p0", "p1", "p2", "p3", "p4", "p5"}) {
		t.Errorf("%d and %d people with the features %q", train.X.Rows, test.X.Rows, train.Features)
	}
	standardize(train.X, test.X)
	sum, square := 0.0, 0.0
	for i := range train.X.Rows {
		v := train.X.Data[i*6]
		sum, square = sum+v, square+v*v
	}
	if sum > 1e-9 || square < 159.999 || square > 160.001 {
		t.Errorf("sum %g and sum of squares %g of a standardized column of 160", sum, square)
	}
	file := filepath.Join(t.TempDir(), "few.csv")
	if err := os.WriteFile(file, []byte("split,expression,gender,p\ntrain,0,1,3\nelse,1,0,2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if d, err = readMinimax(c.Streams, file, true); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.given(); err == nil || !strings.Contains(err.Error(), "row 2 is of neither train nor test") {
		t.Errorf("%v, want a refusal of the part", err)
	}
	d.parts[1] = "test"
	if _, _, err := d.given(); err == nil || !strings.Contains(err.Error(), "1 rows to learn from and 1 to test") {
		t.Errorf("%v, want a refusal of so few people", err)
	}
	if _, err := readMinimax(c.Streams, file, false); err == nil || !strings.Contains(err.Error(), "no column class") {
		t.Errorf("%v, want a missing column", err)
	}
}
