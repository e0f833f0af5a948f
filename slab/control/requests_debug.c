/* SPDX-License-Identifier: MIT */
/*
 * Requests of the control socket about debugging: debug flags (debug), marks (mark), sampling
 * (sample), and fault injection (fail).
 */
#include <errno.h>
#include <limits.h>
#include <slab/debug.h>
#include <slab/stats.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "base/debug_spec.h"
#include "control/cache_request.h"
#include "core/cache.h"
#include "core/init.h"
#include "report/track.h"
#include "control/reply.h"

/* --- debug flags --------------------------------------------------------------------- */

struct debug_errand {
	struct slab_json *reply;
	const char *name;
	uint64_t debug_flags;
};

static long debug(struct slab_cache *cache, void *arg)
{
	struct slab_stats stats = {.struct_size = sizeof(stats)};
	const struct debug_errand *errand = arg;
	uint64_t before = cache_debug_flags(cache);
	int error = slab_cache_debug(cache, errand->debug_flags);

	if (error)
		return error;
	control_begin(errand->reply, true);
	slab_json_string(errand->reply, "name", errand->name);
	control_put_debug_flags(errand->reply, "before", before);
	control_put_debug_flags(errand->reply, "after", cache_debug_flags(cache));
	slab_cache_stats(cache, &stats);
	slab_json_number(errand->reply, "legacy_slabs", stats.legacy_slabs);
	control_end(errand->reply);
	return 0;
}

void control_answer_debug(struct slab_json *reply, const char *rest)
{
	struct debug_errand errand = {.reply = reply};
	const char *word;
	size_t len = control_cut_word(&rest, &word);

	errand.name = rest;
	if (!*rest)
		slab_control_refuse(reply, "debug needs flags, or - for none, and the name of a "
					   "cache");
	else if (debug_flags_parse(word, len, &errand.debug_flags) != 0)
		slab_control_refuse(reply,
				    "\"%.*s\" are no debug flags; accepted: F Z P U T A, and - "
				    "for none",
				    WORD_SHOWN(len), word);
	else
		control_on_cache(reply, "debug", rest, debug, &errand);
}

/* --- marks ----------------------------------------------------------------------- */

void control_answer_mark(struct slab_json *reply, const char *rest)
{
	if (*rest) {
		slab_control_refuse(reply, "mark takes no \"%.64s\": it is for all caches", rest);
		return;
	}
	__atomic_store_n(&slab_process.mark, slab_mark(), __ATOMIC_RELAXED);
	control_begin(reply, true);
	slab_json_number(reply, "now", track_now());
	slab_json_number(reply, "mark", slab_process.mark);
	control_end(reply);
}

/* --- sampling -------------------------------------------------------------------- */

struct sample_errand {
	struct slab_json *reply;
	const char *name;
	unsigned long interval;
};

static long sample(struct slab_cache *cache, void *arg)
{
	const struct sample_errand *errand = arg;
	unsigned long before = __atomic_load_n(&cache->sample.interval, __ATOMIC_RELAXED);
	int error = slab_cache_sample(cache, errand->interval);

	if (error)
		return error;
	control_begin(errand->reply, true);
	slab_json_string(errand->reply, "name", errand->name);
	slab_json_number(errand->reply, "before", before);
	slab_json_number(errand->reply, "after", errand->interval);
	control_end(errand->reply);
	return 0;
}

void control_answer_sample(struct slab_json *reply, const char *rest)
{
	struct sample_errand errand = {.reply = reply};
	const char *word;
	size_t len = control_cut_word(&rest, &word);
	long number;

	errand.name = rest;
	if (!*rest) {
		slab_control_refuse(reply, "sample needs a number, or 0 for off, and the name of a "
					   "cache");
	} else if (!option_number(word, len, 0, LONG_MAX, &number)) {
		slab_control_refuse(reply,
				    "\"%.*s\" is not a number of allocations; accepted: 1 "
				    "and more, and 0 for off",
				    WORD_SHOWN(len), word);
	} else {
		errand.interval = (unsigned long)number;
		control_on_cache(reply, "sample", rest, sample, &errand);
	}
}

/* --- fault injection ---------------------------------------------------------------- */

void control_answer_fail(struct slab_json *reply, const char *rest)
{
	bool off = strcmp(rest, "-") == 0;

	if (!control_may_harm()) {
		slab_control_refuse(reply, "only root may make allocations fail, or any client "
					   "with SLAB_CONTROL=full");
		return;
	}
	if (!*rest || slab_set_fail(off ? NULL : rest) != 0) {
		slab_control_refuse(reply,
				    "\"%.64s\" says no failures; accepted: a comma list of "
				    "probability=PERCENT, interval=N, times=N, cache=NAME, and - "
				    "for none",
				    rest);
		return;
	}
	control_begin(reply, true);
	slab_json_string(reply, "fail", rest);
	control_end(reply);
}
