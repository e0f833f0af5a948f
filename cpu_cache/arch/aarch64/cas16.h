/* SPDX-License-Identifier: MIT */
/* ldaxp/stlxp: the double compare-and-exchange that every aarch64 machine has. */
#ifndef CPU_CACHE_CAS16_H
#error "never include arch/aarch64/cas16.h directly; include cas16.h of cpu_cache"
#endif

#define CAS16_ARCH 1

/* If pair[0..1] is {old0, old1}, make it {new0, new1}. pair is 16-byte aligned. */
static inline bool cas16(uint64_t *pair, uint64_t old0, uint64_t old1, uint64_t new0, uint64_t new1)
{
	uint64_t seen0, seen1;
	uint32_t failed;

	/* The two loads are known to be atomic only if the store succeeds. So a differing pair
	 * is stored back before the function returns false. */
	__asm__ volatile("1: ldaxp %0, %1, [%3]\n\t"
			 "cmp %0, %4\n\t"
			 "ccmp %1, %5, #0, eq\n\t"
			 "b.ne 2f\n\t"
			 "stlxp %w2, %6, %7, [%3]\n\t"
			 "cbnz %w2, 1b\n\t"
			 "b 3f\n\t"
			 "2: stlxp %w2, %0, %1, [%3]\n\t"
			 "cbnz %w2, 1b\n\t"
			 "mov %w2, #1\n\t"
			 "3:\n\t"
			 : "=&r"(seen0), "=&r"(seen1), "=&r"(failed)
			 : "r"(pair), "r"(old0), "r"(old1), "r"(new0), "r"(new1)
			 : "memory", "cc");
	return !failed;
}

static inline bool cas16_available(void)
{
	return true;
}
