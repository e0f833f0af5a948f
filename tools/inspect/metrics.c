/* SPDX-License-Identifier: MIT */
/*
 * Metrics from a process's answer: caches are selected or summed up, and names are made short and
 * valid UTF-8 even if they are not in the answer.
 */
#include "openmetrics.h"
#include "fail.h"

/* --- names ------------------------------------------------------------------- */

static void copy_name(char to[METRICS_NAME], const char *from)
{
	size_t length = 0;

	while (*from) {
		size_t size = utf8_length(from), step = size ? size : 1;

		if (length + step >= METRICS_NAME)
			break;
		memcpy(to + length, size ? from : "?", step);
		length += step;
		from += step;
	}
	to[length] = '\0';
}

/* --- caches ------------------------------------------------------------------ */

static void take_cache(struct metrics_cache *to, const struct cache *from)
{
	memset(to, 0, sizeof(*to));
	copy_name(to->name, model_raw_text(from->json, "name"));
	to->objects = from->objects;
	to->capacity = from->total_objects;
	to->object_size = from->object_size;
	to->cpu_objects = from->cpu_objects;
	to->slabs[0] = from->empty;
	to->slabs[1] = from->partial;
	to->slabs[2] = from->full;
	to->bytes = from->slab_bytes;
	to->used_bytes = cache_used_bytes(from);
	to->populated_bytes = model_number(from->json, "populated");
	to->limit_bytes = model_number(from->json, "limit");
	to->debug_slabs = from->debug_slabs;
	to->guarded_slabs = model_number(from->json, "guarded_slabs");
	to->legacy_slabs = from->legacy_slabs;
	to->errors = from->errors;
	to->counted = model_number(from->json, "counted");
	to->counted_us = model_number(from->json, "counted_us");
	to->rcu_pending = model_number(from->json, "rcu_pending");
	to->rcu_freed = model_number(from->json, "rcu_freed");
	to->limit_hits = model_number(from->json, "limit_hits");
	to->reserve = model_number(from->json, "reserve");
	to->reserve_left = model_number(from->json, "reserve_left");
	to->reclaimed = model_number(from->json, "reclaimed");
	to->moved = model_number(from->json, "moved");
	for (unsigned i = 0; i < SLAB_EVENT_COUNT; i++)
		to->events[i] = model_event(from, slab_event_name(i));
}

/* Add up the gauges of two caches that are amounts. */
static void add_cache(struct metrics_cache *sum, const struct metrics_cache *one)
{
	sum->objects += one->objects;
	sum->capacity += one->capacity;
	sum->cpu_objects += one->cpu_objects;
	for (int i = 0; i < METRICS_STATES; i++)
		sum->slabs[i] += one->slabs[i];
	sum->bytes += one->bytes;
	sum->used_bytes += one->used_bytes;
	sum->populated_bytes += one->populated_bytes;
	sum->debug_slabs += one->debug_slabs;
	sum->guarded_slabs += one->guarded_slabs;
	sum->legacy_slabs += one->legacy_slabs;
}

static void begin_sum(struct metrics_cache *sum)
{
	memset(sum, 0, sizeof(*sum));
	strcpy(sum->name, METRICS_OTHER);
	sum->is_sum = 1;
}

/* The order of caches: those with errors first, so that a sum never hides an error; then by
 * size. */
static int compare_weights(uint64_t errors_a, uint64_t bytes_a, uint64_t errors_b, uint64_t bytes_b)
{
	if (!errors_a != !errors_b)
		return errors_a ? -1 : 1;
	return (bytes_a < bytes_b) - (bytes_a > bytes_b);
}

/* Of equal caches, the one that was created first comes first: it has the lower address. */
static int compare_caches(const void *a, const void *b)
{
	const struct cache *x = *(struct cache *const *)a, *y = *(struct cache *const *)b;
	int order = compare_weights(x->errors, x->slab_bytes, y->errors, y->slab_bytes);

	return order ? order : (x > y) - (x < y);
}

/* The caches, in the order in which they are shown. A real cache with the name of the sum comes
 * last, so that it is part of the sum if there is one. */
static const struct cache **ranked(const struct model *model, bool rank)
{
	const struct cache **list = malloc((model->count + 1) * sizeof(struct cache *));
	size_t count = 0, last = model->count;

	for (size_t i = 0; list && i < model->count; i++) {
		if (rank &&
		    strcmp(model_raw_text(model->caches[i].json, "name"), METRICS_OTHER) == 0)
			list[--last] = &model->caches[i];
		else
			list[count++] = &model->caches[i];
	}
	if (list && rank)
		qsort(list, count, sizeof(list[0]), compare_caches);
	return list;
}

static bool take_caches(struct metrics *metrics, const struct model *model, size_t max_caches)
{
	bool sums = max_caches && model->count > max_caches;
	size_t shown = sums ? max_caches : model->count;
	const struct cache **list = ranked(model, sums);

	metrics->cache = calloc(shown + 1, sizeof(*metrics->cache));
	if (!list || !metrics->cache) {
		free(list);
		return false;
	}
	for (size_t i = 0; i < shown; i++)
		take_cache(&metrics->cache[i], list[i]);
	metrics->count = shown;
	if (sums)
		begin_sum(&metrics->cache[metrics->count++]);
	for (size_t i = shown; i < model->count; i++) {
		struct metrics_cache one;

		take_cache(&one, list[i]);
		add_cache(&metrics->cache[shown], &one);
	}
	metrics->caches = model->count;
	metrics->folded_caches = model->count - shown;
	free(list);
	return true;
}

/* --- processes --------------------------------------------------------------- */

bool metrics_take(struct metrics *metrics, const struct process *process, const struct model *model,
		  size_t max_caches)
{
	struct json_object *json = model_member(model->document, "process");

	memset(metrics, 0, sizeof(*metrics));
	copy_name(metrics->process, process->command);
	copy_name(metrics->version, model_text(json, "version"));
	copy_name(metrics->engine, model_text(json, "engine"));
	metrics->pid = (uint64_t)process->pid;
	metrics->uptime = model_number(json, "uptime");
	metrics->slab_bytes = model_number(json, "slab_bytes");
	metrics->cached_bytes = model_number(json, "cached_bytes");
	metrics->large_bytes = model_number(json, "large_bytes");
	metrics->metadata_bytes = model_number(json, "metadata_bytes");
	for (size_t i = 0; i < model->count; i++)
		metrics->errors += model->caches[i].errors;
	if (take_caches(metrics, model, max_caches))
		return true;
	fail("no memory for %zu caches", model->count);
	metrics_free(metrics);
	return false;
}

void metrics_free(struct metrics *metrics)
{
	free(metrics->cache);
	metrics->cache = NULL;
	metrics->count = 0;
}

static int compare_processes(const void *a, const void *b)
{
	const struct metrics *x = a, *y = b;
	int order = compare_weights(x->errors, x->slab_bytes, y->errors, y->slab_bytes);

	return order ? order : (x->pid > y->pid) - (x->pid < y->pid);
}

static int compare_pids(const void *a, const void *b)
{
	const struct metrics *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Add a process to the sum; the first cache of the sum has the sum of its caches. */
static void add_process(struct metrics *sum, const struct metrics *one)
{
	sum->slab_bytes += one->slab_bytes;
	sum->cached_bytes += one->cached_bytes;
	sum->large_bytes += one->large_bytes;
	sum->metadata_bytes += one->metadata_bytes;
	sum->caches += one->caches;
	sum->folded_caches += one->caches;
	for (size_t i = 0; i < one->count; i++)
		add_cache(&sum->cache[0], &one->cache[i]);
}

size_t metrics_fold(struct metrics *list, size_t count, size_t max_processes, size_t *folded)
{
	struct metrics sum = {.process = METRICS_OTHER, .is_sum = 1, .count = 1};

	*folded = 0;
	sum.cache = count > max_processes ? calloc(1, sizeof(*sum.cache)) : NULL;
	if (!sum.cache)
		return count;
	begin_sum(&sum.cache[0]);
	qsort(list, count, sizeof(list[0]), compare_processes);
	for (size_t i = max_processes; i < count; i++) {
		add_process(&sum, &list[i]);
		metrics_free(&list[i]);
	}
	*folded = count - max_processes;
	list[max_processes] = sum;
	qsort(list, max_processes, sizeof(list[0]), compare_pids);
	return max_processes + 1;
}
