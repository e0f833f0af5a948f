/* SPDX-License-Identifier: MIT */
/* Large allocations in the heap profile (report/profile.h): the slab's descriptor has the
 * sample. */
#include "cache/large.h"
#include "pages/segment.h"
#include "report/profile.h"
#include "report/track.h"

static uint32_t begin_sample(struct slab *slab, size_t size, const void *caller)
{
	struct track track = {0};
	uint32_t site;

	track_fill(&track, caller);
	site = profile_find_site(track.stack, size);
	slab->map[0] = profile_birth();
	if (site)
		profile_count_alloc(site);
	else
		profile_count_missed();
	return site;
}

void *large_profile_begin(void *ptr, size_t size, const void *caller)
{
	struct slab *slab = ptr ? large_slab_of(ptr) : NULL;

	if (slab)
		slab->profiled = profile_is_on() && profile_is_due(size)
					 ? begin_sample(slab, size, caller)
					 : 0;
	return ptr;
}

void large_profile_end(struct slab *slab)
{
	if (SLAB_UNLIKELY(slab->profiled))
		profile_count_free(slab->profiled, slab->map[0]);
	slab->profiled = 0;
}

void large_profile_again(void *ptr, size_t size, const void *caller)
{
	struct slab *slab = large_slab_of(ptr);

	if (!slab_large(slab))
		return;
	large_profile_end(slab);
	large_profile_begin(ptr, size, caller);
}
