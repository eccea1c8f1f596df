package taskspace

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
)

// EncodedMoments are the joint second moments of features x and their unit
// coordinates u after clipping: all that the best affine decoder depends on.
type EncodedMoments struct {
	FeatureMean []float64     // E x, n
	UnitMean    []float64     // E u, Z
	Unit        *mat.SymDense // C_uu = Cov(u), Z×Z
	Cross       *mat.Dense    // C_xu = Cov(x, u), n×Z
}

// Moments returns the moments of the rows of data (N×n) and their clipped unit
// coordinates, divided by N. The features are those of the data, also where the
// encoder clips them to bounds: the loss is against what a person really has.
// Errors wrap ErrInvalid. The cost is O(N·n·Z).
func (e *Encoder) Moments(data mat.Matrix) (*EncodedMoments, error) {
	rows, err := e.check(data)
	if err != nil {
		return nil, err
	}
	z, n := e.Rows.Dims()
	m := &EncodedMoments{
		FeatureMean: make([]float64, n), UnitMean: make([]float64, z),
		Unit: mat.NewSymDense(z, nil), Cross: mat.NewDense(n, z, nil),
	}
	// Features are summed relative to the encoder's mean, which is near theirs.
	for x, u := range e.pairs(data) {
		subtractRow(x, e.Mean)
		addColumnSums(m.FeatureMean, x)
		addColumnSums(m.UnitMean, u)
	}
	for j := range m.FeatureMean {
		m.FeatureMean[j] = e.Mean[j] + m.FeatureMean[j]/float64(rows)
	}
	for i := range m.UnitMean {
		m.UnitMean[i] /= float64(rows)
	}
	var cross mat.Dense
	for x, u := range e.pairs(data) {
		subtractRow(x, m.FeatureMean)
		subtractRow(u, m.UnitMean)
		m.Unit.SymRankK(m.Unit, 1/float64(rows), u.T())
		cross.Reset()
		cross.Mul(x.T(), u)
		cross.Scale(1/float64(rows), &cross)
		m.Cross.Add(m.Cross, &cross)
	}
	return m, nil
}

// UnclippedMoments returns the moments that follow from those of the features
// alone if nothing is clipped: C_uu = WΣWᵀ, C_xu = ΣWᵀ. Errors wrap ErrInvalid.
func (e *Encoder) UnclippedMoments(m Moments) (*EncodedMoments, error) {
	if err := e.checkMoments(m); err != nil {
		return nil, err
	}
	z, _ := e.Rows.Dims()
	encoded := &EncodedMoments{
		FeatureMean: slices.Clone(m.Mean), UnitMean: e.unclippedMean(m.Mean),
		Unit: mat.NewSymDense(z, nil), Cross: new(mat.Dense),
	}
	encoded.Cross.Mul(m.Covariance, e.Rows.T())
	var unit mat.Dense
	unit.Mul(e.Rows, encoded.Cross)
	for i := range z {
		for j := i; j < z; j++ {
			encoded.Unit.SetSym(i, j, (unit.At(i, j)+unit.At(j, i))/2)
		}
	}
	return encoded, nil
}

// Gain returns by how much the decoder of [NewDecoder] for these moments lowers the
// expected loss for the task (m×n, nil for the identity) from that of releasing
// nothing, tr(KΣKᵀ): tr(K D C_xuᵀ Kᵀ). With it a search over designs needs no
// pass over the data for each. For any other decoder it means nothing. Errors
// wrap ErrInvalid.
func (m *EncodedMoments) Gain(task *mat.Dense, d *Decoder) (float64, error) {
	n, z := m.Cross.Dims()
	if err := d.checkSize(n, z); err != nil {
		return 0, err
	}
	task, err := checkTask(task, n)
	if err != nil {
		return 0, err
	}
	var decoded, covered mat.Dense
	decoded.Mul(task, d.Matrix)
	covered.Mul(task, m.Cross)
	gain := 0.
	outputs, _ := task.Dims()
	for o := range outputs {
		gain += dot(decoded.RawRowView(o), covered.RawRowView(o))
	}
	return gain, nil
}

func (e *Encoder) checkMoments(m Moments) error {
	if _, err := e.check(nil); err != nil {
		return err
	}
	if err := m.checkFinite(); err != nil {
		return err
	}
	if len(m.Mean) != len(e.Mean) {
		return check.Field("latent", "features of the moments", len(m.Mean), fmt.Sprintf("%d, as the encoder has", len(e.Mean)))
	}
	return nil
}

// unclippedMean returns W(x − μ) + offset.
func (e *Encoder) unclippedMean(x []float64) []float64 {
	z, _ := e.Rows.Dims()
	u := make([]float64, z)
	copy(u, e.Offset)
	for i := range u {
		for j, w := range e.Rows.RawRowView(i) {
			u[i] += w * (x[j] - e.Mean[j])
		}
	}
	return u
}
