// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/checkpoint"
	"github.com/noisewright/noisewright/internal/check"
)

type state struct {
	Step  int       `json:"step"`
	Best  float64   `json:"best"`
	Rates []float64 `json:"rates"`
}

var saved = state{Step: 7, Best: 0.1, Rates: []float64{1e-3, 5e-324}}

func arrays() map[string][]float64 {
	return map[string][]float64{"params": {1, math.Pi, math.Inf(-1)}, "mean-2": {1e-300}}
}

func write(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "c")
	if err := checkpoint.Write(dir, saved, arrays()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestReadReturnsWhatWasWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	with := arrays()
	with["empty"] = nil
	if err := checkpoint.Write(dir, saved, with); err != nil {
		t.Fatal(err)
	}
	var got state
	list, err := checkpoint.Read(dir, &got)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, saved) {
		t.Errorf("state = %+v, want %+v", got, saved)
	}
	if !reflect.DeepEqual(list, arrays()) {
		t.Errorf("arrays = %v, want %v", list, arrays())
	}
}

// A checkpoint is replaced by the next one and by nothing that is refused.
func TestWriteReplaces(t *testing.T) {
	dir := write(t)
	for name, list := range map[string]map[string][]float64{
		"NaN":        {"params": {math.NaN()}},
		"path":       {"../params": {1}},
		"upper case": {"Params": {1}},
		"no name":    {"": {1}},
	} {
		if err := checkpoint.Write(dir, state{Step: 8, Rates: []float64{}}, list); !errors.Is(err, check.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
	if err := checkpoint.Write(dir, state{Best: math.NaN(), Rates: []float64{}}, arrays()); err == nil {
		t.Error("a state that is NaN: no error")
	}
	var got state
	if _, err := checkpoint.Read(dir, &got); err != nil || got.Step != saved.Step {
		t.Errorf("step %d, error %v, want the checkpoint before, of step %d", got.Step, err, saved.Step)
	}
	if err := checkpoint.Write(dir, state{Step: 9, Rates: []float64{}}, map[string][]float64{"params": {1}}); err != nil {
		t.Fatal(err)
	}
	if list, err := checkpoint.Read(dir, &got); err != nil || got.Step != 9 || len(list) != 1 {
		t.Errorf("step %d, %d arrays, error %v, want the new checkpoint, of step 9 with one", got.Step, len(list), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%d files, error %v, want the 2 of the new checkpoint", len(entries), err)
	}
}

// A writer that is killed at any time leaves a whole checkpoint. This test runs itself as
// the writer.
func TestKilledWriter(t *testing.T) {
	const variable = "CHECKPOINT_TEST_DIR"
	if dir := os.Getenv(variable); dir != "" {
		for step := 1; ; step++ {
			numbers := slices.Repeat([]float64{float64(step)}, 1000)
			if err := checkpoint.Write(dir, state{Step: step, Rates: []float64{}}, map[string][]float64{"a": numbers, "b": numbers}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if runtime.GOOS != "linux" {
		t.Skip("two names are exchanged in one step on Linux only")
	}
	dir := filepath.Join(t.TempDir(), "c")
	for range 5 {
		writer := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$") //nolint:gosec // this test
		writer.Env = append(os.Environ(), variable+"="+dir)
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan error, 1)
		go func() { exited <- writer.Wait() }()
		for first := -1; ; {
			select {
			case err := <-exited:
				t.Fatalf("the writer has ended: %v", err)
			default:
			}
			var got state
			_, _ = checkpoint.Read(dir, &got) // it may be replaced while it is read
			if first < 0 {
				first = got.Step
			}
			if got.Step > 0 && got.Step != first {
				break
			}
		}
		if err := writer.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := <-exited; err == nil {
			t.Error("a writer that was killed ended as if it were done")
		}
		var got state
		list, err := checkpoint.Read(dir, &got)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Repeat([]float64{float64(got.Step)}, 1000)
		if got.Step < 1 || !slices.Equal(list["a"], want) || !slices.Equal(list["b"], want) {
			t.Fatalf("numbers %g and %g of step %d", list["a"][0], list["b"][0], got.Step)
		}
	}
}

// What a killed writer has left beside the checkpoint is cleared away by the next one.
func TestLeftOver(t *testing.T) {
	dir := write(t)
	left := filepath.Join(filepath.Dir(dir), ".c.tmp-ABCDEFGHIJKL")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "params.npy"), []byte("\x93NUM"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got state
	if _, err := checkpoint.Read(dir, &got); err != nil || got.Step != saved.Step {
		t.Errorf("step %d, error %v, want step %d", got.Step, err, saved.Step)
	}
	if err := checkpoint.Write(dir, saved, arrays()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stat of the left-over = %v, want it gone", err)
	}
}

func TestWriteLeavesOthersAlone(t *testing.T) {
	dir := t.TempDir()
	if err := checkpoint.CheckWrite(dir); err != nil {
		t.Errorf("an empty directory: %v, want no error", err)
	}
	for _, name := range []string{"thesis.txt", "params.npy"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkpoint.Write(dir, saved, arrays()); !errors.Is(err, check.ErrInvalid) || !strings.Contains(err.Error(), "want another directory") {
			t.Errorf("a directory with %s: error %v, want it refused", name, err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
			t.Errorf("%s = %q, %v, want it as it was", name, text, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadIsStrict(t *testing.T) {
	replace := func(name, from, to string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), from) {
				t.Fatalf("%s has no %q: %v", name, from, err)
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	nan := "\x00\x00\x00\x00\x00\x00\xf8\x7f"
	one := "\x00\x00\x00\x00\x00\x00\xf0\x3f"
	for name, forge := range map[string]func(*testing.T, string){
		"field unknown": replace("checkpoint.json", `"step"`, `"stop"`),
		"other version": replace("checkpoint.json", `"version":1`, `"version":2`),
		"data after":    replace("checkpoint.json", "}\n", "}{}"),
		"other length":  replace("checkpoint.json", `"entries":3`, `"entries":4`),
		"no length":     replace("checkpoint.json", `"entries":3`, `"entries":0`),
		"large length":  replace("checkpoint.json", `"entries":3`, `"entries":2147483647`),
		"array twice":   replace("checkpoint.json", `"params"`, `"mean-2"`),
		"path":          replace("checkpoint.json", `"params"`, `"../c/params"`),
		"array cut":     replace("params.npy", one, ""),
		"array of NaN":  replace("params.npy", one, nan),
		"array missing": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "params.npy")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t)
			forge(t, dir)
			got := state{Step: 1}
			if list, err := checkpoint.Read(dir, &got); !errors.Is(err, checkpoint.ErrFormat) || !strings.Contains(err.Error(), dir) || list != nil || got.Step != 1 {
				t.Errorf("%v, step %d, error %v, want nothing and ErrFormat with the path", list, got.Step, err)
			}
		})
	}
	var got state
	if _, err := checkpoint.Read(filepath.Join(t.TempDir(), "none"), &got); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that is not there: %v, want ErrNotExist", err)
	}
}

// FuzzRead: whatever the files hold, a checkpoint that is read is written again as the
// same one.
func FuzzRead(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "c")
	if err := checkpoint.Write(dir, saved, arrays()); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "checkpoint.json"))
	if err != nil {
		f.Fatal(err)
	}
	params, err := os.ReadFile(filepath.Join(dir, "params.npy"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, params)
	f.Add([]byte(`{"format":"noisewright-checkpoint","version":1,"arrays":[],"state":{}}`), []byte("\x93NUMPY\x01\x00"))
	f.Fuzz(func(t *testing.T, text, params []byte) {
		for name, b := range map[string][]byte{"checkpoint.json": text, "params.npy": params} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var got, again state
		list, err := checkpoint.Read(dir, &got)
		if err != nil {
			return
		}
		for name, data := range list {
			if slices.ContainsFunc(data, math.IsNaN) {
				t.Fatalf("%s = %v was read", name, data)
			}
		}
		other := filepath.Join(t.TempDir(), "c")
		if err := checkpoint.Write(other, got, list); err != nil {
			t.Fatal(err)
		}
		if copied, err := checkpoint.Read(other, &again); err != nil || !reflect.DeepEqual(got, again) || !reflect.DeepEqual(list, copied) {
			t.Fatalf("%+v %v, error %v, want %+v %v", again, copied, err, got, list)
		}
	})
}
