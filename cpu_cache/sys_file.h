/* SPDX-License-Identifier: MIT */
/* Short files of the kernel. */
#ifndef CPU_CACHE_SYS_FILE_H
#define CPU_CACHE_SYS_FILE_H

#include <stddef.h>

/* Read a file into text[size], as a string. Returns the number of bytes; 0: there is no such file,
 * or it is empty. No cancellation point: any slow path may call this. errno keeps its value. */
size_t sys_file_read(const char *path, char *text, size_t size);

#endif /* CPU_CACHE_SYS_FILE_H */
