// SPDX-License-Identifier: Apache-2.0

package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A writer that is killed leaves its temporary file or directory. The next writer into the same
// folder removes such files, and the next one to the same path such directories: one of these may
// hold what was at the path before (see Directory). It must not remove what another one is at
// work on: a writer holds an exclusive lock on what it writes, which the system ends with the
// writer and not before the rename, and only what can be locked is removed. That is one of:
//
//   - what a writer has left that is gone;
//   - what a writer has made and not locked yet: it finds the name gone, or the lock taken, once
//     it asks for the lock, and begins anew under another name;
//   - what was renamed between the listing and the lock: then nothing has the temporary
//     name, which is random, and will have it.
//
// Where the file system or the system has no such locks, nothing is removed.

// attempts bounds how often a writer begins anew. Another writer takes the name away only
// if it comes between two system calls.
const attempts = 100

// createLocked makes what is to become path by create, under a temporary name, and locks it.
func createLocked(path string, create func(name string) (*os.File, error)) (f *os.File, err error) {
	for range attempts {
		if f, err = create(beside(path)); err != nil {
			return nil, err
		}
		taken := lock(f)
		own, err := f.Stat()
		if err != nil {
			return f, nil //nolint:nilerr // the next write says what is wrong
		}
		if now, err := os.Lstat(f.Name()); !taken && err == nil && os.SameFile(own, now) {
			return f, nil
		}
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
	return nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
}

// temporaryName is what beside makes.
var temporaryName = regexp.MustCompile(`^\..+\.tmp-[A-Z2-7]{12}$`)

// removeStale removes, as far as it can, what writers have left that are gone, of the wanted
// kind: files in the folder of path, or directories of path itself.
func removeStale(path, prefix string, wanted func(fs.FileMode) bool) {
	folder := filepath.Dir(path)
	if !locks {
		return
	}
	dir, err := os.Open(folder) //nolint:gosec // of what the caller names
	if err != nil {
		return
	}
	names, _ := dir.Readdirnames(-1)
	_ = dir.Close()
	for _, name := range names {
		if !temporaryName.MatchString(name) || !strings.HasPrefix(name, prefix) {
			continue
		}
		name = filepath.Join(folder, name)
		info, err := os.Lstat(name)
		if err != nil || !wanted(info.Mode()) {
			continue
		}
		f, err := os.Open(name) //nolint:gosec // a file or a directory, as was seen
		if err != nil {
			continue
		}
		if now, err := f.Stat(); err == nil && os.SameFile(info, now) && acquired(f) {
			_ = os.RemoveAll(name)
		}
		_ = f.Close()
	}
}
