/* SPDX-License-Identifier: MIT */
/* lock cmpxchg16b: the double compare-and-exchange of x86-64. */
#ifndef CPU_CACHE_CAS16_H
#error "never include arch/x86_64/cas16.h directly; include cas16.h of cpu_cache"
#endif

#include <cpuid.h>

#define CAS16_ARCH 1

/* If pair[0..1] is {old0, old1}, make it {new0, new1}. pair is 16-byte aligned. */
static inline bool cas16(uint64_t *pair, uint64_t old0, uint64_t old1, uint64_t new0, uint64_t new1)
{
	bool done;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(done), "+m"(*(uint64_t(*)[2])pair), "+a"(old0), "+d"(old1)
			 : "b"(new0), "c"(new1)
			 : "memory");
	return done;
}

static inline bool cas16_available(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_CMPXCHG16B);
}
