/* SPDX-License-Identifier: MIT */
/* Restartable sequences for x86-64, continued: those that try again when pop or push missed, on
 * slabs and on the remote batch. */
#ifndef CPU_CACHE_RSEQ_H
#error "never include arch/x86_64/second.h directly; include rseq.h of cpu_cache"
#endif

/* pop_current: take an object off the current slab. false: there is none, it is exhausted, or the
 * sequence was aborted. As in pop, the carry flag reports the result; here it is set by a miss. */
static inline __attribute__((always_inline)) bool rseq_pop_current(char *const *slots, long rseq,
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
		"mov %c[current](%%rcx), %%rdx\n\t"
		"test %%rdx, %%rdx\n\t"
		"jz 6f\n\t"
		"mov %c[local](%%rdx), %%rsi\n\t"     /* height */
		INJECT_ASM(1)
		"sub $1, %%rsi\n\t"
		"jb 6f\n\t"
		"movzwl %c[stack](%%rdx, %%rsi, 2), %k[obj]\n\t"
		"mov %c[base](%%rdx), %%rcx\n\t"
		"lea (%%rcx, %[obj], 8), %[obj]\n\t"
		"mov %%rsi, %c[local](%%rdx)\n\t"
		"2:\n\t"
		ABORT_SECTION
		".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n\t"
		"4:\n\t"
		"6: stc\n\t"
		"jmp 2b\n\t.popsection\n\t"
		: [obj] "=&a"(*ret_obj), "=@ccc"(missed)
		: [slots] "m"(*slots), [rseq] "r"(rseq),
		  [current] "i"(offsetof(struct cpu_slot, current)),
		  [local] "i"(CPU_SLAB_FREELIST + offsetof(struct cpu_freelist, local)),
		  [base] "i"(CPU_SLAB_FREELIST + offsetof(struct cpu_freelist, base)),
		  [stack] "i"(CPU_SLAB_STACK)
		: "rcx", "rdx", "rsi", "memory" INJECT_CLOBBER);
	/* clang-format on */
	return !missed;
}

/* push_owned: put an object on its slab's stack. false: the CPU does not own the slab; the object
 * is on top already, or all objects are free; or the sequence was aborted. */
static inline __attribute__((always_inline)) bool rseq_push_owned(struct cpu_slab *slab, void *obj,
								  long rseq)
{
	/* clang-format off */
	__asm__ volatile inline goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		"mov %%fs:4(%[rseq]), %%eax\n\t"
		"cmp %%eax, %c[owner](%[slab])\n\t"
		"jne %l[miss]\n\t"
		"mov %c[local](%[slab]), %%rax\n\t"   /* height */
		"cmp %%eax, %c[room](%[slab])\n\t"
		"jbe %l[miss]\n\t"
		"mov %[obj], %%rcx\n\t"
		"sub %c[base](%[slab]), %%rcx\n\t"
		"shr $3, %%rcx\n\t"
		"cmp %%cx, %c[stack]-2(%[slab], %%rax, 2)\n\t" /* on top */
		"je %l[miss]\n\t"
		"mov %%cx, %c[stack](%[slab], %%rax, 2)\n\t"
		"inc %%rax\n\t"
		INJECT_ASM(5)
		"mov %%rax, %c[local](%[slab])\n\t"
		RSEQ_END(miss)
		:
		: [slab] "r"(slab), [obj] "r"(obj), [rseq] "r"(rseq),
		  [owner] "i"(offsetof(struct cpu_slab, owner)),
		  [room] "i"(offsetof(struct cpu_slab, room)),
		  [base] "i"(offsetof(struct cpu_slab, base)),
		  [local] "i"(CPU_SLAB_FREELIST + offsetof(struct cpu_freelist, local)),
		  [stack] "i"(CPU_SLAB_STACK)
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
		"cmpq $0, %c[closed](%%rax)\n\t"
		"jne %l[miss]\n\t"
		"mov %c[word](%%rax), %%rcx\n\t"
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
		"cmp %%si, %c[buf]-2(%%rax, %%rdx, 2)\n\t"  /* newest of the batch */
		"je %l[miss]\n\t"
		"mov %%si, %c[buf](%%rax, %%rdx, 2)\n\t"
		"mov $1, %%edx\n\t"
		"shl $48, %%rdx\n\t"
		"add %%rdx, %%rcx\n\t"
		INJECT_ASM(7)
		"mov %%rcx, %c[word](%%rax)\n\t"
		RSEQ_END(miss)
		:
		: [slots] "m"(*slots), [slab] "r"(slab), [obj] "r"(obj), [rseq] "r"(rseq),
		  [closed] "i"(offsetof(struct cpu_slot, closed)),
		  [word] "i"(offsetof(struct cpu_slot, remote_batch)),
		  [buf] "i"(offsetof(struct cpu_slot, remote_batch_buf)),
		  [base] "i"(offsetof(struct cpu_slab, base)), [max] "i"(CPU_BATCH_MAX)
		: "rax", "rcx", "rdx", "rsi", "memory", "cc" INJECT_CLOBBER
		: miss);
	/* clang-format on */
	return true;
miss:
	return false;
}
