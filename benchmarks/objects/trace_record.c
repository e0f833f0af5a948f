/* SPDX-License-Identifier: MIT */
/*
 * record_objects: preloaded into a program that uses libslab, it records the program's
 * allocations and frees, all threads in one order (trace_make.h). After
 * OBJECTS_TRACE_EVENTS of them it writes the trace to the file OBJECTS_TRACE and ends the
 * program. It sees the functions of libslab that the example directory calls.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <slab/malloc.h>
#include <slab/slab.h>

#include "trace_make.h"

#define MAX_CACHES 256u
#define MAX_EVENTS 50000000ul
#define UNWRITTEN UINT32_MAX
#define REPORTS 50u /* of progress */

static struct {
	const char *path;
	size_t limit;
	struct trace_event *events;
	atomic_size_t next;
	atomic_uint threads;
	pthread_mutex_t lock; /* of what follows */
	unsigned caches;
	const struct slab_cache *cache[MAX_CACHES];
	struct trace_type type[MAX_CACHES];
} recorder = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Noreturn void fail(const char *what, const char *why)
{
	fprintf(stderr, "record_objects: %s: %s\n", what, why);
	_exit(EXIT_FAILURE);
}

static void start_recording(const char *path, const char *limit)
{
	size_t bytes;

	recorder.limit = strtoul(limit, NULL, 10);
	if (recorder.limit == 0 || recorder.limit > MAX_EVENTS)
		fail("OBJECTS_TRACE_EVENTS", "it is a number from 1 to 50000000");
	bytes = recorder.limit * sizeof(*recorder.events);
	recorder.events =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (recorder.events == MAP_FAILED)
		fail(path, "there is no memory for its events");
	for (size_t i = 0; i < recorder.limit; i++)
		recorder.events[i].kind = UNWRITTEN;
	recorder.path = path;
}

__attribute__((constructor)) static void open_recorder(void)
{
	const char *path, *limit;

	unsetenv("LD_PRELOAD"); /* the programs that this one starts are not recorded */
	path = getenv("OBJECTS_TRACE");
	limit = getenv("OBJECTS_TRACE_EVENTS");
	if (path && limit)
		start_recording(path, limit);
}

/* A thread that has its number may not have written its event yet. */
static void await_events(void)
{
	for (size_t i = 0; i < recorder.limit; i++)
		while (*(volatile uint32_t *)&recorder.events[i].kind == UNWRITTEN)
			sched_yield();
}

/* Replaces a cache's address by its number. */
static void number_caches(void)
{
	for (size_t i = 0; i < recorder.limit; i++) {
		struct trace_event *event = &recorder.events[i];
		unsigned cache = 0;

		if (event->kind != TRACE_ALLOC)
			continue;
		while (cache < recorder.caches && (uintptr_t)recorder.cache[cache] != event->source)
			cache++;
		if (cache == recorder.caches)
			fail(recorder.path, "the recorder did not see the creation of a cache");
		event->source = cache;
	}
}

static _Noreturn void finish(void)
{
	struct trace trace;
	const char *why;

	await_events();
	pthread_mutex_lock(&recorder.lock);
	number_caches();
	why = trace_make(&trace, recorder.events, recorder.limit, recorder.type, recorder.caches);
	if (!why)
		why = trace_check(&trace);
	if (!why)
		why = trace_write(&trace, recorder.path);
	if (why)
		fail(recorder.path, why);
	_exit(EXIT_SUCCESS);
}

static unsigned this_thread(void)
{
	static _Thread_local unsigned thread; /* plus 1 */

	if (!thread)
		thread = atomic_fetch_add(&recorder.threads, 1) + 1;
	return thread - 1;
}

static void show_progress(size_t recorded)
{
	if (recorded % (recorder.limit / REPORTS + 1) == 0)
		fprintf(stderr, "recorded %zu %%\n", recorded * 100 / recorder.limit);
}

static void record(enum trace_kind kind, const void *object, uint64_t source)
{
	struct trace_event *event;
	size_t ticket;

	if (!recorder.events || !object)
		return;
	ticket = atomic_fetch_add(&recorder.next, 1);
	if (ticket >= recorder.limit)
		return;
	event = &recorder.events[ticket];
	event->object = (uintptr_t)object;
	event->source = source;
	event->thread = this_thread();
	__atomic_store_n(&event->kind, kind, __ATOMIC_RELEASE);
	show_progress(ticket);
	if (ticket == recorder.limit - 1)
		finish();
}

static void record_bulk(enum trace_kind kind, const struct slab_cache *cache, size_t n,
			void *const *objects)
{
	for (size_t i = 0; i < n; i++)
		record(kind, objects[i], (uintptr_t)cache);
}

static void note_cache(const struct slab_cache *cache, const char *name, size_t size)
{
	struct trace_type *type;

	pthread_mutex_lock(&recorder.lock);
	if (recorder.caches == MAX_CACHES)
		fail(name, "the program has more than 256 caches");
	recorder.cache[recorder.caches] = cache;
	type = &recorder.type[recorder.caches++];
	snprintf(type->name, sizeof(type->name), "%s", name);
	type->size = size;
	pthread_mutex_unlock(&recorder.lock);
}

/* NEXT(function): the library's own function of that name. */
static void find(void *ret_function, const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		fail(name, "libslab does not have this function");
	memcpy(ret_function, &function, sizeof(function));
}

#define NEXT(function)                                                                             \
	static __typeof__(function) *next;                                                         \
	if (!next)                                                                                 \
	find(&next, #function)

SLAB_API struct slab_cache *slab_cache_create_sized(const char *name, size_t size,
						    const struct slab_cache_args *args,
						    size_t args_size, uint64_t flags)
{
	struct slab_cache *cache;

	NEXT(slab_cache_create_sized);
	cache = next(name, size, args, args_size, flags);
	if (cache)
		note_cache(cache, name, size);
	return cache;
}

SLAB_API void *slab_alloc(struct slab_cache *cache)
{
	void *object;

	NEXT(slab_alloc);
	object = next(cache);
	record(TRACE_ALLOC, object, (uintptr_t)cache);
	return object;
}

SLAB_API void *slab_zalloc(struct slab_cache *cache)
{
	void *object;

	NEXT(slab_zalloc);
	object = next(cache);
	record(TRACE_ALLOC, object, (uintptr_t)cache);
	return object;
}

SLAB_API void slab_free(struct slab_cache *cache, void *object)
{
	NEXT(slab_free);
	record(TRACE_FREE, object, 0);
	next(cache, object);
}

SLAB_API size_t slab_alloc_bulk(struct slab_cache *cache, unsigned mode, size_t n, void **objects)
{
	size_t got;

	NEXT(slab_alloc_bulk);
	got = next(cache, mode, n, objects);
	record_bulk(TRACE_ALLOC, cache, got, objects);
	return got;
}

SLAB_API void slab_free_bulk(struct slab_cache *cache, size_t n, void *const *objects)
{
	NEXT(slab_free_bulk);
	record_bulk(TRACE_FREE, cache, n, objects);
	next(cache, n, objects);
}

SLAB_API void *slab_malloc(size_t size)
{
	void *object;

	NEXT(slab_malloc);
	object = next(size);
	record(TRACE_MALLOC, object, size);
	return object;
}

SLAB_API void *slab_calloc(size_t n, size_t size)
{
	void *object;

	NEXT(slab_calloc);
	object = next(n, size);
	record(TRACE_MALLOC, object, n * size);
	return object;
}

SLAB_API void *slab_memalign(size_t align, size_t size)
{
	void *object;

	NEXT(slab_memalign);
	object = next(align, size);
	record(TRACE_MALLOC, object, size);
	return object;
}

SLAB_API void slab_mfree(void *object)
{
	NEXT(slab_mfree);
	record(TRACE_MFREE, object, 0);
	next(object);
}
