// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/internal/files"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/proof/forms"
	"github.com/noisewright/noisewright/tables"
)

// Input is a file that is read.
type Input struct {
	*bufio.Reader
	from io.Reader
	file *os.File     // to close; nil: standard input
	done atomic.Int64 // bytes read so far
	size int64        // of them; 0: not known
}

// Open opens a file to read that the command line names, "-" for standard input. It may be a pipe,
// as /dev/stdin and <(command) are; then this waits for who writes to it. The caller closes it.
func (a *Streams) Open(path string) (*Input, error) {
	in := &Input{from: a.In}
	if path == "-" {
		if a.read {
			return nil, BadInput("", errors.New("standard input is there for one file, want the names of the others in place of -"))
		}
		a.read = true
	} else {
		f, err := os.Open(path)
		if err != nil {
			return nil, BadFile(path, FileCause(err))
		}
		in.from, in.file = f, f
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			in.size = info.Size()
		}
	}
	in.Reader = bufio.NewReaderSize((*counted)(in), inputBuffer)
	return in, nil
}

const inputBuffer = 64 << 10

// counted is an input below its buffer.
type counted Input

func (in *counted) Read(p []byte) (int, error) {
	n, err := in.from.Read(p)
	in.done.Add(int64(n))
	return n, err
}

// Share is how much of the file has been read; NaN: not known.
func (in *Input) Share() float64 {
	if in.size == 0 {
		return math.NaN()
	}
	return float64(in.done.Load()) / float64(in.size)
}

// Close closes the file; standard input stays open.
func (in *Input) Close() {
	if in.file != nil {
		_ = in.file.Close()
	}
}

// BadFile is about an input file.
func BadFile(path string, err error) error {
	return BadInput("", fmt.Errorf("%s: %w", InputName(path), err))
}

// FileCause strips the path, which messages have already, from a file error.
func FileCause(err error) error {
	return files.Cause(err)
}

// InputName names an input in messages.
func InputName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// CSV is a CSV file that is read.
type CSV struct {
	*csvfile.Reader
	*Input
}

// Close closes the file.
func (c *CSV) Close() {
	c.Reader.Close()
	c.Input.Close()
}

// OpenCSV opens a CSV file, perhaps compressed with gzip or zstd. The caller closes it.
func (a *Streams) OpenCSV(file string, o csvfile.Options) (*CSV, error) {
	in, err := a.Open(file)
	if err != nil {
		return nil, err
	}
	r, err := csvfile.NewReader(in, o)
	if err != nil {
		in.Close()
		return nil, BadFile(file, FileCause(err))
	}
	return &CSV{r, in}, nil
}

// ReadFrame is csvfile.ReadFrame, and warns of columns that are left out.
func (a *Streams) ReadFrame(file string, o csvfile.Options, choose func(column string) bool, drop bool) (*csvfile.Frame, error) {
	f, err := readCSV(a, file, o, func(r *csvfile.Reader) (*csvfile.Frame, error) { return csvfile.ReadFrame(r, choose, drop) })
	if err != nil {
		return nil, err
	}
	if drop && !slices.ContainsFunc(f.Names, func(s string) bool { return !csvfile.IsNumber(s) }) {
		a.Warn("%s: the columns have numbers for names: is the header row missing?", InputName(file))
	}
	if len(f.Text) > 0 {
		a.Warn("%s: %s left out: no numbers", InputName(file), check.Shortened(strings.Join(f.Text, ", ")))
	}
	return f, nil
}

// ReadNamed reads a CSV file of numbers by features, see csvfile.ReadNamed.
func (a *Streams) ReadNamed(file string, o csvfile.Options, features []string) (*csvfile.Frame, error) {
	return readCSV(a, file, o, func(r *csvfile.Reader) (*csvfile.Frame, error) { return csvfile.ReadNamed(r, features) })
}

func readCSV(a *Streams, file string, o csvfile.Options, read func(*csvfile.Reader) (*csvfile.Frame, error)) (*csvfile.Frame, error) {
	in, err := a.OpenCSV(file, o)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f, err := read(in.Reader)
	if err != nil {
		return nil, BadFile(file, err)
	}
	return f, nil
}

const formatPeek = 512

// IsTableFile reports whether a path looks like that of a table or a kernel file.
func IsTableFile(path string) bool {
	return strings.HasSuffix(path, ".json") && strings.HasPrefix(strings.TrimSpace(start(path)), "{")
}

// IsBundle reports whether a path looks like that of a bundle.
func IsBundle(path string) bool {
	info, err := os.Stat(filepath.Join(path, "bundle.json"))
	return err == nil && info.Mode().IsRegular()
}

const sqliteMagic = "SQLite format 3\x00"

// IsForeign reports whether a path is that of a regular file that is none of SQLite's: one
// without anything in it is an empty database.
func IsForeign(path string) bool {
	head := start(path)
	return head != "" && head != sqliteMagic
}

// start is how a regular file begins; "" if it cannot be read.
func start(path string) string {
	f, err := files.Regular(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	head, err := io.ReadAll(io.LimitReader(f, int64(len(sqliteMagic))))
	if err != nil {
		return ""
	}
	return string(head)
}

// ReadAny reads the file of a mechanism. Every error is one of bad input, and names the file.
func (a *Streams) ReadAny(path string) (made proof.Mechanism, err error) {
	if IsBundle(path) {
		return nil, BadInput("noisewright latent verify "+path, fmt.Errorf("%s is a bundle, want a table or a kernel file", path))
	}
	in, err := a.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	head, _ := in.Peek(formatPeek)
	switch start := bytes.TrimLeft(head, " \t\r\n"); {
	case bytes.HasPrefix(start, []byte(sqliteMagic)):
		return nil, BadInput("noisewright ledger show "+path, fmt.Errorf("%s: not the file of a mechanism; it may be a ledger", InputName(path)))
	case len(start) > 0 && start[0] != '{':
		return nil, BadFile(path, errors.New("not the file of a table, a randomizer, a plan or another mechanism"))
	}
	if made, err = forms.Decode(in, a.Forms...); err != nil {
		return nil, BadFile(path, FileCause(err))
	}
	return made, nil
}

// ReadSound reads a table file and verifies it.
func (a *Streams) ReadSound(ctx context.Context, path string) (*tables.Verified, error) {
	return ReadAs[tables.Table, tables.Certificate, *tables.Table](ctx, a, path, "a table made by design")
}

// ReadAs reads the file of a mechanism of one form, which want names, and verifies it.
func ReadAs[T any, C proof.Certificate, P proof.Provable[T, C]](ctx context.Context, a *Streams, path, want string) (*proof.Verified[T, C], error) {
	made, err := a.ReadAny(path)
	if err != nil {
		return nil, err
	}
	m, ok := made.(P)
	if !ok {
		return nil, BadInput("", fmt.Errorf("%s is %s, want %s", InputName(path), made.Form().Noun, want))
	}
	return Sound(ctx, path, m)
}

// Sound verifies what was read from a file, with the work that is allowed by default. A table or a
// kernel that does not keep its claims is a negative verdict; one that takes too long is refused.
func Sound[T any, C proof.Certificate, P proof.Provable[T, C]](ctx context.Context, path string, made P) (*proof.Verified[T, C], error) {
	v, err := proof.Verify(ctx, made, proof.Options{})
	return v, unsound(ctx, path, err)
}

// Prove is Sound for a mechanism of any form.
func Prove(ctx context.Context, path string, made proof.Mechanism) (proof.Proven, error) {
	v, err := made.Prove(ctx, proof.Options{})
	return v, unsound(ctx, path, err)
}

func unsound(ctx context.Context, path string, err error) error {
	switch named := fmt.Errorf("%s: %w", InputName(path), err); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, proof.ErrWork):
		return BadInput("a coarser one (design --max-cells); noisewright verify --time-limit 10m checks this one", named)
	default:
		return Negative("noisewright verify "+path, named)
	}
}

// Within makes a check for at most so long. If it has not ended then, or with the context,
// it is left alone and stopped says so; else verdict is what it returned.
func Within(ctx context.Context, path string, limit time.Duration, check func(ctx context.Context) error) (verdict, stopped error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- check(limited) }()
	select {
	case verdict = <-done:
	case <-limited.Done():
		verdict = limited.Err()
	}
	switch {
	case verdict == nil:
		return nil, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil, errors.Is(verdict, proof.ErrWork):
		reason := fmt.Sprintf("the check did not end within %s", limit)
		if limited.Err() == nil {
			reason = Sentence(verdict)
		}
		return nil, &Failure{Code: ExitLimit, Hint: "a longer --time-limit", Err: fmt.Errorf("%s: not checked: %s", InputName(path), reason)}
	}
	return verdict, nil
}
