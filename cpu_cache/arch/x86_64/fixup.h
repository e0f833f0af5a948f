/* SPDX-License-Identifier: MIT */
/* Fix-ups for x86-64. */
#ifndef CPU_CACHE_FIXUP_H
#error "never include arch/x86_64/fixup.h directly; include fixup.h of cpu_cache"
#endif

/* Does the word have this value? After a fault: no. The handler clears the flag that the comparison
 * would have set (trap.h). */
static inline __attribute__((always_inline)) bool fixup_equals(const uintptr_t *word,
							       uintptr_t value)
{
	bool same;

	/* clang-format off */
	__asm__ volatile inline(
		"1: cmp %[value], %[word]\n\t"
		"2:\n\t"
		FIXUP(1b, 2b)
		: "=@cce"(same)
		: [word] "m"(*word), [value] "r"(value)
		: "memory");
	/* clang-format on */
	return same;
}
