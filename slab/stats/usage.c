/* SPDX-License-Identifier: MIT */
/* What counters tell of a cache at once: no slab is looked at, however many there are. */
#include <errno.h>
#include <slab/stats.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/note.h"
#include "core/shard.h"
#include "percpu/closing.h"

int slab_cache_usage(struct slab_cache *cache, struct slab_usage *usage)
{
	struct cache_sums sums;
	uint64_t room, held;

	if (!cache || cache->magic != CACHE_MAGIC || usage->struct_size != sizeof(*usage))
		return with_errno(-EINVAL);
	cache_sums(cache, &sums);
	held = arrays_objects(cache) + magazines_objects(cache) +
	       __atomic_load_n(&cache->memory.reserve_left, __ATOMIC_RELAXED);
	*usage = (struct slab_usage){
		.struct_size = sizeof(*usage),
		.name = cache->name,
		.slab_size = cache->size,
		.slabs = cache_count_slabs(cache),
		.slab_bytes = __atomic_load_n(&cache->account.used, __ATOMIC_RELAXED),
	};
	/* Debug slabs have no shard. */
	room = usage->slabs > sums.slabs ? usage->slab_bytes / cache->size : sums.room;
	usage->free_objects = sums.room - sums.used + held;
	if (usage->free_objects > room)
		usage->free_objects = room;
	usage->objects = room - usage->free_objects;
	return 0;
}

void slab_write_stderr(const char *text, size_t length)
{
	int saved = errno, cancel = cancel_disable();

	note_write(STDERR_FILENO, text, length);
	cancel_restore(cancel);
	errno = saved;
}
