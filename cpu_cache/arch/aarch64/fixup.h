/* SPDX-License-Identifier: MIT */
/*
 * Fix-ups for aarch64.
 *
 * All these instructions leave the slab in x2, where slab_free_slow() expects its third argument.
 */
#ifndef CPU_CACHE_FIXUP_H
#error "never include arch/aarch64/fixup.h directly; include fixup.h of cpu_cache"
#endif

/* The slab that *entry names. *ret_other: it belongs to another user. The operand is the address: the
 * compiler may copy a memory operand, by a load of its own that nothing fixes up. */
static inline __attribute__((always_inline)) struct cpu_slab *fixup_slab_of_user(
	struct cpu_slab *const *entry, const void *user, bool *ret_other)
{
	register struct cpu_slab *slab __asm__("x2");
	const void *seen;

	/* clang-format off */
	__asm__ volatile inline(
		"1: ldr %[slab], [%[entry]]\n\t"
		"2: ldr %[seen], [%[slab], %[offset]]\n\t"
		FIXUP(1b, 2b) FIXUP(2b, 2b)
		: [slab] "=r"(slab), [seen] "=r"(seen)
		: [entry] "r"(entry), [offset] "i"(offsetof(struct cpu_slab, user))
		: "memory");
	/* clang-format on */
	*ret_other = seen != user;
	return slab;
}
