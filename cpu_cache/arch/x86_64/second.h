/* SPDX-License-Identifier: MIT */
/* Restartable sequences for x86-64, continued: those that try again when pop or push missed, on the
 * LIFO and on the remote batch. */
#ifndef CPU_CACHE_RSEQ_H
#error "never include arch/x86_64/second.h directly; include rseq.h of cpu_cache"
#endif

/* lifo_pop: false if there is no current slab, if the LIFO is empty, and on abort. */
static inline __attribute__((always_inline)) bool rseq_lifo_pop(char *const *slots,
								char *const *lifos, long rseq,
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
		"mov %[slots], %%rdx\n\t"
		"cmpq $0, 8(%%rdx, %%rcx)\n\t"      /* current */
		"je 6f\n\t"
		"add %[lifos], %%rcx\n\t"
		"mov (%%rcx), %%rsi\n\t"            /* count */
		"sub $1, %%rsi\n\t"
		"jb 6f\n\t"
		"mov 8(%%rcx, %%rsi, 8), %[obj]\n\t"
		INJECT_ASM(8)
		"mov %%rsi, (%%rcx)\n\t"
		"2:\n\t"
		ABORT_SECTION
		".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n\t"
		"4:\n\t"
		"6: stc\n\t"
		"jmp 2b\n\t.popsection\n\t"
		: [obj] "=&a"(*ret_obj), "=@ccc"(missed)
		: [slots] "m"(*slots), [lifos] "m"(*lifos), [rseq] "r"(rseq)
		: "rcx", "rdx", "rsi", "memory" INJECT_CLOBBER);
	/* clang-format on */
	return !missed;
}

/*
 * lifo_push: false if the slot is closed; if the CPU owns the slab; if the LIFO has *max
 * objects; if the object is free already (it is the last-freed one or the newest of the LIFO);
 * and on abort. In an empty LIFO the comparison with the newest reads the count, 0.
 */
static inline __attribute__((always_inline)) bool rseq_lifo_push(char *const *slots,
								 char *const *lifos,
								 struct cpu_slab *slab, void *obj,
								 const uint64_t *max, long rseq)
{
	/* clang-format off */
	__asm__ volatile inline goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		"movslq %%fs:4(%[rseq]), %%rcx\n\t"
		"mov %%ecx, %%eax\n\t"
		"shl $17, %%rcx\n\t"
		"mov %[slots], %%r8\n\t"
		"cmpq $0, 40(%%r8, %%rcx)\n\t"      /* closed */
		"jne %l[miss]\n\t"
		"cmp %[obj], (%%r8, %%rcx)\n\t"     /* last_freed */
		"je %l[miss]\n\t"
		"cmp %%eax, %c[owner](%[slab])\n\t"
		"je %l[miss]\n\t"
		"add %[lifos], %%rcx\n\t"
		"mov (%%rcx), %%rax\n\t"            /* count */
		"cmp %[max], %%rax\n\t"
		"jae %l[miss]\n\t"
		"cmp %[obj], (%%rcx, %%rax, 8)\n\t" /* newest */
		"je %l[miss]\n\t"
		"mov %[obj], 8(%%rcx, %%rax, 8)\n\t"
		"inc %%rax\n\t"
		INJECT_ASM(9)
		"mov %%rax, (%%rcx)\n\t"
		RSEQ_END(miss)
		:
		: [slots] "m"(*slots), [lifos] "m"(*lifos), [slab] "r"(slab), [obj] "r"(obj),
		  [max] "m"(*max), [rseq] "r"(rseq),
		  [owner] "i"(offsetof(struct cpu_slab, owner))
		: "rax", "rcx", "r8", "memory", "cc" INJECT_CLOBBER
		: miss);
	/* clang-format on */
	return true;
miss:
	return false;
}

/* lifo_add: false if the slot is closed; if the LIFO has *max objects; if the object is its newest;
 * and on abort. It differs from lifo_push in that the slab does not matter. */
static inline __attribute__((always_inline)) bool rseq_lifo_add(char *const *slots,
								char *const *lifos, void *obj,
								const uint64_t *max, long rseq)
{
	/* clang-format off */
	__asm__ volatile inline goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		"movslq %%fs:4(%[rseq]), %%rcx\n\t"
		"shl $17, %%rcx\n\t"
		"mov %[slots], %%rax\n\t"
		"cmpq $0, 40(%%rax, %%rcx)\n\t"     /* closed */
		"jne %l[miss]\n\t"
		"add %[lifos], %%rcx\n\t"
		"mov (%%rcx), %%rax\n\t"            /* count */
		"cmp %[max], %%rax\n\t"
		"jae %l[miss]\n\t"
		"cmp %[obj], (%%rcx, %%rax, 8)\n\t" /* newest */
		"je %l[miss]\n\t"
		"mov %[obj], 8(%%rcx, %%rax, 8)\n\t"
		"inc %%rax\n\t"
		INJECT_ASM(10)
		"mov %%rax, (%%rcx)\n\t"
		RSEQ_END(miss)
		:
		: [slots] "m"(*slots), [lifos] "m"(*lifos), [obj] "r"(obj), [max] "m"(*max),
		  [rseq] "r"(rseq)
		: "rax", "rcx", "memory", "cc" INJECT_CLOBBER
		: miss);
	/* clang-format on */
	return true;
miss:
	return false;
}

/* batch_add: false if the batch is empty, full, or of another slab; if it ends with this object;
 * and on abort. The word is slab | count << 48. */
static inline __attribute__((always_inline)) bool rseq_batch_add(char *const *slots,
								 struct cpu_slab *slab, void *obj,
								 long rseq)
{
	/* clang-format off */
	__asm__ volatile inline goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		"movslq %%fs:4(%[rseq]), %%rax\n\t"
		"shl $17, %%rax\n\t"
		"add %[slots], %%rax\n\t"
		"cmpq $0, 40(%%rax)\n\t"             /* closed */
		"jne %l[miss]\n\t"
		"mov 24(%%rax), %%rcx\n\t"           /* the word */
		"mov %%rcx, %%rdx\n\t"
		"xor %[slab], %%rdx\n\t"             /* count << 48, if the slab is the same */
		"mov %%rdx, %%rsi\n\t"
		"shr $48, %%rdx\n\t"
		"shl $16, %%rsi\n\t"
		"jnz %l[miss]\n\t"
		"cmp %[max], %%edx\n\t"
		"jae %l[miss]\n\t"
		"mov %[obj], %%rsi\n\t"
		"sub %c[base](%[slab]), %%rsi\n\t"
		"shr $3, %%rsi\n\t"
		"cmp %%si, 62(%%rax, %%rdx, 2)\n\t"  /* newest of the batch */
		"je %l[miss]\n\t"
		"mov %%si, 64(%%rax, %%rdx, 2)\n\t"
		"mov $1, %%edx\n\t"
		"shl $48, %%rdx\n\t"
		"add %%rdx, %%rcx\n\t"
		INJECT_ASM(7)
		"mov %%rcx, 24(%%rax)\n\t"
		RSEQ_END(miss)
		:
		: [slots] "m"(*slots), [slab] "r"(slab), [obj] "r"(obj), [rseq] "r"(rseq),
		  [base] "i"(offsetof(struct cpu_slab, base)), [max] "i"(CPU_BATCH_MAX)
		: "rax", "rcx", "rdx", "rsi", "memory", "cc" INJECT_CLOBBER
		: miss);
	/* clang-format on */
	return true;
miss:
	return false;
}
