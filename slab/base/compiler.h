/* SPDX-License-Identifier: MIT */
/* Hints for compilers. */
#pragma once

#define SLAB_LIKELY(x) __builtin_expect(!!(x), 1)
#define SLAB_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SLAB_SLOWPATH __attribute__((noinline, cold))

/*
 * A variable that the first allocation of a process uses. It lies in .data, between variables that
 * the dynamic linker has written before, so that its first use takes no page fault. In .bss it
 * would have a page of its own between large tables.
 */
#define SLAB_EARLY __attribute__((section(".data.slab_early")))
