/* SPDX-License-Identifier: MIT */
/*
 * libslab_token.a: the functions with tokens for a program that may run without libslab_malloc.
 * Each passes the call on to the library's, or to the plain function. A constructor looks for the
 * library: allocations of earlier constructors have no type.
 */
#pragma once

#include <dlfcn.h>
#include <stdlib.h>

#include <slab/token.h>

#include "token_entries.h"

#define HIDDEN __attribute__((visibility("hidden")))
#define LIBRARY "libslab_malloc.so.0"

/* Hidden: a library that is linked with this one has functions and wrappers of its own. */
#define FORWARD(type, name, parameters, arguments)                                                 \
	static type(*live_##name) AND_TOKEN parameters;                                            \
	HIDDEN type __alloc_token_##name AND_TOKEN parameters                                      \
	{                                                                                          \
		if (slab_token_wrapped || token == SLAB_TOKEN_VOID)                                \
			token = slab_token_wrapped;                                                \
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
