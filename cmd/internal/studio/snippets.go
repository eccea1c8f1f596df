// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/portrait"
)

// packages are those that read the files of a kind, where that is not their name.
var packages = map[string]string{"table": "tables", "kernel": "kernels", "additive": "cells"}

// snippets are programs that prove a file again and draw from it: what a command made, in its file.
func snippets(p *portrait.Portrait) (goCode, python string) {
	pkg := cmp.Or(packages[p.Kind], p.Kind)
	const module = "github.com/noisewright/noisewright/"
	imports := []string{module + "proof", module + pkg, module + "sampler"}
	maker, release, kind := "NewNoise", "AddNoise", "float64"
	if p.Kind != "table" {
		maker, release, kind = "New", "Release", "proof.Value"
	}
	slices.Sort(imports)
	goCode = fmt.Sprintf(`package private

import (
	"%[1]s"
)

// open proves the file again and returns what answers with noise.
func open() (func(value %[5]s) (%[5]s, error), error) {
	file, err := proof.ReadFile(%[3]q, %[2]s.Decode)
	if err != nil {
		return nil, err
	}
	verified, err := file.Verify()
	if err != nil {
		return nil, err
	}
	s, err := sampler.%[4]s(verified, sampler.Options{})
	if err != nil {
		return nil, err
	}
	return s.%[6]s, nil
}
`, strings.Join(imports, "\"\n\t\""), pkg, p.Name, maker, kind, release)
	method := "release"
	if p.Kind == "table" {
		method = "add_noise"
	}
	python = strings.Join([]string{
		"import noisewright",
		"",
		fmt.Sprintf("noise = noisewright.load(%q)  # refuses what it cannot prove", p.Name),
		fmt.Sprintf("private = noise.%s(value)", method),
		"",
	}, "\n")
	return goCode, python
}
