/* SPDX-License-Identifier: MIT */
/*
 * Processes that cannot be asked: each creates the cache "entry" with OBJECTS
 * objects, prints "ready" and stays until its standard input ends.
 *
 * usage: silent_server deaf|locked|plain|copies|both|empty
 *   deaf    has a control socket that no thread serves
 *   locked  the same, and holds every lock of libslab for ever, in the middle
 *           of a fork
 *   plain   whatever else the environment says
 *   copies  uses the shared library $LIBSLAB, and has a copy of its own that is
 *           not in use
 *   both    has a copy of its own with a cache and $LIBSLAB with another, and frees an object of
 *           the latter to its own
 *   empty   has libslab and creates no cache
 */
#include <slab/control.h>
#include <slab/slab.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OBJECTS 300

static struct slab_cache *(*create)(const char *name, size_t size,
				    const struct slab_cache_args *args, size_t args_size,
				    uint64_t flags) = slab_cache_create_sized;
static void *(*alloc)(struct slab_cache *cache) = slab_alloc;

static void *last;

static struct slab_cache *use_cache(const char *name)
{
	struct slab_cache *entry = create(name, 712, NULL, 0, SLAB_PANIC);

	for (int i = 0; i < OBJECTS; i++) {
		last = alloc(entry);
		if (!last)
			abort();
	}
	return entry;
}

static void say_ready(void)
{
	puts("ready 0");
	fflush(stdout);
}

static void wait_for_end(void)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

/* Called by fork() when libslab's locks are taken: handlers of this kind run in
 * the reverse order of their registration. */
static void stay_locked(void)
{
	say_ready();
	wait_for_end();
	_exit(0);
}

static void load_copy(void)
{
#ifndef SILENT_SERVER_STATIC
	void *library = dlopen(getenv("LIBSLAB"), RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&create = dlsym(library, "slab_cache_create_sized");
	*(void **)&alloc = dlsym(library, "slab_alloc");
#endif
}

static void use_both(void)
{
	struct slab_cache *own = use_cache("mine");

	load_copy();
	use_cache("entry");
	slab_free(own, last);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "plain";

	if (strcmp(mode, "locked") == 0)
		pthread_atfork(stay_locked, NULL, NULL);
	if (strcmp(mode, "deaf") == 0 || strcmp(mode, "locked") == 0)
		slab_control_fd();
	if (strcmp(mode, "copies") == 0)
		load_copy();
	if (strcmp(mode, "both") == 0)
		use_both();
	else if (strcmp(mode, "empty") != 0)
		use_cache("entry");
	if (strcmp(mode, "locked") == 0)
		fork();
	say_ready();
	wait_for_end();
	return 0;
}
