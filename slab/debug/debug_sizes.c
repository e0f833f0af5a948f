/* SPDX-License-Identifier: MIT */
/* Sizes of objects in debug slabs: the usable bytes, and resizing in place. */
#include "core/debug_record.h"
#include "core/slab.h"
#include "debug/bug_info.h"
#include "debug/damage.h"
#include "debug/debug_cache.h"
#include "report/annotate.h"

#include <pthread.h>
#include <slab/slab.h>
#include <string.h>

bool debug_is_object(const struct slab *slab, const void *ptr)
{
	unsigned index;
	size_t into;

	if (!slab->debug) { /* a legacy slab, or an ordinary slab again */
		const struct slab_cache *cache = slab_user(slab);

		return cache && slab_is_object(cache, slab, ptr);
	}
	return debug_find_object(slab, ptr, &index, &into) && !into;
}

size_t debug_usable_size(const struct slab *slab, const void *obj)
{
	unsigned index;
	size_t into;

	if (!slab->debug) /* a legacy slab, or an ordinary slab again */
		return debug_size(slab);
	if (!debug_find_object(slab, obj, &index, &into) || into)
		return 0;
	return slab->debug->debug_flags & (SLAB_RED_ZONE | DEBUG_FLAG_TOOL)
		       ? debug_record(slab, index)->requested
		       : slab->debug->object_size;
}

/* Bytes that the object loses become red zone. Bytes that it gains keep their contents. */
static void set_size(struct slab *slab, unsigned index, size_t size)
{
	struct debug_object *record = debug_record(slab, index);
	char *object = debug_object_at(slab, index);

	if (slab->debug->debug_flags & SLAB_RED_ZONE && size < record->requested)
		memset(object + size, RED_ACTIVE, record->requested - size);
	if (slab->debug->debug_flags & DEBUG_FLAG_TOOL)
		annotate_resize(object, record->requested, size);
	record->requested = (uint32_t)size;
}

enum { KEPT, RESIZED, RESIZED_DAMAGED };

/* A write beyond the old size must be found before the object gets these bytes: it is repaired, and
 * described by `bug`. */
static int resize_locked(struct slab_cache *cache, struct slab *slab, const struct debug_lock *lock,
			 void *obj, size_t size, struct bug_info *bug)
{
	bool is_good;
	unsigned index;
	size_t into;

	if (!debug_is_ours(cache, slab, lock) || !debug_find_object(slab, obj, &index, &into) ||
	    into || !debug_is_allocated(slab, index))
		return KEPT;
	if (lock->shard)
		return size <= cache->size ? RESIZED : KEPT;
	if (slab->debug->guarded || size > slab->debug->object_size)
		return KEPT;
	is_good = debug_check_object(cache, slab, index, bug);
	set_size(slab, index, size);
	return is_good ? RESIZED : RESIZED_DAMAGED;
}

bool debug_resize(struct slab_cache *cache, struct slab *slab, void *obj, size_t size,
		  const void *caller)
{
	const struct debug_lock lock = debug_lock(cache, slab);
	struct bug_info bug;
	int result = resize_locked(cache, slab, &lock, obj, size, &bug);

	debug_unlock(&lock);
	if (result == RESIZED_DAMAGED) {
		bug_info_detected(&bug, caller);
		debug_report(cache, &bug);
	}
	return result != KEPT;
}
