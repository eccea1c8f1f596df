// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/cmd/papers/drolearn"
)

// unfinished keeps the results of a long command as they come, in a folder beside its files, until
// the command has ended: one that was stopped goes on from there. Its name has a digest of all that
// a single result depends on, so that results of other data, options or programs are not used.
type unfinished struct {
	folder string
	mu     sync.Mutex
	found  map[string]json.RawMessage
	size   int64 // of what the file has in whole lines
}

const resultsName = "results.jsonl"

// result is a line of the file of results.
type result struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// newUnfinished reads what an earlier run of the command left: results depend on the contents of
// the files, and on options.
func newUnfinished(c *shell.Common, name string, files []string, options ...any) (*unfinished, error) {
	digest := sha256.New()
	fmt.Fprintf(digest, "%s %s %s %q\n", name, buildVersion(), runtime.GOARCH, options)
	for _, file := range files {
		f, err := os.Open(file) //nolint:gosec // the user's file
		if err == nil {
			_, err = io.Copy(digest, f)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return nil, shell.BadFile(file, shell.FileCause(err))
		}
	}
	u := &unfinished{folder: filepath.Join(c.Output, fmt.Sprintf("%s.unfinished-%.4x", name, digest.Sum(nil))), found: map[string]json.RawMessage{}}
	text, err := os.ReadFile(u.path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, shell.BadFile(u.path(), shell.FileCause(err))
	}
	for line := range bytes.Lines(text) {
		var r result
		if !bytes.HasSuffix(line, []byte("\n")) || json.Unmarshal(line, &r) != nil {
			break // the program was killed as it wrote this
		}
		u.found[r.Key] = r.Value
		u.size += int64(len(line))
	}
	return u, nil
}

func (u *unfinished) path() string { return filepath.Join(u.folder, resultsName) }

// keep adds a result to the file.
func (u *unfinished) keep(key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.found[key] = text
	if err := os.MkdirAll(u.folder, 0o777); err != nil { //nolint:gosec // as any folder
		return shell.BadFile(u.folder, shell.FileCause(err))
	}
	f, err := os.OpenFile(u.path(), os.O_WRONLY|os.O_CREATE, 0o666) //nolint:gosec // as any file
	if err != nil {
		return shell.BadFile(u.path(), shell.FileCause(err))
	}
	line, err := json.Marshal(result{key, text})
	if err == nil {
		// Over a last line that is broken.
		_, err = f.WriteAt(append(line, '\n'), u.size)
	}
	u.size += int64(len(line)) + 1
	return errors.Join(err, f.Close())
}

// ended removes what was kept if the command has ended, and says what is left if it was stopped.
func (u *unfinished) ended(c *shell.Common, err error) error {
	if err == nil {
		return os.RemoveAll(u.folder)
	}
	if _, missing := os.Stat(u.folder); errors.Is(err, context.Canceled) && missing == nil {
		c.Warn("what was finished is kept in %s; the same command goes on from there", u.folder)
	}
	return err
}

// piece is a part of a command's work whose result is kept: do computes it, add takes it.
type piece[T any] struct {
	key string
	do  func(context.Context) (T, error)
	add func(T)
}

// missing returns the pieces without a result.
func missing[T any](u *unfinished, pieces []piece[T]) (todo []piece[T]) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, p := range pieces {
		if _, ok := u.found[p.key]; !ok {
			todo = append(todo, p)
		}
	}
	return todo
}

// work does the pieces that have no result, several at a time, and adds all results in the order of
// the pieces, also after an error.
func work[T any](ctx context.Context, u *unfinished, pieces []piece[T]) error {
	todo := missing(u, pieces)
	broken := drolearn.Each(ctx, len(todo), func(ctx context.Context, i int) error {
		value, err := todo[i].do(ctx)
		if err != nil {
			return err
		}
		return u.keep(todo[i].key, value)
	})
	for _, p := range pieces {
		text, ok := u.found[p.key]
		if !ok {
			continue
		}
		var value T
		if err := json.Unmarshal(text, &value); err != nil {
			return errors.Join(broken, shell.BadFile(u.path(), err))
		}
		p.add(value)
	}
	return broken
}
