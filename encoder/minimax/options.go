package minimax

type Options struct {
	Method    Method
	Coordinates int
	Hidden    []int
	Rho       float64
	Ridge     float64
	HeadRidge float64
	Intercept bool
	Inner     int
	Steps     int
	Starts    int
	Seed      uint64
}

type Method string
const (
	Minimax Method = "minimax"
	ClosedForm Method = "closed-form"
	LDS Method = "lds"
	PCA Method = "pca"
	PPLS Method = "ppls"
	Random Method = "random"
)
