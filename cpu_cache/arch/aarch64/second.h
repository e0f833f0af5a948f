/* SPDX-License-Identifier: MIT */
/* Restartable sequences for aarch64, continued: those that try again when pop or push missed, on
 * slabs and on the remote batch. */
#ifndef CPU_CACHE_RSEQ_H
#error "never include arch/aarch64/second.h directly; include rseq.h of cpu_cache"
#endif

/* pop_current: take an object off the current slab. false: there is none, it is exhausted, or the
 * sequence was aborted. */
static inline __attribute__((always_inline)) bool rseq_pop_current(char *const *slots, long rseq,
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
		"ldr x17, [x16, %[current]]\n\t"
		"cbz x17, 4f\n\t"
		"ldr x14, [x17, %[local]]\n\t"      /* height */
		INJECT_ASM(1)
		"cbz x14, 4f\n\t"
		"sub x14, x14, #1\n\t"
		"add x15, x17, %[stack]\n\t"
		"ldrh w15, [x15, x14, lsl #1]\n\t"
		"ldr x16, [x17, %[base]]\n\t"
		"add %[obj], x16, x15, lsl #3\n\t"
		"str x14, [x17, %[local]]\n\t"
		"2: b 9f\n\t"
		".inst 0xd428bc00\n\t"
		"4: mov %[obj], #0\n\t"
		"9:\n\t"
		: [obj] "=&r"(obj)
		: [slots] "r"(*slots), [area] "r"(rseq_area(rseq)),
		  [current] "i"(offsetof(struct cpu_slot, current)),
		  [local] "i"(CPU_SLAB_FREELIST + offsetof(struct cpu_freelist, local)),
		  [base] "i"(CPU_SLAB_FREELIST + offsetof(struct cpu_freelist, base)),
		  [stack] "i"(CPU_SLAB_STACK)
		: "x14", "x15", "x16", "x17", "memory", "cc" INJECT_CLOBBER);
	/* clang-format on */
	*ret_obj = obj;
	return obj != NULL;
}

/* push_owned: put an object on its slab's stack. false: the CPU does not own the slab; the object
 * is on top already, or all objects are free; or the sequence was aborted. */
static inline __attribute__((always_inline)) bool rseq_push_owned(struct cpu_slab *slab, void *obj,
								  long rseq)
{
	/* clang-format off */
	__asm__ volatile goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		"ldr w16, [%[area], #4]\n\t"
		"add x17, %[slab], %[owner]\n\t"
		"ldar w17, [x17]\n\t"
		"cmp w16, w17\n\t"
		"b.ne %l[miss]\n\t"
		"ldr x16, [%[slab], %[local]]\n\t"  /* height */
		"ldr w17, [%[slab], %[room]]\n\t"
		"cmp w16, w17\n\t"
		"b.hs %l[miss]\n\t"
		"ldr x17, [%[slab], %[base]]\n\t"
		"sub x17, %[obj], x17\n\t"
		"lsr x17, x17, #3\n\t"
		"add x15, %[slab], %[stack] - 2\n\t"
		"ldrh w14, [x15, x16, lsl #1]\n\t"  /* on top */
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
		: [slab] "r"(slab), [obj] "r"(obj), [area] "r"(rseq_area(rseq)),
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

/* batch_add: false if the batch is empty, full, or of another slab; if it ends with this object;
 * and on abort. */
static inline __attribute__((always_inline)) bool rseq_batch_add(char *const *slots,
								 struct cpu_slab *slab, void *obj,
								 long rseq)
{
	/* clang-format off */
	__asm__ volatile goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		"ldrsw x16, [%[area], #4]\n\t"
		"add x16, %[slots], x16, lsl #17\n\t"
		"add x17, x16, %[closed]\n\t"
		"ldar x17, [x17]\n\t"
		"cbnz x17, %l[miss]\n\t"
		"ldr x17, [x16, %[word]]\n\t"
		"eor x15, x17, %[slab]\n\t"
		"lsl x14, x15, #16\n\t"
		"cbnz x14, %l[miss]\n\t"
		"lsr x15, x15, #48\n\t"              /* count */
		"cmp x15, %[max]\n\t"
		"b.hs %l[miss]\n\t"
		"ldr x14, [%[slab], %[base]]\n\t"
		"sub x14, %[obj], x14\n\t"
		"lsr x14, x14, #3\n\t"
		"add x15, x16, x15, lsl #1\n\t"
		"ldrh w13, [x15, %[buf] - 2]\n\t"   /* newest of the batch */
		"cmp w13, w14, uxth\n\t"
		"b.eq %l[miss]\n\t"
		"strh w14, [x15, %[buf]]\n\t"
		"mov x14, #1\n\t"
		"add x17, x17, x14, lsl #48\n\t"
		"add x16, x16, %[word]\n\t"
		INJECT_ASM(7)
		"stlr x17, [x16]\n\t"
		RSEQ_END(miss)
		:
		: [slots] "r"(*slots), [slab] "r"(slab), [obj] "r"(obj), [area] "r"(rseq_area(rseq)),
		  [closed] "i"(offsetof(struct cpu_slot, closed)),
		  [word] "i"(offsetof(struct cpu_slot, remote_batch)),
		  [buf] "i"(offsetof(struct cpu_slot, remote_batch_buf)),
		  [base] "i"(offsetof(struct cpu_slab, base)), [max] "i"(CPU_BATCH_MAX)
		: "x13", "x14", "x15", "x16", "x17", "memory", "cc" INJECT_CLOBBER
		: miss);
	/* clang-format on */
	return true;
miss:
	return false;
}
