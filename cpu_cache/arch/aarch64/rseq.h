/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences for aarch64, the same seven as for x86-64. arch/x86_64/rseq.h explains how
 * a sequence works.
 *
 * The CPU reorders loads. So a condition that another CPU makes true is loaded with ldar before
 * the words that it guards: the owner before the height, and closed before the last-freed word,
 * the word of the remote batch and the LIFO. (pseudocode.h defines the words.)
 *
 * rseq_pop and rseq_lifo_pop need no such load. Their current slab was installed on this CPU by
 * a section that loaded closed with ldar, so everything that was done to the slot while it was
 * closed is visible to sections here. A revoking CPU takes objects only after a fence, which
 * ends each section that has loaded anything before.
 */
#ifndef CPU_CACHE_RSEQ_H
#error "never include arch/aarch64/rseq.h directly; include rseq.h of cpu_cache"
#endif

#define RSEQ_ARCH 1

#include "sequence.h"

static inline char *rseq_area(long rseq)
{
	return (char *)__builtin_thread_pointer() + rseq;
}

/* Not an asm goto: gcc 12 loses the output of one on the way to a label. obj is NULL after a
 * miss. */
static inline __attribute__((always_inline)) bool rseq_pop(char *const *slots, long rseq,
							   void **ret_obj)
{
	void *obj;

	/* clang-format off */
	__asm__ volatile(
		RSEQ_DESCRIPTOR
		".pushsection __rseq_exit_point_array, \"aw\"\n\t.quad 1f, 4f\n\t.popsection\n\t"
		RSEQ_BEGIN
		"ldrsw x16, [%[area], #4]\n\t"
		"add x16, %[slots], x16, lsl #17\n\t"
		"ldr x17, [x16, #8]\n\t"              /* current */
		INJECT_ASM(0)
		"cbz x17, 4f\n\t"
		"ldr %[obj], [x16]\n\t"               /* last_freed */
		"mov x14, #0\n\t"
		"cbnz %[obj], 5f\n\t"
		"ldr x14, [x17, %[local]]\n\t"        /* height */
		INJECT_ASM(1)
		"cbz x14, 4f\n\t"
		"add x16, x17, %[local]\n\t"
		"sub x14, x14, #1\n\t"
		"add x15, x17, %[stack]\n\t"
		"ldrh w15, [x15, x14, lsl #1]\n\t"
		"ldr %[obj], [x17, %[base]]\n\t"
		"add %[obj], %[obj], x15, lsl #3\n\t"
		"5: str x14, [x16]\n\t"
		"2: b 9f\n\t"
		".inst 0xd428bc00\n\t"
		"4: mov %[obj], #0\n\t"
		"9:\n\t"
		: [obj] "=&r"(obj)
		: [slots] "r"(*slots), [area] "r"(rseq_area(rseq)),
		  [local] "i"(CPU_SLAB_FREELIST + offsetof(struct cpu_freelist, local)),
		  [base] "i"(CPU_SLAB_FREELIST + offsetof(struct cpu_freelist, base)),
		  [stack] "i"(CPU_SLAB_STACK)
		: "x14", "x15", "x16", "x17", "memory", "cc" INJECT_CLOBBER);
	/* clang-format on */
	*ret_obj = obj;
	return obj != NULL;
}

/* push: false if the last-freed word is occupied and the CPU does not own the slab; if the
 * object is free already (it is the last-freed one or on top of the stack, or all objects are
 * free); and on abort. */
static inline __attribute__((always_inline)) bool rseq_push(char *const *slots,
							    struct cpu_slab *slab, void *obj,
							    long rseq)
{
	/* clang-format off */
	__asm__ volatile goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(full)
		RSEQ_BEGIN
		"ldrsw x16, [%[area], #4]\n\t"
		"add x16, %[slots], x16, lsl #17\n\t"
		INJECT_ASM(3)
		"ldr x17, [x16]\n\t"                  /* last_freed */
		"cbnz x17, %l[full]\n\t"
		INJECT_ASM(4)
		"stlr %[obj], [x16]\n\t"
		RSEQ_END(full)
		:
		: [slots] "r"(*slots), [obj] "r"(obj), [area] "r"(rseq_area(rseq))
		: "x16", "x17", "memory", "cc" INJECT_CLOBBER
		: full);
	return true;
full:
	__asm__ volatile goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		"ldrsw x16, [%[area], #4]\n\t"
		"add x15, %[slots], x16, lsl #17\n\t"
		"ldr x15, [x15]\n\t"                  /* last_freed */
		"cmp x15, %[obj]\n\t"
		"b.eq %l[miss]\n\t"
		"add x17, %[slab], %[owner]\n\t"
		"ldar w17, [x17]\n\t"
		"cmp w16, w17\n\t"
		"b.ne %l[miss]\n\t"
		"ldr x16, [%[slab], %[local]]\n\t"    /* height */
		"ldr w17, [%[slab], %[room]]\n\t"
		"cmp w16, w17\n\t"
		"b.hs %l[miss]\n\t"
		"ldr x17, [%[slab], %[base]]\n\t"
		"sub x17, %[obj], x17\n\t"
		"lsr x17, x17, #3\n\t"
		"add x15, %[slab], %[stack] - 2\n\t"
		"ldrh w14, [x15, x16, lsl #1]\n\t"    /* on top */
		"cmp w14, w17, uxth\n\t"
		"b.eq %l[miss]\n\t"
		"add x15, x15, #2\n\t"
		"strh w17, [x15, x16, lsl #1]\n\t"
		"add x16, x16, #1\n\t"
		"add x15, %[slab], %[local]\n\t"
		INJECT_ASM(5)
		"stlr x16, [x15]\n\t"
		RSEQ_END(miss)
		:
		: [slots] "r"(*slots), [slab] "r"(slab), [obj] "r"(obj), [area] "r"(rseq_area(rseq)),
		  [owner] "i"(offsetof(struct cpu_slab, owner)),
		  [room] "i"(offsetof(struct cpu_slab, room)),
		  [base] "i"(offsetof(struct cpu_slab, base)),
		  [local] "i"(CPU_SLAB_FREELIST + offsetof(struct cpu_freelist, local)),
		  [stack] "i"(CPU_SLAB_STACK)
		: "x14", "x15", "x16", "x17", "memory", "cc" INJECT_CLOBBER
		: miss);
	/* clang-format on */
	return true;
miss:
	return false;
}

static inline enum cpu_result rseq_commit(const struct rseq_op *op, long rseq)
{
	/* clang-format off */
	__asm__ volatile goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(moved) RSEQ_EXIT(miss)
		RSEQ_BEGIN
		"ldr w16, [%[area], #4]\n\t"
		"ldr w17, [%[op], %[cpu]]\n\t"
		"cmp w16, w17\n\t"
		"b.ne %l[moved]\n\t"
		".irp i, 0, 8, 16, 24\n\t"
		"ldr x16, [%[op], %[check] + \\i]\n\t"
		"ldar x16, [x16]\n\t"
		"ldr x17, [%[op], %[expect] + \\i]\n\t"
		"cmp x16, x17\n\t"
		"b.ne %l[miss]\n\t"
		".endr\n\t"
		"ldr w17, [%[op], %[count]]\n\t"
		"ldr x14, [%[op], %[from]]\n\t"
		"ldr x15, [%[op], %[to]]\n\t"
		"b 6f\n\t"
		"5: sub w17, w17, #1\n\t"
		"ldrh w16, [x14, x17, lsl #1]\n\t"
		"strh w16, [x15, x17, lsl #1]\n\t"
		"6: cbnz w17, 5b\n\t"
		"ldr x16, [%[op], %[value]]\n\t"
		"ldr x16, [x16]\n\t"
		"ldr x17, [%[op], %[target]]\n\t"
		INJECT_ASM(6)
		"stlr x16, [x17]\n\t"
		RSEQ_END(moved)
		:
		: [op] "r"(op), [area] "r"(rseq_area(rseq)),
		  [cpu] "i"(offsetof(struct rseq_op, cpu)),
		  [check] "i"(offsetof(struct rseq_op, check)),
		  [expect] "i"(offsetof(struct rseq_op, expect)),
		  [count] "i"(offsetof(struct rseq_op, count)),
		  [from] "i"(offsetof(struct rseq_op, from)),
		  [to] "i"(offsetof(struct rseq_op, to)),
		  [value] "i"(offsetof(struct rseq_op, value)),
		  [target] "i"(offsetof(struct rseq_op, target))
		: "x14", "x15", "x16", "x17", "memory", "cc" INJECT_CLOBBER
		: moved, miss);
	/* clang-format on */
	return CPU_DONE;
miss:
	return CPU_MISS;
moved:
	return CPU_MOVED;
}

#include "second.h"
