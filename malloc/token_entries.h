/* SPDX-License-Identifier: MIT */
/*
 * The functions that clang calls in a program compiled with -fsanitize=alloc-token:
 * __alloc_token_NAME with the token as last argument, for each allocation function NAME that it
 * knows.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* X(type, name, parameters, arguments) */
#define TOKEN_ENTRIES_C(X)                                                                         \
	X(void *, malloc, (size_t size), (size))                                                   \
	X(void *, calloc, (size_t n, size_t size), (n, size))                                      \
	X(void *, realloc, (void *ptr, size_t size), (ptr, size))                                  \
	X(void *, reallocarray, (void *ptr, size_t n, size_t size), (ptr, n, size))                \
	X(void *, aligned_alloc, (size_t align, size_t size), (align, size))                       \
	X(void *, memalign, (size_t align, size_t size), (align, size))                            \
	X(int, posix_memalign, (void **ret_ptr, size_t align, size_t size),                        \
	  (ret_ptr, align, size))                                                                  \
	X(void *, valloc, (size_t size), (size))                                                   \
	X(void *, pvalloc, (size_t size), (size))

/* The operators new, by the names that the compiler gives them. */
#define TOKEN_ENTRIES_NEW(X)                                                                       \
	X(void *, _Znwm, (size_t size), (size))                                                    \
	X(void *, _Znam, (size_t size), (size))                                                    \
	X(void *, _ZnwmRKSt9nothrow_t, (size_t size, const void *nothrow), (size, nothrow))        \
	X(void *, _ZnamRKSt9nothrow_t, (size_t size, const void *nothrow), (size, nothrow))
#define TOKEN_ENTRIES_ALIGNED_NEW(X)                                                               \
	X(void *, _ZnwmSt11align_val_t, (size_t size, size_t align), (size, align))                \
	X(void *, _ZnamSt11align_val_t, (size_t size, size_t align), (size, align))                \
	X(void *, _ZnwmSt11align_val_tRKSt9nothrow_t,                                              \
	  (size_t size, size_t align, const void *nothrow), (size, align, nothrow))                \
	X(void *, _ZnamSt11align_val_tRKSt9nothrow_t,                                              \
	  (size_t size, size_t align, const void *nothrow), (size, align, nothrow))
#define TOKEN_ENTRIES_CXX(X) TOKEN_ENTRIES_NEW(X) TOKEN_ENTRIES_ALIGNED_NEW(X)

/* Put behind it: a parameter or an argument more. */
#define AND_TOKEN(...) (__VA_ARGS__, uint64_t token)
#define WITH_TOKEN(...) (__VA_ARGS__, token)

#define DECLARE_TOKEN_ENTRY(type, name, parameters, arguments)                                     \
	type __alloc_token_##name AND_TOKEN parameters;
TOKEN_ENTRIES_C(DECLARE_TOKEN_ENTRY)
TOKEN_ENTRIES_CXX(DECLARE_TOKEN_ENTRY)
