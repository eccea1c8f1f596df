package reproduce

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/cli/shell"
)

// TestReadExamples: one small file, number by number.
func TestReadExamples(t *testing.T) {
	text := "n,c,same,y\n0,u,1,b\n4,v,1,a\n?,u,1,b\n2,w,1,a\n" + strings.Repeat("2,u,1,b\n", 6)
	s := &shell.Streams{In: strings.NewReader(text)}
	e, err := readExamples(s, "-", "", "")
	if err != nil {
		t.Fatal(err)
	}
	// The mean of n is 2 and the largest distance from it 2; v and w are 1 in ten rows.
	want := [][]float64{{1, -1, -1. / 9, -1. / 9}, {1, 1, 1, -1. / 9}, {1, 0, -1. / 9, -1. / 9}, {1, 0, -1. / 9, 1}}
	for i, row := range want {
		for j, v := range row {
			if len(e.rows[i]) != len(row) || math.Abs(e.rows[i][j]-v) > 1e-12 {
				t.Fatalf("row %d is %v, want %v", i, e.rows[i], row)
			}
		}
	}
	if !slices.Equal(e.labels[:4], []float64{1, -1, 1, -1}) {
		t.Errorf("labels %v", e.labels)
	}
}

// TestDescend: every number is a component of the gradient, and in the end they are small in
// a problem with one feature and an optimum: the slope is 0 there.
func TestDescend(t *testing.T) {
	e := &examples{}
	for i := range 40 {
		x := float64(i%5)/2 - 1
		e.rows = append(e.rows, []float64{1, x})
		e.labels = append(e.labels, float64(2*((i/5)%2)-1)) // independent of x: the optimum is 0
	}
	var all []float64
	e.descend(rand.New(rand.NewPCG(1, 1)), func(g float64) { all = append(all, g) })
	if len(all) != 100 {
		t.Fatalf("%d gradients, want one a round", len(all))
	}
	for k, g := range all {
		if !(math.Abs(g) <= 40) || k >= 90 && math.Abs(g) > 1e-2 {
			t.Errorf("gradient %d is %g", k, g)
		}
	}
}
