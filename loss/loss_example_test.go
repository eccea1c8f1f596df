// SPDX-License-Identifier: Apache-2.0

package loss_test

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/noisewright/noisewright/loss"
)

func ExampleParse() {
	l, err := loss.Parse("l1:0.7 + exceed:3:0.3")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(l.Name(), l.At(2), l.At(4))
	_, err = loss.Parse("huber:-1")
	fmt.Println(err)
	// Output:
	// l1:0.7 + exceed:3:0.3 1.4 3.0999999999999996
	// loss: huber: T = -1, want a number from 1e-60 to 1e60
}

func ExampleKinds() {
	for _, k := range loss.Kinds()[:2] {
		fmt.Printf("%-4s%s; %s\n", k.Syntax, k.Meaning, k.Unit)
	}
	// Output:
	// l1  the absolute error |x|; mean absolute error in query units
	// l2  the squared error x²; mean squared error in query units squared
}

func ExampleView_Unit() {
	l, err := loss.Parse("exceed:3")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(loss.Of(l).Unit())
	// Output: probability of an error above 3 query units
}

// Overestimates by more than 2 units cost three times as much.
func ExampleReadPWL() {
	loss, err := loss.ReadPWL(strings.NewReader("knot,slope\n-inf,-1\n0,1\n2,3\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(loss.Name(), loss.At(-4), loss.At(4))
	// Output: pwl:-inf,-1;0,1;2,3 4 8
}

// A loss of one's own: squared error that stops growing at ±2.
func ExampleNewPiecewise() {
	four, one := big.NewRat(4, 1), big.NewRat(1, 1)
	c, err := loss.NewPiecewise("capped", []float64{-2, 2}, []loss.Quadratic{{C0: four}, {C2: one}, {C0: four}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.At(1), c.At(5), c.LowerNode(1, one), c.Symmetric(), loss.Of(c).Unimodal())
	// Output: 1 4 3/4 true true
}

func ExampleView_Symmetrized() {
	l, err := loss.New("pinball", 0.75)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(l.At(-1), l.At(1), loss.Of(l).Symmetrized().At(1))
	// Output: 0.25 0.75 0.5
}
