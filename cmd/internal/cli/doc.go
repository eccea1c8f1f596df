// SPDX-License-Identifier: Apache-2.0

// Package cli is the noisewright program: a file per command, built from the standard streams. Commands of releases
// and of vectors are in packages below it, and what several of them share is in package shell.
//
// Standard output has the result alone; progress, warnings, `error:` and `hint:` lines go to
// standard error. Files appear whole or not at all. The exit codes are listed at shell.ExitDone.
package cli
