// SPDX-License-Identifier: Apache-2.0

// Package loss holds what an error costs: the functions c(x) whose expectation a design minimizes.
//
// [Parse] reads a loss as flags and files write it: a kind with parameters (l1, l2, lp:1.5,
// pinball:0.9, asymmetric:1,2, huber:2, deadzone:0.5, exceed:3, pwl:…), possibly weighted (l1:0.7),
// possibly a sum (l1:0.7 + exceed:3:0.3). [Kinds] describes them, [New] makes one from numbers, and
// [Of] has what can be asked of any loss. [NewPiecewise] makes a loss from polynomials of degree 2 at most, jumps
// allowed; any other loss implements [Loss], and the methods named there as far as they apply.
//
// Every bound that a certificate takes from a loss is on big.Rat and has its
// rounding direction in its name: rounded outwards for lp:P, exact for all others.
package loss
