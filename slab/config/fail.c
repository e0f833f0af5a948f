/* SPDX-License-Identifier: MIT */
/*
 * Fault injection: the settings, and how many calls they have decided.
 *
 * Settings and their counters are one unit, an injection. A thread fills in an injection and
 * publishes it by one store, so no reader sees half of a change and a fork finds no lock held.
 * Chance is a hash of the call's number, so a program that repeats its calls fails at the same
 * ones.
 */
#include "config/fail.h"

#include <stdint.h>
#include <string.h>

#include "base/publish.h"
#include "config/text.h"
#include "config/options.h"

struct injection {
	struct slab_fail settings;
	uint64_t calls, failures;
};

static struct injection environment; /* its settings are in slab_options() */
static struct injection slots[PUBLISH_SLOTS];
static struct injection *current = &environment;

/* The current injection; NULL: no allocation fails. */
static struct injection *injection(const struct slab_fail **ret_settings)
{
	struct injection *now = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
	const struct slab_fail *fail = now == &environment ? &slab_options()->fail : &now->settings;

	*ret_settings = fail;
	return fail->set ? now : NULL;
}

/* --- deciding -------------------------------------------------------------------- */

/* A hash of n; all its bits depend on all bits of n. */
static uint64_t mix(uint64_t n)
{
	n *= UINT64_C(0x9e3779b97f4a7c15);
	n = (n ^ n >> 32) * UINT64_C(0xd6e8feb86659fd93);
	n = (n ^ n >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return n ^ n >> 32;
}

static bool decide(struct injection *now, const struct slab_fail *fail)
{
	uint64_t call = __atomic_add_fetch(&now->calls, 1, __ATOMIC_RELAXED);

	if (call % fail->interval != 0 || mix(call) % 100 >= fail->probability)
		return false;
	return fail->times < 0 ||
	       __atomic_fetch_add(&now->failures, 1, __ATOMIC_RELAXED) < (uint64_t)fail->times;
}

static bool is_named(const struct slab_fail *fail, const char *cache_name)
{
	return name_in_list(fail->names, strlen(fail->names), cache_name);
}

bool fail_pages(void)
{
	const struct slab_fail *fail;
	struct injection *now = injection(&fail);

	return now && !*fail->names && decide(now, fail);
}

bool fail_object(const char *cache_name, bool flagged)
{
	const struct slab_fail *fail;
	struct injection *now = injection(&fail);

	if (!now)
		return false;
	return (*fail->names ? is_named(fail, cache_name) : flagged) && decide(now, fail);
}

bool fail_wants(const char *cache_name)
{
	const struct slab_fail *fail;

	return injection(&fail) && is_named(fail, cache_name);
}

/* --- changing the settings ---------------------------------------------------------- */

void fail_set(const struct slab_fail *settings)
{
	static unsigned changes;
	struct injection *slot = &slots[publish_slot(&changes)];

	*slot = (struct injection){.settings = *settings};
	__atomic_store_n(&current, slot, __ATOMIC_RELEASE);
}
