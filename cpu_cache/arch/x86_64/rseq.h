/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences for x86-64. There are five.
 *
 * A thread announces a sequence by storing the address of its descriptor into its struct rseq.
 * Until the thread leaves [start, post_commit), the kernel moves it to the abort handler
 * whenever it was preempted, migrated or interrupted by a signal. So the last instruction of the
 * sequence, one store, takes effect only if the thread had the CPU for itself since it read the
 * CPU's number. The four bytes before each abort handler are the signature that the C library
 * registered (an undefined instruction, so that no jump skips it).
 *
 * Each sequence reads the user's pointer inside: then a fence after a change of the pointer ends
 * all sequences that read the old value.
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
 * pop: the newest object. false: the array is empty, or the sequence was aborted. The limit needs
 * no look: arrays that take no sections are empty.
 *
 * Not an asm goto: gcc 12 loses the output of one on the way to a label. The carry flag reports a
 * miss: the subtraction sets it, and what follows leaves it alone.
 */
static inline __attribute__((always_inline)) bool rseq_pop(char *const *arrays, long rseq_offset,
							   void **ret_obj)
{
	bool missed;

	/* clang-format off */
	__asm__ volatile inline(
		RSEQ_DESCRIPTOR
		".pushsection __rseq_exit_point_array, \"aw\"\n\t.quad 1f, 6f\n\t.popsection\n\t"
		RSEQ_BEGIN
		RSEQ_ARRAY("rcx")
		"mov (%%rcx), %%rdx\n\t"            /* count */
		INJECT_ASM(0)
		"sub $1, %%rdx\n\t"
		"jb 6f\n\t"
		"mov 16(%%rcx, %%rdx, 8), %[obj]\n\t"
		INJECT_ASM(8)                       /* clears the carry flag, which is clear */
		"mov %%rdx, (%%rcx)\n\t"
		"2:\n\t"
		ABORT_SECTION
		RSEQ_SIGNATURE
		"4:\n\t"
		"6: stc\n\t"
		"jmp 2b\n\t.popsection\n\t"
		: [obj] "=&a"(*ret_obj), "=@ccc"(missed)
		: [arrays] "m"(*arrays), [rseq] "r"(rseq_offset)
		: "rcx", "rdx", "memory" INJECT_CLOBBER);
	/* clang-format on */
	return !missed;
}

/* push: false: the array is full or takes no objects, the object is its newest already, or the
 * sequence was aborted. In an empty array the comparison with the newest reads the limit. */
static inline __attribute__((always_inline)) bool rseq_push(char *const *arrays, void *obj,
							    long rseq_offset)
{
	/* clang-format off */
	__asm__ volatile inline goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		RSEQ_ARRAY("rcx")
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
		: [arrays] "m"(*arrays), [obj] "r"(obj), [rseq] "r"(rseq_offset)
		: "rax", "rcx", "memory", "cc" INJECT_CLOBBER
		: miss);
	/* clang-format on */
	return true;
miss:
	return false;
}

/* Move the n newest objects to objs. false: there are fewer, or the sequence was aborted. */
static inline bool rseq_take(char *const *arrays, size_t n, void **objs, long rseq_offset)
{
	/* clang-format off */
	__asm__ volatile goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		RSEQ_ARRAY("r8")
		"mov (%%r8), %%rdx\n\t"             /* count */
		"mov %[n], %%rcx\n\t"
		"sub %%rcx, %%rdx\n\t"
		"jb %l[miss]\n\t"
		"lea 16(%%r8, %%rdx, 8), %%rsi\n\t"
		"mov %[objs], %%rdi\n\t"
		RSEQ_COPY
		INJECT_ASM(1)
		"mov %%rdx, (%%r8)\n\t"
		RSEQ_END(miss)
		:
		: [arrays] "m"(*arrays), [objs] "r"(objs), [n] "r"(n), [rseq] "r"(rseq_offset)
		: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "xmm0", "xmm1", "memory", "cc" INJECT_CLOBBER
		: miss);
	/* clang-format on */
	return true;
miss:
	return false;
}

/* Push n objects. false: there is no room for all, or the sequence was aborted. */
static inline bool rseq_put(char *const *arrays, size_t n, void *const *objs, long rseq_offset)
{
	/* clang-format off */
	__asm__ volatile goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		RSEQ_ARRAY("r8")
		"mov (%%r8), %%rdx\n\t"             /* count */
		"mov %[n], %%rcx\n\t"
		"lea 16(%%r8, %%rdx, 8), %%rdi\n\t"
		"add %%rcx, %%rdx\n\t"
		"cmp 8(%%r8), %%rdx\n\t"            /* limit */
		"ja %l[miss]\n\t"
		"mov %[objs], %%rsi\n\t"
		RSEQ_COPY
		INJECT_ASM(5)
		"mov %%rdx, (%%r8)\n\t"
		RSEQ_END(miss)
		:
		: [arrays] "m"(*arrays), [objs] "r"(objs), [n] "r"(n), [rseq] "r"(rseq_offset)
		: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "xmm0", "xmm1", "memory", "cc" INJECT_CLOBBER
		: miss);
	/* clang-format on */
	return true;
miss:
	return false;
}

/* Is this the newest object? A sequence, because only the count shows which entry is the newest,
 * and the array may be closed. It commits a word that nobody reads. */
static inline bool rseq_is_newest(char *const *arrays, const void *obj, long rseq_offset)
{
	uint64_t scratch;

	/* clang-format off */
	__asm__ volatile goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(no)
		RSEQ_BEGIN
		RSEQ_ARRAY("rcx")
		"mov (%%rcx), %%rax\n\t"            /* count */
		"test %%rax, %%rax\n\t"
		"jz %l[no]\n\t"
		"cmp %[obj], 8(%%rcx, %%rax, 8)\n\t"
		"jne %l[no]\n\t"
		INJECT_ASM(6)
		"mov %%rax, (%[scratch])\n\t"
		RSEQ_END(no)
		:
		: [arrays] "m"(*arrays), [obj] "r"(obj), [rseq] "r"(rseq_offset),
		  [scratch] "r"(&scratch)
		: "rax", "rcx", "memory", "cc" INJECT_CLOBBER
		: no);
	/* clang-format on */
	return true;
no:
	return false;
}
