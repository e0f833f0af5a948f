/* SPDX-License-Identifier: MIT */
/* For machines without fix-ups: the load is plain, and one that faults is like any other fault. */
#ifndef CPU_CACHE_FIXUP_H
#error "never include arch/generic/fixup.h directly; include fixup.h of cpu_cache"
#endif

static inline bool fixup_equals(const uintptr_t *word, uintptr_t value)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED) == value;
}
