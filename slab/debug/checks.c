/* SPDX-License-Identifier: MIT */
/* What core calls of this room (core/upcalls.h). */
#include "core/upcalls.h"
#include "debug/debug_cache.h"

const struct cache_checks debug_checks = {
	.free_already = debug_free_already,
	.no_object = debug_no_object,
	.leaving = debug_check_leaving,
};
