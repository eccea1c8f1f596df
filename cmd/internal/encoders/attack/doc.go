// SPDX-License-Identifier: Apache-2.0

// Package attack measures what an encoding gives away to attackers it was not trained against: each
// learns a private attribute from the encodings of some people and guesses that of others.
//
// What an attacker finds is a lower bound on what can be found. The privacy of a filter without
// noise is privacy against the attackers that were tried, and no more: one that is at chance for
// every linear attacker may tell the attribute to another one. Only added noise is a guarantee.
package attack
