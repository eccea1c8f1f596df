package tables

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/noise"
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
	Query       noise.Query     `json:"query,omitempty"` // absent: real
	Loss        fileLoss        `json:"loss"`
	Constraints fileConstraints `json:"constraints,omitzero"`
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

// fileConstraints has only the constraints there are.
type fileConstraints struct {
	Symmetric         bool           `json:"symmetric,omitempty"`
	Monotone          bool           `json:"monotone,omitempty"`
	Unbiased          bool           `json:"unbiased,omitempty"`
	Lower             *float64       `json:"lower,omitempty"` // of the support
	Upper             *float64       `json:"upper,omitempty"`
	MaxVariance       float64        `json:"max_variance,omitempty"`
	Quantiles         []fileQuantile `json:"quantiles,omitempty"`
	MaxDistinguishing float64        `json:"max_distinguishing,omitempty"`
}

type fileQuantile struct {
	Probability float64 `json:"probability"`
	Magnitude   float64 `json:"magnitude"`
}

func newFileConstraints(c noise.Constraints) fileConstraints {
	f := fileConstraints{
		Symmetric: c.Symmetric, Monotone: c.Monotone, Unbiased: c.Unbiased,
		MaxVariance: c.MaxVariance, MaxDistinguishing: c.MaxDistinguishing,
	}
	if s := c.Support; s != nil {
		if !math.IsInf(s.Lower, 0) {
			f.Lower = &s.Lower
		}
		if !math.IsInf(s.Upper, 0) {
			f.Upper = &s.Upper
		}
	}
	for _, q := range c.Quantiles {
		f.Quantiles = append(f.Quantiles, fileQuantile(q))
	}
	return f
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
		Constraints: newFileConstraints(s.Constraints),
		Grid:        fileGrid(s.Grid),
		Atom:        strconv.FormatUint(s.Atom, 10),
		Certificate: fileCertificate{
			Delta:        s.Claims.Delta,
			ExpectedLoss: s.Claims.ExpectedLoss,
			LowerBound:   s.Claims.LowerBound,
		},
	}
	if s.Query != noise.RealQuery {
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
	b := bufio.NewWriter(w)
	if err := json.NewEncoder(b).Encode(f); err != nil {
		return fmt.Errorf("tables: encode: %w", err)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("tables: encode: %w", err)
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
			return fmt.Errorf("tables: file is larger than %d bytes: %w", maxFileSize, ErrFormat)
		}
		return fmt.Errorf("tables: %w", err)
	}
	return nil
}

// parser reads a table token by token.
type parser struct {
	dec  *json.Decoder
	path string // of the field being read, for messages
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
			s.Query = noise.Query(name)
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

func (p *parser) constraints(c *noise.Constraints) error {
	lower, upper := math.Inf(-1), math.Inf(1)
	err := p.object(map[string]func() error{
		"symmetric":    func() error { return p.bool(&c.Symmetric) },
		"monotone":     func() error { return p.bool(&c.Monotone) },
		"unbiased":     func() error { return p.bool(&c.Unbiased) },
		"lower":        func() error { return p.float(&lower) },
		"upper":        func() error { return p.float(&upper) },
		"max_variance": func() error { return p.float(&c.MaxVariance) },
		"quantiles": func() error {
			return p.array(noise.MaxQuantiles, func() error {
				var q noise.Quantile
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
		c.Support = &noise.Interval{Lower: lower, Upper: upper}
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

func (p *parser) privacy(dst *Privacy) error {
	return p.object(map[string]func() error{
		"epsilon":     func() error { return p.float(&dst.Epsilon) },
		"delta":       func() error { return p.float(&dst.Delta) },
		"sensitivity": func() error { return p.float(&dst.Sensitivity) },
	})
}

func (p *parser) loss(dst *noise.Loss) error {
	return p.object(map[string]func() error{"name": func() error {
		name, err := p.string()
		if err != nil {
			return err
		}
		*dst, err = noise.ParseLoss(name)
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
			return p.array(noise.MaxQuantiles, func() error {
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

// object reads an object whose fields are exactly the given ones, in any
// order, each once; the optional ones may be missing.
func (p *parser) object(fields map[string]func() error, optional ...string) error {
	if err := p.delim('{', "an object"); err != nil {
		return err
	}
	outer := p.path
	defer func() { p.path = outer }()
	seen := make(map[string]bool, len(fields))
	for p.dec.More() {
		tok, err := p.token()
		if err != nil {
			return err
		}
		name, ok := tok.(string)
		if !ok {
			return p.wrong(tok, "a field name")
		}
		read, known := fields[name]
		if !known {
			p.path = outer
			return fmt.Errorf("%s in %s is not a field of the format: %w", quote(name), p.where(), ErrFormat)
		}
		p.path = join(outer, name)
		if seen[name] {
			return fmt.Errorf("%s stands twice: %w", p.path, ErrFormat)
		}
		seen[name] = true
		if err := read(); err != nil {
			return err
		}
	}
	p.path = outer
	if _, err := p.token(); err != nil {
		return err
	}
	for name := range fields {
		if !seen[name] && !slices.Contains(optional, name) {
			return fmt.Errorf("%s is missing: %w", join(outer, name), ErrFormat)
		}
	}
	return nil
}

// array reads an array of at most limit elements.
func (p *parser) array(limit int, element func() error) error {
	if err := p.delim('[', "an array"); err != nil {
		return err
	}
	outer := p.path
	defer func() { p.path = outer }()
	for i := 0; p.dec.More(); i++ {
		if i >= limit {
			return fmt.Errorf("%s has more than %d elements: %w", outer, limit, ErrFormat)
		}
		p.path = outer + "[" + strconv.Itoa(i) + "]"
		if err := element(); err != nil {
			return err
		}
	}
	p.path = outer
	_, err := p.token()
	return err
}

// end checks that nothing follows.
func (p *parser) end() error {
	if tok, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = fmt.Errorf("%s follows the table", quote(fmt.Sprint(tok)))
		}
		return fmt.Errorf("data after the table: %w: %w", err, ErrFormat)
	}
	return nil
}

func (p *parser) token() (json.Token, error) {
	tok, err := p.dec.Token()
	if err == nil {
		return tok, nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("the file ends early, in %s: %w", p.where(), ErrFormat)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return nil, fmt.Errorf("not JSON at byte %d, in %s: %w: %w", p.dec.InputOffset(), p.where(), syntax, ErrFormat)
	}
	return nil, err // the reader's own
}

func (p *parser) where() string {
	if p.path == "" {
		return "the outermost object"
	}
	return p.path
}

// wrong reports a token of the wrong kind or value.
func (p *parser) wrong(got json.Token, want string) error {
	text, isString := got.(string)
	if isString {
		text = quote(text)
	} else {
		text = clip(fmt.Sprint(got))
	}
	return fmt.Errorf("%s = %s, want %s: %w", p.where(), text, want, ErrFormat)
}

func (p *parser) delim(d json.Delim, want string) error {
	tok, err := p.token()
	if err == nil && tok != d {
		err = p.wrong(tok, want)
	}
	return err
}

func (p *parser) string() (string, error) {
	tok, err := p.token()
	if err != nil {
		return "", err
	}
	s, ok := tok.(string)
	if !ok {
		return "", p.wrong(tok, "a string")
	}
	return s, nil
}

func (p *parser) text(want string) error {
	s, err := p.string()
	if err == nil && s != want {
		err = p.wrong(s, strconv.Quote(want))
	}
	return err
}

func (p *parser) bool(dst *bool) error {
	tok, err := p.token()
	if err != nil {
		return err
	}
	var ok bool
	if *dst, ok = tok.(bool); !ok {
		return p.wrong(tok, "true or false")
	}
	return nil
}

func (p *parser) number() (json.Number, error) {
	tok, err := p.token()
	if err != nil {
		return "", err
	}
	n, ok := tok.(json.Number)
	if !ok {
		return "", p.wrong(tok, "a number")
	}
	return n, nil
}

func (p *parser) float(dst *float64) error {
	n, err := p.number()
	if err != nil {
		return err
	}
	*dst, err = strconv.ParseFloat(n.String(), 64)
	if err != nil {
		return p.wrong(n, "a number in the range of float64")
	}
	return nil
}

func (p *parser) integer(lo, hi int64) (int64, error) {
	n, err := p.number()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil || v < lo || v > hi {
		return 0, p.wrong(n, fmt.Sprintf("an integer from %d to %d", lo, hi))
	}
	return v, nil
}

func (p *parser) int64(dst *int64) error {
	v, err := p.integer(-1<<53, 1<<53)
	*dst = v
	return err
}

func (p *parser) int(dst *int) error {
	v, err := p.integer(math.MinInt32, math.MaxInt32)
	*dst = int(v)
	return err
}

// weight reads a decimal string of an integer from 0 to 2^64-1.
func (p *parser) weight() (uint64, error) {
	s, err := p.string()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil || strconv.FormatUint(v, 10) != s {
		return 0, p.wrong(s, "a decimal string of an integer from 0 to 2^64-1")
	}
	return v, nil
}

// multiplier reads a decimal string of an integer from 0 to 2^63-1.
func (p *parser) multiplier() (int64, error) {
	v, err := p.weight()
	if err == nil && v > math.MaxInt64 {
		err = p.wrong(v, "an integer up to 2^63-1")
	}
	return int64(v), err //nolint:gosec // checked above
}

func join(outer, name string) string {
	if outer == "" {
		return name
	}
	return outer + "." + name
}

// quote makes a string of the file fit for a message: short, and without raw
// control characters.
func quote(s string) string {
	return strconv.QuoteToGraphic(clip(s))
}

// clip keeps messages short whatever the file holds.
func clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}
