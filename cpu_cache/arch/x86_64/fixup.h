/* SPDX-License-Identifier: MIT */
/*
 * Fix-ups for x86-64.
 *
 * The section slab_fixups holds {instruction that may fault, where to go on},
 * both relative to where they stand, so that the table needs no relocation. All
 * of them leave the slab in rdx: where the third argument of slab_free_slow() has
 * to be. (The user is in rdi, its first; a register of the compiler's choice could
 * be rdx, unless rdx were denied to the address as well, which costs a move.)
 */
#ifndef CPU_CACHE_FIXUP_H
#error "never include arch/x86_64/fixup.h directly; include fixup.h of cpu_cache"
#endif

/* "R": a linker that drops unreferenced sections keeps it. */
#define FIXUP(fault, resume)                                                                       \
	".pushsection slab_fixups, \"aR\", @progbits\n\t.balign 4\n\t"                             \
	".long " #fault " - ., " #resume " - .\n\t.popsection\n\t"

/* The slab that *entry names, and whether it is another user's. */
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

/* The table, as the linker puts it together from all sections of that name. */
struct fixup {
	int32_t fault, resume;
};

/* Weak: a program that links none of these loads has no table. */
extern const struct fixup __start_slab_fixups[] __attribute__((weak, visibility("hidden")));
extern const struct fixup __stop_slab_fixups[] __attribute__((weak, visibility("hidden")));

/* Where a thread whose instruction at pc has faulted goes on; 0: not one of these. */
static inline uintptr_t fixup_find(uintptr_t pc)
{
	for (const struct fixup *f = __start_slab_fixups; f < __stop_slab_fixups; f++)
		if ((uintptr_t)&f->fault + (uintptr_t)(intptr_t)f->fault == pc)
			return (uintptr_t)&f->resume + (uintptr_t)(intptr_t)f->resume;
	return 0;
}
