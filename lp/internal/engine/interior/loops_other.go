// SPDX-License-Identifier: Apache-2.0

//go:build !amd64

package interior

// vectors says that no numbers are for vector code, of which there is none.
func vectors(int) int { return 0 }

func compareAVX2(*float64, *float64, *float64, int, float64)      {}
func addAVX2(*float64, *float64, int, float64)                    {}
func aimAVX2(*float64, *float64, *float64, int, float64)          {}
func withinAVX2(*parts, *float64, *float64, int, float64)         {}
func productsAVX2(*block, *parts, int, float64, float64)          {}
func correctAVX2(*block, int, float64, float64, float64, float64) {}
func residualsAVX2(*terms, int, int, *float64)                    {}
func weighAVX2(*terms, int, int, *float64)                        {}
func sidesAVX2(*terms, int, int, *float64)                        {}
func expandAVX2(*terms, int, int, *float64, float64)              {}
