package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/tables"
)

// formatPeek is how much of a file is looked at for its format.
const formatPeek = 512

// IsTableFile reports whether a path looks like that of a table or a kernel file.
func IsTableFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && strings.HasSuffix(path, ".json")
}

// IsBundle reports whether a path looks like that of a bundle.
func IsBundle(path string) bool {
	info, err := os.Stat(filepath.Join(path, "bundle.json"))
	return err == nil && info.Mode().IsRegular()
}

// ReadEither reads a table or a kernel file, "-" for standard input; the other result
// is nil. Every error is one of bad input, and names the file.
func (a *Streams) ReadEither(path string) (t *tables.Table, k *kernels.Kernel, err error) {
	if IsBundle(path) {
		return nil, nil, BadInput("noisewright latent verify "+path, fmt.Errorf("%s is a bundle, want a table or a kernel file", path))
	}
	in, err := a.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	if head, _ := in.Peek(formatPeek); kernels.Recognize(head) {
		k, err = kernels.Decode(in)
	} else {
		t, err = tables.Decode(in)
	}
	if err != nil {
		return nil, nil, BadFile(path, FileCause(err))
	}
	return t, k, nil
}

// ReadSound reads a table file and verifies it.
func (a *Streams) ReadSound(path string) (*tables.Verified, error) {
	t, k, err := a.ReadEither(path)
	switch {
	case err != nil:
		return nil, err
	case k != nil:
		return nil, BadInput("", fmt.Errorf("%s is a kernel, want a table made by design", InputName(path)))
	}
	return Sound(path, t.Verify)
}

// Sound verifies what was read from a file. A table or a kernel that does not keep its
// claims is a negative verdict.
func Sound[V any](path string, verify func() (*V, error)) (*V, error) {
	v, err := verify()
	if err != nil {
		return nil, Negative("noisewright verify "+path, fmt.Errorf("%s: %w", InputName(path), err))
	}
	return v, nil
}
