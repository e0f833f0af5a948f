/* SPDX-License-Identifier: MIT */
/* For machines without fix-ups: the loads are plain, and one that faults is like any other
 * fault. */
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
