// SPDX-License-Identifier: Apache-2.0

// Package concentration bounds how far the mean of independent answers is from the mean of the
// values behind them, where the law of the answer to each value is known and the values are not
// (docs/proofs/concentration.md).
//
// Three bounds hold, and the least counts: Bentkus (2004) by the worst variance and the range; the
// theorem of Berry and Esseen with the constant of Shevtsova (2013); and the smoothing inequality of
// Prawitz (1972), integrated over bounds of the known characteristic functions. All are rounded outwards.
package concentration
