/* SPDX-License-Identifier: MIT */
/* The beginning and the end of a restartable sequence, for rseq.h of this machine. */
#pragma once

#ifdef SLAB_TESTING
/* Spin cpu_inject_loops[n] times. */
#define INJECT_ASM(n)                                                                              \
	"adrp x12, cpu_inject_loops\n\t"                                                           \
	"add x12, x12, :lo12:cpu_inject_loops\n\t"                                                 \
	"ldr w12, [x12, #4*" #n "]\n\t"                                                            \
	"333: cbz w12, 334f\n\tsub w12, w12, #1\n\tb 333b\n\t334:\n\t"
#define INJECT_CLOBBER , "x12"
#else
#define INJECT_ASM(n)
#define INJECT_CLOBBER
#endif

#define RSEQ_DESCRIPTOR                                                                            \
	".pushsection __rseq_cs, \"aw\"\n\t.balign 32\n\t"                                         \
	"3: .long 0, 0\n\t.quad 1f, 2f - 1f, 4f\n\t.popsection\n\t"                                \
	".pushsection __rseq_cs_ptr_array, \"aw\"\n\t.quad 3b\n\t.popsection\n\t"

#define RSEQ_EXIT(label)                                                                           \
	".pushsection __rseq_exit_point_array, \"aw\"\n\t.quad 1f, %l[" #label                     \
	"]\n\t.popsection\n\t"

#define RSEQ_BEGIN                                                                                 \
	"adrp x16, 3b\n\t"                                                                         \
	"add x16, x16, :lo12:3b\n\t"                                                               \
	"str x16, [%[area], #8]\n\t"                                                               \
	"1:\n\t"

/* The array of this CPU: x16 leads to its count, behind which lie limit and objects. */
#define RSEQ_ARRAY                                                                                 \
	"ldr x17, [%[arrays]]\n\t"                                                                 \
	"ldrsw x16, [%[area], #4]\n\t"                                                             \
	"add x16, x17, x16, lsl #17\n\t"

/* Copy n words from x14 to x15. */
#define RSEQ_COPY                                                                                  \
	"mov x17, %[n]\n\t"                                                                        \
	"b 6f\n\t"                                                                                 \
	"5: ldp x10, x11, [x14], #16\n\t"                                                          \
	"stp x10, x11, [x15], #16\n\t"                                                             \
	"sub x17, x17, #2\n\t"                                                                     \
	"6: cmp x17, #2\n\t"                                                                       \
	"b.hs 5b\n\t"                                                                              \
	"cbz x17, 7f\n\t"                                                                          \
	"ldr x10, [x14]\n\t"                                                                       \
	"str x10, [x15]\n\t"                                                                       \
	"7:\n\t"

#define RSEQ_SIGNATURE ".inst 0xd428bc00\n\t"

#define RSEQ_END(label)                                                                            \
	"2:\n\tb 9f\n\t" RSEQ_SIGNATURE "4: b %l[" #label "]\n\t"                                  \
	"9:\n\t"
