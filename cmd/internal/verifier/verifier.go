// SPDX-License-Identifier: Apache-2.0

// Package verifier makes the static verifier page: one HTML file that holds the program as
// WebAssembly, verifies a file that is dropped on it and draws from it. It works offline, from
// a disk too, and its policy forbids it every connection.
package verifier

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/portrait"
)

//go:embed page
var page embed.FS

// Write writes the page: program is cmd/verifier for js/wasm, and glue the wasm_exec.js of that Go.
func Write(w io.Writer, program, glue []byte) error {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(program); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	read := func(from fs.FS, names ...string) string {
		var b strings.Builder
		for _, name := range names {
			text, bad := fs.ReadFile(from, "page/"+name)
			if bad != nil && err == nil {
				err = bad
			}
			b.Write(text)
		}
		return b.String()
	}
	look := read(portrait.Page, "look.css") + read(page, "verifier.css")
	script := read(portrait.Page, "charts.js") + read(page, "verifier.js")
	worker := string(glue) + read(page, "worker.js")
	html := read(page, "verifier.html")
	if err != nil {
		return err
	}
	for _, text := range []string{look, script, worker} {
		if strings.Contains(text, "</s") { // it would end the element that it stands in
			return fmt.Errorf("verifier: a script or style holds %q, want none of these", "</s")
		}
	}
	// Nothing but these two texts and the program may run, and nothing may be sent.
	policy := fmt.Sprintf("default-src 'none'; script-src '%s' 'wasm-unsafe-eval'; worker-src blob:; style-src '%s'; base-uri 'none'; form-action 'none'", digest(script), digest(look))
	_, err = strings.NewReplacer(
		"{{policy}}", policy, "{{look}}", look, "{{script}}", script, "{{worker}}", worker,
		"{{program}}", base64.StdEncoding.EncodeToString(packed.Bytes()),
	).WriteString(w, html)
	return err
}

// digest is how a policy names a text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
