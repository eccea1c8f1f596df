// Package cli is the noisewright program: one file per command, built by
// constructors from the standard streams.
//
// Standard output carries the result and nothing else; progress, warnings,
// `error:` and `hint:` lines go to standard error. Files appear whole or not at
// all. The exit codes are listed at shell.ExitDone.
package cli
