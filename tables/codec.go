package tables

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
)

// The constants of the file format; docs/table-format.md describes it.
const (
	formatName    = "noisewright-table"
	formatVersion = 1
	// maxFileSize bounds a table file; MaxCells weights and a large dual
	// stay well below.
	maxFileSize = 64 << 20
)

// file mirrors the format for writing. Reading goes through Decode, which is
// stricter than encoding/json's mapping to structs.
type file struct {
	Format      string          `json:"format"`
	Version     int             `json:"version"`
	Privacy     filePrivacy     `json:"privacy"`
	Query       dp.Query        `json:"query,omitempty"` // absent: real
	Loss        fileLoss        `json:"loss"`
	Constraints dp.Constraints  `json:"constraints,omitzero"`
	Grid        fileGrid        `json:"grid"`
	Weights     []string        `json:"weights"`
	Atom        string          `json:"atom"`
	TailRatio   string          `json:"tail_ratio,omitempty"`
	Certificate fileCertificate `json:"certificate"`
}

type filePrivacy struct {
	Epsilon     float64 `json:"epsilon"`
	Delta       float64 `json:"delta"`
	Sensitivity float64 `json:"sensitivity"`
}

type fileLoss struct {
	Name string `json:"name"`
}

type fileGrid struct {
	GranularityExponent int     `json:"granularity_exponent"`
	Unit                float64 `json:"unit,omitempty"`
	PointsPerCell       int64   `json:"points_per_cell"`
	Offset              int64   `json:"offset,omitempty"`
	CellsPerSensitivity int     `json:"cells_per_sensitivity"`
	FirstCell           int     `json:"first_cell"`
}

type fileCertificate struct {
	Delta        string    `json:"delta"`
	ExpectedLoss string    `json:"expected_loss"`
	LowerBound   string    `json:"lower_bound"`
	Dual         *fileDual `json:"dual,omitempty"`
}

type fileDual struct {
	CellsPerSensitivity int         `json:"cells_per_sensitivity"`
	Exponent            int         `json:"exponent"`
	Mirrored            bool        `json:"mirrored"`
	Edges               bool        `json:"edges,omitempty"`
	Shifts              []fileShift `json:"shifts"`
	MonotoneRight       *fileRun    `json:"monotone_right,omitempty"`
	MonotoneLeft        *fileRun    `json:"monotone_left,omitempty"`
	Mean                float64     `json:"mean,omitempty"`
	Variance            float64     `json:"variance,omitempty"`
	Quantiles           []float64   `json:"quantiles,omitempty"`
}

type fileRun struct {
	FirstCell   int      `json:"first_cell"`
	Multipliers []string `json:"multipliers"`
}

func newFileRun(r *DualRun) *fileRun {
	if r == nil {
		return nil
	}
	return &fileRun{FirstCell: r.FirstCell, Multipliers: decimals(r.Multipliers)}
}

func decimals(multipliers []int64) []string {
	m := make([]string, len(multipliers))
	for j, y := range multipliers {
		m[j] = strconv.FormatInt(y, 10)
	}
	return m
}

type fileShift struct {
	Shift       int      `json:"shift"`
	FirstCell   int      `json:"first_cell"`
	Multipliers []string `json:"multipliers"`
}

// Encode writes the table in the file format, version 1.
func (t *Table) Encode(w io.Writer) error {
	s := &t.spec
	f := file{
		Format:      formatName,
		Version:     formatVersion,
		Privacy:     filePrivacy(s.Privacy),
		Loss:        fileLoss{Name: s.Loss.Name()},
		Constraints: s.Constraints,
		Grid:        fileGrid(s.Grid),
		Atom:        strconv.FormatUint(s.Atom, 10),
		Certificate: fileCertificate{
			Delta:        s.Claims.Delta,
			ExpectedLoss: s.Claims.ExpectedLoss,
			LowerBound:   s.Claims.LowerBound,
		},
	}
	if s.Query != dp.RealQuery {
		f.Query = s.Query
	}
	if s.hasTail() {
		f.TailRatio = strconv.FormatUint(s.TailRatio, 10)
	}
	f.Weights = make([]string, len(s.Weights))
	for i, v := range s.Weights {
		f.Weights[i] = strconv.FormatUint(v, 10)
	}
	if d := s.Dual; d != nil {
		f.Certificate.Dual = &fileDual{
			CellsPerSensitivity: d.CellsPerSensitivity,
			Exponent:            d.Exponent,
			Mirrored:            d.Mirrored,
			Edges:               d.Edges,
			Shifts:              make([]fileShift, len(d.Shifts)),
			MonotoneRight:       newFileRun(d.MonotoneRight),
			MonotoneLeft:        newFileRun(d.MonotoneLeft),
			Mean:                d.Mean,
			Variance:            d.Variance,
			Quantiles:           d.Quantiles,
		}
		for i, sh := range d.Shifts {
			f.Certificate.Dual.Shifts[i] = fileShift{Shift: sh.Shift, FirstCell: sh.FirstCell, Multipliers: decimals(sh.Multipliers)}
		}
	}
	return encode(w, f)
}

// encode writes a file on one line.
func encode(w io.Writer, file any) error {
	b := bufio.NewWriter(w)
	if err := json.NewEncoder(b).Encode(file); err != nil {
		return check.Errorf("tables", nil, "encode: %w", err)
	}
	if err := b.Flush(); err != nil {
		return check.Errorf("tables", nil, "encode: %w", err)
	}
	return nil
}

// Decode reads one table file. It checks the structure completely (see New)
// and nothing of the claims (see Verify). It refuses duplicate, unknown and
// missing fields, numbers that are not written plainly or do not fit, and
// anything after the table. It allocates at most a small multiple of the file.
//
// Errors wrap ErrFormat, or ErrInvalid for values outside their range, or are
// those of r.
func Decode(r io.Reader) (*Table, error) {
	var s Spec
	if err := decode(r, func(p *parser) error { return p.table(&s) }); err != nil {
		return nil, err
	}
	return New(s)
}

// decode reads one object with the given method of a parser, and nothing after.
func decode(r io.Reader, read func(*parser) error) error {
	limited := &io.LimitedReader{R: r, N: maxFileSize + 1}
	p := &parser{dec: json.NewDecoder(limited)}
	p.dec.UseNumber()
	err := read(p)
	if err == nil {
		err = p.end()
	}
	if err != nil {
		if limited.N == 0 {
			return check.Errorf("tables", ErrFormat, "file is larger than %d bytes", maxFileSize)
		}
		return check.Errorf("tables", nil, "%w", err)
	}
	return nil
}

func (p *parser) table(s *Spec) error {
	return p.object(map[string]func() error{
		"format": func() error {
			return p.text(formatName)
		},
		"version": func() error { return p.version(formatVersion) },
		"privacy": func() error { return p.privacy(&s.Privacy) },
		"loss":    func() error { return p.loss(&s.Loss) },
		"query": func() error {
			name, err := p.string()
			s.Query = dp.Query(name)
			return err
		},
		"constraints": func() error { return p.constraints(&s.Constraints) },
		"grid": func() error {
			return p.object(map[string]func() error{
				"granularity_exponent":  func() error { return p.int(&s.Grid.GranularityExponent) },
				"unit":                  func() error { return p.float(&s.Grid.Unit) },
				"points_per_cell":       func() error { return p.int64(&s.Grid.PointsPerCell) },
				"offset":                func() error { return p.int64(&s.Grid.Offset) },
				"cells_per_sensitivity": func() error { return p.int(&s.Grid.CellsPerSensitivity) },
				"first_cell":            func() error { return p.int(&s.Grid.FirstCell) },
			}, "unit", "offset")
		},
		"weights": func() error {
			return p.array(MaxCells, func() error {
				w, err := p.weight()
				s.Weights = append(s.Weights, w)
				return err
			})
		},
		"atom": func() error {
			var err error
			s.Atom, err = p.weight()
			return err
		},
		"tail_ratio": func() error {
			var err error
			if s.TailRatio, err = p.weight(); err == nil && s.TailRatio == 0 {
				err = p.wrong("0", "a number above 0, or no such field")
			}
			return err
		},
		"certificate": func() error { return p.certificate(s) },
	}, "query", "constraints", "tail_ratio")
}

func (p *parser) constraints(c *dp.Constraints) error {
	lower, upper := math.Inf(-1), math.Inf(1)
	err := p.object(map[string]func() error{
		"symmetric":    func() error { return p.bool(&c.Symmetric) },
		"monotone":     func() error { return p.bool(&c.Monotone) },
		"unbiased":     func() error { return p.bool(&c.Unbiased) },
		"lower":        func() error { return p.float(&lower) },
		"upper":        func() error { return p.float(&upper) },
		"max_variance": func() error { return p.float(&c.MaxVariance) },
		"quantiles": func() error {
			return p.array(dp.MaxQuantiles, func() error {
				var q dp.Quantile
				err := p.object(map[string]func() error{
					"probability": func() error { return p.float(&q.Probability) },
					"magnitude":   func() error { return p.float(&q.Magnitude) },
				})
				c.Quantiles = append(c.Quantiles, q)
				return err
			})
		},
		"max_distinguishing": func() error { return p.float(&c.MaxDistinguishing) },
	}, "symmetric", "monotone", "unbiased", "lower", "upper", "max_variance", "quantiles", "max_distinguishing")
	if !math.IsInf(lower, 0) || !math.IsInf(upper, 0) {
		c.Support = &dp.Interval{Lower: lower, Upper: upper}
	}
	return err
}

func (p *parser) version(want int64) error {
	v, err := p.integer(math.MinInt32, math.MaxInt32)
	if err == nil && v != want {
		err = p.wrong(v, fmt.Sprintf("version %d, the one this program reads", want))
	}
	return err
}

func (p *parser) privacy(dst *dp.Privacy) error {
	return p.object(map[string]func() error{
		"epsilon":     func() error { return p.float(&dst.Epsilon) },
		"delta":       func() error { return p.float(&dst.Delta) },
		"sensitivity": func() error { return p.float(&dst.Sensitivity) },
	})
}

func (p *parser) loss(dst *loss.Loss) error {
	return p.object(map[string]func() error{"name": func() error {
		name, err := p.string()
		if err != nil {
			return err
		}
		*dst, err = loss.Parse(name)
		return err
	}})
}

// claim reads the text of a claim.
func (p *parser) claim(dst *string) (err error) {
	*dst, err = p.string()
	if err == nil && *dst == "" {
		err = p.wrong("", "a plain decimal number")
	}
	return err
}

func (p *parser) certificate(s *Spec) error {
	return p.object(map[string]func() error{
		"delta":         func() error { return p.claim(&s.Claims.Delta) },
		"expected_loss": func() error { return p.claim(&s.Claims.ExpectedLoss) },
		"lower_bound":   func() error { return p.claim(&s.Claims.LowerBound) },
		"dual": func() error {
			s.Dual = &Dual{}
			return p.dual(s.Dual)
		},
	}, "dual")
}

func (p *parser) dual(d *Dual) error {
	left := maxMultipliers
	return p.object(map[string]func() error{
		"cells_per_sensitivity": func() error { return p.int(&d.CellsPerSensitivity) },
		"exponent":              func() error { return p.int(&d.Exponent) },
		"mirrored":              func() error { return p.bool(&d.Mirrored) },
		"edges":                 func() error { return p.bool(&d.Edges) },
		"shifts": func() error {
			return p.array(MaxCells, func() error {
				var s DualShift
				err := p.object(map[string]func() error{
					"shift":       func() error { return p.int(&s.Shift) },
					"first_cell":  func() error { return p.int(&s.FirstCell) },
					"multipliers": func() error { return p.multipliers(&s.Multipliers, &left) },
				})
				d.Shifts = append(d.Shifts, s)
				return err
			})
		},
		"monotone_right": func() error { return p.run(&d.MonotoneRight, &left) },
		"monotone_left":  func() error { return p.run(&d.MonotoneLeft, &left) },
		"mean":           func() error { return p.float(&d.Mean) },
		"variance":       func() error { return p.float(&d.Variance) },
		"quantiles": func() error {
			return p.array(dp.MaxQuantiles, func() error {
				var v float64
				err := p.float(&v)
				d.Quantiles = append(d.Quantiles, v)
				return err
			})
		},
	}, "edges", "monotone_right", "monotone_left", "mean", "variance", "quantiles")
}

func (p *parser) run(dst **DualRun, left *int) error {
	*dst = &DualRun{}
	return p.object(map[string]func() error{
		"first_cell":  func() error { return p.int(&(*dst).FirstCell) },
		"multipliers": func() error { return p.multipliers(&(*dst).Multipliers, left) },
	})
}

// multipliers reads an array of multipliers, of which so many are left.
func (p *parser) multipliers(dst *[]int64, left *int) error {
	return p.array(*left, func() error {
		y, err := p.multiplier()
		*dst = append(*dst, y)
		*left--
		return err
	})
}
