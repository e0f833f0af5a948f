/* SPDX-License-Identifier: MIT */
/* Restartable sequences for aarch64, continued: those that try again when pop or push missed, on the
 * LIFO and on the remote batch. */
#ifndef CPU_CACHE_RSEQ_H
#error "never include arch/aarch64/second.h directly; include rseq.h of cpu_cache"
#endif

/* lifo_pop: false if there is no current slab, if the LIFO is empty, and on abort. */
static inline __attribute__((always_inline)) bool rseq_lifo_pop(char *const *slots,
								char *const *lifos, long rseq,
								void **ret_obj)
{
	void *obj;

	/* clang-format off */
	__asm__ volatile(
		RSEQ_DESCRIPTOR
		".pushsection __rseq_exit_point_array, \"aw\"\n\t.quad 1f, 4f\n\t.popsection\n\t"
		RSEQ_BEGIN
		"ldrsw x16, [%[area], #4]\n\t"
		"add x17, %[slots], x16, lsl #17\n\t"
		"ldr x17, [x17, #8]\n\t"            /* current */
		"cbz x17, 4f\n\t"
		"add x16, %[lifos], x16, lsl #17\n\t"
		"ldr x17, [x16]\n\t"                /* count */
		"cbz x17, 4f\n\t"
		"ldr %[obj], [x16, x17, lsl #3]\n\t"
		"sub x17, x17, #1\n\t"
		INJECT_ASM(8)
		"str x17, [x16]\n\t"
		"2: b 9f\n\t"
		".inst 0xd428bc00\n\t"
		"4: mov %[obj], #0\n\t"
		"9:\n\t"
		: [obj] "=&r"(obj)
		: [slots] "r"(*slots), [lifos] "r"(*lifos), [area] "r"(rseq_area(rseq))
		: "x16", "x17", "memory", "cc" INJECT_CLOBBER);
	/* clang-format on */
	*ret_obj = obj;
	return obj != NULL;
}

/* lifo_push: false if the slot is closed; if the CPU owns the slab; if the LIFO has *max
 * objects; if the object is free already (it is the last-freed one or the newest of the LIFO);
 * and on abort. In an empty LIFO the comparison with the newest reads the count, 0. */
static inline __attribute__((always_inline)) bool rseq_lifo_push(char *const *slots,
								 char *const *lifos,
								 struct cpu_slab *slab, void *obj,
								 const uint64_t *max, long rseq)
{
	/* clang-format off */
	__asm__ volatile goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		"ldrsw x16, [%[area], #4]\n\t"
		"add x15, %[slots], x16, lsl #17\n\t"
		"add x17, x15, #40\n\t"
		"ldar x17, [x17]\n\t"               /* closed */
		"cbnz x17, %l[miss]\n\t"
		"ldr x17, [x15]\n\t"                /* last_freed */
		"cmp x17, %[obj]\n\t"
		"b.eq %l[miss]\n\t"
		"ldr w17, [%[slab], %[owner]]\n\t"
		"cmp w16, w17\n\t"
		"b.eq %l[miss]\n\t"
		"add x16, %[lifos], x16, lsl #17\n\t"
		"ldr x17, [x16]\n\t"                /* count */
		"cmp x17, %[max]\n\t"
		"b.hs %l[miss]\n\t"
		"ldr x15, [x16, x17, lsl #3]\n\t"   /* newest */
		"cmp x15, %[obj]\n\t"
		"b.eq %l[miss]\n\t"
		"add x17, x17, #1\n\t"
		"str %[obj], [x16, x17, lsl #3]\n\t"
		INJECT_ASM(9)
		"stlr x17, [x16]\n\t"
		RSEQ_END(miss)
		:
		: [slots] "r"(*slots), [lifos] "r"(*lifos), [slab] "r"(slab), [obj] "r"(obj),
		  [max] "r"(*max), [area] "r"(rseq_area(rseq)),
		  [owner] "i"(offsetof(struct cpu_slab, owner))
		: "x15", "x16", "x17", "memory", "cc" INJECT_CLOBBER
		: miss);
	/* clang-format on */
	return true;
miss:
	return false;
}

/* lifo_add: false if the slot is closed; if the LIFO has *max objects; if the object is its newest;
 * and on abort. */
static inline __attribute__((always_inline)) bool rseq_lifo_add(char *const *slots,
								char *const *lifos, void *obj,
								const uint64_t *max, long rseq)
{
	/* clang-format off */
	__asm__ volatile goto(
		RSEQ_DESCRIPTOR RSEQ_EXIT(miss)
		RSEQ_BEGIN
		"ldrsw x16, [%[area], #4]\n\t"
		"add x15, %[slots], x16, lsl #17\n\t"
		"add x17, x15, #40\n\t"
		"ldar x17, [x17]\n\t"               /* closed */
		"cbnz x17, %l[miss]\n\t"
		"add x16, %[lifos], x16, lsl #17\n\t"
		"ldr x17, [x16]\n\t"                /* count */
		"cmp x17, %[max]\n\t"
		"b.hs %l[miss]\n\t"
		"ldr x15, [x16, x17, lsl #3]\n\t"   /* newest */
		"cmp x15, %[obj]\n\t"
		"b.eq %l[miss]\n\t"
		"add x17, x17, #1\n\t"
		"str %[obj], [x16, x17, lsl #3]\n\t"
		INJECT_ASM(10)
		"stlr x17, [x16]\n\t"
		RSEQ_END(miss)
		:
		: [slots] "r"(*slots), [lifos] "r"(*lifos), [obj] "r"(obj), [max] "r"(*max),
		  [area] "r"(rseq_area(rseq))
		: "x15", "x16", "x17", "memory", "cc" INJECT_CLOBBER
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
		"add x17, x16, #40\n\t"
		"ldar x17, [x17]\n\t"               /* closed */
		"cbnz x17, %l[miss]\n\t"
		"ldr x17, [x16, #24]\n\t"            /* the word */
		"eor x15, x17, %[slab]\n\t"
		"lsl x14, x15, #16\n\t"
		"cbnz x14, %l[miss]\n\t"
		"lsr x15, x15, #48\n\t"              /* count */
		"cmp x15, #64\n\t"
		"b.hs %l[miss]\n\t"
		"ldr x14, [%[slab], %[base]]\n\t"
		"sub x14, %[obj], x14\n\t"
		"lsr x14, x14, #3\n\t"
		"add x15, x16, x15, lsl #1\n\t"
		"ldrh w13, [x15, #62]\n\t"           /* newest of the batch */
		"cmp w13, w14, uxth\n\t"
		"b.eq %l[miss]\n\t"
		"strh w14, [x15, #64]\n\t"
		"mov x14, #1\n\t"
		"add x17, x17, x14, lsl #48\n\t"
		"add x16, x16, #24\n\t"
		INJECT_ASM(7)
		"stlr x17, [x16]\n\t"
		RSEQ_END(miss)
		:
		: [slots] "r"(*slots), [slab] "r"(slab), [obj] "r"(obj), [area] "r"(rseq_area(rseq)),
		  [base] "i"(offsetof(struct cpu_slab, base))
		: "x13", "x14", "x15", "x16", "x17", "memory", "cc" INJECT_CLOBBER
		: miss);
	/* clang-format on */
	return true;
miss:
	return false;
}
