// SPDX-License-Identifier: Apache-2.0

// Package blocks finds local randomizers of least squared error for a coordinate of a known law:
// the range is cut into blocks, the block of a value goes through randomized response, and the
// answer is the mean of the values given it. It is the best mechanism among all with delta = 0 that
// make an answer likelier on an interval of values (docs/proofs/latent-choice.md).
package blocks
