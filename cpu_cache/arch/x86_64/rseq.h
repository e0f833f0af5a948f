/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences for x86-64. There are six.
 *
 * A thread announces a sequence by storing the address of its descriptor into its struct rseq.
 * Until the thread leaves [start, post_commit), the kernel moves it to the abort handler
 * whenever it was preempted, migrated or interrupted by a signal. So the last instruction of the
 * sequence, one store, takes effect only if the thread had the CPU for itself since it read the
 * CPU's number. The four bytes before each abort handler are the signature that the C library
 * registered (an undefined instruction, so that no jump skips it).
 *
 * __rseq_exit_point_array tells debuggers where control can leave a sequence. A breakpoint there
 * makes progress; single-stepping inside does not.
 */
#ifndef CPU_CACHE_RSEQ_H
#error "never include arch/x86_64/rseq.h directly; include rseq.h of cpu_cache"
#endif

#define RSEQ_ARCH 1

#include "sequence.h"

/*
 * pop: the newest object of the LIFO. false: the LIFO is closed or has no object, or the sequence
 * was aborted (pseudocode.h).
 *
 * Not an asm goto: gcc 12 loses the output of one on the way to a label. The carry flag reports
 * success: the one comparison sets it, and the store leaves it alone.
 */
static inline __attribute__((always_inline)) bool rseq_pop(char *const *lifos, long rseq,
							   void **ret_obj)
{
	bool missed;

	/* clang-format off */
	__asm__ volatile inline(
		RSEQ_DESCRIPTOR
		".pushsection __rseq_exit_point_array, \"aw\"\n\t.quad 1f, 6f\n\t.popsection\n\t"
		RSEQ_BEGIN
		"movslq %%fs:4(%[rseq]), %%rcx\n\t"
		"shl $17, %%rcx\n\t"
		"add %[lifos], %%rcx\n\t"
		"mov (%%rcx), %%rdx\n\t"            /* count */
		INJECT_ASM(0)
		"sub $1, %%rdx\n\t"
		"cmp 8(%%rcx), %%rdx\n\t"           /* limit; an empty LIFO has count - 1 above it */
		"jae 6f\n\t"
		"mov 16(%%rcx, %%rdx, 8), %[obj]\n\t"
		INJECT_ASM_KEEP_CARRY(8)
		"mov %%rdx, (%%rcx)\n\t"
		"2:\n\t"
		ABORT_SECTION
		".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n\t"
		"4:\n\t"
		"6: clc\n\t"
		"jmp 2b\n\t.popsection\n\t"
		: [obj] "=&a"(*ret_obj), "=@ccnc"(missed)
		: [lifos] "m"(*lifos), [rseq] "r"(rseq)
		: "rcx", "rdx", "memory" INJECT_CLOBBER);
	/* clang-format on */
	return !missed;
}

/*
 * push: put any object on the LIFO. false: the LIFO is closed or full, the object is its newest
 * already, or the sequence was aborted. In an empty LIFO the comparison with the newest reads the
 * limit.
 */
static inline __attribute__((always_inline)) bool rseq_push(char *const *lifos, void *obj,
							    long rseq)
{
	/* clang-format off */
	__asm__ volatile inline goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		"movslq %%fs:4(%[rseq]), %%rcx\n\t"
		"shl $17, %%rcx\n\t"
		"add %[lifos], %%rcx\n\t"
		INJECT_ASM(3)
		"mov (%%rcx), %%rax\n\t"            /* count */
		"cmp 8(%%rcx), %%rax\n\t"           /* limit */
		"jae %l[miss]\n\t"
		"cmp %[obj], 8(%%rcx, %%rax, 8)\n\t" /* newest */
		"je %l[miss]\n\t"
		"mov %[obj], 16(%%rcx, %%rax, 8)\n\t"
		"inc %%rax\n\t"
		INJECT_ASM(9)
		"mov %%rax, (%%rcx)\n\t"
		RSEQ_END(miss)
		:
		: [lifos] "m"(*lifos), [obj] "r"(obj), [rseq] "r"(rseq)
		: "rax", "rcx", "memory", "cc" INJECT_CLOBBER
		: miss);
	/* clang-format on */
	return true;
miss:
	return false;
}

/*
 * commit: the sequence of all other sections. If the thread is on CPU op->cpu and each of four
 * words has its expected value, it copies `count` offsets and stores *op->value to *op->target.
 * It reads *op->value inside, after the comparisons.
 */
static inline enum cpu_result rseq_commit(const struct rseq_op *op, long rseq)
{
	/* clang-format off */
	__asm__ volatile inline goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(moved) RSEQ_EXIT(miss)
		RSEQ_BEGIN
		"mov %%fs:4(%[rseq]), %%eax\n\t"
		"cmp %%eax, %c[cpu](%[op])\n\t"
		"jne %l[moved]\n\t"
		".irp i, 0, 8, 16, 24\n\t"
		"mov %c[check]+\\i(%[op]), %%rax\n\t"
		"mov (%%rax), %%rax\n\t"
		"cmp %c[expect]+\\i(%[op]), %%rax\n\t"
		"jne %l[miss]\n\t"
		".endr\n\t"
		"mov %c[count](%[op]), %%ecx\n\t"
		"mov %c[from](%[op]), %%rsi\n\t"
		"mov %c[to](%[op]), %%rdi\n\t"
		"jmp 6f\n\t"
		"5: sub $8, %%ecx\n\t"
		"movups (%%rsi, %%rcx, 2), %%xmm0\n\t"
		"movups %%xmm0, (%%rdi, %%rcx, 2)\n\t"
		"6: cmp $8, %%ecx\n\t"
		"jae 5b\n\t"
		"cmp $4, %%ecx\n\t"
		"jb 8f\n\t"
		"sub $4, %%ecx\n\t"
		"mov (%%rsi, %%rcx, 2), %%rax\n\t"
		"mov %%rax, (%%rdi, %%rcx, 2)\n\t"
		"jmp 8f\n\t"
		"7: dec %%ecx\n\t"
		"mov (%%rsi, %%rcx, 2), %%ax\n\t"
		"mov %%ax, (%%rdi, %%rcx, 2)\n\t"
		"8: test %%ecx, %%ecx\n\t"
		"jnz 7b\n\t"
		"mov %c[value](%[op]), %%rax\n\t"
		"mov (%%rax), %%rax\n\t"
		"mov %c[target](%[op]), %%rdi\n\t"
		INJECT_ASM(6)
		"mov %%rax, (%%rdi)\n\t"
		RSEQ_END(moved)
		:
		: [op] "r"(op), [rseq] "r"(rseq),
		  [cpu] "i"(offsetof(struct rseq_op, cpu)),
		  [check] "i"(offsetof(struct rseq_op, check)),
		  [expect] "i"(offsetof(struct rseq_op, expect)),
		  [count] "i"(offsetof(struct rseq_op, count)),
		  [from] "i"(offsetof(struct rseq_op, from)),
		  [to] "i"(offsetof(struct rseq_op, to)),
		  [value] "i"(offsetof(struct rseq_op, value)),
		  [target] "i"(offsetof(struct rseq_op, target))
		: "rax", "rcx", "rsi", "rdi", "xmm0", "memory", "cc" INJECT_CLOBBER
		: moved, miss);
	/* clang-format on */
	return CPU_DONE;
miss:
	return CPU_MISS;
moved:
	return CPU_MOVED;
}

#include "second.h"
