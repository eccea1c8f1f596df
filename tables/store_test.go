// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// testProblem asks for what flat makes.
func testProblem(epsilon float64) dp.Problem {
	return dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: 0.5, Sensitivity: 1}, Loss: loss.L1}
}

// flat is a design without a solver: noise that is private with delta = 0.25.
func flat(_ context.Context, p dp.Problem) (*Verified, error) {
	g := Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: -1}
	if p.Query == dp.LatticeQuery {
		g.Unit = p.Step
	}
	t, err := New(Spec{Problem: p, Grid: g, Weights: []uint64{1 << 62, 1 << 63, 1 << 62}})
	if err != nil {
		return nil, err
	}
	return t.Verify()
}

// testStore counts what is designed and rejected.
type testStore struct {
	*Store
	dir      string
	designs  atomic.Int64
	mu       sync.Mutex
	rejected []error
}

func newTestStore(t *testing.T, dir string) *testStore {
	t.Helper()
	s := &testStore{dir: dir}
	var err error
	s.Store, err = NewStore(StoreOptions{
		Directory: dir,
		Design: func(ctx context.Context, p dp.Problem) (*Verified, error) {
			s.designs.Add(1)
			return flat(ctx, p)
		},
		Rejected: func(err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.rejected = append(s.rejected, err)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *testStore) get(t *testing.T, p dp.Problem) *Verified {
	t.Helper()
	v, err := s.Get(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := key(p)
	if got, err := key(v.Mechanism().Problem()); err != nil || got != want {
		t.Fatalf("a table for %q, want %q", got, want)
	}
	return v
}

func TestStoreKeepsInMemoryAndOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "some", "tables")
	s := newTestStore(t, dir)
	if v := s.Load(testProblem(2)); v != nil {
		t.Errorf("loaded %v from nothing", v)
	}
	v := s.get(t, testProblem(2))
	if s.get(t, testProblem(2)) != v || s.Load(testProblem(2)) != v {
		t.Error("the second call has another table")
	}
	again := newTestStore(t, dir)
	w := again.Load(testProblem(2))
	if w == nil || again.get(t, testProblem(2)) != w || encoded(t, w.Mechanism()) != encoded(t, v.Mechanism()) {
		t.Errorf("the file has %v", w)
	}
	// Neighboring float64s are other problems.
	again.get(t, testProblem(math.Nextafter(2, 3)))
	if s.designs.Load() != 1 || again.designs.Load() != 1 || len(s.rejected)+len(again.rejected) != 0 {
		t.Errorf("%d and %d designs, rejected %v, want one each and nothing", s.designs.Load(), again.designs.Load(), again.rejected)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("%d files, %v, want 2", len(files), err)
	}
}

// TestStoreWithoutADirectory writes nothing, and remembers.
func TestStoreWithoutADirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	s := newTestStore(t, "")
	if first := s.get(t, testProblem(2)); first != s.get(t, testProblem(2)) || s.designs.Load() != 1 {
		t.Errorf("%d designs, want 1", s.designs.Load())
	}
	if files, err := os.ReadDir("."); err != nil || len(files) != 0 {
		t.Errorf("%d files, %v, want none", len(files), err)
	}
}

// TestStoreTellsProblemsApart: whatever differs between two problems, their tables are
// not mixed up, nor are their files.
func TestStoreTellsProblemsApart(t *testing.T) {
	asymmetric, err := loss.Parse("asymmetric:1,3")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := newTestStore(t, dir)
	var problems []dp.Problem
	for _, change := range []func(*dp.Problem){
		func(*dp.Problem) {},
		func(p *dp.Problem) { p.Epsilon = 1.5 },
		func(p *dp.Problem) { p.Delta = 0.4 },
		func(p *dp.Problem) { p.Sensitivity = 0.5 },
		func(p *dp.Problem) { p.Loss = loss.L2 },
		func(p *dp.Problem) { p.Loss = asymmetric },
		func(p *dp.Problem) { p.Loss = named{loss.L1, "../l1"} },
		func(p *dp.Problem) { p.Query = dp.IntegerQuery },
		func(p *dp.Problem) { p.Query, p.Step = dp.LatticeQuery, 1 },
		func(p *dp.Problem) { p.Query, p.Step = dp.LatticeQuery, 2 },
		func(p *dp.Problem) { p.Constraints.Symmetric = true },
		func(p *dp.Problem) { p.Constraints.MaxVariance = 7 },
	} {
		p := testProblem(2)
		change(&p)
		problems = append(problems, p)
		s.get(t, p)
	}
	files, err := os.ReadDir(dir)
	if n := int64(len(problems)); s.designs.Load() != n || err != nil || len(files) != len(problems) {
		t.Errorf("%d designs and %d files, %v, want %d", s.designs.Load(), len(files), err, n)
	}
	// What differs in the way it is written only is one problem.
	same := testProblem(2)
	same.Query, same.Constraints.Support = dp.RealQuery, &dp.Interval{Lower: math.Inf(-1), Upper: math.Inf(1)}
	if s.get(t, same) != s.get(t, testProblem(2)) {
		t.Error("one problem has two tables")
	}
	again := newTestStore(t, dir)
	for _, p := range problems {
		if p.Loss.Name() != "../l1" { // no loss that files know
			again.get(t, p)
		}
	}
	if again.designs.Load() != 0 || len(again.rejected) != 0 {
		t.Errorf("%d designs, rejected %v, want all from files", again.designs.Load(), again.rejected)
	}
}

// named is l1 under another name.
type named struct {
	loss.Loss
	name string
}

func (n named) Name() string { return n.name }

func TestStoreFileNames(t *testing.T) {
	if got, want := fileName(testProblem(2)), "l1-epsilon-2-delta-0.5-sensitivity-1.json"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	p := testProblem(1e-7)
	p.Constraints.Symmetric = true
	if got, want := fileName(p), "l1-epsilon-1e-07-delta-0.5-sensitivity-1-"; !strings.HasPrefix(got, want) || len(got) != len(want)+12+len(".json") {
		t.Errorf("%s, want %s and a hash", got, want)
	}
	dir := t.TempDir()
	s, err := NewStore(StoreOptions{Directory: dir, Design: flat, Name: func(p dp.Problem) string { return fmt.Sprintf("%v.table", p.Epsilon) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), testProblem(2)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "2.table")); err != nil {
		t.Error(err)
	}
}

// TestStoreRefusesBadFiles: a file that is not what its name says is reported,
// designed anew and replaced.
func TestStoreRefusesBadFiles(t *testing.T) {
	file := func(p dp.Problem) string {
		v, err := flat(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return encoded(t, v.Mechanism())
	}
	changed := func(change func(*dp.Problem)) string {
		p := testProblem(2)
		change(&p)
		return file(p)
	}
	good := file(testProblem(2))
	replaced := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("no %s in %s", old, good)
		}
		return strings.Replace(good, old, with, 1)
	}
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"empty":             {"", proof.ErrFormat},
		"not a table":       {"{}", proof.ErrFormat},
		"truncated":         {good[:len(good)/2], proof.ErrFormat},
		"trailing":          {good + "x", proof.ErrFormat},
		"forged weights":    {replaced(`"4611686018427387904","9223372036854775808","4611686018427387904"`, `"9223372036854775807","2","9223372036854775807"`), proof.ErrNotPrivate},
		"forged loss":       {replaced(`"expected_loss":"0.5"`, `"expected_loss":"0.4"`), proof.ErrFalseClaim},
		"other epsilon":     {changed(func(p *dp.Problem) { p.Epsilon = 1.5 }), dp.ErrInvalid},
		"other delta":       {changed(func(p *dp.Problem) { p.Delta = 0.4 }), dp.ErrInvalid},
		"other sensitivity": {changed(func(p *dp.Problem) { p.Sensitivity = 0.5 }), dp.ErrInvalid},
		"other loss":        {changed(func(p *dp.Problem) { p.Loss = loss.L2 }), dp.ErrInvalid},
		"other query":       {changed(func(p *dp.Problem) { p.Query = dp.IntegerQuery }), dp.ErrInvalid},
		"constraints":       {changed(func(p *dp.Problem) { p.Constraints.Symmetric = true }), dp.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestStore(t, t.TempDir())
			path := s.path(testProblem(2))
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			s.get(t, testProblem(2))
			if s.designs.Load() != 1 || len(s.rejected) != 1 {
				t.Fatalf("%d designs, rejected %v, want one of each", s.designs.Load(), s.rejected)
			}
			if err := s.rejected[0]; !errors.Is(err, c.want) || strings.Count(err.Error(), path) != 1 {
				t.Errorf("rejected for %v, want %v and the name of the file", err, c.want)
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != good {
				t.Errorf("the file is still bad: %s, %v", text, err)
			}
		})
	}
}

// TestStoreRefusesBadDesigns: a designer is held to the problem.
func TestStoreRefusesBadDesigns(t *testing.T) {
	for name, design := range map[string]func(context.Context, dp.Problem) (*Verified, error){
		"none":    func(context.Context, dp.Problem) (*Verified, error) { return nil, nil },
		"zero":    func(context.Context, dp.Problem) (*Verified, error) { return new(Verified), nil },
		"failing": func(context.Context, dp.Problem) (*Verified, error) { return nil, errors.New("no idea") },
		"other": func(ctx context.Context, p dp.Problem) (*Verified, error) {
			p.Epsilon *= 2
			return flat(ctx, p)
		},
		"missing": nil,
	} {
		dir := t.TempDir()
		s, err := NewStore(StoreOptions{Design: design, Directory: dir})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if v, err := s.Get(t.Context(), testProblem(2)); v != nil || err == nil {
				t.Errorf("%s: %v, %v", name, v, err)
			}
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
			t.Errorf("%s: a file was written", name)
		}
	}
	s := newTestStore(t, "")
	for name, p := range map[string]dp.Problem{
		"privacy":     {Privacy: dp.Privacy{Epsilon: -1, Sensitivity: 1}, Loss: loss.L1},
		"loss":        {Privacy: testProblem(2).Privacy},
		"constraints": {Privacy: testProblem(2).Privacy, Loss: loss.L1, Constraints: dp.Constraints{MaxVariance: math.NaN()}},
	} {
		if v, err := s.Get(t.Context(), p); v != nil || !errors.Is(err, dp.ErrInvalid) || s.Load(p) != nil {
			t.Errorf("%s: %v, %v, want ErrInvalid", name, v, err)
		}
	}
	for _, v := range []*Verified{nil, {}} {
		if err := s.Keep(v); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("kept nothing: %v, want ErrInvalid", err)
		}
	}
	if _, err := NewStore(StoreOptions{Directory: string([]byte{0})}); err == nil {
		t.Error("no such directory, and no error")
	}
}

// TestStoreKeep replaces a table by another one for its problem.
func TestStoreKeep(t *testing.T) {
	dir := t.TempDir()
	s := newTestStore(t, dir)
	s.get(t, testProblem(2))
	better, err := New(Spec{
		Problem: testProblem(2), Grid: Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: -1},
		Weights: []uint64{1 << 61, 3 << 62, 1 << 61},
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := better.Verify()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Keep(v); err != nil {
		t.Fatal(err)
	}
	again := newTestStore(t, dir)
	if s.get(t, testProblem(2)) != v || encoded(t, again.get(t, testProblem(2)).Mechanism()) != encoded(t, better) {
		t.Error("the first table is still there")
	}
}

func TestStoreReportsWhatItCannotWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	s := newTestStore(t, dir)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	v := s.get(t, testProblem(2))
	if len(s.rejected) != 1 || s.get(t, testProblem(2)) != v {
		t.Errorf("rejected %v, want one error, and the table remembered", s.rejected)
	}
	if err := s.Keep(v); err == nil {
		t.Error("Keep does not say that there is no directory")
	}
}

// TestStoreIsConcurrent: callers, and stores on one directory, agree and leave whole
// files only.
func TestStoreIsConcurrent(t *testing.T) {
	dir := t.TempDir()
	stores := []*testStore{newTestStore(t, dir), newTestStore(t, dir)}
	const callers, problems = 16, 4
	got := make([][problems]*Verified, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for j := range problems {
				v, err := stores[i%2].Get(t.Context(), testProblem(2+float64(j)))
				if err != nil || stores[i%2].Load(testProblem(2+float64(j))) != v {
					t.Errorf("%v, %v", v, err)
				}
				got[i][j] = v
			}
		})
	}
	wg.Wait()
	for i := range got {
		if got[i] != got[i%2] {
			t.Errorf("caller %d has other tables", i)
		}
	}
	for _, s := range stores {
		if n := s.designs.Load(); n > problems || len(s.rejected) != 0 {
			t.Errorf("%d designs of %d problems, rejected %v", n, problems, s.rejected)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != problems {
		t.Errorf("%d files, %v, want %d", len(files), err, problems)
	}
}

// TestStoreOutlivesACancelledCaller: who waits for a caller that gives up designs
// itself.
func TestStoreOutlivesACancelledCaller(t *testing.T) {
	started := make(chan struct{})
	var calls atomic.Int64
	s, err := NewStore(StoreOptions{Design: func(ctx context.Context, p dp.Problem) (*Verified, error) {
		if calls.Add(1) == 1 {
			close(started)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return flat(ctx, p)
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error), make(chan error)
	go func() { _, err := s.Get(ctx, testProblem(2)); first <- err }()
	<-started
	go func() { _, err := s.Get(t.Context(), testProblem(2)); second <- err }()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled caller: %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("other caller: %v", err)
	}
	if _, err := s.Get(ctx, testProblem(3)); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that was cancelled before: %v", err)
	}
}

// TestStoreOutlivesAPanic: who waits for a table is let go, and the next caller may
// have more luck.
func TestStoreOutlivesAPanic(t *testing.T) {
	fails := true
	s, err := NewStore(StoreOptions{Design: func(ctx context.Context, p dp.Problem) (*Verified, error) {
		if fails {
			panic("no luck")
		}
		return flat(ctx, p)
	}})
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = s.Get(t.Context(), testProblem(1))
	}()
	fails = false
	if v, err := s.Get(t.Context(), testProblem(1)); v == nil || err != nil {
		t.Errorf("%v, %v, want a table", v, err)
	}
}
