/* SPDX-License-Identifier: MIT */
/* Reading memory of this process that another thread may unmap, or that is damaged. */
#pragma once

#include <stddef.h>

struct iovec;

/*
 * peek: copy memory. The kernel copies, so no fault occurs, and memory checkers do not object.
 *
 * Returns the number of bytes that were readable, from the first one on, or -EFAULT: not even that
 * one; or another error: the system call is refused. Async-signal-safe; errno keeps its value.
 */
long peek(void *to, const void *from, size_t len);
/* The same of `count` pieces, one after the other: `len` bytes in all. */
long peek_pieces(void *to, size_t len, const struct iovec *from, size_t count);
