// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/noisewright/noisewright/cmd/internal/scripttest"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// TestMain makes this test binary stand for the program as well: scripts and
// tests run it as "papers".
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"papers": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			return os.MkdirAll(filepath.Join(e.WorkDir, "out"), 0o777)
		},
		Condition: func(name string) (bool, error) {
			if name == "solver" {
				return hasSolver(), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: scripttest.Commands(map[string]scripttest.Command{"verify": verifyCommand}),
	})
}

func hasSolver() bool { return highs.Version() != "" }

// verify FILE wants a table that keeps what it claims.
func verifyCommand(ts *testscript.TestScript, _ bool, args []string) {
	t, err := proof.ReadFile(ts.MkAbs(args[0]), tables.Decode)
	ts.Check(err)
	_, err = t.Verify()
	ts.Check(err)
}
