package claims

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/atomicfile"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/strictjson"
	"github.com/noisewright/noisewright/loss"
)

// Limits of the dual of a file.
const (
	MaxExponent    = 2000    // in absolute value
	MaxMultipliers = 1 << 21 // all together
)

// Loss is how a file writes a loss.
type Loss struct {
	Name string `json:"name"`
}

// Texts is how a file writes integers that need not be float64s.
func Texts[T int64 | uint64](integers []T) []string {
	texts := make([]string, len(integers))
	for i, n := range integers {
		texts[i] = fmt.Sprint(n)
	}
	return texts
}

// ReadPrivacy reads a promise.
func ReadPrivacy(p *strictjson.Parser, dst *dp.Privacy) error {
	return p.Object(strictjson.Fields{
		"epsilon":     func() error { return p.Float(&dst.Epsilon) },
		"delta":       func() error { return p.Float(&dst.Delta) },
		"sensitivity": func() error { return p.Float(&dst.Sensitivity) },
	})
}

// ReadLoss reads a Loss.
func ReadLoss(p *strictjson.Parser, dst *loss.Loss) error {
	return p.Object(strictjson.Fields{"name": func() error {
		var name string
		err := p.String(&name)
		if err == nil {
			*dst, err = loss.Parse(name)
		}
		return err
	}})
}

// ReadMultipliers reads Texts of at most *left integers, and takes them off it.
func ReadMultipliers(p *strictjson.Parser, dst *[]int64, left *int) error {
	err := strictjson.Slice(p, *left, dst, p.Int63Text)
	*left -= len(*dst)
	return err
}

// ReadCertificate reads the claims and, if it is there, the dual.
func ReadCertificate(p *strictjson.Parser, list []Claim, dual func() error) error {
	fields := strictjson.Fields{"dual": dual}
	for _, c := range list {
		fields[c.Name] = func() error {
			err := p.String(c.Text)
			if err == nil && *c.Text == "" {
				err = p.Wrong("", "a plain decimal number")
			}
			return err
		}
	}
	return p.Object(fields, "dual")
}

// Encode writes a file on one line.
func Encode(pkg string, w io.Writer, file any) error {
	b := bufio.NewWriter(w)
	if err := json.NewEncoder(b).Encode(file); err != nil {
		return check.Errorf(pkg, nil, "encode: %w", err)
	}
	if err := b.Flush(); err != nil {
		return check.Errorf(pkg, nil, "encode: %w", err)
	}
	return nil
}

// ReadFile decodes a file. Errors name it.
func ReadFile[T any](pkg, path string, decode func(io.Reader) (*T, error)) (*T, error) {
	f, err := os.Open(path) //nolint:gosec // the caller's file
	if err != nil {
		return nil, check.Errorf(pkg, nil, "%s: %w", path, cause(err))
	}
	defer f.Close() //nolint:errcheck // only read
	t, err := decode(bufio.NewReader(f))
	if err != nil {
		return nil, check.Errorf(pkg, nil, "%s: %w", path, cause(err))
	}
	return t, nil
}

// WriteFile writes a file, whole or not at all. Errors name it.
func WriteFile(pkg, path string, encode func(io.Writer) error) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return check.Errorf(pkg, nil, "%w", err)
	}
	defer f.Discard()
	if err := encode(f); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return check.Errorf(pkg, nil, "%w", err)
	}
	return nil
}

// cause is a file error without the path, which the message has already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
