# Everything a working copy needs; `make help` lists the targets.
# HiGHS, the LP solver, is found or fetched by scripts/deps.sh.

SHELL := /bin/sh
GO ?= go
FUZZTIME ?= 30s
LEAKAGE_RUNS ?= 10000000
MUTANTS ?= 120
MUTANTS_SEED ?= 1
PROBLEMS ?= 300
PROBLEMS_SEED ?= 1
PROBLEMS_MAP ?=

DEPS := $(CURDIR)/.deps
LINT_VERSION := v2.15.0
ACTIONLINT_VERSION := v1.7.12
LINT := $(DEPS)/golangci-lint-$(LINT_VERSION)/golangci-lint

# How long the tests of a package may take. Alone on two cores the slowest takes two minutes.
TEST_TIMEOUT ?= 45m

# Only lp/highs has other files without cgo, and tests below lp fewer (TestSolverTags in internal holds it). So only
# what links lp/highs in the build without cgo can do anything else there, and it alone is tested twice; tests below lp
# link it only where they need HiGHS. Of the program, which goes the same ways once there is no solver, a few scripts are.
HIGHS_PACKAGE := github.com/noisewright/noisewright/lp/highs
LINKS_HIGHS = CGO_ENABLED=0 $(GO) list -test -f '{{range .Deps}}{{if eq . "$(HIGHS_PACKAGE)"}}{{$$.ImportPath}}{{end}}{{end}}' ./... | sed -n 's/\.test$$//p'
PROGRAM := github.com/noisewright/noisewright/cmd/internal/cli
RELEASE := github.com/noisewright/noisewright/release

# A nested make must not say these twice: that would be another build for the cache.
outer_cppflags := $(filter-out -DNOISEWRIGHT_HIGHS_PC=%,$(CGO_CPPFLAGS))
export PKG_CONFIG_PATH := $(DEPS)/pkgconfig$(if $(PKG_CONFIG_PATH),:$(PKG_CONFIG_PATH))
# Go's build cache does not see what pkg-config says: without a mark of it,
# another copy of the tree, or another HiGHS, would be linked from the cache.
export CGO_CPPFLAGS = $(strip -DNOISEWRIGHT_HIGHS_PC=$(shell cat .deps/pkgconfig/highs.pc 2>/dev/null | cksum | tr -d ' ') $(outer_cppflags))
export CGO_ENABLED := 1
# HiGHS is linked where the tag asks for it; without it, a build has no general LP solver.
plain := $(filter-out -tags=highs,$(GOFLAGS))
export GOFLAGS := $(strip $(plain) -tags=highs)

# What make static builds.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: help deps build static dist dist-check dist-one workflows man site quick test test-cgo test-pure test-wasm test-python mutants problems proofs proofs-all race lint bench leakage fuzz catalogue demo verifier browser papers beam beam-prism beam-flink beam-spark clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name what; do printf '  make %-11s %s\n' "$$name" "$$what"; done

deps: ## find or fetch HiGHS (HIGHS_FROM=system, highsbox or source forces one way)
	@sh scripts/deps.sh

build: deps ## build bin/noisewright
	@echo "build: bin/noisewright"
	@$(GO) build -trimpath -buildvcs=auto -o bin/noisewright ./cmd/noisewright

static: ## build static programs with HiGHS as WebAssembly into dist, for PLATFORMS
	@sh scripts/static.sh build $(PLATFORMS)

dist: ## make a release in dist: static programs, wheels, packages, SBOM, checksums, for PLATFORMS
	@sh scripts/dist.sh $(PLATFORMS)

dist-check: ## check dist on bare systems; DIST_CHECKS=again compares the bytes of a second build
	@sh scripts/dist-check.sh $(DIST_CHECKS)

dist-one: ## of .ci/run: dist for this machine alone, and its quick checks
	@command -v npm >/dev/null || { echo "dist-one: skipped: there is no npm"; exit 0; }; \
		$(MAKE) --no-print-directory dist PLATFORMS=linux/$$($(GO) env GOARCH) && $(MAKE) --no-print-directory dist-check DIST_CHECKS="contents scratch"

man: build ## write the manual pages into man
	@echo "man: pages in man, dated by the last commit"
	@SOURCE_DATE_EPOCH="$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || true)}" bin/noisewright man --force -o man

site: build ## make a site of the documentation in site, with a page for every command; a dead link is an error
	@sh scripts/site.sh

quick: ## vet, and the tests to run at each change: without HiGHS, Python, a browser and the slow ones, a minute of CPU
	@CGO_ENABLED=0 GOFLAGS="$(plain)" $(GO) vet ./...
	@CGO_ENABLED=0 GOFLAGS="$(plain)" GOGC=400 $(GO) test -vet=off -short -timeout $(TEST_TIMEOUT) ./...

# Every phase runs, even if one before it fails.
test: ## run every test, those that must pass without cgo, and those of python/: some 9 minutes
	@echo "test: takes some 9 minutes on two idle cores, 25 on a machine three times slower; some minutes more if nothing was built yet"
	@echo "test: downloads, if they are missing: Go modules; HiGHS, with pip or cargo; HiGHS as WebAssembly, with npm; Python packages, with pip"
	@MAKE="$(MAKE)" sh scripts/phases.sh test build test-cgo test-pure test-wasm test-python

test-cgo: deps ## of make test: all packages, with HiGHS
	@command -v node >/dev/null || echo "test: examples/javascript is skipped: there is no node"
	@command -v gcc >/dev/null || echo "test: examples/c is skipped: there is no gcc"
	@echo "test: all packages, with cgo"
	@$(GO) test -timeout $(TEST_TIMEOUT) ./...

# The slow tests of release, some two minutes, run once, with cgo.
test-pure: ## of make test: what must pass without cgo
	@echo "test: all packages build, and the program for js/wasm, without cgo"
	@CGO_ENABLED=0 $(GO) build ./...
	@CGO_ENABLED=0 GOOS=js GOARCH=wasm $(GO) build -o /dev/null ./cmd/noisewright
	@echo "test: what links lp/highs passes without cgo"
	@list=$$($(LINKS_HIGHS)) && [ -n "$$list" ] && export CGO_ENABLED=0 || exit 1; \
		$(GO) test -timeout $(TEST_TIMEOUT) $$(printf '%s\n' "$$list" | grep -Fxv -e $(PROGRAM) -e $(RELEASE)); others=$$?; \
		$(GO) test -timeout $(TEST_TIMEOUT) -short $(RELEASE) || others=1; \
		$(GO) test -timeout $(TEST_TIMEOUT) -run 'TestScripts/^(compare|design|integer|loss)$$' $(PROGRAM) && exit $$others

test-wasm: ## of make test: HiGHS as WebAssembly
	@TEST_TIMEOUT=$(TEST_TIMEOUT) sh scripts/static.sh test

test-python: build ## of make test: python/
	@sh scripts/python.sh test

# A seed says which: the same for the same code, and others for another seed. 8 minutes at most; what was not
# reached by then is said, and no failure.
mutants: ## change MUTANTS (120) places of privacy-relevant code, and a tenth of that in python/, and say what no test sees
	@echo "mutants: $(MUTANTS) in Go, seed $(MUTANTS_SEED)"
	@CGO_ENABLED=0 GOFLAGS="$(plain)" $(GO) run ./internal/mutants -sample $(MUTANTS) -seed $(MUTANTS_SEED) -time 6m; go=$$?; \
		sh scripts/python.sh mutants --sample $$(($(MUTANTS) / 10)) --seed $(MUTANTS_SEED) --time 60 && exit $$go

problems: build ## design noise for PROBLEMS (300) random problems, and say which miss the gap, by loss and epsilon
	@echo "problems: $(PROBLEMS), seed $(PROBLEMS_SEED)"
	@$(GO) run ./lp/internal/problems -n $(PROBLEMS) -seed $(PROBLEMS_SEED) -map "$(PROBLEMS_MAP)"

proofs: build ## build proofs/ with Coq, let coqchk list what is assumed, prove tables and no false ones; skipped where there is no Coq
	@sh scripts/proofs.sh bin/noisewright

proofs-all: ## the same with all tables of the tests, 200 designs, or the first of PROBLEMS_FILE, 5,000 mutants and 5,000 malformed files
	@THEOREMS=1000 CONDITIONS=0 DESIGNS=$${DESIGNS:-200} TABLE_MUTANTS=5000 TABLE_FORMATS=5000 $(MAKE) --no-print-directory proofs

race: deps ## run every test under the race detector
	@echo "race: all packages"
	@$(GO) test -race -timeout 4h ./...

workflows: ## check .github/workflows with actionlint, and that every source file names its license
	@echo "workflows: actionlint $(ACTIONLINT_VERSION)"
	@CGO_ENABLED=0 GOFLAGS= $(GO) run github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION)
	@list=$$(git grep -L 'SPDX-License-Identifier: Apache-2.0' -- '*.go' '*.s' '*.js' '*.css' '*.html' '*.tmpl' '*.py' '*.sh' '*.v' '*.ml' '*.mjs' '*.c' .ci/run 'packaging/*' '.github/workflows/*' ':!*/testdata/*' || true); \
		if [ -n "$$list" ]; then printf 'workflows: no SPDX line in %s\n' $$list >&2; exit 1; fi

lint: deps $(LINT) workflows ## run golangci-lint, pinned, with .golangci.yml, and the linters of python/ and of workflows
	@echo "lint: golangci-lint $(LINT_VERSION)"
	@"$(LINT)" run ./...
	@cd cmd/papers && "$(LINT)" run ./...
	@echo "lint: cgo in lp/highs only"
	@list=$$($(GO) list -f '{{if .CgoFiles}}{{.Dir}}: {{.CgoFiles}}{{end}}' ./... | grep -v '/lp/highs: \[capi.go\]$$' || true); \
		if [ -n "$$list" ]; then printf 'lint: import "C" outside lp/highs/capi.go: %s\n' "$$list" >&2; exit 1; fi
	@sh scripts/static.sh lint "$(LINT)"
	@sh scripts/python.sh lint
	@echo "lint: internal/mutants/argued.txt"
	@CGO_ENABLED=0 GOFLAGS="$(plain)" $(GO) run ./internal/mutants -stale
	@sh scripts/python.sh mutants --stale

$(LINT):
	@echo "lint: installing golangci-lint $(LINT_VERSION) into .deps, about a minute"
	@GOBIN="$(dir $@)" CGO_ENABLED=0 $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

bench: deps ## run every benchmark once
	@echo "bench: every benchmark once"
	@$(GO) test -run '^$$' -bench . -benchtime 1x ./...

leakage: ## look for the noise in the time of LEAKAGE_RUNS (10^7) draws of each mode, 10 minutes
	@echo "leakage: $(LEAKAGE_RUNS) measurements of each way to draw in constant time"
	@$(GO) test -run '^TestLeakage$$' -v -count 1 -timeout 4h ./sampler -leakage $(LEAKAGE_RUNS)

fuzz: deps ## fuzz every target for FUZZTIME (30s) each
	@set -e; for package in $$($(GO) list ./...); do \
		list=$$($(GO) test -list '^Fuzz' "$$package"); \
		for target in $$(printf '%s\n' "$$list" | grep '^Fuzz' || true); do \
			echo "fuzz: $$package $$target for $(FUZZTIME)"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package"; \
		done; \
	done

# Another build or processor may make other bytes, of the same gap.
catalogue: build ## design the tables of tables/catalogue and their golden draws anew, in seconds
	@set -e; for query in integer real; do for loss in l1 l2; do \
		gap=0.001; [ $$query = integer ] || gap=0.005; \
		bin/noisewright catalogue design --epsilon 0.1,0.25,0.5,1,2,3,5,10 --delta 0,1e-9,1e-6,1e-5 --sensitivity 1 \
			--loss $$loss --query $$query --gap $$gap --force -o tables/catalogue; \
	done; done
	@$(GO) test ./examples -run Golden -update

demo: build ## run scripts/demo.sh with the binary just built
	@echo "demo: scripts/demo.sh"
	@sh scripts/demo.sh

# A module of its own, so that nothing in noisewright depends on it.
papers: deps ## build bin/papers, which recomputes published tables and figures, vet and test it
	@echo "papers: bin/papers"
	@cd cmd/papers && $(GO) build -trimpath -buildvcs=auto -o "$(CURDIR)/bin/papers" . && $(GO) vet ./... && $(GO) test -timeout $(TEST_TIMEOUT) ./...

# A module of its own: its dependencies are some 330 modules, three minutes of CPU when the cache is cold.
beam: ## vet and test integrations/beam, on Beam's embedded engine Prism
	@echo "beam: integrations/beam"
	@cd integrations/beam && CGO_ENABLED=0 $(GO) vet ./... && CGO_ENABLED=0 $(GO) test -timeout $(TEST_TIMEOUT) ./...

beam-prism: ## a million rows through integrations/beam on Prism (ROWS=n for others)
	@bash scripts/beam.sh prism

beam-flink: ## the same on Apache Flink, with a worker killed; jars into .deps
	@bash scripts/beam.sh flink

beam-spark: ## the same on Apache Spark
	@bash scripts/beam.sh spark

verifier: ## write bin/verifier.html, a page that verifies files offline
	@echo "verifier: bin/verifier.html"
	@mkdir -p bin
	@CGO_ENABLED=0 GOOS=js GOARCH=wasm $(GO) build -trimpath -buildvcs=false -ldflags='-s -w' -o bin/verifier.wasm ./cmd/verifier
	@CGO_ENABLED=0 $(GO) run ./cmd/internal/verifier/make bin/verifier.wasm "$$($(GO) env GOROOT)/lib/wasm/wasm_exec.js" bin/verifier.html
	@rm -f bin/verifier.wasm

browser: build verifier ## test the studio and the verifier page in headless Chromium, if there is one
	@echo "browser: cmd/internal/studio/browser"
	@sh scripts/axe.sh || true
	@cd cmd/internal/studio/browser && $(GO) vet . && NOISEWRIGHT="$(CURDIR)/bin/noisewright" VERIFIER="$(CURDIR)/bin/verifier.html" $(GO) test -count=1 -timeout $(TEST_TIMEOUT) .

clean: ## remove bin, dist, man, site and .deps, and HiGHS as WebAssembly
	@echo "clean: bin dist man site .deps lp/highs/highs.wasm"
	@rm -rf bin dist man site .site .deps lp/highs/highs.wasm lp/highs/highs.names lp/highs/highs.license
