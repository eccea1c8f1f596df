// SPDX-License-Identifier: Apache-2.0

//go:build (!amd64 && !arm64) || purego

package rank

func vectorMethods() []Method { return nil }

func (*tree) rank(kind, *[Batch]uint16, *[Batch * PairBytes]byte) {
	panic("rank: no vector code") // there are no methods that need it
}
