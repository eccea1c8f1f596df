// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
)

// overviewRow is a figure or a table of a paper, beside what a quick run of its command has.
type overviewRow struct {
	what    string // as the paper calls it
	command string // with @NAME for a file or folder of the data; "": there is none
	caption string // "": that of the command
	full    string // time of --full
	paper   string
	ours    string // a template on what the command prints with --json
	verdict string
}

func (r overviewRow) name() string {
	name, _, _ := strings.Cut(r.command, " ")
	return name
}

// shown is the command as a reader types it.
func (r overviewRow) shown() string { return strings.ReplaceAll(r.command, "@", "") }

// captionOf is the caption that a command prints.
func captionOf(name string) string {
	for _, c := range newRootCommand(&shell.Streams{}, func() {}).Commands() {
		if c.Name() == name {
			return c.Annotations[captionNote]
		}
	}
	return ""
}

// overviewRun is what a quick run had.
type overviewRun struct{ name, command, seconds, version, ours string }

type overviewOptions struct {
	shell.Common
	data string
	only []string
	runs []overviewRun
}

const overviewName = "overview"

func newOverviewCommand(s *shell.Streams) *cobra.Command {
	o := &overviewOptions{Common: shell.Common{Streams: s}}
	return command(&o.Common, overviewName, "--data data", "The table of all figures and tables, beside what quick runs have", `Write the table of all figures and tables of the papers, with the commands that compute
them again, as overview.md. Numbers and times in it are those of quick runs, which
overview.csv in the folder of -o keeps, with the version that made them. With --data
they are made again, one after the other, or only those of --only; their files go into
the folder too. --data is searched, with the folders in it, for the files by the names
that the table has.`, o.run, func(f *shell.Flags) {
		f.Directory(&o.data, "data", "folder of the data sets")
		f.TextList(&o.only, "only", "name", "a command to run; may be repeated")
		f.Check(func() error {
			for _, name := range o.only {
				if !slices.ContainsFunc(overviewRows(), func(r overviewRow) bool { return r.name() == name }) {
					return shell.About("only", name, shell.Want("the name of a command in the table"))
				}
			}
			return shell.Refuse(len(o.only) > 0 && o.data == "", "only without data, want both")
		})
	})
}

func overviewRows() (rows []overviewRow) {
	for _, p := range overview {
		rows = append(rows, p.rows...)
	}
	return rows
}

func (o *overviewOptions) run(ctx context.Context) error {
	if err := shell.MakeFolder(o.Output); err != nil {
		return err
	}
	var err error
	if o.runs, err = readOverview(filepath.Join(o.Output, overviewName+".csv")); err != nil {
		return err
	}
	line := o.Progress()
	defer line.Clear()
	if o.data != "" {
		for _, r := range overviewRows() {
			if r.command == "" || len(o.only) > 0 && !slices.Contains(o.only, r.name()) {
				continue
			}
			line.Share("running "+r.name(), 0, "")
			made, err := runOverview(ctx, r, o.data, o.Output)
			if err != nil {
				return err
			}
			if i := slices.IndexFunc(o.runs, func(old overviewRun) bool { return old.name == made.name }); i >= 0 {
				o.runs[i] = *made
			} else {
				o.runs = append(o.runs, *made)
			}
		}
	}
	line.Clear()
	files := []string{filepath.Join(o.Output, overviewName+".csv"), filepath.Join(o.Output, overviewName+".md")}
	for i, write := range []func() ([]byte, error){o.table, func() ([]byte, error) { return []byte(overviewText(o.runs)), nil }} {
		text, err := write()
		if err != nil {
			return err
		}
		f, err := o.Create(files[i])
		if err != nil {
			return err
		}
		defer f.Discard()
		if _, err := f.Write(text); err != nil {
			return err
		}
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return report(&o.Common, overviewName, shell.Object{"rows", len(overviewRows()), "runs", len(o.runs)}, []shell.Row{{"rows", strconv.Itoa(len(overviewRows()))}, {"runs", strconv.Itoa(len(o.runs))}}, files)
}

func (o *overviewOptions) table() ([]byte, error) {
	var out bytes.Buffer
	records := [][]string{{"name", "command", "seconds", "version", "ours"}}
	for _, r := range o.runs {
		records = append(records, []string{r.name, r.command, r.seconds, r.version, r.ours})
	}
	err := csv.NewWriter(&out).WriteAll(records)
	return out.Bytes(), err
}

// readOverview reads runs; a file that is missing has none.
func readOverview(file string) (runs []overviewRun, err error) {
	text, err := os.ReadFile(file) //nolint:gosec // the user's file
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, shell.BadFile(file, shell.FileCause(err))
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(records) == 0 || len(records[0]) != 5 {
		return nil, shell.BadFile(file, cmp.Or(err, errors.New("it has other columns")))
	}
	for _, r := range records[1:] {
		runs = append(runs, overviewRun{r[0], r[1], r[2], r[3], r[4]})
	}
	return runs, nil
}

// runOverview runs the command of a row.
func runOverview(ctx context.Context, r overviewRow, data, folder string) (*overviewRun, error) {
	args, err := overviewArguments(r.command, data)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var out, failed bytes.Buffer
	// A process of its own, of which the processor time is known, whatever else the machine does.
	c := exec.CommandContext(ctx, program, append(args, "--json", "-o", folder)...) //nolint:gosec // this program
	c.Args[0], c.Stdout, c.Stderr = "papers", &out, &failed
	if err := c.Run(); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil && c.ProcessState.ExitCode() != shell.ExitLimit {
		return nil, fmt.Errorf("%s: %s", r.shown(), strings.TrimSpace(failed.String()))
	}
	took := (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	ours, err := overviewNumbers(r, out.Bytes())
	if err != nil {
		return nil, err
	}
	return &overviewRun{r.name(), r.shown(), fmt.Sprintf("%.1f", took), buildVersion(), ours}, nil
}

// overviewArguments puts paths in place of @NAME.
func overviewArguments(command, data string) (args []string, err error) {
	for _, word := range strings.Fields(command) {
		name, marked := strings.CutPrefix(word, "@")
		if !marked {
			args = append(args, word)
			continue
		}
		found := ""
		if name == "uci" {
			found = data
		}
		err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == name && found == "" {
				found = path
			}
			return err
		})
		if err != nil || found == "" {
			return nil, shell.BadInput("", shell.About("data", data, shell.Want("a folder with "+name)))
		}
		args = append(args, found)
	}
	return args, nil
}

// commit is that of the sources; builds may set it with -ldflags=-X, as where a build does not know it.
var commit = ""

func buildVersion() string {
	version, changed := cmp.Or(commit, "unknown"), ""
	if info, ok := debug.ReadBuildInfo(); ok && commit == "" {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				version = s.Value[:min(len(s.Value), 12)]
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = " and changes"
			}
		}
	}
	return version + changed
}

// overviewNumbers executes the template of a row. Its functions are
//
//	pick LIST FIELD KEY VALUE KEY VALUE …  the field of the first object of a list that has the values
//	line LIST FIELD KEY VALUE …            that field of all of them, with commas between
//	fix DIGITS NUMBER                      the number, without a 0 before the point
//	percent NUMBER                         of a share
//	sqrt NUMBER
func overviewNumbers(r overviewRow, printed []byte) (string, error) {
	var said map[string]any
	if err := json.Unmarshal(printed, &said); err != nil {
		return "", err
	}
	t, err := template.New(r.name()).Option("missingkey=error").Funcs(template.FuncMap{
		"pick": func(list any, field string, where ...any) (any, error) {
			if found := matching(list, where); len(found) > 0 && found[0][field] != nil {
				return found[0][field], nil
			}
			return nil, fmt.Errorf("no %s with %v", field, where)
		},
		"line": func(list any, field string, where ...any) (string, error) {
			var texts []string
			for _, m := range matching(list, where) {
				v, ok := m[field].(float64)
				if !ok {
					return "", fmt.Errorf("no %s with %v", field, where)
				}
				texts = append(texts, fixed(3, v))
			}
			if texts == nil {
				return "", fmt.Errorf("nothing with %v", where)
			}
			return strings.Join(texts, ", "), nil
		},
		"fix":     func(digits int, v any) string { return fixed(digits, v.(float64)) },  //nolint:forcetypeassert // of JSON
		"percent": func(v any) string { return fmt.Sprintf("%.1f %%", 100*v.(float64)) }, //nolint:forcetypeassert // of JSON
		"sqrt":    func(v any) any { return math.Sqrt(v.(float64)) },                     //nolint:forcetypeassert // of JSON
	}).Parse(r.ours)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := t.Execute(&out, said); err != nil {
		return "", fmt.Errorf("%s: %w", r.name(), err)
	}
	return out.String(), nil
}

func fixed(digits int, v float64) string {
	text := strconv.FormatFloat(v, 'f', digits, 64)
	return strings.Replace(strings.TrimPrefix(text, "0"), "-0.", "−.", 1)
}

// matching returns the objects of a list that have the values of the keys, of which nil is null.
func matching(list any, where []any) (found []map[string]any) {
	all, _ := list.([]any)
	for _, v := range all {
		m, _ := v.(map[string]any)
		same := true
		for i := 0; i+1 < len(where); i += 2 {
			same = same && fmt.Sprint(m[fmt.Sprint(where[i])]) == fmt.Sprint(where[i+1])
		}
		if same {
			found = append(found, m)
		}
	}
	return found
}

// overviewText is the table in Markdown.
func overviewText(runs []overviewRun) string {
	var b strings.Builder
	versions := map[string]bool{}
	for _, p := range overview {
		fmt.Fprintf(&b, "**%s**\n\n| | shows | command, quick form | processor s | --full | the paper has | ours, quick form | the same? |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n", p.title)
		for _, r := range p.rows {
			run := overviewRun{ours: r.ours}
			if i := slices.IndexFunc(runs, func(v overviewRun) bool { return v.name == r.name() && v.command == r.shown() }); r.command != "" && i >= 0 {
				run = runs[i]
				versions[run.version] = true
			} else if r.command != "" {
				run.ours = "not run"
			}
			command := "–"
			if r.command != "" {
				command = "`" + r.shown() + "`"
			}
			cells := []string{r.what, flat(cmp.Or(r.caption, captionOf(r.name()))), command, cmp.Or(run.seconds, "–"), cmp.Or(r.full, "–"), cmp.Or(r.paper, "–"), cmp.Or(run.ours, "–"), r.verdict}
			for i := range cells {
				cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		}
		b.WriteString("\n")
	}
	var made []string
	for v := range versions {
		made = append(made, v)
	}
	slices.Sort(made)
	fmt.Fprintf(&b, "Made by version %s.\n", strings.Join(made, ", "))
	return b.String()
}
