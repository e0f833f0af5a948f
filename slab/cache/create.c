/* SPDX-License-Identifier: MIT */
/*
 * Creation of caches. destroy.c destroys them, and handles.c has their memory.
 */
#include <errno.h>
#include <slab/debug.h>
#include <slab/stats.h>

#include "cache/create.h"
#include "alloc/alloc.h"
#include "base/cancel.h"
#include "base/note.h"
#include "cache/create_args.h"
#include "core/handles.h"
#include "cache/nofail.h"
#include "cache/spaces.h"
#include "base/fail.h"
#include "base/options.h"
#include "control/server.h"
#include "core/debug_record.h"
#include "core/slab.h"
#include "core/upcalls.h"
#include "debug/debug_cache.h"
#include "debug/fault.h"
#include "debug/guard.h"
#include "debug/layout.h"
#include "memory/pressure.h"
#include "pages/account.h"
#include "pages/topology.h"
#include "percpu/closing.h"
#include "percpu/length.h"
#include "rcu/free_rcu.h"
#include "core/gate.h"
#include "core/init.h"
#include "core/registry.h"
#include "core/shard.h"
#include "report/annotate.h"
#include "report/profile.h"

/* SLAB_DEBUG has O: leave out debug flags that would raise the order of the cache's slabs. */
#define DEBUG_FLAG_NO_GROWTH (UINT64_C(1) << 63)

/* The cache is that of a definition, and may exist already (defined.c). */
#define CREATE_FLAG_DEFINED (UINT64_C(1) << 62)
#define CREATE_FLAGS (DEBUG_FLAG_NO_GROWTH | CREATE_FLAG_DEFINED)

/* Empty slabs that each shard keeps. */
#define MIN_PARTIAL 2u
/* Per cent, as in SLUB. */
#define OTHER_NODE_RATIO 100u

/* Register libslab's fork hooks before all others. Hooks that are registered later run earlier
 * before fork() and later after it. This matters for the hooks of an RCU flavour: they stop and
 * start threads that take libslab's locks. 101 is the first priority that is not reserved. */
static __attribute__((constructor(101))) void register_fork_hooks(void)
{
	slab_fork_init();
}

/* Behind all other destructors that may free: those of programs and libraries that use this one,
 * and those of this one, whose default priority is 65535. */
static __attribute__((destructor(101))) void report_leaks(void)
{
	cache_report_leaks_at_exit();
}

const char *slab_cache_name(const struct slab_cache *cache)
{
	return cache->name;
}

size_t slab_cache_size(const struct slab_cache *cache)
{
	return cache->object_size;
}

/* --- layout ----------------------------------------------------------------- */

static size_t natural_align(size_t size)
{
	size_t align = size & -size;

	return align < 8 ? 8 : align > 16 ? 16 : align;
}

static size_t choose_align(size_t size, size_t align, uint64_t flags)
{
	if (!align)
		align = natural_align(size);
	/* Several small objects share a line, as in SLUB. */
	if (flags & SLAB_HWCACHE_ALIGN) {
		size_t line = CPU_CACHELINE;

		while (size <= line / 2)
			line /= 2;
		align = align > line ? align : line;
	}
	return align < 8 ? 8 : align;
}

/* --- making a cache ------------------------------------------------------------------ */

static struct slab_order order_of(size_t size, unsigned shift)
{
	const struct slab_order order = {
		.shift = shift,
		.objects = (unsigned)(((size_t)1 << shift) / size),
	};

	return order;
}

static void cache_layout(struct slab_cache *cache, size_t size)
{
	cache->size = size;
	cache->reciprocal = ((UINT64_C(1) << 48) + size - 1) / size;
	cache->small = order_of(size, slab_choose_small_shift(size));
	cache->large = order_of(size, slab_choose_large_shift(size));
	cache->min_partial = MIN_PARTIAL;
	length_init(cache);
}

/* With SLAB_APART: the address space of the cache. */
static bool make_space(struct slab_cache *cache, const char *name, size_t object_size, size_t align,
		       const struct slab_cache_args *args)
{
	const struct space_key key = {
		.name = name,
		.object_size = object_size,
		.align = align,
		.has_rcu = args->rcu,
	};

	cache->space = spaces_take(&key);
	if (cache->space)
		cache->space->limit = args->address_limit;
	return cache->space;
}

static bool make_arrays(struct slab_cache *cache, const struct rcu_flavor_struct *rcu)
{
	if (!arrays_create(cache))
		return false;
	if (!rcu)
		return true;
	cache->rcu = rcu_create(cache, rcu);
	if (!cache->rcu)
		arrays_destroy(cache);
	return cache->rcu;
}

static void make_nodes(struct slab_cache *cache)
{
	cache->shard = (struct shard *)((char *)cache + cache_shards_offset());
	for (unsigned n = 0; n < topology_nodes(); n++) {
		cache->node[n].lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
		for (unsigned i = 0; i < shards_per_node; i++)
			shard_init(&cache->shard[n * shards_per_node + i], n, i);
	}
}

static struct slab_cache *cache_new(const char *name, size_t object_size, size_t align,
				    const struct slab_cache_args *args, uint64_t flags)
{
	struct slab_cache *cache = cache_memory();

	if (!cache)
		return NULL;
	cache_layout(cache, (object_size + align - 1) & ~(align - 1));
	if ((flags & SLAB_APART && !make_space(cache, name, object_size, align, args)) ||
	    !make_arrays(cache, args->rcu)) {
		spaces_put(cache->space);
		cache_mark_destroyed(cache);
		cache_memory_free(cache);
		errno = ENOMEM;
		return NULL;
	}
	cache->checks = &debug_checks;
	cache->object_size = object_size;
	cache->align = align;
	cache->flags = flags & ~(SLAB_DEBUG_FLAGS | CREATE_FLAGS);
	cache->defined = flags & CREATE_FLAG_DEFINED;
	cache->debug_flags = flags & SLAB_DEBUG_FLAGS;
	if (flags & DEBUG_FLAG_NO_GROWTH)
		cache->debug_flags = debug_flags_without_growth(cache, cache->debug_flags);
	cache->tag = (slab_options()->zero_free && !args->ctor ? SLAB_TAG_ZERO : 0) |
		     (flags & SLAB_HARDEN_FREE ? SLAB_TAG_HARDEN : 0);
	cache->ctor = args->ctor;
	cache->dtor = args->dtor;
	/* Destructors see objects that were in use only. */
	cache->coloured = !args->dtor;
	cache->isolate = args->isolate;
	cache->migrate = args->migrate;
	cache->arg = args->arg;
	cache->account.limit = args->limit;
	cache->reclaim = args->reclaim;
	cache->memory.reserve = args->reserve;
	cache->other_node_ratio = OTHER_NODE_RATIO;
	memcpy(cache->name, name, strlen(name) + 1);
	cache->flush_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	make_nodes(cache);
	if (annotate_is_on())
		cache->debug_flags |= DEBUG_FLAG_TOOL;
	cache->had_debug_flags = cache->debug_flags;
	if (cache->debug_flags || flags & SLAB_HARDEN_FREE)
		fault_install();
	cache_gate_set(cache, GATE_ZERO, flags & SLAB_ZERO);
	cache_gate_set(cache, GATE_DEBUG, cache->debug_flags != 0);
	cache_gate_set(cache, GATE_PROFILE, profile_is_on());
	cache->magic = CACHE_MAGIC;
	annotate_publish(cache);
	return cache;
}

/* Flags from the environment: debug flags, zeroing, hardening. */
static uint64_t wanted_flags(const char *name, const struct slab_cache_args *args)
{
	bool no_growth;
	uint64_t flags = debug_options_flags(name, &no_growth);

	if (no_growth)
		flags |= DEBUG_FLAG_NO_GROWTH;
	if (fail_wants(name))
		flags |= SLAB_FAILSLAB;
	if (slab_options()->zero_alloc && !args->ctor)
		flags |= SLAB_ZERO;
	if (slab_options()->harden)
		flags |= SLAB_HARDEN_FREE;
	if (slab_options()->apart)
		flags |= SLAB_APART;
	return flags;
}

static void add(struct slab_cache *cache)
{
	registry_add(cache);
	if (sample_options(cache->name))
		sample_set(cache, sample_options(cache->name));
}

/* Was the cache created with these callbacks and this RCU flavour? */
static bool has_args(const struct slab_cache *cache, const struct slab_cache_args *args)
{
	return cache->ctor == args->ctor && cache->dtor == args->dtor && cache->arg == args->arg &&
	       cache->reclaim == args->reclaim && cache->isolate == args->isolate &&
	       cache->migrate == args->migrate && rcu_is_flavor(cache, args->rcu);
}

/* A cache of this name exists. Return it if it is that of an equal definition. */
static struct slab_cache *find_defined(struct slab_cache *cache, size_t size, size_t align,
				       const struct slab_cache_args *args, uint64_t flags,
				       const char **ret_reason)
{
	const uint64_t ignored = SLAB_DEBUG_FLAGS | CREATE_FLAGS | SLAB_PANIC;
	const bool is_same = cache->object_size == size && cache->align == align &&
			     (cache->flags & ~ignored) == (flags & ~ignored) &&
			     has_args(cache, args);

	if (flags & CREATE_FLAG_DEFINED && cache->defined && is_same) {
		*ret_reason = NULL;
		return cache;
	}
	*ret_reason = flags & CREATE_FLAG_DEFINED && cache->defined
			      ? "a cache of this name is defined with other properties"
			      : "a cache of this name exists";
	errno = EEXIST;
	return NULL;
}

/* Create a cache under registry_lock. On failure, sets *ret_reason and errno. *ret_new: the cache
 * is not complete yet. */
static struct slab_cache *create_locked(const char *name, size_t size,
					const struct slab_cache_args *args, uint64_t flags,
					const char **ret_reason, bool *ret_new)
{
	size_t align = choose_align(size, args->align, flags);
	size_t stride = (size + align - 1) & ~(align - 1);
	struct slab_cache *cache = registry_find(name);

	*ret_new = !cache;
	flags |= wanted_flags(name, args);
	if (args->reclaim)
		flags |= SLAB_RECLAIM_ACCOUNT;
	if (cache)
		return find_defined(cache, size, align, args, flags, ret_reason);
	if (!limit_is_possible(args->limit, (size_t)1 << slab_choose_small_shift(stride))) {
		*ret_reason = "args.limit is less than one slab";
		errno = EINVAL;
		return NULL;
	}
	if (!limit_is_possible(args->address_limit, (size_t)1 << slab_choose_small_shift(stride))) {
		*ret_reason = "args.address_limit is less than one slab";
		errno = EINVAL;
		return NULL;
	}
	*ret_reason = "out of memory";
	cache = cache_new(name, size, align, args, flags);
	if (cache) {
		add(cache);
		*ret_reason = NULL;
	}
	return cache;
}

static void panic(const char *name, size_t size, const char *reason)
{
	slab_fatal("slab_cache_create(%.*s, %zu) with SLAB_PANIC failed: %s", SLAB_MAX_NAME,
		   name ? name : "NULL", size, reason);
}

/* Under registry_lock. */
static struct slab_cache *create_by_size_locked(const char *name, size_t size)
{
	static const struct slab_cache_args args = {.align = 16};
	const char *reason;
	bool is_new;
	struct slab_cache *cache = create_locked(name, size, &args, 0, &reason, &is_new);

	if (cache) {
		cache->by_size = true;
		cache->complete = true;
	}
	return cache;
}

/* The control thread is started with no lock held: if libslab replaces malloc, pthread_create()
 * allocates from libslab. */
struct slab_cache *cache_create_by_size(const char *name, size_t size, struct slab_cache **place)
{
	struct slab_cache *cache;
	int saved = errno, cancel;

	if (!slab_init())
		return NULL;
	cancel = cancel_disable();
	slab_fork_init();
	pthread_mutex_lock(&registry_lock);
	cache = *place ? *place : create_by_size_locked(name, size);
	__atomic_store_n(place, cache, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&registry_lock);
	if (cache) {
		slab_control_start_if_large();
		errno = saved;
	}
	cancel_restore(cancel);
	return cache;
}

/* The steps that need a working cache and no lock held. A defined cache stays, since another thread
 * may have it already; allocations fill its reserve later. */
static bool complete(struct slab_cache *cache, const struct slab_cache_args *args,
		     const void *caller)
{
	if (args->reserve && !reserve_create(cache, caller) && !cache->defined)
		return false;
	__atomic_store_n(&cache->complete, true, __ATOMIC_RELEASE);
	if (args->reclaim)
		pressure_start();
	return true;
}

/* Returns NULL, or the reason of a failure, with errno set. */
static const char *create(const char *name, size_t size, const struct slab_cache_args *args,
			  uint64_t flags, const void *caller, struct slab_cache **ret_cache)
{
	struct slab_cache *cache;
	const char *reason;
	bool is_new;

	pthread_mutex_lock(&registry_lock);
	cache = create_locked(name, size, args, flags, &reason, &is_new);
	pthread_mutex_unlock(&registry_lock);
	if (!cache)
		return reason;
	if (is_new && !complete(cache, args, caller)) {
		slab_cache_destroy(cache);
		errno = ENOMEM;
		return "out of memory for its reserve";
	}
	if (args->dtor || args->reclaim || args->migrate)
		slab_control_watch_exit();
	slab_control_start();
	*ret_cache = cache;
	return NULL;
}

/* Returns NULL, or the reason of a failure, with errno set. */
static const char *attempt(const struct cache_request *request, const void *caller,
			   struct slab_cache **ret_cache)
{
	const uint64_t flags = request->flags | (request->defined ? CREATE_FLAG_DEFINED : 0);
	struct slab_cache_args args;
	const char *reason;

	if (!slab_init())
		return "out of memory";
	errno = EINVAL;
	reason = create_args_read(&args, request->args, request->args_size);
	if (!args.align)
		args.align = request->align;
	if (!reason)
		reason = create_args_check(request->name, request->size, &args, request->flags);
	if (!reason)
		reason = create(request->name, request->size, &args, flags, caller, ret_cache);
	return reason;
}

/* With SLAB_PANIC a creation without memory is an allocation that must not fail. */
static bool is_to_try_again(const struct cache_request *request, struct need *need)
{
	if (!(request->flags & SLAB_PANIC))
		return false;
	need->cache = request->name;
	return need_handler(need);
}

struct slab_cache *cache_create(const struct cache_request *request, const void *caller)
{
	struct need need = {
		.function = "slab_cache_create",
		.size = request->size,
		.errno_before = errno,
	};
	struct slab_cache *cache = NULL;
	int cancel = cancel_disable();
	const char *reason;

	do
		reason = attempt(request, caller, &cache);
	while (reason && is_to_try_again(request, &need));
	create_args_set_error(reason);
	if (reason && request->flags & SLAB_PANIC)
		panic(request->name, request->size, reason);
	cancel_restore(cancel);
	if (!reason)
		errno = need.errno_before;
	return cache;
}

struct slab_cache *slab_cache_create_sized(const char *name, size_t size,
					   const struct slab_cache_args *args, size_t args_size,
					   uint64_t flags)
{
	const struct cache_request request = {
		.name = name,
		.size = size,
		.args = args,
		.args_size = args_size,
		.flags = flags,
	};

	return cache_create(&request, __builtin_return_address(0));
}
