// Command make writes the static verifier page: see `make verifier`.
package main

import (
	"bytes"
	"errors"
	"fmt"
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
	var text bytes.Buffer
	if err := verifier.Write(&text, program, glue); err != nil {
		return err
	}
	f, err := files.Create(args[2])
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(text.Bytes()); err != nil {
		return err
	}
	return f.Commit()
}
