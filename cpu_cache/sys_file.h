/* SPDX-License-Identifier: MIT */
/* Short files of the kernel. */
#pragma once

#include <stddef.h>

/* Read a file into text[size], as a string. Returns the number of bytes; 0: there is no such file,
 * or it is empty. No cancellation point: any slow path may call this. errno keeps its value. */
size_t sys_file_read(const char *path, char *text, size_t size);
