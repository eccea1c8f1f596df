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

// version tells builds apart.
type version struct {
	Schema   int    `json:"schema"`
	Module   string `json:"version"`
	Commit   string `json:"commit,omitempty"`   // absent: not known
	Modified bool   `json:"modified,omitempty"` // the sources differ from the commit
	Go       string `json:"go"`
	HiGHS    string `json:"highs,omitempty"` // absent: a build without the solver
}

func readVersion() version {
	info, _ := debug.ReadBuildInfo()
	v := newVersion(info)
	v.HiGHS = highs.Version()
	return v
}

// pseudoVersion is the version of a module without a tag at its commit, which is at the
// end.
var pseudoVersion = regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})(\+\S*)?$`)

// newVersion reads what a build says of itself, nil if it says nothing. The commit is
// there in a build of a working copy; go install MODULE@VERSION has the start of it
// in a version without a tag.
func newVersion(info *debug.BuildInfo) version {
	v := version{Schema: shell.Schema, Module: "unknown", Go: runtime.Version()}
	if info == nil {
		return v
	}
	v.Module = info.Main.Version
	if m := pseudoVersion.FindStringSubmatch(v.Module); m != nil {
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

// short is the version in a few letters: that of the module, or the start of the commit
// where there is no tag.
func (v version) short() string {
	if v.Commit != "" && pseudoVersion.MatchString(v.Module) {
		return v.Commit[:min(12, len(v.Commit))]
	}
	return v.Module
}

func (v version) String() string {
	commit := ""
	if v.Commit != "" {
		commit = "commit " + v.Commit + ", "
	}
	if v.Modified {
		commit += "modified, "
	}
	solver := "no LP solver"
	if v.HiGHS != "" {
		solver = "HiGHS " + v.HiGHS
	}
	return fmt.Sprintf("noisewright %s (%s%s, %s)", v.Module, commit, v.Go, solver)
}

type versionOptions struct{ shell.Common }

func newVersionCommand(s *shell.Streams) *cobra.Command {
	o := &versionOptions{shell.Common{Streams: s}}
	f := shell.NewFlags(&cobra.Command{
		Use:     "version",
		Short:   "Print the version and the commit of the program, and the versions of Go and of the solver",
		Example: "  noisewright version --json",
	})
	f.Bool(&o.JSON, "json", "print one JSON object")
	return f.Run(o.run)
}

func (o *versionOptions) run(context.Context) error {
	v := readVersion()
	return o.PrintText(v, func(b *strings.Builder) { fmt.Fprintln(b, v) })
}
