/* SPDX-License-Identifier: MIT */
/* The saved state of a thread that faulted, for x86-64. */
#ifndef CPU_CACHE_TRAP_H
#error "never include arch/x86_64/trap.h directly; include trap.h of cpu_cache"
#endif

#define TRAP_ERROR_WRITE 2 /* bit of the page fault's error code */

static inline const void *trap_pc(const ucontext_t *context)
{
	return (const void *)context->uc_mcontext.gregs[REG_RIP];
}

static inline enum trap_access trap_access(const ucontext_t *context)
{
	return context->uc_mcontext.gregs[REG_ERR] & TRAP_ERROR_WRITE ? TRAP_WRITE : TRAP_READ;
}

#define TRAP_ZERO_FLAG 0x40 /* what fixup_equals() reads */

/* If the load of fixup_equals() faulted: let the thread resume with "not equal". */
static inline bool trap_fix_up(ucontext_t *context)
{
	uintptr_t resume = fixup_find((uintptr_t)trap_pc(context));

	if (!resume)
		return false;
	context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_ZERO_FLAG;
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)resume;
	return true;
}

/* Call fn(arg) on the stack that ends at `top`, which is aligned to 16 bytes. The caller puts
 * zeros above `top`, at which an unwinder ends. Not inlined: a real call clobbers the registers
 * that any call may clobber. */
static __attribute__((noinline, unused)) void trap_call_on(char *top, void (*fn)(void *), void *arg)
{
	/* clang-format off */
	__asm__ volatile(
		"mov %%rsp, %%rbx\n\t"
		"mov %[top], %%rsp\n\t"
		"call *%[fn]\n\t"
		"mov %%rbx, %%rsp\n\t"
		: [fn] "+a"(fn), "+D"(arg)
		: [top] "r"(top)
		: "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
	/* clang-format on */
}
