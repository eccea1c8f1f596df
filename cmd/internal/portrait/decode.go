package portrait

import (
	"bufio"
	"bytes"
	"context"
	"io"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/tables"
)

// formatPeek is how much of a file is looked at for its format.
const formatPeek = 512

// Decode reads the file of a *tables.Table, a *kernels.Kernel, an *cells.Kernel or a
// *local.Randomizer. It verifies nothing. Errors are those of their Decode.
func Decode(in interface {
	io.Reader
	Peek(n int) ([]byte, error)
},
) (made any, err error) {
	head, _ := in.Peek(formatPeek)
	switch {
	case kernels.Recognize(head):
		return kernels.Decode(in)
	case cells.Recognize(head):
		return cells.Decode(in)
	case local.Recognize(head):
		return local.Decode(in)
	}
	return tables.Decode(in)
}

// Verify decodes the text of a file and verifies it, with the work that is allowed by
// default. It returns a *tables.Verified, *kernels.Verified, *cells.Verified or
// *local.Verified; the errors are those of Decode and of their VerifyContext.
func Verify(ctx context.Context, text []byte) (proof any, err error) {
	made, err := Decode(bufio.NewReader(bytes.NewReader(text)))
	if err != nil {
		return nil, err
	}
	switch made := made.(type) {
	case *kernels.Kernel:
		proof, err = made.VerifyContext(ctx, kernels.VerifyOptions{})
	case *cells.Kernel:
		proof, err = made.VerifyContext(ctx, cells.VerifyOptions{})
	case *local.Randomizer:
		proof, err = made.VerifyContext(ctx, local.VerifyOptions{})
	case *tables.Table:
		proof, err = made.VerifyContext(ctx, tables.VerifyOptions{})
	}
	if err != nil {
		return nil, err // proof holds a nil pointer
	}
	return proof, nil
}
