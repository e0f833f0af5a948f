/* SPDX-License-Identifier: MIT */
/* The heap profile's thresholds and sites (profile.h). */
#include "report/profile.h"
#include "base/compiler.h"
#include "base/clock.h"
#include "pages/os.h"
#include "report/track.h"

#include <limits.h>
#include <sched.h>

#define ODD UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio */
/* Thresholds of longer periods are reached never. */
#define LEFT_MAX ((int64_t)1 << 62)
#define BIRTH_CPU_SHIFT 48
#define BIRTH_US ((UINT64_C(1) << BIRTH_CPU_SHIFT) - 1)

#define BUCKETS (1u << 12)

SLAB_EARLY struct profile heap_profile;
static uint32_t buckets[BUCKETS]; /* number of the newest site, 0: none; atomic */
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
	if (period)
		__atomic_store_n(&heap_profile.peak, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&heap_profile.period, period, __ATOMIC_RELAXED);
	__atomic_fetch_add(&heap_profile.changes, 1, __ATOMIC_RELEASE);
	return true;
}

/* --- sites ----------------------------------------------------------------------------- */

static uint32_t *bucket_of(uint32_t stack, uint64_t size, uint64_t period)
{
	uint64_t hash = ((stack * ODD ^ size) * ODD ^ period) * ODD;

	return &buckets[hash >> 32 & (BUCKETS - 1)];
}

/* size / (1 - exp(-x)) with x = size / period, within 1 %: this is size + period * x / (exp(x) -
 * 1), and of exp(x) the first terms suffice. */
static uint64_t weight_of(uint64_t size, uint64_t period)
{
	const double x = (double)size / (double)period;
	const double ratio = 1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5)));

	return size + (uint64_t)((double)period / ratio);
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
	sites[site].weight = weight_of(size, period);
	__atomic_store_n(&sites[site].period, period, __ATOMIC_RELEASE);
	do
		sites[site].next = first;
	while (!__atomic_compare_exchange_n(bucket, &first, site, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
	return site;
}

void profile_set_token(uint32_t site, uint64_t token)
{
	if (site && token)
		__atomic_store_n(&heap_profile.sites[site].token, token, __ATOMIC_RELAXED);
}

/* --- samples ---------------------------------------------------------------------------- */

/* The site is about to change. */
static void keep_peak(struct profile_site *site)
{
	const uint64_t peak = __atomic_load_n(&heap_profile.peaks, __ATOMIC_ACQUIRE);
	uint64_t kept = __atomic_load_n(&site->kept, __ATOMIC_ACQUIRE), inuse;

	if (kept >> 32 == peak)
		return;
	/* Frees first: so they are never more. */
	inuse = -__atomic_load_n(&site->freed, __ATOMIC_ACQUIRE);
	inuse += __atomic_load_n(&site->allocated, __ATOMIC_RELAXED);
	/* If this fails, another thread has kept it. */
	__atomic_compare_exchange_n(&site->kept, &kept, peak << 32 | (uint32_t)inuse, false,
				    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static void note_peak(uint64_t inuse)
{
	uint64_t peak = __atomic_load_n(&heap_profile.peak, __ATOMIC_RELAXED);

	while (inuse > peak)
		if (__atomic_compare_exchange_n(&heap_profile.peak, &peak, inuse, true,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			__atomic_store_n(&heap_profile.peak_ms, track_now(), __ATOMIC_RELAXED);
			__atomic_fetch_add(&heap_profile.peaks, 1, __ATOMIC_RELEASE);
			return;
		}
}

void profile_count_alloc(uint32_t number)
{
	struct profile_site *site = &heap_profile.sites[number];

	keep_peak(site);
	__atomic_fetch_add(&site->allocated, 1, __ATOMIC_RELAXED);
	note_peak(__atomic_add_fetch(&heap_profile.inuse, site->weight, __ATOMIC_RELAXED));
}

/* The CPU in the highest bits, and the microseconds of almost nine years. */
uint64_t profile_birth(void)
{
	return (uint64_t)sched_getcpu() << BIRTH_CPU_SHIFT | (clock_us() & BIRTH_US);
}

static void count_lifetime(struct profile_site *site, uint64_t birth)
{
	const uint64_t now = profile_birth(), us = (now - birth) & BIRTH_US;
	unsigned i = 63 - (unsigned)__builtin_clzll(us | 1);

	i = i < PROFILE_LIFETIMES ? i : PROFILE_LIFETIMES - 1;
	__atomic_fetch_add(&site->lifetime[i], 1, __ATOMIC_RELAXED);
	if ((now ^ birth) >> BIRTH_CPU_SHIFT == 0)
		__atomic_fetch_add(&site->here, 1, __ATOMIC_RELAXED);
}

void profile_count_free(uint32_t number, uint64_t birth)
{
	struct profile_site *site = &heap_profile.sites[number];

	keep_peak(site);
	__atomic_fetch_add(&site->freed, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&heap_profile.inuse, site->weight, __ATOMIC_RELAXED);
	count_lifetime(site, birth);
}

void profile_count_missed(void)
{
	__atomic_fetch_add(&heap_profile.missed, 1, __ATOMIC_RELAXED);
}
