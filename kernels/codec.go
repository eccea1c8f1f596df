package kernels

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/claims"
	"github.com/noisewright/noisewright/internal/strictjson"
)

// The constants of the kernel file; docs/kernel-format.md describes it.
const (
	formatName    = "noisewright-kernel"
	formatVersion = 1
)

// fileFormat bounds a file well above MaxCells² weights and a large dual.
var fileFormat = strictjson.Format{Noun: "kernel", MaxSize: 64 << 20, Err: ErrFormat}

// file mirrors the format for writing.
type file struct {
	Format      string          `json:"format"`
	Version     int             `json:"version"`
	Privacy     dp.Privacy      `json:"privacy"`
	Queries     Queries         `json:"queries"`
	Loss        claims.Loss     `json:"loss"`
	InstanceCap *float64        `json:"instance_cap,omitempty"`
	Edges       []float64       `json:"edges"`
	Nodes       []float64       `json:"nodes"`
	Rows        [][]string      `json:"rows"`
	Certificate fileCertificate `json:"certificate"`
}

type fileCertificate struct {
	Claims
	Dual *fileDual `json:"dual,omitempty"`
}

type fileDual struct {
	Cells    int        `json:"cells"`
	Exponent int        `json:"exponent"`
	Mirrored bool       `json:"mirrored"`
	Caps     []string   `json:"caps"`
	Pairs    []filePair `json:"pairs"`
}

type filePair struct {
	Gain        int      `json:"gain"`
	Lose        int      `json:"lose"`
	First       int      `json:"first"`
	Multipliers []string `json:"multipliers"`
}

// Encode writes the kernel in the file format noisewright-kernel, version 1.
func (k *Kernel) Encode(w io.Writer) error {
	s := &k.spec
	f := file{
		Format:      formatName,
		Version:     formatVersion,
		Privacy:     s.Privacy,
		Queries:     s.Queries,
		Loss:        claims.Loss{Name: s.Loss.Name()},
		Edges:       s.Edges,
		Nodes:       s.Nodes,
		Rows:        make([][]string, len(s.Rows)),
		Certificate: fileCertificate{Claims: s.Claims},
	}
	if s.InstanceCap != 0 {
		f.InstanceCap = &s.InstanceCap
	}
	for i, row := range s.Rows {
		f.Rows[i] = claims.Texts(row)
	}
	if d := s.Dual; d != nil {
		f.Certificate.Dual = &fileDual{
			Cells: d.Cells, Exponent: d.Exponent, Mirrored: d.Mirrored,
			Caps: claims.Texts(d.Caps), Pairs: make([]filePair, len(d.Pairs)),
		}
		for i, p := range d.Pairs {
			f.Certificate.Dual.Pairs[i] = filePair{Gain: p.Gain, Lose: p.Lose, First: p.First, Multipliers: claims.Texts(p.Multipliers)}
		}
	}
	return claims.Encode("kernels", w, f)
}

// Decode reads one kernel file. It checks the structure completely (see
// New) and nothing of the claims (see Kernel.Verify), with the same
// strictness and errors as Decode.
func Decode(r io.Reader) (*Kernel, error) {
	var s Spec
	if err := strictjson.Decode(r, fileFormat, func(p *strictjson.Parser) error { return readKernel(p, &s) }); err != nil {
		return nil, check.Errorf("kernels", nil, "%w", err)
	}
	return New(s)
}

func readKernel(p *strictjson.Parser, s *Spec) error {
	return p.Object(strictjson.Fields{
		"format":  func() error { return p.Text(formatName) },
		"version": func() error { return p.Version(formatVersion) },
		"privacy": func() error { return claims.ReadPrivacy(p, &s.Privacy) },
		"queries": func() error {
			return p.Object(strictjson.Fields{
				"lower": func() error { return p.Float(&s.Queries.Lower) },
				"upper": func() error { return p.Float(&s.Queries.Upper) },
				"weight": func() error {
					return strictjson.Slice(p, maxPieces, &s.Queries.Weight, func(w *WeightPiece) error {
						return p.Object(strictjson.Fields{
							"from":   func() error { return p.Float(&w.From) },
							"weight": func() error { return p.Float(&w.Weight) },
						})
					})
				},
			}, "weight")
		},
		"loss": func() error { return claims.ReadLoss(p, &s.Loss) },
		"instance_cap": func() error {
			err := p.Float(&s.InstanceCap)
			if err == nil && !(s.InstanceCap > 0) {
				err = p.Wrong(s.InstanceCap, "a number above 0")
			}
			return err
		},
		"edges": func() error { return strictjson.Slice(p, MaxCells+1, &s.Edges, p.Float) },
		"nodes": func() error { return strictjson.Slice(p, MaxCells, &s.Nodes, p.Float) },
		"rows": func() error {
			return strictjson.Slice(p, MaxCells, &s.Rows, func(row *[]uint64) error {
				return strictjson.Slice(p, MaxCells, row, p.Uint64Text)
			})
		},
		"certificate": func() error {
			return claims.ReadCertificate(p, s.Claims.list(), func() error {
				s.Dual = &Dual{}
				return readDual(p, s.Dual)
			})
		},
	}, "instance_cap")
}

func readDual(p *strictjson.Parser, d *Dual) error {
	left := claims.MaxMultipliers
	return p.Object(strictjson.Fields{
		"cells":    func() error { return p.Int(&d.Cells) },
		"exponent": func() error { return p.Int(&d.Exponent) },
		"mirrored": func() error { return p.Bool(&d.Mirrored) },
		"caps":     func() error { return claims.ReadMultipliers(p, &d.Caps, &left) },
		"pairs": func() error {
			return strictjson.Slice(p, MaxCells*MaxCells, &d.Pairs, func(m *DualPair) error {
				return p.Object(strictjson.Fields{
					"gain":        func() error { return p.Int(&m.Gain) },
					"lose":        func() error { return p.Int(&m.Lose) },
					"first":       func() error { return p.Int(&m.First) },
					"multipliers": func() error { return claims.ReadMultipliers(p, &m.Multipliers, &left) },
				})
			})
		},
	})
}

// Recognize reports whether a file is that of a kernel, given how it starts: that
// its first field is the format's.
func Recognize(head []byte) bool {
	d := json.NewDecoder(bytes.NewReader(head))
	for _, want := range []json.Token{json.Delim('{'), "format", formatName} {
		if tok, err := d.Token(); err != nil || tok != want {
			return false
		}
	}
	return true
}
