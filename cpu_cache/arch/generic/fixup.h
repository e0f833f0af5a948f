/* SPDX-License-Identifier: MIT */
/* Machines without fix-ups: a load that faults is a fault like any other. */
#ifndef CPU_CACHE_FIXUP_H
#error "never include arch/generic/fixup.h directly; include fixup.h of cpu_cache"
#endif

static inline struct cpu_slab *fixup_slab_of_user(struct cpu_slab *const *entry, const void *user,
						  bool *ret_other)
{
	struct cpu_slab *slab = __atomic_load_n(entry, __ATOMIC_RELAXED);

	*ret_other = __atomic_load_n(&slab->user, __ATOMIC_RELAXED) != user;
	return slab;
}
