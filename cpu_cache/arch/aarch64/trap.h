/* SPDX-License-Identifier: MIT */
/* The saved state of a thread that faulted, for aarch64. */
#ifndef CPU_CACHE_TRAP_H
#error "never include arch/aarch64/trap.h directly; include trap.h of cpu_cache"
#endif

#include <asm/sigcontext.h>

/* Of the exception syndrome: the class, and whether a data abort was a write. */
#define TRAP_CLASS_SHIFT 26
#define TRAP_CLASS_DATA_ABORT 0x24 /* from user space */
#define TRAP_WRITE_BIT (1u << 6)

static inline const void *trap_pc(const ucontext_t *context)
{
	return (const void *)context->uc_mcontext.pc;
}

/* The syndrome is one of the records that the kernel appends to the registers. */
static inline enum trap_access trap_access(const ucontext_t *context)
{
	const char *at = (const char *)context->uc_mcontext.__reserved;
	const char *end = at + sizeof(context->uc_mcontext.__reserved);
	const struct _aarch64_ctx *record = (const struct _aarch64_ctx *)at;

	while (record->magic != ESR_MAGIC) {
		if (!record->magic || !record->size || (size_t)(end - at) <= record->size)
			return TRAP_ACCESS;
		at += record->size;
		record = (const struct _aarch64_ctx *)at;
	}

	const uint64_t syndrome = ((const struct esr_context *)record)->esr;

	if (syndrome >> TRAP_CLASS_SHIFT != TRAP_CLASS_DATA_ABORT)
		return TRAP_ACCESS;
	return syndrome & TRAP_WRITE_BIT ? TRAP_WRITE : TRAP_READ;
}

/* If the load of fixup_equals() faulted: let the thread resume with 0. */
static inline bool trap_fix_up(ucontext_t *context)
{
	uintptr_t resume = fixup_find((uintptr_t)trap_pc(context));

	if (!resume)
		return false;
	context->uc_mcontext.regs[2] = 0;
	context->uc_mcontext.pc = resume;
	return true;
}

/* Call fn(arg) on the stack that ends at `top`, which is aligned to 16 bytes. The caller puts
 * zeros above `top`, at which an unwinder ends. Not inlined: a real call clobbers the registers
 * that any call may clobber. */
static __attribute__((noinline, unused)) void trap_call_on(char *top, void (*fn)(void *), void *arg)
{
	register void *first __asm__("x0") = arg;

	/* clang-format off */
	__asm__ volatile(
		"mov x19, sp\n\t"
		"mov sp, %[top]\n\t"
		"blr %[fn]\n\t"
		"mov sp, x19\n\t"
		: "+r"(first)
		: [top] "r"(top), [fn] "r"(fn)
		: "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
		  "x14", "x15", "x16", "x17", "x18", "x19", "x30", "v0", "v1", "v2", "v3", "v4", "v5",
		  "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
		  "v26", "v27", "v28", "v29", "v30", "v31", "memory", "cc");
	/* clang-format on */
}
