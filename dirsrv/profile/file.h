/* SPDX-License-Identifier: MIT */
/* Files that recording writes: complete or not there, wherever the process has gone. */
#ifndef PBLOCK_FILE_H
#define PBLOCK_FILE_H

#include <limits.h>
#include <stdio.h>

/* file_name: `name` as seen from the root, for later. Returns 0 or -errno. */
int file_name(char ret[PATH_MAX], const char *name);

/*
 * file_write: what `print` prints, under this name; an older file is replaced when that
 * succeeds. print returns 0 or -errno. Returns 0 or -errno.
 */
int file_write(const char *name, int (*print)(FILE *out, const void *arg), const void *arg);

#endif /* PBLOCK_FILE_H */
