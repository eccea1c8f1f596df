// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp"
)

// command is a command with one flag of every kind.
type command struct {
	*cobra.Command
	ran           bool
	file, word    string
	number, other float64
	count         int
	options       lp.Options
	list          []float64
	plot, format  string
	texts         []string
	problem       dp.Problem
}

func newCommand() *command {
	c := &command{Command: &cobra.Command{Use: "test FILE", SilenceErrors: true, SilenceUsage: true}, word: "one", number: 2, options: lp.Options{TimeLimit: time.Minute}}
	f := NewFlags(c.Command)
	f.Argument(&c.file, "FILE", "json")
	positive := Rule{"a number above 0", Positive}
	f.Number(&c.number, "number", positive, "a default")
	f.Number(&c.other, "other", positive, "no default")
	f.Integer(&c.count, "count", "n", 1, 10, "how many")
	f.TimeLimit(&c.options, "")
	f.Numbers(&c.list, "list", "3,1,3", positive, "numbers")
	f.Word(&c.word, "word", "word", "a word", "one", "two")
	f.Figure(&c.plot, &c.format, "plot", "a figure")
	f.Texts("text", "T", "texts", func(texts []string) error {
		c.texts = texts
		return nil
	})
	f.Check(func() error {
		if c.word == "two" {
			return errors.New("word = two is never good")
		}
		return nil
	})
	f.Run(func(context.Context) error {
		c.ran = true
		return nil
	})
	return c
}

func (c *command) execute(args ...string) error {
	c.SetArgs(args)
	return c.Execute()
}

func TestFlagsAreReadTogether(t *testing.T) {
	c := newCommand()
	err := c.execute("--number", "-1", "--count", "11", "--time-limit", "60", "--list", "1,,x", "--word", "three", "--plot", "f.pdf", "t.json")
	want := `number = -1, want a number above 0
other is missing, want a number above 0
count = 11, want an integer from 1 to 10
time-limit = 60, want a time above 0 with its unit, such as 60s or 5m
list is missing, want a number above 0
list = x, want a number above 0
word = three, want one or two
plot = f.pdf, want a file name ending in .svg or .png`
	if got := strings.Join(check.Sentences(err), "\n"); got != want {
		t.Errorf("errors\n%s\nwant\n%s", got, want)
	}
	var f *Failure
	if !errors.As(err, &f) || f.Code != ExitBadInput || f.Hint != "test --help" || c.ran {
		t.Errorf("failure %+v, ran %v", f, c.ran)
	}
	if err := newCommand().execute("--other", "1", "-n", "1", "--word", "two", "t.json"); err == nil || err.Error() != "word = two is never good" {
		t.Errorf("error %v", err)
	}
	if err := newCommand().execute("--other", "1", "-n", "1"); err == nil || err.Error() != "FILE is missing" {
		t.Errorf("error %v", err)
	}
}

func TestFlagsReadValues(t *testing.T) {
	c := newCommand()
	if err := c.execute("--other", "0.5", "-n", "3", "--plot", "F.SVG", "--text", "a", "--text", "b", "t.json"); err != nil {
		t.Fatal(err)
	}
	if !c.ran || c.file != "t.json" || c.number != 2 || c.other != 0.5 || c.count != 3 || c.options.TimeLimit != time.Minute || c.format != "svg" {
		t.Errorf("read %+v", c)
	}
	if len(c.list) != 2 || c.list[0] != 1 || c.list[1] != 3 || strings.Join(c.texts, " ") != "a b" {
		t.Errorf("list %v, texts %v", c.list, c.texts)
	}
	var out bytes.Buffer
	c.SetOut(&out)
	if err := c.Help(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a default (default 2)", "5m (default 60s)", "numbers (default 3,1,3)", "a word (default one)", "no default\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help has no %q:\n%s", want, out.String())
		}
	}
}

// TestQueryFlags has the older spellings too, which the help does not show.
func TestQueryFlags(t *testing.T) {
	read := func(args ...string) (dp.Problem, *cobra.Command, error) {
		p := dp.Problem{Privacy: dp.Privacy{Sensitivity: 2}}
		cmd := &cobra.Command{Use: "test", SilenceErrors: true, SilenceUsage: true}
		f := NewFlags(cmd)
		f.Query(&p)
		f.Run(func(context.Context) error { return nil })
		cmd.SetArgs(args)
		err := cmd.Execute()
		return p, cmd, err
	}
	for _, c := range []struct {
		args string
		want dp.Problem
	}{
		{"", dp.Problem{Query: dp.RealQuery}},
		{"--query integer", dp.Problem{Query: dp.IntegerQuery}},
		{"--support integer", dp.Problem{Query: dp.IntegerQuery}},
		{"--step 0.5", dp.Problem{Query: dp.LatticeQuery, Step: 0.5}},
		{"--output-step 0.5", dp.Problem{Query: dp.LatticeQuery, Step: 0.5}},
		{"--query real --support 0,3 --unbiased", dp.Problem{Query: dp.RealQuery, Constraints: dp.Constraints{Unbiased: true, Support: &dp.Interval{Upper: 3}}}},
	} {
		p, cmd, err := read(strings.Fields(c.args)...)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		if p.Query != c.want.Query || p.Step != c.want.Step || p.Constraints.Unbiased != c.want.Constraints.Unbiased || (p.Constraints.Support == nil) != (c.want.Constraints.Support == nil) {
			t.Errorf("%s: %+v", c.args, p)
		}
		if cmd.Flags().Lookup("output-step").Hidden != true {
			t.Error("the help shows an older spelling")
		}
	}
	for args, want := range map[string]string{
		"--query integer --step 2":           "step = 2 and query = integer, want only one of them: integers are published in steps of 1",
		"--query real --support integer":     "support = integer and query = real, want only one of them",
		"--support 0,1 --support -1,0":       "support = -1,0 is given twice, want at most one interval",
		"--max-variance 0 --quantile 0.5,-1": "max-variance = 0, want a number above 0, in query units squared\nquantile = 0.5,-1, want " + wantQuantile,
	} {
		if _, _, err := read(strings.Fields(args)...); err == nil || strings.Join(check.Sentences(err), "\n") != want {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

func TestParseCount(t *testing.T) {
	for text, want := range map[string]int{
		"0": 0, "7": 7, "+7": 7, "-7": -7, "007": 7, "1e6": 1e6, "1E6": 1e6, "1e+6": 1e6, "1_000_000": 1e6, "1_0e5": 1e6, "2.5e3": 2500, "1.50e1": 15, "3.0": 3,
		"2147483647": math.MaxInt32,
	} {
		if n, ok := ParseCount(text); !ok || n != want {
			t.Errorf("ParseCount(%q) = %d, %t, want %d", text, n, ok, want)
		}
	}
	for _, text := range []string{
		"", "1.5", "1e30", "1e-1", "10e-1", "1.25e1", "0x10", "1__0", "_1", "1_", "1_.0", "1e", "1e1_0", "1e999999999", "1/2", " 1", "1 ", "1,000", "inf", "nan", ".5e1", "٣",
		"9223372036854775808", "1e19", "1\n",
	} {
		if n, ok := ParseCount(text); ok {
			t.Errorf("ParseCount(%q) = %d, want none", text, n)
		}
	}
}
