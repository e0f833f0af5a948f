/* SPDX-License-Identifier: MIT */
/*
 * Inspection of a process: reading its root and its list of caches, and finding one. process.h has
 * the principles; each_slab.c reads slabs.
 */
#include "process.h"
#include "base/seqcount.h"
#include "core/registry.h"
#include "debug/layout.h"
#include "pages/os.h"
#include "walk.h"

#include <errno.h>

#define CACHES_MAX (1u << 20) /* more than slab_cache_create() makes */
#define REGISTRY_TRIES 64
#define EXACT_TRIES 16
#define CPUS_MAX 8192u
#define INDEX_FACTOR 2u /* entries per cache; their total is a power of two */

/* --- reading -------------------------------------------------------------------- */

int inspect_read_pieces(const struct inspection *in, uint64_t address, size_t size, size_t stride,
			size_t count, void *to)
{
	const struct slab_reader *reader = in->reader;

	if (!size || !count)
		return 0;
	if (!address || address % 8)
		return -EFAULT;
	return reader->read(reader->arg, address, size, stride, count, to) ? -EFAULT : 0;
}

int inspect_read(const struct inspection *in, uint64_t address, size_t size, void *to)
{
	return inspect_read_pieces(in, address, size, size, 1, to);
}

void inspect_buffer_free(struct inspect_buffer *buffer)
{
	if (buffer->room)
		os_unmap(buffer->bytes, buffer->room);
	*buffer = (struct inspect_buffer){.bytes = NULL};
}

int inspect_fetch(const struct inspection *in, uint64_t address, size_t size,
		  struct inspect_buffer *buffer)
{
	if (size > buffer->room) {
		inspect_buffer_free(buffer);
		buffer->bytes = os_map(os_pages(size), 1);
		if (!buffer->bytes)
			return -ENOMEM;
		buffer->room = os_pages(size);
	}
	return inspect_read(in, address, size, buffer->bytes);
}

static const uint32_t own_layout[ROOT_FIELDS_MAX] = ROOT_LAYOUT;

static int read_root(struct inspection *in)
{
	struct slab_root *root = &in->root;
	int error = inspect_read(in, in->root_address, sizeof(*root), root);

	if (error)
		return error;
	root->version[sizeof(root->version) - 1] = '\0';
	if (root->magic != ROOT_MAGIC || root->bytes != sizeof(*root) ||
	    memcmp(root->layout, own_layout, sizeof(own_layout)) != 0)
		return -EPROTO;
	return 0;
}

static int read_process(struct inspection *in)
{
	struct slab_process *process = &in->process;
	int error = inspect_read(in, (uintptr_t)in->root.process, sizeof(*process), process);

	process->engine[sizeof(process->engine) - 1] = '\0';
	if (process->nodes > SLAB_STATS_MAX_NODES)
		process->nodes = SLAB_STATS_MAX_NODES;
	return error;
}

/* Read a number of four bytes, which need not be aligned to eight. */
static int read_number(const struct inspection *in, const unsigned *address, unsigned *to)
{
	return in->reader->read(in->reader->arg, (uintptr_t)address, sizeof(*to), 0, 1, to)
		       ? -EFAULT
		       : 0;
}

int inspect_open(struct inspection *in, const struct slab_reader *reader, uint64_t root)
{
	int error;

	*in = (struct inspection){.reader = reader, .root_address = root};
	error = read_root(in);
	if (!error)
		error = read_process(in);
	if (!error)
		error = inspect_read(in, (uintptr_t)in->root.pages, sizeof(in->pages), &in->pages);
	if (!error)
		error = read_number(in, in->root.areas, &in->areas);
	if (!error)
		error = read_number(in, in->root.cpus, &in->cpus);
	if (!error)
		error = read_number(in, in->root.shards, &in->shards);
	if (!error && (in->cpus > CPUS_MAX || in->shards > SHARDS_MAX))
		error = -EPROTO;
	in->pairs = strcmp(in->process.engine, "cmpxchg16b") == 0;
	return error;
}

void inspect_close(struct inspection *in)
{
	if (in->mapped)
		os_unmap(in->caches, in->mapped);
	in->caches = NULL;
	in->count = in->capacity = in->mapped = 0;
}

/* --- finding a loaded cache ------------------------------------------------------------------- */

/*
 * The index of loaded caches: a hash table with open addressing. Its entries are the numbers of
 * caches + 1; 0 is a free entry. It has INDEX_FACTOR entries for each cache that fits, so every
 * search ends. The scan finds the cache of a slab by address. Names are searched only once, to
 * find caches that were read twice.
 */

static size_t places(const struct inspection *in)
{
	return INDEX_FACTOR * in->capacity;
}

static size_t hash_address(uint64_t address)
{
	return address * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

static size_t hash_name(const char *name)
{
	uint64_t hash = 0;

	for (; *name; name++)
		hash = hash * 31 + (unsigned char)*name;
	return hash_address(hash);
}

/* The entry of the cache with this name, or the free entry where it belongs. */
static uint32_t *place_of_name(const struct inspection *in, const char *name)
{
	size_t i = hash_name(name) & (places(in) - 1);

	while (in->index[i] && strcmp(in->caches[in->index[i] - 1].copy->name, name) != 0)
		i = (i + 1) & (places(in) - 1);
	return &in->index[i];
}

static uint32_t *place_of_address(const struct inspection *in, uint64_t address)
{
	size_t i = hash_address(address) & (places(in) - 1);

	while (in->index[i] && in->caches[in->index[i] - 1].address != address)
		i = (i + 1) & (places(in) - 1);
	return &in->index[i];
}

static void clear(struct inspection *in)
{
	memset(in->index, 0, places(in) * sizeof(in->index[0]));
}

/* Keep only the newest cache of each name. Entries are swapped, since each has memory for its
 * copy. */
static void drop_renewed(struct inspection *in)
{
	size_t kept = 0;

	clear(in);
	for (size_t i = in->count; i-- > 0;) {
		uint32_t *place = place_of_name(in, in->caches[i].copy->name);

		if (*place)
			in->caches[i].address = 0;
		else
			*place = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < in->count; i++) {
		struct inspect_cache held = in->caches[i];

		if (!held.address)
			continue;
		in->caches[i] = in->caches[kept];
		in->caches[kept++] = held;
	}
	in->count = kept;
}

static void build_index(struct inspection *in, bool renewed)
{
	if (renewed)
		drop_renewed(in);
	clear(in);
	for (size_t i = 0; i < in->count; i++)
		*place_of_address(in, in->caches[i].address) = (uint32_t)i + 1;
}

size_t inspect_number_at(const struct inspection *in, uint64_t address)
{
	uint32_t number = *place_of_address(in, address);

	return number ? number - 1 : in->count;
}

/* --- caches ------------------------------------------------------------------------ */

static size_t copy_bytes(void)
{
	return (sizeof(struct slab_cache) + CPU_CACHELINE - 1) / CPU_CACHELINE * CPU_CACHELINE;
}

/* Map memory for `capacity` caches; caches that were loaded before are dropped. */
static int make_room(struct inspection *in, size_t capacity)
{
	size_t each =
		sizeof(struct inspect_cache) + copy_bytes() + INDEX_FACTOR * sizeof(in->index[0]);
	char *copies;

	inspect_close(in);
	in->mapped = os_pages(capacity * each);
	in->caches = os_map(in->mapped, 1);
	if (!in->caches) {
		in->mapped = 0;
		return -ENOMEM;
	}
	in->capacity = capacity;
	in->index = (uint32_t *)(in->caches + capacity);
	copies = (char *)in->caches + in->mapped - capacity * copy_bytes();
	copies = (char *)((uintptr_t)copies & ~(uintptr_t)(CPU_CACHELINE - 1));
	for (size_t i = 0; i < capacity; i++)
		in->caches[i].copy = (struct slab_cache *)(copies + i * copy_bytes());
	return 0;
}

/* Does debug_layout() accept these? A copy may contain anything. */
static bool has_sizes(const struct slab_cache *copy)
{
	return copy->object_size && copy->object_size <= SLAB_MAX_OBJECT_SIZE && copy->align &&
	       copy->align <= SLAB_MAX_ALIGN && !(copy->align & (copy->align - 1)) &&
	       *(const unsigned char *)&copy->by_size <= 1;
}

/* The layout of new slabs, which depends on the present debug flags. */
static void put_layout(struct slab_stats *stats, const struct slab_cache *copy)
{
	const struct slab_order *order = cache_next_order(copy);
	struct debug_layout layout = {
		.size = copy->size, .objects = order->objects, .slab_shift = order->shift};

	if (copy->debug_flags & DEBUG_FLAGS_SLAB && has_sizes(copy))
		debug_layout(copy, copy->debug_flags & ~(uint64_t)DEBUG_FLAG_PROFILE, &layout);
	stats->slab_size = layout.size;
	stats->objects_per_slab = layout.objects;
	stats->order = layout.slab_shift - 12;
}

static void begin_stats(const struct inspection *in, struct inspect_cache *cache)
{
	const struct slab_cache *copy = cache->copy;

	cache->stats = (struct slab_stats){
		.struct_size = sizeof(cache->stats),
		.flags = copy->flags | (copy->debug_flags & SLAB_DEBUG_FLAGS),
		.object_size = copy->object_size,
		.align = copy->align,
		.has_ctor = copy->ctor != NULL,
		.min_partial = copy->min_partial,
		.errors = copy->errors,
		.limit = copy->account.limit,
		.counted = copy->count.counted,
		.counted_us = copy->count.counted_us,
		.rcu_pending = copy->memory.rcu_pending,
		.rcu_freed = copy->memory.rcu_freed,
		.rcu_helped = copy->memory.rcu_helped,
		.limit_hits = copy->memory.limit_hits,
		.reserve = copy->memory.reserve,
		.reserve_left = copy->memory.reserve_left,
		.reclaims = copy->memory.reclaims,
		.reclaimed = copy->memory.reclaimed,
		.moved = copy->memory.moved,
		.nodes = in->process.nodes,
	};
	memcpy(cache->stats.name, copy->name, sizeof(cache->stats.name));
	put_layout(&cache->stats, copy);
}

/* With SLAB_APART: the address space that the cache holds. */
static int read_space(const struct inspection *in, struct inspect_cache *cache)
{
	const uint64_t address = (uintptr_t)cache->copy->space;

	return address ? inspect_read(in, address + offsetof(struct space, bytes),
				      sizeof(cache->stats.address_bytes),
				      &cache->stats.address_bytes)
		       : 0;
}

static bool is_possible(const struct slab_order *order)
{
	return order->shift >= SLAB_SHIFT_MIN && order->shift <= SLAB_SHIFT_MAX;
}

/* Another thread may be making a cache in this handle, after it was copied in part. */
static bool has_rows(const struct slab_cache *copy)
{
	return copy->own_arrays && copy->rcu_arrays && copy->shard;
}

/* A handle that was freed during its copy has no link any more: the list would seem to end
 * there. */
static int check_again(const struct inspection *in, uint64_t address)
{
	uint64_t magic;
	int error = inspect_read(in, address + offsetof(struct slab_cache, magic), sizeof(magic),
				 &magic);

	return error ? error : magic == CACHE_MAGIC ? 0 : -ENOENT;
}

/* Load the cache at this address, after those already loaded. -ENOENT: there is no cache. */
static int load_cache(struct inspection *in, uint64_t address)
{
	struct inspect_cache *cache = &in->caches[in->count];
	int error = inspect_read(in, address, sizeof(*cache->copy), cache->copy);

	*cache = (struct inspect_cache){.address = address, .copy = cache->copy};
	if (error)
		return error;
	if (cache->copy->magic != CACHE_MAGIC || !is_possible(&cache->copy->small) ||
	    !is_possible(&cache->copy->large) || !has_rows(cache->copy))
		return -ENOENT;
	error = check_again(in, address);
	if (error)
		return error;
	cache->copy->name[SLAB_MAX_NAME] = '\0';
	begin_stats(in, cache);
	error = read_space(in, cache);
	in->count += !error;
	return error;
}

int inspect_node(const struct inspection *in, const struct inspect_cache *cache, unsigned number,
		 struct cache_node *node)
{
	return inspect_read(
		in, cache->address + offsetof(struct slab_cache, node) + number * sizeof(*node),
		sizeof(*node), node);
}

unsigned inspect_shards(const struct inspection *in)
{
	return in->shards * in->process.nodes;
}

int inspect_shard(const struct inspection *in, const struct inspect_cache *cache, unsigned number,
		  struct shard *shard)
{
	return inspect_read(in, (uintptr_t)cache->copy->shard + number * sizeof(*shard),
			    sizeof(*shard), shard);
}

uint64_t inspect_array_row(const char *arrays, long cpu)
{
	return (uint64_t)(uintptr_t)arrays + ((uint64_t)cpu << CPU_ROW_SHIFT) - CPU_ARRAY_COUNT;
}

size_t inspect_array_count(const struct inspection *in, uint64_t count)
{
	const uint64_t n = in->pairs ? count >> 48 : count;

	return n <= (in->pairs ? CPU_ARRAY_MAX / 2 + 1 : CPU_ARRAY_MAX) ? n : 0;
}

/* Walk and load the list of caches. -E2BIG: it has more caches than there is memory for.
 * *ret_linked: each cache, when it was read, was linked directly behind the cache before. */
static int walk_registry(struct inspection *in, bool *ret_linked)
{
	struct walk walk = {.remembered = 0};
	uint64_t from = (uintptr_t)in->root.registry, address;
	int error = inspect_read(in, from, sizeof(address), &address);

	in->count = 0;
	*ret_linked = true;
	while (!error && address) {
		const struct slab_cache *copy = in->caches[in->count].copy;

		if (goes_round(&walk, address))
			return -EFAULT;
		if (in->count == in->capacity)
			return -E2BIG;
		error = load_cache(in, address);
		*ret_linked &= (uintptr_t)copy->prev_next == from;
		from = address + offsetof(struct slab_cache, next);
		address = (uintptr_t)copy->next;
	}
	return error;
}

/*
 * Did the walk load the whole list? Certainly if no thread changed the list during the walk. If
 * caches are created and destroyed all the time, a walk without gaps is accepted after some
 * tries. New caches are added at the end, so such a walk misses no cache that existed all the
 * time. The number of changes must be small enough that the memory of a destroyed cache was not
 * reused during the walk. A process that is stopped in the middle of a change is accepted as it
 * is.
 */
static bool is_whole(uint64_t before, uint64_t after, bool linked, int tries)
{
	if (seqcount_is_stable(before, after))
		return true;
	if (tries < EXACT_TRIES)
		return false;
	return before == after || (linked && after - before < UINT64_C(2) * FREE_CACHES_KEPT);
}

int inspect_load(struct inspection *in)
{
	const uint64_t changes = (uintptr_t)in->root.registry_changes;
	int error = make_room(in, 64);

	for (int tries = 0; !error && tries < REGISTRY_TRIES; tries++) {
		uint64_t before, after;
		bool linked;
		int walked;

		error = inspect_read(in, changes, sizeof(before), &before);
		if (error)
			break;
		walked = walk_registry(in, &linked);
		error = inspect_read(in, changes, sizeof(after), &after);
		if (error)
			break;
		if (walked == -E2BIG)
			error = in->capacity < CACHES_MAX ? make_room(in, in->capacity * 4)
							  : -EPROTO;
		else if (walked && walked != -ENOENT && before == after)
			error = walked;
		else if (!walked && is_whole(before, after, linked, tries)) {
			build_index(in, before != after);
			return 0;
		}
	}
	return error ? error : -EAGAIN;
}

void inspect_keep(struct inspection *in, const struct inspect_cache *cache)
{
	in->caches[0] = *cache;
	in->count = 1;
	in->found = 0;
}

struct inspect_cache *inspect_find(const struct inspection *in, const char *name)
{
	for (size_t i = 0; i < in->count; i++)
		if (strcmp(in->caches[i].copy->name, name) == 0)
			return &in->caches[i];
	return NULL;
}
