// SPDX-License-Identifier: Apache-2.0

//go:build !purego

#include "textflag.h"

// The first words of eight pairs, 0, 2, … 14.
DATA first<>+0x00(SB)/8, $0
DATA first<>+0x08(SB)/8, $2
DATA first<>+0x10(SB)/8, $4
DATA first<>+0x18(SB)/8, $6
DATA first<>+0x20(SB)/8, $8
DATA first<>+0x28(SB)/8, $10
DATA first<>+0x30(SB)/8, $12
DATA first<>+0x38(SB)/8, $14
GLOBL first<>(SB), RODATA|NOPTR, $64

// Byte p of eight words, for p = 0, 1, … 7.
DATA bytes<>+0x00(SB)/8, $0x3830282018100800
DATA bytes<>+0x08(SB)/8, $0x3931292119110901
DATA bytes<>+0x10(SB)/8, $0x3a322a221a120a02
DATA bytes<>+0x18(SB)/8, $0x3b332b231b130b03
DATA bytes<>+0x20(SB)/8, $0x3c342c241c140c04
DATA bytes<>+0x28(SB)/8, $0x3d352d251d150d05
DATA bytes<>+0x30(SB)/8, $0x3e362e261e160e06
DATA bytes<>+0x38(SB)/8, $0x3f372f271f170f07
GLOBL bytes<>(SB), RODATA|NOPTR, $64

// LOAD sets R to the complements of the words of eight pairs, byte by byte: eight times
// byte 0, eight times byte 1, and so on.
#define LOAD(offset, R) \
	VMOVDQU64 offset(DI), R; \
	VPERMT2Q  offset+64(DI), Z20, R; \
	VPERMB    R, Z21, R; \
	VPXORQ    Z22, R, R

// SELECT adds to R what the chunk's plane has for the words that are in the chunk.
#define SELECT(plane, R) VPERMB 64*plane(SI), Z16, K1, R

// PAIR compares two planes, of words W0, W1 and elements E0, E1, the second ones being
// more significant: LT is set where the words' complements are less, and EQ where they are
// equal.
#define PAIR(E0, E1, W0, W1, LT, EQ, T) \
	VPCMPUB  $1, E1, W1, LT; \
	VPCMPEQB E1, W1, EQ; \
	VPCMPUB  $1, E0, W0, EQ, T; \
	VPCMPEQB E0, W0, EQ, EQ; \
	KORQ     T, LT, LT

// func rankAVX512(chunks *byte, levels *uint32, n int, ranks *[64]uint16, pairs *[1024]byte)
//
// Z0-Z7 are the planes of the words, Z8-Z15 those of the elements that they are compared
// with; Z16 is the place in the chunk, in the low six bits of each byte, and Z17 the number
// of the chunk.
TEXT ·rankAVX512(SB), NOSPLIT, $0-40
	MOVQ chunks+0(FP), SI
	MOVQ levels+8(FP), DX
	MOVQ n+16(FP), CX
	MOVQ ranks+24(FP), R8
	MOVQ pairs+32(FP), DI

	VMOVDQU64  first<>(SB), Z20
	VMOVDQU64  bytes<>(SB), Z21
	VPTERNLOGD $0xff, Z22, Z22, Z22

	LOAD(0, Z8)
	LOAD(128, Z9)
	LOAD(256, Z10)
	LOAD(384, Z11)
	LOAD(512, Z12)
	LOAD(640, Z13)
	LOAD(768, Z14)
	LOAD(896, Z15)

	// Transpose this matrix of 8 by 8 times 8 bytes: pairs of rows, then blocks of 16
	// bytes.
	VPUNPCKLQDQ Z9, Z8, Z0
	VPUNPCKHQDQ Z9, Z8, Z1
	VPUNPCKLQDQ Z11, Z10, Z2
	VPUNPCKHQDQ Z11, Z10, Z3
	VPUNPCKLQDQ Z13, Z12, Z4
	VPUNPCKHQDQ Z13, Z12, Z5
	VPUNPCKLQDQ Z15, Z14, Z6
	VPUNPCKHQDQ Z15, Z14, Z7

	VSHUFI64X2 $0x88, Z2, Z0, Z8
	VSHUFI64X2 $0xdd, Z2, Z0, Z9
	VSHUFI64X2 $0x88, Z6, Z4, Z10
	VSHUFI64X2 $0xdd, Z6, Z4, Z11
	VSHUFI64X2 $0x88, Z3, Z1, Z12
	VSHUFI64X2 $0xdd, Z3, Z1, Z13
	VSHUFI64X2 $0x88, Z7, Z5, Z14
	VSHUFI64X2 $0xdd, Z7, Z5, Z15

	VSHUFI64X2 $0x88, Z10, Z8, Z0
	VSHUFI64X2 $0xdd, Z10, Z8, Z4
	VSHUFI64X2 $0x88, Z11, Z9, Z2
	VSHUFI64X2 $0xdd, Z11, Z9, Z6
	VSHUFI64X2 $0x88, Z14, Z12, Z1
	VSHUFI64X2 $0xdd, Z14, Z12, Z5
	VSHUFI64X2 $0x88, Z15, Z13, Z3
	VSHUFI64X2 $0xdd, Z15, Z13, Z7

	MOVL         $1, AX
	VPBROADCASTB AX, Z19
	MOVL         $0x20, AX
	VPBROADCASTB AX, Z20
	VPXORQ       Z16, Z16, Z16
	VPXORQ       Z17, Z17, Z17

level:
	MOVL   (DX), BX
	ADDQ   $4, DX
	VPXORQ Z8, Z8, Z8
	VPXORQ Z9, Z9, Z9
	VPXORQ Z10, Z10, Z10
	VPXORQ Z11, Z11, Z11
	VPXORQ Z12, Z12, Z12
	VPXORQ Z13, Z13, Z13
	VPXORQ Z14, Z14, Z14
	VPXORQ Z15, Z15, Z15
	VPXORQ Z18, Z18, Z18

chunk:
	VPCMPEQB Z18, Z17, K1
	VPADDB   Z19, Z18, Z18
	SELECT(0, Z8)
	SELECT(1, Z9)
	SELECT(2, Z10)
	SELECT(3, Z11)
	SELECT(4, Z12)
	SELECT(5, Z13)
	SELECT(6, Z14)
	SELECT(7, Z15)
	ADDQ     $512, SI
	DECL     BX
	JNZ      chunk

	// K1: the complement of the word is less than that of the element, which is below
	// the word then. Planes are joined two by two.
	PAIR(Z8, Z9, Z0, Z1, K1, K2, K3)
	PAIR(Z10, Z11, Z2, Z3, K4, K5, K6)
	KANDQ K5, K1, K1
	KORQ  K4, K1, K1
	PAIR(Z12, Z13, Z4, Z5, K2, K3, K4)
	PAIR(Z14, Z15, Z6, Z7, K5, K6, K7)
	KANDQ K6, K2, K2
	KORQ  K5, K2, K2
	KANDQ K6, K3, K3
	KANDQ K3, K1, K1
	KORQ  K2, K1, K1

	// The node doubles, and one more where the element is below.
	VPTESTMB Z20, Z16, K2
	VPADDB   Z17, Z17, Z17
	VPADDB   Z19, Z17, K2, Z17
	VPADDB   Z16, Z16, Z16
	VPADDB   Z19, Z16, K1, Z16
	DECQ     CX
	JNZ      level

	MOVL          $0x3f, AX
	VPBROADCASTB  AX, Z20
	VPANDQ        Z20, Z16, Z16
	VEXTRACTI64X4 $1, Z16, Y18
	VEXTRACTI64X4 $1, Z17, Y19
	VPMOVZXBW     Y16, Z16
	VPMOVZXBW     Y17, Z17
	VPMOVZXBW     Y18, Z18
	VPMOVZXBW     Y19, Z19
	VPSLLW        $6, Z17, Z17
	VPSLLW        $6, Z19, Z19
	VPORQ         Z17, Z16, Z16
	VPORQ         Z19, Z18, Z18
	VMOVDQU64     Z16, (R8)
	VMOVDQU64     Z18, 64(R8)

	// Nothing of the words is left in registers.
	VPXORQ Z16, Z16, Z16
	VPXORQ Z17, Z17, Z17
	VPXORQ Z18, Z18, Z18
	VPXORQ Z19, Z19, Z19
	KXORQ  K1, K1, K1
	KXORQ  K2, K2, K2
	KXORQ  K3, K3, K3
	KXORQ  K4, K4, K4
	KXORQ  K5, K5, K5
	KXORQ  K6, K6, K6
	KXORQ  K7, K7, K7
	VZEROALL
	RET
