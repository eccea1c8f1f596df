// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"fmt"
	"io"
	"math/big"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/strictjson"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// form is that of plans. Its files are described in docs/plan-format.md.
var form = proof.Form{Package: "plan", Noun: "a plan", File: strictjson.Format{
	Noun: "plan", Name: "noisewright-plan", Version: 1, MaxSize: 64 << 20,
	MaxElements: map[string]int{
		"measurements": maxMeasurements, "weights": maxWeights, "attributes": maxAttributes, "sets": maxSets, "variances": limits.PlanQueries,
		"deviations": maxSets, "rows": 2 * limits.PlanQueries / limits.PlanCells,
	},
	Elements: limits.PlanCells,
}}

const maxMeasurements = 1 << 12

// Spec is the content of a plan.
type Spec struct {
	dp.Budget
	// Neighbors is what data sets differ in: dp.AddRemove or dp.Replace, of a person.
	Neighbors string
	// MaxPerPerson is how many cells a person may be in, once in each.
	MaxPerPerson int
	Workload     Workload
	Measurements []Measurement
	// Claims and Variances are what the plan states of itself; the zero value: filled in by New.
	// Variances are those of the queries in their order, of Marginals one for each table.
	Claims    claims
	Variances []string
}

// The kinds of measurement.
const (
	Partition = "partition" // blocks of cells, each with noise of a law
	L1        = "matrix-l1" // rows of whole numbers, by their ℓ1 norms, with noise of a law
	L2        = "matrix-l2" // rows of whole numbers, by their ℓ2 norms, with rounded normal noise
	Residuals = "residuals" // of tables, what those of fewer attributes do not tell, with rounded normal noise
)

// Measurement is sums of cells that are released with independent noise.
type Measurement struct {
	Kind string `json:"kind"`
	// Block is how many neighboring cells a block of a Partition has, the last one perhaps fewer; of
	// marginals a block is a cell of the table of Attributes instead.
	Block      int    `json:"block,omitempty"`
	Attributes *[]int `json:"attributes,omitempty"`
	// Rows are those of L1 and L2, one number for each cell.
	Rows [][]int64 `json:"rows,omitempty"`
	// Weight is what the square of an error counts when the answers are computed; 0 for Residuals.
	Weight int64 `json:"weight,omitempty"`
	Noise  *Law  `json:"noise,omitempty"` // of a Partition and of L1
	// Deviation is the standard deviation of the normal noise of L2, before it is rounded.
	Deviation float64 `json:"deviation,omitempty"`
	// Sets and Deviations are those of Residuals: a deviation for each set of attributes, times the norm
	// of a row (docs/plan-format.md).
	Sets       [][]int   `json:"sets,omitempty"`
	Deviations []float64 `json:"deviations,omitempty"`
}

// claims are what a plan states of itself, plain decimals that stay true.
type claims struct {
	Delta            string `json:"delta" bound:"upper"`
	MeanSquaredError string `json:"mean_squared_error" bound:"upper"` // over all queries
	MaxSquaredError  string `json:"max_squared_error" bound:"upper"`  // of a query
}

// Certificate is what is proved of a plan.
type Certificate struct {
	// DeltaUpper bounds the delta of one release of everything, at the plan's epsilon, from above.
	DeltaUpper *big.Rat
	// MeanSquaredError and MaxSquaredError are over all queries; answers are unbiased.
	MeanSquaredError *big.Rat
	MaxSquaredError  *big.Rat
	// Variances bounds that of every query from above, of Marginals of every table's cells.
	Variances []*big.Rat

	err error // why there is nothing to certify
}

// Bounds implements proof.Certificate. Of all mechanisms no bound is known.
func (c Certificate) Bounds() proof.Bounds {
	return proof.Bounds{Delta: c.DeltaUpper, Loss: c.MeanSquaredError, LowerBound: new(big.Rat), Worst: c.MaxSquaredError}
}

// Verified is the proof that a plan keeps its promise and makes no false claim.
type Verified = proof.Verified[Plan, Certificate]

// Plan is a checked, immutable Spec. It is safe for concurrent use.
type Plan struct{ *content }

type content struct {
	spec  Spec
	laws  []law // of the measurements
	bases [][]int
	limit int64 // of a cell
	proof proof.Proof[Certificate]
}

// New checks the structure of a plan, and not its claims, which Verify does. Empty Claims are filled
// in from the certificate. All bad fields are reported together, wrapping dp.ErrInvalid.
func New(s Spec) (*Plan, error) {
	s = formfile.Clone(s)
	laws, err := s.validate()
	if err != nil {
		return nil, err
	}
	c := &content{spec: s, laws: laws, bases: s.bases(), limit: s.countLimit()}
	c.proof = proof.New("plan", c.certify, c.judge)
	if s.Claims == (claims{}) {
		found := c.proof.Certificate()
		if found.err != nil {
			return nil, found.err
		}
		c.spec.Claims, c.spec.Variances = found.claims()
	}
	return &Plan{c}, nil
}

func (s *Spec) validate() (laws []law, err error) {
	errs := check.In("plan")
	errs.MaxEpsilon(s.Epsilon)
	errs.Budget(s.Epsilon, s.Delta)
	errs.OneOf("neighbors", s.Neighbors, dp.AddRemove, dp.Replace)
	errs.If(s.MaxPerPerson < 1 || s.MaxPerPerson > limits.PlanCells, "max_per_person", s.MaxPerPerson, "1 to %d cells", limits.PlanCells)
	errs.Add(s.Workload.Validate())
	errs.If(len(s.Measurements) < 1 || len(s.Measurements) > maxMeasurements, "measurements", len(s.Measurements), "1 to %d", maxMeasurements)
	formfile.Validate(&s.Claims, errs)
	if !errs.None() {
		return nil, errs.Err()
	}
	want := len(s.Workload.Sets)
	if s.Workload.Kind != Marginals {
		want = s.Workload.Queries()
	}
	errs.If(s.Claims != (claims{}) && len(s.Variances) != want, "certificate.variances", fmt.Sprintf("%d numbers", len(s.Variances)), "%d", want)
	if !errs.None() {
		return nil, errs.Err()
	}
	laws = make([]law, len(s.Measurements))
	for i := range s.Measurements {
		laws[i], err = s.validateMeasurement(i)
		errs.Add(err)
	}
	if errs.None() && s.Workload.Kind == Marginals {
		s.validateMeasured(errs)
	}
	return laws, errs.Err()
}

// Verify certifies the plan and holds every claim that it makes against the certificate.
func (p *Plan) Verify() (*Verified, error) {
	return proof.Verify(context.Background(), p, proof.Options{})
}

// Prove implements proof.Mechanism.
func (p *Plan) Prove(ctx context.Context, o proof.Options) (proof.Proven, error) {
	return proof.Prove(ctx, p, o)
}

// Proof is for proof.Verify.
func (p *Plan) Proof() (made proof.Proof[Certificate]) {
	if p != nil && p.content != nil {
		made = p.proof
	}
	return made
}

// Form implements proof.Mechanism.
func (*Plan) Form() proof.Form { return form }

// Spec returns a copy of what the plan holds.
func (p *Plan) Spec() Spec { return formfile.Clone(p.spec) }

// Privacy returns the promise. Its sensitivity is the number of cells in which neighbors differ, each by 1.
func (p *Plan) Privacy() dp.Privacy {
	return dp.Privacy{Epsilon: p.spec.Epsilon, Delta: p.spec.Delta, Sensitivity: float64(p.spec.touched())}
}

// Loss implements proof.Mechanism: what an answer costs is the mean of squared errors.
func (*Plan) Loss() loss.Loss { return nil }

// maxCount bounds a cell, see countLimit.
const maxCount = 1 << 40

// Inputs are the counts of the cells, of marginals those of the tables of Bases one after another.
func (p *Plan) Inputs() proof.Space {
	return proof.Space{Kind: proof.Rows, Lower: -float64(p.limit), Upper: float64(p.limit), Size: p.cells()}
}

// Answers are those to the queries.
func (p *Plan) Answers() proof.Space {
	return proof.Space{Kind: proof.Rows, Lower: -0x1p62, Upper: 0x1p62, Size: p.spec.Workload.Queries()}
}

type file struct {
	Format       string          `json:"format"`
	Version      int             `json:"version"`
	Epsilon      float64         `json:"epsilon"`
	Delta        float64         `json:"delta"`
	Neighbors    string          `json:"neighbors"`
	MaxPerPerson int             `json:"max_per_person"`
	Workload     Workload        `json:"workload"`
	Measurements []Measurement   `json:"measurements"`
	Certificate  fileCertificate `json:"certificate"`
}

type fileCertificate struct {
	claims
	Variances []string `json:"variances"`
}

// Encode writes the plan in the file format noisewright-plan, version 1.
func (p *Plan) Encode(w io.Writer) error {
	s := &p.spec
	return form.Encode(w, file{
		form.File.Name, form.File.Version, s.Epsilon, s.Delta, s.Neighbors, s.MaxPerPerson,
		s.Workload, s.Measurements,
		fileCertificate{s.Claims, s.Variances},
	})
}

// Decode reads one file of a plan. It checks the structure completely (see New) and nothing of the
// claims, with the same strictness and errors as tables.Decode.
func Decode(r io.Reader) (*Plan, error) {
	var f file
	if err := form.Decode(r, &f); err != nil {
		return nil, err
	}
	if f.Certificate.claims == (claims{}) { // which New would fill in
		return nil, check.Errorf("plan", proof.ErrFormat, "certificate.delta is empty, want a plain decimal number")
	}
	return New(Spec{
		dp.Budget{Epsilon: f.Epsilon, Delta: f.Delta},
		f.Neighbors, f.MaxPerPerson,
		f.Workload, f.Measurements, f.Certificate.claims, f.Certificate.Variances,
	})
}
