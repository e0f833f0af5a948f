/* SPDX-License-Identifier: MIT */
/*
 * Large allocations, straight from the page layer.
 *
 * Up to LARGE_SLAB_MAX bytes: a slab with one object, so that its memory is used
 * again without asking the kernel. Above: a mapping of its own behind a
 * segment's head, unmapped when freed. Both have a descriptor with `large` set.
 */
#include "large.h"

#include "annotate.h"
#include "ask.h"
#include "finding.h"
#include "limit.h"

#include <errno.h>

#define PAGE ((size_t)4096)
/* One such slab is left in a segment; beyond its object no memory is touched. */
#define LARGE_SLAB_MAX ((size_t)1 << 21)

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

static struct slab *take_slab(size_t size, size_t align)
{
	unsigned shift = shift_for(size > align ? size : align);
	struct geometry *geometry = geometry_get(shift, 1);
	int cpu = cpu_engine->cpu();
	struct slab *slab;

	if (!geometry || !limit_reserve(NULL, (size_t)1 << shift))
		return NULL;
	slab = segment_take_slab(geometry, topology_node_of_cpu(cpu));
	if (!slab) {
		limit_give_up(NULL, (size_t)1 << shift);
		return NULL;
	}
	slab_populate(slab, size);
	segment_count_large((long)slab_bytes(slab));
	return slab;
}

static struct slab *attempt(size_t size, size_t align)
{
	limit_clear();
	if (size <= LARGE_SLAB_MAX && align <= LARGE_SLAB_MAX)
		return take_slab(size, align);
	return segment_map_large(size, align);
}

static SLAB_SLOWPATH struct slab *attempt_again(size_t size, size_t align)
{
	struct retry retry = {.bytes = size};
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
	__atomic_store_n(&slab->large, size, __ATOMIC_RELEASE);
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
	const size_t bytes = is_slab(slab) ? slab_bytes(slab) : 0;

	if (ptr != slab->cpu.base) {
		report_inside(slab, ptr, caller);
		return;
	}
	if (annotate_is_on())
		annotate_free(ptr, 0);
	if (!is_slab(slab)) {
		segment_unmap_large(slab);
		return;
	}
	__atomic_store_n(&slab->large, 0, __ATOMIC_RELEASE);
	segment_count_large(-(long)slab_bytes(slab));
	segment_free_slab(slab);
	limit_release(NULL, bytes);
}

size_t large_usable(const struct slab *slab)
{
	return pages(slab->large);
}

bool large_resize(struct slab *slab, size_t size)
{
	if (is_slab(slab)) {
		/* Not in place when less than half would be used. */
		if (size > slab_bytes(slab) || size < slab_bytes(slab) / 2)
			return false;
		slab_populate(slab, size);
	} else if (size <= LARGE_SLAB_MAX || !segment_resize_large(slab, size)) {
		return false;
	}
	if (annotate_is_on())
		annotate_resize(slab->cpu.base, slab->large, size);
	__atomic_store_n(&slab->large, size, __ATOMIC_RELEASE);
	return true;
}
