/* SPDX-License-Identifier: MIT */
/* A plug-in with a libslab of its own inside, and what its host calls. */
#include <stdio.h>
#include <string.h>

#include <slab/debug.h>
#include <slab/slab.h>

int plugin_run(void);

/* The caller of slab_alloc() in a report: this function, not one of the host. */
static void take_caller(const struct slab_report *report, void *arg)
{
	*(const void **)arg = report->allocated.frames ? report->allocated.frame[0] : NULL;
}

static __attribute__((noinline)) void *allocate(struct slab_cache *cache)
{
	void *obj = slab_alloc(cache);

	/* Not a jump: it stays on the stack. */
	__asm__ volatile("" ::: "memory");
	return obj;
}

static int names_its_caller(struct slab_cache *cache)
{
	const char *start = (const char *)(void *)&allocate, *caller = NULL;
	void *obj;

	slab_cache_debug(cache, SLAB_STORE_USER | SLAB_CONSISTENCY_CHECKS);
	obj = allocate(cache);
	slab_set_report_handler(take_caller, &caller);
	slab_free(cache, obj);
	slab_free(cache, obj);
	slab_set_report_handler(NULL, NULL);
	return caller > start && caller < start + 64;
}

int plugin_run(void)
{
	struct slab_cache *cache = slab_cache_create("plugin", 100, NULL, 0);
	void *objs[1000];

	for (int i = 0; i < 1000; i++) {
		objs[i] = slab_alloc(cache);
		memset(objs[i], i, 100);
	}
	for (int i = 0; i < 1000; i++)
		slab_free(cache, objs[i]);
	printf("plugin: engine %s\n", slab_engine());
	if (!names_its_caller(cache)) {
		fprintf(stderr, "plugin: the caller of slab_alloc() is not the plug-in\n");
		return 1;
	}
	return slab_cache_destroy(cache) ? 1 : 0;
}
