// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// The loops of kernels.go in the same order of sums, without fused operations. A panel has
// eight rows, so a column is one register of AVX-512, and two of AVX2.

// COLUMN adds one element of b, times a column of a in Z8, to the sums of a column.
#define COLUMN(offset, sum, product) \
	VMULPD.BCST offset(BX), Z8, product; \
	VADDPD      product, sum, sum

#define STORE(offset, sum) \
	VMULPD  Z9, sum, sum; \
	VADDPD  offset(DI), sum, sum; \
	VMOVUPD sum, offset(DI)

// func productAVX512(c *tile, a, b *float64, columns int, sign float64)
TEXT ·productAVX512(SB), NOSPLIT, $0-40
	MOVQ   c+0(FP), DI
	MOVQ   a+8(FP), AX
	MOVQ   b+16(FP), BX
	MOVQ   columns+24(FP), CX
	VXORPD X0, X0, X0
	VXORPD X1, X1, X1
	VXORPD X2, X2, X2
	VXORPD X3, X3, X3
	VXORPD X4, X4, X4
	VXORPD X5, X5, X5
	VXORPD X6, X6, X6
	VXORPD X7, X7, X7

columns:
	VMOVUPD (AX), Z8
	COLUMN(0, Z0, Z10)
	COLUMN(8, Z1, Z11)
	COLUMN(16, Z2, Z12)
	COLUMN(24, Z3, Z13)
	COLUMN(32, Z4, Z10)
	COLUMN(40, Z5, Z11)
	COLUMN(48, Z6, Z12)
	COLUMN(56, Z7, Z13)
	ADDQ    $64, AX
	ADDQ    $64, BX
	DECQ    CX
	JNZ     columns

	VBROADCASTSD sign+32(FP), Z9
	STORE(0, Z0)
	STORE(64, Z1)
	STORE(128, Z2)
	STORE(192, Z3)
	STORE(256, Z4)
	STORE(320, Z5)
	STORE(384, Z6)
	STORE(448, Z7)
	VZEROUPPER
	RET

// HALVES adds one element of b, times a column of a in Y8 and Y9, to the sums of a column.
#define HALVES(offset, low, high) \
	VBROADCASTSD offset(R8), Y10; \
	VMULPD       Y8, Y10, Y11; \
	VMULPD       Y9, Y10, Y12; \
	VADDPD       Y11, low, low; \
	VADDPD       Y12, high, high

#define STOREHALF(offset, sum) \
	VMULPD  Y13, sum, sum; \
	VADDPD  offset(DI), sum, sum; \
	VMOVUPD sum, offset(DI)

#define CLEAR \
	VXORPD Y0, Y0, Y0; \
	VXORPD Y1, Y1, Y1; \
	VXORPD Y2, Y2, Y2; \
	VXORPD Y3, Y3, Y3; \
	VXORPD Y4, Y4, Y4; \
	VXORPD Y5, Y5, Y5; \
	VXORPD Y6, Y6, Y6; \
	VXORPD Y7, Y7, Y7

// func productAVX2(c *tile, a, b *float64, columns int, sign float64)
TEXT ·productAVX2(SB), NOSPLIT, $0-40
	MOVQ         c+0(FP), DI
	MOVQ         a+8(FP), AX
	MOVQ         b+16(FP), BX
	MOVQ         columns+24(FP), CX
	VBROADCASTSD sign+32(FP), Y13
	MOVQ         $2, DX

four: // columns of the tile
	MOVQ AX, SI
	MOVQ BX, R8
	MOVQ CX, R9
	CLEAR

columns:
	VMOVUPD (SI), Y8
	VMOVUPD 32(SI), Y9
	HALVES(0, Y0, Y1)
	HALVES(8, Y2, Y3)
	HALVES(16, Y4, Y5)
	HALVES(24, Y6, Y7)
	ADDQ    $64, SI
	ADDQ    $64, R8
	DECQ    R9
	JNZ     columns

	STOREHALF(0, Y0)
	STOREHALF(32, Y1)
	STOREHALF(64, Y2)
	STOREHALF(96, Y3)
	STOREHALF(128, Y4)
	STOREHALF(160, Y5)
	STOREHALF(192, Y6)
	STOREHALF(224, Y7)
	ADDQ    $256, DI
	ADDQ    $32, BX
	DECQ    DX
	JNZ     four
	VZEROUPPER
	RET

// SCALE multiplies a column by the reciprocal of the diagonal.
#define SCALE(offset, column) \
	VBROADCASTSD offset(SI), Y8; \
	VMULPD       Y8, column, column

// ELIMINATE subtracts a column, times an element of d, from a later one.
#define ELIMINATE(offset, from, to) \
	VBROADCASTSD offset(SI), Y8; \
	VMULPD       Y8, from, Y9; \
	VSUBPD       Y9, to, to

// func divideAVX2(x, d *tile)
TEXT ·divideAVX2(SB), NOSPLIT, $0-16
	MOVQ x+0(FP), DI
	MOVQ d+8(FP), SI
	MOVQ $2, DX

half: // the rows of a tile
	VMOVUPD (DI), Y0
	VMOVUPD 64(DI), Y1
	VMOVUPD 128(DI), Y2
	VMOVUPD 192(DI), Y3
	VMOVUPD 256(DI), Y4
	VMOVUPD 320(DI), Y5
	VMOVUPD 384(DI), Y6
	VMOVUPD 448(DI), Y7
	SCALE(0, Y0)
	ELIMINATE(8, Y0, Y1)
	ELIMINATE(16, Y0, Y2)
	ELIMINATE(24, Y0, Y3)
	ELIMINATE(32, Y0, Y4)
	ELIMINATE(40, Y0, Y5)
	ELIMINATE(48, Y0, Y6)
	ELIMINATE(56, Y0, Y7)
	SCALE(72, Y1)
	ELIMINATE(80, Y1, Y2)
	ELIMINATE(88, Y1, Y3)
	ELIMINATE(96, Y1, Y4)
	ELIMINATE(104, Y1, Y5)
	ELIMINATE(112, Y1, Y6)
	ELIMINATE(120, Y1, Y7)
	SCALE(144, Y2)
	ELIMINATE(152, Y2, Y3)
	ELIMINATE(160, Y2, Y4)
	ELIMINATE(168, Y2, Y5)
	ELIMINATE(176, Y2, Y6)
	ELIMINATE(184, Y2, Y7)
	SCALE(216, Y3)
	ELIMINATE(224, Y3, Y4)
	ELIMINATE(232, Y3, Y5)
	ELIMINATE(240, Y3, Y6)
	ELIMINATE(248, Y3, Y7)
	SCALE(288, Y4)
	ELIMINATE(296, Y4, Y5)
	ELIMINATE(304, Y4, Y6)
	ELIMINATE(312, Y4, Y7)
	SCALE(360, Y5)
	ELIMINATE(368, Y5, Y6)
	ELIMINATE(376, Y5, Y7)
	SCALE(432, Y6)
	ELIMINATE(440, Y6, Y7)
	SCALE(504, Y7)
	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 64(DI)
	VMOVUPD Y2, 128(DI)
	VMOVUPD Y3, 192(DI)
	VMOVUPD Y4, 256(DI)
	VMOVUPD Y5, 320(DI)
	VMOVUPD Y6, 384(DI)
	VMOVUPD Y7, 448(DI)
	ADDQ    $32, DI
	DECQ    DX
	JNZ     half
	VZEROUPPER
	RET

// TIMES adds a column of a, times its element of x, to its sums.
#define TIMES(index, offset, low, high) \
	VBROADCASTSD index(BX), Y8; \
	VMULPD       offset(AX), Y8, Y9; \
	VMULPD       (offset+32)(AX), Y8, Y10; \
	VADDPD       Y9, low, low; \
	VADDPD       Y10, high, high

// func timesAVX2(out *[width]float64, a, x *float64, fours int, sign float64)
TEXT ·timesAVX2(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ a+8(FP), AX
	MOVQ x+16(FP), BX
	MOVQ fours+24(FP), CX
	CLEAR

fours:
	TIMES(0, 0, Y0, Y1)
	TIMES(8, 64, Y2, Y3)
	TIMES(16, 128, Y4, Y5)
	TIMES(24, 192, Y6, Y7)
	ADDQ $256, AX
	ADDQ $32, BX
	DECQ CX
	JNZ  fours

	VADDPD       Y2, Y0, Y0
	VADDPD       Y3, Y1, Y1
	VADDPD       Y6, Y4, Y4
	VADDPD       Y7, Y5, Y5
	VADDPD       Y4, Y0, Y0
	VADDPD       Y5, Y1, Y1
	VBROADCASTSD sign+32(FP), Y13
	STOREHALF(0, Y0)
	STOREHALF(32, Y1)
	VZEROUPPER
	RET

// DOT adds the products of a column of a with x, in Y8 and Y9, to its sums.
#define DOT(offset, low, high) \
	VMULPD offset(SI), Y8, Y10; \
	VMULPD (offset+32)(SI), Y9, Y11; \
	VADDPD Y10, low, low; \
	VADDPD Y11, high, high

// func transposedAVX2(out *[width]float64, a *float64, stride int, x *float64, panels int)
TEXT ·transposedAVX2(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ a+8(FP), AX
	MOVQ stride+16(FP), R9
	SHLQ $3, R9
	MOVQ x+24(FP), BX
	MOVQ $2, DX

four: // columns
	MOVQ AX, SI
	MOVQ BX, R8
	MOVQ panels+32(FP), CX
	CLEAR

panels:
	VMOVUPD (R8), Y8
	VMOVUPD 32(R8), Y9
	DOT(0, Y0, Y1)
	DOT(64, Y2, Y3)
	DOT(128, Y4, Y5)
	DOT(192, Y6, Y7)
	ADDQ    R9, SI
	ADDQ    $64, R8
	DECQ    CX
	JNZ     panels

	VADDPD     Y1, Y0, Y0
	VADDPD     Y3, Y2, Y2
	VADDPD     Y5, Y4, Y4
	VADDPD     Y7, Y6, Y6
	VHADDPD    Y2, Y0, Y0         // first and second rows of two columns, third and fourth
	VHADDPD    Y6, Y4, Y4
	VPERM2F128 $0x20, Y4, Y0, Y8
	VPERM2F128 $0x31, Y4, Y0, Y9
	VADDPD     Y9, Y8, Y8
	VMOVUPD    Y8, (DI)
	ADDQ       $32, DI
	ADDQ       $256, AX
	DECQ       DX
	JNZ        four
	VZEROUPPER
	RET
