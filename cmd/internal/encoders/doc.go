// SPDX-License-Identifier: Apache-2.0

// Package encoders is what the trainings of learned private encoders have in common, on top
// of package encoder: the data, training that can be interrupted, the search for the number
// of coordinates to send, and what decoded answers are worth.
//
// The systems are in packages of their own: taskaware, vlm and minimax. Training is in
// floating point, seeded, and proves nothing.
package encoders
