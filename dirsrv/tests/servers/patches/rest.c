/* SPDX-License-Identifier: MIT */
/* The part of the small server that is not converted. */
#include "patterns.h"

void ldap_pvt_thread_mutex_init(ldap_pvt_thread_mutex_t *mutex)
{
	*mutex = 0;
}

void ldap_pvt_thread_mutex_destroy(ldap_pvt_thread_mutex_t *mutex)
{
	*mutex = 0;
}

void ldap_pvt_thread_mutex_lock(ldap_pvt_thread_mutex_t *mutex)
{
	++*mutex;
}

void ldap_pvt_thread_mutex_unlock(ldap_pvt_thread_mutex_t *mutex)
{
	--*mutex;
}

void *lock_new(void)
{
	return malloc(8);
}

void lock_delete(void *lock)
{
	free(lock);
}

void *inner_new(int flags)
{
	return malloc(flags ? 16 : 8);
}

void inner_free(void *inner, int with_buffer)
{
	if (with_buffer)
		free(inner);
}

void *get_memory(size_t size)
{
	return malloc(size);
}

static void *context_get(size_t size, struct context *in)
{
	(void)in;
	return malloc(size);
}

static void *context_get_zeroed(size_t count, size_t size, struct context *in)
{
	(void)in;
	return calloc(count, size);
}

static void context_put(void *memory, struct context *in)
{
	in->puts++;
	free(memory);
}

struct context context = {context_get, context_get_zeroed, context_put, 0};

void free_in(void *memory, void *context)
{
	if (!context)
		free(memory);
}

void release(void **where)
{
	free(*where);
	*where = NULL;
}

/* A cache of NULL is malloc(). */
void expect(const void *memory, const char *cache)
{
	struct slab_cache *found = slab_cache_of(memory);
	const char *name = found ? slab_cache_name(found) : "malloc";

	if (strcmp(name, cache ? cache : "malloc") != 0) {
		fprintf(stderr, "memory of %s, and not of %s\n", name, cache ? cache : "malloc");
		exit(1);
	}
}
