/* SPDX-License-Identifier: MIT */
/*
 * Processes that cannot be asked: each creates the cache "entry" with OBJECTS
 * objects, prints "ready" and stays until its standard input ends.
 *
 * usage: silent_server deaf|locked|plain|copies|empty
 *   deaf    has a control socket that no thread serves
 *   locked  the same, and holds every lock of libslab for ever, in the middle
 *           of a fork
 *   plain   whatever else the environment says
 *   copies  uses the shared library $LIBSLAB, and has a copy of its own that is
 *           not in use
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

static void use_cache(void)
{
	struct slab_cache *entry = create("entry", 712, NULL, 0, SLAB_NO_MERGE | SLAB_PANIC);

	for (int i = 0; i < OBJECTS; i++) {
		if (!alloc(entry))
			abort();
	}
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

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "plain";

	if (strcmp(mode, "locked") == 0)
		pthread_atfork(stay_locked, NULL, NULL);
	if (strcmp(mode, "deaf") == 0 || strcmp(mode, "locked") == 0)
		slab_control_fd();
	if (strcmp(mode, "copies") == 0)
		load_copy();
	if (strcmp(mode, "empty") != 0)
		use_cache();
	if (strcmp(mode, "locked") == 0)
		fork();
	say_ready();
	wait_for_end();
	return 0;
}
