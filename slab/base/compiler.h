/* SPDX-License-Identifier: MIT */
/* Hints for compilers. */
#ifndef SLAB_BASE_COMPILER_H
#define SLAB_BASE_COMPILER_H

#define SLAB_LIKELY(x) __builtin_expect(!!(x), 1)
#define SLAB_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SLAB_SLOWPATH __attribute__((noinline, cold))

#endif /* SLAB_BASE_COMPILER_H */
