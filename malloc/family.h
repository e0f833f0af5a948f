/* SPDX-License-Identifier: MIT */
/*
 * What libslab_malloc.so defines and the C library's headers do not declare: functions of other
 * C libraries and of C23, and the operators of C++, by the names that the compiler gives them on
 * machines with 64 bits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

void cfree(void *ptr);
void *pvalloc(size_t size);
void free_sized(void *ptr, size_t size);
void free_aligned_sized(void *ptr, size_t align, size_t size);

static inline bool is_power_of_two(size_t n)
{
	return n && !(n & (n - 1));
}

/* A function of C++ under its own name. */
#define CXX_NAME(name) __asm__(name)

/* new, new[]; of types with an alignment of their own; those that return NULL */
void *new_object(size_t size) CXX_NAME("_Znwm");
void *new_array(size_t size) CXX_NAME("_Znam");
void *new_object_aligned(size_t size, size_t align) CXX_NAME("_ZnwmSt11align_val_t");
void *new_array_aligned(size_t size, size_t align) CXX_NAME("_ZnamSt11align_val_t");
void *new_object_or_null(size_t size, const void *nothrow) CXX_NAME("_ZnwmRKSt9nothrow_t");
void *new_array_or_null(size_t size, const void *nothrow) CXX_NAME("_ZnamRKSt9nothrow_t");
void *new_object_aligned_or_null(size_t size, size_t align, const void *nothrow)
	CXX_NAME("_ZnwmSt11align_val_tRKSt9nothrow_t");
void *new_array_aligned_or_null(size_t size, size_t align, const void *nothrow)
	CXX_NAME("_ZnamSt11align_val_tRKSt9nothrow_t");

/* Those of this library, whatever the program replaces. */
extern void *own_object(size_t size) __attribute__((visibility("hidden")));
extern void *own_array(size_t size) __attribute__((visibility("hidden")));
extern void *own_object_aligned(size_t size, size_t align) __attribute__((visibility("hidden")));
extern void *own_array_aligned(size_t size, size_t align) __attribute__((visibility("hidden")));

/* A function of the C++ library for the code at `caller`; NULL: there is none. */
void *find_of_cxx(const char *name, const void *caller) __attribute__((visibility("hidden")));

/* Has the program replaced none of the throwing forms? */
static inline bool are_own(void)
{
	return __builtin_expect(new_object == own_object && new_array == own_array, 1);
}

static inline bool are_own_aligned(void)
{
	return __builtin_expect(new_object_aligned == own_object_aligned &&
					new_array_aligned == own_array_aligned,
				1);
}

/* delete, delete[]; with the size, with the alignment, with both; those for constructors that
 * throw after a new that returns NULL */
void delete_object(void *ptr) CXX_NAME("_ZdlPv");
void delete_array(void *ptr) CXX_NAME("_ZdaPv");
void delete_object_sized(void *ptr, size_t size) CXX_NAME("_ZdlPvm");
void delete_array_sized(void *ptr, size_t size) CXX_NAME("_ZdaPvm");
void delete_object_aligned(void *ptr, size_t align) CXX_NAME("_ZdlPvSt11align_val_t");
void delete_array_aligned(void *ptr, size_t align) CXX_NAME("_ZdaPvSt11align_val_t");
void delete_object_sized_aligned(void *ptr, size_t size, size_t align)
	CXX_NAME("_ZdlPvmSt11align_val_t");
void delete_array_sized_aligned(void *ptr, size_t size, size_t align)
	CXX_NAME("_ZdaPvmSt11align_val_t");
void delete_object_or_null(void *ptr, const void *nothrow) CXX_NAME("_ZdlPvRKSt9nothrow_t");
void delete_array_or_null(void *ptr, const void *nothrow) CXX_NAME("_ZdaPvRKSt9nothrow_t");
void delete_object_aligned_or_null(void *ptr, size_t align, const void *nothrow)
	CXX_NAME("_ZdlPvSt11align_val_tRKSt9nothrow_t");
void delete_array_aligned_or_null(void *ptr, size_t align, const void *nothrow)
	CXX_NAME("_ZdaPvSt11align_val_tRKSt9nothrow_t");
