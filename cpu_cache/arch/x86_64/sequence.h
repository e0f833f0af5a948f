/* SPDX-License-Identifier: MIT */
/* The beginning and the end of a restartable sequence, for rseq.h of this machine. */
#ifndef CPU_CACHE_SEQUENCE_H
#define CPU_CACHE_SEQUENCE_H

#ifdef SLAB_TESTING
/* Spin cpu_inject_loops[n] times. The stack pointer must not move, because an abort can leave
 * the sequence anywhere. */
#define INJECT_ASM(n)                                                                              \
	"mov cpu_inject_loops+4*" #n "(%%rip), %%r11d\n\t"                                         \
	"333: test %%r11d, %%r11d\n\tjz 334f\n\tpause\n\tdec %%r11d\n\tjmp 333b\n\t334:\n\t"
/* dec and test would change the carry flag of a comparison before. */
#define INJECT_ASM_KEEP_CARRY(n) INJECT_ASM(n) "stc\n\t"
#define INJECT_CLOBBER , "r11"
#else
#define INJECT_ASM(n)
#define INJECT_ASM_KEEP_CARRY(n)
#define INJECT_CLOBBER
#endif

/* The descriptor (label 3): start 1, post-commit 2, abort handler 4. */
#define RSEQ_DESCRIPTOR                                                                            \
	".pushsection __rseq_cs, \"aw\"\n\t.balign 32\n\t"                                         \
	"3: .long 0, 0\n\t.quad 1f, 2f - 1f, 4f\n\t.popsection\n\t"                                \
	".pushsection __rseq_cs_ptr_array, \"aw\"\n\t.quad 3b\n\t.popsection\n\t"

#define RSEQ_EXIT(label)                                                                           \
	".pushsection __rseq_exit_point_array, \"aw\"\n\t.quad 1f, %l[" #label                     \
	"]\n\t.popsection\n\t"

#define RSEQ_BEGIN                                                                                 \
	"lea 3b(%%rip), %%rax\n\t"                                                                 \
	"mov %%rax, %%fs:8(%[rseq])\n\t"                                                           \
	"1:\n\t"

/* A section of its own. In the section of the surrounding code (which may be that of a cold
 * function) the handler could follow the commit directly. The linker puts it with
 * .text.unlikely. */
#define ABORT_SECTION ".pushsection .text.unlikely.slab..abort, \"ax\", @progbits\n\t"

#define RSEQ_END(label)                                                                            \
	"2:\n\t" ABORT_SECTION ".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n\t"                    \
	"4: jmp %l[" #label "]\n\t.popsection\n\t"

#endif /* CPU_CACHE_SEQUENCE_H */
