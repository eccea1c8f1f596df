// SPDX-License-Identifier: Apache-2.0

// Package selection releases a quantile, or the candidates of the largest counts, by permute-and-flip
// (McKenna & Sheldon, "Permute-and-Flip: a new mechanism for differentially private selection", NeurIPS 2020),
// exactly, without floats.
//
// Of a quantile the records are rounded to a grid of candidates, which is fixed in advance. A candidate is the
// worse the further q times the number of records is from its ranks, and the answer is a candidate.
// Guarantee: (epsilon, 0) for a choice, proved in docs/proofs/selection.md together with a bound on the error, in
// ranks or counts, that does not depend on the data.
package selection
