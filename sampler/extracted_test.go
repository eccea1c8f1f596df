// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/tables"
)

// TestExtractedDraws compares all methods with the draws that the program NOISEWRIGHT_DRAW makes of the same words: the
// definition of proofs/Sampler.v, extracted, of which proofs/Drawn.v proves the law. make proofs builds it and runs this.
func TestExtractedDraws(t *testing.T) {
	program := os.Getenv("NOISEWRIGHT_DRAW")
	if program == "" {
		t.Skip("NOISEWRIGHT_DRAW names no program; make proofs does")
	}
	all := smallTables(t)
	all["laplace"], all["laplace and atom"] = laplaceTable(t, 2001, 50, 0), laplaceTable(t, 301, 50, 0.01)
	for i, ratio := range []uint64{1, 1 << 62, 3 << 62} {
		all[fmt.Sprint("tail ", i)] = tailTable(t, 3, ratio, 0)
		all[fmt.Sprint("tail and atom ", i)] = tailTable(t, 1<<20+1, ratio, 1<<60)
	}
	rng := rand.New(rand.NewPCG(3, 5))
	for name, tab := range all {
		words := hardWords(tab, 4, rng)
		if r := tab.TailRatio(); r != 0 {
			for i := range words {
				if rng.IntN(10) == 0 {
					words[i] = r + rng.Uint64N(3) - 1
				}
			}
		}
		want := extractedDraws(t, program, tab, words)
		for method, prepare := range modes() {
			if method != "fast" && tab.TailRatio() != 0 {
				continue // takes other words
			}
			s := newNoise(tab, newLaw(tab, method != "fast"), &readerGenerator{r: newScript(words)})
			prepare(s)
			n := 0
			for ; ; n++ {
				x, err := s.SampleInt()
				if errors.Is(err, ErrEntropy) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if n >= len(want) || fmt.Sprint(x) != want[n] {
					t.Fatalf("%s, %s: draw %d = %d, want %v", name, method, n, x, want[n:min(n+1, len(want))])
				}
			}
			if n < 900 {
				t.Errorf("%s, %s: %d draws of %d words, want 900 or more", name, method, n, len(words))
			}
		}
	}
}

// extractedDraws gives the program a table as its numbers, and words.
func extractedDraws(t *testing.T, program string, tab *tables.Table, words []uint64) []string {
	t.Helper()
	g := tab.Grid()
	weights := make([]uint64, tab.Cells())
	for i := range weights {
		weights[i] = tab.Weight(i)
	}
	first := fmt.Sprintln(g.PointsPerCell, g.Offset, g.CellsPerSensitivity, g.FirstCell, tab.Atom(), tab.TailRatio())
	cmd := exec.Command(program)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		w := bufio.NewWriter(in)
		_, _ = io.WriteString(w, first+strings.Trim(fmt.Sprintln(weights), "[]\n")+"\n"+strings.Trim(fmt.Sprintln(words), "[]\n")+"\n")
		_ = w.Flush()
		_ = in.Close()
	}()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
