package tables

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
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
	Privacy     filePrivacy           `json:"privacy"`
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
		Privacy: filePrivacy(s.Privacy),
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
	if err := decode(r, func(p *parser) error { return p.kernel(&s) }); err != nil {
		return nil, err
	}
	return NewKernel(s)
}

func (p *parser) kernel(s *KernelSpec) error {
	return p.object(map[string]func() error{
		"format":  func() error { return p.text(KernelFormat) },
		"version": func() error { return p.version(kernelFormatVersion) },
		"privacy": func() error { return p.privacy(&s.Privacy) },
		"queries": func() error {
			return p.object(map[string]func() error{
				"lower": func() error { return p.float(&s.Queries.Lower) },
				"upper": func() error { return p.float(&s.Queries.Upper) },
				"weight": func() error {
					return p.array(maxPieces, func() error {
						var w WeightPiece
						err := p.object(map[string]func() error{
							"from":   func() error { return p.float(&w.From) },
							"weight": func() error { return p.float(&w.Weight) },
						})
						s.Queries.Weight = append(s.Queries.Weight, w)
						return err
					})
				},
			}, "weight")
		},
		"loss": func() error { return p.loss(&s.Loss) },
		"instance_cap": func() error {
			err := p.float(&s.InstanceCap)
			if err == nil && !(s.InstanceCap > 0) {
				err = p.wrong(s.InstanceCap, "a number above 0")
			}
			return err
		},
		"edges": func() error { return p.floats(MaxKernelCells+1, &s.Edges) },
		"nodes": func() error { return p.floats(MaxKernelCells, &s.Nodes) },
		"rows": func() error {
			return p.array(MaxKernelCells, func() error {
				var row []uint64
				err := p.array(MaxKernelCells, func() error {
					w, err := p.weight()
					row = append(row, w)
					return err
				})
				s.Rows = append(s.Rows, row)
				return err
			})
		},
		"certificate": func() error { return p.kernelCertificate(s) },
	}, "instance_cap")
}

func (p *parser) floats(limit int, dst *[]float64) error {
	return p.array(limit, func() error {
		var x float64
		err := p.float(&x)
		*dst = append(*dst, x)
		return err
	})
}

func (p *parser) kernelCertificate(s *KernelSpec) error {
	fields := map[string]func() error{
		"dual": func() error {
			s.Dual = &KernelDual{}
			return p.kernelDual(s.Dual)
		},
	}
	for _, c := range s.Claims.fields() {
		fields[c.name] = func() error { return p.claim(c.text) }
	}
	return p.object(fields, "dual")
}

func (p *parser) kernelDual(d *KernelDual) error {
	left := maxMultipliers
	multipliers := func(dst *[]int64) func() error {
		return func() error {
			return p.array(left, func() error {
				y, err := p.multiplier()
				*dst = append(*dst, y)
				left--
				return err
			})
		}
	}
	return p.object(map[string]func() error{
		"cells":    func() error { return p.int(&d.Cells) },
		"exponent": func() error { return p.int(&d.Exponent) },
		"mirrored": func() error { return p.bool(&d.Mirrored) },
		"caps":     multipliers(&d.Caps),
		"pairs": func() error {
			return p.array(MaxKernelCells*MaxKernelCells, func() error {
				var m KernelDualPair
				err := p.object(map[string]func() error{
					"gain":        func() error { return p.int(&m.Gain) },
					"lose":        func() error { return p.int(&m.Lose) },
					"first":       func() error { return p.int(&m.First) },
					"multipliers": multipliers(&m.Multipliers),
				})
				d.Pairs = append(d.Pairs, m)
				return err
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
