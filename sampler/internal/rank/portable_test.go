// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestScanHasNoJump disassembles scan as the compiler made it: inside its loop
// there is one conditional jump, the loop's own, and the borrows are added by
// carry. It looks at amd64 only, where the instructions are known here.
func TestScanHasNoJump(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("reads amd64 instructions")
	}
	if testing.Short() {
		t.Skip("slow: it builds the package")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs the go command")
	}
	archive := filepath.Join(t.TempDir(), "rank.a")
	if out, err := exec.Command(goTool, "build", "-o", archive, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	out, err := exec.Command(goTool, "tool", "objdump", "-s", `rank\.scan$`, archive).CombinedOutput()
	if err != nil {
		t.Skipf("no disassembler: %v\n%s", err, out)
	}
	type instruction struct {
		address uint64
		text    string
	}
	var code []instruction
	line := regexp.MustCompile(`^\s+\S+:\d+\s+(0x[0-9a-f]+)\s+[0-9a-f]+\s+(.+?)\s*$`)
	for _, l := range strings.Split(string(out), "\n") {
		if m := line.FindStringSubmatch(l); m != nil {
			a, err := strconv.ParseUint(m[1], 0, 64)
			if err != nil {
				t.Fatal(err)
			}
			code = append(code, instruction{a, m[2]})
		}
	}
	jump := regexp.MustCompile(`^(J[A-Z]+) (0x[0-9a-f]+)`)
	loops, carries := 0, 0
	for _, back := range code {
		m := jump.FindStringSubmatch(back.text)
		if m == nil || m[1] == "JMP" {
			continue
		}
		target, err := strconv.ParseUint(m[2], 0, 64)
		if err != nil || target > back.address || target <= code[0].address {
			continue // forwards, or back to the entry after growing the stack
		}
		loops++
		for _, in := range code {
			if in.address < target || in.address >= back.address {
				continue
			}
			if strings.HasPrefix(in.text, "J") || strings.HasPrefix(in.text, "CALL") {
				t.Errorf("inside the loop of scan: %s", in.text)
			}
			if strings.HasPrefix(in.text, "ADC") || strings.HasPrefix(in.text, "SBB") {
				carries++
			}
		}
	}
	if loops != 1 || carries != scanWidth {
		t.Errorf("scan has %d loops and %d carries, want 1 and %d\n%s", loops, carries, scanWidth, out)
	}
}
