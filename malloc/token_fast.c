/* SPDX-License-Identifier: MIT */
/*
 * libslab_token.a: the functions of -fsanitize-alloc-token-fast-abi, whose token is a part of their
 * name: __alloc_token_63_malloc. -falloc-token-max=256 is the most.
 * Compiled for the functions of C and, with TOKEN_FAST_CXX, for the operators new.
 */
#include "token_entries.h"

/* clang-format off */
#define TEN(X, t, ...)                                                                             \
	X(t##0, __VA_ARGS__) X(t##1, __VA_ARGS__) X(t##2, __VA_ARGS__) X(t##3, __VA_ARGS__)        \
	X(t##4, __VA_ARGS__) X(t##5, __VA_ARGS__) X(t##6, __VA_ARGS__) X(t##7, __VA_ARGS__)        \
	X(t##8, __VA_ARGS__) X(t##9, __VA_ARGS__)
#define TENS(X, h, ...)                                                                            \
	TEN(X, h##1, __VA_ARGS__) TEN(X, h##2, __VA_ARGS__) TEN(X, h##3, __VA_ARGS__)              \
	TEN(X, h##4, __VA_ARGS__) TEN(X, h##5, __VA_ARGS__) TEN(X, h##6, __VA_ARGS__)              \
	TEN(X, h##7, __VA_ARGS__) TEN(X, h##8, __VA_ARGS__) TEN(X, h##9, __VA_ARGS__)
/* 0 to 299 */
#define FAST_ALL(...)                                                                              \
	TEN(FAST, , __VA_ARGS__) TENS(FAST, , __VA_ARGS__)                                         \
	TEN(FAST, 10, __VA_ARGS__) TENS(FAST, 1, __VA_ARGS__)                                      \
	TEN(FAST, 20, __VA_ARGS__) TENS(FAST, 2, __VA_ARGS__)
/* clang-format on */

#define FAST(number, type, name, parameters, arguments)                                            \
	type __alloc_token_##number##_##name parameters;                                           \
	__attribute__((visibility("hidden"))) type __alloc_token_##number##_##name parameters      \
	{                                                                                          \
		const uint64_t token = number;                                                     \
                                                                                                   \
		return __alloc_token_##name WITH_TOKEN arguments;                                  \
	}

#ifdef TOKEN_FAST_CXX
TOKEN_ENTRIES_CXX(FAST_ALL)
#else
TOKEN_ENTRIES_C(FAST_ALL)
#endif
