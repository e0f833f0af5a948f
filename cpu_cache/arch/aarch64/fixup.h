/* SPDX-License-Identifier: MIT */
/* Fix-ups for aarch64. */
#ifndef CPU_CACHE_FIXUP_H
#error "never include arch/aarch64/fixup.h directly; include fixup.h of cpu_cache"
#endif

/* Does the word have this value, which is not 0? After a fault: no; the handler puts 0 into x2
 * (trap.h). The operand is the address: the compiler may copy a memory operand, by a load of its
 * own that nothing fixes up. */
static inline __attribute__((always_inline)) bool fixup_equals(const uintptr_t *word,
							       uintptr_t value)
{
	register uintptr_t seen __asm__("x2");

	/* clang-format off */
	__asm__ volatile inline(
		"1: ldr %[seen], [%[word]]\n\t"
		"2:\n\t"
		FIXUP(1b, 2b)
		: [seen] "=r"(seen)
		: [word] "r"(word)
		: "memory");
	/* clang-format on */
	return seen == value;
}
