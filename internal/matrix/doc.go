// SPDX-License-Identifier: Apache-2.0

// Package matrix multiplies dense matrices, factors symmetric positive definite ones that are sums of
// products, M + B·Bᵀ, and solves with them, in float64.
//
// Its loops are in vector code where the processor has AVX2 or AVX-512, chosen when the program
// starts, and in Go otherwise. All do the same additions and multiplications in the same order, and
// none fuses them, so that the results are the same bits on every processor.
package matrix
