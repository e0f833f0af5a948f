/* SPDX-License-Identifier: MIT */
/* Reading the sites of the heap profile. Sites are only added, so a number of them that was read
 * stays valid; those that were added since are left out. */
#include <errno.h>

#include "process.h"
#include "report/profile.h"

#define SITES_AT_ONCE 4u

static int read_sites(const struct inspection *in, uint64_t address, uint32_t count,
		      void (*fn)(const struct profile_site *site, void *arg), void *arg)
{
	struct profile_site site[SITES_AT_ONCE];
	int error = 0;

	/* Site 0 is not used. */
	for (uint32_t first = 1; first <= count && !error; first += SITES_AT_ONCE) {
		uint32_t n = count - first + 1;

		n = n < SITES_AT_ONCE ? n : SITES_AT_ONCE;
		error = inspect_read(in, address + first * sizeof(site[0]), n * sizeof(site[0]),
				     site);
		for (uint32_t i = 0; i < n && !error; i++)
			if (site[i].period && site[i].allocated)
				fn(&site[i], arg);
	}
	return error;
}

int inspect_profile(struct inspection *in, struct profile *seen,
		    void (*fn)(const struct profile_site *site, void *arg), void *arg)
{
	const int error = inspect_read(in, (uintptr_t)in->root.profile, sizeof(*seen), seen);

	if (error || !seen->sites)
		return error;
	return read_sites(in, (uintptr_t)seen->sites,
			  seen->count < PROFILE_SITES_MAX ? seen->count : PROFILE_SITES_MAX - 1, fn,
			  arg);
}
