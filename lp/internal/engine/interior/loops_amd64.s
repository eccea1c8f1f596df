// SPDX-License-Identifier: Apache-2.0

#include "go_asm.h"
#include "textflag.h"

// The loops of loops.go, four numbers at a time, without fused operations. Pointers are to
// the end of what a loop does, and the index runs from below 0 to 0.

// func compareAVX2(to, x, z *float64, n int, ratio float64)
TEXT ·compareAVX2(SB), NOSPLIT, $0-40
	MOVQ         to+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         z+16(FP), BX
	MOVQ         n+24(FP), CX
	VBROADCASTSD ratio+32(FP), Y15
	SHLQ         $3, CX
	ADDQ         CX, DI
	ADDQ         CX, SI
	ADDQ         CX, BX
	NEGQ         CX

loop:
	VMULPD  (BX)(CX*1), Y15, Y0
	VMOVUPD (SI)(CX*1), Y1
	VSUBPD  Y0, Y1, Y1
	VMOVUPD Y1, (DI)(CX*1)
	ADDQ    $32, CX
	JNZ     loop
	VZEROUPPER
	RET

// func addAVX2(to, x *float64, n int, f float64)
TEXT ·addAVX2(SB), NOSPLIT, $0-32
	MOVQ         to+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         n+16(FP), CX
	VBROADCASTSD f+24(FP), Y15
	SHLQ         $3, CX
	ADDQ         CX, DI
	ADDQ         CX, SI
	NEGQ         CX

loop:
	VMULPD  (SI)(CX*1), Y15, Y0
	VADDPD  (DI)(CX*1), Y0, Y0
	VMOVUPD Y0, (DI)(CX*1)
	ADDQ    $32, CX
	JNZ     loop
	VZEROUPPER
	RET

// func aimAVX2(c, x, z *float64, n int, mu float64)
TEXT ·aimAVX2(SB), NOSPLIT, $0-40
	MOVQ         c+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         z+16(FP), BX
	MOVQ         n+24(FP), CX
	VBROADCASTSD mu+32(FP), Y15
	SHLQ         $3, CX
	ADDQ         CX, DI
	ADDQ         CX, SI
	ADDQ         CX, BX
	NEGQ         CX

loop:
	VMOVUPD (SI)(CX*1), Y0
	VMULPD  (BX)(CX*1), Y0, Y0
	VSUBPD  Y0, Y15, Y0
	VMOVUPD Y0, (DI)(CX*1)
	ADDQ    $32, CX
	JNZ     loop
	VZEROUPPER
	RET

// func withinAVX2(steps *parts, x, dx *float64, n int, share float64)
TEXT ·withinAVX2(SB), NOSPLIT, $0-40
	MOVQ         steps+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         dx+16(FP), BX
	MOVQ         n+24(FP), CX
	VBROADCASTSD share+32(FP), Y15
	VMOVUPD      (DI), Y14
	VPCMPEQQ     Y13, Y13, Y13
	VPSLLQ       $63, Y13, Y13 // the sign
	SHLQ         $3, CX
	ADDQ         CX, SI
	ADDQ         CX, BX
	NEGQ         CX

loop:
	VMULPD   (SI)(CX*1), Y15, Y0  // least
	VXORPD   (BX)(CX*1), Y13, Y1  // fall
	VMULPD   Y1, Y14, Y2
	VCMPPD   $0x1e, Y0, Y2, Y3    // greater, false for NaN
	VTESTPD  Y3, Y3
	JNZ      shrink

next:
	ADDQ    $32, CX
	JNZ     loop
	VMOVUPD Y14, (DI)
	VZEROUPPER
	RET

shrink:
	VDIVPD    Y1, Y0, Y4
	VBLENDVPD Y3, Y4, Y14, Y14
	JMP       next

// BLOCK points to the ends of the parts of a block.
#define BLOCK \
	MOVQ block_x(AX), R8; \
	MOVQ block_z(AX), R9; \
	MOVQ block_dx(AX), R10; \
	MOVQ block_dz(AX), R11; \
	SHLQ $3, CX; \
	ADDQ CX, R8; \
	ADDQ CX, R9; \
	ADDQ CX, R10; \
	ADDQ CX, R11

// AFTER leaves products after a step in Y0, for steps in Y14 and Y15.
#define AFTER \
	VMULPD (R10)(CX*1), Y14, Y0; \
	VMULPD (R11)(CX*1), Y15, Y1; \
	VADDPD (R8)(CX*1), Y0, Y0; \
	VADDPD (R9)(CX*1), Y1, Y1; \
	VMULPD Y1, Y0, Y0

// func productsAVX2(b *block, sum *parts, n int, primal, dual float64)
TEXT ·productsAVX2(SB), NOSPLIT, $0-40
	MOVQ         b+0(FP), AX
	MOVQ         sum+8(FP), DI
	MOVQ         n+16(FP), CX
	VBROADCASTSD primal+24(FP), Y14
	VBROADCASTSD dual+32(FP), Y15
	VMOVUPD      (DI), Y13
	BLOCK
	NEGQ         CX

loop:
	AFTER
	VADDPD  Y0, Y13, Y13
	ADDQ    $32, CX
	JNZ     loop
	VMOVUPD Y13, (DI)
	VZEROUPPER
	RET

// func correctAVX2(b *block, n int, primal, dual, low, high float64)
TEXT ·correctAVX2(SB), NOSPLIT, $0-48
	MOVQ         b+0(FP), AX
	MOVQ         n+8(FP), CX
	VBROADCASTSD primal+16(FP), Y14
	VBROADCASTSD dual+24(FP), Y15
	VBROADCASTSD low+32(FP), Y13
	VBROADCASTSD high+40(FP), Y12
	VXORPD       Y11, Y11, Y11
	VSUBPD       Y12, Y11, Y11 // −high
	BLOCK
	MOVQ         block_c(AX), DI
	ADDQ         CX, DI
	NEGQ         CX

loop:
	AFTER
	VSUBPD  Y0, Y13, Y1
	VCMPPD  $0x11, Y13, Y0, Y2 // less than low
	VANDPD  Y2, Y1, Y1
	VSUBPD  Y0, Y12, Y3
	VMAXPD  Y11, Y3, Y3
	VCMPPD  $0x1e, Y12, Y0, Y4 // greater than high
	VANDPD  Y4, Y3, Y3
	VORPD   Y3, Y1, Y1         // one of them is 0
	VADDPD  (DI)(CX*1), Y1, Y1
	VMOVUPD Y1, (DI)(CX*1)
	ADDQ    $32, CX
	JNZ     loop
	VZEROUPPER
	RET

// AT points to the end of a vector of terms; R15 is that of the terms.
#define AT(field, register) \
	MOVQ field(AX), register; \
	ADDQ R15, register

// END leaves the index in CX, the end of the terms in R15, and that of f in DI.
#define END \
	SHLQ $3, CX; \
	SHLQ $3, R15; \
	ADDQ CX, R15; \
	ADDQ CX, DI; \
	NEGQ CX

// func residualsAVX2(t *terms, from, n int, differences *float64)
TEXT ·residualsAVX2(SB), NOSPLIT, $0-32
	MOVQ    t+0(FP), AX
	MOVQ    from+8(FP), R15
	MOVQ    n+16(FP), CX
	MOVQ    differences+24(FP), DI
	END
	AT(terms_s, R8)
	AT(terms_t, R9)
	AT(terms_y, R10)
	AT(terms_w, R11)
	AT(terms_rg, R12)
	VMOVUPD terms_first(AX), Y13
	VMOVUPD terms_second(AX), Y14
	VMOVUPD terms_third(AX), Y15
	VXORPD  Y12, Y12, Y12

loop:
	VMOVUPD (R8)(CX*1), Y0
	VMOVUPD (R9)(CX*1), Y1
	VMOVUPD (DI)(CX*1), Y2
	VSUBPD  Y1, Y0, Y3
	VSUBPD  Y2, Y3, Y3
	VMOVUPD Y3, (R12)(CX*1)
	VADDPD  Y0, Y13, Y13
	VMAXPD  Y12, Y2, Y2          // 0 for NaN
	VADDPD  Y2, Y14, Y14
	VMULPD  (R11)(CX*1), Y0, Y0
	VMULPD  (R10)(CX*1), Y1, Y1
	VADDPD  Y1, Y0, Y0
	VADDPD  Y0, Y15, Y15
	ADDQ    $32, CX
	JNZ     loop
	VMOVUPD Y13, terms_first(AX)
	VMOVUPD Y14, terms_second(AX)
	VMOVUPD Y15, terms_third(AX)
	VZEROUPPER
	RET

DATA ones<>+0(SB)/8, $1.0
GLOBL ones<>(SB), RODATA|NOPTR, $8

// func weighAVX2(t *terms, from, n int, f *float64)
TEXT ·weighAVX2(SB), NOSPLIT, $0-32
	MOVQ         t+0(FP), AX
	MOVQ         from+8(FP), R15
	MOVQ         n+16(FP), CX
	MOVQ         f+24(FP), DI
	VBROADCASTSD ones<>(SB), Y15
	END
	AT(terms_s, R8)
	AT(terms_t, R9)
	AT(terms_y, R10)
	AT(terms_w, R11)
	AT(terms_iw, R12)
	AT(terms_iy, R13)
	AT(terms_inverse, BX)
	VMOVUPD      terms_first(AX), Y14

loop:
	VDIVPD  (R11)(CX*1), Y15, Y0
	VDIVPD  (R10)(CX*1), Y15, Y1
	VMOVUPD Y0, (R12)(CX*1)
	VMOVUPD Y1, (R13)(CX*1)
	VMULPD  (R8)(CX*1), Y0, Y0   // σ
	VMULPD  (R9)(CX*1), Y1, Y1   // τ
	VADDPD  Y1, Y0, Y2
	VDIVPD  Y2, Y15, Y2
	VMOVUPD Y2, (BX)(CX*1)
	VMULPD  Y2, Y0, Y3
	VMOVUPD Y3, (DI)(CX*1)
	VMULPD  Y1, Y3, Y3
	VADDPD  Y3, Y14, Y14
	ADDQ    $32, CX
	JNZ     loop
	VMOVUPD Y14, terms_first(AX)
	VZEROUPPER
	RET

// SIDES leaves cs/w − s in Y2, ct/y − t in Y5, σ in Y0, τ in Y3 and e in Y6.
#define SIDES \
	VMOVUPD (R8)(CX*1), Y0; \
	VMOVUPD (R10)(CX*1), Y1; \
	VMULPD  (R12)(CX*1), Y1, Y2; \
	VSUBPD  Y0, Y2, Y2; \
	VMULPD  Y1, Y0, Y0; \
	VMOVUPD (R9)(CX*1), Y3; \
	VMOVUPD (R11)(CX*1), Y4; \
	VMULPD  (R13)(CX*1), Y4, Y5; \
	VSUBPD  Y3, Y5, Y5; \
	VMULPD  Y4, Y3, Y3; \
	VSUBPD  Y2, Y5, Y6; \
	VSUBPD  (BX)(CX*1), Y6, Y6

// POINT points to what SIDES reads.
#define POINT \
	AT(terms_s, R8); \
	AT(terms_t, R9); \
	AT(terms_iw, R10); \
	AT(terms_iy, R11); \
	AT(terms_cs, R12); \
	AT(terms_ct, R13); \
	AT(terms_rg, BX); \
	AT(terms_inverse, DX)

// func sidesAVX2(t *terms, from, n int, f *float64)
TEXT ·sidesAVX2(SB), NOSPLIT, $0-32
	MOVQ    t+0(FP), AX
	MOVQ    from+8(FP), R15
	MOVQ    n+16(FP), CX
	MOVQ    f+24(FP), DI
	END
	POINT
	VMOVUPD terms_first(AX), Y14

loop:
	SIDES
	VMULPD  (DX)(CX*1), Y6, Y6
	VMOVUPD Y6, (DI)(CX*1)
	VMULPD  Y6, Y0, Y0
	VADDPD  Y0, Y2, Y2
	VADDPD  Y2, Y14, Y14
	ADDQ    $32, CX
	JNZ     loop
	VMOVUPD Y14, terms_first(AX)
	VZEROUPPER
	RET

// func expandAVX2(t *terms, from, n int, dg *float64, deta float64)
TEXT ·expandAVX2(SB), NOSPLIT, $8-40
	MOVQ         t+0(FP), AX
	MOVQ         from+8(FP), R15
	MOVQ         n+16(FP), CX
	MOVQ         dg+24(FP), DI
	VBROADCASTSD deta+32(FP), Y15
	END
	POINT
	AT(terms_ds, SI)
	MOVQ         terms_dw(AX), R14
	ADDQ         R15, R14
	MOVQ         R14, dw-8(SP)
	AT(terms_dt, R14)
	ADDQ         terms_dy(AX), R15

loop:
	SIDES
	VADDPD  (DI)(CX*1), Y6, Y6
	VMOVUPD (DX)(CX*1), Y7
	VMULPD  Y15, Y0, Y8
	VADDPD  Y8, Y6, Y8
	VMULPD  Y7, Y8, Y8           // Δy
	VMULPD  Y15, Y3, Y9
	VSUBPD  Y6, Y9, Y9
	VMULPD  Y7, Y9, Y9           // Δw
	VMOVUPD Y8, (R15)(CX*1)
	MOVQ    dw-8(SP), AX
	VMOVUPD Y9, (AX)(CX*1)
	VMULPD  Y9, Y0, Y0
	VSUBPD  Y0, Y2, Y0
	VMOVUPD Y0, (SI)(CX*1)
	VMULPD  Y8, Y3, Y3
	VSUBPD  Y3, Y5, Y3
	VMOVUPD Y3, (R14)(CX*1)
	ADDQ    $32, CX
	JNZ     loop
	VZEROUPPER
	RET
