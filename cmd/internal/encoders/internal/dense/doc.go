// SPDX-License-Identifier: Apache-2.0

// Package dense is small dense networks in float64 on the products of package matrix: layers,
// losses and their gradients, Adam, and what private training needs to know of single examples.
//
// Gradients are written by hand and tested against finite differences. Every function
// of one Pass runs on the goroutine that calls it; only the products of matrices use
// several, and each entry of a product is one sum in a fixed order. So a result depends on
// the processor's architecture, and neither on GOMAXPROCS nor on the run.
//
// Once the buffers of a Pass have their size, a step allocates nothing but what is needed
// to split large products among goroutines.
//
// Shapes that do not fit are errors of the program, and panic.
package dense
