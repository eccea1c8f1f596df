// SPDX-License-Identifier: Apache-2.0

package forms

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/counts"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/newform"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/plan"
	"github.com/noisewright/noisewright/plane"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/subset"
	"github.com/noisewright/noisewright/tables"
)

// The line that a new form costs.
func init() { all = append(all, reads(newform.Decode)) }

const quarter = 1 << 62 // of 2^64

// form is what the tests have of a form: a mechanism that keeps its word and one that does not.
type form struct {
	sound, broken proof.Mechanism
	none          []proof.Mechanism // a nil pointer and a zero value
	unproved      []proof.Proven    // the same of the Verified
	typed         func(t *testing.T)
}

// must returns a mechanism that is structurally sound.
func must[P any](p P, err error) P {
	if err != nil {
		panic(err)
	}
	return p
}

// formOf makes the form of two mechanisms; change alters every number of a certificate.
func formOf[T any, C proof.Certificate, P proof.Provable[T, C]](sound, broken P) form {
	return form{
		sound: sound, broken: broken,
		none:     []proof.Mechanism{P(nil), P(new(T))},
		unproved: []proof.Proven{(*proof.Verified[T, C])(nil), &proof.Verified[T, C]{}},
		typed:    func(t *testing.T) { testVerified[T, C](t, sound, broken) },
	}
}

func formsOf() []form {
	table := func(epsilon float64) *tables.Table {
		return must(tables.New(tables.Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: 0.25, Sensitivity: 1}, Loss: loss.L1, Query: dp.IntegerQuery},
			Grid:    tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: -1},
			Weights: []uint64{quarter, 2 * quarter, quarter},
		}))
	}
	kernel := func(epsilon float64) *kernels.Kernel {
		return must(kernels.New(context.Background(), kernels.Spec{
			Privacy: dp.Privacy{Epsilon: epsilon, Sensitivity: 1}, Queries: kernels.Queries{Lower: 0, Upper: 3}, Loss: loss.L1,
			Edges: []float64{0, 1, 2, 3}, Nodes: []float64{0, 1, 2},
			Rows: [][]uint64{{2 * quarter, quarter, quarter}, {quarter, 2 * quarter, quarter}, {quarter, quarter, 2 * quarter}},
		}))
	}
	additive := func(delta float64) *cells.Kernel {
		return must(cells.New(cells.Spec{
			Privacy: dp.Privacy{Epsilon: 1, Delta: delta, Sensitivity: 1}, Loss: loss.L2,
			Edges: []float64{math.Inf(-1), 0, 3}, Weight: []float64{1, 1}, Grid: cells.Grid{PointsPerBin: 3, FirstBin: -1},
			Rows: [][]uint64{{quarter, 2 * quarter, quarter}, {quarter, 2*quarter - 9, quarter + 9}},
		}))
	}
	randomizer := func(epsilon float64) *local.Randomizer {
		return must(local.New(context.Background(), local.Spec{
			Epsilon: epsilon, Values: local.Values{Kind: local.Real, Lower: -1, Upper: 1}, Objective: local.Worst,
			Demands: local.Demands{Unbiased: true}, Loss: loss.L2, Nodes: []float64{-1, 1}, Answers: []float64{-2, 2},
			Rows: [][]uint64{{3 * quarter, quarter}, {quarter, 3 * quarter}},
		}))
	}
	integers := func(epsilon float64) *local.Randomizer {
		return must(local.New(context.Background(), local.Spec{
			Epsilon: epsilon, Values: local.Values{Kind: local.Integer, Lower: 4, Upper: 5}, Objective: local.Mean,
			Loss: loss.L1, Answers: []float64{4, 5}, Rows: [][]uint64{{3 * quarter, quarter}, {quarter, 3 * quarter}},
		}))
	}
	categories := func(epsilon float64) *local.Randomizer {
		return must(local.New(context.Background(), local.Spec{
			Epsilon: epsilon, Values: local.Values{Kind: local.Category, Labels: []string{"yes", "no"}}, Objective: local.Mean,
			Costs: [][]float64{{0, 1}, {1, 0}}, AnswerLabels: []string{"yes", "no"}, Rows: [][]uint64{{3 * quarter, quarter}, {quarter, 3 * quarter}},
		}))
	}
	affine := func(w uint64) *subset.Selection {
		return must(subset.New(subset.Spec{Epsilon: 1, Count: 5, Modulus: 7, Size: 2, Inside: w, Objective: subset.Total}))
	}
	ranked := func(w uint64) *subset.Selection {
		return must(subset.New(subset.Spec{Epsilon: 1, Labels: []string{"a", "b:1", "c", "d"}, Size: 2, Inside: w, Objective: subset.Largest}))
	}
	strategy := func(epsilon float64) *counts.Strategy {
		return must(counts.New(counts.Spec{
			Problem: counts.Problem{Epsilon: epsilon, Count: 3, Workload: counts.Workload{Kind: counts.Prefix}},
			Rows:    [][]uint64{{2 * quarter, quarter, quarter / 2, quarter / 2}, {quarter, 2 * quarter, quarter / 2, quarter / 2}, {quarter, quarter, quarter, quarter}},
		}))
	}
	selection := func(epsilon float64) *newform.Selection {
		const a, b = quarter, quarter / 3     // of the sets with the label and without; 3·b is one short
		return must(newform.New(newform.Spec{ // sets: en, ew, es, nw, ns, ws
			Epsilon: epsilon, Anchors: [][]float64{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}, Labels: []string{"e", "n", "w", "s"}, Size: 2,
			Rows: [][]uint64{{a, a, a, b, b, b + 1}, {a, b, b, a, a, b + 1}, {b, a, b, a, b + 1, a}, {b, b, a, b + 1, a, a}},
		}))
	}
	inPlane := func(delta float64) *plane.Noise {
		return must(plane.New(plane.Spec{
			Problem: plane.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: delta, Sensitivity: 1}, Norm: plane.LInf, Query: dp.IntegerQuery, Loss: loss.L1},
			Grid:    plane.Grid{PointsPerCell: 1, CellsPerSensitivity: 1}, Weights: []uint64{2 * quarter, quarter / 4, quarter / 4},
		}))
	}
	plans := func(epsilon float64) *plan.Plan {
		law := must(plan.Geometric(0.5))
		return must(plan.New(plan.Spec{
			Budget: dp.Budget{Epsilon: epsilon}, Neighbors: dp.Replace, MaxPerPerson: 1, Workload: plan.Workload{Kind: plan.Prefix, Cells: 3},
			Measurements: []plan.Measurement{{Kind: plan.Partition, Block: 1, Weight: 1, Noise: &law}},
		}))
	}
	normal := func(deviation float64) *plan.Plan {
		return must(plan.New(plan.Spec{
			Budget: dp.Budget{Epsilon: 1, Delta: 0.25}, Neighbors: dp.AddRemove, MaxPerPerson: 1, Workload: plan.Workload{Kind: plan.Ranges, Cells: 3},
			Measurements: []plan.Measurement{{Kind: plan.L2, Rows: [][]int64{{3, 1, 0}, {0, 3, 1}, {0, 0, 3}}, Weight: 1, Deviation: deviation}},
		}))
	}
	balls := func(delta float64) *ball.Noise {
		return must(ball.New(ball.Spec{
			Problem:      ball.Problem{Dimension: 3, Privacy: dp.Privacy{Epsilon: 1, Delta: delta, Sensitivity: 1}, Loss: loss.L2},
			StepExponent: -10, Radii: []int64{0, 1 << 11, 1 << 12}, Weights: []uint64{quarter / 64, quarter - quarter/64, 3 * quarter},
		}))
	}
	return []form{
		formOf(balls(0.4), balls(0.1)),
		formOf(table(1), table(0.1)),
		formOf(kernel(1), kernel(0.1)),
		formOf(additive(0.5), additive(0.01)),
		formOf(randomizer(1.2), randomizer(0.1)),
		formOf(integers(1.2), integers(0.1)),
		formOf(categories(1.2), categories(0.1)),
		formOf(selection(1.2), selection(0.1)),
		formOf(affine(2*quarter), affine(3*quarter)),
		formOf(strategy(1), strategy(0.1)),
		formOf(ranked(2*quarter+quarter/2), ranked(3*quarter)),
		formOf(plans(1), plans(0.9)),
		formOf(normal(4), normal(2)),
		formOf(inPlane(0.9), inPlane(0.1)),
	}
}

// each calls a test for every form.
func each(t *testing.T, test func(t *testing.T, f form)) {
	t.Helper()
	for i, f := range formsOf() {
		t.Run(fmt.Sprintf("%d %s", i, f.sound.Form().File.Noun), func(t *testing.T) { test(t, f) })
	}
}

// TestVerified: a Verified has what was found, whatever was done to copies of it and to what
// pointers point to, and is there only for a mechanism that keeps its word.
func TestVerified(t *testing.T) { each(t, func(t *testing.T, f form) { f.typed(t) }) }

func testVerified[T any, C proof.Certificate, P proof.Provable[T, C]](t *testing.T, sound, broken P) {
	v, err := proof.Verify(t.Context(), sound, proof.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%+v", v.Certificate())
	if !reflect.DeepEqual(*v.Mechanism(), *sound) {
		t.Error("verified another mechanism")
	}
	spoil(v.Certificate())
	if got := fmt.Sprintf("%+v", v.Certificate()); got != want {
		t.Errorf("the certificate was changed from outside: %s, want %s", got, want)
	}
	again, err := proof.Verify(t.Context(), sound, proof.Options{Work: 1})
	if again != v || err != nil {
		t.Errorf("verified a second time: %v", err)
	}
	for range 2 {
		if v, err := proof.Verify(t.Context(), broken, proof.Options{}); v != nil || !errors.Is(err, proof.ErrNotPrivate) {
			t.Errorf("%v, %v, want nothing and ErrNotPrivate", v, err)
		}
		if v, err := broken.Prove(t.Context(), proof.Options{}); v != nil || !errors.Is(err, proof.ErrNotPrivate) {
			t.Errorf("%v, %v, want nothing and ErrNotPrivate", v, err)
		}
	}
	// Go lets anybody assign to a struct behind a pointer.
	promise := sound.Privacy()
	*v.Mechanism() = *broken
	*proof.Of(v).(P) = *broken
	if got := v.Mechanism(); P(got).Privacy() != promise || proof.Of(v).Privacy() != promise {
		t.Errorf("the verified mechanism promises %+v, want %+v: it was replaced", P(got).Privacy(), promise)
	}
	s, err := sampler.New(v, sampler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	*s.Mechanism().(P) = *broken
	if got := s.Mechanism().Privacy(); got != promise {
		t.Errorf("the sampler's mechanism promises %+v, want %+v: it was replaced", got, promise)
	}
	*sound = *broken
	if v, err := proof.Verify(t.Context(), sound, proof.Options{}); v != nil || !errors.Is(err, proof.ErrNotPrivate) {
		t.Errorf("what was assigned to: %v, %v, want ErrNotPrivate", v, err)
	}
}

// spoil alters every number that a certificate points to.
func spoil(c any) {
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		switch x := v.Field(i).Interface().(type) {
		case *big.Rat:
			if x != nil {
				x.SetInt64(-7)
			}
		case []*big.Rat:
			for _, r := range x {
				r.SetInt64(-7)
			}
		}
	}
}

// lying is a type that holds a proof of one mechanism and says that it holds another.
type lying struct {
	proof.Proven
	mechanism proof.Mechanism
}

func (l lying) Mechanism() proof.Mechanism { return l.mechanism }

// TestNothingVerified: without Verify there is nothing to draw from, and nothing to account.
func TestNothingVerified(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		for _, m := range f.none {
			if v, err := m.Prove(t.Context(), proof.Options{}); v != nil || !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%v, %v, want ErrInvalid", v, err)
			}
			if pld, err := account.LossOf(m); pld != nil || !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("accounted: %v, %v, want ErrInvalid", pld, err)
			}
		}
		for _, v := range f.unproved {
			if m := proof.Of(v); m != nil {
				t.Errorf("the zero value holds %v", m)
			}
			for _, err := range []error{
				second(sampler.New(v, sampler.Options{})), second(sampler.New(v, sampler.Options{Entropy: sampler.Deterministic([32]byte{})})),
				sampler.WriteExport(new(bytes.Buffer), v, [32]byte{}, 1),
			} {
				if !errors.Is(err, dp.ErrInvalid) {
					t.Errorf("a sampler of nothing: %v, want ErrInvalid", err)
				}
			}
		}
		v, err := f.sound.Prove(t.Context(), proof.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := sampler.New(lying{v, f.broken}, sampler.Options{})
		if err != nil || s.Mechanism().Privacy() != f.sound.Privacy() {
			t.Errorf("a type that embeds a proof has a sampler of another mechanism: %v", err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// TestFiles: what is written is read, as the form that it is of and as no other.
func TestFiles(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		path := filepath.Join(t.TempDir(), "m.json")
		if err := proof.WriteFile(path, f.sound); err != nil {
			t.Fatal(err)
		}
		back, err := proof.ReadFile(path, func(r io.Reader) (proof.Mechanism, error) { return Decode(r) })
		if err != nil || reflect.TypeOf(back) != reflect.TypeOf(f.sound) || back.Form().File.Name != f.sound.Form().File.Name {
			t.Fatalf("%T, %v, want a %T", back, err, f.sound)
		}
		var text, again bytes.Buffer
		if err := errors.Join(f.sound.Encode(&text), back.Encode(&again)); err != nil || text.String() != again.String() {
			t.Errorf("%v: %s, want %s", err, again.String(), text.String())
		}
		for _, other := range formsOf() {
			if got, want := other.sound.Form().Recognize(text.Bytes()), reflect.TypeOf(other.sound) == reflect.TypeOf(f.sound); got != want {
				t.Errorf("recognized as a %T: %v", other.sound, got)
			}
		}
		if _, err := back.Prove(t.Context(), proof.Options{}); err != nil {
			t.Error(err)
		}
		cut := text.Bytes()[:text.Len()-3]
		if m, err := Decode(bytes.NewReader(cut)); m != nil || !errors.Is(err, proof.ErrFormat) {
			t.Errorf("a file cut off: %v, %v, want ErrFormat", m, err)
		}
	})
	if m, err := Decode(bytes.NewReader([]byte(`{"format":"unknown"}`))); m != nil || !errors.Is(err, proof.ErrFormat) {
		t.Errorf("a file of no form: %v, %v, want ErrFormat", m, err)
	}
}

// TestOptional: fields that a file calls optional leave what is promised, proved and written as it is. The
// cases are those of the Python package too.
func TestOptional(t *testing.T) {
	text, err := os.ReadFile("../../internal/strictjson/testdata/optional.json")
	var cases map[string]bool
	if err := errors.Join(err, json.Unmarshal(text, &cases)); err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, f form) {
		var plain bytes.Buffer
		if err := f.sound.Encode(&plain); err != nil {
			t.Fatal(err)
		}
		for more, good := range cases {
			m, err := Decode(strings.NewReader(strings.Replace(plain.String(), `,"version":`, `,`+more+`"version":`, 1)))
			var again bytes.Buffer
			switch {
			case !good && (m != nil || !errors.Is(err, proof.ErrFormat)):
				t.Errorf("%s: %v, %v, want ErrFormat", more, m, err)
			case good && err != nil:
				t.Errorf("%s: %v", more, err)
			case good && (m.Encode(&again) != nil || again.String() != plain.String()):
				t.Errorf("%s changed what is read: %s, want %s", more, &again, &plain)
			}
		}
	})
}

// TestAnswers: inputs of the space are answered by values of the space, which can be written
// and read; others are refused, whatever they are.
func TestAnswers(t *testing.T) {
	others := []proof.Value{
		proof.Number(math.NaN()), proof.Number(math.Inf(1)), proof.Number(1e300), proof.Integer(math.MaxInt64),
		proof.Category("secret"),
		proof.Row{7},
		proof.Row{0, math.NaN()},
		proof.Row{1},
		nil,
	}
	each(t, func(t *testing.T, f form) {
		v, err := f.sound.Prove(t.Context(), proof.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := sampler.New(v, sampler.Options{Entropy: sampler.Deterministic([32]byte{1})})
		if err != nil {
			t.Fatal(err)
		}
		inputs, answers := f.sound.Inputs(), f.sound.Answers()
		good := []proof.Value{proof.Integer(1)}
		if _, ok := f.sound.(proof.Drawer); ok {
			good = []proof.Value{proof.Category("1"), proof.Category("3")}
			if inputs.Labels != nil {
				good = []proof.Value{proof.Category("b:1")}
			}
			if inputs.Kind == proof.Rows {
				good = []proof.Value{proof.Row{0, 7, 1e6}[:inputs.Size]}
			}
		}
		if c, ok := f.sound.(proof.Channel); ok {
			good = nil
			for i := range c.Rows() {
				in := c.Input(i)
				if choice, err := c.Choose(in); err != nil || choice.Row != i {
					t.Errorf("%v is answered by row %d, %v, want %d", in, choice.Row, err, i)
				}
				good = append(good, in)
			}
		}
		for _, in := range good {
			if read, err := inputs.Parse(in.String()); err != nil || fmt.Sprint(read) != fmt.Sprint(in) || !inputs.Contains(in) {
				t.Errorf("%v is read as %v, %v", in, read, err)
			}
			for range 50 {
				y, err := s.Release(in)
				if err != nil || !answers.Contains(y) || y.Kind() != answers.Kind {
					t.Fatalf("%v is answered by %v, %v, want %s", in, y, err, answers)
				}
				if read, err := answers.Parse(y.String()); err != nil || !reflect.DeepEqual(read, y) {
					t.Errorf("%v is read as %v, %v", y, read, err)
				}
			}
		}
		if y, err := s.ReleaseNumber(math.NaN()); y != 0 || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("NaN is answered by %v, %v, want ErrInvalid", y, err)
		}
		fork, err := s.Fork()
		if err != nil || fork == s || fork.Mechanism().Form().File.Name != f.sound.Form().File.Name || fork.Generator() != s.Generator() {
			t.Errorf("a fork: %v, %v", fork, err)
		}
		if y, err := fork.Release(good[0]); err != nil || !answers.Contains(y) {
			t.Errorf("a fork answers %v by %v, %v", good[0], y, err)
		}
		for _, in := range others {
			if y, err := s.Release(in); y != nil || !errors.Is(err, dp.ErrInvalid) || bytes.Contains([]byte(err.Error()), []byte("secret")) {
				t.Errorf("%v is answered by %v, %v, want ErrInvalid", in, y, err)
			}
		}
	})
}

// TestLaws: answers come as often as the rows say, with a false-alarm rate below 1e-9 each and
// seeds that do not change; a share of answers that is off by 5 standard deviations more is
// seen.
func TestLaws(t *testing.T) {
	const draws = 1 << 14
	each(t, func(t *testing.T, f form) {
		c, ok := f.sound.(proof.Channel)
		if !ok {
			return // sampler has tests of noise
		}
		v, err := c.Prove(t.Context(), proof.Options{})
		if err != nil {
			t.Fatal(err)
		}
		points := max(c.Points(), 1)
		for i, row := range c.Rows() {
			s, err := sampler.New(v, sampler.Options{Entropy: sampler.Deterministic([32]byte{byte(i)})})
			if err != nil {
				t.Fatal(err)
			}
			choice, err := c.Choose(c.Input(i))
			if err != nil {
				t.Fatal(err)
			}
			want, got := map[string]float64{}, map[string]float64{}
			for j, w := range row {
				for p := range points {
					want[c.Answer(choice, j, p).String()] += float64(w) * 0x1p-64 / float64(points)
				}
			}
			for range draws {
				y, err := s.Release(c.Input(i))
				if err != nil {
					t.Fatal(err)
				}
				got[y.String()]++
			}
			for y, p := range want {
				if sigma := math.Sqrt(draws * p * (1 - p)); math.Abs(got[y]-draws*p) > 6.5*sigma+1 {
					t.Errorf("row %d: %s comes %v times, want %v ± %v", i, y, got[y], draws*p, sigma)
				}
				delete(got, y)
			}
			if len(got) > 0 {
				t.Errorf("row %d: answers that have no weight: %v", i, got)
			}
		}
	})
}

// TestAccounted: what account composes is what the certificate is about. The divergence of
// the pairs is at least the certified one, of those that are neighbors at most; one release
// is as private as certified.
func TestAccounted(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		v, err := f.sound.Prove(t.Context(), proof.Options{})
		if err != nil {
			t.Fatal(err)
		}
		certified, privacy := v.Bounds().Delta, f.sound.Privacy()
		if c, ok := f.sound.(proof.Lossy); ok {
			rows, ratio := c.Rows(), exact.RatioDown(privacy.Epsilon)
			all, own := c.Pairs()
			worst := func(pairs []proof.Pair) *big.Rat {
				most := new(big.Int)
				for _, p := range pairs {
					if h := ratio.ShiftedDivergence(rows[p.Gain], rows[p.Lose], p.Shift); h.Cmp(most) > 0 {
						most = h
					}
				}
				return exact.Probability(most)
			}
			if worst(all).Cmp(certified) < 0 || worst(own).Cmp(certified) > 0 {
				t.Errorf("the pairs diverge by %s, and neighbors by %s, want at least and at most %s", worst(all), worst(own), certified)
			}
		}
		pld, err := account.LossOf(f.sound)
		if err != nil {
			t.Fatal(err)
		}
		c, err := account.Compose([]account.Release{{PLD: pld, Times: 1}}, account.Options{})
		if err != nil {
			t.Fatal(err)
		}
		delta, err := c.Delta(privacy.Epsilon)
		if err != nil || delta.Upper < exact.FloatDown(certified) || delta.Lower > exact.FloatUp(certified) || delta.Upper > privacy.Delta {
			t.Errorf("delta = %+v, %v, want what is certified, %s, and at most %v", delta, err, exact.StateUp(certified), privacy.Delta)
		}
	})
}
