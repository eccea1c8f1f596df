package portrait

import (
	"bytes"
	"context"

	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/proof/forms"
)

// Verify decodes the text of a file and verifies it, with the work that is allowed by
// default. The errors are those of forms.Decode and of proof.Verify.
func Verify(ctx context.Context, text []byte) (proof.Proven, error) {
	m, err := forms.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return m.Prove(ctx, proof.Options{})
}
