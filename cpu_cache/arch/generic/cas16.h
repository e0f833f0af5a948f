/* SPDX-License-Identifier: MIT */
/* For machines and builds without a double compare-and-exchange. */
#ifndef CPU_CACHE_CAS16_H
#error "never include arch/generic/cas16.h directly; include cas16.h of cpu_cache"
#endif

#define CAS16_ARCH 0

static inline bool cas16(uint64_t *pair, uint64_t old0, uint64_t old1, uint64_t new0, uint64_t new1)
{
	(void)pair;
	(void)old0;
	(void)old1;
	(void)new0;
	(void)new1;
	return false;
}

static inline bool cas16_available(void)
{
	return false;
}
