/* SPDX-License-Identifier: MIT */
/* A library that loads another one by its name: its own RUNPATH leads there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

void *opener_open(const char *file, int mode);
void *opener_open_in(Lmid_t space, const char *file, int mode);

void *opener_open(const char *file, int mode)
{
	void *volatile handle = dlopen(file, mode); /* a tail call would come from the caller */

	return handle;
}

void *opener_open_in(Lmid_t space, const char *file, int mode)
{
	void *volatile handle = dlmopen(space, file, mode);

	return handle;
}
