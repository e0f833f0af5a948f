/* SPDX-License-Identifier: MIT */
/*
 * record_objects: preloaded into a program that uses libslab, it records the program's
 * allocations and frees, all threads in one order (trace.h). After
 * OBJECTS_TRACE_EVENTS of them it writes the trace to the file OBJECTS_TRACE and ends the
 * program. It sees the functions of libslab that the example directory calls.
 */
#include <dlfcn.h>

#include <slab/malloc.h>
#include <slab/slab.h>

#include "trace.h"

#define MAX_CALLS 50000000ul
#define UNWRITTEN UINT16_MAX
#define REPORTS 50u /* of progress */

static struct {
	const char *path;
	size_t limit;
	struct trace_call *calls;
	atomic_size_t next;
	atomic_uint threads;
	pthread_mutex_t lock; /* of what follows */
	unsigned caches;
	const struct slab_cache *handle[TRACE_MAX_CACHES];
	struct trace_cache cache[TRACE_MAX_CACHES];
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
	if (recorder.limit == 0 || recorder.limit > MAX_CALLS)
		fail("OBJECTS_TRACE_EVENTS", "it is a number from 1 to 50000000");
	bytes = recorder.limit * sizeof(*recorder.calls);
	recorder.calls =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (recorder.calls == MAP_FAILED)
		fail(path, "there is no memory for its calls");
	for (size_t i = 0; i < recorder.limit; i++)
		recorder.calls[i].kind = UNWRITTEN;
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

/* A thread that has its number may not have written its call yet. */
static void await_calls(void)
{
	for (size_t i = 0; i < recorder.limit; i++)
		while (*(volatile uint16_t *)&recorder.calls[i].kind == UNWRITTEN)
			sched_yield();
}

static uint32_t number_of(const struct slab_cache *cache)
{
	for (unsigned i = 0; i < recorder.caches; i++)
		if (recorder.handle[i] == cache)
			return i;
	fail(recorder.path, "the recorder did not see the creation of a cache");
}

/* The file appears when it is complete. */
static bool write_file(const char *unfinished)
{
	struct trace_header header = {
		.magic = TRACE_MAGIC,
		.version = TRACE_VERSION,
		.caches = recorder.caches,
		.calls = recorder.limit,
	};
	FILE *file = fopen(unfinished, "we");
	bool written = file && fwrite(&header, sizeof(header), 1, file) == 1 &&
		       fwrite(recorder.cache, sizeof(*recorder.cache), recorder.caches, file) ==
			       recorder.caches &&
		       fwrite(recorder.calls, sizeof(*recorder.calls), recorder.limit, file) ==
			       recorder.limit;

	return file && fclose(file) == 0 && written && rename(unfinished, recorder.path) == 0;
}

static _Noreturn void finish(void)
{
	char unfinished[4096];

	await_calls();
	pthread_mutex_lock(&recorder.lock);
	snprintf(unfinished, sizeof(unfinished), "%s.new", recorder.path);
	if (!write_file(unfinished))
		fail(recorder.path, strerror(errno));
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

static void record(enum trace_kind kind, const void *object, uint64_t what)
{
	struct trace_call *call;
	size_t ticket;

	if (!recorder.calls || !object)
		return;
	if (what > TRACE_MAX_SIZE)
		fail(recorder.path, "an allocation has more than 512 MiB");
	ticket = atomic_fetch_add(&recorder.next, 1);
	if (ticket >= recorder.limit)
		return;
	call = &recorder.calls[ticket];
	call->object = (uintptr_t)object;
	call->what = (uint32_t)what;
	call->thread = (uint16_t)this_thread();
	__atomic_store_n(&call->kind, (uint16_t)kind, __ATOMIC_RELEASE);
	show_progress(ticket);
	if (ticket == recorder.limit - 1)
		finish();
}

static void record_alloc(const struct slab_cache *cache, const void *object)
{
	if (recorder.calls && object)
		record(TRACE_ALLOC, object, number_of(cache));
}

static void note_cache(const struct slab_cache *cache, const char *name, size_t size)
{
	struct trace_cache *entry;

	pthread_mutex_lock(&recorder.lock);
	if (recorder.caches == TRACE_MAX_CACHES)
		fail(name, "the program has more than 256 caches");
	recorder.handle[recorder.caches] = cache;
	entry = &recorder.cache[recorder.caches++];
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	entry->size = size;
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
	record_alloc(cache, object);
	return object;
}

SLAB_API void *slab_zalloc(struct slab_cache *cache)
{
	void *object;

	NEXT(slab_zalloc);
	object = next(cache);
	record_alloc(cache, object);
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
	for (size_t i = 0; i < got; i++)
		record_alloc(cache, objects[i]);
	return got;
}

SLAB_API void slab_free_bulk(struct slab_cache *cache, size_t n, void *const *objects)
{
	NEXT(slab_free_bulk);
	for (size_t i = 0; i < n; i++)
		record(TRACE_FREE, objects[i], 0);
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
