/* SPDX-License-Identifier: MIT */
/*
 * Fix-ups for x86-64.
 *
 * All these instructions leave the slab in rdx, where slab_free_slow() expects its third argument. The
 * user is fixed to rdi, where that function's first argument is. If the compiler chose its
 * register, it could choose rdx. To exclude that, the address would have to avoid rdx as well,
 * which costs a move.
 */
#ifndef CPU_CACHE_FIXUP_H
#error "never include arch/x86_64/fixup.h directly; include fixup.h of cpu_cache"
#endif

/* The slab that *entry names. *ret_other: it belongs to another user. */
static inline __attribute__((always_inline)) struct cpu_slab *fixup_slab_of_user(
	struct cpu_slab *const *entry, const void *user, bool *ret_other)
{
	struct cpu_slab *slab;
	bool other;

	/* clang-format off */
	__asm__ volatile inline(
		"1: mov %[entry], %[slab]\n\t"
		"2: cmp %[user], %c[offset](%[slab])\n\t"
		FIXUP(1b, 2b) FIXUP(2b, 2b)
		: [slab] "=d"(slab), "=@ccne"(other)
		: [entry] "m"(*entry), [user] "D"(user),
		  [offset] "i"(offsetof(struct cpu_slab, user))
		: "memory");
	/* clang-format on */
	*ret_other = other;
	return slab;
}
