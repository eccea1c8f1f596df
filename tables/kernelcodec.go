package tables

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/strictjson"
)

// The constants of the kernel file; docs/kernel-format.md describes it.
const (
	// KernelFormat is what the field "format" of a kernel file says.
	KernelFormat        = "noisewright-kernel"
	kernelFormatVersion = 1
)

// kernelFile mirrors the format for writing.
type kernelFile struct {
	Format      string                `json:"format"`
	Version     int                   `json:"version"`
	Privacy     dp.Privacy            `json:"privacy"`
	Queries     fileQueries           `json:"queries"`
	Loss        fileLoss              `json:"loss"`
	InstanceCap *float64              `json:"instance_cap,omitempty"`
	Edges       []float64             `json:"edges"`
	Nodes       []float64             `json:"nodes"`
	Rows        [][]string            `json:"rows"`
	Certificate fileKernelCertificate `json:"certificate"`
}

type fileQueries struct {
	Lower  float64     `json:"lower"`
	Upper  float64     `json:"upper"`
	Weight []filePiece `json:"weight,omitempty"`
}

type filePiece struct {
	From   float64 `json:"from"`
	Weight float64 `json:"weight"`
}

type fileKernelCertificate struct {
	Delta        string          `json:"delta"`
	ExpectedLoss string          `json:"expected_loss"`
	MaxLoss      string          `json:"max_loss"`
	LowerBound   string          `json:"lower_bound"`
	Dual         *fileKernelDual `json:"dual,omitempty"`
}

type fileKernelDual struct {
	Cells    int              `json:"cells"`
	Exponent int              `json:"exponent"`
	Mirrored bool             `json:"mirrored"`
	Caps     []string         `json:"caps"`
	Pairs    []fileKernelPair `json:"pairs"`
}

type fileKernelPair struct {
	Gain        int      `json:"gain"`
	Lose        int      `json:"lose"`
	First       int      `json:"first"`
	Multipliers []string `json:"multipliers"`
}

// Encode writes the kernel in the file format noisewright-kernel, version 1.
func (k *Kernel) Encode(w io.Writer) error {
	s := &k.spec
	f := kernelFile{
		Format:  KernelFormat,
		Version: kernelFormatVersion,
		Privacy: s.Privacy,
		Queries: fileQueries{Lower: s.Queries.Lower, Upper: s.Queries.Upper},
		Loss:    fileLoss{Name: s.Loss.Name()},
		Edges:   s.Edges,
		Nodes:   s.Nodes,
		Rows:    make([][]string, len(s.Rows)),
		Certificate: fileKernelCertificate{
			Delta:        s.Claims.Delta,
			ExpectedLoss: s.Claims.ExpectedLoss,
			MaxLoss:      s.Claims.MaxLoss,
			LowerBound:   s.Claims.LowerBound,
		},
	}
	for _, p := range s.Queries.Weight {
		f.Queries.Weight = append(f.Queries.Weight, filePiece(p))
	}
	if s.InstanceCap != 0 {
		f.InstanceCap = &s.InstanceCap
	}
	for i, row := range s.Rows {
		f.Rows[i] = make([]string, len(row))
		for j, v := range row {
			f.Rows[i][j] = strconv.FormatUint(v, 10)
		}
	}
	if d := s.Dual; d != nil {
		f.Certificate.Dual = &fileKernelDual{
			Cells: d.Cells, Exponent: d.Exponent, Mirrored: d.Mirrored,
			Caps: decimals(d.Caps), Pairs: make([]fileKernelPair, len(d.Pairs)),
		}
		for i, p := range d.Pairs {
			f.Certificate.Dual.Pairs[i] = fileKernelPair{Gain: p.Gain, Lose: p.Lose, First: p.First, Multipliers: decimals(p.Multipliers)}
		}
	}
	return encode(w, f)
}

// DecodeKernel reads one kernel file. It checks the structure completely (see
// NewKernel) and nothing of the claims (see Kernel.Verify), with the same
// strictness and errors as Decode.
func DecodeKernel(r io.Reader) (*Kernel, error) {
	var s KernelSpec
	if err := decode(r, func(p *strictjson.Parser) error { return readKernel(p, &s) }); err != nil {
		return nil, err
	}
	return NewKernel(s)
}

func readKernel(p *strictjson.Parser, s *KernelSpec) error {
	return p.Object(strictjson.Fields{
		"format":  func() error { return p.Text(KernelFormat) },
		"version": func() error { return p.Version(kernelFormatVersion) },
		"privacy": func() error { return readPrivacy(p, &s.Privacy) },
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
		"loss": func() error { return readLoss(p, &s.Loss) },
		"instance_cap": func() error {
			err := p.Float(&s.InstanceCap)
			if err == nil && !(s.InstanceCap > 0) {
				err = p.Wrong(s.InstanceCap, "a number above 0")
			}
			return err
		},
		"edges": func() error { return strictjson.Slice(p, MaxKernelCells+1, &s.Edges, p.Float) },
		"nodes": func() error { return strictjson.Slice(p, MaxKernelCells, &s.Nodes, p.Float) },
		"rows": func() error {
			return strictjson.Slice(p, MaxKernelCells, &s.Rows, func(row *[]uint64) error {
				return strictjson.Slice(p, MaxKernelCells, row, p.Uint64Text)
			})
		},
		"certificate": func() error { return readKernelCertificate(p, s) },
	}, "instance_cap")
}

func readKernelCertificate(p *strictjson.Parser, s *KernelSpec) error {
	fields := strictjson.Fields{
		"dual": func() error {
			s.Dual = &KernelDual{}
			return readKernelDual(p, s.Dual)
		},
	}
	for _, c := range s.Claims.fields() {
		fields[c.name] = func() error { return readClaim(p, c.text) }
	}
	return p.Object(fields, "dual")
}

func readKernelDual(p *strictjson.Parser, d *KernelDual) error {
	left := maxMultipliers
	return p.Object(strictjson.Fields{
		"cells":    func() error { return p.Int(&d.Cells) },
		"exponent": func() error { return p.Int(&d.Exponent) },
		"mirrored": func() error { return p.Bool(&d.Mirrored) },
		"caps":     func() error { return readMultipliers(p, &d.Caps, &left) },
		"pairs": func() error {
			return strictjson.Slice(p, MaxKernelCells*MaxKernelCells, &d.Pairs, func(m *KernelDualPair) error {
				return p.Object(strictjson.Fields{
					"gain":        func() error { return p.Int(&m.Gain) },
					"lose":        func() error { return p.Int(&m.Lose) },
					"first":       func() error { return p.Int(&m.First) },
					"multipliers": func() error { return readMultipliers(p, &m.Multipliers, &left) },
				})
			})
		},
	})
}

// FormatOf reads the start of a file and returns what its field "format" says,
// "" if that is not its first field.
func FormatOf(head []byte) string {
	d := json.NewDecoder(bytes.NewReader(head))
	for _, want := range []json.Token{json.Delim('{'), "format"} {
		if tok, err := d.Token(); err != nil || tok != want {
			return ""
		}
	}
	tok, err := d.Token()
	name, ok := tok.(string)
	if err != nil || !ok {
		return ""
	}
	return name
}
