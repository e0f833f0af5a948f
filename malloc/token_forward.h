/* SPDX-License-Identifier: MIT */
/*
 * libslab_token.a: the functions with tokens for a program that may run without libslab_malloc. Each
 * passes the call on to the library's, or to the plain function. A constructor looks for the library:
 * allocations of earlier constructors have no type.
 */
#pragma once

#include <dlfcn.h>
#include <stdlib.h>

#include "token_entries.h"

#define LIBRARY "libslab_malloc.so.0"

/* Weak: a library that is loaded before the program's own functions may stand for them. */
#define FORWARD(type, name, parameters, arguments)                                                 \
	static type(*live_##name) AND_TOKEN parameters;                                            \
	__attribute__((weak)) type __alloc_token_##name AND_TOKEN parameters                       \
	{                                                                                          \
		return live_##name ? live_##name WITH_TOKEN arguments : name arguments;            \
	}

#define FIND(type, name, parameters, arguments)                                                    \
	*(void **)&live_##name = dlsym(library, "__alloc_token_" #name);

/* The functions of a list, and the search for them. */
#define FORWARD_ALL(ENTRIES)                                                                       \
	ENTRIES(FORWARD)                                                                           \
	static __attribute__((constructor(101))) void find(void)                                   \
	{                                                                                          \
		void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_NOLOAD);                          \
                                                                                                   \
		if (library) {                                                                     \
			ENTRIES(FIND)                                                              \
		}                                                                                  \
	}
