/* SPDX-License-Identifier: MIT */
/*
 * The heap profile: which allocations are sampled, and how many samples each site has.
 *
 * Each thread counts the bytes that it allocates down from a random threshold. The allocation that
 * reaches zero is a sample, and the thread draws the next threshold. Thresholds have an exponential
 * distribution, with the period as mean. So the chance of an allocation of `size` bytes is
 *
 *   1 - exp(-size / period)
 *
 * whatever was allocated before it, and a sample stands for the inverse of that number of
 * allocations. The sums of these weights are unbiased estimates of objects and bytes.
 *
 * Every allocation must be counted, and the fast path counts nothing. So all caches have
 * GATE_PROFILE (core/gate.h) while the profile is on: an allocation leaves the fast path, counts
 * its bytes, and pops the same object. Counting at refills would cost less, but it misses objects
 * that are freed and allocated again between two refills, and a profile of these would be wrong.
 *
 * A sampled object lies in a debug slab with DEBUG_FLAG_PROFILE, and leads to its site. A large
 * allocation has the site in its slab's descriptor. Either knows its birth, too: when and on which
 * CPU it was allocated. Its free adds to the site's histogram of lifetimes.
 *
 * A site is a stack, a size and a period. It counts samples that were allocated and freed. Sites
 * are never removed, and lie in one array, so that a reader of the process's memory finds them.
 *
 * The sites also know what was in use at the peak, when the samples in use stood for the most
 * bytes. A peak has a number, and nothing is copied when it comes: a site keeps its samples in use
 * before the first change after it. A site without the number of the last peak has not changed
 * since. Threads that count meanwhile may belong to either side of a peak.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Sites beyond that are left out; the array has 29 MiB of address space. */
#define PROFILE_SITES_MAX (1u << 17)

/* Lifetime i is from 1 << i microseconds on; the first also has shorter ones, the last longer
 * ones. */
#define PROFILE_LIFETIMES 40u

struct profile_site {
	uint32_t next; /* number of the next site in the bucket, 0: none */
	uint32_t stack; /* id in the depot, 0: not known */
	uint64_t size; /* bytes of each object */
	uint64_t period; /* when the samples were taken; 0: the site is not complete yet */
	uint64_t weight; /* bytes that a sample stands for */
	uint64_t allocated, freed; /* samples: atomic */
	uint64_t kept; /* atomic: number of a peak << 32 | samples in use then */
	uint64_t token; /* of the type of the last sample (slab/token.h); atomic */
	uint64_t here; /* of `freed`: on the CPU that allocated them; atomic, as the next */
	uint32_t lifetime[PROFILE_LIFETIMES];
};

/* A sampled object, in the place of its free track (core/debug_record.h). */
struct profile_sample {
	uint32_t site;
	uint32_t tid; /* 0: the track is empty */
	uint64_t birth; /* profile_birth() */
};

/* Members are atomic. `period`, `changes` and `sites` change under registry_lock. */
struct profile {
	uint64_t period; /* mean number of bytes between two samples; 0: the profile is off */
	uint64_t changes; /* number of changes of the period */
	struct profile_site *sites; /* sites[0] is not used; NULL: the profile was never on */
	uint64_t missed; /* samples without a site or an object */
	uint64_t inuse; /* bytes that the samples in use stand for */
	uint64_t peak; /* the most of them since the profile was switched on */
	uint64_t peak_ms; /* track_now() at the last peak */
	uint32_t peaks; /* number of the last peak */
	uint32_t count; /* of sites, which may be more than PROFILE_SITES_MAX */
};

extern struct profile heap_profile;

/* Data of a thread. */
struct profile_countdown {
	int64_t left; /* bytes until the next sample */
	uint64_t changes; /* heap_profile.changes when `left` was drawn */
	uint64_t random;
};

extern __thread struct profile_countdown profile_countdown
	__attribute__((tls_model("initial-exec")));

static inline bool profile_is_on(void)
{
	return __atomic_load_n(&heap_profile.period, __ATOMIC_RELAXED) != 0;
}

/* profile_is_due: this thread allocates `bytes`. true: the allocation is a sample. */
bool profile_draw(size_t bytes);
static inline bool profile_is_due(size_t bytes)
{
	struct profile_countdown *mine = &profile_countdown;

	mine->left -= (int64_t)bytes;
	if (SLAB_LIKELY(mine->left >= 0) &&
	    SLAB_LIKELY(mine->changes == __atomic_load_n(&heap_profile.changes, __ATOMIC_RELAXED)))
		return false;
	return profile_draw(bytes);
}

/* profile_set_period: from now on this is the period; 0: the profile is off. false and ENOMEM:
 * there is no memory for sites, and nothing has changed. The caller holds registry_lock, or is the
 * only thread. */
bool profile_set_period(size_t period);

/*
 * profile_find_site: the number of the site of a stack and a size, with the present period. 0:
 * there is no room for it, or the profile is off. profile_set_token: a sample of the site has this
 * type, or 0. profile_birth: this moment and this CPU. profile_count_alloc, profile_count_free: a
 * sample of this site was allocated or freed. profile_count_missed: an allocation that was due
 * could not become a sample. All are lock-free.
 */
uint32_t profile_find_site(uint32_t stack, size_t size);
void profile_set_token(uint32_t site, uint64_t token);
uint64_t profile_birth(void);
void profile_count_alloc(uint32_t site);
void profile_count_free(uint32_t site, uint64_t birth);
void profile_count_missed(void);

/* For tests: the calling thread draws the thresholds of this seed, which is not 0. */
void profile_seed(uint64_t seed);
