package shell

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Output is where a command's result goes. It appears whole, at commit, or not
// at all: a file is written under another name beside its own and renamed.
type Output struct {
	*bufio.Writer
	file   *os.File  // written to; nil for direct
	name   string    // of file, to be removed; empty if it has none
	target string    // renamed to; empty to copy the file's content to dst
	dst    io.Writer // standard output, a device or a pipe
	close  func() error
}

// IsStandard reports whether a path given by -o means standard output.
func IsStandard(path string) bool { return path == "" || path == "-" }

// Direct returns an output that writes through to standard output, for results
// that are useful from the first byte.
func (a *Streams) Direct() *Output {
	return &Output{Writer: bufio.NewWriterSize(a.Out, outputBuffer)}
}

// Create opens the output path, "" or "-" for standard output. None of the
// inputs may be the same file. What goes to standard output is kept in a
// temporary file until commit. The caller calls discard in any case.
func (a *Streams) Create(path string, inputs ...string) (*Output, error) {
	if IsStandard(path) {
		return spool(a.Out, nil)
	}
	target := path
	if end, err := filepath.EvalSymlinks(path); err == nil {
		target = end // a link stays a link
	}
	info, err := os.Stat(target)
	exists := err == nil
	switch {
	case exists && info.IsDir():
		return nil, BadInput("", fmt.Errorf("output %s is a directory, want a file name", path))
	case exists && !info.Mode().IsRegular():
		// Renaming over a device would replace the device.
		f, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return nil, BadInput("", fmt.Errorf("output %w", err))
		}
		return spool(f, f.Close)
	case exists:
		for _, in := range inputs {
			if same, err := os.Stat(in); err == nil && os.SameFile(info, same) {
				return nil, BadInput("", fmt.Errorf("output %s is the same file as the input %s, want another file", path, in))
			}
		}
	}
	return besides(path, target, info)
}

// besides creates the file that is to become target.
func besides(path, target string, old fs.FileInfo) (*Output, error) {
	var suffix [6]byte
	if _, err := rand.Read(suffix[:]); err != nil {
		return nil, err
	}
	name := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+".tmp-"+hex.EncodeToString(suffix[:]))
	// 0666 less the umask is what any program gives a file the user asked for.
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return nil, BadInput("", fmt.Errorf("output %s: %w", path, err))
	}
	o := &Output{Writer: bufio.NewWriterSize(f, outputBuffer), file: f, name: name, target: target}
	if old != nil && old.Mode().Perm() != 0 {
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			o.Discard()
			return nil, fmt.Errorf("output %s: %w", path, err)
		}
	}
	return o, nil
}

// spool returns an output that is copied to dst at commit.
func spool(dst io.Writer, closeDst func() error) (*Output, error) {
	f, err := os.CreateTemp("", "noisewright-*")
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	o := &Output{Writer: bufio.NewWriterSize(f, outputBuffer), file: f, name: f.Name(), dst: dst, close: closeDst}
	// Where an open file can lose its name, nothing is left even after a kill.
	if os.Remove(o.name) == nil {
		o.name = ""
	}
	return o, nil
}

// Commit makes the output appear.
func (o *Output) Commit() error {
	err := o.finish()
	if err != nil && o.target != "" {
		err = fmt.Errorf("output %s: %w", o.target, FileCause(err))
	}
	return err
}

func (o *Output) finish() error {
	if err := o.Flush(); err != nil {
		return err
	}
	switch {
	case o.file == nil:
		return nil
	case o.target == "":
		return o.copy()
	}
	if err := o.file.Sync(); err != nil {
		return err
	}
	if err := o.file.Close(); err != nil {
		return err
	}
	if err := os.Rename(o.name, o.target); err != nil {
		return err
	}
	o.file, o.name = nil, ""
	return nil
}

// copy sends the temporary file to dst.
func (o *Output) copy() error {
	if _, err := o.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	// The wrapper keeps io.Copy from going around dst's own Write.
	_, err := io.Copy(struct{ io.Writer }{o.dst}, o.file)
	if o.close != nil {
		err = errors.Join(err, o.close())
		o.close = nil
	}
	return err
}

// Discard removes what was written, unless it was committed.
func (o *Output) Discard() {
	if o.file != nil {
		_ = o.file.Close() // a second close, after a failed commit, is harmless
	}
	if o.name != "" {
		_ = os.Remove(o.name)
	}
	if o.close != nil {
		_ = o.close()
	}
	o.file, o.name, o.close = nil, "", nil
}

const outputBuffer = 64 << 10
