/* SPDX-License-Identifier: MIT */
/*
 * The list of caches and the waiting side of pins. Readers without the lock check
 * registry_changes, so every change stands between seqcount_write_begin() and
 * seqcount_write_end().
 */
#include "core/registry.h"
#include "base/cancel.h"
#include "base/compiler.h"
#include "base/own_work.h"
#include "base/seqcount.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Protects the list, the names, and the memory of destroyed caches. */
SLAB_EARLY pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
SLAB_EARLY struct slab_cache *registry_first;
static struct slab_cache **registry_end = &registry_first;
SLAB_EARLY uint64_t registry_changes;
SLAB_EARLY unsigned registry_count;
/* By registry_look_further(); under registry_lock. */
static SLAB_EARLY struct slab_cache *looked_at;

/* --- names ------------------------------------------------------------------------------- */

/* Each name hashes to one of these lists, by name_next. */
#define NAME_LISTS 512u
static struct slab_cache *names[NAME_LISTS];

/* FNV-1a. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash;
}

/* What leads to the cache of this name, or the end of its list. */
static struct slab_cache **place_of(const char *name)
{
	struct slab_cache **at = &names[hash_of(name) % NAME_LISTS];

	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->name_next;
	return at;
}

static void add_name(struct slab_cache *cache)
{
	cache->name_next = NULL;
	*place_of(cache->name) = cache;
}

static void remove_name(const struct slab_cache *cache)
{
	*place_of(cache->name) = cache->name_next;
}

struct slab_cache *registry_find(const char *name)
{
	return *place_of(name);
}

/* --- the list ---------------------------------------------------------------------------- */

void registry_add(struct slab_cache *cache)
{
	seqcount_write_begin(&registry_changes);
	cache->prev_next = registry_end;
	*registry_end = cache;
	registry_end = &cache->next;
	__atomic_store_n(&registry_count, registry_count + 1, __ATOMIC_RELAXED);
	seqcount_write_end(&registry_changes);
	add_name(cache);
}

void registry_remove(struct slab_cache *cache)
{
	remove_name(cache);
	if (GUARD_AGAINST(registry_looked_at, looked_at == cache))
		looked_at = NULL;
	seqcount_write_begin(&registry_changes);
	*cache->prev_next = cache->next;
	if (cache->next)
		cache->next->prev_next = cache->prev_next;
	else
		registry_end = cache->prev_next;
	__atomic_store_n(&registry_count, registry_count - 1, __ATOMIC_RELAXED);
	seqcount_write_end(&registry_changes);
}

bool registry_rename(struct slab_cache *cache, const char *name)
{
	if (registry_find(name))
		return false;
	remove_name(cache);
	seqcount_write_begin(&registry_changes);
	memset(cache->name, 0, sizeof(cache->name));
	memcpy(cache->name, name, strlen(name));
	seqcount_write_end(&registry_changes);
	add_name(cache);
	return true;
}

bool cache_is_registered(const struct slab_cache *cache)
{
	return cache && cache->magic == CACHE_MAGIC;
}

int slab_for_each_cache(int (*fn)(struct slab_cache *cache, void *arg), void *arg)
{
	int cancel = cancel_disable(), result = 0;
	struct pin pin = {0};

	while (!result && registry_next_pinned(&pin))
		result = fn(pin.cache, arg);
	if (result)
		cache_unpin(&pin);
	cancel_restore(cancel);
	return result;
}

/* --- pins -------------------------------------------------------------------------------- */

struct slab_cache *registry_next_pinned(struct pin *pin)
{
	struct slab_cache *cache = pin->cache, *next;

	pthread_mutex_lock(&registry_lock);
	next = own_work_must_end() ? NULL : cache ? cache->next : registry_first;
	while (next && GUARD_AGAINST(pin_next_dying, cache_is_dying(next)))
		next = next->next;
	if (cache)
		cache_unpin(pin);
	if (next)
		cache_pin(pin, next);
	pthread_mutex_unlock(&registry_lock);
	return next;
}

/* Under registry_lock. */
static bool try_pin(struct pin *pin, struct slab_cache *cache)
{
	if (GUARD_AGAINST(pin_registered, !cache_is_registered(cache)) ||
	    GUARD_AGAINST(pin_dying, cache_is_dying(cache)))
		return false;
	cache_pin(pin, cache);
	return true;
}

struct slab_cache *registry_look_further(struct pin *pin, bool (*wants)(const struct slab_cache *),
					 const struct slab_cache *but, unsigned *looks)
{
	struct slab_cache *found = NULL;

	if (!*looks || own_work_must_end() || pthread_mutex_trylock(&registry_lock) != 0)
		return NULL;
	while (*looks && !found && registry_first) {
		struct slab_cache *cache =
			looked_at && looked_at->next ? looked_at->next : registry_first;

		--*looks;
		looked_at = cache;
		if (cache != but && wants(cache) && try_pin(pin, cache))
			found = cache;
	}
	pthread_mutex_unlock(&registry_lock);
	return found;
}

struct slab_cache *registry_find_pinned(struct pin *pin, const char *name)
{
	struct slab_cache *cache;

	pthread_mutex_lock(&registry_lock);
	cache = registry_find(name);
	if (!try_pin(pin, cache))
		cache = NULL;
	pthread_mutex_unlock(&registry_lock);
	return cache;
}

bool registry_pin(struct pin *pin, struct slab_cache *cache)
{
	bool done;

	pthread_mutex_lock(&registry_lock);
	done = try_pin(pin, cache);
	pthread_mutex_unlock(&registry_lock);
	return done;
}

void pin_dying(struct slab_cache *cache, bool dying)
{
	__atomic_store_n(&cache->dying, dying, __ATOMIC_RELAXED);
	if (dying)
		cache_pin(&cache->destruction, cache);
	else
		cache_unpin(&cache->destruction);
}

int pin_wait(struct slab_cache *cache)
{
	unsigned pins = __atomic_or_fetch(&cache->pins, PINS_WAITED_FOR, __ATOMIC_ACQUIRE);
	bool is_mine = cache_pins_of_mine(cache) != 0;

	if (!GUARD_AGAINST(pin_waits, pins != PINS_WAITED_FOR))
		return 0;
	pthread_mutex_unlock(&registry_lock);
	if (is_mine)
		return EBUSY;
	syscall(SYS_futex, &cache->pins, FUTEX_WAIT_PRIVATE, pins, NULL, NULL, 0);
	return EAGAIN;
}

void pin_after_fork_child(struct slab_cache *cache)
{
	GUARD_STEP(fork_pins, cache->pins = cache_pins_of_mine(cache));
	cache->dying &= GUARD(fork_dying, cache->pins != 0);
}
