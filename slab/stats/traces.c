/* SPDX-License-Identifier: MIT */
/* slab_cache_traces() and slab_mark(): call sites of this process. call_sites.c adds them up. */
#include <errno.h>
#include <slab/debug.h>
#include <slab/inspect.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "inspect/process.h"
#include "report/track.h"

long slab_cache_traces(struct slab_cache *cache, enum slab_traces kind, uint64_t since,
		       int (*fn)(const struct slab_call_site *site, void *arg), void *arg)
{
	struct slab_reader self = inspect_self;
	struct inspect_cache room;
	struct slab_cache copy;
	struct inspection in;
	int cancel;
	long seen;

	if (!cache || cache->magic != CACHE_MAGIC ||
	    (kind != SLAB_TRACES_ALLOCATED && kind != SLAB_TRACES_FREED))
		return with_errno(-EINVAL);
	self.now_ms = track_now();
	cancel = cancel_disable();
	seen = inspect_open(&in, &self, (uintptr_t)&slab_root);
	if (!seen)
		seen = inspect_load_one(&in, (uintptr_t)cache, &room, &copy);
	if (!seen)
		seen = inspect_traces(&in, kind, since, fn, arg);
	inspect_close(&in);
	cancel_restore(cancel);
	return seen < 0 ? with_errno((int)seen) : seen;
}

uint64_t slab_mark(void)
{
	uint64_t mark = track_now();

	/* Wait for the next millisecond: everything that is allocated later has a later time. */
	while (track_now() == mark)
		clock_sleep(100000);
	return mark;
}
