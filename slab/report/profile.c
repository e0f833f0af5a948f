/* SPDX-License-Identifier: MIT */
/* The heap profile's thresholds and sites (profile.h). */
#include "report/profile.h"
#include "base/clock.h"
#include "pages/os.h"

#include <limits.h>

#define ODD UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio */
/* Thresholds of longer periods are reached never. */
#define LEFT_MAX ((int64_t)1 << 62)

struct profile heap_profile;
__thread struct profile_countdown profile_countdown __attribute__((tls_model("initial-exec")));

/* --- thresholds ---------------------------------------------------------------------- */

/* A xorshift generator. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

/*
 * An exponentially distributed number with mean 1, without a logarithm, by von Neumann's method.
 * Draw numbers as long as they fall. The number of draws is odd with probability exp(-first): then
 * `first` is the fraction. Otherwise begin again, one further.
 */
static double draw_exponential(uint64_t *state)
{
	for (unsigned whole = 0;; whole++) {
		const uint64_t first = next_random(state);
		uint64_t last = first, next = next_random(state);
		bool is_odd = true;

		for (; next < last; next = next_random(state)) {
			last = next;
			is_odd = !is_odd;
		}
		if (is_odd)
			return whole + (double)first * 0x1p-64;
	}
}

static void draw_left(struct profile_countdown *mine, uint64_t period)
{
	double left;

	if (!mine->random)
		mine->random = (clock_ns() ^ (uintptr_t)mine) * ODD | 1;
	left = draw_exponential(&mine->random) * (double)period;
	mine->left = left < (double)LEFT_MAX ? (int64_t)left : LEFT_MAX;
}

/* A change of the period makes the old threshold invalid; the thread begins with a new one. */
bool profile_draw(size_t bytes)
{
	struct profile_countdown *mine = &profile_countdown;
	uint64_t changes = __atomic_load_n(&heap_profile.changes, __ATOMIC_ACQUIRE);
	uint64_t period = __atomic_load_n(&heap_profile.period, __ATOMIC_RELAXED);

	if (mine->changes != changes) {
		mine->changes = changes;
		mine->left = LEFT_MAX;
		if (!period)
			return false;
		draw_left(mine, period);
		mine->left -= (int64_t)bytes;
		if (mine->left >= 0)
			return false;
	}
	draw_left(mine, period ? period : (uint64_t)LEFT_MAX);
	return period;
}

void profile_seed(uint64_t seed)
{
	profile_countdown = (struct profile_countdown){.changes = UINT64_MAX, .random = seed};
}

bool profile_set_period(size_t period)
{
	if (period && !heap_profile.sites) {
		struct profile_site *sites =
			os_map(PROFILE_SITES_MAX * sizeof(struct profile_site), 1);

		if (!sites)
			return false;
		__atomic_store_n(&heap_profile.sites, sites, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&heap_profile.period, period, __ATOMIC_RELAXED);
	__atomic_fetch_add(&heap_profile.changes, 1, __ATOMIC_RELEASE);
	return true;
}

/* --- sites ----------------------------------------------------------------------------- */

static uint32_t *bucket_of(uint32_t stack, uint64_t size, uint64_t period)
{
	uint64_t hash = ((stack * ODD ^ size) * ODD ^ period) * ODD;

	return &heap_profile.bucket[hash >> 32 & (PROFILE_BUCKETS - 1)];
}

/* Two threads that add the same site at once add two of them. Sums over sites are the same then. */
uint32_t profile_find_site(uint32_t stack, size_t size)
{
	uint64_t period = __atomic_load_n(&heap_profile.period, __ATOMIC_RELAXED);
	struct profile_site *sites = __atomic_load_n(&heap_profile.sites, __ATOMIC_ACQUIRE);
	uint32_t *bucket = bucket_of(stack, size, period);
	uint32_t first = __atomic_load_n(bucket, __ATOMIC_ACQUIRE), site;

	if (!period)
		return 0;
	for (site = first; site; site = sites[site].next)
		if (sites[site].stack == stack && sites[site].size == size &&
		    sites[site].period == period)
			return site;
	if (__atomic_load_n(&heap_profile.count, __ATOMIC_RELAXED) >= PROFILE_SITES_MAX - 1)
		return 0;
	site = __atomic_add_fetch(&heap_profile.count, 1, __ATOMIC_RELAXED);
	if (site >= PROFILE_SITES_MAX)
		return 0;
	sites[site].stack = stack;
	sites[site].size = size;
	__atomic_store_n(&sites[site].period, period, __ATOMIC_RELEASE);
	do
		sites[site].next = first;
	while (!__atomic_compare_exchange_n(bucket, &first, site, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
	return site;
}

void profile_count_alloc(uint32_t site)
{
	__atomic_fetch_add(&heap_profile.sites[site].allocated, 1, __ATOMIC_RELAXED);
}

void profile_count_free(uint32_t site)
{
	__atomic_fetch_add(&heap_profile.sites[site].freed, 1, __ATOMIC_RELAXED);
}

void profile_count_missed(void)
{
	__atomic_fetch_add(&heap_profile.missed, 1, __ATOMIC_RELAXED);
}
