/* SPDX-License-Identifier: MIT */
/*
 * Taking and freeing slabs.
 *
 * A slab is a range of units (units.c) with a descriptor (metadata.c). The units of a slab that was
 * freed keep their memory, for whatever slab comes next, until decay or segment_trim() returns it
 * (trim.c). segment_take_slab() takes, in this order:
 *
 *   a range that holds memory;
 *   a range of which the first half holds memory: a large allocation often leaves one, because it
 *     uses more than half of its slab;
 *   a range from a fresh huge page (huge.c);
 *   any free range, then one of a fresh segment.
 *
 * If memory is scattered behind the first units of a range, the thread returns it to the OS before
 * it uses the slab: `populated` describes memory without holes.
 *
 * The descriptor is found first. In a process with little address space, segments might leave none
 * for descriptors.
 *
 * slab_populate() takes page faults in batches, because a page fault costs more than everything
 * else here.
 */
#include <errno.h>

#include "pages/free_slabs.h"
#include "base/compiler.h"
#include "base/fail.h"
#include "base/signals.h"
#include "pages/account.h"
#include "pages/huge.h"
#include "pages/idle.h"
#include "pages/metadata.h"
#include "pages/os.h"
#include "pages/units.h"

/* --- taking --------------------------------------------------------------------------- */

/* A request for a slab. */
struct request {
	const struct slab_needs *needs;
	unsigned pool;
	unsigned class;
	size_t words; /* bytes of the descriptor that have to be 0 */
	bool huge;    /* fresh memory is to be a huge page */
};

/* What has to be provided, without the lock, before units can be taken. */
enum missing {
	MISSING_NOTHING,
	MISSING_METADATA,
	MISSING_HUGE,
	MISSING_RANGE,
	MISSING_MEMORY, /* the slab must not make the process grow */
	MISSING_SPACE, /* the cache has the address space that it may have */
};

/* With the lock: find units for a slab. ret->segment NULL: a vacant slab has them already. */
static enum missing find(const struct request *request, struct units *ret)
{
	const unsigned shift = request->needs->shift, pool = request->pool;

	ret->segment = NULL;
	if (request->needs->space && request->needs->may_grow && space_has_vacant(request->needs))
		return MISSING_NOTHING;
	if (request->needs->space && !space_has_room(request->needs->space, shift))
		return MISSING_SPACE;
	if (!metadata_has(request->class, request->needs->node))
		return request->needs->may_grow ? MISSING_METADATA : MISSING_MEMORY;
	if (units_find(shift, pool, UNITS_RESIDENT, ret))
		return MISSING_NOTHING;
	if (!request->needs->may_grow)
		return MISSING_MEMORY;
	if (units_find_begun(shift, pool, ret))
		return MISSING_NOTHING;
	if (request->huge && segment_has_range(HUGE_SHIFT, pool))
		return MISSING_HUGE;
	return units_find(shift, pool, UNITS_FREE, ret) ? MISSING_NOTHING : MISSING_RANGE;
}

/* Fill in a descriptor whose members are 0. */
static void describe(const struct request *request, struct slab *slab, char *base, size_t populated)
{
	const struct slab_needs *needs = request->needs;

	slab->base = base;
	slab->shift = (uint8_t)needs->shift;
	slab->objects = (uint16_t)needs->objects;
	slab->side = (uint32_t)needs->side;
	if (needs->side)
		slab->debug = (struct slab_debug *)((char *)slab + request->words);
	__atomic_store_n(&slab->populated, (uint32_t)populated, __ATOMIC_RELAXED);
}

/* With the lock: make a slab of free units. *ret_scattered: units behind `populated` hold
 * memory. */
static struct slab *take(const struct request *request, const struct units *units,
			 bool *ret_scattered)
{
	const struct slab_needs *needs = request->needs;
	struct slab *slab = metadata_take(request->class, needs->node, request->words);
	const unsigned leading = units_leading(units);

	*ret_scattered = units_resident(units) > leading;
	units_take(units);
	describe(request, slab, units_start(units), leading * UNIT_BYTES);
	if (needs->space)
		space_grow(needs->space, needs->shift);
	units_lead_to(units, slab);
	return slab;
}

/* Make a slab of a vacant one. NULL: its addresses cannot be made accessible now. */
static struct slab *take_again(const struct request *request, struct slab *slab)
{
	char *base = slab->base;
	const size_t populated = slab->populated;

	if (!space_open(request->needs->space, slab))
		return NULL;
	metadata_begin(slab, slab->size_class, slab->node, request->words);
	describe(request, slab, base, populated);
	return slab;
}

/* A thread populates a huge page. One thread at a time does so. */
static SLAB_EARLY bool populating;

/* With the lock. */
static bool begin_huge(unsigned pool, struct units *ret)
{
	if (populating || !units_find(HUGE_SHIFT, pool, UNITS_FREE, ret))
		return false;
	populating = true;
	units_begin_busy(ret);
	return true;
}

/* Populate a huge page, whose units are free and resident then. Signals are blocked, as in
 * trim.c. */
static SLAB_SLOWPATH void make_huge(unsigned pool)
{
	const uint64_t mask = signals_block();
	struct units units;
	bool mine, done;

	segment_lock();
	mine = begin_huge(pool, &units);
	segment_unlock();
	if (mine) {
		done = huge_populate(units_start(&units));
		segment_lock();
		units_end_busy(&units, done ? units.n : 0, decay_epoch() + 1);
		populating = false;
		segment_unlock();
	}
	signals_restore(mask);
}

/* Map or populate what is missing. false: this is impossible. */
static SLAB_SLOWPATH bool provide(enum missing what, const struct request *request)
{
	const struct slab_needs *needs = request->needs;

	if (what == MISSING_METADATA)
		return metadata_map(request->class, needs->node);
	if (what == MISSING_RANGE)
		return segment_map(needs->shift, request->pool);
	if (what == MISSING_HUGE) {
		make_huge(request->pool);
		return true;
	}
	return false;
}

static struct slab *fail(enum missing what)
{
	alloc_failure = what == MISSING_SPACE ? ALLOC_FAILURE_CACHE : ALLOC_FAILURE_SYSTEM;
	errno = ENOMEM;
	return NULL;
}

/* The slab's memory behind `populated` has holes. */
static SLAB_SLOWPATH void return_scattered(struct slab *slab)
{
	const size_t bytes = slab_bytes(slab),
		     from = __atomic_load_n(&slab->populated, __ATOMIC_RELAXED);

	/* Locked memory stays, and mostly has no holes. */
	if (!segment_discard_part(slab->base + from, bytes - from))
		__atomic_store_n(&slab->populated, (uint32_t)bytes, __ATOMIC_RELAXED);
}

static struct slab *take_or_provide(struct request *request)
{
	bool provided = false;

	while (true) {
		struct slab *slab = NULL;
		bool scattered = false, fails;
		struct units units;
		enum missing what;

		segment_lock();
		what = find(request, &units);
		/* os_map() injects failures, too. */
		fails = what == MISSING_NOTHING && !provided && fail_pages();
		if (what == MISSING_NOTHING && !fails)
			slab = units.segment ? take(request, &units, &scattered)
					     : space_take_vacant(request->needs);
		segment_unlock();
		if (scattered)
			return_scattered(slab);
		if (slab && !units.segment) {
			slab = take_again(request, slab);
			fails = !slab;
		}
		if (slab)
			return slab;
		if (!provide(fails ? MISSING_MEMORY : what, request))
			return fail(what);
		provided = true;
		request->huge &= what != MISSING_HUGE;
	}
}

struct slab *segment_take_slab(const struct slab_needs *needs)
{
	struct request request = {
		.needs = needs,
		.pool = pool_of(needs->node, needs->space),
		.words = sizeof(struct slab) +
			 (map_words(needs->objects) + needs->waiting) * sizeof(uint64_t),
		/* The first call reads a file, so no lock is held. */
		.huge = needs->shift <= SLAB_SHIFT_MAX && needs->may_grow && huge_is_wanted(),
	};

	request.class = metadata_class(request.words + needs->side);
	if (request.class == METADATA_NONE)
		return fail(MISSING_METADATA);
	return take_or_provide(&request);
}

void slab_populate(struct slab *slab, size_t bytes)
{
	uint32_t from = __atomic_load_n(&slab->populated, __ATOMIC_RELAXED);
	size_t end = os_pages(bytes);

	if (end > slab_bytes(slab))
		end = slab_bytes(slab);
	/* A single page takes its page fault when it is first written to: a call costs more. */
	if (end > from && end - from > os_page_size())
		os_populate(slab->base + from, end - from);
	/* Other threads may populate more of it. */
	while (from < end &&
	       !__atomic_compare_exchange_n(&slab->populated, &from, (uint32_t)end, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

unsigned slab_least_shift(void)
{
	const unsigned page = (unsigned)__builtin_ctzl(os_page_size());

	return page > SLAB_SHIFT_MIN ? page : SLAB_SHIFT_MIN;
}

/* --- freeing -------------------------------------------------------------------------- */

void segment_free_slab(struct slab *slab)
{
	const struct units units = units_at(slab->base, slab->shift);
	const uint32_t since = slab_idle_since(slab) ? slab_idle_since(slab) : decay_epoch() + 1;
	size_t held;

	segment_set_user(slab, NULL);
	if (decay_at_once())
		segment_discard(slab);
	/* Units count as resident if any of their pages may hold memory. */
	held = slab_held(slab) ? __atomic_load_n(&slab->populated, __ATOMIC_RELAXED) : 0;
	segment_lock();
	units_lead_to(&units, NULL); /* a fork finds the units either free or led to the slab */
	units_put(&units, (unsigned)((held + UNIT_BYTES - 1) / UNIT_BYTES), since);
	metadata_put(slab, since);
	segment_unlock();
	idle_kick();
}

void segment_after_fork_child(void)
{
	segment_lock();
	populating = false;
	units_after_fork_child();
	metadata_after_fork_child();
	segment_unlock();
}
