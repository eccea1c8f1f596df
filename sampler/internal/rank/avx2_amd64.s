// SPDX-License-Identifier: Apache-2.0

//go:build !purego

#include "textflag.h"

// The bytes of two words in turn.
DATA zip<>+0x00(SB)/8, $0x0b030a0209010800
DATA zip<>+0x08(SB)/8, $0x0f070e060d050c04
DATA zip<>+0x10(SB)/8, $0x0b030a0209010800
DATA zip<>+0x18(SB)/8, $0x0f070e060d050c04
GLOBL zip<>(SB), RODATA|NOPTR, $32

#define EACH(name, value) \
	DATA name<>+0x00(SB)/8, value; \
	DATA name<>+0x08(SB)/8, value; \
	DATA name<>+0x10(SB)/8, value; \
	DATA name<>+0x18(SB)/8, value; \
	GLOBL name<>(SB), RODATA|NOPTR, $32

EACH(one, $0x0101010101010101)
EACH(low, $0x0f0f0f0f0f0f0f0f)
EACH(high, $0x8080808080808080)

// LOAD sets R to the complements of the words of four pairs: in either half two of them,
// their bytes in turn.
#define LOAD(offset, R) \
	VMOVDQU     offset(DI), R; \
	VPUNPCKLQDQ offset+32(DI), R, R; \
	VPSHUFB     zip<>(SB), R, R; \
	VPXOR       Y15, R, R

// SELECT adds to R what the chunk's plane has for the words that are in the chunk; for the
// others the index in Y8 has its high bit set, and 0 is selected.
#define SELECT(plane, R) \
	VBROADCASTI128 16*plane(SI), Y9; \
	VPSHUFB        Y8, Y9, Y9; \
	VPOR           Y9, R, R

// COMPARE takes one more plane into account, in ascending order of significance. Y8 is -1
// where the complement of the word is not less than that of the element in the planes so
// far: it stays so if the plane says the same, and is not so if it is less, or equal and
// was not before.
#define COMPARE(plane, R) \
	VMOVDQU  words-256+32*plane(SP), Y9; \
	VPMAXUB  Y9, R, Y10; \
	VPCMPEQB Y9, Y10, Y10; \
	VPCMPEQB Y9, R, Y9; \
	VPANDN   Y9, Y8, Y9; \
	VPANDN   Y10, Y9, Y8

// func rankAVX2(chunks *byte, levels *uint32, n int, ranks *[32]uint16, pairs *[512]byte)
//
// The planes of the words are on the stack; Y0-Y7 are those of the elements that they are
// compared with. Y11 is the place in the chunk, in the low four bits of each byte, the high
// one being set, and Y12 the number of the chunk. The lower halves of registers have the
// words of pairs 0, 2, …, and the upper halves those of pairs 1, 3, ….
TEXT ·rankAVX2(SB), NOSPLIT, $256-40
	MOVQ chunks+0(FP), SI
	MOVQ levels+8(FP), DX
	MOVQ n+16(FP), CX
	MOVQ ranks+24(FP), R8
	MOVQ pairs+32(FP), DI

	VPCMPEQB Y15, Y15, Y15

	LOAD(0, Y0)
	LOAD(64, Y1)
	LOAD(128, Y2)
	LOAD(192, Y3)
	LOAD(256, Y4)
	LOAD(320, Y5)
	LOAD(384, Y6)
	LOAD(448, Y7)

	// Transpose this matrix of 8 by 8 times 2 bytes, in either half.
	VPUNPCKLWD Y1, Y0, Y8
	VPUNPCKHWD Y1, Y0, Y9
	VPUNPCKLWD Y3, Y2, Y10
	VPUNPCKHWD Y3, Y2, Y11
	VPUNPCKLWD Y5, Y4, Y12
	VPUNPCKHWD Y5, Y4, Y13
	VPUNPCKLWD Y7, Y6, Y14
	VPUNPCKHWD Y7, Y6, Y15

	VPUNPCKLDQ Y10, Y8, Y0
	VPUNPCKHDQ Y10, Y8, Y1
	VPUNPCKLDQ Y11, Y9, Y2
	VPUNPCKHDQ Y11, Y9, Y3
	VPUNPCKLDQ Y14, Y12, Y4
	VPUNPCKHDQ Y14, Y12, Y5
	VPUNPCKLDQ Y15, Y13, Y6
	VPUNPCKHDQ Y15, Y13, Y7

	VPUNPCKLQDQ Y4, Y0, Y8
	VPUNPCKHQDQ Y4, Y0, Y9
	VPUNPCKLQDQ Y5, Y1, Y10
	VPUNPCKHQDQ Y5, Y1, Y11
	VPUNPCKLQDQ Y6, Y2, Y12
	VPUNPCKHQDQ Y6, Y2, Y13
	VPUNPCKLQDQ Y7, Y3, Y14
	VPUNPCKHQDQ Y7, Y3, Y15

	VMOVDQU Y8, words-256(SP)
	VMOVDQU Y9, words-224(SP)
	VMOVDQU Y10, words-192(SP)
	VMOVDQU Y11, words-160(SP)
	VMOVDQU Y12, words-128(SP)
	VMOVDQU Y13, words-96(SP)
	VMOVDQU Y14, words-64(SP)
	VMOVDQU Y15, words-32(SP)

	VMOVDQU one<>(SB), Y14
	VMOVDQU high<>(SB), Y15
	VMOVDQA Y15, Y11
	VPXOR   Y12, Y12, Y12

level:
	MOVL  (DX), BX
	ADDQ  $4, DX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7
	VPXOR Y13, Y13, Y13

chunk:
	VPCMPEQB Y13, Y12, Y8
	VPADDB   Y14, Y13, Y13
	VPAND    Y15, Y8, Y8
	VPXOR    Y11, Y8, Y8
	SELECT(0, Y0)
	SELECT(1, Y1)
	SELECT(2, Y2)
	SELECT(3, Y3)
	SELECT(4, Y4)
	SELECT(5, Y5)
	SELECT(6, Y6)
	SELECT(7, Y7)
	ADDQ     $128, SI
	DECL     BX
	JNZ      chunk

	VPCMPEQB Y8, Y8, Y8
	COMPARE(0, Y0)
	COMPARE(1, Y1)
	COMPARE(2, Y2)
	COMPARE(3, Y3)
	COMPARE(4, Y4)
	COMPARE(5, Y5)
	COMPARE(6, Y6)
	COMPARE(7, Y7)

	// The node doubles, and one more where the element is below: 1 - 1 where it is not.
	VPSRLW $3, Y11, Y9
	VPAND  Y14, Y9, Y9
	VPADDB Y12, Y12, Y12
	VPADDB Y9, Y12, Y12
	VPADDB Y11, Y11, Y11
	VPADDB Y14, Y8, Y8
	VPADDB Y8, Y11, Y11
	VPAND  low<>(SB), Y11, Y11
	VPOR   Y15, Y11, Y11
	DECQ   CX
	JNZ    level

	VPXOR        Y15, Y11, Y11
	VEXTRACTI128 $1, Y11, X8
	VEXTRACTI128 $1, Y12, X9
	VPMOVZXBW    X11, Y0
	VPMOVZXBW    X12, Y1
	VPMOVZXBW    X8, Y2
	VPMOVZXBW    X9, Y3
	VPSLLW       $4, Y1, Y1
	VPSLLW       $4, Y3, Y3
	VPOR         Y1, Y0, Y0
	VPOR         Y3, Y2, Y2
	VPUNPCKLWD   Y2, Y0, Y4
	VPUNPCKHWD   Y2, Y0, Y5
	VPERM2I128   $0x20, Y5, Y4, Y6
	VPERM2I128   $0x31, Y5, Y4, Y7
	VMOVDQU      Y6, (R8)
	VMOVDQU      Y7, 32(R8)

	// Nothing of the words is left in registers or on the stack.
	VPXOR   Y0, Y0, Y0
	VMOVDQU Y0, words-256(SP)
	VMOVDQU Y0, words-224(SP)
	VMOVDQU Y0, words-192(SP)
	VMOVDQU Y0, words-160(SP)
	VMOVDQU Y0, words-128(SP)
	VMOVDQU Y0, words-96(SP)
	VMOVDQU Y0, words-64(SP)
	VMOVDQU Y0, words-32(SP)
	VZEROALL
	RET
