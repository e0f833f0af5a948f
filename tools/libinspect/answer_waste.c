/* SPDX-License-Identifier: MIT */
/*
 * The answer to "waste": who keeps the memory of slabs that holds no object (docs/schema).
 *
 * The waste of a slab is charged to its allocated objects in equal shares, and so to the stacks
 * that the debug flag U recorded. Samples of the heap profile lie in slabs of their own: each
 * stands for a number of objects of its cache, but they do not say which slabs these keep. So the
 * waste of all slabs of a cache without stacks is charged to the objects in them in equal shares,
 * as far as samples stand for them.
 */
#include <errno.h>

#include "answer.h"
#include "control/reply.h"
#include "objects.h"
#include "pages/os.h"

#define CHARGES_FIRST 1024u /* a power of two */

/* What is charged to the objects of a cache with one stack. */
struct charge {
	uint32_t cache, stack;
	bool sampled; /* `objects` are samples, and `bytes` those that they stand for */
	uint64_t objects, bytes; /* objects 0: a free entry */
};

/* The waste of a cache. */
struct waste {
	uint64_t bytes;
	uint64_t unused; /* of slabs without an allocated object */
	/* Of the slabs that have no stacks, and the bytes of objects that samples stand for. */
	uint64_t pool, objects, sampled;
};

struct tally {
	uint64_t sites; /* of the heap profile: the address */
	struct waste *waste; /* of each cache */
	struct charge *charge; /* a hash table, at most half full */
	size_t room, used;
	bool failed;
};

/* --- charges ------------------------------------------------------------------------------ */

static struct charge *find(const struct tally *tally, const struct charge *like)
{
	const uint64_t key =
		(uint64_t)like->cache << 33 | (uint64_t)like->sampled << 32 | like->stack;
	size_t i = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);

	for (;; i++) {
		struct charge *charge = &tally->charge[i & (tally->room - 1)];

		if (!charge->objects ||
		    (charge->cache == like->cache && charge->stack == like->stack &&
		     charge->sampled == like->sampled))
			return charge;
	}
}

static bool grow(struct tally *tally)
{
	struct tally larger = {.room = tally->room ? 2 * tally->room : CHARGES_FIRST};

	larger.charge = os_map(larger.room * sizeof(*larger.charge), 1);
	if (!larger.charge)
		return false;
	for (size_t i = 0; i < tally->room; i++)
		if (tally->charge[i].objects)
			*find(&larger, &tally->charge[i]) = tally->charge[i];
	if (tally->room)
		os_unmap(tally->charge, tally->room * sizeof(*tally->charge));
	tally->charge = larger.charge;
	tally->room = larger.room;
	return true;
}

static void add(struct tally *tally, const struct charge *like, uint64_t bytes)
{
	struct charge *charge;

	if (2 * tally->used >= tally->room && !grow(tally)) {
		tally->failed = true;
		return;
	}
	charge = find(tally, like);
	if (!charge->objects) {
		*charge = *like;
		tally->used++;
	}
	charge->objects++;
	charge->bytes += bytes;
}

/* Share i of n, which all together are the whole. */
static uint64_t share(uint64_t whole, uint64_t i, uint64_t n)
{
	return whole / n + (i < whole % n);
}

/* --- slabs -------------------------------------------------------------------------------- */

/* The bytes that a sample stands for; 0: not known. */
static uint64_t weight_of(const struct inspection *in, const struct tally *tally,
			  const struct inspect_objects *seen, unsigned i)
{
	const size_t at = sizeof(struct debug_object) + TRACK_FREE * sizeof(struct track);
	const size_t stride = seen->slab->debug.stride;
	struct profile_sample sample;
	struct profile_site site;

	if (stride < at + sizeof(sample))
		return 0;
	memcpy(&sample, seen->records + i * stride + at, sizeof(sample));
	if (sample.site >= PROFILE_SITES_MAX ||
	    inspect_read(in, tally->sites + sample.site * sizeof(site), sizeof(site), &site))
		return 0;
	return site.weight;
}

static void charge_objects(const struct inspection *in, struct tally *tally, uint32_t cache,
			   const struct inspect_objects *seen, uint64_t waste, uint64_t used)
{
	const bool sampled = seen->slab->debug.debug_flags & DEBUG_FLAG_PROFILE;
	struct waste *all = &tally->waste[cache];
	uint64_t n = 0;

	if (sampled || !seen->stack) {
		all->pool += waste;
		all->objects += used;
	}
	for (unsigned i = 0; i < seen->count && seen->stack && !tally->failed; i++) {
		const struct charge like = {cache, seen->stack[i], sampled, 0, 0};
		uint64_t bytes;

		if (seen->state[i] != SEEN_ALLOCATED)
			continue;
		bytes = sampled ? weight_of(in, tally, seen, i) : share(waste, n++, used);
		add(tally, &like, bytes);
		all->sampled += sampled ? bytes : 0;
	}
}

static void see_slab(struct inspection *in, struct inspect_cache *cache,
		     const struct inspect_objects *seen, void *arg)
{
	const uint32_t number = (uint32_t)(cache - in->caches);
	const uint64_t held = seen->slab->populated;
	struct tally *tally = arg;
	uint64_t used = 0, objects, waste;

	for (unsigned i = 0; i < seen->count; i++)
		used += seen->state[i] == SEEN_ALLOCATED;
	objects = used * cache->copy->object_size;
	waste = held > objects ? held - objects : 0;
	tally->waste[number].bytes += waste;
	if (used)
		charge_objects(in, tally, number, seen, waste, used);
	else
		tally->waste[number].unused += waste;
}

/* --- the answer --------------------------------------------------------------------------- */

/* Chance may make the samples stand for more objects than there are. */
static void settle_samples(const struct waste *waste, uint64_t size, struct charge *charge)
{
	const double all = (double)(waste->objects * size), part = (double)charge->bytes;
	const double sampled = (double)waste->sampled, of = sampled > all ? sampled : all;

	/* Nothing is sampled where the copies are damaged. */
	charge->objects = of > 0 ? (uint64_t)((double)waste->objects * part / of) : 0;
	charge->bytes = of > 0 ? (uint64_t)((double)waste->pool * part / of) : 0;
}

static void put_caches(struct slab_json *json, const struct inspection *in,
		       const struct tally *tally)
{
	slab_json_open(json, "waste", '[');
	for (size_t i = 0; i < in->count; i++) {
		slab_json_open(json, NULL, '{');
		slab_json_string(json, "cache", in->caches[i].copy->name);
		slab_json_number(json, "bytes", tally->waste[i].bytes);
		slab_json_number(json, "unused", tally->waste[i].unused);
		slab_json_close(json, '}');
	}
	slab_json_close(json, ']');
}

static void put_charges(struct slab_json *json, const struct inspection *in,
			const struct tally *tally)
{
	const void *frame[SLAB_STACK_MAX];

	slab_json_open(json, "sites", '[');
	for (size_t i = 0; i < tally->room; i++) {
		struct charge charge = tally->charge[i];

		if (!charge.objects)
			continue;
		if (charge.sampled)
			settle_samples(&tally->waste[charge.cache],
				       in->caches[charge.cache].copy->object_size, &charge);
		slab_json_open(json, NULL, '{');
		slab_json_string(json, "cache", in->caches[charge.cache].copy->name);
		slab_json_number(json, "objects", charge.objects);
		slab_json_number(json, "bytes", charge.bytes);
		slab_json_bool(json, "sampled", charge.sampled);
		inspect_put_stack(json, frame, inspect_stack(in, charge.stack, frame));
		slab_json_close(json, '}');
	}
	slab_json_close(json, ']');
}

static int take_tally(struct inspection *in, struct tally *tally)
{
	struct profile profile;
	int error = inspect_read(in, (uintptr_t)in->root.profile, sizeof(profile), &profile);

	if (error)
		return error;
	tally->sites = (uintptr_t)profile.sites;
	error = inspect_each_objects(in, see_slab, tally);
	return error ? error : tally->failed ? -ENOMEM : 0;
}

int inspect_put_waste(struct inspection *in, const char *rest, struct slab_json *json)
{
	struct tally tally = {.room = 0};
	int error = inspect_load(in);
	const size_t bytes = os_pages((in->count + 1) * sizeof(*tally.waste));

	(void)rest;
	if (error)
		return error;
	tally.waste = os_map(bytes, 1);
	if (!tally.waste)
		return -ENOMEM;
	error = take_tally(in, &tally);
	control_begin(json, true);
	put_caches(json, in, &tally);
	put_charges(json, in, &tally);
	control_end(json);
	if (tally.room)
		os_unmap(tally.charge, tally.room * sizeof(*tally.charge));
	os_unmap(tally.waste, bytes);
	return error;
}
