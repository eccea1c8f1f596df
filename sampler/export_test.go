package sampler

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

var update = flag.Bool("update", false, "rewrite testdata; say why in the commit")

// goldenTable has weights written out, so that its draws depend on nothing but
// the rules: cells 1:3:9:27:9:3:1 and an atom.
func goldenTable(tb testing.TB) *tables.Table {
	tb.Helper()
	const unit = (1 << 64) / 54
	t, err := tables.New(tables.Spec{
		Privacy: tables.Privacy{Epsilon: 1.125, Delta: 0.04, Sensitivity: 1},
		Loss:    noise.L1{},
		Grid:    tables.Grid{GranularityExponent: -10, PointsPerCell: 1025, CellsPerSensitivity: 1, FirstCell: -3},
		Weights: []uint64{unit, 3 * unit, 9 * unit, 27 * unit, 9 * unit, 3 * unit, unit},
		Atom:    (1 << 64) - 53*unit,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// TestGoldenFile holds the export of a table to what it was: other
// implementations have compared themselves with it.
func TestGoldenFile(t *testing.T) {
	tab := goldenTable(t)
	e, err := NewExport(tab, [32]byte{1, 2, 3, 4}, GoldenDraws)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := e.Encode(&buf); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "export.json")
	if *update {
		if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(buf.Bytes(), want) {
		t.Error("the export differs from testdata/export.json")
	}
	var read Export
	if err := json.Unmarshal(want, &read); err != nil {
		t.Fatal(err)
	}
	if err := read.Golden.Check(tab); err != nil {
		t.Errorf("the golden draws of testdata/export.json: %v", err)
	}
}

// TestGoldenFollowsModel draws the golden vector by the rules it states, from
// single blocks of the cipher and in big integers.
func TestGoldenFollowsModel(t *testing.T) {
	for name, tab := range smallTables(t) {
		seed := [32]byte{9, byte(len(name))}
		g, err := NewGolden(tab, seed, 300)
		if err != nil {
			t.Fatal(err)
		}
		words := make([]uint64, blockWords)
		if err := newFixedGenerator(seed).read((*[blockWords]uint64)(words)); err != nil {
			t.Fatal(err)
		}
		m := newModel(tab)
		for i, n := range g.Draws {
			var want int64
			if want, words = m.draw(words); n != want {
				t.Fatalf("%s: golden draw %d = %d, want %d", name, i, n, want)
			}
		}
		if err := g.Check(tab); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGoldenCheckFinds(t *testing.T) {
	tab := goldenTable(t)
	for name, spoil := range map[string]func(*Golden){
		"draw":   func(g *Golden) { g.Draws[77]++ },
		"word":   func(g *Golden) { g.Words[3] = "1" },
		"words":  func(g *Golden) { g.Words = g.Words[:2] },
		"seed":   func(g *Golden) { g.Seed = strings.Repeat("00", 32) },
		"hex":    func(g *Golden) { g.Seed = "zz" },
		"short":  func(g *Golden) { g.Seed = "0102" },
		"stream": func(g *Golden) { g.Stream = "ChaCha8" },
		"draws":  func(g *Golden) { g.Draw = "alias" },
	} {
		g, err := NewGolden(tab, [32]byte{1}, 100)
		if err != nil {
			t.Fatal(err)
		}
		spoil(g)
		if err := g.Check(tab); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s spoilt: %v, want ErrInvalid", name, err)
		}
	}
	if _, err := NewGolden(tab, [32]byte{}, -1); !errors.Is(err, ErrInvalid) {
		t.Errorf("-1 draws: %v, want ErrInvalid", err)
	}
	if _, err := NewExport(nil, [32]byte{}, 1); !errors.Is(err, ErrInvalid) {
		t.Errorf("no table: %v, want ErrInvalid", err)
	}
	if err := (&Golden{Stream: streamRule, Draw: drawRule, Seed: strings.Repeat("00", 32)}).Check(nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("no table: %v, want ErrInvalid", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestExportEncodeError(t *testing.T) {
	e, err := NewExport(goldenTable(t), [32]byte{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Encode(brokenWriter{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Encode: %v, want the writer's error", err)
	}
}

// bruteProfile evaluates the definition of Profile in rationals, cell by cell.
func bruteProfile(t *tables.Table, e *big.Rat) []*big.Rat {
	weight := func(j int) *big.Rat {
		if j < 0 || j >= t.Cells() {
			return new(big.Rat)
		}
		return new(big.Rat).SetInt(new(big.Int).SetUint64(t.Weight(j)))
	}
	total := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 64))
	var profile []*big.Rat
	for k := 1; k <= t.Grid().CellsPerSensitivity; k++ {
		worst := new(big.Rat)
		for _, shift := range []int{k, -k} {
			sum := new(big.Rat)
			for j := range t.Cells() {
				d := new(big.Rat).Sub(weight(j), new(big.Rat).Mul(e, weight(j-shift)))
				if d.Sign() > 0 {
					sum.Add(sum, d)
				}
			}
			if sum.Cmp(worst) > 0 {
				worst = sum
			}
		}
		worst.Add(worst, new(big.Rat).SetInt(new(big.Int).SetUint64(t.Atom())))
		profile = append(profile, worst.Quo(worst, total))
	}
	return profile
}

func TestProfile(t *testing.T) {
	var all []*tables.Table
	for _, tab := range smallTables(t) {
		all = append(all, tab)
	}
	all = append(all, goldenTable(t), laplaceTable(t, 101, 20, 0.01), laplaceTable(t, 5, 4, 0))
	spec := laplaceSpec(t, 11, 1, 0)
	spec.Grid.CellsPerSensitivity = 30 // more than there are cells
	spec.Privacy.Epsilon = 100
	long, err := tables.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	spec.Privacy.Epsilon = 0
	zero, err := tables.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, long, zero)
	for _, tab := range all {
		scale := new(big.Int).Lsh(big.NewInt(1), expBits)
		want := bruteProfile(tab, new(big.Rat).SetFrac(expDown(tab.Privacy().Epsilon), scale))
		got := Profile(tab)
		if !slices.EqualFunc(got, want, func(a, b *big.Rat) bool { return a.Cmp(b) == 0 }) {
			t.Errorf("ε=%g, %d cells: Profile = %v, want %v", tab.Privacy().Epsilon, tab.Cells(), got, want)
		}
		// The certificate may round e^ε down by another unit of 2^-96.
		largest := slices.MaxFunc(got, (*big.Rat).Cmp)
		diff := new(big.Rat).Sub(largest, tab.Certify().DeltaUpper)
		if diff.Abs(diff).Cmp(new(big.Rat).SetFrac64(1, 1<<62)) > 0 {
			t.Errorf("ε=%g: the largest of the profile differs from the certificate by %s", tab.Privacy().Epsilon, diff.FloatString(30))
		}
	}
}

func TestExpDown(t *testing.T) {
	for _, c := range []struct {
		x      float64
		digits string  // of e^x
		known  float64 // to within this
	}{
		{0, "1", 0},
		{1, "2.71828182845904523536028747135266249775724709369995", 1e-49},
		{0.5, "1.64872127070012814684865078781416357165377610071014", 1e-49},
		{100, "26881171418161354484126255515800135873611118.77374192241519160861", 1e-20},
	} {
		want, ok := new(big.Rat).SetString(c.digits)
		if !ok {
			t.Fatal(c.digits)
		}
		got := new(big.Rat).SetFrac(expDown(c.x), new(big.Int).Lsh(big.NewInt(1), expBits))
		short, _ := new(big.Rat).Sub(want, got).Float64()
		if short < -c.known || short > 0x1p-95+c.known {
			t.Errorf("expDown(%g) is short by %g, want 0 to 2^-95", c.x, short)
		}
	}
}

func TestDecimalUp(t *testing.T) {
	for _, c := range []struct {
		num, den int64
		want     string
	}{
		{0, 1, "0." + strings.Repeat("0", 30)},
		{1, 1, "1." + strings.Repeat("0", 30)},
		{1, 3, "0." + strings.Repeat("3", 29) + "4"},
		{25, 2, "12.5" + strings.Repeat("0", 29)},
	} {
		if got := decimalUp(big.NewRat(c.num, c.den)); got != c.want {
			t.Errorf("decimalUp(%d/%d) = %s, want %s", c.num, c.den, got, c.want)
		}
	}
	tiny := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 200))
	if got, want := decimalUp(tiny), "0."+strings.Repeat("0", 29)+"1"; got != want {
		t.Errorf("decimalUp(2^-200) = %s, want %s", got, want)
	}
}
