/* SPDX-License-Identifier: MIT */
/* Calls the driver that control/server.c or memory/maintain.c has set; without a driver it does
 * nothing. */
#include "base/maintenance.h"

#include <stddef.h>

static SLAB_EARLY const struct maintenance_driver *driver;

SLAB_EARLY bool maintenance_resumes;
SLAB_EARLY bool maintenance_polls;
SLAB_EARLY uint64_t maintenance_from_bytes = UINT64_MAX;

void maintenance_set_driver(const struct maintenance_driver *new_driver)
{
	__atomic_store_n(&maintenance_polls, false, __ATOMIC_RELAXED);
	__atomic_store_n(&driver, new_driver, __ATOMIC_RELEASE);
}

void maintenance_start_ticks(void)
{
	const struct maintenance_driver *set = __atomic_load_n(&driver, __ATOMIC_ACQUIRE);

	if (set)
		set->start_ticks();
}

void maintenance_resume_slow(void)
{
	const struct maintenance_driver *set = __atomic_load_n(&driver, __ATOMIC_ACQUIRE);

	if (set)
		set->resume();
}
