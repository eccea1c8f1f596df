// SPDX-License-Identifier: Apache-2.0

// Package exact holds the arithmetic that privacy claims rest on: bounds of the
// exponential function and of powers with a known rounding direction, integers of
// two words and their comparison with e^ε times another, rationals, and decimal
// numbers that are parsed exactly and printed rounded towards the safe side.
package exact
