// SPDX-License-Identifier: Apache-2.0

//go:build !purego

#include "textflag.h"

// LOAD sets R to the complements of the words of two pairs.
#define LOAD(R) \
	VLD1.P 32(R4), [V16.D2, V17.D2]; \
	VUZP1  V17.D2, V16.D2, R.D2; \
	VEOR   V28.B16, R.B16, R.B16

// SPLIT sets E to the bytes of A and B with even numbers, and O to the others.
#define SPLIT(A, B, E, O) \
	VUZP1 B.B16, A.B16, E.B16; \
	VUZP2 B.B16, A.B16, O.B16

// SELECT adds to R what the next plane of the chunk has for the words that are in the
// chunk; for the others the index in V25 is 128 or more, and 0 is selected.
#define SELECT(R) \
	VLD1.P 64(R0), [V16.B16, V17.B16, V18.B16, V19.B16]; \
	VTBL   V25.B16, [V16.B16, V17.B16, V18.B16, V19.B16], V26.B16; \
	VORR   V26.B16, R.B16, R.B16

// COMPARE takes one more plane into account, of words W and elements E, in ascending order
// of significance. V25 is -1 where the complement of the word is not less than that of the
// element in the planes so far: what the plane says, unless they are equal in it.
#define COMPARE(E, W) \
	VUMAX W.B16, E.B16, V26.B16; \
	VCMEQ W.B16, V26.B16, V26.B16; \
	VCMEQ W.B16, E.B16, V27.B16; \
	VBIF  V27.B16, V26.B16, V25.B16

#define CLEAR(R) VEOR R.B16, R.B16, R.B16

// func rankNEON(chunks *byte, levels *uint32, n int, ranks *[16]uint16, pairs *[256]byte)
//
// V0-V7 are the planes of the words, V8-V15 those of the elements that they are compared
// with. V20 is the place in the chunk, in the low six bits of each byte, the high one being
// set, and V21 the number of the chunk.
TEXT ·rankNEON(SB), NOSPLIT, $0-40
	MOVD chunks+0(FP), R0
	MOVD levels+8(FP), R1
	MOVD n+16(FP), R2
	MOVD ranks+24(FP), R3
	MOVD pairs+32(FP), R4

	VMOVI $255, V28.B16

	LOAD(V0)
	LOAD(V1)
	LOAD(V2)
	LOAD(V3)
	LOAD(V4)
	LOAD(V5)
	LOAD(V6)
	LOAD(V7)

	// Bytes 0, 2, 4, 6 of the words and 1, 3, 5, 7; then 0 and 4, 2 and 6, 1 and 5, 3 and
	// 7; then each one by itself.
	SPLIT(V0, V1, V8, V12)
	SPLIT(V2, V3, V9, V13)
	SPLIT(V4, V5, V10, V14)
	SPLIT(V6, V7, V11, V15)
	SPLIT(V8, V9, V16, V18)
	SPLIT(V10, V11, V17, V19)
	SPLIT(V12, V13, V24, V26)
	SPLIT(V14, V15, V25, V27)
	SPLIT(V16, V17, V0, V4)
	SPLIT(V18, V19, V2, V6)
	SPLIT(V24, V25, V1, V5)
	SPLIT(V26, V27, V3, V7)

	VMOVI $1, V23.B16
	VMOVI $63, V29.B16
	VMOVI $128, V24.B16
	VMOVI $128, V20.B16
	CLEAR(V21)

level:
	MOVWU.P 4(R1), R5
	CLEAR(V8)
	CLEAR(V9)
	CLEAR(V10)
	CLEAR(V11)
	CLEAR(V12)
	CLEAR(V13)
	CLEAR(V14)
	CLEAR(V15)
	CLEAR(V22)

chunk:
	VCMEQ V22.B16, V21.B16, V25.B16
	VADD  V23.B16, V22.B16, V22.B16
	VAND  V24.B16, V25.B16, V25.B16
	VEOR  V20.B16, V25.B16, V25.B16
	SELECT(V8)
	SELECT(V9)
	SELECT(V10)
	SELECT(V11)
	SELECT(V12)
	SELECT(V13)
	SELECT(V14)
	SELECT(V15)
	SUB   $1, R5
	CBNZ  R5, chunk

	VMOVI $255, V25.B16
	COMPARE(V8, V0)
	COMPARE(V9, V1)
	COMPARE(V10, V2)
	COMPARE(V11, V3)
	COMPARE(V12, V4)
	COMPARE(V13, V5)
	COMPARE(V14, V6)
	COMPARE(V15, V7)

	// The node doubles, and one more where the element is below: 1 - 1 where it is not.
	VUSHR $5, V20.B16, V26.B16
	VAND  V23.B16, V26.B16, V26.B16
	VADD  V21.B16, V21.B16, V21.B16
	VADD  V26.B16, V21.B16, V21.B16
	VADD  V23.B16, V25.B16, V25.B16
	VADD  V20.B16, V20.B16, V20.B16
	VADD  V25.B16, V20.B16, V20.B16
	VAND  V29.B16, V20.B16, V20.B16
	VORR  V24.B16, V20.B16, V20.B16
	SUB   $1, R2
	CBNZ  R2, level

	VAND   V29.B16, V20.B16, V20.B16
	VUXTL  V20.B8, V16.H8
	VUXTL2 V20.B16, V17.H8
	VUXTL  V21.B8, V18.H8
	VUXTL2 V21.B16, V19.H8
	VSHL   $6, V18.H8, V18.H8
	VSHL   $6, V19.H8, V19.H8
	VORR   V18.B16, V16.B16, V16.B16
	VORR   V19.B16, V17.B16, V17.B16
	VST1   [V16.H8, V17.H8], (R3)

	// Nothing of the words is left in registers.
	CLEAR(V0)
	CLEAR(V1)
	CLEAR(V2)
	CLEAR(V3)
	CLEAR(V4)
	CLEAR(V5)
	CLEAR(V6)
	CLEAR(V7)
	CLEAR(V8)
	CLEAR(V9)
	CLEAR(V10)
	CLEAR(V11)
	CLEAR(V12)
	CLEAR(V13)
	CLEAR(V14)
	CLEAR(V15)
	CLEAR(V16)
	CLEAR(V17)
	CLEAR(V18)
	CLEAR(V19)
	CLEAR(V20)
	CLEAR(V21)
	CLEAR(V25)
	CLEAR(V26)
	CLEAR(V27)
	RET
