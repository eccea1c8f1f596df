// SPDX-License-Identifier: Apache-2.0

// Command make writes the static verifier page: see `make verifier`.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/noisewright/noisewright/cmd/internal/verifier"
	"github.com/noisewright/noisewright/internal/files"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("%d arguments, want verifier.wasm, wasm_exec.js and the page to write", len(args))
	}
	program, bad := os.ReadFile(args[0]) //nolint:gosec // the files that the Makefile names
	glue, err := os.ReadFile(args[1])    //nolint:gosec // the same
	if err := errors.Join(bad, err); err != nil {
		return err
	}
	return files.Write(args[2], func(w io.Writer) error { return verifier.Write(w, program, glue) })
}
