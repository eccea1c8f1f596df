package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/lp/highs"
)

// version tells builds apart.
type version struct {
	Schema int    `json:"schema"`
	Module string `json:"version"`
	Commit string `json:"commit,omitempty"`
	Go     string `json:"go"`
	HiGHS  string `json:"highs,omitempty"` // absent: a build without the solver
}

func readVersion() version {
	v := version{Schema: shell.Schema, Module: "unknown", Go: runtime.Version(), HiGHS: highs.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Module = info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}

func (v version) String() string {
	solver := "no LP solver"
	if v.HiGHS != "" {
		solver = "HiGHS " + v.HiGHS
	}
	return fmt.Sprintf("noisewright %s (%s, %s)", v.Module, v.Go, solver)
}

type versionOptions struct{ shell.Common }

func newVersionCommand(s *shell.Streams) *cobra.Command {
	o := &versionOptions{shell.Common{Streams: s}}
	f := shell.NewFlags(&cobra.Command{
		Use:     "version",
		Short:   "Print the version of the program, of Go and of the solver",
		Example: "  noisewright version --json",
	})
	f.Bool(&o.JSON, "json", "print one JSON object")
	return f.Run(o.run)
}

func (o *versionOptions) run(context.Context) error {
	v := readVersion()
	return o.PrintText(v, func(b *strings.Builder) { fmt.Fprintln(b, v) })
}
