package tables

import (
	"io"
	"math"
	"strconv"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/claims"
	"github.com/noisewright/noisewright/internal/strictjson"
)

// The constants of the file format; docs/table-format.md describes it.
const (
	formatName    = "noisewright-table"
	formatVersion = 1
)

// fileFormat bounds a file well above MaxCells weights and a large dual.
var fileFormat = strictjson.Format{Noun: "table", MaxSize: 64 << 20, Err: ErrFormat}

// file mirrors the format for writing. Reading goes through Decode, which is
// stricter than encoding/json's mapping to structs.
type file struct {
	Format      string          `json:"format"`
	Version     int             `json:"version"`
	Privacy     dp.Privacy      `json:"privacy"`
	Query       dp.Query        `json:"query,omitempty"` // absent: real
	Loss        claims.Loss     `json:"loss"`
	Constraints dp.Constraints  `json:"constraints,omitzero"`
	Grid        Grid            `json:"grid"`
	Weights     []string        `json:"weights"`
	Atom        string          `json:"atom"`
	TailRatio   string          `json:"tail_ratio,omitempty"`
	Certificate fileCertificate `json:"certificate"`
}

type fileCertificate struct {
	Claims
	Dual *fileDual `json:"dual,omitempty"`
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
	return &fileRun{FirstCell: r.FirstCell, Multipliers: claims.Texts(r.Multipliers)}
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
		Privacy:     s.Privacy,
		Loss:        claims.Loss{Name: s.Loss.Name()},
		Constraints: s.Constraints,
		Grid:        s.Grid,
		Weights:     claims.Texts(s.Weights),
		Atom:        strconv.FormatUint(s.Atom, 10),
		Certificate: fileCertificate{Claims: s.Claims},
	}
	if s.Query != dp.RealQuery {
		f.Query = s.Query
	}
	if s.hasTail() {
		f.TailRatio = strconv.FormatUint(s.TailRatio, 10)
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
			f.Certificate.Dual.Shifts[i] = fileShift{Shift: sh.Shift, FirstCell: sh.FirstCell, Multipliers: claims.Texts(sh.Multipliers)}
		}
	}
	return claims.Encode("tables", w, f)
}

// Decode reads one table file. It checks the structure completely (see New)
// and nothing of the claims (see Verify). It refuses duplicate, unknown and
// missing fields, numbers that are not written plainly or do not fit, and
// anything after the table. It allocates at most a small multiple of the file.
//
// Errors wrap ErrFormat, or dp.ErrInvalid for values outside their range, or are
// those of r.
func Decode(r io.Reader) (*Table, error) {
	var s Spec
	if err := strictjson.Decode(r, fileFormat, func(p *strictjson.Parser) error { return readTable(p, &s) }); err != nil {
		return nil, check.Errorf("tables", nil, "%w", err)
	}
	return New(s)
}

func readTable(p *strictjson.Parser, s *Spec) error {
	return p.Object(strictjson.Fields{
		"format":  func() error { return p.Text(formatName) },
		"version": func() error { return p.Version(formatVersion) },
		"privacy": func() error { return claims.ReadPrivacy(p, &s.Privacy) },
		"loss":    func() error { return claims.ReadLoss(p, &s.Loss) },
		"query": func() error {
			var name string
			err := p.String(&name)
			s.Query = dp.Query(name)
			return err
		},
		"constraints": func() error { return readConstraints(p, &s.Constraints) },
		"grid": func() error {
			return p.Object(strictjson.Fields{
				"granularity_exponent":  func() error { return p.Int(&s.Grid.GranularityExponent) },
				"unit":                  func() error { return p.Float(&s.Grid.Unit) },
				"points_per_cell":       func() error { return p.Int64(&s.Grid.PointsPerCell) },
				"offset":                func() error { return p.Int64(&s.Grid.Offset) },
				"cells_per_sensitivity": func() error { return p.Int(&s.Grid.CellsPerSensitivity) },
				"first_cell":            func() error { return p.Int(&s.Grid.FirstCell) },
			}, "unit", "offset")
		},
		"weights": func() error { return strictjson.Slice(p, MaxCells, &s.Weights, p.Uint64Text) },
		"atom":    func() error { return p.Uint64Text(&s.Atom) },
		"tail_ratio": func() error {
			err := p.Uint64Text(&s.TailRatio)
			if err == nil && s.TailRatio == 0 {
				err = p.Wrong("0", "a number above 0, or no such field")
			}
			return err
		},
		"certificate": func() error {
			return claims.ReadCertificate(p, s.Claims.list(), func() error {
				s.Dual = &Dual{}
				return readDual(p, s.Dual)
			})
		},
	}, "query", "constraints", "tail_ratio")
}

func readConstraints(p *strictjson.Parser, c *dp.Constraints) error {
	lower, upper := math.Inf(-1), math.Inf(1)
	err := p.Object(strictjson.Fields{
		"symmetric":    func() error { return p.Bool(&c.Symmetric) },
		"monotone":     func() error { return p.Bool(&c.Monotone) },
		"unbiased":     func() error { return p.Bool(&c.Unbiased) },
		"lower":        func() error { return p.Float(&lower) },
		"upper":        func() error { return p.Float(&upper) },
		"max_variance": func() error { return p.Float(&c.MaxVariance) },
		"quantiles": func() error {
			return strictjson.Slice(p, dp.MaxQuantiles, &c.Quantiles, func(q *dp.Quantile) error {
				return p.Object(strictjson.Fields{
					"probability": func() error { return p.Float(&q.Probability) },
					"magnitude":   func() error { return p.Float(&q.Magnitude) },
				})
			})
		},
		"max_distinguishing": func() error { return p.Float(&c.MaxDistinguishing) },
	}, "symmetric", "monotone", "unbiased", "lower", "upper", "max_variance", "quantiles", "max_distinguishing")
	if !math.IsInf(lower, 0) || !math.IsInf(upper, 0) {
		c.Support = &dp.Interval{Lower: lower, Upper: upper}
	}
	return err
}

func readDual(p *strictjson.Parser, d *Dual) error {
	left := claims.MaxMultipliers
	return p.Object(strictjson.Fields{
		"cells_per_sensitivity": func() error { return p.Int(&d.CellsPerSensitivity) },
		"exponent":              func() error { return p.Int(&d.Exponent) },
		"mirrored":              func() error { return p.Bool(&d.Mirrored) },
		"edges":                 func() error { return p.Bool(&d.Edges) },
		"shifts": func() error {
			return strictjson.Slice(p, MaxCells, &d.Shifts, func(s *DualShift) error {
				return p.Object(strictjson.Fields{
					"shift":       func() error { return p.Int(&s.Shift) },
					"first_cell":  func() error { return p.Int(&s.FirstCell) },
					"multipliers": func() error { return claims.ReadMultipliers(p, &s.Multipliers, &left) },
				})
			})
		},
		"monotone_right": func() error { return readRun(p, &d.MonotoneRight, &left) },
		"monotone_left":  func() error { return readRun(p, &d.MonotoneLeft, &left) },
		"mean":           func() error { return p.Float(&d.Mean) },
		"variance":       func() error { return p.Float(&d.Variance) },
		"quantiles":      func() error { return strictjson.Slice(p, dp.MaxQuantiles, &d.Quantiles, p.Float) },
	}, "edges", "monotone_right", "monotone_left", "mean", "variance", "quantiles")
}

func readRun(p *strictjson.Parser, dst **DualRun, left *int) error {
	r := &DualRun{}
	*dst = r
	return p.Object(strictjson.Fields{
		"first_cell":  func() error { return p.Int(&r.FirstCell) },
		"multipliers": func() error { return claims.ReadMultipliers(p, &r.Multipliers, left) },
	})
}
