// SPDX-License-Identifier: Apache-2.0

package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// File is a file that appears at Commit. It is safe for concurrent use: Discard may come
// from another goroutine, and no Commit succeeds after it.
type File struct {
	mu     sync.Mutex
	file   *os.File
	name   string    // of file, to be removed; empty if it has none
	path   string    // for errors; empty for a spool
	target string    // renamed to; empty to copy the content to dst
	dst    io.Writer // of a spool
	device *os.File  // dst, if it has to be closed
	fresh  bool      // nothing may be at target yet
}

// Create returns a file that is to become path. A symbolic link stays a link, its target is
// replaced, and the mode of a file that is there stays. A device or a pipe is not replaced: what
// is for it is written to it at Commit. The caller calls Discard in any case. Errors name the
// path and wrap those of the file system.
func Create(path string) (*File, error) {
	target := resolve(path)
	info, err := os.Stat(target)
	exists := err == nil
	switch {
	case exists && info.IsDir():
		return nil, fmt.Errorf("%s is a directory, want a file name", path)
	case exists && !info.Mode().IsRegular():
		device, err := os.OpenFile(target, os.O_WRONLY, 0) //nolint:gosec // the caller names it
		if err != nil {
			return nil, named(path, err)
		}
		f, err := Spool(device)
		if err != nil {
			return nil, errors.Join(err, device.Close())
		}
		f.path, f.device = path, device
		return f, nil
	}
	f, err := beneath(path, target)
	if err != nil || !exists {
		return f, err
	}
	if err := f.file.Chmod(info.Mode().Perm()); err != nil {
		f.Discard()
		return nil, named(path, err)
	}
	return f, nil
}

// Replace is Create for directories that others may write to: a symbolic link is
// replaced and not followed, and what is neither a link nor a regular file is refused.
func Replace(path string) (*File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSymlink {
		return nil, fmt.Errorf("%s is not a regular file, want one or none", path)
	}
	return beneath(path, path)
}

// New is Replace for a file that its owner alone can read, where nothing may be yet: the error of
// Commit wraps fs.ErrExist if there is something, also if it has come in the meantime.
func New(path string) (*File, error) {
	f, err := under(path, path, 0o600)
	if err == nil {
		f.fresh = true
	}
	return f, err
}

// beneath returns a file that is renamed to the target.
func beneath(path, target string) (*File, error) {
	// 0666 less the umask is what any program gives a file the user asked for.
	return under(path, target, 0o666)
}

func under(path, target string, mode fs.FileMode) (*File, error) {
	removeStale(target, "", fs.FileMode.IsRegular)
	file, err := createLocked(target, func(name string) (*os.File, error) {
		return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode) //nolint:gosec // beside what the caller names
	})
	if err != nil {
		return nil, named(path, err)
	}
	return &File{file: file, name: file.Name(), path: path, target: target}, nil
}

// Spool returns a file whose content is written to dst at Commit.
func Spool(dst io.Writer) (*File, error) {
	file, err := os.CreateTemp("", "noisewright-*")
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	f := &File{file: file, name: file.Name(), dst: dst}
	// Where an open file can lose its name, nothing is left even after a kill.
	if os.Remove(f.name) == nil {
		f.name = ""
	}
	return f, nil
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.file.Write(p)
	return n, named(f.path, err)
}

// Commit makes the file appear, on disk. If it fails, what was there before still is.
func (f *File) Commit() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dst != nil {
		return f.copy()
	}
	if err := f.file.Sync(); err != nil {
		return named(f.path, err)
	}
	move := os.Rename
	if f.fresh {
		move = appear
	}
	// Without locks an open file may not be renamed; elsewhere closing ends the lock. A database is
	// closed before others find it: closing it later would end their locks on it.
	if !locks || f.fresh {
		if err := f.file.Close(); err != nil {
			return named(f.path, err)
		}
	}
	if err := move(f.name, f.target); err != nil {
		return named(f.path, err)
	}
	_ = f.file.Close() // all is on disk
	f.file, f.name = nil, ""
	return nil
}

// appear moves a file to a name that is not taken. A link, unlike a rename, replaces nothing, even
// if another process makes a file of this name at the same time.
func appear(name, path string) error {
	if os.Link(name, path) == nil {
		_ = os.Remove(name)
		return nil
	}
	if _, taken := os.Lstat(path); taken == nil {
		return fs.ErrExist
	}
	return os.Rename(name, path) // a file system without hard links
}

// copy writes what was spooled.
func (f *File) copy() error {
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return named(f.path, err)
	}
	_, err := io.Copy(f.dst, f.file)
	if f.device != nil {
		err = errors.Join(err, f.device.Close())
		f.device = nil
	}
	return named(f.path, err)
}

// Discard removes what was written, unless it was committed. Only the first call does something.
func (f *File) Discard() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil {
		_ = f.file.Close() // a second close, after a failed commit, is harmless
	}
	if f.name != "" {
		_ = os.Remove(f.name)
	}
	if f.device != nil {
		_ = f.device.Close()
	}
	f.file, f.name, f.device = nil, "", nil
}

// Directory makes a directory with what fill writes to the empty one it is given. The parent of
// path exists. A directory that is there is replaced, whatever it holds; a symbolic link stays a
// link. Errors are those of fill and of the file system.
//
// Where the system exchanges two names in one step, path is at any time the old directory or the
// new one. Elsewhere the old one is renamed first: a crash between the two steps leaves both under
// names that begin with a dot. The next Directory for the path removes what is left.
func Directory(path string, fill func(dir string) error) error {
	path = resolve(filepath.Clean(path))
	open, err := createLocked(path, func(name string) (*os.File, error) {
		// 0777 less the umask is what any program gives a directory the user asked for.
		if err := os.Mkdir(name, 0o777); err != nil { //nolint:gosec
			return nil, err
		}
		return os.Open(name) //nolint:gosec // made above
	})
	if err != nil {
		return named(path, err)
	}
	defer open.Close() //nolint:errcheck // only its lock is of use
	dir := open.Name()
	defer os.RemoveAll(dir) //nolint:errcheck // gone after the rename
	if err := fill(dir); err != nil {
		return err
	}
	if !locks {
		_ = open.Close()
	}
	if _, missing := os.Lstat(path); missing != nil {
		err = os.Rename(dir, path)
	} else {
		err = replace(dir, path)
	}
	if err != nil {
		return err
	}
	// Not before: a writer killed within replace left what was there before under such a name.
	removeStale(path, temporary(path), fs.FileMode.IsDir)
	return nil
}

// replace renames a directory to a path where there is another, which it removes: a
// directory cannot be renamed over another one.
func replace(dir, path string) error {
	if exchange(dir, path) == nil {
		return os.RemoveAll(dir)
	}
	away := beside(path)
	if err := os.Rename(path, away); err != nil {
		return err
	}
	if err := os.Rename(dir, path); err != nil {
		return errors.Join(err, os.Rename(away, path))
	}
	return os.RemoveAll(away)
}

// resolve returns where what is written to path goes: a link stays a link.
func resolve(path string) string {
	if end, err := filepath.EvalSymlinks(path); err == nil {
		return end
	}
	return path
}

// randomLetters is that of a temporary name: 60 bits, so that no name is ever used twice.
const randomLetters = 12

// temporary is what the temporary names for a path begin with.
func temporary(path string) string { return "." + filepath.Base(path) + ".tmp-" }

// beside returns a temporary name in the directory of path.
func beside(path string) string {
	return filepath.Join(filepath.Dir(path), temporary(path)+rand.Text()[:randomLetters])
}

// named puts the path in front of an error in place of the temporary one.
func named(path string, err error) error {
	if err == nil || path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", path, Cause(err))
}

// Cause returns an error of the file system without the path, which the message has already.
func Cause(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

// Write makes a file, see Create, that appears with what encode writes.
func Write(path string, encode func(io.Writer) error) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := encode(f); err != nil {
		return err
	}
	return f.Commit()
}
