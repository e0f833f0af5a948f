/* SPDX-License-Identifier: MIT */
/* For machines on which nothing is known of a fault but its address. The load of fixup.h is plain
 * here. */
#ifndef CPU_CACHE_TRAP_H
#error "never include arch/generic/trap.h directly; include trap.h of cpu_cache"
#endif

static inline const void *trap_pc(const ucontext_t *context)
{
	(void)context;
	return NULL;
}

static inline enum trap_access trap_access(const ucontext_t *context)
{
	(void)context;
	return TRAP_ACCESS;
}

static inline bool trap_fix_up(ucontext_t *context)
{
	(void)context;
	return false;
}

static inline void trap_call_on(char *top, void (*fn)(void *), void *arg)
{
	(void)top;
	fn(arg);
}
