// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"reflect"

	"gonum.org/v1/gonum/mathext"

	"github.com/noisewright/noisewright/internal/check"
)

// Errors are the records that a model is wrong about. They are exact, and not private: they
// tell of the records that it was tested on.
type Errors struct {
	Rows  int     `json:"rows"`
	Wrong int     `json:"wrong"`
	Rate  float64 `json:"rate"` // wrong of all
	// Lower and Upper contain, with a probability of at least level, the probability of an error on
	// a record from where those of the test are, if these are independent (Clopper & Pearson 1934).
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
	Level float64 `json:"level"`
}

// level is that of the intervals of Errors.
const level = 0.95

// Evaluate counts the labeled records that the model is wrong about. The error wraps
// dp.ErrInvalid for none, and for records without classes or of another schema.
func (m *Model) Evaluate(d *Data) (Errors, error) {
	err := d.wantLabels()
	switch {
	case err != nil:
	case d.schema != m.Schema && !reflect.DeepEqual(d.schema, m.Schema):
		err = check.Field("learn", "data", "of another schema", "records that were read by the model's")
	case d.Len() == 0:
		err = check.Field("learn", "data", "no records", "one at least")
	}
	if err != nil {
		return Errors{}, err
	}
	e := Errors{Rows: d.Len(), Level: level}
	for row := range d.Len() {
		if m.Predict(d, row) != d.Class(row) {
			e.Wrong++
		}
	}
	e.Rate = float64(e.Wrong) / float64(e.Rows)
	e.Lower, e.Upper = clopperPearson(e.Wrong, e.Rows, level)
	return e, nil
}

// clopperPearson returns an interval for the probability of an event that came wrong of n
// times: the quantiles of beta distributions.
func clopperPearson(wrong, n int, level float64) (lower, upper float64) {
	tail, k, all := (1-level)/2, float64(wrong), float64(n)
	upper = 1
	if wrong > 0 {
		lower = mathext.InvRegIncBeta(k, all-k+1, tail)
	}
	if wrong < n {
		upper = mathext.InvRegIncBeta(k+1, all-k, 1-tail)
	}
	return lower, upper
}
