/* SPDX-License-Identifier: MIT */
/* The names of types in a text, from files that are read when the first token appears. */
#pragma once

#include <stdio.h>
#include <sys/types.h>

struct type_files;

/* type_files_new: NULL when there is no memory. */
struct type_files *type_files_new(void);
void type_files_free(struct type_files *files);

/* type_files_add: an executable or a shared library. type_files_add_process: all files that are
 * mapped in a process, and those that it will have mapped when a token appears. */
void type_files_add(struct type_files *files, const char *path);
void type_files_add_process(struct type_files *files, pid_t pid);

/* type_files_print: copy a text; token-D5D5177A51D2519E becomes the name of the type, if it is
 * known. */
void type_files_print(struct type_files *files, const char *from, const char *end, FILE *out);
