/* SPDX-License-Identifier: MIT */
/*
 * malloc and free: glibc's, or whatever LD_PRELOAD puts in their place.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

bool contestant_begin(const struct movers *movers)
{
	if (movers)
		fprintf(stderr, "memory-malloc: malloc cannot move objects\n");
	return !movers;
}

const char *contestant_allocator(void)
{
	void *function = dlsym(RTLD_DEFAULT, "malloc");
	Dl_info info;

	return function && dladdr(function, &info) ? info.dli_fname : "unknown";
}

void *contestant_alloc(enum type type)
{
	return malloc(types[type].size);
}

void contestant_free(enum type type, void *obj)
{
	(void)type;
	free(obj);
}

void *contestant_malloc(size_t size)
{
	return malloc(size);
}

void contestant_mfree(void *ptr)
{
	free(ptr);
}

void *contestant_single(const struct type_info *type)
{
	return malloc(type->size);
}

bool contestant_fits(void *ptr, size_t size)
{
	(void)ptr;
	(void)size;
	return true;
}

long contestant_defrag(void)
{
	return 0;
}
