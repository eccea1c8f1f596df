package encoder

import "gonum.org/v1/gonum/blas/blas64"

// Matrix is a dense matrix by rows; in this package and those below it Stride is Cols.
type Matrix = blas64.General

// Data is what an encoder is trained on: a row for each person. It is not protected: only
// people whose features are encoded later are.
type Data struct {
	Features []string // the names of the columns of X
	X        Matrix
	Target   Column   // what the server wants to know
	Private  []Column // what a filter is to hide
}

// Column is a number or a class for each person.
type Column struct {
	Name    string
	Values  []float64 // numbers; nil for classes
	Classes []string  // their names, distinct, ascending; nil for numbers
	Labels  []int     // the class of each person, an index of Classes
}
