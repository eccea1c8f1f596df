// SPDX-License-Identifier: Apache-2.0

//go:build unix

package files

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Nothing but a regular file is opened, be it by a link, and nothing is waited for.
func TestRegular(t *testing.T) {
	dir := t.TempDir()
	join := func(name string) string { return filepath.Join(dir, name) }
	socket, err := net.Listen("unix", join("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close() //nolint:errcheck // of a test
	if err := errors.Join(
		os.WriteFile(join("file"), []byte("text"), 0o600), os.Symlink("file", join("link")),
		syscall.Mkfifo(join("pipe"), 0o600), os.Symlink("pipe", join("link to a pipe")),
	); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		join("file"): "", join("link"): "",
		join("pipe"): "is a pipe, want a regular file", join("link to a pipe"): "is a pipe, want a regular file",
		dir: "is a directory, want a regular file", join("socket"): "is a socket, want a regular file",
		os.DevNull: "is a device, want a regular file", join("none"): "no such file or directory",
	} {
		done := make(chan error, 1)
		go func() {
			f, err := Regular(path)
			if err == nil {
				err = f.Close()
			}
			done <- err
		}()
		select {
		case err := <-done:
			var p *fs.PathError
			if (err == nil) != (want == "") || err != nil && (!errors.As(err, &p) || !strings.HasSuffix(err.Error(), want)) {
				t.Errorf("%s: %v, want %q", path, err, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: opening it waits", path)
		}
	}
	// A pipe that takes the place of the file after the first look.
	f, err := os.OpenFile(join("pipe"), os.O_RDONLY|nonblock, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // of a test
	if info, err := f.Stat(); err != nil || Check("x", info) == nil {
		t.Errorf("an open pipe passes for a regular file, %v", err)
	}
}
