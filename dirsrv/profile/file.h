/* SPDX-License-Identifier: MIT */
/*
 * The files of a recording. A file appears under its name only when it is complete, and a relative
 * name is resolved when recording starts, not when the file is written.
 */
#ifndef PBLOCK_FILE_H
#define PBLOCK_FILE_H

#include <limits.h>
#include <stdio.h>

/* file_name: `name` as an absolute path. Returns 0 or -errno. */
int file_name(char ret[PATH_MAX], const char *name);

/*
 * file_write: write the output of `print` to this file, replacing an older one after success.
 * print returns 0 or -errno. Returns 0 or -errno.
 */
int file_write(const char *name, int (*print)(FILE *out, const void *arg), const void *arg);

#endif /* PBLOCK_FILE_H */
