/* SPDX-License-Identifier: MIT */
/*
 * Large allocations, straight from the page layer.
 *
 * Up to LARGE_SLAB_MAX bytes: a slab with one object, so that its memory is used
 * again without asking the kernel. Above: a mapping of its own behind a
 * segment's head, unmapped when freed. Both have a descriptor with `large` set.
 *
 * A slab may be twice its object. It counts as the pages that its object takes, since
 * no others are touched; but one that held a larger object before has a tail: pages
 * beyond its object, which the next one may need again. A short tail may stay; of the
 * long ones, the newest: those of objects that come and go. Where huge pages come
 * unasked, they come for the whole slab, and are not broken up.
 */
#include "large.h"

#include "annotate.h"
#include "ask.h"
#include "decay.h"
#include "finding.h"
#include "limit.h"

#include <errno.h>

#define PAGE ((size_t)4096)
/* Only one such slab is left in a segment. */
#define LARGE_SLAB_MAX ((size_t)1 << 21)
/* A tail is long that is more than one part in so many of its slab. */
#define TAIL_PART 8u
/* Bytes of long tails. */
#define TAILS_MAX ((uint64_t)4 << 20)

/* Slabs in use with long tails, newest first: under segment_lock(). */
static struct slab_queue tails;
static uint64_t tail_bytes;

static size_t pages(size_t bytes)
{
	return (bytes + PAGE - 1) & ~(PAGE - 1);
}

static bool is_slab(const struct slab *slab)
{
	return segment_of(slab)->geometry != NULL;
}

static unsigned shift_for(size_t size)
{
	unsigned shift = SLAB_SHIFT_MIN;

	while (((size_t)1 << shift) < size)
		shift++;
	return shift;
}

/* With an object of this size: bytes of its tail, if that is long. */
static size_t long_tail(const struct slab *slab, size_t size)
{
	size_t tail = slab->populated - pages(size);

	return tail > slab_bytes(slab) / TAIL_PART ? tail : 0;
}

/* With the lock, which keeps its owner from taking the tail back; false: it stays. */
static bool cut(struct slab *slab)
{
	size_t size = __atomic_load_n(&slab->large, __ATOMIC_RELAXED);
	size_t tail = slab->populated - pages(size);

	/* 0: it is being freed. */
	if (!size || !decay_may_discard(slab) || !os_discard(slab->cpu.base + pages(size), tail))
		return false;
	queue_remove(&tails, slab);
	tail_bytes -= tail;
	__atomic_store_n(&slab->populated, (uint32_t)pages(size), __ATOMIC_RELAXED);
	return true;
}

/* Memory for the one object of a slab, of this size. */
static void fit(struct slab *slab, size_t size)
{
	size_t tail;

	__atomic_store_n(&slab->large, size, __ATOMIC_RELEASE);
	slab_populate(slab, size);
	tail = long_tail(slab, size);
	if (!tail)
		return;
	segment_lock();
	queue_add_head(&tails, slab);
	tail_bytes += tail;
	while (tail_bytes > TAILS_MAX && cut(tails.last))
		;
	segment_unlock();
}

/* An object of this size leaves the slab, or gets another size. */
static void unfit(struct slab *slab, size_t size)
{
	size_t tail;

	segment_lock();
	tail = long_tail(slab, size);
	if (tail)
		queue_remove(&tails, slab);
	tail_bytes -= tail;
	segment_unlock();
}

static struct slab *take_slab(size_t size, size_t align)
{
	struct geometry *geometry = geometry_get(shift_for(size > align ? size : align), 1);
	int cpu = cpu_engine->cpu();
	struct slab *slab;

	if (!geometry || !limit_reserve(NULL, pages(size)))
		return NULL;
	slab = segment_take_slab(geometry, topology_node_of_cpu(cpu));
	if (!slab) {
		limit_give_up(NULL, pages(size));
		return NULL;
	}
	fit(slab, size);
	segment_count_large((long)pages(size));
	return slab;
}

static bool becomes_slab(size_t size, size_t align)
{
	return size <= LARGE_SLAB_MAX && align <= LARGE_SLAB_MAX;
}

static struct slab *attempt(size_t size, size_t align)
{
	limit_clear();
	return becomes_slab(size, align) ? take_slab(size, align) : segment_map_large(size, align);
}

static SLAB_SLOWPATH struct slab *attempt_again(size_t size, size_t align)
{
	struct retry retry = {
		.bytes = becomes_slab(size, align) ? pages(size) : segment_large_bytes(size, align),
	};
	struct slab *slab = NULL;

	while (!slab && retry_allocation(&retry))
		slab = attempt(size, align);
	if (!slab)
		limit_failed(NULL);
	return slab;
}

void *large_alloc(size_t size, size_t align)
{
	int saved = errno;
	struct slab *slab;

	slab_init();
	slab = attempt(size, align);
	if (SLAB_UNLIKELY(!slab))
		slab = attempt_again(size, align);
	if (!slab)
		return NULL;
	errno = saved;
	if (annotate_is_on())
		annotate_alloc(slab->cpu.base, size, false);
	return slab->cpu.base;
}

static SLAB_SLOWPATH void report_inside(const struct slab *slab, const void *ptr,
					const void *caller)
{
	struct finding finding;

	finding_begin(&finding, SLAB_PROBLEM_INVALID_POINTER, "slab_malloc",
		      "Invalid object pointer %p", ptr);
	finding_note(&finding, "It points into %zu bytes at %p", slab->large,
		     (void *)slab->cpu.base);
	debug_refuse(NULL, &finding, ptr, caller);
}

void large_free(struct slab *slab, void *ptr, const void *caller)
{
	size_t size = 0;

	/* Of two threads that free it at once, one gets 0. */
	if (ptr == slab->cpu.base)
		size = __atomic_exchange_n(&slab->large, 0, __ATOMIC_ACQ_REL);
	if (!size) {
		report_inside(slab, ptr, caller);
		return;
	}
	if (annotate_is_on())
		annotate_free(ptr, 0);
	if (!is_slab(slab)) {
		segment_unmap_large(slab);
		return;
	}
	unfit(slab, size);
	segment_count_large(-(long)pages(size));
	segment_free_slab(slab);
	limit_release(NULL, pages(size));
}

size_t large_usable(const struct slab *slab)
{
	return pages(slab->large);
}

static bool resize_slab(struct slab *slab, size_t size)
{
	size_t before = pages(slab->large), more = pages(size) > before ? pages(size) - before : 0;

	/* Not in place when less than half would be used. */
	if (size > slab_bytes(slab) || size < slab_bytes(slab) / 2)
		return false;
	if (more && !limit_reserve(NULL, more))
		return false;
	unfit(slab, slab->large);
	fit(slab, size);
	segment_count_large((long)(pages(size) - before));
	limit_release(NULL, before + more - pages(size));
	return true;
}

static bool resize_mapping(struct slab *slab, size_t size)
{
	/* One that became small enough for a slab is not moved as long as half of it is used. */
	if (size <= LARGE_SLAB_MAX && size <= slab->large / 2)
		return false;
	if (!segment_resize_large(slab, size))
		return false;
	__atomic_store_n(&slab->large, size, __ATOMIC_RELEASE);
	return true;
}

static bool resize(struct slab *slab, size_t size)
{
	limit_clear();
	return is_slab(slab) ? resize_slab(slab, size) : resize_mapping(slab, size);
}

bool large_resize(struct slab *slab, size_t size)
{
	const size_t old = slab->large;
	struct retry retry = {.bytes = size > old ? pages(size) - pages(old) : 0};
	int saved = errno;

	while (!resize(slab, size))
		if (!retry_allocation(&retry))
			return false;
	errno = saved;
	if (annotate_is_on())
		annotate_resize(slab->cpu.base, old, size);
	return true;
}
