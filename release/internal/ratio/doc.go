// SPDX-License-Identifier: Apache-2.0

// Package ratio releases the mean of values from lower to upper as a ratio of two sums with noise,
// where neighbors add or remove records, so that their number is hidden too.
//
// A Method says which sums. Pair has Σ(x−lower) and Σ(upper−x), which a record moves by upper−lower
// together (Kulesza, Suresh & Wang, "Mean estimation in the add-remove model of differential
// privacy", ICML 2024): with Laplace noise each of them has the whole epsilon (pairEpsilon). Split
// has Σ(x−center) and the number of records, which share the privacy parameters.
//
// Sums are in points of a table, multiples of a unit: with Δ the most that neighbors move a sum and
// N points that this is to be, a sum s is rounded to ⌊s·N/Δ + 1/2⌋ points before noise is added.
package ratio
