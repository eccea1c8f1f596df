// SPDX-License-Identifier: Apache-2.0

package formfile

// TableShift holds the multipliers of one shift.
type TableShift struct {
	Shift       int     `json:"shift"` // in cells, 1 <= |Shift| <= CellsPerSensitivity
	FirstCell   int     `json:"first_cell"`
	Multipliers []int64 `json:"multipliers,string"`
}

// KernelPair holds the multipliers of one ordered pair of cells, no further
// apart than the sensitivity, for the outputs from First on.
type KernelPair struct {
	Gain        int     `json:"gain"`
	Lose        int     `json:"lose"`
	First       int     `json:"first"`
	Multipliers []int64 `json:"multipliers,string"`
}

// LocalPair holds the multipliers, at least 0, of one ordered pair of nodes for the answers
// from First on; all others are 0.
type LocalPair struct {
	Gain        int       `json:"gain"`
	Lose        int       `json:"lose"`
	First       int       `json:"first"`
	Multipliers []float64 `json:"multipliers"`
}

// PlaneRow holds those of the nodes (X, First), (X, First+1), …; all others are 0.
type PlaneRow struct {
	X           int     `json:"x"`
	First       int     `json:"first"`
	Multipliers []int64 `json:"multipliers,string"`
}
