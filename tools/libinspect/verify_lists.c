/* SPDX-License-Identifier: MIT */
/*
 * Validation of lists. A list is followed as long as its slabs are slabs of the cache that say that
 * they are on it; the first that does not is a problem, and what lies behind it is not looked at.
 */
#include <errno.h>
#include <limits.h>

#include "core/shard.h"
#include "pages/os.h"
#include "verify.h"
#include "walk.h"

struct check {
	struct verify_lists *lists;
	const struct inspect_cache *cache;
	see_problem *fn;
	void *arg;
};

/* Is a mutex taken? The first two words of an unlocked one are 0 with glibc and musl. */
static bool is_locked(const pthread_mutex_t *mutex)
{
	uint64_t words;

	memcpy(&words, mutex, sizeof(words));
	return words != 0;
}

static struct verify_node *nodes_of(const struct verify_lists *lists,
				    const struct inspect_cache *cache)
{
	return lists->node + (size_t)(cache - lists->in->caches) * lists->in->process.nodes;
}

static struct verify_shard *shards_of(const struct verify_lists *lists,
				      const struct inspect_cache *cache)
{
	return lists->shard + (size_t)(cache - lists->in->caches) * inspect_shards(lists->in);
}

/* The slab's shard; NULL: it has none of this cache. */
static struct verify_shard *shard_of(const struct verify_lists *lists,
				     const struct inspect_cache *cache, const struct slab *slab)
{
	const uint64_t into = (uintptr_t)slab->shard - (uintptr_t)cache->copy->shard;
	const uint64_t number = into / sizeof(struct shard);

	return into % sizeof(struct shard) == 0 && number < inspect_shards(lists->in)
		       ? shards_of(lists, cache) + number
		       : NULL;
}

bool verify_is_locked(const struct verify_lists *lists, const struct inspect_cache *cache,
		      const struct inspect_slab *slab)
{
	const struct verify_shard *shard = shard_of(lists, cache, &slab->slab);
	const unsigned node = slab->slab.node;

	if (shard)
		return shard->locked;
	return slab->tagged && node < lists->in->process.nodes &&
	       nodes_of(lists, cache)[node].locked;
}

static int read_locks(const struct verify_lists *lists, struct inspect_cache *cache)
{
	const struct inspection *in = lists->in;
	struct cache_node node;
	struct shard shard;
	int error = 0;

	for (unsigned n = 0; n < in->process.nodes && !error; n++) {
		error = inspect_node(in, cache, n, &node);
		nodes_of(lists, cache)[n].locked = !error && is_locked(&node.lock);
		cache->verified.locked += nodes_of(lists, cache)[n].locked;
	}
	for (unsigned n = 0; n < inspect_shards(in) && !error; n++) {
		error = inspect_shard(in, cache, n, &shard);
		shards_of(lists, cache)[n].locked = !error && shard.lock.word != CPU_LOCK_FREE;
		cache->verified.locked += shards_of(lists, cache)[n].locked;
	}
	return error;
}

int verify_lists_begin(struct verify_lists *lists, struct inspection *in)
{
	const size_t shards = in->count * inspect_shards(in) * sizeof(*lists->shard);
	const size_t nodes = in->count * in->process.nodes * sizeof(*lists->node);
	int error = 0;

	*lists = (struct verify_lists){.in = in, .mapped = os_pages(shards + nodes + 1)};
	lists->shard = os_map(lists->mapped, 1);
	if (!lists->shard)
		return -ENOMEM;
	lists->node = (struct verify_node *)((char *)lists->shard + shards);
	for (size_t i = 0; i < in->count && !error; i++)
		error = read_locks(lists, &in->caches[i]);
	return error;
}

void verify_lists_end(struct verify_lists *lists)
{
	if (lists->shard)
		os_unmap(lists->shard, lists->mapped);
}

void verify_lists_count(struct verify_lists *lists, const struct inspect_cache *cache,
			const struct inspect_slab *slab)
{
	struct verify_shard *shard = shard_of(lists, cache, &slab->slab);
	const unsigned bucket = slab->slab.bucket;

	if (slab->slab.node < lists->in->process.nodes)
		nodes_of(lists, cache)[slab->slab.node].slabs++;
	if (!shard)
		return;
	shard->slabs++;
	shard->partial += bucket < SHARD_BUCKETS;
	shard->empty += bucket == SLAB_EMPTY;
}

static const char *name_of(const struct check *check)
{
	return check->cache->copy->name;
}

static void tell(const struct check *check, const struct bug_info *bug)
{
	check->fn(bug, (size_t)(check->cache - check->lists->in->caches), check->arg);
}

/* --- slabs on lists -------------------------------------------------------------------------- */

static bool is_slab_of(const struct check *check, const struct slab *slab)
{
	return ((uintptr_t)slab->user & ~SLAB_TAGS) == check->cache->address;
}

static void tell_of_slab(const struct check *check, const char *list, unsigned number,
			 uint64_t slab, const char *why)
{
	struct bug_info bug;

	bug_info_begin(&bug, SLAB_PROBLEM_COUNT, name_of(check), "%s %u corrupt", list, number);
	bug_info_note(&bug, "Slab 0x%llx %s", (unsigned long long)slab, why);
	tell(check, &bug);
}

/* Read the slab that a list leads to. false: it cannot be one. */
static bool read_slab(const struct check *check, uint64_t address, struct slab *slab)
{
	return address % CPU_CACHELINE == 0 &&
	       inspect_read(check->lists->in, address, sizeof(*slab), slab) == 0;
}

/* --- one list --------------------------------------------------------------------------------- */

/* A list, and what its slabs say. */
struct list {
	const char *name;
	unsigned number; /* of the shard or node */
	uint64_t shard; /* 0: a list of debug slabs */
	unsigned bucket;
};

/* Why a slab cannot be on this list; NULL: it can. */
static const char *why_not_listed(const struct check *check, const struct list *list,
				  const struct slab *slab, uint64_t before)
{
	if (!is_slab_of(check, slab))
		return "is not of this cache";
	if ((uintptr_t)slab->shard != list->shard)
		return "is of another shard";
	if (list->shard ? slab->bucket != list->bucket : slab->node != list->number)
		return "does not say that it is on it";
	if ((uintptr_t)slab->prev != before)
		return "does not lead back to the slab before it";
	return NULL;
}

/* The number of slabs on a list. */
static unsigned check_list(const struct check *check, const struct list *list,
			   const struct slab *first)
{
	uint64_t address = (uintptr_t)first, before = 0;
	struct walk walk = {.remembered = 0};
	unsigned counted = 0;

	for (; address; counted++) {
		struct slab slab;
		const char *why = "cannot be read";

		if (goes_round(&walk, address))
			why = "is on it twice";
		else if (read_slab(check, address, &slab))
			why = why_not_listed(check, list, &slab, before);
		if (why) {
			tell_of_slab(check, list->name, list->number, address, why);
			break;
		}
		before = address;
		address = (uintptr_t)slab.next;
	}
	return counted;
}

static void tell_of_count(const struct check *check, const char *what, const char *place,
			  unsigned number, unsigned counted, unsigned counter)
{
	struct bug_info bug;

	bug_info_begin(&bug, SLAB_PROBLEM_COUNT, name_of(check), "%u %s counted but counter=%u",
		       counted, what, counter);
	bug_info_note(&bug, "%s %u", place, number);
	tell(check, &bug);
}

/* --- shards and nodes ------------------------------------------------------------------------- */

static void check_counts(const struct check *check, unsigned number, const char *what,
			 unsigned counter, unsigned scanned, unsigned listed)
{
	if (listed != counter)
		tell_of_count(check, what, "Lists of shard", number, listed, counter);
	if (scanned != counter)
		tell_of_count(check, what, "Shard", number, scanned, counter);
}

static int check_shard(const struct check *check, unsigned number)
{
	const struct verify_shard *scanned = &shards_of(check->lists, check->cache)[number];
	struct list list = {"List of shard", number,
			    (uintptr_t)(check->cache->copy->shard + number), 0};
	unsigned partial = 0, empty;
	struct shard shard;
	int error = inspect_shard(check->lists->in, check->cache, number, &shard);

	if (error || scanned->locked)
		return error;
	for (; list.bucket < SHARD_BUCKETS; list.bucket++) {
		const struct slab *first = shard.bucket[list.bucket];

		partial += check_list(check, &list, first);
		if ((first != NULL) != (shard.buckets >> list.bucket & 1))
			tell_of_slab(check, list.name, number, (uintptr_t)first,
				     "is first, against the shard's mask of lists");
	}
	list.bucket = SLAB_EMPTY;
	empty = check_list(check, &list, shard.empty);
	check_counts(check, number, "partial slabs", shard.partial, scanned->partial, partial);
	check_counts(check, number, "empty slabs", shard.empties, scanned->empty, empty);
	if (scanned->slabs != shard.slabs)
		tell_of_count(check, "slabs", "Shard", number, scanned->slabs, shard.slabs);
	return 0;
}

static int check_node(const struct check *check, unsigned n)
{
	const struct verify_node *scanned = &nodes_of(check->lists, check->cache)[n];
	struct cache_node node;
	int error = inspect_node(check->lists->in, check->cache, n, &node);

	if (error || scanned->locked)
		return error;
	check_list(check, &(struct list){.name = "List of debug slabs of node", .number = n},
		   node.debug.slabs.first);
	check_list(check, &(struct list){.name = "List of sampled slabs of node", .number = n},
		   node.profile.slabs.first);
	/* A slab is counted before it names its cache, and while it is being released. */
	if (scanned->slabs > node.nr_slabs)
		tell_of_count(check, "slabs", "Node", n, scanned->slabs, node.nr_slabs);
	return 0;
}

int verify_lists_check(struct verify_lists *lists, const struct inspect_cache *cache,
		       see_problem *fn, void *arg)
{
	const struct check check = {lists, cache, fn, arg};
	int error = 0;

	for (unsigned n = 0; n < lists->in->process.nodes && !error; n++)
		error = check_node(&check, n);
	for (unsigned n = 0; n < inspect_shards(lists->in) && !error; n++)
		error = check_shard(&check, n);
	return error;
}
