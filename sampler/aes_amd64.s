//go:build !purego

#include "textflag.h"

// Byte order reversal of a 16-byte block: the counter is kept little-endian in
// a register and enters the cipher big-endian, as counter mode has it.
DATA reverse<>+0(SB)/8, $0x08090a0b0c0d0e0f
DATA reverse<>+8(SB)/8, $0x0001020304050607
GLOBL reverse<>(SB), RODATA|NOPTR, $16

DATA one<>+0(SB)/8, $1
DATA one<>+8(SB)/8, $0
GLOBL one<>(SB), RODATA|NOPTR, $16

// func cpuid(leaf uint32) (ecx uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-12
	MOVL leaf+0(FP), AX
	XORL CX, CX
	CPUID
	MOVL CX, ecx+8(FP)
	RET

// MIX xors into X its three left shifts by 4, 8 and 12 bytes, then T, which is
// one step of the key expansion (FIPS 197, section 5.2). Clobbers X4.
#define MIX(T, X) \
	MOVO   X, X4;   \
	PSLLDQ $4, X4;  \
	PXOR   X4, X;   \
	PSLLDQ $4, X4;  \
	PXOR   X4, X;   \
	PSLLDQ $4, X4;  \
	PXOR   X4, X;   \
	PXOR   T, X

// EVEN makes the round key at OFF, with RotWord and the round constant.
#define EVEN(RCON, OFF) \
	AESKEYGENASSIST $RCON, X1, X2; \
	PSHUFD          $0xff, X2, X2; \
	MIX(X2, X0);                   \
	MOVUPS          X0, OFF(DX)

// ODD makes the round key at OFF, without either.
#define ODD(OFF) \
	AESKEYGENASSIST $0, X0, X2;    \
	PSHUFD          $0xaa, X2, X2; \
	MIX(X2, X1);                   \
	MOVUPS          X1, OFF(DX)

// func aesExpand(schedule *[240]byte, key *[32]byte)
TEXT ·aesExpand(SB), NOSPLIT, $0-16
	MOVQ schedule+0(FP), DX
	MOVQ key+8(FP), SI
	MOVUPS (SI), X0
	MOVUPS 16(SI), X1
	MOVUPS X0, (DX)
	MOVUPS X1, 16(DX)
	EVEN(0x01, 32)
	ODD(48)
	EVEN(0x02, 64)
	ODD(80)
	EVEN(0x04, 96)
	ODD(112)
	EVEN(0x08, 128)
	ODD(144)
	EVEN(0x10, 160)
	ODD(176)
	EVEN(0x20, 192)
	ODD(208)
	EVEN(0x40, 224)
	PXOR X0, X0
	PXOR X1, X1
	PXOR X2, X2
	PXOR X4, X4
	RET

// COUNT puts the next counter block into X.
#define COUNT(X) \
	MOVO   X10, X; \
	PSHUFB X11, X; \
	PADDQ  X12, X10

// WHITEN xors the first round key into X.
#define WHITEN(X) PXOR X8, X

#define ROUND(OFF) \
	MOVUPS OFF(DX), X8; \
	AESENC X8, X0;      \
	AESENC X8, X1;      \
	AESENC X8, X2;      \
	AESENC X8, X3;      \
	AESENC X8, X4;      \
	AESENC X8, X5;      \
	AESENC X8, X6;      \
	AESENC X8, X7

// func aesKeystream(dst *uint64, batches int, counter uint64, schedule *[240]byte)
//
// Eight blocks at a time: the latency of one AESENC, four cycles, covers eight
// of them on cores that start two per cycle.
TEXT ·aesKeystream(SB), NOSPLIT, $0-32
	MOVQ  dst+0(FP), DI
	MOVQ  batches+8(FP), CX
	MOVQ  counter+16(FP), X10
	MOVQ  schedule+24(FP), DX
	MOVOU reverse<>(SB), X11
	MOVOU one<>(SB), X12
	TESTQ CX, CX
	JZ    done

loop:
	COUNT(X0)
	COUNT(X1)
	COUNT(X2)
	COUNT(X3)
	COUNT(X4)
	COUNT(X5)
	COUNT(X6)
	COUNT(X7)
	MOVUPS (DX), X8
	WHITEN(X0)
	WHITEN(X1)
	WHITEN(X2)
	WHITEN(X3)
	WHITEN(X4)
	WHITEN(X5)
	WHITEN(X6)
	WHITEN(X7)
	ROUND(16)
	ROUND(32)
	ROUND(48)
	ROUND(64)
	ROUND(80)
	ROUND(96)
	ROUND(112)
	ROUND(128)
	ROUND(144)
	ROUND(160)
	ROUND(176)
	ROUND(192)
	ROUND(208)
	MOVUPS 224(DX), X8
	AESENCLAST X8, X0
	AESENCLAST X8, X1
	AESENCLAST X8, X2
	AESENCLAST X8, X3
	AESENCLAST X8, X4
	AESENCLAST X8, X5
	AESENCLAST X8, X6
	AESENCLAST X8, X7
	MOVUPS X0, (DI)
	MOVUPS X1, 16(DI)
	MOVUPS X2, 32(DI)
	MOVUPS X3, 48(DI)
	MOVUPS X4, 64(DI)
	MOVUPS X5, 80(DI)
	MOVUPS X6, 96(DI)
	MOVUPS X7, 112(DI)
	ADDQ   $128, DI
	DECQ   CX
	JNZ    loop
	PXOR   X8, X8

done:
	RET
