/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences for aarch64, the same five as for x86-64. arch/x86_64/rseq.h explains how
 * a sequence works.
 *
 * The CPU reorders loads. No sequence needs an order but that of addresses: the user's pointer
 * leads to the count, and the count to the objects. Only sections of this CPU write the array,
 * until it is closed. What a thread stored in a closed array is visible to each section that reads
 * the pointer which was set after that. The commits of push and put are releases, so that a thread
 * that reads the count of another CPU also sees the entries.
 */
#ifndef CPU_CACHE_RSEQ_H
#error "never include arch/aarch64/rseq.h directly; include rseq.h of cpu_cache"
#endif

#define RSEQ_ARCH 1

#include "sequence.h"

static inline char *rseq_area(long rseq_offset)
{
	return (char *)__builtin_thread_pointer() + rseq_offset;
}

/* Not an asm goto: gcc 12 loses the output of one on the way to a label. obj is NULL after a
 * miss. */
static inline __attribute__((always_inline)) bool rseq_pop(char *const *arrays, long rseq_offset,
							   void **ret_obj)
{
	void *obj;

	/* clang-format off */
	__asm__ volatile(
		RSEQ_DESCRIPTOR
		".pushsection __rseq_exit_point_array, \"aw\"\n\t.quad 1f, 4f\n\t.popsection\n\t"
		RSEQ_BEGIN
		RSEQ_ARRAY
		"ldr x14, [x16]\n\t"                /* count */
		INJECT_ASM(0)
		"cbz x14, 4f\n\t"
		"sub x14, x14, #1\n\t"
		"add x15, x16, x14, lsl #3\n\t"
		"ldr %[obj], [x15, #16]\n\t"
		INJECT_ASM(8)
		"str x14, [x16]\n\t"
		"2: b 9f\n\t"
		RSEQ_SIGNATURE
		"4: mov %[obj], #0\n\t"
		"9:\n\t"
		: [obj] "=&r"(obj)
		: [arrays] "r"(arrays), [area] "r"(rseq_area(rseq_offset))
		: "x14", "x15", "x16", "x17", "memory", "cc" INJECT_CLOBBER);
	/* clang-format on */
	*ret_obj = obj;
	return obj != NULL;
}

/* In an empty array the comparison with the newest reads the limit. */
static inline __attribute__((always_inline)) bool rseq_push(char *const *arrays, void *obj,
							    long rseq_offset)
{
	/* clang-format off */
	__asm__ volatile goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		RSEQ_ARRAY
		INJECT_ASM(3)
		"ldp x17, x14, [x16]\n\t"           /* count, limit */
		"cmp x17, x14\n\t"
		"b.hs %l[miss]\n\t"
		"add x15, x16, x17, lsl #3\n\t"
		"ldr x14, [x15, #8]\n\t"            /* newest */
		"cmp x14, %[obj]\n\t"
		"b.eq %l[miss]\n\t"
		"str %[obj], [x15, #16]\n\t"
		"add x17, x17, #1\n\t"
		INJECT_ASM(9)
		"stlr x17, [x16]\n\t"
		RSEQ_END(miss)
		:
		: [arrays] "r"(arrays), [obj] "r"(obj), [area] "r"(rseq_area(rseq_offset))
		: "x14", "x15", "x16", "x17", "memory", "cc" INJECT_CLOBBER
		: miss);
	/* clang-format on */
	return true;
miss:
	return false;
}

static inline bool rseq_take(char *const *arrays, size_t n, void **objs, long rseq_offset)
{
	/* clang-format off */
	__asm__ volatile goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		RSEQ_ARRAY
		"ldr x13, [x16]\n\t"                /* count */
		"subs x13, x13, %[n]\n\t"
		"b.lo %l[miss]\n\t"
		"add x14, x16, x13, lsl #3\n\t"
		"add x14, x14, #16\n\t"
		"mov x15, %[objs]\n\t"
		RSEQ_COPY
		INJECT_ASM(1)
		"str x13, [x16]\n\t"
		RSEQ_END(miss)
		:
		: [arrays] "r"(arrays), [objs] "r"(objs), [n] "r"(n),
		  [area] "r"(rseq_area(rseq_offset))
		: "x10", "x11", "x13", "x14", "x15", "x16", "x17", "memory", "cc" INJECT_CLOBBER
		: miss);
	/* clang-format on */
	return true;
miss:
	return false;
}

static inline bool rseq_put(char *const *arrays, size_t n, void *const *objs, long rseq_offset)
{
	/* clang-format off */
	__asm__ volatile goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		RSEQ_ARRAY
		"ldp x13, x14, [x16]\n\t"           /* count, limit */
		"add x15, x16, x13, lsl #3\n\t"
		"add x15, x15, #16\n\t"
		"add x13, x13, %[n]\n\t"
		"cmp x13, x14\n\t"
		"b.hi %l[miss]\n\t"
		"mov x14, %[objs]\n\t"
		RSEQ_COPY
		INJECT_ASM(5)
		"stlr x13, [x16]\n\t"
		RSEQ_END(miss)
		:
		: [arrays] "r"(arrays), [objs] "r"(objs), [n] "r"(n),
		  [area] "r"(rseq_area(rseq_offset))
		: "x10", "x11", "x13", "x14", "x15", "x16", "x17", "memory", "cc" INJECT_CLOBBER
		: miss);
	/* clang-format on */
	return true;
miss:
	return false;
}

/* It commits a word that nobody reads. */
static inline bool rseq_is_newest(char *const *arrays, const void *obj, long rseq_offset)
{
	uint64_t scratch;

	/* clang-format off */
	__asm__ volatile goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(no)
		RSEQ_BEGIN
		RSEQ_ARRAY
		"ldr x17, [x16]\n\t"                /* count */
		"cbz x17, %l[no]\n\t"
		"add x15, x16, x17, lsl #3\n\t"
		"ldr x14, [x15, #8]\n\t"            /* newest */
		"cmp x14, %[obj]\n\t"
		"b.ne %l[no]\n\t"
		INJECT_ASM(6)
		"str x17, [%[scratch]]\n\t"
		RSEQ_END(no)
		:
		: [arrays] "r"(arrays), [obj] "r"(obj), [area] "r"(rseq_area(rseq_offset)),
		  [scratch] "r"(&scratch)
		: "x14", "x15", "x16", "x17", "memory", "cc" INJECT_CLOBBER
		: no);
	/* clang-format on */
	return true;
no:
	return false;
}
