// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAssemblyIsBlind reads the assembly: its only jumps are those of the two loops, which
// count what arguments and levels say, no address has an index, and nothing but the counters
// moves from vectors or masks to where an address or a jump could depend on it.
func TestAssemblyIsBlind(t *testing.T) {
	files, err := filepath.Glob("*.s")
	if err != nil || len(files) != 3 {
		t.Fatalf("assembly files = %v, %v, want 3", files, err)
	}
	jump := regexp.MustCompile(`^(J[A-Z]+|B|B[A-Z]{2}|CBN?Z|TBN?Z|CALL|BL)\s`)
	loop := regexp.MustCompile(`^(JNZ\s+|CBNZ\s+R[25], )(chunk|level)$`)
	index := regexp.MustCompile(`\)\(|GATHER|SCATTER`)
	// Instructions that bring what is secret into a general register, or flags.
	escape := regexp.MustCompile(`^(KMOV|KORTEST|KTEST|VPMOVMSK|VMOVMSK|V?PTEST\s|VPEXTR|V?MOV[DQ]\s+[XYZ])|^VMOV\s+V\d+\.[BHSD]\[|^VMOV\s+V\d+\S*,\s*R`)
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		loops := 0
		for i, line := range strings.Split(string(source), "\n") {
			line, _, _ = strings.Cut(line, "//")
			line = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(line), `;\`))
			switch {
			case loop.MatchString(line):
				loops++
			case jump.MatchString(line), index.MatchString(line), escape.MatchString(line):
				t.Errorf("%s:%d: %s", file, i+1, line)
			}
		}
		if loops != 2 {
			t.Errorf("%s: %d loops, want 2", file, loops)
		}
	}
}
