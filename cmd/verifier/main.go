// SPDX-License-Identifier: Apache-2.0

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

	"github.com/noisewright/noisewright/cmd/internal/portrait"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
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
		v, err := portrait.Verify(context.Background(), []byte(args[0].String()))
		if err != nil {
			return answer{}, err
		}
		p := portrait.New(v)
		if err := p.ProveTotal(v); err != nil {
			return answer{}, err
		}
		p.NameTheorems(proof.Of(v))
		if draw, err = drawer(v); err != nil {
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
func drawer(v proof.Proven) (func(string) (any, error), error) {
	s, err := sampler.New(v, sampler.Options{})
	if err != nil {
		return nil, err
	}
	kind := s.Mechanism().Inputs().Kind
	return func(text string) (any, error) {
		input, err := read(kind, text)
		if err != nil {
			return nil, err
		}
		return s.Release(input)
	}, nil
}

// read reads a value as it was written; an integer may be written as a number is.
func read(kind proof.Kind, text string) (proof.Value, error) {
	if kind != proof.Numbers && kind != proof.Integers {
		return proof.Space{Kind: kind}.Read(text)
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !check.Finite(x) {
		return nil, fmt.Errorf("value = %s, want a finite number", check.Quoted(text))
	}
	return proof.Number(x), nil
}
