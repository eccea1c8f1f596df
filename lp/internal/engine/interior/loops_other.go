//go:build !amd64

package interior

// There is no vector code: it does the first 0 numbers of every loop.

func compareVectors([]float64, []float64, []float64, float64) int    { return 0 }
func addVectors([]float64, []float64, float64) int                   { return 0 }
func aimVectors([]float64, []float64, []float64, float64) int        { return 0 }
func withinVectors(*parts, []float64, []float64, float64) int        { return 0 }
func (*block) productsVectors(*parts, float64, float64) int          { return 0 }
func (*block) correctVectors(float64, float64, float64, float64) int { return 0 }
func (*terms) residualsVectors(int, []float64) int                   { return 0 }
func (*terms) weighVectors(int, []float64) int                       { return 0 }
func (*terms) sidesVectors(int, []float64) int                       { return 0 }
func (*terms) expandVectors(int, []float64, float64) int             { return 0 }
