package studio

import (
	"fmt"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/portrait"
)

// reader is how Go reads, proves and draws from the files of a kind.
type reader struct {
	pkg, path, sampler, release string
}

var readers = map[string]reader{
	"table":    {"tables", "tables", "New", "AddNoise"},
	"kernel":   {"kernels", "kernels", "NewKernel", "Release"},
	"additive": {"cells", "cells", "NewAdditive", "Release"},
	"local":    {"local", "local", "NewRandomizer", "Release"},
}

// snippets are programs that prove a file again and draw from it: what a command made, in
// its file.
func snippets(p *portrait.Portrait) (goCode, python string) {
	r := readers[p.Kind]
	release, value := r.release, "value"
	labels := p.Laws != nil && p.Laws.Labels != nil
	if labels { // categories are answered by name
		release = "ReleaseCategory"
	}
	kind := "float64"
	if labels {
		kind = "string"
	}
	const module = "github.com/noisewright/noisewright/"
	imports := []string{module + r.path, module + "sampler"}
	slices.Sort(imports)
	goCode = fmt.Sprintf(`package private

import (
	"%[1]s"
	"%[2]s"
)

// open proves the file again and returns what answers with noise.
func open() (func(value %[6]s) (%[6]s, error), error) {
	file, err := %[3]s.ReadFile(%[4]q)
	if err != nil {
		return nil, err
	}
	proof, err := file.Verify()
	if err != nil {
		return nil, err
	}
	s, err := sampler.%[5]s(proof, sampler.Options{})
	if err != nil {
		return nil, err
	}
	return s.%[7]s, nil
}
`, imports[0], imports[1], r.pkg, p.Name, r.sampler, kind, release)
	method := "release"
	if p.Kind == "table" {
		method = "add_noise"
	}
	python = strings.Join([]string{
		"import noisewright",
		"",
		fmt.Sprintf("noise = noisewright.load(%q)  # refuses what it cannot prove", p.Name),
		fmt.Sprintf("private = noise.%s(%s)", method, value),
		"",
	}, "\n")
	return goCode, python
}
