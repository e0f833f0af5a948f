/* SPDX-License-Identifier: MIT */
/* Another malloc() by LD_PRELOAD: where its library is, and the environment that loads it. */
#ifndef DIRECTORY_PRELOAD_H
#define DIRECTORY_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * preload_find: the path of a library for this machine, in `folder` or, when that is NULL,
 * where distributions install libraries. False: there is none.
 */
bool preload_find(const char *folder, const char *library, char *path, size_t size);

/*
 * preload_environment: this process's environment with `library` in LD_PRELOAD, before
 * what LD_PRELOAD has already. NULL: no memory. preload_free() frees it.
 */
char **preload_environment(const char *library);
void preload_free(char **environment);

/* preload_malloc_from: the file that has the malloc() of this process, or "". */
void preload_malloc_from(char *path, size_t size);

#endif /* DIRECTORY_PRELOAD_H */
