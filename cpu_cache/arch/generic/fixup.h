/* SPDX-License-Identifier: MIT */
/* Machines without fix-ups: a load that faults is a fault like any other. */
#ifndef CPU_CACHE_FIXUP_H
#error "never include arch/generic/fixup.h directly; include fixup.h of cpu_cache"
#endif

static inline struct cpu_slab *fixup_slab_of_user(struct cpu_slab *const *entry, const void *user,
						  bool *ret_other)
{
	struct cpu_slab *slab = *entry;

	*ret_other = slab->user != user;
	return slab;
}
