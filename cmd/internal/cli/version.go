// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/lp/highs"
)

// Release builds set both with -ldflags=-X. The number is the version of everything that is released
// together: TestOneVersion holds the others to it, and scripts read it from here.
var (
	number = "0.1.0"
	commit = ""
)

type version struct {
	Number   string `json:"version"`
	Commit   string `json:"commit,omitempty"`   // absent: not known
	Modified bool   `json:"modified,omitempty"` // the sources differ from the commit
	Go       string `json:"go"`
	HiGHS    string `json:"highs,omitempty"` // absent: a build without the solver

	tagged bool // a module of that version
}

func readVersion() version {
	info, _ := debug.ReadBuildInfo()
	v := newVersion(info)
	v.HiGHS = highs.Version()
	return v
}

// pseudoVersion is the version of a module without a tag, with its commit at the end.
var pseudoVersion = regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})(\+\S*)?$`)

// newVersion reads what a build says of itself, nil if it says nothing. The commit is
// there in a build of a working copy; go install MODULE@VERSION has the start of it
// in a version without a tag.
func newVersion(info *debug.BuildInfo) version {
	v := version{Number: number, Commit: commit, Go: runtime.Version()}
	if info == nil {
		return v
	}
	v.tagged = info.Main.Version == "v"+number
	if m := pseudoVersion.FindStringSubmatch(info.Main.Version); m != nil {
		v.Commit = m[1]
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v version) String() string {
	source := ""
	switch {
	case v.Commit != "":
		source = "commit " + v.Commit + ", "
	case !v.tagged:
		source = "commit unknown, "
	}
	if v.Modified {
		source += "modified, "
	}
	solver := "no LP solver"
	if v.HiGHS != "" {
		solver = "HiGHS " + v.HiGHS
	}
	return fmt.Sprintf("noisewright %s (%s%s, %s)", v.Number, source, v.Go, solver)
}

func newVersionCommand(s *shell.Streams) *cobra.Command {
	c := &shell.Common{Streams: s}
	f := shell.NewFlags(&cobra.Command{
		Use:     "version",
		Short:   "Print the version and the commit of the program, and the versions of Go and of the solver",
		Example: "  noisewright version --json",
	})
	f.Bool(&c.JSON, "json", "print one JSON object")
	return f.Run(func(context.Context) error { return printVersion(c) })
}

func printVersion(c *shell.Common) error {
	v := readVersion()
	return c.PrintText(v, func(b *strings.Builder) { fmt.Fprintln(b, v) })
}
