/* SPDX-License-Identifier: MIT */
/* Whether this thread holds a flush_lock, or has closed a cache. */
#include "core/flush_lock.h"

static __thread unsigned holds __attribute__((tls_model("initial-exec")));

bool flush_lock_is_held(void)
{
	return holds;
}

void flush_hold_begin(void)
{
	holds++;
}

void flush_hold_end(void)
{
	holds--;
}
