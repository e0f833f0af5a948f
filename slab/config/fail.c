/* SPDX-License-Identifier: MIT */
/*
 * Whether an allocation is to fail: the settings, how often they were asked, and
 * their change while the program runs.
 *
 * Settings and their counters are one unit, an injection. It is filled in where
 * nobody looks and published by one store, so that no reader sees half of a
 * change and no fork can catch a lock held. Chance is a hash of the call's
 * number: a program that does the same again fails at the same calls again.
 */
#include <errno.h>
#include <limits.h>
#include <slab/debug.h>
#include <slab/slab.h>
#include <string.h>

#include "config/fail.h"
#include "base/error.h"
#include "base/publish.h"
#include "base/text.h"
#include "config/options.h"
#include "core/cache.h"

struct injection {
	struct slab_fail settings;
	uint64_t calls, failures;
};

static struct injection environment; /* its settings are slab_options()'s */
static struct injection slots[PUBLISH_SLOTS];
static struct injection *current = &environment;

/* --- settings -------------------------------------------------------------------- */

/* "key=" at the start of an item: what follows it, else NULL. */
static const char *value_of(const char *item, const char *end, const char *key)
{
	size_t len = strlen(key);

	return (size_t)(end - item) >= len && memcmp(item, key, len) == 0 ? item + len : NULL;
}

static bool add_name(struct slab_fail *fail, const char *name, size_t len)
{
	size_t at = strlen(fail->names);

	if (!name_is_pattern(name, len) || at + len + 2 > sizeof(fail->names))
		return false;
	if (at)
		fail->names[at++] = ',';
	memcpy(fail->names + at, name, len);
	fail->names[at + len] = '\0';
	return true;
}

static bool parse_item(struct slab_fail *fail, const char *item, const char *end)
{
	const char *value;
	long n;

	value = value_of(item, end, "cache=");
	if (value)
		return add_name(fail, value, (size_t)(end - value));
	value = value_of(item, end, "times=");
	if (value)
		return option_number(value, (size_t)(end - value), -1, LONG_MAX, &fail->times);
	value = value_of(item, end, "interval=");
	if (value && option_number(value, (size_t)(end - value), 1, INT_MAX, &n)) {
		fail->interval = (unsigned)n;
		return true;
	}
	value = value_of(item, end, "probability=");
	if (value && option_number(value, (size_t)(end - value), 0, 100, &n)) {
		fail->probability = (unsigned)n;
		return true;
	}
	return false;
}

bool fail_parse(struct slab_fail *fail, const char *spec)
{
	struct slab_fail wanted = {.probability = 100, .interval = 1, .times = -1, .set = true};
	const char *item = spec, *end;

	do {
		end = item + strcspn(item, ",");
		if (!parse_item(&wanted, item, end))
			return false;
		item = end + 1;
	} while (*end);
	*fail = wanted;
	return true;
}

/* The injection in force: NULL when nothing is to fail. */
static struct injection *injection(const struct slab_fail **ret_settings)
{
	struct injection *now = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
	const struct slab_fail *fail = now == &environment ? &slab_options()->fail : &now->settings;

	*ret_settings = fail;
	return fail->set ? now : NULL;
}

/* --- deciding -------------------------------------------------------------------- */

/* A number whose bits are all a matter of chance, for each n. */
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

bool fail_object(const char *cache_name, bool lettered)
{
	const struct slab_fail *fail;
	struct injection *now = injection(&fail);

	if (!now)
		return false;
	return (*fail->names ? is_named(fail, cache_name) : lettered) && decide(now, fail);
}

bool fail_wants(const char *cache_name)
{
	const struct slab_fail *fail;

	return injection(&fail) && is_named(fail, cache_name);
}

/* --- changing the settings ---------------------------------------------------------- */

/* Caches that are named need the letter A, which sends them off the fast path. */
static int letter_cache(struct slab_cache *cache, void *unused)
{
	uint64_t letters = cache_letters(cache) & SLAB_DEBUG_LETTERS;

	(void)unused;
	if (!(letters & SLAB_FAILSLAB) && fail_wants(cache->name))
		slab_cache_debug(cache, letters | SLAB_FAILSLAB);
	return 0;
}

int slab_set_fail(const char *spec)
{
	static unsigned changes;
	struct slab_fail wanted = {.set = false};
	struct injection *slot;

	if (spec && *spec && !fail_parse(&wanted, spec))
		return with_errno(-EINVAL);
	slot = &slots[publish_slot(&changes)];
	*slot = (struct injection){.settings = wanted};
	__atomic_store_n(&current, slot, __ATOMIC_RELEASE);
	slab_for_each_cache(letter_cache, NULL);
	return 0;
}
