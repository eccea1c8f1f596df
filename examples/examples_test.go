// SPDX-License-Identifier: Apache-2.0

// Package examples_test holds the programs of this folder to the draws of the Go packages.
package examples_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/catalogue"
)

var update = flag.Bool("update", false, "rewrite golden; say why in the commit")

const (
	goldenDraws = 24
	wordsFile   = "golden/words.txt"
)

// goldenWords are the least word twice, whose second is discarded as a position wherever any is; then the
// largest, as cell and position; and then the stream of the seed that noisewright export has by default.
func goldenWords(t *testing.T) []uint64 {
	t.Helper()
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(i)
	}
	block, err := aes.NewCipher(seed[:])
	if err != nil {
		t.Fatal(err)
	}
	words := []uint64{0, 0, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1 << 63}
	stream := make([]byte, 8*(1024-len(words)))
	cipher.NewCTR(block, make([]byte, aes.BlockSize)).XORKeyStream(stream, stream)
	for at := 0; at < len(stream); at += 8 {
		words = append(words, binary.LittleEndian.Uint64(stream[at:]))
	}
	return words
}

func inLines(words []uint64) []byte {
	var b bytes.Buffer
	for _, w := range words {
		fmt.Fprintln(&b, w)
	}
	return b.Bytes()
}

// of returns a sampler that takes these words first. What is
// made of those after them, which are read ahead, is not looked at.
func of(t *testing.T, v *tables.Verified, words []uint64) *sampler.Noise {
	t.Helper()
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	s, err := sampler.NewNoise(v, sampler.Options{Entropy: io.MultiReader(bytes.NewReader(b), filler{})})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// filler gives words for what is read ahead.
type filler struct{}

func (filler) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 0x5a
	}
	return len(b), nil
}

func drawn(t *testing.T, v *tables.Verified, words []uint64, n int) string {
	t.Helper()
	s, draws := of(t, v, words), make([]string, n)
	for i := range draws {
		n, err := s.SampleInt()
		if err != nil {
			t.Fatal(err)
		}
		draws[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(draws, " ")
}

func added(t *testing.T, v *tables.Verified, words []uint64, n int, x float64) (sums []float64) {
	t.Helper()
	s := of(t, v, words)
	for range n {
		y, err := s.AddNoise(x)
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, y)
	}
	return sums
}

// TestGolden: the golden draws are those of the words, for all tables of the catalogue.
func TestGolden(t *testing.T) {
	words := goldenWords(t)
	var b bytes.Buffer
	for _, name := range catalogue.Names() {
		fmt.Fprintln(&b, drawn(t, read(t, inCatalogue(name)), words, goldenDraws))
	}
	for path, want := range map[string][]byte{wordsFile: inLines(words), "golden/draws.txt": b.Bytes()} {
		if *update {
			if err := os.WriteFile(path, want, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from the draws of package sampler (%v)", path, err)
		}
	}
}

func inCatalogue(name string) string { return filepath.Join("../tables/catalogue", name+".json") }

func read(t *testing.T, path string) *tables.Verified {
	t.Helper()
	made, err := proof.ReadFile(path, tables.Decode)
	if err != nil {
		t.Fatal(err)
	}
	v, err := made.Verify()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// others are tables with atoms, tails, constraints, lattices and offsets: those that the Python package is
// tested with, as far as they are proved.
func others(t *testing.T) (paths []string, found []*tables.Verified) {
	t.Helper()
	all, err := filepath.Glob("../python/tests/data/files/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		made, err := proof.ReadFile(path, tables.Decode)
		if err != nil {
			continue // another form, or malformed
		}
		if v, err := made.Verify(); err == nil {
			paths, found = append(paths, path), append(found, v)
		}
	}
	return paths, found
}

// program returns what runs an example, or skips the test where this machine cannot.
func program(t *testing.T, language string) []string {
	t.Helper()
	needs := map[string]string{"javascript": "node", "c": "gcc"}[language]
	path, err := exec.LookPath(needs)
	if err != nil {
		t.Skipf("examples/%s is not tested: there is no %s", language, needs)
	}
	source := map[string]string{"javascript": "javascript/noise.mjs", "c": "c/noise.c"}[language]
	if _, err := os.ReadFile(source); err != nil { // so that go test sees that it has changed
		t.Fatal(err)
	}
	if language == "javascript" {
		return []string{path, source}
	}
	binary := filepath.Join(t.TempDir(), "noise")
	build := exec.Command(path, "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", binary, source, "-lm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return []string{binary}
}

// run returns the lines of an example's output.
func run(t *testing.T, program []string, args ...string) []string {
	t.Helper()
	out, err := exec.Command(program[0], append(program[1:], args...)...).Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		t.Fatalf("%v: %s", err, failed.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: it builds a program and runs others")
	}
	for _, language := range []string{"javascript", "c"} {
		t.Run(language, func(t *testing.T) {
			program := program(t, language)
			t.Run("golden", func(t *testing.T) { golden(t, program) })
			t.Run("others", func(t *testing.T) { asGo(t, program) })
			t.Run("ends", func(t *testing.T) { ends(t, program) })
			t.Run("empty", func(t *testing.T) { empty(t, program) })
			t.Run("refused", func(t *testing.T) { refused(t, program) })
		})
	}
}

func golden(t *testing.T, program []string) {
	text, err := os.ReadFile("golden/draws.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	args := []string{"--words", wordsFile, strconv.Itoa(goldenDraws)}
	for _, name := range catalogue.Names() {
		args = append(args, inCatalogue(name))
	}
	same(t, args[3:], run(t, program, args...), want)
}

func same(t *testing.T, names, got, want []string) {
	t.Helper()
	if len(got) != len(want) || len(names) != len(want) {
		t.Fatalf("%d lines for %d tables, want %d", len(got), len(names), len(want))
	}
	for i, name := range names {
		if got[i] != want[i] {
			t.Errorf("%s:\n%s, want\n%s", name, got[i], want[i])
		}
	}
}

// asGo compares draws of all kinds of tables, and values with noise, with those of Go.
func asGo(t *testing.T, program []string) {
	words := goldenWords(t)
	paths, found := others(t)
	var want []string
	features := map[string]int{}
	for _, v := range found {
		want = append(want, drawn(t, v, words, 40))
		m := v.Mechanism()
		for name, has := range map[string]bool{"atom": m.Atom() > 0, "tail": m.TailRatio() > 0, "offset": m.Grid().Offset != 0, "lattice": m.Query() == dp.LatticeQuery} {
			if has {
				features[name]++
			}
		}
	}
	if len(features) != 4 {
		t.Errorf("the tables have %v, want all four", features)
	}
	same(t, paths, run(t, program, append([]string{"--words", wordsFile, "40"}, paths...)...), want)

	// -17 is on every grid that takes integers.
	args, sums := []string{"--add", "-17", "--words", wordsFile, "20"}, [][]float64{}
	for i, v := range found {
		if v.Mechanism().Query() != dp.LatticeQuery {
			args, sums = append(args, paths[i]), append(sums, added(t, v, words, 20, -17))
		}
	}
	lines := run(t, program, args...)
	if len(lines) != len(sums) {
		t.Fatalf("%d lines, want %d", len(lines), len(sums))
	}
	for i, line := range lines {
		for k, field := range strings.Fields(line) {
			if got, err := strconv.ParseFloat(field, 64); err != nil || got != sums[i][k] {
				t.Errorf("%s: value %d is %v (%v), want %v", args[5+i], k, got, err, sums[i][k])
			}
		}
	}
}

// ends draws by the words at which entries end, and those after them, of a table with an atom and one with a tail.
func ends(t *testing.T, program []string) {
	for path, tail := range map[string]bool{inCatalogue("integer-l1-epsilon-10-delta-1e-05"): false, "../python/tests/data/files/tail.json": true} {
		v := read(t, path)
		m := v.Mechanism()
		if (m.TailRatio() > 0) != tail || (m.Atom() > 0) == tail {
			t.Fatalf("%s: want a table with an atom or a tail", path)
		}
		var words, last []uint64
		end := uint64(0)
		for k := range m.Cells() {
			end += m.Weight(k)
			last = append(last, end-1)
		}
		n := 2 * len(last)
		for _, l := range last {
			for _, u := range []uint64{l, l + 1} {
				words = append(words, u, 1<<63)
				entry := slices.IndexFunc(last, func(l uint64) bool { return u <= l })
				if _, block := m.Block(max(entry, 0)); block && entry >= 0 {
					words = append(words, 0, 1<<64-1) // one period further
				}
			}
		}
		file := filepath.Join(t.TempDir(), "words")
		if err := os.WriteFile(file, inLines(append(words, goldenWords(t)...)), 0o600); err != nil {
			t.Fatal(err)
		}
		want := drawn(t, v, append(words, goldenWords(t)...), n)
		same(t, []string{path}, run(t, program, "--words", file, strconv.Itoa(n), path), []string{want})
	}
}

// empty draws from a table whose first and last cells have no weight, by the least word and others, and rounds
// values half way between its points.
func empty(t *testing.T, program []string) {
	made, err := tables.New(tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Loss: loss.L1},
		Grid:    tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: -2},
		Weights: []uint64{0, 1 << 62, 1 << 63, 1 << 62, 0},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "table.json")
	if err := proof.WriteFile(path, made); err != nil {
		t.Fatal(err)
	}
	v, words := read(t, path), goldenWords(t)
	same(t, []string{path}, run(t, program, "--words", wordsFile, "50", path), []string{drawn(t, v, words, 50)})
	for _, x := range []float64{2.5, -2.5, -2.25} {
		var want []string
		for _, y := range added(t, v, words, 20, x) {
			want = append(want, strconv.FormatFloat(y, 'f', -1, 64))
		}
		same(t, []string{path}, run(t, program, "--add", fmt.Sprint(x), "--words", wordsFile, "20", path), []string{strings.Join(want, " ")})
	}
}

// refused: what is no table, and values that no promise is about, end with a sentence and nothing drawn.
func refused(t *testing.T, program []string) {
	text, err := os.ReadFile(inCatalogue("integer-l1-epsilon-1-delta-0"))
	if err != nil {
		t.Fatal(err)
	}
	whole := inCatalogue("integer-l1-epsilon-1-delta-0")
	for name, args := range map[string][]string{
		"nothing":       nil,
		"no number":     {"x", whole},
		"no file":       {"1", "golden/none.json"},
		"a fraction":    {"--add", "0.5", "1", whole},
		"a large value": {"--add", "1e17", "1", whole},
		"few words":     {"--words", wordsFile, "2000", whole},
	} {
		refusal(t, name, program, args)
	}
	for name, change := range map[string][2]string{
		"another format":  {`"noisewright-table"`, `"noisewright-kernel"`},
		"another version": {`"version":1`, `"version":2`},
		"another sum":     {`"weights":["`, `"weights":["1`},
		"an unknown name": {`"atom"`, `"atoms"`},
		"even points":     {`"points_per_cell":1`, `"points_per_cell":2`},
		"no weights":      {`"weights":[`, `"weights":7,"x":[`},
		"a short file":    {`"certificate"`, ``},
	} {
		file := filepath.Join(t.TempDir(), "table.json")
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if changed == string(text) {
			t.Fatalf("%s: the file has no %s", name, change[0])
		}
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		refusal(t, name, program, []string{"1", file})
	}
}

func refusal(t *testing.T, name string, program, args []string) {
	t.Helper()
	c := exec.Command(program[0], append(program[1:], args...)...)
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	err := c.Run()
	if failed := new(exec.ExitError); !errors.As(err, &failed) || failed.ExitCode() != 2 {
		t.Errorf("%s: %v, want exit code 2", name, err)
	}
	if strings.Count(said.String(), "\n") != 1 || !strings.HasPrefix(said.String(), "noise") {
		t.Errorf("%s: %q, want one sentence", name, said.String())
	}
}
