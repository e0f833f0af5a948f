/* SPDX-License-Identifier: MIT */
/* The beginning and the end of a restartable sequence, for rseq.h of this machine. */
#ifndef CPU_CACHE_SEQUENCE_H
#define CPU_CACHE_SEQUENCE_H

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

#define RSEQ_END(label)                                                                            \
	"2:\n\tb 9f\n\t"                                                                           \
	".inst 0xd428bc00\n\t"                                                                     \
	"4: b %l[" #label "]\n\t"                                                                  \
	"9:\n\t"

#endif /* CPU_CACHE_SEQUENCE_H */
