// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"
)

func TestReadPair(t *testing.T) {
	for s, want := range map[string][2]string{
		"l1,exceed:3":                         {"l1", "exceed:3"},
		"asymmetric:1,3,asymmetric:3,1":       {"asymmetric:1,3", "asymmetric:3,1"},
		"l2,pwl:-inf,-1;0,1":                  {"l2", "pwl:-inf,-1;0,1"},
		"pwl:-inf,-1;0,1,2,pinball:0.5":       {"pwl:-inf,-1;0,1,2", "pinball:0.5"},
		"pwl:-inf,-1;0,1,pwl:-inf,-2;1,1,0.5": {"pwl:-inf,-1;0,1", "pwl:-inf,-2;1,1,0.5"},
	} {
		pair, ok := readPair(s)
		if !ok || pair[0].Name() != want[0] || pair[1].Name() != want[1] {
			t.Errorf("%s: %v, %v; want %v", s, pair, ok, want)
		}
	}
	for _, s := range []string{"", "l1", "l1,", ",l1", "l1,l2,l1", "l1:2,l2", "l1,l1 + l2", "l1;l2"} {
		if pair, ok := readPair(s); ok {
			t.Errorf("%q is read as %v", s, pair)
		}
	}
}
