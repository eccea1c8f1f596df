// SPDX-License-Identifier: Apache-2.0

// Package internal_test holds the layering of the module: which package may
// import which, and that cgo stays in one of them.
package internal_test

import (
	"errors"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/noisewright/noisewright"

// arrows lists what each package may import beside the standard library: our
// packages by their path in the module, others by the path of their module, or
// of a folder in it. ARCHITECTURE.md says why. There is an entry per package,
// so that a new one is a decision.
var arrows = map[string][]string{
	"cmd/noisewright": {"cmd/internal/cli"},
	// It with the random words of a seed, built by tests alone.
	"cmd/internal/seeded": {"cmd/internal/cli"},
	// The static verifier page; none of the designer.
	"cmd/verifier":               {"cmd/internal/portrait", "proof", "sampler", "internal/check"},
	"cmd/internal/verifier":      {"cmd/internal/portrait"},
	"cmd/internal/verifier/make": {"cmd/internal/verifier", "internal/files"},

	// The statement.
	"dp":   {"internal/limits", "loss", "internal/check"},
	"loss": {"internal/exact", "internal/quadrature", "internal/check"},

	// What is measured against, what is proved, what is drawn.
	"noise":    {"local", "dp", "loss", "internal/exact", "internal/quadrature", "internal/check"},
	"tables":   {"internal/limits", "internal/formfile", "dp", "loss", "proof", "internal/exact", "internal/check", "internal/strictjson"},
	"examples": {}, // tests of programs in other languages
	// Megabytes of text: only who hands tables out imports it.
	"tables/catalogue": {"tables", "dp", "internal/check"},
	"tables/shapes":    {"internal/limits", "proof", "tables", "noise", "dp", "internal/exact", "internal/check"},
	"kernels":          {"internal/limits", "internal/formfile", "dp", "loss", "proof", "internal/exact", "internal/check", "internal/strictjson"},
	"local":            {"internal/limits", "internal/formfile", "dp", "loss", "proof", "internal/exact", "internal/check", "internal/strictjson"},
	"counts":           {"internal/limits", "internal/concentration", "internal/formfile", "dp", "loss", "proof", "internal/exact", "internal/check", "internal/strictjson"},
	"ball":             {"internal/limits", "internal/formfile", "dp", "loss", "proof", "internal/exact", "internal/check", "internal/strictjson"},
	"subset":           {"internal/limits", "internal/formfile", "internal/keyed", "dp", "loss", "proof", "internal/exact", "internal/check", "internal/strictjson"},
	"plane":            {"internal/limits", "internal/formfile", "dp", "loss", "proof", "internal/exact", "internal/check", "internal/strictjson"},
	"sampler": {
		"sampler/internal/rank", "sampler/internal/chacha8", "tables", "proof", "dp",
		"internal/keyed", "internal/formfile", "internal/exact", "internal/check",
	},
	"sampler/internal/rank":    {"golang.org/x/sys/cpu"},
	"sampler/internal/chacha8": {"golang.org/x/sys/cpu"},

	"cells": {"internal/limits", "internal/formfile", "dp", "loss", "proof", "internal/exact", "internal/check", "internal/strictjson"},

	// Below releases of statistics.
	"internal/concentration": {"internal/quadrature"},
	"internal/partition":     {"internal/exact", "internal/check"},
	"internal/powers":        {},
	"internal/limits":        {},
	"internal/selection":     {"internal/exact", "internal/check"},
	"release/internal/ratio": {"tables", "tables/shapes", "loss", "dp", "internal/exact", "internal/check"},

	// The designer: what asks for a design, what designs each form, what they share.
	"lp": {
		"internal/limits", "internal/solver", "lp/internal/meet", "lp/internal/noise", "lp/internal/kernel", "lp/internal/cells", "lp/internal/local", "lp/internal/counts", "lp/internal/plane", "lp/internal/ball",
		"tables", "kernels", "cells", "local", "counts", "plane", "ball", "dp", "loss", "internal/exact", "internal/check",
	},
	"lp/internal/meet":            {"internal/solver", "proof", "tables", "dp", "internal/check"},
	"lp/internal/noise":           {"internal/limits", "lp/internal/engine", "lp/internal/engine/cuts", "lp/internal/meet", "lp/internal/noise/staircase", "internal/solver", "proof", "tables", "tables/shapes", "dp", "loss", "internal/exact", "internal/check"},
	"lp/internal/noise/staircase": {"loss"},
	"lp/internal/problems":        {"lp/internal/meet", "lp/internal/noise", "dp", "loss"}, // for tests
	"lp/internal/kernel":          {"internal/limits", "lp/internal/engine", "lp/internal/engine/cuts", "lp/internal/meet", "lp/internal/noise", "internal/solver", "tables", "kernels", "dp", "loss", "internal/exact", "internal/check"},
	"lp/internal/cells":           {"lp/internal/engine", "lp/internal/engine/cuts", "lp/internal/meet", "lp/internal/noise", "internal/solver", "proof", "cells", "dp", "loss", "internal/exact", "internal/check"},
	"lp/internal/local":           {"internal/limits", "lp/internal/engine", "lp/internal/engine/cuts", "lp/internal/engine/ratio", "lp/internal/meet", "internal/solver", "proof", "local", "loss", "internal/exact", "internal/check"},
	"lp/internal/ball":            {"internal/formfile", "ball", "proof", "lp/internal/engine/cuts", "lp/internal/engine/interior", "internal/solver", "internal/check"},
	"lp/internal/plane":           {"internal/limits", "lp/internal/engine", "lp/internal/engine/cuts", "lp/internal/meet", "internal/solver", "plane", "dp", "internal/exact", "internal/check"},
	"lp/internal/counts":          {"internal/limits", "counts", "internal/exact", "internal/check", "gonum.org/v1/gonum/mat"},
	"lp/internal/engine":          {"lp/internal/engine/cuts", "lp/internal/engine/interior", "lp/internal/meet", "internal/solver", "internal/check"},
	"lp/internal/engine/cuts":     {"internal/solver", "internal/check"},
	"lp/internal/engine/interior": {"internal/matrix", "lp/internal/engine/cuts", "internal/solver", "golang.org/x/sys/cpu"},
	"lp/internal/engine/ratio":    {},
	"lp/highs":                    {"internal/solver", "internal/check", "github.com/tetratelabs/wazero", "golang.org/x/sys"},

	// Several releases, and vectors.
	"account": {"internal/limits", "tables", "tables/shapes", "local", "noise", "dp", "loss", "proof", "internal/exact", "internal/check", "gonum.org/v1/gonum/dsp/fourier"},
	// Plans of many statistics: the form, which composes and draws, and who chooses one.
	"plan":                   {"internal/limits", "account", "sampler", "tables", "proof", "dp", "loss", "internal/formfile", "internal/exact", "internal/quadrature", "internal/check", "internal/strictjson", "gonum.org/v1/gonum/stat/combin"},
	"plan/design":            {"internal/limits", "plan", "account", "tables", "noise", "dp", "loss", "internal/quadrature", "internal/check", "gonum.org/v1/gonum/mat", "gonum.org/v1/gonum/optimize"},
	"latent/bundle":          {"internal/limits", "proof", "ball", "noise", "sampler", "tables", "tables/shapes", "local", "dp", "loss", "internal/exact", "internal/check", "internal/strictjson", "internal/files"},
	"latent":                 {"internal/limits", "proof", "ball", "internal/exact", "internal/taskspace", "latent/internal/budget", "latent/internal/blocks", "latent/bundle", "account", "tables", "local", "noise", "dp", "loss", "internal/check", "gonum.org/v1/gonum/mat"},
	"latent/internal/budget": {"noise", "dp", "loss", "internal/exact", "internal/check"},
	"latent/internal/blocks": {"proof", "local", "loss", "internal/exact"},
	"release": {
		"proof", "plan", "internal/selection", "internal/partition", "internal/powers", "release/internal/ratio", "account", "sampler", "tables", "tables/shapes", "dp", "loss",
		"internal/csvfile", "internal/exact", "internal/check", "github.com/expr-lang/expr",
	},
	"release/ledger": {"proof", "account", "tables", "dp", "internal/csvfile", "internal/files", "internal/exact", "internal/check", "modernc.org/sqlite"},
	"learn": {
		"internal/limits", "proof", "release", "account", "sampler", "tables", "tables/shapes", "dp", "loss",
		"internal/csvfile", "internal/exact", "internal/check", "internal/strictjson", "gonum.org/v1/gonum/mathext",
	},
	// Not below latent: the figures of its papers are drawn from the same algebra.
	"internal/taskspace": {"internal/check", "latent/bundle", "gonum.org/v1/gonum/mat"},

	// Learned encoders. Their parts are floats that no promise rests on, but that of a
	// private training, which covers their rounding.
	"encoder":               {"internal/limits", "ball", "noise", "latent", "latent/bundle", "lp", "local", "tables", "dp", "loss", "internal/exact", "internal/check", "gonum.org/v1/gonum/blas"},
	"cmd/internal/encoders": {"internal/limits", "encoder", "cmd/internal/encoders/internal/checkpoint", "cmd/internal/encoders/internal/dense", "latent/bundle", "noise", "dp", "internal/check"},
	"cmd/internal/encoders/taskaware": {
		"encoder", "cmd/internal/encoders", "cmd/internal/encoders/internal/dense", "cmd/internal/encoders/internal/regress",
		"latent/bundle", "internal/check",
	},
	"cmd/internal/encoders/decision": {
		"internal/limits", "cmd/internal/encoders", "cmd/internal/encoders/internal/dense", "cmd/internal/encoders/internal/regress",
		"latent/bundle", "local", "sampler", "internal/exact", "internal/formfile", "internal/check",
		"gonum.org/v1/gonum/floats", "gonum.org/v1/gonum/mat",
	},
	"cmd/internal/encoders/minimax": {
		"encoder", "cmd/internal/encoders", "cmd/internal/encoders/internal/dense", "cmd/internal/encoders/internal/regress",
		"latent/bundle", "internal/check", "gonum.org/v1/gonum/blas", "gonum.org/v1/gonum/mat",
	},
	"cmd/internal/encoders/vlm": {
		"encoder", "cmd/internal/encoders", "cmd/internal/encoders/internal/dense", "cmd/internal/encoders/internal/dpsgd",
		"latent/bundle", "internal/check",
	},
	"cmd/internal/encoders/attack": {
		"cmd/internal/encoders/internal/dense", "cmd/internal/encoders/internal/regress", "internal/check",
		"gonum.org/v1/gonum/blas", "gonum.org/v1/gonum/floats",
	},
	"cmd/internal/encoders/internal/checkpoint": {"internal/files", "internal/strictjson", "internal/check"},
	"cmd/internal/encoders/internal/dense":      {"latent/bundle", "internal/matrix", "internal/check", "gonum.org/v1/gonum/blas", "gonum.org/v1/gonum/floats"},
	"cmd/internal/encoders/internal/dpsgd":      {"internal/limits", "account", "sampler", "internal/check"},
	"cmd/internal/encoders/internal/regress": {
		"cmd/internal/encoders/internal/dense", "internal/check",
		"gonum.org/v1/gonum/blas", "gonum.org/v1/gonum/floats", "gonum.org/v1/gonum/mat", "gonum.org/v1/gonum/optimize",
	},

	// The front door and the program.
	"": {"proof", "internal/check", "lp", "lp/highs", "account", "tables", "sampler", "dp", "loss", "release"},
	"cmd/internal/cli": {
		"internal/limits", "cmd/internal/cli/releases", "cmd/internal/cli/vectors", "proof", "cmd/internal/shell", "cmd/internal/report", "cmd/internal/estimate", "cmd/internal/frequency", "cmd/internal/theorem", "cmd/internal/studio", "internal/csvfile", "cmd/internal/figure", "internal/exact", "internal/check", "internal/files",
		"lp", "lp/highs", "cmd/internal/joint", "tables", "tables/catalogue", "tables/shapes", "kernels", "cells", "local", "subset", "counts", "plane", "ball", "sampler", "noise", "dp", "loss", "account", "plan", "plan/design",
		"github.com/spf13/cobra", "github.com/spf13/pflag", "gonum.org/v1/plot", "gonum.org/v1/gonum/floats",
	},
	// Groups of commands, which know nothing of each other.
	"cmd/internal/cli/releases": {
		"internal/limits", "cmd/internal/shell", "release", "release/ledger", "learn", "plan", "account", "proof", "lp", "tables", "noise", "dp",
		"internal/csvfile", "internal/exact", "internal/check", "internal/strictjson", "github.com/BurntSushi/toml", "github.com/spf13/cobra", "github.com/spf13/pflag",
	},
	"cmd/internal/cli/vectors": {
		"internal/limits", "cmd/internal/shell", "latent", "latent/bundle", "encoder", "cmd/internal/encoders", "cmd/internal/encoders/taskaware", "cmd/internal/encoders/vlm", "cmd/internal/encoders/minimax", "cmd/internal/encoders/attack", "cmd/internal/encoders/decision",
		"lp", "ball", "local", "sampler", "noise", "proof", "dp", "loss", "internal/csvfile", "internal/exact", "internal/check",
		"github.com/spf13/cobra", "github.com/spf13/pflag", "gonum.org/v1/gonum/mat", "gonum.org/v1/gonum/stat/distuv",
	},
	"cmd/internal/shell": {
		"internal/limits", "proof/forms", "proof", "internal/csvfile", "internal/exact", "internal/check", "internal/files",
		"lp", "lp/highs", "tables", "kernels", "cells", "local", "subset", "plane", "dp", "loss", "github.com/spf13/cobra", "github.com/spf13/pflag",
	},
	"cmd/internal/report":    {"internal/limits", "cmd/internal/shell", "proof", "loss", "ball", "tables", "kernels", "cells", "local", "subset", "counts", "plane", "account", "dp", "internal/exact"},
	"cmd/internal/frequency": {},
	"cmd/internal/joint":     {"noise", "dp", "internal/quadrature", "gonum.org/v1/gonum/mathext"},
	"cmd/internal/theorem":   {"proof", "tables", "kernels", "local", "subset", "dp", "loss", "internal/exact", "internal/check"},
	"cmd/internal/estimate":  {"local", "tables", "dp", "internal/concentration", "internal/formfile", "internal/quadrature", "gonum.org/v1/gonum/mat"},
	"cmd/internal/studio": {
		"proof", "cmd/internal/portrait", "internal/check", "lp", "local", "subset", "noise", "plan", "account", "dp",
	},

	"cmd/internal/scripttest": {"cmd/internal/shell", "github.com/rogpeppe/go-internal"}, // for tests
	"internal/csvfile":        {"internal/check", "github.com/klauspost/compress/zstd"},
	"cmd/internal/portrait":   {"cmd/internal/theorem", "proof/forms", "proof", "tables", "kernels", "cells", "local", "subset", "account", "dp", "loss", "internal/exact"},
	"cmd/internal/figure":     {"cmd/internal/portrait", "cmd/internal/frequency", "proof", "tables", "kernels", "cells", "local", "subset", "plan", "noise", "dp", "loss", "internal/check", "gonum.org/v1/plot", "plane", "ball"},

	"internal/check":      {},
	"internal/formfile":   {"internal/exact", "internal/check"},
	"internal/newform":    {"internal/formfile", "proof", "dp", "loss", "internal/exact", "internal/check", "internal/strictjson", "gonum.org/v1/gonum/floats", "gonum.org/v1/gonum/stat/combin"}, // for tests
	"internal/keyed":      {},
	"internal/mutants":    {},
	"internal/exact":      {},
	"internal/matrix":     {"golang.org/x/sys/cpu"},
	"internal/quadrature": {"internal/exact"},
	"internal/solver":     {}, // what lp asks of an LP solver
	"internal/strictjson": {"internal/check"},
	"internal/files":      {"internal/check"},
	// What a mechanism of any form is and has. Forms do not import each other.
	"proof/forms": {"internal/check", "proof", "tables", "kernels", "cells", "local", "subset", "counts", "plan", "plane", "ball"},
	"proof":       {"internal/formfile", "dp", "loss", "internal/exact", "internal/check", "internal/strictjson", "internal/files"},
	"internal":    {}, // this test
}

// TestNoArrowBackUp: what is below everything knows of nothing above, but for the linear
// algebra of latent, which has the domains that a device clips to, and the form that is there
// for tests.
func TestNoArrowBackUp(t *testing.T) {
	for name, allowed := range arrows {
		if !strings.HasPrefix(name, "internal/") || name == "internal/newform" {
			continue
		}
		for _, a := range allowed {
			above := !strings.HasPrefix(a, "internal/") && !strings.Contains(a, ".")
			if above && !(name == "internal/taskspace" && a == "latent/bundle") {
				t.Errorf("%s may import %s, which is above it", name, a)
			}
		}
	}
}

// testModules are the other people's modules that tests may import too.
var testModules = []string{"github.com/rogpeppe/go-internal", "gonum.org/v1/gonum"}

// databases are what only release/ledger and those who import it may link.
var databases = []string{"modernc.org", "database/sql"}

// withoutDatabase are packages that no database stands below: who keeps no ledger links none.
var withoutDatabase = []string{"", "release", "learn", "account", "sampler", "tables", "lp", "latent", "encoder", "plan/design"}

// cgoFiles are the only files with import "C", by package.
var cgoFiles = map[string][]string{"lp/highs": {"capi.go"}}

// TestSolverTags: whether a file is built does not depend on cgo alone, as what needs
// cgo is built only with a tag; and it depends on cgo in lp/highs only, and for tests
// below lp, which are fewer without: the Makefile repeats without cgo the tests of what links lp/highs there, and no other.
func TestSolverTags(t *testing.T) {
	known := []string{"(highs && cgo) || highswasm", "!(highs && cgo) && !highswasm"}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		line, _, _ := strings.Cut(string(text), "\n")
		if rule, is := strings.CutPrefix(line, "//go:build "); is && strings.Contains(rule, "cgo") && !slices.Contains(known, rule) {
			t.Errorf("%s is built if %s, want one of %q", path, rule, known)
		} else if is && strings.HasSuffix(path, "_test.go") && rule == known[1] {
			t.Errorf("%s is built without HiGHS alone, where the tests below lp are not run", path)
		} else if dir := filepath.ToSlash(filepath.Dir(path)); is && strings.Contains(rule, "cgo") && dir != "../lp/highs" &&
			(!strings.HasPrefix(dir+"/", "../lp/") || !strings.HasSuffix(path, "_test.go")) {
			t.Errorf("%s is built if %s, which only files of lp/highs and tests below lp may ask", path, rule)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLayering reads every Go file, whatever its build constraints: the layers
// are the same on all systems, with and without cgo. It asks go/build and not
// `go list` because what another process reads escapes the test cache, which
// would then answer for an older tree.
func TestLayering(t *testing.T) {
	const root = ".."
	context := everyFile()
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); dir != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata") {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && dir != root {
			return fs.SkipDir // a module of its own
		}
		p, err := context.ImportDir(dir, 0)
		var none *build.NoGoError
		if errors.As(err, &none) {
			return nil
		}
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			return nil
		}
		name := strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(dir), root), "/")
		found[name] = true
		checkPackage(t, name, p)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range arrows {
		if !found[name] {
			t.Errorf("no package %q found, want no entry in arrows of what is not there", name)
		}
	}
}

// everyFile reads all files of a package, whatever they are built for.
func everyFile() *build.Context {
	context := build.Default
	context.UseAllFiles = true
	context.CgoEnabled = true
	return &context
}

// TestNoDatabase follows the imports of our packages to the end. Those of other modules are
// leaves: there are few, each allowed by name.
func TestNoDatabase(t *testing.T) {
	context := everyFile()
	imports := map[string][]string{} // of our packages, by their path in the module
	var chain func(name string, seen map[string]bool) []string
	// chain returns the imports that lead from a package to a database, nil if none do.
	chain = func(name string, seen map[string]bool) []string {
		if seen[name] {
			return nil
		}
		seen[name] = true
		if imports[name] == nil {
			p, err := context.ImportDir(filepath.Join("..", filepath.FromSlash(name)), 0)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			imports[name] = append([]string{}, p.Imports...)
		}
		for _, path := range imports[name] {
			if within(path, databases) {
				return []string{path}
			}
			if ours, inside := strings.CutPrefix(path, module); inside {
				if rest := chain(strings.TrimPrefix(ours, "/"), seen); rest != nil {
					return append([]string{path}, rest...)
				}
			}
		}
		return nil
	}
	for _, name := range withoutDatabase {
		if found := chain(name, map[string]bool{}); found != nil {
			t.Errorf("package %q imports %s, want no database below it", name, strings.Join(found, ", which imports "))
		}
	}
	if chain("release/ledger", map[string]bool{}) == nil {
		t.Error("release/ledger imports no database, want the one that this test is to find")
	}
}

func checkPackage(t *testing.T, name string, p *build.Package) {
	t.Helper()
	allowed, known := arrows[name]
	if !known {
		t.Errorf("package %s has no entry in arrows: want one here, and a reason in ARCHITECTURE.md", name)
		return
	}
	if !slices.Equal(p.CgoFiles, cgoFiles[name]) {
		t.Errorf(`package %s: import "C" in %q, want it in %q`, name, p.CgoFiles, cgoFiles[name])
	}
	for _, path := range p.Imports {
		switch ours, inside := strings.CutPrefix(path, module); {
		case path == "C", standard(path): // "C" is in CgoFiles
		case inside && slices.Contains(allowed, strings.TrimPrefix(ours, "/")):
		case !inside && within(path, allowed):
		default:
			t.Errorf("package %s imports %s, want only the standard library and %q", name, path, allowed)
		}
	}
	for _, a := range allowed {
		ours := standard(a) // a path in the module has no dot
		if used := slices.ContainsFunc(p.Imports, func(path string) bool {
			return ours && path == module+"/"+a || !ours && within(path, []string{a})
		}); !used {
			t.Errorf("package %s does not import %s, want no entry in arrows that nothing needs", name, a)
		}
	}
	for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
		if strings.HasPrefix(path, module) || standard(path) || within(path, testModules) || within(path, allowed) {
			continue
		}
		t.Errorf("a test of package %s imports %s, want only our packages, the standard library and %q", name, path, testModules)
	}
}

// standard reports whether the path is one of the standard library: the first
// element of all others has a dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// within reports whether the path is one of the listed ones or below one.
func within(path string, listed []string) bool {
	return slices.ContainsFunc(listed, func(l string) bool {
		return path == l || strings.HasPrefix(path, l+"/")
	})
}

// TestArchitectureIsShort: who begins reads all of ARCHITECTURE.md.
func TestArchitectureIsShort(t *testing.T) {
	if page, err := os.ReadFile("../ARCHITECTURE.md"); err != nil || len(page) > 12_000 {
		t.Errorf("%d bytes, %v, want at most 12,000", len(page), err)
	}
}
