/* SPDX-License-Identifier: MIT */
/* Reading the sites of the heap profile. Sites are only added, so a number of them that was read
 * stays valid; those that were added since are left out. */
#include <errno.h>

#include "process.h"
#include "report/profile.h"

#define SITES_AT_ONCE 4u

/* struct profile without its buckets, which are too large for a stack. */
struct head {
	uint64_t period, sites, missed;
	uint32_t count;
};

static int read_head(const struct inspection *in, struct head *head)
{
	const struct profile *from = in->root.profile;
	int error = inspect_read(in, (uintptr_t)&from->period, sizeof(head->period), &head->period);

	if (!error)
		error = inspect_read(in, (uintptr_t)&from->missed, sizeof(head->missed),
				     &head->missed);
	if (!error)
		error = inspect_read(in, (uintptr_t)&from->count, sizeof(head->count),
				     &head->count);
	if (!error)
		error = inspect_read(in, (uintptr_t)&from->sites, sizeof(head->sites),
				     &head->sites);
	return error;
}

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

int inspect_profile(struct inspection *in, struct inspect_profile *seen,
		    void (*fn)(const struct profile_site *site, void *arg), void *arg)
{
	struct head head;
	int error = read_head(in, &head);

	if (error)
		return error;
	*seen = (struct inspect_profile){
		.period = head.period,
		.missed = head.missed,
		.was_on = head.sites,
	};
	if (!head.sites)
		return 0;
	if (head.count >= PROFILE_SITES_MAX)
		head.count = PROFILE_SITES_MAX - 1;
	return read_sites(in, head.sites, head.count, fn, arg);
}
