//go:build js && wasm

// Command verifier is what the static verifier page runs: it proves a file and draws from it,
// in WebAssembly. cmd/internal/verifier makes the page of it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"syscall/js"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/cmd/internal/portrait"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

// maxDraws bounds the draws of one call.
const maxDraws = 1_000_000

// answer is what the page is told.
type answer struct {
	Portrait *portrait.Portrait `json:"portrait,omitempty"`
	Draws    []any              `json:"draws,omitempty"`
	Errors   []string           `json:"errors,omitempty"`
}

// draw answers a value, as it was written, with noise; nil as long as nothing is proved.
var draw func(value string) (any, error)

func main() {
	export := func(name string, work func(args []js.Value) (answer, error)) {
		js.Global().Set(name, js.FuncOf(func(_ js.Value, args []js.Value) any {
			a, err := work(args)
			if err != nil {
				a = answer{Errors: check.Sentences(err)}
			}
			text, err := json.Marshal(a)
			if err != nil {
				return `{"errors":["the numbers of the file are too large to show"]}`
			}
			return string(text)
		}))
	}
	export("noisewrightVerify", func(args []js.Value) (answer, error) {
		draw = nil
		proof, err := portrait.Verify(context.Background(), []byte(args[0].String()))
		if err != nil {
			return answer{}, err
		}
		p := portrait.New(proof)
		if err := p.ProveTotal(proof); err != nil {
			return answer{}, err
		}
		if draw, err = drawer(proof); err != nil {
			return answer{}, err
		}
		return answer{Portrait: p}, nil
	})
	export("noisewrightDraw", func(args []js.Value) (answer, error) {
		n, err := strconv.Atoi(args[1].String())
		switch {
		case draw == nil:
			return answer{}, errors.New("no file is verified, want one")
		case err != nil || n < 1 || n > maxDraws:
			return answer{}, fmt.Errorf("draws = %s, want an integer from 1 to %d", check.Quoted(args[1].String()), maxDraws)
		}
		a := answer{Draws: make([]any, n)}
		for i := range a.Draws {
			if a.Draws[i], err = draw(args[0].String()); err != nil {
				return answer{}, err
			}
		}
		return a, nil
	})
	js.Global().Call("noisewrightReady")
	select {}
}

// drawer returns what draws from a proof, by the system's randomness.
func drawer(proof any) (func(string) (any, error), error) {
	switch v := proof.(type) {
	case *tables.Verified:
		s, err := sampler.New(v, sampler.Options{})
		return number(s.AddNoise), err
	case *kernels.Verified:
		s, err := sampler.NewKernel(v, sampler.Options{})
		return number(s.Release), err
	case *cells.Verified:
		s, err := sampler.NewAdditive(v, sampler.Options{})
		return number(s.Release), err
	case *local.Verified:
		s, err := sampler.NewRandomizer(v, sampler.Options{})
		if v.Randomizer().Spec().Values.Kind == local.Category {
			return func(label string) (any, error) { return s.ReleaseCategory(label) }, err
		}
		return number(s.Release), err
	}
	return nil, fmt.Errorf("verifier: broken invariant: proof of type %T", proof)
}

// number reads a value and releases it.
func number(release func(float64) (float64, error)) func(string) (any, error) {
	return func(text string) (any, error) {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !check.Finite(x) {
			return nil, fmt.Errorf("value = %s, want a finite number", check.Quoted(text))
		}
		return release(x)
	}
}
