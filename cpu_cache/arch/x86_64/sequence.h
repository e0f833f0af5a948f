/* SPDX-License-Identifier: MIT */
/* The beginning and the end of a restartable sequence, for rseq.h of this machine. */
#pragma once

#ifdef SLAB_TESTING
/* Spin cpu_inject_loops[n] times. The stack pointer must not move, because an abort can leave
 * the sequence anywhere. */
#define INJECT_ASM(n)                                                                              \
	"mov cpu_inject_loops+4*" #n "(%%rip), %%r11d\n\t"                                         \
	"333: test %%r11d, %%r11d\n\tjz 334f\n\tpause\n\tdec %%r11d\n\tjmp 333b\n\t334:\n\t"
#define INJECT_CLOBBER , "r11"
#else
#define INJECT_ASM(n)
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

/* The array of this CPU: the register leads to its count, behind which lie limit and objects. */
#define RSEQ_ARRAY(reg)                                                                            \
	"movslq %%fs:4(%[rseq]), %%" reg "\n\t"                                                    \
	"shl $17, %%" reg "\n\t"                                                                   \
	"add %[arrays], %%" reg "\n\t"

/* Copy rcx words from rsi to rdi. rep movsq takes longer to start than a copy of few words. */
#define RSEQ_COPY                                                                                  \
	"cmp $128, %%rcx\n\t"                                                                      \
	"jb 6f\n\t"                                                                                \
	"rep movsq\n\t"                                                                            \
	"jmp 8f\n\t"                                                                               \
	"5: sub $4, %%rcx\n\t"                                                                     \
	"movups (%%rsi, %%rcx, 8), %%xmm0\n\t"                                                     \
	"movups 16(%%rsi, %%rcx, 8), %%xmm1\n\t"                                                   \
	"movups %%xmm0, (%%rdi, %%rcx, 8)\n\t"                                                     \
	"movups %%xmm1, 16(%%rdi, %%rcx, 8)\n\t"                                                   \
	"6: cmp $4, %%rcx\n\t"                                                                     \
	"jae 5b\n\t"                                                                               \
	"7: sub $1, %%rcx\n\t"                                                                     \
	"jb 8f\n\t"                                                                                \
	"mov (%%rsi, %%rcx, 8), %%rax\n\t"                                                         \
	"mov %%rax, (%%rdi, %%rcx, 8)\n\t"                                                         \
	"jmp 7b\n\t"                                                                               \
	"8:\n\t"

/* A section of its own. In the section of the surrounding code (which may be that of a cold
 * function) the handler could follow the commit directly. The linker puts it with
 * .text.unlikely. */
#define ABORT_SECTION ".pushsection .text.unlikely.slab..abort, \"ax\", @progbits\n\t"
#define RSEQ_SIGNATURE ".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n\t"

#define RSEQ_END(label)                                                                            \
	"2:\n\t" ABORT_SECTION RSEQ_SIGNATURE "4: jmp %l[" #label "]\n\t.popsection\n\t"
