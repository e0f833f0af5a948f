/* SPDX-License-Identifier: MIT */
/*
 * Charging and releasing bytes (account.h). A compare-and-exchange keeps an account below its
 * limit without a lock.
 */
#include "pages/account.h"

#include <errno.h>
#include <slab/memory.h>

#include "base/compiler.h"
#include "base/maintenance.h"
#include "base/options.h"

_Static_assert(LIMIT_LEAST_OF_PROCESS == (size_t)1 << SLAB_SHIFT_MIN, "the smallest slab");

SLAB_EARLY struct pages slab_pages;

__thread enum alloc_failure alloc_failure __attribute__((tls_model("initial-exec")));

static bool has_room(const struct account *account, uint64_t used, size_t bytes)
{
	const uint64_t limit = __atomic_load_n(&account->limit, __ATOMIC_RELAXED);

	return !limit || (used <= limit && bytes <= limit - used);
}

static bool add(struct account *account, size_t bytes)
{
	uint64_t used = __atomic_load_n(&account->used, __ATOMIC_RELAXED);

	do {
		if (!has_room(account, used, bytes))
			return false;
	} while (!__atomic_compare_exchange_n(&account->used, &used, used + bytes, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

static void subtract(struct account *account, size_t bytes)
{
	__atomic_fetch_sub(&account->used, bytes, __ATOMIC_RELAXED);
}

static bool fail(enum alloc_failure why)
{
	alloc_failure = why;
	errno = ENOMEM;
	return false;
}

bool account_has_room(size_t bytes)
{
	return has_room(&slab_pages.account, account_used(), bytes) || fail(ALLOC_FAILURE_PROCESS);
}

bool account_charge(struct account *cache, size_t bytes)
{
	if (cache && !add(cache, bytes))
		return fail(ALLOC_FAILURE_CACHE);
	if (add(&slab_pages.account, bytes)) {
		maintenance_note_bytes(account_used());
		return true;
	}
	if (cache)
		subtract(cache, bytes);
	return fail(ALLOC_FAILURE_PROCESS);
}

void account_release(struct account *cache, size_t bytes)
{
	subtract(&slab_pages.account, bytes);
	if (cache)
		subtract(cache, bytes);
}

void account_give_up(struct account *cache, size_t bytes)
{
	account_release(cache, bytes);
	errno = ENOMEM;
}

void account_init(void)
{
	slab_pages.account.limit = slab_options()->limit;
	slab_pages.soft_limit = slab_options()->soft_limit;
}
