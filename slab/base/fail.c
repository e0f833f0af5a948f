/* SPDX-License-Identifier: MIT */
/*
 * Fault injection: the settings, and how many calls they have decided.
 *
 * Settings and their counters are one unit, an injection. A thread fills in an injection and
 * publishes it (base/publish.h), so no decision uses half of a change.
 * Chance is a hash of the call's number, so a program that repeats its calls fails at the same
 * ones.
 */
#include "base/fail.h"

#include <string.h>

#include "base/publish.h"
#include "base/text.h"

struct injection {
	struct slab_fail settings;
	uint64_t calls, failures;
};

static struct injection environment; /* its settings are in slab_options() */
static struct injection slots[PUBLISH_SLOTS];
static struct published published; /* nothing: the environment's injection */

/* --- deciding -------------------------------------------------------------------- */

/* A hash of n; all its bits depend on all bits of n. */
static uint64_t mix(uint64_t n)
{
	n *= UINT64_C(0x9e3779b97f4a7c15);
	n = (n ^ n >> 32) * UINT64_C(0xd6e8feb86659fd93);
	n = (n ^ n >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return n ^ n >> 32;
}

/* The numbers of the settings. */
struct numbers {
	unsigned probability, interval;
	long times;
};

/* Do the settings concern an allocation? `flagged` decides unless they name caches. */
static bool concern(const struct slab_fail *fail, const char *cache_name, bool flagged)
{
	if (!fail->set || !*fail->names)
		return fail->set && flagged;
	return cache_name && name_in_list(fail->names, strlen(fail->names), cache_name);
}

/* ThreadSanitizer does not know that a reader checks afterwards whether what it read was whole. */
static void before_reading(void)
{
#ifdef __SANITIZE_THREAD__
	publish_lock();
#endif
}

static void after_reading(void)
{
#ifdef __SANITIZE_THREAD__
	publish_unlock();
#endif
}

/* The present injection and its numbers if it concerns an allocation, or else NULL. Its names are
 * read in place: they are too many for the stack of a thread that allocates. */
static struct injection *find(const char *cache_name, bool flagged, struct numbers *ret_numbers)
{
	struct injection *now;
	uint64_t number;
	bool found;

	before_reading();
	do {
		const struct slab_fail *fail;

		number = publish_current(&published);
		now = number ? &slots[number % PUBLISH_SLOTS] : &environment;
		fail = number ? &now->settings : &slab_options()->fail;
		found = concern(fail, cache_name, flagged);
		*ret_numbers = (struct numbers){fail->probability, fail->interval, fail->times};
	} while (number && !publish_was_whole(&published, number));
	after_reading();
	return found ? now : NULL;
}

static bool decide(struct injection *now, const struct numbers *numbers)
{
	uint64_t call = __atomic_add_fetch(&now->calls, 1, __ATOMIC_RELAXED);

	if (call % numbers->interval != 0 || mix(call) % 100 >= numbers->probability)
		return false;
	return numbers->times < 0 ||
	       __atomic_fetch_add(&now->failures, 1, __ATOMIC_RELAXED) < (uint64_t)numbers->times;
}

static bool fails(const char *cache_name, bool flagged)
{
	struct numbers numbers;
	struct injection *now = find(cache_name, flagged, &numbers);

	return now && decide(now, &numbers);
}

bool fail_pages(void)
{
	return fails(NULL, true);
}

bool fail_concerns_pages(void)
{
	struct numbers numbers;

	return find(NULL, true, &numbers);
}

bool fail_object(const char *cache_name, bool flagged)
{
	return fails(cache_name, flagged);
}

bool fail_wants(const char *cache_name)
{
	struct numbers numbers;

	return find(cache_name, false, &numbers);
}

/* --- changing the settings ---------------------------------------------------------- */

void fail_set(const struct slab_fail *settings)
{
	struct injection *slot;

	publish_lock();
	slot = &slots[publish_begin(&published)];
	slot->settings = *settings;
	/* A thread that decided by the slot's last settings may still count there. */
	__atomic_store_n(&slot->calls, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->failures, 0, __ATOMIC_RELAXED);
	publish_end(&published);
	publish_unlock();
}
