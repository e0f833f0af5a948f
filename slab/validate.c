/* SPDX-License-Identifier: MIT */
/*
 * Validation of a cache, and what remains in it when it is destroyed.
 *
 * Slabs without letters are checked in hand: they are taken back from the CPUs
 * and, some at a time (hand.h), off their node's list. Their freelists must name each
 * free object once and nothing else; full slabs have nothing to look at. Validations
 * are numbered, and a slab knows the last one that met it: another one that is under
 * way has looked at it for this one. Slabs with letters are debug_check.c's.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "debug_cache.h"
#include "finding.h"
#include "hand.h"
#include "symbol.h"

/* One thread validates at a time; the map is too large for a stack. */
static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t map[SLAB_MAP_WORDS];

void validate_lock(void)
{
	pthread_mutex_lock(&map_lock);
}

void validate_unlock(void)
{
	pthread_mutex_unlock(&map_lock);
}

struct map_arg {
	struct slab *slab;
	uint64_t *map;
	long bad;
};

static void map_one(void *arg, uint16_t offset8)
{
	struct map_arg *m = arg;
	unsigned index = cpu_slab_index(&m->slab->cpu, offset8);

	if (!slab_is_object(m->slab, cpu_slab_object(&m->slab->cpu, offset8)) ||
	    m->map[index / 64] >> index % 64 & 1) {
		m->bad++;
		return;
	}
	m->map[index / 64] |= UINT64_C(1) << index % 64;
}

long slab_map_free(struct slab *slab, uint64_t *free_map)
{
	struct map_arg arg = {slab, free_map, 0};

	memset(free_map, 0, (slab->objects + 63u) / 64 * sizeof(free_map[0]));
	cpu_slab_hand_each(&slab->cpu, map_one, &arg);
	return arg.bad;
}

/* A freelist that cannot be trusted is given up: its objects stay out of use. */
static void isolate(struct slab *slab)
{
	cpu_slab_init(&slab->cpu, slab->cpu.base, slab_size(slab), slab->cpu.user);
	slab_set_carved(slab, slab->objects);
}

static void report_slab(struct slab_cache *cache, struct slab *slab, long bad)
{
	struct finding finding;

	finding_begin(&finding, SLAB_PROBLEM_FREELIST, cache->name, "Freechain corrupt");
	finding_slab(&finding, slab);
	finding_note(&finding, "%ld of its entries lead to no object, or to one twice", bad);
	finding_fix(&finding, "Isolate corrupted freechain");
	debug_report(cache, &finding);
}

/* Of a slab without letters, in hand: how many entries of its freelist are wrong. */
static long bad_entries(struct slab *slab)
{
	unsigned count = cpu_slab_free_count(&slab->cpu);
	long bad = count;

	if (count > slab->carved || slab->carved > slab->objects)
		return bad ? bad : 1;
	validate_lock();
	bad = slab_map_free(slab, map);
	validate_unlock();
	return bad;
}

/* The slabs of a node without letters: they are taken back from the CPUs and looked at
 * in hand. */
struct check_node {
	struct slab_cache *cache;
	unsigned node;
	uint64_t number;  /* of this validation */
	struct slab *bad; /* in hand until they are reported; none has a free object to give */
};

static bool is_unmet(struct slab *slab, void *arg)
{
	const struct check_node *check = arg;

	if (slab->met >= check->number)
		return false;
	slab->met = check->number;
	return true;
}

static void look(struct slab *hand, void *arg)
{
	struct check_node *check = arg;
	struct slab *good = NULL, **end = &good, *next;

	for (; hand; hand = next) {
		next = hand->next;
		slab_collect(hand);
		if (bad_entries(hand)) {
			hand->next = check->bad;
			check->bad = hand;
			continue;
		}
		hand->next = NULL;
		*end = hand;
		end = &hand->next;
	}
	node_put_last(check->cache, check->node, good);
}

static long check_node(struct slab_cache *cache, unsigned n)
{
	static uint64_t last;
	struct check_node check = {
		.cache = cache,
		.node = n,
		.number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED),
	};
	long problems = 0;

	hand_walk(&(struct hand_walk){.cache = cache,
				      .node = n,
				      .sparse = true,
				      .wants = is_unmet,
				      .look = look,
				      .arg = &check});
	for (struct slab *slab = check.bad; slab; slab = slab->next, problems++) {
		report_slab(cache, slab, bad_entries(slab));
		isolate(slab);
	}
	slab_put_back(cache, check.bad);
	return problems;
}

struct check_arg {
	struct slab_cache *cache;
	long problems;
};

static void check_tagged(struct slab *slab, void *arg)
{
	struct check_arg *check = arg;

	if (slab_is_tagged(slab, SLAB_TAG_DEBUG))
		check->problems += debug_check(check->cache, slab);
}

/* A slab may be on a node's list, or not; the list has its own count. */
static long check_counts(struct slab_cache *cache, unsigned n)
{
	struct cache_node *node = &cache->node[n];
	struct finding finding;
	unsigned partial = 0, counter;
	bool wrong;

	pthread_mutex_lock(&node->lock);
	for (const struct slab *s = node->partial.slabs.first; s; s = s->next)
		partial++;
	counter = node->partial.count;
	wrong = counter != partial;
	if (wrong)
		__atomic_store_n(&node->partial.count, partial, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&node->lock);
	if (!wrong)
		return 0;
	finding_begin(&finding, SLAB_PROBLEM_COUNT, cache->name,
		      "%u partial slabs counted but counter=%u", partial, counter);
	finding_fix(&finding, "Counter of node %u adjusted", n);
	debug_report(cache, &finding);
	return 1;
}

long slab_cache_validate(struct slab_cache *cache)
{
	struct check_arg check = {.cache = cache};

	if (!cache || cache->magic != CACHE_MAGIC) {
		errno = EINVAL;
		return -EINVAL;
	}
	cache_flush(cache);
	for (unsigned n = 0; n < topology_nodes(); n++)
		check.problems += check_node(cache, n) + check_counts(cache, n);
	cache_each_slab(cache, check_tagged, &check);
	return check.problems;
}

/* --- leaks ------------------------------------------------------------------- */

struct leak_arg {
	struct slab_cache *cache;
	struct report report;
	unsigned long leaked;
	unsigned sites;
};

static void begin_leaks(struct leak_arg *leak, const char *more)
{
	report_begin(&leak->report, SLAB_PROBLEM_LEAK, leak->cache->name,
		     "Objects remaining in %s on slab_cache_destroy%s", leak->cache->name, more);
}

/* Who allocated it, on one line. */
static void leak_track(struct leak_arg *leak, const struct track *track)
{
	char text[1][SYMBOL_TEXT];
	struct slab_track who;

	track_describe(track, &who);
	if (!who.tid || !who.frames)
		return;
	symbolize(1, who.frame, text);
	report_line(&leak->report, "Allocated in %s age=%" PRIu64 " ms cpu=%d tid=%d (%s)", text[0],
		    who.age_ms, who.cpu, who.tid, who.thread);
}

static void leak_object(struct leak_arg *leak, struct slab *slab, unsigned index)
{
	char *object = slab->debug ? debug_object_at(slab, index)
				   : slab->cpu.base + index * slab_size(slab);

	leak->leaked++;
	/* As many reports as it takes to list every object. */
	if (leak->report.len + 512 > sizeof(leak->report.text)) {
		leak->report.info.leaked = leak->leaked - 1;
		report_emit(&leak->report);
		begin_leaks(leak, " (continued)");
	}
	report_line(&leak->report, "Object %p @offset=%zu", (void *)object,
		    (size_t)(object - slab->cpu.base));
	if (slab->debug && slab->debug->letters & SLAB_STORE_USER)
		leak_track(leak, debug_track(slab, index, TRACK_ALLOC));
}

#define LEAK_SITES 3
#define LEAK_FRAMES 6u

/* The stack that most of the objects come from, and the next ones. */
static int leak_site(const struct slab_call_site *site, void *arg)
{
	struct leak_arg *leak = arg;
	char text[LEAK_FRAMES][SYMBOL_TEXT];
	unsigned frames = site->frames < LEAK_FRAMES ? site->frames : LEAK_FRAMES;

	symbolize(frames, site->frame, text);
	report_line(&leak->report, "%" PRIu64 " of them allocated by", site->count);
	for (unsigned i = 0; i < frames; i++)
		report_line(&leak->report, "\t%s", text[i]);
	return ++leak->sites == LEAK_SITES;
}

static void leak_slab(struct slab *slab, void *arg)
{
	struct leak_arg *leak = arg;
	bool tagged = slab_is_tagged(slab, SLAB_TAG_DEBUG);

	if (!tagged) {
		if (slab_is_empty(slab))
			return;
		slab_map_free(slab, map);
	}
	for (unsigned i = 0; i < slab->carved; i++)
		if (tagged ? debug_is_allocated(slab, i) : !(map[i / 64] >> i % 64 & 1))
			leak_object(leak, slab, i);
}

/* After a flush, with nobody using the cache: every slab is listed or full, so
 * all can be looked at as if in hand. */
void cache_report_leaks(struct slab_cache *cache)
{
	static struct leak_arg leak;

	validate_lock();
	leak.cache = cache;
	leak.leaked = 0;
	leak.sites = 0;
	begin_leaks(&leak, "");
	cache_each_slab(cache, leak_slab, &leak);
	report_line(&leak.report, "%lu objects remain", leak.leaked);
	if (leak.report.len + 2048 > sizeof(leak.report.text)) {
		report_emit(&leak.report);
		begin_leaks(&leak, " (continued)");
	}
	slab_cache_traces(cache, SLAB_TRACES_ALLOCATED, 0, leak_site, &leak);
	leak.report.info.leaked = leak.leaked;
	report_emit(&leak.report);
	__atomic_fetch_add(&cache->errors, 1, __ATOMIC_RELAXED);
	validate_unlock();
}
