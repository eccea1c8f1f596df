// Package exact holds the few pieces of arithmetic that privacy claims rest
// on: bounds of the exponential function with a known rounding direction, and
// decimal numbers that are parsed exactly and printed rounded towards the safe
// side.
package exact
