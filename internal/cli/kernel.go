package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

// formatPeek is how much of a file is looked at for its format.
const formatPeek = 512

// isKernel reports whether the file that r starts with is a kernel.
func isKernel(r *bufio.Reader) bool {
	head, _ := r.Peek(formatPeek)
	return tables.FormatOf(head) == tables.KernelFormat
}

// readEither reads a table or a kernel file; the other result is nil.
func (a *app) readEither(path string) (*tables.Table, *tables.Kernel, error) {
	r, done, err := a.open(path)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	var t *tables.Table
	var k *tables.Kernel
	if isKernel(r) {
		k, err = tables.DecodeKernel(r)
	} else {
		t, err = tables.Decode(r)
	}
	if err != nil {
		return nil, nil, badInput("", fmt.Errorf("%s: %w", inputName(path), inputCause(err)))
	}
	return t, k, nil
}

// soundKernel verifies a kernel. One that does not keep its claims is a negative
// verdict.
func soundKernel(path string, k *tables.Kernel) (tables.KernelCertificate, error) {
	c, err := k.Verify()
	if err != nil {
		return c, negative("noisewright verify "+path, fmt.Errorf("%s: %w", inputName(path), err))
	}
	return c, nil
}

// newKernelSampler returns a sampler of the kernel file, verified.
func (a *app) newKernelSampler(path string) (*sampler.KernelSampler, error) {
	_, k, err := a.readEither(path)
	if err != nil {
		return nil, err
	}
	if k == nil {
		return nil, badInput("privatize --table takes a table", fmt.Errorf("%s is a table, want a kernel made by design-kernel", inputName(path)))
	}
	if _, err := soundKernel(path, k); err != nil {
		return nil, err
	}
	return sampler.NewKernelVerified(k, sampler.Options{})
}

// kernelVerdict is what verify --json prints for a kernel.
type kernelVerdict struct {
	Schema         int         `json:"schema"`
	Valid          bool        `json:"valid"`
	DeltaCertified string      `json:"delta_certified"`
	ExpectedLoss   json.Number `json:"expected_loss"`
	MaxLoss        json.Number `json:"max_loss"`
	LowerBound     json.Number `json:"lower_bound"`
	Gap            *float64    `json:"gap"`
	Nodes          int         `json:"nodes"`
	WorstCells     [2]int      `json:"worst_cells"`
	Error          string      `json:"error,omitempty"`
}

// verifyKernel prints the verdict on a kernel.
func (a *app) verifyKernel(path string, k *tables.Kernel, asJSON bool) error {
	c, falsehood := k.Verify()
	var err error
	if asJSON {
		claims := c.Claims()
		v := kernelVerdict{
			Schema:         schema,
			Valid:          falsehood == nil,
			DeltaCertified: claims.Delta,
			ExpectedLoss:   json.Number(claims.ExpectedLoss),
			MaxLoss:        json.Number(claims.MaxLoss),
			LowerBound:     json.Number(claims.LowerBound),
			Nodes:          k.Cells(),
			WorstCells:     c.Worst,
		}
		if gap, ok := c.Gap(); ok {
			v.Gap = finite(gap)
		}
		if falsehood != nil {
			v.Error = sentence(falsehood)
		}
		err = printJSON(a.stdout, v)
	} else {
		err = printRows(a.stdout, append([]row{{"verdict", judgement(falsehood)}}, kernelRows(k, c)...))
	}
	if falsehood != nil {
		return negative("", fmt.Errorf("%s: %w", inputName(path), falsehood))
	}
	return err
}

// sampleKernel prints n answers of a kernel to the query value x.
func (a *app) sampleKernel(ctx context.Context, w *output, k *tables.Kernel, x float64, n int64) error {
	s, err := sampler.NewKernelVerified(k, sampler.Options{})
	if err != nil {
		return err
	}
	var line []byte
	for ; n > 0; n-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		y, err := s.Release(x)
		if err != nil {
			return err
		}
		line = append(strconv.AppendFloat(line[:0], y, 'g', -1, 64), '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return w.commit()
}

// readQuery reads a query value of a kernel's range.
func readQuery(k *tables.Kernel, name, value string) (float64, error) {
	q := k.Queries()
	if value == "" {
		return 0, badInput("", fmt.Errorf("%s is missing, want a number from %v to %v, the kernel's range", name, q.Lower, q.Upper))
	}
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || !(x >= q.Lower && x <= q.Upper) || math.IsNaN(x) {
		return 0, badInput("", fmt.Errorf("%s = %s, want a number from %v to %v, the kernel's range", name, shown(value), q.Lower, q.Upper))
	}
	return x, nil
}

// kernelClip is the range of a kernel as a clip.
func kernelClip(s *sampler.KernelSampler) *clip {
	q := s.Kernel().Queries()
	return &clip{lower: q.Lower, upper: q.Upper}
}
