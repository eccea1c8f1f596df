//go:build !unix

package readfile

// nonblock is for systems with named pipes among the files.
const nonblock = 0
