/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences for x86-64. There are seven.
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
 * pop: false if there is no current slab, if it is exhausted, and on abort (pseudocode.h). Both
 * ways to an object end in the same store, because only one instruction of a sequence can be its
 * last.
 *
 * Not an asm goto: gcc 12 loses the output of one on the way to a label. The carry flag reports
 * a miss; nothing sets it on the way to the store.
 */
static inline __attribute__((always_inline)) bool rseq_pop(char *const *slots, long rseq,
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
		"add %[slots], %%rcx\n\t"
		"mov 8(%%rcx), %%rdx\n\t"             /* current */
		INJECT_ASM(0)
		"test %%rdx, %%rdx\n\t"
		"jz 6f\n\t"
		"mov (%%rcx), %[obj]\n\t"             /* last_freed */
		"xor %%esi, %%esi\n\t"
		"test %[obj], %[obj]\n\t"
		"jnz 5f\n\t"
		"mov %c[local](%%rdx), %%rsi\n\t"     /* height */
		"lea %c[local](%%rdx), %%rcx\n\t"
		INJECT_ASM(1)
		"sub $1, %%rsi\n\t"
		"jb 6f\n\t"
		"movzwl %c[stack](%%rdx, %%rsi, 2), %k[obj]\n\t"
		"mov %c[base](%%rdx), %%rdx\n\t"
		"lea (%%rdx, %[obj], 8), %[obj]\n\t"
		"5: mov %%rsi, (%%rcx)\n\t"
		"2:\n\t"
		ABORT_SECTION
		".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n\t"
		"4:\n\t"
		"6: stc\n\t"
		"jmp 2b\n\t.popsection\n\t"
		: [obj] "=&a"(*ret_obj), "=@ccc"(missed)
		: [slots] "m"(*slots), [rseq] "r"(rseq),
		  [local] "i"(CPU_SLAB_FREELIST + offsetof(struct cpu_freelist, local)),
		  [base] "i"(CPU_SLAB_FREELIST + offsetof(struct cpu_freelist, base)),
		  [stack] "i"(CPU_SLAB_STACK)
		: "rcx", "rdx", "rsi", "memory" INJECT_CLOBBER);
	/* clang-format on */
	return !missed;
}

/*
 * push: false if the last-freed word is occupied and the CPU does not own the slab; if the
 * object is free already (it is the last-freed one or on top of the stack, or all objects are
 * free); and on abort. As in pop, both ways end in the same store. Only the way to the stack reads the
 * CPU's number again, which saves the other way an instruction.
 */
static inline __attribute__((always_inline)) bool rseq_push(char *const *slots,
							    struct cpu_slab *slab, void *obj,
							    long rseq)
{
	/* clang-format off */
	__asm__ volatile inline goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		"movslq %%fs:4(%[rseq]), %%rcx\n\t"
		"shl $17, %%rcx\n\t"
		"add %[slots], %%rcx\n\t"
		INJECT_ASM(3)
		"mov %[obj], %%r8\n\t"
		"cmpq $0, (%%rcx)\n\t"               /* last_freed */
		"je 5f\n\t"
		"cmp %[obj], (%%rcx)\n\t"            /* last_freed */
		"je %l[miss]\n\t"
		"mov %%fs:4(%[rseq]), %%eax\n\t"
		"cmp %%eax, %c[owner](%[slab])\n\t"
		"jne %l[miss]\n\t"
		"mov %c[local](%[slab]), %%rax\n\t"   /* height */
		"cmp %%eax, %c[room](%[slab])\n\t"
		"jbe %l[miss]\n\t"
		"sub %c[base](%[slab]), %%r8\n\t"
		"shr $3, %%r8\n\t"
		"cmp %%r8w, %c[stack]-2(%[slab], %%rax, 2)\n\t" /* on top */
		"je %l[miss]\n\t"
		"mov %%r8w, %c[stack](%[slab], %%rax, 2)\n\t"
		"lea 1(%%rax), %%r8\n\t"
		"lea %c[local](%[slab]), %%rcx\n\t"
		INJECT_ASM(5)
		"5: " INJECT_ASM(4)
		"mov %%r8, (%%rcx)\n\t"
		RSEQ_END(miss)
		:
		: [slots] "m"(*slots), [slab] "r"(slab), [obj] "r"(obj), [rseq] "r"(rseq),
		  [owner] "i"(offsetof(struct cpu_slab, owner)),
		  [room] "i"(offsetof(struct cpu_slab, room)),
		  [base] "i"(offsetof(struct cpu_slab, base)),
		  [local] "i"(CPU_SLAB_FREELIST + offsetof(struct cpu_freelist, local)),
		  [stack] "i"(CPU_SLAB_STACK)
		: "rax", "rcx", "r8", "memory", "cc" INJECT_CLOBBER
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
		"5: sub $4, %%ecx\n\t"
		"mov (%%rsi, %%rcx, 2), %%rax\n\t"
		"mov %%rax, (%%rdi, %%rcx, 2)\n\t"
		"6: cmp $4, %%ecx\n\t"
		"jae 5b\n\t"
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
		: "rax", "rcx", "rsi", "rdi", "memory", "cc" INJECT_CLOBBER
		: moved, miss);
	/* clang-format on */
	return CPU_DONE;
miss:
	return CPU_MISS;
moved:
	return CPU_MOVED;
}

#include "second.h"
