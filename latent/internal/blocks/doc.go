// Package blocks finds local randomizers of least mean squared error for a coordinate
// whose law is known from training data: the range is cut into blocks, the block of a
// value goes through randomized response, and the answer is what is to be expected of a
// person who gave it.
//
// It is the best mechanism among all with delta = 0 that make an answer likelier on an
// interval of values, and no solver is needed to find it (docs/proofs/latent-choice.md).
//
// Errors carry the name of package latent, through which users come here.
package blocks
