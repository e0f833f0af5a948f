/* SPDX-License-Identifier: MIT */
/* The request of the control socket that switches the heap profile: "profile BYTES". */
#include <errno.h>
#include <slab/debug.h>
#include <string.h>

#include "base/text.h"
#include "control/cache_request.h"
#include "report/profile.h"
#include "control/reply.h"

void control_answer_profile(struct slab_json *reply, const char *rest)
{
	uint64_t before = __atomic_load_n(&heap_profile.period, __ATOMIC_RELAXED);
	long bytes;

	if (!option_bytes(rest, &bytes)) {
		slab_control_refuse(reply,
				    "\"%.64s\" is not a number of bytes between samples; accepted: "
				    "0 for off, or a number, also in K, M, G, KiB, MiB or GiB",
				    rest);
		return;
	}
	if (slab_set_profile((size_t)bytes) != 0) {
		slab_control_refuse(reply, "no memory for a heap profile");
		return;
	}
	control_begin(reply, true);
	slab_json_number(reply, "before", before);
	slab_json_number(reply, "after", (uint64_t)bytes);
	control_end(reply);
}
