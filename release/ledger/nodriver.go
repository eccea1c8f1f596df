// SPDX-License-Identifier: Apache-2.0

//go:build !((linux && (386 || amd64 || arm || arm64 || loong64 || ppc64le || riscv64 || s390x)) || (darwin && (amd64 || arm64)) || (windows && (386 || amd64 || arm64)) || (freebsd && (386 || amd64 || arm || arm64)) || (openbsd && (amd64 || arm64)) || (netbsd && amd64))

package ledger

// The database has not been translated for this system, and the rest of the module builds.
const available = false

func wrongFile(error) bool { return false }
