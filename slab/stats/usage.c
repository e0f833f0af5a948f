/* SPDX-License-Identifier: MIT */
/* What counters tell of a cache at once: no slab is looked at, however many there are. */
#include <errno.h>
#include <slab/stats.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/note.h"
#include "core/slab.h"

/* Free objects that a CPU holds. The numbers may change at any moment; descriptors stay mapped. */
static uint64_t held_by(const struct slab_cache *cache, unsigned cpu)
{
	const struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);
	const struct cpu_slab *current = __atomic_load_n(&slot->current, __ATOMIC_RELAXED);
	uint64_t held = __atomic_load_n(&cpu_lifo(cache->cpu_lifos, cpu)->count, __ATOMIC_RELAXED);

	held += cpu_word_count(__atomic_load_n(&slot->remote_batch, __ATOMIC_RELAXED));
	return held + (current ? cpu_slab_free_count(current) : 0);
}

int slab_cache_usage(struct slab_cache *cache, struct slab_usage *usage)
{
	uint64_t held, fit;

	if (!cache || cache->magic != CACHE_MAGIC || usage->struct_size != sizeof(*usage))
		return with_errno(-EINVAL);
	held = __atomic_load_n(&cache->in_magazines, __ATOMIC_RELAXED) +
	       __atomic_load_n(&cache->memory.reserve_left, __ATOMIC_RELAXED);
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		held += held_by(cache, cpu);
	*usage = (struct slab_usage){
		.struct_size = sizeof(*usage),
		.name = cache->name,
		.slab_size = cache->size,
		.slabs = cache_count_slabs(cache),
		.slab_bytes = __atomic_load_n(&cache->account.used, __ATOMIC_RELAXED),
	};
	fit = usage->slab_bytes / cache->size;
	usage->free_objects = held < fit ? held : fit;
	usage->objects = fit - usage->free_objects;
	return 0;
}

void slab_write_stderr(const char *text, size_t length)
{
	int saved = errno, cancel = cancel_disable();

	note_write(STDERR_FILENO, text, length);
	cancel_restore(cancel);
	errno = saved;
}
