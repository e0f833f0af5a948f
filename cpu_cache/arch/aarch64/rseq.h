/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences for aarch64, the same six as for x86-64. arch/x86_64/rseq.h explains how
 * a sequence works.
 *
 * The CPU reorders loads. So a condition that another CPU makes true is loaded with ldar before
 * the words that it guards: the owner before the height, and closed before the word of the remote
 * batch. (pseudocode.h defines the words.)
 *
 * rseq_pop, rseq_push and rseq_pop_current need no such load. Only sections on this CPU make the
 * limit of its LIFO other than 0, or install its current slab, and these sections load closed with
 * ldar. So everything that was done to the slot and the LIFO while they were closed is visible to
 * later sections here. A revoking thread sets the limit to 0 and takes the current slab, then
 * fences, and only then takes objects. The fence ends each section that has loaded anything before.
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

/* pop: the newest object of the LIFO. An empty LIFO has count - 1 above its limit.
 *
 * Not an asm goto: gcc 12 loses the output of one on the way to a label. obj is NULL after a
 * miss. */
static inline __attribute__((always_inline)) bool rseq_pop(char *const *lifos, long rseq,
							   void **ret_obj)
{
	void *obj;

	/* clang-format off */
	__asm__ volatile(
		RSEQ_DESCRIPTOR
		".pushsection __rseq_exit_point_array, \"aw\"\n\t.quad 1f, 4f\n\t.popsection\n\t"
		RSEQ_BEGIN
		"ldrsw x16, [%[area], #4]\n\t"
		"add x16, %[lifos], x16, lsl #17\n\t"
		"ldr x14, [x16]\n\t"                /* count */
		INJECT_ASM(0)
		"ldr x17, [x16, %[limit]]\n\t"
		"sub x14, x14, #1\n\t"
		"cmp x14, x17\n\t"
		"b.hs 4f\n\t"
		"add x15, x16, x14, lsl #3\n\t"
		"ldr %[obj], [x15, %[objs]]\n\t"
		INJECT_ASM(8)
		"str x14, [x16]\n\t"
		"2: b 9f\n\t"
		".inst 0xd428bc00\n\t"
		"4: mov %[obj], #0\n\t"
		"9:\n\t"
		: [obj] "=&r"(obj)
		: [lifos] "r"(*lifos), [area] "r"(rseq_area(rseq)),
		  [limit] "i"(offsetof(struct cpu_lifo, limit)),
		  [objs] "i"(offsetof(struct cpu_lifo, obj))
		: "x14", "x15", "x16", "x17", "memory", "cc" INJECT_CLOBBER);
	/* clang-format on */
	*ret_obj = obj;
	return obj != NULL;
}

/* push: put any object on the LIFO. In an empty LIFO the comparison with the newest reads the
 * limit. */
static inline __attribute__((always_inline)) bool rseq_push(char *const *lifos, void *obj,
							    long rseq)
{
	/* clang-format off */
	__asm__ volatile goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		"ldrsw x16, [%[area], #4]\n\t"
		"add x16, %[lifos], x16, lsl #17\n\t"
		INJECT_ASM(3)
		"ldr x17, [x16]\n\t"                /* count */
		"ldr x14, [x16, %[limit]]\n\t"
		"cmp x17, x14\n\t"
		"b.hs %l[miss]\n\t"
		"add x15, x16, x17, lsl #3\n\t"
		"ldr x14, [x15, %[objs] - 8]\n\t"   /* newest */
		"cmp x14, %[obj]\n\t"
		"b.eq %l[miss]\n\t"
		"str %[obj], [x15, %[objs]]\n\t"
		"add x17, x17, #1\n\t"
		INJECT_ASM(9)
		"stlr x17, [x16]\n\t"
		RSEQ_END(miss)
		:
		: [lifos] "r"(*lifos), [obj] "r"(obj), [area] "r"(rseq_area(rseq)),
		  [limit] "i"(offsetof(struct cpu_lifo, limit)),
		  [objs] "i"(offsetof(struct cpu_lifo, obj))
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
		"lsl x17, x17, #1\n\t"              /* bytes */
		"b 6f\n\t"
		"5: sub x17, x17, #8\n\t"
		"ldr x16, [x14, x17]\n\t"
		"str x16, [x15, x17]\n\t"
		"6: cmp x17, #8\n\t"
		"b.hs 5b\n\t"
		"b 8f\n\t"
		"7: sub x17, x17, #2\n\t"
		"ldrh w16, [x14, x17]\n\t"
		"strh w16, [x15, x17]\n\t"
		"8: cbnz x17, 7b\n\t"
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
